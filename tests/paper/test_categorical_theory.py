"""The theory of attributes with many values, checked again: by enumeration and closed forms."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from math import comb, exp, log, prod, sqrt

import numpy as np
import pytest

from deniable import Attribute, Schema, Survey, simulate
from deniable.decoding.decoder import decoder_of
from deniable.lab.audit import audit
from deniable.mechanisms.registry import MECHANISMS, mechanism_named
from deniable.planning.error import KAPPA, bound_tv, predicted_tv
from deniable.questions.lists import Balanced, Codes
from deniable.survey.coefficients import all_tables
from deniable.survey.format import survey_of
from deniable.survey.template import ALL_WEIGHT

LN3 = log(3)
UNBIASED = {"aim": "unbiased"}


def schema_of(*sizes: int) -> Schema:
    return Schema(tuple(Attribute(f"a{i}", tuple(range(n))) for i, n in enumerate(sizes)))


def kappa(size: int) -> Fraction:
    """κ(r) of theory §5."""
    even = Fraction((size - 1) ** 2, size)
    return Fraction(size * (size - 1), size + 1) if size % 2 else even


# One bit: the Efron–Stein form


def centred(questions) -> list[list[Fraction]]:
    """Return P·h of each question, exactly."""
    signs = [[1 - 2 * int(odd) for odd in row] for row in questions.odd[1:]]
    return [[Fraction(s) - Fraction(sum(row), len(row)) for s in row] for row in signs]


@pytest.mark.parametrize("sizes", [(2,), (3,), (5,), (6,), (2, 3), (3, 4), (5, 6), (4, 5)])
def test_one_bit_estimates_have_the_stated_second_moment_exactly(sizes):
    """E û_S = u_S and E‖û_S‖² = C²·∏κ, over all questions, records and answers at e^ε = 3."""
    keep, gain = Fraction(3, 4), Fraction(2)  # C = (e+1)/(e−1)
    lists = [Balanced(size) for size in sizes]
    scales = [Fraction(each.count) / each.norm for each in lists]
    for size, scale in zip(sizes, scales, strict=True):
        odd, even = Fraction(size, size + 1), Fraction(size - 1, size)
        assert scale == (odd if size % 2 else even)  # λ
    questions = list(product(*(range(each.count) for each in lists)))
    chance = Fraction(1, len(questions))
    parts = [centred(each) for each in lists]
    for record in {(0,) * len(sizes), tuple(size - 1 for size in sizes)}:
        mean, square = defaultdict(Fraction), Fraction(0)
        for asked in questions:
            factors = [
                [scale * v for v in part[i]]
                for scale, part, i in zip(scales, parts, asked, strict=True)
            ]
            tensor = {
                cell: prod(factor[v] for factor, v in zip(factors, cell, strict=True))
                for cell in product(*map(range, sizes))
            }
            true = prod(
                1 - 2 * int(each.odd[i + 1, v])
                for each, i, v in zip(lists, asked, record, strict=True)
            )
            for bit, p in ((true, keep), (-true, 1 - keep)):
                square += chance * p * sum((gain * bit * v) ** 2 for v in tensor.values())
                for cell, v in tensor.items():
                    mean[cell] += chance * p * gain * bit * v
        assert square == gain**2 * prod(map(kappa, sizes))
        for cell in product(*map(range, sizes)):
            own = [
                Fraction(int(v == x)) - Fraction(1, r)
                for v, x, r in zip(cell, record, sizes, strict=True)
            ]
            assert mean[cell] == prod(own)


@pytest.mark.parametrize("size", range(2, 40))
def test_lists_of_many_values_are_tight_and_cost_hardly_more(size):
    for each in (Balanced(size), Codes(size)):
        assert np.allclose(each.synthesis @ each.analysis, np.eye(size), atol=1e-12)
    found = Balanced(size).count * Balanced(size).energy
    assert 1 - 1e-12 <= found / float(kappa(size)) <= (1 + 1e-12 if size <= 10 else 1.01)
    width = max(1, (size - 1).bit_length())
    codes = Codes(size).count * Codes(size).energy
    assert codes == pytest.approx((size - 1) * (1 - 2.0**-width), rel=1e-12)
    assert found <= codes * (1 + 1e-12), "balanced questions are never worse"


def test_the_shares_of_sets_are_those_stated():
    """By level, sets are asked ∝ √(C(k,j)·κ^j·r^−(k−j)/C(d,j)), if all attributes have r values."""
    d, k, r = 6, 3, 5
    survey = MECHANISMS["InpES"].survey(schema_of(*(r,) * d), k, LN3)
    found = np.array([sum(each.weights) for each in survey.templates]) / ALL_WEIGHT
    # The theory states the weight of one set up to what does not depend on the level.
    each = [
        sqrt(comb(k, j) * float(kappa(r)) ** j * r ** -(k - j) / comb(d, j))
        for j in range(1, k + 1)
    ]
    stated = np.array([comb(d, j) * one for j, one in enumerate(each, start=1)])
    assert found == pytest.approx(stated / stated.sum(), rel=1e-6)


@pytest.mark.parametrize(("attributes", "order", "epsilon"), [(8, 2, LN3), (16, 3, 2.0), (5, 1, 1)])
def test_yes_no_attributes_are_the_special_case(attributes, order, epsilon):
    """InpES on them is Subspace of one parity: InpHT with its levels weighted."""
    schema = schema_of(*(2,) * attributes)
    ours = MECHANISMS["InpES"].survey(schema, order, epsilon)
    theirs = MECHANISMS["Subspace"].survey(schema, order, epsilon, dimension=1)
    assert ours.templates == theirs.templates


# Several parities


@pytest.mark.parametrize("width", range(2, 9))
def test_frames_hold_every_character_equally_often(width):
    """Each sum of the masks of a frame runs through all masks but 0, once, over the frames."""
    codes, every = Codes(1 << width), list(range(1, 1 << width))
    entries = np.arange(codes.entries)
    for count in range(1, width + 1):
        found = np.array([codes.coefficients(entries, count, s) for s in range(1 << count)])
        assert not found[0].any()
        assert all(sorted(row) == every for row in found[1:].tolist())
        for frame in found.T[:5].tolist():  # a subspace: sums are sums of the masks
            for s in range(1 << count):
                terms = (frame[1 << i] for i in range(count) if s >> i & 1)
                assert frame[s] == reduce(int.__xor__, terms, 0)


def whole_pair(size: int, width: int, epsilon: float, dimension: int) -> float:
    """Return N·MSE of a cell of a pair, from random parities of all of its bits.

    Coefficients of the 2^width codes are known alike; the valid cells are kept, and their mean is set.
    """
    cells, symbols = 1 << width, 1 << dimension
    e, w = exp(epsilon), max(1, round(symbols / (1 + exp(epsilon))))
    moment = (
        (symbols - 1) * (w * e + symbols - w) ** 2 / (w * (symbols - w) * (e - 1) ** 2)
    )  # fmt: skip
    spread = moment * (cells - 1) / (symbols - 1)  # N·Var θ̂
    codes = [a + (b << width // 2) for a in range(size) for b in range(size)]
    signs = np.array([[(-1) ** (m & c).bit_count() for m in range(1, cells)] for c in codes])
    signs = (signs - signs.mean(axis=0)) / cells
    return float((signs**2).sum() * spread / len(codes))


def mean_variance(survey, cells: int) -> float:
    """Return N times the mean variance of a cell of the one table of a survey."""
    return (predicted_tv(survey, 1) / KAPPA / cells) ** 2


def test_one_pair_of_five_values_costs_what_the_theory_says():
    """N·MSE of a cell at ε = ln 3: 3.00 is V/(M−1); preferential sampling over 25 cells has 7.0.

    Both parities of both attributes' six bits give exactly 2.84 (the theory simulated 3.05); what is
    asked here, in which every question is about a whole component, 3.21; the bound is 2.76.
    """
    e, symbols = 3, 4
    stated = (e + symbols - 1) ** 2 / ((symbols - 1) * (e - 1) ** 2)
    assert stated == 3.0
    assert whole_pair(5, 6, LN3, 2) == pytest.approx(stated * 63 / 64 * 24 / 25, rel=1e-9)
    schema = schema_of(5, 5)
    found = {
        name: mean_variance(MECHANISMS[name].survey(schema, 2, LN3, **options), 25)
        for name, options in (("Subspace", UNBIASED), ("MargPS", {}))
    }
    bound = (bound_tv(schema, 2, LN3, 1) / KAPPA / 25) ** 2
    assert bound == pytest.approx(4 * e / (e - 1) ** 2 * (24 / 25) ** 2, rel=1e-9)
    assert found["MargPS"] == pytest.approx(7.0, abs=0.01)
    lost = 5 * 7 / (4 * 8)  # r(2^b−1)/((r−1)2^b): codes that no value has
    assert found["Subspace"] == pytest.approx((4 * lost + 2 * sqrt(lost)) ** 2 * 16 / 625 * 3)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_powers_of_two_reach_the_bound_at_ln_three(size):
    """Whatever the cardinalities: messages have two bits, and variances are the lower bound."""
    schema = schema_of(*(size,) * 6)
    survey = MECHANISMS["Subspace"].survey(schema, 2, LN3, **UNBIASED)
    assert {each.answer.symbols for each in survey.templates} == {4}
    assert predicted_tv(survey, 1) == pytest.approx(bound_tv(schema, 2, LN3, 1), rel=1e-5)


@pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 12, 17])
def test_codes_that_no_value_has_cost_what_they_should(size):
    """Per attribute of a component, r(2^b−1)/((r−1)2^b) in variance: most for 3 and 5 values."""
    schema = schema_of(*(size,) * 6)
    found = predicted_tv(MECHANISMS["Subspace"].survey(schema, 2, LN3, **UNBIASED), 1) / bound_tv(
        schema, 2, LN3, 1
    )
    codes = 1 << (size - 1).bit_length()
    lost = size * (codes - 1) / ((size - 1) * codes)
    assert sqrt(lost) < found < lost
    assert lost <= 1.125


# The paper's encoding in bits


def test_the_papers_corollary_counts_far_too_many_coefficients():
    """Erratum 10: of ten attributes of four values, 435 coefficients matter, not 6195."""
    d, r, k = 10, 4, 2
    bits = (r - 1).bit_length()
    counted = sum(comb(d * bits, j) for j in range(1, k * bits + 1))
    needed = sum(comb(d, j) * (r - 1) ** j for j in range(1, k + 1))
    assert (counted, needed) == (6195, 435)
    schema = schema_of(*(r,) * d)
    errors = [
        predicted_tv(mechanism_named(n).survey(schema, k, LN3), 1) for n in ("InpHTBits", "InpHT")
    ]
    assert errors[0] / errors[1] == pytest.approx(sqrt(counted / needed), rel=1e-6)
    assert errors[0] / errors[1] == pytest.approx(3.8, abs=0.05)


# Components and covariances


@pytest.mark.parametrize("name", ["Subspace", "InpES", "MargPS"])
def test_a_table_is_the_sum_of_its_components(name):
    """f = Σ_S u_S ⊗ uniform, with u_S the interaction of S's own table, and u_∅ = 1."""
    import pandas as pd

    sizes = (3, 2, 5)
    random = np.random.default_rng(12)
    people = pd.DataFrame({f"a{i}": random.integers(0, n, 4000) for i, n in enumerate(sizes)})
    release = simulate(Survey(schema_of(*sizes), 3, 1.5, name), people, "components")
    table = release.marginal("a0", "a1", "a2")
    total = np.full(sizes, 1 / prod(sizes))
    for level in (1, 2, 3):
        for chosen in combinations(range(3), level):
            part = release.marginal(*(f"a{i}" for i in chosen)).interaction
            for axis in range(level):
                assert np.allclose(part.sum(axis=axis), 0, atol=1e-12)
            shape = [n if i in chosen else 1 for i, n in enumerate(sizes)]
            total = total + part.reshape(shape) * part.size / prod(sizes)
    assert np.allclose(total, table.values, atol=1e-12)
    assert np.abs(table.interaction).max() > 0.01


