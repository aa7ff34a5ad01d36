"""Associations and conditional tables: their formulas, shapes, refusals and promises."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from deniable import ReportBatch, Schema, Survey, simulate
from deniable.analysis import dependence
from deniable.analysis.association import COVERED, NOT_COVERED
from deniable.errors import TableError
from deniable.release.dependence.effect_size import merge_rare
from deniable.release.dependence.residuals import Residuals, statistics_of
from deniable.release.release import ReleasedTables
from deniable.show.report import page

COLUMNS = [
    *("a", "b", "statistic", "df", "p_value", "q_value"),
    *("cramers_v", "cramers_v_low", "cramers_v_high"),
    *("mutual_information", "mutual_information_low", "mutual_information_high"),
    *("interval_level", "detectable_v", "method"),
]


def mixed(people: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    x = random.integers(0, 3, people)
    y = np.where(random.random(people) < 0.1, x, random.integers(0, 4, people))
    columns = {"x": x, "y": y, "z": random.integers(0, 2, people)}
    return pa.table({name: pa.array(held.astype(str)) for name, held in columns.items()})


MIXED = Schema.of(x=[*"012"], y=[*"0123"], z=[*"01"])


def binary(people: int, attributes: int, seed: int = 2) -> pa.Table:
    random = np.random.default_rng(seed)
    held = random.random((people, attributes)) < np.linspace(0.2, 0.6, attributes)
    held[:, 1] = np.where(random.random(people) < 0.3, held[:, 0], held[:, 1])
    return pa.table({f"a{i}": held[:, i] for i in range(attributes)})


def released(frame: pa.Table, epsilon: float = 1.1, mechanism: str = "InpHT", **options):
    survey = Survey(Schema.from_frame(frame), 2, epsilon, mechanism)
    return simulate(survey, frame, seed="association", **options)


def test_a_frame_has_the_promised_columns_order_and_words() -> None:
    release = released(binary(20_000, 4))
    found = release.associations(level=0.9)
    assert list(found.columns) == COLUMNS
    assert len(found) == 6
    assert found["p_value"].is_monotonic_increasing
    assert tuple(found.loc[0, ["a", "b"]]) == ("a0", "a1")
    said = found.attrs
    assert (said["level"], said["people"], said["simulated"]) == (0.9, 20_000, True)
    assert (said["covered"], said["not_covered"]) == (COVERED, NOT_COVERED)
    assert found["q_value"].to_numpy() == pytest.approx(
        stats.false_discovery_control(found["p_value"])
    )
    for name in ("cramers_v", "mutual_information"):
        assert (found[f"{name}_low"] <= found[f"{name}_high"]).all()
        assert (found[f"{name}_low"] >= 0).all()
    pd.testing.assert_frame_equal(found, release.associations(level=0.9))


def test_the_statistic_of_inpht_is_the_closed_form() -> None:
    release = released(binary(50_000, 4))
    found = release.associations().set_index(["a", "b"])
    view = release.evidence.overview
    for (a, b), row in found.iterrows():
        i, j = int(a[1:]), int(b[1:])
        pair = release.evidence.numbering.of_tables(np.array([[i, j]]))[0]
        ta, tb, tab = view.theta[pair]
        # The variance of the pair is that of independent attributes.
        at = np.array([ta, tb, ta * tb])
        sa, sb, sab = view.variance[pair] - view.gain[pair] * at**2
        spread = sab + max(0.0, tb**2 * sa + ta**2 * sb - sa * sb)
        assert row["method"] == "wald"
        # Margins are smoothed by half a person each, which is next to nothing here.
        assert row["statistic"] == pytest.approx((tab - ta * tb) ** 2 / spread, rel=2e-3)
        scale = math.sqrt((1 - ta**2 + sa) * (1 - tb**2 + sb))
        reach = stats.norm.isf((1 - row["interval_level"]) / 2) * math.sqrt(spread)
        least = (abs(tab - ta * tb) - reach) / scale
        if row["cramers_v_high"] < 0.1:  # elsewhere the margins' errors count, too
            assert row["cramers_v_low"] == pytest.approx(max(0.0, least), abs=0.002)


def test_without_noise_it_is_the_usual_test() -> None:
    frame = mixed(20_000)
    found = simulate(Survey(MIXED, 2, 20.0, "InpPS"), frame, seed="no noise").associations()
    columns = frame.to_pandas()
    for row in found.itertuples():
        usual = stats.chi2_contingency(
            pd.crosstab(columns[row.a], columns[row.b]), correction=False
        )
        assert row.df == usual.dof
        # A Wald test takes the variance where the estimate is, the usual one at independence.
        assert row.statistic == pytest.approx(usual.statistic, rel=0.12)
        square = usual.statistic / 20_000 - row.df / 20_000
        v = math.sqrt(
            max(0.0, square / (min(columns[row.a].nunique(), columns[row.b].nunique()) - 1))
        )
        assert row.cramers_v == pytest.approx(v, abs=0.005)


def test_without_noise_mutual_information_is_that_of_the_table() -> None:
    frame = mixed(50_000)
    found = simulate(Survey(MIXED, 2, 20.0, "InpPS"), frame, seed="no noise").associations()
    columns = frame.to_pandas()
    table = pd.crosstab(columns["x"], columns["y"], normalize=True).to_numpy()
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    exact = float((table * np.log(table / alone)).sum())
    row = found.iloc[0]
    assert (row["a"], row["b"]) == ("x", "y")
    assert row["mutual_information"] == pytest.approx(exact - 6 / 2 / 50_000, rel=0.02)
    assert row["mutual_information_low"] < exact < row["mutual_information_high"]


@pytest.mark.slow
def test_the_covariance_of_residuals_is_that_of_drawn_ones() -> None:
    random = np.random.default_rng(5)
    table = np.outer([0.5, 0.3, 0.2], [0.6, 0.4])
    root = random.normal(size=(6, 6)) * 0.02
    root -= root.mean(axis=0)  # cells add up to 1
    spread = root @ root.T
    cells = (table.ravel() + random.standard_normal((200_000, 6)) @ root.T).reshape(-1, 3, 2)
    found = Residuals.of(cells, np.broadcast_to(spread, (len(cells), 6, 6)))
    seen = np.cov(found.residual.reshape(-1, 6).T)
    error = np.sqrt(np.diag(seen) / len(cells)).reshape(3, 2)
    assert (np.abs(found.residual.mean(axis=0)) < 5 * error).all()
    stated = found.as_cells(found.covariance.mean(axis=0)[None])[0]
    assert stated == pytest.approx(seen, abs=0.03 * np.abs(seen).max())


@pytest.mark.parametrize(("size", "noise"), [(3, 0.01), (10, 0.002), (10, 0.03)])
def test_tables_of_one_covariance_are_tested_as_others(size: int, noise: float) -> None:
    """Where margins are small beside the whole, only what is each table's own is looked at."""
    random, cells = np.random.default_rng(6), size * (size + 1)
    root = noise / cells * (np.eye(cells) + 0.1 * random.standard_normal((cells, cells)))
    one, other = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(size + 1))
    tables = np.outer(one, other) + (random.standard_normal((40, cells)) @ root.T).reshape(
        -1, size, size + 1
    )
    spread = root @ root.T
    alike = Residuals.of(tables, np.broadcast_to(spread, (len(tables), cells, cells)))
    np.testing.assert_allclose(statistics_of(tables, spread), alike.statistic, rtol=1e-8)


