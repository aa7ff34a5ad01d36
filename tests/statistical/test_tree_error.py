"""Trees on data whose tree is known, with fewer draws than scripts/measure_tree.py.

Seeds are fixed. Bounds are the project's promises; each check is shown to catch a planted bug.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from script_parts import load_script

from deniable import Schema, Survey, simulate
from deniable.analysis.dependence import dependence
from deniable.analysis.records import codes_of, true_pairs
from deniable.release.dependence import information as inside
from deniable.survey.coefficients import all_tables

script = cache(partial(load_script, "measure_tree"))
DRAWS = 4


def recovered(sizes, mechanism: str, epsilon: float, people: int) -> np.ndarray:
    runs = [script().recovered(sizes, mechanism, epsilon, people, seed) for seed in range(DRAWS)]
    return np.mean(runs, axis=0)


def test_a_known_tree_is_recovered():
    tool = script()
    subspace = recovered(tool.BINARY, "Subspace", 1.1, tool.PEOPLE)
    other = recovered(tool.BINARY, "InpHT", 1.1, tool.PEOPLE)
    assert subspace[0] >= 0.95
    assert subspace[0] >= other[0] - 0.001


def test_fewer_people_tell_less():
    """The bound of the test above is not one that anything would meet."""
    tool = script()
    assert recovered(tool.BINARY, "InpHT", 1.1, 5000)[0] < 0.9


def test_a_tree_of_attributes_with_many_values_is_recovered():
    tool = script()
    share, edges, significant = recovered(tool.CATEGORICAL, "Subspace", 3.0, tool.PEOPLE)
    assert share >= 0.99
    assert edges >= 0.95
    assert significant >= 0.95


def edge_distances(tree, records: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Return how far the edges' tables of records are from the tree's, in what sampling gives."""
    schema = tree.schema
    codes = codes_of(schema, records)
    margins = {}
    off = []
    for child, parent in tree.parents.items():
        given = tree.cpts[child]
        if parent is None:
            margins[child] = given
            continue
        table = margins[parent][:, None] * given
        margins[child] = table.sum(axis=0)
        pair = np.array([[schema.index(parent), schema.index(child)]])
        seen = next(true_pairs(codes, schema.sizes, pair))
        sampling = np.sqrt(2 / np.pi * table * (1 - table) / len(records)).sum() / 2
        off.append(np.abs(seen - table).sum() / 2 / sampling)
    return np.array(off), float(np.max(off))


@pytest.fixture(scope="module")
def known():
    tool = script()
    frame, _ = tool.known_tree(tool.BINARY, tool.PEOPLE, 1)
    survey = Survey(tool.schema_of(tool.BINARY), 2, 1.1, "Subspace")
    return frame, simulate(survey, frame, "known")


def test_synthetic_records_have_the_trees_tables(known):
    """Nine distances, each about 1 ± 0.5 of what sampling gives; 3.5 is beyond five deviations."""
    made = known[1].tree()
    records = made.sample(200_000, "records")
    assert edge_distances(made, records)[1] < 3.5
    told = known[1].fidelity(records).set_index(["a", "b"])
    edges = made.edges.set_index(["a", "b"]).index
    # On edges only smoothing comes on top of sampling; on other pairs, the release's own noise.
    assert (told.loc[edges, "distance"] < 3.5 * told.loc[edges, "sampling"] + 0.001).all()
    others = told.drop(edges)
    assert others["distance"].mean() < 1.5 * others["noise"].mean()


def test_records_with_swapped_parents_would_be_seen(known):
    made = known[1].tree()
    first, second = (child for child, parent in list(made.parents.items())[-2:] if parent)
    swapped = replace(made, cpts=made.cpts | {first: made.cpts[second], second: made.cpts[first]})
    assert edge_distances(made, swapped.sample(200_000, "records"))[1] > 10
    turned = replace(made, cpts=made.cpts | {first: made.cpts[first][::-1]})
    assert edge_distances(made, turned.sample(200_000, "records"))[1] > 10


def test_independent_attributes_give_no_edges():
    """Chance gives an edge in 5 % of runs: five of 40 or more, less than once in 20 times."""
    tool = script()
    survey = Survey(tool.schema_of(tool.BINARY), 2, 1.1, "Subspace")
    none = 0
    for seed in range(40):
        release = simulate(survey, tool.independent(tool.BINARY, 20_000, seed), f"free/{seed}")
        none += not len(release.tree(significant=True).edges)
    assert none >= 36


def rare(seed: int):
    """Return a release of independent attributes that few people have."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.random((32_768, 8)) < 0.08, columns=list("abcdefgh"))
    return simulate(Survey(Schema.from_frame(frame), 2, 1.1, "Subspace"), frame, f"rare/{seed}")


def test_noise_is_taken_from_mutual_information_but_not_too_much(monkeypatch):
    """Where values are rare, the plain formula takes away twice what noise brings, or more."""

    def mean() -> float:  # of new releases: what was measured of one stays measured
        return float(np.mean([dependence(rare(seed)).columns["excess"] for seed in range(12)]))

    def taking(share: float):
        def noise(covariance, left, right):
            free = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
            plain = (np.einsum("rii->ri", covariance) / (2 * free)).sum(axis=1)
            return share * plain, np.ones(len(covariance))

        return noise

    limited, means = mean(), {}
    for name, share in (("none", 0.0), ("plain", 1.0)):
        monkeypatch.setattr(inside, "_added_by_noise", taking(share))
        means[name] = mean()
    assert means["none"] > 0.005
    assert means["plain"] < -0.7 * means["none"]
    assert abs(limited) < 0.5 * means["none"]


def test_movielens_trees_share_most_of_the_best(shared_data):
    movies = pd.read_parquet(shared_data / "movielens_ml32m_12773users.parquet")
    movies = movies.drop(columns=["IMAX", "Film-Noir"]).iloc[:, :10].astype(bool)
    frame = movies.sample(1 << 18, replace=True, random_state=0, ignore_index=True)
    release = simulate(Survey(Schema.from_frame(frame), 2, 1.1, "Subspace"), frame, "movies")
    made = release.tree()
    found = made.total_mutual_information(frame)
    assert found.share > 0.75
    # The best tree loses at most what it shares; a tree of garbage would lose far more.
    assert made.log_likelihood(frame) > script().best_likelihood(frame, made.schema) - 0.5
    assert len(all_tables(10, 2)) == len(release.fidelity(made.sample(1000, "x")))
