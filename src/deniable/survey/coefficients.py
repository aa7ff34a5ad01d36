"""Coefficients: the numbers a table is made of, and how they are numbered.

About each attribute there is a list of L yes/no questions (`deniable.questions.lists`). A coefficient
α picks one question about each attribute of a set, which it *touches*; θ_α is the mean over people of
the product of the answers' signs, χ_α(x). A yes/no attribute has one question, so there a coefficient is
a set of attributes, and χ_α(x) = (−1)^(number of attributes of α that are true).

A table is made of the coefficients that touch nothing but its attributes, and θ_∅ = 1: attribute by
attribute, by the lists' `synthesis`, which for yes/no attributes is the Hadamard transform. The
coefficients that touch exactly S make up its pure interaction component u_S, and a table is the sum of
the components of all subsets. A table's cells, and its coefficients, have one axis per attribute, in
the schema's order, and are numbered in C order (the last attribute fastest). A coefficient's number,
its *mask*, has as digits (of base L + 1) the questions, 0 for none.

Coefficients are numbered in one of two ways. `Shared`: one number per coefficient that touches 1…k
attributes, so that every table uses the same estimate of the same thing (estimates are *pooled*).
`PerTable`: a number of its own for each coefficient of each k-way table, which is how the paper's
marginal-based methods estimate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.questions.subsets import ranks, unranks

Floats = NDArray[np.float64]
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


class Numbering(ABC):
    """How coefficients are numbered: which a question speaks about, which a table needs.

    ``counts`` are the questions about each attribute, one unless said otherwise. Tables that are asked
    for together must have the same counts, place by place.
    """

    def __init__(self, attributes: int, order: int, counts: Sequence[int] = ()) -> None:
        self.attributes, self.order = attributes, order
        self.counts: Ints = np.array(counts or (1,) * attributes, np.int64)

    @cached_property
    def is_plain(self) -> bool:
        """Tell whether there is one question about each attribute."""
        return bool(self.counts.max() == 1)

    @property
    @abstractmethod
    def size(self) -> int:
        """Return how many numbers there are."""

    @abstractmethod
    def of_question(self, attributes: Ints, mask: int, digits: Ints | None = None) -> Ints:
        """Number a coefficient of questions about these (sorted) attributes, one row each.

        ``mask`` says which positions it touches, ``digits`` by which questions (rows, all positions).
        """

    @abstractmethod
    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of tables of these (sorted) attributes, by mask."""

    @property
    @abstractmethod
    def components(self) -> Ints | None:
        """Return the component that each number belongs to; None where each is its own."""


