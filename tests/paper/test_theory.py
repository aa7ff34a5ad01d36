"""The theory page's formulas, checked again: against enumeration, simulation and the closed forms."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from math import comb, exp, sqrt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey
from deniable.decoding.decoder import decoder_of
from deniable.mechanisms.registry import MECHANISMS
from deniable.planning.error import KAPPA, bound_tv, predicted_tv
from deniable.questions.answers import Subset, Unary
from deniable.survey.coefficients import subset_count

LN3 = math.log(3)


def cell_variance(survey, people):
    """The average variance of a cell of a k-way table of yes/no attributes, all alike."""
    return (predicted_tv(survey, people) / (KAPPA * (1 << survey.order))) ** 2


def bound_variance(attributes, order, epsilon, people):
    """The average cell variance of yes/no tables below which no unbiased protocol can go."""
    yes_no = Schema.binary(*map(str, range(attributes)))
    return (bound_tv(yes_no, order, epsilon, people) / (KAPPA * (1 << order))) ** 2


def eight(name: str, order: int, epsilon: float, attributes: int = 8):
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    return MECHANISMS[name].survey(schema, order, epsilon)


@pytest.mark.parametrize(("symbols", "chosen"), [(2, 1), (4, 1), (4, 2), (8, 1), (8, 3), (6, 4)])
@pytest.mark.parametrize("epsilon", [0.3, LN3, 3.0])
def test_second_moments_of_subset_answers_are_those_enumerated(symbols, chosen, epsilon):
    """V and κ of theory §2–3, over every value and every pair of signs that sum to zero."""
    answer = Subset.within(epsilon, symbols, chosen)
    law, true = answer.inclusion, 1
    random = np.random.default_rng(8)
    for _ in range(4):
        first, second = (random.permutation([1, -1] * (symbols // 2)) for _ in range(2))
        product = Fraction(0)
        for value, weight in enumerate(answer.law(true)):
            held = list(answer.support(value))
            scores = [Fraction(int(sign[held].sum())) / law.contrast for sign in (first, second)]
            product += Fraction(weight, answer.law_total) * scores[0] * scores[1]
        overlap = Fraction(int(first @ second), symbols)
        own_noise = law.second_moment(symbols) - law.cross
        assert product == law.cross * int(first[true] * second[true]) + own_noise * overlap


@pytest.mark.parametrize("symbols", [4, 8, 16])
@pytest.mark.parametrize("epsilon", [0.5, LN3, 2.0])
def test_closed_forms_of_second_moments(symbols, epsilon):
    e, a = exp(epsilon), exp(epsilon / 2)
    for chosen in range(1, symbols):
        stated = (
            (symbols - 1) * (chosen * e + symbols - chosen) ** 2
            / (chosen * (symbols - chosen) * (e - 1) ** 2)
        )  # fmt: skip
        law = Subset.within(epsilon, symbols, chosen).inclusion
        assert float(law.second_moment(symbols)) == pytest.approx(stated, rel=1e-9)
    unary = Unary.within(epsilon, symbols).inclusion
    v = a / (a - 1) ** 2
    assert float(unary.second_moment(symbols)) == pytest.approx(symbols * v + 1, rel=1e-9)
    assert float(unary.cross) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("symbols", [4, 8, 64])
def test_the_optimised_unary_form_wins_for_many_symbols_only(symbols):
    def moment(optimised, epsilon):
        answer = Unary.within(epsilon, symbols, optimised=optimised)
        return float(answer.inclusion.second_moment(symbols))

    assert (moment(True, LN3) < moment(False, LN3)) == (symbols >= 8)


def test_pooled_and_unpooled_predictions_have_the_stated_closed_forms():
    d, k, people = 8, 2, 1 << 18
    m, tables, total = 2**k, comb(d, k), subset_count(d, k)
    kappa = 0.5 * sqrt(2 / math.pi)
    for epsilon in (0.4, LN3, 2.0):
        e, a = exp(epsilon), exp(epsilon / 2)
        c, v = (e + 1) / (e - 1), a / (a - 1) ** 2
        ps = (m + e - 1) / (e - 1)
        pooled = {"MargPS": ps**2, "MargHT": (m - 1) * c**2, "MargRR": m * v + 1}
        for name, moment in pooled.items():
            found = cell_variance(eight(name, k, epsilon), people)
            assert found == pytest.approx(total * moment / 4**k / people, rel=1e-9)
        stated = {
            "InpHT": kappa * sqrt((m - 1) * total / people) * c,
            "InpPS": kappa * sqrt((m - 1) / people) * (2**d + e - 1) / (e - 1),
            "InpRR": kappa * m * sqrt(((2**d * v + 1) * (m - 1) / m**2) / people),
        }
        for name, distance in stated.items():
            assert predicted_tv(eight(name, k, epsilon), people) == pytest.approx(
                distance, rel=1e-9
            )
        unpooled = {
            "MargHT": kappa * (m - 1) * c * sqrt(tables / people),
            "MargPS": kappa * sqrt((m - 1) * tables / people) * ps,
        }
        for name, distance in unpooled.items():
            found = predicted_tv(eight(name, k, epsilon), people, "unpooled")
            assert found == pytest.approx(distance, rel=1e-9)


def test_pooling_gains_what_theory_says():
    """MargPS gains 1.5× in error at d=8, k=2 and 2.1× at k=3."""
    for order, gain in ((2, 1.5), (3, 2.1)):
        survey = eight("MargPS", order, LN3)
        ratio = predicted_tv(survey, 1000, "unpooled") / predicted_tv(survey, 1000)
        assert ratio == pytest.approx(gain, abs=0.06)


@pytest.mark.parametrize("order", [2, 3])
def test_margps_and_marght_cross_where_theory_says(order):
    crossing = 0.5 * math.log(2**order - 1)
    for epsilon, better in ((crossing * 1.02, "MargPS"), (crossing * 0.98, "MargHT")):
        errors = {n: predicted_tv(eight(n, order, epsilon), 1) for n in ("MargPS", "MargHT")}
        assert min(errors, key=errors.__getitem__) == better


@pytest.mark.parametrize(
    ("order", "attributes", "at_ln3", "at_3"),
    [(2, 8, 1.67, 6.9), (2, 16, 1.97, 8.2), (3, 8, 1.85, 7.7), (3, 16, 2.64, 11.0)],
)
def test_inpht_stands_above_the_lower_bound_as_tabulated(order, attributes, at_ln3, at_3):
    for epsilon, stated in ((LN3, at_ln3), (3.0, at_3)):
        survey = eight("InpHT", order, epsilon, attributes)
        found = cell_variance(survey, 1) / bound_variance(attributes, order, epsilon, 1)
        assert found == pytest.approx(stated, abs=0.06)


def test_no_mechanism_beats_the_lower_bound():
    for attributes, order, epsilon in ((3, 1, 0.2), (8, 2, LN3), (12, 3, 2.0), (16, 2, 5.0)):
        bound = bound_variance(attributes, order, epsilon, 1)
        for name in MECHANISMS:
            if name != "InpEM":
                assert cell_variance(eight(name, order, epsilon, attributes), 1) > bound * 0.999


def test_published_bars_of_inpht_are_near_the_formula():
    """k=3, e^ε=3, N=2¹⁸: read off the paper's chart by eye, d = 6, 8, 10, 12, 16."""
    bars = {6: 0.026, 8: 0.035, 10: 0.047, 12: 0.067, 16: 0.102}
    for attributes, bar in bars.items():
        found = predicted_tv(eight("InpHT", 3, LN3, attributes), 1 << 18)
        assert found == pytest.approx(bar, rel=0.2)


