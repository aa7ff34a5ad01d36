"""Several surveys read as one: what was asked in any of them, of attributes that they declare alike.

People who answered different surveys answered differently drawn questions about the same attributes, so
their reports can be read as those of one survey that asks all of these questions, each as often as it
was asked. What makes estimates of reports then weights them by the precision of their questions alone,
and its covariances are exact, without knowing that there were several surveys.

Nobody is ever asked such a survey: it is no document, and has no ε but the largest of its parts'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import accumulate, combinations, pairwise
from typing import Any

import numpy as np

from deniable.errors import SurveyError
from deniable.formats.forms import limit
from deniable.numeric.shares import whole_parts
from deniable.questions.answers import Bitwise
from deniable.questions.lists import QuestionList
from deniable.schema.attribute import Attribute, kind, spoken
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import ALL_WEIGHT, Template
from deniable.survey.turned import Turned


class PooledSurvey(FrozenSurvey):
    """Several surveys as one, of which each was answered by so many ``people``.

    It has the attributes of all, in an order that is that of each if there is one. Attributes of one
    name must be declared alike and worded alike, unless they are named ``apart``: these stay attributes
    of their own, with the survey's id in their names.
    """

    def __init__(
        self, surveys: Sequence[FrozenSurvey], people: Sequence[int], apart: Sequence[str] = ()
    ) -> None:
        self.parts = tuple(surveys)
        _check_apart(surveys, apart)
        _check_kinds([template for survey in surveys for template in survey.templates])
        for one, other in combinations(surveys, 2):
            check_alike(one, other, apart)
        attributes = [_attributes(each, apart) for each in surveys]
        names = _merged([[each.name for each in own] for own in attributes])
        position = {name: place for place, name in enumerate(names)}
        self.positions: tuple[Ints, ...] = tuple(
            np.array([position[each.name] for each in own]) for own in attributes
        )
        """Where the attributes of each survey stand."""
        by_name = {each.name: each for own in attributes for each in reversed(own)}
        observed = any(each.schema.observed for each in surveys)
        self.schema = Schema(tuple(by_name[name] for name in names), observed=observed)
        self.order = max(each.order for each in surveys)
        self.epsilon = max(each.epsilon for each in surveys)
        self.lists = _lists(surveys, self.positions, names)
        self.mechanism = " + ".join(dict.fromkeys(each.mechanism for each in surveys))
        self.labels = surveys[0].labels if len({each.labels for each in surveys}) == 1 else Labels()
        self.texts, self.follows = None, None
        self._turned = [
            None if (np.diff(own) > 0).all() else Turned(survey, own)
            for survey, own in zip(surveys, self.positions, strict=True)
        ]
        templates: list[Template] = []
        chances: list[Floats] = []
        for survey, turned, own, count in zip(
            surveys, self._turned, self.positions, people, strict=True
        ):
            parts, often = _templates(survey, turned, own, len(names))
            templates += parts
            chances += [each * (count / sum(people)) for each in often]
        self.templates = _weighted(templates, chances)
        self.begins = [0, *accumulate(each.slots for each in surveys)][:-1]
        """Where the slots of each survey begin."""
        if self.slots >= 1 << limit("slots"):
            raise SurveyError(
                "The surveys have too many questions to be pooled; 2^63 is the limit."
            )

    def moved(self, number: int, slots: Ints) -> Ints:
        """Return the slots of this survey in which those of one of its parts are asked."""
        turned = self._turned[number]
        own: Ints = slots if turned is None else turned.slots(slots)
        return own + self.begins[number]

    def asked_together(self, tables: Ints) -> Ints:
        """Return which survey asks about all attributes of each table, as many at once; −1 for none."""
        asks = np.full(len(tables), -1)
        for number, (survey, positions) in enumerate(zip(self.parts, self.positions, strict=True)):
            is_own = np.isin(tables, positions).all(axis=1) & (tables.shape[1] <= survey.order)
            asks[is_own & (asks < 0)] = number
        return asks

    def surveys_of(self, attribute: int) -> list[FrozenSurvey]:
        """Return the surveys that have an attribute."""
        pairs = zip(self.parts, self.positions, strict=True)
        return [survey for survey, positions in pairs if attribute in positions]


def check_alike(one: FrozenSurvey, other: FrozenSurvey, apart: Sequence[str] = ()) -> None:
    """Refuse two surveys that declare an attribute differently, or ask about it in other words."""
    for own in one.schema.attributes:
        if own.name in apart or own.name not in other.schema.names:
            continue
        another = other.schema.attributes[other.schema.index(own.name)]
        words, other_words = one.wording(own.name), other.wording(own.name)
        languages = [name for name in words if other_words.get(name, words[name]) != words[name]]
        what = _difference(own, another) or (
            f"its wording differs ({', '.join(languages)})" if languages else ""
        )
        if what:
            raise SurveyError(
                f"Attribute {own.name!r} is not the same in the surveys {one.id[:8]} and "
                f"{other.id[:8]}: {what}; keep it apart (apart=[{own.name!r}], --apart), or release "
                "the surveys one by one."
            )


def _difference(one: Attribute, other: Attribute) -> str:
    """Return in what two attributes differ as they are declared; nothing where they are alike."""
    values, others = (list(map(kind, each.values)) for each in (one, other))
    if (one.scale is None) != (other.scale is None):
        return "it is a number in one of them only"
    if one.scale != other.scale:
        return "the points of its grid differ"
    if one.edges != other.edges:
        return f"its edges are {_listed(one.edges)} or {_listed(other.edges)}"
    if one.unit != other.unit:
        return f"its unit is {one.unit} or {other.unit}"
    if one.ordered != other.ordered:
        return "its values are in order in one of them only"
    if values != others and sorted(map(repr, values)) == sorted(map(repr, others)):
        return f"its values are ordered {_listed(one.values)} or {_listed(other.values)}"
    if (one.missing, one.other) != (other.missing, other.other):
        return "other values stand for what is missing or undeclared"
    if values != others:
        return f"its values are {_listed(one.values)} or {_listed(other.values)}"
    return ""


_MOST_SHOWN = 6


def _listed(values: Sequence[object]) -> str:
    """Return values as people read them: the first ones, in brackets."""
    words = [f"{each:g}" if isinstance(each, float) else spoken(each) for each in values]
    return f"({', '.join(words[:_MOST_SHOWN])}{', …' if len(words) > _MOST_SHOWN else ''})"


def _check_apart(surveys: Sequence[FrozenSurvey], apart: Sequence[str]) -> None:
    for name in apart:
        if not any(name in each.schema.names for each in surveys):
            raise SurveyError(f"No survey has an attribute {name!r} that could be kept apart.")


def _attributes(survey: FrozenSurvey, apart: Sequence[str]) -> list[Attribute]:
    """Return a survey's attributes; those to be kept apart have its id in their names."""
    return [
        replace(each, name=apart_name(survey, each.name)) if each.name in apart else each
        for each in survey.schema.attributes
    ]


