"""The look that the experiments' charts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from deniable.show.charts import with_theme
from deniable.show.plans import MECHANISM_COLOURS, OTHER_COLOUR

UNIFORM = "uniform table"
"""What one would say without asking anybody."""

COLOURS = MECHANISM_COLOURS | {
    "MargPS, pooled": "#66d1b5",
    "Subspace, joint": "#0072b2",
    "Subspace, auto": "#d55e00",
    "CALM": "#009e73",
    "product of margins": "#8c6d31",
    "InpEM": "#7f3c8d",
    "InpHT, corrected": "#f0a878",
    "not private": "#333333",
    UNIFORM: "#bbbbbb",
}
OURS = ("Subspace", "Subspace, joint", "Subspace, auto", "MargPS, pooled")
LABELS = (
    "Subspace, auto",
    "Subspace, joint",
    "Subspace",
    "MargPS, pooled",
    "InpHT",
    "MargPS",
    "MargHT",
    "MargRR",
)
"""Ours first, then the paper's; others follow as they come."""

MEAN_OF_TABLES = (
    "Mean over all k-way tables and repeats; lines: one standard deviation, cut at a third of the "
    "mean; errors above 1 not drawn"
)

MOST = 1.0
"""No two tables are further apart: an estimate that errs more is no table, and is not drawn."""


def order_of(frame: pd.DataFrame) -> list[str]:
    """Return the contenders of a frame in the order of the legend."""
    names = frame["label"].unique().tolist()
    return [*(name for name in LABELS if name in names), *(n for n in names if n not in LABELS)]


def colour(frame: pd.DataFrame, symbol: str = "stroke") -> Any:
    """Return the colours of the contenders, and a legend of strokes or squares."""
    names = order_of(frame)
    scale = alt.Scale(domain=names, range=[COLOURS.get(name, OTHER_COLOUR) for name in names])
    legend = alt.Legend(
        symbolType=symbol, symbolSize=300 if symbol == "stroke" else 80, symbolStrokeWidth=2.5
    )
    return alt.Color("label:N", scale=scale, sort=names, title=None, legend=legend)


def dash(frame: pd.DataFrame) -> Any:
    """Return the dashes: the paper's are dashed, ours are not, joint tables dotted."""
    names = order_of(frame)
    kinds = [
        [1, 3] if "joint" in n or "pooled" in n else [] if n in OURS else [5, 3] for n in names
    ]
    scale = alt.Scale(domain=names, range=[kind or [1, 0] for kind in kinds])
    return alt.StrokeDash("label:N", scale=scale, sort=names, title=None)


def curves(
    frame: pd.DataFrame,
    x: Any,
    y_title: str = "mean total variation distance",
    rows: str | None = None,
    columns: str | None = None,
    size: tuple[int, int] = (230, 190),
    log: bool = True,
) -> Any:
    """Return means with error bars (one standard deviation over repeats), panel by panel.

    ``frame`` has the columns mean, sd and label, ``x`` encodes another, and panels stand in ``rows``
    and ``columns`` by two more.
    """
    frame = _with_error_bars(frame)
    frame["width"] = [2.5 if name in OURS else 1.5 for name in frame["label"]]
    if log:
        frame = frame[frame["mean"] <= MOST].copy()
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = alt.Y("mean:Q", title=y_title, scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    base = alt.Chart().encode(x=x, color=colour(frame))
    lines = base.mark_line(clip=True).encode(
        y=y, strokeDash=dash(frame), strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None)
    )
    reach = base.mark_rule(clip=True, strokeWidth=1).encode(
        y=alt.Y("low:Q", scale=scale), y2="high:Q"
    )
    points = base.mark_point(filled=True, size=28, opacity=1, clip=True).encode(
        y=y,
        tooltip=["label:N", alt.Tooltip("mean:Q", format=".3g"), alt.Tooltip("sd:Q", format=".2g")],
    )
    facets: dict[str, Any] = {}
    for place, column, encoding in (("row", rows, alt.Row), ("column", columns, alt.Column)):
        if column is not None:
            values = sorted(frame[column].unique().tolist())
            frame[place] = [_heading(column, value) for value in frame[column]]
            header = alt.Header(labelAngle=0, labelFontSize=12)
            order = [_heading(column, value) for value in values]
            facets[place] = encoding(f"{place}:N", sort=order, title=None, header=header)
    chart = alt.layer(lines, reach, points, data=frame).properties(width=size[0], height=size[1])
    return chart.facet(**facets, spacing=14).resolve_scale(y="independent") if facets else chart


def _heading(column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    symbol = {"attributes": "d", "order": "k", "epsilon": "ε"}[column]
    return f"{symbol} = {value:g}"


def powers_of_two(column: str, title: str, values: Sequence[int]) -> Any:
    """Return an axis of powers of two."""
    return alt.X(
        f"{column}:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, nice=False, padding=8),
        axis=alt.Axis(values=sorted(values), labelExpr="'2^' + round(log(datum.value) / LN2)"),
    )


def dots(frame: pd.DataFrame, x: Any, y_title: str, width: int = 26, most: float = MOST) -> Any:
    """Return means up to ``most`` as dots side by side, with error bars, on a log scale."""
    bars = _with_error_bars(frame[frame["mean"] <= most])
    base = alt.Chart(bars).encode(
        x=x, xOffset=alt.XOffset("label:N", sort=order_of(bars)), color=colour(bars, "circle")
    )
    axis = alt.Axis(format="~g", tickCount=6)
    scale = alt.Scale(type="log", nice=False, padding=8)
    reach = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("mean:Q", title=y_title, scale=scale, axis=axis)
    )
    groups = bars[str(x.shorthand).split(":")[0]].nunique()
    return (reach + points).properties(width=width * groups * 3, height=250)


def _with_error_bars(frame: pd.DataFrame) -> pd.DataFrame:
    sd = frame["sd"].fillna(0)
    low = (frame["mean"] - sd).clip(lower=frame["mean"] / 3)
    return frame.assign(low=low, high=frame["mean"] + sd)


def finished(chart: Any, title: str, subtitle: Sequence[str]) -> Any:
    """Return a chart with its title, in the look of all charts, the legend below."""
    heading = alt.TitleParams(title, subtitle=list(subtitle), offset=14)
    return with_theme(chart.properties(title=heading)).configure_legend(
        orient="bottom", columns=8, labelLimit=300
    )
