"""What analysts need to see, and how many people it takes: tests that find, intervals narrow enough.

A *need* is put in the analyst's terms: dependence of Cramér's V = .1, or a difference of 5 points
between two groups, that a test at the 5 % level finds four times in five; a share to ± 2 points, a
regression slope to ± .05, half of a 95 % interval each. What is told of it is a mean over the
attributes, or pairs, that matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, exp, inf, isfinite, sqrt
from typing import ClassVar, Self

import numpy as np

from deniable.design.reading import LEVEL, POWER
from deniable.numeric.covariances import standard_errors
from deniable.numeric.roots import bracket
from deniable.planning.margins import bin_error, ways_of
from deniable.planning.numbers import NORMAL, NumberErrors
from deniable.planning.prospect import Noncentrality, Pair, Prospect, standardised, told_apart
from deniable.questions.thresholds import Thresholds
from deniable.survey.coefficients import Floats

HALVES = (0.5, 0.5)

_ROUNDS = 8
_CLOSE = 5e-3
_REACH = 60.0
"""Factors are looked for up to the exponential of this."""
_STEPS = 27
"""So often that interval is halved: to a part in a million of the factor."""
_WEAK = 1e-6
"""A V that all shares leave room for; noncentralities go with its square."""
_SURE = 1e4
"""A noncentrality beyond which a test finds whatever there is."""


@dataclass(frozen=True)
class Need(ABC):
    """Something that an analyst needs to see, and what it takes."""

    value: float

    @property
    @abstractmethod
    def name(self) -> str:
        """Return what is asked for, as on the command line."""

    @property
    @abstractmethod
    def english(self) -> str:
        """Return what is asked for, in words."""

    @abstractmethod
    def factor(self, prospect: Prospect) -> float:
        """Return how many times as many people it takes; infinite where no number does."""

    def people(self, prospect_of: Callable[[float], Prospect], start: float) -> int | None:
        """Return how many people it takes, if some number does."""
        people = start
        for _ in range(_ROUNDS):  # what is asked for changes all but as 1/N, or its root
            factor = self.factor(prospect_of(people))
            if not isfinite(factor):
                return None
            people = max(1.0, people * factor)
            if abs(factor - 1) < _CLOSE:
                break
        return ceil(people)


@dataclass(frozen=True)
class Detection(Need):
    """A test that is to find what there is, with this power.

    ``comparisons`` are the tests among which it is one: each is made at the 5 % level over their number.
    """

    power: float = POWER
    comparisons: int = 1

    @abstractmethod
    def noncentralities(self, prospect: Prospect) -> list[Noncentrality]:
        """Return what tests meet."""

    @abstractmethod
    def tests(self, prospect: Prospect) -> int:
        """Return how many tests there are."""

    def corrected(self, prospect: Prospect) -> Self:
        """Return the same for one of all tests (Bonferroni)."""
        return replace(self, comparisons=max(1, self.tests(prospect)))

    def found(self, prospect: Prospect) -> float | None:
        """Return how often tests find what there is; None where shares leave no room for it."""
        return mean_power(self.noncentralities(prospect), LEVEL / self.comparisons)

    def factor(self, prospect: Prospect) -> float:
        """Return how many times as many people it takes."""
        every, level = self.noncentralities(prospect), LEVEL / self.comparisons
        return _root(lambda times: (mean_power(every, level, times) or 0.0) - self.power)


@dataclass(frozen=True)
class Dependence(Detection):
    """Dependence of a pair by this Cramér's V."""

    name: ClassVar[str] = "v"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        return f"dependence of V = {self.value:g}"

    def noncentralities(self, prospect: Prospect) -> list[Noncentrality]:
        """Return what tests of pairs meet."""
        ways = ((pair, prospect.departures(pair, self.value)) for pair in prospect.pairs)
        return [pair.noncentrality(each) for pair, each in ways if len(each)]

    def tests(self, prospect: Prospect) -> int:
        """Return the number of pairs."""
        return prospect.pair_count


@dataclass(frozen=True)
class GroupDifference(Detection):
    """A difference of so many points between two groups of these shares, which a label tells."""

    shares: tuple[float, float] = HALVES
    name: ClassVar[str] = "difference"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        first, second = (f"{100 * share:.3g} %" for share in self.shares)
        return f"a difference of {self.value:g} points between groups of {first} and {second}"

    def noncentralities(self, prospect: Prospect) -> list[Noncentrality]:
        """Return what tests of single attributes meet; numbers have means, not points."""
        groups = [prospect.with_people(share * prospect.people) for share in self.shares]
        every: list[Noncentrality] = []
        for attribute in _categories(prospect):
            shares = prospect.shares(attribute)
            change = _changes(shares, self.value / 100)
            room = max(self.shares)
            change = change[[bool(_has_room(shares, each, room)) for each in change]]
            values = told_apart(change, [group.single(attribute) for group in groups])
            every.append(Noncentrality(len(shares) - 1, values, 1.0))
        return [each for each in every if len(each.values)]

    def tests(self, prospect: Prospect) -> int:
        """Return the number of attributes that are compared."""
        return len(_categories(prospect))


