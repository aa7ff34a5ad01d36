"""Files of people's data: CSV, Parquet, Feather and Arrow, read whole or part by part.

What a parser says may quote the data, so its messages are not even kept as context.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from deniable.errors import DataError

STREAMED_KINDS = (".csv", ".parquet")
"""The kinds of files that are read part by part; others are mapped into memory."""

_CSV_PART = 1 << 22
"""The bytes of a CSV file in one part; the first part settles the columns' types.

Arrow reads 32 parts ahead.
"""


def read_file(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a file of one of the `KINDS`; a CSV column of true/false becomes bool.

    Columns that are not among ``columns`` are left out, those that the file lacks are not missed.
    """
    _check_is_file(path)
    names = None
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):
        table = _READERS[path.suffix.lower()](path, columns)
        names = table.column_names
    _check_names(path, names)
    frame: pd.DataFrame | None = None
    # What a file says of itself for pandas may be anything.
    with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError, pa.ArrowException):
        columns_present = (
            table if columns is None else table.select([n for n in names or () if n in columns])
        )
        columns_present.validate(
            full=True
        )  # texts, too: what is not UTF-8 would surface much later
        frame = columns_present.to_pandas()
    if frame is None:
        raise DataError(f"File {str(path)!r} is damaged, or holds texts that are not UTF-8.")
    return frame


def stream_file(
    path: Path, columns: Sequence[str], texts: Collection[str] = ()
) -> tuple[Iterator[pa.RecordBatch], int | None]:
    """Return a file of one of the `STREAMED_KINDS` as batches, and how many rows if known.

    A .parquet file gives those of the ``columns`` that it has, a .csv file all that it has. ``texts``
    are columns that a .csv file holds as they stand: 01 is not 1, NA is a text, and only an empty
    field is missing. Whole numbers are read as numbers of any kind, and days as texts, since a later
    part may hold others.
    """
    _check_is_file(path)
    rows, names = None, None
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):
        if path.suffix.lower() == ".csv":
            types = dict.fromkeys(texts, pa.string())
            first = _open_csv(path, types).schema
            reader = _open_csv(path, {field.name: _wide(field.type) for field in first} | types)
            if not any(pa.types.is_binary(field.type) for field in reader.schema):
                names, parts = reader.schema.names, (_with_gaps(part, texts) for part in reader)
        else:
            file = pq.ParquetFile(path, memory_map=True)
            names, rows = file.schema_arrow.names, file.metadata.num_rows
            columns_asked = dict.fromkeys(columns)
            parts = file.iter_batches(columns=[name for name in columns_asked if name in names])
    _check_names(path, names)
    return _readable(path, parts), rows


def _open_csv(path: Path, types: Mapping[str, pa.DataType]) -> csv.CSVStreamingReader:
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=_CSV_PART),
        convert_options=csv.ConvertOptions(column_types=dict(types)),
    )


def _wide(kind: pa.DataType) -> pa.DataType:
    """Return the type that also holds what a column of such a type may hold further down."""
    if pa.types.is_integer(kind):
        return pa.float64()
    return pa.string() if pa.types.is_date(kind) else kind


def _with_gaps(part: pa.RecordBatch, texts: Collection[str]) -> pa.RecordBatch:
    """Return rows of a CSV file whose texts are missing where they are empty or, but for these, say so.

    Arrow itself knows no column for which NA is a text.
    """
    words = pa.array(csv.ConvertOptions().null_values)
    columns = []
    for field, column in zip(part.schema, part.columns, strict=True):
        if pa.types.is_string(field.type):
            gaps = pa.array([""]) if field.name in texts else words
            column = pc.if_else(pc.is_in(column, value_set=gaps), None, column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=part.schema)


def _readable(path: Path, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and say which file it was that cannot be read to its end."""
    is_finished = False
    while not is_finished:
        part = None
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            part = next(parts, None)
            is_finished = part is None
        if part is not None:
            yield part
        elif not is_finished:
            hint = (
                ", or a column's type changes on the way" if path.suffix.lower() == ".csv" else ""
            )
            raise DataError(f"File {str(path)!r} cannot be read to its end: it is damaged{hint}.")


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")


def _check_names(path: Path, names: list[str] | None) -> None:
    if names is None:
        kind = path.suffix.lower()
        hint = ": it may be empty, or its rows may differ in length" if kind == ".csv" else ""
        raise DataError(f"File {str(path)!r} cannot be read as {kind}{hint}.")
    if len(set(names)) < len(names):
        raise DataError(f"File {str(path)!r} has two columns of the same name.")


def _read_csv(path: Path, columns: Sequence[str] | None) -> pa.Table:
    # Arrow's parser, because pandas' drops surplus fields silently when columns are selected.
    table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    if any(pa.types.is_binary(field.type) for field in table.schema):
        raise ValueError("text that is not UTF-8")
    return table


def _read_parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    file = pq.ParquetFile(path, memory_map=True)
    names = file.schema_arrow.names
    return file.read(names if columns is None else [name for name in names if name in columns])


def _read_feather(path: Path, columns: Sequence[str] | None) -> pa.Table:
    return feather.read_table(path, memory_map=True)


# Each may leave out columns that nobody asked for, and decides nothing else about them.
_READERS: dict[str, Callable[[Path, Sequence[str] | None], pa.Table]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
}

KINDS = tuple(_READERS)
"""The suffixes of files that can be read."""
