"""Which mechanisms fit, the best first."""

from __future__ import annotations

from math import inf

from deniable.errors import SurveyError
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.aim import EVERYTHING, Aim
from deniable.planning.cost import bits_per_report
from deniable.planning.error import predicted_tv
from deniable.schema.schema import Schema
from deniable.survey.checks import check_parameters
from deniable.survey.frozen import FrozenSurvey


def fitting(
    schema: Schema, order: int, epsilon: float, aim: Aim = EVERYTHING
) -> tuple[tuple[FrozenSurvey, ...], dict[str, str]]:
    """Return the mechanisms that fit, by predicted error, and why the others do not."""
    check_parameters(schema, order, epsilon)
    made, skipped = [], {}
    for name, kind in MECHANISMS.items():
        try:
            made.append(aim.make(kind, schema, order, epsilon))
        except SurveyError as error:
            skipped[name] = str(error)
    if not made:
        raise SurveyError(f"No mechanism fits: {next(iter(skipped.values()))}")
    return tuple(sorted(made, key=lambda survey: _rank(survey, aim))), skipped


def _rank(survey: FrozenSurvey, aim: Aim) -> tuple[float, int]:
    """Return what mechanisms are ranked by: the predicted error, then the bits of a report."""
    error = predicted_tv(survey, 1, aim=aim)
    return inf if error is None else float(f"{error:.9e}"), bits_per_report(survey)
