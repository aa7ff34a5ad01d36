"""The survey's own words on a page: short names in tables, and what was asked on demand.

On demand means a card that a button opens, so that keyboards and fingers reach it. Texts are escaped
like everything else on the page: whoever wrote the questionnaire writes no markup.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from markupsafe import Markup, escape

from deniable.errors import LanguageError
from deniable.questionnaire.wording import Phrase, Wording, direction
from deniable.questionnaire.wordings import wordings
from deniable.questions.question import Question
from deniable.release.numbers.estimates import NumberDistribution
from deniable.schema.attribute import Attribute, spoken
from deniable.schema.schema import Schema
from deniable.show.axes import point_text, value_name

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


def own_name(language: str) -> str:
    """Return what a language calls itself, or its code where nobody knows.

    >>> own_name("de"), own_name("x-own")
    ('Deutsch', 'x-own')
    """
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(language, sep="-").get_display_name() or language
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


def said_value(name: str, value: object, wording: Wording | None) -> str:
    """Return a value of an attribute as people read it: its label, if it has one."""
    labels = {} if wording is None else wording.attributes[name].by_value
    return labels.get(spoken(value), spoken(value))


def said_point(attribute: Attribute, point: Any, wording: Wording | None) -> str:
    """Return a point of a number as people read it: of ordered words, its label."""
    if wording is None or attribute.scale is not None:
        return point_text(point)
    return wording.attributes[attribute.name].by_value.get(spoken(point), point_text(point))


def said_distribution(
    own: NumberDistribution, attribute: Attribute, wording: Wording | None
) -> NumberDistribution:
    """Return a distribution in the survey's words, to be drawn."""
    if wording is None:
        return own
    labels, points = wording.attributes[attribute.name].by_value, own.points
    if attribute.scale is None and any(spoken(each) in labels for each in points):
        points = tuple(said_point(attribute, each, wording) for each in points)
    return replace(own, points=points, unit=unit_of(attribute, wording))


def said_question(question: Question, schema: Schema, wording: Wording | None) -> Phrase | None:
    """Return a question as people were asked it; None where nobody worded it in a language we speak."""
    if wording is None or wording.texts is None:
        return None
    try:
        own = wordings(schema, wording.language, wording.texts)
        return Phrase(question.words(wording.language, own), wording.language)
    except LanguageError:
        return None


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
        if label is not None and (attribute.scale is None or value == attribute.missing)
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
    names = shown_values(attribute, wording)
    more = attribute.size - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
