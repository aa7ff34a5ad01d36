"""How well a model fits, and whether it is taken.

Everything is judged by reports that took no part in the fit: one half of the tally is fitted, the
other judges. For each coefficient the judge's θ̂ and the fitted θ differ by (θ̂ − θ)²/Var, which is
about 1 for the truth, 2 for the other half's own unbiased estimate. The model is rejected, and joint
tables are released instead, where those come significantly nearer to the judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.collector.tally import Counts
from deniable.mechanisms.coefficients import Ints, Shared, all_tables, hadamard
from deniable.release.consistency import Measured, joint
from deniable.release.graph import ROUNDS, WIDTH, descend
from deniable.release.halves import halves
from deniable.release.model import MOST_WHOLE, Distribution, Path, follow_both

__all__ = ["Fit", "fit"]

Floats = NDArray[np.float64]

_LEVEL = 0.05
"""How rarely a model is rejected that is as good as joint tables."""

_MOST_JUDGED = 6000
"""The most coefficients of a graph that are compared; of more, as many are picked evenly."""

_LATER = 2
"""Twice the people, twice the time: two stops of a path (and one of a graph's, 1.64 times as far)."""


@dataclass(frozen=True)
class Fit:
    """What was fitted, and how it did on the half of the reports that it had not seen.

    ``model``, ``joint`` and ``none`` are mean squared misses in standard errors, over
    ``coefficients`` of them: about 1 for the truth. ``p_value`` is of the test whether joint tables
    come nearer than the model; below 0.05 it is ``rejected``.
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
        """Tell whether joint tables come significantly nearer to unseen reports."""
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
        )


@dataclass(frozen=True, eq=False)
class _Fold:
    """One half's estimates, before the half that judges them; only of what both were asked."""

    model: Floats
    agreed: Floats
    fitted: Measured
    judge: Measured
    numbers: Ints

    def compare(self) -> Floats:
        """Return how many were judged, the misses of model, joint and none, and the test's noise."""
        asked = (self.fitted.known & self.judge.known)[self.numbers]
        numbers, model = self.numbers[asked], self.model[asked]
        agreed, raw = self.agreed[numbers], self.fitted.theta[numbers]
        truth, spread = self.judge.theta[numbers], self.judge.variance[numbers]
        misses = [float(((x - truth) ** 2 / spread).sum()) for x in (model, agreed, raw)]
        noise = 4 * float(((model - agreed) ** 2 / spread).sum())
        return np.array([len(numbers), *misses, noise])


def fit(
    counts: Counts, measured: Measured, measure_counts: Callable[[Counts], Measured]
) -> tuple[Distribution, Fit, Callable[[Measured], Distribution] | None]:
    """Return the model of a tally, how well it fits, and how to fit it to other measurements.

    There is no such way where that would take too long to be done many times.
    """
    first, second = map(measure_counts, halves(counts))
    numbering = measured.numbering
    agreed = joint(first.theta, numbering)
    if numbering.attributes <= MOST_WHOLE:
        numbers = np.arange(numbering.size)
        stop, *thetas = follow_both(first, second)
        folds = [
            _Fold(thetas[0], agreed, first, second, numbers),
            _Fold(thetas[1], joint(second.theta, numbering), second, first, numbers),
        ]
        told = _verdict("the whole joint distribution", stop, folds)

        def refit(other: Measured) -> Distribution:
            path = Path(other)
            for _ in range(stop + _LATER if stop else 0):
                path.advance()
            return path.distribution

        return refit(measured), told, refit
    numbers = np.unique(np.linspace(0, numbering.size - 1, _MOST_JUDGED).astype(np.int64))
    stops = descend(first, ROUNDS)
    found = [coefficients(tree, numbering, numbers) for tree in stops]
    folds = [_Fold(theta, agreed, first, second, numbers) for theta in found]
    stop = int(np.argmin([fold.compare()[1] for fold in folds]))
    later = stop + 1 if stop else 0
    tree = descend(measured, max(later, 1))[later]
    name = f"a graph of treewidth {WIDTH} over the pairs that significantly depend"
    return tree, _verdict(name, stop, folds[stop : stop + 1]), None


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


def _verdict(structure: str, stop: int, folds: list[_Fold]) -> Fit:
    """Judge a model: given one half, the difference of two misses is normal, its spread known."""
    judged, model, agreed, raw, noise = np.sum([fold.compare() for fold in folds], axis=0)
    count = int(judged)
    if not count:
        return Fit(structure, stop, 0, 0.0, 0.0, 0.0, 1.0)
    worse = (model - agreed) / np.sqrt(noise) if noise > 0 else 0.0
    return Fit(
        structure,
        stop,
        count // len(folds),
        float(model / count),
        float(agreed / count),
        float(raw / count),
        float(stats.norm.sf(worse)),
    )
