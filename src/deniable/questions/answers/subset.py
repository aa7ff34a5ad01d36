"""Answering with a set of symbols: randomized response (M = 2), preferential sampling (w = 1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import QuestionError
from deniable.formats.forms import limit
from deniable.questions.answers.answer import Inclusion, checked, floor, too_small
from deniable.questions.entropy import WORD, Source, Stream, below, happens, words_below
from deniable.questions.exact import exponential
from deniable.questions.subsets import rank, ranks, unrank, unranks


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
        threshold = floor(odds / (odds + symbols - chosen))
        if threshold * symbols <= chosen * WORD:
            raise too_small(epsilon)
        return checked(cls(symbols, chosen, threshold), epsilon)

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
        subset = (unrank(strangers, self.chosen), unrank(companions, self.chosen - 1))[keep]
        others = [other + (other >= symbol) for other in subset]
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
            others_ranks = stream.below(others, count, narrow)
            others_ranks += others_ranks >= symbols
            others_ranks ^= (
                others_ranks ^ symbols
            ) * keep  # the symbol where kept, without a branch
            return others_ranks.astype(np.int64)
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
