"""Records with numbers: tables of them are in bins, synthetic ones hold points."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey, plan, simulate
from deniable.analysis.records import codes_of, frame_of, levels_within, values_of
from deniable.cli.experiments import _contenders
from deniable.errors import TableError
from deniable.lab.law import p_value
from deniable.lab.rivals.registry import RIVALS
from deniable.lab.simulate import Crowd, trials, true_tables, true_values
from deniable.planning.reading import strengths_of
from deniable.questions.entropy import Key
from deniable.schema.attribute import Attribute

SCHEMA = Schema(
    (
        Attribute("age", low=0, high=59, missing="none", edges=(20, 40)),
        Attribute("sex", ("f", "m")),
        Attribute("day", low="2026-01-01", high="2026-01-31", step=3),
        Attribute("often", ("never", "sometimes", "always", "?"), missing="?", ordered=True),
        Attribute("paid", points=(0.5, 1, 10, 250.25), unit="EUR"),
    )
)
SURVEY = Survey(SCHEMA, 2, 6.0)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """Return people of whom the young are mostly f, and always."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 60, count).astype(float)
    sex = np.where(random.random(count) < np.where(age < 20, 0.9, 0.2), "f", "m")
    age[random.random(count) < 0.1] = np.nan
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 31, count), unit="D")
    often = random.choice(["never", "sometimes", "always", None], count)
    paid = random.choice([0.5, 1, 10, 300], count, p=[0.1, 0.2, 0.3, 0.4])
    return pd.DataFrame({"age": age, "sex": sex, "day": day, "often": often, "paid": paid})


FRAME = people(20_000)


@pytest.fixture(scope="module")
def release() -> Release:
    return simulate(SURVEY, FRAME, "records with numbers")


@pytest.fixture(scope="module")
def smooth(release: Release) -> Release:
    return release.with_consistency("model")


# Codes, values and frames


def test_values_are_codes_in_bins():
    codes, values = codes_of(SCHEMA, FRAME), values_of(SCHEMA, FRAME)
    ages = FRAME["age"]
    assert codes[0].tolist() == ages.fillna(60).astype(int).tolist()
    expected = np.select([ages < 20, ages < 40, ages < 60], [0, 1, 2], 3)
    assert values[0].tolist() == expected.tolist()
    for own, size in zip(values, SCHEMA.sizes, strict=True):
        assert set(own.tolist()) == set(range(size))


def test_a_frame_of_codes_holds_points_and_is_read_again():
    codes = [np.arange(300) % size for size in SCHEMA.ranges]
    frame = frame_of(SCHEMA, codes)
    assert frame["age"].dtype == float
    assert frame["age"].isna().sum() == (codes[0] == 60).sum()
    assert frame.loc[1].tolist() == [1, "m", "2026-01-04", "sometimes", 1.0]
    assert frame["paid"].max() == 250.25
    for own, again in zip(codes, codes_of(SCHEMA, frame), strict=True):
        assert own.tolist() == again.tolist()


def test_levels_are_drawn_within_their_bins_by_their_shares():
    shares, bins = np.array([0.1, 0.3, 0.0, 0.0, 0.6]), np.array([0, 0, 1, 1, 2])
    values = np.repeat([0, 1, 2], 4000)
    codes = levels_within(shares, bins, values, np.random.default_rng(1))
    assert bins[codes].tolist() == values.tolist()
    times = np.bincount(codes, minlength=5) / 4000
    assert times == pytest.approx([0.25, 0.75, 0.5, 0.5, 1], abs=0.04)  # an empty bin: all alike


# Synthetic records


