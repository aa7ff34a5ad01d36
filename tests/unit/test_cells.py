"""Evidence about cells, against the exact law of a report from every record.

The oracle knows nothing of inclusion probabilities, kernels or moments. It takes the probability of
each value that may be reported, and undoes the noise cell by cell with sums over subsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from deniable import ReportBatch, Schema, Survey
from deniable.collector.engines import count_reports
from deniable.decoding.cell_forms import TableReports
from deniable.decoding.cells import CellEvidence
from deniable.decoding.decoder import decoder_of
from deniable.errors import TableError
from deniable.questions.answers import Subset, Unary

EPSILON = 1.3


@cache
def way(kind: str, symbols: int) -> Subset | Unary:
    if kind == "unary":
        return Unary.within(EPSILON, symbols)
    if kind == "optimised":
        return Unary.within(EPSILON, symbols, optimised=True)
    return Subset.within(EPSILON, symbols, int(kind))


@cache
def law(kind: str, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each value given each symbol, and which symbols each supports."""
    answer = way(kind, symbols)
    chance = [[p / answer.law_total for p in answer.law(s)] for s in range(symbols)]
    supports = np.zeros((answer.outcomes, symbols))
    for value in range(answer.outcomes):
        supports[value, list(answer.support(value))] = 1
    return np.array(chance), supports


