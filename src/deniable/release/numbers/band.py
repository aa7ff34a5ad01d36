"""Intervals for quantiles and for the distribution function, and a band for all of it.

**Quantiles** invert tests of "at least q of the people are below this cut", and of "at most q". The
only shape that is assumed is that a distribution function rises: a test compares the best rising
curve through the unbiased estimates of all cuts with the best one that is q there. No smoothing, so
no bias at spikes. Its statistic is about κ·χ²₁: κ is 1 where steps between cuts stand out of the noise,
about .6 where the curve looks smooth (Banerjee and Wellner's limit; 2.28 instead of 3.84 at 95 %), and
above 1 where it is flat. κ is the statistic's mean in trials at the fitted distribution (as Bartlett
corrects a likelihood ratio), for each side on its own, and a little more; at least .7. As a curve
that reaches q before a cut has q below that cut, the tests are nested and what they accept is an
interval. But the fit widens a spike, and what is beyond it is flatter than the fit: where κ is above 1
beside an end, the trials are made again at the fit that is bent to have q there. The same tests bound
the share below one cut; there κ is at least 1, as a cut may be right beside a spike, which the fit has
smoothed.

**The band** holds at all cuts at once (Dümbgen's, for monotone functions): every average of
neighbouring cuts lies within its own margin of the truth, simultaneously, with the stated chance; the
curve is at most the upper margin of any average that starts at the cut, and at least the lower one of
any that ends there. Short averages have wider margins (√(2 log(e·T/length)) more), as they are many.
It is exact for the noise, and errs towards covering where the curve climbs within an average. Averages
are of cuts that answers are about; where an average holds few reports, there is room for what a single
one does to it (Bernstein), as their noise is not normal.

With missing numbers everything is told of the people who have one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf, log, sqrt

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deniable.numeric.levels import normal_reach
from deniable.numeric.roots import bracket
from deniable.numeric.shares import ratio
from deniable.release.numbers.answers import Flags
from deniable.release.numbers.evidence import Evidence, evidence
from deniable.release.numbers.likelihood import Climb
from deniable.survey.coefficients import Floats, Ints

__all__ = ["band", "cdf_interval", "quantile"]

_TRIALS = 240
_BAND_TRIALS = 500
_SMOOTH = 0.7
_PRUDENCE = 1.15
"""κ is judged at a fit that is smoother than the truth, and by few trials: so much is added."""
_STEPS = 24


def quantile(
    climb: Climb,
    probabilities: Sequence[float],
    level: float = 0.95,
) -> tuple[Ints, Ints, Ints]:
    """Return each quantile's level (the first with at least that share up to it), low and high.

    Both ends belong to the interval. The estimate is the fit's, moved into the interval if need be.
    """
    tests = Tests(evidence(climb, _TRIALS))
    curve = climb.curve
    results = []
    for q in probabilities:
        middle = min(int(np.searchsorted(curve, q - 1e-12)), climb.levels - 1)
        low, high = tests.quantile(q, middle, normal_reach(level))
        results.append((min(max(middle, low), high), low, high))
    estimate, low_ends, high_ends = np.array(results, dtype=np.int64).reshape(-1, 3).T
    return estimate, low_ends, high_ends


def cdf_interval(
    climb: Climb,
    cuts: Sequence[int],
    level: float = 0.95,
) -> tuple[Floats, Floats, Floats]:
    """Return P(level < c) at each of these cuts, low and high; each interval is right on its own."""
    tests = Tests(evidence(climb, _TRIALS))
    low, high = np.array([tests.share(cut, normal_reach(level)) for cut in cuts]).reshape(-1, 2).T
    return climb.curve[np.asarray(cuts, np.int64) - 1].clip(low, high), low, high


def band(
    climb: Climb,
    level: float = 0.95,
) -> tuple[Floats, Floats, Floats]:
    """Return P(level < c) at every cut c = 1 … L − 1, and a band that holds all of it at once."""
    facts = evidence(climb, _BAND_TRIALS)
    curve = facts.curve / facts.present_fit
    low, high = _margins(facts, curve, level)
    return curve.clip(low, high), low, high


class Tests:
    """Tests of what share is below a cut, from the best rising curves through all estimates."""

    def __init__(self, facts: Evidence) -> None:
        self._facts = facts
        self._data = Curves.through(facts.value[None], facts.weight, np.array([facts.present]))
        present = facts.present_fit + facts.present_noise
        self._trials = Curves.through(facts.curve + facts.noise, facts.weight, present)

    def quantile(self, q: float, middle: int, score: float) -> tuple[int, int]:
        """Return the lowest and highest level that may be the quantile; the fit's is `middle`."""
        last = len(self._facts.curve)
        if isinf(self._facts.present_jump):
            return 0, last

        def low(kappa: float) -> int:
            margin = score * sqrt(kappa)
            return bisect_left(range(1, last + 1), True, key=lambda c: self.root(c, q) < margin)

        def high(kappa: float) -> int:
            margin = score * sqrt(kappa)
            return bisect_left(range(1, last + 1), True, key=lambda c: self.root(c, q) <= -margin)

        lowest, highest = low(self.kappa(middle + 1, False)), high(self.kappa(middle, True))
        # What is refused beside an end is tested again as if it were so, where that is less sure.
        while lowest > 0 and self.root(lowest, q) < score * sqrt(
            kappa := self.kappa(lowest, False, q)
        ):
            lowest = low(kappa)
        while highest < last and self.root(highest + 1, q) > -score * sqrt(
            kappa := self.kappa(highest + 1, True, q)
        ):
            highest = high(kappa)
        return lowest, max(lowest, highest)

    def share(self, cut: int, score: float) -> tuple[float, float]:
        """Return the lowest and the highest share that may be below a cut."""
        if isinf(self._facts.present_jump):
            return 0.0, 1.0
        margin = score * sqrt(max(1.0, self.kappa(cut, True)))
        low, _ = bracket(lambda q: self.root(cut, q) <= -margin, 0.0, 1.0, _STEPS)
        margin = score * sqrt(max(1.0, self.kappa(cut, False)))
        _, high = bracket(lambda q: self.root(cut, q) < margin, 0.0, 1.0, _STEPS)
        return min(low, high), max(low, high)

    def root(self, cut: int, q: float) -> float:
        """Return the root of twice the log likelihood ratio of "q are below this cut".

        It is positive if the data say fewer, negative if they say more.
        """
        is_fewer = bool(self._data.best[0, cut - 1] < q * self._data.present[0])
        root = sqrt(float(self._data.ratios(cut, q, is_fewer)[0]))
        return root if is_fewer else -root

    def kappa(self, cut: int, above: bool, share: float | None = None) -> float:
        """Return by what the statistic differs from χ²₁ where data err to this side, at the fit.

        Where it is above 1 and a ``share`` is tested, the fit is bent as well, so that this share is
        below the cut: it is flat from there to where it reached the share before.
        """
        facts = self._facts
        if not 1 <= cut <= len(facts.curve):
            return 1.0
        curve = facts.curve / facts.present_fit
        kappa = self._kappa(self._trials, cut, float(curve[cut - 1]), above)
        if share is None or kappa <= 1:
            return kappa
        ahead = np.arange(1, len(curve) + 1) >= cut + above
        bent = np.where(ahead, np.maximum(curve, share), np.minimum(curve, share))
        trials = self._trials.moved(facts.present_fit * (bent - curve))
        return max(kappa, self._kappa(trials, cut, share, above))

    def _kappa(self, trials: Curves, cut: int, q: float, above: bool) -> float:
        """Return the same, of trials at a curve that has q below the cut."""
        is_fewer = trials.best[:, cut - 1] < q * trials.present
        ratios = trials.rows(is_fewer != above).ratios(cut, q, not above)
        return max(_SMOOTH, 2 * _PRUDENCE * float(ratios.sum()) / len(is_fewer))


