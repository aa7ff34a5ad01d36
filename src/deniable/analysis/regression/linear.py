"""Least squares from mean products without bias.

With M the mean products of the columns z (the intercept among them) and m theirs with the outcome y,
β̂ = M⁻¹m. Noise of the means adds to M and m what it adds to their products, on average a covariance, which
is put back. What β̂ is off by is M⁻¹U, where U = m − Mβ̂ is a sum of mean products, so that

    Cov β̂ = M⁻¹·Cov(U)·M⁻¹,

from single reports, whatever the people are like: no line needs to be true. The share that is explained
(R²) is what the squared residuals leave, less what noise in β̂ seems to explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.analysis.regression.moments import Moments
from deniable.errors import TableError
from deniable.survey.coefficients import Floats


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
    columns, outcome = np.arange(count), np.array([count])
    every = np.append(columns, outcome)
    total = moments.matrix(moments.values, every, every)
    means = total[0] / total[0, 0]
    # Means of products exceed the covariances by products of means, and those by their noise.
    centre = np.zeros((count, len(moments.pairs)))
    centre[np.arange(count), moments.at[0, 1:]] = 1 / total[0, 0]
    centre[:, moments.at[0, 0]] -= means[1:] / total[0, 0]
    # What U and R² are off by, at estimates that lack the noise which is put back below: R² changes with
    # e² − (1 − R²)·(y − ȳ)², of residuals e.
    residual = np.append(-np.linalg.solve(total[:-1, :-1], total[:-1, -1]), 1)
    square = _square(moments, _centred(means))
    variance = float(square @ moments.values) / total[0, 0]
    sums = np.zeros((count + 1, len(moments.pairs)))
    for column in range(count):
        np.add.at(sums[column], moments.at[column, every], residual / total[0, 0])
    if variance > 0:
        rest = float(residual @ total @ residual) / total[0, 0] / variance
        sums[count] = (rest * square - _square(moments, residual)) / (variance * total[0, 0])
    errors = moments.covariance(np.vstack((centre, sums)))
    corrected = total / total[0, 0]
    corrected[1:, 1:] += errors[:count, :count]
    variance = float(corrected[-1, -1] - means[-1] ** 2)
    if variance <= 0:
        raise TableError(
            "Noise hides how the outcome varies, so nothing can be said of what explains it; more "
            "people are needed."
        )
    inverse = np.linalg.inv(corrected[:-1, :-1])
    slopes: Floats = inverse @ corrected[:-1, -1]
    residual = np.append(-slopes, 1)
    covariance = inverse @ errors[count:-1, count:-1] @ inverse.T
    product = (corrected[:-1, :-1] - np.outer(corrected[0, :-1], corrected[0, :-1])) @ covariance
    rest = (float(residual @ corrected @ residual) + float(np.trace(product))) / variance
    doubt = float(errors[-1, -1]) + 2 * float(np.trace(product @ product)) / variance**2
    return LeastSquares(slopes, covariance, variance, (1 - rest, doubt))


def _centred(means: Floats) -> Floats:
    """Return the weights of all columns in the outcome less its mean."""
    weights = np.zeros(len(means))
    weights[0], weights[-1] = -means[-1], 1
    return weights


def _square(moments: Moments, weights: Floats) -> Floats:
    """Return the weights of all mean products in the mean square of a sum of columns."""
    sums = np.zeros(len(moments.pairs))
    np.add.at(sums, moments.at, np.outer(weights, weights))
    return sums
