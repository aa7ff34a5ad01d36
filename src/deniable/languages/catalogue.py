"""Catalogue: the messages of one language, in one JSON file, checked against the English one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.errors import LanguageError
from deniable.languages.messages import placeholders, plurals, read_message

FOLDER = Path(__file__).with_name("catalogues")
"""Where the catalogues are: a language is one file there."""

SMALL = range(1_000)
"""Numbers whose plural categories a catalogue must have: French has another one for millions."""

_TEXTS = {"language": str, "locale": str, "direction": str, "messages": dict}
_FIELDS = _TEXTS | {"grouped_from": int, "liaisons": list, "first_day": str}


@dataclass(frozen=True)
class Catalogue:
    """A language's own name, its CLDR locale, its direction, and its messages by name.

    ``grouped_from`` is the first whole number whose digits are written in groups: CLDR knows it, and so
    do browsers, but `babel` does not. ``liaisons`` are what lists say otherwise before some sounds:
    what CLDR says, what is said, and how that which follows begins (a regular expression), as Spanish
    has *sí o no*, but *uno u otro*. ``first_day`` is the number of a month's first day where it is no
    plain 1, as French has *1er janvier*, but *2 janvier*.
    """

    tag: str
    language: str
    locale: str
    direction: str
    messages: Mapping[str, str]
    grouped_from: int = 1_000
    liaisons: Sequence[tuple[str, str, str]] = ()
    first_day: str = "1"

    @classmethod
    def read(cls, path: Path) -> Catalogue:
        """Read a file; refuse what is no catalogue in one sentence."""
        try:
            form = json.loads(path.read_bytes())
        except (OSError, ValueError):
            raise LanguageError(f"{path.name} cannot be read as JSON.") from None
        return cls.of(path.stem, form)

    @classmethod
    def of(cls, tag: str, form: Any) -> Catalogue:
        """Return the catalogue that a JSON form holds."""
        name = f"{tag}.json"
        if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag):
            raise LanguageError(f"{name} must be named by its language, as in BCP 47.")
        if not isinstance(form, dict) or not _TEXTS.keys() <= form.keys() <= _FIELDS.keys():
            raise LanguageError(f"{name} must have the fields {', '.join(_TEXTS)}.")
        for field, value in form.items():
            if not isinstance(value, _FIELDS[field]):
                raise LanguageError(f"{name}: {field} must be of type {_FIELDS[field].__name__}.")
        if form["direction"] not in ("ltr", "rtl"):
            raise LanguageError(f"{name}: direction must be ltr or rtl.")
        for liaison in form.get("liaisons", ()):
            _check_liaison(liaison, name)
        for message, text in form["messages"].items():
            if not isinstance(text, str) or not text.strip():
                raise LanguageError(f"{name}: message {message!r} must be a text.")
            try:
                read_message(text)
            except LanguageError as error:
                raise LanguageError(f"{name}: message {message!r} {error}.") from None
        return cls(tag, **form)

    def flaws(self, english: Catalogue) -> Iterator[str]:
        """Yield what would be said wrongly, or not at all, beside the English catalogue."""
        for message, text in english.messages.items():
            if message not in self.messages:
                yield f"{self.tag}.json: message {message!r} is missing."
                continue
            arguments = {*placeholders(read_message(text))}
            for lost in sorted(arguments - {*placeholders(read_message(self.messages[message]))}):
                yield f"{self.tag}.json: message {message!r} lacks the placeholder {{{lost}}}."
            yield from self._flaws_of(message, arguments)
        for message in sorted(self.messages.keys() - english.messages.keys()):
            yield f"{self.tag}.json: message {message!r} is none that en.json has."

    def _flaws_of(self, message: str, arguments: set[str]) -> Iterator[str]:
        parts = read_message(self.messages[message])
        for extra in sorted({*placeholders(parts)} - arguments):
            yield (
                f"{self.tag}.json: message {message!r} has a placeholder {{{extra}}} that is never "
                "filled."
            )
        for plural in plurals(parts):
            assert plural.forms is not None
            # One form for all is no oversight: what it says does not change with the number.
            missing = self.categories - plural.forms.keys() if len(plural.forms) > 1 else set()
            for category in sorted(missing):
                yield f"{self.tag}.json: message {message!r} lacks the plural form {category!r}."

    def to_json(self, english: Catalogue) -> str:
        """Return all that a page needs to speak it: what it lacks is in its ``reserve``, in English."""
        lacking = {
            name: text for name, text in english.messages.items() if name not in self.messages
        }
        form: dict[str, Any] = {
            "locale": self.locale,
            "direction": self.direction,
            "messages": dict(self.messages),
        }
        if self.liaisons:
            form["liaisons"] = self.liaisons
        if self.first_day != "1":
            form["first_day"] = self.first_day
        if lacking:
            form["reserve"] = {
                "locale": english.locale,
                "direction": english.direction,
                "messages": lacking,
            }
        return json.dumps(form, ensure_ascii=False, separators=(",", ":"))

    @property
    def categories(self) -> set[str]:
        """Return the plural categories that small numbers have."""
        from babel import Locale

        form = Locale.parse(self.locale.replace("-", "_")).plural_form
        return {form(number) for number in SMALL}


def _check_liaison(liaison: object, name: str) -> None:
    """Refuse what is no liaison."""
    parts = liaison if isinstance(liaison, list) else []
    with suppress(re.error):
        if [type(part) for part in parts] == [str] * 3:
            re.compile(parts[2])
            return
    raise LanguageError(
        f"{name}: a liaison must be what lists say, what is said instead, and a regular expression."
    )
