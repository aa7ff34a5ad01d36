"""Terms on a good scale: centred and uncorrelated; none is the same for all, or follows from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.analysis.formula import shown
from deniable.errors import TableError
from deniable.survey.coefficients import Floats, Ints

_ALONE = 1e-9
"""The least share of a term's variance that others must leave unexplained."""

_TOGETHER = 1 << 18
"""How many rows are looked at together."""


def gram(matrix: Floats, weights: Floats, centre: Floats | float = 0.0) -> Floats:
    """Return the weighted products of all columns, in bounded memory."""
    total = np.zeros((matrix.shape[1],) * 2)
    for start in range(0, len(matrix), _TOGETHER):
        part = matrix[start : start + _TOGETHER] - centre
        total += (part * weights[start : start + _TOGETHER, None]).T @ part
    return total


def sums_by(group: Ints, numbers: Floats, groups: int) -> Floats:
    """Return the sum of the numbers of each of so many groups."""
    return np.bincount(group, numbers, groups).astype(np.float64, copy=False)


def inverse_of(matrix: Floats) -> Floats | None:
    """Return the inverse of a symmetric matrix if it is positive definite."""
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] > 1e-12 * abs(values[-1]):
        return None
    inverse: Floats = (vectors / values) @ vectors.T
    return inverse


@dataclass(frozen=True, eq=False)
class Scale:
    """Where terms are centred, how wide they are, and what makes them uncorrelated, of variance 1.

    The first term is the intercept, and stays.
    """

    centre: Floats
    width: Floats
    turn: Floats

    @classmethod
    def of(cls, matrix: Floats, weights: Floats, terms: Sequence[str]) -> Scale:
        """Return the scale of columns; one that tells nothing beside those before it is refused.

        Rows count by the people whose answers tell of the outcome. ``terms`` name the formula's term of
        each column, for errors: a contrast's own label would tell a value.
        """
        if not weights.sum():
            raise TableError(
                "None of the reports tells of the outcome alone, so nothing can be fitted; a survey of "
                "order 1 asks everybody about single attributes."
            )
        centre = weights @ matrix / weights.sum()
        centre[0] = 0.0
        own = gram(matrix, weights / weights.sum(), centre)
        width = np.sqrt(own.diagonal())
        for term, wide, mean in zip(terms[1:], width[1:], centre[1:], strict=True):
            if wide <= 1e-12 * abs(mean):
                raise TableError(
                    f"The term {shown(term)}, or a contrast of it, is the same for everybody whose "
                    "answer tells of the outcome; leave it out, or put values together."
                )
        own /= np.outer(width, width)
        for place in range(2, len(own)):
            row = own[place, :place]
            if own[place, place] - row @ np.linalg.solve(own[:place, :place], row) < _ALONE:
                raise TableError(
                    f"The term {shown(terms[place])} follows from those before it (collinear terms); "
                    "leave one of them out."
                )
        turn = np.linalg.inv(np.linalg.cholesky(own)).T / width[:, None]
        return cls(centre, width, turn)

    def applied(self, matrix: Floats) -> Floats:
        """Return the terms on this scale."""
        scaled: Floats = (matrix - self.centre) @ self.turn
        return scaled

    @property
    def back(self) -> Floats:
        """Return the matrix that makes coefficients of terms as they are of those on this scale."""
        matrix = self.turn.copy()
        matrix[0] -= self.centre @ self.turn
        return matrix
