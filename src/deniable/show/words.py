"""The survey's own words on a page: short names in tables, and what was asked on demand.

On demand means a card that a button opens, so that keyboards and fingers reach it. Texts are escaped
like everything else on the page: whoever wrote the questionnaire writes no markup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from deniable.questionnaire.wording import Phrase, Wording, direction
from deniable.schema.attribute import Attribute, spoken
from deniable.schema.schema import Schema
from deniable.show.axes import value_name

LONG = 60
"""A name with more letters has a card of its own even if nothing else is said of it."""

_MOST_VALUES = 40
"""The most values that a card lists."""

_READ = ("introduction", "who", "consent")
"""What people read before they were asked."""


def breakable(name: str) -> Markup:
    """Return a name that may be broken where its words end."""
    return Markup("_<wbr>").join(map(escape, name.split("_")))


def in_language(phrase: Phrase | None) -> Markup:
    """Return a text that says in which language and direction it is."""
    if phrase is None:
        return Markup("")
    return Markup('<span lang="{}" dir="{}">{}</span>').format(
        phrase.language, direction(phrase.language), phrase.text
    )


def language_name(language: str) -> str:
    """Return the English name of a language, or its code where it has none.

    >>> language_name("de"), language_name("x-own")
    ('German', 'x-own')
    """
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(language, sep="-").get_display_name("en") or language
    except (UnknownLocaleError, ValueError):
        return language


def shown_values(attribute: Attribute, wording: Wording | None) -> list[str]:
    """Return an attribute's values as tables say them: their labels, or themselves."""
    names = [value_name(attribute, value) for value in attribute.values]
    if wording is None:
        return names
    labels = wording.labels(attribute)
    return [name if label is None else label for name, label in zip(names, labels, strict=True)]


def unit_of(attribute: Attribute, wording: Wording | None) -> str | None:
    """Return the unit of a number, in the language of those who read."""
    phrase = None if wording is None else wording.attributes[attribute.name].unit
    return attribute.unit if phrase is None else phrase.text


def cards(schema: Schema, wording: Wording | None) -> list[dict[str, Any]]:
    """Return what is said on demand of each attribute of which there is something to say."""
    every = enumerate(schema.attributes)
    if wording is None:
        return [
            {"at": at, "name": one.name, "values": []} for at, one in every if len(one.name) > LONG
        ]
    return [{"at": at, "name": one.name, **_card(one, wording)} for at, one in every]


def _card(attribute: Attribute, wording: Wording) -> dict[str, Any]:
    own = wording.attributes[attribute.name]
    values = [
        {"label": label, "value": value_name(attribute, value)}
        for value, label in zip(attribute.values, own.labels, strict=True)
        if label is not None
    ]
    other = own.wording.language if own.wording else wording.language
    return {
        "wording": own.wording,
        "other": "" if other == wording.language else language_name(other),
        "help": own.help,
        "values": values[:_MOST_VALUES],
        "more": max(0, len(values) - _MOST_VALUES),
    }


def naming(schema: Schema, wording: Wording | None) -> Callable[..., Markup]:
    """Return what makes a short name the button of its card, where it has one."""
    numbers = {card["name"]: card["at"] for card in cards(schema, wording)}

    def named(name: str, label: str | None = None) -> Markup:
        text = breakable(name if label is None else label)
        if name not in numbers:
            return text
        button = '<button type="button" class="word" popovertarget="word-{}">{}</button>'
        return Markup(button).format(numbers[name], text)

    return named


def people_read(wording: Wording | None) -> list[Phrase]:
    """Return what people read before they were asked, paragraph by paragraph."""
    if wording is None:
        return []
    texts = [wording.survey[name] for name in _READ if name in wording.survey]
    return [
        Phrase(part.strip(), text.language)
        for text in texts
        for part in text.text.split("\n\n")
        if part.strip()
    ]


def words_form(schema: Schema, wording: Wording | None) -> dict[str, Any]:
    """Return what a report's script knows of words: languages of labels, wordings to search."""
    if wording is None:
        return {}
    own = [wording.attributes[one.name] for one in schema.attributes]
    languages = {wording.language} | {each.language for one in own for each in one.labels if each}
    return {
        "directions": {language: direction(language) for language in sorted(languages)},
        "languages": [[each.language if each else None for each in one.labels] for one in own],
        "wordings": [one.wording.text if one.wording else "" for one in own],
    }


def said_values(attribute: Attribute, wording: Wording | None, most: int) -> str:
    """Return the values of an attribute that is no number, as a list, cut to the first ones."""
    names = (
        [spoken(value) for value in attribute.values]
        if wording is None
        else shown_values(attribute, wording)
    )
    more = attribute.size - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
