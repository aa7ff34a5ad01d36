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

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.release.marginal import IMPLAUSIBLE
from deniable.survey.coefficients import Floats, Ints

_LEVEL = 0.05
"""How rarely a model is rejected that is as good as joint tables."""

_FAR = 5.0
"""Joint tables miss unseen reports by less than 2, if people gave them."""


@dataclass(frozen=True)
class Fit:
    """What was fitted, and how it did on the half of the reports that it had not seen.

    ``model``, ``joint`` and ``none`` are mean squared misses in standard errors, over
    ``coefficients`` of them: about 1 for the truth; ``joint`` is None where joint tables would take
    too long. ``p_value`` is of the test whether on all
    reports the model errs by no more than a tenth beyond joint tables; below 0.05 it is ``rejected``.
    """

    structure: str
    stop: int
    coefficients: int
    model: float
    joint: float | None
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
            "It was not compared with joint tables, which would take too long."
            if self.joint is None
            else f"It is rejected (p = {self.p_value:.2g}), and joint tables are released instead."
            if self.rejected
            else f"It is not rejected (p = {self.p_value:.2g})."
        )
        return (
            f"The model is {self.structure}. Per coefficient it misses reports that it has not seen "
            f"by {self.model:.3f} squared standard errors; {self._joint}"
            f"unbiased ones miss them by {self.none:.3f}, the truth would by about 1. {end}"
            f"{self._doubt}"
        )

    @property
    def _joint(self) -> str:
        """Return how joint tables did, where there was time for them."""
        return "" if self.joint is None else f"joint tables by {self.joint:.3f}, "

    @property
    def _doubt(self) -> str:
        """Return a warning where not even joint tables, which can be any people's, come near."""
        return f" {IMPLAUSIBLE}" if self.joint is not None and self.joint > _FAR else ""


class Half(Protocol):
    """What half of the reports measured: numbers, their variances, and whether they were asked."""

    @property
    def theta(self) -> Floats:
        """Return the estimates."""
        ...

    @property
    def variance(self) -> Floats:
        """Return their variances."""
        ...

    @property
    def known(self) -> NDArray[np.bool_]:
        """Tell which were asked."""
        ...


@dataclass(frozen=True, eq=False)
class Judges:
    """Two halves that judge each other, on the coefficients that both were asked."""

    halves: tuple[Half, Half]
    numbers: Ints
    joint: tuple[Floats, Floats]
    """What the halves' joint tables say of them."""

    @cached_property
    def _is_asked(self) -> NDArray[np.bool_]:
        first, second = self.halves
        return (first.known & second.known)[self.numbers]

    @property
    def count(self) -> int:
        """Return how many coefficients are judged, by each half."""
        return int(self._is_asked.sum())

    @property
    def unbiased(self) -> tuple[Floats, Floats]:
        """Return the halves' own unbiased coefficients."""
        return self.halves[0].theta[self.numbers], self.halves[1].theta[self.numbers]

    def miss(self, fits: tuple[Floats, Floats]) -> float:
        """Return by how much two fits miss the other half, in squared standard errors."""
        return sum(
            self._size(theta - judge.theta[self.numbers], judge)
            for theta, judge in zip(fits, self.halves[::-1], strict=True)
        )

    def _size(self, difference: Floats, judge: Half) -> float:
        variance = judge.variance[self.numbers][self._is_asked]
        return float((difference[self._is_asked] ** 2 / variance).sum())

    def error(self, fits: tuple[Floats, Floats]) -> float:
        """Return the error, summed over both halves, that a fit to all reports would have."""
        apart = sum(self._size(fits[0] - fits[1], judge) for judge in self.halves) / 4
        return max(self.miss(fits) - 2 * self.count - apart, 0.0)

    def p_value(self, fits: tuple[Floats, Floats]) -> float:
        """Test whether fits err by no more than a tenth beyond joint tables.

        Given one half, the difference of two misses is normal, its variance known.
        """
        from scipy import stats

        worse = self.error(fits) - 1.1 * self.error(self.joint)
        both = zip(fits, self.joint, self.halves[::-1], strict=True)
        noise = 4 * sum(self._size(one - other, judge) for one, other, judge in both)
        return float(stats.norm.sf(worse / np.sqrt(noise))) if noise > 0 else 1.0

    def verdict(self, structure: str, stop: int, fits: tuple[Floats, Floats]) -> Fit:
        """Return how two fits did."""
        if not self.count:
            return Fit(structure, stop, 0, 0.0, 0.0, 0.0, 1.0)
        every = (fits, self.joint, self.unbiased)
        model, of_joint, of_none = (self.miss(each) / (2 * self.count) for each in every)
        return Fit(structure, stop, self.count, model, of_joint, of_none, self.p_value(fits))
