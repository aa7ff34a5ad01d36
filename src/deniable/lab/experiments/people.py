"""Error against the number of people (the paper's figure for N), MovieLens."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import exp, inf, log, log2, sqrt
from typing import Any

import numpy as np
import pandas as pd

from deniable.lab.experiments.errors import (
    PAPER,
    POOLED,
    SUBSPACE,
    errors,
    is_as_predicted,
    means,
    ratios,
    standard_error,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point
from deniable.lab.experiments.figures import MEAN_OF_TABLES, UNIFORM, curves, powers_of_two
from deniable.lab.experiments.verdicts import Finding, all_of, exactly, mean_within, verdict, within

CONTENDERS = (*PAPER, POOLED, SUBSPACE)
EPSILON = log(3)
SETTING = ["attributes", "order", "people"]


def grid(quick: bool) -> list[Point]:
    """Return d, k, N and repeats."""
    crowds = (1 << 16, 1 << 18) if quick else tuple(1 << n for n in range(16, 20))
    return [
        {
            "data": "movielens",
            "attributes": d,
            "order": k,
            "epsilon": EPSILON,
            "people": n,
            "repeat": r,
        }
        for d, k, n, r in product((4, 8, 16), (1, 2, 3), crowds, range(3 if quick else 10))
    ]


def chart(frame: pd.DataFrame) -> Any:
    """Return error against people, a panel for each d and k."""
    x = powers_of_two("people", "people", frame["people"].unique().tolist())
    return curves(
        means(frame, SETTING),
        x,
        "mean distance",
        rows="attributes",
        columns="order",
    )


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claims about N, about 2^d, about k = 1 and about RR against PS."""
    frame = frame[frame["label"] != UNIFORM]
    return [_halves(frame), _doubles(frame), _one_way(frame), _preferred(frame)]


def _halves(frame: pd.DataFrame) -> Claim:
    factors, wide, slopes_by_label = {}, {}, {}
    for label, part in frame.groupby("label", sort=False):
        table = part.assign(log=np.log2(part["tv"])).pivot_table(
            index=["attributes", "order", "repeat"], columns="people", values="log"
        )
        octaves = np.log2(table.columns.to_numpy(float))
        offsets = octaves - octaves.mean()
        slopes = (table * offsets).sum(axis=1) / (offsets**2).sum()
        slopes_by_label[str(label)] = -2 * slopes
        factors[str(label)] = float(2 ** (-2 * slopes.mean()))
        wide[str(label)] = standard_error(slopes) * 2 * log(2) * factors[str(label)]
    low, high, checks = log2(1.75), log2(2.25), len(factors) + 1
    fits = {name: mean_within(logs, low, high, checks) for name, logs in slopes_by_label.items()}
    stays = mean_within(slopes_by_label["InpPS"], -inf, log2(1.5), checks)
    printed = all_of([*(fits[name] for name in fits if name != "InpPS"), stays])
    summary = ", ".join(f"{name} {factor:.2f}" for name, factor in factors.items())
    return Claim(
        1,
        "Error halves as the population quadruples; typically, InpPS's error does not reduce with N.",
        "The error of every unbiased mechanism falls by a factor of 2, within an eighth, when N "
        "quadruples, InpPS's too, as long as estimates are not clipped.",
        f"Factor by which it falls: {summary} (standard errors up to {max(wide.values()):.2f}).",
        *verdict(printed, all_of([*fits.values()]), frame["repeat"].nunique()),
        {"factor": factors, "standard_error": wide},
    )


