"""A table with error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.decoding.evidence import MOSTLY_NOISE, expected_tv
from deniable.errors import TableError
from deniable.formats.markup import frame_text
from deniable.numeric.axes import centred
from deniable.numeric.levels import normal_reach
from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

    from deniable.questionnaire.wording import Wording
    from deniable.release.release import ReleasedTables

IMPLAUSIBLE = "No people can have given these reports: some lie, or the tally is damaged."


class Chunk:
    """Some tables of one size, whose covariances are computed together when one is needed."""

    def __init__(self, release: ReleasedTables, tables: Ints) -> None:
        self.release, self.tables = release, tables
        self.estimates = release.estimate(tables)

    @cached_property
    def covariances(self) -> Floats:
        """Return the covariance of each table's cells."""
        return self.release.covariances(self.tables)

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each table's cells; large tables have these, but no covariance."""
        return self.release.variances(self.tables)

    @cached_property
    def centres(self) -> Floats:
        """Return each table before it was processed."""
        return self.release.evidence.tables(self.tables).values


class Errors:
    """The error model of a table: how far its cells, which have these numbers in a chunk, may be off.

    ``kind`` says what its covariance and intervals are: "normal" (exact, of an unbiased estimate),
    "delta" (of unbiased estimates that are weighted to a known population, by the delta method),
    "bootstrap" (the noise drawn anew and processed anew; a bias that a model has is not in it),
    "posterior" (of a model of attributes of any sizes: how far the truth may be from it, by the
    strengths of margins and departures that were estimated from all tables; a bias that the model has
    is not in it), "unprocessed" (of the unbiased estimate that the table was made from) or "none". All
    arrays have one axis per attribute, as the table has.
    """

    def __init__(self, chunk: Chunk, row: int, axes: Ints, kind: str) -> None:
        self._chunk, self._row, self._axes, self.kind = chunk, row, axes, kind
        self._release, self._tables = chunk.release, chunk.tables[row : row + 1]

    def covariance(self) -> Floats:
        """Return the covariance of the cells in C order."""
        numbers = self._axes.ravel()
        matrix: Floats = self._chunk.covariances[self._row][np.ix_(numbers, numbers)]
        return matrix

    def variance(self) -> Floats:
        """Return the variance of each cell."""
        cells: Floats = self._chunk.variances[self._row][self._axes]
        return cells

    def sampling(self) -> Floats:
        """Return the part of each cell's variance that comes from who was asked."""
        cells: Floats = self._release.sampling(self._tables)[0][self._axes]
        return cells

    @cached_property
    def centre(self) -> Floats | None:
        """Return the estimate that intervals are about, where it is not the table's own values."""
        if self.kind != "unprocessed":
            return None
        cells: Floats = self._chunk.centres[self._row][self._axes]
        return cells

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given the reports behind the whole release."""
        return self._release.plausible

    @cached_property
    def unknown(self) -> str:
        """Return why the table is not known, if it is not."""
        return self._release.why_unknown(self._tables[0])

    @property
    def wording(self) -> Wording | None:
        """Return the survey's words, where the release has them."""
        return self._release.wording


def uneven_reach(shares: Floats, error: Floats, factor: float) -> Floats:
    """Return how far above these shares the truth may be, at so many standard errors.

    Processing leaves the less of a cell's noise the smaller the cell is, so where one comes out too
    small, its error does too. It is taken to grow from there, its square in proportion to share + error:
    the reach x solves x² = factor²·error²·(share + x + error)/(share + error).
    """
    square = (factor * error) ** 2
    half = np.divide(square, 2 * (shares + error), out=np.zeros_like(square), where=error > 0)
    reach: Floats = half + np.sqrt(half**2 + square)
    return reach


