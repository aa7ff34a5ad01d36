"""Which question list an attribute has: thresholds, if it has an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.errors import SurveyError
from deniable.questions.lists import QuestionList, question_list
from deniable.questions.thresholds import Thresholds
from deniable.schema.attribute import Attribute


def list_about(attribute: Attribute, name: str) -> QuestionList:
    """Return the list about an attribute: the one of this name, unless it has an order."""
    if not attribute.is_ordered:
        return question_list(name, attribute.size)
    cuts = attribute.cuts() if attribute.scale is not None else ()
    return Thresholds(attribute.levels, attribute.missing is not None, cuts)


def lists_about(attributes: Sequence[Attribute], name: str) -> tuple[QuestionList, ...]:
    """Return the list about each attribute; equal ones are the same object."""
    different: dict[QuestionList, QuestionList] = {}
    lists = (list_about(attribute, name) for attribute in attributes)
    return tuple(different.setdefault(each, each) for each in lists)


def list_of_form(form: dict[str, Any], attribute: Attribute) -> QuestionList:
    """Read a list's JSON form, whose fields are checked already."""
    own = list_about(attribute, form["list"])
    if own.name != form["list"]:
        raise SurveyError(
            f"{attribute.name!r} has an order, so its question list is {own.name!r}, not "
            f"{form['list']!r}."
        )
    return own
