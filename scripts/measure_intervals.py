"""Measure how often intervals of what is built on estimates hold the truth.

    python scripts/measure_intervals.py model [--draws 30] [--attributes 8] [--data FOLDER]
    python scripts/measure_intervals.py mixed | conditional | thin | joint | above

*model*: tables of a model of yes/no attributes, also of three attributes from a survey of pairs.
*mixed*: tables and conditional tables of a model of attributes of many values. *conditional*: those of
joint tables. *thin*: unbiased tables of attributes of 42 values, at high ε. *joint*: in how many draws
joint tables lie further from the truth than unbiased ones. *above*: how strong interactions of three
attributes are on real data that no pairs explain. People are drawn with replacement from the data beside
the repository, in ../shared/data or where DENIABLE_SHARED_DATA says. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Release, Schema, Survey
from deniable.lab.datasets import load
from deniable.lab.simulate import Crowd, count_crowd, true_tables
from deniable.questions.entropy import Key
from deniable.release.model import Path as Flow
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Shared, all_tables, hadamard

FOLDER = Path(os.environ.get("DENIABLE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
TAXI = ["CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip"]
FEW = 1e-12
"""What rounding may do."""


def movielens(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "movielens_ml32m_12773users.parquet")
    return frame.drop(columns=["IMAX", "Film-Noir"]).iloc[:, :16].astype(bool)


def msnbc(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "msnbc_bits.parquet").iloc[:, :16].astype(bool)


def taxi(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "taxi_2015_2019.parquet")
    return frame.loc[frame["year"] <= 2018, TAXI].astype(bool)


def abortion(folder: Path) -> pd.DataFrame:
    return load("abortion").astype(bool)


def adult(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "adult_categorical.parquet").astype(str)


def wages(folder: Path) -> pd.DataFrame:
    """Return the General Social Survey's answers, numbers in five parts."""
    frame = pd.read_parquet(folder / "gss_wages.parquet")
    columns = {}
    for name in frame:
        column = frame[name]
        is_number = pd.api.types.is_numeric_dtype(column) and column.nunique() > 8
        columns[name] = pd.qcut(column, 5, duplicates="drop") if is_number else column
    return pd.DataFrame(columns).astype(str)


def yes_or_no(frame: pd.DataFrame) -> pd.DataFrame:
    """Return whether each attribute has its commonest value."""
    commonest = {name: frame[name].mode()[0] for name in frame}
    return pd.DataFrame({name: frame[name] == value for name, value in commonest.items()})


YES_NO = {
    "MSNBC": msnbc,
    "MovieLens": movielens,
    "taxi": taxi,
    "abortion": abortion,
    "adult, yes/no": lambda folder: yes_or_no(adult(folder)),
    "wages, yes/no": lambda folder: yes_or_no(wages(folder)),
}
MANY = {"adult": adult, "wages": wages}
SETTINGS = [(e, n) for e in (1.1, 2.0, 4.0) for n in (2_000, 50_000, 1 << 18)]


class Score:
    """How many intervals held the truth, how wide they were, and how wide unbiased ones are."""

    def __init__(self) -> None:
        self.holds: list[np.ndarray] = []
        self.narrow: list[np.ndarray] = []
        self.widths: list[float] = []

    def add(
        self, interval: np.ndarray, truth: np.ndarray, error: np.ndarray, raw: float = 0
    ) -> None:
        low, high = interval
        is_there = np.isfinite(error)
        self.holds.append(((low <= truth + FEW) & (truth - FEW <= high))[is_there])
        self.narrow.append(((high - low) < error / 10)[is_there])
        self.widths.append(float((high - low).mean()) / raw if raw else math.nan)

    def __str__(self) -> str:
        return f"{np.concatenate(self.holds).mean():.3f}" if self.holds else ""

    @property
    def width(self) -> str:
        return f"{np.mean(self.widths):.2f}" if self.widths else ""

    @property
    def narrowest(self) -> str:
        return f"{np.concatenate(self.narrow).sum()}"


