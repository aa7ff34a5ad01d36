"""A release: every table of up to k attributes that a tally supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.odds import is_possible
from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import Decoder, decoder_of
from deniable.decoding.evidence import CoefficientEvidence, Evidence, Tables
from deniable.design.reading import Strengths
from deniable.errors import TableError, TallyError
from deniable.questionnaire.wording import Wording
from deniable.release.consistency import METHODS, Request, method_named
from deniable.release.estimate import chunks_alike
from deniable.release.halves import generator
from deniable.release.judging import Fit
from deniable.release.marginal import Chunk, Errors, Table
from deniable.release.model import Distribution
from deniable.release.numbers.fit import NumberFit
from deniable.release.population import Population
from deniable.release.processed import ProcessedTables
from deniable.release.unknown import BY_DESIGN, SO_FAR, asked_by_design
from deniable.survey.checks import MOST_ORDER
from deniable.survey.coefficients import Floats, Ints, Shared, all_tables

if TYPE_CHECKING:
    from deniable.release.numbers.forms import Forms
    from deniable.release.pooled import Pooling

_MOST_CELLS = 1 << 20
"""About how many cells are held at a time where tables are made one by one."""


def _batches(sizes: Sequence[int], tables: Ints) -> Iterator[Ints]:
    """Yield tables in turn, so many at a time that their cells fit into memory."""
    if not len(tables):
        return
    batch = np.array(sizes, float)[tables].prod(axis=1).cumsum() // _MOST_CELLS
    yield from np.split(tables, np.flatnonzero(np.diff(batch)) + 1)


def _overlap(one: TallyCounts, other: TallyCounts) -> bool:
    """Tell whether two tallies surely hold the same reports.

    Groups of one file have the same source, and so do sums of groups: with labels, sources tell nothing.
    """
    if one.survey.id != other.survey.id:
        return False
    same = bool(one.sources & other.sources) and not one.survey.labels
    return same or one.count is other.count or one.copies(other)


class ReleasedTables:
    """What a tally tells, as tables with error bars.

    ``consistency`` says what is asked to be done to the estimates: "none" leaves them unbiased;
    "joint" makes all tables non-negative and agree; "model" fits one to all attributes together,
    which also answers tables above the survey's order; "auto" is the first of model, joint and none
    that these estimates allow. ``applied`` says what was done: a model that fits worse than joint
    tables gives way to them, and ``fit`` states how well it does.
    ``estimator`` is one of the decoder's, by default its first (that is unbiased, if processed).
    ``group`` are the labels that all people share, where only theirs are counted.
    """

    table_type: type[Table] = Table

    population: Population | None = None
    """The known population that all tables were adjusted to, where they were."""

    remarks: tuple[str, ...] = ()
    """What became of values that were not as declared, where a simulation saw them."""

    wording: Wording | None = None
    """The survey's words in the language of those who read its tables, where they were given."""

    def __init__(
        self, tally: TallyCounts, consistency: str = "none", estimator: str | None = None
    ) -> None:
        method = method_named(consistency)
        tally.check_size()
        if not tally.people:
            raise TallyError("The tally is empty: nothing can be released from no reports.")
        self.survey, self.group = tally.survey, tally.group
        self.people, self.simulated = tally.people, tally.simulated
        self.consistency = consistency
        if consistency != "none" and estimator is None:
            estimator = self.decoder.exact_estimator
        self.estimator = self.decoder.check_estimator(estimator)
        self.tallies: tuple[TallyCounts, ...] = (tally,)
        self.evidence = self._decode(self.estimator)
        """What the tally tells, before anything is done to it."""
        self._processing = method.process(self._request)

    @property
    def _request(self) -> Request:
        """Return what a method processes."""
        tally, numbers = self.tallies[0], lambda: self.number_fits
        return Request(self.survey, self.evidence, self.estimator, self.generator, tally, numbers)

    @cached_property
    def decoder(self) -> Decoder:
        """Return the decoder of the survey."""
        return decoder_of(self.survey)

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports, and to these slots."""
        return self.evidence.plausible and all(map(is_possible, self.tallies))

    def _decode(self, estimator: str) -> Evidence:
        tally = self.tallies[0]
        return self.decoder.decode(tally.slot, tally.value, tally.count, estimator)

    @property
    def exact_evidence(self) -> Evidence:
        """Return what the tally tells by the decoder's first unbiased estimator."""
        exact = self.decoder.exact_estimator
        return self.evidence if self.estimator == exact else self._decode(exact)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return random numbers that the survey, the tally and their purpose fix."""
        return generator(self.tallies[0], purpose)

    @property
    def strata(self) -> Mapping[str, float]:
        """Return the weights of the strata that were combined; none where it is one sample."""
        return {}

    @property
    def pooling(self) -> Pooling | None:
        """Return which surveys were pooled; none where it is a release of one."""
        return None

    @property
    def said_group(self) -> dict[str, str]:
        """Return the labels that all people share, values in the survey's words where it has some."""
        words = {} if self.wording is None else self.wording.label_values(self.survey.labels)
        return {name: words.get(name, {}).get(value, value) for name, value in self.group.items()}

    @property
    def surveys(self) -> str:
        """Return the survey that people answered, or the surveys, by the beginnings of their ids."""
        if self.pooling is None:
            return f"survey {self.survey.id[:8]}"
        return f"surveys {' and '.join(each.id[:8] for each in self.pooling.surveys)}"

    def asks(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether its survey asks for all that it needs, of however few people."""
        return asked_by_design(self.survey, tables)

    def why_unknown(self, table: Ints) -> str:
        """Say why a table that is not known (a row of sorted attributes) is not."""
        return SO_FAR if self.asks(table[None, :])[0] else BY_DESIGN

    def check_asked(self, attributes: Sequence[int]) -> None:
        """Refuse what cannot have been asked about these attributes together."""

    def needs_covariance(self, what: str) -> None:
        """Refuse estimates whose noise nobody knows."""
        if self.estimator not in self.decoder.unbiased:
            raise TableError(
                f"{what} takes estimates with a covariance, and {self.estimator!r} has none; use "
                f"tally.release(estimator={self.decoder.exact_estimator!r})."
            )

    def shares_people(self, other: ReleasedTables) -> bool:
        """Tell whether the same reports are behind this release and another, as far as can be seen."""
        return any(_overlap(a, b) for a in self.tallies for b in other.tallies)

    @property
    def applied(self) -> str:
        """Return what was done to the estimates: "none", "joint" or "model"."""
        return self._processing.applied if self._processing else "none"

    @property
    def fit(self) -> Fit | None:
        """Return how well the model fits, where one was asked for."""
        return self._processing.fit if self._processing else None

    @property
    def model(self) -> Distribution | None:
        """Return the joint distribution that was fitted, where a model was applied."""
        return self._processing.model if self._processing else None

    def with_consistency(self, consistency: str) -> Self:
        """Return the same tally's release with other post-processing, or this one."""
        if consistency == self.consistency:
            return self
        method = method_named(consistency)
        if consistency != "none" and self.estimator != self.decoder.exact_estimator:
            other = type(self)(self.tallies[0], consistency)
            other.wording = self.wording
            return other
        processing = method.process(self._request)
        other = copy(self)  # the same estimates, and numbers' fits: nothing is made again
        other.consistency, other._processing = consistency, processing
        return other

    @property
    def unprocessed(self) -> Self:
        """Return this release before anything was done to its estimates; nothing is decoded again."""
        if self._processing is None:
            return self
        release = copy(self)
        release.consistency, release._processing = "none", None
        return release

    @property
    def table_kind(self) -> str:
        """Return what the tables are: "unbiased", "joint", "modelled" or "likeliest"."""
        own_kind = "unbiased" if self.decoder.is_unbiased(self.estimator) else "likeliest"
        return METHODS[self.applied].table_kind or own_kind

    def estimate(self, tables: Ints) -> Tables:
        """Return the cells of several tables (sorted attributes, one row each) of the same sizes."""
        self._check_size(tables.shape[1])
        return self._processing.tables(tables) if self._processing else self.evidence.tables(tables)

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of the cells of each table; not a number where none is known."""
        if self._processing is None or self.interval_kind(tables.shape[1]) == "unprocessed":
            return self.evidence.cell_covariances(tables)
        return self._processing.covariances(tables)

    def variances(self, tables: Ints) -> Floats:
        """Return the variance of each cell of each table; not a number where none is known."""
        if self._processing is None or self.interval_kind(tables.shape[1]) == "unprocessed":
            return self.evidence.cell_variances(tables)
        return self._processing.variances(tables)

    def _check_size(self, size: int, subject: str = "") -> None:
        """Refuse a table of more attributes than this release answers."""
        order = self.survey.order
        if size <= order:
            return
        if self.model is not None:
            most = min(MOST_ORDER, len(self.survey.schema))
            if size > most:
                raise TableError(
                    f"A modelled table has at most {most} attributes here, got {size}."
                )
            return
        reason = "; the model that would answer it was rejected, as release.fit tells"
        why = "" if self.fit is None else reason
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
            is_asked = view.people[level] > 0
            columns = (view.theta, view.variance, view.gain)
            theta, noise, least = (column[level][is_asked] for column in columns)
            # Var θ̂ = A − S·θ², so the mean of θ̂² − A is (1 − S)·θ², known the better the smaller A.
            signal = float(((theta**2 - noise) / noise**2).sum())
            scale = float(((1 - least) / noise**2).sum())
            squares.append(min(1.0, max(0.0, signal / scale)) if scale > 0 else 0.0)
        return tuple(squares)

    @property
    def strengths(self) -> Strengths:
        """Return how concentrated margins are, and how strong dependence is: of mixed attributes.

        This is what a later survey of the same people can be designed for (`Survey(pilot=...)`).
        """
        from deniable.release.mixed.interactions import Sets, measure_interactions
        from deniable.release.mixed.reading import read

        numbers = {a: each.moments for a, each in self.number_fits.items()}
        sizes = [
            numbers[a].size if a in numbers else size
            for a, size in enumerate(self.survey.schema.sizes)
        ]
        sets = Sets(tuple(sizes), self.survey.order, numbers)
        measured = measure_interactions(
            self.reading_evidence if numbers else self.exact_evidence, sets
        )
        reading = read(measured)
        shares = tuple(each.shares for each in reading.margins)
        concentration = np.array([len(share) * float(share @ share) for share in shares])
        expected = Strengths.prior(sets.sizes, sets.order).departures
        departures = np.where(measured.measured, reading.strengths.clip(1e-9, None), expected)
        return Strengths(concentration, departures, shares)

    @cached_property
    def number_fits(self) -> Mapping[int, NumberFit]:
        """Return the fitted distribution of every number, by its position."""
        from deniable.release.numbers.tally import fits_of

        return fits_of(self.tallies[0])

    @cached_property
    def reading_evidence(self) -> Evidence:
        """Return the evidence, in which a few values stand for a number's moments."""
        from deniable.release.numbers.tally import by_moments

        return by_moments(self.evidence, self.survey, self.number_fits)

    @cached_property
    def forms(self) -> Forms:
        """Return what makes linear forms of the estimates, with exact covariances across tables."""
        from deniable.release.numbers.forms import Forms

        return Forms(self)

    @property
    def processing(self) -> ProcessedTables | None:
        """Return the estimates after processing, if they were processed."""
        return self._processing

    def marginal(self, *names: str, bins: Mapping[str, Sequence[object]] | None = None) -> Table:
        """Return the table of these attributes, its axes in the order asked for.

        ``bins`` cut numbers where the reader likes: {"age": [30, 50, 65]} at any points of its grid.
        """
        if not names:
            raise TableError("A table needs at least one attribute.")
        if any(isinstance(name, list | tuple) for name in names):
            raise TableError("Give a table's attributes one by one: marginal('a', 'b').")
        attributes = [self.survey.schema.index(name) for name in names]
        if len(set(attributes)) < len(attributes):
            raise TableError("A table cannot hold an attribute twice.")
        self._check_size(len(names), f"Marginal {names!r}")
        self.check_asked(attributes)
        if bins is not None:
            return self._cut(attributes, bins)
        ascending = sorted(attributes)
        order = [ascending.index(attribute) for attribute in attributes]
        return self._table(Chunk(self, np.array([ascending])), 0, order)

    def _cut(self, attributes: list[int], bins: Mapping[str, Sequence[object]]) -> Table:
        from deniable.release.numbers.cutting import cut_table

        if not isinstance(bins, Mapping):
            raise TableError("bins map numbers to lists of edges: {'age': [30, 50, 65]}.")
        kind, people, simulated = self.table_kind, self.people, self.simulated
        parts = cut_table(self, attributes, bins)
        return self.table_type(kind=kind, people=people, simulated=simulated, **parts)

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
        batches = _batches(self.survey.schema.sizes, every)
        return chain.from_iterable(map(self._tables, batches))

    def _tables(self, batch: Ints) -> Iterator[Table]:
        tables: dict[int, Table] = {}
        for rows, _ in chunks_alike(self.survey.kinds, self.survey.schema.sizes, batch):
            chunk = Chunk(self, batch[rows])
            order = range(batch.shape[1])
            tables |= {at: self._table(chunk, row, order) for row, at in enumerate(rows.tolist())}
        return (tables[at] for at in range(len(batch)))

    def _table(self, chunk: Chunk, row: int, order: Sequence[int]) -> Table:
        attributes = [self.survey.schema.attributes[i] for i in chunk.tables[row]]
        estimates, sizes = chunk.estimates, [attribute.size for attribute in attributes]
        axes = np.arange(prod(sizes)).reshape(sizes).transpose(order)
        is_known = bool(estimates.known[row])
        return self.table_type(
            tuple(attributes[i] for i in order),
            estimates.values[row][axes],
            Errors(chunk, row, axes, self.interval_kind(len(sizes)) if is_known else "none"),
            self.table_kind,
            is_known,
            self.people,
            self.simulated,
            {name: note[row].item() for name, note in estimates.notes.items()},
        )

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of so many attributes are."""
        if self._processing:
            return self._processing.interval_kind(size)
        return "normal" if self.decoder.is_unbiased(self.estimator) else "none"

    def sampling(self, tables: Ints) -> Floats:
        """Return the part of each cell's variance that comes from who was asked."""
        share = self.evidence.tables(tables).values.clip(0, 1)
        part: Floats = share * (1 - share) / self.people
        return part
