"""How well a model fits, and whether it is taken.

Everything is judged by reports that took no part in the fit: one half of the tally is fitted, the
other judges. For each coefficient the judge's θ̂ and the fitted θ differ by (θ̂ − θ)²/Var, which is
about 1 for the truth, 2 for the other half's own unbiased estimate.

What counts is the error on all reports. Of the halves' error, (miss − 1), the part that is noise
halves with twice the reports, and how far the two halves' fits lie apart shows how much that is; the
rest is bias, and stays. The model is rejected, and joint tables are released instead, where its error
is significantly more than a tenth above theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import TallyCounts
from deniable.release.graph import ROUNDS, WIDTH, Graph
from deniable.release.halves import halves
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.model import MOST_WHOLE, Distribution, Path, follow_both
from deniable.release.projection import Measured, joint
from deniable.survey.coefficients import Ints, Shared, all_tables, hadamard

Floats = NDArray[np.float64]

_LEVEL = 0.05
"""How rarely a model is rejected that is as good as joint tables."""

_MOST_JUDGED = 6000
"""The most coefficients by which a graph is judged; of more, as many are picked evenly."""

_MOST_COMPARED = 1500
"""The most coefficients by which its stops are compared."""

_FAR = 5.0
"""Joint tables miss unseen reports by less than 2, if people gave them."""

_LATER = 2
"""Twice the people, twice the time: two stops of a path (and one of a graph's, 1.64 times as far)."""


@dataclass(frozen=True)
class Fit:
    """What was fitted, and how it did on the half of the reports that it had not seen.

    ``model``, ``joint`` and ``none`` are mean squared misses in standard errors, over
    ``coefficients`` of them: about 1 for the truth. ``p_value`` is of the test whether on all
    reports the model errs by no more than a tenth beyond joint tables; below 0.05 it is ``rejected``.
    """

    structure: str
    stop: int
    coefficients: int
    model: float
    joint: float
    none: float
    p_value: float

    @property
    def rejected(self) -> bool:
        """Tell whether the model errs significantly more than joint tables."""
        return self.p_value < _LEVEL

    def __str__(self) -> str:
        if not self.coefficients:
            return f"The model is {self.structure}; there are too few reports to judge it by."
        end = (
            f"It is rejected (p = {self.p_value:.2g}), and joint tables are released instead."
            if self.rejected
            else f"It is not rejected (p = {self.p_value:.2g})."
        )
        return (
            f"The model is {self.structure}. Per coefficient it misses reports that it has not seen "
            f"by {self.model:.3f} squared standard errors; joint tables miss them by "
            f"{self.joint:.3f}, unbiased ones by {self.none:.3f}, the truth would by about 1. {end}"
            f"{self._doubt}"
        )

    @property
    def _doubt(self) -> str:
        """Say so where not even joint tables, which can be any people's, come near the reports."""
        return f" {IMPLAUSIBLE}" if self.joint > _FAR else ""


@dataclass(frozen=True, eq=False)
class _Judged:
    """Two halves that judge each other, on the coefficients that both were asked."""

    halves: tuple[Measured, Measured]
    numbers: Ints

    @cached_property
    def _asked(self) -> NDArray[np.bool_]:
        first, second = self.halves
        return (first.known & second.known)[self.numbers]

    @property
    def count(self) -> int:
        """Return how many coefficients are judged, by each half."""
        return int(self._asked.sum())

    @cached_property
    def agreed(self) -> tuple[Floats, Floats]:
        """Return the halves' joint coefficients."""
        first, second = (joint(h.theta, h.numbering)[self.numbers] for h in self.halves)
        return first, second

    @property
    def raw(self) -> tuple[Floats, Floats]:
        """Return the halves' own unbiased coefficients."""
        return self.halves[0].theta[self.numbers], self.halves[1].theta[self.numbers]

    def miss(self, found: tuple[Floats, Floats]) -> float:
        """Return by how much two fits miss the other half, in squared standard errors."""
        return sum(
            self._size(fitted - judge.theta[self.numbers], judge)
            for fitted, judge in zip(found, self.halves[::-1], strict=True)
        )

    def _size(self, difference: Floats, judge: Measured) -> float:
        spread = judge.variance[self.numbers][self._asked]
        return float((difference[self._asked] ** 2 / spread).sum())

    def error(self, found: tuple[Floats, Floats]) -> float:
        """Return the error, summed over both halves, that a fit to all reports would have."""
        apart = sum(self._size(found[0] - found[1], judge) for judge in self.halves) / 4
        return max(self.miss(found) - 2 * self.count - apart, 0.0)

    def p_value(self, found: tuple[Floats, Floats]) -> float:
        """Test whether fits err by no more than a tenth beyond joint tables.

        Given one half, the difference of two misses is normal, its spread known.
        """
        from scipy import stats

        worse = self.error(found) - 1.1 * self.error(self.agreed)
        both = zip(found, self.agreed, self.halves[::-1], strict=True)
        noise = 4 * sum(self._size(one - other, judge) for one, other, judge in both)
        return float(stats.norm.sf(worse / np.sqrt(noise))) if noise > 0 else 1.0

    def verdict(self, structure: str, stop: int, found: tuple[Floats, Floats]) -> Fit:
        """Return how two fits did."""
        if not self.count:
            return Fit(structure, stop, 0, 0.0, 0.0, 0.0, 1.0)
        misses = [self.miss(each) / (2 * self.count) for each in (found, self.agreed, self.raw)]
        model, agreed, raw = misses
        return Fit(structure, stop, self.count, model, agreed, raw, self.p_value(found))


def fit(
    counts: TallyCounts, measured: Measured, measure_counts: Callable[[TallyCounts], Measured]
) -> tuple[Distribution, Fit, Callable[[Measured], Distribution] | None]:
    """Return the model of a tally, how well it fits, and how to fit it to other measurements.

    There is no such way where that would take too long to be done many times.
    """
    first, second = map(measure_counts, halves(counts))
    numbering = measured.numbering
    if numbering.attributes <= MOST_WHOLE:
        stop, *found = follow_both(first, second)
        judged = _Judged((first, second), np.arange(numbering.size))
        told = judged.verdict("the whole joint distribution", stop, (found[0], found[1]))

        def refit(other: Measured) -> Distribution:
            path = Path(other)
            for _ in range(stop + _LATER if stop else 0):
                path.advance()
            return path.distribution

        return refit(measured), told, refit
    name = f"a graph of treewidth {WIDTH} over the pairs that significantly depend"
    graph = Graph(first)  # for both halves: the first is then judged by what had no part in it
    trees = [graph.descend(half, ROUNDS) for half in (first, second)]

    def pick(judged: _Judged, stop: int) -> tuple[Floats, Floats]:
        one, other = (coefficients(each[stop], numbering, judged.numbers) for each in trees)
        return one, other

    few, many = (
        _Judged((first, second), np.unique(np.linspace(0, numbering.size - 1, most).astype(int)))
        for most in (_MOST_COMPARED, _MOST_JUDGED)
    )
    stop = int(np.argmin([few.miss(pick(few, stop)) for stop in range(ROUNDS + 1)]))
    later = min(stop + 1, ROUNDS) if stop else 0
    tree = Graph(measured).descend(measured, max(later, 1))[later]
    return tree, many.verdict(name, stop, pick(many, stop)), None


def coefficients(model: Distribution, numbering: Shared, numbers: Ints) -> Floats:
    """Return a model's coefficients with these numbers."""
    found = np.empty(len(numbers))
    for size in range(1, numbering.order + 1):
        level = numbering.level(size)
        inside = (numbers >= level.start) & (numbers < level.stop)
        if inside.any():
            sets = all_tables(numbering.attributes, size)[numbers[inside] - level.start]
            found[inside] = hadamard(model.tables(sets))[:, -1]
    return found
