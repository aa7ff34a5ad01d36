"""The data of the experiments: official files, bits derived from them before, or a stand-in.

A data set is kept as its different records and how many people hold each, which is all that drawing
people with replacement needs: a year of taxi trips is 256 rows.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deniable.errors import DataError
from deniable.formats.reading import parse
from deniable.formats.writing import write_whole
from deniable.questions.entropy import Key

GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
"""The paper's 17 genres: MovieLens' without IMAX and Film-Noir."""

TAXI = ("CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip")
"""8 bits of a taxi trip, by the paper's names."""

_ZONES = """
4 12 13 24 41 42 43 45 48 50 68 74 75 79 87 88 90 100 103 104 105 107 113 114 116 120 125 127 128 137
140 141 142 143 144 148 151 152 153 158 161 162 163 164 166 170 186 194 202 209 211 224 229 230 231
232 233 234 236 237 238 239 243 244 246 249 261 262 263
"""
MANHATTAN = tuple(map(int, _ZONES.split()))
"""The taxi zones of Manhattan, by the commission's zone table."""

_TOP = 1000
_PEOPLE = "people"
_ABOUT = b"deniable.data"


@dataclass(frozen=True, eq=False)
class Data:
    """Different records, and how many people hold each."""

    name: str
    kind: str
    """official, derived (from the official files, before), stand-in, or synthetic by design."""
    origin: str
    """One sentence: where the data comes from."""
    records: pa.Table
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, kind: str, origin: str, frame: pd.DataFrame) -> Data:
        """Return a frame's different rows with their numbers."""
        rows = frame.value_counts(sort=False).sort_index().reset_index(name=_PEOPLE)
        counts = rows.pop(_PEOPLE).to_numpy(np.int64)
        return cls(name, kind, origin, pa.Table.from_pandas(rows, preserve_index=False), counts)

    @property
    def columns(self) -> list[str]:
        """Return the attributes."""
        names: list[str] = self.records.column_names
        return names

    @cached_property
    def digest(self) -> str:
        """Return a fingerprint of the content, whatever the data is called."""
        fingerprint = hashlib.sha256(json.dumps(self.columns).encode())
        for column in self.records.columns:
            fingerprint.update(json.dumps(column.to_pylist()).encode())
        fingerprint.update(self.counts.astype("<i8").tobytes())
        return fingerprint.hexdigest()[:16]

    def draw(self, people: int, key: Key) -> pa.Table:
        """Return people drawn with replacement, one row each."""
        until = self.counts.cumsum()
        positions = key.stream("people").below(int(until[-1]), people)
        return self.records.take(np.searchsorted(until, positions, side="right"))

    def save(self, path: Path) -> None:
        """Write the data, whole or not at all."""
        about = {"name": self.name, "kind": self.kind, "origin": self.origin}
        table = self.records.append_column(_PEOPLE, pa.array(self.counts))
        table = table.replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
        write_whole(path, lambda draft: pq.write_table(table, draft), DataError)

    @classmethod
    def load(cls, path: Path) -> Data:
        """Read data that was saved."""
        try:
            table = pq.read_table(path)
            about = parse(table.schema.metadata[_ABOUT])
            counts = table[_PEOPLE].to_numpy()
            return cls(**about, records=table.drop_columns([_PEOPLE]), counts=counts)
        except (OSError, ValueError, LookupError, TypeError, pa.ArrowException):
            raise DataError(f"{path.name} is no data of an experiment; delete it.") from None


@dataclass(frozen=True)
class DataFiles:
    """Where a user keeps the data: official files, or a folder of bits derived from them."""

    movielens: Path | None = None
    taxi: Path | None = None
    derived: Path | None = None

    def find(self, file: str) -> Path | None:
        """Return the path of a derived file where there is one."""
        if self.derived is not None and not self.derived.is_dir():
            raise DataError(f"There is no folder {self.derived.name} of derived data.")
        shared = os.environ.get("DENIABLE_SHARED_DATA")
        folders = [self.derived] if self.derived else [Path(shared)] if shared else _BESIDE
        return next((folder / file for folder in folders if (folder / file).is_file()), None)


_BESIDE = [
    Path("..", "shared", "data"),
    *(folder / "shared" / "data" for folder in Path(__file__).resolve().parents[5:6]),
]
"""Beside the folder one works in, and beside the repository this file may be part of."""


def obtain(name: str, data_files: DataFiles, cache: Path) -> Data:
    """Return a data set by name, the best that is at hand.

    Deriving bits from official files takes minutes, so the result is kept in ``cache``.
    """
    if name.startswith(_VALUES):
        return _hidden_cause(int(name.removeprefix(_VALUES)))
    official: Path | None = getattr(data_files, name, None)
    if official is None:
        return _derived(name, data_files) or _STAND_INS[name]()
    files = _files(name, official)
    path = cache / f"{name}-{_stamp(files)}.parquet"
    if path.is_file():
        return Data.load(path)
    data = movielens(official) if name == "movielens" else taxi(files)
    cache.mkdir(parents=True, exist_ok=True)
    data.save(path)
    return data


