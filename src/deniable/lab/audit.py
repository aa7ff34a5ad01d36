"""The exact audit: what a survey really guarantees, computed from its integers.

Nothing is sampled here. For every way of answering, the law P(value | true answer) is enumerated as
integers and the largest ratio taken; where there are too many values, it is computed from the
factors that the law is a product of. Unbiasedness is checked in rational numbers, and the decoder
that runs (in floating point) is probed one report at a time against the rational scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log

import numpy as np

from deniable.collector.tally import Counter
from deniable.mechanisms.base import Mechanism, Shape
from deniable.mechanisms.coefficients import all_tables, hadamard, positions
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.answers import NARROW, Answer, Bitwise, Subset, Unary
from deniable.questions.entropy import WORD
from deniable.questions.exact import exponential, log_down
from deniable.questions.schema import Schema
from deniable.questions.subsets import rank

__all__ = ["Audit", "audit", "audit_grid", "decoded_scores", "exact_ratio", "exactly_unbiased"]

GRID_EPSILONS = (0.1, log(3), 4.0)

_MOST_ENUMERATED = 1 << 16
_MOST_PROBED = 1 << 17
_MOST_TABLES = 128
_MOST_SHAPES = 200


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


def audit(mechanism: Mechanism) -> Audit:
    """Audit every distinct way of answering and every shape of a survey."""
    shapes = {(shape.parities, shape.answer): i for i, shape in enumerate(mechanism.shapes)}
    some = list(shapes.values())[:: -(-len(shapes) // _MOST_SHAPES)]  # they are alike, if many
    ratios = [exact_ratio(family.answer) for family in mechanism.families]
    return Audit(
        mechanism.name,
        len(mechanism.schema),
        mechanism.order,
        mechanism.epsilon,
        log_down(max(ratio for ratio, _ in ratios)),
        all(normalised for _, normalised in ratios)
        and all(ratio <= exponential(mechanism.epsilon) for ratio, _ in ratios)
        and all(_asks_what_it_says(mechanism, index) for index in shapes.values()),
        all(map(exactly_unbiased, {shape.answer: shape for shape in mechanism.shapes}.values()))
        and all(_decoder_agrees(mechanism, index) for index in some),
    )


def audit_grid(
    names: Iterable[str],
    attributes: Iterable[int] = (2, 3, 4),
    orders: Iterable[int] = (1, 2, 3),
    epsilons: Iterable[float] = GRID_EPSILONS,
) -> Iterator[Audit]:
    """Audit mechanisms over a grid, skipping orders above the attributes."""
    points = [(d, k, e) for d in attributes for k in orders for e in epsilons if k <= d]
    for name in names:
        for d, k, epsilon in points:
            schema = Schema.binary(*(f"a{i}" for i in range(d)))
            yield audit(MECHANISMS[name](schema, k, epsilon))


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


def exactly_unbiased(shape: Shape) -> bool:
    """Tell whether scores have the right mean, for every true answer, in rational arithmetic."""
    answer = shape.answer
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
        return small.inclusion == law and exactly_unbiased(Shape.table(2, small))
    if isinstance(answer, Subset) and answer.outcomes > _MOST_ENUMERATED:
        holding, lacking = _weights(answer)
        among, chosen, total = answer.symbols - 2, answer.chosen, answer.law_total
        own = holding * comb(among + 1, chosen - 1)
        other = lacking * comb(among, chosen - 1)
        if chosen > 1:
            other += holding * comb(among, chosen - 2)
        return (law.own, law.other) == (Fraction(own, total), Fraction(other, total))
    few = answer.symbols * answer.outcomes <= _MOST_ENUMERATED
    for true in range(answer.symbols) if few else (0, 1, answer.symbols - 1):
        held = [0] * answer.symbols
        for value, weight in enumerate(answer.law(true)):
            for symbol in answer.support(value):
                held[symbol] += weight
        total = answer.law_total
        if any(
            Fraction(weight, total) != (law.own if symbol == true else law.other)
            for symbol, weight in enumerate(held)
        ):
            return False
    return True


def _sign(mask: int, symbol: int) -> int:
    return -1 if (mask & symbol).bit_count() & 1 else 1


def _asks_what_it_says(mechanism: Mechanism, index: int) -> bool:
    """Tell whether a question's true answers are the parities of its shape, for every record."""
    shape = mechanism.shapes[index]
    question = mechanism.question(mechanism.first_slot(index))
    touched = [mechanism.schema.index(name) for name in question.attributes]
    if len(touched) > 10:
        touched = touched[:10]  # by symmetry: attributes are treated alike
    codes = [0] * len(mechanism.schema)
    chosen = mechanism.attributes_of(np.array([question.slot]))[0].tolist()
    for pattern in range(1 << len(touched)):
        for bit, attribute in enumerate(touched):
            codes[attribute] = pattern >> bit & 1
        cell = sum(codes[attribute] << i for i, attribute in enumerate(chosen))
        expected = sum(((cell & p).bit_count() & 1) << j for j, p in enumerate(shape.parities))
        if question.asks.symbol(mechanism.schema.decode(codes)) != expected:
            return False
    return True


