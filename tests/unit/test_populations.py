"""Known populations: tables as classical raking of the records would have them, with exact errors."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Release, Schema, Survey
from deniable.analysis import adjusting
from deniable.analysis.weighting import rake
from deniable.errors import GroupError, SchemaError, TableError
from deniable.schema.attribute import Attribute

A = {"a": {"x": 0.5, "y": 0.3, "z": 0.2}}
B = {"b": {False: 0.7, True: 0.3}}
C = {"c": {False: 0.55, True: 0.45}}
REGION = {"region": {"north": 0.25, "south": 0.75}}
MIXED = Schema.of(a=[*"xyz"], b=[False, True], c=[False, True], d=[False, True])
BINARY = Schema.binary(*"abcd")


def people(count: int = 4000, seed: int = 1) -> pd.DataFrame:
    """Return people whose attributes depend on each other, in two regions."""
    random = np.random.default_rng(seed)
    a = random.choice(3, count, p=[0.2, 0.3, 0.5])
    b = random.random(count) < 0.2 + 0.2 * a
    c = random.random(count) < 0.1 + 0.3 * b + 0.1 * a
    d = random.random(count) < 0.2 + 0.3 * c + 0.2 * b
    region = np.where(random.random(count) < 0.3 + 0.4 * c, "north", "south")
    return pd.DataFrame({"a": np.array([*"xyz"])[a], "b": b, "c": c, "d": d, "region": region})


def yes_or_no(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(a=frame["a"] == "z")


def raked(frame: pd.DataFrame, margins: dict[str, Any]) -> np.ndarray:
    """Return classical raking weights of records: scaled to one margin after the other."""
    weights = np.ones(len(frame))
    for _ in range(500):
        for name, shares in margins.items():
            codes = frame[name].map({value: i for i, value in enumerate(shares)}).to_numpy()
            now = np.bincount(codes, weights, len(shares)) / weights.sum()
            weights = weights * (np.array(list(shares.values())) / now)[codes]
    return weights / weights.sum()


def noiseless(frame: pd.DataFrame, schema: Schema, order: int, by: str | None = None) -> Any:
    """Return a release of reports that say the whole record, all but surely: ε is 20."""
    labels = {"region": ["north", "south"]} if by else None
    survey = Survey(schema, order, 20.0, "InpPS", labels=labels)
    batch = survey.randomize(frame if by else frame.drop(columns="region"), "noiseless")
    return survey.tally(batch, by=by, simulation=True).release()


def share(frame: pd.DataFrame, weights: np.ndarray, **values: Any) -> float:
    is_there = np.logical_and.reduce([frame[name] == value for name, value in values.items()])
    return float(weights @ is_there)


@pytest.mark.parametrize(
    ("margins", "order"), [(A, 2), (A | B, 3), (B | A, 4), (A | B | C, 4)], ids=str
)
def test_tables_are_those_of_classical_raking_where_there_is_no_noise(
    margins: dict[str, Any], order: int
) -> None:
    frame = people()
    weights = raked(frame, margins)
    adjusted = noiseless(frame, MIXED, order).poststratify(margins)
    assert adjusted.population.method == "raking"
    for names in (("d",), ("c",), ("a",), ("b", "a")):
        if len({*names, *margins}) > order:
            continue
        table = adjusted.marginal(*names)
        assert (table.kind, table.interval_kind) == ("adjusted", "delta")
        for cell in np.ndindex(table.values.shape):
            values = {n: table.attributes[i].values[cell[i]] for i, n in enumerate(names)}
            assert table.values[cell] == pytest.approx(share(frame, weights, **values), abs=1e-6)


def test_linear_weights_are_those_of_linear_calibration_of_records() -> None:
    frame = yes_or_no(people())
    margins = {"a": {"false": 0.5, "true": 0.5}, "b": {"false": 0.7, "true": 0.3}}
    adjusted = noiseless(frame, BINARY, 2).poststratify(margins)
    assert adjusted.population.method == "linear"  # raking would take tables of three attributes
    design = np.column_stack((np.ones(len(frame)), frame["a"], frame["b"]))
    weights = design @ np.linalg.solve(design.T @ design, [1, 0.5, 0.3])
    for name in "cd":
        table = adjusted.marginal(name)
        assert table.values[1] == pytest.approx(share(frame, weights, **{name: True}), abs=1e-6)
        assert table.kind == "adjusted"
    assert adjusted.marginal("b").values == pytest.approx([0.7, 0.3])
    assert adjusted.marginal("b").standard_error.max() == 0


def test_labels_and_attributes_are_raked_together() -> None:
    frame = people()
    margins = REGION | A
    adjusted = noiseless(frame, MIXED, 2, by="region").poststratify(margins)
    weights = raked(frame, margins)
    for name in "bcd":
        expected = share(frame, weights, **{name: True})
        assert adjusted.marginal(name).values[1] == pytest.approx(expected, abs=1e-6)
    assert adjusted.marginal("a").values == pytest.approx([0.5, 0.3, 0.2])


def test_groups_by_labels_alone_are_combined_with_raked_weights() -> None:
    frame = people()
    groups = noiseless(frame, MIXED, 2, by="region")
    adjusted = groups.poststratify(REGION)
    combined = groups.combine(REGION["region"])
    assert adjusted.strata == pytest.approx(combined.strata)
    table, expected = adjusted.marginal("b", "c"), combined.marginal("b", "c")
    assert table.values == pytest.approx(expected.values)
    assert table.covariance == pytest.approx(expected.covariance)
    assert adjusted.with_consistency("joint").population is adjusted.population
    assert "adjusted to a known population: region" in repr(adjusted)


def release_of(schema: Schema, mechanism: str, order: int = 3, epsilon: float = 4.0) -> Release:
    frame = people(20_000).drop(columns="region")
    frame = yes_or_no(frame) if schema is BINARY else frame
    survey = Survey(schema, order, epsilon, mechanism)
    return survey.tally(survey.randomize(frame, "errors"), simulation=True).release()


@pytest.mark.parametrize(
    ("schema", "mechanism"),
    [(MIXED, "Subspace"), (MIXED, "MargPS"), (BINARY, "MargRR"), (BINARY, "InpHT")],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_the_covariance_is_that_of_the_whole_way_from_estimates_to_weighted_cells(
    schema: Schema, mechanism: str
) -> None:
    release = release_of(schema, mechanism)
    first = {"a": [0.5, 0.5]} if schema is BINARY else {"a": [0.5, 0.3, 0.2]}
    adjusted = release.poststratify(first | B, "raking")
    union = release.marginal("a", "b", "d")
    goals = [np.array(first["a"]), np.array([0.7, 0.3])]

    def weighted(cells: np.ndarray) -> np.ndarray:
        factors = rake(cells.sum(axis=2), goals)
        return np.einsum("ab,abd->d", factors, cells)

    step, slopes = 1e-5, []
    for at in np.ndindex(union.values.shape):
        up, down = union.values.copy(), union.values.copy()
        up[at] += step
        down[at] -= step
        slopes.append((weighted(up) - weighted(down)) / (2 * step))
    way = np.array(slopes).T
    table = adjusted.marginal("d")
    assert table.values == pytest.approx(weighted(union.values), abs=1e-9)
    assert table.covariance == pytest.approx(way @ union.covariance @ way.T, rel=2e-4)


def test_forms_and_tables_say_the_same() -> None:
    release = release_of(MIXED, "Subspace")
    by_tables = release.poststratify(A | B)
    parts = [adjusting.Part(release, 1.0)]
    assert by_tables.evidence.source.tells([0, 3])
    margins = by_tables._margins
    forms, tables = (
        adjusting.WeightedForms(release, margins, "raking"),
        adjusting.WeightedTables(parts, margins),
    )
    for table in ([2], [3], [0, 2], [1, 3]):
        one, other = forms.table(table, with_errors=True), tables.table(table, with_errors=True)
        assert one.values == pytest.approx(other.values)
        errors = [np.sqrt(np.diagonal(each.covariance).clip(1e-9)) for each in (one, other)]
        assert errors[0] == pytest.approx(errors[1], rel=0.1)  # by reports, and by the law
    one = adjusting.WeightedForms(release, margins[:1], "linear").table([3], with_errors=True)
    other = adjusting.WeightedForms(release, margins[:1], "raking").table([3], with_errors=True)
    assert one.values == pytest.approx(other.values)  # of one margin, both are post-stratification
    assert one.covariance == pytest.approx(other.covariance, rel=0.02)


@cache
def numbers() -> Release:
    schema = Schema(
        (
            Attribute("sex", ("f", "m"), complete=True),
            Attribute("age", complete=True, low=18, high=80, step=1, edges=(30, 50)),
            Attribute("ill", (False, True)),
        )
    )
    random = np.random.default_rng(2)
    sex = random.random(30_000) < 0.3
    age = random.integers(18, 81, 30_000) - 5 * sex
    ill = random.random(30_000) < age / 200
    frame = pd.DataFrame({"sex": np.where(sex, "f", "m"), "age": age.clip(18), "ill": ill})
    survey = Survey(schema, 2, 3.0)
    return survey.tally(survey.randomize(frame, "numbers"), simulation=True).release()


def test_means_are_weighted_as_tables_are() -> None:
    release = numbers()
    adjusted = release.poststratify({"sex": {"f": 0.6, "m": 0.4}})
    by_sex = release.mean("age", by="sex")
    # A mean given sex is a ratio of unbiased estimates, and so is the adjusted mean.
    assert adjusted.mean("age").estimate == pytest.approx(np.array([0.6, 0.4]) @ by_sex.values)
    error = np.sqrt(np.array([0.6, 0.4]) @ by_sex.covariance @ np.array([0.6, 0.4]))
    assert adjusted.mean("age").standard_error == pytest.approx(error, rel=0.02)
    assert adjusted.mean("age", by="sex").values == pytest.approx(by_sex.values)
    assert adjusted.unadjusted is release
    assert adjusted.marginal("sex", bins={}).values == pytest.approx([0.6, 0.4])


def test_numbers_are_known_by_bins() -> None:
    release = numbers()
    own = release.poststratify({"age": {"below 30": 0.2, "30 to 50": 0.3, "50 or more": 0.5}})
    assert own.marginal("age").values == pytest.approx([0.2, 0.3, 0.5])
    other = release.poststratify({"age": {"bins": [40, 60], "shares": [0.5, 0.25, 0.25]}})
    table = other.marginal("age", bins={"age": [40, 60]})
    assert table.values == pytest.approx([0.5, 0.25, 0.25])
    assert 0 < other.marginal("ill").standard_error[0] < 0.1
    same = release.poststratify({"age": {"bins": [30, 50], "shares": [0.2, 0.3, 0.5]}})
    assert same.marginal("ill").values == pytest.approx(own.marginal("ill").values)


def test_larger_tables_go_through_the_model_and_say_so(tmp_path: Path) -> None:
    frame = yes_or_no(people(20_000)).drop(columns="region")
    survey = Survey(BINARY, 2, 4.0)
    release = survey.tally(survey.randomize(frame, "model"), simulation=True).release()
    adjusted = release.poststratify({"a": {"false": 0.6, "true": 0.4}})
    tables = {table.names: table for table in adjusted.marginals(2)}
    assert tables["a", "c"].kind == "adjusted"
    modelled = tables["c", "d"]
    assert (modelled.kind, modelled.interval_kind) == ("adjusted through the model", "bootstrap")
    model = release.with_consistency("model").marginal("a", "c", "d").values
    given = model / model.sum(axis=(1, 2), keepdims=True)
    assert modelled.values == pytest.approx(np.tensordot([0.6, 0.4], given, 1), abs=1e-8)
    assert 0 < modelled.standard_error.min() < 0.05
    adjusted.export(tmp_path / "tables.json")
    told = json.loads((tmp_path / "tables.json").read_text("utf-8"))
    kinds = {tuple(each["attributes"]): each["kind"] for each in told["tables"]}
    assert kinds["c", "d"] == "adjusted through the model"
    assert kinds["a", "c"] == "adjusted"
    assert told["population"]["margins"] == {"a": {"false": 0.6, "true": 0.4}}
    assert told["population"]["source"] == "source given by the user"


def test_it_says_what_it_is_what_it_repairs_and_what_not(tmp_path: Path) -> None:
    adjusted = release_of(MIXED, "Subspace", 2).poststratify(A)
    words = "adjusted to a known population: a (source given by the user)"
    limits = "It does not repair non-response that depends on the answers themselves, nor lies."
    assert words in repr(adjusted)
    assert limits in repr(adjusted)
    adjusted.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert words in page
    assert limits in page
    assert adjusted.with_consistency("auto") is adjusted


def test_what_is_not_on_offer_says_so_in_one_sentence() -> None:
    adjusted = numbers().poststratify({"sex": {"f": 0.6, "m": 0.4}})
    other = adjusted.unadjusted
    for ask in (
        adjusted.associations,
        adjusted.tree,
        lambda: adjusted.quantile("age"),
        lambda: adjusted.distribution("age"),
        lambda: adjusted.difference(other, "sex"),
        lambda: other.difference(adjusted, "sex"),
        lambda: adjusted.with_consistency("joint"),
        lambda: adjusted.synthesise(10),
        lambda: adjusted.squares,
        lambda: adjusted.poststratify({"sex": {"f": 0.5, "m": 0.5}}),
    ):
        with pytest.raises(TableError, match=r"not on offer for tables that are adjusted.*\.$"):
            ask()
    with pytest.raises(TableError, match="more attributes than the survey's order, 2"):
        adjusted.mean("age", by="ill")
    with pytest.raises(TableError, match="Only unbiased tables have intervals of the people"):
        adjusted.marginal("ill").interval(of="people")


SEX = {"f": 0.6, "m": 0.4}


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        ({}, "maps names to the shares"),
        (["sex"], "maps names to the shares"),
        ({"sex": 0.5}, "are a mapping of values"),
        ({"sex": {"f": 0.6}}, "lack 'm': every value needs one"),
        ({"sex": SEX | {"x": 0.0}}, "has no value 'x'; its values are 'f', 'm'"),
        ({"sex": {"f": 0.6, "m": 0.3}}, "must add up to 1 .*they add up to 0.9"),
        ({"sex": {"f": 60, "m": 40}}, "must be a number from 0 to 1; that of 'f' in 'sex' is 60"),
        ({"sex": {"f": -0.1, "m": 1.1}}, "must be a number from 0 to 1"),
        ({"sex": {"f": float("nan"), "m": 1}}, "must be a number from 0 to 1"),
        ({"sex": {"f": True, "m": 0}}, "must be a number from 0 to 1"),
        ({"sex": {"f": "half", "m": 0.5}}, "must be a number from 0 to 1"),
        ({"sex": {"f": 0, "m": 1}}, "share of 'f' in 'sex' is 0, and .* % of the people"),
        ({"age": [0.5, 0.5]}, "has 3 values here .*; got 2"),
        ({"age": {"bins": [30.5], "shares": [0.5, 0.5]}}, "must begin at points of its grid"),
        ({"age": {"bins": 30, "shares": [0.5, 0.5]}}, "are a list of edges"),
        ({"sex": {"bins": [1], "shares": [1]}}, "is no number"),
        ({"ill": {True: 0.5, "true": 0.5, False: 0}}, "has two shares of 'true'"),
    ],
)
def test_known_shares_that_make_no_sense_are_refused(margins: Any, words: str) -> None:
    with pytest.raises(TableError, match=words) as caught:
        numbers().poststratify(margins)
    assert "\n" not in str(caught.value)


def test_other_requests_that_make_no_sense_are_refused() -> None:
    release = numbers()
    with pytest.raises(SchemaError, match="There is no attribute 'region'"):
        release.poststratify({"region": {"n": 1}})
    with pytest.raises(TableError, match="method must be 'raking' or 'linear'"):
        release.poststratify({"sex": SEX}, "magic")
    with pytest.raises(TableError, match="order 1"):
        release_of(MIXED, "Subspace", 1).poststratify(A)
    few = Survey(MIXED, 2, 1.1)
    tally = few.tally(few.randomize(people(300).drop(columns="region"), "few"), simulation=True)
    with pytest.raises(TableError, match=r"would take about [\d,]+ people, and there are 300\.$"):
        tally.release().poststratify(A)
    rounded = release.poststratify({"sex": {"f": 0.601, "m": 0.401}})
    assert sum(rounded.population.margins["sex"].values()) == pytest.approx(1)
    em = Survey(BINARY, 2, 8.0, "InpEM")
    frame = yes_or_no(people()).drop(columns="region")
    reports = em.tally(em.randomize(frame, "em"), simulation=True)
    with pytest.raises(TableError, match="takes estimates with a covariance"):
        reports.release().poststratify({"a": [0.5, 0.5]})
    assert reports.release(estimator="inverse").poststratify({"a": [0.5, 0.5]}).marginal("b").known


def test_contradicting_shares_are_refused() -> None:
    frame = people()
    frame["d"] = ~frame["c"]
    release = noiseless(frame, MIXED, 3)
    margins = {"c": {"false": 0.3, "true": 0.7}, "d": {"false": 0.2, "true": 0.8}}
    with pytest.raises(TableError, match="'c' and 'd' contradict each other"):
        release.poststratify(margins).marginal("a")


def test_groups_that_cannot_be_weighted_are_refused() -> None:
    frame = people()
    groups = noiseless(frame, MIXED, 2, by="region")
    with pytest.raises(TableError, match="'region' is a label: count by it"):
        groups["north"].poststratify(REGION)
    with pytest.raises(TableError, match="share of 'north' in 'region' is 0"):
        groups.poststratify({"region": {"north": 0, "south": 1}})
    south = noiseless(frame[frame["region"] == "south"], MIXED, 2, by="region")
    with pytest.raises(TableError, match="Nobody who answered has 'north' in 'region'"):
        south.poststratify(REGION)
    few = pd.concat((frame[frame["region"] == "south"], frame[frame["region"] == "north"][:50]))
    with pytest.raises(GroupError, match="'north' has under 100 reports"):
        noiseless(few, MIXED, 2, by="region").poststratify(REGION)
    whole = groups.poststratify(A)  # of no label: everybody together
    assert whole.marginal("a").values == pytest.approx([0.5, 0.3, 0.2])


def test_raking_is_planted_wrong_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people()
    monkeypatch.setattr(adjusting, "rake", lambda cells, goals: rake(cells, goals) ** 0.99)
    adjusted = noiseless(frame, MIXED, 3).poststratify(A | B)
    table, weights = adjusted.marginal("d"), raked(frame, A | B)
    assert abs(table.values[1] - share(frame, weights, d=True)) > 1e-5
