"""Files of people's data as other programs keep them: Excel (.xlsx), SPSS (.sav) and Stata (.dta).

``book.xlsx#Sheet`` names a sheet, otherwise it is the first. A column of SPSS or Stata whose values all
have labels holds the labels, in the order of the values; what they declare as missing is missing. As
everywhere, no message repeats a cell.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Sequence
from datetime import datetime, time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pandas as pd
import pyarrow as pa

from deniable.errors import DataError
from deniable.formats.extras import lacking
from deniable.formats.processes import python, python_environment
from deniable.formats.workbooks import ENDINGS, sheet_rows
from deniable.schema import labelled
from deniable.schema.cells import text_column

_MOST_BYTES = 1 << 29
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14


def sheet_of(name: str) -> tuple[Path, str | None]:
    """Return a file, and the sheet that its name asks for: ``book.xlsx#Sheet``."""
    whole, mark, sheet = name.rpartition("#")
    is_book = mark and Path(whole).suffix.lower() in ENDINGS
    return (Path(whole), sheet) if is_book else (Path(name), None)


def read_foreign(
    path: Path, sheet: str | None = None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read a file of one of the `FOREIGN_KINDS`; columns that are not among ``columns`` are left out."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    kind = path.suffix.lower()
    if kind in ENDINGS:
        return _read_workbook(path, sheet, columns)
    return _read_labelled(path, kind, columns)


def _read_workbook(path: Path, sheet: str | None, columns: Sequence[str] | None) -> pd.DataFrame:
    try:
        rows = list(sheet_rows(path, sheet, _MOST_BYTES, _MOST_ROWS, _MOST_COLUMNS))
    except ValueError as error:
        raise DataError(f"File {str(path)!r} cannot be read: {error}.") from None
    header, *lines = rows or [[]]
    width = max((i + 1 for i, name in enumerate(header) if name is not None), default=0)
    names = ["" if name is None else str(name).strip() for name in header[:width]]
    if not all(names) or not names:
        raise DataError(f"File {str(path)!r}: the first row must name each column.")
    if len(set(names)) < len(names):
        raise DataError(f"File {str(path)!r} has two columns of the same name.")
    lines = [line for line in lines if any(cell is not None for cell in line)]
    if any(cell is not None for line in lines for cell in line[width:]):
        raise DataError(f"File {str(path)!r} has a cell in a column without a name.")
    table = {
        name: _column(path, name, [line[i] if i < len(line) else None for line in lines])
        for i, name in enumerate(names)
        if columns is None or name in columns
    }
    frame: pd.DataFrame = pa.table(table).to_pandas()
    return frame


def _column(path: Path, name: str, cells: list[Any]) -> pa.Array:
    """Return the cells of a column as one type, texts if they mix; moments at midnight are days."""
    moments = [cell for cell in cells if isinstance(cell, datetime)]
    if moments and all(moment.time() == time() for moment in moments):
        cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
    cells_there = cells
    if any(isinstance(cell, bool) for cell in cells) and not all(
        cell is None or isinstance(cell, bool) for cell in cells
    ):
        cells = [*cells, object()]  # Arrow would take true for 1
    with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
        return pa.array(cells)
    texts = text_column(cells_there)
    if texts is None:
        raise DataError(
            f"Column {name!r} of {str(path)!r} holds what no type does; give it one type."
        )
    return texts


def _read_labelled(path: Path, kind: str, columns: Sequence[str] | None) -> pd.DataFrame:
    """Return what `labelled` reads in a process of its own, which a hostile file may crash."""
    words = [str(Path(labelled.__file__).absolute()), str(path.absolute()), json.dumps(columns)]
    frame, code = None, None
    with TemporaryFile() as output, contextlib.suppress(subprocess.TimeoutExpired):
        code = subprocess.run(
            python(*words),
            env=python_environment() | _ONE_THREAD,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            timeout=2 * labelled.most_seconds(path.stat().st_size),
            check=False,
        ).returncode
        output.seek(0)
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            if code == 0:
                table = pa.ipc.open_stream(output).read_all()
                table.validate(full=True)
                frame = table.to_pandas()
    if code == labelled.LACKING:
        raise DataError(f"{lacking(f'{kind} files need', 'forms')}.")
    if frame is None:
        more = "" if code == labelled.DAMAGED else ", or needs more memory or time than there is"
        raise DataError(f"File {str(path)!r} cannot be read as {kind}: it is damaged{more}.")
    whole: pd.DataFrame = frame
    return whole


_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads that calculate nothing would count as memory."""

FOREIGN_KINDS = (*ENDINGS, ".sav", ".dta")
"""The suffixes of files that other programs keep."""
