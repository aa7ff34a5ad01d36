"""Signs: lists of yes/no questions about one attribute, "is its value among these?".

An answer is a *sign*: −1 for yes, +1 for no. A list of L questions about an attribute of r values is
used only if it is *tight*: with P = I − J/r, which takes the mean off,

    Σ_i (P·h_i)(P·h_i)' = n·P,    so that    P·f = Σ_i (P·h_i)·(h_i·f) / n

for whatever distribution f: what is learnt about each question adds up to the table (`synthesis`).

`walsh`: the code of a value has b = ⌈log₂ r⌉ bits; question i = 1 … 2^b − 1 is the parity of the bits of
the code under the mask i, and n = 2^b. Two questions' answers multiply to that of a third, i ⊕ j.
`balanced`: questions that half of the values answer with yes, as nearly as can be. There n is smaller
where r is no power of two, but two of them say nothing about a third.

A question of several parities needs several questions about an attribute, and takes them as a *frame*:
for g = 1 … 2^b − 1, the masks g·1, g·x, …, g·x^(f−1), multiplied in the field of 2^b elements.
Multiplication by anything but zero is a bijection, so over all frames each mask, and each sum of some of
the f, comes up equally often; and there are as many frames as masks, whatever f is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_BITS", "Signs", "balanced", "multiplied", "walsh"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Answers = Callable[[Ints], NDArray[np.uint8]]

_IRREDUCIBLE = (
    *(0b11, 0b111, 0b1011, 0b10011, 0b100101, 0b1000011, 0b10000011, 0b100011011),
    *(0b1000010001, 0b10000001001, 0b100000000101, 0b1000001010011),
)
"""The field of 2^b elements is that of polynomials modulo the b-th of these."""

MOST_BITS = len(_IRREDUCIBLE)
"""The most bits of an attribute's code: 4,096 values."""

_ALL_SPLITS = 10
"""Up to so many values all balanced questions are listed where there is no Hadamard matrix."""


class Signs:
    """A tight list of ``count`` questions about an attribute of ``size`` values; ``norm`` is n.

    ``answers`` gives, for some questions, which values say yes; question 0 stands for none, to
    which nobody does. A list may be long, so a device looks only at the questions it is asked.
    """

    def __init__(self, size: int, count: int, norm: Fraction, answers: Answers) -> None:
        self.size, self.count, self.norm = size, count, norm
        self._answers = answers

    def yes(self, question: int) -> NDArray[np.uint8]:
        """Return which values say yes to a question."""
        said: NDArray[np.uint8] = self._answers(np.array([question]))[0]
        return said

    @cached_property
    def odd(self) -> NDArray[np.uint8]:
        """Return which values (columns) say yes to each question (rows), the first of them none."""
        return self._answers(np.arange(self.count + 1))

    @property
    def energy(self) -> float:
        """Return (r−1)/n: what an error of 1 in every answer makes of the table, squared."""
        return (self.size - 1) / float(self.norm)

    @cached_property
    def analysis(self) -> Floats:
        """Return the sign of each value (columns) under each question (rows), +1 under none."""
        signs: Floats = 1.0 - 2.0 * self.odd.astype(np.float64)
        return signs

    @cached_property
    def synthesis(self) -> Floats:
        """Return the matrix that makes cells (rows) of mean signs (columns, the first one is 1)."""
        centred = self.analysis - self.analysis.mean(axis=1, keepdims=True)
        made: Floats = centred.T / float(self.norm)
        made[:, 0] = 1 / self.size
        return made


@cache
def walsh(size: int) -> Signs:
    """Return the parities of a code's bits."""
    count = 1 << max(1, (size - 1).bit_length())
    values = np.arange(size)

    def answers(questions: Ints) -> NDArray[np.uint8]:
        said: NDArray[np.uint8] = np.bitwise_count(questions[:, None] & values) & 1
        return said

    return Signs(size, count - 1, Fraction(count), answers)


@cache
def balanced(size: int) -> Signs:
    """Return questions that half of the values, as nearly as can be, answer with yes.

    Rows of a Hadamard matrix are tight whatever columns are left out; the smallest that is easily
    made is taken. They split the values as evenly as can be if at most one is left out; for 5, 6, 9
    and 10 values all even splits are listed instead. The first value always says no.
    """
    if size % 4 in (1, 2) and size <= _ALL_SPLITS:
        halves = {size // 2, size - size // 2}
        sets = [c for half in sorted(halves) for c in combinations(range(1, size), half)]
        odd = np.zeros((len(sets) + 1, size), np.uint8)
        for row, chosen in enumerate(sets, start=1):
            odd[row, list(chosen)] = 1
        one = Fraction(size) - Fraction(size % 2, size)  # |P·h|²
        return Signs(size, len(sets), len(sets) * one / (size - 1), lambda rows: odd[rows])
    order = max(2, size)
    while (matrix := _hadamard(order)) is None:
        order += 1
    kept = matrix[:, :size]
    return Signs(size, order - 1, Fraction(order), lambda rows: kept[rows])


def _hadamard(order: int) -> NDArray[np.uint8] | None:
    """Return a Hadamard matrix (0 for +1, 1 for −1) with a first row and column of zeros."""
    if order == 1:
        return np.zeros((1, 1), np.uint8)
    if order % 4 == 0 and _is_prime(order - 1):  # Paley's first construction
        prime = order - 1
        residue = np.ones(prime, np.uint8)
        residue[np.arange(1, prime) ** 2 % prime] = 0
        made = np.zeros((order, order), np.uint8)
        made[1:, 1:] = residue[np.subtract.outer(np.arange(prime), np.arange(prime)) % prime]
        return made
    half = _hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, half ^ 1]])


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def multiplied(width: int, left: Ints, right: int) -> Ints:
    """Return products with one element of the field of 2^width elements."""
    total, modulus = np.zeros_like(left), _IRREDUCIBLE[width - 1]
    while right:
        if right & 1:
            total = total ^ left
        left = left << 1
        left = np.where(left >> width, left ^ modulus, left)
        right >>= 1
    return total
