"""Forms that other tools wrote, on the command line: what came of each row, and the editable file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from deniable.cli.output import print_json
from deniable.errors import QuestionnaireError, SurveyError
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.questionnaire.writing import yaml_text
from deniable.questionnaire.xlsform import Row, is_xlsform, read_xlsform
from deniable.questionnaire.xlsform.rows import Outcome
from deniable.questions.legible import legible
from deniable.show.terminal import stdout

ENDINGS = (".xlsx", ".xlsm", ".xls")
"""How files end that may be forms; an .xls is refused in words that help."""

_COLOURS: dict[Outcome, str] = {"imported": "green", "left out": "yellow", "refused": "red"}


def is_form(path: Path) -> bool:
    """Tell whether a file is a form, by its ending and, of a workbook, by its sheets."""
    ending = path.suffix.lower()
    return ending in ENDINGS and (ending == ".xls" or is_xlsform(path))


def read_rows(path: Path, skip_refused: bool, as_json: bool) -> tuple[Questionnaire, list[Row]]:
    """Return the questionnaire of a form, and what came of its rows.

    Unless what is refused may be skipped, rows that are refused are shown, and the first of them said.
    """
    form, rows = read_xlsform(path)
    refusals = [row for row in rows if row.outcome == "refused"]
    if not form["attributes"] or (refusals and not skip_refused):
        if as_json:
            print_json({"rows": rows_form(rows)})
        else:
            show_rows(rows)
        if not form["attributes"]:
            raise QuestionnaireError(
                f"{path.name!r} asks nothing that can be asked{_first(refusals)}."
            )
        raise QuestionnaireError(
            f"{path.name!r}: {refusals[0].sentence().removesuffix('.')}; {_counted(rows)}, and "
            "--skip-refused goes on without them"
        )
    return Questionnaire.of(form), rows


def _first(refusals: Sequence[Row]) -> str:
    return f": {refusals[0].sentence().removesuffix('.')}" if refusals else ""


def _counted(rows: Sequence[Row]) -> str:
    counts = Counter(row.outcome for row in rows)
    return f"refused rows: {counts['refused']:,} of {len(rows):,}"


def rows_form(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows as JSON has them."""
    return [row.to_json() for row in rows]


def show_rows(rows: Sequence[Row]) -> None:
    """Print what came of each row, and how many came to what."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for header in ("Row", "Name", "Type", "What came of it"):
        table.add_column(header, justify="right" if header == "Row" else "left")
    for row in rows:
        where = f", column {row.column}" if row.column else ""
        outcome = f"[{_COLOURS[row.outcome]}]{row.outcome}[/]{escape(where)}: {escape(row.says)}"
        name, kind = (escape(legible(part) if part else "") for part in (row.name, row.type))
        table.add_row(str(row.row), name, kind, outcome)
    counts = Counter(row.outcome for row in rows)
    console = stdout()
    console.print(table)
    console.print("Rows: " + ", ".join(f"{counts[name]:,} {name}" for name in _COLOURS) + ".\n")


def write_questionnaire(questionnaire: Questionnaire, path: Path) -> None:
    """Write a questionnaire as YAML, to go on with; a file that is there stays as it is."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(yaml_text(questionnaire.to_form()))
    except FileExistsError:
        raise SurveyError(f"{str(path)!r} exists already; choose another name.") from None
    except OSError as error:
        raise SurveyError(f"{str(path)!r} cannot be written: {error.strerror}.") from None