def possible_shares(raw: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return shares at the nearest that there can be, and the ends of intervals that hold these."""
    estimate = raw.clip(0, 1)
    return estimate, np.fmin(low, estimate), np.fmax(high, estimate)


def cell_frame(attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Return a row per cell of a table of these attributes, in C order: the attributes' values."""
    import pandas as pd

    rows = list(product(*(attribute.values for attribute in attributes)))
    return pd.DataFrame(rows, columns=[attribute.name for attribute in attributes])


@dataclass(frozen=True, eq=False)
class Table:
    """The estimated joint distribution of some attributes.

    ``values`` has one axis per attribute, in the order asked for, and is unclipped: an unbiased
    estimate of a small share may be negative. ``known`` is False where a coefficient that the table
    needs was never asked. ``notes`` says how a decoder ended, where there is something to say.

    ``kind`` says what the table is: "unbiased", "joint" (made consistent), "modelled", "likeliest" (by
    expectation maximisation), or "adjusted" to a known population, perhaps "through the model".
    """

    attributes: tuple[Attribute, ...]
    values: Floats
    errors: Errors = field(repr=False)
    kind: str = "unbiased"
    known: bool = True
    people: int = 0
    simulated: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        flags = "" if self.known else ", not known"
        flags += "" if self.plausible else ", IMPLAUSIBLE"
        flags += ", SIMULATED" if self.simulated else ""
        return (
            f"<{type(self).__name__} {' × '.join(self.names)}: {self.people:,} people, "
            f"{self.kind}{flags}>\n{frame_text(self._cells())}"
        )

    def _cells(self) -> pd.DataFrame:
        """Return the estimates without error bars, which may take a while."""
        return cell_frame(self.attributes).assign(estimate=self.values.clip(0, 1).ravel())

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given the reports behind the whole release."""
        return self.errors.plausible

    @property
    def names(self) -> tuple[str, ...]:
        """Return the attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def unknown(self) -> str:
        """Return why the table is not known; nothing where it is."""
        return "" if self.known else self.errors.unknown

    @property
    def interval_kind(self) -> str:
        """Return what its covariance and intervals are; see `Errors`."""
        return self.errors.kind

    @cached_property
    def covariance(self) -> Floats:
        """Return the covariance of the cells in C order, for the population people came from."""
        return self.errors.covariance()

    @cached_property
    def standard_error(self) -> Floats:
        """Return the standard error of each cell; large tables have these, but no covariance."""
        error: Floats = np.sqrt(self.errors.variance().clip(0, None))
        return error

    @cached_property
    def expected_error(self) -> float | None:
        """Return the share of people that the table is expected to put into the wrong cell.

        It follows from the standard errors; None where there are none.
        """
        if not self.known or self.interval_kind == "none":
            return None
        error = float(expected_tv(self.standard_error.ravel() ** 2))
        return error if isfinite(error) else None

    @property
    def is_swamped(self) -> bool:
        """Tell whether the table is mostly noise: more than half of the people in the wrong cell."""
        error = self.expected_error
        return error is not None and error > MOSTLY_NOISE

    @property
    def unprocessed(self) -> Floats:
        """Return the estimate that intervals are about, where it is not the table's own values."""
        centre = self.errors.centre if self.known else None
        return self.values if centre is None else centre

    @property
    def interaction(self) -> Floats:
        """Return the pure interaction of all attributes: what no smaller table tells.

        It sums to 0 along every axis. The table is the sum of the interactions of all sets of its
        attributes, each divided evenly among the others' values, and of the uniform table.
        """
        return centred(self.values, range(self.values.ndim))

    def interval(self, level: float = 0.95, *, of: str = "population") -> Floats:
        """Return lower and upper ends, stacked, of intervals that cover each cell at this level.

        ``of="population"`` covers the population that people were drawn from (sampling and privacy
        noise); ``of="people"`` covers the share among exactly these people (privacy noise only).
        Neither covers non-response, or people who lie to their own device. Intervals of processed
        tables are those of the population, stay within 0 and 1, and hold the table's own value; 0 to 1
        where nothing is known. Those of a bootstrap reach further towards ½ (`uneven_reach`).
        """

        factor = normal_reach(level)
        if of not in ("population", "people"):
            raise TableError(f'An interval is of the "population" or of the "people", got {of!r}.')
        error = self.standard_error
        if of == "people":
            if self.kind != "unbiased":
                raise TableError(
                    f"Only unbiased tables have intervals of the people; this is {self.kind}."
                )
            error = np.sqrt((error**2 - self.errors.sampling()).clip(0, None))
        if self.kind == "unbiased":
            return np.stack((self.values - factor * error, self.values + factor * error))
        if not np.isfinite(error).all():
            return np.stack((np.zeros_like(error), np.ones_like(error)))
        # Nobody's share is beyond 0 to 1, and what is moved there is nearer to any of them.
        centre, down, up = self.unprocessed.clip(0, 1), factor * error, factor * error
        if self.interval_kind == "bootstrap":
            down, up = uneven_reach(1 - centre, error, factor), uneven_reach(centre, error, factor)
        low = np.minimum(centre - down, self.values).clip(0, 1)
        high = np.maximum(centre + up, self.values).clip(0, 1)
        return np.stack((low, high))

    @property
    def wording(self) -> Wording | None:
        """Return the survey's words, where the release has them."""
        return self.errors.wording

    def shown_values(self, labels: bool = True) -> list[list[Any]]:
        """Return the values of each attribute, or with ``labels`` what people read instead."""
        if not labels:
            return [list(attribute.values) for attribute in self.attributes]
        if self.wording is None:
            raise TableError(
                "This release has no labels; release.worded(texts) has those of the survey's texts."
            )
        return [self.wording.shown(attribute) for attribute in self.attributes]

    def to_frame(self, level: float = 0.95, *, labels: bool = False) -> Any:
        """Return a pandas frame: a row per cell with its estimate, error and interval.

        An ``estimate`` is a share that there can be; ``raw`` is the table's own value, which may be
        beyond 0 to 1. With ``labels`` its values are as people were asked, in the language of the
        release (see `Release.worded`). Its ``attrs`` say what the table and its intervals are.
        """
        frame = cell_frame(self.attributes)
        if labels:
            rows = list(product(*self.shown_values()))
            for axis, name in enumerate(self.names):
                frame[name] = [row[axis] for row in rows]
        estimate, low, high = possible_shares(self.values, *self.interval(level))
        frame.attrs.update(
            kind=self.kind,
            interval_kind=self.interval_kind,
            level=level,
            known=self.known,
            plausible=self.plausible,
        )
        return frame.assign(
            estimate=estimate.ravel(),
            standard_error=self.standard_error.ravel(),
            low=low.ravel(),
            high=high.ravel(),
            raw=self.values.ravel(),
        )
