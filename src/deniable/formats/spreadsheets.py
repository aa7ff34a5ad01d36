"""Tables for spreadsheets, which run a text that begins like a formula, whoever wrote it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import IO, Any

_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"  # wide and small ones, too
_FORMULA = re.compile(rf'((?:^|[;|\t\r\n])[\s"\u200b\ufeff]*)(?=[{_SIGNS}])')
"""Where a formula may begin: where another program takes a cell to begin. Many cut at semicolons, some
at tabs, and such a program does not see the quotes that keep a line's end within a cell."""
_BREAKS = ("\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet may take a cell's text, or a part of it, for a formula."""
    return not _NUMBER.fullmatch(text) and bool(text.startswith(_BREAKS) or _FORMULA.search(text))


def cell(value: Any) -> Any:
    """Return what a CSV file has for a value: an apostrophe before each formula of a text.

    A number, negative or not, stays one, as a number and as a text.

    >>> cell("=1+1"), cell("north;=1+1"), cell("-0.5"), cell(-0.5)
    ("'=1+1", "north;'=1+1", '-0.5', -0.5)
    """
    if not isinstance(value, str) or not is_formula(value):
        return value
    guarded = _FORMULA.sub(r"\1'", value)
    return f"'{guarded}" if value.startswith(_BREAKS) else guarded


def write_rows(file: IO[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV (RFC 4180) in which no text is a formula, to a file with ``newline=""``."""
    writer = csv.writer(file, lineterminator="\r\n")
    for row in rows:
        writer.writerow([cell(value) for value in row])


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as the text of a CSV file in which no text is a formula."""
    file = StringIO(newline="")
    write_rows(file, rows)
    return file.getvalue()


def frame_text(frame: Any) -> str:
    """Return a pandas frame as the text of a CSV file in which no text is a formula."""
    text: str = frame.map(cell).rename(columns=cell).to_csv(index=False)
    return text
