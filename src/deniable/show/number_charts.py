"""Charts (Altair) of numbers: a distribution with its band, and means with their intervals."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.release.numbers.estimates import Estimates, NumberDistribution
from deniable.show.axes import axis_kind, axis_words, bar_words, bars_of, point_text, ticks
from deniable.show.charts import COLOURS, headed, with_theme
from deniable.show.numbers import share

_BAND = "#9fc9e4"
_WIDTH, _HEIGHT = 480, 170
_MOST_TICKS = 7
_FEW = 12
"""So few points are drawn as steps, with a gap between their bars."""


def distribution_chart(distribution: NumberDistribution, *, simulated: bool = False) -> Any:
    """Return a number's histogram, and below it its distribution function with the band."""
    axis = _axis(distribution)
    upper = _histogram(distribution, axis(None)).properties(width=_WIDTH, height=_HEIGHT)
    title = axis_words(distribution.name, distribution.unit)
    lower = _curve(distribution, axis(title)).properties(width=_WIDTH, height=_HEIGHT)
    mark = " · SIMULATED" if simulated else ""
    notes = [
        f"{distribution.people:,} people, {distribution.level:.0%} band for the whole curve{mark}"
    ]
    if distribution.missing > 0:
        notes.append(f"Of those who have a number; {share(distribution.missing)} have none")
    if axis_kind(distribution.points) == "points":
        notes.append("Points are drawn at equal distances")
    chart = alt.vconcat(upper, lower, spacing=14).resolve_scale(x="independent")
    return with_theme(chart).properties(title=headed(distribution.name, notes))


def _axis(distribution: NumberDistribution) -> Any:
    """Return what makes an axis of points, which counts them: its labels are what they stand for."""
    every = ticks(distribution.points, _MOST_TICKS)
    levels = len(distribution.points)
    labels = {f"{tick.at:.6f}": tick.label for tick in every}
    text = f"{labels!r}[format(datum.value, '.6f')]"

    def axis(title: str | None) -> Any:
        look = alt.Axis(
            values=[tick.at for tick in every],
            labelExpr=text,
            labelOverlap=True,
            grid=False,
            titlePadding=8,
            titleFontWeight="normal",
        )
        scale = alt.Scale(domain=[-0.5, levels - 0.5], nice=False, zero=False)
        return {"title": title, "axis": look, "scale": scale}

    return axis


def _histogram(distribution: NumberDistribution, axis: dict[str, Any]) -> Any:
    unit = f" {distribution.unit}" if distribution.unit else ""
    bars = bars_of(distribution)
    is_few = len(bars) <= _FEW
    half = 0.46 if is_few else 0.5
    rows = [
        {
            "start": bar.first - half,
            "end": bar.last + half,
            "height": bar.height,
            "points": f"{bar.words}{unit}",
            "share": bar.share,
        }
        for bar in bars
    ]
    inset: dict[str, Any] = {} if is_few else {"stroke": "white", "strokeWidth": 1}
    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect(color=COLOURS["estimate"], **inset)
        .encode(
            x=alt.X("start:Q", **axis),
            x2="end:Q",
            y=alt.Y("height:Q", title=bar_words(distribution), axis=_shares()),
            y2=alt.datum(0),
            tooltip=[alt.Tooltip("points:N"), alt.Tooltip("share:Q", format=".2%")],
        )
    )


def _shares() -> alt.Axis:
    return alt.Axis(format="~%", tickCount=5, titleFontWeight="normal", titleColor="#666666")


def _curve(distribution: NumberDistribution, axis: dict[str, Any]) -> Any:
    levels = len(distribution.points)
    columns = {
        "cumulative": distribution.cumulative,
        "low": distribution.low,
        "high": distribution.high,
    }
    frame = pd.DataFrame({name: np.append(0.0, column) for name, column in columns.items()})
    frame["at"] = np.arange(levels + 1) - 0.5
    unit = f" {distribution.unit}" if distribution.unit else ""
    frame["point"] = ["", *(f"{point_text(point)}{unit}" for point in distribution.points)]
    shape: Any = "step-before" if levels <= _FEW else "linear"
    base = alt.Chart(frame).encode(x=alt.X("at:Q", **axis))
    title = "share of people at this or below"
    share_axis = alt.Y("low:Q", title=title, axis=_shares(), scale=alt.Scale(domain=[0, 1]))
    band = base.mark_area(color=_BAND, interpolate=shape).encode(y=share_axis, y2="high:Q")
    line = base.mark_line(color=COLOURS["estimate"], strokeWidth=2, interpolate=shape)
    tips = [
        alt.Tooltip("point:N"),
        *(alt.Tooltip(f"{end}:Q", format=".1%") for end in ("cumulative", "low", "high")),
    ]
    return alt.layer(band, line.encode(y="cumulative:Q", tooltip=tips))


def estimates_chart(
    estimates: Estimates, level: float = 0.95, *, is_day: bool = False, simulated: bool = False
) -> Any:
    """Return estimates as points with their intervals, one below the other.

    What is not known has no point, and says so.
    """
    frame = estimates.to_frame(level)[["estimate", "low", "high"]]
    names = [estimates.name(row) or estimates.what for row in range(len(frame))]
    is_known = np.isfinite(frame["estimate"]).to_numpy()
    frame["group"] = [n if k else f"{n} (not known)" for n, k in zip(names, is_known, strict=True)]
    order = frame["group"].tolist()
    frame.loc[~is_known, ["estimate", "low", "high"]] = np.nan
    title = axis_words(estimates.what.partition(" by ")[0], estimates.unit)
    if is_day:
        for end in ("estimate", "low", "high"):
            frame[end] = [_moment(ordinal) for ordinal in frame[end]]
        x = alt.X("low:T", title=title, axis=_axis_of("%-d %b %Y"), scale=alt.Scale(padding=12))
        tips = [alt.Tooltip(f"{end}:T", format="%-d %b %Y") for end in ("estimate", "low", "high")]
    else:
        ends = [end if np.isfinite(end) else i for i, end in enumerate(estimates.bounds)]
        room: Any = alt.Undefined if is_known.any() else ends
        scale = alt.Scale(zero=False, padding=12, domain=room)
        x = alt.X("low:Q", title=title, axis=_axis_of(",~r"), scale=scale)
        tips = [alt.Tooltip(f"{end}:Q", format=",.5~g") for end in ("estimate", "low", "high")]
    kind = "T" if is_day else "Q"
    groups = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    base = alt.Chart(frame).encode(y=groups)
    blue = COLOURS["estimate"]
    reach = base.mark_rule(color=blue, strokeWidth=2).encode(x=x, x2=f"high:{kind}")
    points = base.mark_point(filled=True, size=70, opacity=1, color=blue)
    mark = " · SIMULATED" if simulated else ""
    subtitle = f"{estimates.people:,} people, {level:.0%} intervals{mark}"
    layers = alt.layer(
        reach, points.encode(x=f"estimate:{kind}", tooltip=[alt.Tooltip("group:N"), *tips])
    )
    return with_theme(
        layers.properties(
            title=headed(estimates.what, [subtitle]),
            width=420,
            height=alt.Step(30),
        )
    )


def _axis_of(form: str) -> alt.Axis:
    return alt.Axis(format=form, labelOverlap=True, tickCount=5, titleFontWeight="normal")


def _moment(ordinal: float) -> str | None:
    """Return a day, and the part of it, as charts read them."""
    if not np.isfinite(ordinal):
        return None
    moment = pd.Timestamp("1970-01-01") + pd.Timedelta(days=ordinal - 719163)
    return str(moment.strftime("%Y-%m-%dT%H:%M:%S"))
