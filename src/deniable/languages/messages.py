"""Messages: a subset of ICU's format, `{name}` and `{name, plural, one {…} other {…}}`.

The JavaScript client reads the same (`clients/js/src/messages.js`); both are held to the same vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from deniable.errors import LanguageError

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""The plural categories of CLDR."""

_HEAD = re.compile(r"\{(\w+)(, plural,)?")
_FORM = re.compile(r" *(\w+) *\{")


@dataclass(frozen=True)
class Placeholder:
    """A place for an argument, or for one of several forms by the argument's plural category."""

    name: str
    forms: Mapping[str, Message] | None = None


Message = tuple["str | Placeholder", ...]
"""A message's parts in order."""


@lru_cache(1024)
def read_message(text: str) -> Message:
    """Return the parts of a message; refuse a text that is none in one sentence."""
    message, end = _read(text, 0)
    if end < len(text):
        raise LanguageError(f"has a brace too many at letter {end + 1}")
    return message


def _read(text: str, start: int) -> tuple[Message, int]:
    """Read up to a closing brace, or to the end; return the parts, and where that is."""
    parts: list[str | Placeholder] = []
    while True:
        end = next((i for i in range(start, len(text)) if text[i] in "{}"), len(text))
        if end > start:
            parts.append(text[start:end])
        if end == len(text) or text[end] == "}":
            return tuple(parts), end
        head = _HEAD.match(text, end)
        if head is None:
            raise LanguageError(f"has a brace without a name at letter {end + 1}")
        forms, start = _forms(text, head.end()) if head[2] else (None, head.end())
        if text[start : start + 1] != "}":
            raise LanguageError(f"does not close the brace at letter {end + 1}")
        parts.append(Placeholder(head[1], forms))
        start += 1


def _forms(text: str, start: int) -> tuple[Mapping[str, Message], int]:
    forms: dict[str, Message] = {}
    while head := _FORM.match(text, start):
        if head[1] not in CATEGORIES:
            raise LanguageError(f"has a plural form {head[1]!r}; forms are {', '.join(CATEGORIES)}")
        forms[head[1]], end = _read(text, head.end())
        if text[end : end + 1] != "}":
            raise LanguageError(f"does not close the form {head[1]!r}")
        start = end + 1
    if "other" not in forms:
        raise LanguageError("has a plural without the form 'other'")
    return forms, start


def placeholders(message: Message) -> Iterator[str]:
    """Yield the names of a message's arguments."""
    for part in message:
        if isinstance(part, Placeholder):
            yield part.name
            for form in (part.forms or {}).values():
                yield from placeholders(form)


def plurals(message: Message) -> Iterator[Placeholder]:
    """Yield the parts of a message that have plural forms."""
    for part in message:
        if isinstance(part, Placeholder) and part.forms is not None:
            yield part


def fill(
    message: Message,
    arguments: Mapping[str, str | int | float],
    number: Callable[[float], str],
    category: Callable[[float], str],
) -> str:
    """Return a message with its arguments; numbers as the language writes them."""
    texts = []
    for part in message:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = arguments[part.name]
        if part.forms is not None:
            assert not isinstance(value, str), part.name
            form = part.forms.get(category(value), part.forms["other"])
            texts.append(fill(form, arguments, number, category))
        else:
            texts.append(value if isinstance(value, str) else number(value))
    return "".join(texts)
