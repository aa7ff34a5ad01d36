"""CALM: consistent adaptive local marginals.

Source: Zhang, Wang, Li, He and Chen, "CALM: Consistent Adaptive Local Marginal for Marginal Release
under Local Differential Privacy", CCS 2018. No code of it is public; this is ours, by its idea.
Everybody reports one of m views (sets of ℓ attributes) with the better of two frequency oracles; views
are made to agree about what they share, and not to be negative; a table is read off a view that holds
it, or is the one of most entropy among those that agree with the views.

What had to be decided here, because the idea leaves it open or the paper's choice is not known to us:

- Which ℓ and m: `deniable.lab.rivals.views`. All tables of k attributes are covered by the size of views
  of least noise, if that is at most θ = 0.001; else those of fewer attributes, pairs at least. What
  is not covered errs in reconstruction by what only the data knows, so nothing is assumed about that.
- The covering design is greedy. Tables of designs that are known to be smaller are not looked up.
- Numbers are put into the bins that tables show; their order is not made use of.
- Attributes of any sizes: views have equally many attributes, not cells, and equally many people.
- Averages are weighted by the inverse of variance, from the attributes that fewest share to the most.
- Not negative: the nearest distribution of each view (norm-sub), in turns with agreement, until both
  hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.lab.rivals.oracle import Oracle
from deniable.lab.rivals.rival import Advance, Rival
from deniable.lab.rivals.views import choose, holders_of
from deniable.numeric.shares import check_cells, fit_proportionally, onto_simplex, proportions
from deniable.questions.entropy import Key
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    from deniable.lab.simulate import Crowd

View = tuple[int, ...]

_ROUNDS = 300
_AGREED = 1e-6
"""What views may differ by in a share, and lack from not being negative."""


class Calm(Rival):
    """CALM: views that agree, each asked with the better of two frequency oracles."""

    name = "CALM"

    def run(self, crowd: Crowd, key: Key, advance: Advance = lambda people: None) -> CalmTables:
        """Ask everybody of a crowd about one view, by lot."""
        schema = self.schema
        views = choose(schema, self.order, self.epsilon, len(crowd)).views
        random = np.random.Generator(np.random.Philox(key.stream("calm").words(2)))
        holders = holders_of(schema, views, crowd, random, advance)
        shares, weights = [], []
        for own in holders:
            oracle, people = Oracle.adaptive(len(own), self.epsilon), int(own.sum())
            shares.append(oracle.estimate(oracle.draw(own, random), people))
            weights.append(people / len(own) / oracle.noise)
        agreement = Agreement(schema.sizes, views, np.array(weights))
        return CalmTables(schema.sizes, views, agreement.settle(np.concatenate(shares)))


@dataclass(frozen=True, eq=False)
class _Common:
    """A set of attributes that several views share."""

    cells: Ints
    """Where the views' cells are, in the vector of all views."""
    into: Ints
    """Into which sum each of them goes; sums of one view follow each other."""
    weights: Floats
    """What each view counts for; they add up to 1."""
    widths: Floats
    """How many cells a sum has, of each view."""


