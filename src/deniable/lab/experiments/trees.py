"""Chow–Liu trees (the paper's figure of total mutual information), MovieLens."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.analysis.information import mutual_information
from deniable.analysis.records import codes_of, true_pairs
from deniable.analysis.tree import spanning
from deniable.lab.experiments.errors import Contender, crowd, means
from deniable.lab.experiments.experiment import Claim, Experiment, Point, verdict
from deniable.lab.experiments.figures import curves
from deniable.lab.experiments.sources import Data
from deniable.lab.simulate import simulate
from deniable.mechanisms.coefficients import all_tables
from deniable.questions.schema import Schema
from deniable.survey import Release, Survey

__all__ = ["TREES"]

PAPER = (Contender("InpHT", "InpHT"), Contender("MargPS", "MargPS", "unpooled"))
"""As the paper does it: the mutual information of the estimated tables, as they are."""

OURS = Contender("Subspace", "Subspace")
"""With the noise's share of mutual information taken away."""

NOT_PRIVATE = "not private"
SETTING: Point = {
    "data": "movielens",
    "attributes": 10,
    "order": 2,
    "people": 200_000,
    "first": True,
}


def grid(quick: bool) -> list[Point]:
    """Return ε and repeats."""
    levels = (0.2, 0.8, 1.4) if quick else (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
    return [
        SETTING | {"epsilon": e, "repeat": r} for e, r in product(levels, range(4 if quick else 50))
    ]


def measure(point: Point, data: Data) -> list[dict[str, Any]]:
    """Return the true mutual information of the edges that each contender chooses."""
    people = crowd(point, data)
    schema = Schema.from_frame(people)
    pairs = all_tables(len(schema), 2)
    tables = np.stack(list(true_pairs(codes_of(schema, people), schema.sizes, pairs)))
    shared = mutual_information(tables)
    every = np.ones(len(pairs), np.bool_)
    best = float(shared[spanning(len(schema), pairs, shared, every)].sum())
    rows: list[dict[str, Any]] = [{"label": NOT_PRIVATE, "total": best}]
    for each in (*PAPER, OURS):
        survey = Survey(schema, 2, point["epsilon"], each.mechanism)
        seed = f"{each.label}/{json.dumps(point, sort_keys=True)}"
        release = simulate(survey, people, seed, estimator=each.estimator)
        total = (
            release.tree().total_mutual_information(people).tree
            if each is OURS
            else float(shared[spanning(len(schema), pairs, _as_printed(release), every)].sum())
        )
        rows.append({"label": each.label, "total": total})
    return [row | {"share": row["total"] / best} for row in rows]


def _as_printed(release: Release) -> Any:
    """Return the mutual information of every estimated pair; cells below 0 count as 0."""
    pairs = all_tables(len(release.mechanism.schema), 2)
    cells = release.estimate(pairs).values.clip(0, None)
    cells /= cells.sum(axis=1, keepdims=True)
    return mutual_information(cells.reshape(-1, 2, 2))


def chart(frame: pd.DataFrame) -> Any:
    """Return the total mutual information against ε."""
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(zero=False, padding=8))
    title = "true mutual information of the tree’s edges (nats)"
    return curves(means(frame, ["epsilon"], "total"), x, title, size=(420, 280), log=False)


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claim about trees."""
    shares = frame.groupby(["label", "epsilon"])["share"].mean()
    least, most = float(frame["epsilon"].min()), float(frame["epsilon"].max())
    names = [each.label for each in (*PAPER, OURS)]
    numbers = {name: {f"ε={e:g}": float(s) for e, s in shares[name].items()} for name in names}
    is_near = all(share >= 0.95 for share in shares["InpHT"])
    near_later = all(share >= 0.8 for e, share in shares["InpHT"].items() if e >= 0.8)
    is_worse = shares["MargPS", least] < shares["InpHT", least]
    catches_up = shares["MargPS", most] >= 0.95 * shares["InpHT", most]
    said = "; ".join(
        f"{name} {shares[name, least]:.1%} at ε = {least:g} and {shares[name, most]:.1%} at {most:g}"
        for name in names
    )
    return [
        Claim(
            10,
            "The mutual information of trees computed with InpHT is nearly the same as the non-private "
            "one; MargPS is less accurate at low ε but catches up.",
            "Trees from InpHT have at least four fifths of the best tree's true mutual information from "
            "ε = 0.8 on; MargPS is worse at low ε and catches up (within 5 %).",
            f"Of the best tree's information, trees have: {said}.",
            verdict(bool(is_near and is_worse), bool(near_later and is_worse and catches_up)),
            numbers,
        )
    ]


TREES = Experiment(
    "trees",
    "Trees of Chow and Liu",
    "The paper's figure of the total mutual information of trees: 10 attributes, 200,000 people.",
    "The mutual information that the tree's edges have in the people's own records; means over draws, "
    "bars: one standard deviation",
    grid,
    measure,
    chart,
    claims,
)
