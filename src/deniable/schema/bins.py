"""Bins: runs of a scale's points, as tables show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from deniable.schema.scale import Days, Points, Scale, day_of

MOST_BINS = 8
"""Tables cut a number into at most so many bins, unless its edges are declared."""


def cuts_at(scale: Scale, edges: Sequence[object]) -> tuple[int, ...] | None:
    """Return the levels where bins begin: at edges, or at equal distances where there are none.

    None where an edge is no point, or they do not ascend. The lower end may be an edge; it cuts nothing.
    """
    if not len(edges):
        width = _bin_width(scale.levels)
        return tuple(range(width, scale.levels, width))
    cuts: list[int] = []
    for edge in edges:
        value = edge.item() if isinstance(edge, np.generic) else edge
        cut = scale.cut_at(str(day_of(value)) if isinstance(scale, Days) else value)
        if cut is None or (cuts and cut <= cuts[-1]):
            return None
        cuts.append(cut)
    return tuple(cut for cut in cuts if cut)


def _bin_width(levels: int) -> int:
    """Return how many levels a bin has, of which at most eight are needed: a round number."""
    least, power = -(-levels // MOST_BINS), 1
    while True:
        for factor in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80):
            width, rest = divmod(factor * power, 10)
            if width >= least and not rest:
                return width
        power *= 10


def bin_names(scale: Scale, cuts: Sequence[int]) -> list[str]:
    """Return the names of the bins that begin at cuts."""
    if not cuts:
        return [described(scale)]
    points = [scale.point(cut) for cut in cuts]
    if not isinstance(scale, Days):
        return list(names_between([float(point) for point in points]))
    inner = [f"{a} to {b}" for a, b in pairwise(points)]
    return [f"before {points[0]}", *inner, f"from {points[-1]}"]


def names_between(edges: Sequence[float]) -> Iterator[str]:
    """Yield the names of what lies below, between and above edges."""
    texts = [f"{e:g}" if float(f"{e:g}") == e else repr(e) for e in edges]
    yield f"below {texts[0]}"
    yield from (f"{a} to {b}" for a, b in pairwise(texts))
    yield f"{texts[-1]} or more"


def described(scale: Scale) -> str:
    """Return a scale in words."""
    step = "" if isinstance(scale, Points) else f" in steps of {scale.step:g}"  # type: ignore[attr-defined]
    return f"{scale.levels:,} points from {scale.point(0)} to {scale.point(-1)}{step}"