def test_sixty_four_attributes_take_well_under_a_second() -> None:
    release = released(binary(1 << 18, 64))
    began = time.process_time()  # of this process: others may take their time
    found = release.associations()
    assert time.process_time() - began < 1
    assert len(found) == 2016
    assert (found["method"] == "wald").all()


def test_few_reports_are_drawn_and_pairs_nobody_was_asked_about_unknown() -> None:
    few = released(binary(600, 12)).associations()
    assert set(few["method"]) == {"bootstrap", "unknown"} or set(few["method"]) == {"bootstrap"}
    fewer = released(binary(60, 12)).associations()
    unknown = fewer[fewer["method"] == "unknown"]
    assert len(unknown)
    assert unknown.drop(columns=["a", "b", "df", "method"]).isna().all(axis=None)
    assert fewer["q_value"].notna().sum() == len(fewer) - len(unknown)
    assert fewer["p_value"].dropna().between(0, 1).all()
    assert (fewer["detectable_v"].dropna() > 0.3).all()


def test_of_two_people_hardly_anything_is_known() -> None:
    survey = Survey(Schema.binary("a", "b"), 2, 1.0, "MargPS")
    for values in ([0, 0], [0, 1], [0, 3], [1, 2]):
        batch = ReportBatch(survey.id, np.zeros(2, int), np.array(values))
        told = survey.tally(batch).release().associations().iloc[0]
        assert 0 <= told["mutual_information"] <= math.log(2)
        assert told["mutual_information_low"] == told["cramers_v_low"] == 0
        assert told["mutual_information_high"] > 0.5
        assert told["cramers_v_high"] == 1


