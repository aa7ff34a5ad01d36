"""Charts that compare groups: a panel for each cell, the groups' estimates with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import isnan
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.analysis.difference import any_difference
from deniable.errors import TableError
from deniable.release.marginal import IMPLAUSIBLE, Table
from deniable.release.release import ReleasedTables
from deniable.schema.labels import FEWEST, PERIOD
from deniable.show.charts import COLOURS, cell_name, headed, interval_words, with_theme
from deniable.show.numbers import q_value

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Of Okabe and Ito, without the yellow that white swallows."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""Beside colours, for whoever cannot tell these apart; one fewer, so that 42 groups look different."""

MOST_PANELS = 12
"""The most cells that are drawn."""

_ACROSS = 3
_WIDTH = 660
_WIDEST = 420
_LINE_HEIGHT = 170
_MOST_MARKED = 6
"""The most periods that each have a mark of their own on the axis."""

_TIPS = [
    alt.Tooltip("group:N"),
    *(alt.Tooltip(f"{end}:Q", format=".2%") for end in ("estimate", "low", "high")),
    alt.Tooltip("people:Q", format=","),
]
"""What a point says when one points at it."""


def comparison_chart(
    releases: Mapping[str, ReleasedTables],
    *names: str,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    small: int = 0,
    level: float = 0.95,
) -> Any:
    """Return the groups' tables of these attributes, a panel per cell.

    ``groups`` holds the labels of each group: those with a period are lines over time, others are
    points below each other, beside what all of them together have. ``small`` groups are not drawn, and
    the chart says so. Of a yes/no attribute alone only the share of yes is drawn; of very many cells,
    the largest.
    """
    test = any_difference(releases, *names)
    tables = {name: release.marginal(*names) for name, release in releases.items()}
    known_tables = {name: table for name, table in tables.items() if table.known}
    if not known_tables:
        raise TableError("Nothing is known of this table in any group.")
    labels = {name: dict((groups or {}).get(name, {})) for name in known_tables}
    frame, cells, notes = _cell_rows(known_tables, level)
    if len(known_tables) < len(tables):
        unknown_groups = len(tables) - len(known_tables)
        notes.append(f"{unknown_groups} groups are not drawn: they know nothing of it")
    if small:
        verb = "group is" if small == 1 else "groups are"
        notes.append(f"{small} {verb} not displayed: under {FEWEST} reports")
    by = list(dict.fromkeys(label for own in labels.values() for label in own))
    is_timed = all(PERIOD in own for own in labels.values())
    others = [label for label in by if label != PERIOD] if is_timed else []
    if is_timed:
        chart = _over_time(frame, cells, labels, others)
    else:
        chart = _side_by_side(frame, cells, list(known_tables))
        notes.insert(0, "Grey line: all of these people together")
    return (
        with_theme(chart)
        .properties(title=_title(known_tables, by, test.p_value, level, notes))
        .configure_legend(orient="top", title=None, labelLimit=300, symbolSize=90, symbolOpacity=1)
    )