def test_the_first_step_of_em_from_uniform_is_the_one_stated():
    """θ¹ = g^|α| θ_observed with g = tanh(ε/2d); the interior fixed point is the inverse."""
    from deniable.decoding.bits import EMEvidence, InverseEvidence
    from deniable.decoding.decoder import BitDecoder

    decoder = decoder_of(eight("InpEM", 2, 1.0, 4))
    assert isinstance(decoder, BitDecoder)
    shrink = decoder._shrink
    assert shrink == pytest.approx(math.tanh(1.0 / 8), rel=1e-9)
    true = np.array([0.1, -0.2, 0.05])
    levels = np.array([1, 1, 2])
    numbering = decoder.numbering()
    observed = np.zeros(numbering.size)
    table = np.array([[0, 1]])
    observed[numbering.of_tables(table)] = true * shrink**levels
    em = EMEvidence(numbering, observed, 1000, shrink)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deniable.decoding.bits.MOST_STEPS", 1)
        first = em.tables(table).values
    signs = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]])
    assert first[0] == pytest.approx((1 + signs @ (true * shrink ** (2 * levels))) / 4, rel=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deniable.decoding.bits.THRESHOLD", 1e-13)
        patch.setattr("deniable.decoding.bits.MOST_STEPS", 400_000)
        last = em.tables(table)
    inverse = InverseEvidence(numbering, observed, 1000, shrink)
    assert inverse.coefficients(table)[0][0] == pytest.approx(true, rel=1e-9)
    assert last.values[0] == pytest.approx((1 + signs @ true) / 4, abs=1e-6)


@pytest.mark.parametrize(
    ("people", "attributes", "epsilon", "at_least"),
    [(1 << 18, 16, 0.1, 114), (1 << 19, 24, 0.2, 230)],
)
def test_em_fails_at_once_where_the_paper_says_so(
    shared_data, people, attributes, epsilon, at_least
):
    """Rows of the paper's failure table, taxi data, columns repeated.

    120 of 120 and 276 of 276 nearly reproduce: 116 to 120 and 238 to 276 in several draws, because
    a first step of just Ω = 10⁻⁵ is what two rare attributes give there (at d = 24,
    ¼·g²·(0.9 + 0.9) = 0.8·10⁻⁵, plus noise).
    """
    taxi = pq.read_table(shared_data / "taxi_2015_2019.parquet")
    names = ["CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip"]
    rows = np.random.default_rng(9).integers(0, taxi.num_rows, people)
    columns = {n: taxi.column(n).to_numpy()[rows] for n in names}
    frame = pa.table({f"{n}{i // 8}": columns[n] for i, n in enumerate(names * 3)})
    frame = frame.select(frame.column_names[:attributes])
    survey = Survey(Schema.from_frame(frame), 2, epsilon, "InpEM")
    tally = survey.tally(survey.randomize(frame, seed="em"), simulation=True)
    tables = tally.release().marginals()
    assert len(tables) == comb(attributes, 2)
    assert sum(table.notes["failed_at_once"] for table in tables) >= at_least


def test_em_does_not_fail_where_there_is_enough_to_see(shared_data):
    taxi = pq.read_table(shared_data / "taxi_2015_2019.parquet").slice(0, 1 << 18)
    frame = taxi.select(["CC", "Toll", "Far", "Tip"])
    survey = Survey(Schema.from_frame(frame), 2, 2.0, "InpEM")
    tally = survey.tally(survey.randomize(frame, seed="em"), simulation=True)
    for table in tally.release().marginals():
        assert table.notes["converged"]
        assert not table.notes["failed_at_once"]
        assert np.isnan(table.covariance).all(), "no covariance is known for EM"


@pytest.mark.parametrize(
    ("name", "attributes", "epsilon", "options"),
    [(name, 3, 1.3, {}) for name in MECHANISMS if name != "InpEM"]
    + [
        ("Subspace", 4, 2.0, {}),  # two ways of answering, pooled by precision
        ("Subspace", 3, 0.3, {"dimension": 1}),
        ("Subspace", 4, 1.3, {"workload": {("a0", "a1"): 2.0, ("a1", "a2"): 1.0, ("a3",): 1.0}}),
    ],
)
def test_covariances_are_those_of_the_whole_law(name, attributes, epsilon, options):
    """The exact covariance of one report's scores, by enumeration of slots, values and records."""
    random = np.random.default_rng(10)
    population = random.dirichlet(np.ones(1 << attributes))
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    survey = MECHANISMS[name].survey(schema, 2, epsilon, **options)
    table = np.array([[0, 1]])
    truth = _theta(population, table[0])
    people = 1000.0
    found = decoder_of(survey).expected(people).covariance(table, truth[None, :])[0]
    exact = _enumerated(survey, population, table[0], truth) / people
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-15), name


