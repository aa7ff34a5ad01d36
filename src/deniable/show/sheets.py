"""Tables for spreadsheets (.xlsx) and for statistics programs (.sav), with the labels of what they hold.

A spreadsheet has a row per cell of a table, as .csv has, and sheets of labels and of what it is. A
statistics program labels variables, so there every attribute is one: a row per cell has the codes of the
attributes that its table is of, and nothing in the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import ChartError
from deniable.formats.spreadsheets import is_formula
from deniable.release.marginal import Table
from deniable.release.release import ReleasedTables
from deniable.schema.attribute import Attribute, spoken
from deniable.show.citing import cite_release
from deniable.show.words import shown_values

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_048_575
"""The most rows of a sheet, without its head."""

MOST_NUMBERS = 1 << 26
"""The most numbers of a .sav file, which is made in memory: half a gigabyte."""

_LONGEST = 32_767
"""The most letters of a sheet's cell."""

_SPECIAL = ("=", "+", "-", "@", "#")
"""What a cell begins with that openpyxl, or a person who edits it, turns into a formula or an error."""

_VARIABLE, _LABEL, _VALUE_LABEL = 64, 255, 120
"""The most bytes of a variable's name, of its label, and of a value's, in a .sav file."""

_RESERVED = frozenset(
    ["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"]
)


# .xlsx


