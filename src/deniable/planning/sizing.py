"""How many people it takes: designs depend on how many answer, and how many it takes on the design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.planning.aim import Aim
from deniable.planning.needs import Need, Width
from deniable.planning.numbers import Population
from deniable.planning.prospect import Prospect
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey

MOST_PEOPLE = 1 << 53

ROUNDS = 8
"""How often a design is made anew for as many people as the last one needs."""

CLOSE = 0.01
"""Designs for numbers of people that differ by so small a part are the same."""


@dataclass(frozen=True)
class Sizing:
    """How many people a mechanism needs, with the design that it has for so many."""

    kind: type[Mechanism]
    schema: Schema
    order: int
    epsilon: float
    aim: Aim
    population: Population

    def people(self, need: Need, **changes: Any) -> int | None:
        """Return how many people it takes, if some of this were otherwise; None if none are enough."""
        own = replace(self, **changes)
        try:
            return own._settled(need)
        except SurveyError:  # nothing fits
            return None

    def single_width(self, need: Width, people: float) -> float | None:
        """Return half the width of an interval if single questions alone were asked."""
        aim = replace(plain(self.aim), people=people)
        try:
            survey = aim.make(self.kind, self.schema, 1, self.epsilon)
        except SurveyError:
            return None
        width = need.half_width(Prospect(survey, people, self.population, aim))
        return width if isfinite(width) else None

    def _settled(self, need: Need) -> int | None:
        people, start = None, float(self.aim.people)
        for _ in range(ROUNDS):
            aim = replace(self.aim, people=max(1, round(start)))
            survey = aim.make(self.kind, self.schema, self.order, self.epsilon)
            people = people_by(survey, need, self.population, aim)
            if people is None or self.schema.is_binary or abs(people / start - 1) < CLOSE:
                break
            start = float(people)
        return people


def people_by(survey: FrozenSurvey, need: Need, population: Population, aim: Aim) -> int | None:
    """Return how many people a survey needs as it is designed; None if no number is enough."""

    def prospect(people: float) -> Prospect:
        return Prospect(survey, people, population, aim)

    needed = need.people(prospect, float(aim.people))
    return needed


def plain(aim: Aim) -> Aim:
    """Return an aim without what was said of tables of one order."""
    return replace(aim, workload=None, strengths=None, expected=None)