def _theta(population, members):
    cells = np.arange(len(population))
    return np.array(
        [
            sum(
                p * (-1) ** int(sum(c >> members[i] & 1 for i in chosen))
                for c, p in zip(cells, population, strict=True)
            )
            for chosen in ((1,), (0,), (0, 1))  # masks in C order
        ]
    )


def _enumerated(survey, population, members, truth):
    """Return N·Cov of the pooled estimates: ratio estimates, so scores are centred where held."""
    wanted = [frozenset(members[list(c)].tolist()) for c in ((1,), (0,), (0, 1))]
    weight = np.zeros(3)
    matrix = np.zeros((3, 3))
    for slot, asked in enumerate(_slot_chances(survey)):
        question = survey.question(slot)
        answer, law = question.answer, question.answer.inclusion
        bits = _bits(question)
        for record, chance in enumerate(population):
            held = {f"a{i}": bool(record >> i & 1) for i in range(len(survey.schema))}
            symbol = question.asks.symbol(held)
            for value, p in enumerate(answer.law(symbol)):
                support = answer.support(value)
                scores, has = np.zeros(3), np.zeros(3)
                for mask in range(1, 1 << len(bits)):
                    key = frozenset()
                    for i, bit in enumerate(bits):
                        key = key ^ bit if mask >> i & 1 else key
                    if key in wanted:
                        at = wanted.index(key)
                        has[at] = 1 / _mean_square(answer)
                        sign = sum((-1) ** (mask & s).bit_count() for s in support)
                        scores[at] = sign / float(law.contrast)
                probability = chance * asked * float(Fraction(p, answer.law_total))
                off = has * (scores - truth)
                weight += probability * has
                matrix += probability * np.outer(off, off)
    return matrix / np.outer(weight, weight)


def _slot_chances(survey):
    """Return how likely each slot is, read from the survey's JSON."""
    templates = json.loads(survey.canonical())["templates"]
    if "weight" not in templates[0] and "weights" not in templates[0]:
        return np.full(survey.slots, 1 / survey.slots)
    chances = []
    for each in templates:
        slots = comb(len(survey.schema), each["attributes"])
        chances += each.get("weights") or [each["weight"] / slots] * slots
    assert sum(chances) == pytest.approx(2**32)
    return np.array(chances) / 2**32


def _bits(question):
    """Return the attributes of each bit that is asked for."""
    form = question.asks.to_json()
    if "cell" in form:
        return [frozenset({int(term["attribute"][1:])}) for term in form["cell"]]
    return [frozenset(int(term["attribute"][1:]) for term in bit) for bit in form["parities"]]


@cache
def _mean_square(answer):
    """Return the second moment of a score, by enumeration."""
    contrast, total = answer.inclusion.contrast, Fraction(0)
    for value, weight in enumerate(answer.law(0)):
        score = Fraction(sum((-1) ** (s & 1) for s in answer.support(value))) / contrast
        total += Fraction(weight, answer.law_total) * score**2
    return float(total)
