"""Joint consistency: tables that agree with each other and have no negative cell.

Tables made of one vector of coefficients agree by construction; only their cells may be negative.
`joint` moves the coefficients to the *nearest* ones that give no negative cell: nearest in the sum of
squared differences over all cells of all k-way tables. The people's own coefficients are among those
allowed, and a projection onto a convex set never moves away from any of its points, so in that
distance the result is never worse than the unbiased estimate, whatever the data and the noise. The
same holds for the smaller set of coefficients that tables of k + 1 attributes can have, which is
used where it is affordable: it also knows that three attributes cannot all exclude each other in
pairs while each is held by half of the people.

In coefficients the distance is a weighted sum of squares, because Hadamard rows are orthogonal: each
α counts for the number of tables that hold it. The dual problem has one multiplier per cell, and a
step of it is one batched Hadamard transform and a clip.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.evidence import CoefficientEvidence
from deniable.errors import TableError
from deniable.survey.coefficients import Floats, Ints, Shared, all_tables, hadamard

_MOST_CELLS = 1 << 22
_MOST_LIFTED = 1 << 13
_MOST_STEPS = 3000
_MOST_ROUNDS = 200
_TOLERANCE = 1e-6
_SMALLEST_CHANGE = 1e-7


@dataclass(frozen=True, eq=False)
class Measurements:
    """The overview of every coefficient of order ≤ k, in the order of `Shared`."""

    numbering: Shared
    theta: Floats
    variance: Floats
    people: Floats
    gain: Floats | float = 0.0
    draw: Callable[[np.random.Generator, int], Floats] | None = None
    """How to draw noise, in standard errors; None where it is independent."""

    def noise(self, random: np.random.Generator, draws: int) -> Floats:
        """Return draws of the coefficients' noise, in standard errors: a row for each draw."""
        if self.draw is None:
            return random.standard_normal((draws, len(self.theta)))
        return self.draw(random, draws)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Tell which coefficients were asked."""
        return (self.people > 0) & np.isfinite(self.variance)

    def knows(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether all it is made of, up to the survey's order, was asked."""
        return self.numbering.all_flagged(self.known, tables)


def _refuse_too_many(numbering: Shared) -> None:
    """Refuse so many tables that making them consistent takes too long."""
    count = comb(numbering.attributes, numbering.order)
    if count << numbering.order > _MOST_CELLS:
        raise TableError(
            f"All {count:,} tables of {numbering.order} of {numbering.attributes} "
            "attributes are too many to be made consistent; lower the order."
        )


def measure(evidence: CoefficientEvidence, numbering: Shared) -> Measurements:
    """Return what evidence tells about every coefficient of order ≤ k, asked for or not."""
    _refuse_too_many(numbering)
    view = evidence.overview
    at = np.concatenate(
        [
            evidence.numbering.of_question(all_tables(numbering.attributes, size), (1 << size) - 1)
            for size in range(1, numbering.order + 1)
        ]
    )

    def draw(random: np.random.Generator, draws: int) -> Floats:
        return evidence.noise(random, draws)[:, at]

    columns = (view.theta[at], view.variance[at], view.people[at], view.gain[at])
    return Measurements(numbering, *columns, draw)


def joint(theta: Floats, numbering: Shared) -> Floats:
    """Return the nearest coefficients of which no table of order ≤ k has a negative cell.

    Coefficients beyond ±1, which nobody can have, are moved to ±1 first: that is the same kind of
    projection, and keeps hopeless estimates from costing many steps. Estimates without a negative
    cell stay as they are; others must, where there are few enough tables, also leave room for tables
    of k + 1 attributes without one (`_lift`).
    """
    geometry = _Geometry(numbering)
    nearest, pushes = project(theta.clip(-1, 1), geometry, None)
    wider = numbering.order + 1
    cells = comb(numbering.attributes, wider) << wider
    if 0 < cells <= _MOST_LIFTED and pushes.any():
        nearest = _lift(theta.clip(-1, 1), nearest, numbering)
    return geometry.mend(nearest)


