"""Language: saying messages, numbers and days as a language does, by CLDR (through `babel`).

`babel` is loaded with the first number or list that is written; JavaScript has the same from its `Intl`.
Digits are those from 0 to 9 everywhere: the values of a survey are written with them as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, Literal

from deniable.errors import LanguageError
from deniable.languages.catalogue import FOLDER, Catalogue
from deniable.languages.messages import fill, read_message

DEFAULT = "en"
"""The language of messages that another one lacks."""

MOST_DECIMALS = 15
"""The most decimals of a number in a text."""

_LAST = "\0"
"""Stands for the last of a list, which is no part of any text."""

_FIRST_STRONG, _POP = "\u2068", "\u2069"
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


@dataclass(frozen=True)
class Language:
    """A catalogue, and the one whose messages stand in for what it lacks."""

    catalogue: Catalogue
    reserve: Catalogue

    @property
    def tag(self) -> str:
        """Return its BCP 47 tag, as its file is named."""
        return self.catalogue.tag

    @property
    def direction(self) -> str:
        """Return ltr or rtl."""
        return self.catalogue.direction

    def say(self, message: str, **arguments: str | int | float) -> str:
        """Return a message with its arguments; one that the language lacks is marked, and in English."""
        text = self.catalogue.messages.get(message)
        if text is None:
            english = Language(self.reserve, self.reserve).say(message, **arguments)
            return self.foreign(self.isolate(english), self.reserve.tag)
        return fill(read_message(text), arguments, self.number, self.category)

    def foreign(self, text: str, tag: str) -> str:
        """Return an isolated text that is in another language, with a mark that says in which."""
        return f"{text} [{tag}]"

    def isolate(self, text: str) -> str:
        """Return a text of somebody else's so that its direction does not disturb what is around it."""
        if self.direction == "ltr" and not _RIGHT_TO_LEFT.search(text):
            return text
        return f"{_FIRST_STRONG}{text}{_POP}"

    @cached_property
    def _locale(self) -> Any:
        from babel import Locale

        return Locale.parse(self.catalogue.locale.replace("-", "_"))

    def category(self, number: float) -> str:
        """Return the plural category of a number."""
        category: str = self._locale.plural_form(number)
        return category

    def number(self, number: float) -> str:
        """Return a number in up to 15 decimals, its digits in groups."""
        from babel.numbers import get_decimal_symbol, get_group_symbol

        exact = (
            round(Decimal(repr(number)), MOST_DECIMALS)
            if isinstance(number, float)
            else Decimal(number)
        )
        group = "," if abs(exact) >= self.catalogue.grouped_from else ""
        whole, _, decimals = f"{exact:{group}f}".partition(".")
        text = whole.replace(",", get_group_symbol(self._locale, numbering_system="latn"))
        if decimals := decimals.rstrip("0"):
            text += get_decimal_symbol(self._locale, numbering_system="latn") + decimals
        return self.isolate(text) if number < 0 else text

    def percent(self, number: float) -> str:
        """Return so many percent."""
        return self.say("percent", n=number)

    def day(self, day: str) -> str:
        """Return a day, which is given as 2026-11-01, in words."""
        from babel.dates import format_date

        text: str = format_date(date.fromisoformat(day), "long", locale=self._locale)
        return re.sub(r"^1\b", self.catalogue.first_day, text)

    def listing(self, texts: Iterable[str], style: Literal["standard", "or"] = "standard") -> str:
        """Return texts as a list within a sentence, with the last *and*; or with *or* (style ``or``)."""
        from babel.lists import format_list

        *first, last = [*texts] or [""]
        if not first:
            return last
        text: str = format_list([*first, _LAST], style, locale=self._locale)
        for between, instead, before in self.catalogue.liaisons:
            if re.match(rf"[\W_]*(?:{before})", last, re.IGNORECASE):
                text = text.replace(f"{between}{_LAST}", f"{instead}{_LAST}")
        return text.replace(_LAST, last)


@cache
def tags() -> Mapping[str, Catalogue]:
    """Return the catalogues that there are, by tag; English first, the others by tag."""
    paths = sorted(FOLDER.glob("*.json"), key=lambda path: (path.stem != DEFAULT, path.stem))
    return {path.stem: Catalogue.read(path) for path in paths}


def language(tag: str) -> Language:
    """Return a language by its tag, or by the one that it is a variety of, as de-AT is one of de."""
    catalogues = tags()
    for own in (tag, tag.lower(), tag.lower().partition("-")[0]):
        if own in catalogues:
            return Language(catalogues[own], catalogues[DEFAULT])
    raise LanguageError(f"There is no language {tag[:40]!r}; there are {', '.join(catalogues)}.")


@cache
def spoken() -> str:
    """Return all catalogues by tag, as pages load them: one alone would tell what somebody reads."""
    catalogues = tags()
    forms = (f'"{tag}":{each.to_json(catalogues[DEFAULT])}' for tag, each in catalogues.items())
    return f"{{{','.join(forms)}}}"
