"""Error against the number of attributes (the paper's comparison with InpEM), taxi."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf, log, sqrt
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
    errors,
    means,
    ratios,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import MEAN_OF_TABLES, curves
from deniable.lab.experiments.verdicts import (
    Finding,
    above,
    all_of,
    exactly,
    means_by,
    verdict,
    within,
)

INVERSE = Contender("InpEM, inverse", "InpEM", "inverse")
"""InpEM decoded without bias: its error is far off the chart."""

THEIRS = tuple(each for each in PAPER if each.label in ("InpHT", "MargPS"))
CONTENDERS = (EM, INVERSE, *THEIRS, POOLED, SUBSPACE)
PEOPLE = 1 << 18
SETTING = ["attributes", "epsilon"]
TELLING = 0.1
"""Tables that err less than this tell something: the uniform one errs by about a half."""


def grid(quick: bool) -> list[Point]:
    """Return d, ε and repeats."""
    widths = (8, 16, 24) if quick else (8, 12, 16, 20, 24)
    levels = (0.2, 1.1) if quick else (0.2, 0.5, 0.8, 1.1)
    return [
        {"data": "taxi", "attributes": d, "order": 2, "epsilon": e, "people": PEOPLE, "repeat": r}
        for d, e, r in product(widths, levels, range(3 if quick else 10))
    ]


def chart(frame: pd.DataFrame) -> Any:
    """Return error against d, a panel for each ε."""
    return curves(
        means(frame[frame["label"] != INVERSE.label], SETTING),
        alt.X("attributes:Q", title="attributes d", scale=alt.Scale(zero=False, padding=8)),
        columns="epsilon",
        size=(210, 240),
    )


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claim about InpEM."""
    errors_of = frame.groupby([*SETTING, "label"], sort=False)["tv"].mean().unstack("label")
    over = {name: errors_of["InpEM"] / errors_of[name] for name in ("InpHT", "MargPS")}
    useful = errors_of["InpHT"] < TELLING
    is_worse = all_of([exactly(useful.any()), *_ratios_above(frame, 1, useful)])
    is_far_worse = all_of(_ratios_above(frame, 2, useful | True))
    small = frame[frame["epsilon"] == frame["epsilon"].min()]
    least = float(small["epsilon"].iloc[0])
    squares = small.groupby(["label", "attributes"])["pair_square"].mean()
    pairs = {
        f"d={d}": {
            "measured": float(squares[INVERSE.label, d] / squares["InpHT", d]),
            "formula": 8 * d**2 / least**2,
        }
        for d in small["attributes"].unique().tolist()
    }
    fits = _pairs_fit(small, least)
    summary = ", ".join(
        f"{n}: {p['measured']:,.0f} ({p['formula']:,.0f})" for n, p in pairs.items()
    )
    ranges = {name: f"{ratio.min():.2f} to {ratio.max():.2f}" for name, ratio in over.items()}
    return [
        Claim(
            7,
            "InpEM's accuracy is several times worse than the unbiased estimators InpHT and MargPS.",
            "Decoded without bias, InpEM's pairs have 8d²/ε² times InpHT's variance for k = 2 and "
            "small ε, within a quarter on the whole; EM itself is worse than both where InpHT's error "
            f"is below {TELLING}.",
            f"EM's error is {ranges['InpHT']} times InpHT's and {ranges['MargPS']} times MargPS's. "
            f"Variance of pairs over InpHT's at ε = {least:g}, measured (and 8d²/ε²): {summary}.",
            *verdict(
                all_of([is_far_worse, fits]), all_of([is_worse, fits]), frame["repeat"].nunique()
            ),
            {
                "em_over": {
                    name: {f"d={d}, ε={e:g}": float(ratio[d, e]) for d, e in ratio.index.tolist()}
                    for name, ratio in over.items()
                },
                "variance_of_pairs": pairs,
            },
        )
    ]


def _ratios_above(frame: pd.DataFrame, least: float, some: pd.Series[bool]) -> list[Finding]:
    """Return whether EM's error is so many times that of each other, in some of the settings."""
    findings = []
    for name in ("InpHT", "MargPS"):
        over = means_by(ratios(frame, "InpEM", name, SETTING), SETTING)
        pairs = zip(over.mean[some], over.error[some.to_numpy()], strict=True)
        checks = 4 * len(over.mean)
        findings += [above(mean, error, over.freedom, log(least), checks) for mean, error in pairs]
    return findings


def _pairs_fit(small: pd.DataFrame, epsilon: float) -> Finding:
    """Return whether the variance of pairs is as the formula says; wide surveys have more of them."""
    table = small.pivot_table(index=["attributes", "repeat"], columns="label", values="pair_square")
    widths = table.index.get_level_values("attributes").to_numpy(float)
    off = np.log(table[INVERSE.label] / table["InpHT"]) - np.log(8 * widths**2 / epsilon**2)
    weight = widths * (widths - 1)
    mean = float(np.average(off, weights=weight))
    error = float(np.sqrt((weight**2 * (off - mean) ** 2).sum()) / weight.sum())
    freedom = len(off) - 1
    error *= sqrt(len(off) / freedom) if freedom else inf
    return within(mean, error, freedom, -log(1.25), log(1.25), 4)


ATTRIBUTES = Experiment(
    "attributes",
    "Error against the number of attributes, tables of 2",
    "The paper's figure for larger d, by duplicating columns, with InpEM.",
    MEAN_OF_TABLES,
    grid,
    partial(errors, contenders=CONTENDERS),
    chart,
    claims,
)
