"""Wordings: how a survey's attributes are spoken of in a language, from its texts or without any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deniable.languages.language import Language, language
from deniable.questionnaire.texts import Texts
from deniable.questions.words import Said, Wording
from deniable.schema.attribute import Attribute, kind
from deniable.schema.schema import Schema


def wordings(schema: Schema, tag: str, texts: Texts | None = None) -> dict[str, Wording]:
    """Return the wording of each attribute in a language, for `Question.words`.

    What the texts do not say in it is said in their default language, and marked so; what they do not
    say at all is named as it is declared.
    """
    speech = language(tag)
    own, default = ({}, {}) if texts is None else (_words(texts, tag), _words(texts, texts.default))
    none: list[Mapping[str, Any]] = [{}] * len(schema)
    reserve = None if texts is None or _is_same(texts.default, tag) else texts.default
    return {
        attribute.name: _wording(attribute, each, Reserve(other, reserve), speech)
        for attribute, each, other in zip(
            schema.attributes,
            own.get("attributes", none),
            default.get("attributes", none),
            strict=True,
        )
    }


class Reserve:
    """Words of the default language, which stand in for those that another one lacks."""

    def __init__(self, words: Mapping[str, Any], tag: str | None) -> None:
        self._words, self._tag = words, tag

    def first(self, words: Mapping[str, Any], name: str, index: int | None = None) -> Said | None:
        """Return a text of a language, or this one of the default language, marked."""
        for each, tag in ((words, None), (self._words, self._tag)):
            text = each.get(name)
            text = text[index] if index is not None and text is not None else text
            if text is not None:
                return Said(text, tag, is_prose=True)
        return None


def _is_same(tag: str, other: str) -> bool:
    return tag.lower().partition("-")[0] == other.lower().partition("-")[0]


def _words(texts: Texts, tag: str) -> Mapping[str, Any]:
    """Return the words of a language, or of one that is a variety of the same."""
    if tag in texts.languages:
        return texts.languages[tag]
    return next((own for name, own in texts.languages.items() if _is_same(name, tag)), {})


def _wording(
    attribute: Attribute, words: Mapping[str, Any], reserve: Reserve, speech: Language
) -> Wording:
    labels = {}
    values = () if attribute.scale is not None else attribute.values  # of numbers there may be many
    for index, value in enumerate(values):
        label = reserve.first(words, "values", index)
        if label is None and index <= len(attribute.edges) > 0:
            label = Said(_bin(attribute.edges, index, speech))
        if label is not None:
            labels[kind(value)] = label
    return Wording(
        reserve.first(words, "wording") or Said(attribute.name),
        labels,
        reserve.first(words, "missing"),
        reserve.first(words, "unit"),
    )


def _bin(edges: tuple[float, ...], index: int, speech: Language) -> str:
    """Return the name of the values below, between or above edges."""
    ends = [speech.number(edge) for edge in edges]
    if index == 0:
        return speech.say("bin.below", to=ends[0])
    if index == len(ends):
        return speech.say("bin.above", **{"from": ends[-1]})
    return speech.say("bin.between", **{"from": ends[index - 1], "to": ends[index]})
