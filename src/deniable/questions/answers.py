"""How a question is answered: three ways to turn the true symbol into a deniable report.

Each way is a few integers. From them come its exact law, its exact ε, a sampler for one device, a
vectorised sampler for simulations, and what a decoder needs: the *support* of a report is the set
of symbols it speaks for, and four probabilities say how supports relate to the truth.

============  ===========================================================  ====================
way           the report                                                   the paper's name
============  ===========================================================  ====================
`Subset`      w symbols, the true one among them with probability t/2⁶⁴    RR (M=2), PS (w=1)
`Unary`       one noisy bit per symbol                                     parallel RR
`Bitwise`     the symbol's c bits, each by randomized response             budget splitting
============  ===========================================================  ====================

Thresholds are rounded towards *no information*, so the realised ε never exceeds the stated one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import QuestionError, SurveyError
from deniable.formats.forms import check_form, limit
from deniable.questions.entropy import WORD, Source, Stream, below, happens, words_below
from deniable.questions.exact import exponential, log_down
from deniable.questions.subsets import rank, ranks, unrank, unranks

__all__ = [
    "Answer",
    "Bitwise",
    "Inclusion",
    "Subset",
    "Unary",
    "answer_from_json",
]

NARROW = 62
"""The widest bit mask that is reported as an integer."""

MOST_SYMBOLS = 1 << 24
"""The most bits that a device is asked to draw one by one."""

A = TypeVar("A", "Subset", "Unary", "Bitwise")


def _floor(probability: Fraction) -> int:
    return (WORD * probability.numerator) // probability.denominator


@dataclass(frozen=True)
class Inclusion:
    """How often a report's support holds the true symbol and other symbols.

    ``own``: the true one · ``other``: a given other one · ``own_and_other``: both ·
    ``two_others``: two given others. For α ≠ 0 the score Σ_{s in support} χ_α(s)/(own − other) has
    mean θ_α, and products of scores have mean `cross`·θ_{α⊕α'}, or `second_moment` where α = α'.
    """

    own: Fraction
    other: Fraction
    own_and_other: Fraction
    two_others: Fraction

    @property
    def contrast(self) -> Fraction:
        """Return own − other, by which scores are divided."""
        return self.own - self.other

    @property
    def cross(self) -> Fraction:
        """Return κ: the mean of a product of two scores is κ·θ of their product."""
        return (self.contrast - 2 * (self.own_and_other - self.two_others)) / self.contrast**2

    def second_moment(self, symbols: int) -> Fraction:
        """Return V, the mean of one squared score."""
        return self.cross + symbols * (self.other - self.two_others) / self.contrast**2


class Answer(Protocol):
    """What every way of answering can do; ``symbols`` is the number of true answers."""

    @property
    def symbols(self) -> int:
        """Return M: the true answer is an integer below it."""
        ...

    @property
    def outcomes(self) -> int:
        """Return how many different values may be reported."""
        ...

    @property
    def ratio(self) -> Fraction:
        """Return the largest ratio of a value's probabilities under two true answers, e^ε."""
        ...

    @property
    def words(self) -> int:
        """Return the 64-bit words that a device draws for one answer, if none is rejected."""
        ...

    @property
    def law_total(self) -> int:
        """Return the common denominator of the law."""
        ...

    def law(self, symbol: int) -> list[int]:
        """Return the probability of every value, in order, times `law_total`."""
        ...

    def answer(self, symbol: int, source: Source) -> int:
        """Draw the value one device reports."""
        ...

    def answers(self, symbols: NDArray[Any], stream: Stream) -> NDArray[Any]:
        """Draw the values of many people with the same way of answering."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...


@dataclass(frozen=True)
class Subset:
    """Report a set of ``chosen`` symbols that holds the true one with probability threshold/2⁶⁴.

    The value is the colex rank of the sorted set.
    """

    symbols: int
    chosen: int
    threshold: int

    def __post_init__(self) -> None:
        if not (self.symbols >= 2 and 1 <= self.chosen < self.symbols):
            raise QuestionError(
                f"A subset answer takes 1 to M-1 of M symbols, got {self.chosen} of {self.symbols}."
            )
        if not 0 < self.threshold < WORD:
            raise QuestionError("A threshold must lie between 0 and 2^64, both excluded.")
        # C(68, 34) is too large already; sets of nearly all symbols would take for ever to number, and
        # how long would tell whether the true one is among them.
        if self.chosen > limit("chosen") or self.outcomes >= 1 << 63:
            raise QuestionError(
                f"Subsets of {self.chosen} of {self.symbols} symbols do not fit a 63-bit value."
            )
        if self.threshold * self.symbols == self.chosen * WORD:
            raise QuestionError("A subset answer that holds each symbol as often tells nothing.")

    @classmethod
    def within(cls, epsilon: float, symbols: int, chosen: int = 1) -> Subset:
        """Return the most informative subset answer that ε allows."""
        odds = chosen * exponential(epsilon)
        threshold = _floor(odds / (odds + symbols - chosen))
        if threshold * symbols <= chosen * WORD:
            raise _too_small(epsilon)
        return _checked(cls(symbols, chosen, threshold), epsilon)

    @property
    def outcomes(self) -> int:
        """Return C(M, w)."""
        return comb(self.symbols, self.chosen)

    @property
    def ratio(self) -> Fraction:
        """Return the largest likelihood ratio."""
        with_it = Fraction(self.threshold, comb(self.symbols - 1, self.chosen - 1))
        without = Fraction(WORD - self.threshold, comb(self.symbols - 1, self.chosen))
        return max(with_it / without, without / with_it)

    @property
    def reach(self) -> int:
        """Return the largest |Σ χ_α(s)| over a support, for any α ≠ 0."""
        return min(self.chosen, self.symbols - self.chosen)

    @cached_property
    def inclusion(self) -> Inclusion:
        """Return how supports relate to the truth."""
        keep, size, others = Fraction(self.threshold, WORD), self.chosen, self.symbols - 1
        pairs = others * (others - 1)
        return Inclusion(
            own=keep,
            other=(keep * (size - 1) + (1 - keep) * size) / others,
            own_and_other=keep * (size - 1) / others,
            two_others=(size - 1) * (keep * (size - 2) + (1 - keep) * size) / pairs
            if pairs
            else Fraction(0),
        )

    @property
    def words(self) -> int:
        """Return the words of one answer: the decision, companions and strangers."""
        others = self.symbols - 1
        return 1 + sum(words_below(comb(others, w)) for w in (self.chosen - 1, self.chosen))

    @property
    def law_total(self) -> int:
        """Return the common denominator of the law."""
        return WORD * comb(self.symbols - 1, self.chosen - 1) * comb(self.symbols - 1, self.chosen)

    def law(self, symbol: int) -> list[int]:
        """Return the probability of every value times `law_total`."""
        holding = self.threshold * comb(self.symbols - 1, self.chosen)
        lacking = (WORD - self.threshold) * comb(self.symbols - 1, self.chosen - 1)
        return [
            holding if symbol in self.support(value) else lacking for value in range(self.outcomes)
        ]

    def support(self, value: int) -> tuple[int, ...]:
        """Return the reported set of symbols."""
        return unrank(value, self.chosen)

    def answer(self, symbol: int, source: Source) -> int:
        """Draw one value. Both sets are always drawn and made, so that timing tells nothing."""
        keep = happens(source, self.threshold)
        companions = below(source, comb(self.symbols - 1, self.chosen - 1))
        strangers = below(source, comb(self.symbols - 1, self.chosen))
        drawn = (unrank(strangers, self.chosen), unrank(companions, self.chosen - 1))[keep]
        others = [other + (other >= symbol) for other in drawn]
        return rank(sorted([*others, symbol] if keep else others))

    def answers(self, symbols: NDArray[Any], stream: Stream) -> NDArray[np.int64]:
        """Draw many values."""
        count, others = len(symbols), self.symbols - 1
        keep = stream.happens(self.threshold, count)
        if self.symbols == 2:
            return (symbols ^ ~keep).astype(np.int64)
        if self.chosen == 1:
            narrow = np.min_scalar_type(others)  # several times faster than int64
            symbols = symbols.astype(narrow, copy=False)
            drawn = stream.below(others, count, narrow)
            drawn += drawn >= symbols
            drawn ^= (drawn ^ symbols) * keep  # the symbol where kept, without a branch
            return drawn.astype(np.int64)
        companions = stream.below(comb(others, self.chosen - 1), count)
        strangers = stream.below(comb(others, self.chosen), count)
        sets = unranks(strangers, self.chosen, others)
        sets[keep, :-1] = unranks(companions[keep], self.chosen - 1, others)
        sets[keep, -1] = self.symbols  # a mark, moved by the next line, then replaced
        sets += sets >= np.asarray(symbols)[:, None]
        sets[keep, -1] = symbols[keep]
        sets.sort(axis=1)
        return ranks(sets, self.symbols)

    def count(
        self, rows: int, row: NDArray[np.int64], value: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how often each symbol was supported and how many reported, per row of slots."""
        supports = np.zeros(rows * self.symbols, np.int64)
        for symbol in unranks(value, self.chosen, self.symbols).T:
            np.add.at(supports, row * self.symbols + symbol, count)
        people = np.zeros(rows, np.int64)
        np.add.at(people, row, count)
        return supports.reshape(rows, self.symbols), people

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "way": "subset",
            "symbols": self.symbols,
            "chosen": self.chosen,
            "threshold": str(self.threshold),
        }


