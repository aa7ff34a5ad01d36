"""What is picked from many: how wide its interval must be, and how far its estimate is drawn to 0.

Of many pairs those are looked at that look strong, and some of them only do so by chance: an interval
of level 1 − α, right for a pair named beforehand, misses far more often than α of what is picked.

*Intervals.* Of m tests the one of rank r, by its p-value, gets an interval of level 1 − α·r/m. However
many of the first rows are looked at, k of them, all their levels are at least 1 − α·k/m, which keeps the
false coverage rate, the expected share of intervals that miss among those looked at, at α (Benjamini and
Yekutieli 2005). Where it is said which are looked at, those with a q-value up to some bound, R of them,
they have 1 − α·R/m, and all others their own 1 − α.

*Estimates.* An effect of ν components, of which noise of variance c each is known, has squared length x.
Before anybody was asked the effect is thought normal with variance t in each component, and t one of
many scales, 0 among them; how likely each scale is, is fitted to all the effects at once (empirical
Bayes, by EM). The mean of an effect after x is known is then right on average over whatever is picked by
looking at x. Given t it is the share w = t/(t + c) of what was seen; its length has a noncentral χ law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.survey.coefficients import Floats

_NOTHING = 10
"""So many effects more, or as many as there are others, count as nothing (Stephens 2017)."""

_SCALES = 40
_MOST_STEPS = 500
_SMALLEST_CHANGE = 1e-6
_MOST_FITTED = 1 << 15
_TOGETHER = 1 << 14


def false_discoveries(p_value: Floats) -> Floats:
    """Return q-values (Benjamini–Hochberg) of the p-values that are numbers."""
    from scipy import stats

    q_value = np.full(len(p_value), np.nan)
    there = np.isfinite(p_value)
    if there.any():
        q_value[there] = stats.false_discovery_control(p_value[there])
    return q_value


def misses(p_value: Floats, statistic: Floats, level: float, select: float | None = None) -> Floats:
    """Return the chance α at which each interval may miss, for intervals to hold where one looks.

    Without ``select`` that is in the first rows, the surest first, however many; with it, in those
    with a q-value up to it. What was not tested has 1 − level.
    """
    alpha = np.full(len(p_value), 1 - level)
    tested = np.flatnonzero(np.isfinite(p_value))
    if select is None:
        order = np.lexsort((-statistic[tested], p_value[tested]))
        alpha[tested[order]] *= np.arange(1, len(tested) + 1) / max(1, len(tested))
    else:
        rows = np.nan_to_num(false_discoveries(p_value), nan=np.inf) <= select
        alpha[rows] *= rows.sum() / max(1, len(tested))
    return alpha


@dataclass(frozen=True, eq=False)
class Effects:
    """Measured effects: squared lengths, and their noise, ``scale``·χ² with ``df`` degrees.

    Effects are alike in their mean square over ``unit``.
    """

    square: Floats
    scale: Floats
    df: Floats
    unit: Floats

    @classmethod
    def of_numbers(cls, values: Floats, errors: Floats) -> Effects:
        """Return the effects that numbers with these standard errors are."""
        ones = np.ones_like(values)
        return cls(values**2, errors**2, ones, ones)

    @classmethod
    def together(cls, parts: Sequence[Effects]) -> Effects:
        """Return the effects of several parts."""
        columns = ((each.square, each.scale, each.df, each.unit) for each in parts)
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def __getitem__(self, rows: Any) -> Effects:
        return Effects(self.square[rows], self.scale[rows], self.df[rows], self.unit[rows])

    def likelihood(self, scales: Floats) -> Floats:
        """Return how likely each effect (rows) is for each scale, the likeliest 1."""
        total = self.scale[:, None] + scales * (self.unit / self.df)[:, None]
        log = -0.5 * (self.df[:, None] * np.log(total) + self.square[:, None] / total)
        likelihood: Floats = np.exp(log - log.max(axis=1, keepdims=True))
        return likelihood


@dataclass(frozen=True, eq=False)
class Prior:
    """How large effects are: scales, with their weights."""

    scales: Floats
    weights: Floats

    @classmethod
    def of(cls, effects: Effects) -> Prior:
        """Fit the prior to effects; of very many, to some of them."""
        effects = effects[:: 1 + len(effects.square) // _MOST_FITTED]
        noise, square = effects.scale * effects.df / effects.unit, effects.square / effects.unit
        most = float((square - noise).max(initial=0.0))
        if most <= 0:
            return cls(np.zeros(1), np.ones(1))
        least = max(float(noise.min()) / 100, most * 1e-8)
        scales = np.append(0.0, np.geomspace(least, most, _SCALES))
        return cls(scales, _fit(effects.likelihood(scales)))

    def share(self, effects: Effects) -> Floats:
        """Return which share of each effect is there on average."""
        return self._mean(effects, lambda part, own: part)

    def length(self, effects: Effects) -> Floats:
        """Return the length of each effect, on average."""
        return self._mean(effects, _length)

    def _mean(self, effects: Effects, measure: Callable[[Floats, Effects], Floats]) -> Floats:
        mean = np.empty_like(effects.square)
        for start in range(0, len(mean), _TOGETHER):
            rows = slice(start, start + _TOGETHER)
            own = effects[rows]
            after = own.likelihood(self.scales) * self.weights
            after /= after.sum(axis=1, keepdims=True)
            signal = self.scales * (own.unit / own.df)[:, None]
            mean[rows] = (after * measure(signal / (signal + own.scale[:, None]), own)).sum(axis=1)
        return mean


def drawn(values: Floats, errors: Floats, every: Effects | None = None) -> Floats:
    """Return numbers with these standard errors, drawn towards 0 by what all of them are like.

    One alone, which was not picked, stays as it is.
    """
    effects = Effects.of_numbers(values, errors)
    every = effects if every is None else every
    if len(every.square) < 2:
        return values
    share: Floats = Prior.of(every).share(effects)
    return share * values


def _length(part: Floats, effects: Effects) -> Floats:
    """Return the mean length of effects of which these parts are there: of noncentral χ."""
    far = part * (effects.square / effects.scale)[:, None]
    mean = effects.df[:, None] + far
    shape = mean**2 / (2 * (mean + far))  # of the gamma law with the same variance
    from scipy import special

    root = np.exp(special.gammaln(shape + 0.5) - special.gammaln(shape)) / np.sqrt(shape)
    length: Floats = root * np.sqrt(part * effects.scale[:, None] * mean)
    return length


def _fit(likelihood: Floats) -> Floats:
    """Return the likeliest weights of scales, by EM, where some more effects are nothing."""
    count = len(likelihood)
    nothing = min(_NOTHING, count - 1)
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_MOST_STEPS):
        better = weights * ((1 / (likelihood @ weights)) @ likelihood)
        better[0] += nothing
        better /= count + nothing
        change = np.abs(better - weights).max()
        weights = better
        if change < _SMALLEST_CHANGE:
            break
    return weights
