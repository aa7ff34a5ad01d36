"""Measure regressions on real data: `python scripts/measure_regression.py FOLDER --only coverage`.

FOLDER holds msnbc_bits.parquet, movielens_ml32m_12773users.parquet, taxi_2015_2019.parquet,
adult_categorical.parquet and gss_wages.parquet (see its README); what is not there is skipped, and said.
Parts, each a table in Markdown:

- `coverage`: bias, coverage and refusals of least squares and logistic regression, of many surveys of
  people drawn with replacement; the truth is the same regression on all records;
- `estimand`: what logistic regression tends to as noise goes away, against that on the records;
- `rule`: coverage by how large noise is, with nothing refused: what the rule of refusal is made of;
- `speed`: seconds for 20 predictors of 60 attributes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from deniable import Attribute, Release, Schema, Survey
from deniable.analysis.formula import read_formula
from deniable.analysis.regression import regress, stability
from deniable.analysis.regression.columns import columns_of, outcome_of
from deniable.analysis.regression.moments import Moments
from deniable.errors import TableError
from deniable.lab.datasets import load
from deniable.lab.simulate import Crowd, count_crowd
from deniable.questions.entropy import Key


class Data(NamedTuple):
    """Records, what they may hold, and what is fitted."""

    frame: pd.DataFrame
    schema: Schema
    formula: str


def bits(path: Path, columns: int, outcome: str, predictors: str) -> Data:
    frame = pd.read_parquet(path).astype(bool)
    others = [name for name in frame if name not in {outcome, *predictors.split()}]
    names = [outcome, *predictors.split(), *others][:columns]
    terms = " + ".join(f"`{name}`" for name in predictors.split())
    return Data(frame[names], Schema.binary(*names), f"`{outcome}` ~ {terms}")


def msnbc(folder: Path) -> Data:
    path = folder / "msnbc_bits.parquet"
    return bits(path, 15, "news", "frontpage tech local on-air misc weather")


def rare(folder: Path) -> Data:
    """The same, with predictors that few people have."""
    path = folder / "msnbc_bits.parquet"
    return bits(path, 15, "frontpage", "news tech local opinion on-air misc")


def movielens(folder: Path) -> Data:
    path = folder / "movielens_ml32m_12773users.parquet"
    return bits(path, 15, "Children", "Horror Musical Documentary War Western Mystery")


def taxi(folder: Path) -> Data:
    frame = pd.read_parquet(folder / "taxi_2015_2019.parquet")
    names = ["Tip", "CC", "Toll", "Far", "Night_pick", "M_pick", "M_drop", "Night_drop"]
    return Data(
        frame.loc[frame["year"] <= 2016, names].astype(bool),
        Schema.binary(*names),
        "Tip ~ CC + Toll + Far + Night_pick + M_pick + M_drop",
    )


def abortion(folder: Path) -> Data:
    """Opinions that are about as common as not; the data come with the package."""
    frame = load("abortion")
    terms = [
        "legal_if_defect",
        "legal_if_no_more",
        "legal_if_single",
        "female",
        "college",
        "over_50",
    ]
    return Data(
        frame,
        Schema.binary(*frame),
        f"legal_if_poor ~ {' + '.join(terms[:1] + terms[2:])} + democrat",
    )


def wages(folder: Path) -> Data:
    """Numbers, words and a truth: what explains marriage, or income."""
    frame = pd.read_parquet(folder / "gss_wages.parquet")
    frame = frame.assign(married=frame["maritalcat"] == "Married")
    words = ("gender", "educcat")
    schema = Schema(
        (
            Attribute("realrinc", low=0, high=100_000, step=1_000),
            Attribute("age", low=18, high=90, step=1),
            Attribute("prestg10", low=15, high=80, step=1),
            Attribute("married"),
            *(Attribute(name, tuple(sorted(frame[name].unique()))) for name in words),
        )
    )
    frame = frame[list(schema.names)]
    return Data(
        frame, schema, "realrinc ~ age/10 + (age/10)^2 + prestg10 + married + gender + educcat"
    )


def marriage(folder: Path) -> Data:
    frame, schema, _ = wages(folder)
    return Data(frame, schema, "married ~ age/10 + realrinc/1000 + gender")


DATA: dict[str, Callable[[Path], Data]] = {
    each.__name__: each for each in (msnbc, rare, movielens, taxi, abortion, wages, marriage)
}


def design(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the outcome of all records, in the units written."""
    survey = Survey(data.schema, 2, 1.0)
    formula = read_formula(data.formula)
    columns, outcome = columns_of(survey, formula), outcome_of(survey, formula.outcome)
    records = data.schema.encode_frame(data.frame)

    def values(column: Any) -> np.ndarray:
        parts = [f[data.schema.codes(records, a)] for a, f in column.functions.items()]
        return column.scale * np.prod([np.ones(len(records)), *parts], axis=0) + column.shift

    x = np.column_stack([values(column) for column in columns])
    return x, values(outcome.column)


