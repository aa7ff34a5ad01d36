"""The chart (Altair) of a regression: a forest plot."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from deniable.analysis.regression.fit import Regression
from deniable.show.charts import COLOURS, headed, with_theme
from deniable.show.forest import drawn_ends


def forest_chart(fit: Regression, level: float | None = None) -> Any:
    """Return a forest plot: coefficients below each other, with their intervals.

    Odds ratios are on a logarithmic axis. Where numbers are among the terms, coefficients of least
    squares are standardised: in standard deviations of the outcome for one of the term.
    """
    frame, what = drawn_ends(fit, level)
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
        title=headed(fit.formula, notes), width=420, height=alt.Step(30)
    )
    return with_theme(layers)
