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
            "Is your age one of these 2: middle, old? "
            "With probability 1/4 your device reports the opposite.",
        ),
        (
            asking((Term("a", (1, 2)), TALL), (TALL,), answer=Unary(4, 3 << 62, 1 << 62)),
            "2 questions at once. (1) Is exactly one of these true for you: a is one of 1, 2; tall? "
            "(2) Is it true for you: tall? Your device answers yes or no to each of the 4 "
            "combinations: yes to the true one with probability 3/4, yes to any other with "
            "probability 1/4.",
        ),
        (
            Question("", 0, Cell((Term("a", tuple(range(9000))),)), Subset(9000, 3, 1 << 63)),
            "Which of the 9,000 values of a is yours? Your device reports 3 of the 9,000 "
            "possible answers; the true one is among them with probability 1/2.",
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
            asking((TALL,), (TALL, RICH), answer=Subset(4, 2, 3 << 62)),
            "2 questions at once. Is it true for you: tall? "
            "Is exactly one of tall and rich true for you? "
            "Your device reports 2 of the 4 combinations of yes and no; "
            "the true one is among them with probability 3/4.",
        ),
    ],
)
def test_a_question_speaks_plain_english(question: Question, english: str) -> None:
    assert question.english() == english


def test_a_question_about_many_attributes_stays_readable() -> None:
    survey = Survey(Schema.binary(*(f"a{i}" for i in range(40))), 2, 1.1, "InpEM")
    assert "a7 and 32 more: is it true for you?" in survey.question(0).english()


SCHOOL = ("Preschool", "HS-grad", "Some", "Assoc", "Bachelors", "Masters", "Doctorate", "Prof",
          "9th", "10th")  # fmt: skip


@pytest.mark.parametrize(
    ("bits", "english"),
    [
        (
            [[Term("school", SCHOOL[:8])]],
            "Is your school one of these 8: "
            "Preschool, HS-grad, Some, Assoc, Bachelors, Masters, Doctorate, Prof?",
        ),
        (
            [[Term("school", SCHOOL)]],
            "Is your school one of these 10: Preschool, HS-grad, Some, Assoc and 6 more?",
        ),
        (
            [[Term("school", SCHOOL), Term("income", ("high",))]],
            "Is exactly one of these true for you: "
            "school is one of Preschool, HS-grad and 8 more; income is high?",
        ),
        (
            [[AGE, Term("sex", ("m",)), TALL]],
            "Is an odd number of these true for you: "
            "age is one of young, middle, old; sex is m; tall?",
        ),
        (
            [[Term("school", SCHOOL)], [Term("sex", ("m",))], [TALL]],
            "For each of these 3: (1) school is one of Preschool, HS-grad and 8 more; (2) sex is m; "
            "(3) tall: is it true for you?",
        ),
        (
            [[Term("school", SCHOOL)], [TALL, AGE]],
            "2 questions at once. (1) Is your school one of these 10: Preschool, HS-grad and 8 more? "
            "(2) Is exactly one of these true for you: tall; age is one of young, middle, old?",
        ),
        ([[Term("tall", (False,))]], "Is it true for you: tall is false?"),
        (
            [[Term("tall", (True, "not said"))]],
            "Is it true for you: tall is one of true, not said?",
        ),
        ([[Term("age", ("20 to 30",))]], "Is it true for you: age is 20 to 30?"),
        (
            [[Term("age", ("below 18", "65 or more", "missing"))]],
            "Is your age one of these 3: below 18, 65 or more, missing?",
        ),
        ([[Term("rooms", (-1, 0, 12000))]], "Is your rooms one of these 3: -1, 0, 12000?"),
        ([[Term("work", ("?",))]], 'Is it true for you: work is "?"?'),
        (
            [[Term("work", ("", " ", " x", "a, b", "b; c is d"))]],
            'Is your work one of these 5: "", " ", " x", "a, b", "b; c is d"?',
        ),
        (
            [[Term("work", ("a\n", "a\u202eb", 'say "no"', "c\\d", "Masters and 6 more"))]],
            r'Is your work one of these 5: "a\u{a}", "a\u{202e}b", "say \"no\"", c\d, '
            '"Masters and 6 more"?',
        ),
        ([[Term("a; b", ("x",))], [TALL]],
         'For each of these 2: (1) "a; b" is x; (2) tall: is it true for you?'),
        ([[Term(" ", (True,))]], 'Is it true for you: " "?'),
        ([[Term("خانه\u200cها", (True,))]], "Is it true for you: خانه\u200cها?"),
    ],
)  # fmt: skip
def test_a_question_about_several_values_speaks_plain_english(
    bits: list[list[Term]], english: str
) -> None:
    asks = Parities(tuple(map(tuple, bits)))
    assert asks.english() == english
    if "6 more" not in english and "8 more" not in english:
        assert asks.english(full=True) == english


def test_the_full_english_of_a_question_lists_everything() -> None:
    names = [f"a{i}" for i in range(40)]
    asks = Parities(tuple((Term(name, (True,)),) for name in names))
    assert f"{', '.join(names[:-1])} and a39: is it true" in asks.english(full=True)
    asks = Parities((tuple(Term(name, (1, 2)) for name in names),))
    assert asks.english().endswith("; a7 is one of 1, 2; and 32 more?")
    assert asks.english(full=True).count("is one of 1, 2") == 40
    asks = Parities(tuple((Term(name, (1,)),) for name in names))
    assert asks.english().endswith("; (8) a7 is 1; and 32 more: is it true for you?")
    assert "; (40) a39 is 1: is it true" in asks.english(full=True)
    assert Cell((AGE,)).english(full=True) == (
        "Which of the 3 values of age is yours: young, middle, old?"
    )
    assert Cell((SEX, Term("tall", (False, True)))).english(full=True) == (
        "Which of the 4 combinations of sex (f, m) and tall (false, true) is yours?"
    )
    question = asking((Term("school", SCHOOL),))
    assert question.english(full=True) == (
        f"Is your school one of these 10: {', '.join(SCHOOL)}? "
        "With probability 1/4 your device reports the opposite."
    )


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
