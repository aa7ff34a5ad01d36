"""Frequency oracles: how rivals report one cell of a table.

CALM takes the better of randomized response (GRR) and unary bits (OUE); local hashing is a rival of
its own.

Source: Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
USENIX Security 2017. With c cells, GRR reports the own cell with p = e^ε/(e^ε + c − 1) and each other
with q = 1/(e^ε + c − 1); OUE reports a bit for each cell, the own one set with p = ½, others with
q = 1/(e^ε + 1).
Either way (count/n − q)/(p − q) is unbiased, of variance q(1 − q)/(n(p − q)²) where a cell is rare:
(c − 2 + e^ε)/(e^ε − 1)²/n of GRR and 4e^ε/(e^ε − 1)²/n of OUE. GRR is better where c < 3e^ε + 2.

OLH hashes the cell into one of g = e^ε + 1 (rounded) values by a hash function of one's own, and reports
that by GRR. A report supports the cells with that hash: the own one with p = e^ε/(e^ε + g − 1), each
other with 1/g, independently where hash functions are ideal, as they are here. So the counts of support
are drawn as those of unary bits are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from deniable.survey.coefficients import Floats, Ints


@dataclass(frozen=True)
class Oracle:
    """How a cell of so many is reported: with p the own one, with q another."""

    cells: int
    own: float
    other: float
    is_unary: bool
    hashes: int = 0
    """How many values there are to hash into, if cells are hashed."""

    @classmethod
    def grr(cls, cells: int, epsilon: float) -> Oracle:
        """Return generalised randomized response."""
        total = exp(epsilon) + cells - 1
        return cls(cells, exp(epsilon) / total, 1 / total, False)

    @classmethod
    def oue(cls, cells: int, epsilon: float) -> Oracle:
        """Return optimised unary encoding."""
        return cls(cells, 0.5, 1 / (exp(epsilon) + 1), True)

    @classmethod
    def olh(cls, cells: int, epsilon: float) -> Oracle:
        """Return optimal local hashing, by ideal hash functions."""
        hashes = max(2, round(exp(epsilon)) + 1)
        return cls(cells, exp(epsilon) / (exp(epsilon) + hashes - 1), 1 / hashes, True, hashes)

    @classmethod
    def adaptive(cls, cells: int, epsilon: float) -> Oracle:
        """Return the one whose rare cells have less noise."""
        both = cls.grr(cells, epsilon), cls.oue(cells, epsilon)
        return min(both, key=lambda each: each.noise)

    @property
    def ratio(self) -> float:
        """Return e^ε: how much likelier one person's report is than another's, at most."""
        if self.hashes:
            return self.own * (self.hashes - 1) / (1 - self.own)
        ratio = self.own / self.other
        return ratio * (1 - self.other) / (1 - self.own) if self.is_unary else ratio

    @property
    def noise(self) -> float:
        """Return n times the variance of a rare cell."""
        return self.other * (1 - self.other) / (self.own - self.other) ** 2

    def draw(self, holders: Ints, random: np.random.Generator) -> Ints:
        """Draw how many report each cell, where so many hold it: from the exact law of the counts."""
        if self.is_unary:
            others = holders.sum() - holders
            bits: Ints = random.binomial(holders, self.own) + random.binomial(others, self.other)
            return bits
        honest = random.binomial(holders, self.own)
        counts = honest.copy()
        for cell in np.flatnonzero(holders > honest):
            chances = np.full(self.cells, 1 / (self.cells - 1))
            chances[cell] = 0
            counts += random.multinomial(holders[cell] - honest[cell], chances)
        return counts

    def estimate(self, counts: Ints, people: int) -> Floats:
        """Return the unbiased share of each cell; uniform if nobody was asked."""
        if not people:
            return np.full(self.cells, 1 / self.cells)
        shares: Floats = (counts / people - self.other) / (self.own - self.other)
        return shares
