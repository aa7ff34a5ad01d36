"""Predictions agree with each other and with brute force, and are refused where they make no sense."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf, log, pi, sqrt

import numpy as np
import pandas as pd
import pytest

from deniable import Plan, Schema, Survey, plan
from deniable.errors import SurveyError
from deniable.mechanisms.registry import MECHANISMS, known_mechanisms
from deniable.numeric.axes import contrast_basis
from deniable.planning.aim import Aim
from deniable.planning.cost import bits_per_report, random_words
from deniable.planning.error import KAPPA, bound_tv, guaranteed_tv, people_needed, predicted_tv
from deniable.planning.numbers import Population
from deniable.planning.plan import choose
from deniable.planning.prospect import Prospect, _residuals
from deniable.questions.entropy import Key


def bound_variance(attributes, order, epsilon, people):
    """The average cell variance of yes/no tables below which no unbiased protocol can go."""
    yes_no = Schema.binary(*map(str, range(attributes)))
    return (bound_tv(yes_no, order, epsilon, people) / (KAPPA * (1 << order))) ** 2


def schema(attributes: int) -> Schema:
    return Schema.binary(*(f"a{i}" for i in range(attributes)))


def mechanism(name: str, attributes: int = 6, order: int = 2, epsilon: float = 1.1):
    return Survey(schema(attributes), order, epsilon, name)


FORMULAS = [name for name in MECHANISMS if name != "InpEM"]


def test_a_plan_ranks_every_mechanism_that_fits() -> None:
    made = plan(schema(6), order=2, epsilon=1.1, people=10_000, target_error=0.01)
    assert isinstance(made, Plan)
    assert {row.mechanism for row in made.rows} == set(known_mechanisms())
    predicted = [row.predicted_tv for row in made.rows[:-1]]
    assert predicted == sorted(predicted)
    assert made.rows[-1].mechanism == "InpEM"
    assert made.rows[-1].predicted_tv is None
    assert made.recommended == made.rows[0].mechanism
    for row in made.rows[:-1]:
        assert row.predicted_tv > made.unbiased_bound_tv
        assert row.variance_over_bound == pytest.approx(
            (row.predicted_tv / made.unbiased_bound_tv) ** 2
        )
        assert row.predicted_tv < row.guaranteed_tv < 10 * row.predicted_tv
    assert made.to_frame()["mechanism"].tolist() == [row.mechanism for row in made.rows]
    assert choose(schema(6), 2, 1.1).mechanism == made.recommended


def test_a_plan_says_why_a_mechanism_does_not_fit() -> None:
    made = plan(schema(70), order=2, epsilon=1.1, people=10_000)
    assert set(made.skipped) == {"InpRR", "InpPS", "InpEM"}
    assert "2^70 bits in every report" in made.skipped["InpRR"]
    assert "EB" in made.skipped["InpRR"]
    assert {row.mechanism for row in made.rows} | set(made.skipped) == set(known_mechanisms())
    assert "beyond any device" in plan(schema(2000), people=1).skipped["InpRR"]


@pytest.mark.parametrize("name", FORMULAS)
def test_errors_fall_with_people_and_epsilon_as_they_should(name: str) -> None:
    one = predicted_tv(mechanism(name), 10_000)
    assert predicted_tv(mechanism(name), 40_000) == pytest.approx(one / 2)
    assert predicted_tv(mechanism(name, epsilon=1.2), 10_000) < one
    assert predicted_tv(mechanism(name, attributes=7), 10_000) > one
    assert guaranteed_tv(mechanism(name), 40_000_000) < guaranteed_tv(mechanism(name), 10_000_000)


@pytest.mark.parametrize("name", FORMULAS)
def test_people_needed_are_enough_and_one_fewer_is_not(name: str) -> None:
    for target in (0.3, 0.01, 0.0123):
        people = people_needed(mechanism(name), target)
        assert predicted_tv(mechanism(name), people) <= target * (1 + 1e-12)
        assert people == 1 or predicted_tv(mechanism(name), people - 1) > target * (1 - 1e-12)


def test_targets_beyond_floats_need_a_number_of_people_all_the_same() -> None:
    one = predicted_tv(mechanism("InpHT"), 1)
    expected = (Fraction(one) / Fraction(1e-300)) ** 2
    assert 0 <= people_needed(mechanism("InpHT"), 1e-300) - expected < 1
    assert people_needed(mechanism("InpHT"), 1e300) == 1
    assert people_needed(mechanism("InpEM"), 0.1) is None


def test_the_bound_is_that_of_the_theory() -> None:
    d, k, epsilon, people = 8, 2, log(3), 1000
    levels = sqrt(comb(2, 1) * comb(8, 1)) + sqrt(comb(2, 2) * comb(8, 2))
    assert bound_variance(d, k, epsilon, people) == pytest.approx(levels**2 / 16 * 12 / 4 / people)
    # InpHT's variance over the bound, as the theory's table has it
    rows = {r.mechanism: r for r in plan(schema(8), epsilon=log(3), people=1000).rows}
    assert rows["InpHT"].variance_over_bound == pytest.approx(1.67, abs=0.005)


def test_closed_forms_are_those_of_the_paper() -> None:
    d, k, e, people = 6, 2, np.exp(1.1), 10_000
    m, kappa = 2**k, 0.5 * sqrt(2 / pi)
    a = np.exp(0.55)
    T, v, contrast = d + comb(d, 2), a / (a - 1) ** 2, (e + 1) / (e - 1)
    moments = {
        "InpHT": T * contrast**2 * (m - 1),
        "InpPS": (m - 1) * ((2**d + e - 1) / (e - 1)) ** 2,
        "InpRR": (m - 1) * (2**d * v + 1),
        "MargPS": T * ((e + m - 1) / (e - 1)) ** 2,
        "MargHT": T * (m - 1) * contrast**2,
        "MargRR": T * (m * v + 1),
    }
    for name, moment in moments.items():
        # InpHT, InpPS and InpRR hold each coefficient equally often; pooled ones by their share.
        expected = kappa * m * sqrt(moment / 4**k / people)
        assert predicted_tv(mechanism(name), people) == pytest.approx(expected, rel=1e-6), name


@pytest.mark.parametrize("name", MECHANISMS)
def test_bits_are_those_of_a_slot_and_a_value(name: str) -> None:
    made = mechanism(name)
    slot = (made.slots - 1).bit_length()
    expected = {
        "InpRR": 64,
        "InpPS": 6,
        "InpHT": 1,
        "MargRR": 4,
        "MargPS": 2,
        "MargHT": 1,
        "InpEM": 6,
        "InpES": 1,
        "Subspace": 2,
    }
    assert bits_per_report(made) == slot + expected[name]


@pytest.mark.parametrize(
    ("name", "attributes", "words"),
    [
        # one slot takes no word; else one word names it
        ("InpRR", 6, 64),
        ("InpPS", 6, 2),
        ("InpHT", 2, 2),
        ("MargRR", 2, 5),
        ("MargPS", 2, 3),
        ("MargHT", 2, 2),
        ("InpEM", 6, 6),
        ("Subspace", 3, 4),
    ],
)
def test_the_cost_to_a_device_is_what_it_reads_and_draws(
    name: str, attributes: int, words: int
) -> None:
    made = mechanism(name)
    assert (made.touches, random_words(made)) == (attributes, words)
    row = next(r for r in plan(schema(6), people=1000).rows if r.mechanism == name)
    assert (row.attributes_read, row.random_words) == (attributes, words)


class Counted:
    """A source of real words that counts them."""

    def __init__(self) -> None:
        self.stream, self.drawn = Key.seeded("words").stream("cost"), 0

    def word(self) -> int:
        self.drawn += 1
        return self.stream.word()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_device_draws_these_words_or_a_few_more_where_some_are_rejected(name: str) -> None:
    survey = Survey(schema(6), 2, 1.1, name)
    source, drawn = Counted(), []
    for _ in range(100):
        source.drawn = 0
        survey.question(survey.draw_slot(source)).answer.answer(1, source)
        drawn.append(source.drawn)
    words = random_words(survey)
    assert min(drawn) <= words <= max(drawn)
    assert min(drawn) == words or len(survey.families) > 1
    assert np.mean(drawn) < 2 * words


def test_without_people_a_plan_is_for_as_many_as_the_target_needs() -> None:
    made = plan(schema(6), target_error=0.01)
    assert (
        made.people == made.rows[0].people_needed == people_needed(choose(schema(6), 2, 1.1), 0.01)
    )
    assert made.rows[0].predicted_tv == pytest.approx(0.01, rel=1e-5)
    assert made.rows[0].predicted_tv <= 0.01 * (1 + 1e-12)
    assert all(row.people_needed is None or row.people_needed >= made.people for row in made.rows)
    assert plan(schema(6), people=777, target_error=0.01).people == 777
    assert plan(schema(6), people=np.int64(777)).to_json()["people"] == 777


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "A plan needs people, or a target error"),
        ({"target_error": 1e-9}, "more than 2\\^53 people"),
        ({"target_error": 0}, "target error"),
        ({"target_error": float("nan")}, "target error"),
    ],
)
def test_a_plan_for_nobody_knows_how_many_is_refused(options: dict, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        plan(schema(6), **options)


def test_the_number_of_people_cannot_come_from_a_mechanism_without_a_formula(monkeypatch) -> None:
    only = {"InpEM": MECHANISMS["InpEM"]}
    monkeypatch.setattr("deniable.planning.fitting.known_mechanisms", lambda: only)
    with pytest.raises(SurveyError, match="InpEM has no predicted error"):
        plan(schema(6), target_error=0.1)


def test_tables_of_three_come_with_advice() -> None:
    (note,) = plan(schema(6), order=3, people=1000).notes
    assert 'order-2 survey released with consistency="model"' in note
    assert "biased" in note
    assert plan(schema(6), order=2, people=1000).notes == ()


@pytest.mark.parametrize("name", ["InpHT", "MargPS", "InpPS", "MargRR", "Subspace"])
def test_the_guaranteed_error_is_kept(name: str) -> None:
    made = Survey(schema(5), 2, 2.0, name)
    held = pd.DataFrame(
        np.random.default_rng(6).random((30_000, 5)) < 0.3, columns=made.schema.names
    )
    bound = guaranteed_tv(made, len(held), 0.95)
    assert bound < 1
    for turn in range(5):
        release = made.tally(made.randomize(held, seed=f"{turn}"), simulation=True).release()
        for table in release.marginals():
            true = np.array([[((held[table.names[0]] == i) & (held[table.names[1]] == j)).mean()
                              for j in (False, True)] for i in (False, True)])  # fmt: skip
            assert np.abs(table.values - true).sum() / 2 <= bound


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"people": 0}, "people"),
        ({"people": -5}, "people"),
        ({"people": 1.5}, "people"),
        ({"people": True}, "people"),
        ({"people": 10**30}, "people"),
        ({"people": 10**400}, "people"),
        ({"order": 0}, "order must be 1 to 6"),
        ({"order": 7}, "order must be 1 to 6"),
        ({"order": 10**9}, "order must be 1 to 6"),
        ({"order": 2.0}, "order must be a whole number"),
        ({"order": True}, "order must be a whole number"),
        ({"epsilon": 0}, "positive finite"),
        ({"epsilon": -1.0}, "positive finite number, got -1.0"),
        ({"epsilon": float("nan")}, "positive finite"),
        ({"epsilon": inf}, "positive finite"),
        ({"epsilon": 10**400}, "at most 20"),
        ({"epsilon": 20.1}, "at most 20"),
        ({"epsilon": "1"}, "must be a number"),
        ({"epsilon": True}, "must be a number"),
        ({"epsilon": 1e-300}, "too small"),
        ({"target_error": 0}, "target error"),
        ({"target_error": -1}, "target error"),
        ({"target_error": "small"}, "target error"),
        ({"target_error": float("nan")}, "target error"),
        ({"delta": 0}, "delta must lie between 0 and 1"),
        ({"delta": 1}, "delta must lie between 0 and 1"),
        ({"delta": float("nan"), "shuffler": "Acme"}, "delta must lie between 0 and 1"),
        ({"delta": "small"}, "delta must lie between 0 and 1"),
        ({"slots": "taken"}, "slots must be drawn or assigned, got 'taken'"),
        ({"slots": None}, "slots must be drawn or assigned"),
        ({"shuffler": " "}, "must have a name"),
        ({"shuffler": 7}, "must have a name"),
        ({"probability": 0}, "probability"),
        ({"probability": 1}, "probability"),
        ({"probability": "high"}, "probability"),
        ({"probability": float("nan")}, "probability"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(options: dict, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        plan(schema(6), **{"people": 1000, **options})


def test_a_plan_for_no_schema_is_refused() -> None:
    with pytest.raises(SurveyError, match="A plan needs a Schema, got str"):
        plan("a schema", people=10)


def test_a_table_of_more_than_ten_attributes_is_refused() -> None:
    with pytest.raises(SurveyError, match="order must be at most 10, got 11"):
        plan(schema(12), order=11, people=1000)


@pytest.mark.parametrize("sizes", [[2] * 9, [2, 3, 2, 3, 5, 2, 3], [4, 4], [2, 3]])
def test_pairs_that_stand_for_all_are_found_without_a_list_of_all(sizes: list[int]) -> None:
    schema = Schema.of(**{f"a{i}": [f"v{v}" for v in range(r)] for i, r in enumerate(sizes)})
    prospect = Prospect(Survey(schema, 2, 1.1), 10_000, Population(schema), Aim())
    every = prospect.asked_pairs()
    for short, listed in zip(prospect._kinds_of_all(), prospect._kinds_of(every), strict=True):
        assert short.tolist() == listed.tolist()
    assert sum(prospect._kinds_of_all()[1]) == prospect.pair_count == comb(len(sizes), 2)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3)])
def test_residuals_taken_axis_by_axis_are_those_of_the_whole_matrix(shape: tuple[int, int]) -> None:
    """T e = e − e_a·p_b' − p_a·e_b', written out, as contrasts of both axes."""
    random = np.random.default_rng(3)
    a, b = (random.dirichlet(np.ones(size)) for size in shape)
    cells = random.normal(size=(*shape, 6))
    residuals = cells - cells.sum(1)[:, None] * b[None, :, None] - a[:, None, None] * cells.sum(0)
    one, other = map(contrast_basis, shape)
    expected = np.einsum("ir,rsn,js->ijn", one, residuals, other).reshape(-1, 6)
    contrasts = _residuals(np.outer(a, b), cells.reshape(-1, 6))
    assert contrasts == pytest.approx(expected, abs=1e-12)
    assert contrasts != pytest.approx(np.einsum("ir,rsn,js->ijn", one, cells, other).reshape(-1, 6))
