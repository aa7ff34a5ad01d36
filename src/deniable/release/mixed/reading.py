"""Tables as they are best read: margins, and departures without their noise.

A table is the sum of its interactions. Those of single attributes are margins that people can have;
those of larger sets are what a *centre* says (people of a few classes, or independent attributes), and
what was surely measured beyond it. Then cells are made non-negative, and margins stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from deniable.numeric.axes import along_axes, centred, stacks
from deniable.numeric.covariances import both_sides
from deniable.numeric.shares import ratio
from deniable.release.components import nonnegative
from deniable.release.mixed.classes import Classes
from deniable.release.mixed.interactions import Interactions, Sets
from deniable.release.mixed.shrinkage import Directions, Margin, margins, shrink
from deniable.survey.coefficients import Floats, Ints, positions

_FEWEST = 1e-6
"""What each cell gets of the table of independent attributes, so that margins can be kept."""

_UNSURE = 1.5
"""What not knowing for sure how strong departures are adds to their variance."""

_ROUNDS = 200
_ENOUGH = 1e-10


@dataclass(frozen=True, eq=False)
class Reading:
    """Interactions of all sets, and how far the truth may be from them.

    ``variances`` are those of directions: the first ∏(r−1) values of a set of two attributes or more.
    """

    sets: Sets
    margins: list[Margin]
    directions: Directions
    vector: Floats
    variances: Floats
    strengths: Floats
    """φ² of every set of two attributes or more."""

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of the same sizes, of up to k attributes."""
        return self.sets.tables(self.vector, tables).clip(0, None)

    def cell_variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell: by its margins, and by each departure of its sets."""
        sizes = self.sets.shape(tables)[1:]
        total = np.zeros((len(tables), *sizes))
        squares = stacks([margin.shares**2 for margin in self.margins], tables)
        for mask in range(1, 1 << len(sizes)):
            axes = positions(mask)
            some = tables[:, axes]
            if len(axes) == 1:
                own = np.stack([self.margins[a].variances for a in some[:, 0]])
            else:
                own = self.directions.cell_variances(self._variances_of(some), some)
            total += _beside(own, axes, squares, sizes)
        return total.reshape(len(tables), -1)

    def cell_covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the cells of each table."""
        sizes = self.sets.shape(tables)[1:]
        both = (*sizes, *sizes)
        total = np.zeros((len(tables), *both))
        shares = stacks([margin.shares for margin in self.margins], tables) * 2
        for mask in range(1, 1 << len(sizes)):
            axes = positions(mask)
            some = tables[:, axes]
            own = np.stack([self._covariance(row) for row in some])
            total += _beside(own, axes + [i + len(sizes) for i in axes], shares, both)
        cells = prod(sizes)
        return total.reshape(len(tables), cells, cells)

    def _covariance(self, one: Ints) -> Floats:
        """Return the covariance of the values of one set's departure, or margin."""
        if len(one) == 1:
            return _adding_up(self.margins[one[0]].variances)
        back = partial(along_axes, matrices=[self.directions.ways_back[a] for a in one])
        return both_sides(np.diag(self._variances_of(one[None, :])[0]), back)

    def _variances_of(self, some: Ints) -> Floats:
        """Return the variances of the directions of sets of the same sizes, a row for each."""
        dimensions = prod(self.sets.sizes[a] - 1 for a in some[0])
        return self.variances[self.sets.positions(some)[:, :dimensions]]


def _adding_up(variances: Floats) -> Floats:
    """Return a covariance with these variances of shares that add up to 1: diag w − ww'/Σw."""
    weights = variances
    for _ in range(_ROUNDS):
        part = (weights / max(weights.sum(), 1e-300)).clip(None, 0.5)
        weights = variances / (1 - part)
    matrix: Floats = np.diag(weights) - np.outer(weights, weights) / max(weights.sum(), 1e-300)
    return matrix


def _beside(
    own: Floats, axes: Sequence[int], others: Sequence[Floats], sizes: tuple[int, ...]
) -> Floats:
    """Return what belongs to some axes of tables, times what belongs to each of the others."""
    rows = len(own)
    result = own.reshape(rows, *(size if i in axes else 1 for i, size in enumerate(sizes)))
    for axis in set(range(len(sizes))) - set(axes):
        shape = [rows] + [1] * len(sizes)
        shape[axis + 1] = sizes[axis]
        result = result * others[axis].reshape(shape)
    return result


