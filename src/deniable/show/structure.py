"""Charts of how attributes hang together: a matrix of associations, and their tree."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.show.charts import SHADES, dressed

__all__ = ["DOUBTFUL", "Drawing", "association_chart", "draw_tree", "short_names", "tree_chart"]

DOUBTFUL = 0.1
"""Associations with a larger q-value are drawn faint: they may be noise."""

MOST_NUMBERS = 12
"""The most attributes whose matrix says its numbers."""

LONGEST_NAME = 28
"""The most letters of a name that a drawing shows."""

LETTER, BOX, ROW, GAP = 7.2, 26, 38, 56
"""In a drawn tree, in pixels: a letter's width, a box's height, a row's, the space between columns."""


def _cut(name: str, most: int = LONGEST_NAME) -> str:
    """Return a name that is not too long, with its end kept: long names often differ there."""
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def association_chart(frame: pd.DataFrame, names: Iterable[str] = ()) -> Any:
    """Return associations as a triangle: the darker, the stronger; faint where it may be noise.

    ``frame`` is what `release.associations()` returns; ``names`` may say in which order attributes
    stand.
    """
    order = list(dict.fromkeys([*names, *frame["a"], *frame["b"]]))
    place = {name: index for index, name in enumerate(order)}
    pairs = [sorted((place[a], place[b])) for a, b in zip(frame["a"], frame["b"], strict=True)]
    rows = frame.assign(
        x=[first for first, _ in pairs],
        y=[second for _, second in pairs],
        doubtful=~(frame["q_value"] <= DOUBTFUL),
        shown=np.nan_to_num(frame["cramers_v"].astype(float)).clip(0, 1),
    ).drop(columns=["df"])  # counts may be numbers that JSON does not have
    labels = list(short_names(order).values())
    top = float(rows["shown"].max()) or 1.0
    size = 46 if len(order) <= MOST_NUMBERS else 26 if len(order) <= 20 else 18
    said = alt.Axis(labelExpr=f"{json.dumps(labels)}[datum.value]", title=None, labelLimit=260)
    base = alt.Chart(rows).encode(x=alt.X("x:O", axis=said), y=alt.Y("y:O", axis=said))
    squares = base.mark_rect(stroke="white", strokeWidth=1.5).encode(
        color=alt.Color(
            "shown:Q",
            title="Cramér’s V",
            scale=alt.Scale(range=SHADES, domain=[0, top]),
            legend=alt.Legend(gradientLength=140, format=".2~f", tickCount=4),
        ),
        opacity=alt.condition("datum.doubtful", alt.value(0.35), alt.value(1)),
        tooltip=[
            alt.Tooltip("a:N", title="attribute"),
            alt.Tooltip("b:N", title="and"),
            alt.Tooltip("cramers_v:Q", title="Cramér’s V", format=".3f"),
            alt.Tooltip("cramers_v_low:Q", title="from", format=".3f"),
            alt.Tooltip("cramers_v_high:Q", title="to", format=".3f"),
            alt.Tooltip("statistic:Q", format=".1f"),
            alt.Tooltip("q_value:Q", title="q-value", format=".2~g"),
        ],
    )
    layers = [squares]
    if len(order) <= MOST_NUMBERS:
        is_dark = f"datum.shown > {0.55 * top!r} && !datum.doubtful"
        texts = base.encode(text=alt.Text("shown:Q", format=".2f"))
        grey = alt.condition("datum.doubtful", alt.value("#767676"), alt.value("#222222"))
        layers += [
            texts.transform_filter(f"!({is_dark})").mark_text(fontSize=11).encode(color=grey),
            texts.transform_filter(is_dark).mark_text(fontSize=11, color="white"),
        ]
    doubts = int(rows["doubtful"].sum())
    note = f"Faint: may be noise (q-value above {DOUBTFUL:g}), {doubts:,} of {len(rows):,} pairs"
    return dressed(
        alt.layer(*layers).properties(
            title=alt.TitleParams("Associations", subtitle=[note] if doubts else []),
            width=alt.Step(size),
            height=alt.Step(size),
        )
    ).configure_axis(grid=False, domain=False, ticks=False)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name cut, or whole where another one would be cut to the same."""
    short = {name: _cut(name) for name in names}
    taken = list(short.values())
    return {name: one if taken.count(one) == 1 else name for name, one in short.items()}


@dataclass(frozen=True)
class Box:
    """An attribute in a drawing: its left edge, its middle's height, its width."""

    name: str
    label: str
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Link:
    """An edge in a drawing, from the right edge of one box to the left edge of another."""

    a: str
    b: str
    mutual_information: float
    thickness: float
    x: float
    y: float
    x2: float
    y2: float
    doubtful: bool
    """Whether it may be noise, where the edges say so."""


