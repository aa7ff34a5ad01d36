"""Measure trees and synthetic records, and print Markdown tables for docs/trees.md.

    python scripts/measure_tree.py [--draws 20] [--data FOLDER]

Known trees: in each draw people are drawn from another random tree. Recovered is the true mutual
information of the found tree's edges, as a share of the best tree's, both in the people's own records.
Real data: everybody in it answers once, or 2^18 people are drawn with replacement. About three minutes
on one core; the data stands beside the repository, in ../shared/data or where DENIABLE_SHARED_DATA says.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

from deniable import Schema, Survey, simulate
from deniable.analysis.records import codes_of, true_pairs
from deniable.lab.datasets import load
from deniable.survey.coefficients import all_tables

FOLDER = Path(os.environ.get("DENIABLE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
PEOPLE = 200_000
BINARY = (2,) * 10
CATEGORICAL = (3, 4, 5, 6, 3, 4, 5, 6)


def schema_of(sizes) -> Schema:
    """Return a schema of attributes a0, a1, … with two truth values, or the numbers from 0."""
    values = [[False, True] if size == 2 else list(range(size)) for size in sizes]
    return Schema.of(**{f"a{i}": each for i, each in enumerate(values)})


def known_tree(sizes, people: int, seed: int) -> tuple[pd.DataFrame, set[frozenset[str]]]:
    """Return records of a random tree, and its edges.

    Each attribute has an earlier one for a parent. Of two values, it is true with probability .1 to
    .4 or .5 to .9; of more, a quarter of people or more take what their parent points to.
    """
    random = np.random.default_rng(seed)
    columns = [random.integers(0, sizes[0], people)]
    edges = set()
    for child in range(1, len(sizes)):
        parent, size = int(random.integers(0, child)), sizes[child]
        edges.add(frozenset((f"a{parent}", f"a{child}")))
        held = columns[parent]
        if size == 2:
            likely = np.append(random.uniform(0.1, 0.4), random.uniform(0.5, 0.9))
            columns.append((random.random(people) < likely[held]).astype(np.int64))
        else:
            follow = random.random(people) < random.uniform(0.25, 0.6)
            pointed = random.permutation(max(size, sizes[parent]))[held] % size
            columns.append(np.where(follow, pointed, random.integers(0, size, people)))
    made = {f"a{i}": c.astype(bool) if sizes[i] == 2 else c for i, c in enumerate(columns)}
    return pd.DataFrame(made), edges


def independent(sizes, people: int, seed: int) -> pd.DataFrame:
    """Return records of attributes that have nothing to do with each other."""
    random = np.random.default_rng(seed)
    shares = [random.dirichlet(np.full(size, 2)) for size in sizes]
    columns = [random.choice(size, people, p=p) for size, p in zip(sizes, shares, strict=True)]
    made = {f"a{i}": c.astype(bool) if sizes[i] == 2 else c for i, c in enumerate(columns)}
    return pd.DataFrame(made)


def found_edges(tree) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in tree.edges[["a", "b"]].itertuples(index=False)}


def recovered(
    sizes, mechanism: str, epsilon: float, people: int, seed: int
) -> tuple[float, float, float]:
    """Return the share of the best tree's information, of true edges found, of a forest's in it."""
    frame, edges = known_tree(sizes, people, seed)
    survey = Survey(schema_of(sizes), 2, epsilon, mechanism)
    release = simulate(survey, frame, f"tree/{seed}")
    made, forest = release.tree(), release.tree(significant=True)
    return (
        made.total_mutual_information(frame).share,
        len(found_edges(made) & edges) / len(edges),
        len(found_edges(forest) & edges) / len(edges),
    )


def distances(synthetic: pd.DataFrame, frame: pd.DataFrame, schema: Schema) -> float:
    """Return the mean distance between the pairs' tables of two frames."""
    pairs = all_tables(len(schema), 2)
    both = (true_pairs(codes_of(schema, each), schema.sizes, pairs) for each in (synthetic, frame))
    return float(np.mean([np.abs(one - other).sum() / 2 for one, other in zip(*both, strict=True)]))


