"""Open groups of few people are not told of with certainty, with fewer surveys than the script.

Where a test is false in .05 of surveys, it is so in more than 15 of 120 once in 1,000 seeds; fewer than
105 of 120 intervals of 95 % hold once in 1,500.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from script_parts import load_script

from deniable.analysis.open_answers import curves, profile

script = partial(load_script, "measure_small_groups")
SURVEYS, MOST_FALSE, FEWEST = 120, 15 / 120, 105 / 120

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["linear", "number", "likelihood", "scores"])
@pytest.mark.parametrize("size", [1, 2, 3, 10, 30])
def test_a_few_people_make_nothing_significant(kind: str, size: int) -> None:
    for epsilon, share in ((0.5, 0.3), (4.0, 0.1)):
        row = script().measure(kind, epsilon, size, SURVEYS, (share, share))
        assert row.refused == 0
        assert row.false <= (MOST_FALSE if size > 2 else 0.05)


@pytest.mark.parametrize("kind", ["linear", "number"])
def test_large_groups_of_unlike_noise_are_covered(kind: str) -> None:
    """Scores of one group vary four times as much as those of the other."""
    row = script().measure(kind, 4.0, 2_000, SURVEYS, (0.02, 0.5), people=6_000)
    assert row.holds >= FEWEST
    assert row.false == 1


@pytest.mark.parametrize("kind", ["likelihood", "scores"])
def test_odds_of_a_few_people_are_covered(kind: str) -> None:
    """No survey is refused; of few people an end may be infinite, of many none is."""
    for size in (2, 5, 30):
        row = script().measure(kind, 4.0, size, SURVEYS, (0.3, 0.7))
        assert row.refused == 0
        assert row.holds >= FEWEST
    assert script().measure(kind, 4.0, 200, 20, (0.3, 0.7)).infinite == 0


def test_tests_by_curvature_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statistic that is twice too large, and Wald's interval, which has no infinite end."""
    honest = profile.Profile.statistic

    def doubled(own: Any, forms: Any, values: Any) -> float:
        return 2 * float(honest(own, forms, values))

    with monkeypatch.context() as patch:
        patch.setattr(profile.Profile, "statistic", doubled)
        assert script().measure("likelihood", 4.0, 30, SURVEYS).false > MOST_FALSE

    def wald(own: Any, form: Any, critical: float) -> tuple[float, float]:
        centre, error = float(form @ own.place), float(np.sqrt(form @ own.covariance @ form))
        return centre - np.sqrt(critical) * error, centre + np.sqrt(critical) * error

    monkeypatch.setattr(profile.Profile, "interval", wald)
    assert script().measure("likelihood", 4.0, 1, SURVEYS).holds < FEWEST


def test_a_variance_that_one_person_leaves_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of what is left alone (HC0): of a single person they are 0."""
    monkeypatch.setattr(curves, "_ENOUGH", 0.0)
    for size in (1, 2):
        row = script().measure("linear", 1.0, size, SURVEYS)
        assert row.false > 2 * MOST_FALSE


def test_a_variance_that_is_the_same_for_all_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law at the mean of all people, where groups are far apart."""
    monkeypatch.setattr(curves, "_ENOUGH", 1e9)
    monkeypatch.setattr(
        curves.ScoreSums,
        "_by_law",
        lambda sums, base, drawn: (
            sums.square + sums.mean * sums.rise - sums.mean**2 * sums.squared_weights
        ),
    )
    row = script().measure("linear", 4.0, 1_000, SURVEYS, (0.02, 0.5), people=20_000)
    assert row.holds < FEWEST
