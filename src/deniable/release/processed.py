"""Processed estimates: tables after something was done to them, with error bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from deniable.decoding.evidence import Evidence, Tables, cells_of
from deniable.questions.lists import lists_named
from deniable.release.bootstrap import Bootstrap
from deniable.release.components import Components, joint_components
from deniable.release.fit import Fit
from deniable.release.model import Distribution
from deniable.release.projection import Measured
from deniable.survey.coefficients import Floats, Ints, Shared

Random = Callable[[str], np.random.Generator]
"""Random numbers that are fixed by what is processed, and by their purpose."""


@dataclass(frozen=True, eq=False)
class Agreed:
    """Tables of up to k attributes that are made of one vector of coefficients."""

    numbering: Shared
    theta: Floats

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        theta = self.theta[self.numbering.of_tables(tables)]
        cells = cells_of(theta, lists_named("codes", (2,) * tables.shape[1]))
        return cells.clip(0, None)  # of rounding


@dataclass(frozen=True, eq=False)
class Processed:
    """Estimates after ``applied`` was done to them: "joint" or "model"."""

    applied: str
    fit: Fit | None
    measured: Measured
    _random: Random
    _found: Distribution
    _again: Callable[[Measured], Distribution] | None
    _draws: int

    @property
    def kind(self) -> str:
        """Return what its tables are: "joint" or "modelled"."""
        return "modelled" if self.applied == "model" else "joint"

    @property
    def model(self) -> Distribution | None:
        """Return the joint distribution behind the tables, where a model was applied."""
        return self._found if self.applied == "model" else None

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        if self._again is not None and self._draws:
            return "bootstrap"
        return "unprocessed" if size <= self.measured.numbering.order else "none"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table; where a needed coefficient was never asked, marked so."""
        return Tables(self._found.tables(tables), self.measured.knows(tables), {})

    @cached_property
    def _bootstrap(self) -> Bootstrap:
        assert self._again is not None
        random = self._random("bootstrap")
        return Bootstrap(self.measured, self._found, self._again, self._draws, random)

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells; infinite variances where none is known."""
        cells = 1 << tables.shape[1]
        if self.interval_kind(tables.shape[1]) == "bootstrap":
            covariances = self._bootstrap.covariances(tables)
            unknown = ~self.measured.knows(tables)
        else:
            covariances = np.zeros((len(tables), cells, cells))
            unknown = np.ones(len(tables), np.bool_)
        covariances[unknown] = np.nan
        np.einsum("rii->ri", covariances)[unknown] = np.inf
        return covariances


class Processing(Protocol):
    """Estimates after something was done to them."""

    @property
    def applied(self) -> str:
        """Return what was done: "joint" or "model"."""
        ...

    @property
    def fit(self) -> Fit | None:
        """Return how well a model fits, where there is one."""
        ...

    @property
    def model(self) -> Distribution | None:
        """Return the joint distribution behind the tables, where a model was applied."""
        ...

    @property
    def kind(self) -> str:
        """Return what its tables are: "joint" or "modelled"."""
        ...

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        ...

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table."""
        ...

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells, unless that of the unprocessed is taken."""
        ...


@dataclass(frozen=True, eq=False)
class Mixed:
    """Joint tables of attributes of any sizes, with the error bars of the unprocessed estimates."""

    _components: Components
    _found: Floats
    _evidence: Evidence
    applied: str = "joint"
    kind: str = "joint"
    fit: Fit | None = None
    model: Distribution | None = None

    @classmethod
    def of(cls, evidence: Evidence, sizes: tuple[int, ...], order: int) -> Mixed:
        """Return the estimates made consistent."""
        return cls(Components(sizes, order), joint_components(evidence, sizes, order), evidence)

    def interval_kind(self, size: int) -> str:
        """Return what the error bars are."""
        return "unprocessed"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table."""
        known = self._evidence.tables(tables).known
        return Tables(self._components.tables(self._found, tables).clip(0, None), known, {})

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the unprocessed cells."""
        return self._evidence.cell_covariances(tables)
