"""What a report says of one attribute: exactly its law, whatever else the question asked."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable import Schema, Survey
from deniable.analysis.open_answers import answers as answers_room
from deniable.analysis.open_answers.answers import outcome_answers
from deniable.analysis.open_answers.scores import outcome_scores
from deniable.errors import TableError
from deniable.questions.answers import Unary
from deniable.schema.attribute import Attribute

YES_NO = Schema.of(y=["no", "yes"], a=["no", "yes"], b=["no", "yes"])
MIXED = Schema.of(a=["x", "y", "z"], y=["no", "yes"], b=["p", "q", "r", "s"])
RANKS = ["low", "mid", "high", "top"]
SURVEYS = [
    *((YES_NO, name, 1.1) for name in ("InpRR", "InpPS", "InpHT", "MargRR", "MargPS", "MargHT")),
    *((YES_NO, name, 1.1) for name in ("InpEM", "Subspace")),
    (YES_NO, "Subspace", 4.0),
    *((MIXED, name, 2.0) for name in ("MargPS", "MargRR", "InpES", "Subspace", "InpEM")),
    (MIXED, "Subspace", 5.0),
]


def every_value(survey: Survey, slot: int) -> np.ndarray:
    """Return every value that a question may get; packed where values are."""
    outcomes = survey.question(slot).answer.outcomes
    return np.arange(outcomes)


def worst(survey: Survey, outcome: str) -> tuple[float, int]:
    """Return how far answers are off, over all slots, records and kinds, and how many slots tell.

    For each slot, what is said must have a law that is one and the same for all records with the same
    outcome, and in the ratio of the densities; scores must be unbiased.
    """
    position = survey.schema.index(outcome)
    records = [
        dict(zip(survey.schema.names, values, strict=True))
        for values in product(*(each.values for each in survey.schema.attributes))
    ]
    error, telling = 0.0, 0
    for slot in range(survey.slots):
        question = survey.question(slot)
        values = every_value(survey, slot)
        read = outcome_answers(survey, position, np.full(len(values), slot), values)
        telling += bool(read.tells.any())
        total = question.answer.law_total
        laws: dict[bool, list[np.ndarray]] = {False: [], True: []}
        for record in records:
            law = question.answer.law(question.asks.symbol(record))
            chances = np.array([float(Fraction(p, total)) for p in law])
            by_kind = np.bincount(read.kind, chances, len(read.if_yes))
            laws[record[outcome] == "yes"].append(by_kind)
        for rows in laws.values():
            error = max(error, float(np.ptp(np.array(rows), axis=0).max()))
        no, yes = laws[False][0], laws[True][0]
        error = max(error, float(np.abs(yes * read.if_no - no * read.if_yes).max()))
        if read.tells.any():
            error = max(error, abs(float(yes @ read.score) - 1), abs(float(no @ read.score)))
    return error, telling


@pytest.mark.parametrize(("schema", "mechanism", "epsilon"), SURVEYS)
def test_what_is_said_has_the_same_law_for_all_with_the_same_outcome(
    schema: Schema, mechanism: str, epsilon: float
) -> None:
    survey = Survey(schema, 2, epsilon, mechanism)
    error, telling = worst(survey, "y")
    assert error < 1e-12
    assert telling


def test_a_planted_bug_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities that forget the other symbols of the outcome's own half, or take no for yes."""
    survey = Survey(MIXED, 2, 4.0, "Subspace")
    honest = answers_room._Halves.densities

    def sharper(self: Any, values: Any) -> Any:
        return honest(self, values) ** 1.1

    monkeypatch.setattr(answers_room._Halves, "densities", sharper)
    assert worst(survey, "y")[0] > 1e-3
    monkeypatch.setattr(answers_room._Halves, "densities", lambda s, v: honest(s, v)[::-1])
    assert worst(survey, "y")[0] > 1e-2


def test_packed_answers_are_read_as_narrow_ones_are() -> None:
    """More than 62 symbols travel as bytes; both ways of counting bits agree with the definition."""
    schema = Schema.binary(*"abcdefg")
    survey = Survey(schema, 2, 1.0, "InpRR")
    assert survey.packed_bytes == 16
    draws = np.random.default_rng(3)
    rows = draws.integers(0, 256, (50, 16)).astype(np.uint8)
    read = outcome_answers(survey, 2, np.zeros(50, np.int64), rows)
    answer = survey.question(0).answer
    assert isinstance(answer, Unary)
    own, other = answer.own / 2**64, answer.other / 2**64
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    says_yes = np.arange(128) >> 2 & 1 == 1
    for half, density in ((says_yes, read.if_yes), (~says_yes, read.if_no)):
        share = bits[:, half].mean(axis=1)
        expected = own / other * share + (1 - own) / (1 - other) * (1 - share)
        np.testing.assert_allclose(density[read.kind], expected)


