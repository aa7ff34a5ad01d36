"""Decoders: what a tally tells about tables, by the way in which its survey is answered.

`decoder_of` looks at the templates alone: cells of attributes with many values, bits of codes, or
coefficients. No decoder knows who designed the survey.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import comb
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.bits import EMEvidence, InverseEvidence
from deniable.decoding.cell_forms import TableReports
from deniable.decoding.cells import CellEvidence
from deniable.decoding.evidence import CellErrors, Evidence
from deniable.decoding.reports import CountedReports, SlotReports, TallyRows
from deniable.decoding.scores import scoring
from deniable.decoding.slot_evidence import Scores, SlotEvidence
from deniable.decoding.symmetric import SymmetricErrors
from deniable.decoding.thresholds import cut_moments, cut_sums
from deniable.errors import SurveyError, TableError
from deniable.formats.forms import limit
from deniable.questions.answers import Bitwise, Subset
from deniable.questions.thresholds import Thresholds
from deniable.survey.checks import asked_attributes
from deniable.survey.coefficients import (
    Ints,
    Listed,
    Numbering,
    PerTable,
    Shared,
    all_tables,
    hadamard,
)
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template, pairs_among, swapped

Estimator = Literal["pooled", "unpooled", "em", "inverse"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
"""All estimators: coefficients pooled over tables or not; EM, or the inverse of the noise."""


class Reports(NamedTuple):
    """A template, some of its slots, who reported, and for what (None: not known)."""

    template: int
    slots: Ints
    people: NDArray[Any]
    supports: NDArray[Any] | None
    rows: TallyRows | None = None
    """The reports themselves, where they are sets of symbols."""

    def among(self, some: NDArray[np.bool_]) -> Reports:
        """Return the reports of some of the slots."""
        if some.all():
            return self
        supports = None if self.supports is None else self.supports[some]
        rows = None if self.rows is None else self.rows.among(some)
        return Reports(self.template, self.slots[some], self.people[some], supports, rows)


class Holding(NamedTuple):
    """The share of reports that hold a coefficient, and their scores' second moment and size."""

    share: float
    moment: float
    largest: float


class Decoder(ABC):
    """A decoder of one survey."""

    unbiased: ClassVar[tuple[Estimator, ...]] = ("pooled", "unpooled")
    """The estimators that are unbiased, with a known covariance."""

    def __init__(self, survey: FrozenSurvey) -> None:
        self.survey = survey

    @cached_property
    def estimators(self) -> tuple[Estimator, ...]:
        """Return the estimators on offer, the default first."""
        order, templates = self.survey.order, self.survey.templates
        is_by_table = all(template.attributes == order for template in templates)
        if is_by_table and not self.survey.index.is_weighted:
            return ("pooled", "unpooled")
        return ("pooled",)

    def check_estimator(self, estimator: str | None) -> Estimator:
        """Return the estimator's name, the default one for None."""
        if estimator is None:
            return self.estimators[0]
        for name in self.estimators:
            if name == estimator:
                return name
        raise SurveyError(
            f"{self.survey.mechanism} has no estimator {estimator!r}; it has "
            f"{', '.join(self.estimators)}."
        )

    @property
    def exact_estimator(self) -> Estimator:
        """Return the first estimator that is unbiased."""
        return next(name for name in self.estimators if name in self.unbiased)

    def is_unbiased(self, estimator: str | None) -> bool:
        """Tell whether an estimator is unbiased, with a known covariance."""
        return self.check_estimator(estimator) in self.unbiased

    @abstractmethod
    def decode(
        self, slot: Ints, value: Ints, count: Ints, estimator: str | None = None
    ) -> Evidence:
        """Return what a tally (sorted by slot) tells about every table of up to k attributes."""

    @abstractmethod
    def expected(self, people: float, estimator: str | None = None) -> CellErrors:
        """Return the variances to expect of a tally with every slot used as often as expected."""

    @abstractmethod
    def precision(self, level: int, estimator: str | None = None, square: float = 0.0) -> float:
        """Return 1/(N·Var θ̂_α) for a coefficient of ``level`` attributes with this θ²."""

    def numbering(self, estimator: str | None = None) -> Numbering:
        """Return how an estimator numbers its coefficients."""
        survey = self.survey
        d, k, counts = len(survey.schema), survey.order, [each.count for each in survey.lists]
        attributes = asked_attributes(survey)
        numbering: Numbering
        if self.check_estimator(estimator) == "unpooled":
            numbering = PerTable(d, k, counts)
        elif len(attributes) < d:
            numbering = Listed(d, k, attributes, counts)
        else:
            numbering = Shared(d, k, counts)
        if numbering.size > limit("coefficients"):
            raise TableError(
                f"All tables of {k} of {d} attributes need {numbering.size:,} coefficients; "
                f"{limit('coefficients'):,} is the limit, so lower the order."
            )
        return numbering


