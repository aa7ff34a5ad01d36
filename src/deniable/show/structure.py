"""Drawings of the dependence structure: the matrix of associations, and the tree.

Both are drawn here only. The report holds the tree's SVG as it is, and the collector gives it to the
dashboard; the matrix is a table on both pages, whose cells are described here. Colours are classes, so
that a page may have a dark theme; as a file of its own the SVG has light ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, count
from math import ceil, isfinite, sqrt
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from deniable.show.numbers import q_value

if TYPE_CHECKING:
    import pandas as pd

SHADES = ("#f1f6fb", "#c6dcee", "#7fb6d9", "#2f83bd", "#0a4a86", "#062a52")
"""From nothing to much, in blue: whoever sees no red or green sees them as well."""

DOUBTFUL = 0.1
"""Dependence with a larger q-value may be noise, and is drawn so."""

MOST_NUMBERS = 12
"""The most attributes whose matrix says its numbers."""

MOST_ATTRIBUTES = 40
"""The most attributes that a matrix shows."""

LONGEST_NAME = 24
"""The most letters of a name that a drawing shows."""

LETTER, BOX, ROW, GAP = 7.2, 28, 40, 60
"""In a drawn tree, in pixels: a letter's width, a box's height, a row's, the space between columns."""

ROOM, INDENT, LEAST_INDENT = 340, 32, 10
"""In a narrow tree: its width, if names allow it, and how far children stand further in."""

_THIN, _THICK = 1.5, 7.0
_LEAST_TOP = 0.05
"""The darkest shade stands for the largest Cramér's V, but not for one that is next to nothing."""

_SVG = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" class="tree {kind}" role="img" width="{width:.0f}" '
    'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
    "<title>{words}</title>\n{parts}\n</svg>"
)
_LINK = Markup(
    '<g class="edge"><title>{words}</title>{trunk}<path class="link" d="{path}" fill="none" '
    f'stroke="{SHADES[2]}" stroke-width="{{thickness:.1f}}"{{dash}}/>'
    '<path class="hit" d="{path}" fill="none" stroke="none" stroke-width="18" '
    'pointer-events="stroke"/></g>'
)
_TRUNK = Markup(
    f'<path class="trunk" d="{{}}" fill="none" stroke="{SHADES[1]}" stroke-width="{_THIN}"/>'
)
_BOX = Markup(
    '<g class="node"><title>{name}</title><rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" '
    f'height="{BOX}" rx="6" fill="#fff" stroke="{SHADES[3]}" stroke-width="1.2"/>'
    '<text x="{middle:.1f}" y="{baseline:.1f}" text-anchor="middle" font-size="12" '
    'font-family="Helvetica, Arial, sans-serif">{label}</text></g>'
)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name cut, or whole where another one would be cut to the same.

    The end of a long name stays: long names often differ there.
    """
    most = LONGEST_NAME
    short = {n: n if len(n) <= most else f"{n[: most - 9]}…{n[-8:]}" for n in names}
    every = list(short.values())
    return {name: label if every.count(label) == 1 else name for name, label in short.items()}


def is_doubtful(value: Any) -> bool:
    """Tell whether what has this q-value may be noise; without a q-value, it may."""
    return value is None or not value <= DOUBTFUL


# The matrix


def surest_names(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Return the attributes that a matrix shows: all, or those in the surest associations."""
    every = list(names)
    if len(every) <= MOST_ATTRIBUTES:
        return every
    order = frame.sort_values("p_value", kind="stable")
    surest = set(list(dict.fromkeys(order[["a", "b"]].to_numpy().ravel()))[:MOST_ATTRIBUTES])
    return [name for name in every if name in surest]


