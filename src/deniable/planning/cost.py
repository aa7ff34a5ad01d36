"""What a survey costs a device: bits to send, random words to draw.

All of it is read off the questions, so that a new mechanism needs nothing here.
"""

from __future__ import annotations

from deniable.questions.answers import Unary
from deniable.survey.frozen import FrozenSurvey


def bits_per_report(survey: FrozenSurvey) -> int:
    """Return the bits that name a slot and a value."""
    value = max(
        family.answer.symbols
        if isinstance(family.answer, Unary)
        else (family.answer.outcomes - 1).bit_length()
        for family in survey.families
    )
    return (survey.slots - 1).bit_length() + value


def random_words(survey: FrozenSurvey) -> int:
    """Return the most 64-bit words that a device draws for its slot and its answer.

    A uniform draw that is rejected is made again, less than once on average; that is not counted.
    """
    return survey.index.words + max(family.answer.words for family in survey.families)