def decoded_scores(mechanism: Mechanism, slot: int, value: int) -> dict[int, float]:
    """Return what the running decoder makes of a single report: the coefficients it speaks about.

    Keys are masks over the slot's attributes. All sets of at most ``order`` of them are read; of a
    table's attributes, which are all alike, only those of the first few.
    """
    answer = mechanism.question(slot).answer
    wide = isinstance(answer, Unary) and answer.symbols > NARROW
    packed = (
        np.frombuffer(value.to_bytes(-(-answer.symbols // 8), "little"), np.uint8) if wide else None
    )
    counter = Counter(mechanism)
    counter.add(np.array([slot]), np.array([value]) if packed is None else packed[None, :])
    counts = counter.counts()
    evidence = mechanism.decode(
        counts.slot, counts.value, counts.count, mechanism.exact_estimator()
    )
    chosen = mechanism.attributes_of(np.array([slot]))[0]
    places = all_tables(len(chosen), min(mechanism.order, len(chosen)))[:_MOST_TABLES]
    theta, _people = evidence.coefficients(chosen[places])
    scores = {}
    for table, row in zip(places.tolist(), theta.tolist(), strict=True):
        for mask, score in enumerate(row, start=1):
            scores[sum(1 << table[i] for i in positions(mask))] = score
    return scores


def _probes(answer: Answer) -> Iterator[int]:
    """Yield reports that show how a decoder treats any.

    Scores are sums over the support, so reports that speak for each symbol once show all; where
    symbols are very many, some of them.
    """
    if isinstance(answer, Unary):  # one bit at a time, none, and all
        step = max(1, answer.symbols**2 // _MOST_PROBED)
        yield from (1 << symbol for symbol in range(0, answer.symbols, step))
        yield from (0, (1 << answer.symbols) - 1)
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


def _decoder_agrees(mechanism: Mechanism, index: int) -> bool:
    """Probe the decoder with single reports and compare with the exact scores."""
    shape, slot = mechanism.shapes[index], mechanism.first_slot(index)
    answer = shape.answer
    for value in _probes(answer):
        found = decoded_scores(mechanism, slot, value)
        if isinstance(answer, Bitwise):
            shrink = float(answer.shrink)
            expected = {mask: _sign(mask, value) / shrink ** mask.bit_count() for mask in found}
        else:
            support = np.zeros((1, answer.symbols))
            support[0, list(answer.support(value))] = 1
            sums = hadamard(support)[0, 1:] / float(answer.inclusion.contrast)
            expected = dict.fromkeys(found, 0.0)
            expected |= {
                mask: score
                for mask, score in zip(shape.members.tolist(), sums.tolist(), strict=True)
                if mask in found
            }
        if not np.allclose(
            list(found.values()), [expected[mask] for mask in found], rtol=1e-9, atol=1e-9
        ):
            return False
    return True
