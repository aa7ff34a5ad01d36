"""Predicted errors of numbers agree with what surveys do, and people are found for a target."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Attribute, Schema, Survey, plan
from deniable.decoding.scores import scoring
from deniable.decoding.thresholds import SIGNS, SYMBOLS, cut_moments, cut_products
from deniable.errors import SchemaError, SurveyError
from deniable.planning import numbers
from deniable.planning.numbers import NORMAL, NumberErrors, Population
from deniable.questions.answers import Subset

INCOME = Attribute("income", low=0, high=200_000, step=1_000, unit="EUR")
SCHEMA = Schema.of(age=(18, 100), income=INCOME, sex=["f", "m"])


def people(count: int, random: np.random.Generator) -> pd.DataFrame:
    """People whose income is skewed, and rises with age."""
    age = random.integers(18, 95, count)
    income = 400 * age + random.exponential(15_000, count)
    return pd.DataFrame({"age": age, "income": income, "sex": random.choice(["f", "m"], count)})


@pytest.mark.parametrize("chosen", [1, 2])
def test_products_of_scores_are_those_of_the_law(chosen: int) -> None:
    answer = Subset.within(1.1, 4, chosen)
    law, products = answer.inclusion, cut_products(answer.inclusion)
    ranks = np.arange(answer.outcomes)
    supports, _ = answer.count(len(ranks), ranks, ranks, np.ones(len(ranks), np.int64))
    scores = (supports @ SIGNS.T - float(law.other) * SIGNS.sum(axis=1)) / float(law.contrast)
    for interval, symbol in enumerate(SYMBOLS.tolist()):
        chances = np.array([chance / answer.law_total for chance in answer.law(symbol)])
        assert scores.T @ chances == pytest.approx(SIGNS[:, symbol])
        assert (scores.T * chances) @ scores == pytest.approx(products[interval])
    assert np.einsum("ijj->j", products) / 4 == pytest.approx(cut_moments(law))


def errors_of_means(survey: Survey, count: int, trials: int) -> dict[str, float]:
    """The scatter of estimated means over surveys of other people each time."""
    means: dict[str, list[float]] = {"age": [], "income": []}
    for trial in range(trials):
        frame = people(count, np.random.default_rng(trial))
        tally = survey.tally(survey.randomize(frame, f"means {trial}"), simulation=True)
        release = tally.release()
        for name, values in means.items():
            values.append(release.mean(name).estimate)
    return {name: float(np.std(values, ddof=1)) for name, values in means.items()}


def test_means_scatter_as_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 5 % of 350 surveys, and a prediction that forgets that three cuts go together is not."""
    survey, count = Survey(SCHEMA, 1, 2.0, people=3_000), 3_000
    assert any(template.question_counts == (2,) for template in survey.templates)
    population = Population(SCHEMA, people(100_000, np.random.default_rng(9_999)))
    scatter = errors_of_means(survey, count, 350)

    def off() -> float:
        errors = NumberErrors(survey, count, population)
        ratios = [errors.mean(SCHEMA.index(name)) / scatter[name] for name in scatter]
        return float(np.mean(ratios)) - 1

    assert abs(off()) < 0.05
    monkeypatch.setattr(numbers, "cut_products", lambda law: cut_products(law) * np.eye(3))
    assert abs(off()) > 0.05


def test_what_a_release_states_is_what_was_predicted() -> None:
    """Of means, medians and correlations, with few reports for each question and with many."""
    big = people(100_000, np.random.default_rng(1))
    for count, survey in ((4_000, Survey(SCHEMA, 2, 4.0)), (200_000, Survey(SCHEMA, 2, 4.0))):
        frame = people(count, np.random.default_rng(2))
        release = survey.tally(survey.randomize(frame, "stated"), simulation=True).release()
        errors = NumberErrors(survey, count, Population(SCHEMA, big))
        assert errors.mean(0) == pytest.approx(release.mean("age").standard_error, rel=0.06)
        assert errors.mean(1) == pytest.approx(release.mean("income").standard_error, rel=0.06)
        stated = release.quantile("income").standard_error
        assert errors.median(1) == pytest.approx(stated, rel=0.45)
    correlation = release.correlation("age", "income")
    assert errors.correlation(0, 1) == pytest.approx(correlation.standard_error, rel=0.15)


