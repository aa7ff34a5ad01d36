"""What a design is good at: tables as they are read, finding dependence, or unbiased tables.

A table is its margins multiplied, and *departures* from that of its sets S of two attributes or more.
Noise that would swamp a departure is shrunk away before anybody reads the table, while an ill-known
margin spoils every table it stands in. In units of the squared distance, component S has the noise
n_S = R_S·E‖û_S − u_S‖²/Q_S, and departures have the strength φ_S², so that a table β that is read errs
by

    κ·√( Σ_{a ∈ β} n_a + Σ_{S ⊆ β, |S| ≥ 2} φ_S²·n_S / (φ_S² + n_S) ).

Q_S is the product of q_a = r_a·E‖p_a‖² over the attributes of S (1 for a single attribute): so many
times fewer cells than R_S carry the table, because values are not equally common. A test of the pair ab
finds dependence in noise n_ab + (n_a·(q_b − 1) + n_b·(q_a − 1))/(q_a·q_b), over its degrees of freedom.

Until a pilot tells better, margins are taken to come from Dirichlet(0.3) and φ² to be 0.05 for pairs, a
third of that for each attribute more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, inf, sqrt
from numbers import Integral, Real
from typing import Literal, get_args

import numpy as np

from deniable.design.candidates import sets_within
from deniable.design.workload import Workload
from deniable.errors import SurveyError
from deniable.numeric.shares import ratio
from deniable.questions.lists import QuestionList
from deniable.questions.thresholds import Thresholds
from deniable.survey.coefficients import Floats, Ints, Shared, all_tables

Goal = Literal["tables", "associations", "unbiased"]
GOALS: tuple[Goal, ...] = get_args(Goal)
"""What a design may be good at, the default first."""

PEOPLE = 100_000
"""How many people are expected, unless somebody says."""

FLOOR = 0.25
"""What every component keeps of the precision that the unbiased design would give it."""

STRENGTH, _WEAKER = 0.05, 1 / 3
"""The mean square contingency φ² of a pair, and what each attribute more makes of it."""

DIRICHLET = 0.3
"""Of which margins are taken to come."""

POWER, LEVEL = 0.8, 0.05
"""How often a test is to find what there is, and at which level it is made."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """How concentrated margins are (q of each attribute), and how strong departures are.

    ``departures`` are φ² of every set of 1 … k attributes, by number; those of single attributes count
    for nothing. ``shares`` are the margins themselves, where somebody knows them.
    """

    concentration: Floats
    departures: Floats
    shares: tuple[Floats, ...] = ()

    @classmethod
    def prior(cls, sizes: Sequence[int], order: int, strength: float = STRENGTH) -> Strengths:
        """Return what is expected of attributes of so many values before anybody was asked."""
        values = np.array(sizes, float)
        levels = [
            np.full(comb(len(sizes), size), strength * _WEAKER ** max(0, size - 2))
            for size in range(1, order + 1)
        ]
        concentration = values * (DIRICHLET + 1) / (DIRICHLET * values + 1)
        return cls(concentration, np.concatenate(levels))

    @classmethod
    def of(cls, workload: Workload, strengths: Strengths | None) -> Strengths:
        """Return the strengths of the sets that a workload numbers; by default what is expected."""
        if strengths is None:
            return cls.prior([each.size for each in workload.lists], workload.order)
        return strengths._among(workload.used, workload.order)

    def _among(self, some: Ints, order: int) -> Strengths:
        """Return the strengths of sets of up to ``order`` of some attributes."""
        every = Shared(len(self.concentration), order)
        levels = [
            self.departures[every.of_question(some[all_tables(len(some), size)], (1 << size) - 1)]
            for size in range(1, order + 1)
        ]
        return Strengths(self.concentration[some], np.concatenate(levels))

    @property
    def spread(self) -> Floats:
        """Return Q of every set: 1 of single attributes."""
        q = self.concentration
        levels = [np.ones(len(q))]
        while sum(map(len, levels)) < len(self.departures):
            levels.append(q[all_tables(len(q), len(levels) + 1)].prod(axis=1))
        return np.concatenate(levels)


class ReadingError:
    """The mean distance of the tables that matter as they are read, over κ."""

    def __init__(self, workload: Workload, strengths: Strengths | None, people: float) -> None:
        own = Strengths.of(workload, strengths)
        self._workload, self._spread = workload, own.spread
        self._scale = workload.scale / people
        self._departures = own.departures.copy()
        self._departures[: len(workload.used)] = inf  # what single attributes are is all read

    def errors(self, noise: Floats) -> tuple[Floats, ...]:
        """Return the error of each table, where components have this noise R_S·E‖û_S − u_S‖²."""
        with np.errstate(divide="ignore"):
            precision = self._spread / noise + 1 / self._departures
        return self._workload.errors(precision, np.ones(len(noise)))

    def slope(self, precision: Floats) -> Floats:
        """Return how fast the errors fall, in sum, as precision grows."""
        noise = ratio(self._scale, precision)
        falls = ratio(noise, precision) / self._spread
        falls *= (1 + noise / self._spread / self._departures) ** -2 / 2
        return self._workload.needs(self.errors(noise), falls)


class DetectableStrength:
    """The Cramér's V of pairs whose dependence is found four times in five."""

    def __init__(self, workload: Workload, strengths: Strengths | None, people: float) -> None:
        own = Strengths.of(workload, strengths)
        pairs = sets_within(workload.tables, 2)
        if not len(pairs):
            raise SurveyError('The aim "associations" needs tables of two attributes or more.')
        self._numbers = np.column_stack((pairs, workload.numbering.of_question(pairs, 0b11)))
        q = own.concentration[pairs]
        self._times = np.column_stack(((1 - 1 / q[:, ::-1]) / q, np.ones(len(q))))
        self._spread, self._scale = own.spread, workload.scale / people
        sizes = np.array([degrees_of(each) for each in workload.lists])[pairs]
        degrees = sizes.prod(axis=1)
        needed = np.array([noncentrality(each) for each in degrees.tolist()])
        self._weights = np.sqrt(needed / degrees / sizes.min(axis=1))

    def strengths(self, noise: Floats) -> Floats:
        """Return the V of each pair that is found, where components have this noise."""
        each = (noise / self._spread)[self._numbers] * self._times
        strengths: Floats = self._weights * np.sqrt(each.sum(axis=1))
        return strengths

    def slope(self, precision: Floats) -> Floats:
        """Return how fast these V fall, in sum, as precision grows."""
        noise = ratio(self._scale, precision)
        each = self._weights**2 / self.strengths(noise) / 2
        times = (each[:, None] * self._times).ravel()
        total = np.bincount(self._numbers.ravel(), times, len(precision))
        return ratio(total * noise / self._spread, precision)