def of_records(data: Data, kind: str) -> np.ndarray:
    """Return the regression on all records."""
    x, y = design(data)
    if kind == "linear":
        return np.linalg.lstsq(x, y, rcond=None)[0]
    size = np.abs(x).max(axis=0)
    x, slopes = x / size, np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ slopes))
        slopes += np.linalg.solve((x * (chance * (1 - chance))[:, None]).T @ x, x.T @ (y - chance))
    return slopes / size


def kinds_of(data: Data) -> tuple[str, ...]:
    survey = Survey(data.schema, 2, 1.0)
    is_truth = outcome_of(survey, read_formula(data.formula).outcome).is_truth
    return ("linear", "logistic") if is_truth else ("linear",)


class Runs:
    """Many surveys of people drawn from one set of records."""

    def __init__(self, name: str, data: Data, epsilon: float, people: int) -> None:
        self.name, self.data, self.people = name, data, people
        self.survey = Survey(data.schema, 2, epsilon, people=people)
        self.records = data.schema.encode_frame(data.frame)

    def release(self, turn: int) -> Release:
        key = Key.of(f"regression {self.name} {self.survey.epsilon} {turn}")
        return count_crowd(self.survey, Crowd(self.records, self.people, key), key).release()

    def fits(self, kinds: tuple[str, ...], runs: range) -> dict[str, list[Any]]:
        """Return what was fitted, by kind: None where it was refused."""
        fits: dict[str, list[Any]] = {kind: [] for kind in kinds}
        for turn in runs:
            release = self.release(turn)
            for kind in kinds:
                try:
                    fits[kind].append(release.regress(self.data.formula, kind))
                except TableError:
                    fits[kind].append(None)
        return fits


def coverage(runs: dict[str, Data], epsilons: list[float], people: int, turns: range) -> None:
    heads = "data | ε | kind | surveys | refused | bias, standard errors: mean | most | its error"
    print(f"| {heads} | coverage, least and most | all |\n|{'-|' * 10}")
    for name, data in runs.items():
        truths = {kind: of_records(data, kind) for kind in kinds_of(data)}
        for epsilon in epsilons:
            every = Runs(name, data, epsilon, people).fits(tuple(truths), turns)
            for kind, fits in every.items():
                some = [fit for fit in fits if fit is not None]
                head = f"| {name} | {epsilon:g} | {kind} | {len(fits)} | {len(fits) - len(some)} |"
                if len(some) < 2:
                    print(f"{head} | | | | |", flush=True)
                    continue
                errors = np.array([fit.values - truths[kind] for fit in some])
                sizes = np.array([fit.standard_error for fit in some])
                holds = (np.abs(errors) <= 1.96 * sizes).mean(axis=0)
                typical = np.median(sizes, axis=0)
                bias = errors.mean(axis=0) / typical
                doubt = errors.std(axis=0) / typical / np.sqrt(len(some))
                own = f"{np.abs(bias).mean():.3f} | {np.abs(bias).max():.3f} | {doubt.max():.3f}"
                least, most = holds.min(), holds.max()
                text = f"{own} | {least:.3f}–{most:.3f} | {holds.mean():.3f}"
                print(f"{head} {text} |", flush=True)


def estimand(runs: dict[str, Data]) -> None:
    """Print how far the limit of logistic regression is from that on the records."""
    print(
        "| data | largest difference of a slope | in standard errors, ε = 4, 262,144 people |\n|-|-|-|"
    )
    for name, data in runs.items():
        if "logistic" not in kinds_of(data):
            continue
        truth = of_records(data, "logistic")
        limit = limit_of(data)
        off = np.abs(limit - truth)
        try:
            fit = Runs(name, data, 4.0, 1 << 18).release(0).regress(data.formula, "logistic")
        except TableError:
            print(f"| {name} | {off[1:].max():.4f} | refused |", flush=True)
            continue
        print(
            f"| {name} | {off[1:].max():.4f} | {(off / fit.standard_error).max():.3f} |", flush=True
        )