class Agreement:
    """Views side by side in one vector, made to agree about what they share.

    ``weights`` are inverse to the noise of a sum over a view's cells: a table within it errs by that.
    """

    def __init__(self, sizes: tuple[int, ...], views: tuple[View, ...], weights: Floats) -> None:
        self._sizes, self._views, self._weights = sizes, views, weights
        self._cells = np.array([prod(sizes[a] for a in view) for view in views])
        self._begins = np.append(0, np.cumsum(self._cells))

    @cached_property
    def commons(self) -> list[_Common]:
        """Return what is shared by two views or more, the smallest first.

        A view that is changed for a set keeps what it says about smaller ones, and about others of the
        same size whatever they have in common with it.
        """
        users: dict[View, list[int]] = {}
        for size in range(1, max(map(len, self._views))):
            for number, view in enumerate(self._views):
                for attributes in combinations(view, size):
                    users.setdefault(attributes, []).append(number)
        return [self._common(a, own) for a, own in users.items() if self._is_shared(own)]

    def _is_shared(self, views: list[int]) -> bool:
        return len(views) > 1 and bool(self._weights[views].sum() > 0)

    def _common(self, attributes: View, views: list[int]) -> _Common:
        cells, into, width = [], [], prod(self._sizes[a] for a in attributes)
        for place, number in enumerate(views):
            view = self._views[number]
            shape = [self._sizes[a] if a in attributes else 1 for a in view]
            full = [self._sizes[a] for a in view]
            sums = np.broadcast_to(np.arange(width).reshape(shape), full).ravel()
            cells.append(np.arange(self._begins[number], self._begins[number + 1]))
            into.append(place * width + sums)
        weights = self._weights[views]
        widths = (self._cells[views] / width)[:, None]
        return _Common(np.concatenate(cells), np.concatenate(into), weights / weights.sum(), widths)

    def agree(self, shares: Floats) -> Floats:
        """Return views that add up to 1 and agree: about every common set, the weighted mean."""
        totals = np.add.reduceat(shares, self._begins[:-1])
        shares = shares + np.repeat((1 - totals) / self._cells, self._cells)
        for common in self.commons:
            sums = np.bincount(common.into, shares[common.cells]).reshape(len(common.weights), -1)
            change = (common.weights @ sums - sums) / common.widths
            shares[common.cells] += change.ravel()[common.into]
        return shares

    def settle(self, shares: Floats) -> list[Floats]:
        """Return views that agree and are not negative, each as an array of its cells."""
        for _ in range(_ROUNDS):
            shares = self.agree(shares)
            is_settled = shares.min() > -_AGREED
            shares = np.concatenate([onto_simplex(view) for view in self._split(shares)])
            if is_settled:
                break
        return self._split(shares)

    def _split(self, shares: Floats) -> list[Floats]:
        return np.split(shares, self._begins[1:-1])


class CalmTables:
    """Tables that are read off views that agree, or reconstructed from them."""

    def __init__(
        self, sizes: tuple[int, ...], views: tuple[View, ...], shares: list[Floats]
    ) -> None:
        self._sizes, self._views = sizes, views
        self._shares = [
            own.reshape([sizes[a] for a in view]) for own, view in zip(shares, views, strict=True)
        ]
        self._members = np.zeros((len(views), len(sizes)), np.bool_)
        for number, view in enumerate(views):
            self._members[number, list(view)] = True

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables (sorted attributes, one row each) of the same sizes."""
        return np.stack([self._table(row).ravel() for row in tables])

    def _table(self, table: Ints) -> Floats:
        inside = self._members[:, table]
        holders = np.flatnonzero(inside.all(axis=1))
        if len(holders):
            return self._within(int(holders[0]), table)
        return self._most_entropy(table, list(self._largest(inside)))

    def _within(self, number: int, table: Ints) -> Floats:
        """Return what a view says about those of a table's attributes that it has."""
        others = tuple(i for i, a in enumerate(self._views[number]) if a not in table)
        sums: Floats = self._shares[number].sum(axis=others)
        return sums

    def _largest(self, inside: NDArray[np.bool_]) -> Iterator[int]:
        """Yield views that have most of a table's attributes: for each part of it that none exceeds."""
        parts, first = np.unique(inside, axis=0, return_index=True)
        for part, number in zip(parts, first.tolist(), strict=True):
            within = (parts >= part).all(axis=1)
            if part.any() and within.sum() == 1:
                yield number

    def _most_entropy(self, table: Ints, views: list[int]) -> Floats:
        """Return the table of most entropy that agrees with views: iterative proportional fitting."""
        sizes = [self._sizes[a] for a in table]
        check_cells(sizes)
        goals = []
        for number in views:
            is_own = self._members[number, table]
            shape = [size if own else 1 for size, own in zip(sizes, is_own, strict=True)]
            goals.append(self._within(number, table).reshape(shape))
        return proportions(fit_proportionally(np.full(sizes, 1 / prod(sizes)), goals).ravel())
