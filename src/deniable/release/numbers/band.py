"""Intervals for quantiles and for the distribution function, and a band for all of it.

**Quantiles** invert tests of "at least q of the people are below this cut", and of "at most q". The
only shape that is assumed is that a distribution function rises: a test compares the best rising
curve through the unbiased estimates of all cuts with the best one that is q there. No smoothing, so
no bias at spikes. Its statistic is about κ·χ²₁: κ is 1 where steps between cuts stand out of the noise,
about .6 where the curve looks smooth (Banerjee and Wellner's limit; 2.28 instead of 3.84 at 95 %), and
above 1 where it is flat. κ is the statistic's mean in trials at the fitted distribution (as Bartlett
corrects a likelihood ratio), for each side on its own, and at least .6. As a curve that reaches q
before a cut has q below that cut, the tests are nested and what they accept is an interval.

**The band** holds at all cuts at once (Dümbgen's, for monotone functions): every average of
neighbouring cuts lies within its own margin of the truth, simultaneously, with the stated chance; the
curve is at most the upper margin of any average that starts at the cut, and at least the lower one of
any that ends there. Short averages have wider margins (√(2 log(e·T/length)) more), as they are many.
It is exact for the noise, and errs towards covering where the curve climbs within an average.

With missing numbers everything is told of the people who have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from deniable.release.numbers.answers import Answers
from deniable.release.numbers.evidence import Evidence, evidence
from deniable.release.numbers.likelihood import fit
from deniable.survey.coefficients import Floats, Ints

__all__ = ["band", "cdf_interval", "quantile"]

_TRIALS = 240
_BAND_TRIALS = 500
_SMOOTH = 0.6
_STEPS = 24
_SEED = 0

Rise = Callable[[Floats, Floats], Floats]


def quantile(
    blocks: Sequence[Answers],
    levels: int,
    missing: bool,
    probabilities: Sequence[float],
    level: float = 0.95,
    random: np.random.Generator | None = None,
) -> tuple[Ints, Ints, Ints]:
    """Return each quantile's level (the first with at least that share up to it), low and high.

    Both ends belong to the interval. The estimate is the fit's, moved into the interval if need be.
    """
    random = random or np.random.default_rng(_SEED)
    shares = fit(blocks, levels, missing, random)
    tests = Tests(evidence(blocks, shares, missing, random, _TRIALS))
    curve = np.cumsum(shares[:levels]) / shares[:levels].sum()
    results = []
    for q in probabilities:
        middle = min(int(np.searchsorted(curve, q - 1e-12)), levels - 1)
        low, high = tests.quantile(q, middle, _score(level))
        results.append((min(max(middle, low), high), low, high))
    estimate, low_ends, high_ends = np.array(results, dtype=np.int64).reshape(-1, 3).T
    return estimate, low_ends, high_ends


def cdf_interval(
    blocks: Sequence[Answers],
    levels: int,
    missing: bool,
    cuts: Sequence[int],
    level: float = 0.95,
    random: np.random.Generator | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return P(level < c) at each of these cuts, low and high; each interval is right on its own."""
    random = random or np.random.default_rng(_SEED)
    shares = fit(blocks, levels, missing, random)
    tests = Tests(evidence(blocks, shares, missing, random, _TRIALS))
    curve = np.cumsum(shares[:levels]) / shares[:levels].sum()
    low, high = np.array([tests.share(cut, _score(level)) for cut in cuts]).reshape(-1, 2).T
    return curve[np.asarray(cuts, np.int64) - 1].clip(low, high), low, high


