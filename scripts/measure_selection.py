"""Measure what is picked from many: associations, differences, null surveys, and test beside interval.

    python scripts/measure_selection.py [FILE ...] [--surveys 20] [--only shown,null,agree,differences]

FILEs are .csv or .parquet tables of few values; numbers of many are cut into fifths. Beside them are the
built-in sets and a made-up one of many yes/no attributes that hardly depend on each other. Each survey
draws its people anew, with replacement, so the file's own tables are the truth.

*shown*: of the pairs with a q-value up to 0.1, how many there are in a survey, which share of their
95 % intervals misses the true V (beside it, that of intervals which hold for each pair by itself), the
first five likewise, and how many times too large V and mutual information are, on average over those
shown and over all pairs. *null*: surveys of independent columns that have a discovery at all, and how
often a test has p < .05 and p < .0001. *agree*: pairs where the interval of a pair by itself begins
above 0 though p ≥ .05, or the other way round. *differences*: two groups, which differ in a few of many
attributes by some points; of the tables with a q-value up to 0.1, the same as of pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable import Schema, Survey, simulate
from deniable.api.release import Release
from deniable.lab.datasets import load
from deniable.lab.simulate import Crowd, count_crowd
from deniable.questions.entropy import Key
from deniable.release.dependence.information import mutual_information

SHOWN, LEVEL = 0.1, 0.95
MOST_VALUES = 12


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Return yes/no columns and columns of few words."""
    columns = {}
    for name, column in frame.dropna().items():
        values = set(column.unique())
        if values <= {False, True}:
            columns[name] = column.astype(bool)
        elif pd.api.types.is_numeric_dtype(column) and len(values) > MOST_VALUES:
            cuts = np.unique(np.quantile(column, [0.2, 0.4, 0.6, 0.8]))
            columns[name] = pd.Series(np.searchsorted(cuts, column).astype(str), column.index)
        else:
            columns[name] = column.astype(str)
    return pd.DataFrame(columns)


def made_up(attributes: int, people: int = 100_000, weakest: float = 0.02) -> pd.DataFrame:
    """Return yes/no attributes, some rare, that depend on each other a little."""
    random = np.random.default_rng(7)
    shares = np.exp(random.uniform(np.log(weakest), np.log(0.5), attributes))
    loads = random.normal(size=(3, attributes)) * random.exponential(0.2, attributes)
    rest = np.sqrt((1 - (loads**2).sum(axis=0)).clip(0.1, None))
    noise = random.normal(size=(people, attributes)) * rest
    scores = random.normal(size=(people, 3)) @ loads + noise
    cuts = [np.quantile(column, share) for column, share in zip(scores.T, shares, strict=True)]
    return pd.DataFrame(scores < np.array(cuts), columns=[f"a{i}" for i in range(attributes)])


def schema_of(frame: pd.DataFrame) -> Schema:
    """Return the schema of a tidy frame."""
    if all(pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes):
        return Schema.binary(*frame.columns)
    values = {n: [False, True] if frame[n].dtype == bool else sorted(set(frame[n])) for n in frame}
    return Schema.of(**values)


