"""Coefficients: the numbers a table is made of, and how they are numbered.

For a set α of attributes, θ_α is the mean over people of χ_α(x) = (−1)^(number of attributes of α
that are true). A table over j binary attributes is the Hadamard transform of the 2^j coefficients
of its subsets, and θ_∅ = 1. Within a table, subsets are bit masks: bit i stands for its i-th
attribute, in ascending order.

Coefficients are numbered in one of two ways. `Shared`: one number per set of 1…k attributes, so that
every table uses the same estimate of the same thing (estimates are *pooled*). `PerTable`: a number
of its own for each coefficient of each k-way table, which is how the paper's marginal-based methods
estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.questions.subsets import ranks, unranks

__all__ = [
    "Listed",
    "Numbering",
    "PerTable",
    "Shared",
    "hadamard",
    "positions",
    "signs",
    "subset_count",
]

Ints = NDArray[np.int64]


def subset_count(attributes: int, order: int) -> int:
    """Return T, the number of sets of 1 to ``order`` attributes."""
    return sum(comb(attributes, size) for size in range(1, order + 1))


def positions(mask: int) -> list[int]:
    """Return the positions of the bits that are set, ascending."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def hadamard(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the unscaled Walsh–Hadamard transform of each row, of length a power of two."""
    length = rows.shape[1]
    half = 1
    while half < length:
        pairs = rows.reshape(len(rows), -1, 2, half)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        rows = np.stack((low + high, low - high), axis=2).reshape(len(rows), length)
        half *= 2
    return rows


def signs(attributes: int) -> NDArray[np.float64]:
    """Return χ_mask(cell) for all masks but 0 (rows) and all cells (columns)."""
    return hadamard(np.eye(1 << attributes))[1:]


class Numbering(Protocol):
    """How coefficients are numbered: which a question speaks about, which a table needs."""

    attributes: int
    order: int

    @property
    def size(self) -> int:
        """Return how many numbers there are."""
        ...

    def of_question(self, chosen: Ints, mask: int) -> Ints:
        """Number the coefficient ``mask`` of questions about these (sorted) attributes."""
        ...

    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of tables of these (sorted) attributes, by mask."""
        ...


class Shared:
    """One number per set of attributes: by size, then by colex rank."""

    def __init__(self, attributes: int, order: int) -> None:
        self.attributes, self.order = attributes, order

    @cached_property
    def _offsets(self) -> list[int]:
        sizes = (comb(self.attributes, size) for size in range(1, self.order + 1))
        return [0, *accumulate(sizes)]

    @property
    def size(self) -> int:
        """Return T."""
        return self._offsets[-1]

    def of_question(self, chosen: Ints, mask: int) -> Ints:
        """Number the coefficient ``mask`` of questions about these attributes."""
        members = chosen[:, positions(mask)]
        numbers: Ints = ranks(members, self.attributes) + self._offsets[members.shape[1] - 1]
        return numbers

    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of these tables, by mask."""
        masks = range(1, 1 << tables.shape[1])
        return np.stack([self.of_question(tables, mask) for mask in masks], axis=1)

    def level(self, size: int) -> slice:
        """Return the numbers of the sets of this size."""
        return slice(self._offsets[size - 1], self._offsets[size])


class Listed(Shared):
    """The same for surveys that ask about few of many attributes: sets of others share one number.

    Nobody is asked for that last number.
    """

    def __init__(self, attributes: int, order: int, used: Sequence[int]) -> None:
        super().__init__(attributes, order)
        self._few = Shared(len(used), min(order, len(used)))
        self._place = np.full(attributes, -1)
        self._place[sorted(used)] = np.arange(len(used))

    @property
    def size(self) -> int:
        """Return how many sets of the used attributes there are, and one."""
        return self._few.size + 1

    def level(self, size: int) -> slice:
        """Return the numbers of the sets of this size, of used attributes."""
        return self._few.level(size) if size <= self._few.order else slice(0, 0)

    def of_question(self, chosen: Ints, mask: int) -> Ints:
        """Number the coefficient ``mask`` of questions about these attributes."""
        places = self._place[chosen[:, positions(mask)]]
        numbers = np.full(len(places), self._few.size)
        used = (places >= 0).all(axis=1)
        if used.any():
            whole = (1 << places.shape[1]) - 1
            numbers[used] = self._few.of_question(places[used], whole)
        return numbers


class PerTable:
    """A number of its own for each coefficient of each k-way table.

    A smaller table is read off one k-way table that holds it: the one completed with the first
    attributes that it lacks.
    """

    def __init__(self, attributes: int, order: int) -> None:
        self.attributes, self.order = attributes, order

    @property
    def size(self) -> int:
        """Return C(d, k)·2^k; mask 0 of each table stays unused."""
        return comb(self.attributes, self.order) << self.order

    def of_question(self, chosen: Ints, mask: int) -> Ints:
        """Number the coefficient ``mask`` of questions about these k attributes."""
        return (ranks(chosen, self.attributes) << self.order) + mask

    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of these tables, by mask."""
        full = self._complete(tables)
        place = np.stack([(full < column[:, None]).sum(axis=1) for column in tables.T], axis=1)
        bits = np.int64(1) << place
        base = ranks(full, self.attributes) << self.order
        masks = range(1, 1 << tables.shape[1])
        return np.stack([base + bits[:, positions(mask)].sum(axis=1) for mask in masks], axis=1)

    def _complete(self, tables: Ints) -> Ints:
        full = tables
        while full.shape[1] < self.order:
            candidates = np.arange(full.shape[1] + 1)
            free = ~(full[:, :, None] == candidates).any(axis=1)
            full = np.sort(np.column_stack((full, free.argmax(axis=1))), axis=1)
        return full


def all_tables(attributes: int, order: int) -> Ints:
    """Return all sets of ``order`` attributes, one sorted row each, in colex order."""
    return unranks(np.arange(comb(attributes, order)), order, attributes)
