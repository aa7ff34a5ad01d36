"""Measure what fits say of small open groups: `python scripts/measure_small_groups.py [--quick]`.

A survey asks many people, of whom few are of a category that is open. `false` is how often the fit calls
the category's coefficient significant at .05 where the category makes no difference, and `holds` how
often the 95 % interval holds the truth where it makes one. A third table has large groups whose shares,
and with them the noise of their scores, are far apart. Outcomes are yes or no (likelihood, scores or
linear) and numbers. The tables in docs/open-covariates.md are from here.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from deniable import Attribute, Schema, Survey, regress
from deniable.errors import DeniableError

SIZES = (1, 2, 3, 5, 10, 30)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
KINDS = ("linear", "likelihood", "scores", "number")
LARGEST = 50
"""Numbers go from 0 to this."""


@dataclass
class Verdicts:
    """Of how many surveys a test was significant, an interval held the truth, or no fit was made."""

    false: float
    holds: float
    refused: float
    infinite: float
    """How many intervals had an infinite end."""


def measure(
    kind: str,
    epsilon: float,
    size: int,
    surveys: int,
    shares: tuple[float, float] = (0.3, 0.3),
    people: int = 400,
    seed: int = 1,
) -> Verdicts:
    """Return what fits say of a group of so many people; shares are others', and the group's."""
    is_number = kind == "number"
    outcome = Attribute("y", low=0, high=LARGEST) if is_number else Attribute("y", ("no", "yes"))
    survey = Survey(Schema((outcome,)), 1, epsilon)
    random = np.random.default_rng(seed)
    group = np.array(["few"] * size + ["all"] * (people - size))
    share = np.where(group == "few", shares[1], shares[0])
    truth = LARGEST * (shares[1] - shares[0]) if is_number else shares[1] - shares[0]
    how = {"kind": "linear"} if kind in ("linear", "number") else {"method": kind}
    if not how.get("kind"):
        odds = [np.log(each / (1 - each)) for each in shares]
        truth = odds[1] - odds[0]
    false, holds, infinite, refused = 0, 0, 0, 0
    for turn in range(surveys):
        own = random.random(people) < share
        values = own * LARGEST if is_number else np.where(own, "yes", "no")
        batch = survey.randomize(pd.DataFrame({"y": values}), seed=f"{seed} {turn}")
        try:
            fit = regress(
                batch,
                "y ~ group",
                pd.DataFrame({"group": group}),
                survey=survey,
                simulation=True,
                **how,
            )
        except DeniableError:
            refused += 1
            continue
        row = fit.to_frame().iloc[1]
        false += row["p_value"] < 0.05
        holds += row["low"] <= truth <= row["high"]
        infinite += np.isinf(row["low"]) or np.isinf(row["high"])
    done = max(1, surveys - refused)
    return Verdicts(false / done, holds / done, refused / surveys, infinite / done)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=400)
    parser.add_argument("--kind", nargs="*", default=KINDS)
    parser.add_argument("--epsilon", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--quick", action="store_true", help="100 surveys, at ε = 1 and 4")
    chosen = parser.parse_args()
    surveys = 100 if chosen.quick else chosen.surveys
    epsilons = (1.0, 4.0) if chosen.quick else chosen.epsilon
    tables = (
        ("no difference", SIZES, (0.3, 0.3), 400),
        ("a rare yes", SIZES, (0.1, 0.1), 400),
        ("a difference", SIZES, (0.3, 0.7), 400),
        ("large groups", (500, 2_000), (0.02, 0.5), 4_000),
    )
    for title, sizes, shares, people in tables:
        print(f"\n{title}: shares {shares[0]} and {shares[1]}, {people:,} people\n")
        print("| fit | ε | in the group | false | holds | infinite | refused |\n|-|-|-|-|-|-|-|")
        for kind, epsilon, size in product(chosen.kind, epsilons, sizes):
            row = measure(kind, epsilon, size, surveys, shares, people)
            print(
                f"| {kind} | {epsilon:g} | {size:,} | {row.false:.3f} | {row.holds:.3f} | "
                f"{row.infinite:.3f} | {row.refused:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