def cells(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the codes of all cells, in C order."""
    return list(product(*(range(r) for r in sizes)))


def subsets(items: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [s for size in range(len(items) + 1) for s in combinations(items, size)]


@dataclass
class Slot:
    """One table that people were asked about: which, how many, and in which way."""

    attributes: tuple[int, ...]
    people: float
    kind: str


class Oracle:
    """Everything by enumeration, for one population."""

    def __init__(self, sizes: tuple[int, ...], seed: int = 0) -> None:
        self.sizes = sizes
        self.records = cells(sizes)
        self.population = np.random.default_rng(seed).dirichlet(np.ones(len(self.records)))

    def sizes_of(self, table: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in table)

    def truth(self, table: tuple[int, ...]) -> np.ndarray:
        places = {codes: i for i, codes in enumerate(cells(self.sizes_of(table)))}
        out = np.zeros(len(places))
        for record, share in zip(self.records, self.population, strict=True):
            out[places[tuple(record[a] for a in table)]] += share
        return out

    def weight(self, slot: Slot) -> float:
        """Return one over the second moment of a contrast, where all symbols are as likely."""
        symbols = prod(self.sizes_of(slot.attributes))
        chance, supports = law(slot.kind, symbols)
        seen = chance @ supports
        contrast = np.zeros(symbols)
        contrast[:2] = np.sqrt(symbols / 2), -np.sqrt(symbols / 2)
        scores = supports @ contrast / (seen[0, 0] - seen[0, 1])
        return float(1 / (chance.mean(axis=0) @ scores**2))

    def weights(self, slots: list[Slot], held: tuple[int, ...]) -> float:
        return sum(s.people * self.weight(s) for s in slots if set(held) <= set(s.attributes))

    def decoder(self, table: tuple[int, ...], slot: Slot, slots: list[Slot]) -> np.ndarray:
        """Return what a report that supports one cell (column) adds to a table's cells (rows)."""
        asked = cells(self.sizes_of(slot.attributes))
        chance, supports = law(slot.kind, len(asked))
        seen = chance @ supports
        scale = self.weight(slot) / (seen[0, 0] - seen[0, 1])
        wanted = cells(self.sizes_of(table))
        out = np.zeros((len(wanted), len(asked)))
        for held in subsets(table)[1:]:
            if not set(held) <= set(slot.attributes):
                continue
            spread = prod(self.sizes[a] for a in table if a not in held)
            total = self.weights(slots, held) * spread
            for row, to in enumerate(wanted):
                for column, reported in enumerate(asked):
                    at = dict(zip(table, to, strict=True))
                    true = dict(zip(slot.attributes, reported, strict=True))
                    for part in subsets(held):
                        if all(at[a] == true[a] for a in part):
                            rest = [self.sizes[a] for a in held if a not in part]
                            out[row, column] += scale * (-1) ** len(rest) / prod(rest) / total
        return out

    def covariance(self, table: tuple[int, ...], slots: list[Slot]) -> np.ndarray:
        """Return the covariance of a table's estimate over people drawn at random, and noise."""
        size = prod(self.sizes_of(table))
        out = np.zeros((size, size))
        for slot in slots:
            chance, supports = law(slot.kind, prod(self.sizes_of(slot.attributes)))
            probability = self.truth(slot.attributes) @ chance
            added = supports @ self.decoder(table, slot, slots).T
            mean = probability @ added
            out += slot.people * ((added.T * probability) @ added - np.outer(mean, mean))
        return out

    def answered(self, slot: Slot, supports: np.ndarray | None = None) -> TableReports:
        symbols = prod(self.sizes_of(slot.attributes))
        if supports is None:
            chance, support = law(slot.kind, symbols)
            supports = slot.people * (self.truth(slot.attributes) @ chance @ support)
        inclusion = way(slot.kind, symbols).inclusion
        return TableReports(slot.attributes, slot.people, supports, inclusion, symbols)

    def evidence(self, order: int, slots: list[Slot], *, pooled: bool = True) -> CellEvidence:
        return CellEvidence(self.sizes, order, [self.answered(s) for s in slots], pooled=pooled)


def rows(*table: int) -> np.ndarray:
    return np.array([table])


PAIRS = [Slot((0, 1), 5, "1"), Slot((0, 2), 3, "unary"), Slot((1, 2), 7, "2")]
MIXED = [
    Slot((0, 1), 5, "unary"),
    Slot((0, 1), 2, "2"),
    Slot((0, 2), 1, "1"),
    Slot((1, 2), 4, "2"),
    Slot((0, 1, 2), 6, "1"),
    Slot((2,), 3, "optimised"),
]
CASES = [
    ((2, 3), 1, [Slot((0,), 4, "1"), Slot((1,), 3, "2")]),
    ((2, 3), 2, [Slot((0, 1), 1, "1")]),
    ((2, 3), 2, [Slot((0, 1), 1, "2")]),
    ((2, 3), 2, [Slot((0, 1), 9, "unary")]),
    ((3, 4), 2, [Slot((0, 1), 1, "optimised")]),
    ((3, 4), 2, [Slot((0, 1), 2, "2"), Slot((0, 1), 5, "1"), Slot((1,), 3, "unary")]),
    ((3, 4), 1, [Slot((0, 1), 2, "1")]),
    ((2, 3, 5), 2, PAIRS),
    ((2, 3, 5), 2, MIXED),
    ((2, 3, 5), 3, MIXED),
    ((2, 2, 2), 3, MIXED[:5]),
    ((2, 3, 5), 3, [Slot((0, 1, 2), 2, "2")]),
    ((2, 3, 5), 1, [Slot((0, 1, 2), 2, "1"), Slot((0, 2), 2, "1")]),
]


def every_table(sizes: tuple[int, ...], order: int) -> list[tuple[int, ...]]:
    return [t for t in subsets(tuple(range(len(sizes)))) if 1 <= len(t) <= order]


@pytest.mark.parametrize(("sizes", "order", "slots"), CASES)
def test_means_and_covariances_are_those_of_the_law(sizes, order, slots) -> None:
    oracle = Oracle(sizes)
    evidence = oracle.evidence(order, slots)
    for table in every_table(sizes, order):
        truth = oracle.truth(table)
        found = evidence.tables(rows(*table))
        assert found.known.all()
        np.testing.assert_allclose(found.values[0], truth, atol=1e-12)
        want = oracle.covariance(table, slots)
        for given in (truth[None], None):  # the estimates are the truth here
            covariance = evidence.cell_covariances(rows(*table), given)[0]
            np.testing.assert_allclose(covariance, want, rtol=1e-9, atol=1e-12)
            variance = evidence.cell_variances(rows(*table), given)[0]
            np.testing.assert_allclose(variance, np.diag(want), rtol=1e-9)
        np.testing.assert_allclose(covariance.sum(axis=1), 0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        *(((2, 3), kind) for kind in ("1", "2", "unary", "optimised")),
        *(((3, 4), kind) for kind in ("1", "2")),
        ((2, 3, 5), "2"),
    ],
)
def test_the_mean_of_a_single_decoded_report_is_the_truth(sizes, kind) -> None:
    whole = tuple(range(len(sizes)))
    oracle, slot = Oracle(sizes), Slot(whole, 1, kind)
    chance, supports = law(kind, prod(sizes))
    for table in ((0,), (1,), whole):
        found = np.array(
            [
                CellEvidence(sizes, 3, [oracle.answered(slot, each)]).tables(rows(*table)).values[0]
                for each in supports
            ]
        )
        probability = oracle.truth(whole) @ chance
        mean = probability @ found
        np.testing.assert_allclose(mean, oracle.truth(table), atol=1e-12)
        apart = found - mean
        np.testing.assert_allclose(
            (apart.T * probability) @ apart, oracle.covariance(table, [slot]), atol=1e-10
        )