def truth_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the true V and mutual information of each pair."""
    codes = {name: pd.factorize(frame[name], sort=True)[0] for name in frame}
    sizes = {name: int(code.max()) + 1 for name, code in codes.items()}
    rows = []
    for a, b in combinations(frame.columns, 2):
        cells = np.bincount(codes[a] * sizes[b] + codes[b], minlength=sizes[a] * sizes[b])
        table = cells.reshape(sizes[a], sizes[b]) / len(frame)
        alone = np.outer(table.sum(axis=1), table.sum(axis=0))
        v = np.sqrt(((table - alone) ** 2 / alone).sum() / (min(table.shape) - 1))
        rows.append((a, b, v, mutual_information(table[None])[0]))
    return pd.DataFrame(rows, columns=["a", "b", "v", "nats"])


def survey_people(survey: Survey, frame: pd.DataFrame, people: int, seed: str) -> Release:
    """Ask so many people, drawn with replacement."""
    key = Key.of(seed)
    crowd = Crowd(survey.schema.encode_frame(frame), people, Key.of(f"{seed}/people"))
    return count_crowd(survey, crowd, key).release()


def associations(
    frame: pd.DataFrame, people: int, epsilon: float, surveys: int, mechanism: str = "auto"
) -> Iterator[pd.DataFrame]:
    """Yield the associations of one survey after another, with the truth and plain intervals."""
    truth = truth_of(frame).set_index(["a", "b"])
    survey = Survey(schema_of(frame), 2, epsilon, mechanism)
    for turn in range(surveys):
        release = survey_people(survey, frame, people, f"{people}/{epsilon}/{turn}")
        own, plain = (release.associations(select=each) for each in (None, 1))
        ends = plain[["cramers_v_low", "cramers_v_high"]].set_axis(["low", "high"], axis=1)
        yield own.join(ends).join(truth, on=["a", "b"]).assign(turn=turn, row=np.arange(len(own)))


def misses(rows: pd.DataFrame, low: str, high: str, truth: str = "v") -> float:
    """Return the share of intervals that miss."""
    held = rows[truth].between(rows[low] - 1e-9, rows[high] + 1e-9)
    return 1 - float(held.mean()) if len(rows) else float("nan")


def summary(found: pd.DataFrame) -> dict[str, float]:
    """Return what is said of pairs that are shown."""
    shown, first = found[found["q_value"] <= SHOWN], found[found["row"] < 5]
    ends = "cramers_v_low", "cramers_v_high"
    ratio = [
        part[own].sum() / part[true].sum() if len(part) else float("nan")
        for own, true in (("cramers_v", "v"), ("mutual_information", "nats"))
        for part in (shown, found)
    ]
    return {
        "pairs": len(found) / found["turn"].nunique(),
        "shown": len(shown) / found["turn"].nunique(),
        "missed": misses(shown, *ends),
        "plain": misses(shown, "low", "high"),
        "first": misses(first, *ends),
        "first_plain": misses(first, "low", "high"),
        **dict(zip(("v", "v_all", "nats", "nats_all"), ratio, strict=True)),
        "disagree": int(((found["low"] > 0) != (found["p_value"] < 1 - LEVEL)).sum()),
    }


def null_tests(
    frame: pd.DataFrame, people: int, epsilon: float, surveys: int, mechanism: str = "auto"
) -> pd.DataFrame:
    """Return the tests of surveys in which every column is drawn by itself."""
    random, parts = np.random.default_rng(3), []
    survey = Survey(schema_of(frame), 2, epsilon, mechanism)
    for turn in range(surveys):
        rows = random.integers(0, len(frame), (people, len(frame.columns)))
        columns = {n: frame[n].to_numpy()[row] for n, row in zip(frame, rows.T, strict=True)}
        release = simulate(survey, pd.DataFrame(columns), seed=f"null/{turn}")
        parts.append(release.associations()[["p_value", "q_value"]].assign(turn=turn))
    return pd.concat(parts)


def discoveries(found: pd.DataFrame) -> float:
    """Return the share of surveys with a discovery."""
    return float(found.groupby("turn")["q_value"].min().le(SHOWN).mean())


def differences(people: int, epsilon: float, surveys: int, attributes: int = 60) -> pd.DataFrame:
    """Return the tests of each attribute between two groups, with the true differences."""
    random, parts = np.random.default_rng(5), []
    shares = random.uniform(0.1, 0.9, attributes)
    gaps = np.where(np.arange(attributes) < attributes // 6, 0.05, 0.0)
    names = [f"a{i}" for i in range(attributes)]
    survey = Survey(Schema.binary(*names), 1, epsilon)
    for turn in range(surveys):
        groups = []
        for side, own in enumerate((shares + gaps / 2, shares - gaps / 2)):
            answers = random.random((people, attributes)) < own
            frame = pa.table(dict(zip(names, answers.T, strict=True)))
            groups.append(simulate(survey, frame, seed=f"{side}/{turn}"))
        rows = groups[0].differences(groups[1])
        error = (rows["high"] - rows["low"]) / 2 / normal_reach(rows["interval_level"])
        middle, reach = (rows["high"] + rows["low"]) / 2, error * normal_reach(LEVEL)
        true = rows["attribute_1"].map(dict(zip(names, gaps, strict=True)))
        plain = {"plain_low": middle - reach, "plain_high": middle + reach, "measured": middle}
        parts.append(rows.assign(turn=turn, true=true, **plain))
    return pd.concat(parts)


def normal_reach(level: float | pd.Series) -> np.ndarray:
    """Return how many standard errors an interval of this level spans to either side."""
    from scipy import special

    return special.ndtri((1 + np.asarray(level)) / 2)


def print_shown(
    name: str, frame: pd.DataFrame, surveys: int, sizes: list[tuple[int, float]]
) -> int:
    """Print the rows of a set; return how many pairs disagree with their test."""
    disagreements = 0
    for people, epsilon in sizes:
        each = summary(pd.concat(associations(frame, people, epsilon, surveys)))
        disagreements += each["disagree"]
        print(
            f"| {name} | {len(frame.columns)} | {people:,} | {epsilon:g} | {each['pairs']:,.0f} "
            f"| {each['shown']:.1f} | {each['missed']:.3f} ({each['plain']:.3f}) "
            f"| {each['first']:.3f} ({each['first_plain']:.3f}) | {each['v']:.2f} "
            f"| {each['nats']:.2f} | {each['nats_all']:.2f} |",
            flush=True,
        )
    return disagreements


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("files", nargs="*", type=Path)
    options.add_argument("--surveys", type=int, default=20)
    options.add_argument("--only", default="shown,null,agree,differences")
    options.add_argument("--attributes", type=int, default=200, help="of the made-up set; 0: none")
    asked = options.parse_args()
    parts = asked.only.split(",")
    frames = {path.stem: tidy(load(str(path))) for path in asked.files}
    frames |= {name: tidy(load(name)) for name in ("abortion", "flights")}
    if "shown" in parts or "agree" in parts:
        print(
            "| data | attributes | N | ε | pairs | shown | miss | of the first 5 | V | nats | all |"
        )
        print("|-|-|-|-|-|-|-|-|-|-|-|")
        sizes = [(1_000, 4.0), (20_000, 2.0), (200_000, 1.1)]
        wrong = sum(print_shown(name, each, asked.surveys, sizes) for name, each in frames.items())
        if asked.attributes:
            wide, few = made_up(asked.attributes), max(2, asked.surveys // 10)
            wrong += print_shown("made up", wide, few, [(1_000_000, 4.0), (5_000_000, 2.0)])
        print(f"\nPairs whose test and interval disagree: {wrong}\n")
    if "null" in parts:
        print("| data | N | ε | mechanism | discovery | p < .05 | p < .0001 |\n|-|-|-|-|-|-|-|")
        for name, each in (frames | {"made up": made_up(10, weakest=0.1)}).items():
            for people, epsilon, mechanism in ((500, 4.0, "auto"), (500, 4.0, "InpHT")):
                tests = null_tests(each, people, epsilon, 4 * asked.surveys, mechanism)
                p = tests["p_value"]
                print(
                    f"| {name} | {people} | {epsilon:g} | {mechanism} | {discoveries(tests):.3f} "
                    f"| {(p < 0.05).mean():.3f} | {(p < 1e-4).mean():.5f} |",
                    flush=True,
                )
    if "differences" in parts:
        print("\n| N of each | ε | shown | miss | difference |\n|-|-|-|-|-|")
        for people, epsilon in ((10_000, 1.1), (10_000, 4.0), (100_000, 1.1)):
            rows = differences(people, epsilon, asked.surveys)
            shown = rows[rows["q_value"] <= SHOWN]
            if shown.empty:
                continue
            plain = misses(shown, "plain_low", "plain_high", "true")
            print(
                f"| {people:,} | {epsilon:g} | {len(shown) / asked.surveys:.1f} "
                f"| {misses(shown, 'low', 'high', 'true'):.3f} ({plain:.3f}) "
                f"| {shown['difference'].abs().sum() / shown['true'].abs().sum():.2f} "
                f"({shown['measured'].abs().sum() / shown['true'].abs().sum():.2f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
