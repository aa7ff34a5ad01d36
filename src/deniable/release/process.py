"""What is done to unbiased estimates where that is asked for, never silently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import Counts
from deniable.decoding.decoder import decoder_of
from deniable.decoding.evidence import CoefficientEvidence, Evidence, Tables, cells_of
from deniable.errors import TableError
from deniable.questions.lists import lists_named
from deniable.release.bootstrap import Bootstrap, affordable
from deniable.release.components import Components, joint_components
from deniable.release.consistency import Measured, joint, measure
from deniable.release.fit import Fit, fit
from deniable.release.halves import generator
from deniable.release.model import Distribution
from deniable.survey.coefficients import Ints, Shared
from deniable.survey.frozen import FrozenSurvey

__all__ = ["Processed", "Processing", "process", "process_jointly"]

Floats = NDArray[np.float64]

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
        return cells_of(theta, lists_named("codes", (2,) * tables.shape[1])).clip(
            0, None
        )  # of rounding


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
            spread = self._bootstrap.covariances(tables)
            unknown = ~self.measured.knows(tables)
        else:
            spread = np.zeros((len(tables), cells, cells))
            unknown = np.ones(len(tables), np.bool_)
        spread[unknown] = np.nan
        np.einsum("rii->ri", spread)[unknown] = np.inf
        return spread


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


def process(counts: Counts, evidence: Evidence, estimator: str, consistency: str) -> Processing:
    """Return a tally's estimates made consistent, jointly or by a model."""
    survey, random = counts.survey, partial(generator, counts)
    if consistency == "joint":
        return process_jointly(survey, evidence, estimator, random)
    _check_estimator(survey, estimator, consistency)
    if not survey.schema.is_binary:
        raise TableError(
            'consistency "model" is for attributes of two values so far, and this survey has '
            'others; "joint" takes them.'
        )
    assert isinstance(evidence, CoefficientEvidence)
    numbering = Shared(len(survey.schema), survey.order)
    measured = measure(evidence, numbering)

    def measure_counts(part: Counts) -> Measured:
        found = decoder_of(survey).decode(part.slot, part.value, part.count, estimator)
        assert isinstance(found, CoefficientEvidence)
        return measure(found, numbering)

    model, told, again = fit(counts, measured, measure_counts)
    if told.rejected:
        return _agreed(measured, random, told)
    draws = affordable(1 << numbering.attributes) if again else 0
    return Processed("model", told, measured, random, model, again, draws)


def process_jointly(
    survey: FrozenSurvey, evidence: Evidence, estimator: str, random: Random
) -> Processing:
    """Return estimates made non-negative, and to agree with each other."""
    _check_estimator(survey, estimator, "joint")
    if not survey.schema.is_binary:
        return Mixed.of(evidence, survey.schema.sizes, survey.order)
    assert isinstance(evidence, CoefficientEvidence)
    return _agreed(measure(evidence, Shared(len(survey.schema), survey.order)), random, None)


def _check_estimator(survey: FrozenSurvey, estimator: str, consistency: str) -> None:
    if estimator == "unpooled" or estimator not in decoder_of(survey).unbiased:
        raise TableError(
            f'consistency "{consistency}" starts from unbiased, pooled estimates; '
            f"use the estimator {decoder_of(survey).exact_estimator!r}, not {estimator!r}."
        )


def _agreed(measured: Measured, random: Random, told: Fit | None) -> Processed:
    """Return joint tables of attributes of two values, and how a model did that was rejected."""
    numbering = measured.numbering

    def agree(other: Measured) -> Agreed:
        return Agreed(numbering, joint(other.theta, numbering))

    cells = comb(numbering.attributes, numbering.order) << numbering.order
    return Processed("joint", told, measured, random, agree(measured), agree, affordable(2 * cells))
