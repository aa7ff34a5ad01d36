"""Tables of attributes of any sizes as they are read: a model of margins, departures and classes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from deniable import Release, Schema, Survey, simulate
from deniable.decoding.decoder import decoder_of
from deniable.errors import TableError
from deniable.numeric.axes import centred
from deniable.numeric.shares import onto_simplex
from deniable.release.consistency import model as model_method
from deniable.release.mixed import fitting
from deniable.release.mixed.classes import CLASSES, Classes, ClassFit
from deniable.release.mixed.interactions import (
    Interactions,
    Sets,
    measure_interactions,
)
from deniable.release.mixed.reading import keep_margins, read
from deniable.release.mixed.shrinkage import Directions, margin
from deniable.survey.coefficients import all_tables

SIZES = (3, 2, 5, 4)


def schema(*sizes: int) -> Schema:
    return Schema.of(**{f"a{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(sizes)})


def people(sizes: tuple[int, ...], count: int, seed: int = 0) -> pd.DataFrame:
    """Return records of people of two kinds: all attributes depend on each other."""
    random = np.random.default_rng(seed)
    kind = random.random(count) < 0.4
    columns = {}
    for i, size in enumerate(sizes):
        one, other = random.dirichlet(np.ones(size), 2)
        code = np.where(
            kind, random.choice(size, count, p=one), random.choice(size, count, p=other)
        )
        columns[f"a{i}"] = np.array([f"v{j}" for j in range(size)])[code]
    return pd.DataFrame(columns)


def release(order: int, consistency: str, count: int = 30_000, **options: object) -> Release:
    survey = Survey(schema(*SIZES), order, log(3), "Subspace", people=count, **options)
    return simulate(survey, people(SIZES, count), seed="read", consistency=consistency)


# What is measured


@pytest.mark.parametrize("mechanism", ["Subspace", "MargPS", "InpES"])
def test_the_noise_of_interactions_adds_up_to_that_of_tables(mechanism) -> None:
    survey = Survey(schema(*SIZES), 2, 1.1, mechanism)
    evidence = simulate(survey, people(SIZES, 40_000), seed="noise").evidence
    sets = Sets(SIZES, 2)
    energy = measure_interactions(evidence, sets).energy
    for pair in all_tables(4, 2):
        cells = evidence.cell_variances(pair[None, :]).sum()
        first, second = (SIZES[a] for a in pair)
        parts = energy[pair[0]] / second + energy[pair[1]] / first
        assert parts + energy[sets.numbers_of(pair[None, :])[0]] == pytest.approx(cells, rel=0.05)


def test_contrasts_keep_lengths_and_what_is_judged() -> None:
    sets = Sets(SIZES, 3)
    vector = np.zeros(sets.size)
    random = np.random.default_rng(5)
    for level in (1, 2, 3):
        for some in sets.groups(level):
            rows = centred(random.standard_normal(sets.shape(some)), range(1, level + 1))
            vector[sets.positions(some)] = rows.reshape(len(some), -1)
    contrasts = sets.contrasts(vector)
    assert len(contrasts) == sets.dimensions.sum()
    assert contrasts @ contrasts == pytest.approx(vector @ vector)
    measured = Interactions(sets, vector, np.ones(len(sets.dimensions)))
    assert measured.product(vector, vector) == pytest.approx(
        (measured.theta**2 / measured.variance).sum()
    )


# Margins


def test_the_nearest_distribution_is_nearest() -> None:
    random = np.random.default_rng(6)
    for size in (2, 5, 9):
        values = random.standard_normal(size)
        nearest = onto_simplex(values)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(1)
        for other in random.dirichlet(np.ones(size), 200):
            assert ((values - nearest) ** 2).sum() <= ((values - other) ** 2).sum() + 1e-12


def test_margins_without_noise_stay_and_without_reports_are_uniform() -> None:
    shares = np.array([0.55, 0.3, 0.15, 0.0])
    assert margin(shares - 0.25, 1e-12).shares == pytest.approx(shares, abs=1e-5)
    for energy in (np.inf, 1e9):
        alone = margin(shares - 0.25, energy)
        assert alone.shares == pytest.approx([0.25] * 4)
        assert alone.variances.min() > 0.1


@pytest.mark.parametrize(("evenness", "ratio"), [(0.2, 1.05), (1.0, 0.96), (10.0, 0.8)])
def test_margins_err_less_than_the_nearest_distributions_do(evenness, ratio) -> None:
    random, size, energy = np.random.default_rng(7), 20, 0.02
    read_off, near_off, covered = [], [], []
    for _ in range(60):
        shares = random.dirichlet(np.full(size, evenness))
        noise = random.standard_normal(size)
        noise = (noise - noise.mean()) * np.sqrt(energy / (size - 1))
        estimate = margin(shares - 1 / size + noise, energy)
        read_off.append(np.abs(estimate.shares - shares).sum())
        near_off.append(np.abs(onto_simplex(shares + noise) - shares).sum())
        covered.append(np.abs(estimate.shares - shares) <= 1.96 * np.sqrt(estimate.variances))
    assert np.mean(read_off) < ratio * np.mean(near_off)
    assert 0.9 < np.mean(covered) < 0.99


# Departures


def test_directions_lead_there_and_back() -> None:
    random = np.random.default_rng(8)
    directions = Directions([random.dirichlet(np.ones(size)) for size in SIZES])
    some = np.array([[0, 2], [0, 2]])
    rows = centred(random.standard_normal((2, 3, 5)), (1, 2)).reshape(2, -1)
    there = directions.into(rows, some)
    assert there.shape == (2, 8)
    assert directions.back(there, some) == pytest.approx(rows)
    variances = random.random((2, 8))
    basis = np.kron(directions.bases[0].T, directions.bases[2].T)
    expected = np.stack([np.diag((basis * row) @ basis.T) for row in variances])
    assert directions.cell_variances(variances, some) == pytest.approx(expected)


def exact(order: int, frame: pd.DataFrame, noise: float) -> Interactions:
    """Return interactions of records, as if they were measured with this noise of a contrast."""
    sets = Sets(SIZES, order)
    vector = np.zeros(sets.size)
    codes = [frame[f"a{i}"].str[1:].astype(int).to_numpy() for i in range(4)]
    for level in range(1, order + 1):
        for some in sets.groups(level):
            for row in some:
                shape = tuple(SIZES[a] for a in row)
                at = np.ravel_multi_index(tuple(codes[a] for a in row), shape)
                cells = np.bincount(at, minlength=int(np.prod(shape))) / len(frame)
                interaction = centred(cells.reshape(1, *shape), range(1, len(shape) + 1))
                vector[sets.positions(row[None, :])[0]] = interaction.ravel()
    return Interactions(sets, vector, noise * sets.dimensions)


@pytest.mark.parametrize("order", [2, 3])
def test_what_is_exact_stays_and_what_is_noise_goes(order) -> None:
    frame = people(SIZES, 50_000)
    sure = exact(order, frame, 1e-10)
    assert read(sure).vector == pytest.approx(sure.vector, abs=1e-4)
    drowned = read(exact(order, frame, 1.0))
    alone = Classes.independent(SIZES, [each.shares for each in drowned.margins])
    for some in drowned.sets.groups(2):
        off = drowned.vector[drowned.sets.positions(some)] - alone.interactions(some)
        assert np.abs(off).max() < 0.01


def test_more_noise_leaves_less_of_a_departure_and_more_doubt() -> None:
    frame = people(SIZES, 50_000)
    sizes, doubts = [], []
    for noise in (1e-7, 1e-5, 1e-3):
        reading = read(exact(2, frame, noise))
        alone = Classes.independent(SIZES, [each.shares for each in reading.margins])
        pair = np.array([[2, 3]])
        off = reading.vector[reading.sets.positions(pair)] - alone.interactions(pair)
        sizes.append(float((off**2).sum()))
        doubts.append(float(reading.cell_variances(pair).sum()))
    assert sizes == sorted(sizes, reverse=True)
    assert doubts == sorted(doubts)


def test_covariances_have_the_variances_of_cells() -> None:
    reading = read(exact(3, people(SIZES, 50_000), 1e-4))
    for tables in (np.array([[2]]), np.array([[0, 3]]), np.array([[0, 1, 2]])):
        covariance = reading.cell_covariances(tables)
        diagonal = np.einsum("rii->ri", covariance)
        variances = reading.cell_variances(tables)
        assert diagonal == pytest.approx(variances, rel=0.02)
        assert np.linalg.eigvalsh(covariance).min() > -1e-12
        assert np.abs(covariance.sum(axis=(1, 2))).max() < 1e-9, "shares add up to 1"


# Classes


def test_the_slope_of_the_fit_is_that_of_its_loss() -> None:
    measured = exact(2, people(SIZES, 5_000), 1e-4)
    fit = ClassFit(measured, [np.full(size, 1 / size) for size in SIZES], np.random.default_rng(9))
    at = fit._at + 0.1 * np.random.default_rng(10).standard_normal(len(fit._at))
    off = optimize.check_grad(lambda x: fit._loss(x)[0], lambda x: fit._loss(x)[1], at)
    assert off < 1e-4 * np.linalg.norm(fit._loss(at)[1])


def test_classes_explain_people_of_two_kinds() -> None:
    measured = exact(2, people(SIZES, 200_000), 1e-8)
    shares = [each.shares for each in read(measured).margins]
    classes = ClassFit(measured, shares, np.random.default_rng(11)).advance(300)
    assert classes.values.shape == (CLASSES, sum(SIZES))
    alone = Classes.independent(SIZES, shares)
    own = fits = 0.0
    for some in measured.sets.groups(2):
        truth = measured.vector[measured.sets.positions(some)]
        own += ((classes.interactions(some) - truth) ** 2).sum()
        fits += ((alone.interactions(some) - truth) ** 2).sum()
        assert classes.tables(some).sum(axis=1) == pytest.approx(np.ones(len(some)))
    assert own < 0.01 * fits


# Tables


@pytest.mark.parametrize("order", [1, 2, 3])
def test_tables_are_nonnegative_and_agree(order) -> None:
    made = release(order, "model")
    assert made.applied == "model"
    for size in range(1, order + 1):
        for table in made.marginals(size):
            assert table.kind == "modelled"
            assert table.interval_kind == "posterior"
            assert table.values.min() >= 0
            assert table.values.sum() == pytest.approx(1)
            assert np.isfinite(table.standard_error).all()
            for axis, name in enumerate(table.names):
                others = tuple(i for i in range(size) if i != axis)
                margins = table.values.sum(axis=others)
                assert margins == pytest.approx(made.marginal(name).values, abs=1e-8)


def test_larger_tables_are_modelled_agree_and_have_no_interval() -> None:
    made = release(2, "model", 200_000)
    table = made.marginal("a0", "a2", "a3")
    assert table.kind == "modelled"
    assert table.interval_kind == "none"
    assert (
        table.interval() == np.stack((np.zeros(table.values.shape), np.ones(table.values.shape)))
    ).all()
    for axes in combinations(range(3), 2):
        others = tuple(i for i in range(3) if i not in axes)
        pair = made.marginal(*(table.names[i] for i in axes)).values
        assert table.values.sum(axis=others) == pytest.approx(pair, abs=1e-6)


def test_an_order_1_survey_answers_pairs_as_independent() -> None:
    made = release(1, "model")
    pair = made.marginal("a0", "a2").values
    alone = np.outer(made.marginal("a0").values, made.marginal("a2").values)
    assert pair == pytest.approx(alone, abs=1e-8)


def test_tables_are_the_same_whenever_they_are_made() -> None:
    one, other = (release(2, "model").marginal("a2", "a3").values for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("order", [2, 3])
def test_attributes_that_nobody_is_asked_about_spoil_no_other(order) -> None:
    survey = Survey(
        schema(*SIZES, 3), order, 1.1, "Subspace", workload=[("a0", "a1", "a2")[:order]]
    )
    made = simulate(survey, people((*SIZES, 3), 5_000), seed="few", consistency="model")
    assert made.marginal("a0", "a1").known
    for name in ("a0", "a1"):
        assert made.marginal(name).values.sum() == pytest.approx(1)
    assert made.marginal("a0", "a1").values.min() >= 0
    assert np.isfinite(made.marginal("a0", "a1").standard_error).all()
    for unknown in (("a3",), ("a3", "a4"), ("a0", "a4")):
        table = made.marginal(*unknown)
        assert not table.known
        assert table.values.sum() == pytest.approx(1)


def test_records_keep_the_dependence_that_is_read() -> None:
    random = np.random.default_rng(15)
    first = random.integers(0, 3, 50_000)
    second = np.where(random.random(50_000) < 0.6, first, random.integers(0, 3, 50_000))
    frame = pd.DataFrame({"a0": first, "a1": second, "a2": random.integers(0, 2, 50_000)})
    frame = "v" + frame.astype(str)
    survey = Survey(schema(3, 3, 2), 2, 2.0, "Subspace", people=50_000)
    made = simulate(survey, frame, seed="drawn", consistency="model")
    records = made.synthesise(50_000, method="model", seed="drawn")
    drawn = pd.crosstab(records["a0"], records["a1"], normalize=True).to_numpy()
    assert drawn == pytest.approx(made.marginal("a0", "a1").values, abs=0.02)
    larger = made.marginal("a0", "a1", "a2").values
    assert larger.sum(axis=2) == pytest.approx(made.marginal("a0", "a1").values, abs=1e-6)


def test_attributes_too_large_for_a_model_are_read_as_joint_tables() -> None:
    survey = Survey(schema(1_100, 2), 1, 2.0, "Subspace", people=20_000)
    frame = people((1_100, 2), 20_000)
    with pytest.raises(TableError, match="up to 1,024 values"):
        simulate(survey, frame, seed="large", consistency="model")
    assert simulate(survey, frame, seed="large", consistency="auto").applied == "joint"


def test_margins_are_kept_where_cells_are_negative() -> None:
    random = np.random.default_rng(12)
    rows, columns = random.dirichlet(np.ones(4), 6), random.dirichlet(np.ones(5), 6)
    columns[0, 0] = 0.0
    columns[0] /= columns[0].sum()
    rows, columns = rows[:, :, None], columns[:, None, :]
    cells = rows * columns + 0.05 * centred(random.standard_normal((6, 4, 5)), (1, 2))
    assert cells.min() < 0
    mended = keep_margins(cells, rows, columns)
    assert mended.min() >= -1e-15
    assert mended.sum(axis=2, keepdims=True) == pytest.approx(rows, abs=1e-12)
    assert mended.sum(axis=1, keepdims=True) == pytest.approx(columns, abs=1e-12)


def test_a_model_without_a_margin_is_refused() -> None:
    survey = Survey(schema(*SIZES), 2, log(3), "Subspace", people=1_000)
    tally = simulate(survey, people(SIZES, 4), seed="few").tallies[0]
    with pytest.raises(TableError, match="nobody was asked about 'a"):
        tally.release("model")


def test_a_model_that_is_rejected_gives_way_to_joint_tables(monkeypatch) -> None:
    fit = fitting.fit_mixed

    def reject(*arguments: object):
        result = fit(*arguments)
        return replace(result, fit=replace(result.fit, p_value=0.0))

    monkeypatch.setattr(fitting, "fit_mixed", reject)
    made = release(2, "model")
    assert made.applied == "joint"
    assert made.fit.rejected
    assert made.marginal("a0", "a1").kind == "joint"
    with pytest.raises(TableError, match="the model that would answer it was rejected"):
        made.marginal("a0", "a1", "a2")


def test_the_fit_says_what_it_is_and_how_it_did(monkeypatch) -> None:
    made = release(2, "model", 200_000)
    assert "classes of people" in made.fit.structure
    assert made.fit.model < made.fit.none
    assert "joint tables by" in str(made.fit)
    monkeypatch.setattr(model_method, "_MOST_JUDGED", 0)
    without = release(2, "model", 200_000)
    assert "was not compared with joint tables" in str(without.fit)
    assert "not rejected" not in str(without.fit)
    assert without.fit.joint is None
    assert not without.fit.rejected


def test_independent_people_get_no_classes() -> None:
    random = np.random.default_rng(13)
    frame = pd.DataFrame(
        {f"a{i}": [f"v{v}" for v in random.integers(0, r, 50_000)] for i, r in enumerate(SIZES)}
    )
    survey = Survey(schema(*SIZES), 2, log(3), "Subspace", people=50_000)
    made = simulate(survey, frame, seed="alone", consistency="model")
    raw = simulate(survey, frame, seed="alone")
    assert made.fit.structure.startswith("independent attributes")
    departures = {"read": 0.0, "raw": 0.0}
    for pair in combinations(survey.schema.names, 2):
        for name, each in (("read", made), ("raw", raw)):
            table = each.marginal(*pair).values
            alone = np.outer(table.sum(axis=1), table.sum(axis=0))
            departures[name] += np.abs(table - alone).sum() / 2
    assert departures["read"] < 0.25 * departures["raw"]


# The best there is


def test_auto_takes_the_best_that_there_is() -> None:
    assert release(2, "auto").applied == "model"
    none = release(2, "none")
    assert none.applied == "none"
    frame = people(SIZES, 5_000, seed=1)
    strata = {"one": none, "other": simulate(none.survey, frame, seed="other")}
    assert Release.combine(strata, {"one": 0.5, "other": 0.5}, "auto").applied == "joint"
    binary = Schema.binary(*"abc")
    frame = pd.DataFrame(np.random.default_rng(14).random((2_000, 3)) < 0.4, columns=list("abc"))
    assert simulate(Survey(binary, 2, 1.1), frame, seed="b", consistency="auto").applied == "model"
    tables = Survey(binary, 2, 1.1, "MargPS")
    unpooled = simulate(tables, frame, seed="u", consistency="auto", estimator="unpooled")
    assert unpooled.applied == "none"
    em = simulate(
        Survey(binary, 2, 1.1, "InpEM"), frame, seed="e", consistency="auto", estimator="em"
    )
    assert em.applied == "none"


def test_what_was_unbiased_is_so_whatever_is_read() -> None:
    unbiased, processed = release(2, "none"), release(2, "auto")
    pair = all_tables(4, 2)[:1]
    assert np.array_equal(
        unbiased.evidence.tables(pair).values, processed.evidence.tables(pair).values
    )
    one, other = (each.associations()["p_value"] for each in (unbiased, processed))
    assert np.array_equal(one, other)
    assert decoder_of(processed.survey).is_unbiased(processed.estimator)
