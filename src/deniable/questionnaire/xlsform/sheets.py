"""The sheets of an XLSForm as rows by column, through pyxform, ODK's and KoBo's reference parser.

pyxform knows how headers are written (``label::German (de)``, ``caption``, ``relevance``), what is in a
cell and which types there are; it is handed sheets that are bounded already
(`deniable.formats.workbooks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from deniable.errors import QuestionnaireError
from deniable.formats.extras import lacking
from deniable.formats.workbooks import sheet_names, sheet_rows

_MOST_BYTES = 1 << 24
_MOST_BYTES_OF_DATA = 1 << 29
_MOST_ROWS, _MOST_COLUMNS = 10_000, 300
_MOST_LETTERS = 20_000


class Line(NamedTuple):
    """A row of a sheet: its number there, and its cells by column."""

    number: int
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class Sheets:
    """What an XLSForm says, as it stands in its sheets."""

    name: str
    survey: Sequence[Line]
    choices: Mapping[str, Sequence[Line]]
    settings: Mapping[str, str]
    languages: Mapping[str, str]
    """Names of languages in headers, each with the header where it is first."""
    columns: tuple[str, ...]
    """The first parts of the survey's headers."""


def is_xlsform(path: Path) -> bool:
    """Tell whether a workbook is a form: it has a sheet survey, whose first row has the column type."""
    try:
        survey = _sheets_of(path, _MOST_BYTES_OF_DATA).get("survey")
        if survey is None:
            return False
        header = next(sheet_rows(path, survey, _MOST_BYTES_OF_DATA, 1, _MOST_COLUMNS), [])
    except (ValueError, QuestionnaireError):
        return False
    return any(str(cell).strip().lower() in ("type", "command") for cell in header)


def read_sheets(path: Path) -> Sheets:
    """Read a workbook; refuse what is no form in one sentence."""
    try:
        from pyxform import aliases
        from pyxform.question import MultipleChoiceQuestion, Option
        from pyxform.survey import Survey
    except ImportError:
        raise QuestionnaireError(f"{lacking('Questionnaires in XLSForm need', 'forms')}.") from None
    titles = _sheets_of(path, _MOST_BYTES)
    if "survey" not in titles:
        raise QuestionnaireError(f"{path.name!r} is no XLSForm: it has no sheet 'survey'.")
    own = {
        "survey": (aliases.survey_header, set(MultipleChoiceQuestion.get_slot_names())),
        "choices": (aliases.list_header, set(Option.get_slot_names())),
        "settings": (aliases.settings_header, set(Survey.get_slot_names())),
    }
    sheets, headers = {}, {}
    for name, (other_names, columns) in own.items():
        rows, header = _raw(path, titles[name]) if name in titles else ([], [])
        sheets[name], headers[name] = _by_column(path, name, rows, header, other_names, columns)
    if not any(column[0] == "type" for column in headers["survey"]):
        raise QuestionnaireError(f"{path.name!r}: the sheet survey has no column 'type'.")
    settings = sheets["settings"][0].cells if sheets["settings"] else {}
    lists: dict[str, list[Line]] = {}
    for line in sheets["choices"]:
        lists.setdefault(str(line.cells.get("list name", "")), []).append(line)
    return Sheets(
        path.stem,
        sheets["survey"],
        lists,
        {name: text for name, text in settings.items() if isinstance(text, str)},
        _languages([*headers["survey"], *headers["choices"]]),
        tuple(dict.fromkeys(column[0] for column in headers["survey"])),
    )


def _sheets_of(path: Path, most_bytes: int) -> dict[str, str]:
    """Return the titles of sheets by their names in small letters, the first of each."""
    try:
        names = sheet_names(path, most_bytes)
    except ValueError as error:
        raise QuestionnaireError(f"{path.name!r} cannot be read: {error}.") from None
    return {name.strip().lower(): name for name in reversed(names)}


