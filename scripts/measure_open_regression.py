"""How far fits of private answers on open columns are off: `python scripts/measure_open_regression.py`.

People are drawn with replacement from `wages` (real interviews): whether somebody earns more than
30,000 is asked in private, with other yes/no questions; age and gender are open. Who earns so much is
drawn anew, by the curve that fits all interviews, so that the curve is true; with --real it is who
does, and the curve only near. The numbers in docs/open-covariates.md are from here.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd

from deniable import OneQuestion, Schema, Survey, regress
from deniable.analysis.open_answers.fit import OpenRegression
from deniable.lab.datasets import load

FORMULA = "rich ~ age/10 + (age/10)^2 + gender"
EPSILONS, PEOPLE = (1.1, 2.0, 4.0), (5_000, 20_000, 100_000)
TRUTHFUL = OneQuestion(1, 0)
"""A design without noise: what the same people would tell if they were asked openly."""


def private_and_open() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return yes/no attributes that are asked in private, and open columns, of the same people."""
    frame = load("wages")
    frame = frame[frame["income"].notna()].reset_index(drop=True)
    private = pd.DataFrame(
        {
            "rich": frame["income"] > 30_000,
            "graduate": frame["schooling"].isin(["bachelor", "graduate"]),
            "married": frame["marriage"] == "married",
            "parent": frame["children"] > 0,
            "full_time": frame["work"] == "full-time",
            "esteemed": frame["prestige"] > 45,
        }
    )
    return private, frame[["age", "gender"]]


@dataclass
class Coverage:
    """What surveys of so many people showed of each term."""

    unsettled: int
    """Fits of which some sum of coefficients is as good as not known; all below is of the others."""
    answers: float
    bias: np.ndarray
    """In standard errors of one survey."""
    fisher: np.ndarray
    sandwich: np.ndarray
    strays: np.ndarray
    """The standard deviation of estimates over the mean standard error."""
    cost: np.ndarray
    """The standard error over that of the same people asked openly."""
    misfit: float
    """The share of p-values below .05 of the curve being true."""
    predicted: np.ndarray
    """How often intervals of predicted shares cover, at ages 25, 45 and 65."""


def truth_of(frame: pd.DataFrame, kind: str) -> OpenRegression:
    """Return the fit of everybody, without noise."""
    return regress(frame, FORMULA, design=TRUTHFUL, kind=kind)


def measure(
    epsilon: float,
    people: int,
    surveys: int,
    kind: str = "logistic",
    *,
    method: str = "likelihood",
    real: bool = False,
    seed: int = 19,
) -> Coverage:
    """Return what so many surveys of people drawn with replacement show."""
    private, open_rows = private_and_open()
    whole = truth_of(private.join(open_rows), kind)
    shares = whole.predict(open_rows)["estimate"].to_numpy()
    survey = Survey(Schema.binary(*private.columns), 2, epsilon, people=people)
    random = np.random.default_rng(seed)
    corners = pd.DataFrame({"age": [25, 45, 65], "gender": "female"})
    target = whole.predict(corners)["estimate"].to_numpy()
    how = {"kind": kind, "method": method, "simulation": True}
    unsettled, answers, strays, errors, hits, costs, corner_hits = 0, 0, [], [], [], [], []
    misfits: list[bool] = []
    for turn in range(surveys):
        rows = random.integers(0, len(private), people)
        mine = open_rows.iloc[rows].reset_index(drop=True)
        own = private.iloc[rows].reset_index(drop=True)
        if not real:
            own["rich"] = random.random(people) < shares[rows]
        batch = survey.randomize(own, seed=f"open {epsilon} {people} {seed} {turn}")
        fit = regress(batch, FORMULA, mine, survey=survey, **how)
        if fit.profile is not None and not fit.profile.is_settled:
            unsettled += 1
            continue
        error = fit.values - whole.values
        robust = np.sqrt(fit.sandwich.diagonal())
        strays.append(error)
        errors.append(fit.standard_error)
        hits.append((np.abs(error) < 1.96 * fit.standard_error, np.abs(error) < 1.96 * robust))
        row = fit.predict(corners)
        corner_hits.append((row["low"] < target) & (target < row["high"]))
        answers += fit.answers
        misfits.append(fit.misfit < 0.05)
        if turn < 20:
            openly = truth_of(own.join(mine), kind)
            costs.append(fit.standard_error / openly.standard_error)
    done = surveys - unsettled
    if not done:
        return Coverage(unsettled, 0.0, *np.full((6, 4), np.nan), np.nan, np.full(3, np.nan))
    fisher, sandwich = np.mean(hits, axis=0)
    deviation, mean_error = np.std(strays, axis=0), np.mean(errors, axis=0)
    return Coverage(
        unsettled,
        answers / done / people,
        np.mean(strays, axis=0) / mean_error,
        fisher,
        sandwich,
        deviation / mean_error,
        np.mean(costs, axis=0),
        float(np.mean(misfits)),
        np.mean(corner_hits, axis=0),
    )


def main() -> None:
    """Print a row for each ε and number of people."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=400)
    parser.add_argument("--kind", default="logistic")
    parser.add_argument("--method", default="likelihood")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--real", action="store_true", help="take the real outcome")
    parser.add_argument("--epsilon", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--people", type=int, nargs="*", default=PEOPLE)
    chosen = parser.parse_args()

    def spoken(numbers: np.ndarray) -> str:
        return " ".join(f"{number:.3f}" for number in numbers)

    print(f"{chosen.kind}: {FORMULA}; terms: intercept, age/10, (age/10)^2, gender=male")
    for epsilon in chosen.epsilon:
        for people in chosen.people:
            row = measure(
                epsilon,
                people,
                chosen.surveys,
                chosen.kind,
                method=chosen.method,
                real=chosen.real,
                seed=chosen.seed,
            )
            print(
                f"ε {epsilon} N {people:,}: unsettled {row.unsettled} of {chosen.surveys}; answers "
                f"{row.answers:.2f}; misfit {row.misfit:.3f}; bias {spoken(row.bias)}; covers "
                f"{spoken(row.fisher)}; sandwich {spoken(row.sandwich)}; sd/se {spoken(row.strays)}; "
                f"se/open se {spoken(row.cost)}; predicted {spoken(row.predicted)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