def association_cells(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how each row of `release.associations()` is drawn: ``doubtful``, ``shade``, ``words``.

    Shades go from 1 to 5 with Cramér's V; 0 is for what may be noise. All cells are shaded against
    the same ``top``, the largest V that stands out from the noise; it is nan where none does.
    """
    top = darkest(frame)
    return [_association_cell(row, top) for row in frame.to_dict("records")]


def darkest(frame: pd.DataFrame) -> float:
    """Return the Cramér's V that the darkest shade stands for, or nan where all may be noise."""
    clear = frame.loc[frame["q_value"] <= DOUBTFUL, "cramers_v"]
    return max(_LEAST_TOP, float(clear.max())) if len(clear) else float("nan")


def shade_of(v: float, q: Any, top: float) -> int:
    """Return how dark a pair with this Cramér's V is drawn, from 1 to 5; 0 where it may be noise."""
    return 0 if is_doubtful(q) or not isfinite(v) else min(5, max(1, ceil(5 * v / top)))


def _association_cell(row: Mapping[Any, Any], top: float) -> dict[str, Any]:
    v, doubtful = float(row["cramers_v"]), is_doubtful(row["q_value"])
    cell = {"doubtful": doubtful, "shade": 0, "top": top, "text": "–", "words": "not known"}
    if not isfinite(v):
        return cell
    low, high = float(row["cramers_v_low"]), float(row["cramers_v_high"])
    cell["shade"] = shade_of(v, row["q_value"], top)
    verdict = "may be noise" if doubtful else "beyond noise"
    return cell | {
        "text": f"{v:.2f}",
        "words": f"Cramér’s V {v:.3f}, {low:.3f} to {high:.3f}; {verdict} "
        f"(q-value {q_value(float(row['q_value']))})",
    }


# The tree


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
    """An edge in a drawing, from parent to child."""

    a: str
    b: str
    mutual_information: float
    doubtful: bool
    """Whether it may be noise, where the edges say so."""
    thickness: float
    path: str
    trunk: str
    """What all links of a parent share, where they do."""


@dataclass(frozen=True)
class Drawing:
    """A tree laid out in pixels: ``wide`` from left to right, ``narrow`` from top to bottom."""

    kind: str
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    width: float
    height: float

    @property
    def svg(self) -> Markup:
        """Return the drawing as an SVG element, which may as well be a file."""
        links = [
            _LINK.format(
                words=f"{link.a} and {link.b}: {edge_words(link.mutual_information, link.doubtful)}",
                trunk=_TRUNK.format(link.trunk) if link.trunk else "",
                path=link.path,
                thickness=link.thickness,
                dash=Markup(' stroke-dasharray="4 4"') if link.doubtful else "",
            )
            for link in self.links
        ]
        boxes = [
            _BOX.format(
                name=box.name,
                label=box.label,
                x=box.x,
                top=box.y - BOX / 2,
                width=box.width,
                middle=box.x + box.width / 2,
                baseline=box.y + 4,
            )
            for box in self.boxes
        ]
        strongest = sorted(self.links, key=lambda link: -link.mutual_information)[:3]
        pairs = "; ".join(f"{link.a} and {link.b}" for link in strongest) or "none"
        return _SVG.format(
            kind=self.kind,
            width=self.width,
            height=self.height,
            words=f"Tree of {len(self.boxes)} attributes. Its strongest links: {pairs}.",
            parts=Markup("\n").join([*links, *boxes]),
        )


def edge_words(mutual_information: float, doubtful: bool) -> str:
    """Say how much an edge tells; of one that may be noise, the number would be noise as well."""
    return "may be noise" if doubtful else f"{mutual_information:.4f} nats of mutual information"


def is_noise(edges: pd.DataFrame) -> bool:
    """Tell whether all edges may be noise, so that which attributes they join would be chance."""
    has_test = "q_value" in edges and bool(edges["q_value"].notna().any())
    return has_test and bool(edges["q_value"].map(is_doubtful).all())


def draw_tree(edges: pd.DataFrame, names: Iterable[str] = (), *, narrow: bool = False) -> Drawing:
    """Lay out a tree, or several: the root is the middle of the tree, which is then least deep.

    ``edges`` has the columns a, b and mutual_information, and may have q_value; ``names`` may add
    attributes that depend on nothing. A wide drawing has parents left of their children; a narrow one
    has them above, children further in.
    """
    parents = _parents(edges, names)
    depth: dict[str, int] = {}
    for name, parent in parents.items():
        depth[name] = 0 if parent is None else depth[parent] + 1
    labels = short_names(parents)
    widths = {name: max(44, LETTER * len(label) + 20) for name, label in labels.items()}
    rows = {name: float(row) for row, name in enumerate(parents)} if narrow else _rows(parents)
    lefts = _indents(depth, widths) if narrow else _columns(depth, widths)
    boxes = {
        name: Box(name, labels[name], lefts[depth[name]], ROW * (rows[name] + 0.5), widths[name])
        for name in parents
    }
    return Drawing(
        "narrow" if narrow else "wide",
        tuple(boxes.values()),
        tuple(_links(edges, parents, boxes, narrow)),
        max((box.x + box.width + 2 for box in boxes.values()), default=0.0),
        max((box.y + ROW / 2 for box in boxes.values()), default=0.0),
    )


def _parents(edges: pd.DataFrame, names: Iterable[str]) -> dict[str, str | None]:
    """Return each attribute's parent, each tree from its middle, in the order of reading."""
    near: dict[str, list[str]] = {name: [] for name in names}
    for a, b in zip(edges["a"], edges["b"], strict=True):
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    parents: dict[str, str | None] = {}
    for start in near:
        if start in parents:
            continue
        stack: list[tuple[str, str | None]] = [(_middle(near, start), None)]
        while stack:
            name, parent = stack.pop()
            parents[name] = parent
            stack += [(other, name) for other in reversed(near[name]) if other != parent]
    return parents


def _middle(near: dict[str, list[str]], start: str) -> str:
    """Return the middle of the longest path."""

    def walk(first: str) -> dict[str, str | None]:
        origin: dict[str, str | None] = {first: None}
        queue = [first]
        for name in queue:  # grows while it is read
            fresh = [other for other in near[name] if other not in origin]
            origin |= dict.fromkeys(fresh, name)
            queue += fresh
        return origin

    origin = walk(list(walk(start))[-1])
    path: list[str] = []
    at: str | None = list(origin)[-1]
    while at is not None:
        path.append(at)
        at = origin[at]
    return max(path[(len(path) - 1) // 2 : len(path) // 2 + 1], key=lambda name: len(near[name]))


def _rows(parents: dict[str, str | None]) -> dict[str, float]:
    """Give each leaf a row of its own, and each other attribute the middle of its children's."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, parent in parents.items():
        if parent is not None:
            children[parent].append(name)
    leaves = count()
    rows = {name: float(next(leaves)) for name in parents if not children[name]}
    for name in reversed(parents):
        if own := children[name]:
            rows[name] = (rows[own[0]] + rows[own[-1]]) / 2
    return rows


def _columns(depth: dict[str, int], widths: dict[str, float]) -> list[float]:
    levels = range(max(depth.values(), default=-1) + 1)
    widest = [max(widths[name] for name in depth if depth[name] == level) for level in levels]
    return list(accumulate((width + GAP for width in widest), initial=1.0))


def _indents(depth: dict[str, int], widths: dict[str, float]) -> list[float]:
    room = [(ROOM - widths[name] - 3) / level for name, level in depth.items() if level]
    indent = max(LEAST_INDENT, min([INDENT, *room]))
    return [1 + indent * level for level in range(max(depth.values(), default=0) + 1)]


def _links(
    edges: pd.DataFrame, parents: dict[str, str | None], boxes: dict[str, Box], narrow: bool
) -> Iterable[Link]:
    """Yield the edges with their lines; one that may be noise has no thickness to speak of."""
    doubts = edges["q_value"].map(is_doubtful) if "q_value" in edges else [False] * len(edges)
    by_pair = {
        frozenset((a, b)): (float(nats), bool(doubtful))
        for a, b, nats, doubtful in zip(
            edges["a"], edges["b"], edges["mutual_information"], doubts, strict=True
        )
    }
    most = max((nats for nats, doubtful in by_pair.values() if not doubtful), default=0.0)
    for child, parent in parents.items():
        if parent is None:
            continue
        nats, doubtful = by_pair[frozenset((parent, child))]
        part = 0.0 if doubtful or most <= 0 else max(0.0, nats) / most
        one, two = boxes[parent], boxes[child]
        trunk = ""
        if narrow:
            x = one.x + 0.4 * (two.x - one.x)
            trunk = f"M{x:.1f} {one.y + BOX / 2:.1f}V{two.y:.1f}"
            path = f"M{x:.1f} {two.y:.1f}H{two.x:.1f}"
        else:
            x, middle = one.x + one.width, (one.x + one.width + two.x) / 2
            ends = f"{middle:.1f} {one.y:.1f} {middle:.1f} {two.y:.1f} {two.x:.1f} {two.y:.1f}"
            path = f"M{x:.1f} {one.y:.1f}C{ends}"
        yield Link(parent, child, nats, doubtful, _THIN + _THICK * sqrt(part), path, trunk)