def _files(name: str, path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"There is no {path.name}.")
    if path.is_file():
        return [path]
    pattern = "*.csv" if name == "movielens" else "yellow_tripdata_*.parquet"
    files = sorted(path.glob(pattern))
    if not files:
        raise DataError(f"The folder {path.name} has no files {pattern}.")
    return files


def _stamp(files: list[Path]) -> str:
    """Return a fingerprint of files by name, size and time: their content may be gigabytes."""
    about = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:12]


# Official files


def movielens(path: Path) -> Data:
    """Return, for every user of a MovieLens release, who rated a popular movie of which genre.

    ``path`` is a release that has ratings.csv and movies.csv (20M, 25M, 32M, latest): its folder or
    its zip. A user has a genre if they rated one of its 1000 most-rated movies.
    """
    try:
        frame = _genres_of_users(path)
    except FileNotFoundError as missing:
        raise DataError(f"{path.name} is no MovieLens release: it has no {missing}.") from None
    except (
        *(zipfile.BadZipFile, zlib.error, pa.ArrowException, EOFError, OSError),
        *(ValueError, LookupError, TypeError, AttributeError),
    ):  # whose messages may quote the data
        frame = None
    if frame is None or not len(frame):
        raise DataError(f"{path.name} cannot be read as a MovieLens release, or has no ratings.")
    origin = f"the official MovieLens release {path.stem}: {len(frame):,} users"
    return Data.of("movielens", "official", origin, frame)


def _genres_of_users(path: Path) -> pd.DataFrame:
    with _opened(path, "movies.csv") as file:
        movies = pd.read_csv(file, usecols=["movieId", "genres"], dtype={"movieId": np.int64})
    genre_lists = movies["genres"].fillna("").str.split("|")
    most = _index(int(movies["movieId"].max()))
    ratings, users = np.zeros(most + 1, np.int64), 0
    for user, movie in _ratings(path):
        ratings += np.bincount(movie[movie <= most], minlength=len(ratings))
        users = max(users, _index(int(user.max(initial=0))))
    genres_of = np.zeros(len(ratings), np.uint32)
    for bit, genre in enumerate(GENRES):
        ids = movies.loc[[genre in names for names in genre_lists], "movieId"].to_numpy()
        top = ids[np.lexsort((ids, -ratings[ids]))][:_TOP]
        genres_of[top[ratings[top] > 0]] |= np.uint32(1 << bit)
    genres, took_part = np.zeros(users + 1, np.uint32), np.zeros(users + 1, np.bool_)
    for user, movie in _ratings(path):
        is_rated = movie <= most
        np.bitwise_or.at(genres, user[is_rated], genres_of[movie[is_rated]])
        took_part[user] = True
    bits = genres[took_part, None] >> np.arange(len(GENRES), dtype=np.uint32) & 1
    return pd.DataFrame(bits.astype(np.bool_), columns=list(GENRES))


def _index(number: int) -> int:
    """Return an id that may number an array: MovieLens' are far below this."""
    if not 0 <= number < 1 << 28:
        raise ValueError("an id that is none")
    return number


def _ratings(path: Path) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the users and movies of the ratings, block by block."""
    with _opened(path, "ratings.csv") as file:
        options = csv.ConvertOptions(
            include_columns=["userId", "movieId"],
            column_types={"userId": pa.int64(), "movieId": pa.int64()},
        )
        for batch in csv.open_csv(file, convert_options=options):
            yield batch["userId"].to_numpy(), batch["movieId"].to_numpy()


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Any]:
    """Open one file of a release, which is a folder or a zip."""
    if path.is_dir():
        if not (path / name).is_file():
            raise FileNotFoundError(name)
        with (path / name).open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as release:
        inside = [each for each in release.namelist() if Path(each).name == name]
        if not inside:
            raise FileNotFoundError(name)
        with release.open(inside[0]) as file:
            yield file


_TRIPS = """
SELECT *, count(*) AS people FROM (
    SELECT payment_type = 1 AS CC, tolls_amount > 0 AS Toll, trip_distance >= 10 AS Far,
           {night_pick} AS Night_pick, {night_drop} AS Night_drop,
           PULocationID IN {zones} AS M_pick, DOLocationID IN {zones} AS M_drop,
           tip_amount >= 0.25 * fare_amount AS Tip
    FROM read_parquet($files, union_by_name = true)
    WHERE fare_amount > 0 AND (PULocationID IN {zones} OR DOLocationID IN {zones}))
