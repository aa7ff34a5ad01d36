"""Question lists: yes/no questions about one attribute, "is its value among these?".

A list has numbered *entries*. For f = 1, 2, … up to the list's ``depth``, an entry gives f yes/no
questions about the attribute, and so divides its values into 2^f classes; a slot of a survey says
which entry of each attribute's list is asked. Every sum (XOR) of some of an entry's questions is a
*coefficient* of the list, numbered from 1; number 0 stands for no question, to which nobody says
yes. An entry that is to be asked more often than others stands in the list more than once, so the
entries of a list are always equally likely.

An answer is a *sign*: −1 for yes, +1 for no. What is learnt about coefficients makes the attribute's
table by the list's ``synthesis``. Whoever needs two coefficients at once asks the list for their
product: no list has to be closed under sums, or to be tight.

`codes`: the code of a value has b = ⌈log₂ r⌉ bits; coefficient i = 1 … 2^b − 1 is the parity of the bits
of the code under the mask i. Entry g gives the masks g·1, g·x, …, g·x^(f−1), multiplied in the field
of 2^b elements. Multiplication by anything but zero is a bijection, so over all entries each mask,
and each sum of some of the f, comes up equally often; and there are as many entries as masks.
`bits`: the first f bits of the code, in its only entry; the same coefficients.
`balanced`: single questions that half of the values answer with yes, as nearly as can be.

These are *tight*: with P = I − J/r, which takes the mean off, and h_i the signs of coefficient i,

    Σ_i (P·h_i)(P·h_i)' = n·P,    so that    P·f = Σ_i (P·h_i)·(h_i·f) / n

for whatever distribution f.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Terms = list[tuple[Ints, Floats | float]]
"""Numbers of functions in a list's basis, and the factors that they are multiplied with."""

_IRREDUCIBLE = (
    *(0b11, 0b111, 0b1011, 0b10011, 0b100101, 0b1000011, 0b10000011, 0b100011011),
    *(0b1000010001, 0b10000001001, 0b100000000101, 0b1000001010011),
)
"""The field of 2^b elements is that of polynomials modulo the b-th of these."""

MOST_BITS = len(_IRREDUCIBLE)
"""The most bits of an attribute's code: 4,096 values."""

_ALL_SPLITS = 10
"""Up to so many values all balanced questions are listed where there is no Hadamard matrix."""


class QuestionList(ABC):
    """A list of yes/no questions about an attribute of ``size`` values.

    ``entries`` and ``count`` are the numbers of its entries and of its coefficients, ``depth`` is the
    most questions that one entry gives.
    """

    name: ClassVar[str]
    is_parity: ClassVar[bool] = False
    """Whether a coefficient is the parity of the bits of the code under the mask that numbers it."""
    is_order: ClassVar[bool] = False
    """Whether coefficients are cuts of an order, of which tables need not show every level."""
    is_even: ClassVar[bool] = False
    """Whether over all entries every coefficient comes up equally often, whatever is summed."""
    size: int
    entries: int
    count: int
    depth: int

    @property
    def codes(self) -> int:
        """Return how many values records hold: as many as tables, unless these put some together."""
        return self.size

    @property
    def functions(self) -> int:
        """Return how many sums of questions are numbered: ``count`` are estimated, others follow."""
        return self.count

    @abstractmethod
    def coefficients(self, entries: Ints, questions: int, part: int) -> Ints:
        """Return the coefficient that entries (from 0) give for the sum of some of their questions.

        ``questions`` is f, how many questions an entry is asked for, ``part`` the mask of those that
        are summed; 0 gives coefficient 0.
        """

    @abstractmethod
    def answers(self, coefficients: Ints) -> NDArray[np.uint8]:
        """Return which values (columns) say yes to coefficients (rows).

        A list may be long, so a device looks only at what it is asked.
        """

    @property
    @abstractmethod
    def synthesis(self) -> Floats:
        """Return the matrix that makes cells (rows) of mean signs (columns, the first one is 1)."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"list": self.name}

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what tells it from other lists."""
        return self.name, self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuestionList) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @cached_property
    def odd(self) -> NDArray[np.uint8]:
        """Return which values (columns) say yes to each function (rows), the first of them none."""
        return self.answers(np.arange(self.functions + 1))

    def expectation(self, functions: Floats) -> Floats:
        """Return the weights of 1 and of coefficients in means of functions of the code (rows)."""
        weights: Floats = functions @ self.synthesis
        return weights

    @cached_property
    def analysis(self) -> Floats:
        """Return the sign of each value (columns) under each coefficient (rows), +1 under none."""
        signs: Floats = 1.0 - 2.0 * self.odd.astype(np.float64)
        return signs

    @cached_property
    def energy(self) -> float:
        """Return what an error of 1 in every coefficient makes of the table, squared."""
        return float((self.synthesis[:, 1:] ** 2).sum())

    # Two coefficients at once

    @cached_property
    def basis(self) -> Floats:
        """Return functions of the value (columns) of which products of coefficients are made."""
        return np.eye(self.size)

    def sign_products(self, left: Ints, right: Ints) -> Terms:
        """Return the product of two coefficients' signs, in terms of the basis."""
        return self._by_value(self.analysis, left, right)

    def cell_products(self, left: Ints, right: Ints) -> Terms:
        """Return the product of what two coefficients contribute to a cell, in terms of the basis."""
        return self._by_value(self.synthesis.T, left, right)

    def _by_value(self, functions: Floats, left: Ints, right: Ints) -> Terms:
        return [
            (np.full_like(left, value), functions[left, value] * functions[right, value])
            for value in range(self.size)
        ]


