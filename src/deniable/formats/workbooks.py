"""Reading Excel workbooks that others wrote: bounded, without entities, and nothing is calculated.

A workbook is a ZIP of XML. Before a parser sees it, its parts are counted by what they unpack to (no
more of a part is read than it states): all together, those that a parser takes whole, and each against
what it is packed to, because openpyxl takes minutes and gigabytes for styles or texts by the million. A
document type, which is where entities are declared, is refused in whatever encoding it stands. Of a
formula, what the spreadsheet program last wrote as its result is read; macros are never looked at. What
cannot be read raises a ValueError whose text ends a sentence.
"""

from __future__ import annotations

import contextlib
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from xml.parsers import expat

from deniable.formats.extras import lacking
from deniable.formats.reading import check_regular

ENDINGS = (".xlsx", ".xlsm")
"""How the files of workbooks end."""

_MOST_PARTS = 4096
_MOST_CELLS = 1 << 26
_MOST_BESIDE = 1 << 23
_ROWS = ("xl/worksheets/", "xl/sharedStrings.xml", "xl/pivotCache/")
"""What may be large: it is read row by row, or not at all. All else is read whole, as a tree."""
_MOST_UNPACKED, _FEW = 100, 1 << 22
"""Unpacked bytes by packed ones, of parts that are not small. Spreadsheet programs reach 40."""
_CHUNK = 1 << 16
_OLD = b"\xd0\xcf\x11\xe0"
T = TypeVar("T")


def sheet_names(path: Path, most_bytes: int) -> list[str]:
    """Return the names of a workbook's sheets of cells, in order."""
    with contextlib.closing(_workbook(path, most_bytes)) as book:
        return [sheet.title for sheet in book.worksheets]


def sheet_rows(
    path: Path, name: str | None, most_bytes: int, most_rows: int, most_columns: int
) -> Iterator[list[Any]]:
    """Yield the rows of a sheet, by default the first, as the values of their cells."""
    with contextlib.closing(_workbook(path, most_bytes)) as book:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        sheet = next(iter(sheets.values()), None) if name is None else sheets.get(name)
        if sheet is None:
            raise ValueError(f"it has no sheet {name!r}; its sheets are {', '.join(sheets)[:200]}")
        sheet.reset_dimensions()  # what a file says of its size may be anything
        rows, cells = sheet.iter_rows(max_row=most_rows + 1, values_only=True), 0
        for number in range(most_rows + 2):
            row = _without_surprise(lambda: next(rows, None))
            if row is None:
                return
            if number == most_rows and any(cell is not None for cell in row):
                raise ValueError(f"sheet {sheet.title!r} has more than {most_rows:,} rows")
            cells += len(row)
            if cells > _MOST_CELLS:
                raise ValueError(f"sheet {sheet.title!r} has more than {_MOST_CELLS:,} cells")
            if any(cell is not None for cell in row[most_columns:]):
                raise ValueError(f"sheet {sheet.title!r} has more than {most_columns:,} columns")
            yield list(row[:most_columns])


def _workbook(path: Path, most_bytes: int) -> Any:
    """Open a workbook for reading, once it is known to hold no more than that."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ValueError(lacking("workbooks need", "forms")) from None
    try:
        check_regular(path)
        if path.stat().st_size > most_bytes:
            raise ValueError(f"it is larger than {most_bytes >> 20:,} MB")
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be opened") from None
    _check_parts(content, most_bytes)
    return _without_surprise(
        lambda: load_workbook(BytesIO(content), read_only=True, data_only=True, keep_links=False)
    )


def _check_parts(content: bytes, most_bytes: int) -> None:
    """Refuse a ZIP of too many parts, of too large ones, or with a document type."""
    if content.startswith(_OLD):
        raise ValueError(
            "it is an old .xls workbook, or has a password: save it as .xlsx without one"
        )
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            parts = archive.infolist()
            if len(parts) > _MOST_PARTS:
                raise ValueError(f"it has more than {_MOST_PARTS:,} parts")
            if sum(part.file_size for part in parts) > most_bytes:
                raise ValueError(f"it unpacks to more than {most_bytes >> 20:,} MB")
            if any(
                part.file_size > max(_FEW, _MOST_UNPACKED * part.compress_size) for part in parts
            ):
                raise ValueError("it has a part that unpacks to far more than spreadsheets do")
            if len({part.filename for part in parts}) < len(parts):
                raise ValueError("it has two parts of one name")
            beside = 0
            for part in parts:
                with archive.open(part) as file:
                    is_xml = _check_prolog(file.read)
                beside += part.file_size if is_xml and not part.filename.startswith(_ROWS) else 0
            if beside > _MOST_BESIDE:
                raise ValueError(f"it has more than {_MOST_BESIDE >> 20} MB beside its sheets")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError):
        raise ValueError("it is damaged, or no workbook") from None


def _check_prolog(read: Callable[[int], bytes]) -> bool:
    """Refuse XML with a document type, which stands before its first element; tell what is no XML."""
    parser = expat.ParserCreate()
    is_begun: list[str] = []

    def refuse(*_: object) -> None:
        raise ValueError("it has a document type or entities, which no spreadsheet program writes")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, _: is_begun.append(name) if not is_begun else None
    while not is_begun and (chunk := read(_CHUNK)):
        try:
            parser.Parse(chunk)
        except expat.ExpatError:
            break
    return bool(is_begun)


def _without_surprise(read: Callable[[], T]) -> T:
    """Return what a parser returns; whatever it stumbles over, the file is damaged."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        # Parsers of hostile files raise nearly anything, and some messages repeat a cell.
        warnings.simplefilter("ignore")  # of headers, footers and extensions that nobody reads here
        return read()
    raise ValueError("it is damaged, or no workbook")
