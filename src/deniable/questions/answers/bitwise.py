"""Answering with every bit of the symbol, each by randomized response: budget splitting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import QuestionError
from deniable.questions.answers.answer import NARROW, checked, floor, product_law, too_small
from deniable.questions.entropy import WORD, Source, Stream, happens
from deniable.questions.exact import exponential


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
        threshold = floor(odds / (odds + 1))
        if threshold <= WORD // 2:
            raise too_small(epsilon)
        return checked(cls(bits, threshold), epsilon)

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
        return product_law(
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
