"""Charts (Altair), in one look: colour-blind safe, with uncertainty drawn."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from math import floor, log10
from pathlib import Path
from textwrap import wrap
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.errors import ChartError
from deniable.formats.writing import write_whole
from deniable.release.marginal import IMPLAUSIBLE, Table
from deniable.schema.attribute import Attribute
from deniable.show.axes import axis_words, value_name
from deniable.show.export import check_ending
from deniable.show.reading import doubtful_cells, warning_words
from deniable.show.structure import SHADES

COLOURS = {"estimate": "#0072b2", "truth": "#d55e00", "bound": "#999999"}
"""From the Okabe–Ito palette."""

ENDINGS = (".html", ".svg", ".pdf", ".png", ".json")
"""What a chart can be written as."""

MOST_POINTS = 32
"""The most cells that are listed as points with their intervals."""

LONGEST_AXIS = 100
"""The most values of an attribute that an axis shows."""

ROW = 22
"""The height of a heat map's row."""

WIDEST = 72
"""The most that a heat map's column is wide; from half of it on, cells say their share."""

_PHONE = """  <meta name="viewport" content="width=device-width, initial-scale=1">
  <style>#vis { overflow-x: auto; }</style>"""
"""Without it a phone draws a page for a desk, at a size at which no letter can be read."""

_LABELS: dict[str, Any] = {"labelLimit": 220, "labelPadding": 4}
_FONT = "Helvetica, Arial, sans-serif"
_LINE = 76
"""The most letters of a line below a title: a wider one would leave the chart in an empty page."""


def with_theme(chart: Any) -> Any:
    """Return a chart in the look that all of them share."""
    return chart.configure(  # at once: each call copies the chart with all its data
        font=_FONT,
        view=alt.ViewConfig(strokeWidth=0),
        axis=alt.AxisConfig(
            grid=True, gridColor="#eeeeee", domainColor="#999999", tickColor="#999999"
        ),
        title=alt.TitleConfig(
            anchor="start", fontSize=14, subtitleColor="#666666", subtitleFontSize=11
        ),
    )


def headed(title: str, notes: Iterable[str], **options: Any) -> alt.TitleParams:
    """Return a chart's title, with notes below it in lines that are no wider than a chart."""
    lines = [line for note in notes for line in wrap(note, _LINE)]
    return alt.TitleParams(title, subtitle=lines, **options)


def marginal_chart(table: Table, level: float = 0.95) -> Any:
    """Return a table's cells as points with their intervals, or as a heat map.

    Two numbers make a heat map, and so do two other attributes with more than 32 cells. Of more
    attributes with so many cells, or of very many values, the 32 largest cells are shown.
    """
    sizes = table.values.shape
    is_large = table.values.size > MOST_POINTS or _is_map(table)
    if len(sizes) == 2 and is_large and max(sizes) <= LONGEST_AXIS:
        return _heat_map(table, level)
    return _points(table, level)


def _is_map(table: Table) -> bool:
    """Tell whether a table is of two attributes that have an order."""
    return len(table.names) == 2 and all(each.is_ordered for each in table.attributes)


def _points(table: Table, level: float) -> Any:
    names, cells = table.names, table.values.size
    is_cut = cells > (LONGEST_AXIS if len(names) == 1 else MOST_POINTS)
    frame, is_known = _cells(table, level, MOST_POINTS if is_cut else None)
    is_clear = is_known and not table.is_swamped
    colour = COLOURS["estimate"] if is_clear else COLOURS["bound"]
    is_list = len(names) == 1 and cells > MOST_POINTS  # the title names the only attribute
    is_number = len(names) == 1 and table.attributes[0].scale is not None
    rows = zip(*(frame[f"value{axis}"] for axis in range(len(names))), strict=True)
    frame["cell"] = [
        value_name(table.attributes[0], row[0])
        if is_list or is_number
        else ", ".join(map(_cell_name, table.attributes, row))
        for row in rows
    ]
    scale = alt.Scale(zero=True)
    axis = alt.Axis(format="%", labelFlush=False) if is_list else alt.Axis(format="%")
    cells_axis = alt.Y(
        "cell:N", sort=frame["cell"].tolist(), title=None, axis=alt.Axis(labelLimit=400)
    )
    base = alt.Chart(frame).encode(y=cells_axis)
    dash = [3, 3] if table.is_swamped else alt.Undefined
    reach = base.mark_rule(color=colour, strokeWidth=2, strokeDash=dash).encode(
        x=alt.X("low:Q", title="share of people", axis=axis, scale=scale),
        x2="high:Q",
    )
    size = 35 if is_list else 70
    points = base.mark_point(filled=is_clear, size=size, opacity=1, color=colour).encode(
        x="estimate:Q", tooltip=_tips(table)
    )
    largest = f"The {MOST_POINTS} largest estimates of {cells:,} cells; some are large by chance"
    return with_theme(
        (reach + points).properties(
            title=_title(table, level, is_known, [largest] if is_cut else []),
            width=420,
            height=alt.Step(20 if is_list else 24 if is_cut else 32),
        )
    )


