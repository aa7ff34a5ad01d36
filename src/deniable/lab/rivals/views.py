"""The views that CALM asks about: how many, of how many attributes, and which.

A view is a set of ℓ attributes. m views share n people, so that a cell of a view of c cells has noise
v(c)·m/n, and a view as a whole e = c·v(c)·m/n. What a table of c' cells says about a set B of its
attributes beyond smaller sets has ∏(r_b − 1) degrees of freedom, each of noise e/c' within one view;
views that agree have averaged it over all that hold B, with weights 1/e. So the noise of a table, the
sum of squares over its cells, is Σ_B ∏_{b∈B}(r_b − 1)/c' / Σ_{views ⊇ B} 1/e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.lab.rivals.oracle import Oracle
from deniable.lab.rivals.rival import Advance
from deniable.questions.subsets import ranks
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Ints, all_tables, positions

if TYPE_CHECKING:
    from deniable.lab.simulate import Crowd

ENOUGH = 0.001
"""θ: the noise of a table, a sum of squares over its cells, above which less is asked."""

_MOST_SETS = 20_000
_MOST_CELLS = 4096
"""The most cells of a view, unless no view is smaller."""


@dataclass(frozen=True, eq=False)
class Views:
    """Some views, and the mean noise of the tables that they are to cover."""

    views: tuple[tuple[int, ...], ...]
    covered: int
    """Of how many attributes all tables are covered."""
    noise: float


def choose(schema: Schema, order: int, epsilon: float, people: int) -> Views:
    """Return the views to ask about.

    All tables of ``order`` attributes are covered, by views of the size that has the least noise. If
    that is too much, all of one attribute fewer, down to pairs.
    """
    least, covered = min(2, order), order
    while True:
        best = _best(schema.sizes, covered, epsilon, people)
        if covered == least or (best is not None and best.noise <= ENOUGH):
            break
        covered -= 1
    if best is None:
        raise SurveyError(
            f"CALM takes at most {_MOST_SETS:,} sets of {least} attributes here, got "
            f"{comb(len(schema), least):,}."
        )
    return best


def _best(sizes: tuple[int, ...], covered: int, epsilon: float, people: int) -> Views | None:
    """Return the views of the best size; none where there are too many sets to cover."""
    if comb(len(sizes), covered) > _MOST_SETS:
        return None
    best: Views | None = None
    for size in range(covered, len(sizes) + 1):
        views = cover(len(sizes), covered, size)
        if best is not None and max(_cells(sizes, view) for view in views) > _MOST_CELLS:
            break
        noise = noise_of(sizes, views, covered, epsilon, people)
        if best is None or noise < best.noise:
            best = Views(tuple(views), covered, noise)
    return best


def _cells(sizes: tuple[int, ...], view: tuple[int, ...]) -> int:
    return prod(sizes[attribute] for attribute in view)


def noise_of(
    sizes: tuple[int, ...],
    views: list[tuple[int, ...]],
    covered: int,
    epsilon: float,
    people: int,
) -> float:
    """Return the mean noise of all tables of so many attributes, after views agree."""
    precise = [1 / _noise(sizes, view, epsilon) * people / len(views) for view in views]
    each = []  # of the sets of 1, 2, … attributes
    for level in range(1, covered + 1):
        sets = all_tables(len(sizes), level)
        precision = np.zeros(len(sets))
        for view, own in zip(views, precise, strict=True):
            precision[_inside(sets, view, len(sizes))] += own
        each.append((np.array(sizes)[sets] - 1).prod(axis=1) / precision)
    tables = all_tables(len(sizes), covered)
    total = np.zeros(len(tables))
    for mask in range(1, 1 << covered):
        inner = tables[:, positions(mask)]
        total += each[inner.shape[1] - 1][ranks(inner, len(sizes))]
    return float(np.mean(total / np.array(sizes)[tables].prod(axis=1)))


def _noise(sizes: tuple[int, ...], view: tuple[int, ...], epsilon: float) -> float:
    """Return n times the noise of a view as a whole."""
    cells = _cells(sizes, view)
    return cells * Oracle.adaptive(cells, epsilon).noise


def _inside(sets: Ints, view: tuple[int, ...], attributes: int) -> NDArray[np.bool_]:
    """Tell which sets a view holds."""
    is_member = np.zeros(attributes, np.bool_)
    is_member[list(view)] = True
    inside: NDArray[np.bool_] = np.logical_and.reduce(is_member[sets], axis=1)
    return inside


def cover(attributes: int, covered: int, size: int) -> list[tuple[int, ...]]:
    """Return views of ``size`` attributes that hold all sets of ``covered``: a covering design.

    Greedy: a view begins with a set that no view holds, and takes the attribute with which it holds
    most more of those, again and again; of equal ones that which is in the fewest views.
    """
    sets = all_tables(attributes, covered)
    if size == covered:
        return [tuple(row) for row in sets.tolist()]
    views: list[tuple[int, ...]] = []
    is_open, times = np.ones(len(sets), np.bool_), np.zeros(attributes)
    while is_open.any():
        rest = sets[is_open]
        is_member = np.zeros(attributes, np.bool_)
        is_member[rest[0]] = True
        for _ in range(size - covered):
            inside = is_member[rest]
            nearly = inside.sum(axis=1) == covered - 1
            lacking = rest[nearly][~inside[nearly]]
            gain = np.bincount(lacking, minlength=attributes) - times / (times.sum() + 1)
            gain[is_member] = -np.inf
            is_member[int(gain.argmax())] = True
        view = tuple(np.flatnonzero(is_member).tolist())
        is_open &= ~_inside(sets, view, attributes)
        times += is_member
        views.append(view)
    return views


def holders_of(
    schema: Schema,
    views: Sequence[tuple[int, ...]],
    crowd: Crowd,
    random: np.random.Generator,
    advance: Advance,
) -> list[Ints]:
    """Ask everybody of a crowd about one view, by lot; return how many hold each cell of each view."""
    from deniable.lab.simulate import true_values

    shapes = [tuple(schema.sizes[a] for a in view) for view in views]
    holders = [np.zeros(prod(shape), np.int64) for shape in shapes]
    for block in crowd.blocks():
        values = [true_values(schema, block, a) for a in range(len(schema))]
        lots = random.integers(len(views), size=len(block))
        rows = np.argsort(lots, kind="stable")
        ends = np.searchsorted(lots[rows], np.arange(len(views) + 1))
        for i, view in enumerate(views):
            own = rows[ends[i] : ends[i + 1]]
            cells = np.ravel_multi_index(tuple(values[a][own] for a in view), shapes[i])
            holders[i] += np.bincount(cells, minlength=len(holders[i]))
        advance(len(block))
    return holders
