"""Attributes of more than two values: the paper's encoding by bits against ours."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf, log
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.lab.experiments.errors import Contender, errors, means, ratios
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import dots
from deniable.lab.experiments.verdicts import Finding, all_of, means_by, verdict

CONTENDERS = (
    Contender("InpHTBits", "InpHTBits"),
    Contender("InpHT", "InpHT"),
    Contender("InpES", "InpES"),
    Contender("MargPS", "MargPS", "unpooled"),
    Contender("Subspace", "Subspace"),
)
SIZES = (3, 4, 5, 8)
ADULT = "adult"


def grid(quick: bool) -> list[Point]:
    """Return the data sets and repeats: 8 attributes of so many values, and Adult's first 8."""
    names = [*(f"values-{size}" for size in SIZES), ADULT]
    common = {"attributes": 8, "order": 2, "epsilon": log(3), "people": 1 << 18}
    return [
        common | {"data": name, "repeat": r}
        for name, r in product(names, range(2 if quick else 10))
    ]


def chart(frame: pd.DataFrame) -> Any:
    """Return bars for each number of values, and for Adult."""
    titles = {f"values-{size}": f"{size} values" for size in SIZES} | {ADULT: "Adult, 8 of 11"}
    averages = means(frame.assign(held=frame["data"].map(titles)), ["held"])
    x = alt.X("held:N", sort=list(titles.values()), title=None, axis=alt.Axis(labelAngle=0))
    return dots(averages, x, "mean total variation distance", width=28, most=inf)


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return what the paper's encoding costs, and whether its conjecture holds."""

    def ratio(one: str, other: str, low: float, high: float) -> tuple[dict[str, float], Finding]:
        means = means_by(ratios(frame, one, other, ["data"]), ["data"])
        findings = means.within(low, high, 2 * len(means.mean))
        factors = {str(name): float(np.exp(each)) for name, each in means.mean.items()}
        return factors, all_of(findings)

    bits, costly = ratio("InpHTBits", "InpHT", log(2), inf)
    _, cheap = ratio("InpHTBits", "InpHT", -inf, log(2))
    conjecture, better = ratio("InpES", "InpHT", -inf, log(1.1))
    ours, _ = ratio("Subspace", "InpES", -inf, inf)
    return [
        Claim(
            None,
            "Categorical data by binary encoding is an effective solution; a scheme by Efron–Stein "
            "decomposition is conjectured to be among the best.",
            "The paper's encoding, with coefficients of bits that touch more than k attributes, costs "
            "more than twice the error; Efron–Stein (InpES) errs at most a tenth more than parities of "
            "codes.",
            f"Error of the paper's encoding over InpHT's on attributes: {_listed(bits)}. "
            f"InpES over InpHT: {_listed(conjecture)}. Subspace over InpES: {_listed(ours)}.",
            *verdict(all_of([cheap, better]), all_of([costly, better]), frame["repeat"].nunique()),
            {"bits_over_inpht": bits, "inpes_over_inpht": conjecture, "subspace_over_inpes": ours},
        )
    ]


def _listed(factors: dict[str, float]) -> str:
    return ", ".join(f"{each:.2f} ({name})" for name, each in factors.items())


CATEGORICAL = Experiment(
    "categorical",
    "Attributes of more than two values, tables of 2",
    "The paper's section on categorical attributes: its encoding by bits, and its conjecture.",
    "2^18 people, 8 attributes, ε = ln 3; mean over all pairs, with one standard deviation; above the "
    "uniform table's error, one would do better without asking",
    grid,
    partial(errors, contenders=CONTENDERS),
    chart,
    claims,
)
