"""What a design is good at: tables as they are read, associations, or unbiased tables."""

from __future__ import annotations

import json
from math import log

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, plan, simulate
from deniable.design.reading import GOALS, DetectableStrength, ReadingError, Strengths
from deniable.design.workload import Workload
from deniable.errors import SurveyError
from deniable.mechanisms.subspace import Subspace
from deniable.planning.aim import EVERYTHING, Aim
from deniable.planning.error import predicted_tv
from deniable.planning.reading import component_noise, detectable_v, read_tv, strengths_of
from deniable.release.mixed.shrinkage import margin

ADULT = (6, 9, 16, 7, 15, 6, 5, 2, 5, 42, 2)
"""The numbers of values of UCI Adult's attributes."""


def schema(*sizes: int) -> Schema:
    return Schema.of(**{f"a{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(sizes)})


def designs(sizes: tuple[int, ...], order: int, people: int) -> dict[str, Survey]:
    return {
        goal: Survey(schema(*sizes), order, log(3), "Subspace", aim=goal, people=people)
        for goal in GOALS
    }


def precisions(survey: Survey) -> np.ndarray:
    workload = Workload.everything(survey.order, survey.lists)
    return 1 / component_noise(survey, workload, EVERYTHING)


def share_on_singles(survey: Survey) -> float:
    return sum(
        survey.index.chance(index)
        for index, template in enumerate(survey.templates)
        if template.attributes == 1
    )


# Designs


def test_fewer_people_are_asked_about_pairs_where_fewer_answer() -> None:
    """The theory's optimum, 1.00, .96, .65 and .32, where a quarter of all precision is kept."""
    shares = [
        share_on_singles(Survey(schema(*ADULT), 2, log(3), "Subspace", people=people))
        for people in (10_000, 48_842, 1 << 18, 2_000_000)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares == pytest.approx([0.76, 0.75, 0.63, 0.37], abs=0.03)


@pytest.mark.parametrize(("sizes", "order"), [(ADULT, 2), ((3, 2, 5, 2, 4), 3)])
@pytest.mark.parametrize("people", [1_000, 10**7])
def test_every_component_keeps_a_quarter_of_its_precision(sizes, order, people) -> None:
    surveys = designs(sizes, order, people)
    unbiased = precisions(surveys["unbiased"])
    for goal in ("tables", "associations"):
        assert (precisions(surveys[goal]) >= 0.25 * unbiased * (1 - 1e-6)).all()
        worse = detectable_v(surveys[goal], people, EVERYTHING)
        assert worse <= 2 * detectable_v(surveys["unbiased"], people, EVERYTHING) * (1 + 1e-6)


def test_each_aim_is_best_at_what_it_is_for() -> None:
    surveys = designs(ADULT, 2, 50_000)
    aim = Aim(people=50_000)
    measures = {
        "tables": lambda survey: read_tv(survey, 50_000, aim),
        "associations": lambda survey: detectable_v(survey, 50_000, aim),
        "unbiased": lambda survey: predicted_tv(survey, 50_000, aim=aim),
    }
    for goal, measure in measures.items():
        errors = {name: measure(survey) for name, survey in surveys.items()}
        assert min(errors, key=errors.get) == goal, errors


@pytest.mark.parametrize("kind", [ReadingError, DetectableStrength])
def test_slopes_are_what_the_objective_falls_by(kind) -> None:
    workload = Workload.everything(3, Subspace.lists(schema(3, 2, 5, 4)))
    objective = kind(workload, None, 1_000.0)
    random = np.random.default_rng(3)
    precision = random.random(workload.numbering.size) + 0.1

    def value(at: np.ndarray) -> float:
        noise = workload.scale / 1_000.0 / at
        if kind is DetectableStrength:
            return float(objective.strengths(noise).sum())
        return sum(float(errors.sum()) for errors in objective.errors(noise))

    slope = objective.slope(precision)
    for place in range(len(precision)):
        step = np.zeros_like(precision)
        step[place] = 1e-6
        fall = (value(precision - step) - value(precision + step)) / 2e-6
        assert slope[place] == pytest.approx(fall, rel=1e-4, abs=1e-9)


def test_no_other_share_of_the_free_people_reads_better() -> None:
    """Any mixture with another design that keeps the same floor is worse, or as good."""
    sizes, people = (6, 3, 9, 2), 20_000
    best = Survey(schema(*sizes), 2, log(3), "Subspace", people=people)
    workload = Workload.everything(2, best.lists)
    objective = ReadingError(workload, None, people)

    def error(precision: np.ndarray) -> float:
        return workload.mean(objective.errors(1 / precision / people))

    own = precisions(best)
    floor = 0.25 * precisions(Survey(schema(*sizes), 2, log(3), "Subspace", aim="unbiased"))
    for other in (
        precisions(Survey(schema(*sizes), 2, log(3), "Subspace", aim="unbiased")),
        precisions(Survey(schema(*sizes), 2, log(3), "Subspace", people=2_000)),
        precisions(Survey(schema(*sizes), 2, log(3), "Subspace", people=10**6)),
        precisions(Survey(schema(*sizes), 2, log(3), "Subspace", workload=[("a0", "a2")])) + 1e-9,
    ):
        free = (other - floor).clip(0, None)
        for part in (0.01, 0.1, 0.3):
            mixture = floor + (1 - part) * (own - floor) + part * free
            assert error(mixture) >= error(own) * (1 - 1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_yes_or_no_attributes_have_one_design_for_all_aims(order) -> None:
    ids = {
        Survey(Schema.binary(*"abcdef"), order, 1.1, aim=goal, people=people).id
        for goal in GOALS
        for people in (1_000, 10**7)
        if (goal, order) != ("associations", 1)
    }
    assert len(ids) == 1


def test_a_stronger_prior_asks_more_about_pairs() -> None:
    weak, strong = (
        Survey(schema(*ADULT), 2, log(3), "Subspace", people=10**6, prior=prior)
        for prior in (0.005, 0.5)
    )
    assert share_on_singles(strong) < share_on_singles(weak)
    default, same = (
        Survey(schema(*ADULT), 2, log(3), "Subspace", **options)
        for options in ({}, {"prior": 0.05})
    )
    assert default.id == same.id


def test_neither_aim_nor_people_stand_in_a_survey() -> None:
    form = json.loads(Survey(schema(3, 4, 5), 2, 1.1, people=12_345).to_json())
    assert not {"aim", "people", "goal"} & set(form)
    assert "12345" not in json.dumps(form)


# Bad input


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"aim": "beauty"}, "aim must be one of tables, associations, unbiased, got 'beauty'"),
        ({"aim": None}, "aim must be one of"),
        ({"prior": 0.0}, "A prior is the mean square contingency of a pair, above 0 and up to 1"),
        ({"prior": 1.5}, "A prior is the mean square contingency"),
        ({"prior": float("nan")}, "A prior is the mean square contingency"),
        ({"prior": "strong"}, "A prior is the mean square contingency"),
        ({"people": 0}, "people must be a whole number from 1"),
        ({"people": True}, "people must be a whole number from 1"),
        ({"people": 1.5}, "people must be a whole number from 1"),
        ({"people": 1 << 60}, "people must be a whole number from 1"),
    ],
)
@pytest.mark.parametrize("mechanism", ["auto", "Subspace"])
def test_an_aim_that_is_none_is_refused(options, sentence, mechanism) -> None:
    with pytest.raises(SurveyError, match=sentence):
        Survey(schema(3, 4), 2, 1.1, mechanism, **options)


