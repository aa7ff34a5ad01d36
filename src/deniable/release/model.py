"""The model of yes/no attributes: the flattest joint distribution that explains what was measured.

Among all distributions over the 2^d records, exp(Σ λ_α χ_α(x)) over the measured sets α is the one of
maximal entropy given its coefficients, so λ says all. The fit starts where attributes are independent
and follows the gradient of the likelihood, each coefficient weighted by its precision,

    dλ/dt = w·(θ̂ − θ(λ)),        w ∝ 1/Var θ̂.

Strong common structure is fitted early, faint detail late, and noise last; so how long to follow is
the one choice, and the tally itself makes it: the fit to one half that comes nearest to the other
half stops at the right time (`follow_both`).

A step of the path is implicit, a proximal step as long as all steps before it, solved by Newton's
method with conjugate gradients; each product with the Hessian is two Walsh–Hadamard transforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.numeric.newton import climb
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, all_tables, hadamard

MOST_WHOLE = 20
"""The most attributes whose joint distribution is kept whole: 2^20 numbers."""

GROWTH = 2**0.5
"""How much later each stop of a path is than the one before."""

_PATIENCE = 6
_NEARER = 0.01
"""Halves that come nearer to each other by less than so many squared standard errors, in all, do not."""
_MOST_STOPS = 60
_NEWTON = 6
_CONJUGATE = 40

_SIXTEEN = hadamard(np.eye(16))


class Distribution(Protocol):
    """A distribution over records, of which any table can be asked."""

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        ...


def transform(values: Floats) -> Floats:
    """Return the Walsh–Hadamard transform of a long vector, sixteen numbers at a time."""
    length = remainder = len(values)
    while remainder >= 16:
        values = (_SIXTEEN @ values.reshape(16, -1)).T.reshape(length)
        remainder //= 16
    if remainder > 1:
        values = (hadamard(np.eye(remainder)) @ values.reshape(remainder, -1)).T.reshape(length)
    return values


@dataclass(frozen=True, eq=False)
class Whole:
    """A distribution over all 2^d records, as its coefficients (bit i is attribute i)."""

    spectrum: Floats

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        masks = np.zeros((len(tables), 1), np.int64)
        for attribute in tables.T[::-1]:
            masks = np.concatenate((masks, masks | (np.int64(1) << attribute)[:, None]), axis=1)
        cells: Floats = hadamard(self.spectrum[masks]) / masks.shape[1]
        return cells.clip(0, None)


class Path:
    """The way from independent attributes to the likeliest model, one stop after another."""

    def __init__(self, measurements: Measurements) -> None:
        numbering = measurements.numbering
        self.masks = np.concatenate(
            [
                (np.int64(1) << all_tables(numbering.attributes, size)).sum(axis=1)
                for size in range(1, numbering.order + 1)
            ]
        )
        self._length = 1 << numbering.attributes
        self._goal = np.where(measurements.known, measurements.theta.clip(-1, 1), 0.0)
        self.weight = relative_precision(measurements)
        self.time = 0.0
        # A step is precise enough where what it leaves is a thousandth of the noise.
        self._enough = 1e-3 * float(measurements.variance.min(initial=1, where=measurements.known))
        self._is_settled = not self.weight.any()
        self._lambda = np.zeros(numbering.size)
        self._lambda[numbering.level(1)] = independent(measurements)
        self._settle(self._lambda)

    @property
    def theta(self) -> Floats:
        """Return the model's coefficients of the sets that were measured."""
        theta: Floats = self.spectrum[self.masks]
        return theta

    def _settle(self, at: Floats) -> float:
        """Take these λ, and return minus their likelihood per person."""
        exponent = np.zeros(self._length)
        exponent[self.masks] = at
        exponent = transform(exponent)
        top = float(exponent.max())
        share = np.exp(exponent - top)
        total = float(share.sum())
        self._share = share / total
        self.spectrum = transform(self._share)
        return top + float(np.log(total)) - float(at @ self._goal)

    def advance(self) -> None:
        """Go on to the next stop: first a short step, then √2 as far as all steps before."""
        if self._is_settled:
            return
        later = self.time * GROWTH if self.time else 1 / float(self.weight.sum())
        before, anchor, distance = self.theta, self._lambda, self._distance()
        self._step(later - self.time)
        if self._distance() > 1.01 * distance + self._enough:
            # A flow only comes nearer; where λ has grown beyond what numbers can tell, it ends.
            self._lambda, self._is_settled = anchor, True
            self._settle(anchor)
            return
        self.time = later
        # Where no distribution fits, λ grows for ever while nothing else moves any more.
        change = float((self.weight * (self.theta - before) ** 2).sum())
        self._is_settled = self.time > 1 and change < 0.1 * self._enough

    def _distance(self) -> float:
        """Return how far the model is from what was measured."""
        return float((self.weight * (self.theta - self._goal) ** 2).sum())

    def _step(self, length: float) -> None:
        """Move to the proximal point: argmin of −likelihood + |λ − λ₀|²/(2·length·w)."""
        is_asked = self.weight > 0
        anchor = self._lambda
        pull = np.divide(1, length * self.weight, out=np.zeros_like(anchor), where=is_asked)

        def look(at: Floats) -> tuple[float, Floats, Floats]:
            objective = self._settle(at) + float((pull * (at - anchor) ** 2).sum()) / 2
            return -objective, self._share, self.spectrum

        def step_at(at: Floats, _: tuple[float, Floats, Floats]) -> tuple[Floats, float]:
            slope = np.where(is_asked, self.theta - self._goal + pull * (at - anchor), 0)
            turn = self._solve(slope, pull, is_asked)
            turn *= slope @ turn > self._enough  # a step that is not worth it is none
            return -turn, float(slope @ turn)

        self._lambda, (_, self._share, self.spectrum) = climb(anchor, look, step_at, most=_NEWTON)

    def _solve(self, slope: Floats, pull: Floats, is_asked: NDArray[np.bool_]) -> Floats:
        """Solve (H + pull)·x = slope by conjugate gradients, preconditioned by ``pull`` and 1."""
        inverse = np.where(is_asked, 1 / (1 + pull), 0)
        solution, residual = np.zeros_like(slope), slope.copy()
        step = inverse * residual
        direction, size = step.copy(), float(residual @ step)
        enough = 1e-4 * size
        for _ in range(_CONJUGATE):
            if size <= enough or size <= 1e-30:
                break
            curvature = np.where(is_asked, self._curve(direction) + pull * direction, 0)
            bend = float(direction @ curvature)
            if not bend > 0:  # flat, as far as numbers of this precision tell
                break
            reach = size / bend
            solution += reach * direction
            residual -= reach * curvature
            step = inverse * residual
            before, size = size, float(residual @ step)
            direction = step + size / before * direction
        return solution

    def _curve(self, direction: Floats) -> Floats:
        """Return the covariance of all χ_α under the model, times a direction."""
        along = np.zeros(self._length)
        along[self.masks] = direction
        along = transform(along)
        mean = float(direction @ self.theta)
        curvature: Floats = transform(self._share * (along - mean))[self.masks]
        return curvature

    @property
    def distribution(self) -> Whole:
        """Return the distribution at this stop."""
        return Whole(self.spectrum)


