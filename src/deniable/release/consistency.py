"""Joint consistency: tables that agree with each other and have no negative cell.

Tables made of one vector of coefficients agree by construction; only their cells may be negative.
`joint` moves the coefficients to the *nearest* ones that give no negative cell: nearest in the sum of
squared differences over all cells of all k-way tables. The people's own coefficients are among those
allowed, and a projection onto a convex set never moves away from any of its points, so in that
distance the result is never worse than the unbiased estimate, whatever the data and the noise.

In coefficients the distance is a weighted sum of squares, because Hadamard rows are orthogonal: each
α counts for the number of tables that hold it. The dual problem has one multiplier per cell, and a
step of it is one batched Hadamard transform and a clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.mechanisms.coefficients import Ints, Shared, all_tables, hadamard
from deniable.mechanisms.evidence import Evidence
from deniable.release.estimate import in_chunks

__all__ = ["Measured", "joint", "measure"]

Floats = NDArray[np.float64]

_MOST_CELLS = 1 << 26
_MOST_STEPS = 3000
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of every coefficient: θ̂, its variance where θ is near 0, and its reports.

    A coefficient that was never asked counts as 0, with infinite variance and no reports.
    """

    numbering: Shared
    theta: Floats
    variance: Floats
    people: Floats

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Tell which coefficients were asked."""
        return (self.people > 0) & np.isfinite(self.variance)

    def knows(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether all it is made of, up to the survey's order, was asked."""
        size, order = tables.shape[1], self.numbering.order
        sets = [mask for mask in range(1, 1 << size) if mask.bit_count() <= order]
        known = np.ones(len(tables), np.bool_)
        for mask in sets:
            known &= self.known[self.numbering.of_question(tables, mask)]
        return known


def measure(evidence: Evidence, numbering: Shared) -> Measured:
    """Return what evidence tells about every coefficient of order ≤ k."""
    theta, variance, people = (np.empty(numbering.size) for _ in range(3))
    for size in range(1, numbering.order + 1):
        start = numbering.level(size).start
        for tables in in_chunks(all_tables(numbering.attributes, size)):
            part = slice(start, start + len(tables))
            found, reports = evidence.coefficients(tables)
            theta[part], people[part] = found[:, -1], reports[:, -1]
            variance[part] = evidence.covariance(tables, np.zeros_like(found))[:, -1, -1]
            start += len(tables)
    return Measured(numbering, theta, variance, people)


def joint(theta: Floats, numbering: Shared) -> Floats:
    """Return the nearest coefficients of which no table of order ≤ k has a negative cell.

    Coefficients beyond ±1, which nobody can have, are moved to ±1 first: that is the same kind of
    projection, and keeps hopeless estimates from costing many steps. What the last step leaves
    below zero (10⁻⁶ at most, unless the steps run out) is mended by moving towards uniform tables.
    """
    geometry = _Geometry(numbering)
    start = theta.clip(-1, 1)
    cells = geometry.cells(start)
    held = pushed = np.zeros_like(cells)
    momentum = 1.0
    found = start
    for _ in range(_MOST_STEPS):
        before, found = found, start + geometry.mean(pushed)
        cells = geometry.cells(found)
        if cells.min() > -_TOLERANCE and np.abs(found - before).max() < _TOLERANCE:
            break
        new = (pushed - cells).clip(0, None)
        if np.vdot(pushed - new, new - held) > 0:  # overshooting: begin to gather speed anew
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        pushed = new + (momentum - 1) / faster * (new - held)
        held, momentum = new, faster
    lowest = min(float(cells.min()), 0.0)
    uniform = 2.0**-numbering.order
    return found * (uniform / (uniform - lowest))


class _Geometry:
    """All k-way tables of one vector of coefficients, and back."""

    def __init__(self, numbering: Shared) -> None:
        tables = all_tables(numbering.attributes, numbering.order)
        if len(tables) << numbering.order > _MOST_CELLS:
            raise TableError(
                f"All {len(tables):,} tables of {numbering.order} of {numbering.attributes} "
                "attributes are too many to be made consistent; lower the order."
            )
        self._numbers = numbering.of_tables(tables)
        self._size = numbering.size
        self._tables = np.bincount(self._numbers.ravel(), minlength=self._size)

    def cells(self, theta: Floats) -> Floats:
        """Return the cells of every table."""
        rows = np.column_stack((np.ones(len(self._numbers)), theta[self._numbers]))
        made: Floats = hadamard(rows) / rows.shape[1]
        return made

    def mean(self, cells: Floats) -> Floats:
        """Return each coefficient's mean over the tables that hold it."""
        found = hadamard(cells)[:, 1:]
        summed = np.bincount(self._numbers.ravel(), found.ravel(), self._size)
        mean: Floats = summed / self._tables
        return mean