def test_a_question_about_exactly_one_of_two_says_nothing() -> None:
    survey = Survey(Schema.binary("y", "a"), 2, 1.0, "InpHT")
    read = outcome_answers(survey, 0, np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]))
    assert [survey.question(slot).attributes for slot in range(3)] == [("y",), ("a",), ("y", "a")]
    assert read.tells.tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [("MargRR", 2.0), ("Subspace", 4.0), ("InpPS", 1.0)]
)
def test_the_precision_is_that_of_answers_by_chance_alone(mechanism: str, epsilon: float) -> None:
    """The difference of the densities, against the law in which every symbol is as true as any other."""
    survey = Survey(YES_NO, 2, epsilon, mechanism)
    for slot in range(survey.slots):
        question = survey.question(slot)
        values = every_value(survey, slot)
        read = outcome_answers(survey, 0, np.full(len(values), slot), values)
        if not read.tells.any():
            continue
        answer = question.answer
        if isinstance(answer, Unary):
            other = answer.other / 2**64
            ones = np.bitwise_count(values).astype(int)
            chances = other**ones * (1 - other) ** (answer.symbols - ones)
        else:
            chances = np.full(len(values), 1 / len(values))
        gap = (read.if_yes - read.if_no)[read.kind]
        np.testing.assert_allclose(chances @ gap**2, read.precision[read.kind][0])


@pytest.mark.parametrize(("schema", "mechanism", "epsilon"), SURVEYS)
def test_the_noise_is_that_of_the_law(schema: Schema, mechanism: str, epsilon: float) -> None:
    """The variance of the score, given the truth, whatever else is asked."""
    survey = Survey(schema, 2, epsilon, mechanism)
    position = survey.schema.index("y")
    for slot in range(survey.slots):
        question = survey.question(slot)
        values = every_value(survey, slot)
        read = outcome_answers(survey, position, np.full(len(values), slot), values)
        if not read.tells.any():
            continue
        scores = read.score[read.kind]
        for truth, noise in (("no", read.noise_if_no), ("yes", read.noise_if_yes)):
            record = {each.name: each.values[0] for each in schema.attributes} | {"y": truth}
            law = question.answer.law(question.asks.symbol(record))
            chances = np.array([float(Fraction(p, question.answer.law_total)) for p in law])
            square = chances @ (scores - (truth == "yes")) ** 2
            np.testing.assert_allclose(square, noise[read.kind][0], rtol=1e-9)


def test_an_outcome_of_more_values_has_no_yes() -> None:
    survey = Survey(MIXED, 2, 1.0)
    none = np.zeros(0, np.int64)
    with pytest.raises(
        TableError, match="'a' must have two values for reports to tell yes from no"
    ):
        outcome_answers(survey, 0, none, none)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", ["age", "rank"])
def test_scores_are_unbiased_given_any_record(name: str, epsilon: float) -> None:
    """Exactly: over all slots with their chances, and all values with theirs."""
    schema = Schema.of(
        age=(18, 23), rank=Attribute("rank", tuple(RANKS), ordered=True), y=["no", "yes"]
    )
    survey = Survey(schema, 2, epsilon, "Subspace", people=10**6)
    position = schema.index(name)
    chances = np.concatenate(
        [
            np.broadcast_to(survey.index.chances(t), stop - start)
            for t, (start, stop) in enumerate(
                zip(survey.index.starts, survey.index.starts[1:], strict=False)
            )
        ]
    )
    lists = [range(18, 24), RANKS, ["no", "yes"]]
    records = [dict(zip(schema.names, each, strict=True)) for each in product(*lists)]
    sums, shares = np.zeros((2, len(records)))
    for slot in range(survey.slots):
        question = survey.question(slot)
        values = every_value(survey, slot)
        read = outcome_scores(survey, position, np.full(len(values), slot), values)
        scores, weights = read.values, read.weights
        if not weights.any():
            continue
        for number, record in enumerate(records):
            law = question.answer.law(question.asks.symbol(record))
            law_shares = np.array([float(Fraction(p, question.answer.law_total)) for p in law])
            sums[number] += chances[slot] * (law_shares @ (weights * scores))
            shares[number] += chances[slot] * (law_shares @ weights)
    truth = {
        "age": [float(record["age"]) for record in records],
        "rank": [1.0 + RANKS.index(str(record["rank"])) for record in records],
    }[name]
    np.testing.assert_allclose(sums / shares, truth, atol=1e-9)
