"""Hadamard response: a cell is reported as one of the places where its row of a Hadamard matrix is +1.

Source: Acharya, Sun and Zhang, "Hadamard response: estimating distributions privately, efficiently, and
with little communication", AISTATS 2019; the form for any ε.

Of K = B·b places, in B blocks of b, each cell x has the s = b/2 places C_x of its block where its row of
the b×b Hadamard matrix, which is none of all +1, is +1. A place of C_x is reported with probability
e^ε/Z, any other with 1/Z, where Z = s·e^ε + K − s. Two cells of a block share b/4 places, so

    P(in C_x) − P(in the block, but not in C_x) = (share of x)·s·(e^ε − 1)/Z

whatever the other cells hold, and the estimate that this gives is unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log2

import numpy as np

from deniable.survey.coefficients import Floats, Ints, hadamard


@dataclass(frozen=True)
class HadamardResponse:
    """How a cell of so many is reported."""

    cells: int
    epsilon: float

    @cached_property
    def blocks(self) -> int:
        """Return B."""
        return int(2 ** max(0, ceil(log2(min(exp(self.epsilon), 2 * self.cells))) - 1))

    @cached_property
    def width(self) -> int:
        """Return b: a block's rows but the first are enough for its cells."""
        return int(2 ** ceil(log2(ceil(self.cells / self.blocks) + 1)))

    @property
    def total(self) -> float:
        """Return Z."""
        half = self.width // 2
        return half * exp(self.epsilon) + self.blocks * self.width - half

    def is_own(self, cell: int) -> Ints:
        """Return which places are a cell's own."""
        row, block = cell // self.blocks + 1, cell % self.blocks
        signs = np.bitwise_count(np.arange(self.width) & row) % 2
        own = np.zeros((self.blocks, self.width), np.int64)
        own[block] = 1 - signs
        return own.ravel()

    def law(self, cell: int) -> Floats:
        """Return the probability of each place."""
        law: Floats = np.where(self.is_own(cell), exp(self.epsilon), 1.0) / self.total
        return law

    def draw(self, holders: Ints, random: np.random.Generator) -> Ints:
        """Draw how many report each place, where so many hold each cell."""
        counts = np.zeros(self.blocks * self.width, np.int64)
        for cell in np.flatnonzero(holders):
            law = self.law(int(cell))
            counts += random.multinomial(holders[cell], law / law.sum())
        return counts

    def estimate(self, counts: Ints, people: int) -> Floats:
        """Return the unbiased share of each cell; uniform if nobody was asked."""
        if not people:
            return np.full(self.cells, 1 / self.cells)
        sums = hadamard(counts.reshape(self.blocks, self.width).astype(np.float64))
        cell = np.arange(self.cells)
        coefficients = sums[cell % self.blocks, cell // self.blocks + 1] / people
        shares: Floats = coefficients * self.total / (self.width // 2 * (exp(self.epsilon) - 1))
        return shares
