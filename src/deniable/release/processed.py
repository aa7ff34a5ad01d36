"""Estimates after processing: tables that were made consistent, with error bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.decoding.evidence import Evidence, Tables, cells_of
from deniable.numeric.covariances import mark_unknown, unknown_covariance, variances_of
from deniable.questions.lists import lists_named
from deniable.release.bootstrap import Bootstrap
from deniable.release.components import Components
from deniable.release.judging import Fit
from deniable.release.model import Distribution
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, Shared, hadamard, positions

_ABOVE, _WEAKER = 0.04, 1 / 3
"""How strong interactions are of one attribute more than were asked about together, and what each
attribute more makes of their square. In units of what margins allow (for pairs, a correlation's) they
are .02 to .07 on real data (`scripts/measure_intervals.py above`); no report tells of them.
"""

Random = Callable[[str], np.random.Generator]
"""Random numbers that are fixed by what is processed, and by their purpose."""


@dataclass(frozen=True, eq=False)
class JointTables:
    """Tables of up to k attributes that are made of one vector of coefficients."""

    numbering: Shared
    theta: Floats

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        theta = self.theta[self.numbering.of_tables(tables)]
        cells = cells_of(theta, lists_named("codes", (2,) * tables.shape[1]))
        return cells.clip(0, None)  # of rounding


@dataclass(frozen=True, eq=False)
class ProcessedTables(ABC):
    """Estimates after a consistency method was ``applied`` to them.

    ``fit`` says how well a model fits, where one was fitted; ``model`` is the joint distribution
    behind the tables, where it was not rejected.
    """

    applied: str
    fit: Fit | None
    model: Distribution | None

    @abstractmethod
    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""

    @abstractmethod
    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""

    @abstractmethod
    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells, unless that of the unprocessed is taken."""

    def variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell of each table."""
        return variances_of(self.covariances(tables))


@dataclass(frozen=True, eq=False)
class ErrorsToDraw:
    """What a bootstrap takes for the truth, how it makes tables of measurements, and how often."""

    truth: Distribution
    process: Callable[[Measurements], Distribution]
    draws: int
    random: Random


@dataclass(frozen=True, eq=False)
class CoefficientTables(ProcessedTables):
    """Tables of yes/no attributes; their error bars are drawn, if there is time for ``errors``."""

    distribution: Distribution
    measurements: Measurements
    errors: ErrorsToDraw | None

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        if self.errors is not None:
            return "bootstrap"
        return "unprocessed" if size <= self.measurements.numbering.order else "none"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""
        return Tables(self.distribution.tables(tables), self.measurements.knows(tables), {})

    @cached_property
    def _bootstrap(self) -> Bootstrap:
        assert self.errors is not None
        truth, process, draws = self.errors.truth, self.errors.process, self.errors.draws
        return Bootstrap(self.measurements, truth, process, draws, self.errors.random("bootstrap"))

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells; infinite variances where none is known."""
        if self.interval_kind(tables.shape[1]) != "bootstrap":
            return unknown_covariance(1 << tables.shape[1], len(tables))
        covariances = self._bootstrap.covariances(tables) + self._beyond(tables)
        return mark_unknown(covariances, ~self.measurements.knows(tables)[:, None])

    def _beyond(self, tables: Ints) -> Floats:
        """Return the covariance that interactions of more attributes than the order add to cells."""
        size, order = tables.shape[1], self.measurements.numbering.order
        masks = [mask for mask in range(1 << size) if mask.bit_count() > order]
        if not masks:
            return np.zeros((1, 1, 1))
        singles = self.distribution.tables(tables.reshape(-1, 1)).reshape(*tables.shape, 2)
        uneven = 4 * singles.prod(axis=2)[:, ::-1]  # a mask's first bit is the last attribute
        squares = [_ABOVE**2 * _WEAKER ** (mask.bit_count() - order - 1) for mask in masks]
        variances = [
            square * uneven[:, positions(mask)].prod(axis=1)
            for square, mask in zip(squares, masks, strict=True)
        ]
        signs = hadamard(np.eye(1 << size))[:, masks] / (1 << size)
        covariances: Floats = np.einsum("im,jm,mr->rij", signs, signs, np.array(variances))
        return covariances


@dataclass(frozen=True, eq=False)
class ComponentTables(ProcessedTables):
    """Joint tables of attributes of any sizes, with the error bars of the unprocessed estimates."""

    components: Components
    vector: Floats
    evidence: Evidence

    def interval_kind(self, size: int) -> str:
        """Return what the error bars are."""
        return "unprocessed"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""
        is_known = self.evidence.tables(tables).known
        return Tables(self.components.tables(self.vector, tables).clip(0, None), is_known, {})

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the unprocessed cells."""
        return self.evidence.cell_covariances(tables)