@pytest.mark.parametrize("method", ["tree", "model"])
def test_synthetic_records_hold_points_like_those_of_people(release: Release, method: str) -> None:
    made = release.synthesise(20_000, method=method, seed="a")
    assert made.equals(release.synthesise(20_000, method=method, seed="a"))
    assert set(made["age"].dropna()) <= set(range(60))
    assert set(made["day"]) <= {f"2026-01-{day:02}" for day in range(1, 32, 3)}
    assert set(made["paid"]) == {0.5, 1, 10, 250.25}
    assert set(made["often"]) == {"never", "sometimes", "always", "?"}
    assert made["age"].isna().mean() == pytest.approx(0.1, abs=0.03)
    assert made["age"].mean() == pytest.approx(FRAME["age"].mean(), abs=1.5)
    # Within a bin, too: a number is not put at its beginning, or anywhere alike.
    assert (made["age"] < 10).mean() == pytest.approx((FRAME["age"] < 10).mean(), abs=0.04)
    young = made["age"] < 20
    assert (made["sex"] == "f")[young].mean() > 0.55
    assert (made["sex"] == "f")[made["age"] >= 20].mean() < 0.35
    # And again in tables.
    assert release.fidelity(made)["distance"].max() < 0.15


def test_fidelity_compares_tables_in_bins(release: Release, smooth: Release) -> None:
    report = smooth.fidelity(FRAME)
    assert len(report) == 10
    assert report["distance"].max() < 0.15
    pair = report[(report["a"] == "age") & (report["b"] == "sex")].iloc[0]
    table = smooth.marginal("age", "sex").values
    ages = np.select([FRAME["age"] < 20, FRAME["age"] < 40, FRAME["age"] < 60], [0, 1, 2], 3)
    own = pd.crosstab(ages, FRAME["sex"]).to_numpy() / len(FRAME)
    assert pair["distance"] == pytest.approx(np.abs(own - table).sum() / 2)
    # Where nothing was done to tables, single cells are mostly noise: people read those of a model.
    assert release.fidelity(FRAME)["distance"].max() == pytest.approx(report["distance"].max())


# Trees


def test_a_tree_of_numbers_tells_likelihoods_in_bins(release: Release) -> None:
    tree = release.tree()
    values = values_of(SCHEMA, FRAME)
    index = SCHEMA.index
    total = 0.0
    for child, parent in tree.parents.items():
        shares, own = tree.cpts[child], values[index(child)]
        row = shares[own] if parent is None else shares[values[index(parent)], own]
        total += float(np.log(row).mean())
    assert tree.log_likelihood(FRAME) == pytest.approx(total)
    assert set(tree.levels) == {"age", "day", "paid"}
    assert {"age", "sex"} == {*tree.edges.iloc[0][["a", "b"]]}
    totals = tree.total_mutual_information(FRAME)
    assert 0.5 < totals.share <= 1
    people_of = tree.sample(100, "s")
    assert people_of.equals(tree.sample(100, "s"))
    assert "variable age {\n  type discrete [ 4 ] { below_x20_20, " in tree.to_bif()
    assert '"cpts"' in tree.to_json()


def test_conditional_tables_and_differences_have_bins(release: Release) -> None:
    table = release.conditional("sex", given="age")
    assert table.values.shape == (4, 2)
    young = table.to_frame().iloc[0]
    assert (young["age"], young["sex"]) == ("below 20", "f")
    assert abs(young["estimate"] - 0.9) < 5 * young["standard_error"]
    other = simulate(SURVEY, people(20_000, 2).assign(paid=0.5), "another")
    report = release.differences(other, 1)
    assert report.iloc[0]["attribute_1"] == "paid"
    assert report.iloc[0]["p_value"] < 1e-6
    assert (report["p_value"][1:] > 1e-4).all()
    assert release.difference(other, "age").values.shape == (4,)


# Combined strata


def test_combined_strata_tell_numbers_of_all_of_them():
    survey = Survey(SCHEMA, 2, 6.0, labels={"region": ["north", "south"]})
    frame = pd.concat(
        [
            people(6000, 3).assign(region="north"),
            people(3000, 4).assign(region="south", paid=300, sex="f"),
        ]
    )
    groups = survey.tally(survey.randomize(frame, "s"), by="region", simulation=True).release()
    whole = groups.combine({"north": 1, "south": 3})
    parts = {name: each.number_fits[4] for name, each in groups.items()}
    own = whole.number_fits[4]
    assert own.shares == pytest.approx(parts["north"].shares / 4 + parts["south"].shares * 0.75)
    assert own.shares[3] > 0.7
    bins = np.eye(4)
    mean = parts["north"].covariance(bins) / 16 + parts["south"].covariance(bins) * 9 / 16
    assert own.covariance(bins) == pytest.approx(mean)
    assert own.people == sum(each.people for each in parts.values())
    # What tells of moments takes the same ones in every stratum.
    pair = whole.associations().set_index(["a", "b"])
    assert np.isfinite(pair.loc[("sex", "paid"), "p_value"])
    covariance = [each.covariance(["age", {"sex": "f"}]) for each in groups.values()]
    expected = covariance[0] / 16 + covariance[1] * 9 / 16
    assert whole.covariance(["age", {"sex": "f"}]) == pytest.approx(expected)
    with pytest.raises(TableError, match="strata that are combined"):
        whole.quantile("age", 0.5)


