"""Scores: what a way of answering makes of a coefficient.

A report gives every coefficient that its question holds a score whose mean is the coefficient. Its
second moment V, and κ of the mean product of two scores, come from the way of answering alone
(`deniable.questions.answers.Inclusion`).
"""

from __future__ import annotations

from typing import NamedTuple

from deniable.errors import SurveyError
from deniable.questions.answers import Bitwise, Inclusion, Subset, Unary
from deniable.survey.template import Template


class Scoring(NamedTuple):
    """How the reports to a template's questions are scored."""

    answer: Subset | Unary
    law: Inclusion
    moment: float
    """V, the second moment of a score."""
    cross: float
    """κ."""
    largest: float
    """The largest score of a report."""


def scoring(template: Template) -> Scoring:
    """Return how a template's reports are scored; bit-by-bit answers are not."""
    answer = template.answer
    if isinstance(answer, Bitwise):
        raise SurveyError("Answers bit by bit have no scores of their own.")
    law = answer.inclusion
    return Scoring(
        answer,
        law,
        float(law.second_moment(answer.symbols)),
        float(law.cross),
        answer.reach / float(law.contrast),
    )