def schema_of(frame: pd.DataFrame) -> Schema:
    if all(pd.api.types.is_bool_dtype(dtype) for dtype in frame.dtypes):
        return Schema.from_frame(frame)
    return Schema.of(**{name: sorted(frame[name].unique()) for name in frame})


def truths(frame: pd.DataFrame, schema: Schema, size: int) -> dict[tuple[str, ...], np.ndarray]:
    """Return the population's own tables of so many attributes."""
    records, names = schema.encode_frame(frame), np.array(schema.names)
    tables = all_tables(len(schema), size)
    cells: dict[tuple[str, ...], np.ndarray] = {}
    for row in tables:
        sizes = [schema.sizes[a] for a in row]
        cells[tuple(names[row])] = true_tables(schema, records, row[None, :])[0].reshape(sizes)
    return cells


def releases(
    frame: pd.DataFrame,
    people: int,
    epsilon: float,
    draws: int,
    consistency: str,
    aim: str = "tables",
) -> Iterator[tuple[Release, Release]]:
    """Yield releases of surveys of so many people, and the same before anything was done to them."""
    schema = schema_of(frame)
    survey = Survey(schema, 2, epsilon, "Subspace", aim=aim, people=people)
    records = schema.encode_frame(frame)
    for turn in range(draws):
        crowd = Crowd(records, people, Key.of(f"intervals {turn}"))
        release = count_crowd(survey, crowd, Key.of(f"noise {turn}")).release(consistency)
        yield release, release.unprocessed