def test_numbers_that_may_be_missing() -> None:
    own = Attribute("income", low=0, high=200_000, step=5_000, missing="none")
    schema = Schema.of(age=(18, 100), income=own)
    frame = people(60_000, np.random.default_rng(3)).drop(columns="sex")
    frame.loc[::4, "income"] = np.nan
    survey = Survey(schema, 2, 4.0)
    release = survey.tally(survey.randomize(frame, "missing"), simulation=True).release()
    errors = NumberErrors(survey, len(frame), Population(schema, frame))
    assert errors.mean(1) == pytest.approx(release.mean("income").standard_error, rel=0.06)
    stated = release.correlation("age", "income").standard_error
    assert errors.correlation(0, 1) == pytest.approx(stated, rel=0.2)


def test_correlations_are_of_the_steps_of_scales() -> None:
    """On a logarithmic scale, these are logarithms."""
    wealth = Attribute("wealth", low=1, high=1_000_000, log=True)
    schema = Schema.of(x=(0, 100), wealth=wealth)
    random = np.random.default_rng(6)
    x = random.integers(0, 101, 60_000)
    frame = pd.DataFrame({"x": x, "wealth": np.exp(x / 10 + random.normal(0, 1, len(x)))})
    survey = Survey(schema, 2, 4.0)
    release = survey.tally(survey.randomize(frame, "log"), simulation=True).release()
    errors = NumberErrors(survey, len(frame), Population(schema, frame))
    stated = release.correlation("x", "wealth").standard_error
    assert errors.correlation(0, 1) == pytest.approx(stated, rel=0.15)


def test_one_threshold_is_the_formula() -> None:
    """On −1 to 1, a mean has the variance (C² − m²)/N where each threshold is rarely asked."""
    schema = Schema.of(age=(0, 4_000), b=(0, 1_000))
    schema = Schema((Attribute("x", low=0, high=4_000, step=1), *schema.attributes[1:]))
    survey = Survey(schema, 1, 1.1, "InpES")
    share = sum(
        survey.index.set_chances(index)[template.sets.index((0,))]
        for index, template in enumerate(survey.templates)
    )
    moment = scoring(survey.templates[0]).moment
    expected = 2_000 * np.sqrt(moment / (1_000 * share))
    error = NumberErrors(survey, 1_000, Population(schema)).mean(0)
    assert error == pytest.approx(expected, rel=1e-9)


def test_the_step_of_a_grid_does_not_matter() -> None:
    rows = []
    for step in (500, 1_000, 10_000):
        income = Attribute("income", low=0, high=200_000, step=step)
        made = plan(Schema.of(age=(18, 100), income=income), people=300_000)
        rows.append((*made.numbers[1:], *made.correlations))
        assert any("The step of a grid" in note for note in made.notes)
    for (one, pair), (other, same) in pairwise(rows):
        assert one.mean_error == pytest.approx(other.mean_error, rel=0.08)
        assert pair.correlation_error == pytest.approx(same.correlation_error, rel=0.2)
    assert rows[0][0].median_error == pytest.approx(rows[1][0].median_error, rel=0.05)


def test_people_for_a_mean() -> None:
    made = plan(SCHEMA, means={"income": 500, "age": 2.0})
    income, age = made.targets
    assert (income.english, age.value) == ("the mean of income to ± 500 EUR", 2.0)
    assert income.people == pytest.approx(made.people, rel=0.01)
    assert age.people < made.people
    assert NORMAL * made.numbers[1].mean_error == pytest.approx(500, rel=1e-3)
    again = plan(SCHEMA, means={"income": 1_000}, people=1_000)
    assert again.people == 1_000
    factor = (NORMAL * again.numbers[1].mean_error / 1_000) ** 2
    assert again.targets[0].people > 1_000 * factor, "a design for more asks fewer about one alone"
    both = plan(SCHEMA, means={"income": 50_000}, target_error=0.02)
    assert both.people == both.rows[0].people_needed
    form = made.to_json()
    assert form["targets"][0]["people"] == made.targets[0].people
    assert form["correlations"][0]["correlation_error"] == made.correlations[0].correlation_error
    assert plan(Schema.binary("a", "b"), people=9).numbers == ()


