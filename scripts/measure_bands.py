"""Measure bands and quantiles of numbers of few people: `python scripts/measure_bands.py [--quick]`.

A survey asks about one number that some people lack, by real reports of people drawn anew each time.
`band` is how often the 95 % band of `distribution` holds the whole distribution of those who have a
number, at all points at once; `one point` how often it holds at a point, the worst of them; `median`
how often the interval of the median holds it. Both ends of an interval belong to it. The rows where
`missing` is 0 are of a number that everybody has.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
import pandas as pd

from deniable import Attribute, Schema, Survey

LEVELS = 200
EPSILONS, PEOPLE, ABSENT = (0.5, log(3), 2.0, 4.0), (30, 100, 300, 500, 1_000, 3_000), (0.0, 0.3)
QUICK = (log(3),), (100, 300, 500, 1_000), (0.0, 0.3)


@dataclass
class Cover:
    """Of how many surveys the intervals held the truth, and how wide bands were on average."""

    band: float
    point: float
    median: float
    width: float


def shares_of_levels(shape: str) -> np.ndarray:
    """Return the shares of a hump, of a steep fall, or of two spikes upon an even ground."""
    x = (np.arange(LEVELS) + 0.5) / LEVELS
    weights = {
        "hump": np.exp(-0.5 * ((x - 0.5) / 0.15) ** 2),
        "fall": np.exp(-8 * x),
        "spikes": 1 + 60.0 * (np.isin(np.arange(LEVELS), (20, 60))),
    }[shape]
    shares: np.ndarray = weights / weights.sum()
    return shares


def measure(
    epsilon: float, people: int, absent: float, surveys: int, shape: str = "hump", seed: int = 1
) -> Cover:
    """Return what so many surveys of people drawn anew show."""
    lack = {"missing": "none"} if absent else {}
    survey = Survey(Schema((Attribute("x", low=0, high=LEVELS - 1, **lack),)), 1, epsilon)
    shares, random = shares_of_levels(shape), np.random.default_rng(seed)
    truth = np.cumsum(shares)
    median = int(np.searchsorted(truth, 0.5))
    inside, points, medians, widths = [], [], [], []
    for turn in range(surveys):
        values = random.choice(LEVELS, people, p=shares).astype(float)
        values[random.random(people) < absent] = np.nan
        batch = survey.randomize(pd.DataFrame({"x": values}), seed=f"{seed} {turn}")
        release = survey.tally(batch, simulation=True).release()
        told = release.distribution("x")
        holds = (told.low <= truth + 1e-9) & (truth <= told.high + 1e-9)
        inside.append(holds.all())
        points.append(holds)
        widths.append((told.high - told.low)[:-1].mean())
        middle = release.quantile("x", 0.5)
        medians.append(middle.low <= median <= middle.high)
    worst = float(np.mean(points, axis=0).min())
    return Cover(*map(float, (np.mean(inside), worst, np.mean(medians), np.mean(widths))))


def main() -> None:
    """Print a row for each ε, share without a number, and number of people."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=200)
    parser.add_argument("--shape", choices=("hump", "fall", "spikes"), default="hump")
    parser.add_argument("--quick", action="store_true", help="fewer settings, of 50 surveys each")
    chosen = parser.parse_args()
    settings = QUICK if chosen.quick else (EPSILONS, PEOPLE, ABSENT)
    surveys = 50 if chosen.quick else chosen.surveys
    print("| ε | missing | people | band | one point | median | width |\n|-|-|-|-|-|-|-|")
    for epsilon, absent, people in product(settings[0], settings[2], settings[1]):
        row = measure(epsilon, people, absent, surveys, chosen.shape)
        print(
            f"| {epsilon:.2g} | {absent:.1f} | {people:,} | {row.band:.3f} | {row.point:.3f} | "
            f"{row.median:.3f} | {row.width:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
