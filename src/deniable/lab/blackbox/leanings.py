"""Leanings: how much a report speaks for one record rather than for another.

A leaning is a number for a report, above 0 where it speaks for the first record. What is learned from
reports may be wrong, which costs an audit power, and never validity: it judges other reports than
those that leanings were learned from.
"""

from __future__ import annotations

import json
from collections import Counter as Multiset
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import log
from typing import Any, NamedTuple

from deniable.errors import ReportError
from deniable.messages.report import Report
from deniable.questions.answers import Bitwise
from deniable.survey.frozen import FrozenSurvey

MOST_LETTERS = 4096
"""Texts up to so many letters are looked at letter by letter."""

MOST_BITS = 64
"""Integers up to so many bits are looked at bit by bit."""

_TELLING = 8.0
"""χ² of one degree above which a part of reports is taken to tell records apart."""


class Leaning(NamedTuple):
    """A number for each report, and what it looks at, in words."""

    words: str
    of: Callable[[str], float]


def learned(first: Sequence[str], second: Sequence[str]) -> Iterator[Leaning]:
    """Yield leanings learned from equally many reports of each record."""
    whole = {
        report: log((ours + 0.5) / (theirs + 0.5))
        for report, ours, theirs in _times(first, second, _itself)
    }
    yield Leaning("reports as a whole", lambda report: whole.get(report, 0.0))
    count = len(first) + 1
    parts = {
        part: log((ours + 0.5) / (theirs + 0.5)) - log((count - ours) / (count - theirs))
        for part, ours, theirs in _times(first, second, parts_of)
        if (ours - theirs) ** 2 > _TELLING * (ours + theirs)
    }
    if parts:
        yield Leaning("parts of reports", lambda report: _sum(parts, report))


def _itself(report: str) -> list[Any]:
    return [report]


def _sum(weights: Mapping[Any, float], report: str) -> float:
    return sum(weights.get(part, 0.0) for part in parts_of(report))


def _times(
    first: Sequence[str], second: Sequence[str], parts: Callable[[str], list[Any]]
) -> Iterator[tuple[Any, int, int]]:
    """Yield every part, and in how many reports of each record it is."""
    ours, theirs = (
        Multiset(part for report in reports for part in parts(report))
        for reports in (first, second)
    )
    for part in ours | theirs:
        yield part, ours[part], theirs[part]


@lru_cache(1 << 16)
def parts_of(report: str) -> list[Any]:
    """Return what a report says at each place: its values, the letters of texts, bits of integers."""
    try:
        document = json.loads(report)
    except (ValueError, RecursionError):
        document = report
    return list(dict.fromkeys(_parts(document, ())))


def _parts(value: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _parts(inner, (*path, name))
        case list():
            for place, inner in enumerate(value):
                yield from _parts(inner, (*path, place))
        case bool() | float() | None:
            yield path, repr(value)
        case int():
            yield path, repr(value)
            if 1 < value.bit_length() <= MOST_BITS and value >= 0:
                yield from ((path, "bit", j) for j in range(MOST_BITS) if value >> j & 1)
        case str():
            yield path, repr(value)
            if value.isascii() and value.isdecimal() and len(value) <= 19:
                yield from _parts(int(value), (*path, "number"))
            if len(value) <= MOST_LETTERS:
                yield from ((path, place, letter) for place, letter in enumerate(value))


def by_law(survey: FrozenSurvey, first: Any, second: Any) -> Leaning:
    """Return what a survey's own law says: which record a report is likelier for.

    Raise `ReportError` where a report cannot have come from the survey.
    """
    records = [survey.schema.decode(survey.schema.encode(each)) for each in (first, second)]

    @cache
    def leaning(report: str) -> float:
        slot, value = _read(survey, report)
        question = survey.question(slot)
        answer = question.answer
        ours, theirs = (question.asks.symbol(record) for record in records)
        if value >= answer.outcomes:
            raise ReportError("The client sent a value that its question does not have.")
        if isinstance(answer, Bitwise):
            return float((theirs ^ value).bit_count() - (ours ^ value).bit_count())
        support = answer.support(value)
        return float((ours in support) - (theirs in support))

    return Leaning("what the survey's law says of reports", leaning)


def _read(survey: FrozenSurvey, report: str) -> tuple[int, int]:
    try:
        form = Report.from_json(json.loads(report))
    except (ValueError, RecursionError, ReportError):
        raise ReportError(
            'A client of a survey prints reports such as {"slot": "3", "value": "1"}, one a line.'
        ) from None
    if form.slot >= survey.slots:
        raise ReportError("The client sent a slot that the survey does not have.")
    return form.slot, form.value
