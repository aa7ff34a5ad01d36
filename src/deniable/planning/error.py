"""Predicted error: what a mechanism's tables will be off by, before anybody is asked.

Errors are total variation distances, averaged over all tables of k attributes. A cell's estimate is
close to normal, so the expected distance is ½·√(2/π) times the sum of the cells' standard errors.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, exp, expm1, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.coefficients import subset_count
from deniable.questions.answers import Bitwise

__all__ = [
    "bound_variance",
    "cell_variance",
    "expected_tv",
    "guaranteed_tv",
    "has_formula",
    "people_needed",
    "predicted_tv",
]

KAPPA = 0.5 * sqrt(2 / pi)

Floats = NDArray[np.float64]


def expected_tv(cell_variances: Floats) -> Floats:
    """Return the expected distance of each table (rows) whose cells have these variances."""
    distance: Floats = KAPPA * np.sqrt(cell_variances.clip(0, None)).sum(axis=-1)
    return distance


def has_formula(mechanism: Mechanism, estimator: str | None = None) -> bool:
    """Tell whether an estimator's error can be predicted."""
    return mechanism.check_estimator(estimator) in mechanism.unbiased


def cell_variance(mechanism: Mechanism, people: float, estimator: str | None = None) -> float:
    """Return the average variance of a cell of a k-way table where coefficients are near 0."""
    k = mechanism.order
    total = sum(comb(k, level) / mechanism.precision(level, estimator) for level in range(1, k + 1))
    return float(total / 4**k / people)


def predicted_tv(mechanism: Mechanism, people: float, estimator: str | None = None) -> float | None:
    """Return the predicted distance where coefficients are near 0; None where there is no formula."""
    if not has_formula(mechanism, estimator):
        return None
    return KAPPA * (1 << mechanism.order) * sqrt(cell_variance(mechanism, people, estimator))


def bound_variance(attributes: int, order: int, epsilon: float, people: float) -> float:
    """Return the average cell variance below which no unbiased ε-private protocol can go."""
    levels = sum(sqrt(comb(order, j) * comb(attributes, j)) for j in range(1, order + 1))
    return levels**2 / (1 << 2 * order) * 4 * exp(epsilon) / (people * expm1(epsilon) ** 2)


def people_needed(
    mechanism: Mechanism, target_tv: float, estimator: str | None = None
) -> int | None:
    """Return how many people bring the predicted distance down to a target."""
    if not 0 < target_tv < inf:
        raise SurveyError(f"The target error must be a positive number, got {target_tv!r}.")
    one = predicted_tv(mechanism, 1, estimator)
    return None if one is None else max(1, ceil((Fraction(one) / Fraction(target_tv)) ** 2))


def guaranteed_tv(mechanism: Mechanism, people: float, probability: float = 0.95) -> float | None:
    """Return a distance that no k-way table exceeds, with this probability.

    For every coefficient, P(|θ̂ − θ| > c) ≤ 2·exp(−N·p·c² / (2(V + c²) + ⅔·c·(s + 1 + c))), where p is
    the share of reports that hold it, V its scores' second moment and s their largest size: this is
    Bernstein's inequality for Σ [held]·(score − θ − c) + p·c over the people as they are, whatever
    they hold, so it covers estimates divided by the reports that came (N_α), not by the expected
    number. The T coefficients share 1 − probability. A table's distance is at most
    ½·√(Σ_α (θ̂_α − θ_α)²) by Cauchy–Schwarz. Distances are to the table of these very people, and
    may exceed 1, because estimates are not clipped.
    """
    if not 0 < probability < 1:
        raise SurveyError(f"A probability must lie between 0 and 1, got {probability!r}.")
    if len(mechanism.families) != 1 or not has_formula(mechanism):
        return None
    answer = mechanism.families[0].answer
    assert not isinstance(answer, Bitwise)
    d, k = len(mechanism.schema), mechanism.order
    law = answer.inclusion
    moment, score = float(law.second_moment(answer.symbols)), answer.reach / float(law.contrast)
    budget = log(2 * subset_count(d, k) / (1 - probability))

    def excess(c: float, reports: float) -> float:
        spread = 2 * (moment + c * c) + 2 / 3 * c * (score + 1 + c)
        return reports * c * c / spread - budget

    total = 0.0
    for level in range(1, k + 1):
        reports = people * mechanism.precision(level) * moment
        low, high = 0.0, 1 + score  # no estimate is ever further off than that
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle, reports) > 0 else (middle, high)
        total += comb(k, level) * high**2
    return 0.5 * sqrt(total)