def _heat_map(table: Table, level: float) -> Any:
    """Return the cells of two attributes as coloured rectangles, those that may be 0 hatched."""
    frame, is_known = _cells(table, level)
    frame["shown"] = np.nan_to_num(frame["estimate"]).clip(0, None)
    ends = (frame[end].to_numpy().reshape(table.values.shape) for end in ("low", "high"))
    frame["doubtful"] = doubtful_cells(table, *ends).ravel()
    labels = [[_label(a, value) for value in a.values] for a in table.attributes]
    for axis, own in enumerate(labels):
        frame[f"label{axis}"] = np.array(own)[np.indices(table.values.shape)[axis].ravel()]
    x, y, width = _map_axes(table, labels)
    top = float(frame["shown"].max()) or 1.0
    base = alt.Chart(frame).encode(x=x, y=y)
    rectangles = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color(
            "shown:Q",
            title="share of people",
            scale=alt.Scale(type="sqrt", range=SHADES, domain=[0, top]),
            legend=alt.Legend(format=".2~p", gradientLength=180, values=_ticks(top)),
        ),
        opacity=alt.condition("datum.doubtful", alt.value(0.5), alt.value(1)),
        tooltip=_tips(table),
    )
    is_wide = width >= WIDEST / 2
    if is_wide:
        dark = f"datum.shown > {0.3 * top!r} && !datum.doubtful"
        shade = alt.condition("datum.doubtful", alt.value("#6e6e6e"), alt.value("#333333"))
        texts = base.encode(text=alt.Text("estimate:Q", format=".1%"))
        layers = [
            rectangles,
            texts.transform_filter(f"!({dark})").mark_text(fontSize=10).encode(color=shade),
            texts.transform_filter(dark).mark_text(fontSize=10, color="white"),
        ]
    else:
        hatch = base.transform_filter("datum.doubtful").mark_point(
            shape="M-0.5,0.5L0.5,-0.5",
            size=ROW**2 / 2,
            stroke="#b5b5b5",
            strokeWidth=0.8,
            opacity=1,
        )
        layers = [rectangles, hatch]
    how = "Grey" if is_wide else "Hatched"
    is_marked = is_known and frame["doubtful"].any() and not table.is_swamped
    more = [f"{how}: the interval holds 0"] if is_marked else []
    return with_theme(
        alt.layer(*layers).properties(
            title=_title(table, level, is_known, more), width=alt.Step(width), height=alt.Step(ROW)
        )
    ).configure_axis(
        grid=False, domain=False, ticks=False, titleFontWeight="normal", titleColor="#666666"
    )


def _map_axes(table: Table, labels: list[list[str]]) -> tuple[alt.X, alt.Y, float]:
    """Return the axes of a heat map, and how wide its columns are."""
    down, across = sorted((0, 1), key=lambda axis: -table.attributes[axis].size)
    is_map = _is_map(table)
    if is_map:  # as maps are read: the first to the right, the second upwards
        down, across = 1, 0
    titles = [axis_words(attribute.name, attribute.unit) for attribute in table.attributes]
    width = max(ROW, min(WIDEST, 480 / len(labels[across])))
    is_level = 7 * max(map(len, labels[across])) <= width
    side: Any = "bottom" if is_map else "top"
    beside = alt.Axis(labelAngle=0 if is_level else -40, orient=side, **_LABELS)
    x = alt.X(f"label{across}:N", sort=labels[across], title=titles[across], axis=beside)
    upwards = labels[down][::-1] if is_map else labels[down]
    y = alt.Y(f"label{down}:N", sort=upwards, title=titles[down], axis=alt.Axis(**_LABELS))
    return x, y, width


def _ticks(top: float) -> list[float]:
    """Return round shares for the legend of a square-root scale that ends at ``top``."""
    power = 10.0 ** floor(log10(top))
    rounds = [step * power for step in (0.1, 0.5, 1, 2, 5)]
    return [0.0, *(float(f"{share:.6g}") for share in rounds if share <= top)]