@dataclass(frozen=True)
class Unary:
    """Report a bit for every symbol: 1 with probability own/2⁶⁴ if true, other/2⁶⁴ if not.

    The value is a bit mask, bit s for symbol s: an integer up to 62 symbols, packed
    little-endian bytes beyond. Its ε counts two bits, because two true answers differ in two.
    """

    symbols: int
    own: int
    other: int

    def __post_init__(self) -> None:
        if not 2 <= self.symbols <= MOST_SYMBOLS:
            raise QuestionError(
                f"A unary answer takes 2 to {MOST_SYMBOLS:,} symbols, got {self.symbols}."
            )
        if not 0 < self.other < self.own < WORD:
            raise QuestionError("Unary thresholds must satisfy 0 < other < own < 2^64.")

    @classmethod
    def within(cls, epsilon: float, symbols: int, *, optimised: bool = False) -> Unary:
        """Return the unary answer that ε allows: symmetric (the paper's), or optimised.

        Symmetric flips every bit with probability 1/(e^(ε/2)+1). Optimised keeps a 1 with ½ and
        raises a 0 with 1/(e^ε+1): better from about 8 symbols on, at least up to ε = 3.
        """
        odds = exponential(epsilon) if optimised else exponential(epsilon, 2)
        other = _floor(1 / (odds + 1)) + 1
        own = WORD // 2 if optimised else WORD - other
        if other >= own:
            raise _too_small(epsilon)
        return _checked(cls(symbols, own, other), epsilon)

    @property
    def outcomes(self) -> int:
        """Return 2^M."""
        return 1 << self.symbols

    @property
    def ratio(self) -> Fraction:
        """Return the largest likelihood ratio."""
        return Fraction(self.own * (WORD - self.other), self.other * (WORD - self.own))

    @property
    def reach(self) -> int:
        """Return the largest |Σ χ_α(s)| over a support, for any α ≠ 0."""
        return self.symbols // 2

    @cached_property
    def inclusion(self) -> Inclusion:
        """Return how supports relate to the truth."""
        own, other = Fraction(self.own, WORD), Fraction(self.other, WORD)
        return Inclusion(own, other, own * other, other * other)

    @property
    def words(self) -> int:
        """Return the words of one answer: one per bit."""
        return self.symbols

    @property
    def law_total(self) -> int:
        """Return the common denominator of the law."""
        return 1 << 64 * self.symbols

    def law(self, symbol: int) -> list[int]:
        """Return the probability of every value times `law_total`."""
        return _product_law([self.own if s == symbol else self.other for s in range(self.symbols)])

    def support(self, value: int) -> tuple[int, ...]:
        """Return the symbols whose bit is set."""
        return tuple(np.flatnonzero(self.bits(value)).tolist())

    def bits(self, value: int) -> NDArray[np.uint8]:
        """Return the bit of every symbol."""
        packed = np.frombuffer(value.to_bytes(-(-self.symbols // 8), "little"), np.uint8)
        return np.unpackbits(packed, count=self.symbols, bitorder="little")

    def answer(self, symbol: int, source: Source) -> int:
        """Draw one value, one word per bit."""
        # Into bytes: an integer of a million bits would be copied for each of them.
        packed = bytearray(-(-self.symbols // 8))
        for s in range(self.symbols):
            packed[s >> 3] |= happens(source, self.own if s == symbol else self.other) << (s & 7)
        return int.from_bytes(packed, "little")

    def answers(self, symbols: NDArray[Any], stream: Stream) -> NDArray[Any]:
        """Draw many values: masks up to 62 symbols, else one row of packed bytes each."""
        rows = np.asarray(symbols, np.int64)
        # A symmetric answer is the truth under noise that knows nothing of it; otherwise the
        # true symbol's bit is drawn on its own, and replaces the noise there.
        symmetric = self.own == WORD - self.other
        own = None if symmetric else stream.happens(self.own, len(rows))
        if self.symbols <= NARROW:
            mask = np.zeros(len(rows), np.int64)
            for s in range(self.symbols):
                mask |= stream.happens(self.other, len(rows)).astype(np.int64) << s
            true = np.int64(1) << rows
            return mask ^ true if own is None else np.where(own, mask | true, mask & ~true)
        width = -(-self.symbols // 8)
        packed = np.empty((len(rows), width), np.uint8)
        step = max(1, (1 << 18) // width)
        for start in range(0, len(rows), step):
            part = packed[start : start + step]
            part[:] = stream.packed(self.other, 8 * part.size).reshape(part.shape)
        packed[:, -1] &= 255 >> (-self.symbols % 8)
        index = (np.arange(len(rows)), rows >> 3)
        true = np.left_shift(1, rows & 7).astype(np.uint8)
        noisy = packed[index]
        packed[index] = noisy ^ true if own is None else np.where(own, noisy | true, noisy & ~true)
        return packed

    def count(
        self, rows: int, row: NDArray[np.int64], value: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how often each symbol was supported and how many reported, per row of slots.

        A unary tally is folded: value s counts set bits of symbol s, value M counts reports.
        """
        table = np.zeros((rows, self.symbols + 1), np.int64)
        np.add.at(table, (row, value), count)
        return table[:, :-1], table[:, -1]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "way": "unary",
            "symbols": self.symbols,
            "own": str(self.own),
            "other": str(self.other),
        }


@dataclass(frozen=True)
class Bitwise:
    """Report all ``bits`` bits of the symbol, each kept with probability threshold/2⁶⁴."""

    bits: int
    threshold: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= NARROW:
            raise QuestionError(f"A bitwise answer takes 1 to {NARROW} bits, got {self.bits}.")
        if not WORD // 2 < self.threshold < WORD:
            raise QuestionError("A bitwise threshold must lie between 2^63 and 2^64.")

    @classmethod
    def within(cls, epsilon: float, bits: int) -> Bitwise:
        """Return the bitwise answer that splits ε evenly over the bits."""
        odds = exponential(epsilon, bits)
        threshold = _floor(odds / (odds + 1))
        if threshold <= WORD // 2:
            raise _too_small(epsilon)
        return _checked(cls(bits, threshold), epsilon)

    @property
    def symbols(self) -> int:
        """Return 2^c."""
        return 1 << self.bits

    @property
    def outcomes(self) -> int:
        """Return 2^c."""
        return 1 << self.bits

    @property
    def ratio(self) -> Fraction:
        """Return the largest likelihood ratio: all bits differ."""
        return Fraction(self.threshold, WORD - self.threshold) ** self.bits

    @cached_property
    def shrink(self) -> Fraction:
        """Return 2p − 1, by which one bit's mean sign shrinks."""
        return Fraction(2 * self.threshold - WORD, WORD)

    @property
    def words(self) -> int:
        """Return the words of one answer: one per bit."""
        return self.bits

    @property
    def law_total(self) -> int:
        """Return the common denominator of the law."""
        return 1 << 64 * self.bits

    def law(self, symbol: int) -> list[int]:
        """Return the probability of every value times `law_total`."""
        return _product_law(
            [self.threshold if symbol >> j & 1 else WORD - self.threshold for j in range(self.bits)]
        )

    def answer(self, symbol: int, source: Source) -> int:
        """Draw one value, one word per bit."""
        for j in range(self.bits):
            symbol ^= (not happens(source, self.threshold)) << j
        return symbol

    def answers(self, symbols: NDArray[Any], stream: Stream) -> NDArray[np.int64]:
        """Draw many values."""
        values = np.asarray(symbols).astype(np.int64)
        for j in range(self.bits):
            values ^= stream.happens(WORD - self.threshold, len(values)).astype(np.int64) << j
        return values

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"way": "bitwise", "bits": self.bits, "threshold": str(self.threshold)}


def answer_from_json(form: Any) -> Subset | Unary | Bitwise:
    """Read a way of answering, and refuse anything that is not exactly one."""
    check_form("answer", form, QuestionError)
    match form["way"]:
        case "subset":
            return Subset(form["symbols"], form["chosen"], int(form["threshold"]))
        case "unary":
            return Unary(form["symbols"], int(form["own"]), int(form["other"]))
        case _:
            return Bitwise(form["bits"], int(form["threshold"]))


def _product_law(ones: list[int]) -> list[int]:
    """Return the law of independent bits, bit j set with weight ones[j] out of 2⁶⁴."""
    law = [1]
    for one in ones:
        law = [p * (WORD - one) for p in law] + [p * one for p in law]
    return law


def _checked(made: A, epsilon: float) -> A:
    """Return the answer if 64 bits express ε well.

    Far below 2⁻⁶⁴ they do not even keep the bound: the nearest threshold may be on the other side.
    """
    if not epsilon * (1 - 1e-3) <= log_down(made.ratio) <= epsilon:
        raise _too_small(epsilon)
    if made.ratio > exponential(epsilon):
        raise AssertionError("rounding went the wrong way")
    return made


def _too_small(epsilon: float) -> SurveyError:
    return SurveyError(
        f"epsilon = {epsilon!r} is too small to be expressed with 64-bit thresholds here; "
        "take a larger one."
    )
