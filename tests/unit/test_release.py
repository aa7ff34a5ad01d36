"""Tables: their axes, their error bars, what is not known, and what is refused."""

from __future__ import annotations

import json
import tracemalloc
from itertools import combinations, permutations
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Marginal, Release, ReportBatch, Schema, Survey
from deniable.errors import DeniableError, SchemaError, SurveyError, TableError
from deniable.mechanisms.registry import MECHANISMS

NAMES = ("a", "b", "c", "d")
HELD = pd.DataFrame(
    np.random.default_rng(7).random((20_000, 4)) < (0.1, 0.4, 0.6, 0.9), columns=NAMES
)
HELD["d"] = HELD["a"] ^ (np.random.default_rng(8).random(20_000) < 0.1)


def survey(mechanism: str = "MargPS", order: int = 3) -> Survey:
    return Survey(Schema.binary(*NAMES), order, 2.0, mechanism)


def release(mechanism: str = "MargPS", order: int = 3, estimator: str | None = None) -> Release:
    made = survey(mechanism, order)
    return made.tally(made.randomize(HELD, seed="r"), simulation=True).release(estimator=estimator)


def test_cells_are_where_their_values_say() -> None:
    made = release()
    table = made.marginal("a", "d")
    for a in (False, True):
        for d in (False, True):
            share = ((HELD["a"] == a) & (HELD["d"] == d)).mean()
            assert (
                abs(table.values[int(a), int(d)] - share) < 6 * table.standard_error[int(a), int(d)]
            )
    frame = table.to_frame()
    assert frame.columns.tolist() == ["a", "d", "estimate", "standard_error", "low", "high", "raw"]
    row = frame[(frame["a"]) & (~frame["d"])].iloc[0]
    assert row["estimate"] == table.values[1, 0]
    assert (row["low"], row["high"]) == tuple(table.interval(0.95)[:, 1, 0])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_axes_come_in_the_order_asked_for(mechanism: str) -> None:
    made = release(mechanism)
    for names in (("a",), ("a", "c"), ("b", "c", "d")):
        plain = made.marginal(*names)
        covariance = plain.covariance.reshape(plain.values.shape * 2)
        for order in permutations(range(len(names))):
            turned = made.marginal(*(names[i] for i in order))
            assert turned.names == tuple(names[i] for i in order)
            assert np.array_equal(turned.values, plain.values.transpose(order))
            both = (*order, *(i + len(names) for i in order))
            expected = covariance.transpose(both).reshape(plain.covariance.shape)
            assert np.array_equal(turned.covariance, expected, equal_nan=True)


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m != "InpEM"])
def test_smaller_tables_are_sums_of_larger_ones(mechanism: str) -> None:
    made = release(mechanism)
    for names in combinations(NAMES, 3):
        whole = made.marginal(*names)
        assert whole.values.sum() == pytest.approx(1)
        spread = whole.covariance.reshape((2,) * 6)
        for axis in range(3):
            part = made.marginal(*(n for i, n in enumerate(names) if i != axis))
            assert part.values == pytest.approx(whole.values.sum(axis=axis))
            summed = spread.sum(axis=(axis, axis + 3)).reshape(4, 4)
            assert part.covariance == pytest.approx(summed)


def test_a_covariance_is_one() -> None:
    for mechanism in MECHANISMS:
        if mechanism == "InpEM":
            continue
        table = release(mechanism).marginal("a", "b", "d")
        assert np.allclose(table.covariance, table.covariance.T)
        assert np.linalg.eigvalsh(table.covariance).min() > -1e-12
        assert table.covariance.sum() == pytest.approx(0, abs=1e-12), "cells sum to one"
        assert table.standard_error.ravel() == pytest.approx(np.sqrt(np.diag(table.covariance)))


def test_all_tables_at_once_are_those_asked_for_one_by_one() -> None:
    made = release()
    for order in (1, 2, 3):
        tables = made.marginals(order)
        assert len(tables) == comb(4, order)
        assert {t.names for t in tables} == set(combinations(NAMES, order))
        for table in tables:
            one = made.marginal(*table.names)
            assert isinstance(table, Marginal)
            assert np.array_equal(table.values, one.values)
            assert np.allclose(table.covariance, one.covariance)
    assert len(made.marginals()) == 4


def test_intervals_are_normal_and_narrower_for_the_people_themselves() -> None:
    table = release().marginal("a", "b")
    for level in (0.5, 0.95, 0.999):
        low, high = table.interval(level)
        reach = stats.norm.isf((1 - level) / 2) * table.standard_error
        assert low == pytest.approx(table.values - reach)
        assert high == pytest.approx(table.values + reach)
    whole, own = table.interval(), table.interval(of="people")
    assert np.all(own[1] - own[0] < whole[1] - whole[0])
    for level in (0, 1, -1, 2, float("nan")):
        with pytest.raises(TableError, match="level"):
            table.interval(level)
    with pytest.raises(TableError, match="population"):
        table.interval(of="everybody")


def test_unbiased_estimates_are_not_clipped() -> None:
    made = survey("InpPS")
    nobody = pd.DataFrame(np.zeros((300, 4), bool), columns=NAMES)
    seeds = (f"clip {i}" for i in range(5))
    lowest = [
        made.tally(made.randomize(nobody, seed=s), simulation=True)
        .release()
        .marginal("a", "b")
        .values.min()
        for s in seeds
    ]
    assert min(lowest) < 0


# What was never asked