class InclusionDecoder(Decoder):
    """A decoder of answers by subset or unary: they speak for some symbols more than for others."""

    @abstractmethod
    def evidence(self, estimator: Estimator, reports: Sequence[Reports]) -> Evidence:
        """Return the evidence of slots."""

    def decode(
        self, slot: Ints, value: Ints, count: Ints, estimator: str | None = None
    ) -> Evidence:
        """Return what a tally tells: first how often its reports speak for each symbol."""
        reports: list[Reports] = []
        for index, template in enumerate(self.survey.templates):
            low, high = np.searchsorted(slot, self.survey.index.starts[index : index + 2])
            if low == high:
                continue
            present, row = np.unique(slot[low:high], return_inverse=True)
            values, counts, answer = value[low:high], count[low:high], scoring(template).answer
            supports, people = answer.count(len(present), row, values, counts)
            rows = TallyRows(row, values, counts) if isinstance(answer, Subset) else None
            reports.append(Reports(index, present, people, supports, rows))
        return self.evidence(self.check_estimator(estimator), reports)

    def expected(self, people: float, estimator: str | None = None) -> CellErrors:
        """Return the variances to expect."""
        estimator_name = self.check_estimator(estimator)
        if estimator_name != "unpooled" and is_symmetric(self.survey):
            return self._expected_by_size(people)
        index, reports = self.survey.index, list[Reports]()
        for template, (start, stop) in enumerate(zip(index.starts, index.starts[1:], strict=False)):
            slots = np.arange(start, stop)
            each = np.broadcast_to(people * index.chances(template), len(slots))
            reports.append(Reports(template, slots, each, None))
        return self.evidence(estimator_name, reports)

    def _expected_by_size(self, people: float) -> SymmetricErrors:
        """Return what to expect without listing slots, which may be too many."""
        d, k = len(self.survey.schema), self.survey.order
        cross, share = np.zeros((2, k + 1, k + 1, k + 1))
        weight = np.zeros(k + 1)
        for index, template in enumerate(self.survey.templates):
            score = scoring(template)
            reports = people * self.survey.index.chance(index)
            together = reports * template.pairs_of(k) / score.moment**2
            cross += score.cross * together
            share += together
            members = [reports * template.members_of(level) for level in range(1, k + 1)]
            weight[1:] += np.array(members) / score.moment
        for sizes in np.argwhere(share).tolist():
            among = pairs_among(d, *sizes)
            cross[tuple(sizes)] /= among
            share[tuple(sizes)] /= among
        subsets = np.array([comb(d, level) for level in range(k + 1)], float)
        return SymmetricErrors(cross, share, weight / subsets)

    def holdings(self, level: int, estimator: str | None = None) -> list[Holding]:
        """Return, by template, how a coefficient of ``level`` attributes is held, on average."""
        d, k = len(self.survey.schema), self.survey.order
        pooled = self.check_estimator(estimator) != "unpooled"
        among = comb(d, level) if pooled else comb(d, k) * comb(k, level)
        holdings = []
        for index, template in enumerate(self.survey.templates):
            score = scoring(template)
            share = self.survey.index.chance(index) * template.members_of(level) / among
            holdings.append(Holding(share, score.moment, score.largest))
        return holdings

    def precision(self, level: int, estimator: str | None = None, square: float = 0.0) -> float:
        """Return 1/(N·Var θ̂_α)."""
        holdings = self.holdings(level, estimator)
        weight = sum(h.share / h.moment for h in holdings)
        variance = sum(h.share * (h.moment - square) / h.moment**2 for h in holdings)
        return weight**2 / variance if variance else 0.0


