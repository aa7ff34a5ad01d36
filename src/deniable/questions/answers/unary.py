"""Answering with one noisy bit per symbol: parallel randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import QuestionError
from deniable.questions.answers.answer import (
    NARROW,
    Inclusion,
    checked,
    floor,
    product_law,
    too_small,
)
from deniable.questions.entropy import WORD, Source, Stream, happens
from deniable.questions.exact import exponential

MOST_SYMBOLS = 1 << 24
"""The most bits that a device is asked to draw one by one."""


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
        other = floor(1 / (odds + 1)) + 1
        own = WORD // 2 if optimised else WORD - other
        if other >= own:
            raise too_small(epsilon)
        return checked(cls(symbols, own, other), epsilon)

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
        return product_law([self.own if s == symbol else self.other for s in range(self.symbols)])

    def support(self, value: int) -> tuple[int, ...]:
        """Return the symbols whose bit is set."""
        if self.symbols <= NARROW:  # an array takes longer to make than to go through
            return tuple([s for s in range(self.symbols) if value >> s & 1])
        return tuple(np.flatnonzero(self.bits(value)).tolist())

    def bits(self, value: int) -> NDArray[np.uint8]:
        """Return the bit of every symbol."""
        octets = np.frombuffer(value.to_bytes(-(-self.symbols // 8), "little"), np.uint8)
        return np.unpackbits(octets, count=self.symbols, bitorder="little")

    def answer(self, symbol: int, source: Source) -> int:
        """Draw one value, one word per bit."""
        # Into bytes: an integer of a million bits would be copied for each of them.
        octets = bytearray(-(-self.symbols // 8))
        for s in range(self.symbols):
            octets[s >> 3] |= happens(source, self.own if s == symbol else self.other) << (s & 7)
        return int.from_bytes(octets, "little")

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
        octets = np.empty((len(rows), width), np.uint8)
        step = max(1, (1 << 18) // width)
        for start in range(0, len(rows), step):
            part = octets[start : start + step]
            part[:] = stream.packed(self.other, 8 * part.size).reshape(part.shape)
        octets[:, -1] &= 255 >> (-self.symbols % 8)
        index = (np.arange(len(rows)), rows >> 3)
        true = np.left_shift(1, rows & 7).astype(np.uint8)
        noisy = octets[index]
        octets[index] = noisy ^ true if own is None else np.where(own, noisy | true, noisy & ~true)
        return octets

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