@pytest.mark.parametrize(
    ("means", "error", "message"),
    [
        ({"sex": 1}, SurveyError, "'sex' has no order, so it has no mean"),
        ({"nobody": 1}, SchemaError, "There is no attribute 'nobody'"),
        ({"age": 0}, SurveyError, "needs a positive half-width"),
        ({"age": float("nan")}, SurveyError, "needs a positive half-width"),
        ({"age": True}, SurveyError, "needs a positive half-width"),
        ({"age": "1"}, SurveyError, "needs a positive half-width"),
        ({"age": 1e-12}, SurveyError, r"more than 2\^53 people"),
        (["age"], SurveyError, "means map numbers to half the widths"),
        ({}, SurveyError, "A plan needs people, or a target error"),
    ],
)
def test_a_target_that_is_none_is_refused(means: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        plan(SCHEMA, means=means)


def test_what_is_not_asked_is_not_told() -> None:
    made = plan(SCHEMA, people=10_000, workload=[("age", "sex"), ("income", "sex")])
    assert made.numbers[0].mean_error > 0
    assert made.correlations[0].correlation_error is None


def test_a_number_that_is_the_same_for_all_of_a_sample_has_no_correlation() -> None:
    sample = people(2_000, np.random.default_rng(3)).assign(income=30_000)
    made = plan(SCHEMA, people=50_000, epsilon=1.1, sample=sample)
    assert made.correlations[0].correlation_error is None


# What is read


def test_intervals_of_bins_are_about_as_wide_as_predicted() -> None:
    frame = people(50_000, np.random.default_rng(7))
    survey = Survey(SCHEMA, 2, 1.1, people=50_000)
    release = survey.tally(survey.randomize(frame, "bins"), simulation=True).release("auto")
    stated = np.mean([release.marginal(name).standard_error.mean() for name in SCHEMA.names])
    made = plan(SCHEMA, people=50_000, epsilon=1.1, sample=frame)
    assert made.rows[0].share_points == pytest.approx(100 * NORMAL * stated, rel=0.25)
    rough = plan(SCHEMA, people=50_000, epsilon=1.1)
    assert rough.rows[0].share_points == pytest.approx(100 * NORMAL * stated, rel=0.35)


def test_tables_of_numbers_are_read_about_as_well_as_predicted() -> None:
    count = 60_000
    big = people(200_000, np.random.default_rng(8))
    codes = [
        each.bins[SCHEMA.codes(SCHEMA.encode_frame(big), a)]
        for a, each in enumerate(SCHEMA.attributes)
    ]
    survey, distances = Survey(SCHEMA, 2, 1.1, people=count), []
    for trial in range(3):
        frame = people(count, np.random.default_rng(trial))
        batch = survey.randomize(frame, f"read {trial}")
        release = survey.tally(batch, simulation=True).release("auto")
        for a, b in combinations(range(3), 2):
            table = release.marginal(SCHEMA.names[a], SCHEMA.names[b]).values
            truth = np.zeros(table.shape)
            np.add.at(truth, (codes[a], codes[b]), 1 / len(big))
            distances.append(np.abs(table - truth).sum() / 2)
    made = plan(SCHEMA, people=count, epsilon=1.1, sample=big.head(20_000))
    assert 0.6 < made.rows[0].read_tv / np.mean(distances) < 1.7


def test_dependence_is_found_along_slopes() -> None:
    """A test of 2 × 2 degrees of freedom finds a correlation of 3.455 standard errors 4 times in 5."""
    schema = Schema.of(x=(0, 100), y=(0, 200))
    made = plan(schema, people=100_000)
    ratio = made.rows[0].detectable_v * np.sqrt(2) / made.correlations[0].correlation_error
    assert ratio == pytest.approx(np.sqrt(11.935), rel=0.02)


def test_a_mechanism_that_asks_nobody_about_a_number_alone() -> None:
    made = plan(SCHEMA, people=10_000)
    rows = {row.mechanism: row for row in made.rows}
    assert rows["MargHT"].read_tv is None
    assert rows["MargHT"].share_points is None
    assert made.recommended == "Subspace"
    assert np.isnan(made.unbiased_bound_tv)
    assert {row.variance_over_bound for row in made.rows} == {None}
    assert "lower bound" not in set(made.curves()["mechanism"])


def test_a_pilot_with_numbers() -> None:
    frame = people(20_000, np.random.default_rng(7))
    pilot = Survey(SCHEMA, 2, 2.0)
    release = pilot.tally(pilot.randomize(frame, "pilot"), simulation=True).release()
    made = plan(SCHEMA, people=50_000, pilot=release)
    assert made.rows[0].read_tv > 0
    assert made.numbers[1].mean_error > 0