class Shared(Numbering):
    """One number per coefficient: by the attributes it touches (how many, colex rank), then digits."""

    @cached_property
    def _begins(self) -> list[Ints | None]:
        """Return where the sets of 1, 2, … attributes begin, within their level.

        None where there is one question about each attribute, so that a set is its rank.
        """
        if self.is_plain:
            return [None] * self.order
        return [
            np.append(0, np.cumsum(self.counts[all_tables(self.attributes, level)].prod(axis=1)))
            for level in range(1, self.order + 1)
        ]

    @cached_property
    def _offsets(self) -> list[int]:
        sizes = (
            comb(self.attributes, level) if begins is None else int(begins[-1])
            for level, begins in enumerate(self._begins, start=1)
        )
        return [0, *accumulate(sizes)]

    @property
    def size(self) -> int:
        """Return T."""
        return self._offsets[-1]

    def numbers(self, sets: Ints, within: Ints) -> Ints:
        """Return the numbers of coefficients of sets, one row each, by their positions within."""
        level = sets.shape[1]
        set_ranks: Ints = ranks(sets, self.attributes)
        begins = self._begins[level - 1]
        first = (set_ranks if begins is None else begins[set_ranks]) + self._offsets[level - 1]
        numbers: Ints = first[:, None] + within
        return numbers

    def of_question(self, attributes: Ints, mask: int, digits: Ints | None = None) -> Ints:
        """Number a coefficient of questions about these attributes."""
        members = positions(mask)
        sets = attributes[:, members]
        within = np.zeros((len(sets), 1), np.int64)
        if digits is not None and not self.is_plain:
            stride = np.ones(len(sets), np.int64)
            for position, attribute in zip(members, sets.T, strict=True):
                within[:, 0] += (digits[:, position] - 1) * stride
                stride *= self.counts[attribute]
        return self.numbers(sets, within)[:, 0]

    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of these tables, by mask."""
        counts = self.counts[tables[0]].tolist()
        strides = _c_strides(self.counts[tables[0]] + 1).tolist()
        out = np.empty((len(tables), prod(count + 1 for count in counts) - 1), np.int64)
        for member_mask in range(1, 1 << len(counts)):
            columns = positions(member_mask)
            masks, within, stride = np.zeros(1, np.int64), np.zeros(1, np.int64), 1
            for column in columns:
                digits = np.arange(1, counts[column] + 1)
                masks = (masks + (digits * strides[column])[:, None]).ravel()
                within = (within + ((digits - 1) * stride)[:, None]).ravel()
                stride *= len(digits)
            out[:, masks - 1] = self.numbers(tables[:, columns], within)
        return out

    def all_flagged(self, flags: NDArray[np.bool_], tables: Ints) -> NDArray[np.bool_]:
        """Tell of which tables all sets of up to ``order`` attributes have a flag."""
        masks = [m for m in range(1, 1 << tables.shape[1]) if m.bit_count() <= self.order]
        flagged: NDArray[np.bool_] = np.all([flags[self.of_question(tables, m)] for m in masks], 0)
        return flagged

    def level(self, size: int) -> slice:
        """Return the numbers of the coefficients that touch so many attributes."""
        return slice(self._offsets[size - 1], self._offsets[size])

    @cached_property
    def components(self) -> Ints | None:
        """Return the component that each number belongs to, by the number of its set."""
        if self.is_plain:
            return None
        counts = np.concatenate([np.diff(b) for b in self._begins if b is not None])
        return np.repeat(np.arange(len(counts)), counts)


class Listed(Shared):
    """The same for surveys that ask about few of many attributes: sets of others share one number.

    Nobody is asked for that last number.
    """

    def __init__(
        self, attributes: int, order: int, some: Sequence[int], counts: Sequence[int] = ()
    ) -> None:
        super().__init__(attributes, order, counts)
        members = sorted(some)
        self._few = Shared(len(members), min(order, len(members)), self.counts[members].tolist())
        self._place = np.full(attributes, -1)
        self._place[members] = np.arange(len(members))

    @property
    def size(self) -> int:
        """Return how many coefficients of the used attributes there are, and one."""
        return self._few.size + 1

    def level(self, size: int) -> slice:
        """Return the numbers of the coefficients that touch so many used attributes."""
        return self._few.level(size) if size <= self._few.order else slice(0, 0)

    def numbers(self, sets: Ints, within: Ints) -> Ints:
        """Return the numbers of coefficients of sets, one row each, by their positions within."""
        few_sets = self._place[sets]
        out = np.full((len(sets), within.shape[-1]), self._few.size)
        is_used = (few_sets >= 0).all(axis=1)
        if is_used.any():
            inside = within if within.ndim == 1 else within[is_used]
            out[is_used] = self._few.numbers(few_sets[is_used], inside)
        return out

    @cached_property
    def components(self) -> Ints | None:
        """Return the component that each number belongs to."""
        few = self._few.components
        return None if few is None else np.append(few, few[-1] + 1)


class PerTable(Numbering):
    """A number of its own for each coefficient of each k-way table.

    A smaller table is read off one k-way table that holds it: the one completed with the first
    attributes that it lacks.
    """

    @cached_property
    def _begins(self) -> Ints:
        """Return where each table's numbers begin; mask 0 of each stays unused."""
        if self.is_plain:
            return np.arange(comb(self.attributes, self.order) + 1) << self.order
        sizes = (self.counts + 1)[all_tables(self.attributes, self.order)].prod(axis=1)
        return np.append(0, np.cumsum(sizes))

    @property
    def size(self) -> int:
        """Return the number of all tables' masks."""
        return int(self._begins[-1])

    def _strides(self, tables: Ints) -> Ints:
        """Return what each attribute's digit counts for in its table's masks."""
        return _c_strides((self.counts + 1)[tables])

    def of_question(self, attributes: Ints, mask: int, digits: Ints | None = None) -> Ints:
        """Number a coefficient of questions about these k attributes."""
        begins: Ints = self._begins[ranks(attributes, self.attributes)]
        members = positions(mask)
        strides = self._strides(attributes)[:, members]
        begins += (strides if digits is None else strides * digits[:, members]).sum(axis=1)
        return begins

    def of_tables(self, tables: Ints) -> Ints:
        """Number all coefficients but θ_∅ of these tables, by mask."""
        full = self.complete(tables)
        place = np.stack([(full < column[:, None]).sum(axis=1) for column in tables.T], axis=1)
        there = np.take_along_axis(self._strides(full), place, axis=1)
        numbers = self._begins[ranks(full, self.attributes)][:, None]
        bases = (self.counts + 1)[tables[0]].tolist()
        masks = np.arange(1, prod(bases))
        for base, stride in zip(reversed(bases), there.T[::-1], strict=True):
            masks, digits = np.divmod(masks, base)
            numbers = numbers + digits * stride[:, None]
        return numbers

    def complete(self, tables: Ints) -> Ints:
        """Return the k-way tables that these tables are read off."""
        full = tables
        while full.shape[1] < self.order:
            candidates = np.arange(full.shape[1] + 1)
            free = ~(full[:, :, None] == candidates).any(axis=1)
            full = np.sort(np.column_stack((full, free.argmax(axis=1))), axis=1)
        return full

    @cached_property
    def components(self) -> Ints | None:
        """Return the component that each number belongs to: of its table, by what it touches."""
        if self.is_plain:
            return None
        parts = []
        for table, counts in enumerate(self.counts[all_tables(self.attributes, self.order)]):
            masks = np.zeros(1, np.int64)
            for place, count in reversed(list(enumerate(counts.tolist()))):
                masks = (masks + (np.arange(count + 1) > 0)[:, None] * (1 << place)).ravel()
            parts.append(masks + (table << self.order))
        return np.concatenate(parts)


