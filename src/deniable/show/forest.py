"""Regressions as people see them: a forest plot, and rows in words for a report or a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from deniable.analysis.regression.fit import Regression
from deniable.show.charts import COLOURS, with_theme
from deniable.show.numbers import digits_for, q_value, thousands

_WIDEST = 1_000.0
"""An odds ratio beyond this, or below one over it, is drawn at the edge."""

ODDS = "odds ratio"


class Row(NamedTuple):
    """A coefficient in words."""

    label: str
    estimate: str
    error: str
    interval: str
    odds: str
    """The odds ratio with its interval, of a logistic regression."""
    p_value: str


def rows_of(fit: Regression, level: float | None = None) -> Iterator[Row]:
    """Yield every coefficient in words, the intercept first."""
    rows: Any = fit.to_frame(level).to_dict("records")
    for place, row in enumerate(rows):
        digits = min(digits_for(row["standard_error"]), 9)
        columns = ("estimate", "standard_error", "low", "high")
        estimate, error, low, high = (thousands(row[name], digits) for name in columns)
        odds = ""
        if fit.kind == "logistic" and place:
            ends = f"{_ratio(row['odds_ratio_low'])} to {_ratio(row['odds_ratio_high'])}"
            odds = f"{_ratio(row['odds_ratio'])} ({ends})"
        yield Row(row["term"], estimate, error, f"{low} to {high}", odds, q_value(row["p_value"]))


def _ratio(ratio: float) -> str:
    """Return an odds ratio with three digits, where it is a number that anybody can read."""
    return f"{ratio:,.3g}" if 1e-4 < ratio < 1e6 else "< 0.0001" if ratio < 1 else "> 1,000,000"


def sentences(fit: Regression) -> list[str]:
    """Return what is to be said of a regression as a whole."""
    parts = [f"{fit.people:,} people"]
    if fit.r_squared is not None:
        low, high = fit.r_squared.interval(fit.level)
        parts.append(f"R² {fit.r_squared.estimate:.3f} ({low:.3f} to {high:.3f})")
    if len(fit.values) > 1:
        whole = fit.tests().iloc[-1]
        parts.append(f"all terms together: χ² {whole.statistic:,.1f}, p {_p_text(whole.p_value)}")
    return [f"{', '.join(parts)}.", *fit.notes]


def _p_text(value: float) -> str:
    text = q_value(value)
    return text if text.startswith("<") else f"= {text}"


def _drawn(fit: Regression, level: float | None) -> tuple[pd.DataFrame, str]:
    """Return estimates and ends of all but the intercept as they are drawn, and what they are."""
    frame = fit.to_frame(level).iloc[1:]
    if fit.kind == "logistic":
        ends = frame[["odds_ratio", "odds_ratio_low", "odds_ratio_high"]].to_numpy()
        ends, what = ends.clip(1 / _WIDEST, _WIDEST), ODDS
    else:
        ends, what = frame[["estimate", "low", "high"]].to_numpy(), f"change of {fit.outcome}"
        if not fit.is_plain:
            factor = np.abs(frame["standardised"].to_numpy() / frame["estimate"].to_numpy())
            ends, what = ends * factor[:, None], f"{what}, standardised"
    drawn = pd.DataFrame(ends, columns=["estimate", "low", "high"])
    return drawn.assign(term=frame["term"].to_numpy()), what


def forest_chart(fit: Regression, level: float | None = None) -> Any:
    """Return a forest plot: coefficients below each other, with their intervals.

    Odds ratios are on a logarithmic axis. Where numbers are among the terms, coefficients of least
    squares are standardised: in standard deviations of the outcome for one of the term.
    """
    frame, what = _drawn(fit, level)
    is_odds = fit.kind == "logistic"
    scale = alt.Scale(type="log" if is_odds else "linear", nice=False, padding=12)
    axis = alt.Axis(format="~r" if is_odds else ",~r", tickCount=5, titleFontWeight="normal")
    x = alt.X("low:Q", title=what, axis=axis, scale=scale)
    order = frame["term"].tolist()
    groups = alt.Y("term:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    base, blue = alt.Chart(frame).encode(y=groups), COLOURS["estimate"]
    tips = [alt.Tooltip(f"{end}:Q", format=",.4~g") for end in ("estimate", "low", "high")]
    nothing = pd.DataFrame({"nothing": [1.0 if is_odds else 0.0]})
    line = alt.Chart(nothing).mark_rule(color="#999999").encode(x=alt.X("nothing:Q"))
    reach = base.mark_rule(color=blue, strokeWidth=2).encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color=blue).encode(
        x="estimate:Q", tooltip=[alt.Tooltip("term:N"), *tips]
    )
    own = fit.level if level is None else level
    mark = " · SIMULATED" if fit.simulated else ""
    notes = [f"{fit.people:,} people, {own:.0%} intervals{mark}", *fit.notes]
    layers = alt.layer(line, reach, points).properties(
        title=alt.TitleParams(fit.formula, subtitle=notes), width=420, height=alt.Step(30)
    )
    return with_theme(layers)


def forest_section(fit: Regression) -> dict[str, Any]:
    """Return what a report says of a regression, and where its intervals are drawn."""
    frame, what = _drawn(fit, None)
    ends = frame[["low", "estimate", "high"]].to_numpy()
    nothing = 0.0
    if fit.kind == "logistic":
        ends = np.log(ends)
    least, most = min(ends.min(initial=0), nothing), max(ends.max(initial=0), nothing)
    width = (most - least) or 1.0
    positions = 100 * (ends - least) / width
    bars = [
        {"left": f"{low:.1f}", "width": f"{high - low:.1f}", "at": f"{at:.1f}"}
        for low, at, high in positions
    ]
    words = [row._asdict() for row in rows_of(fit)]
    return {
        "formula": fit.formula,
        "kind": fit.kind,
        "head": "odds ratio" if fit.kind == "logistic" else "estimate",
        "rows": [row | bar for row, bar in zip(words, [{}, *bars], strict=True)],
        "nothing": f"{100 * (nothing - least) / width:.1f}",
        "drawn": what,
        "sentences": sentences(fit),
    }