@dataclass(frozen=True)
class Drawing:
    """A tree laid out from left to right."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    width: float
    height: float


def draw_tree(edges: pd.DataFrame, names: Iterable[str] = ()) -> Drawing:
    """Lay out a tree, or several: the root is the middle of the tree, its parts stand below.

    ``edges`` has the columns a, b and mutual_information, and may have q_value; ``names`` may add
    attributes that hang on nothing.
    """
    near: dict[str, list[str]] = {name: [] for name in names}
    for a, b in zip(edges["a"], edges["b"], strict=True):
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    depth: dict[str, int] = {}
    row: dict[str, float] = {}
    parent: dict[str, str] = {}
    for start in near:
        if start in depth:
            continue
        root = _middle(near, start)
        below = _from_root(near, root, depth, parent)
        height = _heights(below, parent)
        _rows(near, parent, height, root, row)
    labels = short_names(near)
    widths = {name: LETTER * len(labels[name]) + 20 for name in near}
    columns = [
        max(widths[name] for name in near if depth[name] == level)
        for level in range(max(depth.values(), default=-1) + 1)
    ]
    lefts = list(accumulate((width + GAP for width in columns), initial=0.0))
    boxes = {
        name: Box(name, labels[name], lefts[depth[name]], ROW * (row[name] + 0.5), widths[name])
        for name in near
    }
    doubts = ~(edges["q_value"] <= DOUBTFUL) if "q_value" in edges else [False] * len(edges)
    columns_read = (edges["a"], edges["b"], edges["mutual_information"], doubts)
    held = {
        frozenset((a, b)): (float(mi), bool(doubtful))
        for a, b, mi, doubtful in zip(*columns_read, strict=True)
    }
    strongest = max((mi for mi, _ in held.values()), default=0.0)
    links = []
    for child, above in parent.items():
        left, right = boxes[above], boxes[child]
        mi, doubtful = held[frozenset((above, child))]
        thickness = 1.5 + (8.5 * max(0.0, mi) / strongest if strongest > 0 else 0.0)
        ends = (left.x + left.width, left.y, right.x, right.y)
        links.append(Link(above, child, mi, thickness, *ends, doubtful))
    return Drawing(
        tuple(boxes.values()),
        tuple(links),
        max((box.x + box.width for box in boxes.values()), default=0.0),
        max((box.y + ROW / 2 for box in boxes.values()), default=0.0),
    )


def _walk(near: dict[str, list[str]], start: str) -> dict[str, str | None]:
    """Return who leads to whom, in the order of distance from ``start``."""
    came: dict[str, str | None] = {start: None}
    waiting = [start]
    for name in waiting:  # grows while it is read
        fresh = [other for other in near[name] if other not in came]
        came |= dict.fromkeys(fresh, name)
        waiting += fresh
    return came


def _middle(near: dict[str, list[str]], start: str) -> str:
    """Return the middle of the longest path, so that the drawing is not deeper than it must."""
    far = list(_walk(near, start))[-1]
    came = _walk(near, far)
    path: list[str] = []
    at: str | None = list(came)[-1]
    while at is not None:
        path.append(at)
        at = came[at]
    return max(path[(len(path) - 1) // 2 : len(path) // 2 + 1], key=lambda name: len(near[name]))


def _from_root(
    near: dict[str, list[str]], root: str, depth: dict[str, int], parent: dict[str, str]
) -> list[str]:
    came = _walk(near, root)
    for name, above in came.items():
        depth[name] = 0 if above is None else depth[above] + 1
        if above is not None:
            parent[name] = above
    return list(came)


def _heights(below: list[str], parent: dict[str, str]) -> dict[str, int]:
    """Return how many leaves hang on each attribute."""
    leaves = dict.fromkeys(below, 0)
    for name in reversed(below):
        leaves[name] = leaves[name] or 1
        if name in parent:
            leaves[parent[name]] += leaves[name]
    return leaves


def _rows(
    near: dict[str, list[str]],
    parent: dict[str, str],
    leaves: dict[str, int],
    root: str,
    row: dict[str, float],
) -> None:
    """Give each leaf a row of its own, and each other attribute the middle of its children's."""
    top = max(row.values(), default=-1.0)
    first = {root: float(np.floor(top)) + 1}
    order = [root]
    for name in order:  # grows while it is read
        at = first[name]
        for child in near[name]:
            if parent.get(child) == name:
                first[child] = at
                at += leaves[child]
                order.append(child)
    for name in reversed(order):
        children = [row[child] for child in near[name] if parent.get(child) == name]
        row[name] = (min(children) + max(children)) / 2 if children else first[name]