@pytest.mark.parametrize("sizes", [(3, 2, 4), (5, 3)])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Subspace", {"dimension": 3}),  # two and three parities, and single bits
        ("InpES", {}),
        ("InpHT", {}),
        ("MargHT", {}),
        ("InpHTBits", {}),  # questions about three attributes tell nothing
    ],
)
def test_covariances_are_those_of_the_whole_law(name, options, sizes):
    """The covariance of a table's cells, by enumeration of slots, values and records."""
    random = np.random.default_rng(13)
    population = random.dirichlet(np.ones(prod(sizes))).reshape(sizes)
    check_covariances(
        mechanism_named(name).survey(schema_of(*sizes), 2, 1.3, **options), population
    )


@pytest.mark.parametrize("name", ["InpHT", "MargHT"])
@pytest.mark.parametrize(
    ("sizes", "lists"),
    [((5, 5), ("balanced", "codes")), ((4, 4, 3), ("codes", "balanced", "codes"))],
)
def test_covariances_hold_where_attributes_have_lists_of_different_kinds(name, sizes, lists):
    """No mechanism makes such a survey yet; whoever reads one finds it decoded all the same."""
    population = np.random.default_rng(14).dirichlet(np.ones(prod(sizes))).reshape(sizes)
    form = json.loads(mechanism_named(name).survey(schema_of(*sizes), 2, 1.3).canonical())
    survey = survey_of(form | {"lists": [{"list": each} for each in lists]})
    assert audit(survey).passed
    check_covariances(survey, population)