class Geometry(ABC):
    """All tables that must not have negative cells, of one vector of this size, and back."""

    size: int

    @abstractmethod
    def cells(self, vector: Floats) -> Floats:
        """Return the cells of every table."""

    @abstractmethod
    def mean(self, cells: Floats) -> Floats:
        """Return the vector whose tables are nearest to these."""

    @cached_property
    def uniform(self) -> Floats:
        """Return the cells of uniform tables."""
        return self.cells(np.zeros(self.size))

    def mend(self, vector: Floats) -> Floats:
        """Move towards uniform tables until what the last step left below zero is not."""
        cells = self.cells(vector)
        below = cells < 0
        most = (self.uniform[below] / (self.uniform - cells)[below]).min() if below.any() else 1.0
        return vector * most


def project(
    start: Floats,
    geometry: Geometry,
    pushes: Floats | None,
    ease: Floats | float = 1.0,
    tolerance: float = _TOLERANCE,
) -> tuple[Floats, Floats]:
    """Return the nearest vector without negative cells, and the push that each cell needs.

    Accelerated gradient steps on the dual problem, from these pushes on. ``ease``,
    at most 1, says how easily a coefficient moves, compared with the distance between tables.
    """
    pushes = np.zeros_like(geometry.cells(start)) if pushes is None else pushes
    ahead, momentum, vector = pushes, 1.0, start
    for _ in range(_MOST_STEPS):
        before, vector = vector, start + ease * geometry.mean(ahead)
        cells = geometry.cells(vector)
        if cells.min() > -tolerance and np.abs(vector - before).max() < tolerance:
            break
        new = (ahead - cells).clip(0, None)
        if np.vdot(ahead - new, new - pushes) > 0:  # overshooting: begin to gather speed anew
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / faster * (new - pushes)
        pushes, momentum = new, faster
    return vector, pushes


def _lift(theta: Floats, nearest: Floats, numbering: Shared) -> Floats:
    """Return the nearest coefficients that tables of k + 1 attributes can have.

    Nobody measured the coefficients of k + 1 attributes, so they are free: each round takes them
    from the round before, at first from no interaction of k + 1 attributes at all.
    """
    size = numbering.size
    wider = Shared(numbering.attributes, numbering.order + 1)
    geometry = _Geometry(wider)
    free, pushes = _uninteracting(nearest, numbering), None
    # The distance stays that between tables of k attributes, of which more hold a smaller set.
    ease = np.ones(wider.size)
    for level in range(1, wider.order):
        ease[wider.level(level)] = 1 / (wider.order - level)
    for _ in range(_MOST_ROUNDS):
        both, pushes = project(np.concatenate((theta, free)), geometry, pushes, ease)
        change, nearest, free = np.abs(both[:size] - nearest).max(), both[:size], both[size:]
        if change < _SMALLEST_CHANGE:
            break
    return nearest


def _uninteracting(theta: Floats, numbering: Shared) -> Floats:
    """Return θ of all sets of k + 1 attributes whose joint central moment is zero."""
    sets = all_tables(numbering.attributes, numbering.order + 1)
    singles = -theta[numbering.level(1)][sets]
    total: Floats = singles.prod(axis=1)
    for mask in range(1, (1 << sets.shape[1]) - 1):
        others = [i for i in range(sets.shape[1]) if not mask >> i & 1]
        total += theta[numbering.of_question(sets, mask)] * singles[:, others].prod(axis=1)
    return -total


class _Geometry(Geometry):
    """All k-way tables of one vector of coefficients, and back."""

    def __init__(self, numbering: Shared) -> None:
        _refuse_too_many(numbering)
        self._numbers = numbering.of_tables(all_tables(numbering.attributes, numbering.order))
        self.size = numbering.size
        self._tables = np.bincount(self._numbers.ravel(), minlength=self.size)

    def cells(self, vector: Floats) -> Floats:
        """Return the cells of every table."""
        rows = np.column_stack((np.ones(len(self._numbers)), vector[self._numbers]))
        cells: Floats = hadamard(rows) / rows.shape[1]
        return cells

    def mean(self, cells: Floats) -> Floats:
        """Return each coefficient's mean over the tables that hold it."""
        coefficients = hadamard(cells)[:, 1:]
        total = np.bincount(self._numbers.ravel(), coefficients.ravel(), self.size)
        mean: Floats = total / self._tables
        return mean
