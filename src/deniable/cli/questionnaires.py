"""Questionnaires on the command line: which file is one, and what is written of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli.forms import is_form, read_rows
from deniable.errors import SurveyError
from deniable.formats.reading import check_regular, read_text
from deniable.formats.writing import write_text
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questionnaire.reading import PARSERS
from deniable.questionnaire.texts import Texts
from deniable.questionnaire.wordings import wordings
from deniable.questionnaire.xlsform import Row
from deniable.questions.legible import legible
from deniable.questions.question import Question
from deniable.show.terminal import stdout
from deniable.survey.frozen import FrozenSurvey

READERS: dict[str, Callable[[Path], Questionnaire]] = dict.fromkeys(PARSERS, Questionnaire.read)
"""What reads a questionnaire, by its file's ending; what ends otherwise is data."""


_DATA_ONLY = {
    **dict.fromkeys(("columns", "values", "complete", "label", "period", "observed"), ""),
    "ranges": "range",
    "drop_missing": "drop-missing",
}
"""What a command takes for data only, and how an option is called where its name is another."""


def given(context: typer.Context) -> set[str]:
    """Return what the command line says itself; refuse what is for data, beside a questionnaire."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    names = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    for name, option in _DATA_ONLY.items():
        if name in names:
            raise SurveyError(f"--{option or name} is for data; a questionnaire says it itself.")
    return names


def survey_of(
    questionnaire: Questionnaire, context: typer.Context, options: dict[str, Any]
) -> Survey:
    """Return the survey of a questionnaire; what the command line says of the design stands above it."""
    names = given(context)
    return Survey.from_questionnaire(
        questionnaire, **{name: value for name, value in options.items() if name in names}
    )


def questionnaire_in(
    source: str, skip_refused: bool = False, as_json: bool = False
) -> tuple[Questionnaire | None, list[Row]]:
    """Return the questionnaire that a file holds, None if it is data, and the rows of a form."""
    path = Path(source)
    if is_form(path):
        return read_rows(path, skip_refused, as_json)
    reader = READERS.get(path.suffix.lower())
    return None if reader is None else reader(path), []


def texts_path(survey: Path) -> Path:
    """Return where the texts of a survey's file lie: survey.texts.json beside survey.json."""
    return survey.with_name(f"{survey.stem}.texts.json")


def texts_beside(path: Path, survey: Survey) -> Texts | None:
    """Return a survey's texts, where they lie beside its file."""
    beside = texts_path(path)
    if survey.texts is None or not beside.exists():
        return None
    texts = Texts.read(beside)
    texts.check(survey)
    return texts


def spoken_question(survey: FrozenSurvey, question: Question, tag: str, texts: Texts | None) -> str:
    """Return a question as people read it in a language."""
    return question.words(tag, wordings(survey.schema, tag, texts))


def asked_wordings(survey: FrozenSurvey, question: Question, texts: Texts | None) -> dict[str, str]:
    """Return how people are asked about a question's attributes, where there are texts."""
    if texts is None:
        return {}
    words = texts.languages[texts.default]["attributes"]
    return {name: words[survey.schema.index(name)]["wording"] for name in question.attributes}


def show_wordings(wordings_by_name: dict[str, str]) -> None:
    """Print how people are asked, if there is anything to print."""
    rows = [f"{escape(legible(name))}: {escape(text)}\n" for name, text in wordings_by_name.items()]
    if rows:
        stdout().print(f"How people are asked:\n{''.join(rows)}")


def write_survey(survey: Survey, texts: Texts | None, path: Path) -> list[Path]:
    """Write a survey, and its texts beside it; refuse files that hold something else, both or none."""
    files = [(path, survey.to_json() + "\n", "a survey is")]
    if texts is not None:
        files.insert(0, (texts_path(path), texts.to_json() + "\n", "the texts of a survey are"))
    for each, text, what in files:
        with _as_survey_error(each):
            if each.exists() and not _holds(each, text):
                raise SurveyError(f"{str(each)!r} exists already; {what} frozen, so choose a name.")
    for each, text, _ in files:
        write_text(each, text, SurveyError)
    return [each for each, _, _ in files][::-1]


@contextmanager
def _as_survey_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SurveyError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _holds(path: Path, text: str) -> bool:
    """Tell whether a file holds this text, and no more is read of it than that takes."""
    try:
        check_regular(path)
        return read_text(path, len(text.encode())) == text
    except (OSError, ValueError):
        return False
