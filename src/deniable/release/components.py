"""Tables of any sizes as one vector of pure interactions, and back.

A table over β is Σ_{S ⊆ β} u_S / R_{β∖S}, where R counts the joint values of the attributes of β that S
lacks, and u_∅ = 1. So all tables of up to k attributes agree that are made of one vector of components.
`joint` moves it as little as makes no cell of a k-way table negative: in the sum of squares over all
their cells, where components do not mix, because each of them sums to 0 along all of its attributes.
Margins, which are known best, are moved alone first, and stay then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from deniable.decoding.evidence import Evidence
from deniable.errors import TableError
from deniable.numeric.axes import centred
from deniable.release.projection import Geometry, project
from deniable.survey.coefficients import (
    Floats,
    Ints,
    Shared,
    alike_tables,
    all_tables,
    positions,
    products_within,
)

_MOST_CELLS = 1 << 21
_TOLERANCE = 1e-3
"""Of the smallest uniform cell: what the last step may leave below zero, and mending takes away."""


class _Part(NamedTuple):
    """A set of axes in tables of one kind: its component's numbers, and R of what it lacks."""

    others: tuple[int, ...]
    """The axes to sum over, of (tables, first attribute, second attribute, …)."""
    shape: tuple[int, ...]
    """The same with one value in these axes."""
    numbers: Ints
    values_lacking: int


class Components:
    """All components of up to ``order`` attributes of these sizes, in one vector."""

    def __init__(self, sizes: tuple[int, ...], order: int) -> None:
        self.sizes, self.order = sizes, order
        self._sets = Shared(len(sizes), order)
        self.lengths = products_within(sizes, order)
        self.begins = np.append(0, np.cumsum(self.lengths))[:-1]
        self.size = int(self.lengths.sum())

    def parts(self, tables: Ints) -> Iterator[_Part]:
        """Yield the sets of axes of tables of the same sizes."""
        sizes = [self.sizes[attribute] for attribute in tables[0]]
        for mask in range(1, 1 << len(sizes)):
            axes = positions(mask)
            inside = [size if i in axes else 1 for i, size in enumerate(sizes)]
            begins = self.begins[self._sets.of_question(tables, mask)]
            yield _Part(
                tuple(i + 1 for i in range(len(sizes)) if i not in axes),
                (len(tables), *inside),
                begins[:, None] + np.arange(prod(inside)),
                prod(sizes) // prod(inside),
            )

    def tables(self, components: Floats, tables: Ints) -> Floats:
        """Return the cells of tables of the same sizes, of up to ``order`` attributes."""
        sizes = [self.sizes[attribute] for attribute in tables[0]]
        return self._cells(components, list(self.parts(tables)), tuple(sizes))

    @staticmethod
    def _cells(components: Floats, parts: list[_Part], sizes: tuple[int, ...]) -> Floats:
        rows = parts[0].shape[0]
        cells = np.full((rows, *sizes), 1 / prod(sizes))
        for part in parts:
            cells += components[part.numbers].reshape(part.shape) / part.values_lacking
        return cells.reshape(rows, -1)


def component_energies(
    variances_at: Callable[[Ints], Floats], kinds: Sequence[int] | Ints, order: int
) -> Floats:
    """Return R_S·E‖û_S − u_S‖² of all sets S of up to ``order`` attributes; infinite if not asked.

    The variances of a table's cells add up to those of its components, each over the values that it
    lacks.
    """
    numbering = Shared(len(kinds), order)
    energies = np.zeros(numbering.size)
    for level in range(1, order + 1):
        for sets in alike_tables(kinds, level):
            cells = variances_at(sets)
            total = cells.shape[1] * cells.sum(axis=1)
            for mask in range(1, (1 << level) - 1):
                inner = energies[numbering.of_question(sets, mask)]
                total -= np.where(np.isfinite(inner), inner, 0)  # a part unknown, so is all
            least = np.where(np.isfinite(total), total.clip(0, None), np.inf)
            energies[numbering.of_question(sets, (1 << level) - 1)] = least
    return energies


class _Geometry(Components, Geometry):
    """All k-way tables of one vector of components, one after the other, and back."""

    @cached_property
    def groups(self) -> list[Ints]:
        """Return the k-way tables, those of the same sizes together."""
        return list(alike_tables(self.sizes, self.order))

    @cached_property
    def _parts(self) -> list[tuple[tuple[int, ...], list[_Part]]]:
        return [
            (tuple(self.sizes[a] for a in tables[0]), list(self.parts(tables)))
            for tables in self.groups
        ]

    @cached_property
    def _weights(self) -> Floats:
        """Return what each component counts for in the distance between tables."""
        weights = np.zeros(self.size)
        for _, parts in self._parts:
            for part in parts:
                np.add.at(weights, part.numbers.ravel(), 1 / part.values_lacking)
        return weights

    def cells(self, vector: Floats) -> Floats:
        """Return the cells of every table."""
        parts = (self._cells(vector, parts, sizes).ravel() for sizes, parts in self._parts)
        return np.concatenate(list(parts))

    def mean(self, cells: Floats) -> Floats:
        """Return the components of cells: their mean over the tables that hold them."""
        total, start = np.zeros(self.size), 0
        for sizes, parts in self._parts:
            rows = len(parts[0].numbers)
            stop = start + rows * prod(sizes)
            own = cells[start:stop].reshape(rows, *sizes)
            for part in parts:
                component = own.sum(axis=part.others, keepdims=True)
                component = centred(component, set(range(1, own.ndim)) - set(part.others))
                # What counts 1/R, times R for the sum to be a mean, over what all count.
                np.add.at(total, part.numbers.ravel(), component.ravel() / part.values_lacking)
            start = stop
        mean: Floats = total / self._weights
        return mean


def joint_components(evidence: Evidence, sizes: tuple[int, ...], order: int) -> Floats:
    """Return components near to the estimates of which no k-way table has a negative cell.

    The nearest of all would bend margins, which are known best, for the sake of large tables.
    """
    geometry = _geometry(sizes, order)
    cells = [evidence.tables(tables).values.ravel() for tables in geometry.groups]
    start = geometry.mean(np.concatenate(cells))
    if order > 1:  # tables of one attribute are known best, and stay as they are
        alone = Components(sizes, 1).size
        start[:alone] = joint_components(evidence, sizes, 1)
    return _nearest(geometry, start)


def nonnegative(sizes: tuple[int, ...], order: int, start: Floats) -> Floats:
    """Return the components nearest to these of which no k-way table has a negative cell.

    Those of single attributes, which have none, stay as they are.
    """
    return _nearest(_geometry(sizes, order), start)


def _geometry(sizes: tuple[int, ...], order: int) -> _Geometry:
    """Return all k-way tables, unless they are too many."""
    every = np.array(sizes)[all_tables(len(sizes), order)].prod(axis=1)
    if int(every.sum()) > _MOST_CELLS:
        raise TableError(
            f"All {len(every):,} tables have {int(every.sum()):,} cells, too many to be made "
            f"consistent; {_MOST_CELLS:,} is the limit, so lower the order or put values together."
        )
    return _Geometry(sizes, order)


def _nearest(geometry: _Geometry, start: Floats) -> Floats:
    ease = np.ones(geometry.size)
    if geometry.order > 1:
        ease[: sum(geometry.sizes)] = 0
    enough = _TOLERANCE * geometry.uniform.min()
    nearest, _ = project(start, geometry, None, ease, tolerance=min(_TOLERANCE, enough))
    return geometry.mend(nearest)
