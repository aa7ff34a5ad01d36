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


OPPOSITE = "Your device reports the opposite with probability 1/4."


@pytest.mark.parametrize(
    ("question", "english"),
    [
        (asking((TALL,)), f"Is this your answer?\n• tall – yes\n{OPPOSITE}"),
        (
            asking((TALL, RICH)),
            f"Is exactly one of these two true for you?\n• tall – yes\n• rich – yes\n{OPPOSITE}",
        ),
        (
            asking((TALL, RICH, KIND)),
            "Are an odd number of these 3 true for you (1 or 3)?\n"
            f"• tall – yes\n• rich – yes\n• kind – yes\n{OPPOSITE}",
        ),
        (asking((Term("sex", ("m",)),)), f"Is this your answer?\n• sex – m\n{OPPOSITE}"),
        (asking((Term("smokes", (1,)),)), f"Is this your answer?\n• smokes – 1\n{OPPOSITE}"),
        (
            asking((Term("age", ("middle", "old")),)),
            f"Is your answer one of these 2?\n• age – middle or old\n{OPPOSITE}",
        ),
        (
            asking((Term("a", (1, 2)), TALL), (TALL,), answer=Unary(4, 3 << 62, 1 << 62)),
            "2 questions at once:\n"
            "1. Is exactly one of these two true for you?\n   • a – 1 or 2\n   • tall – yes\n"
            "2. Is this your answer?\n   • tall – yes\n"
            "For each of the 4 possible answers your device reports yes or no: yes for the true one "
            "with probability 3/4, yes for any other with probability 1/4.",
        ),
        (
            Question("", 0, Cell((Term("a", tuple(range(9000))),)), Subset(9000, 3, 1 << 63)),
            "Which of these 9,000 is your answer?\n• a – 0, 1, 2, 3 or 8,996 more\n"
            "Your device reports 3 of the 9,000 possible answers; the true one is among them with "
            "probability 1/2.",
        ),
        (
            Question("", 0, Cell((SEX,)), RR),
            f"Which of these 2 is your answer?\n• sex – f or m\n{OPPOSITE}",
        ),
        (
            Question("", 0, Cell((SEX, AGE)), Subset(6, 1, 1 << 63)),
            "Which of these 6 combinations is yours?\n"
            "• sex – f or m\n• age – young, middle or old\n"
            "Your device reports the true answer with probability 1/2, otherwise one of the other 5 "
            "at random.",
        ),
        (
            asking((TALL,), (RICH,), answer=Bitwise(2, 2**64 // 10 * 9)),
            "For each of these 2: is it true for you, yes or no?\n• tall – yes\n• rich – yes\n"
            "Your device reports the opposite of each answer with probability 1/10.",
        ),
        (
            asking((TALL,), (TALL, RICH), answer=Subset(4, 2, 3 << 62)),
            "2 questions at once:\n1. Is this your answer?\n   • tall – yes\n"
            "2. Is exactly one of these two true for you?\n   • tall – yes\n   • rich – yes\n"
            "Your device reports 2 of the 4 possible answers; the true one is among them with "
            "probability 3/4.",
        ),
    ],
)
def test_a_question_speaks_plain_english(question: Question, english: str) -> None:
    assert question.english() == english
    assert (question.english(full=True) == english) is (" more" not in english)
    assert question.english(full=True) == question.words("en")


def test_a_question_about_many_attributes_stays_readable() -> None:
    survey = Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.1, "InpEM")
    assert "\n• a7 – yes\n• … – 32 more\n" in survey.question(0).english()
    assert "\n• a39 – yes\n" in survey.question(0).english(full=True)


SCHOOL = ("Preschool", "HS-grad", "Some", "Assoc", "Bachelors", "Masters", "Doctorate", "Prof",
          "9th", "10th")  # fmt: skip


@pytest.mark.parametrize(
    ("term", "says"),
    [
        (Term("school", SCHOOL[:8]),
         "school – Preschool, HS-grad, Some, Assoc, Bachelors, Masters, Doctorate or Prof"),
        (Term("school", SCHOOL), "school – Preschool, HS-grad, Some, Assoc or 6 more"),
        (Term("tall", (False,)), "tall – no"),
        (Term("tall", (True, "not said")), "tall – yes or not said"),
        (Term("age", ("20 to 30",)), "age – 20 to 30"),
        (Term("age", ("below 18", "65 or more", "?")), "age – “below 18”, “65 or more” or “?”"),
        (Term("age", ("65 or more",)), "age – “65 or more”"),
        (Term("rooms", (-1, 0, 12000)), "rooms – -1, 0 or 12000"),
        (Term("work", ("", " ", " x", "a, b")), 'work – "", " ", " x" or “a, b”'),
        (Term("work", ("a\n", "a\u202eb", 'say "no"', "c\\d")),
         r'work – "a\u{a}", "a\u{202e}b", "say \"no\"" or “c\d”'),
        (Term("work", ('say "no"',)), 'work – say "no"'),
        (Term("work", ('"no"',)), r'work – "\"no\""'),
        (Term(" ", (True,)), '" " – yes'),
        (Term("خانه\u200cها", (True,)), "\u2068خانه\u200cها\u2069 – yes"),
    ],
)  # fmt: skip
def test_what_a_question_is_about_is_said_to_the_letter(term: Term, says: str) -> None:
    assert asking((term,)).english().splitlines()[1] == f"• {says}"


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


@pytest.mark.slow
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
