"""What is read of mixed data, with fewer draws than scripts/measure_reading.py.

Seeds are fixed. Means of 30 draws of Adult are in docs/consistency.md; single draws lie up to a tenth
away, and the bounds are further, so that one draw tells.
"""

from __future__ import annotations

from functools import partial
from math import log

import numpy as np
import pandas as pd
import pytest
from script_parts import load_script

from deniable import Schema, Survey, plan, simulate
from deniable.design.reading import Strengths
from deniable.planning.aim import Aim
from deniable.planning.reading import detectable_v
from deniable.release.mixed import reading, shrinkage

script = partial(load_script, "measure_reading")


@pytest.fixture(scope="module")
def adult(shared_data) -> pd.DataFrame:
    return script().DATA["adult"](shared_data)


@pytest.mark.parametrize(
    ("people", "epsilon", "most"),
    [(48_842, log(3), 0.2), (48_842, 2.0, 0.135), (1 << 18, log(3), 0.12)],
)
def test_adult_is_read_better_than_by_its_rivals(people, epsilon, most, adult) -> None:
    errors = script().measure(adult, people, epsilon, 0)
    assert errors["read"] < most
    assert errors["read"] < 1.1 * errors["order 1, product"]
    assert errors["read"] < 0.6 * errors["joint of unbiased"]
    assert 0.91 < errors["coverage"] < 0.99


def test_the_error_is_predicted_before_anybody_is_asked(adult) -> None:
    tool = script()
    forecast = plan(tool.schema_of(adult), epsilon=log(3), people=1 << 18, sample=adult)
    error = tool.measure(adult, 1 << 18, log(3), 1, rivals=False)["read"]
    assert forecast.recommended == "Subspace"
    assert forecast.rows[0].read_tv == pytest.approx(error, rel=0.2)


def test_a_bug_in_the_shrinking_would_be_seen(adult, monkeypatch) -> None:
    """Departures that are all taken for strong ones keep their noise."""
    monkeypatch.setattr(shrinkage, "STRENGTHS", np.full(len(shrinkage.STRENGTHS), 1e4))
    errors = script().measure(adult, 48_842, log(3), 0, rivals=False)
    assert errors["read"] > 0.25


def test_a_bug_in_the_intervals_would_be_seen(adult, monkeypatch) -> None:
    monkeypatch.setattr(reading, "_UNSURE", 0.01)
    errors = script().measure(adult, 1 << 18, log(3), 0, rivals=False)
    assert errors["coverage"] < 0.85


def dependent(strength: float, count: int, random: np.random.Generator) -> pd.DataFrame:
    """Return pairs with uniform margins of three values, and this Cramér's V."""
    pattern = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    off = strength * np.sqrt(2 / 9 / (pattern**2).sum())
    cells = random.choice(9, count, p=(1 / 9 + off * pattern).ravel())
    names = np.array(["v0", "v1", "v2"])
    return pd.DataFrame({"a": names[cells // 3], "b": names[cells % 3]})


@pytest.mark.parametrize(("factor", "low", "high"), [(1.0, 0.65, 0.93), (0.5, 0.1, 0.45)])
def test_the_dependence_that_is_said_to_be_found_is_found(factor, low, high) -> None:
    """Four times in five; half of it is seldom found."""
    values = ["v0", "v1", "v2"]
    survey = Survey(Schema.of(a=values, b=values), 2, log(3), "Subspace", people=20_000)
    uniform = Strengths(np.ones(2), np.full(3, 0.05))
    strength = detectable_v(survey, 20_000, Aim(expected=uniform, people=20_000))
    random, times = np.random.default_rng(1), []
    for turn in range(60):
        frame = dependent(factor * strength, 20_000, random)
        times.append(simulate(survey, frame, seed=str(turn)).associations()["p_value"][0] < 0.05)
    assert low < np.mean(times) < high
