"""Measure the fit of one number's distribution, and whether its intervals cover.

    python scripts/measure_number_fit.py errors            # mean squared errors beside other fits
    python scripts/measure_number_fit.py quantiles 500     # coverage of intervals for quantiles
    python scripts/measure_number_fit.py bands 500         # coverage of bands and CDF intervals

A third argument such as 0:10 takes these cases only. Real data comes from DENIABLE_DATA (by default
../shared/data); people are drawn from its shares with replacement.
"""

from __future__ import annotations

import os
import sys
import time
from math import comb, exp
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from deniable.release.numbers.answers import Law
from deniable.release.numbers.band import band, cdf_interval, quantile
from deniable.release.numbers.likelihood import Answers, Climb

DATA = Path(os.environ.get("DENIABLE_DATA", "../shared/data"))


def entries(levels: int, symbols: int, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the cuts of all entries, and where they count missing numbers."""
    T = levels - 1
    if symbols == 2:
        cuts = np.arange(1, T + 1)[:, None]
    else:
        cuts = np.array([sorted(1 + (o + j * T // 3) % T for j in range(3)) for o in range(T)])
    if missing:
        return np.vstack([cuts, cuts]), np.repeat([False, True], T)
    return cuts, np.zeros(T, bool)


def draw(shares, levels, symbols, epsilon, people, missing, random) -> Answers:
    """Return the answers of so many people drawn from these shares."""
    cuts, top = entries(levels, symbols, missing)
    w = max(1, round(symbols / (exp(epsilon) + 1)))
    p = w * exp(epsilon) / (w * exp(epsilon) + symbols - w)
    empty = Answers.of(cuts, top, np.zeros((len(cuts), comb(symbols, w))), w, p)
    chances = Law(empty, levels, missing).chances(shares)
    each = random.multinomial(people, np.full(len(cuts), 1 / len(cuts)))
    outcomes = random.multinomial(each, chances / chances.sum(axis=1, keepdims=True))
    return Answers.of(cuts, top, outcomes.astype(float), w, p)


def populations() -> dict[str, np.ndarray]:
    """Return shares of 256 levels: smooth, skewed, spiky, heavy-tailed; made up and real."""

    def normed(weights):
        return weights / weights.sum()

    x = (np.arange(256) + 0.5) / 256
    shares = {
        "normal": normed(np.exp(-0.5 * ((x - 0.5) / 0.15) ** 2)),
        "expo": normed(np.exp(-8 * x)),
        "bimodal": normed(
            np.exp(-0.5 * ((x - 0.3) / 0.07) ** 2) + 0.6 * np.exp(-0.5 * ((x - 0.7) / 0.1) ** 2)
        ),
        "uniform": normed(np.ones(256)),
        "pareto": normed((np.arange(256) + 2.0) ** -1.8),
    }
    adult = pd.read_parquet(DATA / "adult_numeric_256.parquet")
    wages = pd.read_parquet(DATA / "gss_wages.parquet")
    columns = {name: adult[name] for name in adult}
    columns["wages"] = (wages.realrinc / 500).clip(0, 255).astype(int)  # $500 steps, capped
    columns["wages-wide"] = (wages.realrinc / wages.realrinc.max() * 255).astype(int)
    for name, column in columns.items():
        shares[name] = np.bincount(column, minlength=256) / len(column)
    return shares


def coarse(shares: np.ndarray, levels: int) -> np.ndarray:
    """Return shares on fewer levels: merged where 256 is a multiple, else cut off."""
    if 256 % levels == 0:
        return shares.reshape(levels, -1).sum(axis=1)
    return shares[:levels] / shares[:levels].sum()


def isotonic(block: Answers, levels: int) -> np.ndarray:
    """Return the clipped isotonic fit of the share below each cut."""
    rates = block.supports / np.maximum(block.people, 1)[:, None]
    below = np.cumsum((rates - block.other) / (block.p - block.other), axis=1)[:, :-1]
    weight = np.repeat(block.people, block.symbols - 1)
    sums = np.bincount(block.cuts.ravel(), weight * below.ravel(), minlength=levels)[1:]
    weights = np.bincount(block.cuts.ravel(), weight, minlength=levels)[1:] + 1e-9
    return isotonic_regression(sums / weights, weights=weights).x.clip(0, 1)


def climb(block: Answers, levels: int, steps: int, smooth: bool) -> np.ndarray:
    """Return EM after so many steps (with smoothing by 1-2-1: EMS) as shares below cuts."""
    law, shares = Law(block, levels, False), np.full(levels, 1 / levels)
    pace = 1.0 if smooth else 1.5 / block.contraction
    for _ in range(steps):
        factors = law.transpose(block.outcomes / law.chances(shares)) / block.people.sum()
        shares = shares * factors**pace
        if smooth:
            wide = np.pad(shares, 1, mode="edge")
            shares = (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4
        shares /= shares.sum()
    return np.cumsum(shares)[:-1]


def errors(trials: int) -> None:
    """Print 10⁴ × the mean squared error of the CDF, and of ranges of half the axis."""
    methods = {
        "isotonic": isotonic,
        "EM 1500": lambda block, levels: climb(block, levels, 1500, False),
        "EMS 300": lambda block, levels: climb(block, levels, 300, True),
        "fit": lambda block, levels: np.cumsum(Climb([block], levels, False).shares)[:-1],
    }
    random = np.random.default_rng(11)
    print("| ε | N | data | " + " | ".join(f"{name} cdf, range" for name in methods) + " |")
    for epsilon in (0.8, 1.6):
        for people in (5000, 25000):
            for name, shares in populations().items():
                blocks = [
                    draw(shares, 256, 4, epsilon, people, False, random) for _ in range(trials)
                ]
                cells = []
                for method in methods.values():
                    wrong = (
                        np.array([method(block, 256) for block in blocks]) - np.cumsum(shares)[:-1]
                    )
                    wrong = np.pad(wrong, ((0, 0), (1, 1)))
                    halves = wrong[:, 128:] - wrong[:, :-128]
                    cells.append(f"{1e4 * (wrong**2).mean():.2f}, {1e4 * (halves**2).mean():.2f}")
                print(f"| {epsilon} | {people} | {name} | " + " | ".join(cells) + " |", flush=True)


SECONDS = float(os.environ.get("DENIABLE_SECONDS", "inf"))  # per case, on a busy machine
HALF = (0.1, 0.5, 0.9)
EDGES = (0.1, 0.2414, 0.5, 0.7028, 0.9)  # .2414 and .7028: where the spike of hours begins, ends
CASES = [  # data, levels, people, ε, M, share missing, probabilities
    ("normal", 256, 2000, 0.8, 4, 0, HALF),
    ("fnlwgt", 256, 5000, 0.8, 4, 0, HALF),
    ("hours-per-week", 99, 5000, 0.8, 4, 0, EDGES),
    ("wages", 256, 5000, 0.8, 4, 0, HALF),
    ("capital-gain", 256, 5000, 0.8, 4, 0, (0.5, 0.9139, 0.93, 0.97)),
    ("uniform", 16, 2000, 0.8, 4, 0, HALF),
    ("normal", 128, 10000, 0.5, 2, 0, HALF),
    ("normal", 256, 25000, 1.6, 4, 0, HALF),
    ("fnlwgt", 256, 100000, 1.6, 4, 0, HALF),
    ("wages", 256, 100000, 0.8, 4, 0, HALF),
    ("wages", 64, 20000, 0.8, 4, 0.15, HALF),
    ("pareto", 256, 20000, 0.8, 4, 0, HALF),
    ("hours-per-week", 99, 25000, 1.6, 4, 0, EDGES),
    ("wages-wide", 256, 20000, 0.8, 4, 0, HALF),
    ("bimodal", 256, 10000, 0.8, 4, 0, HALF),
    ("capital-gain", 256, 25000, 1.6, 4, 0, (0.5, 0.9139, 0.93, 0.97)),
    ("age", 74, 10000, 0.8, 4, 0, HALF),
    ("wages", 64, 10000, 1.6, 4, 0, HALF),
    ("normal", 16, 100000, 0.8, 4, 0, HALF),
    ("expo", 16, 5000, 1.6, 4, 0, HALF),
]


def blocks_of(case, trials: int):
    """Yield each trial's answers."""
    name, levels, people, epsilon, symbols, absent, _ = case
    shares = coarse(populations()[name], levels)
    missing = absent > 0
    if missing:
        shares = np.append(shares * (1 - absent), absent)
    random = np.random.default_rng([levels, people, round(10 * epsilon), symbols])
    started = time.perf_counter()
    for trial in range(trials):
        if time.perf_counter() - started > SECONDS:
            print(f"(only {trial} trials:)")
            break
        yield draw(shares, levels, symbols, epsilon, people, missing, random)


def title(case) -> str:
    name, levels, people, epsilon, symbols, absent, _ = case
    return f"| {name}{', 15 % missing' if absent else ''} | {levels} | {people} | {epsilon} | {symbols} "


def quantiles(trials: int, cases) -> None:
    """Print the coverage of 95 % intervals for quantiles: misses below and above, mean width."""
    print("| data | L | N | ε | M | quantile: truth, coverage %, missed low + high %, width | s |")
    for case in cases:
        name, levels, _, _, _, absent, probabilities = case
        truth = np.cumsum(coarse(populations()[name], levels))
        levels_true = np.searchsorted(truth, np.array(probabilities) - 1e-12)
        started, ends = time.perf_counter(), []
        for block in blocks_of(case, trials):
            ends.append(quantile(Climb([block], levels, absent > 0), probabilities))
        _, low, high = np.array(ends).transpose(1, 0, 2)
        below, above = (levels_true < low).mean(axis=0), (levels_true > high).mean(axis=0)
        text = "; ".join(
            f"{q:g}: {at}, **{100 * (1 - b - a):.1f}**, {100 * b:.1f} + {100 * a:.1f}, {width:.1f}"
            for q, at, b, a, width in zip(
                probabilities, levels_true, below, above, (high - low + 1).mean(axis=0), strict=True
            )
        )
        print(f"{title(case)}| {text} | {time.perf_counter() - started:.0f} |", flush=True)


def bands(trials: int, cases) -> None:
    """Print the coverage of 95 % bands (all cuts at once) and of CDF intervals at three cuts."""
    print("| data | L | N | ε | M | band: coverage %, mean width | CDF: coverage %, width | s |")
    for case in cases:
        name, levels, _, _, _, absent, _ = case
        truth = np.cumsum(coarse(populations()[name], levels))
        cuts = 1 + np.minimum(np.searchsorted(truth, (0.2, 0.5, 0.8)), levels - 2)
        started, inside, width, each, spans = time.perf_counter(), [], [], [], []
        for block in blocks_of(case, trials):
            _, low, high = band(Climb([block], levels, absent > 0))
            inside.append(((low <= truth[:-1] + 1e-9) & (truth[:-1] <= high + 1e-9)).all())
            width.append((high - low).mean())
            _, low, high = cdf_interval(Climb([block], levels, absent > 0), cuts)
            each.append((low <= truth[cuts - 1] + 1e-6) & (truth[cuts - 1] <= high + 1e-6))
            spans.append(high - low)
        text = ", ".join(f"{100 * x:.1f}" for x in np.mean(each, axis=0))
        wide = ", ".join(f"{x:.3f}" for x in np.mean(spans, axis=0))
        print(
            f"{title(case)}| **{100 * np.mean(inside):.1f}**, {np.mean(width):.3f} | {text}; {wide} "
            f"| {time.perf_counter() - started:.0f} |",
            flush=True,
        )


def main(task: str = "errors", trials: str = "12", cases: str = ":") -> None:
    first, last = (int(end) if end else None for end in cases.split(":"))
    if task == "errors":
        errors(int(trials))
    else:
        {"quantiles": quantiles, "bands": bands}[task](int(trials), CASES[first:last])


if __name__ == "__main__":
    main(*sys.argv[1:])