def test_a_coefficient_never_asked_is_unknown_and_not_a_silent_zero() -> None:
    made = Survey(Schema.binary(*NAMES), 2, 1.0, "InpHT")
    slots = [s for s in range(made.slots) if made.question(s).attributes != ("a", "b")]
    batch = ReportBatch(made.id, np.array(slots), np.ones(len(slots), int))
    tables = made.tally(batch).release()
    unknown, known = tables.marginal("b", "a"), tables.marginal("a", "c")
    assert known.known
    assert np.isfinite(known.covariance).all()
    assert not unknown.known
    assert np.isinf(unknown.standard_error).all()
    assert np.isnan(unknown.covariance[0, 1])
    assert unknown.interval()[0].max() == -np.inf
    assert unknown.interval(of="people")[1].min() == np.inf
    assert tables.marginal("a").known, "a smaller table does not need it"
    assert unknown.values.sum(axis=0) == pytest.approx(tables.marginal("a").values)
    assert [t.known for t in tables.marginals(2)].count(False) == 1


def test_a_chart_can_be_drawn_of_any_table() -> None:
    made = Survey(Schema.binary("a", "[/b]"), 2, 1.0, "InpHT")
    tally = made.tally(ReportBatch(made.id, np.array([0]), np.array([1])))
    for table in (tally.release().marginal("a", "[/b]"), release("InpEM").marginal("a", "b", "c")):
        chart = table.plot().to_json()
        assert "Infinity" not in chart
        assert "NaN" not in chart
        assert json.loads(chart)["title"]["text"] == " × ".join(table.names)
    assert "SIMULATED" in release().marginal("a").plot().to_json()


# InpEM


def test_em_says_how_it_ended_and_knows_no_covariance() -> None:
    table = release("InpEM").marginal("a", "b")
    assert set(table.notes) == {"steps", "converged", "failed_at_once"}
    assert table.values.min() >= 0
    assert table.values.sum() == pytest.approx(1)
    assert np.isnan(table.standard_error).all()
    many = Survey(Schema.binary(*(f"a{i}" for i in range(30))), 2, 0.1, "InpEM")
    frame = pd.DataFrame(
        np.random.default_rng(1).random((50_000, 30)) < 0.2, columns=many.schema.names
    )
    tally = many.tally(many.randomize(frame, seed="em"), simulation=True)
    failed = tally.release().marginal("a0", "a1")
    assert failed.notes["failed_at_once"]
    assert failed.values == pytest.approx(np.full((2, 2), 0.25), abs=1e-3)


def test_em_ends_at_the_inverse_where_that_is_a_distribution() -> None:
    em, inverse = (
        release("InpEM").marginal("b", "c"),
        release("InpEM", 3, "inverse").marginal("b", "c"),
    )
    assert inverse.values.min() > 0
    assert em.values == pytest.approx(inverse.values, abs=0.01)


# Refusals


def test_a_table_that_cannot_be_had_is_refused() -> None:
    made = release(order=2)
    for names, kind, message in (
        ((), TableError, "at least one"),
        (("a", "a"), TableError, "twice"),
        (("a", "b", "c"), TableError, r"Marginal \('a', 'b', 'c'\) needs order 3; .* order 2"),
        (("a", "zz"), SchemaError, "no attribute 'zz'"),
        ((["a", "b"],), TableError, "one by one"),
        ((0,), SchemaError, "no attribute 0"),
        ((None,), SchemaError, "no attribute None"),
    ):
        with pytest.raises(kind, match=message):
            made.marginal(*names)
    for order in (0, -1, True, 1.0, "2"):
        with pytest.raises(TableError, match="whole number from 1"):
            made.marginals(order)
    with pytest.raises(TableError, match="collected order 2"):
        made.marginals(3)


def test_a_release_that_cannot_be_had_is_refused() -> None:
    made = survey("InpHT")
    tally = made.tally(made.randomize(HELD))
    for consistency in ("projected", "Joint", "", None):
        with pytest.raises(TableError, match="consistency must be one of none, joint, model, auto"):
            tally.release(consistency)
    with pytest.raises(SurveyError, match="no estimator 'unpooled'"):
        tally.release(estimator="unpooled")


def test_tables_and_releases_say_what_they_are() -> None:
    assert "20,000 people, order 3" in repr(release())
    assert "SIMULATED" in repr(release())
    assert release().marginal("a") != release().marginal("a"), "tables are not compared by value"


def test_other_processing_decodes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 attributes that would take a second."""
    own = release()
    at_once = own.tallies[0].release("joint").marginal("a", "c")
    monkeypatch.setattr(type(own.decoder), "decode", None)
    joint = own.with_consistency("joint")
    back = joint.with_consistency("none")
    assert (own.applied, joint.applied, back.applied) == ("none", "joint", "none")
    assert np.array_equal(joint.marginal("a", "c").values, at_once.values)
    assert np.array_equal(back.marginal("a", "c").values, own.marginal("a", "c").values)


# Memory


@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "InpEM"])
def test_more_coefficients_than_memory_holds_are_refused_by_their_number(mechanism: str) -> None:
    made = Survey(Schema.binary(*(f"a{i}" for i in range(60))), 7, 1.0, mechanism)
    batch = ReportBatch(made.id, np.array([0]), np.array([1]))
    with pytest.raises(DeniableError, match="coefficients; 67,108,864 is the limit"):
        made.tally(batch).release()


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "order"), [("InpPS", 8), ("InpHT", 9)])
def test_covariances_of_large_tables_are_computed_few_at_a_time(mechanism: str, order: int) -> None:
    made = Survey(Schema.binary(*(f"a{i}" for i in range(12))), order, 4.0, mechanism)
    frame = pd.DataFrame(
        np.random.default_rng(2).random((500, 12)) < 0.5, columns=made.schema.names
    )
    tally = made.tally(made.randomize(frame))
    tracemalloc.start()
    try:
        tables = tally.release().marginals()
        assert tables[-1].covariance.shape == (1 << order, 1 << order)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5e9, "all at once would take several times as much"
