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
from deniable.mechanisms.base import Holding, Mechanism
from deniable.mechanisms.coefficients import all_tables, subset_count
from deniable.mechanisms.design import needs_of
from deniable.planning.aim import EVERYTHING, Aim
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


def cell_variance(
    mechanism: Mechanism, people: float, estimator: str | None = None, aim: Aim = EVERYTHING
) -> float:
    """Return the average variance of a cell of a k-way table."""
    return _spread(mechanism, estimator, aim) / (1 << 2 * mechanism.order) / people


def predicted_tv(
    mechanism: Mechanism, people: float, estimator: str | None = None, aim: Aim = EVERYTHING
) -> float | None:
    """Return the predicted distance of the tables that matter; None where there is no formula.

    Over tables of unequal errors it is the root of the mean square.
    """
    if not has_formula(mechanism, estimator):
        return None
    return KAPPA * sqrt(_spread(mechanism, estimator, aim) / people)


def _spread(mechanism: Mechanism, estimator: str | None, aim: Aim) -> float:
    """Return Σ_α N·Var θ̂_α over the coefficients of a table, the mean over tables that matter."""
    k, workload = mechanism.order, aim.workload
    if mechanism.is_tailored:
        return _tailored_spread(mechanism, estimator, aim)
    precisions = [mechanism.precision(j, estimator, aim.square(j)) for j in range(1, k + 1)]
    levels = [1 / precision if precision else inf for precision in precisions]
    sizes = {k: 1.0} if workload is None else dict.fromkeys(map(len, workload), 0.0)
    for table, weight in (workload or {}).items():
        sizes[len(table)] += weight
    total = sum(
        weight * sum(comb(size, j) * levels[j - 1] for j in range(1, size + 1))
        for size, weight in sizes.items()
    )
    return total / sum(sizes.values())


def _tailored_spread(mechanism: Mechanism, estimator: str | None, aim: Aim) -> float:
    """Return the same where a coefficient's precision is its own: infinite if one is not asked."""
    evidence, total = mechanism.expected(1.0, estimator), 0.0
    workload = aim.workload or dict.fromkeys(
        map(tuple, all_tables(len(mechanism.schema), mechanism.order).tolist()), 1.0
    )
    for size in sorted(set(map(len, workload))):
        tables = [table for table in workload if len(table) == size]
        masks = range(1, 1 << size)
        theta = np.sqrt([[aim.square(mask.bit_count()) for mask in masks]] * len(tables))
        spreads = np.einsum("rii->r", evidence.covariance(np.array(tables), theta))
        total += float(np.dot(spreads, [workload[table] for table in tables]))
    return total / sum(workload.values())


def bound_variance(
    attributes: int, order: int, epsilon: float, people: float, aim: Aim = EVERYTHING
) -> float:
    """Return the average cell variance below which no unbiased ε-private protocol can go.

    It is for uniform data. Any report tells Σ_α I_α ≤ (e−1)²/4e, so Σ_α ω_α·Var θ̂_α is at least
    (Σ_α √ω_α)²·4e/(e−1)² per person, where ω_α is the weight of the tables that need α.
    """
    if aim.workload is None:
        roots = sum(sqrt(comb(order, j) * comb(attributes, j)) for j in range(1, order + 1))
    else:
        _, _, needs = needs_of(aim.workload, order)
        roots = float(np.sqrt(needs / sum(aim.workload.values())).sum())
    return roots**2 / (1 << 2 * order) * 4 * exp(epsilon) / (people * expm1(epsilon) ** 2)


def people_needed(
    mechanism: Mechanism,
    target_tv: float,
    estimator: str | None = None,
    aim: Aim = EVERYTHING,
) -> int | None:
    """Return how many people bring the predicted distance down to a target."""
    if not isinstance(target_tv, int | float) or not 0 < target_tv < inf:
        raise SurveyError(f"The target error must be a positive number, got {target_tv!r}.")
    one = predicted_tv(mechanism, 1, estimator, aim)
    return (
        None
        if one is None or one == inf
        else max(1, ceil((Fraction(one) / Fraction(target_tv)) ** 2))
    )


def guaranteed_tv(mechanism: Mechanism, people: float, probability: float = 0.95) -> float | None:
    """Return a distance that no k-way table exceeds, with this probability.

    A coefficient is estimated as Σ g·score / Σ g over the reports that hold it, with g = 1/V. Let P be
    the mean of g over all reports (0 where not held), Q that of g², and B the largest g·(s + 1), s
    the largest score. Then P(|θ̂ − θ| > c) ≤ 2·exp(−N·c²·P² / (2(P + c²·Q) + ⅔·c·P·(B + c·max g))):
    this is Bernstein's inequality for Σ g·(score − θ − c) + c·P over the people as they are, whatever
    they hold, so it covers estimates divided by the reports that came, not by the expected number.
    The T coefficients share 1 − probability. A table's distance is at most ½·√(Σ_α (θ̂_α − θ_α)²) by
    Cauchy–Schwarz. Distances are to the table of these very people, and may exceed 1, because
    estimates are not clipped.
    """
    if not isinstance(probability, int | float) or not 0 < probability < 1:
        raise SurveyError(f"A probability must lie between 0 and 1, got {probability!r}.")
    if not has_formula(mechanism) or isinstance(mechanism.families[0].answer, Bitwise):
        return None
    if mechanism.is_tailored:
        return None  # coefficients of one level are not alike
    d, k = len(mechanism.schema), mechanism.order
    budget = log(2 * subset_count(d, k) / (1 - probability))
    total = 0.0
    for level in range(1, k + 1):
        held = [holding for holding in mechanism.holdings(level) if holding.share]
        if not held:
            return inf
        total += comb(k, level) * _furthest(held, people, budget) ** 2
    return 0.5 * sqrt(total)


def _furthest(held: list[Holding], people: float, budget: float) -> float:
    """Return the c beyond which `guaranteed_tv`'s exponent exceeds the budget."""
    weight = sum(h.share / h.moment for h in held)
    squared = sum(h.share / h.moment**2 for h in held)
    heaviest = max(1 / h.moment for h in held)
    largest = max((h.largest + 1) / h.moment for h in held)
    low, high = 0.0, 1 + max(h.largest for h in held)  # no estimate is ever further off
    for _ in range(80):
        c = (low + high) / 2
        spread = 2 * (weight + c * c * squared) + 2 / 3 * c * weight * (largest + c * heaviest)
        low, high = (low, c) if people * (c * weight) ** 2 > budget * spread else (c, high)
    return high
