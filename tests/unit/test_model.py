"""Models: against closed forms, brute force, and what a half of the tally says."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import ReportBatch, Schema, Survey, simulate
from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of
from deniable.errors import TableError
from deniable.release import fit as fitting
from deniable.release.descent import STEPS, JunctionTree, descend
from deniable.release.fit import coefficients
from deniable.release.graph import Clique, CliqueTree, grow, pair_information
from deniable.release.halves import _share, halves
from deniable.release.judging import Fit
from deniable.release.model import Path, Whole, independent, relative_precision, transform
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Shared, all_tables, hadamard


def exact(share: np.ndarray, order: int, variance: float = 1e-8) -> Measurements:
    """Return what endless reports would tell about a distribution over all records."""
    attributes = len(share).bit_length() - 1
    numbering = Shared(attributes, order)
    theta = coefficients(Whole(hadamard(share[None])[0]), numbering, np.arange(numbering.size))
    full = np.full(numbering.size, variance)
    return Measurements(numbering, theta, full, np.ones(numbering.size))


def chain(attributes: int, seed: int = 0) -> np.ndarray:
    """Return a Markov chain's distribution: each attribute depends on the one before."""
    random = np.random.default_rng(seed)
    cells = np.arange(1 << attributes)
    share = np.where(cells & 1, *random.dirichlet([3, 3]))
    for i in range(1, attributes):
        chance = random.uniform(0.1, 0.9, 2)[cells >> (i - 1) & 1]
        share = share * np.where(cells >> i & 1, chance, 1 - chance)
    return share


def walk(measured: Measurements, stops: int) -> Path:
    path = Path(measured)
    for _ in range(stops):
        path.advance()
    return path


def test_the_transform_is_the_hadamard_transform():
    for attributes in (1, 3, 4, 6, 9):
        values = np.random.default_rng(1).random(1 << attributes)
        assert transform(values) == pytest.approx(hadamard(values[None])[0])


def test_a_path_starts_where_attributes_are_independent():
    measured = exact(chain(5), 2)
    singles = measured.theta[:5]
    model = walk(measured, 0).distribution.tables(np.array([[0, 1, 2, 3, 4]]))[0]
    cells = np.arange(32)
    expected = np.prod(
        [(1 + (1 - 2 * (cells >> (4 - i) & 1)) * singles[i]) / 2 for i in range(5)], axis=0
    )
    assert model == pytest.approx(expected, abs=1e-4)


def test_a_tree_is_the_distribution_of_maximal_entropy_given_its_pairs():
    """A Markov chain has no more structure than its pairs, so the model finds all of it."""
    share = chain(5)
    model = walk(exact(share, 2), 50).distribution
    found = model.tables(np.array([[0, 1, 2, 3, 4]]))[0].reshape((2,) * 5)
    assert found.T.ravel() == pytest.approx(share, abs=1e-4)  # in whose cells bit i is attribute i


def test_the_model_matches_what_was_measured_and_nothing_is_flatter():
    share = np.random.default_rng(3).dirichlet(np.ones(16))
    path = walk(exact(share, 2), 60)
    assert path.theta == pytest.approx(exact(share, 2).theta, abs=1e-5)
    found = transform(path.spectrum) / 16
    entropy = stats.entropy(found)
    masks = [m for m in range(16) if m.bit_count() > 2]
    for mask in masks:  # whatever the model may still choose, it has chosen the flattest
        direction = np.zeros(16)
        direction[mask] = 1e-3
        for sign in (1, -1):
            other = found + sign * transform(direction) / 16
            assert stats.entropy(other.clip(0, None)) < entropy