def _doubles(frame: pd.DataFrame) -> Claim:
    part = frame[frame["label"] == "InpPS"]
    table = part.pivot_table(index=["order", "people", "repeat"], columns="attributes", values="tv")
    measured, expected, fits = {}, {}, []
    for low, high in ((4, 8), (8, 16)):
        name = f"d {low} → {high}"
        logs = np.log(table[high] / table[low])
        measured[name] = float(np.exp(logs.mean()))
        more = exp(EPSILON) - 1
        expected[name] = (2**high + more) / (2**low + more)
        off = logs - log(expected[name])
        fits.append(mean_within(off, -log(1.15), log(1.15), 2))
    summary = ", ".join(f"{n}: ×{measured[n]:.3g} (formula ×{expected[n]:.3g})" for n in measured)
    return Claim(
        3,
        "The performance of InpPS decays rapidly as a function of d, consistent with the bound of 2^d.",
        "InpPS's error grows like 2^d + e^ε − 1, within 15 %.",
        f"{summary}.",
        *verdict(all_of(fits), all_of(fits), frame["repeat"].nunique()),
        {"ratio": measured, "formula": expected},
    )


def _one_way(frame: pd.DataFrame) -> Claim:
    part = frame[frame["order"] == 1]
    root = exp(EPSILON / 2)
    noise = root / (root - 1) ** 2
    formula = {"MargPS": 1.0, "MargHT": 1.0, "MargRR": sqrt((2 * noise + 1) / 4)}  # C = 2 at ln 3
    factors, wide = {}, {}
    for name in formula:
        ratio = ratios(part, name, "InpHT", ["attributes", "people"])
        factors[name], wide[name] = float(np.exp(ratio.mean())), standard_error(ratio)

    pairs = len(part[["attributes", "people", "repeat"]].drop_duplicates())

    def nears(values: dict[str, float]) -> Finding:
        third, checks = log(4 / 3), 2 * len(formula)
        offs = {name: log(factors[name] / value) for name, value in values.items()}
        return all_of(
            [
                within(off, wide[name], pairs - 1, -third, third, checks)
                for name, off in offs.items()
            ]
        )

    summary = ", ".join(
        f"{name} {r:.2f} (formula {formula[name]:.2f})" for name, r in factors.items()
    )
    return Claim(
        5,
        "For k = 1, MargPS, MargRR, MargHT and InpHT are largely indistinguishable.",
        "For k = 1, MargPS, MargHT and InpHT err alike, within a third; MargRR's error is √((2v+1)/C²) "
        "times theirs.",
        f"Error over InpHT's: {summary}; standard errors up to {max(wide.values()):.2f}.",
        *verdict(nears(dict.fromkeys(formula, 1.0)), nears(formula), frame["repeat"].nunique()),
        {"ratio": factors, "formula": formula, "standard_error": wide},
    )


def _preferred(frame: pd.DataFrame) -> Claim:
    logs = ratios(frame, "MargRR", "MargPS", SETTING).groupby("order").mean()
    exact = ratios(frame, "MargRR", "MargPS", SETTING, "predicted").groupby(SETTING).mean()
    numbers = {
        f"k = {k}": {
            "measured": float(np.exp(logs[k])),
            "predicted": float(np.exp(exact.groupby("order").mean()[k])),
        }
        for k in (1, 2, 3)
    }
    agree = [is_as_predicted(frame, name, 2) for name in ("MargRR", "MargPS")]
    fits = all_of([exactly((exact > 0).all()), *agree])
    summary = ", ".join(
        f"{name}: {n['measured']:.2f} (predicted {n['predicted']:.2f})"
        for name, n in numbers.items()
    )
    return Claim(
        6,
        "MargPS achieves better accuracy than MargRR.",
        "MargPS's error is below MargRR's at ε = ln 3 for k = 1, 2, 3: by the exact variances at the "
        "data in every setting, and errors are as predicted.",
        f"MargRR's error over MargPS's: {summary}.",
        *verdict(fits, fits, frame["repeat"].nunique()),
        numbers,
    )


PEOPLE = Experiment(
    "people",
    "Error against the number of people",
    "The paper's figure of the mean total variation distance as N varies, at ε = ln 3.",
    MEAN_OF_TABLES,
    grid,
    partial(errors, contenders=CONTENDERS),
    chart,
    claims,
)