def band(
    blocks: Sequence[Answers],
    levels: int,
    missing: bool,
    level: float = 0.95,
    random: np.random.Generator | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return P(level < c) at every cut c = 1 … L − 1, and a band that holds all of it at once."""
    random = random or np.random.default_rng(_SEED)
    shares = fit(blocks, levels, missing, random)
    facts = evidence(blocks, shares, missing, random, _BAND_TRIALS)
    curve = facts.curve / facts.present_fit
    low, high = _margins(facts, curve, level)
    return curve.clip(low, high), low, high


class Tests:
    """Tests of what share is below a cut, from the best rising curves through all estimates."""

    def __init__(self, facts: Evidence) -> None:
        from scipy.optimize import isotonic_regression

        def rise(values: Floats, weights: Floats) -> Floats:
            if len(values) == 0:
                return values
            curve: Floats = isotonic_regression(values, weights=weights).x
            return curve

        self._facts, self._rise = facts, rise
        self._free = rise(facts.value, facts.weight)
        self._trials = facts.curve + facts.noise
        self._trials_free = [rise(trial, facts.weight) for trial in self._trials]
        self._present = np.maximum(facts.present_fit + facts.present_noise, 0)

    def quantile(self, q: float, middle: int, score: float) -> tuple[int, int]:
        """Return the lowest and highest level that may be the quantile; the fit's is `middle`."""
        last = len(self._facts.curve)
        margin = score * sqrt(self.kappa(middle + 1, False))
        low = _first(lambda c: c > last or self.root(c, q) < margin, 1, last + 1) - 1
        margin = score * sqrt(self.kappa(middle, True))
        high = last - _first(lambda d: d == last or self.root(last - d, q) > -margin, 0, last)
        return low, max(low, high)

    def share(self, cut: int, score: float) -> tuple[float, float]:
        """Return the lowest and the highest share that may be below a cut."""
        margin = score * sqrt(self.kappa(cut, True))
        low = _bisection(lambda q: self.root(cut, q) > -margin)
        margin = score * sqrt(self.kappa(cut, False))
        high = 1 - _bisection(lambda q: self.root(cut, 1 - q) < margin)
        return min(low, high), max(low, high)

    def root(self, cut: int, q: float) -> float:
        """Return the root of twice the log likelihood ratio of "q are below this cut".

        It is positive if the data say fewer, negative if they say more.
        """
        facts = self._facts
        return self._root(facts.value, self._free, max(facts.present, 0), cut, q)

    def kappa(self, cut: int, above: bool) -> float:
        """Return by what the statistic differs from χ²₁ where data err to this side, at the fit."""
        facts = self._facts
        if not 1 <= cut <= len(facts.curve):
            return 1.0
        q = facts.curve[cut - 1] / facts.present_fit
        trials = zip(self._trials, self._trials_free, self._present, strict=True)
        roots = np.array([self._root(*trial, cut, q) for trial in trials])
        return max(_SMOOTH, 2 * float((np.where((roots < 0) == above, roots, 0) ** 2).mean()))

    def _root(self, values: Floats, free: Floats, present: float, cut: int, q: float) -> float:
        weight, share = self._facts.weight, q * present
        is_fewer = free[cut - 1] < share
        side = cut - 1 if is_fewer else cut
        left = np.minimum(self._rise(values[:side], weight[:side]), share)
        right = np.maximum(self._rise(values[side:], weight[side:]), share)
        bound = np.concatenate([left, right]).clip(0, present)
        ratio = weight @ ((values - bound) ** 2 - (values - free.clip(0, present)) ** 2)
        return sqrt(max(float(ratio), 0.0)) * (1 if is_fewer else -1)


def _score(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _first(accepts: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number that is accepted; all after it are, and the last one is."""
    while low < high:
        middle = (low + high) // 2
        if accepts(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _bisection(accepts: Callable[[float], bool]) -> float:
    """Return where acceptance begins between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return low


def _margins(facts: Evidence, curve: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the band's lower and upper curve."""
    size = len(curve)
    values = facts.value / max(facts.present, 1e-9)
    # To first order, the error of (share below)/(share present).
    noise = (facts.noise - curve * facts.present_noise[:, None]) / max(facts.present, 1e-9)
    unasked = (facts.weight <= 1e-6).astype(np.float64)
    lengths = np.unique(np.geomspace(1, size, 24).round().astype(np.int64))
    errors = [_averages(noise, facts.weight, length) for length in lengths]
    # Of cuts that nobody was asked about, neither the value nor the noise says anything.
    deviations = [
        np.where(_averages(unasked, np.ones(size), length) > 1 - 1e-9, np.inf, error.std(axis=0))
        for error, length in zip(errors, lengths, strict=True)
    ]
    extras = [sqrt(2 * log(np.e * size / length)) for length in lengths]
    excess = np.max(
        [
            np.abs(error / deviation).max(axis=1) - extra
            for error, deviation, extra in zip(errors, deviations, extras, strict=True)
        ],
        axis=0,
    )
    critical = float(np.quantile(excess, level))
    low, high = np.zeros(size), np.ones(size)
    for length, deviation, extra in zip(lengths, deviations, extras, strict=True):
        average = _averages(values, facts.weight, length)
        margin = (critical + extra) * deviation
        low[length - 1 :] = np.maximum(low[length - 1 :], average - margin)
        high[: size - length + 1] = np.minimum(high[: size - length + 1], average + margin)
    low = np.maximum.accumulate(low).clip(0, 1)
    high = np.minimum.accumulate(high[::-1])[::-1].clip(0, 1)
    return np.minimum(low, high), np.maximum(low, high)


def _averages(values: Floats, weight: Floats, length: int) -> Floats:
    """Return weighted averages of so many neighbouring cuts, by the first of them (last axis)."""
    sums = np.cumsum(np.concatenate([np.zeros((*values.shape[:-1], 1)), values * weight], -1), -1)
    weights = np.cumsum(np.concatenate([np.zeros(1), weight]))
    averages: Floats = (sums[..., length:] - sums[..., :-length]) / (
        weights[length:] - weights[:-length]
    )
    return averages
