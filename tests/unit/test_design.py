"""The design problem: types are complete, mixtures optimal, weights whole, results those derived."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from math import comb, cosh, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from deniable import Survey, plan, simulate
from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.design.candidates import single_candidates
from deniable.design.mixtures import best_mixture, whole_weights
from deniable.design.subspaces import symmetric_design, tailored_design
from deniable.design.templates import second_moment
from deniable.design.types import orientations, subspace_types
from deniable.design.workload import Workload
from deniable.errors import SurveyError
from deniable.mechanisms.registry import MECHANISMS
from deniable.mechanisms.subspace import Subspace
from deniable.planning.aim import Aim
from deniable.planning.error import KAPPA, bound_tv, predicted_tv
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import ALL_WEIGHT


def cell_variance(survey, people):
    """The average variance of a cell of a k-way table of yes/no attributes, all alike."""
    return (predicted_tv(survey, people) / (KAPPA * (1 << survey.order))) ** 2


def bound_variance(attributes, order, epsilon, people):
    """The average cell variance of yes/no tables below which no unbiased protocol can go."""
    yes_no = Schema.binary(*map(str, range(attributes)))
    return (bound_tv(yes_no, order, epsilon, people) / (KAPPA * (1 << order))) ** 2


def names(*places: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in places)


def schema(attributes: int) -> Schema:
    return Schema.binary(*names(*range(attributes)))


def over_bound(attributes: int, order: int, epsilon: float, **options: object) -> float:
    made = Subspace.survey(schema(attributes), order, epsilon, **options)
    return cell_variance(made, 1) / bound_variance(attributes, order, epsilon, 1)


def span(vectors: tuple[int, ...]) -> frozenset[int]:
    members = {0}
    for vector in vectors:
        members |= {vector ^ other for other in members}
    return frozenset(members)


def all_subspaces(ground: int, order: int) -> set[frozenset[int]]:
    """Return every subspace that members of at most ``order`` attributes span, by brute force."""
    vectors = [v for v in range(1, 1 << ground) if v.bit_count() <= order]
    found, new = set(), {frozenset({0})}
    while new:
        new = {space | {v ^ m for m in space} for space in new for v in vectors if v not in space}
        found |= new
    return found


@pytest.mark.parametrize(("ground", "order"), [(4, 1), (4, 2), (4, 3), (5, 2), (5, 3), (5, 5)])
def test_no_profile_of_members_is_missed(ground: int, order: int) -> None:
    def profile(space: frozenset[int]) -> tuple[int, ...]:
        return tuple(sum(m.bit_count() == j for m in space) for j in range(1, order + 1))

    wanted = {
        (len(space).bit_length() - 1, profile(space)) for space in all_subspaces(ground, order)
    }
    types = subspace_types(ground, order)
    assert {(t.dimension, t.levels) for t in types} == wanted


def test_orientations_are_all_relabellings() -> None:
    for kind in subspace_types(5, 3, 5):
        relabelled = set()
        for places in permutations(range(kind.attributes)):
            moved = (
                sum(1 << places[i] for i in range(kind.attributes) if p >> i & 1)
                for p in kind.parities
            )
            relabelled.add(span(tuple(moved)))
        turned = orientations(kind)
        assert {span(parities) for parities in turned} == relabelled
        assert len(turned) == len(relabelled)


def test_the_optimum_is_the_one_a_general_solver_finds() -> None:
    random = np.random.default_rng(1)
    for _ in range(5):
        gains, needs = random.random((6, 3)) ** 3 + 1e-3, random.random(3) + 0.1
        shares = best_mixture(gains, needs)

        def value(logits: np.ndarray, gains=gains, needs=needs) -> float:
            rho = np.exp(logits - logits.max())
            return float((needs / (rho / rho.sum() @ gains)).sum())

        other = min(
            optimize.minimize(value, random.standard_normal(6), method="BFGS").fun for _ in range(3)
        )
        assert (needs / (shares @ gains)).sum() == pytest.approx(other, rel=1e-5)


@pytest.mark.parametrize(
    ("order", "attributes", "expected"),
    [
        (2, 8, (1.06, 1.00, 1.04, 1.17, 1.52, 2.23)),
        (2, 16, (1.06, 1.00, 1.04, 1.17, 1.52, 2.22)),
        (3, 8, (1.00, 1.00, 1.04, 1.00, 1.11, 1.61)),
        (3, 16, (1.01, 1.00, 1.04, 1.01, 1.18, 1.71)),
    ],
)
def test_variances_over_the_bound_are_those_of_the_theory_page(
    order: int, attributes: int, expected: tuple[float, ...]
) -> None:
    for epsilon, ratio in zip((0.5, log(3), 1.5, 2.0, 3.0, 4.0), expected, strict=True):
        found = over_bound(attributes, order, epsilon, dimension=4)
        assert found == pytest.approx(ratio, abs=0.006), epsilon


@pytest.mark.slow
@pytest.mark.parametrize("attributes", [4, 8, 16, 32])
@pytest.mark.parametrize("order", [2, 3])
def test_variance_stays_close_to_the_bound(order: int, attributes: int) -> None:
    limits = dict.fromkeys((0.05, 0.3, 0.5, 0.55, 0.6, 0.8, 1.0, log(3), 1.3, 1.5), 1.08)
    limits |= {2.0: 1.20, 3.0: 1.55, 4.0: 2.4 if order == 2 else 1.75}
    for epsilon, limit in limits.items():
        assert 1 - 1e-9 <= over_bound(attributes, order, epsilon) <= limit, epsilon


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_mechanism_of_the_paper_is_better_anywhere(order: int) -> None:
    for attributes in (2, 3, 4, 5, 6, 9, 20, 100):
        for epsilon in (0.05, 0.7, log(3), 2.3, 4.1, 6.0):
            if order > attributes:
                continue
            ours = cell_variance(Subspace.survey(schema(attributes), order, epsilon), 1)
            for name, kind in MECHANISMS.items():
                try:
                    theirs = kind.survey(schema(attributes), order, epsilon)
                except SurveyError:
                    continue
                if name not in ("InpEM", "Subspace"):
                    limit = cell_variance(theirs, 1) * (1 + 1e-5)
                    assert ours <= limit, (name, attributes, epsilon)


@pytest.mark.parametrize("epsilon", [0.3, log(3), 2.0])
def test_one_parity_alone_is_inpht_with_weighted_levels(epsilon: float) -> None:
    d, k = 16, 3
    made = Subspace.survey(schema(d), k, epsilon, dimension=1)
    assert [each.parities for each in made.templates] == [(1,), (3,), (7,)]
    roots = np.array([sqrt(comb(k, j) * comb(d, j)) for j in range(1, k + 1)])
    shares = np.array([each.weights[0] for each in made.templates]) / ALL_WEIGHT
    assert shares == pytest.approx(roots / roots.sum(), rel=1e-3)
    ratio = cell_variance(made, 1) / bound_variance(d, k, epsilon, 1)
    assert ratio == pytest.approx(cosh(epsilon / 2) ** 2, rel=1e-6)
    assert cell_variance(made, 1) < cell_variance(
        MECHANISMS["InpHT"].survey(schema(d), k, epsilon), 1
    )


def test_the_best_way_at_ln_3_is_pairs_and_triangles() -> None:
    templates = symmetric_design(16, 2, log(3))
    assert [(t.attributes, t.parities, t.cell) for t in templates] == [
        (2, (1, 2), True),
        (3, (3, 5), False),
    ]
    assert {t.answer.chosen for t in templates} == {1}
    assert templates[0].weights[0] / ALL_WEIGHT == pytest.approx(0.511, abs=2e-3)


def test_small_epsilons_take_several_symbols() -> None:
    (answer,) = {s.answer for s in symmetric_design(6, 3, 0.5)}
    assert (answer.symbols, answer.chosen) == (8, 3)
    for dimension in range(1, 9):
        for epsilon in (0.01, 0.5, 1.0, 3.0, 6.0):
            found = second_moment(epsilon, dimension)
            symbols = 1 << dimension
            for w in range(1, min(symbols, 34)):
                if comb(symbols, w) < 1 << 63:
                    e = math.exp(epsilon)
                    exact = (symbols - 1) * (w * e + symbols - w) ** 2
                    exact /= w * (symbols - w) * (e - 1) ** 2
                    assert found <= exact * (1 + 1e-9)


def test_weights_are_whole_and_add_up() -> None:
    random = np.random.default_rng(2)
    for count in (1, 2, 3, 700):
        weights = whole_weights(random.dirichlet(np.full(count, 0.05)))
        assert sum(weights) == ALL_WEIGHT
        assert min(weights) >= 1
    assert whole_weights(np.array([1.0, 0.0])) == [ALL_WEIGHT - 1, 1]
    for order, epsilon in ((2, 1.0), (3, log(3)), (3, 0.5)):
        templates = symmetric_design(9, order, epsilon)
        assert sum(each.weights[0] for each in templates) == ALL_WEIGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "order"), [(1, 1), (2, 1), (2, 2), (10, 10), (40, 6), (7, 7)]
)
def test_every_order_has_a_design_that_asks_for_every_coefficient(
    attributes: int, order: int
) -> None:
    for epsilon in (0.2, 1.1, 5.0):
        made = Subspace.survey(schema(attributes), order, epsilon)
        assert all(decoder_of(made).precision(level) > 0 for level in range(1, order + 1))
        assert over_bound(attributes, order, epsilon) >= 1 - 1e-9


def test_a_dimension_is_a_limit() -> None:
    for order, dimension in ((5, 1), (5, 2), (3, 4)):
        for options in ({}, {"workload": [tuple(f"a{i}" for i in range(order))]}):
            made = Subspace.survey(schema(7), order, 4.0, dimension=dimension, **options)
            assert max(len(each.parities) for each in made.templates) <= dimension


def test_a_workload_of_all_tables_needs_what_the_symmetric_design_gives() -> None:
    names = [f"a{i}" for i in range(8)]
    for order, epsilon in ((2, log(3)), (2, 2.0), (3, 1.1)):
        tables = list(combinations(names, order))
        alike = Subspace.survey(schema(8), order, epsilon)
        assert Subspace.survey(schema(8), order, epsilon, workload=tables).id == alike.id
        every = dict.fromkeys(combinations(range(8), order), 1.0)
        asked, lists = tailored_design(order, epsilon, every), Subspace.lists(schema(8))
        made = FrozenSurvey(schema(8), order, epsilon, asked, lists, mechanism="Subspace")
        assert not is_symmetric(made)
        assert _spread(made, tables) == pytest.approx(_spread(alike, tables), rel=1e-5)


@pytest.mark.slow
def test_a_workload_makes_the_tables_that_matter_better() -> None:
    tables = [("a0", "a1"), ("a2", "a3"), ("a0", "a5", "a6")]
    alike = Subspace.survey(schema(16), 3, log(3))
    made = Subspace.survey(schema(16), 3, log(3), workload=tables)
    assert _spread(made, tables) < 0.1 * _spread(alike, tables)
    heavy = Subspace.survey(
        schema(16), 3, log(3), workload=dict(zip(tables, (9, 1, 1), strict=True))
    )
    assert _spread(heavy, tables[:1]) < _spread(made, tables[:1])
    assert _spread(heavy, tables[1:]) > _spread(made, tables[1:])


def test_a_workload_has_no_better_design_among_some_rivals() -> None:
    tables = {("a0", "a1"): 1.0, ("a1", "a2"): 2.0, ("a0", "a2"): 0.5, ("a3",): 1.0}
    made, aim = Subspace.survey(schema(4), 2, 1.1, workload=tables), Aim.of(schema(4), 2, tables)
    best = predicted_tv(made, 1, aim=aim)
    for other in (
        Subspace.survey(schema(4), 2, 1.1),
        Subspace.survey(schema(4), 2, 1.1, workload=list(tables)),
        Subspace.survey(schema(4), 2, 1.1, workload=tables, dimension=1),
        Subspace.survey(
            schema(4), 2, 1.1, workload=dict.fromkeys(tables, 1.0) | {("a1", "a2"): 3.0}
        ),
    ):
        assert best < predicted_tv(other, 1, aim=aim) * (1 - 1e-6)


def _spread(made: FrozenSurvey, tables: list[tuple[str, ...]]) -> float:
    return _weighted(made, dict.fromkeys(tables, 1.0))


def _weighted(made: FrozenSurvey, tables: dict[tuple[str, ...], float]) -> float:
    evidence, total = decoder_of(made).expected(1.0), 0.0
    for names, weight in tables.items():
        members = np.array([sorted(made.schema.index(name) for name in names)])
        spread = evidence.covariance(members, np.zeros((1, (1 << len(names)) - 1)))
        total += weight * float(np.trace(spread[0]))
    return total


def test_a_pilot_moves_people_to_levels_that_are_harder_to_know() -> None:
    plain = Subspace.survey(schema(8), 2, 3.0)
    piloted = Subspace.survey(schema(8), 2, 3.0, squares=(0.8, 0.0))

    def variance(made: FrozenSurvey) -> float:
        levels = zip((1, 2), (0.8, 0.0), strict=True)
        return sum(comb(2, j) / decoder_of(made).precision(j, square=s) for j, s in levels)

    assert variance(piloted) < variance(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 0}, "dimension must be a whole number from 1 to 8"),
        ({"dimension": 9}, "dimension must be"),
        ({"dimension": True}, "dimension must be"),
        ({"dimension": 1.5}, "dimension must be"),
        ({"squares": (0.1,)}, "squares must be 2 numbers"),
        ({"squares": (0.1, 1.5)}, "squares must be 2 numbers"),
        ({"squares": 5}, "squares must be 2 numbers"),
        ({"squares": "ab"}, "squares must be 2 numbers"),
        ({"squares": (None, 0.1)}, "squares must be 2 numbers"),
        ({"squares": (0.1, float("nan"))}, "squares must be 2 numbers"),
        ({"workload": []}, "at least one table"),
        ({"workload": ["a0"]}, "each a tuple"),
        ({"workload": 3}, "A workload lists tables"),
        ({"workload": [()]}, "each a tuple"),
        ({"workload": [("a0", "b")]}, "The workload is wrong: .*'b'"),
        ({"workload": [("a0", "a0")]}, "twice"),
        ({"workload": [("a0", "a1", "a2")]}, "has 3 attributes; the survey's order is 2"),
        ({"workload": {("a0",): 0}}, "positive number"),
        ({"workload": {("a0",): float("nan")}}, "positive number"),
        ({"workload": {("a0",): "x"}}, "positive number"),
        ({"level": 3}, "no option 'level'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        Subspace.survey(schema(4), 2, 1.1, **options)


@pytest.mark.parametrize("order", ["2", None])
def test_a_workload_of_no_order_is_refused(order: object) -> None:
    with pytest.raises(SurveyError, match="order must be a whole number"):
        Survey(schema(4), order, 1.1, "Subspace", workload=[names(0, 1)])


@pytest.mark.slow
def test_many_tables_of_very_many_attributes_have_a_design_of_their_own() -> None:
    wide = schema(200)  # too many triples to try them all
    tables = [names(i, i + 1, i + 2) for i in range(198)]
    made = Subspace.survey(wide, 3, 1.1, workload=tables)
    aim = Aim.of(wide, 3, tables)
    ratio = (predicted_tv(made, 1, aim=aim) / bound_tv(wide, 3, 1.1, 1, aim)) ** 2
    assert 1 <= ratio < 1.2


def test_a_workload_s_questions_cannot_be_bettered_by_any_other() -> None:
    """The slope of every candidate, used or not, is at most that of the mixture."""
    tables = {(0, 1): 1.0, (1, 2): 2.0, (0, 2): 0.5, (3,): 1.0}
    targets = Workload.of(tables, 2)
    found = list(single_candidates(targets, 1.1, None, np.zeros(2)))
    gains = np.concatenate([part.gains.toarray() for part in found])
    made = tailored_design(2, 1.1, tables)
    asked = {(s.parities, each): w for s in made for each, w in zip(s.sets, s.weights, strict=True)}
    shares = np.array(
        [asked.get((c.parities, tuple(each)), 0) for c in found for each in c.sets.tolist()]
    )
    assert shares.sum() == ALL_WEIGHT
    needed = targets.needs() > 0
    precision = np.ones(len(needed))
    precision[needed] = (shares / ALL_WEIGHT) @ gains[:, needed]
    needs = targets.needs(targets.errors(precision))  # errors count, not their squares
    precision = precision[needed]
    slopes = gains[:, needed] @ (needs[needed] / precision**2)
    assert slopes.max() == pytest.approx((needs[needed] / precision).sum(), rel=1e-4)
    assert len(targets.used) == 4


@pytest.mark.parametrize(
    "options",
    [
        {"squares": np.array([0.1, 0.2])},
        {"squares": [0.1, 0.2]},
        {"squares": None},
        {"workload": np.array([["a0", "a1"], ["a2", "a3"]])},
    ],
)
def test_arrays_and_lists_are_taken(options: dict) -> None:
    assert Survey(schema(4), 2, 1.1, "Subspace", **options).slots > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "order", "epsilon"), [(2000, 2, 5.0), (10_000, 2, 6.0), (1000, 3, 6.0)]
)
def test_many_attributes_and_a_large_epsilon_fit(
    attributes: int, order: int, epsilon: float
) -> None:
    made = plan(schema(attributes), order=order, epsilon=epsilon, people=1000)
    assert made.recommended == "Subspace"
    assert Survey(schema(attributes), order, epsilon, "Subspace").slots < 1 << 63


@pytest.mark.slow
def test_one_table_of_very_many_attributes_can_be_planned_and_released() -> None:
    """All C(1000, 3) coefficients are too many; the seven that are asked for are not."""
    wide = schema(1000)
    made = plan(wide, order=3, epsilon=1.1, people=1000, workload=[names(0, 1, 2)])
    assert made.rows[0].variance_over_bound < 1.1
    survey = Survey(wide, 3, 1.1, workload=[names(0, 1, 2)])
    held = np.random.default_rng(1).random((2000, 1000)) < 0.5
    release = simulate(survey, pd.DataFrame(held, columns=wide.names), seed="wide")
    assert release.marginal(*names(0, 1, 2)).known


@pytest.mark.slow
def test_two_large_tables_have_a_design_of_their_own() -> None:
    tables = [names(*range(6)), names(*range(6, 12))]
    made = plan(schema(12), order=6, epsilon=1.1, people=1000, workload=tables)
    assert made.recommended == "Subspace"
    assert made.rows[0].variance_over_bound < 3