# The lab


def test_true_tables_are_in_bins():
    records = SCHEMA.encode_frame(FRAME)
    assert true_values(SCHEMA, records, 0).tolist() == values_of(SCHEMA, FRAME)[0].tolist()
    table = true_tables(SCHEMA, records, np.array([[0, 1]]))[0]
    ages = np.select([FRAME["age"] < 20, FRAME["age"] < 40, FRAME["age"] < 60], [0, 1, 2], 3)
    assert table == pytest.approx((pd.crosstab(ages, FRAME["sex"]) / len(FRAME)).to_numpy().ravel())


def test_a_trial_with_numbers_goes_as_predicted():
    schema = Schema(SCHEMA.attributes[:2])
    survey = Survey(schema, 2, 3.0, "InpHT")
    (*_, last) = trials(survey, FRAME[["age", "sex"]], repeat=12, seed="t")
    assert last.mean_tv == pytest.approx(last.predicted_tv, abs=5 * last.standard_error)


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_tell_tables_in_bins(name: str) -> None:
    rival = RIVALS[name](SCHEMA, 2, 6.0)
    (trial,) = trials(rival, FRAME, seed="r")
    assert trial.mean_tv < 0.3
    crowd = Crowd(SCHEMA.encode_frame(FRAME))
    tables = rival.run(crowd, Key.seeded("r")).tables(np.array([[0, 2]]))
    assert tables.shape == (1, 4 * SCHEMA.sizes[2])
    # Frequency oracles are unbiased: their cells add up to 1 on average.
    slack = 1e-6 if name in ("CALM", "product of margins") else 0.1
    assert tables.sum() == pytest.approx(1, abs=slack)


def test_strengths_are_those_of_bins():
    strengths = strengths_of(SCHEMA, 2, FRAME)
    assert [len(share) for share in strengths.shares] == list(SCHEMA.sizes)
    assert strengths.shares[0] == pytest.approx([0.3, 0.3, 0.3, 0.1], abs=0.02)
    assert strengths.departures[5] == max(strengths.departures)  # of age and sex


def test_a_plan_takes_a_pilot_with_numbers(release: Release) -> None:
    assert plan(SCHEMA, order=2, epsilon=2.0, people=20_000, pilot=release).people == 20_000


def test_all_mechanisms_are_tried_but_those_that_cannot_ask_about_orders():
    contenders, left_out = _contenders((SCHEMA, 2, 6.0), "all", "tables", 1000, None)
    names = [each.mechanism for each in contenders]
    assert {"Subspace", "InpHT", "MargHT", "CALM", "product of margins"} <= set(names)
    assert not {"InpRR", "InpPS", "InpEM", "MargRR", "MargPS"} & set(names)
    assert len(left_out) == 5
    assert all("by thresholds: by Subspace, InpHT or MargHT" in each for each in left_out)


def test_a_tally_of_numbers_follows_its_law():
    schema = Schema((Attribute("n", low=0, high=5, missing="?"), Attribute("b")))
    survey = Survey(schema, 2, 1.5)
    random = np.random.default_rng(1)
    frame = frame_of(schema, [random.integers(0, 7, 30_000), random.integers(0, 2, 30_000)])
    records, other = schema.encode_frame(frame), schema.encode_frame(frame.assign(n=2))
    counts = survey.tally(survey.randomize(frame, "law"), simulation=True)
    assert p_value(counts, records) > 1e-6
    assert p_value(counts, other) < 1e-9
