"""Error against the privacy parameter (the paper's figure for ε), MovieLens."""

from __future__ import annotations

from itertools import product
from math import log
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deniable.lab.experiments.errors import (
    EM,
    PAPER,
    POOLED,
    SUBSPACE,
    errors,
    means,
    paired,
    standard_error,
)
from deniable.lab.experiments.experiment import Claim, Experiment, Point, verdict
from deniable.lab.experiments.figures import MEAN_OF_TABLES, curves
from deniable.lab.experiments.sources import Data

__all__ = ["EPSILON"]

CONTENDERS = (*PAPER, EM, POOLED, SUBSPACE)
SEVEN = [each.label for each in (*PAPER, EM)]
PEOPLE = 1 << 18
SETTING = ["attributes", "order", "epsilon"]


def grid(quick: bool) -> list[Point]:
    """Return d, k, ε and repeats."""
    levels = (0.4, 0.8, 1.4) if quick else (0.4, 0.6, 0.8, 1.0, 1.1, 1.2, 1.4)
    return [
        {
            "data": "movielens",
            "attributes": d,
            "order": k,
            "epsilon": e,
            "people": PEOPLE,
            "repeat": r,
        }
        for d, k, e, r in product((4, 8, 16), (1, 2, 3), levels, range(3 if quick else 10))
    ]


def measure(point: Point, data: Data) -> list[dict[str, Any]]:
    """Return every contender's error."""
    return errors(point, data, CONTENDERS)


def chart(frame: pd.DataFrame) -> Any:
    """Return error against ε, a panel for each d and k."""
    return curves(
        means(frame, SETTING),
        alt.X("epsilon:Q", title="ε", scale=alt.Scale(zero=False, padding=8)),
        "mean distance",
        rows="attributes",
        columns="order",
    )


def claims(frame: pd.DataFrame) -> list[Claim]:
    """Return the paper's claims about InpHT, and about where MargPS overtakes MargHT."""
    return [_lowest(frame), _crossing(frame)]


def _lowest(frame: pd.DataFrame) -> Claim:
    """Check who is below InpHT by more than chance: three standard errors of the paired difference."""
    beaten: dict[str, list[str]] = {"unbiased, claimed": [], "unbiased, elsewhere": [], "InpEM": []}
    settings = 0
    for (d, k, e), table in paired(frame, SETTING):
        settings += 1
        for name in SEVEN:
            behind = table["InpHT"] - table[name]
            if name == "InpHT" or behind.mean() <= 3 * standard_error(behind):
                continue
            said = f"{name} at d={d}, k={k}, ε={e:g} ({table[name].mean() / table['InpHT'].mean():.2f})"
            claimed = d >= 8 and k >= 2 and e <= 1.1
            kind = (
                "InpEM" if name == "InpEM" else f"unbiased, {'claimed' if claimed else 'elsewhere'}"
            )
            beaten[kind].append(said)
    ours = float(np.mean([(t["Subspace"] / t["InpHT"]).mean() for _, t in paired(frame, SETTING)]))
    counts = {kind: len(found) for kind, found in beaten.items()}
    said = (
        f"Of {settings} settings, an unbiased mechanism of the paper is surely below InpHT in "
        f"{counts['unbiased, claimed']} of those claimed and {counts['unbiased, elsewhere']} others"
        f"{_examples(beaten['unbiased, claimed'] + beaten['unbiased, elsewhere'])}; InpEM, which "
        f"is biased, in {counts['InpEM']}{_examples(beaten['InpEM'])}. "
        f"Subspace's error is {ours:.2f} times InpHT's on average."
    )
    return Claim(
        2,
        "InpHT consistently outperforms all other algorithms across all configurations.",
        "InpHT has the lowest error of the paper's unbiased mechanisms, each table decoded alone, for "
        "k = 2 and 3, ε ≤ 1.1 and d ≥ 8.",
        said,
        verdict(not any(counts.values()), not counts["unbiased, claimed"]),
        {"surely_below_inpht": beaten, "settings": settings, "subspace_over_inpht": ours},
    )


def _examples(found: list[str]) -> str:
    return f", such as {found[0]}" if found else ""


def _crossing(frame: pd.DataFrame) -> Claim:
    numbers, by_formula, by_data = {}, [], []
    for order in (2, 3):
        part = frame[(frame["order"] == order) & (frame["attributes"] >= 8)]
        found, wide = _root(part, "tv")
        expected, _ = _root(part, "predicted")
        uniform = log(2**order - 1) / 2
        by_formula.append(abs(found - uniform) <= 0.05 + 3 * wide)
        by_data.append(abs(found - expected) <= 0.05 + 3 * wide)
        numbers[f"k = {order}"] = {
            "measured": found,
            "standard_error": wide,
            "near_uniform": uniform,
            "at_the_data": expected,
        }
    said = "; ".join(
        f"{name}: at ε = {n['measured']:.2f} ± {n['standard_error']:.2f} (½·ln(2^k − 1) = "
        f"{n['near_uniform']:.2f}; predicted at the data's coefficients {n['at_the_data']:.2f})"
        for name, n in numbers.items()
    )
    return Claim(
        4,
        "MargHT is preferable to MargPS for small ε; MargPS gets better with increase in ε.",
        "MargPS and MargHT, each table decoded alone, cross at ε = ½·ln(2^k − 1) where tables are near "
        "uniform, and later where the data is skewed.",
        f"They cross for {said}.",
        verdict(all(by_formula), all(by_data)),
        numbers,
    )


def _root(part: pd.DataFrame, value: str) -> tuple[float, float]:
    """Return the ε where MargPS and MargHT cross, with its standard error by leaving out repeats."""
    table = part.pivot_table(
        index=["attributes", "repeat", "epsilon"], columns="label", values=value
    )
    logs = pd.Series(np.log(table["MargPS"] / table["MargHT"]), table.index).unstack("epsilon")
    levels, ratio = logs.columns.to_numpy(float), logs.to_numpy()

    def root(rows: NDArray[np.float64]) -> float:
        slope, height = np.polyfit(levels, rows.mean(axis=0), 1)
        return float(-height / slope)

    n = len(ratio)
    left_out = np.array([root(np.delete(ratio, place, axis=0)) for place in range(n)])
    return root(ratio), float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


EPSILON = Experiment(
    "epsilon",
    "Error against ε",
    "The paper's figure of the mean total variation distance as ε varies, with 2^18 people.",
    MEAN_OF_TABLES,
    grid,
    measure,
    chart,
    claims,
)
