"""Tests and intervals of coefficients by profile: what the answers allow where a sum is held.

A logistic coefficient of few people has no normal error: where all their answers are alike, the curve is
highest at infinity, and its curvature there tells nothing. Whether a value is possible is told by how
much worse the best curve is that has it: an interval is all values that are not refused at its level,
and has an infinite end where none is. The statistic is about χ²; where n people alone tell of a
coefficient, it is too large by about 1 + 1/n, and is divided by that. So no fit is refused because of
what was answered, and no test of one person is surer than that person's answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import copysign, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.open_answers.curves import Curve, highest
from deniable.numeric.shares import ratio
from deniable.survey.coefficients import Floats

_UNKNOWN = 100.0
"""A direction whose standard error is so many log odds, for some people, has no maximum."""

_LARGEST_ERROR = 5.0
"""The largest standard error in any direction, in log odds, of which the curvature tells."""

_FARTHEST = 60.0
"""How many log odds, per standard deviation of a term, an end is looked for."""

_NEAREST = 0.02
"""Where the search for an end begins at least, in the same."""

_PRECISE, _MOST_HALVINGS = 1e-3, 40


@dataclass(frozen=True, eq=False)
class Profile:
    """A curve, and where it is highest; ``forms`` are the coefficients (rows) on the curve's scale.

    ``weights`` are those of each pattern's people together, and ``single`` that of one of them.
    """

    curve: Curve
    place: Floats
    forms: Floats
    weights: Floats
    single: Floats

    @cached_property
    def _known(self) -> tuple[Floats, Floats]:
        """Return the covariance of what is finite, and the directions (columns) that are not."""
        values, vectors = np.linalg.eigh(self.curve.curvature(self.place).information)
        matrix = self.curve.matrix[self.weights > 0]
        reach = np.abs(matrix @ vectors).max(axis=0)
        is_known = values * _UNKNOWN**2 > reach**2
        inverse = (vectors[:, is_known] / values[is_known]) @ vectors[:, is_known].T
        return inverse, vectors[:, ~is_known]

    @property
    def covariance(self) -> Floats:
        """Return the covariance by curvature on the curve's scale, of finite directions."""
        return self._known[0]

    @cached_property
    def is_finite(self) -> NDArray[np.bool_]:
        """Tell which coefficients are."""
        part = np.linalg.norm(self.forms @ self._known[1], axis=1)
        finite: NDArray[np.bool_] = part <= 1e-4 * np.linalg.norm(self.forms, axis=1)
        return finite

    @cached_property
    def is_settled(self) -> bool:
        """Tell whether the curvature tells of all sums of coefficients."""
        own = np.linalg.eigvalsh(self.covariance)[-1]
        return bool(self.is_finite.all() and own < _LARGEST_ERROR**2)

    def few(self, forms: Floats) -> float:
        """Return 1/n on average over some sums, n being how many people tell of each."""
        matrix = self.curve.matrix
        inverse = np.linalg.inv((matrix * self.weights[:, None]).T @ matrix)
        parts = (matrix @ inverse @ forms.T) * self.single[:, None]
        people = ratio(self.weights, self.single)
        return float(np.mean((people @ parts**4) / (people @ parts**2) ** 2))

    def statistic(self, forms: Floats, values: Floats) -> float:
        """Return how much worse the answers go with these values of sums of coefficients (rows)."""
        return self._excess(forms)(values)

    def _excess(self, forms: Floats) -> Callable[[Floats], float]:
        ways = np.linalg.qr(forms.T, mode="complete")[0][:, len(forms) :]
        # What moves the log odds of people least, and what moves no other coefficient.
        whole = np.linalg.inv(self.forms)
        own = forms @ whole
        moves = [
            forms.T @ np.linalg.inv(forms @ forms.T),
            whole @ own.T @ np.linalg.inv(own @ own.T),
        ]
        least, share = self.curve.misfit_of(self.place, forms, self.place), 1 + self.few(forms)

        path = [self.place]

        def excess(values: Floats) -> float:
            # The likelihood of noisy answers may have several tops: the way goes on from what is known
            # on both sides, and from where nobody's log odds have moved.
            gaps = [values - forms @ place for place in path]
            sides = [[i for i, gap in enumerate(gaps) if (gap[0] > 0) == side] for side in (0, 1)]
            nearest = [min(side, key=lambda i: float(gaps[i] @ gaps[i])) for side in sides if side]
            starts = [
                max((path[i] + move @ gaps[i] for move in moves), key=self.curve.value)
                for i in nearest
            ]
            starts = starts[:1] if self.is_settled else [*starts, *(m @ values for m in moves)]
            tops = [highest(self.curve, start, ways) for start in starts]
            top = max(tops, key=self.curve.value)
            path.append(top)
            return max(0.0, self.curve.misfit_of(top, forms, self.place) - least) / share

        return excess

    def intervals(self, forms: Floats, level: float) -> Floats:
        """Return the ends of sums of coefficients (rows), stacked."""
        from scipy.stats import chi2

        critical = float(chi2.ppf(level, 1))
        ends: Floats = np.array([self.interval(form, critical) for form in forms]).reshape(-1, 2).T
        return ends

    def interval(self, form: Floats, critical: float) -> tuple[float, float]:
        """Return both ends of what one sum of coefficients may be, by its statistic."""
        centre, width = float(form @ self.place), float(np.linalg.norm(form))
        excess, target = self._excess(form[None]), sqrt(critical)
        # Terms have the variance 1 on the curve's scale: one log odd of theirs is so much of the sum.
        first = max(target * sqrt(max(0.0, float(form @ self.covariance @ form))), _NEAREST * width)

        def excess_root(distance: float) -> float:
            return sqrt(excess(np.array([centre + distance]))) - target

        low, high = (
            _crossing(excess_root, -target, side * min(first, _FARTHEST * width), _FARTHEST * width)
            for side in (-1, 1)
        )
        return centre + low, centre + high


def _crossing(
    function: Callable[[float], float], at_low: float, high: float, farthest: float
) -> float:
    """Return where a rising function crosses 0 from 0 outwards, or infinity."""
    low, at_high = 0.0, function(high)
    while at_high < 0:
        if abs(high) >= farthest:
            return copysign(inf, high)
        low, at_low, high = high, at_high, 2 * high
        at_high = function(high)
    for _ in range(
        _MOST_HALVINGS
    ):  # regula falsi; an end that stays put is weighed less (Illinois)
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = function(middle)
        if abs(at_middle) < _PRECISE:
            return middle
        if at_middle * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at_middle
    return max(low, high, key=abs)
