"""Charts (Altair), in one look: colour-blind safe, with uncertainty drawn."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.client.wire import write_whole
from deniable.errors import ChartError
from deniable.release.marginal import IMPLAUSIBLE, Table

__all__ = ["COLOURS", "dressed", "error_chart", "marginal_chart", "save_chart"]

COLOURS = {"estimate": "#0072b2", "truth": "#d55e00", "bound": "#999999"}
"""From the Okabe–Ito palette."""

ENDINGS = (".html", ".svg", ".png", ".json")
"""What a chart can be written as."""

_FONT = "Helvetica, Arial, sans-serif"


def dressed(chart: Any) -> Any:
    """Return a chart in the look that all of them share."""
    return (
        chart.configure(font=_FONT)
        .configure_view(strokeWidth=0)
        .configure_axis(grid=True, gridColor="#eeeeee", domainColor="#999999", tickColor="#999999")
        .configure_title(anchor="start", fontSize=14, subtitleColor="#666666", subtitleFontSize=11)
    )


def marginal_chart(table: Table, level: float = 0.95) -> Any:
    """Return a table's cells as points with their intervals."""
    frame = table.to_frame(level)
    names = list(table.names)
    is_known = bool(np.isfinite(frame[["low", "high"]]).to_numpy().all()) and table.known
    if not is_known:
        frame["low"], frame["high"] = 0.0, 1.0
    colour = COLOURS["estimate"] if is_known else COLOURS["bound"]
    frame["cell"] = frame[names].apply(
        lambda row: ", ".join(_cell(name, row[name]) for name in names), axis=1
    )
    scale = alt.Scale(zero=True)
    cells = alt.Y("cell:N", sort=frame["cell"].tolist(), title=None, axis=alt.Axis(labelLimit=400))
    base = alt.Chart(frame).encode(y=cells)
    reach = base.mark_rule(color=colour, strokeWidth=2).encode(
        x=alt.X("low:Q", title="share of people", axis=alt.Axis(format="%"), scale=scale),
        x2="high:Q",
    )
    points = base.mark_point(filled=is_known, size=70, opacity=1, color=colour).encode(
        x="estimate:Q",
        tooltip=[
            *names,
            alt.Tooltip("estimate:Q", format=".2%"),
            alt.Tooltip("low:Q", format=".2%"),
            alt.Tooltip("high:Q", format=".2%"),
        ],
    )
    simulated = " · SIMULATED" if table.simulated else ""
    title = alt.TitleParams(
        " × ".join(names),
        subtitle=[
            f"{table.people:,} people, {_intervals(table, level, is_known)}{simulated}",
            *([] if table.plausible else [IMPLAUSIBLE]),
        ],
    )
    return dressed((reach + points).properties(title=title, width=420, height=alt.Step(32)))


def _intervals(table: Table, level: float, is_known: bool) -> str:
    """Say what the intervals are, and what the table is where it is not simply unbiased."""
    if not table.known:
        return "not known: these attributes were not asked about together"
    if not is_known or table.interval_kind == "none":
        return f"{table.kind}, without error bars"
    if table.kind == "unbiased":
        return f"{level:.0%} intervals"
    of = {"unprocessed": " of the unprocessed estimate"}.get(
        table.interval_kind, f" ({table.interval_kind})"
    )
    return f"{table.kind}, {level:.0%} intervals{of}"


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return name if value else f"not {name}"
    return f"{name} {value}"


def error_chart(rows: pd.DataFrame, bound: float | None = None, title: str = "") -> Any:
    """Return predicted and measured errors by mechanism, the lower bound as a line.

    ``rows`` has the columns mechanism, mean_tv and predicted_tv.
    """
    order = rows.sort_values("mean_tv")["mechanism"].tolist()
    names = alt.Y("mechanism:N", sort=order, title=None)
    value = alt.X(
        "mean_tv:Q", title="mean total variation distance (log scale)", scale=alt.Scale(type="log")
    )
    measured = (
        alt.Chart(rows)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=value, y=names, color=alt.datum("measured"))
    )
    predicted = (
        alt.Chart(rows.dropna(subset=["predicted_tv"]))
        .mark_tick(thickness=3, size=18)
        .encode(x="predicted_tv:Q", y=names, color=alt.datum("predicted"))
    )
    layers = [predicted, measured]
    scale = alt.Scale(
        domain=["measured", "predicted", "lower bound (tables near uniform)"],
        range=[COLOURS["estimate"], COLOURS["truth"], COLOURS["bound"]],
    )
    if bound is not None:
        line = alt.Chart(pd.DataFrame({"bound": [bound]})).mark_rule(
            strokeDash=[4, 4], strokeWidth=2
        )
        layers.append(
            line.encode(x="bound:Q", color=alt.datum("lower bound (tables near uniform)"))
        )
    chart = alt.layer(*layers).encode(color=alt.Color(scale=scale, title=None))
    return dressed(chart.properties(title=title, width=480, height=alt.Step(30))).configure_legend(
        orient="bottom", labelLimit=400
    )


def save_chart(chart: Any, path: str | Path) -> None:
    """Write a chart as .html, .svg, .png or .json, whole or not at all.

    Pictures need vl-convert. With it, a page carries its scripts inside and works offline; without,
    it loads them when it is looked at.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        *some, last = ENDINGS
        raise ChartError(
            f"A chart must end in {', '.join(some)} or {last}, got {Path(path).name!r}."
        )
    converts = find_spec("vl_convert") is not None
    if ending in (".svg", ".png") and not converts:
        raise ChartError(
            f"Drawing {ending} files needs vl-convert: run 'pip install vl-convert-python', "
            "or choose .html or .json."
        )
    options: dict[str, Any] = {".html": {"inline": converts}, ".png": {"scale_factor": 2}}

    def write(draft: Path) -> None:
        chart.save(draft, format=ending[1:], **options.get(ending, {}))

    write_whole(path, write, ChartError)