def apart_name(survey: FrozenSurvey, name: str) -> str:
    """Return the name of an attribute that is kept apart: of its survey."""
    return f"{name} ({survey.id[:8]})"


def _merged(sequences: Sequence[Sequence[str]]) -> list[str]:
    """Return all names in one order that is also that of each sequence, if there is one."""
    first = {name: at for at, name in enumerate(dict.fromkeys(n for own in sequences for n in own))}
    after: dict[str, set[str]] = {name: set() for name in first}
    for own in sequences:
        for one, other in pairwise(own):
            after[one].add(other)
    waits = dict.fromkeys(first, 0)
    for others in after.values():
        for name in others:
            waits[name] += 1
    ready = [(at, name) for name, at in first.items() if not waits[name]]
    names: list[str] = []
    while ready:
        _, name = heappop(ready)
        names.append(name)
        for other in after[name]:
            waits[other] -= 1
            if not waits[other]:
                heappush(ready, (first[other], other))
    if len(names) < len(first):  # there is no such order
        return _inserted(sequences)
    return names


def _inserted(sequences: Sequence[Sequence[str]]) -> list[str]:
    """Return all names in the first one's order, each other one after the name before it."""
    names = list(sequences[0])
    for own in sequences[1:]:
        at = 0
        for name in own:
            if name not in names:
                names.insert(at, name)
            at = names.index(name) + 1
    return names


def _lists(
    surveys: Sequence[FrozenSurvey], positions: Sequence[Ints], names: Sequence[str]
) -> tuple[QuestionList, ...]:
    """Return the question list of each attribute, which all surveys that have it must share."""
    lists: dict[int, QuestionList] = {}
    for survey, own in zip(surveys, positions, strict=True):
        for place, each in zip(own.tolist(), survey.lists, strict=True):
            first = lists.setdefault(place, each)
            # About two values there is one question, whatever the list is called.
            if first != each and first.size > 2:
                raise SurveyError(
                    f"The surveys ask about {names[place]!r} by other yes/no questions "
                    f"({first.name} or {each.name}), which are not pooled; release them one by one."
                )
    return tuple(lists[place] for place in range(len(names)))


def _check_kinds(templates: Sequence[Template]) -> None:
    """Refuse questions that are answered in ways which no one decoder reads."""
    if any(isinstance(each.answer, Bitwise) for each in templates):
        raise SurveyError("Surveys that are answered bit by bit (InpEM) are not pooled.")
    if any(each.sizes for each in templates) and not all(each.cell for each in templates):
        raise SurveyError(
            "One of these surveys asks for cells of many values and another one for yes/no questions "
            "about them, which are not pooled; release them one by one."
        )


def _templates(
    survey: FrozenSurvey, turned: Turned | None, positions: Ints, attributes: int
) -> tuple[list[Template], list[Floats]]:
    """Return a survey's templates by the positions of its attributes, and how often each is asked."""
    if turned is not None:
        return list(turned.templates), list(turned.chances)
    templates: list[Template] = []
    chances: list[Floats] = []
    for number, template in enumerate(survey.templates):
        changes: dict[str, Any] = {"sets": None, "among": ()}
        if template.sets is not None:
            changes["sets"] = tuple(map(tuple, positions[np.array(template.sets)].tolist()))
            chances.append(survey.index.set_chances(number))
        else:
            chances.append(np.array([survey.index.chance(number)]))
            some = positions[list(template.among)] if template.among else positions
            if len(some) < attributes:
                changes["among"] = tuple(some.tolist())
        templates.append(replace(template, weights=(), **changes))
    return templates, chances


def _weighted(templates: Sequence[Template], chances: Sequence[Floats]) -> tuple[Template, ...]:
    """Return templates that are asked as often as these chances say."""
    ends = np.cumsum(list(map(len, chances)))[:-1]
    weights = np.split(whole_parts(np.concatenate(chances), ALL_WEIGHT), ends)
    return tuple(
        replace(template, weights=tuple(own.tolist()))
        for template, own in zip(templates, weights, strict=True)
    )
