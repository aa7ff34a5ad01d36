"""A release: every table of up to k attributes that a tally supports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import Counts
from deniable.errors import TableError, TallyError
from deniable.mechanisms.coefficients import Ints, all_tables
from deniable.mechanisms.evidence import Tables
from deniable.release.estimate import cell_covariances, in_chunks, to_axes
from deniable.release.marginal import Table

__all__ = ["CONSISTENCY", "Released"]

CONSISTENCY = ("none",)
"""The kinds of post-processing on offer."""

Floats = NDArray[np.float64]


class _Chunk:
    """Some tables of one size, whose covariances are computed together when one is asked for."""

    def __init__(self, release: Released, tables: Ints) -> None:
        self.tables = tables
        self._release = release
        self.estimates = release.estimate(tables)

    @cached_property
    def covariances(self) -> Floats:
        return self._release.covariances(self.tables)


class Released:
    """What a tally tells, as tables with error bars.

    ``consistency`` says what was done to the estimates: "none" leaves them unbiased.
    ``estimator`` is one of the mechanism's, by default its first.
    """

    table_type: type[Table] = Table

    def __init__(
        self, counts: Counts, consistency: str = "none", estimator: str | None = None
    ) -> None:
        if consistency not in CONSISTENCY:
            raise TableError(
                f"consistency must be one of {', '.join(CONSISTENCY)}, got {consistency!r}."
            )
        if not counts.people:
            raise TallyError("The tally is empty: nothing can be released from no reports.")
        self.mechanism = counts.mechanism
        self.people, self.simulated = counts.people, counts.simulated
        self.consistency = consistency
        self.estimator = self.mechanism.check_estimator(estimator)
        self._evidence = self.mechanism.decode(counts.slot, counts.value, counts.count, estimator)

    def estimate(self, tables: Ints) -> Tables:
        """Return the cells of several tables of one size (sorted attributes, one row each)."""
        return self._evidence.tables(tables)

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the cells of each table; not a number where none is known."""
        return cell_covariances(self._evidence, tables)

    @property
    def squares(self) -> tuple[float, ...]:
        """Return the mean θ² of coefficients of 1, 2, … k attributes, without what noise adds.

        This is what a later survey of the same people can be planned with (`plan(pilot=...)`).
        """
        d, made = len(self.mechanism.schema), []
        for size in range(1, self.mechanism.order + 1):
            total, count = 0.0, 0
            for tables in in_chunks(all_tables(d, size)):
                theta, people = self._evidence.coefficients(tables)
                noise = np.einsum("rii->ri", self._evidence.covariance(tables))[:, -1]
                asked = people[:, -1] > 0
                total += float((theta[asked, -1] ** 2 - np.nan_to_num(noise[asked])).sum())
                count += int(asked.sum())
            made.append(max(0.0, total / count) if count else 0.0)
        return tuple(made)

    def marginal(self, *names: str) -> Table:
        """Return the table of these attributes, its axes in the order asked for."""
        if not names:
            raise TableError("A table needs at least one attribute.")
        wanted = [self.mechanism.schema.index(name) for name in names]
        if len(set(wanted)) < len(wanted):
            raise TableError("A table cannot hold an attribute twice.")
        if len(names) > self.mechanism.order:
            raise TableError(
                f"Marginal {names!r} needs order {len(names)}; "
                f"this survey collected order {self.mechanism.order}."
            )
        chunk = _Chunk(self, np.array([sorted(wanted)]))
        order = tuple(sorted(wanted).index(attribute) for attribute in wanted)
        return self._table(chunk, 0, order)

    def marginals(self, order: int | None = None) -> Sequence[Table]:
        """Return all tables of ``order`` attributes (by default, of the survey's order)."""
        size = self.mechanism.order if order is None else order
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise TableError(f"order must be a whole number from 1, got {size!r}.")
        if size > self.mechanism.order:
            raise TableError(
                f"Tables of order {size} need a survey of that order; "
                f"this one collected order {self.mechanism.order}."
            )
        made: list[Table] = []
        for tables in in_chunks(all_tables(len(self.mechanism.schema), size)):
            chunk = _Chunk(self, tables)
            made.extend(self._table(chunk, row) for row in range(len(tables)))
        return made

    def _table(self, chunk: _Chunk, row: int, order: tuple[int, ...] | None = None) -> Table:
        attributes, estimates = chunk.tables[row], chunk.estimates
        size = len(attributes)
        order = tuple(range(size)) if order is None else order
        numbers = to_axes(np.arange(2**size), size, order).ravel()

        def covariance() -> Floats:
            matrix: Floats = chunk.covariances[row][np.ix_(numbers, numbers)]
            return matrix

        return self.table_type(
            tuple(self.mechanism.schema.attributes[attributes[i]] for i in order),
            estimates.values[row][numbers].reshape((2,) * size),
            bool(estimates.known[row]),
            self.people,
            self.simulated,
            {name: note[row].item() for name, note in estimates.notes.items()},
            covariance,
        )