class CoefficientDecoder(InclusionDecoder):
    """A decoder of parities, and of cells of yes/no attributes."""

    def evidence(self, estimator: Estimator, reports: Sequence[Reports]) -> SlotEvidence:
        """Return the evidence of slots about coefficients."""
        numbering = self.numbering(estimator)
        scores = [
            each
            for part in reports
            if np.bitwise_count(self.survey.templates[part.template].member_sets).min()
            <= self.survey.order
            for each in self.scores(part, numbering)
        ]
        return SlotEvidence(numbering, scores, self.survey.lists)

    def scores(self, reports: Reports, numbering: Numbering) -> Iterator[Scores]:
        """Yield what some slots of a template say about their coefficients."""
        template, survey = self.survey.templates[reports.template], self.survey
        sets, entries = survey.index.locate(reports.slots)
        is_cut = np.zeros(len(sets), np.bool_)
        if template.question_counts == (2,):
            kinds = [isinstance(each, Thresholds) for each in survey.lists]
            is_cut = np.array(kinds)[sets[:, 0]]
        if not is_cut.all():
            yield self._parities(reports.among(~is_cut), sets[~is_cut], entries[~is_cut], numbering)
        for attribute in np.unique(sets[is_cut]):  # three cuts at once, of one number each
            rows = is_cut & (sets[:, 0] == attribute)
            yield self._cuts(reports.among(rows), sets[rows], entries[rows, 0], numbering)

    def _cuts(self, reports: Reports, sets: Ints, entries: Ints, numbering: Numbering) -> Scores:
        """Return what reports about three cuts of a number say about each of them."""
        score = scoring(self.survey.templates[reports.template])
        own = self.survey.lists[sets[0, 0]]
        assert isinstance(own, Thresholds)
        cuts = own.triples(entries) + own.steps * own.passes(entries)[:, None]
        people = reports.people.astype(np.float64)
        sums = np.zeros(cuts.shape)
        if reports.supports is not None:
            sums = cut_sums(reports.supports.astype(np.float64), people, score.law)
        return Scores(
            np.stack([numbering.of_question(sets, 1, each[:, None]) for each in cuts.T], axis=1),
            np.ones(3, np.int64),
            people,
            sums,
            cut_moments(score.law),
            0.0,
            float(score.answer.symbols / score.law.contrast),
            self._reports_of(reports, sets),
        )

    def _parities(
        self, reports: Reports, sets: Ints, entries: Ints, numbering: Numbering
    ) -> Scores:
        """Return what reports of parities say about the coefficients in their span."""
        template, survey = self.survey.templates[reports.template], self.survey
        score = scoring(template)
        low_order = np.flatnonzero(np.bitwise_count(template.member_sets) <= survey.order)
        members = [
            numbering.of_question(
                sets, member_set, survey.coefficients(reports.template, sets, entries, member)
            )
            for member, member_set in zip(
                template.members[low_order].tolist(),
                template.member_sets[low_order].tolist(),
                strict=True,
            )
        ]
        sums = np.zeros((len(sets), len(low_order)))
        if reports.supports is not None:
            sums = hadamard(reports.supports)[:, 1:][:, low_order] / float(score.law.contrast)
        return Scores(
            np.stack(members, axis=1),
            template.member_sets[low_order],
            reports.people.astype(np.float64),
            sums,
            score.moment,
            score.cross,
            score.largest,
            self._reports_of(reports, sets, low_order),
        )

    def _reports_of(
        self, reports: Reports, sets: Ints, members: Ints | None = None
    ) -> SlotReports | CountedReports | None:
        """Return the reports behind scores of some slots, or what is counted of them."""
        template = self.survey.templates[reports.template]
        score = scoring(template)
        if reports.rows is None:
            if reports.supports is None or members is None:
                return None
            return CountedReports(reports.supports, score.law, members)
        assert isinstance(score.answer, Subset)
        same = np.zeros(len(sets), np.int64)
        if template.sets is not None:
            _, same = np.unique(sets, axis=0, return_inverse=True)
        return SlotReports(reports.rows, same.ravel(), score.answer, score.law, members)


