"""Chow–Liu trees (the paper's figure of total mutual information), MovieLens."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.analysis.records import true_pairs, values_of
from deniable.analysis.tree import spanning
from deniable.api.release import Release
from deniable.lab.experiments.errors import (
    PAPER,
    SUBSPACE,
    Contender,
    asked,
    crowd,
    means,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import curves
from deniable.lab.experiments.sources import Data
from deniable.lab.experiments.verdicts import all_of, exactly, mean_within, verdict
from deniable.numeric.shares import proportions
from deniable.release.dependence.information import mutual_information
from deniable.schema.schema import Schema
from deniable.survey.coefficients import all_tables

THEIRS = tuple(each for each in PAPER if each.label in ("InpHT", "MargPS"))
"""As the paper does it: the mutual information of the estimated tables, as they are."""

OURS = (Contender("InpHT, corrected", "InpHT"), SUBSPACE)
"""With the noise's share of mutual information taken away."""

NOT_PRIVATE = "not private"
LOW = 0.6
"""The ε that count as low."""

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
    shared = mutual_information(
        np.stack(list(true_pairs(values_of(schema, people), schema.sizes, pairs)))
    )
    every = np.ones(len(pairs), np.bool_)
    best = float(shared[spanning(len(schema), pairs, shared, every)].sum())
    totals = {NOT_PRIVATE: best}
    for each in THEIRS:
        printed = _as_printed(asked(point, people, each))
        totals[each.label] = float(shared[spanning(len(schema), pairs, printed, every)].sum())
    for each in OURS:
        totals[each.label] = asked(point, people, each).tree().total_mutual_information(people).tree
    return [{"label": n, "total": total, "share": total / best} for n, total in totals.items()]


def _as_printed(release: Release) -> Any:
    """Return the mutual information of every estimated pair; cells below 0 count as 0."""
    pairs = all_tables(len(release.survey.schema), 2)
    cells = proportions(release.estimate(pairs).values)
    return mutual_information(cells.reshape(-1, 2, 2))


def chart(frame: pd.DataFrame) -> Any:
    """Return the total mutual information against ε."""
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(zero=False, padding=8))
    title = "true mutual information of the tree’s edges (nats)"
    return curves(means(frame, ["epsilon"], "total"), x, title, size=(420, 280), log=False)


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claim about trees."""
    shares = frame.groupby(["label", "epsilon"])["share"].mean()
    levels = sorted(frame["epsilon"].unique().tolist())
    least, most = levels[0], levels[-1]
    names = [each.label for each in (*THEIRS, *OURS)]
    table = frame.pivot_table(index=["epsilon", "repeat"], columns="label", values="share")
    behind = (table["InpHT"] - table["MargPS"]).loc[[e for e in levels if e <= LOW]]
    gained = table["InpHT"].loc[most] - table["InpHT"].loc[least]
    is_worse = mean_within(behind, 0, inf, 3)
    grows = mean_within(gained, 0, inf, 3)
    apart = table["MargPS"].loc[most] - table["InpHT"].loc[most]
    catches_up = mean_within(apart, -0.05, 0.05, 3)
    is_near = exactly((shares["InpHT"] >= 0.95).all())
    summary = "; ".join(
        f"{name} {shares[name, least]:.0%} at ε = {least:g} and {shares[name, most]:.0%} at {most:g}"
        for name in names
    )
    return [
        Claim(
            10,
            "The mutual information of trees computed with InpHT is nearly the same as the "
            "non-private one; MargPS is less accurate at low ε's but catches up.",
            "Trees from InpHT come closer to the non-private one as ε grows (nearly the same would be "
            f"95 % of it throughout); MargPS's are worse for ε ≤ {LOW:g} and catch up (within 5 %).",
            f"Of the best tree's information, trees have: {summary}. Genres that nearly everybody "
            "watches make it hard: their pairs share little, and the noise of their mutual "
            "information is large.",
            *verdict(
                all_of([is_near, is_worse]),
                all_of([grows, is_worse, catches_up]),
                frame["repeat"].nunique(),
            ),
            {name: {f"ε={e:g}": float(shares[name, e]) for e in levels} for name in names},
        )
    ]


TREES = Experiment(
    "trees",
    "Trees of Chow and Liu",
    "The paper's figure of the total mutual information of trees: 10 attributes, 200,000 people.",
    "Mutual information of the tree's edges in the people's own records, means and standard "
    "deviations; corrected, and Subspace: the noise's share taken away",
    grid,
    measure,
    chart,
    claims,
)