def test_without_pooling_only_the_completed_table_is_read() -> None:
    oracle = Oracle((2, 3, 5))
    evidence = oracle.evidence(2, MIXED, pooled=False)
    for table, home in {
        (0,): (0, 1),
        (1,): (0, 1),
        (2,): (0, 2),
        (0, 1): (0, 1),
        (0, 2): (0, 2),
        (1, 2): (1, 2),
    }.items():
        read = [slot for slot in MIXED if slot.attributes == home]
        want = oracle.covariance(table, read)
        truth = oracle.truth(table)[None]
        found = evidence.cell_covariances(rows(*table), truth)[0]
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            evidence.cell_variances(rows(*table), truth)[0], np.diag(want), rtol=1e-9
        )
        np.testing.assert_allclose(evidence.tables(rows(*table)).values, truth, atol=1e-12)


def test_without_pooling_other_tables_change_nothing() -> None:
    oracle, draw = Oracle((2, 3, 5)), np.random.default_rng(1)
    noisy = [
        oracle.answered(s, draw.random(prod(oracle.sizes_of(s.attributes))) * s.people)
        for s in MIXED
    ]
    alone = [a for a in noisy if a.attributes == (0, 2)]
    for table in ((2,), (0, 2)):
        every = CellEvidence(oracle.sizes, 2, noisy, pooled=False).tables(rows(*table)).values
        np.testing.assert_array_equal(
            every, CellEvidence(oracle.sizes, 2, alone, pooled=False).tables(rows(*table)).values
        )
        assert np.abs(
            every - CellEvidence(oracle.sizes, 2, noisy).tables(rows(*table)).values
        ).max()


def test_weights_that_are_not_squared_are_noticed(monkeypatch) -> None:
    oracle = Oracle((2, 3, 5))
    want = oracle.covariance((0, 1), MIXED)
    squared = TableReports.moments.fget

    def planted(self: TableReports) -> np.ndarray:
        right = squared(self)
        right[1:] /= self.weight
        return right

    monkeypatch.setattr(TableReports, "moments", property(planted))
    found = oracle.evidence(2, MIXED).cell_covariances(rows(0, 1), oracle.truth((0, 1))[None])[0]
    assert not np.allclose(found, want, rtol=1e-3)


@pytest.mark.parametrize("column", [1, 2, 3])
def test_each_of_the_three_sums_matters(monkeypatch, column) -> None:
    oracle = Oracle((2, 3, 5))
    want = oracle.covariance((0, 1), MIXED)
    right = TableReports.moments.fget
    off = np.where(np.arange(4) == column, 1.01, 1)
    monkeypatch.setattr(TableReports, "moments", property(lambda self: right(self) * off))
    found = oracle.evidence(2, MIXED).cell_variances(rows(0, 1), oracle.truth((0, 1))[None])[0]
    assert not np.allclose(found, np.diag(want), rtol=1e-6)