@dataclass(frozen=True)
class PrivateDifference(Detection):
    """A difference of so many points between those who have a value of an attribute, and the others."""

    attribute: int = 0
    label: str = ""
    name: ClassVar[str] = "difference"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        return f"a difference of {self.value:g} points between people by {self.label}"

    def noncentralities(self, prospect: Prospect) -> list[Noncentrality]:
        """Return what tests of pairs with the attribute meet."""
        every: list[Noncentrality] = []
        for pair in self._pairs(prospect):
            is_first = pair.first == self.attribute
            one, other = pair.shares if is_first else pair.shares[::-1]
            ways = []
            for value in range(1 if len(one) == 2 else len(one)):
                apart = one * (np.arange(len(one)) == value) - one * one[value]
                ways += [np.outer(apart, each) for each in _changes(other, self.value / 100)]
            alone = np.outer(one, other)
            ways = [way for way in ways if (np.abs(way) <= alone + 1e-12).all()]
            if ways:
                rows = np.array(ways)
                every.append(pair.noncentrality(rows if is_first else rows.swapaxes(1, 2)))
        return every

    def _pairs(self, prospect: Prospect) -> list[Pair]:
        return [
            pair
            for pair in prospect.pairs_of(self.attribute)
            if not prospect.is_number(pair.second if pair.first == self.attribute else pair.first)
        ]

    def tests(self, prospect: Prospect) -> int:
        """Return the number of attributes that are compared."""
        return len([a for a in _categories(prospect) if a != self.attribute])


@dataclass(frozen=True)
class Width(Need):
    """Half the width that a 95 % interval is to have."""

    @abstractmethod
    def half_width(self, prospect: Prospect) -> float:
        """Return half the width to expect."""

    def factor(self, prospect: Prospect) -> float:
        """Return how many times as many people it takes."""
        return (self.half_width(prospect) / self.value) ** 2


@dataclass(frozen=True)
class Share(Width):
    """The share of a value, to so many points."""

    name: ClassVar[str] = "share"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        return f"a share to ± {self.value:g} points"

    def half_width(self, prospect: Prospect) -> float:
        """Return half the width, in points: a mean over values, and then over attributes."""
        errors = [_share_error(prospect, attribute) for attribute in prospect.attributes]
        return 100 * NORMAL * float(np.mean(errors))


def _share_error(prospect: Prospect, attribute: int) -> float:
    """Return the standard error of a share, a mean over values, or over the bins of a number."""
    own = prospect.survey.lists[attribute]
    if not isinstance(own, Thresholds):
        return float(standard_errors(prospect.single(attribute)).mean())
    ways = ways_of(prospect.survey, attribute, prospect.people)
    shares = prospect.population.shares[attribute] if prospect.population.is_known else None
    return bin_error(own, ways, shares) if ways else inf


@dataclass(frozen=True)
class Slope(Width):
    """A slope of the least squares of a yes/no outcome on so many predictors.

    Predictors are yes/no, or numbers in standard deviations, and explain little. They are noisy
    themselves: with R = 2·√k·se of their correlations, the law of eigenvalues makes the variance
    (1/√(1 − R²) − 1)·2/R² times as large, and from R = 1 on nothing can be told.
    """

    predictors: int = 1
    name: ClassVar[str] = "slope"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        several = "predictor" if self.predictors == 1 else "predictors"
        return f"a slope to ± {self.value:g}, with {self.predictors} {several}"

    def half_width(self, prospect: Prospect) -> float:
        """Return half the width of a slope's interval, a mean over outcomes and predictors."""
        return self._half_width(*_mean_errors(prospect))

    def factor(self, prospect: Prospect) -> float:
        """Return how many times as many people it takes."""
        error, noise = _mean_errors(prospect)

        def spare(times: float) -> float:
            return self.value - self._half_width(error / sqrt(times), noise / sqrt(times))

        return _root(spare)

    def _half_width(self, error: float, noise: float) -> float:
        radius = 4 * self.predictors * noise**2
        if not radius < 1:
            return inf
        more = (1 / sqrt(1 - radius) - 1) * 2 / radius if radius > 1e-9 else 1.0
        return NORMAL * error * sqrt(more)