def test_what_nobody_asked_is_filled_in_as_flat_as_possible():
    measured = exact(chain(3), 2)
    people = measured.people.copy()
    people[-1] = 0  # attributes 1 and 2
    holed = Measurements(measured.numbering, measured.theta, measured.variance, people)
    pairs = walk(holed, 40).distribution.tables(np.array([[0, 1, 2]]))[0].reshape(2, 2, 2)
    for a in (0, 1):  # given 0, they are independent
        table = pairs[a] / pairs[a].sum()
        assert table == pytest.approx(np.outer(table.sum(axis=1), table.sum(axis=0)), abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_a_longer_path_never_fits_worse(seed):
    """Not even towards a noisy goal that no distribution has, until nothing moves any more."""
    random = np.random.default_rng(seed)
    measured = exact(random.dirichlet(np.full(64, 0.2)), 2 + seed % 2, variance=0.01)
    goal = measured.theta + 0.1 * random.standard_normal(len(measured.theta))
    path = Path(Measurements(measured.numbering, goal, measured.variance, measured.people))
    misses = []
    for _ in range(60):
        misses.append(float(((path.theta - goal.clip(-1, 1)) ** 2 * path.weight).sum()))
        path.advance()
    assert np.all(np.diff(misses) < 1e-4 * misses[0])
    assert misses[-1] < misses[0]


def test_a_step_that_goes_astray_is_taken_back_and_ends_the_path(monkeypatch):
    """Where no distribution fits, λ grows until numbers break; taxi data at order 3 showed it."""
    path = walk(exact(chain(4), 2), 10)
    before, time = path.theta, path.time

    def astray(self, length):
        self._lambda = -40 * self._lambda
        self._settle(self._lambda)

    with monkeypatch.context() as planted:
        planted.setattr(Path, "_step", astray)
        path.advance()
    assert np.array_equal(path.theta, before)
    path.advance()
    assert np.array_equal(path.theta, before)
    assert path.time == time


# Halves


@pytest.mark.parametrize("mechanism", ["InpHT", "MargPS", "MargRR", "InpRR", "InpEM"])
def test_halves_add_up_and_are_tallies_of_their_own(mechanism, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(5).random((5000, 4)) < 0.3, columns=list("abcd"))
    survey = Survey(Schema.from_frame(frame), 2, 1.1, mechanism)
    tally = survey.tally(survey.randomize(frame, seed="h"), simulation=True)
    first, second = halves(tally)
    assert first + second == tally
    assert first.people + second.people == 5000
    assert abs(first.people - 2500) < 6 * np.sqrt(5000) / 2
    for part in (first, second):
        part.save(tmp_path / "half.tally")
        assert TallyCounts.load(tmp_path / "half.tally") == part, "it passes all checks of a tally"
    again = halves(tally)
    assert again[0] == first


@pytest.mark.slow
def test_halves_are_independent_of_each_other():
    """Their estimates' covariance is none; a half that reused the other's reports would show it."""
    rows = []
    for turn in range(300):
        frame = pd.DataFrame(np.random.default_rng(turn).random((400, 2)) < 0.5, columns=["a", "b"])
        survey = Survey(Schema.from_frame(frame), 2, 1.1, "MargRR")
        tally = survey.tally(survey.randomize(frame, seed=f"{turn}"), simulation=True)
        parts = halves(tally)
        found = [
            decoder_of(survey).decode(p.slot, p.value, p.count).coefficients(np.array([[0, 1]]))[0]
            for p in parts
        ]
        rows.append([found[0][0, 2], found[1][0, 2]])
    one, other = np.array(rows).T
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2
    assert np.corrcoef(one, (one + other) / 2)[0, 1] > 0.5, "the check sees a dependence"


def test_very_large_tallies_are_halved_too():
    random = np.random.default_rng(1)
    bits, reports = np.full(2000, 3 * 10**10), np.full(2000, 10**11)
    first = np.full(2000, 5 * 10**10)
    taken = _share(random, bits, reports, first)
    assert taken.mean() == pytest.approx(1.5e10, rel=1e-6)
    assert taken.std() == pytest.approx(np.sqrt(5e10 * 0.3 * 0.7 * 0.5), rel=0.1)
    small = _share(random, np.full(2000, 300), np.full(2000, 1000), np.full(2000, 500))
    assert small.std() == pytest.approx(np.sqrt(500 * 0.3 * 0.7 * 500 / 999), rel=0.1)


# The verdict


PEOPLE = pd.DataFrame(np.random.default_rng(6).random((40_000, 5)) < 0.4, columns=list("abcde"))
PEOPLE["e"] = PEOPLE["a"] ^ (np.random.default_rng(7).random(40_000) < 0.05)


def test_a_model_that_fits_worse_is_rejected_and_joint_tables_are_released(monkeypatch):
    survey = Survey(Schema.from_frame(PEOPLE), 2, 2.0, "MargPS")
    good = simulate(survey, PEOPLE, "fits", consistency="model")
    assert good.applied == "model"
    assert good.fit is not None
    assert not good.fit.rejected
    assert good.fit.model < good.fit.joint <= good.fit.none
    monkeypatch.setattr(Path, "advance", lambda self: None)  # a model that stays independent
    bad = simulate(survey, PEOPLE, "fits", consistency="model")
    assert bad.consistency == "model"
    assert bad.applied == "joint"
    assert bad.fit is not None
    assert bad.fit.rejected
    assert bad.fit.model > bad.fit.joint
    assert "is rejected" in str(bad.fit)
    assert "joint applied" in repr(bad)
    table = bad.marginal("a", "e")
    assert table.kind == "joint"
    joint = simulate(survey, PEOPLE, "fits", consistency="joint").marginal("a", "e")
    assert np.array_equal(table.values, joint.values)
    with pytest.raises(TableError, match="the model that would answer it was rejected"):
        bad.marginal("a", "b", "c")


def test_there_may_be_too_few_reports_to_judge_by():
    survey = Survey(Schema.binary("a", "b"), 2, 1.0, "InpHT")
    release = survey.tally(ReportBatch(survey.id, np.array([0]), np.array([1]))).release("model")
    assert release.fit is not None
    assert "too few reports" in str(release.fit)
    assert release.fit.p_value == 1


@pytest.mark.slow
def test_misses_are_two_for_unbiased_estimates():
    """Both halves have noise of their own; the mean of 20 runs of 15 coefficients scatters by 8 %."""
    survey = Survey(Schema.from_frame(PEOPLE), 2, 0.5, "InpHT")
    found = [simulate(survey, PEOPLE, f"{i}", consistency="model").fit for i in range(20)]
    none, model = (np.mean([getattr(told, kind) for told in found]) for kind in ("none", "model"))
    assert none == pytest.approx(2, rel=0.3)
    assert 0.8 < model < none
    assert all(isinstance(told, Fit) and told.coefficients == 15 for told in found)


# Graphs


def test_trees_of_cliques_follow_the_pair_information():
    weight = np.zeros((6, 6))
    for a, b, s in ((0, 1, 3), (1, 2, 2), (0, 2, 1), (3, 4, 1)):
        weight[a, b] = weight[b, a] = s
    cliques = grow(weight, width=2)
    assert sorted(tuple(sorted(c.attributes)) for c in cliques if len(c.attributes) > 1) == [
        (0, 1), (0, 1, 2), (3, 4),
    ]  # fmt: skip
    assert all(len(c.attributes) <= 2 for c in grow(weight, width=1))
    assert {c.attributes[-1] for c in cliques} == set(range(6))
    for index, clique in enumerate(cliques):
        assert set(clique.shared) <= set(cliques[clique.parent].attributes)
        assert clique.parent <= index


def test_only_significant_pairs_count():
    measured = exact(chain(6, 2), 2, variance=1e-4)
    random = np.random.default_rng(8)
    noise = measured.theta + np.sqrt(1e-4) * random.standard_normal(measured.numbering.size)
    weight = pair_information(
        Measurements(measured.numbering, noise, measured.variance, measured.people)
    )
    neighbours = [weight[i, i + 1] for i in range(5)]
    far = [weight[i, j] for i, j in combinations(range(6), 2) if j - i > 3]
    assert min(neighbours) > max(far)
    nothing = Measurements(
        measured.numbering, 0.01 * random.standard_normal(len(noise)), measured.variance, measured.people
    )  # fmt: skip
    assert (pair_information(nothing) > 0).sum() <= 4
    assert not pair_information(exact(chain(3), 1)).any()


def test_a_tree_answers_any_table_as_the_whole_distribution_does():
    share = chain(6)
    whole = Whole(hadamard(share[None])[0])
    cliques = [Clique((0,), 0), *(Clique((i, i + 1), i) for i in range(5))]
    marginals = [
        whole.tables(np.array([c.attributes]))[0].reshape((2,) * len(c.attributes)) for c in cliques
    ]
    tree = CliqueTree(cliques, marginals)
    for size in (1, 2, 3, 6):
        tables = all_tables(6, size)
        assert tree.tables(tables) == pytest.approx(whole.tables(tables), abs=1e-12)


def test_mirror_descent_on_a_graph_finds_a_chain():
    share = chain(6, 2)
    measured = exact(share, 2, variance=1e-6)
    cliques = grow(pair_information(measured))
    tables = np.array([range(6)])
    truth = Whole(hadamard(share[None])[0]).tables(tables)
    missed = []
    for stop in descend(cliques, (measured,), 30):
        own = CliqueTree.of_cells(cliques, stop[:, 0]).tables(tables)
        missed.append(np.abs(own - truth).sum() / 2)
    assert missed[-1] < 0.01 < missed[0]


HANGING = [
    *(
        Clique((0,), 0),
        Clique((0, 1), 0),
        Clique((0, 2), 0),
        Clique((1, 3), 1),
        Clique((2, 0, 4), 2),
    ),
    *(
        Clique((1, 5), 1),
        Clique((0, 4, 2, 6), 4),
        Clique((7,), 0),
        Clique((3, 8), 3),
        Clique((5, 9), 5),
    ),
    *(Clique((4, 10), 4), Clique((3, 1, 11), 3)),
]
"""Cliques of one to four attributes, in and out of order, one of them apart from the others."""


def test_messages_over_a_tree_sum_what_the_whole_distribution_does():
    tree, random = JunctionTree(HANGING), np.random.default_rng(4)
    weights = random.gamma(0.3, size=(len(HANGING), 2, 1 << tree.width)) + 1e-6
    weights *= tree.exists[:, None]
    records = np.arange(1 << 12)[:, None] >> np.arange(12) & 1
    share = np.ones((2, 1 << 12))
    cells = [records[:, c.attributes] @ (1 << np.arange(len(c.attributes))[::-1]) for c in HANGING]
    for clique, cell in enumerate(cells):
        share *= weights[tree.row[clique]][:, cell]
    share /= share.sum(axis=1, keepdims=True)
    tables = tree.marginals(weights.copy())[tree.row]
    for clique, cell in enumerate(cells):
        for part in range(2):
            whole = np.bincount(cell, share[part], minlength=1 << tree.width)
            np.testing.assert_allclose(tables[clique, part], whole, atol=1e-12)


def by_mbi(largest: list[tuple[int, ...]], measured: Measurements, steps: int) -> list[np.ndarray]:
    """Return the tables of cliques of three, as mbi fits them by mirror descent from independence."""
    import jax

    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings(
        action="ignore"
    ):  # of settings that another library may like better
        import mbi

    numbering, signs = measured.numbering, hadamard(np.eye(8))
    goals, weight, begin = ({c: np.zeros(8) for c in largest} for _ in range(3))
    earlier: set[tuple[int, ...]] = set()
    for clique, mask in [(c, m) for c in largest for m in range(1, 8)]:
        members = tuple(a for i, a in enumerate(clique) if mask >> (2 - i) & 1)
        if len(members) > 2 or members in earlier:
            continue
        earlier.add(members)
        (number,) = numbering.of_question(np.array([members]), (1 << len(members)) - 1)
        goals[clique][mask] = measured.theta[number].clip(-1, 1)
        weight[clique][mask] = relative_precision(measured)[number]
        if len(members) == 1:
            begin[clique][mask] = independent(measured)[members[0]]

    def loss(tables, data):
        errors = {c: signs @ tables[c].datavector() - data[0][c] for c in largest}
        return sum((data[1][c] * error**2).sum() / 2 for c, error in errors.items())

    try:
        domain = mbi.Domain(range(numbering.attributes), [2] * numbering.attributes)
        steepness = 100 * max(1.0, sum(each.sum() for each in weight.values()))
        start = {
            c: mbi.Factor(domain.project(c), (signs @ begin[c]).reshape(2, 2, 2)) for c in largest
        }
        model = mbi.estimation.MirrorDescent().estimate(
            domain,
            mbi.MarginalLossFn(largest, loss, (goals, weight), steepness),
            known_total=1.0,
            iters=steps,
            warm_start=mbi.CliqueVector(domain, largest, start),
        )
        return [np.asarray(model.marginals[c].values).ravel() for c in largest]
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.mark.slow
def test_mirror_descent_goes_where_that_of_another_library_goes():
    """Ours and mbi's have one start, loss and steps; sets of measurements go together, not mixed."""
    random, several = np.random.default_rng(6), []
    for variance in (1e-3, 4e-3):
        truth = exact(chain(6, 2), 2, variance)
        noise = np.sqrt(variance) * random.standard_normal(truth.numbering.size)
        parts = random.uniform(0.5, 2, truth.numbering.size)
        several.append(
            Measurements(truth.numbering, truth.theta + noise, variance / parts, truth.people)
        )
    triples = [(i, i + 1, i + 2) for i in range(4)]
    cliques = [
        Clique((0,), 0),
        Clique((0, 1), 0),
        *(Clique(c, i + 1) for i, c in enumerate(triples)),
    ]
    stops = descend(cliques, several, 3)
    for part, measured in enumerate(several):
        ours = stops[-1][2:, part]
        np.testing.assert_allclose(ours, by_mbi(triples, measured, 3 * STEPS), atol=1e-9)
        assert np.abs(ours - stops[0][2:, part]).max() > 0.01
        alone = descend(cliques, (measured,), 3)[-1][:, 0]
        np.testing.assert_allclose(stops[-1][:, part], alone, atol=1e-12)


def latent(people: int, attributes: int) -> pd.DataFrame:
    """Return people with a few hidden traits, of which each shows in some attributes."""
    random = np.random.default_rng(9)
    traits = random.standard_normal((people, 6))
    load = random.standard_normal((6, attributes)) * (random.random((6, attributes)) < 0.2)
    held = traits @ load + random.standard_normal((people, attributes)) > random.random(attributes)
    return pd.DataFrame(held, columns=[f"a{i}" for i in range(attributes)])


@pytest.mark.slow
@pytest.mark.parametrize(("attributes", "epsilon"), [(32, 4.0)])
def test_many_attributes_are_modelled_by_a_graph(attributes, epsilon):
    frame = latent(1 << 17, attributes)
    survey = Survey(Schema.from_frame(frame), 2, epsilon, "MargPS")
    tally = survey.tally(survey.randomize(frame, seed="graph"), simulation=True)
    model, raw = tally.release("model"), tally.release()
    assert model.applied == "model"
    assert "treewidth 3" in str(model.fit)
    bits = 1 - 2 * frame.to_numpy(np.float32)
    pairs = all_tables(attributes, 2)
    theta = (bits.T @ bits / len(bits))[pairs[:, 0], pairs[:, 1]]
    errors = [
        np.abs(hadamard(r.estimate(pairs).values)[:, -1] - theta).mean() for r in (model, raw)
    ]
    assert errors[0] < 0.9 * errors[1]
    larger = model.marginal("a1", "a5", "a9", "a2")
    assert larger.values.min() >= 0
    assert larger.values.sum() == pytest.approx(1)
    assert larger.interval_kind == "none"
    pair = model.marginal("a5", "a1")
    assert pair.interval_kind == "unprocessed"
    assert larger.values.sum(axis=(2, 3)) == pytest.approx(pair.values.T, abs=1e-9)


@pytest.mark.slow
def test_of_very_many_coefficients_a_part_is_judged(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_WHOLE", 3)
    monkeypatch.setattr(fitting, "_MOST_JUDGED", 10)
    monkeypatch.setattr(fitting, "_MOST_COMPARED", 5)
    survey = Survey(Schema.from_frame(PEOPLE), 2, 2.0, "MargPS")
    release = simulate(survey, PEOPLE, "part", consistency="model")
    assert release.fit is not None
    assert release.fit.coefficients == 10
