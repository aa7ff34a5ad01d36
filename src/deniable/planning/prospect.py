"""Prospects: what tests will find and intervals span, from the exact covariances of a survey's tables.

A test of independence of a and b looks at U = P̂ − p̂_a·p̂_b', and rejects where W = U'·V⁺·U is beyond what
χ² exceeds in 5 %. If people depend by D = P − p_a·p_b', then W is noncentral χ² with D'·V⁺·D, so power
follows from V, which is taken at the independent table:

    V = T·Σ·T' + E,     T e = e − e_a·p_b' − p_a·e_b',

Σ being the covariance of the table's cells and E what two noisy margins multiply to
(`deniable.release.dependence.residuals`). There are many ways to depend by the same V. Here, *some*
values of one attribute go with *some* of the other: D = φ·(p_a f)(p_b g)', φ = V·√(min(r_a, r_b) − 1),
where f and g tell a random half of the values from the others, with mean 0 and variance 1. Numbers
depend along slopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.decoding.evidence import CoefficientEvidence
from deniable.numeric.axes import contrast_basis
from deniable.numeric.inference import quadratic
from deniable.planning.aim import Aim
from deniable.planning.numbers import Population
from deniable.questions.lists import QuestionList
from deniable.questions.thresholds import Thresholds
from deniable.release.dependence.residuals import Margins
from deniable.release.numbers.moments import Moments
from deniable.survey.coefficients import Floats, Ints, same_sizes
from deniable.survey.frozen import FrozenSurvey

_MOST_CELLS = 1 << 10
"""Larger tables are left out: their covariances take too long."""

_MOST_PAIRS = 200
"""Of more pairs so many are looked at, drawn by chance."""

_WAYS = 16
"""How many ways to depend are looked at for each pair."""

_NOBODY = 1e-9


class Noncentrality(NamedTuple):
    """How far a test's statistic goes beyond chance: one number for each way to differ."""

    df: int
    values: Floats
    weight: float
    """How many tests this one stands for."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One pair of attributes: the shares of both, V as contrasts, and for how many pairs it stands."""

    first: int
    second: int
    shares: tuple[Floats, Floats]
    covariance: Floats
    weight: float

    def noncentrality(self, departures: Floats) -> Noncentrality:
        """Return D'V⁺D of departures from independence (ways, values of one, of the other)."""
        one, other = (contrast_basis(len(each)) for each in self.shares)
        contrasts = (one @ departures @ other.T).reshape(len(departures), -1)
        is_known = np.isfinite(self.covariance).all()
        squares = quadratic(contrasts, self.covariance) if is_known else np.zeros(len(departures))
        return Noncentrality(contrasts.shape[1], squares, self.weight)

    def error(self, one: Floats, other: Floats) -> float:
        """Return the standard error of Σ f(x)·g(y)·U, of functions of the values of both."""
        bases = (contrast_basis(len(each)) for each in self.shares)
        form = np.kron(*(base @ each for base, each in zip(bases, (one, other), strict=True)))
        return float(np.sqrt(max(0.0, float(form @ self.covariance @ form))))


