"""Forms: what a survey may hold, field by field, as data that every client reads.

`forms.json` is the one definition of a survey's form; the JavaScript client carries the same data, and
this module and its `forms.js` are two readers of it. A rule, or the name of one, says one thing:

``is`` (this constant) · ``in`` (one of these constants) · ``any`` (of these rules) · ``whole`` (a
number from, to) · ``digits`` (an integer as its one decimal text, from, to) · ``double`` (a number as
its shortest decimal text, above, up to) · ``text`` (letters from, to; ``seen``: all of them visible;
``column``: no signs that a database would read; ``words``: what people read, in any language) ·
``matches`` (this pattern, from end to end) · ``map`` (of keys and what they name; ``count``) ·
``day`` (from, to) · ``list`` (of a rule; ``count``
from, to; ``rising``) · ``fields`` (those with a question mark may be left out; ``one`` of these is
there, these are ``apart``, a field ``needs`` another).

How fields must fit each other is said where they are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.formats.reading import parse


@cache
def definition() -> dict[str, Any]:
    """Return the definition that all clients share."""
    form: dict[str, Any] = json.loads(Path(__file__).with_name("forms.json").read_bytes())
    return form


def limit(name: str) -> int:
    """Return one of the limits on what a survey may cause."""
    number: int = definition()["limits"][name]
    return number


def parse_json(text: str | bytes, *, from_wire: bool = False) -> Any:
    """Return what a JSON text says; a ValueError if it is none, or names a field twice.

    What comes ``from_wire`` is read as browsers read it, so that all clients take the same: of two
    fields of one name the last counts, and a whole number is one however it is written (1.0, 1e0; RFC
    8785).
    """
    if from_wire:
        return parse(text, number=_number)
    return parse(text, _without_twins)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    form = dict(pairs)
    if len(form) < len(pairs):
        raise ValueError("a field is named twice")
    return form


def fold_case(name: str) -> str:
    """Return a name in capitals: names that differ in them alone are one. ẞ is a capital ß."""
    return name.lower().upper()


def check_form(name: str, form: Any, error: type[DeniableError]) -> None:
    """Refuse a form that breaks the rule of this name, with the first flaw in one sentence."""
    for flaw in _flaws(name, form, f"The {name}"):
        raise error(flaw)


def _flaws(rule: Any, form: Any, where: str) -> Iterator[str]:
    """Yield what is wrong, where it is, and what it must be."""
    if isinstance(rule, str):
        rule = definition()["rules"][rule]
    if "fields" in rule:
        yield from _fields(rule, form, where)
    elif "list" in rule:
        yield from _list(rule, form, where)
    elif "map" in rule:
        yield from _map(rule, form, where)
    elif "any" in rule:
        # What came names its own rule where it can: its flaw says more than that none of them fits.
        way = form.get("way") if isinstance(form, dict) else None
        if isinstance(way, str) and way in rule["any"]:
            yield from _flaws(way, form, where)
        elif not _is_simple(rule, form):
            yield f"{where} must be {rule['says']}."
    elif not _SIMPLE[next(iter(rule))](form, rule):
        yield f"{where} must be {_words(rule)}."


def _fields(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    if not isinstance(form, dict):
        yield f"{where} must be an object."
        return
    rules = {name.rstrip("?"): (each, name[-1] == "?") for name, each in rule["fields"].items()}
    missing = [name for name, (_, may_lack) in rules.items() if name not in form and not may_lack]
    if missing or form.keys() - rules.keys():
        fields = "fields are missing" if missing else "it has fields that it should not have"
        yield f"{where} is none: {fields}."
    for name, each in form.items():
        if name in rules:
            yield from _flaws(rules[name][0], each, f"{where}'s {name}")
    if sum(name in form for name in rule.get("one", ())) != bool(rule.get("one")):
        yield f"{where} must have either {' or '.join(rule['one'])}."
    if rule.get("apart") and all(name in form for name in rule["apart"]):
        yield f"{where} cannot have both {' and '.join(rule['apart'])}."
    for name, other in rule.get("needs", {}).items():
        if name in form and other not in form:
            yield f"{where} cannot have {name} without {other}."


def _list(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    least, most = rule["count"]
    if not isinstance(form, list) or not least <= len(form) <= most:
        yield f"{where} must be a list of {least:,} to {most:,}."
        return
    for index, each in enumerate(form):
        if not _is_simple(rule["list"], each):  # lists may be long
            yield from _flaws(rule["list"], each, f"{where}[{index}]")
    if rule.get("rising") and any(low >= high for low, high in pairwise(form)):
        yield f"{where} must be in ascending order, each once."


def _map(rule: Mapping[str, Any], form: Any, where: str) -> Iterator[str]:
    least, most = rule["count"]
    if not isinstance(form, dict) or not least <= len(form) <= most:
        yield f"{where} must map {least:,} to {most:,} keys."
        return
    for name, each in form.items():
        yield from _flaws(rule["keys"], name, f"Each key of {where[:1].lower()}{where[1:]}")
        yield from _flaws(rule["map"], each, f"{where}'s {name}")


def _is_simple(rule: Any, form: Any) -> bool:
    """Tell whether a form keeps a rule that says one thing, or any of such rules."""
    if isinstance(rule, str):
        rule = definition()["rules"][rule]
    kind = next(iter(rule))
    if kind == "any":
        return any(_is_simple(one, form) for one in rule["any"])
    return kind in _SIMPLE and _SIMPLE[kind](form, rule)


def _is_text(form: Any, rule: Mapping[str, Any]) -> bool:
    least, most = rule["text"]
    if not isinstance(form, str) or not least <= len(form) <= most or _HALF.search(form):
        return False
    if rule.get("seen") and (form != form.strip(" ") or letters_of("hidden").search(form)):
        return False
    if rule.get("words") and not _are_words(form):
        return False
    return not rule.get("column") or not _SIGN.search(form)


def _are_words(form: str) -> bool:
    """Tell whether something of a text can be seen, and nothing changes how the rest of a page reads."""
    is_seen = any(letter != " " and not letters_of("hidden").match(letter) for letter in form)
    return is_seen and form == form.strip(" \n") and not letters_of("unwritten").search(form)


_HALF = re.compile("[\ud800-\udfff]")
_SIGN = re.compile(r"(?=[\x00-\x7f])[^A-Za-z0-9_ -]")


@cache
def letters_of(name: str) -> re.Pattern[str]:
    """Return a pattern of the letters that the definition lists under a name."""
    ranges = (f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in definition()[name])
    return re.compile(f"[{''.join(ranges)}]")


def _is_double(form: Any, rule: Mapping[str, Any]) -> bool:
    low, high = rule["double"] or (-inf, inf)
    try:
        number = float(form) if isinstance(form, str) else inf
    except ValueError:
        return False
    return abs(number) < inf and repr(number + 0.0) == form and low < number <= high


def _is_day(form: Any, rule: Mapping[str, Any]) -> bool:
    try:
        return isinstance(form, str) and str(date.fromisoformat(form)) == form
    except ValueError:
        return False


def _is_digits(form: Any, rule: Mapping[str, Any]) -> bool:
    low, high = map(int, rule["digits"])
    is_number = isinstance(form, str) and re.fullmatch("0|[1-9][0-9]{0,19}", form)
    return bool(is_number) and low <= int(form) <= high


def _matches(form: Any, rule: Mapping[str, Any]) -> bool:
    return isinstance(form, str) and re.fullmatch(rule["matches"], form, re.ASCII) is not None


_SIMPLE = {
    "is": lambda form, rule: type(form) is type(rule["is"]) and form == rule["is"],
    "in": lambda form, rule: isinstance(form, str) and form in rule["in"],
    "whole": lambda form, rule: type(form) is int and rule["whole"][0] <= form <= rule["whole"][1],
    "digits": _is_digits,
    "double": _is_double,
    "text": _is_text,
    "day": _is_day,
    "matches": _matches,
}


_WORDS = " that people can read, without control signs and without spaces at its ends"


def _words(rule: Mapping[str, Any]) -> str:
    match rule:
        case {"says": words}:
            return str(words)
        case {"is": constant}:
            return json.dumps(constant)
        case {"in": [*constants]}:
            return f"one of {', '.join(constants)}"
        case {"whole": [low, high]}:
            return f"a whole number from {low:,} to {high:,}"
        case {"digits": [low, high]}:
            return f"the decimal text of an integer from {low} to {high}"
        case {"double": [low, high]}:
            return f"the shortest decimal text of a number above {low} and up to {high}"
        case {"double": _}:
            return "the shortest decimal text of a finite number"
        case {"day": _}:
            return "a day such as 2026-11-01"
    least, most = rule["text"]
    without = " that can all be seen" if rule.get("seen") else ""
    without += _WORDS if rule.get("words") else ""
    only = ", of ASCII only letters, digits, spaces, - and _" if rule.get("column") else ""
    return f"a text of {least:,} to {most:,} letters{without}{only}"