@pytest.mark.slow
def test_tables_without_a_covariance_are_unknown() -> None:
    many = [str(i) for i in range(80)]
    schema = Schema.of(x=many, y=many, z=["no", "yes"])
    random = np.random.default_rng(3)
    frame = pa.table(
        {n: pa.array(random.choice(v, 20_000)) for n, v in (("x", many), ("y", many))}
        | {"z": pa.array(random.choice(["no", "yes"], 20_000))}
    )
    found = simulate(Survey(schema, 2, 2.0, "Subspace"), frame, seed="many").associations()
    assert found["method"].tolist().count("unknown") == 1
    assert tuple(found.iloc[-1][["a", "b", "method"]]) == ("x", "y", "unknown")
    assert "4,096" in found.attrs["unknown"]


def test_what_cannot_be_tested_is_refused() -> None:
    frame = binary(1000, 4)
    one = simulate(Survey(Schema.from_frame(frame), 1, 1.0, "InpHT"), frame, seed="one")
    with pytest.raises(TableError, match="collected order 1"):
        one.associations()
    with pytest.raises(TableError, match="collected order 1"):
        one.paper_chi_square()
    em = simulate(Survey(Schema.from_frame(frame), 2, 1.0, "InpEM"), frame, seed="em")
    with pytest.raises(TableError, match=r"tally\.release\(estimator='inverse'\)"):
        em.associations()
    with pytest.raises(TableError, match="level"):
        released(frame).associations(level=95)


def test_a_processed_release_tests_its_unbiased_estimates() -> None:
    frame = binary(20_000, 4)
    plain, joint = (released(frame, consistency=c).associations() for c in ("none", "joint"))
    pd.testing.assert_frame_equal(plain, joint)


def test_what_tree_and_associations_begin_with_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound, measured = dependence._measured, list[ReleasedTables]()

    def counted(release: ReleasedTables, *others: Any) -> dependence.Dependence:
        measured.append(release)
        return sound(release, *others)

    monkeypatch.setattr(dependence, "_measured", counted)
    release = simulate(Survey(MIXED, order=2, epsilon=3), mixed(3_000), seed="once")
    again = simulate(Survey(MIXED, order=2, epsilon=3), mixed(3_000), seed="once")
    alone = again.with_consistency("joint").associations()
    frame = release.associations()
    edges = release.tree().edges
    frame.loc[:, "p_value"] = 7.0  # somebody's own frame
    pd.testing.assert_frame_equal(release.associations(), alone)
    pd.testing.assert_frame_equal(release.tree().edges, edges)
    assert release.associations(level=0.5).interval_level[0] < alone.interval_level[0]
    release.with_consistency("joint").associations(select=0.1)
    page(release)
    assert len(measured) == 2, "once for either release"
    for level in (0.6, 0.7, 0.8):
        release.associations(level=level)
    assert len(dependence._RESULTS[release.evidence]) == 2, "analysts who try levels fill no memory"


def test_the_papers_test_takes_estimates_for_counts() -> None:
    release = released(binary(20_000, 4))
    found = release.paper_chi_square()
    assert list(found.columns) == ["a", "b", "statistic", "df", "p_value"]
    row = found.iloc[0]
    table = release.marginal(row["a"], row["b"]).values
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    assert row["statistic"] == pytest.approx(20_000 * ((table - alone) ** 2 / alone).sum())


