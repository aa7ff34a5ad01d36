"""Texts: all that people read of a survey, in each language, as one public document.

A survey's id covers digests of them, so that nobody can show other words under the same id. The document
is fetched whole, and before anybody has answered anything: no request depends on an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import TextsError
from deniable.formats.forms import check_form, parse_json
from deniable.formats.reading import read_text
from deniable.questionnaire.layout import Layout
from deniable.schema.attribute import Attribute
from deniable.schema.labels import Labels
from deniable.schema.schema import Schema
from deniable.survey.digests import LanguageDigests, TextDigests, canonical, digest

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

FORMAT = 1
"""The version of the texts' JSON."""

MOST_BYTES = 1 << 25
"""The most bytes of the texts of a survey."""


@dataclass(frozen=True)
class Texts:
    """The words of a survey in each of its languages, and how they are laid out."""

    default: str
    layout: Layout
    languages: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, form: Any) -> Texts:
        """Return the texts that a JSON form holds; refuse what is not exactly such a form."""
        check_form("texts", form, TextsError)
        texts = cls(form["default"], Layout.of_form(form["layout"]), form["languages"])
        words = texts.languages.get(texts.default)
        if words is None:
            raise TextsError(f"There are no texts in the default language {texts.default}.")
        if "title" not in words["survey"] or not all("wording" in a for a in words["attributes"]):
            raise TextsError(
                "Texts in the default language must have a title, and a wording of each attribute."
            )
        return texts

    @classmethod
    def from_json(cls, text: str | bytes) -> Texts:
        """Read a JSON text."""
        try:
            form = parse_json(text, from_wire=True)
        except (TypeError, ValueError):
            raise TextsError("Texts must be a JSON text, and this is not one.") from None
        return cls.of(form)

    @classmethod
    def read(cls, path: str | Path) -> Texts:
        """Read a file."""
        name = Path(path).name
        try:
            return cls.from_json(read_text(path, MOST_BYTES))
        except FileNotFoundError:
            raise TextsError(f"There are no texts {name!r}.") from None
        except OSError as error:
            raise TextsError(f"{name!r} cannot be read as texts: {error.strerror}.") from None
        except ValueError:
            raise TextsError(f"{name!r} cannot be read as texts: it is not UTF-8.") from None

    def to_form(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "deniable": "texts",
            "format": FORMAT,
            "default": self.default,
            "layout": self.layout.to_json(),
            "languages": dict(self.languages),
        }

    def to_json(self) -> str:
        """Return the canonical JSON text."""
        return canonical(self.to_form())

    @cached_property
    def digests(self) -> TextDigests:
        """Return what a survey's id covers of them."""
        languages = {
            name: LanguageDigests(digest(each["survey"]), tuple(map(digest, each["attributes"])))
            for name, each in self.languages.items()
        }
        return TextDigests(self.default, digest(self.layout.to_json()), languages)

    def check(self, survey: FrozenSurvey) -> None:
        """Refuse texts that are not, to the letter, those that a survey's id covers."""
        if survey.texts is None:
            raise TextsError(f"Survey {survey.id[:8]} has no texts, and these are of another one.")
        if self.digests != survey.texts:
            raise TextsError(
                f"These texts are not those of survey {survey.id[:8]}: {self._change(survey)}."
            )
        self.fit(survey.schema, survey.labels)

    def _change(self, survey: FrozenSurvey) -> str:
        """Say what differs from the texts that a survey's id covers, the first of it."""
        own, others = self.digests, survey.texts
        assert others is not None
        if own.default != others.default or own.languages.keys() != others.languages.keys():
            return "they are in other languages"
        if own.layout != others.layout:
            return "their pages or conditions differ"
        for name, each in own.languages.items():
            other = others.languages[name]
            if each.survey != other.survey:
                return f"what is said of the survey differs in {name}"
            pairs = zip(survey.schema.names, each.attributes, other.attributes, strict=False)
            for attribute, digest_here, digest_there in pairs:
                if digest_here != digest_there:
                    return f"the words of {attribute!r} differ in {name}"
        return "they have other attributes"

    def fit(self, schema: Schema, labels: Labels = Labels()) -> None:  # noqa: B008 (immutable)
        """Refuse texts that do not fit what is asked: other attributes, values, labels or pages."""
        for name, each in self.languages.items():
            if len(each["attributes"]) != len(schema):
                raise TextsError(
                    f"The texts in {name} have {len(each['attributes'])} attributes, the survey has "
                    f"{len(schema)}."
                )
            for attribute, words in zip(schema.attributes, each["attributes"], strict=True):
                _check_words(attribute, words, name)
            own = each["survey"]
            if len(own.get("pages", self.layout.pages)) != len(self.layout.pages):
                raise TextsError(f"The texts in {name} have words of other pages.")
            values = [values for _, values in labels.declared]
            words_of = own.get("labels", [{}] * len(values))
            if len(words_of) != len(values) or any(
                len(part.get("values", of)) != len(of)
                for part, of in zip(words_of, values, strict=True)
            ):
                raise TextsError(f"The texts in {name} have words of other labels.")
        self.layout.check(schema)

    def completed(self, record: Mapping[str, object], schema: Schema) -> dict[str, object]:
        """Return a record in which what is not asked has its declared value, whatever was given."""
        return self.layout.completed(record, schema)

    def completed_frame(self, frame: Any, schema: Schema) -> Any:
        """Return a frame of records, as an Arrow table, each completed as a device completes its own."""
        from deniable.questionnaire.skipping import completed_table
        from deniable.schema.frames import to_arrow

        return completed_table(to_arrow(frame), self.layout, schema)


def _check_words(attribute: Attribute, words: Mapping[str, Any], language: str) -> None:
    """Refuse words of values that an attribute does not have."""
    is_number = attribute.scale is not None or bool(attribute.edges)
    if "values" in words and (is_number or len(words["values"]) != attribute.size):
        raise TextsError(f"The texts in {language} word other values of {attribute.name!r}.")
    if "missing" in words and not (is_number and attribute.missing is not None):
        raise TextsError(f"The texts in {language} word a missing {attribute.name!r} that is none.")
    if "unit" in words and attribute.unit is None:
        raise TextsError(f"The texts in {language} word a unit of {attribute.name!r} that is none.")