class Prospect:
    """What a survey will tell if so many people answer who are like a population."""

    def __init__(
        self, survey: FrozenSurvey, people: float, population: Population, aim: Aim
    ) -> None:
        self.survey, self.people, self.population, self._aim = survey, people, population, aim
        moments: dict[QuestionList, Moments] = {}
        self._lists: list[Any] = list(survey.lists)
        for index, own in enumerate(survey.lists):
            if isinstance(own, Thresholds):
                if population.is_known or own not in moments:
                    moments[own] = Moments(own, population.shares[index])
                self._lists[index] = moments[own]

    def with_people(self, people: float) -> Prospect:
        """Return the same of another number of people."""
        return Prospect(self.survey, people, self.population, self._aim)

    @cached_property
    def _errors(self) -> Any:
        errors = decoder_of(self.survey).expected(self.people)
        return errors.with_lists(self._lists) if isinstance(errors, CoefficientEvidence) else errors

    def is_number(self, attribute: int) -> bool:
        """Tell whether an attribute is a number, a day, or ordered words."""
        return isinstance(self._lists[attribute], Moments)

    def shares(self, attribute: int) -> Floats:
        """Return the shares of an attribute's values; a number has a few for its moments."""
        own = self._lists[attribute]
        shares: Floats = (
            own.weights if isinstance(own, Moments) else self.population.shares[attribute]
        )
        return shares

    @cached_property
    def attributes(self) -> list[int]:
        """Return the attributes that matter."""
        tables = self._aim.workload
        every = range(len(self.survey.schema)) if tables is None else {a for t in tables for a in t}
        return sorted(every)

    @cached_property
    def pair_count(self) -> int:
        """Return how many pairs matter."""
        if self.survey.order < 2 or self._aim.workload is not None:
            return sum(1 for _ in self.asked_pairs())
        return comb(len(self.attributes), 2)

    def asked_pairs(self) -> Iterator[tuple[int, int]]:
        """Return the pairs that matter, in order, if pairs are asked about; there may be millions."""
        tables = self._aim.workload
        if self.survey.order < 2:
            return iter(())
        if tables is None:
            return combinations(self.attributes, 2)
        return iter(sorted({pair for table in tables for pair in combinations(sorted(table), 2)}))

    @cached_property
    def kinds(self) -> Ints:
        """Return a number for each attribute: of equal ones, tables look the same."""
        numbers: dict[Any, int] = {}
        kinds = [numbers.setdefault(each, len(numbers)) for each in self._lists]
        is_alike = is_symmetric(self.survey) or self._aim.workload is None
        own = np.array(kinds) if is_alike and not self.population.is_known else None
        return np.arange(len(kinds)) if own is None else own

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Return what tests of independence meet, for pairs that stand for all that matter."""
        if self.survey.order > 1 and self._aim.workload is None:
            return self._made_of(*self._kinds_of_all())
        return self._made_of(*self._kinds_of(self.asked_pairs()))

    def pairs_of(self, attribute: int) -> tuple[Pair, ...]:
        """Return the same of the pairs that hold an attribute."""
        return self._made_of(
            *self._kinds_of(pair for pair in self.asked_pairs() if attribute in pair)
        )

    def _made_of(self, pairs: Ints, counts: Ints) -> tuple[Pair, ...]:
        sizes = np.array([len(self.shares(a)) for a in range(len(self.kinds))])
        own, weights = _some(pairs, counts, sizes)
        every: dict[int, Pair] = {}
        for rows in same_sizes(self._table_kinds(sizes), own):
            shares = [np.stack([self.shares(a) for a in own[rows][:, i].tolist()]) for i in (0, 1)]
            alone = shares[0][:, :, None] * shares[1][:, None, :]
            covariance = self._errors.cell_covariances(own[rows], alone.reshape(len(rows), -1))
            for place, row in enumerate(rows.tolist()):
                margins = shares[0][place], shares[1][place]
                contrasts = _contrasts(alone[place], covariance[place])
                one, other = own[row].tolist()
                every[row] = Pair(one, other, margins, contrasts, float(weights[row]))
        return tuple(every[row] for row in sorted(every))

    def _kinds_of(self, pairs: Iterable[tuple[int, int]]) -> tuple[Ints, Ints]:
        """Return the first pair of each two kinds among these, and how many are like it."""
        every = np.array([*pairs], np.int64).reshape(-1, 2)
        alike = np.sort(self.kinds[every], axis=1)
        _, rows, counts = np.unique(alike, axis=0, return_index=True, return_counts=True)
        return every[rows], counts

    def _kinds_of_all(self) -> tuple[Ints, Ints]:
        """Return the same among all pairs, of which no list is made: it may be of millions."""
        _, first, many = np.unique(self.kinds, return_index=True, return_counts=True)
        second = np.argsort(self.kinds, kind="stable")[(np.cumsum(many) - many + 1) % many.sum()]
        one, other = np.triu_indices(len(first))
        is_one = one == other
        ends = first[one], np.where(is_one, second[one], first[other])
        counts = np.where(is_one, many[one] * (many[one] - 1) // 2, many[one] * many[other])
        return np.sort(np.column_stack(ends), axis=1)[counts > 0], counts[counts > 0]

    def _table_kinds(self, sizes: Ints) -> Ints:
        """Return a number for each attribute: equal ones have tables of the same lists."""
        return self._errors.kinds if isinstance(self._errors, CoefficientEvidence) else sizes

    def single(self, attribute: int) -> Floats:
        """Return the covariance of the shares of one attribute."""
        covariance: Floats = self._errors.cell_covariances(
            np.array([[attribute]]), self.shares(attribute)[None]
        )[0]
        return covariance

    def departures(self, pair: Pair, v: float) -> Floats:
        """Return ways to depend by this V; none where shares leave no room for it."""
        one, other = pair.shares
        phi = v * np.sqrt(min(len(one), len(other)) - 1)
        random = np.random.default_rng(len(one) + 1_000 * len(other))
        ways = []
        for _ in range(_WAYS if len(one) * len(other) > 4 else 1):
            f = self._function(pair.first, random)
            g = self._function(pair.second, random)
            both = np.outer(f, g)
            has_number = self.is_number(pair.first) or self.is_number(pair.second)
            for sign in (1, -1):
                if has_number or (1 + sign * phi * both).min() > -_NOBODY:
                    ways.append(sign * phi * np.outer(one * f, other * g))
                    break
        return np.array(ways).reshape(-1, len(one), len(other))

    def slope(self, attribute: int) -> Floats:
        """Return the slope of a number as a function of its few values: mean 0, variance 1."""
        slope: Floats = self._lists[attribute].directions[0]
        return slope

    def _function(self, attribute: int, random: np.random.Generator) -> Floats:
        """Return a function of values with mean 0 and variance 1: a slope, or some against others."""
        if self.is_number(attribute):
            return self.slope(attribute)
        shares = self.shares(attribute)
        while True:
            some = random.random(len(shares)) < 0.5
            share = float(shares[some].sum())
            if _NOBODY < share < 1 - _NOBODY:
                return standardised(some, shares)


def _some(pairs: Ints, counts: Ints, sizes: Ints) -> tuple[Ints, Floats]:
    """Return pairs whose tables are not too large, and how many each stands for; of many, some."""
    rows = np.flatnonzero(sizes[pairs].prod(axis=1) <= _MOST_CELLS)
    if len(rows) > _MOST_PAIRS:
        some = np.random.default_rng(len(rows)).choice(len(rows), _MOST_PAIRS, replace=False)
        rows = rows[np.sort(some)]
    return pairs[rows], counts[rows].astype(np.float64)


def standardised(some: Any, shares: Floats) -> Floats:
    """Return what tells some values from the others, with mean 0 and variance 1."""
    share = float(shares[some].sum())
    function: Floats = (np.asarray(some, np.float64) - share) / np.sqrt(share * (1 - share))
    return function


def _contrasts(alone: Floats, covariance: Floats) -> Floats:
    """Return V of one table, as contrasts."""
    if not np.isfinite(covariance).all():
        width = (alone.shape[0] - 1) * (alone.shape[1] - 1)
        return np.full((width, width), np.inf)
    square = Margins.of(alone[None], covariance[None]).contrasts().square
    total: Floats = _residuals(alone, _residuals(alone, covariance).T) + square[0]
    return total


def _residuals(alone: Floats, columns: Floats) -> Floats:
    """Return T of each column of cells, as contrasts: axis by axis, since T itself is large."""
    one, other = (contrast_basis(size) for size in alone.shape)
    a, b = alone.sum(axis=1), alone.sum(axis=0)
    cells = columns.reshape(*alone.shape, -1)
    rows, along = np.tensordot(one, cells, 1), other @ cells.sum(axis=0)
    change = other - (other @ b)[:, None]
    contrasts: Floats = change @ rows - (one @ a)[:, None, None] * along
    return contrasts.reshape(-1, columns.shape[1])


def told_apart(rows: Floats, covariances: Sequence[Floats]) -> Floats:
    """Return x'(Σ₁ + Σ₂)⁺x of differences between two groups, whose shares have these covariances."""
    basis = contrast_basis(rows.shape[1])
    if not all(np.isfinite(each).all() for each in covariances):
        return np.zeros(len(rows))
    return quadratic(rows @ basis.T, basis @ sum(covariances) @ basis.T)