def tree_chart(edges: pd.DataFrame, names: Iterable[str] = ()) -> Any:
    """Return a tree of attributes, its edges the thicker, the more they tell about each other.

    ``edges`` is `release.tree().edges`; ``names`` may add attributes that hang on nothing.
    """
    drawing = draw_tree(edges, names)
    lines = pd.DataFrame(
        [
            {
                **asdict(link),
                "link": index,
                "step": step,
                "x": link.x + (link.x2 - link.x) * part,
                "y": link.y + (link.y2 - link.y) * part * part * (3 - 2 * part),
            }
            for index, link in enumerate(drawing.links)
            for step, part in enumerate(np.linspace(0, 1, 25).tolist())
        ],
        columns=[*Link.__dataclass_fields__, "link", "step"],
    )
    boxes = pd.DataFrame(drawing.boxes, columns=list(Box.__dataclass_fields__))
    boxes = boxes.assign(
        x2=boxes["x"] + boxes["width"],
        middle=boxes["x"] + boxes["width"] / 2,
        top=boxes["y"] - BOX / 2,
        bottom=boxes["y"] + BOX / 2,
    )
    plain: dict[str, Any] = {"axis": None}
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, drawing.width], nice=False), **plain)
    down = alt.Scale(domain=[drawing.height, 0], nice=False)
    curves = (
        alt.Chart(lines)
        .mark_line(color=SHADES[2])
        .encode(
            x=x,
            y=alt.Y("y:Q", scale=down, **plain),
            detail="link:N",
            order="step:Q",
            strokeWidth=alt.StrokeWidth("thickness:Q", scale=None, legend=None),
            strokeDash=alt.condition("datum.doubtful", alt.value([4, 4]), alt.value([1, 0])),
            tooltip=[
                alt.Tooltip("a:N", title="attribute"),
                alt.Tooltip("b:N", title="and"),
                alt.Tooltip("mutual_information:Q", title="mutual information", format=".4f"),
            ],
        )
    )
    frames = (
        alt.Chart(boxes)
        .mark_rect(fill="white", stroke=SHADES[3], strokeWidth=1.2, cornerRadius=6)
        .encode(x=x, x2="x2:Q", y=alt.Y("top:Q", scale=down, **plain), y2="bottom:Q")
    )
    texts = (
        alt.Chart(boxes)
        .mark_text(fontSize=12, color="#222222")
        .encode(x=alt.X("middle:Q", **plain), y=alt.Y("y:Q", **plain), text="label:N")
    )
    return dressed(
        (curves + frames + texts).properties(
            title=alt.TitleParams(
                "What hangs together",
                subtitle="The thicker, the more mutual information"
                + (
                    "; dashed: may be noise" if any(link.doubtful for link in drawing.links) else ""
                ),
            ),
            width=drawing.width,
            height=drawing.height,
        )
    )
