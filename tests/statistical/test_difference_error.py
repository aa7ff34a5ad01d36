"""Tests of difference err as often as they say, and find what there is to be found.

Seeds are fixed. Of 400 independent p-values that are uniform, a Kolmogorov–Smirnov test falls below 10⁻⁴
once in 10⁴ times, and the share below .05 lies outside .01 to .10 less often. Every check is also made
of two planted bugs, a covariance that is forgotten and a wrong number of degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Release, Schema, Survey
from deniable.analysis import homogeneity as module
from deniable.analysis.difference import any_difference
from deniable.analysis.homogeneity import homogeneity
from deniable.messages.report import ReportBatch

REPEATS = 400
CASES = {
    "InpHT, a hundred people": ("InpHT", (2,) * 6, 1.1, (100, 150)),
    "MargPS, little noise": ("MargPS", (2, 3, 4), 3.0, (100, 200)),
    "Subspace, of unequal sizes": ("Subspace", (2,) * 6, 1.1, (150, 1000)),
    "MargRR, three groups": ("MargRR", (2, 3), 2.0, (150, 300, 200)),
}


def people(sizes: tuple[int, ...], count: int, random: np.random.Generator) -> pd.DataFrame:
    """Return people of one population: each attribute falls off, the second follows the first."""
    codes = []
    for size in sizes:
        share = np.arange(size, 0, -1.0)
        codes.append(random.choice(size, count, p=share / share.sum()))
    codes[1] = np.where(random.random(count) < 0.3, codes[0] % sizes[1], codes[1])
    return pd.DataFrame({f"a{i}": held.astype(str) for i, held in enumerate(codes)})


def released(survey: Survey, frame: pd.DataFrame, counts: Iterable[int], seed: str):
    """Yield releases of so many people each: rows of one batch are independent of each other."""
    batch, start = survey.randomize(frame, seed), 0
    for count in counts:
        rows = slice(start, start + count)
        start += count
        part = ReportBatch(survey.id, batch.slots[rows], batch.values[rows], simulated=True)
        yield survey.tally(part, simulation=True).release()


def draws(case: str) -> Iterator[dict[str, Release]]:
    """Yield groups of the same population, many times."""
    name, sizes, epsilon, counts = CASES[case]
    schema = Schema.of(**{f"a{i}": [str(v) for v in range(r)] for i, r in enumerate(sizes)})
    survey = Survey(schema, 2, epsilon, name)
    frame = people(sizes, REPEATS * sum(counts), np.random.default_rng(8))
    made = released(survey, frame, counts * REPEATS, case)
    for _ in range(REPEATS):
        yield {str(group): next(made) for group in range(len(counts))}


def is_uniform(p: np.ndarray) -> bool:
    assert len(p) > 0.9 * REPEATS
    return stats.kstest(p, "uniform").pvalue > 1e-4 and 0.01 <= (p < 0.05).mean() <= 0.10


def forgetful(values: np.ndarray, spread: np.ndarray):
    """Forget one group's covariance."""
    return homogeneity(values, np.concatenate((np.zeros_like(spread[:1]), spread[1:])))


def too_free(values: np.ndarray, spread: np.ndarray):
    """Count a degree of freedom for every cell."""
    statistic, df = homogeneity(values, spread)
    return statistic, df + len(values) - 1


@pytest.mark.parametrize("case", CASES)
def test_p_values_are_uniform_where_there_is_no_difference(case, monkeypatch):
    seen = []

    def watched(values, spread):
        seen.append((values, spread))
        return homogeneity(values, spread)

    monkeypatch.setattr(module, "homogeneity", watched)
    found = np.array([any_difference(groups, "a0", "a1").p_value for groups in draws(case)])
    assert is_uniform(found[np.isfinite(found)])
    values, spread = (np.concatenate(parts, axis=1) for parts in zip(*seen, strict=True))
    for bug in (forgetful, too_free):
        statistic, df = bug(values, spread)
        assert not is_uniform(stats.chi2.sf(statistic, df)), bug.__name__


def test_a_difference_is_found_as_often_as_its_size_says_and_intervals_cover_it():
    survey = Survey(Schema.of(x=[*"012"], y=[False, True]), 2, 1.1, "MargPS")
    random, found, covered = np.random.default_rng(9), [], []
    share = {"a": ([0.5, 0.3, 0.2], 0.3), "b": ([0.35, 0.35, 0.3], 0.4)}
    truth = np.subtract(*(np.outer(x, (1 - y, y)) for x, y in share.values()))
    strengths, groups, missed = [], [], []
    for (x, y), count in zip(share.values(), (1500, 3000), strict=True):
        rows = REPEATS * count
        frame = pd.DataFrame(
            {"x": random.choice([*"012"], rows, p=x), "y": random.random(rows) < y}
        )
        groups.append(released(survey, frame, [count] * REPEATS, f"power {count}"))
    for made in zip(*groups, strict=True):
        one = made[0].difference(made[1], "x", "y")
        low, high = one.interval()
        covered.append((low <= truth) & (truth <= high))
        reach = 1.96 * made[1].marginal("x", "y").standard_error  # the first group's is forgotten
        missed.append(np.abs(one.values - truth) > reach)
        found.append(one.p_value < 0.05)
        strengths.append(truth.ravel() @ np.linalg.pinv(one.covariance) @ truth.ravel())
    # W is χ² with the noncentrality Δ'C⁻¹Δ; 4 standard errors of a rate of 400.
    power = stats.ncx2.sf(stats.chi2.isf(0.05, 5), 5, np.mean(strengths))
    assert 0.3 < power < 0.9
    assert np.mean(found) == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / REPEATS))
    assert 0.93 <= np.mean(covered) <= 0.97
    assert 1 - np.mean(missed) < 0.93


@pytest.mark.parametrize("groups", [2, 3])
def test_without_noise_it_is_pearsons_test(groups):
    survey = Survey(Schema.of(x=[*"012"], y=[False, True]), 2, 20.0, "InpPS")
    random = np.random.default_rng(10)
    frames = [
        pd.DataFrame(
            {"x": random.choice([*"012"], 90 + 60 * i), "y": random.random(90 + 60 * i) < 0.4}
        )
        for i in range(groups)
    ]
    releases = {
        str(i): next(released(survey, frame, [len(frame)], f"open {i}"))
        for i, frame in enumerate(frames)
    }
    counts = [pd.crosstab(frame["x"], frame["y"]).to_numpy().ravel() for frame in frames]
    pearson = stats.chi2_contingency(counts, correction=False)
    found = any_difference(releases, "x", "y")
    assert found.df == pearson.dof == 5 * (groups - 1)
    assert found.statistic == pytest.approx(pearson.statistic, rel=1e-5)
    assert found.p_value == pytest.approx(pearson.pvalue, rel=1e-4)
