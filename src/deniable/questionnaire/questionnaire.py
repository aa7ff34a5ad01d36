"""Questionnaire: what an operator writes, from which a survey and its texts follow.

>>> from deniable.questionnaire import Questionnaire
>>> questionnaire = Questionnaire.of({
...     "deniable": "questionnaire", "format": 1, "languages": ["en"], "title": "Work and rest",
...     "attributes": [{"name": "naps", "wording": "Do you sleep at work?"}],
... })
>>> questionnaire.schema.names
('naps',)
>>> questionnaire.texts.languages["en"]["attributes"][0]["wording"]
'Do you sleep at work?'
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError, QuestionnaireError
from deniable.questionnaire.conditions import layout_of
from deniable.questionnaire.reading import plain, read_form
from deniable.questionnaire.structure import check_structure
from deniable.questionnaire.texts import Texts
from deniable.questionnaire.words import (
    check_apart,
    check_languages,
    in_language,
    plain_value,
    translations,
    untranslated,
)
from deniable.schema.attribute import Attribute
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema

_DECLARED = ("missing", "other", "low", "high", "step", "log", "strict", "ordered", "complete")
_LISTED = ("points", "edges")
_ORDER = 2
"""The order of a survey whose design says none."""


@dataclass(frozen=True)
class Questionnaire:
    """A questionnaire that makes sense: what is asked, in which words, and how answers are protected."""

    form: Mapping[str, Any]
    schema: Schema
    texts: Texts
    labels: Labels

    @classmethod
    def of(cls, form: Any) -> Questionnaire:
        """Return the questionnaire that a form holds; refuse what is none in one sentence."""
        form = plain(form)
        check_structure(form)
        check_languages(form)
        schema = _schema(form)
        labels = _labels(form, schema)
        words = translations(form, schema.attributes)
        check_apart(form, words)
        layout = layout_of(form, schema)
        try:
            texts = Texts.of(
                {
                    "deniable": "texts",
                    "format": 1,
                    "default": form["languages"][0],
                    "layout": layout.to_json(),
                    "languages": words,
                }
            )
            texts.fit(schema, labels)
        except DeniableError as error:
            raise QuestionnaireError(_in_own_words(str(error), form)) from None
        questionnaire = cls(form, schema, texts, labels)
        questionnaire._check_tables()
        return questionnaire

    @classmethod
    def read(cls, path: str | Path) -> Questionnaire:
        """Read a file that ends in .yaml, .yml, .toml or .json."""
        return cls.of(read_form(path))

    def to_form(self) -> dict[str, Any]:
        """Return the form, as it was read, in plain parts."""
        return copy.deepcopy(dict(self.form))

    @property
    def languages(self) -> tuple[str, ...]:
        """Return its languages, the default one first."""
        return tuple(self.form["languages"])

    @property
    def title(self) -> str:
        """Return its title in the default language."""
        title: str = self.texts.languages[self.texts.default]["survey"]["title"]
        return title

    @cached_property
    def untranslated(self) -> dict[str, list[str]]:
        """Return, by language, what is not said in it but in the default one."""
        return untranslated(self.form)

    @property
    def follows(self) -> str | None:
        """Return the id of the survey that this one replaces, if it replaces one."""
        return self.form.get("follows")

    @cached_property
    def design(self) -> dict[str, Any]:
        """Return what it says of the design, as `Survey` takes it: order, epsilon, aim, workload, …

        Of one attribute there are tables of one, whatever the order.
        """
        design = dict(self.form.get("design", {}))
        if design.get("order", _ORDER) > len(self.schema):
            design["order"] = len(self.schema)
        tables = design.pop("tables", None)
        if tables is None:
            return design
        return design | {
            "workload": {tuple(each["attributes"]): float(each.get("weight", 1)) for each in tables}
        }

    def _check_tables(self) -> None:
        for table in self.form.get("design", {}).get("tables", ()):
            for name in table["attributes"]:
                if name not in self.schema.names:
                    raise QuestionnaireError(
                        f"A table of the design names {name!r}, and there is no such attribute."
                    )


def _schema(form: Mapping[str, Any]) -> Schema:
    numbers: dict[str, int] = {}
    for number, each in enumerate(form["attributes"], 1):
        if (first := numbers.setdefault(each["name"], number)) < number:
            raise QuestionnaireError(
                f"Attribute {each['name']!r} is declared twice: attributes {first:,} and {number:,}."
            )
    try:
        return Schema(tuple(_attribute(each, form["languages"]) for each in form["attributes"]))
    except QuestionnaireError:
        raise
    except DeniableError as error:
        raise QuestionnaireError(str(error)) from None


def _attribute(form: Mapping[str, Any], languages: list[str]) -> Attribute:
    """Return the attribute that a part of the form declares."""
    fields = {name: form[name] for name in _DECLARED if name in form}
    fields |= {name: tuple(form[name]) for name in _LISTED if name in form}
    if "values" in form:
        fields["values"] = tuple(map(plain_value, form["values"]))
    if "unit" in form:
        fields["unit"] = in_language(form["unit"], languages, languages[0])
    if "missing" in form:
        fields.setdefault("other", form["missing"])
    name = form["name"]
    if ("low" in form) + ("points" in form) + ("values" in form) > 1:
        raise QuestionnaireError(
            f"Attribute {name!r} has values, points or a range; give one of them."
        )
    if "values" in form and "edges" in form:
        raise QuestionnaireError(f"Attribute {name!r} has values and edges; give one of them.")
    with warnings.catch_warnings(record=True) as several:
        warnings.simplefilter("always")
        attribute = Attribute(name, **fields)
    for each in several:  # what people write is what is asked: nothing moves by itself
        raise QuestionnaireError(f"{str(each.message).removesuffix('.')}: write that.")
    if not attribute.covers:
        raise QuestionnaireError(
            f"Attribute {name!r} may not fit everybody, and whoever cannot answer shows by silence: "
            "declare missing, the value of no answer, or complete: true, where everybody has one."
        )
    return attribute


def _labels(form: Mapping[str, Any], schema: Schema) -> Labels:
    try:
        declared: dict[str, list[str]] = {}
        for label in form.get("labels", ()):
            if label["name"] in declared:
                raise QuestionnaireError(f"There are two labels {label['name']!r}.")
            declared[label["name"]] = [str(plain_value(value)) for value in label["values"]]
        labels = Labels.of(declared, form.get("periods"))
        labels.check(schema)
    except QuestionnaireError:
        raise
    except DeniableError as error:
        raise QuestionnaireError(str(error)) from None
    return labels


def _in_own_words(flaw: str, form: Mapping[str, Any]) -> str:
    """Return a sentence about the texts' document as one about the questionnaire: with names."""
    position = re.search(r"attributes\[(\d+)\]", flaw)
    if position is None or not flaw.startswith("The texts's"):
        return flaw
    name = form["attributes"][int(position[1])]["name"]
    language, _, rest = flaw.removeprefix("The texts's languages's ").partition("'s attributes[")
    return (
        f"Attribute {name!r}, in {language}: {rest.partition(']')[2].removeprefix(chr(39) + 's ')}"
    )
