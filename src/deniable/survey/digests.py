"""Digests of what people read: they make a survey's id cover its words without carrying them.

The words themselves are a document of their own (`deniable.questionnaire.texts`). A survey holds one
SHA-256 for each attribute in each language, one for the rest of a language, and one for the layout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.errors import SurveyError
from deniable.formats.forms import check_form


def canonical(form: Any) -> str:
    """Return the canonical JSON text (RFC 8785) of a form without fractions, whose keys are ASCII.

    Sorted keys without spaces are it.
    """
    return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(form: Any) -> str:
    """Return the SHA-256 of a form's canonical JSON."""
    return hashlib.sha256(canonical(form).encode()).hexdigest()


@dataclass(frozen=True)
class LanguageDigests:
    """The digests of a language: of what is said of the survey, and of each attribute."""

    survey: str
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class TextDigests:
    """The digests of all that people read, by language, and of how it is laid out."""

    default: str
    layout: str
    languages: Mapping[str, LanguageDigests]

    def check(self, attributes: int) -> None:
        """Refuse digests that are not of a survey of so many attributes."""
        if self.default not in self.languages:
            raise SurveyError(f"The survey has no texts in its default language {self.default}.")
        for name, each in self.languages.items():
            if len(each.attributes) != attributes:
                raise SurveyError(
                    f"A survey has one digest of texts for each of its {attributes} attributes, got "
                    f"{len(each.attributes)} for the language {name}."
                )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        languages = {
            name: {"survey": each.survey, "attributes": list(each.attributes)}
            for name, each in self.languages.items()
        }
        return {"default": self.default, "layout": self.layout, "languages": languages}

    @classmethod
    def of_form(cls, form: Mapping[str, Any]) -> TextDigests:
        """Read the JSON form, whose fields are checked already (`deniable.formats.forms`)."""
        languages = {
            name: LanguageDigests(each["survey"], tuple(each["attributes"]))
            for name, each in form["languages"].items()
        }
        return cls(form["default"], form["layout"], languages)


def check_predecessor(follows: object) -> None:
    """Refuse what is not the id of a survey."""
    check_form("predecessor", follows, SurveyError)