def _mean_errors(prospect: Prospect) -> tuple[float, float]:
    """Return the mean standard error of slopes, and of correlations."""
    weights, errors = [], []
    for pair in prospect.pairs:
        for each in _slope_errors(prospect, pair):
            weights.append(pair.weight)
            errors.append(each)
    if not errors or not np.isfinite(errors).all():
        return inf, inf
    slope, correlation = np.average(errors, axis=0, weights=weights).tolist()
    return slope, correlation


def _slope_errors(prospect: Prospect, pair: Pair) -> Iterator[tuple[float, float]]:
    """Yield the standard error of a slope, and of a correlation: either attribute is the outcome."""
    for outcome, predictor in ((0, 1), (1, 0)):
        attributes = pair.first, pair.second
        if prospect.is_number(attributes[outcome]):
            continue
        for value in _values(pair.shares[outcome]):
            for function, scale in _predictors(
                prospect, attributes[predictor], pair.shares[predictor]
            ):
                own = standardised(value, pair.shares[outcome])
                functions = (own, function) if outcome == 0 else (function, own)
                error = pair.error(*functions)
                share = float(pair.shares[outcome][value].sum())
                yield error * sqrt(share * (1 - share)) / scale, error


def _values(shares: Floats) -> list[Floats]:
    """Return what tells each value from the others; of yes/no, one will do."""
    own = [np.arange(len(shares)) == value for value in range(len(shares))]
    some = own[-1:] if len(shares) == 2 else own
    return [each for each in some if 0 < shares[each].sum() < 1]


def _predictors(
    prospect: Prospect, attribute: int, shares: Floats
) -> Iterator[tuple[Floats, float]]:
    """Yield functions with variance 1, and how far one step goes: a number's is a standard deviation."""
    if prospect.is_number(attribute):
        yield prospect.slope(attribute), 1.0
        return
    for value in _values(shares):
        share = float(shares[value].sum())
        yield standardised(value, shares), sqrt(share * (1 - share))


@dataclass(frozen=True)
class Mean(Width):
    """The mean of a number, in its own unit."""

    attribute: int = 0
    label: str = ""
    unit: str | None = None

    @property
    def name(self) -> str:
        """Return what is asked for."""
        return f"mean of {self.label}"

    @property
    def english(self) -> str:
        """Return what is asked for, in words."""
        return (
            f"the mean of {self.label} to ± {self.value:,g}{f' {self.unit}' if self.unit else ''}"
        )

    def half_width(self, prospect: Prospect) -> float:
        """Return half the width."""
        errors = NumberErrors(prospect.survey, prospect.people, prospect.population)
        return NORMAL * errors.mean(self.attribute)


def detectable(prospect: Prospect, pair: Pair) -> float:
    """Return the V of a pair that a test at the 5 % level finds four times in five."""
    ways = prospect.departures(pair, _WEAK)
    every = [pair.noncentrality(ways)]
    return _WEAK * sqrt(_root(lambda times: (mean_power(every, LEVEL, times) or 0.0) - POWER))


def mean_power(
    noncentralities: list[Noncentrality], level: float, times: float = 1.0
) -> float | None:
    """Return how often tests at a level find what there is, with so many times as many people."""
    from scipy import special

    if not noncentralities:
        return None
    powers = []
    for df, values, _ in noncentralities:
        noncentrality = np.clip(times * values, 0, _SURE)
        missed = special.chndtr(special.chdtri(df, level), df, noncentrality)
        powers.append(1 - float(np.mean(missed)))
    return float(np.average(powers, weights=[each.weight for each in noncentralities]))


def _categories(prospect: Prospect) -> list[int]:
    return [a for a in prospect.attributes if not prospect.is_number(a)]


def _changes(shares: Floats, points: float) -> Floats:
    """Return changes of shares (rows): one value's grows by this, others' shrink in proportion."""
    some = _values(shares)
    rest = [np.where(value, 0, shares / (1 - shares[value].sum())) for value in some]
    changes = [points * (value - others) for value, others in zip(some, rest, strict=True)]
    return np.array(changes).reshape(-1, len(shares))


def _has_room(shares: Floats, change: Floats, most: float) -> bool:
    """Tell whether shares can be so far apart, one way or the other."""
    return any((shares + sign * most * change > -1e-12).all() for sign in (1, -1))


def _root(spare: Callable[[float], float]) -> float:
    """Return the factor from which on there is enough; infinite if there is none."""
    if spare(exp(_REACH)) < 0:
        return inf
    return exp(bracket(lambda reach: spare(exp(reach)) < 0, -_REACH, _REACH, _STEPS)[1])
