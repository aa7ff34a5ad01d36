"""Rivals in the lab: CALM's parts against brute force, the product of margins, and planted bugs."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, exp, log, prod

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from deniable import Schema
from deniable.errors import SurveyError, TableError
from deniable.lab.rivals.calm import Agreement, Calm, CalmTables
from deniable.lab.rivals.frequencies import Hadamard, LocalHashing, OptimisedUnary
from deniable.lab.rivals.hadamard import HadamardResponse
from deniable.lab.rivals.oracle import Oracle
from deniable.lab.rivals.product import ProductOfMargins
from deniable.lab.rivals.views import ENOUGH, choose, cover, noise_of
from deniable.lab.simulate import Crowd, comparable_tables, mean_distance, trials, true_tables
from deniable.questions.entropy import Key
from deniable.survey.coefficients import all_tables

EPSILONS = (0.1, 1.1, 3.0)


# The frequency oracle


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [2, 4, 16, 300])
def test_reports_keep_to_epsilon_and_the_better_oracle_is_taken(cells, epsilon):
    grr, oue = Oracle.grr(cells, epsilon), Oracle.oue(cells, epsilon)
    for each in (grr, oue):
        assert each.ratio == pytest.approx(exp(epsilon), rel=1e-12)
    assert grr.own + (cells - 1) * grr.other == pytest.approx(1)
    e = exp(epsilon)
    assert grr.noise == pytest.approx((cells - 2 + e) / (e - 1) ** 2)
    assert oue.noise == pytest.approx(4 * e / (e - 1) ** 2)
    assert Oracle.adaptive(cells, epsilon).is_unary == (cells > 3 * e + 2)


@pytest.mark.parametrize("oracle", [Oracle.grr(5, 1.0), Oracle.oue(5, 1.0), Oracle.olh(5, 1.0)])
def test_a_view_is_estimated_without_bias_and_with_the_noise_that_is_said(oracle):
    holders, random = np.array([600, 300, 100, 0, 0]), np.random.default_rng(3)
    draws = np.array([oracle.draw(holders, random) for _ in range(4000)])
    estimates = oracle.estimate(draws, 1000)
    wide = estimates.std(axis=0) / np.sqrt(len(draws))
    off = np.abs(estimates.mean(axis=0) - holders / 1000)
    assert (off <= 4.5 * wide).all()
    assert estimates[:, 3:].var(axis=0) * 1000 == pytest.approx(oracle.noise, rel=0.1)
    # The planted bug: to divide by p alone, as if nobody who holds another cell reported this one.
    wrong = (draws / 1000 / oracle.own).mean(axis=0)
    assert (np.abs(wrong - holders / 1000) > 4.5 * wide).any()


def test_nobody_knows_nothing():
    oracle = Oracle.adaptive(4, 1.0)
    assert oracle.estimate(np.zeros(4, np.int64), 0).tolist() == [0.25] * 4


def test_supports_of_hashes_are_independent_bits():
    """All of 3 cells into 4 hashes, each function as likely: brute force against what is drawn from."""
    oracle = Oracle.olh(3, log(3))
    assert (oracle.hashes, oracle.ratio) == (4, pytest.approx(3))
    chances = np.zeros((2, 2, 2))
    for function in product(range(4), repeat=3):
        for report in range(4):
            chance = oracle.own if report == function[0] else (1 - oracle.own) / 3
            chances[tuple(int(h == report) for h in function)] += chance / 4**3
    bits = [np.array([1 - p, p]) for p in (oracle.own, oracle.other, oracle.other)]
    assert chances == pytest.approx(np.einsum("i,j,k->ijk", *bits))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 6.0])
@pytest.mark.parametrize("cells", [2, 3, 5, 8, 33])
def test_hadamard_response_keeps_to_epsilon_and_is_unbiased(cells, epsilon):
    response = HadamardResponse(cells, epsilon)
    laws = np.array([response.law(cell) for cell in range(cells)])
    assert laws.sum(axis=1) == pytest.approx(1)
    assert (laws.max(axis=0) / laws.min(axis=0)).max() <= exp(epsilon) * (1 + 1e-12)
    means = [response.estimate(law * 1000, 1000) for law in laws]
    assert np.array(means) == pytest.approx(np.eye(cells), abs=1e-9)
    # The planted bug: every cell has the first row of its block, which is +1 everywhere.
    wrong = np.array([response.estimate(np.roll(law, 1) * 1000, 1000) for law in laws])
    assert np.abs(wrong - np.eye(cells)).max() > 0.01


def test_hadamard_response_draws_its_law():
    """χ² of 16 places, at 10⁻⁶."""
    response, holders = HadamardResponse(5, 1.0), np.array([600_000, 0, 300_000, 100_000, 0])
    counts = response.draw(holders, np.random.default_rng(4))
    law = sum(part * response.law(cell) for cell, part in enumerate(holders))
    assert chisquare(counts, law).pvalue > 1e-6
    assert chisquare(counts, np.roll(law, 1)).pvalue < 1e-6


@pytest.mark.parametrize("kind", [OptimisedUnary, LocalHashing, Hadamard])
def test_frequency_oracles_tell_their_own_tables(kind):
    schema = Schema.of(a=[0, 1], b=[0, 1, 2], c=[0, 1])
    random = np.random.default_rng(2)
    people = pd.DataFrame(
        {name: random.integers(0, n, 60_000) for name, n in {"a": 2, "b": 3, "c": 2}.items()}
    )
    rival, records = kind(schema, 2, 3.0), schema.encode_frame(people)
    answer = rival.run(Crowd(records), Key.of("x"))
    for table in all_tables(3, 2):
        truth = true_tables(schema, records, table[None, :])
        # A cell's standard error is below 0.006 with 20,000 people at ε = 3.
        assert answer.tables(table[None, :]) == pytest.approx(truth, abs=0.04)
    with pytest.raises(TableError, match="tables of 2 attributes"):
        answer.tables(np.array([[0]]))
    with pytest.raises(SurveyError, match="takes at most 20,000 tables"):
        kind(Schema.binary(*(f"a{i}" for i in range(300))), 3, 1.0)


# The views


@pytest.mark.parametrize(
    ("attributes", "covered", "size"), [(6, 2, 3), (7, 2, 4), (7, 3, 5), (5, 1, 2)]
)
def test_a_covering_design_covers_everything_with_few_views(attributes, covered, size):
    views = cover(attributes, covered, size)
    held = {inner for view in views for inner in combinations(view, covered)}
    assert held == set(combinations(range(attributes), covered))
    assert all(len(set(view)) == size for view in views)
    least = comb(attributes, covered) / comb(size, covered)
    assert least <= len(views) <= 2 * least + 1


def by_least_squares(sizes, views, covered, epsilon, people) -> float:
    """Return the mean noise of tables by linear algebra: the whole joint table from all views."""
    cells = list(product(*map(range, sizes)))
    rows, precisions = [], []
    for view in views:
        shape = [range(sizes[a]) for a in view]
        width = prod(map(len, shape))
        for values in product(*shape):
            rows.append([tuple(cell[a] for a in view) == values for cell in cells])
            precisions.append(people / len(views) / Oracle.adaptive(width, epsilon).noise)
    design, weights = np.array(rows, float), np.array(precisions)
    total = np.ones((1, len(cells)))  # shares add up to 1: a measurement without noise
    inverse = np.linalg.pinv(
        (design.T * weights) @ design + 1e9 * weights.max() * total.T @ total, rcond=1e-14
    )
    noise = []
    for table in combinations(range(len(sizes)), covered):
        shape = [range(sizes[a]) for a in table]
        sums = np.array(
            [[tuple(c[a] for a in table) == v for c in cells] for v in product(*shape)], float
        )
        noise.append(np.trace(sums @ inverse @ sums.T))
    return float(np.mean(noise))


@pytest.mark.parametrize(
    ("sizes", "covered", "size"),
    [((2, 2, 2, 2), 2, 2), ((2, 2, 2, 2, 2), 2, 3), ((2, 2, 2, 2), 3, 3), ((3, 3, 3, 3), 2, 3)],
)
def test_the_noise_of_views_is_that_of_least_squares(sizes, covered, size):
    views = cover(len(sizes), covered, size)
    formula = noise_of(sizes, views, covered, 1.0, 5000)
    assert formula == pytest.approx(by_least_squares(sizes, views, covered, 1.0, 5000), rel=1e-4)


@pytest.mark.parametrize("sizes", [(2,) * 6, (2, 3, 5, 2)])
@pytest.mark.parametrize("epsilon", [0.4, 2.0, 4.0])
def test_views_of_the_size_of_least_noise_are_chosen(sizes, epsilon):
    schema = Schema.of(**{f"a{i}": list(range(size)) for i, size in enumerate(sizes)})
    best = choose(schema, 2, epsilon, 10_000)
    noises = [
        noise_of(sizes, cover(len(sizes), 2, size), 2, epsilon, 10_000)
        for size in range(2, len(sizes) + 1)
    ]
    assert best.noise == min(noises)
    assert len(best.views[0]) == 2 + int(np.argmin(noises))


def test_too_much_noise_makes_pairs_enough():
    schema = Schema.binary(*"abcdefgh")
    many, few = choose(schema, 3, 1.1, 10**7), choose(schema, 3, 1.1, 10**4)
    assert (many.covered, few.covered) == (3, 2)
    assert many.noise <= ENOUGH < few.noise
    assert choose(schema, 1, 1.1, 100).covered == 1
    wide = Schema.binary(*(f"a{i}" for i in range(300)))
    with pytest.raises(SurveyError, match="CALM takes at most 20,000 sets of 2 attributes"):
        choose(wide, 2, 1.1, 1000)


# Agreement

SIZES = (2, 3, 2, 4)
VIEWS = ((0, 1, 2), (1, 2, 3), (0, 1, 3))


def noisy_views(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    joint = random.dirichlet(np.full(prod(SIZES), 0.3)).reshape(SIZES)
    exact = [joint.sum(axis=tuple(a for a in range(4) if a not in view)).ravel() for view in VIEWS]
    return np.concatenate([own + 0.05 * random.standard_normal(len(own)) for own in exact])


def disagreement(views, shares) -> float:
    """Return by how much any two views differ about what they share."""
    most = 0.0
    for (one, x), (other, y) in combinations(zip(views, shares, strict=True), 2):
        common = sorted(set(one) & set(other))
        sums = []
        for view, own in ((one, x), (other, y)):
            cells = own.reshape([SIZES[a] for a in view])
            sums.append(cells.sum(axis=tuple(i for i, a in enumerate(view) if a not in common)))
        most = max(most, float(np.abs(sums[0] - sums[1]).max()))
    return most


def split(shares):
    ends = np.cumsum([prod(SIZES[a] for a in view) for view in VIEWS])[:-1]
    return np.split(shares, ends)


def test_views_agree_after_one_pass_and_change_as_little_as_can_be():
    weights, before = np.array([3.0, 1.0, 2.0]), noisy_views()
    agreement = Agreement(SIZES, VIEWS, weights)
    after = agreement.agree(before)
    assert disagreement(VIEWS, split(before)) > 0.02
    assert disagreement(VIEWS, split(after)) < 1e-12
    assert [own.sum() for own in split(after)] == pytest.approx([1, 1, 1])
    assert agreement.agree(after) == pytest.approx(after)
    # Weighted least squares: what was changed is orthogonal to whatever agrees.
    cells = np.concatenate([np.full(len(own), len(own)) for own in split(before)])
    metric = cells * np.concatenate(
        [np.full(len(own), w) for own, w in zip(split(before), weights, strict=True)]
    )
    other = agreement.agree(noisy_views(1))
    assert abs(((before - after) * metric) @ (after - other)) < 1e-10
    # The planted bugs: other weights are no least squares, and pairs alone leave views apart.
    even = Agreement(SIZES, VIEWS, np.ones(3)).agree(before)
    assert abs(((before - even) * metric) @ (even - other)) > 1e-4
    agreement.commons[:] = [each for each in agreement.commons if len(each.weights) == 2]
    assert disagreement(VIEWS, split(agreement.agree(before))) > 1e-3


def test_views_settle_agreed_and_not_negative():
    before = noisy_views()
    assert before.min() < -0.01
    views = Agreement(SIZES, VIEWS, np.array([3.0, 1.0, 2.0])).settle(before)
    assert min(own.min() for own in views) >= 0
    assert [own.sum() for own in views] == pytest.approx([1, 1, 1])
    assert disagreement(VIEWS, views) < 1e-4


def test_a_view_that_nobody_was_asked_about_takes_what_others_say():
    views = Agreement(SIZES, VIEWS, np.array([3.0, 0.0, 2.0])).settle(noisy_views())
    assert disagreement(VIEWS, views) < 1e-4
    alone = Agreement(SIZES, VIEWS, np.zeros(3)).settle(noisy_views())
    assert [own.sum() for own in alone] == pytest.approx([1, 1, 1])


# Tables


def test_tables_come_off_a_view_or_have_most_entropy():
    random = np.random.default_rng(4)
    chain = random.dirichlet(np.ones(3))  # a – b – c: independent once b is known
    first, last = random.dirichlet(np.ones(2), 3), random.dirichlet(np.ones(4), 3)
    joint = np.einsum("b,ba,bc->abc", chain, first, last)
    shares = [joint.sum(axis=2).ravel(), joint.sum(axis=0).ravel()]
    tables = CalmTables((2, 3, 4), ((0, 1), (1, 2)), shares)
    assert tables.tables(np.array([[0, 1, 2]]))[0] == pytest.approx(joint.ravel(), abs=1e-8)
    assert tables.tables(np.array([[1, 2]]))[0] == pytest.approx(shares[1])
    assert tables.tables(np.array([[1]]))[0] == pytest.approx(chain)
    apart = np.outer(joint.sum(axis=(1, 2)), joint.sum(axis=(0, 1)))
    assert tables.tables(np.array([[0, 2]]))[0] == pytest.approx(apart.ravel())


def test_a_table_that_is_too_large_is_refused():
    sizes = (2000, 2000)
    tables = CalmTables(sizes, ((0,), (1,)), [np.full(2000, 1 / 2000)] * 2)
    with pytest.raises(TableError, match="4,000,000 cells is too large"):
        tables.tables(np.array([[0, 1]]))


# Rivals as a whole

PEOPLE = pd.DataFrame(
    np.random.default_rng(5).random((6000, 4)) < (0.2, 0.5, 0.7, 0.4), columns=[*"abcd"]
)
PEOPLE["d"] ^= PEOPLE["a"]


def mixed_people() -> pd.DataFrame:
    size = np.random.default_rng(1).integers(0, 3, 6000)
    return PEOPLE.assign(b=size.astype(str), d=(size * PEOPLE["a"]).astype(str))


def run(kind, frame, epsilon=1.1, order=2, seed="x"):
    values = None if frame is PEOPLE else "observed"
    schema = Schema.from_frame(frame, values=values)
    return schema, kind(schema, order, epsilon).run(Crowd(schema.encode_frame(frame)), Key.of(seed))


@pytest.mark.parametrize("kind", [Calm, ProductOfMargins])
@pytest.mark.parametrize("frame", [PEOPLE, mixed_people()])
def test_tables_of_rivals_are_distributions_and_reproducible(kind, frame):
    _, answer = run(kind, frame)
    _, again = run(kind, frame)
    _, other = run(kind, frame, seed="y")
    for table in ([0, 1], [1, 3], [0], [0, 1, 3]):
        cells = answer.tables(np.array([table]))
        assert cells.min() >= 0
        assert cells.sum() == pytest.approx(1)
        assert np.array_equal(cells, again.tables(np.array([table])))
    assert not np.array_equal(answer.tables(np.array([[0, 1]])), other.tables(np.array([[0, 1]])))


@pytest.mark.parametrize("frame", [PEOPLE, mixed_people()])
def test_with_a_large_epsilon_calm_tells_the_truth_and_the_product_that_of_margins(frame):
    schema, answer = run(Calm, frame, 20.0)
    records = schema.encode_frame(frame)
    calm = Calm(schema, 2, 20.0)
    alike = comparable_tables(calm, 2)
    truth = [true_tables(schema, records, tables) for tables in alike]
    # A view is asked of a part of the people, and so errs by sampling.
    assert mean_distance([answer.tables(tables) for tables in alike], truth) < 0.03
    _, margins = run(ProductOfMargins, frame, 20.0)
    one = all_tables(4, 1)
    for table in one:
        own = true_tables(schema, records, table[None, :])
        assert margins.tables(table[None, :]) == pytest.approx(own, abs=0.05)
    off = margins.tables(np.array([[0, 3]])) - true_tables(schema, records, np.array([[0, 3]]))
    assert np.abs(off).sum() / 2 > 0.05  # a and d depend on each other
    outer = np.outer(margins.tables(one[:1]), margins.tables(one[3:]))
    assert margins.tables(np.array([[0, 3]]))[0] == pytest.approx(outer.ravel())


def test_calm_errs_by_as_much_as_its_noise_says():
    """Before cells are bounded by 0: on even tables that is never."""
    even = pd.DataFrame(np.random.default_rng(2).random((40_000, 4)) < 0.5, columns=[*"abcd"])
    schema = Schema.from_frame(even)
    calm, records = Calm(schema, 2, 1.5), schema.encode_frame(even)
    views = choose(schema, 2, 1.5, len(even))
    tables, squares = all_tables(4, 2), []
    truth = true_tables(schema, records, tables)
    for seed in range(60):
        answer = calm.run(Crowd(records), Key.of(str(seed)))
        squares.append(((answer.tables(tables) - truth) ** 2).sum(axis=1).mean())
    e, sampling = exp(1.5), len(views.views) / len(even)  # shares near ¼ add a little, sampling too
    assert views.noise < np.mean(squares) < views.noise * (1 + 0.25 * (e - 3) ** 2) + sampling


def test_a_trial_of_a_rival_is_a_row_like_others():
    schema = Schema.from_frame(PEOPLE)
    *_, last = trials(Calm(schema, 2, 1.1), PEOPLE, people=3000, repeat=4, seed="x")
    assert (last.mechanism, last.applied, last.predicted_tv) == ("CALM", "its own", None)
    assert (last.people, last.repeat, last.tables) == (3000, 4, 2)
    assert 0 < last.standard_error < last.mean_tv
    first, *_ = trials(Calm(schema, 2, 1.1), PEOPLE, people=3000, repeat=4, seed="x")
    assert first.standard_error is None


def test_a_rival_is_refused_what_a_survey_is():
    with pytest.raises(SurveyError, match="order must be 1 to 4"):
        Calm(Schema.from_frame(PEOPLE), 5, 1.0)
    with pytest.raises(SurveyError, match="epsilon"):
        ProductOfMargins(Schema.from_frame(PEOPLE), 2, 0.0)
