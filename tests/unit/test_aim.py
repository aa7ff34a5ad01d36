"""Plans for the tables that matter, and for people a pilot told about."""

from __future__ import annotations

from itertools import combinations
from math import exp, expm1, log, sqrt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, plan, simulate
from deniable.cli.inputs import parse_workload
from deniable.errors import SurveyError
from deniable.lab.simulate import trials
from deniable.planning.error import KAPPA, predicted_tv


def names(*places: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in places)


def schema(attributes: int) -> Schema:
    return Schema.binary(*names(*range(attributes)))


def uniform(people: int, attributes: int, seed: int = 1) -> pd.DataFrame:
    held = np.random.default_rng(seed).random((people, attributes)) < 0.5
    return pd.DataFrame(held, columns=names(*range(attributes)))


NAMES = list(names(*range(8)))
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
    for squares in (("a", "b"), (-1.0, 0.1), (float("nan"),)):
        with pytest.raises(SurveyError, match="A pilot must be a release"):
            plan(EIGHT, people=10, pilot=SimpleNamespace(squares=squares))
    with pytest.raises(SurveyError, match="'auto' takes a workload, a pilot or a prior"):
        Survey(EIGHT, 2, 1.1, optimised=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "workload"),
    [
        (2, {names(0, 1): 1e9, names(2, 3): 1.0}),
        (2, {names(0, 1): 1e9, names(2, 3): 1e-9}),
        (6, {names(0): 1e5, names(1, 2, 3, 4, 5, 6): 1.0}),
        (5, {names(0): 1e6, names(1, 2, 3, 4, 5): 1.0}),
    ],
)
def test_a_light_table_is_asked_for_all_the_same(order: int, workload: dict) -> None:
    made = plan(schema(9), order=order, epsilon=1.1, people=10**6, workload=workload)
    assert made.recommended in ("Subspace", "InpES"), "one yes/no answer may be all that matters"
    assert made.rows[0].variance_over_bound < 1.5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "workload",
    [
        {names(0, 1): 1e308, names(0, 2): 1e308},
        {names(0, 1): 1e308, names(1, 0): 1e308, names(2): 1.0},
        {names(0, 1): 1e-308, names(2, 3): 1e308},
        {names(0, 1): 10**400},
    ],
)
def test_weights_at_the_end_of_the_floats_are_planned_or_refused(workload: dict) -> None:
    try:
        made = plan(schema(4), people=1000, workload=workload)
    except SurveyError:
        return
    assert made.recommended == "Subspace"
    assert np.isfinite(made.rows[0].predicted_tv)


def test_a_table_named_twice_on_the_command_line_counts_twice() -> None:
    """As in Python, and as 'a,b; b,a' does."""
    read = parse_workload("a0,a1; a0,a1; a2")
    made = plan(schema(3), people=10, workload=read)
    assert made.aim.workload == {(0, 1): 2.0, (2,): 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "order", "people"),
    [("InpEM", 2, 2000), ("InpHT", 3, 300), ("InpHT", 3, 1000), ("MargPS", 3, 300)],
)
def test_a_pilot_of_uniform_people_promises_nothing(
    mechanism: str, order: int, people: int
) -> None:
    """All θ are 0, so plans after such pilots must not, on average, need a fifth fewer people.

    With θ² estimated as Σ(θ̂² − A)/A² ÷ Σ(1 − S)/A², A = 1/G, S = Σg²/G², it is 0.97 to 0.99.
    """
    survey = Survey(schema(16), order, 4.0, mechanism)
    before = plan(schema(16), order=order, epsilon=4.0, target_error=0.01).people
    after = []
    for turn in range(4):
        pilot = simulate(survey, uniform(people, 16, turn), seed=f"pilot {turn}")
        after.append(plan(schema(16), order=order, epsilon=4.0, target_error=0.01, pilot=pilot))
    assert np.mean([made.people for made in after]) > 0.88 * before


def test_a_mean_square_is_at_most_one() -> None:
    pilot = simulate(Survey(schema(16), 3, 4.0, "InpEM"), uniform(300, 16), seed="pilot")
    assert max(pilot.squares) <= 1


@pytest.mark.slow
def test_thin_pilots_are_unbiased() -> None:
    """131,072 people on 166,750 coefficients: a report or two for each triple."""
    pilot = simulate(Survey(schema(100), 3, 1.1), uniform(1 << 17, 100), seed="thin")
    assert pilot.squares[2] < 0.1
