"""The exact audit: what a survey really guarantees, computed from its integers.

Nothing is sampled here. For every way of answering, the law P(value | true answer) is enumerated as
integers and the largest ratio taken; where there are too many values, it is computed from the
factors that the law is a product of. Unbiasedness is checked in rational numbers, and the decoder
that runs (in floating point) is probed one report at a time against the rational scores.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log, prod

import numpy as np

from deniable.lab.probes import MOST_PROBED, cuts_of, decoder_agrees
from deniable.questions.answers import Answer, Bitwise, Subset, Unary
from deniable.questions.entropy import WORD
from deniable.questions.exact import exponential, log_down
from deniable.questions.thresholds import Thresholds
from deniable.survey.coefficients import positions
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

GRID_EPSILONS = (0.1, log(3), 4.0)

_MOST_ENUMERATED = 1 << 16
_MOST_SHAPES = 200
_MOST_SLOTS = 5
_MOST_RECORDS = 1024
_MOST_LEVELS = 64


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
        and all(decoder_agrees(survey, index) for index in some),
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


def _asks_what_it_says(survey: FrozenSurvey, index: int) -> bool:
    """Tell whether questions' true answers are what their template says, for every record.

    The first and the last slot of a template are looked at, and some between them; where a question
    touches many records, some of them.
    """
    template, first = survey.templates[index], survey.index.starts[index]
    count = survey.index.templates[index].count
    sizes, ranges = survey.schema.sizes, survey.schema.ranges
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
        answers = [
            [survey.lists[a].answers(digit[i : i + 1])[0] for digit in digits]
            for i, a in enumerate(members)
        ]
        codes = np.zeros(len(sizes), np.int64)
        for pattern in _some_records([ranges[a] for a in attributes]):
            codes[attributes] = pattern
            own = codes[members]
            if template.cell:
                expected = int(own @ np.cumprod([1, *(sizes[a] for a in members[:-1])]))
            else:
                expected = sum(
                    sum(int(yes[j][v]) for yes, v in zip(answers, own, strict=True)) % 2 << j
                    for j in range(len(digits))
                )
            if question.asks.symbol(survey.schema.decode(codes.tolist())) != expected:
                return False
    return True


def _some_records(ranges: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the codes of all records of some attributes; of very many, some from first to last."""
    count = prod(ranges)
    some = min(count, _MOST_RECORDS)
    for number in {(count - 1) * step // max(1, some - 1) for step in range(some)}:
        codes: list[int] = []
        for size in ranges:
            number, code = divmod(number, size)
            codes.append(code)
        yield tuple(codes)


def _asks_all_alike(survey: FrozenSurvey, index: int) -> bool:
    """Tell whether a template's slots hold every coefficient of a component equally often.

    One set of attributes is looked at, if it has not too many slots. And lists of questions must make
    up the table of their coefficients.
    """
    template, slots = survey.templates[index], survey.index.templates[index]
    for each in set(survey.lists):
        if not np.allclose(each.synthesis @ each.analysis, np.eye(each.size), atol=1e-12):
            return False
        if isinstance(each, Thresholds) and not _tells_levels(each):
            return False
    members = survey.index.attributes_of(np.array([survey.index.starts[index]]))[0]
    count = prod(survey.lists[a].count for a in members)
    if template.cell or count == 1 or count > MOST_PROBED:
        return True
    count = int(slots.by_set[0])
    sets, entries = survey.index.locate(survey.index.starts[index] + np.arange(count))
    own = survey.lists[members[0]]
    if isinstance(own, Thresholds) and template.question_counts == (2,):
        cuts = Multiset(cuts_of(own, entries[:, 0]).ravel().tolist())
        return len(cuts) == own.count and len(set(cuts.values())) == 1
    for mask in set(template.member_sets.tolist()):
        times: Multiset[tuple[int, ...]] = Multiset()
        for member in template.members[template.member_sets == mask].tolist():
            times.update(map(tuple, survey.coefficients(index, sets, entries, member).tolist()))
        every = prod(survey.lists[a].count for a in sets[0, positions(mask)])
        if len(times) != every or len(set(times.values())) != 1:
            return False
    return True


def _tells_levels(own: Thresholds) -> bool:
    """Tell whether cuts make up the share of each level, or of some of very many."""
    signs = 1.0 - 2.0 * own.answers(np.arange(own.count + 1))
    some = np.unique(np.linspace(0, own.codes - 1, min(own.codes, _MOST_LEVELS)).astype(np.int64))
    levels = np.eye(own.codes)[some]
    return np.allclose(own.expectation(levels) @ signs, levels, atol=1e-9)
