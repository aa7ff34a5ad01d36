"""A model of attributes of any sizes: the halves of a tally choose its centre, and judge it.

Tables that are read about independent attributes, v, or about classes, w, differ. Of both, v + λ·(w − v)
is nearest to what the other half measured where λ = ⟨w − v, û − v⟩/‖w − v‖², known up to 1/‖w − v‖.
Classes get what they surely deserve: λ less one and a half times that, where they gain most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod, sqrt

import numpy as np

from deniable.decoding.evidence import Tables, refuse_covariance
from deniable.numeric.covariances import mark_unknown, unknown_covariance
from deniable.numeric.shares import check_cells, draw, fit_proportionally, proportions
from deniable.release.judging import Fit, Judges
from deniable.release.mixed.classes import CLASSES, Classes, ClassFit
from deniable.release.mixed.interactions import Interactions
from deniable.release.mixed.reading import Reading, read, without_negative_cells
from deniable.release.processed import ProcessedTables, Random
from deniable.survey.coefficients import Floats, Ints

_STOPS = (5, 10, 20, 40, 80, 160, 320)
"""The steps of a path after which classes are compared with independent attributes."""

_LATER = 1.4
"""How much further all reports go than half of them."""

_STEPS = 300
"""How far classes go that are fitted to tables without noise."""

_SURELY = 1.5
_PATIENCE = 2


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A model of attributes of any sizes: tables up to the order, and classes that explain them.

    Larger tables are those of the classes, made to agree with the smaller tables within them.
    """

    reading: Reading
    energy: Floats
    random: Random

    @cached_property
    def classes(self) -> Classes:
        """Return classes of people, fitted to the tables as they are read: noise is gone from them."""
        shares = [each.shares for each in self.reading.margins]
        sets = self.reading.sets
        if sets.order < 2:
            return Classes.independent(sets.sizes, shares)
        read_tables = Interactions(sets, self.reading.vector, self.energy)
        return ClassFit(read_tables, shares, self.random("records")).advance(_STEPS)

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of the same sizes."""
        order = self.reading.sets.order
        if tables.shape[1] <= order:
            return self.reading.tables(tables)
        shape = self.reading.sets.shape(tables)
        check_cells(shape[1:])
        cells = np.stack([self._large(row) for row in tables])
        return cells.reshape(len(tables), -1)

    def _large(self, table: Ints) -> Floats:
        sizes = self.reading.sets.shape(table[None, :])[1:]
        cells = self.classes.tables(table[None, :]).reshape(sizes)
        goals = [
            self.reading.tables(table[None, list(axes)]).reshape(
                [size if i in axes else 1 for i, size in enumerate(sizes)]
            )
            for axes in combinations(range(len(sizes)), self.reading.sets.order)
        ]
        return proportions(fit_proportionally(cells, goals).ravel())

    def draw(self, people: int, random: np.random.Generator) -> list[Ints]:
        """Draw records, as the codes of each attribute, from the classes."""
        classes = self.classes
        kinds = random.choice(len(classes.shares), people, p=classes.shares)
        shares = (proportions(classes.of(attribute)) for attribute in range(len(classes.sizes)))
        return [draw(each, kinds, random) for each in shares]


@dataclass(frozen=True, eq=False)
class MixedTables(ProcessedTables):
    """Tables of a model of attributes of any sizes; error bars are those of its posterior."""

    reading: Reading
    measured: Interactions

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        return "posterior" if size <= self.reading.sets.order else "none"

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""
        assert self.model is not None
        return Tables(self.model.tables(tables), self.measured.knows(tables), {})

    def variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell; infinite where none is known."""
        is_known = self.measured.knows(tables)
        if self.interval_kind(tables.shape[1]) == "none":
            return np.full((len(tables), prod(self.reading.sets.shape(tables)[1:])), np.inf)
        variances: Floats = self.reading.cell_variances(tables)
        variances[~is_known] = np.inf
        return variances

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells; infinite variances where none is known."""
        cells = prod(self.reading.sets.shape(tables)[1:])
        refuse_covariance(cells)
        if self.interval_kind(tables.shape[1]) == "none":
            return unknown_covariance(cells, len(tables))
        covariances = self.reading.cell_covariances(tables)
        return mark_unknown(covariances, ~self.measured.knows(tables)[:, None])


@dataclass(frozen=True, eq=False)
class _Centre:
    """Classes that halves agree about: after how many steps, and how much they count for."""

    steps: int
    part: float
    vectors: tuple[Floats, Floats]
    """What is read of the halves."""


def fit_mixed(
    measured: Interactions,
    halves: tuple[Interactions, Interactions],
    joint: Sequence[Floats] | None,
    random: Random,
) -> MixedTables:
    """Return the tables of a model of what was measured, and how well it fits.

    ``joint`` are the halves' joint tables, which the model is compared with, if there was time for them.
    """
    centre = _choose(halves, random)
    reading = read(measured)
    if centre.part:
        classes = _fit_of(measured, reading, random).advance(round(_LATER * centre.steps))
        other = read(measured, classes, reading).vector
        vector = reading.vector + centre.part * (other - reading.vector)
        reading = replace(reading, vector=vector)
    reading = replace(reading, vector=without_negative_cells(reading))
    name = f"{CLASSES} classes of people" if centre.part else "independent attributes"
    name += ", and departures from them that are surer than their noise"
    verdict = _verdict(name, centre, halves, joint)
    return MixedTables(
        "model", verdict, MixedModel(reading, measured.energy, random), reading, measured
    )


def _fit_of(measured: Interactions, reading: Reading, random: Random) -> ClassFit:
    return ClassFit(measured, [each.shares for each in reading.margins], random("classes"))


def _choose(measured: tuple[Interactions, Interactions], random: Random) -> _Centre:
    """Return after how many steps classes tell most about the other half, and how much of it."""
    both = [read(half) for half in measured]
    best = _Centre(0, 0.0, (both[0].vector, both[1].vector))
    if measured[0].sets.order < 2:
        return best
    fits = [_fit_of(half, reading, random) for half, reading in zip(measured, both, strict=True)]
    most, before, patience = 0.0, 0, _PATIENCE
    for stop in _STOPS:
        classes = [fit.advance(stop - before) for fit in fits]
        before = stop
        beyond = [
            read(half, own, reading).vector - reading.vector
            for half, own, reading in zip(measured, classes, both, strict=True)
        ]
        size = toward = 0.0
        for way, reading, judge in zip(beyond, both, measured[::-1], strict=True):
            size += judge.product(way, way)
            toward += judge.product(way, judge.vector - reading.vector)
        if not size > 0:
            break
        part = min(1.0, max(0.0, toward / size - _SURELY / sqrt(size)))
        gain = part * (2 * toward - part * size)
        if gain > most:
            ends = [r.vector + part * way for r, way in zip(both, beyond, strict=True)]
            best, most, patience = _Centre(stop, part, (ends[0], ends[1])), gain, _PATIENCE
        elif (patience := patience - 1) == 0:
            break
    return best


def _verdict(
    name: str,
    centre: _Centre,
    measured: tuple[Interactions, Interactions],
    joint: Sequence[Floats] | None,
) -> Fit:
    """Return how the halves' fits did, beside joint tables."""
    sets = measured[0].sets
    fits = sets.contrasts(centre.vectors[0]), sets.contrasts(centre.vectors[1])
    theirs = fits if joint is None else (sets.contrasts(joint[0]), sets.contrasts(joint[1]))
    judges = Judges(measured, np.arange(len(fits[0])), theirs)
    verdict = judges.verdict(name, centre.steps, fits)
    return verdict if joint is not None else replace(verdict, joint=None)
