"""Regressions as people see them: rows in words, for a report or a terminal, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from deniable.analysis.regression.fit import Regression
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
        value, least, most = (thousands(each, 3) for each in (fit.r_squared.estimate, low, high))
        parts.append(f"R² {value} ({least} to {most})")
    if len(fit.values) > 1:
        whole = fit.tests().iloc[-1]
        parts.append(f"all terms together: χ² {whole.statistic:,.1f}, p {_p_text(whole.p_value)}")
    return [f"{', '.join(parts)}.", *fit.notes]


def _p_text(value: float) -> str:
    text = q_value(value)
    return text if text.startswith("<") else f"= {text}"


def drawn_ends(fit: Regression, level: float | None) -> tuple[pd.DataFrame, str]:
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
    ends_frame = pd.DataFrame(ends, columns=["estimate", "low", "high"])
    return ends_frame.assign(term=frame["term"].to_numpy()), what


def forest_section(fit: Regression) -> dict[str, Any]:
    """Return what a report says of a regression, and where its intervals are drawn."""
    frame, what = drawn_ends(fit, None)
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
