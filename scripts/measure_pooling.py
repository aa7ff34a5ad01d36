"""Measure what pooling a survey and its successor states, and how often its intervals hold.

    python scripts/measure_pooling.py [--repeats 1000] [--data FOLDER]

A row is real data, a survey of it and a successor with one attribute more, each answered by other
people, drawn with replacement, again and again. *stated* is the pooled variance of the cells of shared
tables over 1/(1/V + 1/V'), the precision-weighted variance of the two releases' own; *observed* is the
squared error of cells over the variance that is stated; *coverage* is that of 95 % intervals, of tables
that both surveys have and of those that only the successor has.

The table in docs/evolving.md is from here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from deniable import Release, Schema, Survey
from deniable.messages.report import ReportBatch

Pool = Callable[[list[Release]], Release]


@dataclass(frozen=True)
class Setting:
    """Real data, of which the last column is what the successor adds; ε and people of each survey."""

    name: str
    file: str
    columns: tuple[str, ...]
    epsilons: tuple[float, float]
    people: tuple[int, int]

    def read(self, folder: Path) -> pd.DataFrame:
        """Return the data, complete rows only."""
        return pq.read_table(folder / self.file, columns=list(self.columns)).to_pandas().dropna()

    def surveys(self, frame: pd.DataFrame) -> tuple[Survey, Survey]:
        """Return the survey, and the successor."""
        wide = Schema.from_frame(frame, values="observed")
        narrow = Schema(wide.attributes[:-1], observed=wide.observed)
        first = Survey(narrow, 2, self.epsilons[0])
        return first, Survey(wide, 2, self.epsilons[1], follows=first.id)


TAXI = ("CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip")
MSNBC = ("frontpage", "news", "tech", "local", "opinion", "on-air")
ADULT = ("workclass", "marital_status", "race", "sex", "income")
SETTINGS = (
    Setting("taxi", "taxi_2015_2019.parquet", TAXI, (log(3), log(3)), (4_000, 6_000)),
    Setting("taxi, ε raised", "taxi_2015_2019.parquet", TAXI, (log(3), 2.0), (6_000, 4_000)),
    Setting("MSNBC, ε of 3", "msnbc_bits.parquet", MSNBC, (log(3), 3.0), (12_000, 2_000)),
    Setting("Adult", "adult_categorical.parquet", ADULT, (log(3), log(3)), (20_000, 10_000)),
)


@dataclass(frozen=True)
class Result:
    """What came out: ratios of variances, and the coverage of shared and of added tables."""

    stated: float
    observed: float
    shared: float
    added: float


def releases(
    setting: Setting, frame: pd.DataFrame, repeats: int, seed: str
) -> Iterator[list[Release]]:
    """Yield releases of a survey and its successor, of other people each time."""
    surveys = setting.surveys(frame)
    random = np.random.default_rng(int.from_bytes(seed.encode()[:4], "big"))
    batches = []
    for number, (survey, people) in enumerate(zip(surveys, setting.people, strict=True)):
        rows = frame.iloc[random.integers(0, len(frame), repeats * people)]
        batches.append(survey.randomize(rows, f"{seed} {number}"))
    for repeat in range(repeats):
        both = []
        for survey, batch, people in zip(surveys, batches, setting.people, strict=True):
            own = slice(repeat * people, (repeat + 1) * people)
            part = ReportBatch(survey.id, batch.slots[own], batch.values[own], simulated=True)
            both.append(survey.tally(part, simulation=True).release())
        yield both


def measure(
    setting: Setting, folder: Path, repeats: int, pool: Pool = Release.pool, seed: str = "pooling"
) -> Result:
    """Return how well pooled tables do what they state."""
    frame = setting.read(folder)
    tables = [*((name,) for name in setting.columns), *combinations(setting.columns, 2)]
    schema = setting.surveys(frame)[1].schema
    truth = {names: _shares(frame, schema, names) for names in tables}
    stated, errors, hits = [], [], {True: [], False: []}
    for both in releases(setting, frame, repeats, seed):
        pooled, own = _tables(pool(both)), [_tables(each) for each in both]
        for names, (values, variance) in pooled.items():
            off, is_shared = (values - truth[names]) ** 2 / variance, names in own[0]
            hits[is_shared].append((off < 1.96**2).mean())
            if is_shared:
                errors.append(off.mean())
                precision = sum(1 / tables[names][1] for tables in own)
                stated.append((variance * precision).mean())
    return Result(*(float(np.mean(each)) for each in (stated, errors, hits[True], hits[False])))


def _tables(release: Release) -> dict[tuple[str, ...], tuple[Any, Any]]:
    """Return the cells of all tables, and their variances."""
    every = (table for order in (1, 2) for table in release.marginals(order))
    return {t.names: (t.values.ravel(), t.standard_error.ravel() ** 2) for t in every}


def _shares(frame: pd.DataFrame, schema: Schema, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return the cells of a table among all of the data."""
    codes, size = np.zeros(len(frame), np.int64), 1
    for name in names:
        attribute = schema.attributes[schema.index(name)]
        place = {value: code for code, value in enumerate(attribute.values)}
        codes = codes * attribute.size + frame[name].map(place).to_numpy(np.int64)
        size *= attribute.size
    return np.bincount(codes, minlength=size) / len(frame)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    print("| data | ε | people | stated | observed | coverage, shared | coverage, added |")
    print("|-|-|-|-|-|-|-|")
    for each in SETTINGS:
        own = measure(each, options.data, options.repeats)
        epsilons = ", then ".join(f"{epsilon:.2g}" for epsilon in each.epsilons)
        people = " + ".join(f"{count:,}" for count in each.people)
        print(
            f"| {each.name} | {epsilons} | {people} | {own.stated:.3f} | {own.observed:.3f} | "
            f"{own.shared:.3f} | {own.added:.3f} |"
        )


if __name__ == "__main__":
    main()
