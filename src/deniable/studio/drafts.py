"""The questionnaire as it is being written: saved with every change, whether it is whole yet or not.

What makes sense is in ``survey.yaml``; what does not yet is in ``survey.draft.yaml``, beside the last
that did. A change names what it was made from, so that of two windows, or a window and an editor, none
undoes the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from deniable.errors import DeniableError, QuestionnaireError
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questionnaire.reading import PARSERS
from deniable.questionnaire.writing import yaml_text
from deniable.studio.folder import Folder
from deniable.studio.problems import StudioProblem

FILE, DRAFT, BEFORE = "survey.yaml", "survey.draft.yaml", "survey.before-import{}.yaml"

START: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en"],
    "title": "",
    "design": {"order": 2, "epsilon": 1.1, "people": 2000},
    "attributes": [],
}
"""The questionnaire that a new folder begins with."""

_SURVEY_FIELDS = (
    "title",
    "introduction",
    "who",
    "contact",
    "consent",
    "thanks",
    "closed",
    "languages",
)
_FIELDS = (
    *("wording", "help", "values", "unit", "label_missing", "missing", "low", "high", "step"),
    *("when", "condition", "name", "complete"),
)


@dataclass(frozen=True)
class Draft:
    """A questionnaire's text, what it says, and what is wrong with it, in one sentence."""

    text: str
    form: Any = None
    questionnaire: Questionnaire | None = None
    flaw: str | None = None

    @classmethod
    def of_text(cls, text: str, name: str = FILE) -> Draft:
        """Read a text, as far as it can be read."""
        form = None
        try:
            form = PARSERS[".yaml"](text, name)
            return cls(text, form, Questionnaire.of(form))
        except DeniableError as error:
            return cls(text, form if isinstance(form, dict) else None, None, str(error))

    @classmethod
    def of_form(cls, form: Any) -> Draft:
        """Take a form; its text follows from it."""
        if not isinstance(form, dict):
            raise StudioProblem("malformed", "A form is an object.")
        try:
            text = yaml_text(form)
        except QuestionnaireError:
            raise
        except Exception:  # PyYAML's own, of what is no plain form
            raise StudioProblem("malformed", "A form has plain parts.") from None
        return cls.of_text(text)

    @property
    def revision(self) -> str:
        """Return what tells this text from others."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return what the page shows of it."""
        form: dict[str, Any] = {
            "text": self.text,
            "form": self.form,
            "revision": self.revision,
            "is_valid": self.questionnaire is not None,
            "flaw": self.flaw,
            "place": None if self.flaw is None else place_of(self.flaw, self.form, self.text),
            "untranslated": {},
            "attributes": [],
        }
        if self.questionnaire is not None:
            form["untranslated"] = self.questionnaire.untranslated
            form["attributes"] = list(self.questionnaire.schema.names)
        return form


def place_of(flaw: str, form: Any, text: str) -> dict[str, Any]:
    """Return where a flaw is, as far as its sentence tells: question, field and line."""
    attributes = form.get("attributes") if isinstance(form, dict) else None
    names = [
        each.get("name") if isinstance(each, dict) else None
        for each in (attributes if isinstance(attributes, list) else [])
    ]
    position = next(
        (index for index, name in enumerate(names) if name and repr(name) in flaw), None
    )
    numbered = re.search(r"attributes, (\d+):", flaw)
    if position is None and numbered and int(numbered[1]) <= len(names):
        position = int(numbered[1]) - 1
    known_fields = _SURVEY_FIELDS if position is None else _FIELDS
    words = re.findall(r"\w+", re.sub(r"'[^']*'", "", flaw).lower())
    field = next((each for each in known_fields if each in words), None)
    line = re.search(r", line (\d+)", flaw)
    return {
        "attribute": position,
        "field": {"condition": "when"}.get(field or "", field),
        "line": int(line[1]) if line else _line_of(position, field, names, text),
    }


def _line_of(position: int | None, field: str | None, names: list[Any], text: str) -> int | None:
    """Return the line on which a question, or a field of the survey, begins."""
    if position is not None and names[position]:
        sought = rf"\s*-?\s*name:\s*['\"]?{re.escape(str(names[position]))}['\"]?\s*$"
    elif field is not None:
        sought = rf"{field}:"
    else:
        return None
    lines = text.splitlines()
    return next((at + 1 for at, each in enumerate(lines) if re.match(sought, each)), None)


class Drafts:
    """The questionnaire of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def current(self) -> Draft:
        """Return what is being written: the draft, if there is one, or what made sense last."""
        for name in (DRAFT, FILE):
            text = self._folder.read(name)
            if text is not None:
                return Draft.of_text(text)
        return Draft.of_form(START)

    def save(self, draft: Draft, revision: object) -> tuple[str, ...]:
        """Save a change that was made from a revision; return the files that were written."""
        if revision != self.current().revision:
            raise StudioProblem("changed-elsewhere")
        if draft.questionnaire is None:
            self._folder.write(DRAFT, draft.text)
            return (DRAFT,)
        self._folder.write(FILE, draft.text)
        self._folder.remove(DRAFT)
        return (FILE,)

    def replace(self, form: Any) -> tuple[Draft, tuple[str, ...]]:
        """Put another questionnaire in place of this one, which stays under another name."""
        earlier, draft = self.current(), Draft.of_form(form)
        if draft.form is None:  # what is never read again is no draft either
            raise QuestionnaireError(draft.flaw or "")
        files: tuple[str, ...] = ()
        if any(self._folder.exists(name) for name in (FILE, DRAFT)):
            files = (self._unused_name(),)
            self._folder.write(files[0], earlier.text)
        return draft, (*self.save(draft, earlier.revision), *files)

    def _unused_name(self) -> str:
        """Return a name for what an import replaces: nothing that was kept so is written over."""
        names = (BEFORE.format(number) for number in ("", *(f"-{n}" for n in range(2, 10_000))))
        return next(name for name in names if not self._folder.exists(name))

    def questionnaire(self) -> Questionnaire:
        """Return the questionnaire, if it makes sense."""
        draft = self.current()
        if draft.questionnaire is None:
            raise QuestionnaireError(f"The questionnaire is not whole yet: {draft.flaw}")
        return draft.questionnaire