class TightList(QuestionList):
    """A list whose questions add up to the table, each with the weight 1/n; ``norm`` is n."""

    norm: Fraction

    @cached_property
    def energy(self) -> float:
        """Return (r−1)/n."""
        return (self.size - 1) / float(self.norm)

    @cached_property
    def synthesis(self) -> Floats:
        """Return the matrix that makes cells of mean signs."""
        contrasts = self.analysis - self.analysis.mean(axis=1, keepdims=True)
        matrix: Floats = contrasts.T / float(self.norm)
        matrix[:, 0] = 1 / self.size
        return matrix


class Codes(TightList):
    """The parities of a code's bits: closed, so that two coefficients multiply to a third."""

    name = "codes"
    is_parity = True
    is_even = True

    def __init__(self, size: int) -> None:
        self.size, self.depth = size, max(1, (size - 1).bit_length())
        self.count = self.entries = (1 << self.depth) - 1
        self.norm = Fraction(1 << self.depth)

    def coefficients(self, entries: Ints, questions: int, part: int) -> Ints:
        """Return products in the field: the entry, times the polynomial that ``part`` is."""
        total, factor, modulus = np.zeros_like(entries), entries + 1, _IRREDUCIBLE[self.depth - 1]
        while part:
            if part & 1:
                total = total ^ factor
            part >>= 1
            if part:
                factor = factor << 1
                factor = np.where(factor >> self.depth, factor ^ modulus, factor)
        return total

    def answers(self, coefficients: Ints) -> NDArray[np.uint8]:
        """Return which values' codes have an odd number of bits under each mask."""
        odd: NDArray[np.uint8] = np.bitwise_count(coefficients[:, None] & np.arange(self.size)) & 1
        return odd

    @cached_property
    def basis(self) -> Floats:
        """Return the coefficients themselves."""
        return self.analysis.T

    def sign_products(self, left: Ints, right: Ints) -> Terms:
        """Return the one coefficient that two multiply to."""
        return [(left ^ right, 1.0)]

    def cell_products(self, left: Ints, right: Ints) -> Terms:
        """Return the product of (χ_i − m_i)/n and (χ_j − m_j)/n, where m is the mean of the signs."""
        scale = np.full(self.count + 1, 1 / float(self.norm))
        scale[0] = 1 / self.size
        mean = self.analysis.mean(axis=1).round(12)
        mean[0] = 0
        both = scale[left] * scale[right]
        terms: Terms = [(left ^ right, both)]
        if mean.any():
            i, j = mean[left], mean[right]
            terms += [(left, -j * both), (right, -i * both), (np.zeros_like(left), i * j * both)]
        return terms


class Bits(Codes):
    """The bits of the code, in one entry."""

    name = "bits"
    is_even = False

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.entries = 1


class Balanced(TightList):
    """Single questions that half of the values, as nearly as can be, answer with yes.

    Rows of a Hadamard matrix are tight whatever columns are left out; the smallest that is easily
    made is taken. They split the values as evenly as can be if at most one is left out; for 5, 6, 9
    and 10 values all even splits are listed instead. The first value always says no.
    """

    name = "balanced"
    is_even = True
    depth = 1

    def __init__(self, size: int) -> None:
        self.size = size
        if size % 4 in (1, 2) and size <= _ALL_SPLITS:
            self._rows = _even_splits(size)
            self.count = self.entries = len(self._rows) - 1
            one = Fraction(size) - Fraction(size % 2, size)  # |P·h|²
            self.norm = self.count * one / (size - 1)
            return
        order = max(2, size)
        while (matrix := _hadamard(order)) is None:
            order += 1
        self._rows, self.norm = matrix[:, :size], Fraction(order)
        self.count = self.entries = order - 1

    def coefficients(self, entries: Ints, questions: int, part: int) -> Ints:
        """Return the entry's own number."""
        return (entries + 1) * part

    def answers(self, coefficients: Ints) -> NDArray[np.uint8]:
        """Return rows of the matrix."""
        return self._rows[coefficients]


def _even_splits(size: int) -> NDArray[np.uint8]:
    """Return all divisions of the values into halves, and a first row of none."""
    halves = {size // 2, size - size // 2}
    sets = [c for half in sorted(halves) for c in combinations(range(1, size), half)]
    rows = np.zeros((len(sets) + 1, size), np.uint8)
    for row, members in enumerate(sets, start=1):
        rows[row, list(members)] = 1
    return rows


def _hadamard(order: int) -> NDArray[np.uint8] | None:
    """Return a Hadamard matrix (0 for +1, 1 for −1) with a first row and column of zeros."""
    if order == 1:
        return np.zeros((1, 1), np.uint8)
    if order % 4 == 0 and _is_prime(order - 1):  # Paley's first construction
        prime = order - 1
        residue = np.ones(prime, np.uint8)
        residue[np.arange(1, prime) ** 2 % prime] = 0
        matrix = np.zeros((order, order), np.uint8)
        matrix[1:, 1:] = residue[np.subtract.outer(np.arange(prime), np.arange(prime)) % prime]
        return matrix
    half = _hadamard(order // 2) if order % 2 == 0 else None
    return None if half is None else np.block([[half, half], [half, half ^ 1]])


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


LISTS: dict[str, type[Codes | Balanced]] = {kind.name: kind for kind in (Codes, Bits, Balanced)}
"""The lists that surveys may name for attributes without an order."""


@cache
def question_list(name: str, size: int) -> QuestionList:
    """Return the list of this name about an attribute of so many values."""
    if name not in LISTS:
        raise SurveyError(f"There is no question list {name!r}; there are {', '.join(LISTS)}.")
    return LISTS[name](size)


def lists_named(name: str, sizes: Sequence[int]) -> tuple[QuestionList, ...]:
    """Return a list of this name about each of some attributes."""
    return tuple(question_list(name, size) for size in sizes)
