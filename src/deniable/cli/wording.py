"""The survey's own words on the command line: which file has them, and in which language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import about
from deniable.cli.output import say
from deniable.errors import TextsError
from deniable.questionnaire.texts import Texts

if TYPE_CHECKING:
    from deniable.api.release import Release
    from deniable.survey.frozen import FrozenSurvey

TextsFile = Annotated[
    Path | None,
    about(
        "The survey's words: what `deniable new` wrote beside it, survey.texts.json. By default those "
        "beside a tally, or here.",
        "--texts",
    ),
]
Language = Annotated[
    str | None, about("The language of the survey's words; by default its own.", "--language")
]
Methods = Annotated[
    bool, about("Print a methods paragraph, ready to paste into a paper.", "--methods")
]

_PATTERN = "*.texts.json"
_MOST_FILES = 100


class Words:
    """Gives releases their survey's words, as the command line says, or as files beside tallies do."""

    def __init__(self, path: Path | None, language: str | None, beside: list[Path]) -> None:
        self._own = None if path is None else Texts.read(path)
        self.language = language
        self._folders = [each if each.is_dir() else each.parent for each in beside]
        self._texts: dict[str, Texts | None] = {}

    def of(self, release: Release) -> Release:
        """Return a release in words, or as it is where the survey has none."""
        texts = self.texts(release.survey)
        return release if texts is None else release.worded(texts, self.language)

    def texts(self, survey: FrozenSurvey) -> Texts | None:
        """Return the texts of a survey; None where it has none, or nobody has them."""
        if survey.id not in self._texts:
            self._texts[survey.id] = self._own or self._beside(survey)
        texts = self._texts[survey.id]
        if texts is None and self.language is not None:
            raise TextsError("--language is of the survey's texts: name their file by --texts.")
        return texts

    def _beside(self, survey: FrozenSurvey) -> Texts | None:
        """Return the texts that the survey's id covers, if a file beside the tallies holds them."""
        if survey.texts is None:
            return None
        for folder in dict.fromkeys((*self._folders, Path())):
            for path in sorted(folder.glob(_PATTERN))[:_MOST_FILES]:
                try:
                    texts = Texts.read(path)
                    texts.check(survey)
                except TextsError:  # those of another survey
                    continue
                return texts
        say(
            "deniable: no file beside the tally has the survey's words, so short names stand for "
            "questions; --texts FILE gives them."
        )
        return None


def show_paragraph(text: str) -> None:
    """Print a text as one line, which a terminal breaks and a paper does not."""
    typer.echo(without_control(text))


def without_control(line: str) -> str:
    """Return a line without what a terminal would obey: whoever wrote a survey wrote its words."""
    return "".join(letter for letter in line if letter.isprintable() or letter == "\xa0")
