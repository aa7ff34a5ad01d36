"""Differences between releases: shapes, signs, refusals, and what is not known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import Release, Schema, Survey
from deniable.analysis.difference import any_difference
from deniable.analysis.homogeneity import homogeneity
from deniable.errors import DeniableError, TableError

MIXED = Schema.of(x=[*"012"], y=[False, True], z=[False, True])


def crowd(people: int, seed: int, yes: float = 0.3) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = random.integers(0, 3, people)
    return pd.DataFrame(
        {
            "x": x.astype(str),
            "y": random.random(people) < yes + 0.1 * x,
            "z": random.random(people) < 0.5,
        }
    )


def released(frame: pd.DataFrame, schema: Schema = MIXED, epsilon: float = 2.0, **how) -> Release:
    survey = Survey(schema, how.pop("order", 2), epsilon, how.pop("mechanism", "MargPS"))
    names = list(schema.names)
    batch = survey.randomize(frame[names], f"difference {len(frame)}")
    return survey.tally(batch, simulation=True).release(**how)


A, B = released(crowd(4000, 1)), released(crowd(3000, 2, yes=0.45))


def test_a_difference_is_that_of_two_tables_with_both_their_noise() -> None:
    found = A.difference(B, "y", "x")
    a, b = (each.marginal("y", "x") for each in (A, B))
    assert found.names == ("y", "x")
    assert found.values == pytest.approx(a.values - b.values)
    assert found.values.sum() == pytest.approx(0)
    assert found.covariance == pytest.approx(a.covariance + b.covariance)
    assert found.standard_error == pytest.approx(np.hypot(a.standard_error, b.standard_error))
    assert (found.df, found.people, found.known, found.simulated) == (5, (4000, 3000), True, True)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 5))
    low, high = found.interval(0.9)
    assert (high - low) / 2 == pytest.approx(stats.norm.ppf(0.95) * found.standard_error)
    back = B.difference(A, "y", "x")
    assert (back.values, back.p_value) == (
        pytest.approx(-found.values),
        pytest.approx(found.p_value),
    )
    turned = A.difference(B, "x", "y")
    assert turned.values == pytest.approx(found.values.T)
    assert turned.statistic == pytest.approx(found.statistic)
    frame = found.to_frame()
    assert list(frame.columns) == ["y", "x", "difference", "standard_error", "low", "high"]
    assert frame.attrs["p_value"] == found.p_value
    assert "4,000 people − 3,000 people" in repr(found)
    assert "SIMULATED" in repr(found)


def test_all_tables_are_tested_the_surest_difference_first() -> None:
    found = A.differences(B, level=0.9)
    assert list(found.columns) == [
        *("attribute_1", "value_1", "attribute_2", "value_2", "difference", "low", "high"),
        *("statistic", "df", "p_value", "q_value", "interval_level", "method"),
    ]
    assert len(found) == 3
    assert found["p_value"].is_monotonic_increasing
    assert found["q_value"].to_numpy() == pytest.approx(
        stats.false_discovery_control(found["p_value"])
    )
    for rank, row in enumerate(found.to_dict("records"), 1):
        names = row["attribute_1"], row["attribute_2"]
        one = A.difference(B, *names)
        assert (row["p_value"], row["df"]) == (pytest.approx(one.p_value), one.df)
        sure = np.abs(one.values) / one.standard_error
        at = np.unravel_index(sure.argmax(), sure.shape)
        cell = tuple(a.values[code] for a, code in zip(one.attributes, at, strict=True))
        assert (row["value_1"], row["value_2"]) == cell
        drawn = row["difference"] / one.values[at]  # towards 0: the cell was picked
        assert row["low"] <= row["difference"] <= row["high"]
        assert 0 <= drawn <= 1 + 1e-9
        alpha = 0.1 * rank / len(found)
        assert row["interval_level"] == pytest.approx(1 - alpha)
        reach = stats.norm.isf(alpha / 2 / one.values.size) * one.standard_error[at]
        assert (row["low"], row["high"]) == (
            pytest.approx(one.values[at] - reach),
            pytest.approx(one.values[at] + reach),
        )
    alone = A.differences(B, 1).set_index("attribute_1")
    assert alone.loc["y", "value_1"] is True  # of two cells, the one that says yes
    assert alone.loc["y", "difference"] < 0
    assert alone.loc["y", "high"] < 0
    assert alone.loc["y", "q_value"] < 0.001
    assert alone.attrs["people"] == {"first": 4000, "second": 3000}


def test_surveys_that_declare_attributes_alike_are_compared_whatever_their_order() -> None:
    turned = Schema.of(z=[False, True], y=[False, True], other=[*"ab"], x=[*"012"])
    frame = crowd(3000, 2, yes=0.45).assign(other="a")
    other = released(frame, turned, epsilon=1.5, mechanism="InpHT", order=3)
    found = A.difference(other, "x", "y")
    expected = A.marginal("x", "y").values - other.marginal("x", "y").values
    assert found.values == pytest.approx(expected)
    both = A.differences(other)
    assert {tuple(sorted(row)) for row in both[["attribute_1", "attribute_2"]].to_numpy()} == {
        *(("x", "y"), ("x", "z"), ("y", "z"))
    }
    row = both[(both["attribute_1"] == "x") & (both["attribute_2"] == "y")].iloc[0]
    assert row["statistic"] == pytest.approx(found.statistic)
    backwards = other.differences(A)
    assert sorted(backwards["statistic"]) == pytest.approx(sorted(both["statistic"]))


def test_a_hundredfold_group_is_compared_at_what_both_would_share() -> None:
    values = np.array([[[0.6, 0.4]], [[0.5, 0.5]]])
    spread = np.array([[[[0.01, -0.01], [-0.01, 0.01]]], [[[0.03, -0.03], [-0.03, 0.03]]]])
    statistic, df = homogeneity(values, spread)
    assert statistic == pytest.approx([0.1**2 / 0.04])
    assert df.tolist() == [1]


def test_a_cell_that_nobody_is_in_takes_its_degree_of_freedom_along() -> None:
    share = np.array([0.5, 0.5, 0.0])
    spread = (np.diag(share) - np.outer(share, share)) / 100
    values = np.array([[[0.6, 0.4, 0.0]], [[0.5, 0.5, 0.0]]])
    statistic, df = homogeneity(values, np.stack([spread[None], spread[None]]))
    assert df.tolist() == [1]
    assert statistic == pytest.approx([0.1**2 / (2 * 0.25 / 100)])


def test_what_was_done_to_tables_changes_no_test() -> None:
    frame = crowd(2000, 3)
    plain, joint = (released(frame, consistency=how) for how in ("none", "joint"))
    assert plain.difference(B, "x").p_value == joint.difference(B, "x").p_value
    pd.testing.assert_frame_equal(plain.differences(B), joint.differences(B))


def test_what_is_not_known_is_said_so() -> None:
    few = released(crowd(3, 4), mechanism="InpHT")
    found = few.difference(A, "x", "y")
    assert not found.known
    assert np.isnan(found.p_value)
    assert np.isnan(found.values).all()
    assert np.isnan(found.interval()).all()
    assert "not known" in repr(found)
    every = few.differences(A)
    assert set(every["method"]) == {"unknown"}
    assert every[["p_value", "q_value", "difference"]].isna().all(axis=None)
    assert every["value_1"].isna().all()
    wide = Schema.of(u=[str(i) for i in range(80)], v=[str(i) for i in range(80)])
    random = np.random.default_rng(5)
    held = pd.DataFrame({name: random.integers(0, 80, 500).astype(str) for name in "uv"})
    one, two = (released(part, wide) for part in (held[:300], held[300:]))
    assert list(one.differences(two)["method"]) == ["unknown"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: A.difference(A, "x"), "hold the same people"),
        (lambda: A.differences(A), "hold the same people"),
        (lambda: A.difference(B), "at least one attribute"),
        (lambda: A.difference(B, "x", "y", "z"), "needs order 3"),
        (lambda: A.difference(B, "w"), "no attribute 'w'"),
        (lambda: A.differences(B, 3), "needs order 3; here it is 2"),
        (lambda: A.differences(B, 0), "whole number from 1"),
        (lambda: A.differences(B, True), "whole number from 1"),
        (lambda: A.differences(B, level=1), "between 0 and 1"),
        (lambda: A.difference(B, "x").interval(95), "between 0 and 1"),
        (lambda: any_difference({"only": A}, "x"), "two groups or more"),
        (lambda: A.differences(em()), "takes estimates with a covariance"),
        (lambda: A.difference(another(), "x"), "not declared with the same values"),
        (lambda: A.differences(another()), "do not share 2 attributes, only 1"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(call, words: str) -> None:
    with pytest.raises(DeniableError, match=words) as told:
        call()
    assert str(told.value).count("\n") == 0


def em() -> Release:
    return released(crowd(500, 6), mechanism="InpEM")


def another() -> Release:
    schema = Schema.of(x=[*"01"], y=[0, 1], z=[False, True])  # 0 and 1 are not no and yes
    frame = crowd(500, 7).assign(x="0")
    return released(frame.assign(y=frame["y"].astype(int)), schema)


def test_files_that_both_tallies_count_are_seen() -> None:
    from dataclasses import replace

    survey = Survey(MIXED, 2, 2.0, "MargPS")
    one, two = (
        replace(survey.tally(survey.randomize(crowd(200, seed))), sources=frozenset({"same"}))
        for seed in (8, 9)
    )
    with pytest.raises(TableError, match="hold the same people"):
        one.release().differences(two.release())


def test_different_people_may_be_counted_alike() -> None:
    survey = Survey(Schema.binary("a"), 1, 1.0, "InpHT")
    one, other = (
        survey.tally(survey.randomize(crowd(500, 1)[["y"]].rename(columns={"y": "a"}), "x"),
                     simulation=True).release()
        for _ in range(2)
    )  # fmt: skip
    assert one.difference(other, "a").p_value == pytest.approx(1)
    with pytest.raises(TableError, match="hold the same people"):
        one.difference(Release(*one.tallies), "a")


def test_a_table_too_large_for_a_covariance_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"a": A, "b": B, "c": released(crowd(2000, 5))}
    assert np.isfinite(any_difference(groups, "x", "y").p_value)
    monkeypatch.setattr("deniable.analysis.difference.MOST_COVARIED", 11)
    found = any_difference(groups, "x", "y")
    assert found.df == 10
    assert np.isnan([found.statistic, found.p_value]).all()
