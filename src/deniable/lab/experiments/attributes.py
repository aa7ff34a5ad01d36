"""Error against the number of attributes (the paper's comparison with InpEM), taxi."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.lab.experiments.errors import (
    EM,
    PAPER,
    POOLED,
    SUBSPACE,
    Contender,
    crowd,
    errors,
    means,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point, verdict
from deniable.lab.experiments.figures import MEAN_OF_TABLES, curves
from deniable.lab.experiments.sources import Data
from deniable.lab.simulate import simulate, true_tables
from deniable.mechanisms.coefficients import all_tables
from deniable.questions.schema import Schema
from deniable.survey import Survey

__all__ = ["ATTRIBUTES"]

CONTENDERS = (EM, *(each for each in PAPER if each.label in ("InpHT", "MargPS")), POOLED, SUBSPACE)
PEOPLE = 1 << 18
SETTING = ["attributes", "epsilon"]
PAIR = np.array([1.0, -1.0, -1.0, 1.0])
"""The signs of a 2 × 2 table's cells in its pair's coefficient."""


def grid(quick: bool) -> list[Point]:
    """Return d, ε and repeats."""
    widths = (8, 16, 24) if quick else (8, 12, 16, 20, 24)
    levels = (0.2, 1.1) if quick else (0.2, 0.5, 0.8, 1.1)
    return [
        {"data": "taxi", "attributes": d, "order": 2, "epsilon": e, "people": PEOPLE, "repeat": r}
        for d, e, r in product(widths, levels, range(3 if quick else 10))
    ]


def measure(point: Point, data: Data) -> list[dict[str, Any]]:
    """Return every contender's error, and how far InpEM's and InpHT's pairs are off."""
    rows = errors(point, data, CONTENDERS)
    squares = {
        each.mechanism: _pair_square(point, data, each)
        for each in (Contender("InpEM", "InpEM", "inverse"), Contender("InpHT", "InpHT"))
    }
    return [row | {"pair_square": squares.get(row["label"])} for row in rows]


def _pair_square(point: Point, data: Data, contender: Contender) -> float:
    """Return the mean squared error of the coefficients of all pairs, decoded without bias."""
    people = crowd(point, data)
    schema = Schema.from_frame(people)
    pairs = all_tables(len(schema), 2)
    truth = true_tables(schema, schema.encode_frame(people), pairs)
    survey = Survey(schema, 2, point["epsilon"], contender.mechanism)
    seed = f"pairs/{json.dumps(point, sort_keys=True)}"
    found = simulate(survey, people, seed, estimator=contender.estimator).estimate(pairs).values
    return float((((found - truth) @ PAIR) ** 2).mean())


def chart(frame: pd.DataFrame) -> Any:
    """Return error against d, a panel for each ε."""
    return curves(
        means(frame, SETTING),
        alt.X("attributes:Q", title="attributes d", scale=alt.Scale(zero=False, padding=8)),
        columns="epsilon",
        size=(210, 240),
    )


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claim about InpEM."""
    table = frame.pivot_table(index=[*SETTING, "repeat"], columns="label", values="tv")
    against = {}
    for name in ("InpHT", "MargPS"):
        ratio = (table["InpEM"] / table[name]).groupby(SETTING).mean()
        settings = [f"d={d}, ε={e:g}" for d, e in ratio.index.tolist()]
        against[name] = dict(zip(settings, ratio.tolist(), strict=True))
    best = table[["InpHT", "MargPS"]].min(axis=1)
    is_worse = (table["InpEM"] / best).groupby(SETTING).mean()
    worse_everywhere = bool((is_worse > 2).all())
    small = frame[frame["epsilon"] == frame["epsilon"].min()]
    squares = small.groupby(["label", "attributes"])["pair_square"].mean()
    least = float(small["epsilon"].iloc[0])
    ratios = {
        f"d={d}": {
            "measured": float(squares["InpEM", d] / squares["InpHT", d]),
            "formula": 8 * d**2 / least**2,
        }
        for d in small["attributes"].unique().tolist()
    }
    fits = all(0.6 <= r["measured"] / r["formula"] <= 1.6 for r in ratios.values())
    low, high = float(is_worse.min()), float(is_worse.max())
    said = ", ".join(
        f"{n}: {r['measured']:,.0f} (8d²/ε² = {r['formula']:,.0f})" for n, r in ratios.items()
    )
    return [
        Claim(
            7,
            "InpEM's accuracy is several times worse than the unbiased estimators InpHT and MargPS.",
            "Decoded without bias, InpEM's pairs have 8d²/ε² times InpHT's variance for k = 2 and small "
            "ε; EM itself is worse than InpHT and MargPS wherever InpHT's error is below 0.1.",
            f"EM's error is {low:.2f} to {high:.2f} times that of the better of InpHT and MargPS. "
            f"Variance of pairs at ε = {frame['epsilon'].min():g}: {said}.",
            verdict(worse_everywhere and fits, fits and _worse_where_it_matters(table)),
            {"em_over": against, "variance_of_pairs": ratios},
        )
    ]


def _worse_where_it_matters(table: pd.DataFrame) -> bool:
    """Tell whether EM is behind wherever InpHT's error is below a tenth."""
    by_setting = table.groupby(SETTING).mean()
    told = by_setting[by_setting["InpHT"] < 0.1]
    return bool((told["InpEM"] > told[["InpHT", "MargPS"]].max(axis=1)).all())


ATTRIBUTES = Experiment(
    "attributes",
    "Error against the number of attributes, tables of 2",
    "The paper's figure for larger d, by duplicating columns, with InpEM.",
    MEAN_OF_TABLES,
    grid,
    measure,
    chart,
    claims,
)