def limit_of(data: Data) -> np.ndarray:
    """Return the logistic regression of a release that knows all mean products of the records."""
    records = data.schema.encode_frame(data.frame)

    class Known(Moments):
        """The mean products of the records."""

        @cached_property
        def values(self) -> np.ndarray:
            return np.array([self.of_records(functions) for functions in self._products])

        def of_records(self, functions: Any) -> float:
            own = [f[data.schema.codes(records, a)] for a, f in functions.items()]
            return float(np.prod([np.ones(len(records)), *own], axis=0).mean())

        @cached_property
        def expected_covariance(self) -> np.ndarray:
            return 1e-12 * np.eye(len(self.pairs))

        def covariance(self, sums: np.ndarray) -> np.ndarray:
            return 1e-12 * np.eye(len(sums))

    release = Runs("limit", data, 4.0, 1 << 18).release(0)
    own, regress.Moments = regress.Moments, Known
    try:
        return release.regress(data.formula, "logistic").values
    finally:
        regress.Moments = own


def rule(runs: dict[str, Data], epsilons: list[float], people: list[int], turns: range) -> None:
    """Print coverage and error by the size of noise, where nothing is refused for it."""
    rows = []
    measure = stability.relative_noise
    levels: list[float] = []

    def recorded(*given: Any) -> float:
        levels.append(measure(*given))
        return levels[-1]

    stability.relative_noise, stability.MOST_NOISE = recorded, 1e9
    for name, data in runs.items():
        truths = {kind: of_records(data, kind) for kind in kinds_of(data)}
        for epsilon in epsilons:
            for count in people:
                survey = Runs(name, data, epsilon, count)
                for turn in turns:
                    release = survey.release(turn)
                    for kind, truth in truths.items():
                        levels.clear()
                        try:
                            fit = release.regress(data.formula, kind)
                        except TableError:
                            rows.append((kind, levels[0], np.nan, np.nan))
                            continue
                        scaled = (fit.values - truth) / fit.standard_error
                        rows.append(
                            (kind, levels[0], (np.abs(scaled) < 1.96).mean(), np.median(scaled**2))
                        )
    frame = pd.DataFrame(rows, columns=["kind", "noise", "coverage", "square"])
    edges = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.5, 2, 5, np.inf]
    frame["noise"] = pd.cut(frame["noise"], edges, include_lowest=True)
    table = frame.groupby(["kind", "noise"], observed=True).agg(
        surveys=("coverage", "size"),
        solved=("coverage", "count"),
        coverage=("coverage", "mean"),
        least=("square", "median"),
    )
    print(
        "| kind | noise | surveys | solved | coverage | median squared error over .455 |\n|-|-|-|-|-|-|"
    )
    for (kind, noise), row in table.iterrows():
        cells = (
            f"{row.surveys:.0f} | {row.solved:.0f} | {row.coverage:.3f} | {row.least / 0.455:.2f}"
        )
        print(f"| {kind} | {noise} | {cells} |")


def speed(people: int) -> None:
    """Print how long 20 predictors of 60 attributes take."""
    random = np.random.default_rng(0)
    base = random.random((people, 1)) - 0.5
    names = [f"a{i}" for i in range(60)]
    frame = pd.DataFrame(random.random((people, 60)) < 0.5 + 0.3 * base, columns=names)
    survey = Survey(Schema.binary(*names), 2, 6.0, people=people)
    tally = survey.tally(survey.randomize(frame, seed="speed"), simulation=True)
    formula = "a0 ~ " + " + ".join(names[1:21])
    for kind in ("linear", "logistic"):
        release = tally.release()
        began, work = time.perf_counter(), time.process_time()
        try:
            release.regress(formula, kind)
            what = "fitted"
        except TableError as error:
            what = str(error)
        seconds = (
            f"{time.perf_counter() - began:.2f} s ({time.process_time() - work:.2f} s of work)"
        )
        print(f"{kind}: {seconds}, {people:,} people, {what}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    every = ("coverage", "estimand", "rule", "speed")
    parser.add_argument("--only", nargs="*", default=list(every), choices=every)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=DATA)
    parser.add_argument("--runs", type=int, default=300, help="of each survey")
    parser.add_argument("--first", type=int, default=0, help="the first run's number: its seed")
    parser.add_argument("--people", type=int, nargs="*", default=[1 << 18])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.1, 2.0, 4.0])
    given = parser.parse_args()
    runs: dict[str, Data] = {}
    for name in given.data:
        try:
            runs[name] = DATA[name](given.folder)
        except FileNotFoundError as error:
            print(f"{name}: skipped, as there is no {Path(str(error.filename)).name}.")
    turns = range(given.first, given.first + given.runs)
    parts: dict[str, Callable[[], None]] = {
        "coverage": lambda: coverage(runs, given.epsilon, given.people[0], turns),
        "estimand": lambda: estimand(runs),
        "rule": lambda: rule(runs, given.epsilon, given.people, turns),
        "speed": lambda: speed(given.people[0]),
    }
    for name in given.only:
        began = time.perf_counter()
        print(f"\n{name}\n")
        parts[name]()
        print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
