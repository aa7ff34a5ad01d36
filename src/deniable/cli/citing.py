"""`deniable cite`: how to cite a survey, a tally or a report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from deniable.api.survey import Survey
from deniable.api.tally import Tallies, Tally
from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import print_json
from deniable.cli.wording import Language, TextsFile, Words, without_control
from deniable.errors import DeniableError, SurveyError
from deniable.formats.reading import parse, read_text

_DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)
_PARTS = ("survey", "version", "date", "text", "software", "paper", "bibtex")


def cite(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A survey (.json), a tally, or a report (.html).")
    ],
    bibtex: Annotated[
        bool, about("Print BibTeX entries instead of sentences.", "--bibtex")
    ] = False,
    texts: TextsFile = None,
    language: Language = None,
    as_json: option.Json = False,
) -> None:
    """Say how to cite a survey or its tables: software, version, survey id and day."""
    if source.suffix.lower() == ".html":
        form = _of_report(source)
    else:
        form = _of_survey(source, Words(texts, language, [source]))
    if as_json:
        print_json(form)
        return
    for part in ("bibtex",) if bibtex else ("text", "software", "paper"):
        typer.echo("\n".join(map(without_control, form[part].splitlines())))


def _of_survey(source: Path, words: Words) -> dict[str, str]:
    """Return how to cite a survey, or what was counted of it."""
    from deniable.questionnaire.wording import Wording
    from deniable.show.citing import cite_survey

    tally: Tally | None = None
    if source.is_dir():
        tally = Tallies.load(source).total
    elif source.suffix.lower() != ".json":
        tally = Tally.load(source)
    survey = Survey.load(source) if tally is None else tally.survey
    own = words.texts(survey)
    title = None
    if own is not None:
        own.check(survey)
        title = Wording.of(own, survey.schema, words.language).title
    people, is_simulated = (None, False) if tally is None else (tally.people, tally.simulated)
    return cite_survey(survey, people, title, is_simulated).to_form()


def _of_report(source: Path) -> dict[str, str]:
    """Return how a report says that it is cited."""
    refusal = SurveyError(f"{source.name} is no report of deniable that says how to cite it.")
    try:
        match = _DATA.search(read_text(source))
        form = parse(match[1])["citation"] if match else None
        parts = {name: form[name] for name in _PARTS} if isinstance(form, dict) else {}
    except FileNotFoundError:
        raise SurveyError(f"There is no report {source.name}.") from None
    except OSError as error:
        raise SurveyError(f"{source.name} cannot be read: {error.strerror}.") from None
    except DeniableError:
        raise
    except (ValueError, TypeError, KeyError):
        raise refusal from None
    if not parts or not all(isinstance(part, str) for part in parts.values()):
        raise refusal
    return parts