def read(
    measured: Interactions, centre: Classes | None = None, about: Reading | None = None
) -> Reading:
    """Return the interactions of tables: a centre (independent attributes), and what is beyond it.

    Margins do not depend on the centre; they are those ``about`` another one, where that is there.
    """
    sets = measured.sets
    own = margins(measured) if about is None else about.margins
    alone = Classes.independent(sets.sizes, [each.shares for each in own])
    if about is not None:
        directions = about.directions
    else:  # single attributes have no departures
        shares = [each.shares for each in own] if sets.order > 1 else []
        directions = Directions(shares, sets.numbers)
    vector, variances = np.zeros((2, sets.size))
    strengths = np.zeros(len(sets.dimensions))
    vector[: len(sets.uniform)] = alone.values[0] - sets.uniform
    squares = np.array([float(part @ part) for part in sets.split(alone.values[0] - sets.uniform)])
    of_margins = measured.energy[: len(sets.sizes)]  # whoever was not asked alone is in no set
    of_margins = np.where(np.isfinite(of_margins), of_margins, 0)
    for level in range(2, sets.order + 1):
        noise, rest = np.empty(len(sets.dimensions)), np.zeros(sets.size)
        for some in sets.groups(level):
            at, numbers = sets.positions(some), sets.numbers_of(some)
            expected = alone.interactions(some) + _lower(sets, vector, alone, some)
            if centre is not None:
                expected += centre.interactions(some) - centre.alone.interactions(some)
            vector[at], rest[at] = expected, measured.vector[at] - expected
            energy = measured.energy[numbers]
            for place in range(level):
                others = squares[np.delete(some, place, axis=1)].prod(axis=1)
                energy = energy + of_margins[some[:, place]] * others
            noise[numbers] = energy / sets.dimensions[numbers]
        for some, estimates, own_variances, own_strengths in shrink(
            rest, noise, sets, directions, level
        ):
            at = sets.positions(some)
            vector[at] += directions.back(estimates, some)
            variances[at[:, : own_variances.shape[1]]] = _UNSURE * own_variances
            strengths[sets.numbers_of(some)] = own_strengths
    return Reading(sets, own, directions, vector, variances, strengths)


def _lower(sets: Sets, vector: Floats, alone: Classes, some: Ints) -> Floats:
    """Return what departures of smaller sets make of these, of which all else is independent."""
    level, total = some.shape[1], np.zeros(sets.shape(some))
    for mask in range(1, (1 << level) - 1):
        axes = positions(mask)
        if len(axes) < 2:
            continue
        inner = some[:, axes]
        departure = vector[sets.positions(inner)] - alone.interactions(inner)
        others = [alone.interactions(column[:, None]) for column in some.T]
        total += _beside(departure, axes, others, sets.shape(some)[1:])
    return total.reshape(len(some), -1)


def without_negative_cells(reading: Reading) -> Floats:
    """Return interactions of which no table of k attributes has a negative cell; margins stay."""
    sets, vector = reading.sets, reading.vector
    if sets.order != 2:  # tables of more than two attributes must agree about pairs
        return nonnegative(sets.sizes, sets.order, vector)
    vector = vector.copy()
    for some in sets.groups(2):
        rows, columns = stacks([margin.shares for margin in reading.margins], some)
        cells = sets.tables(vector, some).reshape(sets.shape(some))
        cells = keep_margins(cells, rows[:, :, None], columns[:, None, :])
        vector[sets.positions(some)] = centred(cells, (1, 2)).reshape(len(some), -1)
    return vector


def keep_margins(cells: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return tables of two attributes without negative cells: rows and columns scaled in turn."""
    alone = rows * columns
    cells = cells.clip(0, None) + _FEWEST * alone
    for _ in range(_ROUNDS):
        cells = cells * ratio(rows, cells.sum(axis=2, keepdims=True))
        now = cells.sum(axis=1, keepdims=True)
        if np.abs(now - columns).max() < _ENOUGH:
            break
        cells = cells * ratio(columns, now)
    cells = cells * ratio(rows, cells.sum(axis=2, keepdims=True))
    cells = cells + rows * (columns - cells.sum(axis=1, keepdims=True))
    # Where rounds did not suffice, a bit of independence takes away what that made negative.
    least = np.where(alone > 0, cells / np.where(alone > 0, alone, 1), 0).min(axis=(1, 2))
    part = (-least.clip(None, 0) / (1 - least.clip(None, 0)))[:, None, None]
    mended: Floats = (1 - part) * cells + part * alone
    return mended
