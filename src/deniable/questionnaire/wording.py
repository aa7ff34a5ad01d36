"""Wording: the words of a survey in one language, as those who read its tables see them.

What a language lacks is said in the survey's default language, and says so: every text knows its own
language. What nobody worded keeps its short name, or the value as it was declared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable.errors import LanguageError, TextsError
from deniable.languages.language import language as language_of
from deniable.schema.attribute import Attribute, spoken

if TYPE_CHECKING:
    from deniable.questionnaire.texts import Texts
    from deniable.schema.labels import Labels
    from deniable.schema.schema import Schema


_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_BINS = {
    "bin.below": re.compile(f"below (?P<to>{_NUMBER})"),
    "bin.between": re.compile(f"(?P<from>{_NUMBER}) to (?P<to>{_NUMBER})"),
    "bin.above": re.compile(f"(?P<from>{_NUMBER}) or more"),
}
"""The names that bins of numbers have (`deniable.schema.bins`), by the message that says them."""


class Phrase(NamedTuple):
    """A text, and the language that it is in."""

    text: str
    language: str


def direction(language: str | None) -> str:
    """Return "rtl" of a language that is written from right to left, "ltr" of others.

    >>> direction("ar"), direction("de-CH"), direction(None)
    ('rtl', 'ltr', 'ltr')
    """
    from babel import Locale, UnknownLocaleError

    try:
        order = Locale.parse(language or "en", sep="-").character_order
    except (UnknownLocaleError, ValueError):
        return "ltr"
    return "rtl" if order == "right-to-left" else "ltr"


@dataclass(frozen=True)
class AttributeWording:
    """The words of one attribute: its question, help, unit, and the labels of a table's values."""

    name: str
    wording: Phrase | None
    help: Phrase | None
    unit: Phrase | None
    values: tuple[str, ...]
    labels: tuple[Phrase | None, ...]
    is_cut: bool = False
    """Whether its values are bins of a number."""

    @property
    def by_value(self) -> dict[str, str]:
        """Return the labels by value, as values are spoken, of those that have one."""
        pairs = zip(self.values, self.labels, strict=True)
        return {value: label.text for value, label in pairs if label is not None}


@dataclass(frozen=True)
class Wording:
    """The words of a survey in one language: of the whole of it, and by attribute."""

    language: str
    survey: Mapping[str, Phrase]
    attributes: Mapping[str, AttributeWording]
    texts: Texts | None = field(default=None, compare=False, repr=False)
    """The survey's, in all languages; None of several surveys' words."""

    @classmethod
    def of(cls, texts: Texts, schema: Schema, language: str | None = None) -> Wording:
        """Return the words in a language, by default the survey's own; refuse one that there is not."""
        language = texts.default if language is None else language
        if language not in texts.languages:
            raise TextsError(
                f"There are no texts in {language!r}; there are {', '.join(texts.languages)}."
            )
        order = list(dict.fromkeys((language, texts.default)))
        parts = [(name, texts.languages[name]) for name in order]
        attributes = {
            each.name: _attribute(each, [(name, part["attributes"][at]) for name, part in parts])
            for at, each in enumerate(schema.attributes)
        }
        whole = [(name, part["survey"]) for name, part in parts]
        names = dict.fromkeys(
            name for _, part in whole for name, text in part.items() if isinstance(text, str)
        )
        survey = {name: phrase for name in names if (phrase := _first(whole, name)) is not None}
        return cls(language, survey, attributes, texts)

    @property
    def title(self) -> str:
        """Return the survey's title."""
        return self.survey["title"].text

    def labels(self, attribute: Attribute) -> list[str | None]:
        """Return the labels of a table's values in their order; None of those that have none.

        A number may be cut into other bins than the survey's, so its values are looked up by name.
        """
        own = self.attributes[attribute.name]
        texts, names = own.by_value, [*map(spoken, attribute.values)]
        if own.is_cut:
            phrases = [(name, bin_phrase(name, self.language)) for name in names]
            texts = {name: bin.text for name, bin in phrases if bin is not None} | texts
        return [texts.get(name) for name in names]

    def label_values(self, labels: Labels) -> dict[str, dict[str, str]]:
        """Return, for each declared label, the words of its values; a value without words is its own."""
        words = {name: {value: value for value in values} for name, values in labels.declared}
        if self.texts is None:
            return words
        for language in dict.fromkeys((self.texts.default, self.language)):
            parts = self.texts.languages[language]["survey"].get("labels", [])
            for (name, values), part in zip(labels.declared, parts, strict=False):
                pairs = zip(values, part.get("values", []), strict=False)
                words[name] |= {value: text for value, text in pairs if text is not None}
        return words

    def shown(self, attribute: Attribute) -> list[object]:
        """Return the labels of a table's values, and of those that have none the values themselves."""
        labels = self.labels(attribute)
        pairs = zip(attribute.values, labels, strict=True)
        return [value if label is None else label for value, label in pairs]


def bin_phrase(name: str, tag: str) -> Phrase | None:
    """Return the name of a number's bin in a language that we speak; None of what is no bin.

    >>> bin_phrase("20 to 30", "de").text
    '20 bis 30'
    """
    for message, pattern in _BINS.items():
        match = pattern.fullmatch(name)
        with suppress(LanguageError):
            if match is not None:
                speech = language_of(tag)
                ends = {end: speech.number(float(each)) for end, each in match.groupdict().items()}
                return Phrase(speech.say(message, **ends), tag)
    return None


def _first(parts: list[tuple[str, Any]], name: str) -> Phrase | None:
    """Return a text in the first of some languages that has it."""
    return next((Phrase(part[name], language) for language, part in parts if name in part), None)


def _yes_or_no(value: bool, languages: list[str]) -> Phrase | None:
    """Return what people who gave no words of their own saw: yes or no in the first language known."""
    for tag in languages:
        with suppress(LanguageError):
            return Phrase(language_of(tag).say("yes" if value else "no"), tag)
    return None


def _attribute(own: Attribute, parts: list[tuple[str, Any]]) -> AttributeWording:
    labels: list[Phrase | None] = [None] * own.size
    for language, part in reversed(parts):
        for code, text in enumerate(part.get("values", ())):
            if text is not None:
                labels[code] = Phrase(text, language)
    missing, is_cut = _first(parts, "missing"), bool(own.scale or own.edges)
    for code, value in enumerate(own.values):
        if labels[code] is None and isinstance(value, bool):
            labels[code] = _yes_or_no(value, [language for language, _ in parts])
        if is_cut and labels[code] is None:
            labels[code] = bin_phrase(spoken(value), parts[0][0])
    if missing is not None and own.missing is not None:
        labels[[*map(spoken, own.values)].index(spoken(own.missing))] = missing
    texts = {name: _first(parts, name) for name in ("wording", "help", "unit")}
    values = tuple(map(spoken, own.values))
    return AttributeWording(own.name, values=values, labels=tuple(labels), is_cut=is_cut, **texts)