def _c_strides(bases: Ints) -> Ints:
    """Return what each digit counts for in C order: the product of the later bases."""
    reverse = bases[..., ::-1]
    strides: Ints = (np.cumprod(reverse, axis=-1) // reverse)[..., ::-1]
    return strides


def all_tables(attributes: int, order: int) -> Ints:
    """Return all sets of ``order`` attributes, one sorted row each, in colex order."""
    return unranks(np.arange(comb(attributes, order)), order, attributes)


def products_within(factors: Sequence[float] | Floats, order: int) -> NDArray[Any]:
    """Return the products of the factors of all sets of 1 to ``order`` attributes, by number."""
    every = np.array(factors)
    levels = range(1, order + 1)
    return np.concatenate([every[all_tables(len(every), j)].prod(axis=1) for j in levels])


def same_sizes(kinds: Sequence[int] | Ints, tables: Ints) -> Iterator[Ints]:
    """Yield the rows of tables whose attributes are of the same kinds (or sizes), place by place."""
    if not len(tables):
        return
    _, first = np.unique(np.array(kinds)[tables], axis=0, return_inverse=True)
    order = np.argsort(first.ravel(), kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(first.ravel()[order])) + 1)


def alike_tables(kinds: Sequence[int] | Ints, order: int) -> Iterator[Ints]:
    """Yield all tables of ``order`` attributes, those of attributes of the same kinds together."""
    tables = all_tables(len(kinds), order)
    return (tables[rows] for rows in same_sizes(kinds, tables))
