"""Least squares from mean products without bias.

With M the mean products of the columns z (the intercept among them) and m theirs with the outcome y,
β̂ = M⁻¹m. What it is off by is M⁻¹U, where U = m − Mβ is a sum of mean products, so that

    Cov β̂ = M⁻¹·Cov(U)·M⁻¹,

from single reports, whatever the people are like: no line needs to be true. M has noise E of its own,
which goes with that of U; on average that makes −M⁻¹·E·M⁻¹·U of it, which is taken off. The share that
is explained (R²) is what the squared residuals leave, less what noise in β̂ seems to explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.analysis.regression.moments import Moments
from deniable.errors import TableError
from deniable.numeric.covariances import standard_errors
from deniable.survey.coefficients import Floats

MOST_SHIFT = 0.25
"""The most bias that is taken off, in standard errors."""


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Coefficients of columns, their covariance, and what they explain of the outcome's variance."""

    coefficients: Floats
    covariance: Floats
    variance: float
    """The outcome's variance."""
    explained: tuple[float, float]
    """R², without what noise adds to it, and its variance."""


def fit_line(moments: Moments) -> LeastSquares:
    """Return least squares of the last column on the others, of which the first is the intercept."""
    count = len(moments.columns) - 1
    every = np.arange(count + 1)
    there = float(moments.values[moments.at[0, 0]])
    total = moments.matrix(moments.values, every, every) / there
    inverse = np.asarray(np.linalg.inv(total[:-1, :-1]), np.float64)
    slopes: Floats = inverse @ total[:-1, -1]
    residual = np.append(-slopes, 1)
    square = _square(moments, np.append(np.append(-total[0, -1], np.zeros(count - 1)), 1))
    variance = float(square @ moments.values) / there
    if variance <= 0:
        raise TableError(
            "Noise hides how the outcome varies, so nothing can be said of what explains it; more "
            "people are needed."
        )
    rest = float(residual @ total @ residual) / variance
    sums = np.zeros((count + 1, len(moments.pairs)))
    for column in range(count):
        np.add.at(sums[column], moments.at[column, every], residual / there)
    # R² changes with (1 − R²)·(y − ȳ)² − e², of residuals e.
    sums[count] = (rest * square - _square(moments, residual)) / (variance * there)
    errors = moments.covariance(sums)
    covariance = inverse @ errors[:-1, :-1] @ inverse.T
    product = (total[:-1, :-1] - np.outer(total[0, :-1], total[0, :-1])) @ covariance
    explained = 1 - rest - float(np.trace(product)) / variance
    doubt = float(errors[-1, -1]) + 2 * float(np.trace(product @ product)) / variance**2
    slopes += bounded(inverse @ _shift(moments, inverse, sums[:-1]) / there, covariance)
    return LeastSquares(slopes, covariance, variance, (explained, doubt))


def bounded(shift: Floats, covariance: Floats) -> Floats:
    """Return what bias to take off: what is more than a part of the error tells of noise."""
    most = MOST_SHIFT * standard_errors(covariance)
    own: Floats = shift.clip(-most, most)
    return own


def _shift(moments: Moments, inverse: Floats, sums: Floats) -> Floats:
    """Return the mean of E·M⁻¹·U, of noise in the matrix and in what is solved for."""
    count = len(inverse)
    together = (moments.expected_covariance @ sums.T)[moments.at[:count, :count]]
    shift: Floats = np.einsum("abc,bc->a", together, inverse)
    return shift


def _square(moments: Moments, weights: Floats) -> Floats:
    """Return the weights of all mean products in the mean square of a sum of columns."""
    sums = np.zeros(len(moments.pairs))
    np.add.at(sums, moments.at, np.outer(weights, weights))
    return sums
