"""Which mechanisms fit, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.registry import known_mechanisms
from deniable.planning.aim import EVERYTHING, Aim
from deniable.planning.cost import bits_per_report
from deniable.planning.error import predicted_tv
from deniable.planning.reading import designed_v, read_tv
from deniable.schema.schema import Schema
from deniable.survey.checks import check_parameters
from deniable.survey.frozen import FrozenSurvey


def surveys_that_fit(
    schema: Schema,
    order: int,
    epsilon: float,
    aim: Aim = EVERYTHING,
    kinds: Mapping[str, type[Mechanism]] | None = None,
) -> tuple[tuple[FrozenSurvey, ...], dict[str, str]]:
    """Return the surveys of mechanisms that fit, by predicted error, and why others do not.

    ``kinds`` are those to choose from; by default all that are known.
    """
    check_parameters(schema, order, epsilon)
    surveys, reasons = [], {}
    for name, kind in (known_mechanisms() if kinds is None else kinds).items():
        try:
            surveys.append(aim.make(kind, schema, order, epsilon))
        except SurveyError as error:
            reasons[name] = str(error)
    if not surveys:
        raise SurveyError(f"No mechanism fits: {next(iter(reasons.values()))}")
    return tuple(sorted(surveys, key=lambda survey: _rank(survey, aim))), reasons


def _rank(survey: FrozenSurvey, aim: Aim) -> tuple[float, float, int]:
    """Return what mechanisms are ranked by: the error that the aim is about, then bits of a report.

    What is read is drawn, so that three digits of it count; then the unbiased error does. What somebody
    expects of people changes predictions, and no survey.
    """
    aim = replace(aim, expected=None, population=None)
    unbiased = _digits(predicted_tv(survey, 1, aim=aim), 9)
    if survey.schema.is_binary or aim.goal == "unbiased" or survey.order == 1:
        return unbiased, unbiased, bits_per_report(survey)
    if aim.goal == "associations":
        error = designed_v(survey, aim.people, aim)
    else:
        error = read_tv(survey, aim.people, aim, as_designed=True)
    return _digits(error, 3), unbiased, bits_per_report(survey)


def _digits(error: float | None, digits: int) -> float:
    return inf if error is None else float(f"{error:.{digits}g}")
