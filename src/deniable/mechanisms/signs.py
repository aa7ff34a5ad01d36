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

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_BITS", "Signs", "balanced", "frames", "walsh"]

Floats = NDArray[np.float64]

_IRREDUCIBLE = (
    *(0b11, 0b111, 0b1011, 0b10011, 0b100101, 0b1000011, 0b10000011, 0b100011011),
    *(0b1000010001, 0b10000001001, 0b100000000101, 0b1000001010011),
)
"""The field of 2^b elements is that of polynomials modulo the b-th of these."""

MOST_BITS = len(_IRREDUCIBLE)
"""The most bits of an attribute's code: 4,096 values."""

_ALL_SPLITS = 10
"""Up to so many values all balanced questions are listed where there is no Hadamard matrix."""


@dataclass(frozen=True, eq=False)
class Signs:
    """A tight list: ``odd[i, v]`` says whether value v answers question i with yes.

    Row 0 stands for no question: nobody says yes. ``norm`` is n.
    """

    odd: NDArray[np.uint8]
    norm: Fraction

    @property
    def count(self) -> int:
        """Return L, the number of questions."""
        return len(self.odd) - 1

    @property
    def size(self) -> int:
        """Return r, the number of values."""
        return int(self.odd.shape[1])

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
    odd = np.bitwise_count(np.arange(count)[:, None] & np.arange(size)) & 1
    return Signs(odd.astype(np.uint8), Fraction(count))


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
        return Signs(odd, len(sets) * one / (size - 1))
    order = max(2, size)
    while (matrix := _hadamard(order)) is None:
        order += 1
    return Signs(matrix[:, :size], Fraction(order))


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


def _product(width: int, left: int, right: int) -> int:
    """Return the product of two elements of the field of 2^width elements."""
    total, modulus = 0, _IRREDUCIBLE[width - 1]
    while right:
        if right & 1:
            total ^= left
        left <<= 1
        if left >> width:
            left ^= modulus
        right >>= 1
    return total


@cache
def frames(width: int, count: int) -> NDArray[np.int64]:
    """Return the mask of each sum (row) of the ``count`` masks of each frame (column)."""
    columns = range(1, 1 << width)
    return np.array([[_product(width, g, s) for g in columns] for s in range(1 << count)])
