"""Randomized answers to thresholds, and the law that ties them to the shares of levels.

An entry's cuts divide the levels into intervals, and a person's symbol is the interval of their level
(people without a number count as below the first cut, or as above the last, as the entry says). The
report is a set of `w` symbols: each set that holds the person's own is equally likely, with `p` in
all, and each other one as well. A set's chance is therefore linear in the shares of the intervals,
and these are differences of the distribution function, so that both directions of the map between
levels and sets are a cumulative sum and a table of `M` rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from deniable.survey.coefficients import Floats, Ints

Flags = npt.NDArray[np.bool_]


@cache
def symbol_sets(symbols: int, size: int) -> Floats:
    """Return which symbols (columns) each set of this size (rows, in colex order) holds."""
    sets = sorted(combinations(range(symbols), size), key=lambda members: members[::-1])
    holds = np.zeros((len(sets), symbols))
    for row, members in enumerate(sets):
        holds[row, list(members)] = 1.0
    holds.setflags(write=False)
    return holds


@dataclass(frozen=True, eq=False)
class Answers:
    """The reports of entries with equally many cuts.

    `cuts` has a row of ascending cuts per entry (a level passes cut c if it is at least c, 1 ≤ c < L);
    `top` says of each whether a missing number counts as its last symbol (else as its first);
    `supports` counts reports that hold each symbol, `people` reports, and `outcomes` reports of each
    set of `w` symbols, in colex order.
    """

    cuts: Ints
    top: Flags
    supports: Floats
    people: Floats
    outcomes: Floats
    w: int
    p: float

    @classmethod
    def of(cls, cuts: Ints, top: Flags, outcomes: Floats, w: int, p: float) -> Answers:
        """Return answers whose supports and people are counted from their outcomes."""
        counts = np.asarray(outcomes, np.float64)
        supports = counts @ symbol_sets(cuts.shape[1] + 1, w)
        return cls(cuts, top, supports, counts.sum(axis=-1), counts, w, p)

    @property
    def symbols(self) -> int:
        """Return how many symbols an entry has."""
        return int(self.cuts.shape[1]) + 1

    @property
    def other(self) -> float:
        """Return the chance that a report holds a given symbol which is not the person's own."""
        M, w, p = self.symbols, self.w, self.p
        own = p * comb(M - 2, w - 2) / comb(M - 1, w - 1) if w > 1 else 0.0
        return own + (1 - p) * comb(M - 2, w - 1) / comb(M - 1, w)

    @property
    def contraction(self) -> float:
        """Return ((e^ε − 1)/(e^ε + 1))²: no report keeps more of what a symbol tells (in χ²)."""
        odds = self.p * (self.symbols - self.w) / (self.w * (1 - self.p))
        return ((odds - 1) / (odds + 1)) ** 2


class Law:
    """The linear map from shares of levels (missing last) to chances of sets, and its transpose.

    All arrays may have leading axes: data sets that are handled at once.
    """

    def __init__(self, block: Answers, levels: int, missing: bool) -> None:
        self._levels, self._missing = levels, missing
        self._first, self._last = (~block.top).astype(np.float64), block.top.astype(np.float64)
        M, w, p = block.symbols, block.w, block.p
        other = (1 - p) / comb(M - 1, w)
        self._table = (p / comb(M - 1, w - 1) - other) * symbol_sets(M, w) + other
        ends = np.full((len(block.cuts), 1), levels)
        self._edges = np.concatenate([np.zeros_like(ends), block.cuts, ends], axis=1)
        self._order = np.argsort(block.cuts, axis=None, kind="stable")
        cuts = block.cuts.ravel()[self._order]
        self._starts = np.flatnonzero(np.diff(cuts, prepend=-1))
        self._at = cuts[self._starts]

    def intervals(self, shares: Floats) -> Floats:
        """Return the share of each symbol of each entry."""
        below = np.zeros((*shares.shape[:-1], self._levels + 1))
        np.cumsum(shares[..., : self._levels], axis=-1, out=below[..., 1:])
        symbols: Floats = np.diff(below[..., self._edges], axis=-1)
        if self._missing:
            symbols[..., 0] += shares[..., -1:] * self._first
            symbols[..., -1] += shares[..., -1:] * self._last
        return symbols

    def chances(self, shares: Floats) -> Floats:
        """Return the chance of each set of each entry."""
        chances: Floats = self.intervals(shares) @ self._table.T
        return chances

    def transpose(self, weights: Floats) -> Floats:
        """Return, per level, the sum over entries and sets of weight × the set's chance there."""
        symbols = weights @ self._table
        ahead = symbols.shape[:-2]
        sums = np.zeros((*ahead, self._levels + self._missing))
        steps = np.diff(symbols, axis=-1).reshape(*ahead, -1)[..., self._order]
        sums[..., self._at] = np.add.reduceat(steps, self._starts, axis=-1)
        sums[..., 0] += symbols[..., 0].sum(axis=-1)
        levels = sums[..., : self._levels]
        np.cumsum(levels, axis=-1, out=levels)
        if self._missing:
            sums[..., -1] = symbols[..., 0] @ self._first + symbols[..., -1] @ self._last
        return sums