def test_pooled_tables_agree_on_what_they_share() -> None:
    oracle, draw = Oracle((2, 3, 5)), np.random.default_rng(2)
    noisy = [
        oracle.answered(s, draw.random(prod(oracle.sizes_of(s.attributes))) * s.people)
        for s in MIXED
    ]
    evidence = CellEvidence(oracle.sizes, 3, noisy)
    shaped = {
        table: evidence.tables(rows(*table)).values[0].reshape(oracle.sizes_of(table))
        for table in every_table(oracle.sizes, 3)
    }
    for table, values in shaped.items():
        assert values.sum() == pytest.approx(1)
        for part in subsets(table)[1:]:
            gone = tuple(i for i, a in enumerate(table) if a not in part)
            np.testing.assert_allclose(values.sum(axis=gone), shaped[part], atol=1e-12)


@pytest.mark.parametrize("pooled", [True, False])
def test_many_tables_at_once_are_those_one_by_one(pooled) -> None:
    oracle, draw = Oracle((2, 3, 2, 3)), np.random.default_rng(3)
    slots = [Slot(t, i + 1, "1") for i, t in enumerate(combinations(range(4), 2))]
    noisy = [
        oracle.answered(s, draw.random(prod(oracle.sizes_of(s.attributes))) * s.people)
        for s in slots
    ]
    evidence = CellEvidence(oracle.sizes, 2, noisy, pooled=pooled)
    together = np.array([(0, 1), (0, 3), (2, 3)])
    for ask in (
        lambda t: evidence.tables(t).values,
        evidence.cell_variances,
        evidence.cell_covariances,
    ):
        np.testing.assert_allclose(
            ask(together), np.concatenate([ask(t[None]) for t in together]), atol=1e-13
        )
    with pytest.raises(ValueError, match="same sizes"):
        evidence.tables(np.array([(0, 1), (1, 2)]))


@pytest.mark.parametrize("pooled", [True, False])
def test_what_nobody_was_asked_is_unknown(pooled) -> None:
    oracle = Oracle((2, 3, 5))
    slots = [Slot((0, 1), 5, "1"), Slot((1, 2), 0, "1")]
    evidence = oracle.evidence(2, slots, pooled=pooled)
    for table, known in {(0, 1): True, (1, 2): False, (0, 2): False, (0,): True}.items():
        found = evidence.tables(rows(*table))
        assert found.known.tolist() == [known]
        assert np.isfinite(found.values).all()
        variance = evidence.cell_variances(rows(*table))
        covariance = evidence.cell_covariances(rows(*table))[0]
        assert np.isfinite(variance).all() == known
        assert np.isinf(np.diag(covariance)).all() == (not known)
        off = covariance[~np.eye(len(covariance), dtype=bool)]
        assert np.isnan(off).all() == (not known)
        assert np.isnan(off).any() == (not known)
    half = evidence.tables(rows(1, 2)).values.reshape(3, 5)
    want = oracle.truth((1,)) if pooled else np.full(3, 1 / 3)
    np.testing.assert_allclose(half.sum(axis=1), want, atol=1e-12)
    assert evidence.plausible


def test_a_table_beyond_the_order_is_unknown() -> None:
    evidence = Oracle((2, 3, 5)).evidence(2, [Slot((0, 1, 2), 2, "1")])
    assert evidence.tables(rows(0, 1)).known.all()
    assert not evidence.tables(rows(0, 1, 2)).known.any()
    assert np.isinf(evidence.cell_variances(rows(0, 1, 2))).all()


def test_nothing_asked_is_nothing_known() -> None:
    evidence = CellEvidence((2, 3), 2, [])
    np.testing.assert_allclose(evidence.tables(rows(0, 1)).values, 1 / 6)
    assert np.isinf(evidence.cell_variances(rows(0, 1))).all()
    assert evidence.plausible


