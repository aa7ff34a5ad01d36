"""Three ways of answering: their laws, their exact ε, their samplers, and what decoders use of them.

The oracles are enumeration of all values, scipy's χ² test and OpenDP's randomized response.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import comb, log, nextafter
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from deniable.errors import DeniableError, QuestionError, SurveyError
from deniable.questions.answers import Answer, Bitwise, Subset, Unary, answer_from_json, unary
from deniable.questions.entropy import WORD, Key, Stream
from deniable.questions.exact import exponential, log_down

SMALL: list[Answer] = [
    Subset.within(log(3), 2),
    Subset.within(1.1, 3),
    Subset.within(1.1, 8),
    Subset.within(0.5, 5, 2),
    Subset.within(2.0, 7, 3),
    Subset.within(1.1, 8, 4),
    Subset.within(1.1, 6, 5),
    Subset(4, 1, 1 << 61),  # tells where the truth is not
    Unary.within(1.1, 2),
    Unary.within(1.1, 4),
    Unary.within(2.0, 5, optimised=True),
    Bitwise.within(1.1, 1),
    Bitwise.within(3.0, 4),
]
EPSILONS = [1e-12, 0.01, 0.1, log(3), 1.1, 2.0, 4.0, 10.0, 20.0]


def label(answer: object) -> str:
    return repr(answer).split(", threshold")[0].split(", own")[0]


def law(answer: Answer, symbol: int) -> list[Fraction]:
    return [Fraction(weight, answer.law_total) for weight in answer.law(symbol)]


# Cost


@pytest.mark.parametrize(
    "answer", [*SMALL, Subset.within(1.1, 60, 30), Subset.within(1.1, 1 << 20)], ids=label
)
def test_words_are_those_that_a_device_draws_if_none_is_rejected(answer: Answer) -> None:
    class Zeros:
        drawn = 0

        def word(self) -> int:
            self.drawn += 1
            return 0

    source = Zeros()
    answer.answer(1, source)
    assert answer.words == source.drawn


# Laws


@pytest.mark.parametrize("answer", SMALL, ids=label)
def test_a_law_sums_to_one_and_its_largest_ratio_is_the_claimed_one(answer: Answer) -> None:
    laws = [law(answer, symbol) for symbol in range(answer.symbols)]
    assert all(sum(one) == 1 and len(one) == answer.outcomes for one in laws)
    assert max(max(column) / min(column) for column in zip(*laws, strict=True)) == answer.ratio


def made_for(epsilon: float) -> list[Answer]:
    subsets = [Subset.within(epsilon, m, w) for m, w in ((2, 1), (3, 1), (16, 1), (9, 4))]
    unary = [Unary.within(epsilon, 4, optimised=o) for o in (False, True)]
    return [*subsets, *unary, Bitwise.within(epsilon, 1), Bitwise.within(epsilon, 5)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_realised_epsilon_is_never_above_the_stated_one_and_just_below_it(
    epsilon: float,
) -> None:
    with localcontext() as context:
        context.prec = 120
        bound = Fraction(Decimal(epsilon).exp()) * (1 + Fraction(1, 10**110))
        for answer in made_for(epsilon):
            assert answer.ratio <= bound
            realised = (Decimal(answer.ratio.numerator) / answer.ratio.denominator).ln()
            assert float(realised) > epsilon - 1e-9
            assert Decimal(log_down(answer.ratio)) <= realised
            assert Decimal(nextafter(log_down(answer.ratio), 99)) > realised


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_next_larger_threshold_would_exceed_epsilon(epsilon: float) -> None:
    for symbols in (2, 3, 16):
        made = Subset.within(epsilon, symbols)
        assert Subset(symbols, 1, made.threshold + 1).ratio > exponential(epsilon)
    for bits in (1, 5):
        made = Bitwise.within(epsilon, bits)
        assert Bitwise(bits, made.threshold + 1).ratio > exponential(epsilon)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-76, 1e-75, 1e-40, 1e-20, 1e-19, 1e-18])
def test_an_epsilon_that_64_bits_cannot_express_is_refused(epsilon: float) -> None:
    for make in (
        lambda: Subset.within(epsilon, 2),
        lambda: Subset.within(epsilon, 3),
        lambda: Subset.within(epsilon, 7, 3),
        lambda: Unary.within(epsilon, 3),
        lambda: Unary.within(epsilon, 3, optimised=True),
        lambda: Bitwise.within(epsilon, 3),
    ):
        with pytest.raises(SurveyError, match="too small"):
            make()


# What decoders use


@pytest.mark.parametrize("answer", [a for a in SMALL if not isinstance(a, Bitwise)], ids=label)
def test_inclusion_probabilities_are_those_of_the_law(answer: Subset | Unary) -> None:
    for true in range(answer.symbols):
        alone = [Fraction(0)] * answer.symbols
        pairs = dict.fromkeys(combinations(range(answer.symbols), 2), Fraction(0))
        for value, chance in enumerate(law(answer, true)):
            support = answer.support(value)
            for symbol in support:
                alone[symbol] += chance
            for pair in combinations(support, 2):
                pairs[pair] += chance
        said = answer.inclusion
        assert alone == [said.own if s == true else said.other for s in range(answer.symbols)]
        for pair, chance in pairs.items():
            assert chance == (said.own_and_other if true in pair else said.two_others)


@pytest.mark.parametrize(
    "answer",
    [a for a in SMALL if not isinstance(a, Bitwise) and a.symbols in (2, 4, 8)],
    ids=label,
)
def test_scores_are_unbiased_with_the_claimed_moments_and_reach(answer: Subset | Unary) -> None:
    said = answer.inclusion
    sign = [[(-1) ** (a & s).bit_count() for s in range(answer.symbols)] for a in range(8)]
    for true in range(answer.symbols):
        chances = law(answer, true)
        sums = [
            [sum(sign[a][s] for s in answer.support(value)) for value in range(answer.outcomes)]
            for a in range(answer.symbols)
        ]
        scores = [[total / said.contrast for total in row] for row in sums]
        for a in range(1, answer.symbols):
            assert max(map(abs, sums[a])) <= answer.reach
            mean = sum(p * s for p, s in zip(chances, scores[a], strict=True))
            assert mean == sign[a][true]
            for b in range(1, answer.symbols):
                product = sum(
                    p * s * t for p, s, t in zip(chances, scores[a], scores[b], strict=True)
                )
                if a == b:
                    assert product == said.second_moment(answer.symbols)
                else:
                    assert product == said.cross * sign[a ^ b][true]
    assert max(map(abs, sums[1])) == answer.reach


# Samplers


def p_value(answer: Answer, symbol: int, values: list[int]) -> float:
    chances = np.array([float(p) for p in law(answer, symbol)])
    seen = np.bincount(values, minlength=answer.outcomes)
    assert len(seen) == answer.outcomes
    return float(stats.chisquare(seen, chances * len(values)).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("answer", SMALL, ids=label)
def test_a_device_and_a_batch_both_follow_the_law(answer: Answer) -> None:
    for symbol in {0, 1, answer.symbols - 1}:
        key = Key.seeded(f"{label(answer)} {symbol}")
        many = answer.answers(np.full(40_000, symbol), key.stream("many"))
        assert p_value(answer, symbol, many.tolist()) > 1e-6
        source = key.stream("one")
        single = [answer.answer(symbol, source) for _ in range(4000)]
        assert p_value(answer, symbol, single) > 1e-6


def test_a_batch_answers_each_row_for_its_own_symbol() -> None:
    sure = 20.0
    for answer, shown in (
        (Subset.within(sure, 300), lambda v: v),
        (Subset.within(sure, 2), lambda v: v),
        (Bitwise.within(sure, 2), lambda v: v),
        (Unary.within(sure, 6), lambda v: v.bit_length() - 1),
    ):
        symbols = np.arange(3000) % answer.symbols
        values = answer.answers(symbols.astype(np.uint16), Key.seeded("rows").stream())
        right = sum(shown(v) == s for v, s in zip(values.tolist(), symbols.tolist(), strict=True))
        assert right > 2900


class Draws(Stream):
    """A stream that gives these decisions and numbers, call by call."""

    def __init__(self, *parts: Any) -> None:
        self.parts, self.thresholds = list(parts), list[int]()

    def happens(self, threshold: int, count: int) -> np.ndarray:
        self.thresholds.append(threshold)
        return np.asarray(self.parts.pop(0), np.bool_)

    def packed(self, threshold: int, count: int) -> np.ndarray:
        self.thresholds.append(threshold)
        return np.full(count // 8, self.parts.pop(0), np.uint8)

    def below(self, bound: int, count: int, dtype: Any = np.int64) -> np.ndarray:
        assert max(self.parts[0]) < bound
        return np.array(self.parts.pop(0), dtype)


class Words:
    """A source that gives these words."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def word(self) -> int:
        return self.words.pop(0)


