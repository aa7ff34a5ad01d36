"""Simulation runs the whole protocol, reproducibly with a seed, and its shortcuts keep the law."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Release, Schema, Survey, simulate
from deniable.errors import DataError, RecordError, SurveyError, TableError
from deniable.lab import simulate as simulation
from deniable.lab.law import p_value
from deniable.lab.simulate import Crowd, count_crowd, predict, sample, trials, true_tables
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.error import predicted_tv
from deniable.questions.entropy import Key
from deniable.schema.frames import to_arrow
from deniable.survey.coefficients import all_tables

NAMES = ("a", "b", "c")
PEOPLE = pd.DataFrame(np.random.default_rng(5).random((4000, 3)) < (0.2, 0.5, 0.7), columns=NAMES)


def survey(mechanism: str = "InpHT", names: tuple[str, ...] = NAMES, order: int = 2) -> Survey:
    return Survey(Schema.binary(*names), order, 2.0, mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_seed_makes_a_simulation_reproducible(mechanism: str) -> None:
    made = survey(mechanism)
    first, again, other = (simulate(made, PEOPLE, seed=s).marginal("a", "b") for s in "xxy")
    assert np.array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)
    assert first.simulated
    assert first.people == 4000


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_simulation_is_randomize_and_tally_and_release(mechanism: str) -> None:
    made = survey(mechanism)
    tally = made.tally(made.randomize(PEOPLE, seed="x"), simulation=True)
    for names in (("a",), ("c", "b")):
        direct = tally.release().marginal(*names).values
        assert np.array_equal(simulate(made, PEOPLE, seed="x").marginal(*names).values, direct)


@pytest.mark.slow
def test_the_shortcut_for_long_reports_has_the_law_of_reports_drawn_one_by_one() -> None:
    names = tuple("abcdef")
    made = survey("InpRR", names)
    people = pd.DataFrame(np.random.default_rng(1).random((300, 6)) < 0.3, columns=names)
    drawn, direct = [], []
    for turn in range(150):
        drawn.append(simulate(made, people, seed=f"{turn}").marginal("a", "b").values.ravel())
        tally = made.tally(made.randomize(people, seed=f"{turn}"), simulation=True)
        direct.append(tally.release().marginal("a", "b").values.ravel())
    for cell in range(4):
        one, other = np.array(drawn)[:, cell], np.array(direct)[:, cell]
        assert stats.ks_2samp(one, other).pvalue > 1e-6
        assert stats.ttest_ind(one, other).pvalue > 1e-6


def test_options_reach_the_release() -> None:
    assert isinstance(simulate(survey(), PEOPLE), Release)
    assert simulate(survey("MargPS"), PEOPLE, estimator="unpooled").estimator == "unpooled"
    assert simulate(survey("InpEM"), PEOPLE, estimator="inverse").marginal("a").notes == {}
    for kind in ("joint", "model"):
        assert simulate(survey(), PEOPLE, consistency=kind).consistency == kind
    with pytest.raises(TableError, match="consistency"):
        simulate(survey(), PEOPLE, consistency="projected")
    with pytest.raises(SurveyError, match="estimator"):
        simulate(survey(), PEOPLE, estimator="em")
    with pytest.raises(SurveyError, match="seed"):
        simulate(survey(), PEOPLE, seed=1)
    with pytest.raises(RecordError, match="no column 'c'"):
        simulate(survey(), PEOPLE[["a", "b"]])


def test_true_tables_are_counts() -> None:
    names = tuple(f"a{i}" for i in range(70))  # two words
    held = pd.DataFrame(np.random.default_rng(3).random((200, 70)) < 0.4, columns=names)
    made = survey("InpHT", names)
    records, every = made.schema.encode_frame(held), all_tables(70, 2)
    tables = true_tables(made.schema, records, every)
    every = every.tolist()
    assert sorted(map(tuple, every)) == list(combinations(range(70), 2))
    for row in (0, 17, len(every) - 1):
        first, second = (held[names[i]] for i in every[row])
        counted = [(first == i) & (second == j) for i in (False, True) for j in (False, True)]
        assert tables[row].tolist() == [cell.mean() for cell in counted]


def test_people_are_drawn_with_replacement_and_uniformly() -> None:
    table = to_arrow(pd.DataFrame({"row": range(50)}))
    drawn = sample(table, 100_000, Key.seeded("sample"))["row"].to_numpy()
    assert stats.chisquare(np.bincount(drawn, minlength=50)).pvalue > 1e-6
    with pytest.raises(DataError, match="no rows"):
        sample(table.slice(0, 0), 5, Key.seeded("sample"))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "Subspace"])
def test_a_crowd_that_passes_by_in_blocks_has_the_law_of_its_records(mechanism: str) -> None:
    made = survey(mechanism)
    records = made.schema.encode_frame(PEOPLE)
    for people in (None, 500_000):
        crowd = Crowd(records, people, Key.seeded(f"{mechanism}/{people}"))
        told: list[int] = []
        tally = count_crowd(made, crowd, Key.seeded("reports"), told.append)
        assert tally.people == len(crowd) == crowd.multiplicity.sum() == sum(told)
        drawn = records[np.repeat(np.arange(len(records)), crowd.multiplicity)]
        assert p_value(tally, drawn) > 1e-6
    assert stats.chisquare(crowd.multiplicity).pvalue > 1e-6


@pytest.mark.slow
def test_a_crowd_that_repeats_its_randomness_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    made = survey()
    records = made.schema.encode_frame(PEOPLE)
    sound = simulation.randomize_records
    monkeypatch.setattr(
        simulation,
        "randomize_records",
        lambda survey, part, key, first: sound(survey, part, key, 0),
    )
    crowd = Crowd(records, 2_000_000, Key.seeded("x"))
    tally = count_crowd(made, crowd, Key.seeded("reports"))
    drawn = records[np.repeat(np.arange(len(records)), crowd.multiplicity)]
    assert p_value(tally, drawn) < 1e-6


# Trials


def test_trials_report_the_mean_so_far_and_are_reproducible() -> None:
    def run(seed: str | None) -> list[float]:
        return [t.mean_tv for t in trials(survey(), PEOPLE, people=3000, repeat=3, seed=seed)]

    assert run("x") == run("x")
    assert run("x") != run("y")
    assert run(None) != run(None)
    made = list(trials(survey(), PEOPLE, people=3000, repeat=3, seed="x"))
    assert [t.repeat for t in made] == [1, 2, 3]
    assert {(t.mechanism, t.attributes, t.order, t.epsilon, t.people) for t in made} == {
        ("InpHT", 3, 2, 2.0, 3000)
    }
    assert all(t.reports_per_second > 0 for t in made)


def test_distances_are_to_the_people_who_took_part() -> None:
    # With epsilon 20 there is no noise but who was asked what.
    sure = Survey(Schema.binary(*NAMES), 2, 20.0, "InpPS")
    for people in (None, 50):
        assert list(trials(sure, PEOPLE, people=people, seed="sure"))[-1].mean_tv < 1e-3


def test_the_prediction_is_that_of_the_data_or_of_the_plan_where_it_is_costly() -> None:
    made = survey()
    records = made.schema.encode_frame(PEOPLE)
    every = all_tables(len(NAMES), made.order)
    cells = true_tables(made.schema, records, every)
    at_data = predict(made, [every], [cells], 4000)
    assert at_data < predicted_tv(made, 4000), "coefficients far from 0 vary less"
    assert predict(survey("InpEM"), [every], [cells], 4000) is None
    names = tuple(f"a{i}" for i in range(14))
    wide = survey("InpHT", names, order=9)
    truth = np.full((2002, 512), 1 / 512)
    assert predict(wide, [all_tables(14, 9)], [truth], 100) == predicted_tv(wide, 100)


@pytest.mark.parametrize("people", [0, -1, 10**11 + 1, 10**30])
def test_more_people_than_anybody_waits_for_are_refused(people: int) -> None:
    with pytest.raises(DataError, match="people must be 1 to 100,000,000,000"):
        list(trials(survey(), PEOPLE, people=people))


def test_data_without_rows_or_columns_or_with_too_many_tables_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        list(trials(survey(), PEOPLE[:0]))
    with pytest.raises(RecordError, match="no column 'c'"):
        list(trials(survey(), PEOPLE[["a", "b"]]))
    names = tuple(f"a{i}" for i in range(64))
    held = pd.DataFrame(np.ones((3, 64), bool), columns=names)
    with pytest.raises(DataError, match="All 74,974,368 tables of 6 of 64 attributes are too many"):
        list(trials(survey("InpHT", names, order=6), held))