@dataclass(frozen=True, eq=False)
class Curves:
    """Estimates at all cuts (a row per data set), and the best rising curves through them."""

    values: Floats
    weight: Floats
    present: Floats
    best: Floats

    @classmethod
    def through(cls, values: Floats, weight: Floats, present: Floats) -> Curves:
        """Return estimates with their best rising curves, between 0 and the share of present."""
        bound = np.maximum(present, 0)
        return cls(values, weight, bound, _rise(values, weight).clip(0, bound[:, None]))

    def rows(self, which: Flags) -> Curves:
        """Return some of the data sets."""
        return Curves(self.values[which], self.weight, self.present[which], self.best[which])

    def moved(self, by: Floats) -> Curves:
        """Return estimates that are higher by so much at each cut."""
        return Curves.through(self.values + by, self.weight, self.present)

    def ratios(self, cut: int, q: float, is_fewer: bool) -> Floats:
        """Return by how much curves fit worse that have at least (else: at most) q below the cut."""
        share, side = q * self.present[:, None], cut - 1 if is_fewer else cut
        left = np.minimum(_rise(self.values[:, :side], self.weight[:side]), share)
        right = np.maximum(_rise(self.values[:, side:], self.weight[side:]), share)
        bound = np.concatenate([left, right], axis=1).clip(0, self.present[:, None])
        worse = (self.values - bound) ** 2 - (self.values - self.best) ** 2
        ratios: Floats = np.maximum(worse @ self.weight, 0)
        return ratios