def test_expected_reports_have_variances_but_no_estimates() -> None:
    oracle = Oracle((3, 4))
    oracle.population[:] = 1 / 12
    slot = Slot((0, 1), 2.5, "2")
    expected = TableReports((0, 1), 2.5, None, way("2", 12).inclusion, 12)
    evidence = CellEvidence((3, 4), 2, [expected])
    want = oracle.covariance((0, 1), [slot])
    np.testing.assert_allclose(evidence.cell_covariances(rows(0, 1))[0], want, atol=1e-12)
    np.testing.assert_allclose(evidence.cell_variances(rows(0, 1))[0], np.diag(want), atol=1e-12)
    assert evidence.plausible
    with pytest.raises(TableError, match="no estimates"):
        evidence.tables(rows(0, 1))


def test_a_covariance_that_is_too_large_is_refused() -> None:
    law_ = Subset.within(1.0, 65 * 64).inclusion
    evidence = CellEvidence((65, 64), 2, [TableReports((0, 1), 9, np.ones(65 * 64), law_, 65 * 64)])
    assert evidence.cell_variances(rows(0, 1)).shape == (1, 65 * 64)
    with pytest.raises(TableError, match="a covariance of 17,305,600 numbers"):
        evidence.cell_covariances(rows(0, 1))


@pytest.mark.parametrize("estimator", ["pooled", "unpooled"])
@pytest.mark.parametrize("name", ["MargPS", "MargRR"])
def test_binary_attributes_give_what_coefficients_give(name, estimator) -> None:
    survey = Survey(Schema.binary("a", "b", "c", "d"), 2, 1.1, name)
    draw = np.random.default_rng(4)
    slots = draw.choice(6, 500, p=np.array([5, 1, 2, 3, 1, 1]) / 13)
    high = 4 if name == "MargPS" else 16
    batch = ReportBatch(survey.id, slots, draw.integers(high, size=500))
    counts = count_reports(survey, batch)
    other = decoder_of(survey).decode(counts.slot, counts.value, counts.count, estimator)
    answer = survey.templates[0].answer
    supports, people = answer.count(6, counts.slot, counts.value, counts.count)
    asked = survey.index.attributes_of(np.arange(6))
    answered = [
        TableReports(
            tuple(row), float(n), seen.reshape(2, 2).T.ravel().astype(float), answer.inclusion, 4
        )
        for row, n, seen in zip(asked.tolist(), people, supports, strict=True)
    ]
    evidence = CellEvidence((2,) * 4, 2, answered, pooled=estimator == "pooled")
    for tables in (asked, np.arange(4)[:, None]):
        np.testing.assert_allclose(
            evidence.tables(tables).values, other.tables(tables).values, atol=1e-13
        )
        truth = draw.dirichlet(np.ones(1 << tables.shape[1]), size=len(tables))
        want = other.cell_covariances(tables, truth)
        np.testing.assert_allclose(evidence.cell_covariances(tables, truth), want, atol=1e-13)
        np.testing.assert_allclose(
            evidence.cell_variances(tables, truth), np.einsum("rii->ri", want), atol=1e-13
        )


def test_ten_binary_attributes_and_a_whole_record() -> None:
    draw = np.random.default_rng(5)
    law_ = Subset.within(2.0, 1 << 10).inclusion
    ten = TableReports(tuple(range(10)), 100, draw.random(1 << 10), law_, 1 << 10)
    evidence = CellEvidence((2,) * 10, 10, [ten])
    table = np.arange(10)[None]
    covariance = evidence.cell_covariances(table)[0]
    np.testing.assert_allclose(evidence.cell_variances(table)[0], np.diag(covariance), rtol=1e-9)
    three = CellEvidence((2,) * 10, 3, [ten])
    wide = evidence.tables(table).values.reshape((2,) * 10)
    np.testing.assert_allclose(
        three.tables(rows(1, 4, 7)).values[0],
        wide.sum(axis=(0, 2, 3, 5, 6, 8, 9)).ravel(),
        atol=1e-12,
    )