def independent(measurements: Measurements) -> Floats:
    """Return λ of each attribute where all are independent; none quite certain."""
    singles = measurements.numbering.level(1)
    is_known, deviation = measurements.known[singles], np.sqrt(measurements.variance[singles])
    most = (1 - np.where(is_known, deviation, 0) / 10).clip(0, 1 - 1e-9)
    start: Floats = np.arctanh(np.where(is_known, measurements.theta[singles], 0).clip(-most, most))
    return start


def relative_precision(measurements: Measurements) -> Floats:
    """Return the coefficients' precisions, 1 on average; 0 where nobody was asked."""
    is_known = measurements.known
    weight = np.zeros(len(is_known))
    weight[is_known] = 1 / measurements.variance[is_known]
    return weight / weight[is_known].mean() if is_known.any() else weight


def misfit(theta: Floats, measurements: Measurements) -> float:
    """Return Σ(θ̂ − θ)²/Var over what was measured: about one per coefficient for the truth."""
    is_known = measurements.known
    squares = (measurements.theta - theta)[is_known] ** 2
    return float((squares / measurements.variance[is_known]).sum())


def follow_both(first: Measurements, second: Measurements) -> tuple[int, Floats, Floats]:
    """Return at which stop the two halves' models come nearest to the other half, and their θ."""
    paths = Path(first), Path(second)
    best, stop, fits = np.inf, 0, (paths[0].theta, paths[1].theta)
    for turn in range(_MOST_STOPS):
        distance = misfit(paths[0].theta, second) + misfit(paths[1].theta, first)
        if distance < best - _NEARER:
            best, stop, fits = distance, turn, (paths[0].theta, paths[1].theta)
        if turn - stop >= _PATIENCE:
            break
        for path in paths:
            path.advance()
    return stop, *fits
