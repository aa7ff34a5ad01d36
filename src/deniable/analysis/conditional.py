"""Conditional tables: how one attribute is distributed for every combination of values of others.

A conditional share is a ratio of two estimates, n/d, a cell of a table over what its row adds up to.
Standard errors are by the delta method. Intervals are Fieller's: all r for which n − r·d may be 0,
which stays right where d itself is not known well. Where d is not safely above 0 nothing is known.

Of processed tables whose error bars are those of the unbiased estimate, n and d are the unbiased ones;
n is moved to 0 or d where it lies beyond. That brings n − r·d nearer to 0 for every r between 0 and 1,
so intervals hold the truth no less often, and none ends where it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.numeric.inference import fieller
from deniable.numeric.levels import normal_reach
from deniable.release.marginal import Table, cell_frame, possible_shares
from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables

_UNSAFE = 2.0
"""A row's share within so many standard errors of 0 may be nothing."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """The distribution of ``target`` for each combination of values of ``given``.

    ``values`` has an axis for each attribute of ``given``, in the order asked for, and the target's
    last; it is unclipped, as tables are, and sums to 1 along the last axis. ``shares`` are the
    combinations' own; ``known`` is False where one is not safely above 0 (two standard errors), and
    there the interval is 0 to 1.
    """

    target: Attribute
    given: tuple[Attribute, ...]
    table: Table = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the attributes' names, the target's last."""
        return self.table.names

    @property
    def people(self) -> int:
        """Return how many people reported."""
        return self.table.people

    @property
    def simulated(self) -> bool:
        """Tell whether the reports are simulated."""
        return self.table.simulated

    @property
    def shares(self) -> Floats:
        """Return the share of each combination of values of ``given``."""
        shares: Floats = self.table.values.sum(axis=-1)
        return shares

    @cached_property
    def values(self) -> Floats:
        """Return the conditional shares; not a number where a combination's share is 0."""
        below = self.shares[..., None]
        ratio: Floats = np.divide(
            self.table.values, below, out=np.full(self.table.values.shape, np.nan), where=below != 0
        )
        return ratio

    @cached_property
    def _measured(self) -> tuple[Floats, Floats]:
        """Return n and d, whose errors are known."""
        above = self.table.unprocessed
        below: Floats = above.sum(axis=-1, keepdims=True)
        if self.table.kind != "unbiased":
            above = np.where(below > 0, above.clip(0, below.clip(0, None)), above)
        return above, below

    @cached_property
    def _variances(self) -> tuple[Floats, Floats, Floats]:
        """Return Var n and Cov(n, d) of each cell, and Var d of each row."""
        shape = self.table.values.shape
        rows, width = self.shares.size, shape[-1]
        blocks = self.table.covariance.reshape(rows, width, rows, width)
        own = np.einsum("gigj->gij", blocks)
        cell: Floats = np.einsum("gii->gi", own).reshape(shape)
        both: Floats = own.sum(axis=2).reshape(shape)
        return cell, both, own.sum(axis=(1, 2)).reshape(shape[:-1])

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Tell of which combinations the share is safely above 0."""
        with np.errstate(invalid="ignore"):
            least = _UNSAFE * np.sqrt(self._variances[2].clip(0, None))
            safe: NDArray[np.bool_] = (self._measured[1][..., 0] > least) & (self.shares > 0)
        return safe & self.table.known

    @cached_property
    def standard_error(self) -> Floats:
        """Return standard errors; infinite where nothing is known."""
        cell, both, row = self._variances
        with np.errstate(divide="ignore", invalid="ignore"):
            square = cell - 2 * self.values * both + self.values**2 * row[..., None]
            error = np.sqrt(square.clip(0, None)) / self._measured[1]
        errors: Floats = np.where(self.known[..., None], error, np.inf)
        return errors

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper ends, stacked, that cover each conditional share at this level.

        They cover sampling and privacy noise, not non-response or people who lie to their own
        device. Those of processed tables stay within 0 and 1 and hold the estimate.
        """
        cell, both, row = self._variances
        low, high = fieller(*self._measured, (cell, both, row[..., None]), normal_reach(level))
        if self.table.kind != "unbiased":
            low = np.minimum(low, self.values).clip(0, 1)
            high = np.maximum(high, self.values).clip(0, 1)
        is_bounded = self.known[..., None] & np.isfinite(low) & np.isfinite(high)
        return np.stack((np.where(is_bounded, low, 0.0), np.where(is_bounded, high, 1.0)))

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a pandas frame: a row per cell with its estimate, error, interval and whether known.

        An ``estimate`` is a share that there can be, and no number where nothing is known; ``raw`` is
        the cell of ``values``.
        """
        estimate, low, high = possible_shares(self.values, *self.interval(level))
        frame = cell_frame(self.table.attributes).assign(
            estimate=np.where(self.known[..., None], estimate, np.nan).ravel(),
            standard_error=self.standard_error.ravel(),
            low=low.ravel(),
            high=high.ravel(),
            raw=self.values.ravel(),
            known=np.repeat(self.known.ravel(), len(self.target.values)),
        )
        frame.attrs.update(
            kind=self.table.kind,
            interval_kind=self.table.interval_kind,
            level=level,
            people=self.people,
            simulated=self.simulated,
            plausible=self.table.plausible,
        )
        return frame


def conditional(release: ReleasedTables, target: str, given: str | Sequence[str]) -> Conditional:
    """Return the distribution of ``target`` for every combination of values of ``given``."""
    others = (given,) if isinstance(given, str) else tuple(given)
    if not isinstance(target, str) or not others:
        raise TableError(
            "A conditional table is of one attribute, given at least one other: "
            "conditional('Tip', given=['CC'])."
        )
    table = release.marginal(*others, target)
    return Conditional(table.attributes[-1], table.attributes[:-1], table)