def check_covariances(survey, population):
    sizes = population.shape
    for table in all_tables(len(sizes), 2):
        others = tuple(a for a in range(len(sizes)) if a not in table)
        truth = population.sum(axis=others).ravel()
        people = 1e9  # so that no component is thin
        evidence = decoder_of(survey).expected(people)
        found = evidence.cell_covariances(table[None, :], truth[None, :])[0] * people
        assert found == pytest.approx(enumerated(survey, population, table), rel=1e-6, abs=1e-9)
        alone = evidence.cell_variances(table[None, :], truth[None, :])[0] * people
        assert alone == pytest.approx(np.diag(found), rel=1e-9)


def enumerated(survey, population, table):
    """Return N·Cov of a table's cells: ratio estimates of the coefficients, spread over cells.

    Coefficients are told apart by what they say of each record. How cells are made of them is worked
    out here from the questions alone.
    """
    records = np.array(list(np.ndindex(*population.shape)))
    shares, own = population.ravel(), records[:, table]
    numbers: dict[bytes, int] = {}
    signs, reports = [], []  # of each report: how likely, its scores by coefficient, its weight
    for slot, chance in enumerate(slot_chances(survey)):
        question = survey.question(slot)
        answer = question.answer
        parities = question.asks.to_json()["parities"]
        bits = [
            sum(np.isin(records[:, int(t["attribute"][1:])], t["values"]) for t in terms) % 2
            for terms in parities
        ]
        members = {}
        for mask in range(1, answer.symbols):
            sign = np.prod([1 - 2 * bit for i, bit in enumerate(bits) if mask >> i & 1], axis=0)
            if depends_only_on(sign, own):
                members[mask] = numbers.setdefault(sign.tobytes(), len(numbers))
                if len(numbers) > len(signs):
                    signs.append(sign)
        symbols = sum(bit << i for i, bit in enumerate(bits))
        law = np.array(
            [
                [float(Fraction(p, answer.law_total)) for p in answer.law(s)]
                for s in range(answer.symbols)
            ]
        )
        contrast = float(answer.inclusion.contrast)
        moment = sum(
            p * (sum((-1) ** (s & 1) for s in answer.support(value)) / contrast) ** 2
            for value, p in enumerate(law[0])
        )
        for value in range(law.shape[1]):
            support = answer.support(value)
            scores = {
                number: sum((-1) ** (mask & s).bit_count() for s in support) / contrast
                for mask, number in members.items()
            }
            reports.append((chance * float(shares @ law[symbols, value]), scores, 1 / moment))
    theta = np.array([shares @ sign for sign in signs])
    weights, matrix = np.zeros(len(signs)), np.zeros((len(signs),) * 2)
    for probability, scores, weight in reports:
        off = np.zeros(len(signs))
        for number, score in scores.items():
            off[number] = weight * (score - theta[number])
            weights[number] += probability * weight
        matrix += probability * np.outer(off, off)
    matrix /= np.outer(weights, weights)
    cells = synthesis(signs, own, [population.shape[a] for a in table])
    return cells @ matrix @ cells.T