def _rise(values: Floats, weight: Floats) -> Floats:
    """Return each row's isotonic regression.

    Rows are laid end to end, each lifted above the one before, so that one regression serves all.
    """
    from scipy.optimize import isotonic_regression

    if values.size == 0:
        return values
    lift = np.arange(len(values))[:, None] * (np.ptp(values) + 1.0)
    weights = np.tile(weight, len(values))
    curves: Floats = isotonic_regression((values + lift).ravel(), weights=weights).x
    return curves.reshape(values.shape) - lift


def _margins(facts: Evidence, curve: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the band's lower and upper curve.

    Only cuts that an answer is about bear evidence; between them the curve rises, and no more is known.
    """
    cuts = np.flatnonzero(facts.jump)
    if not len(cuts) or isinf(facts.present_jump):
        return np.zeros(len(curve)), np.ones(len(curve))
    low, high = _margins_at(facts, cuts, curve[cuts], level)
    every = np.arange(len(curve))
    return (
        np.append(0.0, low)[np.searchsorted(cuts, every, side="right")],
        np.append(high, 1.0)[np.searchsorted(cuts, every, side="left")],
    )


def _margins_at(facts: Evidence, cuts: Ints, curve: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the band's ends at the cuts that an answer is about."""
    size, weight, present = len(cuts), facts.weight[cuts], max(facts.present, 1e-9)
    values = facts.value[cuts] / present
    # To first order, the error of (share below)/(share present).
    noise = (facts.noise[:, cuts] - curve * facts.present_noise[:, None]) / present
    lengths = np.unique(np.geomspace(1, size, 24).round().astype(np.int64))
    deviations = [_averages(noise, weight, length).std(axis=0) for length in lengths]
    extras = [sqrt(2 * log(np.e * size / length)) for length in lengths]
    excess = np.max(
        [
            np.abs(_averages(noise, weight, length) / deviation).max(axis=1) - extra
            for length, deviation, extra in zip(lengths, deviations, extras, strict=True)
        ],
        axis=0,
    )
    critical = float(np.quantile(excess, level))
    low, high = np.zeros(size), np.ones(size)
    for length, deviation, extra in zip(lengths, deviations, extras, strict=True):
        average = _averages(values, weight, length)
        score = max(critical + extra, 0.0)
        margin = score * deviation + score**2 / 6 * _jumps(facts, cuts, curve, length)
        low[length - 1 :] = np.maximum(low[length - 1 :], average - margin)
        high[: size - length + 1] = np.minimum(high[: size - length + 1], average + margin)
    low = np.maximum.accumulate(low).clip(0, 1)
    high = np.minimum.accumulate(high[::-1])[::-1].clip(0, 1)
    return np.minimum(low, high), np.maximum(low, high)


def _jumps(facts: Evidence, cuts: Ints, curve: Floats, length: int) -> Floats:
    """Return the most that one report moves each average: few reports are not normal (Bernstein)."""
    weight = facts.weight[cuts]
    largest = sliding_window_view(facts.jump[cuts], length).max(axis=1)
    at_cuts = largest / sliding_window_view(weight, length).sum(axis=1)
    at_present = facts.present_jump * _averages(curve, weight, length)
    jumps: Floats = (at_cuts + at_present) / max(facts.present, 1e-9)
    return jumps


def _averages(values: Floats, weight: Floats, length: int) -> Floats:
    """Return weighted averages of so many neighbouring cuts, by the first of them (last axis)."""
    sums = np.cumsum(np.concatenate([np.zeros((*values.shape[:-1], 1)), values * weight], -1), -1)
    weights = np.cumsum(np.concatenate([np.zeros(1), weight]))
    totals = weights[length:] - weights[:-length]
    parts = sums[..., length:] - sums[..., :-length]
    return ratio(parts, totals)