@pytest.mark.parametrize(("symbols", "chosen"), [(2, 1), (3, 1), (300, 1), (5, 2), (6, 3), (4, 3)])
def test_a_device_and_a_batch_make_the_same_set_of_every_draw(symbols: int, chosen: int) -> None:
    """Over all draws, each set with the true symbol comes up as often as any other; so without."""
    answer = Subset(symbols, chosen, WORD // 7)
    with_it, without = comb(symbols - 1, chosen - 1), comb(symbols - 1, chosen)
    trues = range(symbols) if symbols < 10 else (0, 1, 255, 256, 299)
    every = list(product(trues, (False, True), range(with_it), range(without)))
    true, keep, companions, strangers = np.array(every).T
    numbers = [] if symbols == 2 else [strangers] if chosen == 1 else [companions, strangers]
    many = Draws(keep, *numbers)
    batch = answer.answers(true, many).tolist()
    assert many.thresholds == [answer.threshold]
    device = []
    for symbol, kept, *draws in every:
        words = [n for n, bound in zip(draws, (with_it, without), strict=True) if bound > 1]
        source = Words(answer.threshold - kept, *words)
        device.append(answer.answer(symbol, source))
        assert not source.words
        assert (symbol in answer.support(device[-1])) is kept
    assert batch == device
    times = Counter((s, k, value) for (s, k, *_), value in zip(every, device, strict=True))
    assert all(n == (without if kept else with_it) for (_, kept, _), n in times.items())
    assert len(times) == len(trues) * (with_it + without)


def test_a_batch_of_narrow_answers_makes_each_bit_of_its_own_draw() -> None:
    every = np.array(list(product(range(3), range(2), range(8))))
    true, own, noise = every.T
    bits = [noise >> s & 1 for s in range(3)]
    even = Unary(3, WORD - 9, 9)
    assert (even.answers(true, Draws(*bits)) == noise ^ 1 << true).all()
    for other in (8, 10):
        draws = Draws(own, *bits)
        values = Unary(3, WORD - 9, other).answers(true, draws)
        assert draws.thresholds == [WORD - 9, other, other, other]
        assert (values >> true & 1 == own).all()
        assert ((values ^ noise) & ~(1 << true) == 0).all()
    bitwise, draws = Bitwise(3, WORD - 9), Draws(*bits)
    assert (bitwise.answers(true, draws) == true ^ noise).all()
    assert draws.thresholds == [9, 9, 9]


@pytest.mark.parametrize("symbols", [63, 64, 65, 71])
def test_all_bits_of_a_packed_answer_are_drawn_and_the_spare_ones_stay_0(symbols: int) -> None:
    """Thresholds so near 0 and 2⁶⁴ that what happens is certain, but for once in 2⁵⁰ times."""
    rows, eye, ones = np.arange(symbols), np.eye(symbols), np.ones((symbols, symbols))
    width = -(-symbols // 8)
    sure = Key.seeded("sure").stream
    for own, other, stream, expected in (
        (WORD - 1, 1, sure(), eye),  # symmetric
        (WORD - 1, 2, sure(), eye),
        (2, 1, sure(), 0 * eye),
        (WORD - 1, WORD - 2, sure(), ones),
        (WORD // 2, 1, Draws(rows % 2, 255), ones - eye * (rows % 2 == 0)),
        (WORD - 1, 1, Draws(255), ones - eye),
    ):
        packed = Unary(symbols, own, other).answers(rows, stream)
        assert packed.shape == (symbols, width)
        bits = np.unpackbits(packed, axis=1, bitorder="little")
        assert (bits[:, :symbols] == expected).all()
        assert not bits[:, symbols:].any()


def test_long_packed_answers_are_drawn_part_by_part_to_the_last_row() -> None:
    answer = Unary(1 << 18, WORD - 1, WORD - 2)
    assert (answer.answers(np.arange(17), Key.seeded("parts").stream()) == 255).all()


@pytest.mark.slow
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("symbols", [63, 64, 65, 100])
def test_wide_unary_answers_are_packed_with_the_right_odds(symbols: int, optimised: bool) -> None:
    answer, people, true = Unary.within(1.1, symbols, optimised=optimised), 20_000, symbols - 2
    packed = answer.answers(np.full(people, true), Key.seeded(f"wide {symbols}").stream())
    assert packed.shape == (people, -(-symbols // 8))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    assert not bits[:, symbols:].any(), "spare bits stay 0"
    chances = np.full(symbols, answer.other / WORD)
    chances[true] = answer.own / WORD
    for seen, chance in zip(bits[:, :symbols].sum(axis=0), chances, strict=True):
        assert stats.binomtest(int(seen), people, chance).pvalue > 1e-8
    together = np.corrcoef(bits[:, : symbols - 2].T) - np.eye(symbols - 2)
    assert np.abs(together).max() < 6 / people**0.5, "bits are independent"


@pytest.mark.slow
def test_randomized_response_is_that_of_opendp() -> None:
    dp.enable_features("contrib")
    ours = Subset.within(log(3), 2)
    keep = ours.threshold / WORD
    theirs = dp.m.make_randomized_response_bool(prob=keep)
    assert theirs.map(d_in=1) == pytest.approx(log_down(ours.ratio), rel=1e-12)
    people, source = 8000, Key.seeded("opendp").stream()
    for truth in (False, True):
        said = [
            sum(theirs(truth) for _ in range(people)),
            sum(ours.answer(int(truth), source) for _ in range(people)),
            int(ours.answers(np.full(people, int(truth)), source).sum()),
        ]
        table = [said, [people - yes for yes in said]]
        assert stats.chi2_contingency(table).pvalue > 1e-9
        assert all(
            stats.binomtest(n, people, keep if truth else 1 - keep).pvalue > 1e-9 for n in said
        )


@pytest.mark.slow
def test_preferential_sampling_is_that_of_opendp() -> None:
    dp.enable_features("contrib")
    ours = Subset.within(1.1, 5)
    theirs = dp.m.make_randomized_response(categories=list(range(5)), prob=ours.threshold / WORD)
    assert theirs.map(d_in=1) == pytest.approx(log_down(ours.ratio), rel=1e-9)
    assert p_value(ours, 3, [theirs(3) for _ in range(8000)]) > 1e-9


# Refusals


@pytest.mark.parametrize(
    "make",
    [
        lambda: Subset(1, 1, 1),
        lambda: Subset(4, 0, 1),
        lambda: Subset(4, 4, 1),
        lambda: Subset(4, -1, 1),
        lambda: Subset(4, 1, 0),
        lambda: Subset(4, 1, WORD),
        lambda: Subset(4, 1, WORD // 4),
        lambda: Subset(67, 33, WORD // 5),
        lambda: Subset(36, 34, WORD // 5),
        lambda: Subset(10**9, 5 * 10**8, WORD // 2),
        lambda: Subset(1 << 63, 1, WORD // 2),
        lambda: Unary(1, 2, 1),
        lambda: Unary(4, 1, 1),
        lambda: Unary(4, 1, 2),
        lambda: Unary(4, WORD, 1),
        lambda: Unary(4, 1, 0),
        lambda: Unary((1 << 24) + 1, 2, 1),
        lambda: Bitwise(0, WORD - 1),
        lambda: Bitwise(63, WORD - 1),
        lambda: Bitwise(2, WORD // 2),
        lambda: Bitwise(2, WORD),
    ],
)
def test_a_way_of_answering_that_makes_no_sense_is_refused(make) -> None:
    with pytest.raises(QuestionError):
        make()


def test_the_largest_ways_of_answering_are_taken() -> None:
    assert Subset(66, 33, WORD // 5).outcomes < 1 << 63
    assert Subset((1 << 63) - 1, 1, 1).outcomes == (1 << 63) - 1
    assert Unary(1 << 24, 2, 1).words == 1 << 24
    assert Bitwise(62, WORD // 2 + 1).outcomes == 1 << 62


@pytest.mark.parametrize("answer", SMALL, ids=label)
def test_a_way_of_answering_survives_json_and_nothing_else_does(answer: Answer) -> None:
    form = answer.to_json()
    assert answer_from_json(form) == answer
    for change in (
        {"extra": 1},
        {"way": "other"},
        {"way": None},
        {"symbols": True},
        {"symbols": "4"},
        {"symbols": 4.0},
        {"bits": True},
        {"bits": 1.0},
        {"threshold": 3, "own": 3},
        {"threshold": "+3", "own": "+3"},
        {"threshold": "03", "own": "03"},
        {"threshold": "３", "own": "３"},
        {"threshold": "9" * 21, "own": "9" * 21},
        {"threshold": "", "own": ""},
    ):
        with pytest.raises(DeniableError):
            answer_from_json(form | change)
    for name in form:
        with pytest.raises(DeniableError):
            answer_from_json({key: value for key, value in form.items() if key != name})
    for thing in (None, [], "subset", 3):
        with pytest.raises(QuestionError):
            answer_from_json(thing)


class Counted:
    """Words that are reproducible, and counted."""

    def __init__(self) -> None:
        self.stream, self.drawn = Key.seeded("counted").stream("words"), 0

    def word(self) -> int:
        self.drawn += 1
        return self.stream.word()


@pytest.mark.parametrize("symbols", [2, 7, 8, 9, 62, 63, 64, 65, 1000, 1 << 12])
def test_a_unary_answer_takes_a_word_for_each_symbol_in_their_order(symbols: int) -> None:
    answer = Unary.within(1.1, symbols, optimised=True)
    for true in {0, 1, symbols // 2, symbols - 1}:
        source, again = Counted(), Counted()
        value = answer.answer(true, source)
        assert source.drawn == symbols == answer.words
        thresholds = [answer.own if s == true else answer.other for s in range(symbols)]
        bits = [again.word() < threshold for threshold in thresholds]
        assert value == sum(bit << s for s, bit in enumerate(bits))
        assert answer.support(value) == tuple(s for s, bit in enumerate(bits) if bit)
        assert answer.bits(value).tolist() == bits


def test_a_unary_answer_never_holds_a_number_that_it_goes_on_to_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Bit(int):
        """A decision; shifted by more than a byte it would be a long number for every symbol."""

        def __lshift__(self, places: int) -> int:
            assert places < 8
            return int(self) << places

    monkeypatch.setattr(unary, "happens", lambda source, threshold: Bit(threshold > 0))
    assert Unary.within(1.0, 100).answer(3, Counted()) == (1 << 100) - 1
