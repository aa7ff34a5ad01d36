"""Mixtures: how often to ask each question, so that the error is the smallest."""

from __future__ import annotations

from math import inf
from typing import Any, Protocol

import numpy as np

from deniable.numeric.shares import whole_parts
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.template import ALL_WEIGHT

_STEPS = 3_000


class Objective(Protocol):
    """What a design makes small: a convex function of the precision of every component."""

    def slope(self, precision: Floats) -> Floats:
        """Return how fast it falls as precision grows."""
        ...


def few_types(gains: Floats, needs: Floats, attributes: list[int]) -> tuple[Ints, Floats]:
    """Return the best mixture of as few types, of as few attributes, as cost next to nothing."""
    shares = best_mixture(gains, needs)
    plain = _fewest_attributes(gains, shares, attributes)
    best = _value(gains, needs, shares)
    for smallest in (0.1, 0.01, 0.001, 1e-6, 0.0):
        rows = np.flatnonzero(plain > smallest)
        if len(rows):
            shares = best_mixture(gains[rows], needs)
            if _value(gains[rows], needs, shares) <= best * (1 + 1e-5):
                break
    return rows, shares


def worth_asking(gains: Any, needs: Floats) -> tuple[Ints, Floats]:
    """Return the questions that are worth asking, and how often each is asked."""
    shares = best_mixture(gains, needs, steps=300)
    rows = np.flatnonzero(shares > 1e-4 * shares.max())
    # What matters little must be asked all the same: by the question that tells most about it.
    missing = np.flatnonzero(np.asarray(gains[rows].sum(axis=0)).ravel() == 0)
    best = np.asarray(gains[:, missing].argmax(axis=0)).ravel()
    rows = np.union1d(rows, best).astype(np.int64)
    return rows, best_mixture(gains[rows], needs)


def worth_asking_besides(
    gains: Any, rows: Ints, shares: Floats, objective: Objective, floor: float
) -> tuple[Ints, Floats]:
    """Return the questions that are worth asking where every component keeps some precision.

    A part ``floor`` of the people is asked a mixture that is given by rows and shares; what the others
    are asked makes the objective as small as can be.
    """
    base = floor * (gains[rows].T @ shares)
    free = _descend(gains, base, objective, 1 - floor, steps=300)
    few = np.flatnonzero(free > 1e-4 * free.max())
    every = np.zeros(gains.shape[0])
    every[few] = _descend(gains[few], base, objective, 1 - floor)
    every *= 1 - floor
    every[rows] += floor * shares
    both = np.flatnonzero(every)
    return both, every[both]


def _descend(
    gains: Any, base: Floats, objective: Objective, part: float, steps: int = _STEPS
) -> Floats:
    """Return the shares of which a part, beside what others ask, makes an objective the smallest."""
    shares = np.full(gains.shape[0], 1 / gains.shape[0])
    columns = gains.T.tocsr()
    for _ in range(steps):
        slope = gains @ objective.slope(base + part * (columns @ shares))
        slope /= shares @ slope
        if slope.max() < 1 + 1e-6:
            break
        shares = shares * np.sqrt(slope)
        shares /= shares.sum()
    return shares


def _value(gains: Any, needs: Floats, shares: Floats) -> float:
    """Return Σ_j needs_j / (ρ·gains)_j; infinite where something needed is not asked for."""
    precision = gains.T @ shares
    return float((needs / precision).sum()) if precision.all() else inf


def best_mixture(
    gains: Any, needs: Floats, steps: int = _STEPS, shares: Floats | None = None
) -> Floats:
    """Return the shares ρ ≥ 0, Σρ = 1, that minimise Σ_j needs_j / (ρ·gains)_j.

    Multiplicative updates: a share grows with the root of what it would gain. At the optimum no
    gain exceeds the mean; how far the largest does bounds what is left to win. They begin with these
    ``shares``, or with all alike.
    """
    if shares is None:
        shares = np.full(gains.shape[0], 1 / gains.shape[0])
    gained = gains.T.tocsr() if hasattr(gains, "tocsr") else gains.T
    for _ in range(steps):
        precision = gained @ shares
        if not precision.all():
            break  # something needed is not asked for, and no share can change that
        value = (needs / precision).sum()
        slope = gains @ (needs / precision**2) / value
        if slope.max() < 1 + 1e-7:
            break
        shares = shares * np.sqrt(slope)
        shares /= shares.sum()
    return shares


def _fewest_attributes(gains: Floats, shares: Floats, attributes: list[int]) -> Floats:
    """Return the mixture as precise as this one that touches the fewest attributes on average."""
    from scipy.optimize import linprog

    precision = gains.T @ shares
    solution = linprog(
        attributes,
        A_ub=-(gains / precision).T,
        b_ub=np.full(len(precision), 1e-7 - 1),
        A_eq=np.ones((1, len(shares))),
        b_eq=[1.0],
    )
    return np.asarray(solution.x) if solution.success else shares


def whole_weights(shares: Floats) -> list[int]:
    """Return shares as whole numbers from 1 that add up to 2³²."""
    whole: list[int] = (whole_parts(shares, ALL_WEIGHT - len(shares)) + 1).tolist()
    return whole
