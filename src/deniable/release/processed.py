"""Estimates after processing: tables that were made consistent, with error bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.decoding.evidence import Evidence, Tables, cells_of
from deniable.questions.lists import lists_named
from deniable.release.bootstrap import Bootstrap
from deniable.release.components import Components
from deniable.release.judging import Fit
from deniable.release.model import Distribution
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, Shared

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
        variances: Floats = np.einsum("rii->ri", self.covariances(tables))
        return variances


@dataclass(frozen=True, eq=False)
class CoefficientTables(ProcessedTables):
    """Tables of yes/no attributes; their error bars are bootstrapped, if there is time for draws.

    ``process`` makes a distribution of measurements again; None where that takes too long.
    """

    distribution: Distribution
    measurements: Measurements
    random: Random
    process: Callable[[Measurements], Distribution] | None
    draws: int

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        if self.process is not None and self.draws:
            return "bootstrap"
        return "unprocessed" if size <= self.measurements.numbering.order else "none"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""
        return Tables(self.distribution.tables(tables), self.measurements.knows(tables), {})

    @cached_property
    def _bootstrap(self) -> Bootstrap:
        assert self.process is not None
        random = self.random("bootstrap")
        return Bootstrap(self.measurements, self.distribution, self.process, self.draws, random)

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells; infinite variances where none is known."""
        if self.interval_kind(tables.shape[1]) == "bootstrap":
            covariances = self._bootstrap.covariances(tables)
            is_unknown = ~self.measurements.knows(tables)
        else:
            cells = 1 << tables.shape[1]
            covariances = np.zeros((len(tables), cells, cells))
            is_unknown = np.ones(len(tables), np.bool_)
        covariances[is_unknown] = np.nan
        np.einsum("rii->ri", covariances)[is_unknown] = np.inf
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
