"""What a survey is for: the tables that matter, and what a pilot told about the people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from deniable.design.reading import PEOPLE, Goal, Strengths, check_goal, check_prior
from deniable.design.workload import read_workload
from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.planning.numbers import Population
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey


class Pilot(Protocol):
    """An earlier release, of fewer people or another order."""

    @property
    def squares(self) -> tuple[float, ...]:
        """Return the mean θ² of coefficients of 1, 2, … attributes."""
        ...

    @property
    def strengths(self) -> Strengths:
        """Return how concentrated margins are, and how strong dependence is."""
        ...


@dataclass(frozen=True)
class Aim:
    """The tables that matter, with their weights (None: all of the survey's order, alike).

    ``squares`` are the mean θ² of coefficients by level: 0, the worst case, unless a pilot told.
    ``goal`` is what the design is to be good at, if so many ``people`` answer; ``strengths`` are what a
    pilot told for it, ``expected`` what predictions are for, and ``population`` what numbers these have.
    """

    workload: dict[tuple[int, ...], float] | None = None
    squares: tuple[float, ...] = ()
    goal: Goal = "tables"
    people: float = PEOPLE
    strengths: Strengths | None = None
    expected: Strengths | None = None
    population: Population | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        order: int,
        workload: Any = None,
        pilot: Any = None,
        *,
        goal: str = "tables",
        people: float = PEOPLE,
        prior: float | None = None,
    ) -> Aim:
        """Return the aim of a survey of ``order``: of tables by name, and after a pilot release."""
        goal = check_goal(goal)
        tables = None if workload is None else read_workload(schema, order, workload)
        if prior is not None and pilot is not None:
            raise SurveyError("A pilot tells how strong dependence is; give it or a prior.")
        if pilot is None:
            strengths = None
            if prior is not None and check_prior(prior) and not schema.is_binary:
                strengths = Strengths.prior(schema.sizes, order, prior)
            return cls(tables, (), goal, people, strengths)
        squares = getattr(pilot, "squares", None)
        if not isinstance(squares, tuple) or not all(
            isinstance(square, float) and 0 <= square <= 1 for square in squares
        ):
            raise SurveyError(f"A pilot must be a release, got {type(pilot).__name__}.")
        pilot_schema = getattr(getattr(pilot, "survey", None), "schema", schema)
        if len(pilot_schema) != len(schema):
            raise SurveyError(
                f"The pilot is about {len(pilot_schema)} attributes, the plan about {len(schema)}."
            )
        if pilot_schema.sizes != schema.sizes:
            raise SurveyError(
                "The pilot's attributes have other numbers of values than the plan's."
            )
        by_level = (*squares, *(0.0 for _ in range(order)))[:order]
        strengths = None
        if not schema.is_binary:
            strengths = _of_order(pilot.strengths, schema, order)
        least = tuple(min(square, _LARGEST_SQUARE) for square in by_level)
        return cls(tables, least, goal, people, strengths, strengths)

    def square(self, level: int) -> float:
        """Return the mean θ² of coefficients of so many attributes."""
        return self.squares[level - 1] if self.squares else 0.0

    def make(
        self, kind: type[Mechanism], schema: Schema, order: int, epsilon: float
    ) -> FrozenSurvey:
        """Return a mechanism's survey, optimised for this aim, if it can be."""
        names = schema.names
        options: dict[str, Any] = {
            "squares": self.squares or None,
            "aim": self.goal,
            "people": self.people,
            "strengths": self.strengths,
        }
        if self.workload is not None:
            options["workload"] = {
                tuple(names[a] for a in table): weight for table, weight in self.workload.items()
            }
        own = {name: value for name, value in options.items() if name in kind.options}
        return kind.survey(schema, order, epsilon, **own)


def _of_order(strengths: Strengths, schema: Schema, order: int) -> Strengths:
    """Return a pilot's strengths for tables of another order; of larger sets nothing is known."""
    departures = Strengths.prior(schema.sizes, order).departures
    both = min(len(departures), len(strengths.departures))
    departures[:both] = strengths.departures[:both]
    return replace(strengths, departures=departures)


_LARGEST_SQUARE = 0.99
"""A pilot never makes a coefficient look certain."""

EVERYTHING = Aim()
"""All tables of the survey's order, about people of whom nothing is known."""
