"""Numbers by their low moments: tables of few values that hold what a slope and a bend tell.

Cells of a fine grid cannot be told one by one, but means of smooth functions can. With a number's own
distribution p, let φ_0 = 1, φ_1, … φ_K be the polynomials that are orthonormal under it. Gauss's rule
has K + 1 nodes and weights ω that sum all polynomials up to degree 2K + 1: so a number is taken for an
attribute of K + 1 values, its nodes, the k-th of which has the "share"

    E s_k(X),    s_k(x) = ω_k·Σ_j φ_j(node_k)·φ_j(x).

These add up to 1, the table of two such attributes is that of independent ones where the numbers are,
and its mean square contingency is what polynomials of degree K see of theirs. Back on the grid, a
table is

    p(x)·Σ_k [Σ_j φ_j(x)·φ_j(node_k)]·(share of k).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.questions.lists import QuestionList
from deniable.questions.thresholds import Thresholds
from deniable.survey.coefficients import Floats, Ints

DEGREE = 2
"""K: a slope and a bend."""

_EVENLY = 0.01
"""What each level gets of equal shares, so that polynomials differ on them."""
_FEWEST = 1e-3
"""The least share that missing is taken to have."""


class Moments(QuestionList):
    """The same coefficients as thresholds, of which tables of a number's moments are made."""

    name = "moments"
    is_order = True
    is_even = True

    def __init__(self, thresholds: Thresholds, shares: Floats, degree: int = DEGREE) -> None:
        self.thresholds, self.shares = thresholds, shares
        levels, missing = thresholds.levels, thresholds.missing
        self.degree = min(degree, levels - 1)
        self.size = self.degree + 1 + missing
        self.count = thresholds.count
        self.entries, self.depth = thresholds.entries, thresholds.depth
        there = shares[:levels].clip(0, None) + 1e-12
        self.distribution = (1 - _EVENLY) * there / there.sum() + _EVENLY / levels
        at = np.linspace(-1, 1, levels)
        root = np.sqrt(self.distribution)
        q, r = np.linalg.qr(root[:, None] * np.polynomial.legendre.legvander(at, self.degree))
        self.polynomials: Floats = (q * np.sign(np.diag(r))).T / root
        jacobi = (self.polynomials * (self.distribution * at)) @ self.polynomials.T
        _, vectors = np.linalg.eigh(jacobi)
        self._vectors = vectors * np.where(vectors[0] < 0, -1, 1)

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what tells it from other lists: no two numbers have the same distribution."""
        return self.name, id(self)

    @property
    def codes(self) -> int:
        """Return the number of levels, and one for missing."""
        return self.thresholds.codes

    @property
    def functions(self) -> int:
        """Return how many sums of questions are numbered."""
        return self.thresholds.functions

    @property
    def nodes(self) -> int:
        """Return K + 1."""
        return self.degree + 1

    @cached_property
    def lack(self) -> float:
        """Return the share of missing."""
        return float(max(self.shares[-1], _FEWEST)) if self.thresholds.missing else 0.0

    @cached_property
    def weights(self) -> Floats:
        """Return the share of each value: of nodes ω, and of missing."""
        own = (1 - self.lack) * self._vectors[0] ** 2
        return np.append(own, self.lack) if self.thresholds.missing else own

    @cached_property
    def directions(self) -> Floats:
        """Return functions of the values (columns) that are orthonormal under the weights, and to 1."""
        features: Floats = (self._vectors / self._vectors[0])[1:] / np.sqrt(1 - self.lack)
        if not self.thresholds.missing:
            return features
        rows = np.zeros((len(features) + 1, self.size))
        rows[:-1, :-1] = features
        rows[-1] = -np.sqrt(self.lack / (1 - self.lack))
        rows[-1, -1] = np.sqrt((1 - self.lack) / self.lack)
        return rows

    @cached_property
    def soft_values(self) -> Floats:
        """Return s_k (rows) at each code."""
        functions = np.zeros((self.size, self.codes))
        levels = self.thresholds.levels
        functions[: self.nodes, :levels] = (self._vectors.T @ self.polynomials) * self._vectors[0][
            :, None
        ]
        if self.thresholds.missing:
            functions[-1, -1] = 1
        return functions

    @cached_property
    def on_grid(self) -> Floats:
        """Return what a share of each value (columns) makes of each code."""
        grid = np.zeros((self.codes, self.size))
        levels = self.thresholds.levels
        ratios = self.polynomials.T @ (self._vectors / self._vectors[0])
        grid[:levels, : self.nodes] = self.distribution[:, None] * ratios
        if self.thresholds.missing:
            grid[-1, -1] = 1
        return grid

    def coefficients(self, entries: Ints, questions: int, part: int) -> Ints:
        """Return the coefficients of thresholds."""
        return self.thresholds.coefficients(entries, questions, part)

    def answers(self, coefficients: Ints) -> NDArray[np.uint8]:
        """Return which codes say yes."""
        return self.thresholds.answers(coefficients)

    def expectation(self, functions: Floats) -> Floats:
        """Return the weights of 1 and of coefficients in means of functions of the code (rows)."""
        return self.thresholds.expectation(functions)

    @cached_property
    def synthesis(self) -> Floats:
        """Return the matrix that makes shares of values of mean signs."""
        return self.expectation(self.soft_values)

    @cached_property
    def analysis(self) -> Floats:
        """Return the mean sign of each value (columns) under each cut."""
        signs = 1.0 - 2.0 * self.answers(np.arange(self.count + 1))
        means: Floats = signs @ self.on_grid
        return means

    @cached_property
    def energy(self) -> float:
        """Return what an error of 1 in every coefficient makes of the table, squared."""
        return float((self.synthesis[:, 1:] ** 2).sum())

    @cached_property
    def noise(self) -> Floats:
        """Return the variance of each direction, over that of a contrast on average."""
        rows = self.directions @ self.synthesis[:, 1:]
        noise: Floats = (rows**2).sum(axis=1) * (self.size - 1) / self.energy
        return noise