def synthesis(signs, own, sizes):
    """Return what each coefficient gives to each cell, by the norm that its component's list has."""
    cells = list(np.ndindex(*sizes))
    first = [int(np.flatnonzero((own == cell).all(axis=1))[0]) for cell in cells]
    made, components = [], []
    for sign in signs:
        tensor = sign[first].reshape(sizes).astype(float)
        touched = tuple(
            not np.array_equal(tensor, np.roll(tensor, 1, axis)) for axis in range(len(sizes))
        )
        for axis in np.flatnonzero(touched):
            tensor = tensor - tensor.mean(axis=axis, keepdims=True)
        made.append(tensor.ravel())
        components.append(touched)
    out = []
    for each, touched in zip(made, components, strict=True):
        alike = [t for t, c in zip(made, components, strict=True) if c == touched]
        freedom = prod(n - 1 for n, is_in in zip(sizes, touched, strict=True) if is_in)
        out.append(each / (sum(t @ t for t in alike) / freedom))
    return np.array(out).T


def depends_only_on(sign, own) -> bool:
    """Tell whether a sign is a function of the table's attributes."""
    seen: dict[tuple[int, ...], int] = {}
    rows = zip(own.tolist(), sign.tolist(), strict=True)
    return all(seen.setdefault(tuple(row), s) == s for row, s in rows)


def slot_chances(survey):
    """Return how likely each slot is: the slots of a set, or of a template, share its weight."""
    if not survey.templates[0].weights:
        return np.full(survey.slots, 1 / survey.slots)
    made = []
    for template, slots in zip(survey.templates, survey.index.templates, strict=True):
        if template.sets is None:
            made += [template.weights[0] / slots.count] * slots.count
            continue
        chosen = [tuple(row) for row in slots.locate(np.arange(slots.count))[0].tolist()]
        weight = dict(zip(template.sets, template.weights, strict=True))
        made += [weight[each] / chosen.count(each) for each in chosen]
    assert sum(made) == pytest.approx(ALL_WEIGHT)
    return np.array(made) / ALL_WEIGHT
