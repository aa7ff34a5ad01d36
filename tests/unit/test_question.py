"""A question stands on its own: what it asks, its ε, its English, and its strict JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log

import pytest

from deniable import Question, Schema, Survey
from deniable.errors import QuestionError
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.entropy import Key
from deniable.questions.question import Cell, Parities, Term, odds

RR = Subset.within(log(3), 2)
SEX = Term("sex", ("f", "m"))
AGE = Term("age", ("young", "middle", "old"))
TALL, RICH, KIND = (Term(name, (True,)) for name in ("tall", "rich", "kind"))


def asking(*bits: tuple[Term, ...], answer: object = RR) -> Question:
    return Question("0" * 64, 0, Parities(bits), answer)


# What is asked


def test_a_parity_is_the_exclusive_or_of_its_terms() -> None:
    asks = Parities(((TALL, RICH, KIND), (KIND,)))
    for tall, rich, kind in product((False, True), repeat=3):
        record = {"tall": tall, "rich": rich, "kind": kind}
        assert asks.symbol(record) == (tall ^ rich ^ kind) + 2 * kind
    assert asks.symbols == 4
    assert asks.attributes == ("tall", "rich", "kind")


def test_a_cell_is_numbered_with_its_first_attribute_fastest() -> None:
    asks = Cell((SEX, AGE))
    cells = [{"sex": s, "age": a} for a in AGE.values for s in SEX.values]
    assert [asks.symbol(record) for record in cells] == list(range(6))
    turned, wide = Cell((AGE, SEX)), Cell((AGE, SEX, Term("a", (0, 1))))
    assert [turned.symbol(record) for record in cells] == [0, 3, 1, 4, 2, 5]
    assert [wide.symbol(record | {"a": 1}) for record in cells] == [6, 9, 7, 10, 8, 11]
    with pytest.raises(QuestionError, match="does not list every value of 'sex'"):
        asks.symbol({"sex": "x", "age": "old"})


def test_true_and_one_and_the_text_1_are_three_values() -> None:
    record = {"a": 1}
    assert Term("a", (True,)).place(record) is None
    assert Term("a", ("1",)).place(record) is None
    assert Term("a", (0, 1)).place(record) == 1


def test_a_question_answers_for_its_record() -> None:
    question = asking((TALL, RICH), answer=Subset.within(20.0, 2))
    source = Key.seeded("reply").stream()
    for tall, rich in product((False, True), repeat=2):
        record = {"tall": tall, "rich": rich}
        assert {question.reply(record, source) for _ in range(50)} == {int(tall ^ rich)}


# Its ε and its English


def test_epsilon_is_computed_from_the_question_alone() -> None:
    assert asking((TALL,)).epsilon <= log(3)
    assert asking((TALL,), answer=Subset(2, 1, 3 << 62)).ratio == 3
    assert asking((TALL,), answer=Subset(2, 1, 1 << 62)).ratio == 3, "lying is information too"
    assert odds(Fraction(3)) == 0.75


@pytest.mark.parametrize(
    ("question", "english"),
    [
        (
            asking((TALL,)),
            "Is it true for you: tall? With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((TALL, RICH)),
            "Is exactly one of tall and rich true for you? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((TALL, RICH, KIND)),
            "Is an odd number of tall, rich and kind true for you? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((Term("sex", ("m",)),)),
            "Is it true for you: sex is m? With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((Term("smokes", (1,)),)),
            "Is it true for you: smokes is 1? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((Term("age", ("middle", "old")),)),
            "Is it true for you: age is one of middle or old? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            Question("", 0, Cell((SEX,)), RR),
            "Which of the 2 values of sex is yours? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            Question("", 0, Cell((SEX, AGE)), Subset(6, 1, 1 << 63)),
            "Which of the 6 combinations of sex and age is yours? With probability 1/2 your device "
            "reports the true one, otherwise one of the other 5 at random.",
        ),
        (
            Question("", 0, Cell((AGE,)), Unary(3, 3 << 62, 1 << 62)),
            "Which of the 3 values of age is yours? Your device answers yes or no to each of the 3: "
            "yes to the true one with probability 3/4, yes to any other with probability 1/4.",
        ),
        (
            asking((TALL,), (RICH,), answer=Bitwise(2, 2**64 // 10 * 9)),
            "For each of these 2: tall and rich: is it true for you? "
            "Each answer is reported as its opposite with probability 1/10.",
        ),
        (
            asking((TALL,), (TALL, RICH), answer=Subset(4, 2, 1 << 63)),
            "2 questions at once. Is it true for you: tall? "
            "Is exactly one of tall and rich true for you? "
            "Your device reports 2 of the 4 combinations of yes and no; "
            "the true one is among them with probability 1/2.",
        ),
    ],
)
def test_a_question_speaks_plain_english(question: Question, english: str) -> None:
    assert question.english() == english


def test_a_question_about_many_attributes_stays_readable() -> None:
    survey = Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.1, "InpEM")
    assert "a7 and 32 more: is it true for you?" in survey.question(0).english()


# Strictness


def test_a_question_must_make_sense() -> None:
    with pytest.raises(QuestionError, match="more or fewer true answers"):
        asking((TALL,), (RICH,))
    with pytest.raises(QuestionError, match="attribute twice"):
        asking((TALL, TALL))
    with pytest.raises(QuestionError, match="value of 'sex' twice"):
        Term("sex", ("f", "f"))
    for slot in (-1, 1 << 63):
        with pytest.raises(QuestionError, match="slot"):
            replace(asking((TALL,)), slot=slot)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"survey": None},
        {"slot": 0},
        {"slot": "-1"},
        {"slot": "007"},
        {"slot": "٣"},
        {"slot": "9" * 19},
        {"slot": "9" * 5000},
        {"asks": None},
        {"asks": {}},
        {"asks": {"parities": []}},
        {"asks": {"parities": [[]]}},
        {"asks": {"parities": [TALL.to_json()]}},
        {"asks": {"parities": [[{"attribute": "tall"}]]}},
        {"asks": {"parities": [[{"attribute": "tall", "values": []}]]}},
        {"asks": {"parities": [[{"attribute": "tall", "values": [None]}]]}},
        {"asks": {"parities": [[{"attribute": "tall", "values": [[1]]}]]}},
        {"asks": {"parities": [[{"attribute": 1, "values": [True]}]]}},
        {"asks": {"parities": [[TALL.to_json() | {"extra": 1}]]}},
        {"asks": {"parities": [[TALL.to_json()]], "extra": 1}},
        {"asks": {"cell": []}},
        {"asks": {"cell": [SEX.to_json()] * 2}},
        {"asks": {"cell": [SEX.to_json(), AGE.to_json()]}},
        {"answer": None},
        {"answer": Unary(3, 2, 1).to_json()},
    ],
)
def test_a_question_in_json_that_is_not_exactly_one_is_refused(change: dict) -> None:
    form = asking((TALL,)).to_json()
    assert Question.from_json(json.loads(json.dumps(form))) == asking((TALL,))
    with pytest.raises(QuestionError):
        Question.from_json(form | change)
    for thing in (None, [], "question", 3):
        with pytest.raises(QuestionError):
            Question.from_json(thing)


def test_a_hostile_question_is_refused_before_it_costs_anything() -> None:
    form = asking((TALL,)).to_json()
    terms = [{"attribute": f"a{i}", "values": [False, True]} for i in range(20_000)]
    way = {"way": "subset", "chosen": 1, "threshold": "1"}
    for change in (
        {"answer": way | {"symbols": 10**9, "chosen": 5 * 10**8}},
        {"answer": way | {"symbols": 10**4000}},
        {"answer": {"way": "unary", "symbols": 1 << 60, "own": "2", "other": "1"}},
        {"answer": {"way": "bitwise", "bits": 10**9, "threshold": str(2**64 - 1)}},
        {"asks": {"parities": [[term] for term in terms]}},
        {"asks": {"cell": terms}},
        {"asks": {"cell": terms[:60]},
         "answer": {"way": "unary", "symbols": 1 << 60, "own": "2", "other": "1"}},
    ):  # fmt: skip
        with pytest.raises(QuestionError):
            Question.from_json(form | change)