def _raw(path: Path, title: str) -> tuple[list[dict[str, str]], list[dict[str, None]]]:
    """Return rows as pyxform reads them: cells as texts by header, with empty rows in their places."""
    from pyxform.errors import PyXFormError
    from pyxform.xls2json_backends import get_excel_column_headers, get_excel_rows

    try:
        cells = [
            [None if value is None else _Cell(_text(value)) for value in row]
            for row in sheet_rows(path, title, _MOST_BYTES, _MOST_ROWS, _MOST_COLUMNS)
        ]
        header = get_excel_column_headers(
            None if cell is None else cell.value for cell in (cells or [[]])[0]
        )
    except (ValueError, PyXFormError) as error:
        raise QuestionnaireError(f"{path.name!r}, sheet {title!r}: {_sentence(error)}.") from None
    empty = _Cell("")
    rows = [[cell or empty for cell in row] for row in cells[1:]]
    lines = get_excel_rows(header, rows, lambda cell, *_: cell.value.strip())
    return lines, [dict.fromkeys(name for name in header if name is not None)]


class _Cell(NamedTuple):
    value: str


def _text(value: Any) -> str:
    from pyxform.xls2json_backends import xlsx_value_to_str

    text: str = xlsx_value_to_str(value)
    if len(text) > _MOST_LETTERS:
        raise ValueError(f"a cell has more than {_MOST_LETTERS:,} letters")
    return text


def _by_column(
    path: Path,
    name: str,
    rows: list[dict[str, str]],
    header: list[dict[str, None]],
    other_names: Mapping[str, Any],
    columns: set[str],
) -> tuple[list[Line], Sequence[tuple[str, ...]]]:
    """Return the rows that hold something, under the names that pyxform knows their columns by."""
    from pyxform.errors import PyXFormError
    from pyxform.parsing.sheet_headers import dealias_and_group_headers

    if name == "settings" and header and {"form_id", "id_string"} <= header[0].keys():
        # As pyxform does: the newer name counts.
        header[0].pop("id_string")
        for row in rows:
            row.pop("id_string", None)
    if any(len(column) > 200 for part in header for column in part):
        raise QuestionnaireError(f"{path.name!r}: a header of {name} has more than 200 letters.")
    try:
        result = dealias_and_group_headers(
            sheet_name=name,
            sheet_data=rows,
            sheet_header=header,
            header_aliases=other_names,
            header_columns=columns,
            strip_whitespace=name == "survey",
        )
    except (PyXFormError, AttributeError, TypeError) as error:
        raise QuestionnaireError(f"{path.name!r}, sheet {name}: {_sentence(error)}.") from None
    lines = [Line(number, cells) for number, cells in enumerate(result.data, 2) if cells]
    return lines, result.headers


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:200]


def _languages(headers: Sequence[tuple[str, ...]]) -> dict[str, str]:
    languages: dict[str, str] = {}
    for header in headers:
        if header[0] in ("label", "hint") and len(header) == 2:
            languages.setdefault(header[1], "::".join(header))
    return languages


@cache
def type_meaning(name: str) -> Mapping[str, Any]:
    """Return what pyxform says of a type that is no select: its control and its kind of data."""
    from pyxform.question_type_dictionary import QUESTION_TYPE_DICT

    for each in (name, name.lower(), "_".join(name.lower().split())):
        if each in QUESTION_TYPE_DICT:
            meaning: Mapping[str, Any] = QUESTION_TYPE_DICT[each]
            return meaning
    return {}


def parts_of_type(text: str) -> Iterator[str]:
    """Yield what a type is made of: begin or end and its kind; or a select, its list, and or other."""
    from pyxform import aliases
    from pyxform.xls2json import RE_BEGIN_CONTROL, RE_END_CONTROL, RE_SELECT

    for each in (text, text.lower()):
        if match := RE_BEGIN_CONTROL.search(each):
            yield from ("begin", aliases.control[match["type"]])
            return
        if match := RE_END_CONTROL.search(each):
            yield from ("end", aliases.control[match["type"]])
            return
    if match := RE_SELECT.search(text):
        command = match["select_command"]
        is_file = command in aliases.select_from_file
        yield "select from file" if is_file else aliases.select[command]
        yield match["list_name"]
        if match["specify_other"]:
            yield "or other"
