"""What a plan says of each target: whether it is reached, how many people it takes, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from deniable.mechanisms.registry import mechanism_named
from deniable.planning.advice import advice
from deniable.planning.aim import Aim
from deniable.planning.needs import Detection, Need, Width
from deniable.planning.numbers import Population
from deniable.planning.prospect import Prospect
from deniable.planning.sizing import Sizing, people_by
from deniable.survey.frozen import FrozenSurvey

_SLACK = 1e-3
"""People are found to so small a part."""


@dataclass(frozen=True)
class Target:
    """What an analyst asked for, and what comes of it.

    ``power`` is how often tests find what there is, ``half_width`` half the width of a 95 % interval, by
    the plan's people; ``people`` are needed, with the design for so many, None if no number is enough;
    ``reached`` tells whether there are so many. The two that are ``corrected`` are of a test among all,
    at the 5 % level over their number. ``advice`` says in words what cannot be shown, and what would.
    """

    target: str
    value: float
    people: int | None
    power: float | None
    half_width: float | None
    people_corrected: int | None
    power_corrected: float | None
    reached: bool
    english: str
    advice: str | None


def targets_of(
    survey: FrozenSurvey, people: int, needs: Sequence[Need], population: Population, aim: Aim
) -> tuple[Target, ...]:
    """Return what comes of each need, if so many people answer a survey."""
    if not needs:
        return ()
    prospect = Prospect(survey, people, population, aim)
    kind = mechanism_named(survey.mechanism)
    sizing = Sizing(kind, survey.schema, survey.order, survey.epsilon, aim, population)
    return tuple(_target(need, prospect, sizing) for need in needs)


def _target(need: Need, prospect: Prospect, sizing: Sizing) -> Target:
    power = half_width = power_corrected = people_corrected = None
    is_reached = False
    if isinstance(need, Detection):
        power = need.found(prospect)
        corrected = need.corrected(prospect)
        power_corrected = corrected.found(prospect)
        is_reached = power is not None and power >= need.power - _SLACK
        if corrected.comparisons > 1:
            people_corrected = sizing.people(corrected)
    elif isinstance(need, Width):
        width = need.half_width(prospect)
        half_width = width if isfinite(width) else None
        is_reached = width <= need.value * (1 + _SLACK)
    if is_reached:
        needed = people_by(prospect.survey, need, sizing.population, sizing.aim)
    else:
        needed = sizing.people(need)
    return Target(
        need.name,
        need.value,
        needed,
        power,
        half_width,
        people_corrected,
        power_corrected,
        is_reached,
        need.english,
        None if is_reached else advice(need, prospect, sizing, needed, power or half_width),
    )
