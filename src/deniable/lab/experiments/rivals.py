"""Beyond the paper: CALM and the product of margins beside ours, on the paper's data and on Adult."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from deniable.lab.experiments.errors import (
    JOINT,
    MODEL,
    OTHERS,
    SUBSPACE,
    errors,
    means,
    ratios,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import UNIFORM, curves
from deniable.lab.experiments.verdicts import all_of, exactly, means_by, verdict

CONTENDERS = (MODEL, JOINT, SUBSPACE, *OTHERS)
OURS = MODEL.label
LEVELS = (0.4, 0.8, 1.1, 1.4, 2.0)
PANELS = {
    ("taxi", 2): (8, "taxi, d = 8, k = 2"),
    ("movielens", 2): (16, "MovieLens, d = 16, k = 2"),
    ("adult", 2): (8, "Adult, 8 of 11, k = 2"),
    ("taxi", 3): (8, "taxi, d = 8, k = 3"),
}
"""By data and order: attributes, and what the chart calls it."""
SETTING = ["data", "order", "epsilon"]


def grid(quick: bool) -> list[Point]:
    """Return data, k, ε and repeats."""
    levels = LEVELS[::2] if quick else LEVELS
    return [
        {
            "data": name,
            "attributes": attributes,
            "order": order,
            "epsilon": epsilon,
            "people": 1 << 16,
            "repeat": repeat,
        }
        for ((name, order), (attributes, _)), epsilon, repeat in product(
            PANELS.items(), levels, range(3 if quick else 5)
        )
    ]


def chart(frame: pd.DataFrame) -> Any:
    """Return error against ε, a panel for each data set and k."""
    averages = means(frame[frame["label"] != UNIFORM], SETTING)
    pairs = zip(averages["data"], averages["order"], strict=True)
    return curves(
        averages.assign(panel=[PANELS[pair][1] for pair in pairs]),
        alt.X("epsilon:Q", title="ε", scale=alt.Scale(zero=False, padding=8)),
        "mean distance",
        columns="panel",
        size=(200, 210),
    )


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return where ours err less than each rival, and where not."""
    return [_against(frame, each.label) for each in OTHERS]


def _against(frame: pd.DataFrame, rival: str) -> Claim:
    """Compare repeat by repeat: ours is worse where the log ratio is surely above 0."""
    logs = ratios(frame, OURS, rival, SETTING)
    means = means_by(logs, SETTING)
    factors = {_at(setting): float(np.exp(mean)) for setting, mean in means.mean.items()}
    pairs = zip(factors.items(), means.within(0, inf, 2 * len(factors)), strict=True)
    worse = {where: factor for (where, factor), finding in pairs if finding.is_so}
    panels = ["data", "order"]
    by_panel = logs.groupby(panels).mean()
    residuals = (
        logs - logs.groupby(SETTING).transform("mean") + logs.groupby(panels).transform("mean")
    )
    better = means_by(residuals, panels).within(-inf, 0, 2 * len(by_panel))
    summary = ", ".join(f"{PANELS[panel][1]}: {np.exp(by_panel[panel]):.2f}" for panel in PANELS)
    beaten = ", ".join(f"{where} ({factor:.2f})" for where, factor in worse.items())
    name = rival if rival.isupper() else f"the {rival}"
    return Claim(
        None,
        "",
        f"Tables of Subspace as they are read (auto) err less than those of {name}, on average over ε "
        "for every data set and k, and at no ε surely more.",
        f"Their error over that of {name}: {summary}. "
        + (f"Surely more at: {beaten}." if beaten else "Surely more nowhere."),
        *verdict(all_of([exactly(not worse), *better]), all_of(better), frame["repeat"].nunique()),
        {"ratio": factors, "worse": worse},
    )


def _at(setting: Any) -> str:
    name, order, epsilon = setting
    return f"{name}, k = {order}, ε = {epsilon:g}"


RIVALS = Experiment(
    "rivals",
    "Beyond the paper: rivals",
    "Error against ε of CALM and of the product of margins beside ours, with 2^16 people.",
    "Mean over all k-way tables and repeats; lines: one standard deviation; dashed: rivals; auto: a "
    "model, where it is not rejected; errors above 1 not drawn",
    grid,
    partial(errors, contenders=CONTENDERS),
    chart,
    claims,
)
