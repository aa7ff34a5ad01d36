"""Pure interactions of attributes of any sizes, as they were measured: one vector, and its noise.

A table is the sum of its pure interactions u_S (`deniable.release.components`). Each is estimated with
noise of its own that favours no direction: ``energy`` is E‖û_S − u_S‖² of every set S, ``noise`` that of
one contrast, a direction among the ∏(r−1) that S has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.evidence import Evidence
from deniable.decoding.slot_evidence import SlotEvidence
from deniable.errors import TableError
from deniable.numeric.axes import along_axes, centred, contrast_basis, product_of_rows, stacks
from deniable.release.components import Components, component_energies
from deniable.release.numbers.moments import Moments
from deniable.survey.coefficients import (
    Floats,
    Ints,
    Shared,
    alike_tables,
    products_within,
)

_MOST_VALUES = 1 << 23
"""The most values that all interactions have together: 64 MB a vector, and some vectors are kept."""


_LARGEST, _WIDEST = 1 << 10, 1 << 13
"""The most values of an attribute, and of all: there are matrices of so many rows."""


class Sets(Components):
    """All sets of up to ``order`` attributes of these sizes, and where their values stand."""

    def __init__(
        self, sizes: tuple[int, ...], order: int, numbers: Mapping[int, Moments] | None = None
    ) -> None:
        super().__init__(sizes, order)
        self.numbers = dict(numbers or {})
        """The attributes that are numbers, whose values are nodes."""
        if self.size > _MOST_VALUES:
            raise TableError(
                f"All tables of up to {order} attributes have {self.size:,} values, too many for a "
                f"model; {_MOST_VALUES:,} is the limit, so lower the order or put values together."
            )
        if max(sizes) > _LARGEST or sum(sizes) > _WIDEST:
            raise TableError(
                f"A model takes attributes of up to {_LARGEST:,} values, {_WIDEST:,} in all; put values "
                "together."
            )
        self.uniform = np.repeat(1 / np.array(sizes), sizes)
        self.numbering = Shared(len(sizes), order)

    @cached_property
    def dimensions(self) -> Floats:
        """Return ∏(r−1) of every set."""
        return products_within([size - 1.0 for size in self.sizes], self.order)

    def numbers_of(self, sets: Ints) -> Ints:
        """Return the numbers of sets of so many attributes."""
        return self.numbering.of_question(sets, (1 << sets.shape[1]) - 1)

    def positions(self, sets: Ints) -> Ints:
        """Return where the values of sets of the same sizes stand, a row for each."""
        width = prod(self.sizes[a] for a in sets[0])
        numbers: Ints = self.begins[self.numbers_of(sets)][:, None] + np.arange(width)
        return numbers

    def groups(self, level: int) -> Iterator[Ints]:
        """Yield the sets of so many attributes, those of the same sizes together."""
        return alike_tables(self.sizes, level)

    def shape(self, sets: Ints) -> tuple[int, ...]:
        """Return the shape of the interactions of sets of the same sizes."""
        return (len(sets), *(self.sizes[a] for a in sets[0]))

    def split(self, singles: Floats) -> list[Floats]:
        """Return what stands side by side for all attributes, for each of them."""
        return np.split(singles, np.cumsum(self.sizes)[:-1])

    def contrasts(self, vector: Floats) -> Floats:
        """Return interactions by contrasts, those of each set side by side."""
        bases = [
            self.numbers[a].directions if a in self.numbers else contrast_basis(size)
            for a, size in enumerate(self.sizes)
        ]
        return self._side_by_side(lambda some: turn(vector[self.positions(some)], some, bases))

    def _side_by_side(self, rows_of: Callable[[Ints], Floats]) -> Floats:
        """Return the rows of all sets, a number for each of their contrasts."""
        out = np.empty(int(self.dimensions.sum()))
        begins = np.append(0, np.cumsum(self.dimensions)).astype(np.int64)
        for level in range(1, self.order + 1):
            for some in self.groups(level):
                rows = rows_of(some)
                out[begins[self.numbers_of(some)][:, None] + np.arange(rows.shape[1])] = rows
        return out

    @cached_property
    def unevenness(self) -> Floats:
        """Return the variance of each contrast, over that of one on average: 1 but of numbers."""
        return self._side_by_side(self.noises_of)

    def noises_of(self, some: Ints) -> Floats:
        """Return the same for sets of the same sizes, a row for each."""
        noises = [
            self.numbers[a].noise if a in self.numbers else np.ones(size - 1)
            for a, size in enumerate(self.sizes)
        ]
        return product_of_rows(stacks(noises, some))


@dataclass(frozen=True, eq=False)
class Interactions:
    """What was measured of all sets: the vector, and E‖û_S − u_S‖² of each; infinite if not asked."""

    sets: Sets
    vector: Floats
    energy: Floats

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Tell which sets were asked about."""
        return np.isfinite(self.energy)

    @cached_property
    def noise(self) -> Floats:
        """Return the variance of one contrast of each set."""
        return self.energy / self.sets.dimensions

    def knows(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of which tables all interactions of up to k attributes were asked about."""
        return self.sets.numbering.all_flagged(self.measured, tables)

    def product(self, one: Floats, other: Floats) -> float:
        """Return the inner product of two vectors, in squared standard errors of this one."""
        products = np.add.reduceat(one * other, self.sets.begins) / self.noise
        return float(products[self.measured].sum())

    # What is judged by: contrasts, each with the noise of its set.

    @cached_property
    def theta(self) -> Floats:
        """Return the contrasts."""
        return self.sets.contrasts(self.vector)

    @cached_property
    def variance(self) -> Floats:
        """Return the variance of each contrast."""
        each: Floats = np.repeat(self.noise, self.sets.dimensions.astype(np.int64))
        return each * self.sets.unevenness

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Tell which contrasts were asked about."""
        return np.isfinite(self.variance)


def measure_interactions(evidence: Evidence, sets: Sets) -> Interactions:
    """Return what evidence tells about all sets."""
    vector = np.zeros(sets.size)
    for level in range(1, sets.order + 1):
        for some in sets.groups(level):
            cells = evidence.tables(some).values.reshape(sets.shape(some))
            vector[sets.positions(some)] = centred(cells, range(1, cells.ndim)).reshape(
                len(some), -1
            )
    energy = _energies(evidence, sets)
    is_measured = np.repeat(np.isfinite(energy), sets.lengths)
    return Interactions(sets, np.where(is_measured, vector, 0), energy)


def turn(rows: Floats, sets: Ints, bases: Sequence[Floats]) -> Floats:
    """Return rows, flat in C order, with their attributes' bases applied along their axes."""
    return along_axes(rows, stacks(bases, sets))


def _energies(evidence: Evidence, sets: Sets) -> Floats:
    """Return E‖û_S − u_S‖² of all sets."""
    if isinstance(evidence, SlotEvidence) and isinstance(evidence.numbering, Shared):
        return _coefficient_energies(evidence, sets)
    energies = component_energies(evidence.cell_variances, sets.sizes, sets.order)
    return energies / np.asarray(sets.lengths, np.float64)


def _coefficient_energies(evidence: SlotEvidence, sets: Sets) -> Floats:
    """Return the same from the variances of coefficients: what they make of a table adds up."""
    assert isinstance(evidence.numbering, Shared)
    variance = evidence.overview.variance
    own = np.array([each.energy for each in evidence.lists])
    energy = np.empty(len(sets.dimensions))
    for level in range(1, sets.order + 1):
        for some in alike_tables(evidence.kinds, level):
            width = prod(evidence.lists[a].count for a in some[0])
            numbers = evidence.numbering.numbers(some, np.arange(width))
            energy[sets.numbers_of(some)] = variance[numbers].mean(axis=1) * own[some].prod(axis=1)
    return energy