def degrees_of(own: QuestionList) -> int:
    """Return how many directions dependence on an attribute has: a number has a slope and a bend."""
    if isinstance(own, Thresholds):
        return min(2, own.levels - 1) + own.missing
    return own.size - 1


def objective_of(
    goal: str, workload: Workload, strengths: Strengths | None, people: float
) -> ReadingError | DetectableStrength | None:
    """Return what a design for a goal makes small; None for unbiased tables."""
    if goal == "unbiased" or workload.order < 2:
        return None
    kind = ReadingError if goal == "tables" else DetectableStrength
    return kind(workload, strengths, people)


def check_goal(goal: object) -> Goal:
    """Return what a design is to be good at, or refuse it."""
    for name in GOALS:
        if goal == name:
            return name
    raise SurveyError(f"aim must be one of {', '.join(GOALS)}, got {goal!r}.")


def check_prior(prior: object) -> bool:
    """Tell whether a prior is one, which it must be: the φ² that is expected of a pair."""
    if isinstance(prior, bool) or not isinstance(prior, Real) or not 0 < float(prior) <= 1:
        raise SurveyError(
            f"A prior is the mean square contingency of a pair, above 0 and up to 1; got {prior!r}."
        )
    return True


def check_people(people: object) -> None:
    """Refuse a number of people that is none."""
    if (
        isinstance(people, bool)
        or not isinstance(people, Integral)
        or not 1 <= int(people) < 1 << 53
    ):
        raise SurveyError(f"people must be a whole number from 1 to 2^53, got {people!r}.")


@cache
def noncentrality(degrees: int) -> float:
    """Return the noncentrality at which a χ² test at the 5 % level finds four of five."""
    from scipy import optimize, stats

    beyond = stats.chi2.isf(LEVEL, degrees)
    top = 10 + 10 * sqrt(degrees)
    root = optimize.brentq(lambda x: stats.ncx2.sf(beyond, degrees, x) - POWER, 1e-6, top)
    return float(root)
