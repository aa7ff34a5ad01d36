"""What nobody can believe, or nobody knows, is said: in words, in frames, in pictures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, Tally, simulate
from deniable.errors import TableError
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.projection import joint
from deniable.survey.coefficients import Shared

NAMES = [f"a{i}" for i in range(6)]


def people(count: int = 20_000) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(1).random((count, 6)) < 0.3, columns=NAMES)


def poisoned() -> Tally:
    """Everybody reports the smallest value."""
    survey = Survey(Schema.binary(*NAMES), 2, 1.1)
    tally = survey.tally(survey.randomize(people(), seed="poison"), simulation=True)
    kept = tally.value == tally.value.min()
    return Tally(survey, tally.slot[kept], tally.value[kept], tally.count[kept], True)


@pytest.mark.slow
@pytest.mark.parametrize("consistency", ["none", "joint", "model"])
def test_reports_that_no_people_can_have_given_are_called_so(consistency: str) -> None:
    release = poisoned().release(consistency)
    assert not release.plausible
    assert "IMPLAUSIBLE" in repr(release)
    table = release.marginal("a0", "a1")
    assert not table.plausible
    assert "IMPLAUSIBLE" in repr(table)
    assert table.to_frame().attrs["plausible"] is False
    assert IMPLAUSIBLE in json.dumps(table.plot().to_dict(), default=str)
    assert np.isfinite(table.values).all()
    if consistency == "model":
        assert IMPLAUSIBLE in str(release.fit)


@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "MargRR", "Subspace", "InpEM", "InpRR"])
@pytest.mark.parametrize("count", [1, 5, 40, 20_000])
def test_honest_reports_are_plausible_however_few(mechanism: str, count: int) -> None:
    constant = pd.DataFrame(np.ones((count, 6), bool), columns=NAMES)
    for frame in (people(count), constant):
        survey = Survey(Schema.binary(*NAMES), 2, 1.1, mechanism)
        for turn in range(5):
            assert simulate(survey, frame, seed=f"{turn}").plausible


def test_one_row_that_was_raised_is_seen() -> None:
    survey = Survey(Schema.binary(*NAMES), 2, 1.1)
    tally = survey.tally(survey.randomize(people(), seed="one"), simulation=True)
    raised = tally.count.copy()
    raised[3] += 10**7
    again = Tally(survey, tally.slot, tally.value, raised, True)
    assert tally.release().plausible
    assert not again.release().plausible


def test_a_chart_of_what_is_not_known_does_not_look_certain() -> None:
    survey = Survey(Schema.binary(*NAMES), 2, 1.1, workload=[("a0", "a1"), ("a1", "a2")])
    release = simulate(survey, people(), seed="unknown")
    known, unknown = release.marginal("a0", "a1"), release.marginal("a0", "a2")
    assert unknown.to_frame().attrs["known"] is False
    assert "not known" in repr(unknown)
    drawn = unknown.plot().to_dict()
    rows = next(iter(drawn["datasets"].values()))
    assert all((row["low"], row["high"]) == (0, 1) for row in rows)
    assert "not known" in json.dumps(drawn)
    assert "not known" not in json.dumps(known.plot().to_dict())
    made = survey.tally(survey.randomize(people(), seed="u"), simulation=True).release("joint")
    assert made.marginal("a0", "a2").interval_kind == "none"
    low, high = made.marginal("a0", "a2").interval()
    assert (low == 0).all()
    assert (high == 1).all()


def test_the_likeliest_tables_are_not_called_unbiased() -> None:
    survey = Survey(Schema.binary(*NAMES), 2, 2.0, "InpEM")
    tally = survey.tally(survey.randomize(people(), seed="em"), simulation=True)
    table = tally.release().marginal("a0", "a1")
    assert (table.kind, table.interval_kind) == ("likeliest", "none")
    assert "without error bars" in json.dumps(table.plot().to_dict(), default=str)
    exact = tally.release(estimator="inverse").marginal("a0", "a1")
    assert (exact.kind, exact.interval_kind) == ("unbiased", "normal")


def test_joint_is_never_worse_than_unbiased_however_small_the_noise() -> None:
    """The truth is in the convex set, so the projection comes nearer: one value each of eight."""
    numbering = Shared(8, 2)
    truth = np.concatenate((np.full(8, 1 - 2 / 8), np.full(28, 1 - 4 / 8)))
    pairs = np.concatenate((np.full(8, 7.0), np.ones(28)))  # tables that hold each coefficient
    random = np.random.default_rng(2)
    for spread in (1e-2, 1e-3, 1e-4, 1e-5):
        for _ in range(5):
            noisy = truth + spread * random.standard_normal(36)
            before = float((pairs * (noisy - truth) ** 2).sum())
            after = float((pairs * (joint(noisy, numbering) - truth) ** 2).sum())
            assert after <= before, spread


@pytest.mark.slow
def test_bad_questions_get_a_sentence() -> None:
    release = simulate(Survey(Schema.binary(*NAMES), 2, 1.1), people(100), seed="bad")
    for level in ("x", None, True, 2):
        with pytest.raises(TableError, match="between 0 and 1"):
            release.marginal("a0").interval(level)
    with pytest.raises(TableError, match="one by one"):
        release.marginal(["a0", "a1"])
    processed = simulate(
        Survey(Schema.binary(*NAMES), 2, 1.1), people(100), seed="bad", consistency="joint"
    )
    with pytest.raises(TableError, match="Only unbiased tables"):
        processed.marginal("a0").interval(of="people")


@pytest.mark.slow
def test_one_table_of_very_many_attributes_says_all_of_that_at_once() -> None:
    """Nothing is listed for attributes that nobody was asked about."""
    names = [f"a{i}" for i in range(1000)]
    survey = Survey(Schema.binary(*names), 3, 1.1, workload=[("a0", "a1", "a2")])
    frame = pd.DataFrame(np.random.default_rng(3).random((3000, 1000)) < 0.4, columns=names)
    release = simulate(survey, frame, seed="wide")
    assert release.plausible
    assert len(release.squares) == 3
    assert "SIMULATED" in repr(release)
    assert np.isfinite(release.marginal("a2", "a0").to_frame()["low"]).all()


def test_to_show_a_table_draws_no_error_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may take half a minute: they are made when they are asked for."""
    release = simulate(
        Survey(Schema.binary(*NAMES), 2, 1.1), people(500), "shown", consistency="model"
    )

    def refuse(*_: object) -> None:
        raise AssertionError("error bars were drawn")

    monkeypatch.setattr("deniable.release.processed.Bootstrap", refuse)
    table = release.marginal("a0", "a1")
    assert "modelled" in repr(table)
    with pytest.raises(AssertionError, match="error bars were drawn"):
        table.interval()
