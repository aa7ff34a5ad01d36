"""What a plan says of numbers: errors of means, medians and correlations, and people for a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite
from numbers import Real

from deniable.errors import SurveyError
from deniable.planning.numbers import NumberErrors, Population
from deniable.schema.scale import Days
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey

STEPS = (
    "The step of a grid changes neither means nor correlations, and a median only where it is coarser "
    "than the median's error: finer steps cost no accuracy, and tell nothing more."
)


@dataclass(frozen=True)
class NumberRow:
    """The standard errors to expect of a number, in its own unit.

    ``median_error`` is what a release will state, the 95 % interval's half-width over 1.96; the median
    itself scatters less. None stands for what cannot be told.
    """

    attribute: str
    unit: str | None
    mean_error: float | None
    median_error: float | None


@dataclass(frozen=True)
class CorrelationRow:
    """The standard error to expect of the correlation of two numbers."""

    first: str
    second: str
    correlation_error: float | None


def check_means(schema: Schema, means: Mapping[str, float] | None) -> dict[int, float]:
    """Return how wide the interval of each mean may be, by the number's position."""
    targets_by_number: dict[int, float] = {}
    if means is not None and not isinstance(means, Mapping):
        raise SurveyError("means map numbers to half the widths of their intervals.")
    for name, width in (means or {}).items():
        index = schema.index(name)
        if not schema.attributes[index].is_ordered:
            raise SurveyError(f"{name!r} has no order, so it has no mean.")
        is_number = isinstance(width, Real) and not isinstance(width, bool)
        if not is_number or not 0 < float(width) < inf:
            raise SurveyError(f"The mean of {name!r} needs a positive half-width of its interval.")
        targets_by_number[index] = float(width)
    return targets_by_number


def number_rows(
    survey: FrozenSurvey, people: float, population: Population
) -> tuple[NumberRow, ...]:
    """Return what to expect of each number."""
    errors, rows = NumberErrors(survey, people, population), []
    for index in errors.numbers:
        attribute = survey.schema.attributes[index]
        rows.append(
            NumberRow(
                attribute.name,
                "days" if isinstance(attribute.scale, Days) else attribute.unit,
                _finite(errors.mean(index)),
                _finite(errors.median(index)),
            )
        )
    return tuple(rows)


def correlation_rows(
    survey: FrozenSurvey, people: float, population: Population
) -> tuple[CorrelationRow, ...]:
    """Return what to expect of each pair of numbers."""
    if survey.order < 2:
        return ()
    errors, names = NumberErrors(survey, people, population), survey.schema.names
    return tuple(
        CorrelationRow(names[a], names[b], _finite(errors.correlation(a, b)))
        for a, b in combinations(errors.numbers, 2)
    )


def _finite(error: float) -> float | None:
    return error if isfinite(error) else None
