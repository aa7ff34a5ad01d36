"""Plans for the tables that matter, and for people a pilot told about."""

from __future__ import annotations

from itertools import combinations
from math import exp, expm1, log, sqrt

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, plan, simulate
from deniable.errors import SurveyError
from deniable.lab.simulate import trials
from deniable.planning.error import KAPPA, predicted_tv

NAMES = [f"a{i}" for i in range(8)]
EIGHT = Schema.binary(*NAMES)


def skewed(people: int) -> pd.DataFrame:
    held = np.random.default_rng(5).random((people, 8)) < np.array([0.02] * 5 + [0.95] * 3)
    return pd.DataFrame({name: held[:, i] for i, name in enumerate(NAMES)})


def test_a_workload_of_all_tables_is_no_workload() -> None:
    plain = plan(EIGHT, order=2, epsilon=1.1, people=10_000)
    every = plan(EIGHT, order=2, epsilon=1.1, people=10_000, workload=combinations(NAMES, 2))
    assert every.unbiased_bound_tv == pytest.approx(plain.unbiased_bound_tv, rel=1e-12)
    expected = {row.mechanism: row for row in plain.rows}
    for row in every.rows:
        other = expected[row.mechanism]
        if row.predicted_tv is None:
            assert (row.mechanism, other.predicted_tv) == ("InpEM", None)
            continue
        assert row.predicted_tv == pytest.approx(other.predicted_tv, rel=1e-4)
        assert row.variance_over_bound == pytest.approx(other.variance_over_bound, rel=1e-4)


def test_one_table_is_known_as_well_as_if_it_were_all_there_is() -> None:
    """A single pair alone needs three coefficients: the bound is (√1+√1+√1)² times the report's."""
    made = plan(EIGHT, order=2, epsilon=log(3), people=1000, workload=[("a6", "a2")])
    assert made.recommended == "Subspace"
    e = exp(log(3))
    assert made.unbiased_bound_tv == pytest.approx(
        KAPPA * sqrt(9 * 4 * e / (expm1(log(3)) ** 2 * 1000))
    )
    assert made.rows[0].variance_over_bound == pytest.approx(1, rel=1e-9)
    alone = plan(Schema.binary("a2", "a6"), order=2, epsilon=log(3), people=1000)
    assert made.rows[0].predicted_tv == pytest.approx(alone.rows[0].predicted_tv, rel=1e-9)
    assert made.rows[0].guaranteed_tv is None


@pytest.mark.slow
def test_predictions_for_a_workload_are_what_a_simulation_finds() -> None:
    frame = pd.DataFrame(
        np.random.default_rng(6).random((1 << 16, 8)) < np.linspace(0.3, 0.6, 8), columns=NAMES
    )
    tables = {("a0", "a1"): 3.0, ("a2", "a3"): 1.0, ("a7",): 1.0}
    made = plan(EIGHT, order=2, epsilon=1.1, people=1 << 16, workload=tables)
    survey = Survey(EIGHT, 2, 1.1, workload=tables)
    assert survey.mechanism == made.recommended == "Subspace"
    squares = dict.fromkeys(tables, 0.0)
    for turn in range(60):
        release = simulate(survey, frame, seed=f"workload {turn}")
        for names in tables:
            truth = frame.groupby(list(names)).size().to_numpy() / len(frame)
            off = np.abs(release.marginal(*names).values.ravel() - truth).sum() / 2
            squares[names] += off / 60
    found = sqrt(sum(w * squares[n] ** 2 for n, w in tables.items()) / 5)
    assert found == pytest.approx(made.rows[0].predicted_tv, rel=0.15)


@pytest.mark.slow
def test_a_pilot_predicts_skewed_people_and_improves_the_design() -> None:
    frame = skewed(1 << 17)
    pilot = simulate(Survey(EIGHT, 2, 4.0), frame.head(1 << 14), seed="pilot")
    truth = 1 - 2 * frame.mean().to_numpy()
    assert pilot.squares[0] == pytest.approx((truth**2).mean(), abs=0.03)
    plain = plan(EIGHT, order=2, epsilon=4.0, people=1 << 17)
    piloted = plan(EIGHT, order=2, epsilon=4.0, people=1 << 17, pilot=pilot)
    assert piloted.recommended == "Subspace"
    assert piloted.rows[0].predicted_tv < 0.9 * plain.rows[0].predicted_tv
    # It gains one per cent, and the mean of 60 repeats scatters by two: predictions at the people's
    # own tables tell, and repeats confirm them.
    without, guided = (
        list(trials(survey, frame, repeat=60, seed="pilot"))[-1]
        for survey in (Survey(EIGHT, 2, 4.0), Survey(EIGHT, 2, 4.0, pilot=pilot))
    )
    assert guided.predicted_tv < without.predicted_tv * 0.995
    for found in (without, guided):
        assert found.mean_tv == pytest.approx(found.predicted_tv, rel=0.1)


def test_squares_do_not_count_noise() -> None:
    """Of people who are uniform, θ̂² is all noise: the estimate is near 0, the naive one is not."""
    frame = pd.DataFrame(np.random.default_rng(7).random((4000, 8)) < 0.5, columns=NAMES)
    release = simulate(Survey(EIGHT, 2, 0.5), frame, seed="noise")
    naive = np.mean([np.square(1 - 2 * release.marginal(n).values[1]) for n in NAMES])
    assert naive > 0.02
    assert release.squares[0] < naive / 2


def test_a_shorter_pilot_leaves_higher_levels_open() -> None:
    pilot = simulate(Survey(EIGHT, 1, 2.0), skewed(2000), seed="short")
    made = plan(EIGHT, order=3, epsilon=1.0, people=1000, pilot=pilot)
    assert made.aim.squares[0] > 0.5
    assert made.aim.squares[1:] == (0.0, 0.0)
    form = made.to_json()
    assert form["pilot_squares"] == list(made.aim.squares)
    assert form["workload"] is None


def test_a_tailored_survey_predicts_no_error_for_what_it_never_asks() -> None:
    survey = Survey(EIGHT, 2, 1.1, workload=[("a0", "a1")])
    assert predicted_tv(survey, 1000) == float("inf")


def test_a_workload_stands_in_the_json() -> None:
    made = plan(EIGHT, people=10, workload={("a1", "a0"): 2.0})
    assert made.to_json()["workload"] == [{"attributes": ["a0", "a1"], "weight": 2.0}]
    assert made.curves().query("mechanism == 'Subspace'")["predicted_tv"].gt(0).all()


def test_a_pilot_that_is_none_is_refused() -> None:
    with pytest.raises(SurveyError, match="A pilot must be a release, got str"):
        plan(EIGHT, people=10, pilot="yesterday")
    with pytest.raises(SurveyError, match="'auto' takes a workload and a pilot"):
        Survey(EIGHT, 2, 1.1, optimised=True)