def test_conditional_shares_are_ratios_in_the_order_asked_for() -> None:
    release = simulate(Survey(MIXED, 3, 3.0, "Subspace"), mixed(100_000), seed="three")
    found = release.conditional("y", given=["z", "x"])
    assert (found.names, found.values.shape) == (("z", "x", "y"), (2, 3, 4))
    table = release.marginal("z", "x", "y").values
    assert found.values == pytest.approx(table / table.sum(axis=2, keepdims=True))
    assert found.shares == pytest.approx(table.sum(axis=2))
    assert found.values.sum(axis=2) == pytest.approx(1)
    low, high = found.interval(0.95)
    assert ((low < found.values) & (found.values < high)).all()
    # Where rows are known well, Fieller's interval is the delta method's.
    assert (high - low) / 2 == pytest.approx(1.96 * found.standard_error, rel=0.05)
    frame = found.to_frame()
    assert list(frame.columns) == [
        *("z", "x", "y", "estimate", "standard_error", "low", "high", "raw", "known")
    ]
    assert len(frame) == 24
    assert frame["known"].all()
    assert frame.attrs["simulated"]
    assert release.conditional("y", given="x").names == ("x", "y")


def test_the_standard_error_of_a_ratio_is_the_delta_methods() -> None:
    release = released(binary(50_000, 3))
    found = release.conditional("a1", given="a0")
    spread = release.marginal("a0", "a1").covariance
    n, d = release.marginal("a0", "a1").values[1, 1], found.shares[1]
    gradient = np.array([0, 0, -n / d**2, 1 / d - n / d**2])
    assert found.standard_error[1, 1] == pytest.approx(math.sqrt(gradient @ spread @ gradient))


def test_a_combination_that_nobody_may_have_is_flagged() -> None:
    random = np.random.default_rng(4)
    frame = pa.table({"rare": random.random(20_000) < 0.002, "b": random.random(20_000) < 0.4})
    found = released(frame, 0.5).conditional("b", given="rare")
    assert found.known.tolist() == [True, False]
    assert found.interval(0.95)[:, 1].tolist() == [[0, 0], [1, 1]]
    assert np.isinf(found.standard_error[1]).all()
    assert found.to_frame()["known"].tolist() == [True, True, False, False]


@pytest.mark.parametrize("consistency", ["joint", "model"])
def test_processed_conditional_tables_stay_possible(consistency: str) -> None:
    found = released(binary(20_000, 4), consistency=consistency).conditional("a1", given="a0")
    low, high = found.interval(0.95)
    assert ((low >= 0) & (low <= found.values) & (found.values <= high) & (high <= 1)).all()


def test_conditional_tables_of_nothing_are_refused() -> None:
    release = released(binary(1000, 4))
    with pytest.raises(TableError, match="given at least one other"):
        release.conditional("a0", given=[])
    with pytest.raises(TableError, match="twice"):
        release.conditional("a0", given=["a0"])
    with pytest.raises(TableError, match="needs order 3"):
        release.conditional("a0", given=["a1", "a2"])
    with pytest.raises(TableError, match="level"):
        release.conditional("a0", given="a1").interval(2)


def test_rare_values_are_taken_together_so_that_strength_can_be_told():
    """One value in two thousand is noise; V of the rest is that of the people all the same."""
    random = np.random.default_rng(9)
    count = 200_000
    kind = random.choice(["x", "y", "z", "rare"], count, p=[0.5, 0.3, 0.1995, 0.0005])
    chance = pd.Series(kind).map({"x": 0.2, "y": 0.5, "z": 0.8, "rare": 0.5}).to_numpy()
    frame = pd.DataFrame({"kind": kind, "yes": random.random(count) < chance})
    schema = Schema.of(kind=["x", "y", "z", "rare"], yes=[False, True])
    (row,) = simulate(Survey(schema, 2, 2.0), frame, seed="rare").associations().itertuples()
    seen = pd.crosstab(frame["kind"], frame["yes"]).to_numpy()
    true_v = np.sqrt(stats.chi2_contingency(seen).statistic / count)
    assert row.df == 3, "the test is of all values"
    assert row.cramers_v == pytest.approx(true_v, abs=0.05)
    assert 0 < row.cramers_v_low < true_v < row.cramers_v_high < 1


def test_what_is_taken_together_can_be_told_from_nothing():
    spread = np.diag([0.01, 0.01, 0.01, 0.01]) ** 2
    made = merge_rare(np.array([0.6, 0.005, 0.38, 0.015]), spread)
    assert made.tolist() == [[1, 0, 0, 0], [0, 1, 1, 1]]
    assert merge_rare(np.array([0.5, 0.5]), spread[:2, :2]).tolist() == [[1, 0], [0, 1]]
    assert len(merge_rare(np.array([0.01, 0.02]), np.eye(2))) == 1
