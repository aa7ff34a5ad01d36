"""Rows that ask: which attributes of a questionnaire they become."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniable.errors import DeniableError
from deniable.questionnaire.xlsform.answers import Answers, Question
from deniable.questionnaire.xlsform.expressions import Bound, Inexpressible, bounds_of
from deniable.questionnaire.xlsform.rows import Refusal
from deniable.questionnaire.xlsform.sheets import Line, type_meaning
from deniable.questionnaire.xlsform.words import Words
from deniable.schema.scale import MOST_LEVELS, Days, scale_between

_WORDING = 20_000
_LABEL = 1000
_NUMBERS = {"int": "a whole number", "decimal": "a number"}
_EXAMPLES = {
    "int": ". >= 0 and . <= 120",
    "decimal": ". >= 0 and . <= 500",
    "date": ". >= date('2026-01-01') and . <= date('2026-12-31')",
}
_REASONS = {
    "string": "free text cannot be asked: an answer is one of declared values, so make it select_one",
    "binary": "files, pictures and recordings cannot be asked: an answer is one of declared values",
    "geopoint": "places cannot be asked: an answer is one of declared values, so make it select_one",
    "dateTime": "times cannot be asked: make it a date, an integer (such as the hour) or select_one",
    "barcode": "barcodes cannot be asked: an answer is one of declared values",
    "odk:rank": "an order of choices cannot be asked: make it select_one, of the first",
}
_REASONS |= {
    "geotrace": _REASONS["geopoint"],
    "geoshape": _REASONS["geopoint"],
    "time": _REASONS["dateTime"],
}
_BY_TYPE = {
    "calculate": "what is calculated of answers is not asked: compute it from tables afterwards",
    "hidden": "a hidden value is not asked",
    "acknowledge": "a confirmation is no question with values: ask it as consent",
    "trigger": "a confirmation is no question with values: ask it as consent",
    "rank": _REASONS["odk:rank"],
    "xml-external": "values from another file are unknown here: list them in the sheet choices",
    "csv-external": "values from another file are unknown here: list them in the sheet choices",
    "osm": _REASONS["geopoint"],
    "file": _REASONS["binary"],
    "photo": _REASONS["binary"],
    "background-audio": _REASONS["binary"],
}
_META = ("audit", "start-geopoint", "background-geopoint")


@dataclass
class Parts:
    """The attributes that a row becomes, what may be answered, and what is not taken along."""

    attributes: list[dict[str, Any]]
    question: Question
    says: str
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """A row that asks, with its wording, and whether everybody must answer."""

    line: Line
    type: str
    name: str
    words: Words
    is_complete: bool

    def base(self) -> dict[str, Any]:
        """Return name, wording and help."""
        label = self.words.of(self.line.cells, "label", _WORDING)
        if label is None:
            raise Refusal("label", "it has no label, so nobody knows what is asked")
        hint = self.words.of(self.line.cells, "hint", _WORDING)
        base: dict[str, Any] = {"name": self.name, "wording": label}
        return base if hint is None else base | {"help": hint}

    def stand_in(self, values: Sequence[str]) -> dict[str, Any]:
        """Return the value of no answer, or that everybody has one."""
        if self.is_complete:
            return {"complete": True}
        missing = "no answer" if "no answer" not in values else "not answered"
        words = self.words.no_answer()
        return {"missing": missing} | ({} if words is None else {"label_missing": words})


def is_metadata(type_name: str) -> bool:
    """Tell whether a type says something of the device or the visit, and asks nobody."""
    bind = type_meaning(type_name).get("bind", {})
    return "jr:preload" in bind or type_name.lower() in _META


def parts_of(item: Item, select: Sequence[str], choices: Mapping[str, Sequence[Line]]) -> Parts:
    """Return the attributes of a row; ``select`` is its kind, its list, and maybe or other."""
    if select:
        return _choice(item, select, choices)
    known_type = type_meaning(item.type)
    kind = item.type.lower()
    if not known_type:
        raise Refusal("type", f"there is no type {item.type[:40]!r} in XLSForm")
    if reason := _BY_TYPE.get(kind):
        raise Refusal("type", reason)
    data = known_type.get("bind", {}).get("type", "")
    if kind == "range":
        return _slider(item)
    if data not in _EXAMPLES:
        raise Refusal("type", _REASONS.get(data, "such an answer is none of declared values"))
    return _number(item, data, known_type.get("bind", {}).get("constraint"))


def _choice(item: Item, select: Sequence[str], choices: Mapping[str, Sequence[Line]]) -> Parts:
    kind, list_name, *rest = select
    if kind == "rank":
        raise Refusal("type", _REASONS["odk:rank"])
    if kind not in ("select one", "select all that apply") or "${" in list_name:
        reason = "its choices are not in the sheet choices, and values are declared"
        raise Refusal("type", f"{reason}: list them there")
    if "choice_filter" in item.line.cells:
        reason = "its choices depend on an earlier answer, and values are declared once"
        raise Refusal("choice_filter", f"{reason}: make a question of each list")
    if list_name not in choices:
        raise Refusal("type", f"there is no list {list_name[:40]!r} in the sheet choices")
    values = _values(item.words, list_name, choices[list_name])
    notes = ["the choices stay in their order"] if "randomize" in _parameters(item) else []
    if rest:
        if "other" not in [value["value"] for value in values]:
            values.append({"value": "other"})
        notes.append("the text of other is not asked")
    if any("media" in line.cells for line in choices[list_name]):
        notes.append("pictures and sounds of its choices are left out")
    if kind == "select one":
        names = [value["value"] for value in values]
        own = item.base() | {"values": values} | item.stand_in(names)
        absent = () if item.is_complete else (None,)
        answers = Answers(item.name, (*names, *absent), own.get("missing"))
        return Parts([own], Question(answers, {}), f"{len(values)} values", notes)
    return _ticks(item, values, notes)


def _ticks(item: Item, values: list[dict[str, Any]], notes: list[str]) -> Parts:
    base, attributes, ticks = item.base(), [], {}
    for value in values:
        name = f"{item.name}_{value['value']}"
        label = value.get("label", value["value"])
        if isinstance(base["wording"], dict) and isinstance(label, str):
            label = dict.fromkeys(base["wording"], label)
        wording = item.words.joined(base["wording"], label, " – ")
        attributes.append(base | {"name": name, "wording": wording})
        ticks[value["value"]] = Answers(name, (False, True))
    says = f"{len(values)} yes/no attributes, {attributes[0]['name']} to {attributes[-1]['name']}"
    return Parts(attributes, Question(None, ticks), says, notes)


def _values(words: Words, list_name: str, lines: Sequence[Line]) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = []
    names: set[str] = set()
    owners: dict[tuple[str, str], str] = {}
    for line in lines:
        name = line.cells.get("name")
        where = f"row {line.number} of choices"
        if not isinstance(name, str) or not name:
            raise Refusal("type", f"its list {list_name!r} has no name in {where}")
        if name in names:
            raise Refusal(
                "type", f"its list {list_name!r} has {name[:40]!r} twice, again in {where}"
            )
        names.add(name)
        try:
            label = words.of(line.cells, "label", _LABEL)
        except Refusal as refusal:
            raise Refusal("type", f"the label in {where}: {refusal}") from None
        for each in ({words.default: label} if isinstance(label, str) else label or {}).items():
            if (owner := owners.setdefault(each, name)) != name:
                reason = (
                    f"its list {list_name!r} has one label for {owner[:40]!r} and {name[:40]!r}"
                )
                raise Refusal("type", f"{reason}, in {where}, so nobody could tell them apart")
        values.append({"value": name} | ({} if label is None else {"label": label}))
    return values


def _parameters(item: Item) -> dict[str, str]:
    from pyxform.errors import PyXFormError
    from pyxform.parsing.parameters import parse

    try:
        return dict(parse(str(item.line.cells.get("parameters", "")), item.line.number))
    except PyXFormError:
        raise Refusal("parameters", "it is not written as start=0 end=10 step=1") from None


def _slider(item: Item) -> Parts:
    parameters = {"start": "1", "end": "10", "step": "1"} | _parameters(item)
    try:
        start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
    except ValueError:
        raise Refusal("parameters", "start, end and step must be numbers") from None
    if not all(map(math.isfinite, (start, end, step))) or step <= 0 or start >= end:
        raise Refusal("parameters", "start must be below end, and step above 0")
    steps = (end - start) / step
    if not steps < MOST_LEVELS:
        raise Refusal(
            "parameters", f"a scale has at most {MOST_LEVELS:,} points: take a larger step"
        )
    if abs(steps - round(steps)) > 1e-9:
        raise Refusal("parameters", "end must be a whole number of steps above start")
    ends = {"low": _plain(start), "high": _plain(end), "step": _plain(step)}
    return _scaled(item, ends, "parameters")


def _number(item: Item, data: str, usual: str | None) -> Parts:
    bind = item.line.cells.get("bind")
    own = bind.get("constraint") if isinstance(bind, dict) else None
    text = own if isinstance(own, str) else usual
    what = "a day" if data == "date" else _NUMBERS[data]
    if text is None:
        raise Refusal(
            "constraint",
            f"{what} needs public ends, so that everybody's answer is one of declared points: write "
            f"{_EXAMPLES[data]}",
        )
    try:
        low, high = bounds_of(text)
    except Inexpressible as error:
        raise Refusal("constraint", f"{error}: write {_EXAMPLES[data]}") from None
    if low is None or high is None:
        side = "beginning" if low is None else "end"
        raise Refusal("constraint", f"it gives no {side}: write {_EXAMPLES[data]}")
    if data == "date":
        ends: dict[str, Any] = {"low": low.at, "high": high.at}
        if not (low.is_included and high.is_included):
            raise Refusal("constraint", "a day's ends are written with >= and <=")
    else:
        first, last = _end(low, data, 1), _end(high, data, -1)
        ends = {"low": _plain(first), "high": _plain(last)}
        if data == "int" and 0 < last - first < MOST_LEVELS:
            ends["step"] = 1
    return _scaled(item, ends, "constraint")


def _end(bound: Bound, data: str, inwards: int) -> float:
    try:
        number = float(bound.at)
    except ValueError:
        raise Refusal("constraint", "a number begins and ends at numbers") from None
    if not math.isfinite(number) or abs(number) >= 1 << 53:
        raise Refusal("constraint", "a number's ends must be below 2^53")
    if data == "int":
        if not number.is_integer():
            return float(math.ceil(number) if inwards > 0 else math.floor(number))
        return number if bound.is_included else number + inwards
    return number


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _scaled(item: Item, ends: dict[str, Any], column: str) -> Parts:
    try:
        scale, _ = scale_between(ends["low"], ends["high"], ends.get("step"))
    except DeniableError as error:
        raise Refusal(column, str(error).removesuffix(".")) from None
    own = item.base() | ends | item.stand_in(())
    points = tuple(scale.point(level) for level in range(scale.levels))
    absent = () if item.is_complete else (None,)
    answers = Answers(item.name, (*points, *absent), own.get("missing"), is_number=True)
    step = "" if isinstance(scale, Days) else f", {scale.levels:,} points"
    says = f"{points[0]} to {points[-1]}{step}"
    return Parts([own], Question(answers, {}), says)
