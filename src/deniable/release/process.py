"""What is done to unbiased estimates where that is asked for, never silently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import Counts
from deniable.errors import TableError
from deniable.mechanisms.coefficients import Ints, Shared
from deniable.mechanisms.evidence import CoefficientEvidence, Evidence, Tables, synthesised
from deniable.mechanisms.signs import walsh
from deniable.release.bootstrap import Bootstrap, affordable
from deniable.release.consistency import Measured, joint, measure
from deniable.release.fit import Fit, fit
from deniable.release.halves import generator
from deniable.release.model import Distribution

__all__ = ["Processed", "process"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreed:
    """Tables of up to k attributes that are made of one vector of coefficients."""

    numbering: Shared
    theta: Floats

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        theta = self.theta[self.numbering.of_tables(tables)]
        return synthesised(theta, (walsh(2),) * tables.shape[1])


@dataclass(frozen=True, eq=False)
class Processed:
    """Estimates after ``applied`` was done to them: "joint" or "model"."""

    applied: str
    fit: Fit | None
    measured: Measured
    _counts: Counts
    _found: Distribution
    _again: Callable[[Measured], Distribution] | None
    _draws: int

    @property
    def kind(self) -> str:
        """Return what its tables are: "joint" or "modelled"."""
        return "modelled" if self.applied == "model" else "joint"

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
        random = generator(self._counts, "bootstrap")
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


def process(counts: Counts, evidence: Evidence, estimator: str, consistency: str) -> Processed:
    """Return a tally's estimates made consistent, jointly or by a model."""
    mechanism = counts.mechanism
    if estimator == "unpooled" or estimator not in mechanism.unbiased:
        raise TableError(
            f'consistency "{consistency}" starts from unbiased, pooled estimates; '
            f"use the estimator {mechanism.exact_estimator()!r}, not {estimator!r}."
        )
    if not mechanism.schema.is_binary:
        raise TableError(
            f'consistency "{consistency}" is for attributes of two values so far; '
            f'this survey has others, so release with consistency "none".'
        )
    assert isinstance(evidence, CoefficientEvidence)
    numbering = Shared(len(mechanism.schema), mechanism.order)
    measured = measure(evidence, numbering)

    def agree(other: Measured) -> Agreed:
        return Agreed(numbering, joint(other.theta, numbering))

    cells = comb(numbering.attributes, numbering.order) << numbering.order
    told: Fit | None = None
    if consistency == "model":

        def measure_counts(part: Counts) -> Measured:
            found = mechanism.decode(part.slot, part.value, part.count, estimator)
            assert isinstance(found, CoefficientEvidence)
            return measure(found, numbering)

        model, told, again = fit(counts, measured, measure_counts)
        if not told.rejected:
            draws = affordable(1 << numbering.attributes) if again else 0
            return Processed("model", told, measured, counts, model, again, draws)
    draws = affordable(2 * cells)
    return Processed("joint", told, measured, counts, agree(measured), agree, draws)
