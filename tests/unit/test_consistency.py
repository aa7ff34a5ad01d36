"""Joint tables: the nearest ones without a negative cell, against a general solver."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from deniable import ReportBatch, Schema, Survey, simulate
from deniable.errors import TableError
from deniable.mechanisms.registry import MECHANISMS
from deniable.release import projection as consistency
from deniable.release.processed import JointTables
from deniable.release.projection import joint
from deniable.survey.coefficients import Shared, all_tables, hadamard

NAMES = ("a", "b", "c", "d")
HELD = pd.DataFrame(
    np.random.default_rng(7).random((3_000, 4)) < (0.02, 0.1, 0.6, 0.97), columns=NAMES
)


def cells(theta: np.ndarray, numbering: Shared, size: int | None = None) -> np.ndarray:
    tables = all_tables(numbering.attributes, size or numbering.order)
    found = theta[numbering.of_tables(tables)]
    return hadamard(np.column_stack((np.ones(len(found)), found))) / (1 << tables.shape[1])


def noisy(numbering: Shared, seed: int, noise: float = 0.3) -> np.ndarray:
    """Return coefficients of a real distribution, with noise that makes cells negative."""
    random = np.random.default_rng(seed)
    share = random.dirichlet(np.full(1 << numbering.attributes, 0.1))
    spectrum = hadamard(share[None])[0]
    masks = [
        sum(1 << a for a in members)
        for size in range(1, numbering.order + 1)
        for members in all_tables(numbering.attributes, size).tolist()
    ]
    return spectrum[masks] + noise * random.standard_normal(numbering.size)


def nearest(theta: np.ndarray, numbering: Shared, order: int) -> np.ndarray:
    """Return the nearest coefficients that tables of ``order`` can have, by a general solver."""
    wider, size = Shared(numbering.attributes, order), numbering.size
    own = wider.of_tables(all_tables(numbering.attributes, order))
    rows = np.zeros((len(own) << order, wider.size))
    signs = hadamard(np.eye(1 << order))[1:].T
    for table, numbers in enumerate(own):
        rows[np.ix_(range(table << order, table + 1 << order), numbers)] = signs
    held = numbering.of_tables(all_tables(numbering.attributes, numbering.order))
    weight = np.bincount(held.ravel(), minlength=size)
    goal = theta.clip(-1, 1)
    done = optimize.minimize(
        lambda x: float((weight * (x[:size] - goal) ** 2).sum()),
        np.zeros(wider.size),
        jac=lambda x: np.append(2 * weight * (x[:size] - goal), np.zeros(wider.size - size)),
        constraints={"type": "ineq", "fun": lambda x: 1 + rows @ x, "jac": lambda x: rows},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert done.success
    return done.x[:size]


@pytest.mark.parametrize(("attributes", "order"), [(3, 3), (4, 2), (5, 2), (4, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_joint_tables_are_the_nearest_ones(attributes, order, seed, monkeypatch):
    numbering = Shared(attributes, order)
    theta = noisy(numbering, seed)
    assert cells(theta, numbering).min() < -0.01, "otherwise there is nothing to do"
    lifted = joint(theta, numbering)
    monkeypatch.setattr(consistency, "_MOST_LIFTED", 0)
    plain = joint(theta, numbering)
    assert plain == pytest.approx(nearest(theta, numbering, order), abs=2e-4)
    wider = min(order + 1, attributes)
    assert lifted == pytest.approx(nearest(theta, numbering, wider), abs=5e-4)


def test_pairs_that_exclude_each_other_need_the_wider_tables():
    """Half of the people hold each of three attributes, and no two are held together."""
    numbering = Shared(3, 2)
    theta = np.array([1e-4, 0, 0, -1, -1, -1])  # 1e-4, so that a cell is negative at all
    found = joint(theta, numbering)
    assert found[3:] == pytest.approx(np.full(3, -1 / 3), abs=2e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_tables_that_could_be_are_left_alone(order):
    numbering = Shared(5, order)
    theta = noisy(numbering, 3, noise=0)
    assert np.array_equal(joint(theta, numbering), theta)


@pytest.mark.slow
def test_a_projection_comes_nearer_to_every_possible_truth():
    numbering = Shared(6, 2)
    held = numbering.of_tables(all_tables(6, 2))
    weight = np.bincount(held.ravel(), minlength=numbering.size)
    for seed in range(20):
        truth, theta = noisy(numbering, seed, 0), noisy(numbering, seed)
        before, after = (weight * (theta - truth) ** 2).sum(), joint(theta, numbering) - truth
        assert (weight * after**2).sum() < before


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
def test_joint_tables_have_no_cell_below_zero_by_rounding(order):
    numbering = Shared(4, order)
    lowest = []
    for seed in range(40):
        agreed = JointTables(numbering, joint(noisy(numbering, seed, 0.6), numbering))
        lowest += [agreed.tables(all_tables(4, size)).min() for size in range(1, order + 1)]
    assert min(lowest) == 0  # exactly: some cells are pushed up to it


def test_too_many_tables_are_refused():
    with pytest.raises(TableError, match="too many to be made consistent; lower the order"):
        joint(np.zeros(1), Shared(60, 6))


# Releases


@pytest.mark.parametrize("kind", ["joint", "model"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_can_be_made_consistent(mechanism, kind):
    survey = Survey(Schema.binary(*NAMES), 3, 1.1, mechanism)
    release = simulate(survey, HELD, "consistent", consistency=kind)
    assert release.consistency == kind
    assert release.applied in (kind, "joint")
    assert (release.fit is None) == (kind == "joint")
    for names in combinations(NAMES, 3):
        whole = release.marginal(*names)
        assert whole.values.sum() == pytest.approx(1, abs=1e-9)
        assert whole.values.min() >= 0
        for axis in range(3):
            part = release.marginal(*(n for i, n in enumerate(names) if i != axis))
            assert part.values == pytest.approx(whole.values.sum(axis=axis), abs=1e-9)
    if release.applied == "model":
        everything = release.marginal(*NAMES)
        assert everything.kind == "modelled"
        assert everything.values.sum(axis=3) == pytest.approx(release.marginal(*NAMES[:3]).values)


@pytest.mark.slow
def test_a_release_says_what_was_done():
    survey = Survey(Schema.binary(*NAMES), 2, 1.1, "MargPS")
    tally = survey.tally(survey.randomize(HELD, seed="said"), simulation=True)
    none, joint_one, model = (tally.release(kind) for kind in ("none", "joint", "model"))
    assert [r.applied for r in (none, joint_one, model)] == ["none", "joint", "model"]
    assert [r.marginal("a").kind for r in (none, joint_one, model)] == [
        "unbiased", "joint", "modelled",
    ]  # fmt: skip
    assert none.fit is None
    assert "whole joint distribution" in str(model.fit)
    assert "is not rejected" in str(model.fit)
    assert "consistency model, SIMULATED" in repr(model)
    assert none.marginal("a", "b").interval_kind == "normal"
    for release in (joint_one, model):
        table = release.marginal("b", "a")
        assert table.interval_kind == "bootstrap"
        said = {"kind": table.kind, "interval_kind": "bootstrap", "level": 0.95}
        assert table.to_frame().attrs == said | {"known": True, "plausible": True}
        low, high = table.interval()
        assert np.all((low >= 0) & (low <= table.values) & (table.values <= high) & (high <= 1))
        with pytest.raises(TableError, match="Only unbiased tables"):
            table.interval(of="people")
        assert np.all(table.standard_error < 2 * none.marginal("b", "a").standard_error)
        assert f"{table.kind}, 95% intervals (bootstrap)" in str(table.plot().to_dict()["title"])
    with pytest.raises(TableError, match=r"Marginal \('a', 'b', 'c'\) needs order 3"):
        joint_one.marginal("a", "b", "c")
    assert len(model.marginals(4)) == 1
    with pytest.raises(TableError, match="at most 4 attributes here, got 5"):
        model.marginals(5)


@pytest.mark.slow
def test_a_release_is_the_same_whenever_it_is_made(monkeypatch):
    monkeypatch.setattr("deniable.release.bootstrap.DRAWS", 16)
    survey = Survey(Schema.binary(*NAMES), 2, 1.1, "MargRR")
    tally = survey.tally(survey.randomize(HELD, seed="again"), simulation=True)
    for kind in ("joint", "model"):
        one, other = (tally.release(kind).marginal("a", "b") for _ in range(2))
        np.random.default_rng().random()
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.covariance, other.covariance)


def test_estimators_without_a_covariance_of_their_own_are_refused():
    for mechanism, estimator, better in (
        ("MargPS", "unpooled", "pooled"),
        ("InpEM", "em", "inverse"),
    ):
        survey = Survey(Schema.binary(*NAMES), 2, 1.1, mechanism)
        with pytest.raises(TableError, match=f"use the estimator '{better}', not '{estimator}'"):
            simulate(survey, HELD, "refused", consistency="joint", estimator=estimator)
        assert simulate(survey, HELD, "taken", consistency="joint").estimator == better


def test_where_a_bootstrap_takes_too_long_the_intervals_are_of_the_unprocessed(monkeypatch):
    monkeypatch.setattr("deniable.release.bootstrap._BUDGET", 1)
    survey = Survey(Schema.binary(*NAMES), 2, 1.1, "MargPS")
    tally = survey.tally(survey.randomize(HELD, seed="long"), simulation=True)
    for kind in ("joint", "model"):
        table, raw = tally.release(kind).marginal("d", "a"), tally.release().marginal("d", "a")
        assert table.interval_kind == "unprocessed"
        assert np.array_equal(table.covariance, raw.covariance)
        low, high = table.interval()
        reach = np.diff(raw.interval(), axis=0)[0] / 2
        centre = raw.values.clip(0, 1)  # an interval of -0.03 ± 0.01 would end where it begins
        assert low == pytest.approx(np.minimum(centre - reach, table.values).clip(0, 1))
        assert high == pytest.approx(np.maximum(centre + reach, table.values).clip(0, 1))
        assert "of the unprocessed estimate" in str(table.plot().to_dict()["title"])
    larger = tally.release("model").marginal("a", "b", "c")
    assert larger.interval_kind == "none"
    assert np.array_equal(larger.interval(), np.stack((np.zeros((2, 2, 2)), np.ones((2, 2, 2)))))


# Tallies that nobody hopes for


def degenerate() -> list[tuple[str, Survey, ReportBatch]]:
    made = []
    for name in ("InpHT", "Subspace", "MargPS", "MargRR"):
        survey = Survey(Schema.binary(*NAMES), 2, 1.0, name)
        slots = np.arange(survey.slots)
        few = slots[[survey.question(s).attributes != ("a", "b") for s in slots.tolist()]]
        made += [
            (f"{name} one report", survey, ReportBatch(survey.id, slots[:1], np.ones(1, int))),
            (
                f"{name} one slot",
                survey,
                ReportBatch(survey.id, np.zeros(99, int), np.ones(99, int)),
            ),
            (f"{name} all equal", survey, ReportBatch(survey.id, slots, np.ones(len(slots), int))),
            (f"{name} a hole", survey, ReportBatch(survey.id, few, np.zeros(len(few), int))),
        ]
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("survey", "batch"), [pytest.param(s, b, id=n) for n, s, b in degenerate()]
)
@pytest.mark.parametrize("kind", ["joint", "model"])
def test_degenerate_tallies_give_finite_flagged_tables(survey, batch, kind, monkeypatch):
    monkeypatch.setattr("deniable.release.bootstrap.DRAWS", 16)
    tally = survey.tally(batch)
    release, raw = tally.release(kind), tally.release()
    sizes = (1, 2, 3, 4) if release.applied == "model" else (1, 2)
    for size in sizes:
        for table in release.marginals(size):
            assert np.isfinite(table.values).all()
            assert table.values.min() >= 0
            assert table.values.sum() == pytest.approx(1, abs=1e-6)
            low, high = table.interval()
            assert np.all((low <= table.values + 1e-12) & (table.values <= high + 1e-12))
            pairs = list(combinations(table.names, 2)) or [table.names]
            assert table.known == all(raw.marginal(*pair).known for pair in pairs)
            if not table.known:
                assert np.isinf(table.standard_error).all()
