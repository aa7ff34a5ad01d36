"""Waves: what people may answer again, what a wave gives, and which way is recommended."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest

from deniable import Client, Ledger, Schema, Survey, plan
from deniable.errors import RefusedError, SurveyError
from deniable.planning.waves import WavePlan, answers_within, plan_waves

EIGHT = Schema.binary(*"abcdefgh")


def waves(**how: Any) -> WavePlan:
    return plan_waves(EIGHT, **{"people": 1_000_000} | how)


def test_the_weekly_metric_of_a_year() -> None:
    first = waves(every="week", duration="1 year", lifetime=6).rows[0]
    assert (first.waves, first.answers_per_person, first.spent) == (52, 5, 5.5)
    assert first.people_per_wave == 1_000_000 * 5 // 52
    one = plan(EIGHT, people=first.people_per_wave)
    assert first.mechanism == one.recommended
    assert first.share_points == pytest.approx(one.rows[0].share_points)
    assert first.detectable_v == pytest.approx(one.rows[0].detectable_v)


def test_a_change_is_what_a_test_of_two_waves_finds_four_times_in_five() -> None:
    first = waves().rows[0]
    both = plan(EIGHT, people=2 * first.people_per_wave, detect={"difference": first.change_points})
    assert both.targets[0].power == pytest.approx(0.8, abs=0.01)


def test_pooled_waves_average_answers_but_not_who_was_asked() -> None:
    """A person who answers five times is one person: the sampling error is that of a million."""
    first = waves().rows[0]
    every = plan(EIGHT, people=5_000_000).rows[0].share_points
    again = 0.25 * (1 / 1_000_000 - 1 / 5_000_000) * (100 * 1.959964) ** 2
    assert first.share_points_pooled == pytest.approx(sqrt(every**2 + again), rel=1e-3)
    assert first.share_points_pooled > every


@pytest.mark.parametrize(
    ("lifetime", "epsilon"), [(6.0, 1.1), (0.6, 0.1), (6.0, 2.0), (0.3, 0.1), (1.1, 1.1)]
)
def test_answers_are_as_many_as_a_ledger_allows(tmp_path: Any, lifetime: float, epsilon: float):
    ledger = Ledger(tmp_path / "ledger.json")
    answers = 0
    for number in range(20):
        survey = Survey(Schema.binary("a", f"b{number}"), 1, epsilon, "InpHT")
        client = Client(survey, ledger=ledger, lifetime_limit=lifetime)
        try:
            client.report({"a": True, f"b{number}": False})
        except RefusedError:
            break
        answers += 1
    assert answers == answers_within(lifetime, epsilon)
    assert answers * Fraction(epsilon) <= Fraction(lifetime)


def test_no_way_spends_more_than_a_lifetime() -> None:
    for lifetime in (0.6, 2.0, 6.0):
        for epsilon in (0.1, 0.3, 0.55, 2.0):
            if answers_within(lifetime, epsilon):
                for row in waves(lifetime=lifetime, epsilon=epsilon).rows:
                    assert row.answers_per_person * Fraction(row.epsilon) <= Fraction(lifetime)
                    assert row.people_per_wave * row.waves <= 1_000_000 * row.answers_per_person


def test_beside_it_stand_longer_periods_other_epsilons_and_order_1() -> None:
    ways = [(row.every, row.epsilon, row.order) for row in waves(epsilon=0.8).rows]
    assert ways == [
        ("week", 0.8, 2),
        *((name, 0.8, 2) for name in ("month", "quarter", "year")),
        ("week", 0.4, 2),
        ("week", 1.6, 2),
        ("week", 0.8, 1),
    ]
    assert len(waves(epsilon=1.1).rows) == 6  # twice 1.1 is more than clients allow by default


def test_the_shortest_period_that_finds_the_change_is_recommended() -> None:
    assert waves(change=5).recommended == 0
    monthly = waves(change=3)
    assert monthly.rows[monthly.recommended].every == "month"
    assert "as every week finds less" in monthly.sentence
    few = waves(people=20_000)
    assert few.rows[few.recommended].every == "quarter"
    assert few.sentence.startswith("None of these finds a change of 5 points")
    assert waves(people=9).sentence == "9 people are too few for 52 waves."


def test_a_year_of_one_wave_shows_no_change() -> None:
    last = waves().rows[3]
    assert (last.every, last.waves, last.change_points) == ("year", 1, None)


def test_a_plan_of_waves_is_told_to_programs_and_notebooks() -> None:
    own = waves()
    form = own.to_json()
    assert form["rows"][form["recommended"]]["every"] == "week"
    assert form["sentence"] == own.sentence
    assert len(own.to_frame()) == len(form["rows"])
    assert "people per wave" in own._repr_html_().replace("_", " ")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"every": "fortnight"}, "A period is a number of days"),
        ({"every": "0 weeks"}, "A period is a number"),
        ({"duration": "soon"}, "The time is a number"),
        ({"every": "2 years"}, "does not fit into 1 year"),
        ({"lifetime": 1.0}, "allows no answer of ε = 1.1"),
        ({"lifetime": float("nan")}, "lifetime must be a positive number"),
        ({"change": 0}, "change must be a positive number"),
        ({"people": 0}, "people"),
        ({"epsilon": 30.0, "lifetime": 40.0}, "epsilon must be at most"),
        ({"order": 9}, "order must be"),
    ],
)
def test_waves_that_cannot_be_are_refused(how: dict[str, Any], reason: str) -> None:
    with pytest.raises(SurveyError, match=reason):
        waves(**how)


def test_answers_of_the_same_people_find_no_more_than_these_people_could_tell() -> None:
    """Without any noise, 5,000 people show a V of 2.8/√5,000 four times in five, and no less."""
    plan = plan_waves(
        Schema.binary("a", "b"), every="week", lifetime=40, epsilon=2.0, people=5_000, order=2
    )
    least = 2.8 / sqrt(5_000)
    for row in plan.rows:
        if row.detectable_v_pooled is not None and row.detectable_v is not None:
            assert least < row.detectable_v_pooled < row.detectable_v + 1e-9
