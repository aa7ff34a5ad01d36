"""Threshold lists: "is it above this point?", for numbers, days and ordered words.

An ordered attribute of L levels has T = L − 1 cuts; levels from c on have passed cut c. Every cut is a
coefficient, h_c = −1 for whoever has passed it. They are a basis, not a tight frame: for a function g
of the level, with S_c the share of people who have passed c,

    E g = g_0 + Σ_c (g_c − g_{c−1})·S_c,    S_c = (1 − θ_c)/2,

so that a mean, whose steps are all alike, costs no more than one yes/no question, however fine the
grid, while a narrow bin costs two single cuts.

Where a value stands for missing, every cut is there twice: missing passes all cuts of the second half
and none of the first. That adds nothing to moments, and half the difference is its share.

Entry o asks about cut o + 1. For two questions it takes three cuts at equal distances, round the circle
from there on: passed the middle one? Between the outer ones? That tells in which of four intervals the
level is.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.numeric.bins import bins_of, members_of
from deniable.questions.lists import Floats, Ints, QuestionList

CUTS = 3
"""How many cuts two questions take."""


class Span(NamedTuple):
    """The levels that say yes: from a cut on, up to another one, and missing."""

    above: int
    to: int | None
    missing: bool


class Thresholds(QuestionList):
    """Questions whether an ordered value is above a point.

    ``levels`` are in order, ``missing`` tells whether there is one more code beside them. Tables have
    bins that begin at ``cuts``, and a value for missing.
    """

    name = "thresholds"
    is_order = True
    is_even = True

    def __init__(self, levels: int, missing: bool = False, cuts: tuple[int, ...] = ()) -> None:
        self.levels, self.missing = levels, missing
        self.cuts = cuts or tuple(range(1, levels))
        self.steps = levels - 1
        self.size = len(self.cuts) + 1 + missing
        self.entries = self.count = self.steps * (1 + missing)
        self.depth = 2 if self.steps >= CUTS else 1

    @property
    def codes(self) -> int:
        """Return the number of levels, and one for missing."""
        return self.levels + self.missing

    @property
    def functions(self) -> int:
        """Return the number of cuts, and of what lies between two of them."""
        return 2 * self.count

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what tells it from other lists."""
        return self.name, self.levels, self.missing, self.cuts

    def triples(self, entries: Ints) -> Ints:
        """Return the three cuts of entries, in order, one row each."""
        apart = np.arange(CUTS) * self.steps // CUTS
        return np.sort(1 + (entries[:, None] % self.steps + apart) % self.steps, axis=1)

    def passes(self, entries: Ints) -> NDArray[np.bool_]:
        """Tell whether missing passes the cuts of entries."""
        return entries >= self.steps

    def coefficients(self, entries: Ints, questions: int, part: int) -> Ints:
        """Return cuts by their numbers; what lies between cuts comes after all of them."""
        if questions == 1 or not part:
            return (entries + 1) * part
        if part == 1:
            return self.triples(entries)[:, 1] + self.steps * self.passes(entries)
        return self.count * (part - 1) + entries + 1

    def answers(self, coefficients: Ints) -> NDArray[np.uint8]:
        """Return which codes say yes."""
        kind, entries = np.divmod(coefficients - 1, self.count)
        cuts = np.where(
            (kind > 0)[:, None], self.triples(entries), (entries % self.steps + 1)[:, None]
        )
        codes = np.arange(self.codes)
        codes = np.where(
            codes < self.levels, codes, np.where(self.passes(entries), 10**9, -1)[:, None]
        )
        passed = codes[:, None, :] >= cuts[:, :, None]
        between = passed[:, 0] & ~passed[:, 2]
        odd = passed.sum(axis=1) & 1
        yes = np.where(
            (kind == 0)[:, None], passed[:, 0], np.where((kind == 1)[:, None], between, odd)
        )
        yes[coefficients == 0] = 0
        return yes.astype(np.uint8)

    def span(self, coefficient: int) -> Span:
        """Return who says yes to a cut, or between two."""
        kind, entry = divmod(coefficient - 1, self.count)
        if kind == 0:
            return Span(entry % self.steps + 1, None, entry >= self.steps)
        first, _, last = self.triples(np.array([entry]))[0].tolist()
        return Span(first, last, False)

    def expectation(self, functions: Floats) -> Floats:
        """Return the weights of 1 and of coefficients in means of functions of the code (rows)."""
        levels = functions[:, : self.levels]
        rises = np.diff(levels, axis=1)
        weights = np.zeros((len(functions), self.count + 1))
        weights[:, 0] = levels[:, 0] + rises.sum(axis=1) / 2
        if not self.missing:
            weights[:, 1:] = -rises / 2
            return weights
        # Of whom is not missing, S_c = (1 − share of missing)/2 − (θ_c + θ'_c)/4.
        weights[:, 1:] = np.tile(-rises / 4, 2)
        lack = np.repeat((0.5, -0.5), self.steps) / self.steps
        weights[:, 1:] += (functions[:, -1] - weights[:, 0])[:, None] * lack
        return weights

    @cached_property
    def bins(self) -> Ints:
        """Return the table's value of each code."""
        return bins_of(self.cuts, self.levels, self.codes)

    @property
    def members(self) -> Floats:
        """Return which codes (columns) are in which of the table's values (rows): 0 or 1."""
        return members_of(self.bins, self.size)

    @cached_property
    def synthesis(self) -> Floats:
        """Return the matrix that makes bins of mean signs: differences of cuts."""
        return self.expectation(self.members)

    @cached_property
    def analysis(self) -> Floats:
        """Return the mean sign of each bin (columns) under each cut, its levels being equally common."""
        signs = 1.0 - 2.0 * self.answers(np.arange(self.count + 1))
        means: Floats = signs @ self.members.T / self.members.sum(axis=1)
        return means

    @cached_property
    def energy(self) -> float:
        """Return what an error of 1 in every cut makes of what is read of the table, squared.

        A number is read by its fit (`deniable.release.numbers`), not by differences of cuts; what is
        told of its dependence are a slope and a bend, 3 + 15 times as uncertain as a mean.
        """
        return 18 / (self.size * self.count)