def model(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the coverage of tables of a model of yes/no attributes."""
    frame = YES_NO[name](arguments.data).iloc[:, : arguments.attributes]
    tables = {size: truths(frame, schema_of(frame), size) for size in (1, 2, 3)}
    for epsilon, people in arguments.settings:
        scores = {size: Score() for size in tables}
        modelled = 0
        every = releases(frame, people, epsilon, arguments.draws, arguments.consistency)
        for release, raw in every:
            modelled += release.applied == "model"
            for size, own in tables.items():
                if size > 2 and release.applied != "model":
                    continue
                for table in release.marginals(size):
                    truth, width = own[table.names], 0.0
                    if size < 3:
                        width = float(np.diff(raw.marginal(*table.names).interval(), axis=0).mean())
                    scores[size].add(table.interval(), truth, table.standard_error, width)
        cells = " | ".join(str(score) for score in scores.values())
        yield (
            f"| {name}, {len(frame.columns)} | {epsilon} | {people:,} | {cells} | {scores[2].width} "
            f"| {modelled}/{arguments.draws} |"
        )


def mixed(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    yield from _tables_and_conditionals(name, arguments, "model")


def conditional(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    yield from _tables_and_conditionals(name, arguments, "joint")


def _tables_and_conditionals(
    name: str, arguments: argparse.Namespace, consistency: str
) -> Iterator[str]:
    """Yield the coverage of pairs, of shares given another attribute, and how many are too narrow."""
    source = MANY.get(name) or YES_NO[name]
    frame = source(arguments.data).iloc[:, : arguments.attributes]
    tables = truths(frame, schema_of(frame), 2)
    for epsilon, people in arguments.settings:
        pairs, large, given = Score(), Score(), Score()
        for release, raw in releases(frame, people, epsilon, arguments.draws, consistency):
            for names, truth in tables.items():
                table = release.marginal(*names)
                width = float(np.diff(raw.marginal(*names).interval(), axis=0).mean())
                interval, error = table.interval(), table.standard_error
                pairs.add(interval, truth, error, width)
                is_large = truth >= 0.01
                large.add(interval[:, is_large], truth[is_large], error[is_large])
                for target, other, share in ((*names[::-1], truth), (*names, truth.T)):
                    shares = release.conditional(target, given=other)
                    rows = share.sum(axis=1, keepdims=True)
                    conditional_truth = np.divide(
                        share, rows, out=np.zeros_like(share), where=rows > 0
                    )
                    is_there = (rows > 0) & np.ones_like(share, bool)
                    given.add(
                        shares.interval()[:, is_there],
                        conditional_truth[is_there],
                        shares.standard_error[is_there],
                    )
        yield (
            f"| {name} | {epsilon} | {people:,} | {pairs} | {large} | {pairs.width} | {given} "
            f"| {pairs.narrowest} | {given.narrowest} |"
        )


def uneven(sizes: tuple[int, ...], strength: float = 0.5) -> pd.DataFrame:
    """Return a million people with attributes of few common values, that depend on each other."""
    random = np.random.default_rng(42)
    pull, columns = random.random(1_000_000), {}
    for i, size in enumerate(sizes):
        own = np.where(random.random(len(pull)) < strength, pull, random.random(len(pull)))
        columns[f"a{i}"] = (size * own**4).astype(int).astype(str)
    return pd.DataFrame(columns)


def kinds(sizes: tuple[int, ...], count: int = 3) -> pd.DataFrame:
    """Return a million people of so few kinds that nearly all cells of their tables are empty."""
    random = np.random.default_rng(7)
    of = random.choice(count, 1_000_000, p=random.dirichlet(np.ones(count)))
    columns = {
        f"a{i}": np.append(random.integers(0, size, count), range(size))
        for i, size in enumerate(sizes)
    }
    # One person of each value, so that all are declared.
    most = max(sizes)
    rows = {name: np.append(own[of], np.resize(own[count:], most)) for name, own in columns.items()}
    return pd.DataFrame({name: own.astype(str) for name, own in rows.items()})


def thin(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the coverage of unbiased tables whose coefficients hardly anybody was asked about."""
    sizes = () if name in MANY else tuple(map(int, name.split(", ")))
    frame = uneven(sizes) if sizes else MANY[name](arguments.data)
    tables = {size: truths(frame, schema_of(frame), size) for size in (1, 2)}
    for epsilon, people in arguments.settings:
        scores = {(size, part): Score() for size in tables for part in ("every", "large")}
        every = releases(frame, people, epsilon, arguments.draws, "none", arguments.aim)
        for release, _ in every:
            for size, own in tables.items():
                for names, truth in own.items():
                    table = release.marginal(*names)
                    interval, error = table.interval(), table.standard_error
                    scores[size, "every"].add(interval, truth, error)
                    some = truth >= 0.1
                    scores[size, "large"].add(interval[:, some], truth[some], error[some])
        cells = " | ".join(str(score) for score in scores.values())
        yield f"| {name} | {epsilon} | {people:,} | {cells} |"


def joint(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield in how many draws joint tables were further from the truth, and their error over it."""
    made_up = {
        "sparse": partial(uneven, (12, 9, 8, 6), 0.9),
        "kinds": partial(kinds, (12, 9, 8, 6)),
    }
    frame = MANY[name](arguments.data) if name in MANY else made_up[name]()
    schema = schema_of(frame)
    every = all_tables(len(schema), 2)
    tables = truths(frame, schema, 2)
    singles = truths(frame, schema, 1)
    for epsilon, people in arguments.settings:
        ratios, distances, alone = [], [], []
        for release, raw in releases(frame, people, epsilon, arguments.draws, "joint"):
            before = {names: raw.marginal(*names).values - own for names, own in tables.items()}
            after = {names: release.marginal(*names).values - own for names, own in tables.items()}
            squares = [sum((off**2).sum() for off in offs.values()) for offs in (after, before)]
            ratios.append(squares[0] / squares[1])
            distances.append(np.mean([abs(off).sum() / 2 for off in after.values()]))
            offs = [release.marginal(*names).values - own for names, own in singles.items()]
            alone.append(np.mean([abs(off).sum() / 2 for off in offs]))
        worse = sum(ratio > 1 for ratio in ratios)
        yield (
            f"| {name}, {len(every)} pairs | {epsilon} | {people:,} | {worse}/{arguments.draws} "
            f"| {max(ratios) ** 0.5:.2f} | {np.mean(distances):.3f} | {np.mean(alone):.3f} |"
        )


def above(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield how strong pairs are, and interactions of three that the flattest joint leaves over."""
    frame = YES_NO[name](arguments.data)
    for begin in range(0, len(frame.columns), 8):
        part = frame.iloc[:, begin : begin + 8]
        attributes = len(part.columns)
        if attributes < 3:
            continue
        theta = {}
        for size in (1, 2, 3):
            cells = np.stack([t.ravel() for t in truths(part, schema_of(part), size).values()])
            theta[size] = hadamard(cells)[:, -1]
        numbering = Shared(attributes, 2)
        exact = np.full(numbering.size, 1e-7)
        both = np.concatenate((theta[1], theta[2]))
        flow = Flow(Measurements(numbering, both, exact, np.ones(numbering.size)))
        for _ in range(60):
            flow.advance()
        triples, pairs = all_tables(attributes, 3), all_tables(attributes, 2)
        flattest = hadamard(flow.distribution.tables(triples))[:, -1]
        uneven_share = np.sqrt((1 - theta[1] ** 2).clip(1e-12))
        rest = (theta[3] - flattest) / uneven_share[triples].prod(axis=1)
        central = theta[2] - theta[1][pairs].prod(axis=1)
        correlation = central / uneven_share[pairs].prod(axis=1)
        sizes = " | ".join(f"{math.sqrt((each**2).mean()):.3f}" for each in (correlation, rest))
        yield f"| {name}, {begin + 1}–{begin + attributes} | {sizes} |"


_OF_TABLES = ["1-way", "2-way", "3-way", "width ÷ unbiased", "modelled"]
_OF_SHARES = ["pairs", "cells from 1 %", "width ÷ unbiased", "shares given another attribute"]
_OF_SHARES += ["too narrow", "too narrow given another"]
_FEW_SETTINGS = [(1.1, 50_000), (4.0, 2_000), (1.1, 1 << 18)]

PARTS = {
    "model": (model, list(YES_NO), _OF_TABLES, SETTINGS),
    "mixed": (mixed, list(MANY), _OF_SHARES, _FEW_SETTINGS),
    "conditional": (conditional, [*MANY, "taxi", "MSNBC"], _OF_SHARES, _FEW_SETTINGS),
    "thin": (
        thin,
        ["42, 42, 42, 42", "42, 16, 7, 2", "adult"],
        ["1-way", "1-way from 10 %", "2-way", "2-way from 10 %"],
        [(4.0, 500), (4.0, 2_000), (2.0, 500), (1.1, 2_000), (4.0, 50_000)],
    ),
    "joint": (
        joint,
        [*MANY, "sparse", "kinds"],
        ["worse draws", "worst ÷ unbiased", "mean distance of pairs", "of single attributes"],
        [(1.1, 500), (1.1, 10_000), (4.0, 500), (4.0, 10_000), (1.1, 1 << 18)],
    ),
    "above": (above, list(YES_NO), ["correlations", "beyond pairs"], []),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("part", choices=[*PARTS])
    options.add_argument("--draws", type=int, default=30)
    options.add_argument("--attributes", type=int, default=8)
    options.add_argument("--consistency", default="model")
    options.add_argument("--aim", default="tables")
    options.add_argument("--data", type=Path, default=FOLDER)
    options.add_argument("--only", nargs="*")
    options.add_argument("--settings", nargs="*", help="such as 4:2000 1.1:50000")
    arguments = options.parse_args()
    measure, names, heads, settings = PARTS[arguments.part]
    pairs = [text.split(":") for text in arguments.settings or []]
    arguments.settings = [(float(e), int(n)) for e, n in pairs] or settings
    first = ["data", "ε", "people"] if settings else ["data"]
    print(f"| {' | '.join(first + heads)} |")
    print("|-" * len(first + heads) + "|")
    for name in arguments.only or names:
        for line in measure(name, arguments):
            print(line, flush=True)


if __name__ == "__main__":
    main()