def _cells(table: Table, level: float, most: int | None = None) -> tuple[pd.DataFrame, bool]:
    """Return cells with intervals, the largest if not all, and whether the intervals are known."""
    low, high = (end.ravel() for end in table.interval(level))
    is_known = bool(np.isfinite(low).all() and np.isfinite(high).all()) and table.known
    if not is_known:
        low, high = np.zeros_like(low), np.ones_like(high)
    estimate = table.values.ravel()
    cells = np.arange(len(estimate)) if most is None else np.argsort(-estimate)[:most]
    frame = pd.DataFrame({"estimate": estimate, "low": low, "high": high}).iloc[cells]
    codes = np.unravel_index(cells, table.values.shape)
    values = {  # not under the attributes' names, which may be anything
        f"value{axis}": pd.Series([attribute.values[code] for code in codes[axis]], dtype=object)
        for axis, attribute in enumerate(table.attributes)
    }
    return frame.reset_index(drop=True).assign(**values), is_known


def _tips(table: Table) -> list[alt.Tooltip]:
    """Return what a cell says when one points at it."""
    values = [alt.Tooltip(f"value{i}:N", title=name) for i, name in enumerate(table.names)]
    ends = ("estimate", "low", "high")
    return [*values, *(alt.Tooltip(f"{end}:Q", format=".2%") for end in ends)]


def _title(table: Table, level: float, is_known: bool, more: list[str]) -> alt.TitleParams:
    simulated = " · SIMULATED" if table.simulated else ""
    return headed(
        " × ".join(_titles(table)),
        [
            f"{table.people:,} people, {interval_words(table, level, is_known)}{simulated}",
            *more,
            *filter(None, [warning_words(table)]),
            *([] if table.plausible else [IMPLAUSIBLE]),
        ],
    )


def _titles(table: Table) -> list[str]:
    """Return the names, with the unit where no axis says it."""
    if len(table.names) > 1:
        return list(table.names)
    return [axis_words(each.name, each.unit) for each in table.attributes]


def interval_words(table: Table, level: float, is_known: bool = True) -> str:
    """Say what the intervals are, and what the table is where it is not simply unbiased."""
    if not table.known:
        return "not known"
    if not is_known or table.interval_kind == "none":
        return f"{table.kind}, without error bars"
    if table.kind == "unbiased":
        return f"{level:.0%} intervals"
    of = {"unprocessed": " of the unprocessed estimate", "delta": ""}.get(
        table.interval_kind, f" ({table.interval_kind})"
    )
    return f"{table.kind}, {level:.0%} intervals{of}"


def cell_name(name: str, value: object) -> str:
    """Return what people in a cell are: "Tip", "not Tip" or "income high"."""
    if isinstance(value, bool | np.bool_):
        return name if value else f"not {name}"
    return f"{name} {value}"


def _cell_name(attribute: Attribute, value: object) -> str:
    return cell_name(
        attribute.name, value if attribute.scale is None else value_name(attribute, value)
    )


def _label(attribute: Attribute, value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return cell_name(attribute.name, value)
    return value_name(attribute, value)


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
    return with_theme(
        chart.properties(title=title, width=480, height=alt.Step(30))
    ).configure_legend(orient="bottom", labelLimit=400)


def save_chart(chart: Any, path: str | Path) -> None:
    """Write a chart as .html, .svg, .pdf, .png or .json, whole or not at all.

    A page carries its scripts inside, and works offline.
    """
    ending = check_chart(path)
    options: dict[str, Any] = {".png": {"scale_factor": 2}}

    def write(draft: Path) -> None:
        if ending == ".html":
            draft.write_text(_page(chart), "utf-8")
        else:
            chart.save(draft, format=ending[1:], **options.get(ending, {}))

    write_whole(path, write, ChartError)


def _page(chart: Any) -> str:
    """Return a chart as a page; on a phone it is as large as on a desk, and scrolls."""
    text = StringIO()
    chart.save(text, format="html", inline=True)
    return text.getvalue().replace("<head>", f"<head>\n{_PHONE}", 1)


def as_svg(chart: Any) -> str:
    """Return a chart as SVG."""
    text = StringIO()
    chart.save(text, format="svg")
    return text.getvalue()


def check_chart(path: str | Path) -> str:
    """Return the ending of a file that a chart can be written to, or refuse it."""
    return check_ending(path, "A chart", ENDINGS)
