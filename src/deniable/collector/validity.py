"""Which reports a survey can have got: to slots that it has, with values that these can get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.messages.report import MOST_NUMBER
from deniable.questions.answers import Unary
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import Family, FrozenSurvey

Bools = NDArray[np.bool_]

UNKNOWN_SLOT, IMPOSSIBLE_VALUE = "unknown slot", "impossible value"


def tally_values(family: Family) -> int:
    """Return how many different values the rows of a slot may have in a tally."""
    answer = family.answer
    return answer.symbols + 1 if isinstance(answer, Unary) else answer.outcomes


def rows_of(survey: FrozenSurvey, family: Family, slots: Ints) -> slice | NDArray[np.intp]:
    """Return where the slots of one way of answering stand, in any order."""
    if len(survey.families) == 1:
        return slice(None)
    return np.flatnonzero((slots >= family.start) & (slots < family.stop))


def unknown_slots(survey: FrozenSurvey, slots: NDArray[Any]) -> Bools:
    """Tell which slots the survey does not have."""
    return np.asarray((slots < 0) | (slots >= survey.slots), np.bool_)


def flaws(
    survey: FrozenSurvey, slots: NDArray[Any], values: NDArray[Any]
) -> Iterator[tuple[str, Bools]]:
    """Yield why reports are wrong, and which; of the rows that are left after the reason before.

    Values are integers, as int64 or as Python's own, or rows of packed bytes.
    """
    if not len(slots):
        return
    if slots.min() < 0 or slots.max() >= survey.slots:
        unknown = unknown_slots(survey, slots)
        yield UNKNOWN_SLOT, unknown
        slots, values = slots[~unknown], values[~unknown]
    impossible = np.zeros(len(slots), np.bool_)
    for family in survey.families:
        rows = rows_of(survey, family, slots)
        part, outcomes = values[rows], family.answer.outcomes
        if part.ndim == 2:
            full, rest = divmod(family.answer.symbols, 8)
            spare = part[:, full:].copy()
            if rest:
                spare[:, 0] >>= rest
            impossible[rows] = spare.any(axis=1)
        elif len(part) and (part.min() < 0 or part.max() >= outcomes):
            impossible[rows] = (part < 0) | (part >= outcomes)
    if impossible.any():
        yield IMPOSSIBLE_VALUE, impossible


def possible(survey: FrozenSurvey, slots: list[int], values: list[int]) -> list[bool]:
    """Tell of each report whether the survey can have got it; a packed value is an integer here."""
    rows = np.arange(len(slots))
    is_possible = np.ones(len(slots), np.bool_)
    kind = object if max(values, default=0) > MOST_NUMBER else np.int64
    for _, is_wrong in flaws(survey, np.array(slots, np.int64), np.array(values, kind)):
        is_possible[rows[is_wrong]] = False
        rows = rows[~is_wrong]
    flags: list[bool] = is_possible.tolist()
    return flags