def known(draws: int) -> None:
    print("| attributes | ε | people | mechanism | information recovered | edges | significant |")
    print("|-|-|-|-|-|-|-|")
    cases = [(BINARY, 1.1, PEOPLE), (BINARY, 1.1, 20_000), (BINARY, 0.5, PEOPLE)]
    cases += [(CATEGORICAL, 3.0, PEOPLE), (CATEGORICAL, 1.1, PEOPLE)]
    for sizes, epsilon, people in cases:
        names = ("Subspace", "InpHT", "MargPS") if sizes == BINARY else ("Subspace", "InpES")
        for name in names:
            runs = [recovered(sizes, name, epsilon, people, seed) for seed in range(draws)]
            told, edges, kept = np.mean(runs, axis=0)
            said = f"{len(sizes)} of {min(sizes)}–{max(sizes)} values"
            print(
                f"| {said} | {epsilon} | {people:,} | {name} | {told:.3f} | {edges:.2f} | {kept:.2f} |"
            )


def chance(draws: int) -> None:
    """Print how often independent attributes give no edge at all."""
    for sizes, epsilon in ((BINARY, 1.1), (CATEGORICAL, 3.0)):
        survey = Survey(schema_of(sizes), 2, epsilon, "Subspace")
        none = 0
        for seed in range(5 * draws):
            release = simulate(survey, independent(sizes, 20_000, seed), f"free/{seed}")
            none += not len(release.tree(significant=True).edges)
        print(f"independent, {len(sizes)} attributes: no edge in {none} of {5 * draws} runs")


def real(folder: Path, draws: int) -> None:
    print("\n| data | tree of | information | log-likelihood | of the best | records' tables |")
    print("|-|-|-|-|-|-|")
    movies = pd.read_parquet(folder / "movielens_ml32m_12773users.parquet")
    movies = movies.drop(columns=["IMAX", "Film-Noir"]).iloc[:, :10].astype(bool)
    adult = pd.read_parquet(folder / "adult_categorical.parquet")
    data = {"abortion": load("abortion"), "MovieLens, 10": movies, "Adult": adult}
    for name, frame in data.items():
        runs = []
        for seed in range(draws):
            people = frame
            if name == "MovieLens, 10":
                people = frame.sample(1 << 18, replace=True, random_state=seed, ignore_index=True)
            runs.append(on_real_data(people, seed))
        for kind in runs[0]:
            told = np.mean([run[kind] for run in runs], axis=0)
            print(f"| {name} | {kind} | " + " | ".join(f"{t:.3f}" for t in told) + " |")


def on_real_data(frame: pd.DataFrame, seed: int) -> dict[str, list[float]]:
    """Return what trees have of the best one, and how far their records' tables are from people's.

    The last row has records of the model itself, which has no tree.
    """
    schema = Schema.from_frame(frame, values="observed")
    release = simulate(Survey(schema, 2, 1.1, "Subspace"), frame, f"real/{seed}")
    made = {"none": release.tree(), "none, significant": release.tree(significant=True)}
    made["joint"] = release.with_consistency("joint").tree()
    if schema.is_binary:
        made["model"] = release.with_consistency("model").tree()
    best = best_likelihood(frame, schema)
    found = {}
    for kind, tree in made.items():
        share, likelihood = tree.total_mutual_information(frame).share, tree.log_likelihood(frame)
        records = tree.sample(1 << 18, f"{seed}")
        found[kind] = [share, likelihood, best, distances(records, frame, schema)]
    if schema.is_binary:
        records = release.synthesise(1 << 18, method="model", seed=f"{seed}")
        found["(no tree: the model)"] = [np.nan] * 3 + [distances(records, frame, schema)]
    return found


def best_likelihood(frame: pd.DataFrame, schema: Schema) -> float:
    """Return the log-likelihood of the best tree: minus all entropies, plus what its edges share."""
    codes, sizes = codes_of(schema, frame), schema.sizes
    shares = [np.bincount(c, minlength=s) / len(c) for c, s in zip(codes, sizes, strict=True)]
    entropy = sum(-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares)
    release = simulate(Survey(schema, 2, 1.1, "Subspace"), frame.head(1000), "any")
    return release.tree().total_mutual_information(frame).best - float(entropy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--data", type=Path, default=FOLDER)
    given = parser.parse_args()
    known(given.draws)
    chance(given.draws)
    real(given.data, max(1, given.draws // 4))


if __name__ == "__main__":
    main()
