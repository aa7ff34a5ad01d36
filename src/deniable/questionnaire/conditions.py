"""From a questionnaire's conditions, in values, to those of its layout, in codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.questionnaire.layout import Clause, Condition, Layout, runs_of
from deniable.schema.attribute import Attribute, kind
from deniable.schema.schema import Schema


def layout_of(form: Mapping[str, Any], schema: Schema) -> Layout:
    """Return the pages and conditions of a questionnaire."""
    pages = _pages(form, schema)
    turns = {attribute: turn for turn, attribute in enumerate(a for page in pages for a in page)}
    conditions = []
    for index, attribute in enumerate(form["attributes"]):
        if "when" not in attribute:
            continue
        own, when = schema.attributes[index], attribute["when"]
        clauses = []
        for each in when.get("all", [when]):
            on = _position(schema, each["attribute"], f"The condition of {own.name!r}")
            if turns[on] >= turns[index]:
                raise QuestionnaireError(
                    f"The condition of {own.name!r} looks at {each['attribute']!r}, which is not asked "
                    "before it."
                )
            clauses.append(Clause(on, runs_of(_codes(own, schema.attributes[on], each["is"]))))
        otherwise = _code(own, when["otherwise"])
        if otherwise is None:
            raise QuestionnaireError(
                f"The condition of {own.name!r}: otherwise must be a declared value of it, "
                f"{_declared(own)}."
            )
        conditions.append(Condition(index, tuple(clauses), otherwise))
    return Layout(pages, tuple(conditions))


def _pages(form: Mapping[str, Any], schema: Schema) -> tuple[tuple[int, ...], ...]:
    if "pages" not in form:
        return (tuple(range(len(schema))),)
    pages = tuple(
        tuple(_position(schema, name, f"Page {index + 1}") for name in page["attributes"])
        for index, page in enumerate(form["pages"])
    )
    turns = [attribute for page in pages for attribute in page]
    for index, name in enumerate(schema.names):
        if turns.count(index) != 1:
            times = "on no page" if index not in turns else "on pages more than once"
            raise QuestionnaireError(f"Attribute {name!r} is {times}; each is on one page.")
    return pages


def _position(schema: Schema, name: str, where: str) -> int:
    if name not in schema.names:
        raise QuestionnaireError(f"{where} names {name!r}, and there is no such attribute.")
    return schema.index(name)


def _code(attribute: Attribute, value: Any) -> int | None:
    """Return the code of a value that is declared, or of a number's point; None of any other."""
    if attribute.scale is not None:
        if attribute.missing is not None and kind(value) == kind(attribute.missing):
            return attribute.levels
        return attribute.scale.cut_at(value)
    return attribute.code_by_value.get(kind(value))


def _codes(own: Attribute, on: Attribute, condition: Any) -> list[int]:
    """Return the codes of an earlier attribute under which an attribute is asked about."""
    if isinstance(condition, dict):
        return _between(own, on, condition)
    codes = []
    for value in condition if isinstance(condition, list) else [condition]:
        code = _code(on, value)
        if code is None:
            raise QuestionnaireError(
                f"The condition of {own.name!r}: is must be declared values of {on.name!r}, "
                f"{_declared(on)}."
            )
        codes.append(code)
    return codes


def _between(own: Attribute, on: Attribute, ends: Mapping[str, Any]) -> list[int]:
    if on.scale is None:
        raise QuestionnaireError(
            f"The condition of {own.name!r}: {on.name!r} is no number, so list its values."
        )
    levels: dict[str, int] = {"above": -1, "to": on.levels - 1}
    for name, point in ends.items():
        level = on.scale.cut_at(point)
        if level is None:
            raise QuestionnaireError(
                f"The condition of {own.name!r}: {name} must be a point of {on.name!r}, "
                f"{_declared(on)}."
            )
        levels[name] = level
    codes = list(range(levels["above"] + 1, levels["to"] + 1))
    if not codes:
        raise QuestionnaireError(
            f"The condition of {own.name!r} can never hold: above is not below to."
        )
    return codes


def _declared(attribute: Attribute) -> str:
    """Return the declared values, or the first points of a number, as a text."""
    if attribute.scale is None:
        return attribute.declared()
    scale = attribute.scale
    points = ", ".join(str(scale.point(level)) for level in range(min(3, scale.levels - 1)))
    stand_in = "" if attribute.missing is None else f", or {attribute.missing!r}"
    return f"{points}, … {scale.point(scale.levels - 1)}{stand_in}"