def _cell_rows(
    tables: Mapping[str, Table], level: float
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return a row per group and drawn cell, the cells' names, and what must be said of the choice."""
    first = next(iter(tables.values()))
    people = np.array([table.people for table in tables.values()], float)
    every = np.stack([table.values.ravel() for table in tables.values()])
    mean = people @ every / people.sum()
    names = [
        ", ".join(map(cell_name, first.names, values))
        for values in product(*(attribute.values for attribute in first.attributes))
    ]
    numbers, notes = np.arange(len(names)), []
    if len(first.names) == 1 and first.attributes[0].values == (False, True):
        numbers = numbers[1:]
    elif len(names) > MOST_PANELS:
        numbers = np.sort(np.argsort(-mean)[:MOST_PANELS])
        notes.append(f"The {MOST_PANELS} largest of {len(names):,} cells")
    rows = []
    for (name, table), values in zip(tables.items(), every, strict=True):
        low, high = (end.ravel() for end in table.interval(level))
        if not np.isfinite(low).all():
            low, high = np.zeros_like(values), np.ones_like(values)
        rows += [
            {
                "group": name,
                "cell": names[at],
                "estimate": values[at],
                "low": low[at],
                "high": high[at],
                "mean": mean[at],
                "people": table.people,
            }
            for at in numbers.tolist()
        ]
    return pd.DataFrame(rows), [names[at] for at in numbers], notes


def _side_by_side(frame: pd.DataFrame, cells: list[str], order: list[str]) -> Any:
    """Return the groups below each other, in a panel per cell."""
    blue = COLOURS["estimate"]
    across = min(len(cells), _ACROSS)

    def panel(own: pd.DataFrame, number: int, scale: alt.Scale) -> Any:
        axis = alt.Axis(labelLimit=220, grid=False, labels=number % across == 0)
        groups = alt.Y("group:N", sort=order, title=None, axis=axis)
        base = alt.Chart(own).encode(y=groups)
        shares = alt.X("low:Q", title=None, axis=alt.Axis(format="%", tickCount=4), scale=scale)
        mean = alt.Chart(own[:1]).mark_rule(color="#bbbbbb", strokeWidth=1.5)
        reach = base.mark_rule(color=blue, strokeWidth=2).encode(x=shares, x2="high:Q")
        points = base.mark_point(filled=True, size=70, opacity=1, color=blue)
        return alt.layer(
            mean.encode(x="mean:Q"), reach, points.encode(x="estimate:Q", tooltip=_TIPS)
        ).properties(height=alt.Step(24))

    return _panels(frame, cells, panel)


def _over_time(
    frame: pd.DataFrame, cells: list[str], labels: Mapping[str, Mapping[str, str]], by: list[str]
) -> Any:
    """Return lines over time, one for each group of the other labels, in a panel per cell."""
    series_of = {name: ", ".join(own[label] for label in by) for name, own in labels.items()}
    series = list(dict.fromkeys(series_of.values()))
    days = sorted({own[PERIOD] for own in labels.values()})
    gaps = pd.to_datetime(pd.Series(days)).diff().dropna()
    # Beside each other, so that no interval hides another; a tenth of a period is not misread.
    step = (gaps.min() if len(gaps) else pd.Timedelta(days=1)) * min(0.1, 0.5 / len(series))
    aside = {one: number - (len(series) - 1) / 2 for number, one in enumerate(series)}
    offset = frame["group"].map(series_of).map(aside) * step
    at = pd.to_datetime(frame["group"].map(lambda name: labels[name][PERIOD])) + offset
    frame = frame.assign(
        series=frame["group"].map(series_of), at=at.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    ticks = [f"{day}T00:00:00Z" for day in days] if len(days) <= _MOST_MARKED else alt.Undefined
    axis = alt.Axis(format="%-d %b %Y", values=ticks, labelAngle=-30, grid=False, tickCount=6)
    x = alt.X("at:T", title=None, axis=axis, scale=alt.Scale(type="utc", padding=16))
    look: dict[str, Any] = {"color": alt.value(COLOURS["estimate"])}
    point: dict[str, Any] = {}
    if len(series) > 1:
        colours, shapes = (
            alt.Scale(domain=series, range=[each[i % len(each)] for i in range(len(series))])
            for each in (PALETTE, SHAPES)
        )
        look = {"color": alt.Color("series:N", sort=series, scale=colours)}
        point = {"shape": alt.Shape("series:N", sort=series, scale=shapes)}

    def panel(own: pd.DataFrame, _: int, scale: alt.Scale) -> Any:
        base = alt.Chart(own).encode(x=x, **look)
        shares = alt.Y("low:Q", title=None, axis=alt.Axis(format="%", tickCount=5), scale=scale)
        points = base.mark_point(filled=True, size=60, opacity=1)
        return alt.layer(
            base.mark_line(strokeWidth=1.5, opacity=0.5).encode(y="estimate:Q"),
            base.mark_rule(strokeWidth=2).encode(y=shares, y2="high:Q"),
            points.encode(y="estimate:Q", tooltip=_TIPS, **point),
        ).properties(height=_LINE_HEIGHT)

    return _panels(frame, cells, panel)


def _panels(
    frame: pd.DataFrame, cells: list[str], panel: Callable[[pd.DataFrame, int, alt.Scale], Any]
) -> Any:
    """Return a panel per cell, all of which show as many points of percentage: bars compare."""
    across = min(len(cells), _ACROSS)
    spans = frame.groupby("cell")[["low", "mean", "high"]].agg(["min", "max"])
    low, high = spans["low"]["min"], spans["high"]["max"]
    half = float((high - low).max()) * 0.54 or 0.01
    panels = []
    for number, cell in enumerate(cells):
        middle = float(low[cell] + high[cell]) / 2
        scale = alt.Scale(domain=[middle - half, middle + half], nice=False, zero=False)
        one = panel(frame[frame["cell"] == cell], number, scale).properties(
            width=min(_WIDEST, _WIDTH / across)
        )
        header = alt.TitleParams(cell, fontSize=12, anchor="start", frame="group", offset=6)
        panels.append(one.properties(title=header) if len(cells) > 1 else one)
    return alt.concat(*panels, columns=across, spacing=18)


def p_words(value: float) -> str:
    """Return a p-value with as many digits as matter."""
    if isnan(value):
        return "not known"
    number = q_value(value)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def _title(
    tables: Mapping[str, Table], by: list[str], p: float, level: float, notes: list[str]
) -> alt.TitleParams:
    first = next(iter(tables.values()))
    people = sum(table.people for table in tables.values())
    simulated = " · SIMULATED" if any(table.simulated for table in tables.values()) else ""
    plausible = all(table.plausible for table in tables.values())
    return headed(
        " × ".join(first.names) + (f" by {' and '.join(by)}" if by else ""),
        [
            f"{people:,} people in {len(tables)} groups, {interval_words(first, level)}{simulated}",
            f"Any difference between groups, by this table alone: {p_words(p)}",
            *notes,
            *([] if plausible else [IMPLAUSIBLE]),
        ],
        offset=14,
    )
