"""The exact audit: what a survey really guarantees, computed from its integers.

Nothing is sampled here. For every way of answering, the law P(value | true answer) is enumerated as
integers and the largest ratio taken; where there are too many values, it is computed from the
factors that the law is a product of. Unbiasedness is checked in rational numbers, and the decoder
that runs (in floating point) is probed one report at a time against the rational scores.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, islice
from math import comb, log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import TallyBuilder
from deniable.decoding.decoder import CellDecoder, decoder_of
from deniable.decoding.evidence import CoefficientEvidence, Evidence
from deniable.decoding.scores import scoring
from deniable.errors import TableError
from deniable.questions.answers import Answer, Bitwise, Subset, Unary
from deniable.questions.entropy import WORD
from deniable.questions.exact import exponential, log_down
from deniable.questions.subsets import rank
from deniable.schema.schema import Schema
from deniable.survey.coefficients import all_tables, hadamard, positions, same_sizes
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

GRID_EPSILONS = (0.1, log(3), 4.0)

_MOST_ENUMERATED = 1 << 16
_MOST_PROBED = 1 << 17
_MOST_TABLES = 128
_MOST_COEFFICIENTS = 1 << 18
_MOST_SHAPES = 200
_MOST_SLOTS = 5
_MOST_RECORDS = 1024


@dataclass(frozen=True)
class Audit:
    """What was found. ``exact``: no rounding or sampling stands between the claim and the bound."""

    mechanism: str
    attributes: int
    order: int
    stated_epsilon: float
    realised_epsilon: float
    exact: bool
    unbiased: bool

    @property
    def passed(self) -> bool:
        """Tell whether the survey keeps its promise."""
        return self.exact and self.unbiased and self.realised_epsilon <= self.stated_epsilon


def audit(survey: FrozenSurvey) -> Audit:
    """Audit every distinct way of answering and every template of a survey."""
    templates = {
        (template.parities, template.questions, template.sizes, template.answer): i
        for i, template in enumerate(survey.templates)
    }
    some = list(templates.values())[
        :: -(-len(templates) // _MOST_SHAPES)
    ]  # they are alike, if many
    ratios = [exact_ratio(family.answer) for family in survey.families]
    return Audit(
        survey.mechanism,
        len(survey.schema),
        survey.order,
        survey.epsilon,
        log_down(max(ratio for ratio, _ in ratios)),
        all(normalised for _, normalised in ratios)
        and all(ratio <= exponential(survey.epsilon) for ratio, _ in ratios)
        and all(_asks_what_it_says(survey, index) for index in templates.values()),
        all(
            map(
                exactly_unbiased,
                {template.answer: template for template in survey.templates}.values(),
            )
        )
        and all(_asks_all_alike(survey, index) for index in some)
        and all(_decoder_agrees(survey, index) for index in some),
    )


def exact_ratio(answer: Answer) -> tuple[Fraction, bool]:
    """Return the largest likelihood ratio of two true answers, and whether the law sums to one."""
    if answer.symbols * answer.outcomes <= _MOST_ENUMERATED:
        laws = [answer.law(symbol) for symbol in range(answer.symbols)]
        ratio = max(Fraction(max(column), min(column)) for column in zip(*laws, strict=True))
        return ratio, all(sum(law) == answer.law_total for law in laws)
    if isinstance(answer, Unary):
        # Bits of symbols other than the two compared have the same law, and cancel.
        ratio, normalised = exact_ratio(Unary(2, answer.own, answer.other))
        return ratio, normalised
    if isinstance(answer, Bitwise):
        # All bits are independent, and the worst two answers differ in each.
        ratio, normalised = exact_ratio(Bitwise(1, answer.threshold))
        return ratio**answer.bits, normalised
    assert isinstance(answer, Subset)
    # A value's probability depends only on whether it holds the true symbol.
    others = answer.symbols - 1
    with_it, without = comb(others, answer.chosen - 1), comb(others, answer.chosen)
    holding, lacking = _weights(answer)
    normalised = holding * with_it + lacking * without == answer.law_total
    return max(Fraction(holding, lacking), Fraction(lacking, holding)), normalised


def _weights(answer: Subset) -> tuple[int, int]:
    """Return the weight of a value that holds the true symbol, and of one that lacks it."""
    others = answer.symbols - 1
    return (
        answer.threshold * comb(others, answer.chosen),
        (WORD - answer.threshold) * comb(others, answer.chosen - 1),
    )


def exactly_unbiased(template: Template) -> bool:
    """Tell whether scores have the right mean, for every true answer, in rational arithmetic."""
    answer = template.answer
    if isinstance(answer, Bitwise):
        # Signs of independent bits multiply, so one bit decides for all.
        keep = Fraction(answer.threshold, WORD)
        return (keep - (1 - keep)) / answer.shrink == 1
    # A score is Σ χ(s)/(own − other) over the support, and Σ χ(s) = 0 over all symbols: it has the
    # right mean if supports hold the true symbol with probability own, and any other with other.
    law = answer.inclusion
    if isinstance(answer, Unary) and answer.outcomes > _MOST_ENUMERATED:
        # Its bits are independent and alike, so four symbols show what any number does.
        small = Unary(4, answer.own, answer.other)
        return small.inclusion == law and exactly_unbiased(Template.table(2, small))
    if isinstance(answer, Subset) and answer.outcomes > _MOST_ENUMERATED:
        holding, lacking = _weights(answer)
        among, size, total = answer.symbols - 2, answer.chosen, answer.law_total
        own = holding * comb(among + 1, size - 1)
        other = lacking * comb(among, size - 1)
        if size > 1:
            other += holding * comb(among, size - 2)
        return (law.own, law.other) == (Fraction(own, total), Fraction(other, total))
    few = answer.symbols * answer.outcomes <= _MOST_ENUMERATED
    supports = [answer.support(value) for value in range(answer.outcomes)]
    for true in range(answer.symbols) if few else (0, 1, answer.symbols - 1):
        weights = [0] * answer.symbols
        for support, weight in zip(supports, answer.law(true), strict=True):
            for symbol in support:
                weights[symbol] += weight
        total = answer.law_total
        if any(
            Fraction(weight, total) != (law.own if symbol == true else law.other)
            for symbol, weight in enumerate(weights)
        ):
            return False
    return True


def _sign(mask: int, symbol: int) -> int:
    return -1 if (mask & symbol).bit_count() & 1 else 1


def _asks_what_it_says(survey: FrozenSurvey, index: int) -> bool:
    """Tell whether questions' true answers are what their template says, for every record.

    The first and the last slot of a template are looked at, and some between them; where a question
    touches many records, the first of them.
    """
    template, first = survey.templates[index], survey.index.starts[index]
    count = survey.index.templates[index].count
    sizes = survey.schema.sizes
    # In whole numbers: there may be more slots than a float can tell apart.
    offsets = {(count - 1) * step // (_MOST_SLOTS - 1) for step in range(_MOST_SLOTS)}
    for slot in sorted(first + offset for offset in offsets):
        question = survey.question(slot)
        (members,), entries = survey.index.locate(np.array([slot]))
        digits = [
            survey.coefficients(index, members[None, :], entries, parity)[0]
            for parity in template.parities
        ]
        attributes = [survey.schema.index(name) for name in question.attributes]
        codes = np.zeros(len(sizes), np.int64)
        for pattern in islice(np.ndindex(*(sizes[a] for a in attributes)), _MOST_RECORDS):
            codes[attributes] = pattern
            own = codes[members]
            if template.cell:
                expected = int(own @ np.cumprod([1, *(sizes[a] for a in members[:-1])]))
            else:
                expected = sum(
                    sum(
                        int(survey.lists[a].odd[i, v])
                        for a, i, v in zip(members, digit, own, strict=True)
                    )
                    % 2
                    << j
                    for j, digit in enumerate(digits)
                )
            if question.asks.symbol(survey.schema.decode(codes.tolist())) != expected:
                return False
    return True


def _asks_all_alike(survey: FrozenSurvey, index: int) -> bool:
    """Tell whether a template's slots hold every coefficient of a component equally often.

    One set of attributes is looked at, if it has not too many slots. And lists of questions must make
    up the table of their coefficients.
    """
    template, slots = survey.templates[index], survey.index.templates[index]
    for each in set(survey.lists):
        if not np.allclose(each.synthesis @ each.analysis, np.eye(each.size), atol=1e-12):
            return False
    members = survey.index.attributes_of(np.array([survey.index.starts[index]]))[0]
    count = prod(survey.lists[a].count for a in members)
    if template.cell or count == 1 or count > _MOST_PROBED:
        return True
    count = int(slots.by_set[0])
    sets, entries = survey.index.locate(survey.index.starts[index] + np.arange(count))
    for mask in set(template.member_sets.tolist()):
        times: Multiset[tuple[int, ...]] = Multiset()
        for member in template.members[template.member_sets == mask].tolist():
            times.update(map(tuple, survey.coefficients(index, sets, entries, member).tolist()))
        every = prod(survey.lists[a].count for a in sets[0, positions(mask)])
        if len(times) != every or len(set(times.values())) != 1:
            return False
    return True


def decoded_scores(survey: FrozenSurvey, slot: int, value: int) -> dict[tuple[int, ...], float]:
    """Return what the running decoder makes of a single report: the coefficients it speaks about.

    Keys are the questions about each of the slot's attributes (0 for none). All sets of at most
    ``order`` of them are read; of a table's attributes, which are all alike, only the first few.
    """
    evidence = _decoded(survey, slot, value)
    assert isinstance(evidence, CoefficientEvidence)
    members = survey.index.attributes_of(np.array([slot]))[0]
    tables = all_tables(len(members), min(survey.order, len(members)))[:_MOST_TABLES]
    scores: dict[tuple[int, ...], float] = {}
    for rows in same_sizes(survey.kinds, members[tables]):
        thetas = evidence.coefficients(members[tables[rows]])[0]
        for table, theta in zip(tables[rows].tolist(), thetas.tolist(), strict=True):
            bases = tuple(len(survey.lists[members[place]].odd) for place in table)
            digits = _digits(tuple(table), bases, len(members))
            scores.update(zip(digits, theta, strict=True))
    return scores


@lru_cache(1 << 10)
def _digits(table: tuple[int, ...], bases: tuple[int, ...], width: int) -> list[tuple[int, ...]]:
    """Return a table's coefficients, as the questions about each of so many attributes."""
    mask = np.arange(1, prod(bases))
    digits = np.zeros((len(mask), width), np.int64)
    for place, base in zip(table[::-1], bases[::-1], strict=True):
        mask, digits[:, place] = np.divmod(mask, base)
    return list(map(tuple, digits.tolist()))


