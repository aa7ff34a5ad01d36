"""Freezing: from a questionnaire to a survey that never changes again, and its texts beside it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple

from deniable.api.survey import Survey
from deniable.errors import DeniableError, SurveyError
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.studio.deeds import command
from deniable.studio.drafts import FILE
from deniable.studio.folder import Folder

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TEXTS = ".texts.json"


class FrozenFile(NamedTuple):
    """A survey of the folder: its name without an ending, and what it says of itself."""

    name: str
    id: str
    epsilon: float
    order: int
    attributes: int
    has_texts: bool


def check_name(name: object) -> str:
    """Return the name of a survey's file without its ending; refuse what is none."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise SurveyError("A survey's name has small letters, digits and hyphens, at most 40.")
    return name


def freeze(folder: Folder, questionnaire: Questionnaire, name: str) -> tuple[Survey, list[str]]:
    """Write a survey and its texts, neither of which is ever written again."""
    survey = Survey.from_questionnaire(questionnaire)
    texts, file = f"{name}{_TEXTS}", f"{name}.json"
    # Texts come first: where there is a survey, its texts are there as well.
    folder.create(texts, questionnaire.texts.to_json() + "\n")
    folder.create(file, survey.to_json() + "\n")
    return survey, [file, texts]


def freezing_command(name: str) -> str:
    """Return the command that freezes a questionnaire."""
    return command("new", FILE, "-o", f"{name}.json")


class FrozenSurveys:
    """The surveys of a folder; a file is read once, as long as it stays as it is."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._rows: dict[str, tuple[tuple[int, int], FrozenFile | None]] = {}

    def all(self) -> list[FrozenFile]:
        """Return the surveys of the folder, the latest last."""
        names = sorted(path.stem for path in self._folder.root.glob("*.json"))
        rows = []
        for name in filter(NAME.fullmatch, names):
            with suppress(SurveyError, OSError):  # a link, or gone meanwhile
                rows.append(self._row(name))
        surveys = [row for row in rows if row is not None]
        return sorted(surveys, key=lambda row: self._rows[row.name][0])

    def named(self, name: object) -> FrozenFile:
        """Return a survey; refuse a name that is none's."""
        row = self._row(check_name(name)) if self._folder.exists(f"{name}.json") else None
        if row is None:
            raise SurveyError(f"There is no survey {name!r} in the studio's folder.")
        return row

    def free_name(self) -> str:
        """Return a name that no file has."""
        names = ["survey", *(f"survey-{number}" for number in range(2, 1000))]
        taken_names = {path.stem for path in self._folder.root.glob("*.json")}
        return next(name for name in names if name not in taken_names)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the surveys as the page shows them."""
        return [row._asdict() for row in self.all()]

    def _row(self, name: str) -> FrozenFile | None:
        path = self._folder.path(f"{name}.json")
        status = path.stat()
        mark = status.st_mtime_ns, status.st_size
        known_row = self._rows.get(name)
        if known_row is None or known_row[0] != mark:
            self._rows[name] = known_row = mark, self._read(name)
        return known_row[1]

    def _read(self, name: str) -> FrozenFile | None:
        try:
            survey = Survey.load(self._folder.path(f"{name}.json"))
        except DeniableError:  # some other JSON
            return None
        has_texts = self._folder.exists(f"{name}{_TEXTS}")
        return FrozenFile(
            name, survey.id, survey.epsilon, survey.order, len(survey.schema), has_texts
        )