def reported(sizes, shares, people: int, epsilon: float, seed: int) -> list[TableReports]:
    """Return reports to all pairs from people who are drawn from independent shares."""
    draw, made = np.random.default_rng(seed), []
    for pair in combinations(range(len(sizes)), 2):
        symbols = prod(sizes[a] for a in pair)
        answer = Subset.within(epsilon, symbols)
        first, second = (draw.choice(sizes[a], people, p=shares[a]) for a in pair)
        true = first * sizes[pair[1]] + second
        lie = draw.integers(symbols - 1, size=people)
        kept = draw.random(people) < float(answer.inclusion.own)
        values = np.where(kept, true, lie + (lie >= true))
        supports = np.bincount(values, minlength=symbols).astype(float)
        made.append(TableReports(pair, people, supports, answer.inclusion, symbols))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 3, 30, 1_000, 100_000])
@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_honest_reports_are_plausible(people, epsilon) -> None:
    sizes = (2, 50, 40)
    for seed in range(3):
        even = [np.full(r, 1 / r) for r in sizes]
        alike = [np.eye(r)[r // 2] for r in sizes]
        for shares in (even, alike):
            for pooled in (True, False):
                answered = reported(sizes, shares, people, epsilon, seed)
                assert CellEvidence(sizes, 2, answered, pooled=pooled).plausible


@pytest.mark.parametrize("pooled", [True, False])
def test_reports_that_all_speak_for_one_cell_are_not_plausible(pooled) -> None:
    sizes = (2, 50, 40)
    answered = reported(sizes, [np.full(r, 1 / r) for r in sizes], 10_000, 1.0, 0)
    answered[0].supports[:] = 0
    answered[0].supports[7] = 10_000
    assert not CellEvidence(sizes, 2, answered, pooled=pooled).plausible


def test_a_cell_that_no_report_speaks_for_is_not_plausible_among_many() -> None:
    answer = Unary.within(1.0, 6).inclusion
    fair = np.full(6, 10_000 * float(answer.other + answer.contrast * Fraction(1, 6)))
    assert CellEvidence((2, 3), 2, [TableReports((0, 1), 10_000, fair, answer, 6)]).plausible
    bad = fair * (np.arange(6) != 2)
    assert not CellEvidence((2, 3), 2, [TableReports((0, 1), 10_000, bad, answer, 6)]).plausible


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("kinds", [("1",), ("1", "unary"), ("unary", "1")])
def test_a_cell_may_be_as_far_out_as_chance_takes_it(kinds, sign) -> None:
    """Seven standard errors, and what single reports do to a rare cell, by Bernstein's inequality."""
    oracle, slots = Oracle((3,)), [Slot((0,), 5, kind) for kind in kinds]
    adds = [oracle.decoder((0,), slot, slots) for slot in slots]
    second = np.zeros(3)  # of cell 1, by the value that all people have
    for slot, add in zip(slots, adds, strict=True):
        chance, supports = law(slot.kind, 3)
        second += slot.people * (chance @ (supports @ add.T) ** 2)[:, 1]
    jump = max(add[1, 1] for add in adds)
    room = 7 * np.sqrt(second[0] if sign < 0 else second.max()) + 49 / 6 * jump
    for far, expected in ((0.999, True), (1.001, False)):
        values = np.full(3, 1 / 3)
        values[1] = far * (1 + room) if sign > 0 else far * -room
        values[[0, 2]] = (1 - values[1]) / 2
        first = (values - 1 / 3) / (adds[0][1, 1] - adds[0][0, 1])
        answered = [
            oracle.answered(slot, first if slot is slots[0] else np.zeros(3)) for slot in slots
        ]
        evidence = CellEvidence((3,), 1, answered)
        np.testing.assert_allclose(evidence.tables(rows(0)).values[0], values, atol=1e-9)
        assert evidence.plausible is expected