def test_a_pilot_of_another_schema_is_refused() -> None:
    frame = pd.DataFrame({"a0": ["v0", "v1", "v2"] * 100, "a1": ["v0", "v1", "v1"] * 100})
    pilot = simulate(Survey(schema(3, 2), 2, 1.1, "Subspace"), frame, seed="pilot")
    with pytest.raises(SurveyError, match="other numbers of values"):
        Survey(schema(3, 4), 2, 1.1, pilot=pilot)
    with pytest.raises(SurveyError, match="about 2 attributes, the plan about 3"):
        Survey(schema(3, 2, 2), 2, 1.1, pilot=pilot)


# Plans


def records(people: int, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    kind = random.random(people)
    first = (4 * kind).astype(int)
    second = np.where(random.random(people) < 0.6, first, random.integers(0, 4, people))
    third = random.choice(3, people, p=[0.7, 0.2, 0.1])
    return pd.DataFrame(
        {f"a{i}": [f"v{v}" for v in column] for i, column in enumerate((first, second, third))}
    )


def test_a_pilot_s_strengths_move_the_design() -> None:
    frame = records(200_000)
    pilot = simulate(Survey(schema(4, 4, 3), 2, 3.0, "Subspace"), frame, seed="strong")
    strengths = pilot.strengths
    assert strengths.departures[3] > 0.3, "the pair that depends"
    assert strengths.departures[4:].max() < 0.02, "those that do not"
    assert strengths.shares[2] == pytest.approx([0.7, 0.2, 0.1], abs=0.02)
    with_pilot = Survey(schema(4, 4, 3), 2, 1.1, "Subspace", pilot=pilot, people=20_000)
    without = Survey(schema(4, 4, 3), 2, 1.1, "Subspace", people=20_000)
    pair, others = precisions(with_pilot)[3:] / precisions(without)[3:], slice(1, None)
    assert pair[0] > 1.1
    assert (pair[others] < pair[0]).all()


def test_strengths_of_records_are_their_own() -> None:
    frame = records(50_000)
    strengths = strengths_of(schema(4, 4, 3), 3, frame)
    table = pd.crosstab(frame.a0, frame.a1, normalize=True).to_numpy()
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    kappa = np.sqrt(2 / np.pi) / 2
    distance = np.abs(table - alone).sum() / 2
    assert np.sqrt(strengths.departures[3]) * kappa == pytest.approx(distance)
    assert strengths.departures[4:].max() < 0.01 * strengths.departures[3]
    third = strengths.shares[2]
    assert strengths.concentration[2] == pytest.approx(3 * float(third @ third))


def test_a_plan_says_what_each_aim_would_do() -> None:
    forecast = plan(schema(4, 4, 3), epsilon=1.1, people=30_000, sample=records(5_000))
    assert [row.aim for row in forecast.aims] == list(GOALS)
    row = forecast.rows[0]
    assert row.read_tv == forecast.aims[0].read_tv
    assert row.read_tv < row.predicted_tv
    assert forecast.aims[2].predicted_tv < row.predicted_tv
    form = forecast.to_json()
    assert form["aim"] == "tables"
    assert {"read_tv", "detectable_v", "share_points"} <= set(form["rows"][0])
    assert plan(Schema.binary(*"abc"), people=1_000).aims == ()


def test_a_plan_for_single_attributes_has_no_associations() -> None:
    forecast = plan(schema(4, 4, 3), people=10_000, workload=[("a0",), ("a1",)])
    assert [row.aim for row in forecast.aims] == ["tables", "unbiased"]


def test_aims_are_those_of_the_mechanism_that_has_them() -> None:
    forecast = plan(schema(4, 4, 3), epsilon=8.0, people=10_000)
    assert forecast.recommended != "Subspace"
    assert {row.mechanism for row in forecast.aims} == {"Subspace"}
    assert len({row.predicted_tv for row in forecast.aims}) > 1


def test_a_sample_changes_predictions_and_not_what_is_recommended() -> None:
    frame = records(5_000)
    for people in (1_000, 10**6):
        plain = plan(schema(4, 4, 3), people=people)
        told = plan(schema(4, 4, 3), people=people, sample=frame)
        assert [row.mechanism for row in plain.rows] == [row.mechanism for row in told.rows]


def test_a_plan_for_a_target_is_designed_for_the_people_that_it_takes() -> None:
    forecast = plan(schema(4, 4, 3), target_error=0.02)
    assert forecast.aim.people == pytest.approx(forecast.people, rel=0.3)
    assert forecast.rows[0].predicted_tv <= 0.02 * (1 + 1e-9)


def test_points_are_half_the_width_of_a_share_s_interval() -> None:
    frame = records(40_000)
    survey = Survey(schema(4, 4, 3), 2, 1.1, "Subspace", people=40_000)
    release = simulate(survey, frame, seed="points")
    forecast = plan(schema(4, 4, 3), epsilon=1.1, people=40_000)
    widths = [
        np.diff(release.marginal(name).interval(), axis=0).mean() / 2 for name in ("a0", "a1", "a2")
    ]
    assert forecast.rows[0].mechanism == "Subspace"
    assert forecast.rows[0].share_points == pytest.approx(100 * np.mean(widths), rel=0.05)


def test_predicted_margins_are_read_as_posterior_means() -> None:
    """Many values of which few are common: noise below a share's size is mostly taken away."""
    shares = np.r_[0.5, 0.3, 0.2, np.zeros(27)]
    random, energy = np.random.default_rng(4), 0.003
    off, read = [], []
    for _ in range(50):
        noise = random.standard_normal(30)
        noise = (noise - noise.mean()) * np.sqrt(energy / 29)
        off.append(np.abs(noise).sum() / 2)
        read.append(np.abs(margin(shares - 1 / 30 + noise, energy).shares - shares).sum() / 2)
    assert np.mean(read) < 0.5 * np.mean(off)


def test_strengths_for_some_attributes_are_those_of_their_sets() -> None:
    workload = Workload.of({(0, 2): 1.0}, 2, Subspace.lists(schema(3, 4, 5)))
    own = Strengths.of(workload, strengths_of(schema(4, 4, 3), 2, records(2_000)))
    every = strengths_of(schema(4, 4, 3), 2, records(2_000))
    assert own.departures[2] == every.departures[4], "of the pair (0, 2)"
    assert own.concentration == pytest.approx(every.concentration[[0, 2]])
