"""A release: every table of up to k attributes that a tally supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import Decoder, decoder_of
from deniable.decoding.evidence import CoefficientEvidence, Evidence, Tables
from deniable.errors import TableError, TallyError
from deniable.release.consistency import Request, method_named
from deniable.release.estimate import in_chunks
from deniable.release.fit import Fit
from deniable.release.halves import generator
from deniable.release.marginal import Errors, Table
from deniable.release.model import Distribution
from deniable.survey.checks import MOST_ORDER
from deniable.survey.coefficients import Ints, Shared, all_tables, same_sizes

_MOST_CELLS = 1 << 20
"""About how many cells are held at a time where tables are made one by one."""

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

    @cached_property
    def variances(self) -> Floats:
        return self._release.variances(self.tables)


class _TableErrors(Errors):
    """The errors of one table of a chunk, its cells at these numbers."""

    def __init__(
        self, release: Released, chunk: _Chunk, row: int, axes: NDArray[np.int64], known: bool
    ) -> None:
        self._release, self._chunk, self._row, self._axes = release, chunk, row, axes
        self.kind = release.interval_kind(axes.ndim) if known else "none"

    @property
    def _tables(self) -> Ints:
        return self._chunk.tables[self._row : self._row + 1]

    def covariance(self) -> Floats:
        numbers = self._axes.ravel()
        matrix: Floats = self._chunk.covariances[self._row][np.ix_(numbers, numbers)]
        return matrix

    def variance(self) -> Floats:
        cells: Floats = self._chunk.variances[self._row][self._axes]
        return cells

    def sampling(self) -> Floats:
        cells: Floats = self._release.sampling(self._tables)[0][self._axes]
        return cells

    @cached_property
    def centre(self) -> Floats | None:
        if self.kind != "unprocessed":
            return None
        cells: Floats = self._release.evidence.tables(self._tables).values[0][self._axes]
        return cells

    @property
    def plausible(self) -> bool:
        return self._release.plausible


def _together(sizes: Sequence[int], every: Ints) -> Iterator[Ints]:
    """Yield tables in turn, so many at a time that their cells fit into memory."""
    if not len(every):
        return
    cells = np.array(sizes, float)[every].prod(axis=1).cumsum() // _MOST_CELLS
    yield from np.split(every, np.flatnonzero(np.diff(cells)) + 1)


def _overlap(one: TallyCounts, other: TallyCounts) -> bool:
    """Tell whether two tallies surely hold the same reports.

    Groups of one file have the same source, and so do sums of groups: with labels, sources tell nothing.
    """
    if one.survey.id != other.survey.id:
        return False
    same = bool(one.sources & other.sources) and not one.survey.labels
    return same or one.count is other.count  # different people may be counted alike


class Released:
    """What a tally tells, as tables with error bars.

    ``consistency`` says what is asked to be done to the estimates: "none" leaves them unbiased;
    "joint" makes all tables non-negative and agree; "model" fits the flattest joint distribution,
    which also answers tables above the survey's order. ``applied`` says what was done: a model that
    fits worse than joint tables gives way to them, and ``fit`` states how well it does.
    ``estimator`` is one of the mechanism's, by default its first (that is unbiased, if processed).
    ``group`` are the labels that all people share, where only theirs are counted.
    """

    table_type: type[Table] = Table

    def __init__(
        self, counts: TallyCounts, consistency: str = "none", estimator: str | None = None
    ) -> None:
        method = method_named(consistency)
        if not counts.people:
            raise TallyError("The tally is empty: nothing can be released from no reports.")
        self.survey = counts.survey
        self.people, self.simulated = counts.people, counts.simulated
        self.group = counts.group
        self.consistency = consistency
        if consistency != "none" and estimator is None:
            estimator = self.decoder.exact_estimator
        self.estimator = self.decoder.check_estimator(estimator)
        self._counts, self._evidence = counts, self._decode(counts, self.estimator)
        self.tallies: tuple[TallyCounts, ...] = (counts,)
        self._processed = method.process(
            Request(self.survey, self._evidence, self.estimator, self.generator, counts)
        )

    @cached_property
    def decoder(self) -> Decoder:
        """Return the decoder of the survey."""
        return decoder_of(self.survey)

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports."""
        return self._evidence.plausible

    def _decode(self, counts: TallyCounts, estimator: str) -> Evidence:
        return self.decoder.decode(counts.slot, counts.value, counts.count, estimator)

    @property
    def evidence(self) -> Evidence:
        """Return what the tally tells, before anything is done to it."""
        return self._evidence

    @property
    def exact_evidence(self) -> Evidence:
        """Return what the tally tells by the mechanism's first unbiased estimator."""
        exact = self.decoder.exact_estimator
        return self._evidence if self.estimator == exact else self._decode(self._counts, exact)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return random numbers that the survey, the tally and their purpose fix."""
        return generator(self._counts, purpose)

    @property
    def strata(self) -> Mapping[str, float]:
        """Return the weights of the strata that were combined; none where it is one sample."""
        return {}

    def needs_covariance(self, what: str) -> None:
        """Refuse estimates whose noise nobody knows."""
        if self.estimator not in self.decoder.unbiased:
            raise TableError(
                f"{what} takes estimates with a covariance, and {self.estimator!r} has none; use "
                f"tally.release(estimator={self.decoder.exact_estimator!r})."
            )

    def shares_people(self, other: Released) -> bool:
        """Tell whether the same reports are behind this release and another, as far as can be seen."""
        return any(_overlap(a, b) for a in self.tallies for b in other.tallies)

    @property
    def applied(self) -> str:
        """Return what was done to the estimates: "none", "joint" or "model"."""
        return self._processed.applied if self._processed else "none"

    @property
    def fit(self) -> Fit | None:
        """Return how well the model fits, where one was asked for."""
        return self._processed.fit if self._processed else None

    @property
    def model(self) -> Distribution | None:
        """Return the joint distribution that was fitted, where a model was applied."""
        return self._processed.model if self._processed else None

    def with_consistency(self, consistency: str) -> Self:
        """Return the same tally's release with other post-processing, or this one."""
        if consistency == self.consistency:
            return self
        return type(self)(
            self._counts, consistency, self.estimator if consistency == "none" else None
        )

    def estimate(self, tables: Ints) -> Tables:
        """Return the cells of several tables (sorted attributes, one row each) of the same sizes."""
        self._check_size(tables.shape[1])
        return self._processed.tables(tables) if self._processed else self._evidence.tables(tables)

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the cells of each table; not a number where none is known."""
        if (
            self._processed is None
            or self._processed.interval_kind(tables.shape[1]) == "unprocessed"
        ):
            return self._evidence.cell_covariances(tables)
        return self._processed.covariances(tables)

    def variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell of each table; not a number where none is known."""
        if (
            self._processed is None
            or self._processed.interval_kind(tables.shape[1]) == "unprocessed"
        ):
            return self._evidence.cell_variances(tables)
        variances: Floats = np.einsum("rii->ri", self.covariances(tables))
        return variances

    def _check_size(self, size: int, subject: str = "") -> None:
        """Refuse a table of more attributes than this release answers."""
        order = self.survey.order
        if size <= order:
            return
        if self.model is not None:
            if size > min(MOST_ORDER, len(self.survey.schema)):
                raise TableError(
                    f"A modelled table has at most {min(MOST_ORDER, len(self.survey.schema))} "
                    f"attributes here, got {size}."
                )
            return
        why = (
            "; the model that would answer it was rejected, as release.fit tells"
            if self.fit is not None
            else ""
        )
        raise TableError(
            f"{subject or f'A table of {size} attributes'} needs order {size}; "
            f"this survey collected order {order}{why}."
        )

    @property
    def squares(self) -> tuple[float, ...]:
        """Return the mean θ² of coefficients of 1, 2, … k attributes, without what noise adds.

        This is what a later survey of the same people can be planned with (`plan(pilot=...)`).
        """
        evidence = self.exact_evidence
        if not isinstance(evidence, CoefficientEvidence):
            raise TableError(
                f"{self.survey.mechanism} does not tell about coefficients where attributes have more "
                "than two values; take a release of Subspace, InpHT or InpES as a pilot."
            )
        assert isinstance(evidence.numbering, Shared)
        view, squares = evidence.overview, []
        for size in range(1, self.survey.order + 1):
            level = evidence.numbering.level(size)
            asked = view.people[level] > 0
            theta, noise, least = (
                column[level][asked] for column in (view.theta, view.variance, view.gain)
            )
            # Var θ̂ = A − S·θ², so the mean of θ̂² − A is (1 − S)·θ², known the better the smaller A.
            signal = float(((theta**2 - noise) / noise**2).sum())
            scale = float(((1 - least) / noise**2).sum())
            squares.append(min(1.0, max(0.0, signal / scale)) if scale > 0 else 0.0)
        return tuple(squares)

    def marginal(self, *names: str) -> Table:
        """Return the table of these attributes, its axes in the order asked for."""
        if not names:
            raise TableError("A table needs at least one attribute.")
        if any(isinstance(name, list | tuple) for name in names):
            raise TableError("Give a table's attributes one by one: marginal('a', 'b').")
        wanted = [self.survey.schema.index(name) for name in names]
        if len(set(wanted)) < len(wanted):
            raise TableError("A table cannot hold an attribute twice.")
        self._check_size(len(names), f"Marginal {names!r}")
        chunk = _Chunk(self, np.array([sorted(wanted)]))
        order = tuple(sorted(wanted).index(attribute) for attribute in wanted)
        return self._table(chunk, 0, order)

    def marginals(self, order: int | None = None) -> Sequence[Table]:
        """Return all tables of ``order`` attributes (by default, of the survey's order)."""
        return list(self.each_marginal(order))

    def each_marginal(self, order: int | None = None) -> Iterator[Table]:
        """Yield all tables of ``order`` attributes one by one, holding only some at a time."""
        size = self.survey.order if order is None else order
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise TableError(f"order must be a whole number from 1, got {size!r}.")
        self._check_size(size)
        every = all_tables(len(self.survey.schema), size)
        return (table for part in _together(self.survey.schema.sizes, every)
                for table in self._tables(part))  # fmt: skip

    def _tables(self, every: Ints) -> Iterator[Table]:
        sizes, tables = self.survey.schema.sizes, dict[int, Table]()
        for together in same_sizes(self.survey.kinds, every):
            cells = prod(sizes[attribute] for attribute in every[together[0]])
            for rows in in_chunks(together, cells):
                chunk = _Chunk(self, every[rows])
                tables |= {at: self._table(chunk, row) for row, at in enumerate(rows.tolist())}
        return (tables[at] for at in range(len(every)))

    def _table(self, chunk: _Chunk, row: int, order: tuple[int, ...] | None = None) -> Table:
        attributes, estimates = chunk.tables[row], chunk.estimates
        order = tuple(range(len(attributes))) if order is None else order
        sizes = [self.survey.schema.sizes[attribute] for attribute in attributes]
        axes = np.arange(prod(sizes)).reshape(sizes).transpose(order)
        known = bool(estimates.known[row])
        kind = "unbiased" if self.decoder.is_unbiased(self.estimator) else "likeliest"
        return self.table_type(
            tuple(self.survey.schema.attributes[attributes[i]] for i in order),
            estimates.values[row][axes],
            _TableErrors(self, chunk, row, axes, known),
            self._processed.kind if self._processed else kind,
            known,
            self.people,
            self.simulated,
            {name: note[row].item() for name, note in estimates.notes.items()},
        )

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of so many attributes are."""
        if self._processed:
            return self._processed.interval_kind(size)
        return "normal" if self.decoder.is_unbiased(self.estimator) else "none"

    def sampling(self, tables: Ints) -> Floats:
        """Return the part of each cell's variance that comes from who was asked."""
        share = self._evidence.tables(tables).values.clip(0, 1)
        part: Floats = share * (1 - share) / self.people
        return part