def write_sheets(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]], release: ReleasedTables
) -> None:
    """Write tables, their labels, and what they are, as three sheets."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    tables = book.create_sheet("tables")
    tables.freeze_panes = "A2"
    labels, own = book.create_sheet("labels"), book.create_sheet("about")
    for sheet, body in (
        (tables, _lines(columns, rows)),
        (labels, _label_lines(release)),
        (own, _about(release)),
    ):
        for line in body:
            sheet.append([_sheet_cell(sheet, part) for part in line])
    book.save(path)


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield columns
    yield from rows


def _sheet_cell(sheet: Any, part: Any) -> Any:
    """Return a cell; a text is always text, whatever it begins with."""
    if not isinstance(part, str):
        return part
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    text = ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", part)[:_LONGEST]
    if not (is_formula(text) or text.startswith(_SPECIAL)):
        return text
    cell = WriteOnlyCell(sheet, text)
    cell.data_type, cell.quotePrefix = "s", True
    return cell


def _label_lines(release: ReleasedTables) -> Iterator[list[Any]]:
    """Yield what each attribute is, and each of its values."""
    yield ["attribute", "wording", "help", "unit", "value", "label"]
    wording = release.wording
    for attribute in release.survey.schema.attributes:
        texts: list[str | None] = [None, None, attribute.unit]
        if wording is not None:
            own = wording.attributes[attribute.name]
            phrases = (own.wording, own.help, own.unit)
            texts = [
                each if phrase is None else phrase.text
                for each, phrase in zip(texts, phrases, strict=True)
            ]
        values = map(spoken, attribute.values)
        for value, label in zip(values, shown_values(attribute, wording), strict=True):
            yield [attribute.name, *texts, value, label]


def _about(release: ReleasedTables) -> Iterator[list[Any]]:
    """Yield what the tables are, and how they are cited."""
    citation = cite_release(release)
    yield ["what", "is"]
    if citation.title is not None:
        yield ["title", citation.title]
    yield ["people", release.people]
    yield from ([name, text] for name, text in citation.to_form().items() if name != "text")
    yield ["citation", citation.text]
    if release.simulated:
        yield ["SIMULATED", "No device took part."]


# .sav


def write_variables(
    path: Path, release: ReleasedTables, rows: Iterable[tuple[Table, list[list[Any]]]], names: Any
) -> None:
    """Write a row per cell of every table, whose attributes are variables with labels.

    ``rows`` are tables with their numbers, column by column, which have these ``names``.
    """
    import pyreadstat

    attributes = release.survey.schema.attributes
    variables = variable_names([each.name for each in attributes])
    frame = _frame(release, rows, variables, names)
    wording = release.wording
    labels = dict.fromkeys(frame.columns)
    values: dict[str, dict[int | float, str]] = {}
    for variable, attribute in zip(variables, attributes, strict=True):
        own = None if wording is None else wording.attributes[attribute.name].wording
        labels[variable] = _bytes(attribute.name if own is None else own.text, _LABEL)
        codes = zip(_codes(attribute), shown_values(attribute, wording), strict=True)
        values[variable] = {code: _bytes(label, _VALUE_LABEL) for code, label in codes}
    pyreadstat.write_sav(
        frame,
        path,
        file_label=_bytes(cite_release(release).text, 64),
        column_labels=[labels[name] or "" for name in frame.columns],
        variable_value_labels=values,
        compress=False,
        row_compress=True,
    )


def check_variables(release: ReleasedTables, cells: int) -> None:
    """Refuse a file that would not fit into memory."""
    if cells * (len(release.survey.schema) + 12) > MOST_NUMBERS:
        raise ChartError(
            f"A .sav file has a variable for each attribute, and {cells:,} rows of them are too many; "
            "take .parquet."
        )


def check_rows(cells: int) -> None:
    """Refuse more rows than a sheet has."""
    if cells > MOST_ROWS:
        raise ChartError(
            f"A sheet has at most {MOST_ROWS:,} rows, and these tables have {cells:,} cells; take .csv "
            "or .parquet."
        )


def variable_names(names: Sequence[str]) -> list[str]:
    """Return names that a statistics program takes, each once.

    >>> variable_names(["age", "Age", "was it you?", "7", "by"])
    ['age', 'Age_2', 'was_it_you_', 'v7', 'by_']
    """
    every: set[str] = set()
    variables = []
    for name in names:
        plain = re.sub(r"\W", "_", name)
        plain = plain if plain[:1].isalpha() else f"v{plain}"
        plain = _bytes(plain, _VARIABLE - 6)
        plain = f"{plain}_" if plain.lower() in _RESERVED else plain
        variable, number = plain, 1
        while variable.lower() in every:
            number += 1
            variable = f"{plain}_{number}"
        every.add(variable.lower())
        variables.append(variable)
    return variables


def _frame(
    release: ReleasedTables,
    rows: Iterable[tuple[Table, list[list[Any]]]],
    variables: Sequence[str],
    names: Sequence[str],
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    schema = release.survey.schema
    codes = [np.array(_codes(each), float) for each in schema.attributes]
    parts: list[Any] = []
    for number, (table, columns) in enumerate(rows, 1):
        size = table.values.size
        part = np.full((size, 2 + len(schema) + len(columns) + 2), np.nan)
        part[:, :2] = number, len(table.names)
        grid = np.indices(table.values.shape).reshape(len(table.names), -1)
        for name, cells in zip(table.names, grid, strict=True):
            at = schema.index(name)
            part[:, 2 + at] = codes[at][cells]
        for at, column in enumerate(columns):
            part[:, 2 + len(schema) + at] = [np.nan if one is None else one for one in column]
        part[:, -2:] = table.known, table.simulated
        parts.append(part)
    own = variable_names([*variables, "table", "attributes", *names, "known", "simulated"])
    heads = own[len(variables) :]
    order = [*heads[:2], *variables, *heads[2:]]
    return pd.DataFrame(np.concatenate(parts), columns=order)


def _codes(attribute: Attribute) -> list[int]:
    """Return the codes of an attribute's values: of yes and no 1 and 0, else from 1 on."""
    if set(attribute.values) == {False, True}:
        return [int(value) for value in attribute.values]
    return list(range(1, attribute.size + 1))


def _bytes(text: str, most: int) -> str:
    """Return a text as one line of at most so many bytes."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line.encode()[:most].decode(errors="ignore")
