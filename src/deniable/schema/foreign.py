"""Files of people's data as other programs keep them: Excel (.xlsx), SPSS (.sav) and Stata (.dta).

``book.xlsx#Sheet`` names a sheet, otherwise it is the first. A column of SPSS or Stata whose values all
have labels holds the labels, in the order of the values; what they declare as missing is missing. As
everywhere, no message repeats a cell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from deniable.errors import DataError
from deniable.formats.workbooks import ENDINGS, sheet_rows

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
    """Return the cells of a column as one type; moments at midnight are days."""
    moments = [cell for cell in cells if isinstance(cell, datetime)]
    if moments and all(moment.time() == time() for moment in moments):
        cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
    if any(isinstance(cell, bool) for cell in cells) and not all(
        cell is None or isinstance(cell, bool) for cell in cells
    ):
        cells = [*cells, object()]  # Arrow would take true for 1
    with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
        return pa.array(cells)
    raise DataError(
        f"Column {name!r} of {str(path)!r} mixes types, or holds what no type does; give it one type."
    )


def _read_labelled(path: Path, kind: str, columns: Sequence[str] | None) -> pd.DataFrame:
    try:
        import pyreadstat
    except ImportError:
        raise DataError(
            f"{kind} files need the extra 'forms': pip install 'deniable[forms]'."
        ) from None
    read: Callable[..., Any] = pyreadstat.read_sav if kind == ".sav" else pyreadstat.read_dta
    frame = None
    with contextlib.suppress(Exception):  # a damaged file raises nearly anything
        _, about = read(str(path), metadataonly=True)
        names = [n for n in about.column_names if columns is None or n in columns]
        frame, about = read(str(path), usecols=names) if names else (pd.DataFrame(), about)
    if frame is None:
        raise DataError(f"File {str(path)!r} cannot be read as {kind}: it is damaged.")
    labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
    for name in frame.columns:
        if name in labels:
            frame[name] = _labelled(frame[name], labels[name])
    whole: pd.DataFrame = frame
    return whole


def _labelled(column: Any, labels: Mapping[Any, str]) -> Any:
    """Return a column as labels in the order of its values, if each value has one."""
    if not column.dropna().isin(list(labels)).all():
        return column
    words = {value: str(labels[value]) for value in sorted(labels)}
    texts = list(words.values())
    words = {v: f"{t} ({v:g})" if texts.count(t) > 1 else t for v, t in words.items()}
    return pd.Categorical(column.map(words), categories=list(words.values()), ordered=False)


FOREIGN_KINDS = (*ENDINGS, ".sav", ".dta")
"""The suffixes of files that other programs keep."""
