"""Reading a questionnaire's file: YAML, TOML or JSON, each in bounded time and memory.

YAML is read as YAML 1.2's core: ``yes``, ``no`` and ``on`` are texts, as are days. It has no tags here,
and an alias counts as all that it stands for, so that a small file cannot become a large one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from json import JSONDecodeError
from math import isfinite
from pathlib import Path
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.formats.extras import lacking
from deniable.formats.forms import parse_json
from deniable.formats.reading import read_text

MOST_BYTES = 1 << 23
"""The most bytes of a questionnaire's file."""

_MOST = 1 << 25
"""The most letters that a file stands for, where each part counts sixteen letters more than it has."""
_DEEPEST = 32
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}[ \t]*+\.[ \t]*+){{{_DEEPEST}}}")
"""A key of TOML with more parts than a questionnaire is deep: its reader takes their number squared."""
_MARK = "\ufeff"
"""With what some editors begin a text; YAML's parser takes it away itself."""
INTEGER = re.compile(r"[-+]?[0-9]{1,20}")
FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
WORDS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
"""What plain words of YAML mean."""


def read_form(path: str | Path) -> Any:
    """Return what a questionnaire's file says; its ending says how it is written."""
    name = Path(path).name
    parse = PARSERS.get(Path(path).suffix.lower())
    if parse is None:
        raise QuestionnaireError(
            f"A questionnaire's file ends in {', '.join(PARSERS)}, got {name!r}."
        )
    try:
        return parse(read_text(path, MOST_BYTES), name)
    except FileNotFoundError:
        raise QuestionnaireError(f"There is no questionnaire {name!r}.") from None
    except OSError as error:
        raise QuestionnaireError(f"{name!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise QuestionnaireError(f"{name!r} cannot be read: it is not UTF-8.") from None


def plain(form: Any) -> Any:
    """Return a form in plain parts, whatever reader or program it came from; refuse what has none.

    Days become texts, whole numbers integers, and a text loses carriage returns, tabs and what is blank
    at its ends.
    """
    return _plain(form, "The questionnaire", 0)


def within_list(where: str, index: int, each: Any) -> str:
    """Return where an item of a list is: by its name, or by its number."""
    name = each.get("name") if isinstance(each, dict) else None
    is_name = isinstance(name, str) and 0 < len(name) <= 100
    return f"{where}, {repr(name) if is_name else index + 1}"


def _plain(form: Any, where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise QuestionnaireError(f"A questionnaire is nested at most {_DEEPEST} deep.")
    if isinstance(form, dict):
        if not all(isinstance(name, str) for name in form):
            raise QuestionnaireError(f"{where}: the name of a field is a text; put it in quotes.")
        return {
            str(name): _plain(each, f"{where}: {name[:40]}", depth + 1)
            for name, each in form.items()
        }
    if isinstance(form, list | tuple):
        return [
            _plain(each, within_list(where, index, each), depth + 1)
            for index, each in enumerate(form)
        ]
    if isinstance(form, str):
        return str(form).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").strip(" \n")
    if isinstance(form, float):
        if not isfinite(form):
            raise QuestionnaireError(f"{where} must be a finite number.")
        return int(form) if form.is_integer() and abs(form) < 1 << 53 else float(form)
    if form is None:
        raise QuestionnaireError(f"{where} is empty: fill it in, or leave it out.")
    if isinstance(form, bool | int):
        return form
    if type(form) is date:
        return form.isoformat()
    raise QuestionnaireError(
        f"{where} must be a text, a number, true or false, a day, a list or fields."
    )


def _json(text: str, name: str) -> Any:
    try:
        return parse_json(text.removeprefix(_MARK))
    except (ValueError, RecursionError) as error:
        why = f" ({error})" if "twice" in str(error) else ""
        if isinstance(error, JSONDecodeError):
            why = f", line {error.lineno}: {error.msg}"
        raise QuestionnaireError(f"{name!r} is not JSON{why}.") from None


def _toml(text: str, name: str) -> Any:
    import tomllib

    if deep_key := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep_key.start()) + 1
        raise QuestionnaireError(
            f"{name!r} is not TOML, line {line}: it is nested more than {_DEEPEST} deep."
        )
    try:
        return tomllib.loads(text.removeprefix(_MARK))
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is nested too deep"
        raise QuestionnaireError(f"{name!r} is not TOML: {_sentence(why)}.") from None


def _yaml(text: str, name: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise QuestionnaireError(f"{lacking('Questionnaires in YAML need', 'forms')}.") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(name).built(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f", line {mark.line + 1}"
        raise QuestionnaireError(
            f"{name!r} is not YAML{where}: {_sentence(error.problem or error.context or '')}."
        ) from None
    except yaml.reader.ReaderError:
        sign = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = 1 if sign is None else text.count("\n", 0, sign.start()) + 1
        raise QuestionnaireError(
            f"{name!r} is not YAML, line {line}: it has a control sign."
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise QuestionnaireError(f"{name!r} is not YAML.") from None


def _sentence(words: str) -> str:
    return words.strip().rstrip(".")[:200]


class _Builder:
    """Builds what YAML's events say, part by part, and stops at the first that goes too far.

    The parser's own constructors are not used: they follow aliases without a bound, take the last of two
    fields of one name, and call themselves for what is nested.
    """

    def __init__(self, name: str) -> None:
        self.name, self.weight = name, 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.line = 1

    def built(self, events: Iterator[Any]) -> Any:
        """Return the one document that there is."""
        documents: list[Any] = []
        for event in events:
            kind = type(event).__name__
            self.line = event.start_mark.line + 1
            if kind == "DocumentStartEvent" and documents:
                raise self._error("there is more than one document")
            if kind in ("ScalarEvent", "AliasEvent", "SequenceStartEvent", "MappingStartEvent"):
                documents.append(self._part(event, events, 0))
        if not documents:
            raise self._error("there is nothing")
        return documents[0]

    def _part(self, event: Any, events: Iterator[Any], depth: int) -> Any:
        self.line = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise self._error(f"there is no &{event.anchor} before *{event.anchor}")
            part, weight = self.anchors[event.anchor]
            self._add(weight)
            return part
        if event.tag is not None:
            raise self._error("tags are not taken")
        if depth > _DEEPEST:
            raise self._error(f"it is nested more than {_DEEPEST} deep")
        before = self.weight
        self._add(16)
        if kind == "ScalarEvent":
            part = self._scalar(event)
        elif kind == "SequenceStartEvent":
            part = [self._part(each, events, depth + 1) for each in self._until(events, "Sequence")]
        else:
            part = self._mapping(events, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = part, self.weight - before
        return part

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[str, Any]:
        part: dict[str, Any] = {}
        for each in self._until(events, "Mapping"):
            key = self._part(each, events, depth + 1)
            if not isinstance(key, str):
                raise self._error("a field's name is a text: put it in quotes")
            if key in part:
                raise self._error(f"the field {key[:40]!r} is there twice")
            part[key] = self._part(next(events), events, depth + 1)
        return part

    def _until(self, events: Iterator[Any], what: str) -> Iterator[Any]:
        for event in events:
            if type(event).__name__ == f"{what}EndEvent":
                return
            yield event

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        self._add(len(text))
        if not event.implicit[0]:  # in quotes, or a block
            return text
        if text in WORDS:
            return WORDS[text]
        if INTEGER.fullmatch(text):
            return int(text)
        if FRACTION.fullmatch(text):
            return float(text)
        if NO_NUMBER.fullmatch(text):
            raise self._error("numbers are finite")
        return text

    def _add(self, weight: int) -> None:
        self.weight += weight
        if self.weight > _MOST:
            raise self._error("it stands for more than a questionnaire may hold")

    def _error(self, why: str) -> QuestionnaireError:
        return QuestionnaireError(f"{self.name!r}, line {self.line}: {why}.")


PARSERS: dict[str, Callable[[str, str], Any]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": _toml,
    ".json": _json,
}
"""How a questionnaire's file is written, by its ending."""
