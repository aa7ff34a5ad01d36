"""Evidence about cells: product tables of attributes with any number of values.

A report to the table over attributes A speaks for some of its cells. For S ⊆ A, let û_{S|A} be the
pure interaction of S: the marginal on S of the cells' estimates, with the mean taken out along every
attribute. With weights g = 1/V (which never look at the data) and G_S = Σ g over the reports to all
A ⊇ S,

    û_S = Σ g·û_{S|A} / G_S
    the table over β = Σ_{S ⊆ β} û_S spread evenly over the values of β∖S,  u_∅ = 1.

Two of them share the reports to A ⊇ U = S ∪ S'. Before the means are taken out, one such report has
the covariance a·(M_A/M_U)·I + κ·diag(f_U) − f_U·f_U' on the cells of U, where M counts cells, κ is the
law's `cross` and a = (other − two_others)/contrast². Summed over reports these are three numbers for
each U, and with G_S they give every covariance.

Cells have one axis per attribute, in C order. For binary attributes all this equals
`deniable.decoding.evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.cell_forms import CellForms, Key
from deniable.decoding.evidence import BEYOND, Tables, refuse_covariance
from deniable.errors import TableError
from deniable.numeric.axes import along_axes, centred, contrast_basis
from deniable.numeric.covariances import both_sides, mark_unknown, variances_of
from deniable.numeric.shares import proportions, ratio
from deniable.survey.coefficients import Floats, Ints, PerTable, positions

_MOST_TOGETHER = 1 << 22
"""The most numbers that are computed together."""


@dataclass(frozen=True, eq=False)
class _Moments:
    """What covariances need to know of some tables of the same sizes, by masks of attributes.

    ``inverse[i, S]`` is 1/G_S, and 0 where S is empty or unknown. ``noise[i, S]`` is Σg²·a·M.
    ``cross`` and ``share`` are Σg²κ/(G_S·G_S') and Σg²/(G_S·G_S') over reports that hold both.
    """

    inverse: Floats
    noise: Floats
    cross: Floats
    share: Floats
    unknown: NDArray[np.bool_]


class CellEvidence(CellForms):
    """Evidence from reports about cells, pooled over tables or with every table on its own.

    Without pooling, a table is read off the one of ``order`` attributes that `PerTable` completes it
    to.
    """

    # What is known of every set of attributes

    def _home(self, attributes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the table whose reports are not mixed with those of others, if so."""
        return () if self.pooled else attributes

    @cached_property
    def _numbers(self) -> tuple[dict[Key, int], Floats, Floats]:
        """Return a number for each set, and its moments and largest jump; the last: never asked."""
        by_set: dict[tuple[int, ...], tuple[Floats, float]] = {}
        for a in self._reports:
            moments, jump = by_set.get(a.attributes, (np.zeros(4), 0.0))
            by_set[a.attributes] = (moments + a.moments, max(jump, a.jump))
        numbers: dict[Key, int] = {}
        at: list[int] = []
        repeats = []
        for attributes in by_set:
            home, before = self._home(attributes), len(at)
            for size in range(1, min(self.order, len(attributes)) + 1):
                for subset in combinations(attributes, size):
                    at.append(numbers.setdefault((home, subset), len(numbers)))
            repeats.append(len(at) - before)
        moments, jumps = np.zeros((len(numbers) + 1, 4)), np.zeros(len(numbers) + 1)
        if at:
            np.add.at(moments, at, np.repeat([m for m, _ in by_set.values()], repeats, axis=0))
            np.maximum.at(jumps, at, np.repeat([j for _, j in by_set.values()], repeats))
        return numbers, moments, jumps

    @cached_property
    def _components(self) -> list[Floats]:
        """Return û_S of each set, by its number."""
        numbers, moments, _ = self._numbers
        sums: dict[tuple[int, ...], Floats] = {}
        for a in self._reports:
            if a.supports is not None:
                share = a.jump * np.asarray(a.supports, np.float64)
                sums[a.attributes] = sums[a.attributes] + share if a.attributes in sums else share
        sizes = [tuple(self.sizes[i] for i in subset) for _, subset in numbers]
        components = [np.zeros(prod(each)) for each in sizes]
        for attributes, cells in sums.items():
            home = self._home(attributes)
            for subset, margin in self._margins(cells[None], attributes, ()):
                components[numbers[home, subset]] += margin
        for component, each, weight in zip(components, sizes, moments[:, 0], strict=False):
            if weight > 0:
                component[:] = centred(component.reshape(each), range(len(each))).ravel() / weight
        return components

    def _margins(
        self, cells: Floats, undecided: tuple[int, ...], members: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """Yield the marginals on all sets of 1 to ``order`` attributes; rows are the chosen cells."""
        if not undecided:
            if members:
                yield members, cells[:, 0]
            return
        first, *rest = undecided
        split = cells.reshape(len(cells), self.sizes[first], -1)
        yield from self._margins(split.sum(axis=1), tuple(rest), members)
        if len(members) < self.order:
            yield from self._margins(
                split.reshape(-1, split.shape[2]), tuple(rest), (*members, first)
            )

    # What some tables need of it

    def _sizes_of(self, tables: Ints) -> tuple[int, ...]:
        """Return the sizes that the attributes of all these tables have."""
        sizes = np.array(self.sizes)[tables]
        if len(sizes) and (sizes != sizes[0]).any():
            raise ValueError("tables that are asked for together must have the same sizes")
        return tuple(sizes[0].tolist()) if len(sizes) else (1,) * tables.shape[1]

    def _set_numbers(self, tables: Ints) -> Ints:
        """Number the sets of each table, by mask; what nobody was asked about has the last number."""
        numbers = self._numbers[0]
        masks = [positions(mask) for mask in range(1 << tables.shape[1])]
        homes = [()] * len(tables) if self.pooled else self._completed(tables)
        return np.array(
            [
                [numbers.get((home, tuple(row[i] for i in mask)), len(numbers)) for mask in masks]
                for home, row in zip(homes, tables.tolist(), strict=True)
            ],
            np.int64,
        ).reshape(len(tables), len(masks))

    def _completed(self, tables: Ints) -> list[tuple[int, ...]]:
        """Return the table of ``order`` attributes that each of these is read off."""
        full = PerTable(len(self.sizes), self.order).complete(tables)
        return [tuple(row) for row in full.tolist()]

    def _moments(self, sets: Ints) -> _Moments:
        numbers = self._numbers[1]
        weight, noise = numbers[sets, 0], numbers[sets, 1]
        masks = np.arange(sets.shape[1])
        inverse = ratio(1, weight)
        union = sets[:, masks[:, None] | masks]
        both = inverse[:, :, None] * inverse[:, None, :]
        unknown = (weight[:, 1:] == 0).any(axis=1)
        return _Moments(inverse, noise, numbers[union, 2] * both, numbers[union, 3] * both, unknown)

    def _truth(self, tables: Ints, cells: int, truth: Floats | None) -> Floats:
        """Return the cells that variances are taken at: given, estimated, or all alike."""
        if truth is not None:
            return np.asarray(truth, np.float64).reshape(len(tables), cells)
        if not self.estimates:
            return np.full((len(tables), cells), 1 / cells)
        return proportions(self.tables(tables).values)

    # Answers

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        if not self.estimates:
            raise TableError("Reports that are only expected have no estimates.")
        sizes, sets = self._sizes_of(tables), self._set_numbers(tables)
        cells, rows = prod(sizes), len(tables)
        numbers_of, numbers, _ = self._numbers
        values = np.full((rows, *sizes), 1 / cells)
        for mask in range(1, sets.shape[1]):
            inside = [r if mask >> i & 1 else 1 for i, r in enumerate(sizes)]
            part = np.zeros((rows, prod(inside)))
            for row, number in enumerate(sets[:, mask].tolist()):
                if number < len(numbers_of):
                    part[row] = self._components[number]
            values += part.reshape(rows, *inside) * (part.shape[1] / cells)
        is_known = (numbers[sets[:, 1:], 0] > 0).all(axis=1)
        return Tables(values.reshape(rows, cells), is_known, {})

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of every cell, at the true cells or at what is known of them.

        They are infinite in a table of which something was never asked.
        """
        sizes = self._sizes_of(tables)
        cells, masks = prod(sizes), 1 << len(sizes)
        at = self._truth(tables, cells, truth)
        out = np.empty((len(tables), cells))
        for part in _parts(len(tables), masks * max(masks, cells)):
            moments = self._moments(self._set_numbers(tables[part]))
            pieces = _pieces(at[part], sizes)
            variance = np.einsum("rx,rxc->rc", _linear(moments.cross, sizes), pieces)
            variance += _noise(moments, sizes)[:, None]
            variance -= np.einsum("rxc,rxc->rc", pieces, moments.share @ pieces)
            variance[moments.unknown] = np.inf
            out[part] = variance
        return out

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells, at the true cells or at estimates.

        Where something was never asked, every cell's variance is infinite, and covariances between
        cells are not a number.
        """
        sizes = self._sizes_of(tables)
        cells, masks = prod(sizes), 1 << len(sizes)
        refuse_covariance(cells)
        at = self._truth(tables, cells, truth)
        bases = [np.vstack((np.full(r, r**-0.5), contrast_basis(r))) for r in sizes]
        contrasts = along_axes(np.eye(cells), bases)  # one row per cell, one column per contrast
        back = partial(along_axes, matrices=[basis.T for basis in bases])
        ranks = _touches(sizes)
        out = np.empty((len(tables), cells, cells))
        for part in _parts(len(tables), max(masks, cells) ** 2):
            moments = self._moments(self._set_numbers(tables[part]))
            mean = along_axes(at[part], bases)
            matrix = along_axes(contrasts.T * at[part][:, None, :], bases)
            matrix *= moments.cross[:, ranks[:, None], ranks]
            matrix -= moments.share[:, ranks[:, None], ranks] * mean[:, :, None] * mean[:, None, :]
            own = moments.noise * moments.inverse**2 / cells
            variances_of(matrix)[...] += own[:, ranks]
            out[part] = mark_unknown(both_sides(matrix, back), moments.unknown[:, None])
        return out

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports: no cell lies far beyond 0 to 1.

        A cell below 0 is judged by the largest variance that an empty cell may have, one above 1
        by the largest of any; both have room for what a few reports do to a rare cell (Bernstein).
        """
        if not self.estimates:
            return True
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for home, subset in self._numbers[0]:
            if home in ((), subset):
                groups.setdefault(tuple(self.sizes[i] for i in subset), []).append(subset)
        return all(
            self._all_within(sizes, np.array(sets)[part])
            for sizes, sets in groups.items()
            for part in _parts(len(sets), max(prod(sizes), 4 ** len(sizes)))
        )

    def _all_within(self, sizes: tuple[int, ...], tables: Ints) -> bool:
        """Tell whether every cell of these tables is where it may be."""
        sets = self._set_numbers(tables)
        moments, estimate = self._moments(sets), self.tables(tables)
        reached = _linear(moments.cross, sizes) @ _matches(sizes)
        noise = _noise(moments, sizes)
        empty, most = noise + reached[:, :-1].max(axis=1), noise + reached.max(axis=1)
        jump = (moments.inverse * self._numbers[2][sets]) @ _matches(sizes)[:, -1]
        rare = jump[:, None] * BEYOND**2 / 6
        low = estimate.values < -BEYOND * np.sqrt(empty)[:, None] - rare
        high = estimate.values > 1 + BEYOND * np.sqrt(most)[:, None] + rare
        return not bool((low | high)[estimate.known].any())


def _parts(rows: int, each: int) -> Iterator[slice]:
    """Yield runs of rows that fit into memory together, if every row needs so many numbers."""
    step = max(1, _MOST_TOGETHER // each)
    return (slice(start, start + step) for start in range(0, rows, step))


def _touches(sizes: tuple[int, ...]) -> Ints:
    """Return the mask of the attributes along which each contrast is not constant."""
    masks = np.zeros(1, np.int64)
    for i, r in reversed(list(enumerate(sizes))):
        masks = ((np.arange(r) > 0)[:, None].astype(np.int64) << i | masks).ravel()
    return masks


def _pieces(cells: Floats, sizes: tuple[int, ...]) -> Floats:
    """Return each row of cells split into the interactions of all sets: (rows, masks, cells)."""
    rows, count = cells.shape
    pieces = cells[:, None]
    for r in reversed(sizes):
        split = pieces.reshape(rows, -1, count // r, r)
        mean = np.broadcast_to(split.mean(axis=-1, keepdims=True), split.shape)
        both = np.stack((mean, split - mean), axis=2).swapaxes(-1, -2)
        pieces = both.reshape(rows, -1, count)
    return pieces


def _matches(sizes: tuple[int, ...]) -> Floats:
    """Return the interaction (a mask per row) of one person, seen from a cell.

    The columns are masks of the attributes in which the cell is the person's. The last column is
    what the kernels of the sets have on their diagonals.
    """
    interaction: Floats = np.ones((1, 1))
    for r in sizes:
        matrix = np.array([[1, 1], [-1, r - 1]]) / r
        interaction = np.einsum("ab,cd->acbd", matrix, interaction).reshape(
            2 * len(interaction), -1
        )
    return interaction


def _noise(moments: _Moments, sizes: tuple[int, ...]) -> Floats:
    """Return the part of every cell's variance that does not depend on the truth."""
    own = moments.noise * moments.inverse**2
    noise: Floats = own @ _matches(sizes)[:, -1] / prod(sizes)
    return noise


def _linear(cross: Floats, sizes: tuple[int, ...]) -> Floats:
    """Return what each interaction of the truth adds to the variance, by mask.

    The product of the kernels of S and S' is, along an attribute of size r, (δ − 1/r)² if both hold
    it, (δ − 1/r)/r if one does and 1/r² if none does. Applied to a constant and to what has mean 0,
    these are factors: 1 − 1/r and 1 − 2/r, 0 and 1/r, 1/r and 0.
    """
    factors = cross[:, None]
    for r in sizes[::-1]:
        rows, before, masks, _ = factors.shape
        split = factors.reshape(rows, before, 2, masks // 2, 2, masks // 2)
        none, both = split[:, :, 0, :, 0], split[:, :, 1, :, 1]
        one = split[:, :, 0, :, 1] + split[:, :, 1, :, 0]
        constant, rest = none / r + both * (1 - 1 / r), one / r + both * (1 - 2 / r)
        factors = np.stack((constant, rest), axis=2).reshape(rows, 2 * before, masks // 2, -1)
    return factors[:, :, 0, 0]
