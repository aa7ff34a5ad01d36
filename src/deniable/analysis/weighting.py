"""Weights that give a sample a population's known margins, and what they do to errors.

Raking multiplies people by a factor for each known value they have: w(x) = ∏ f_a(x_a), found by scaling
to one margin after the other. Linear calibration adds instead: w(x) = Σ g_a(x_a). With one margin both
are post-stratification, w = known/share. If s are the shares of combinations z of known values, D says
which values these have (one column for each value of each margin), and H = Σ w·s·DD′, then a weighted
table T(y) = Σ w(z)·P(y, z) moves with the estimates, weights included, as

    dT(y) = Σ w(z)·[dP(y, z) − D(z)·B(y)·ds(z)],        B(y) = H⁻¹ Σ w(z)·P(y, z)·D(z)

(Deville and Särndal 1992): what is left of y where the known values explain it, so weighted tables have
a covariance by the delta method whatever the covariance of P is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.numeric.shares import fit_proportionally
from deniable.survey.coefficients import Floats, Ints

_TURNS = 20
"""So often a hundred rounds of raking are tried."""

MISS = 1e-9
"""The most by which a raked table may miss a margin."""


def rake(shares: Floats, goals: Sequence[Floats]) -> Floats:
    """Return the factor of each cell of a table with which its margins are these, one for each axis.

    Not a number where no factors do that. A cell may have a share below 0, by noise.
    """
    axes = range(shares.ndim)
    forms = [
        goal.reshape([-1 if i == axis else 1 for i in axes]) for axis, goal in enumerate(goals)
    ]
    cells = shares
    for _ in range(_TURNS):
        cells = fit_proportionally(cells, forms)
        if _miss(cells, goals) < MISS:
            factors: Floats = np.divide(cells, shares, out=np.zeros_like(shares), where=shares != 0)
            return factors
    return np.full_like(shares, np.nan)


def _miss(cells: Floats, goals: Sequence[Floats]) -> float:
    """Return the most by which a table misses a margin."""
    if not np.isfinite(cells).all():
        return np.inf
    others = [tuple(i for i in range(cells.ndim) if i != axis) for axis in range(cells.ndim)]
    sums = [cells.sum(axis=axes) for axes in others]
    return max(float(np.abs(a - b).max()) for a, b in zip(sums, goals, strict=True))


def columns_of(sizes: Sequence[int]) -> Floats:
    """Return D: of each combination of values (C order), which values of each margin it has."""
    grid = np.indices(sizes).reshape(len(sizes), -1)
    return np.concatenate(
        [np.equal.outer(own, np.arange(size)) for own, size in zip(grid, sizes, strict=True)],
        axis=1,
    ).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Weights:
    """Factors of some terms, which are indicators of known values or of combinations of them.

    A weighted mean is the sum over terms of factors times means among those whom a term holds.
    ``columns`` says which known values a term implies, ``pull`` how means among its people bear on B (a
    row for each term), and ``inverse`` is H⁻¹.
    """

    factors: Floats
    columns: Floats
    pull: Floats
    inverse: Floats

    @classmethod
    def raked(cls, factors: Floats, shares: Floats, columns: Floats) -> Weights:
        """Return the weights of combinations of known values with these shares."""
        pull = columns * factors[:, None]
        return cls(factors, columns, pull, _inverse((pull * shares[:, None]).T @ columns))

    @classmethod
    def linear(cls, gram: Floats, goals: Floats) -> Weights:
        """Return what is added for each known value, where ``gram`` says how many have two of them."""
        inverse, every = _inverse(gram), np.eye(len(goals))
        return cls(inverse @ goals, every, every, inverse)

    def slopes(self, tops: Floats) -> Floats:
        """Return B (a row for each known value) of what has these means among each term's people."""
        slopes: Floats = self.inverse @ (self.pull.T @ tops)
        return slopes


def _inverse(gram: Floats) -> Floats:
    """Return H⁻¹; one margin says what another says already, that their shares add up to 1."""
    return np.asarray(np.linalg.pinv(gram, hermitian=True, rcond=1e-9), np.float64)


@dataclass(frozen=True, eq=False)
class Union:
    """Where each cell of a table stands in the smaller table that is wanted, and among known values."""

    cell: Ints
    combination: Ints
    cells: int
    combinations: int

    @classmethod
    def of(cls, sizes: Sequence[int], table: Sequence[int], others: Sequence[int]) -> Union:
        """Return it for a table of these sizes, by the axes of what is wanted and what is known."""
        grid = np.indices(sizes).reshape(len(sizes), -1)
        at = []
        for axes in (table, others):
            own = [sizes[axis] for axis in axes]
            codes: Ints = np.zeros(grid.shape[1], np.int64)
            for axis in axes:
                codes = codes * sizes[axis] + grid[axis]
            at.append((codes, int(np.prod(own, initial=1))))
        (cell, cells), (combination, combinations) = at
        return cls(cell, combination, cells, combinations)

    def by_combination(self, values: Floats) -> Floats:
        """Return a table of combinations (rows) and wanted cells."""
        table = np.zeros((self.combinations, self.cells))
        np.add.at(table, (self.combination, self.cell), values)
        return table

    def jacobian(self, factors: Floats, explained: Floats) -> Floats:
        """Return how the wanted cells (rows) move with those of the table.

        ``explained`` is D·B, a row for each combination.
        """
        own = np.equal.outer(np.arange(self.cells), self.cell)
        jacobian: Floats = (own - explained[self.combination].T) * factors[self.combination]
        return jacobian


def check_weighable(
    name: str,
    values: Sequence[str],
    goals: Floats,
    shares: Floats,
    errors: Floats,
    people: int,
) -> None:
    """Refuse a margin with values that hardly anybody has, or that nobody should have."""
    is_there = shares > _SAFE * errors
    for place in np.flatnonzero((goals == 0) & (shares > _CLEAR * errors) & (shares > 0)).tolist():
        raise TableError(
            f"The known share of {values[place]!r} in {name!r} is 0, and {100 * shares[place]:.1f} % of "
            "the people who answered have it: give its share of the population that you speak of."
        )
    short: NDArray[np.bool_] = (goals > 0) & ~is_there
    for place in np.flatnonzero(short).tolist():
        if not np.isfinite(errors[place]):
            raise TableError(f"Nobody was asked about {name!r}, so nothing can be adjusted by it.")
        share = max(float(shares[place]), float(errors[place]), 1e-9)
        needed = people * (_SAFE * float(errors[place]) / share) ** 2
        raise TableError(
            f"Too few people tell of {values[place]!r} in {name!r}: {100 * shares[place]:.2f} ± "
            f"{100 * errors[place]:.2f} % of them have it, which cannot be weighted safely; it would "
            f"take about {_rounded(needed)} people, and there are {people:,}."
        )


_SAFE = 4.0
"""A share is divided by where it is so many standard errors above 0."""

_CLEAR = 3.0
"""A value is clearly there where its share is so many standard errors above 0."""


def _rounded(people: float) -> str:
    """Return a number of people with two digits, rounded up."""
    size = 10 ** max(0, len(str(int(people))) - 2)
    return f"{int(-(-people // size) * size):,}"