WHERE COLUMNS(*) IS NOT NULL GROUP BY ALL ORDER BY ALL
"""
_NIGHT = "(hour({0}) >= 20 OR hour({0}) < 3)"


def taxi(files: list[Path]) -> Data:
    """Return 8 bits of every yellow taxi trip that touches Manhattan.

    The files are those of the city's Taxi and Limousine Commission, of 2011 and later, which have taxi
    zones. Night is from 20:00 to 03:00; a tip counts from a quarter of the fare.
    """
    query = _TRIPS.format(
        night_pick=_NIGHT.format("tpep_pickup_datetime"),
        night_drop=_NIGHT.format("tpep_dropoff_datetime"),
        zones=MANHATTAN,
    )
    names = [glob.escape(str(path)) for path in files]
    try:
        with duckdb.connect() as database:
            rows = database.execute(query, {"files": names}).df()
    except duckdb.Error:
        raise DataError(
            f"{files[0].name} cannot be read as yellow taxi trips: it must be Parquet with the columns "
            "that the commission publishes since 2011 (PULocationID, tolls_amount, ...)."
        ) from None
    counts = rows.pop(_PEOPLE).to_numpy(np.int64)
    if not len(rows):
        raise DataError(f"{files[0].name} has no trips that touch Manhattan.")
    many = "an official file" if len(files) == 1 else f"{len(files)} official files"
    origin = f"the city's yellow taxi trips in {many}: {counts.sum():,} trips"
    table = pa.Table.from_pandas(rows.astype(bool), preserve_index=False)
    return Data("taxi", "official", origin, table, counts)


# Derived before

_DERIVED = {
    "movielens": "movielens_ml32m_12773users.parquet",
    "taxi": "taxi_2015_2019.parquet",
    "adult": "adult_categorical.parquet",
}


def _derived(name: str, data_files: DataFiles) -> Data | None:
    """Return what was derived from official files before, where it is at hand."""
    path = data_files.find(_DERIVED[name])
    if path is None:
        return None
    try:
        frame = pd.read_parquet(path)
        if name == "taxi":
            frame = frame.loc[frame["year"] <= 2016, list(TAXI)].astype(bool)
            origin = "bits derived from New York's yellow taxi trips of 2015 and 2016"
        elif name == "movielens":
            frame = frame[list(GENRES)].astype(bool)
            origin = "bits derived from a slice of MovieLens 32M"
        else:
            frame, origin = frame.astype(str), "UCI Adult"
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException):
        raise DataError(f"{path.name} is not the derived data that its name says.") from None
    return Data.of(name, "derived", f"{origin}: {len(frame):,} {_COUNTED[name]}", frame)


_COUNTED = {"movielens": "users", "taxi": "trips", "adult": "people"}


# Stand-ins: made up, shaped like the original

_STAND_IN_PEOPLE = 200_000


def _movielens_like() -> Data:
    """Return viewers who like to watch more or less, and genres that reach more or fewer of them."""
    random = np.random.default_rng(17)
    keen = random.normal(size=_STAND_IN_PEOPLE)
    frame = pd.DataFrame()
    for place, genre in enumerate(GENRES):
        reach = 2.2 - 2.4 * (place * 7 % len(GENRES)) / len(GENRES)
        frame[genre] = keen * 0.7 + random.normal(size=len(keen)) * 0.9 + reach > 0
    return Data.of("movielens", "stand-in", "a synthetic stand-in for MovieLens", frame)


def _taxi_like() -> Data:
    """Return trips with about the shares and the strong pairs of New York's taxis."""
    random = np.random.default_rng(8)

    def happens(chance: Any) -> NDArray[np.bool_]:
        outcomes: NDArray[np.bool_] = random.random(_STAND_IN_PEOPLE) < chance
        return outcomes

    toll = happens(0.05)
    far = happens(np.where(toll, 0.66, 0.015))
    pick = happens(np.where(toll | far, 0.48, 0.987))
    drop = ~pick | happens(np.where(far, 0.1, 0.94))
    night = happens(np.where(drop, 0.29, 0.46))
    card = happens(np.where(toll, 0.74, 0.64))
    late, tip = happens(np.where(night, 0.99, 0.02)), card & happens(0.23)
    columns = (card, toll, far, night, late, pick, drop, tip)
    frame = pd.DataFrame(dict(zip(TAXI, columns, strict=True)))
    return Data.of("taxi", "stand-in", "a synthetic stand-in for New York's taxi trips", frame)


def _adult_like() -> Data:
    frame = _with_hidden_cause((7, 8, 16, 7, 14, 6, 5, 2, 5, 42, 2))
    return Data.of("adult", "stand-in", "a synthetic stand-in for UCI Adult", frame)


_STAND_INS: dict[str, Callable[[], Data]] = {
    "movielens": _movielens_like,
    "taxi": _taxi_like,
    "adult": _adult_like,
}

NAMES = tuple(_STAND_INS)
"""The data sets that stand for something real."""

_VALUES = "values-"


def _hidden_cause(size: int) -> Data:
    origin = f"8 attributes of {size} values behind which one hidden cause stands"
    return Data.of(f"{_VALUES}{size}", "synthetic", origin, _with_hidden_cause((size,) * 8))


def _with_hidden_cause(sizes: tuple[int, ...]) -> pd.DataFrame:
    """Return records whose attributes all depend on one hidden cause of three values."""
    random = np.random.default_rng(list(sizes))
    cause = random.integers(0, 3, _STAND_IN_PEOPLE)
    columns = {}
    for place, size in enumerate(sizes):
        reached = random.dirichlet(np.ones(size), 3).cumsum(axis=1)[:, :-1]
        values = (random.random(len(cause))[:, None] > reached[cause]).sum(axis=1)
        columns[f"a{place + 1}"] = values.astype(str)
    return pd.DataFrame(columns)
