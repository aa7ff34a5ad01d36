"""Whether a regression can be told at all: noise must leave its columns apart.

With M the matrix of mean products of a regression's columns and E its noise, the estimate is sound where
M^{-½}·E·M^{-½} is small, whatever the units or contrasts. A symmetric matrix of k columns whose squared
entries sum to S has a norm of about 2·√(S/k), if its entries are noise. This and nothing else is looked
at: so a regression is refused for its predictors' noise, never for what it would have found.
"""

from __future__ import annotations

from math import floor, isfinite, log10

import numpy as np

from deniable.analysis.regression.moments import Moments
from deniable.errors import TableError
from deniable.survey.coefficients import Floats, Ints

MOST_NOISE = 1.0
"""The most that noise may be of what tells columns apart (measured: docs/regression.md)."""

_COLLINEAR = 1e-9
_FLOOR = 0.05


def check_stability(moments: Moments, columns: Ints, people: int) -> None:
    """Refuse columns that say the same, and those that noise does not let apart."""
    check_independence(moments, columns)
    own = moments.matrix(moments.values, columns, columns)
    noise = moments.expected_covariance
    place = moments.at[np.ix_(columns, columns)]
    level = relative_noise(own, noise, place)
    if level <= MOST_NOISE:
        return
    excess = relative_noise(_likely(own, noise, place), noise, place) / MOST_NOISE
    needed = people * excess * excess  # a power would raise where this is infinite
    many = f"about {rounded(max(needed, 1.1 * people))}" if isfinite(needed) else "far more"
    raise TableError(
        f"Noise hides how the {len(columns) - 1} columns of this regression differ: it needs {many} "
        f"people, and there are {people:,}; take fewer terms, or ask fewer attributes."
    )


def check_independence(moments: Moments, columns: Ints) -> None:
    """Refuse columns of which one is a sum of others, whoever is asked."""
    matrix = moments.matrix(moments.evenly(), columns, columns)
    size = np.sqrt(np.diagonal(matrix).clip(1e-300, None))
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if values[0] > _COLLINEAR:
        return
    among = np.flatnonzero(np.abs(vectors[:, 0]) > 0.05 * np.abs(vectors[:, 0]).max())
    every = [moments.columns[columns[i]].label for i in among]
    labels = [label for label in every if label != "(intercept)"]
    raise TableError(
        f"The columns {', '.join(labels[:6])}{', …' if len(labels) > 6 else ''} are collinear: one of "
        "them follows from the others, so leave one out."
    )


def relative_noise(matrix: Floats, noise: Floats, at: Ints) -> float:
    """Return how large noise of a matrix is to what it tells; infinite if it is not positive."""
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        return float("inf")
    inverse = np.linalg.inv(matrix)
    total = 0.0
    for row, own in enumerate(at):
        each = noise[own][:, at]  # of entry (row, b) with entry (c, d)
        total += float(np.einsum("bcd,c,bd->", each, inverse[row], inverse, optimize=True))
    return 2 * float(np.sqrt(max(total, 0.0) / len(matrix)))


def _likely(matrix: Floats, noise: Floats, at: Ints) -> Floats:
    """Return a matrix that may be behind a noisy one: correlations shrunk by their noise."""
    mean = matrix[0] / matrix[0, 0]
    centred = matrix / matrix[0, 0] - np.outer(mean, mean)
    error = noise[at, at] / matrix[0, 0] ** 2
    own = np.maximum(np.diagonal(centred), np.sqrt(np.diagonal(error)))
    own[0] = 1
    size = np.sqrt(np.outer(own, own))
    correlation, doubt = centred / size, error / size**2
    rest = ~np.eye(len(matrix), dtype=np.bool_)
    rest[0] = rest[:, 0] = False
    signal = float((correlation[rest] ** 2).sum())
    share = min(1.0, float(doubt[rest].sum()) / signal) if signal else 1.0
    np.fill_diagonal(correlation, 1)
    correlation[0, 1:] = correlation[1:, 0] = 0
    values, vectors = np.linalg.eigh((1 - share) * correlation + share * np.eye(len(matrix)))
    shrunk = (vectors * values.clip(_FLOOR, None)) @ vectors.T
    shrunk[0] = shrunk[:, 0] = 0
    likely: Floats = matrix[0, 0] * (shrunk * size + np.outer(mean, mean))
    return likely


def rounded(number: float) -> str:
    """Return a number of people with two digits."""
    digits = floor(log10(number)) - 1
    return f"{round(number / 10**digits) * 10**digits:,}"