class CellDecoder(InclusionDecoder):
    """A decoder of cells of attributes with any number of values."""

    def evidence(self, estimator: Estimator, reports: Sequence[Reports]) -> CellEvidence:
        """Return the evidence of slots about cells."""
        reports_by_table = [each for part in reports for each in self._reports(*part[:4])]
        sizes, order = self.survey.schema.sizes, self.survey.order
        return CellEvidence(sizes, order, reports_by_table, pooled=estimator != "unpooled")

    def _reports(
        self, index: int, slots: Ints, people: NDArray[Any], supports: NDArray[Any] | None
    ) -> Iterator[TableReports]:
        """Yield the tables that slots of a template ask about, with what was reported."""
        template = self.survey.templates[index]
        score = scoring(template)
        sizes = template.sizes or (2,) * template.attributes
        for row, members in enumerate(self.survey.index.attributes_of(slots).tolist()):
            cells = None
            if supports is not None:  # symbols have the first attribute fastest
                cells = supports[row].reshape(sizes[::-1]).T.ravel().astype(np.float64)
            yield TableReports(
                tuple(members),
                float(people[row]),
                cells,
                score.law,
                score.answer.symbols,
            )


class BitDecoder(Decoder):
    """A decoder of all bits of all attributes' codes, each by randomized response."""

    unbiased = ("inverse",)

    def __init__(self, survey: FrozenSurvey, answer: Bitwise) -> None:
        super().__init__(survey)
        self._shrink = float(answer.shrink)

    @cached_property
    def estimators(self) -> tuple[Estimator, ...]:
        """Return expectation maximisation, and the inverse of the noise."""
        return ("em", "inverse")

    def decode(
        self, slot: Ints, value: Ints, count: Ints, estimator: str | None = None
    ) -> Evidence:
        """Return what a tally tells about every coefficient of order ≤ k."""
        kind = EMEvidence if self.check_estimator(estimator) == "em" else InverseEvidence
        survey, numbering = self.survey, self.numbering()
        observed, people = np.zeros(numbering.size), int(count.sum())
        widths = np.array(survey.templates[0].question_counts)
        shifts = np.cumsum(widths) - widths
        for table in all_tables(len(survey.schema), survey.order):
            code, shift = np.zeros(len(value), np.int64), 0
            for attribute in reversed(table):
                code |= (value >> shifts[attribute] & (1 << widths[attribute]) - 1) << shift
                shift += int(widths[attribute])
            shares = np.bincount(code, count, 1 << shift)[None, :]
            numbers = numbering.of_tables(table[None, :])[0]
            observed[numbers] = hadamard(shares)[0, 1:] / max(1, people)
        rows = value, count
        return kind(numbering, observed, people, self._shrink, survey.lists, rows)

    def expected(self, people: float, estimator: str | None = None) -> CellErrors:
        """Return the variances of the inverse for this many people."""
        numbering = self.numbering(estimator)
        nothing = np.zeros(numbering.size)
        return InverseEvidence(numbering, nothing, people, self._shrink, self.survey.lists)

    def precision(self, level: int, estimator: str | None = None, square: float = 0.0) -> float:
        """Return 1/(N·Var θ̂_α) of the inverse."""
        return 1 / (self._shrink ** (-2 * level) - square)


def decoder_of(survey: FrozenSurvey) -> Decoder:
    """Return the decoder of a survey, by its templates."""
    answer = survey.templates[0].answer
    if isinstance(answer, Bitwise):
        return BitDecoder(survey, answer)
    if any(template.sizes for template in survey.templates):
        return CellDecoder(survey)
    return CoefficientDecoder(survey)


def is_symmetric(survey: FrozenSurvey) -> bool:
    """Tell whether all attributes have two values, and are asked about alike."""
    templates = survey.templates
    if not survey.schema.is_binary or any(t.sets is not None or t.among for t in templates):
        return False
    # A question about all values of its attributes, or all their bits, treats these alike by itself.
    others = [t for t in templates if not t.cell and not isinstance(t.answer, Bitwise)]
    weights = {(t.attributes, _members(t.members), t.answer): sum(t.weights) for t in others}

    def is_alike(template: Template, place: int) -> bool:
        turned = _members(swapped(template.members, place))
        weight = weights.get((template.attributes, turned, template.answer))
        return weight is not None and abs(weight - sum(template.weights)) <= 1

    return all(is_alike(t, place) for t in others for place in range(t.attributes - 1))


def _members(members: Ints) -> frozenset[int]:
    return frozenset(members.tolist())