def _decoded(survey: FrozenSurvey, slot: int, value: int) -> Evidence:
    width = survey.packed_bytes
    report = np.array([value])
    if width:
        report = np.frombuffer(value.to_bytes(width, "little"), np.uint8)[None, :]
    builder = TallyBuilder(survey)
    builder.add(np.array([slot]), report)
    counts = builder.tally()
    decoder = decoder_of(survey)
    return decoder.decode(counts.slot, counts.value, counts.count, decoder.exact_estimator)


def _probes(answer: Answer) -> Iterator[int]:
    """Yield reports that show how a decoder treats any.

    Scores are sums over the support, so reports that speak for each symbol once show all; where
    symbols are very many, some of them.
    """
    if isinstance(answer, Unary):  # one bit at a time, none, and all
        step = max(1, answer.symbols**2 // _MOST_PROBED)
        yield from (1 << symbol for symbol in range(0, answer.symbols, step))
        few = sum(1 << answer.symbols * third // 3 for third in (1, 2)) | 1 << answer.symbols - 1
        yield from (0, few if answer.symbols > _MOST_PROBED else (1 << answer.symbols) - 1)
        return
    if isinstance(answer, Bitwise):
        step = max(1, answer.outcomes // 16)
        yield from range(0, answer.outcomes, step)
        return
    assert isinstance(answer, Subset)
    width = answer.chosen
    step = width * max(1, answer.symbols**2 // _MOST_PROBED)
    for first in (*range(0, answer.symbols - width, step), answer.symbols - width):
        yield rank(range(first, first + width))
    yield from {answer.outcomes // 3, answer.outcomes // 2}


def _decoder_agrees(survey: FrozenSurvey, index: int) -> bool:
    """Probe the decoder with single reports and compare with the exact scores."""
    is_of_cells = isinstance(decoder_of(survey), CellDecoder)
    survey, index = _alone(survey, index)
    slot, answer = survey.index.starts[index], survey.templates[index].answer
    values = dict.fromkeys(_probes(answer))
    if is_of_cells:
        return all(_cells_agree(survey, index, slot, value) for value in values)
    members = None if isinstance(answer, Bitwise) else _members_of(survey, index, slot)
    return all(_scores_agree(survey, index, slot, value, members) for value in values)


def _alone(survey: FrozenSurvey, index: int) -> tuple[FrozenSurvey, int]:
    """Return a survey that treats reports to the first slot of a template alike, with few coefficients.

    What a report tells about tables of its own attributes depends on no other attribute, so where there
    are many coefficients, a survey of these attributes, asked in this way, shows it as well.
    """
    decoder = decoder_of(survey)
    try:
        whole = decoder.numbering(decoder.exact_estimator).size <= _MOST_COEFFICIENTS
    except TableError:  # there are too many to be numbered
        whole = False
    if whole or isinstance(decoder, CellDecoder):
        return survey, index
    members = survey.index.attributes_of(np.array([survey.index.starts[index]]))[0].tolist()
    schema = Schema(tuple(survey.schema.attributes[a] for a in members))
    template = replace(survey.templates[index], weights=(), sets=None, among=())
    order, lists = min(survey.order, len(members)), [survey.lists[a] for a in members]
    name, epsilon = survey.mechanism, survey.epsilon
    return FrozenSurvey(schema, order, epsilon, (template,), lists, mechanism=name), 0


def _supported(answer: Subset | Unary, value: int) -> NDArray[np.float64]:
    """Return 1 for every symbol that a report speaks for, 0 for the others."""
    if isinstance(answer, Unary):
        return answer.bits(value).astype(np.float64)
    indicator = np.zeros(answer.symbols)
    indicator[list(answer.support(value))] = 1
    return indicator


def _cells_agree(survey: FrozenSurvey, index: int, slot: int, value: int) -> bool:
    """Tell whether a report about a cell becomes the unbiased table of its attributes.

    That is (support − other)/contrast with the mean taken off, and put to that of shares.
    """
    answer = scoring(survey.templates[index]).answer
    cells = _supported(answer, value) - float(answer.inclusion.other)
    cells /= float(answer.inclusion.contrast)
    cells += 1 / len(cells) - cells.mean()
    attributes = survey.index.attributes_of(np.array([slot]))[0]
    sizes = [survey.schema.sizes[a] for a in attributes]
    table = cells.reshape(sizes[::-1]).T  # one axis per attribute
    evidence = _decoded(survey, slot, value)
    for members in all_tables(len(attributes), survey.order)[:_MOST_TABLES].tolist():
        others = tuple(i for i in range(len(attributes)) if i not in members)
        expected = table.sum(axis=others).ravel()
        estimate = evidence.tables(attributes[members][None, :]).values[0]
        if not np.allclose(estimate, expected, rtol=1e-9, atol=1e-9):
            return False
    return True


def _scores_agree(
    survey: FrozenSurvey, index: int, slot: int, value: int, members: _Members | None
) -> bool:
    """Tell whether a report's scores are what they should be: unbiased if its slot is drawn at random.

    Of a component with several coefficients a slot holds some, all equally often (see
    `_asks_all_alike`), so what it tells about these counts for all: L/n times the score if it holds n
    of L.
    """
    template = survey.templates[index]
    scores = decoded_scores(survey, slot, value)
    if isinstance(template.answer, Bitwise):
        expected = _bitwise_scores(template, template.answer, scores, value)
    else:
        assert members is not None
        expected = _subset_scores(scoring(template).answer, members, value)
    # Nearly all are about coefficients that the slot does not hold, and must be 0.
    matches = [
        (scores.pop(digits), score) for digits, score in expected.items() if digits in scores
    ]
    pairs = np.array([*matches, *((score, 0.0) for score in scores.values())])
    return np.allclose(pairs[:, 0], pairs[:, 1], rtol=1e-9, atol=1e-9)


class _Members(NamedTuple):
    """The members of a slot that tables take (their rows), their coefficients, and L/n of each."""

    rows: NDArray[np.int64]
    coefficients: list[tuple[int, ...]]
    factors: NDArray[np.float64]


def _subset_scores(
    answer: Subset | Unary, members: _Members, value: int
) -> dict[tuple[int, ...], float]:
    """Return the scores of all coefficients that a slot holds."""
    rows, coefficients, factors = members
    supported = _supported(answer, value)
    spoken = np.flatnonzero(supported)
    if len(spoken) * len(rows) <= answer.symbols:  # far fewer than a transform would go through
        odd = np.bitwise_count((rows + 1)[:, None] & spoken).astype(np.int64) & 1
        sums = (1.0 - 2 * odd).sum(axis=1)
    else:
        sums = hadamard(supported[None, :])[0, 1:][rows]
    scores = factors * sums / float(answer.inclusion.contrast)
    return dict(zip(coefficients, scores.tolist(), strict=True))


def _members_of(survey: FrozenSurvey, index: int, slot: int) -> _Members:
    """Return what a slot holds, whatever was reported to it."""
    template = survey.templates[index]
    rows = np.flatnonzero(np.bitwise_count(template.member_sets) <= survey.order)
    sets, entries = survey.index.locate(np.array([slot]))
    masks = template.member_sets[rows].tolist()
    times = Multiset(masks)
    factors = [
        prod(survey.lists[a].count for a in sets[0, positions(mask)]) / times[mask]
        for mask in masks
    ]
    coefficients = [
        tuple(survey.coefficients(index, sets, entries, member)[0].tolist())
        for member in template.members[rows].tolist()
    ]
    return _Members(rows, coefficients, np.array(factors))


def _bitwise_scores(
    template: Template, answer: Bitwise, coefficients: Iterable[tuple[int, ...]], value: int
) -> dict[tuple[int, ...], float]:
    """Return the scores of some coefficients where every bit was reported."""
    shrink, scores = float(answer.shrink), {}
    shifts = [0, *accumulate(template.question_counts)]
    for digits in coefficients:
        mask = sum(digit << shift for digit, shift in zip(digits, shifts, strict=False))
        scores[digits] = _sign(mask, value) / shrink ** mask.bit_count()
    return scores
