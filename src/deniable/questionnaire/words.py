"""From a questionnaire's texts to the words of each language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.schema.attribute import Attribute, Value, kind

OF_THE_SURVEY = ("title", "introduction", "who", "contact", "consent", "thanks", "closed")
"""The texts of a survey as a whole."""

_CONTACT = "questionnaire's contact"


def check_languages(form: Mapping[str, Any]) -> None:
    """Refuse a text in a language that is not declared, or without the default one."""
    languages, spoken = form["languages"], {form["languages"][0]}
    for where, text in _all_texts(form):
        _check_frozen(where, {languages[0]: text} if isinstance(text, str) else text)
        if isinstance(text, str):
            continue
        spoken |= text.keys()
        for language in text:
            if language not in languages:
                raise QuestionnaireError(
                    f"The {where} has a text in {language}, which is none of the languages "
                    f"{', '.join(languages)}."
                )
        if languages[0] not in text:
            raise QuestionnaireError(
                f"The {where} has no text in {languages[0]}, the default language."
            )
    for language in languages:
        if language not in spoken:
            raise QuestionnaireError(
                f"There is no text in {language}: write one, such as the title, or take {language} out "
                "of the languages."
            )


def check_apart(form: Mapping[str, Any], words: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse two values of one label in a language: nobody could tell them apart."""
    for language, own in words.items():
        parts = {"label": own["survey"].get("labels", ()), "attribute": own["attributes"]}
        for what, worded in parts.items():
            for each, part in zip(form.get(f"{what}s", ()), worded, strict=False):
                labels = [label for label in part.get("values", ()) if label is not None]
                if len(set(labels)) < len(labels):
                    twice = max(labels, key=labels.count)
                    raise QuestionnaireError(
                        f"Two values of {what} {each['name']!r} have one label in {language}, "
                        f"{twice[:40]!r}: people could not tell them apart."
                    )


_ANSWER = re.compile(r"\$\{[^{}]*\}")


def _check_frozen(where: str, text: Mapping[str, str]) -> None:
    """Refuse a text that people would have to see filled in."""
    for language, words in text.items():
        if answer := _ANSWER.search(words):
            raise QuestionnaireError(
                f"The {where}, in {language}, repeats an answer, {answer[0][:40]}, and a survey's texts "
                "are frozen: write it without."
            )


def untranslated(form: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return, by language, where the texts stand that it lacks; languages without any are left out.

    A contact that is one text for all, such as an address, is in no language.
    """
    languages = form["languages"]
    texts = [each for each in _all_texts(form) if each != (_CONTACT, str(each[1]))]
    texts += _unworded(form)
    gaps = {
        language: [where for where, text in texts if in_language(text, languages, language) is None]
        for language in languages[1:]
    }
    return {language: names for language, names in gaps.items() if names}


def _all_texts(form: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return all texts with where they stand."""
    texts = [(f"questionnaire's {name}", form[name]) for name in OF_THE_SURVEY if name in form]
    for index, page in enumerate(form.get("pages", ())):
        texts += [
            (f"{name} of page {index + 1}", page[name])
            for name in ("title", "introduction")
            if name in page
        ]
    for what in ("label", "attribute"):
        for each in form.get(f"{what}s", ()):
            own = ("wording", "help", "unit", "label_missing")
            texts += [(f"{t} of {what} {each['name']!r}", each[t]) for t in own if t in each]
            texts += [
                (f"label of {value['value']!r} of {what} {each['name']!r}", value["label"])
                for value in each.get("values", ())
                if isinstance(value, dict) and "label" in value
            ]
    return texts


def _unworded(form: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the values that are words and have no label, with where they stand."""
    values = [
        (plain_value(value), f"label of {plain_value(value)!r} of {what} {each['name']!r}")
        for what in ("label", "attribute")
        for each in form.get(f"{what}s", ())
        for value in each.get("values", ())
        if not isinstance(value, dict) or "label" not in value
    ]
    values += [
        (each["missing"], f"label_missing of attribute {each['name']!r}")
        for each in form["attributes"]
        if "missing" in each and "label_missing" not in each
        if each["missing"] not in map(plain_value, each.get("values", ()))
    ]
    return [
        (where, value)
        for value, where in values
        if isinstance(value, str) and any(map(str.isalpha, value))
    ]


def translations(
    form: Mapping[str, Any], attributes: Sequence[Attribute]
) -> dict[str, dict[str, Any]]:
    """Return the words of each language, in the form of the texts' document."""
    return {
        language: {
            "survey": _of_the_survey(form, language),
            "attributes": [
                _of_attribute(part, own, form["languages"], language)
                for part, own in zip(form["attributes"], attributes, strict=True)
            ],
        }
        for language in form["languages"]
    }


def in_language(text: Any, languages: Sequence[str], language: str) -> str | None:
    """Return a text in a language; one that is given without languages is in the default one."""
    if isinstance(text, dict):
        words: str | None = text.get(language)
        return words
    return text if language == languages[0] else None


def _given(
    form: Mapping[str, Any], names: Sequence[str], languages: Sequence[str], language: str
) -> dict[str, Any]:
    """Return those of some texts that there are in a language."""
    words = {name: in_language(form.get(name), languages, language) for name in names}
    return {name: text for name, text in words.items() if text is not None}


def _of_the_survey(form: Mapping[str, Any], language: str) -> dict[str, Any]:
    languages = form["languages"]
    words = _given(form, OF_THE_SURVEY, languages, language)
    pages = [
        _given(page, ("title", "introduction"), languages, language)
        for page in form.get("pages", ())
    ]
    labels = []
    for label in form.get("labels", ()):
        own = _given(label, ("wording",), languages, language)
        values = [_label(value, languages, language) for value in label["values"]]
        labels.append(own | ({"values": values} if any(values) else {}))
    words |= {"pages": pages} if any(pages) else {}
    return words | ({"labels": labels} if any(labels) else {})


def _label(value: Any, languages: Sequence[str], language: str) -> str | None:
    return in_language(value.get("label"), languages, language) if isinstance(value, dict) else None


def _of_attribute(
    form: Mapping[str, Any], own: Attribute, languages: Sequence[str], language: str
) -> dict[str, Any]:
    words = _given(form, ("wording", "help"), languages, language)
    missing = in_language(form.get("label_missing"), languages, language)
    if isinstance(form.get("unit"), dict):
        words |= _given(form, ("unit",), languages, language)
    if own.scale is not None or own.edges:
        return words | ({} if missing is None else {"missing": missing})
    labels: dict[tuple[str, object], str | None] = {}
    for value in form.get("values", ()):
        if isinstance(value, dict):
            labels[kind(value["value"])] = _label(value, languages, language)
    if missing is not None:
        labels.setdefault(kind(own.missing), missing)
    values = [labels.get(kind(value)) for value in own.values]
    return words | ({"values": values} if any(values) else {})


def plain_value(value: Any) -> Value:
    """Return a value that stands by itself, or beside its label."""
    plain: Value = value["value"] if isinstance(value, dict) else value
    return plain
