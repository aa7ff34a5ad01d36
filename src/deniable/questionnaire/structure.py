"""The structure of a questionnaire: a reader of the JSON Schema that is published.

`questionnaire.schema.json` is the one definition, for editors and for this module, which knows just
those keywords that it has. What fits by structure must still make sense
(`deniable.questionnaire.questionnaire`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.questionnaire.reading import within_list


@cache
def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of questionnaires."""
    schema: dict[str, Any] = json.loads(
        Path(__file__).with_name("questionnaire.schema.json").read_bytes()
    )
    return schema


def check_structure(form: Any) -> None:
    """Refuse a form that breaks the JSON Schema, with the first flaw in one sentence."""
    for flaw in _flaws(json_schema(), form, "The questionnaire"):
        raise QuestionnaireError(flaw)


def _flaws(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    """Yield what is wrong, where it is, and what it must be."""
    says = rule.get("description")
    while "$ref" in rule:
        rule = json_schema()["$defs"][rule["$ref"].rpartition("/")[2]]
        says = rule.get("description", says)
    if "anyOf" in rule:
        yield from _any(rule, form, where, says)
    elif rule.get("type") == "object":
        yield from _object(rule, form, where)
    elif rule.get("type") == "array":
        yield from _array(rule, form, where)
    elif not _is_simple(rule, form):
        yield f"{where} must be {_words(rule, says)}."


def _any(rule: Mapping[str, Any], form: Any, where: str, says: str | None) -> Iterator[str]:
    branches = [_resolved(branch) for branch in rule["anyOf"]]
    flaws = [[*_flaws(branch, form, where)] for branch in branches]
    if not all(flaws):
        return
    # The one branch that the form seems to mean says more than that none of them fits.
    fitting = [
        own
        for branch, own in zip(branches, flaws, strict=True)
        if isinstance(form, list | dict)
        and isinstance(form, _TYPES.get(branch.get("type", ""), ()))
        and all(name in form for name in branch.get("required", ()))
    ]
    yield fitting[0][0] if len(fitting) == 1 else f"{where} must be {says}."


def _resolved(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in rule:
        rule = json_schema()["$defs"][rule["$ref"].rpartition("/")[2]]
    return rule


def _object(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    if not isinstance(form, dict):
        yield f"{where} must be a mapping of fields."
        return
    properties, others = rule.get("properties", {}), rule["additionalProperties"]
    for name in form:
        if "propertyNames" in rule:
            yield from _flaws(rule["propertyNames"], name, f"{where}: a key")
        if others is False and name not in properties:
            yield f"{where} has a field {_brief(name)}; fields are {', '.join(properties)}."
    for name in rule.get("required", ()):
        if name not in form:
            yield f"{where} needs the field {name}."
    for name, needs in rule.get("dependentRequired", {}).items():
        for other in needs:
            if name in form and other not in form:
                yield f"{where} has {name} without {other}."
    least, most = rule.get("minProperties", 0), rule.get("maxProperties", len(form))
    if not least <= len(form) <= most:
        yield f"{where} must have {least} to {max(most, len(properties))} fields."
    for name, value in form.items():
        each = properties.get(name, others)
        if each is not False:
            yield from _flaws(each, value, f"{where}: {name}")


def _array(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    least, most = rule["minItems"], rule["maxItems"]
    if not isinstance(form, list) or not least <= len(form) <= most:
        yield f"{where} must be a list of {least:,} to {most:,}."
        return
    for index, each in enumerate(form):
        yield from _flaws(rule["items"], each, within_list(where, index, each))
    if rule.get("uniqueItems"):
        yield from (
            f"{where} lists {_brief(str(each))} twice."
            for index, each in enumerate(form)
            if each in form[:index]
        )


def _brief(name: str) -> str:
    return repr(name if len(name) <= 40 else f"{name[:40]}…")


def _is_number(form: Any) -> bool:
    return isinstance(form, int | float) and not isinstance(form, bool)


_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}


def _is_simple(rule: Mapping[str, Any], form: Any) -> bool:
    """Tell whether a form that is no list and no object keeps a rule."""
    if "const" in rule:
        return type(form) is type(rule["const"]) and form == rule["const"]
    if "enum" in rule:
        return isinstance(form, str) and form in rule["enum"]
    if rule["type"] in ("number", "integer"):
        if not _is_number(form) or (rule["type"] == "integer" and not isinstance(form, int)):
            return False
        is_above = "exclusiveMinimum" not in rule or form > rule["exclusiveMinimum"]
        return bool(is_above and rule.get("minimum", form) <= form <= rule.get("maximum", form))
    if not isinstance(form, _TYPES[rule["type"]]):
        return False
    if rule["type"] == "string":
        least, most = rule.get("minLength", 0), rule.get("maxLength", len(form))
        pattern = rule.get("pattern")
        fits = pattern is None or re.fullmatch(pattern[1:-1], form, re.ASCII) is not None
        return least <= len(form) <= most and fits
    return True


def _words(rule: Mapping[str, Any], says: str | None) -> str:
    match rule:
        case {"const": constant}:
            return json.dumps(constant)
        case {"enum": constants}:
            return f"one of {', '.join(constants)}"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "number" | "integer" as kind}:
            low, above = rule.get("minimum"), rule.get("exclusiveMinimum")
            ends = [
                *([f"above {above}"] if above is not None else []),
                *([f"at least {low:,}"] if low is not None else []),
                *([f"at most {rule['maximum']:,}"] if "maximum" in rule else []),
            ]
            what = "a number" if kind == "number" else "a whole number"
            return " ".join([what, " and ".join(ends)]).strip()
        case {"pattern": "^[0-9a-f]{64}$"}:
            return "the id of a survey, 64 hexadecimal digits"
        case {"pattern": _} if says is None:
            return "a day such as 2026-11-01"
        case {"type": "string", "maxLength": most} if says is None or says[0].isupper():
            return f"a text of {rule.get('minLength', 0)} to {most:,} letters"
    return str(says)
