"""Formulas: read as in R, refused in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis.formula import MOST_CHARACTERS, Factor, Term, read_formula
from deniable.errors import TableError


def test_a_published_formula_is_read_with_its_labels():
    formula = read_formula("rr.q1 ~ asset.index + married + age/10 + (age/10)² + female")
    assert formula.outcome == "rr.q1"
    assert [term.label for term in formula.terms] == [
        "asset.index",
        "married",
        "age/10",
        "(age/10)²",
        "female",
    ]
    assert formula.terms[2].factors == (Factor("age", 10.0),)
    assert formula.terms[3].factors == (Factor("age", 10.0, 2),)
    assert formula.names == ("asset.index", "married", "age", "female")


@pytest.mark.parametrize("power", ["age^2", "age**2", "age²", "age ^ 2", "(age)^2", "`age`²"])
def test_a_power_is_written_in_several_ways(power):
    (term,) = read_formula(f"y ~ {power}").terms
    assert term.factors == (Factor("age", 1.0, 2),)
    assert term.label == power.replace(" ", "")


@pytest.mark.parametrize(
    ("terms", "labels"),
    [
        ("a:b", ["a:b"]),
        ("a*b", ["a", "b", "a:b"]),
        ("a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("a*b:c", ["a", "b:c", "a:b:c"]),
        ("a/10:b^2", ["a/10:b^2"]),
        ("a*b + b + b:a", ["a", "b", "a:b"]),
        ("1 + a", ["a"]),
        ("1", []),
        ("`how old?` + 2x", ["`how old?`", "2x"]),
        ("größe + x_1.y", ["größe", "x_1.y"]),
    ],
)
def test_products_are_spelled_out_and_no_term_comes_twice(terms, labels):
    assert [term.label for term in read_formula(f"y~{terms}").terms] == labels


def test_a_name_in_backquotes_may_be_anything():
    formula = read_formula("`y ~ z` ~ `1` + `a+b`")
    assert (formula.outcome, formula.names) == ("y ~ z", ("1", "a+b"))
    assert formula.terms[1] == Term("`a+b`", (Factor("a+b"),))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must be a name, got nothing for the outcome"),
        ("income", "needs ~ behind its outcome, got nothing"),
        ("income ~", "must be a name, got nothing for a term"),
        ("~ age", "must be a name, got '~' for the outcome"),
        ("income ~ age +", "got nothing for a term"),
        ("income ~ age sex", "joined by"),
        ("income ~ age ~ sex", "joined by"),
        ("income ~ 2", "stands in backquotes"),
        ("income ~ age - 1", "the intercept is always there"),
        ("income ~ 0 + age", "stands in backquotes"),
        ("income ~ income", "must not be among the terms"),
        ("income ~ age:age", "'age' twice"),
        ("income ~ age*age^2", "'age' twice"),
        ("income ~ age/10^2", "in brackets, such as (age/10)^2"),
        ("income ~ age/0", "must be a positive number"),
        ("income ~ age/x", "must be a positive number, got 'x'"),
        ("income ~ age^0", "whole number from 1 to 9"),
        ("income ~ age^1.5", "whole number from 1 to 9"),
        ("income ~ age^x", "must be a whole number, got 'x'"),
        ("income ~ (age", "Brackets"),
        ("income ~ (age + sex)", "Brackets"),
        ("income ~ ((age))", "must be a name, got '('"),
        ("income ~ `age", "never closed"),
        ("income ~ ``", "must not be empty"),
        ("log(income) ~ age", "needs ~ behind"),
        ("income ~ a*b*c*d*e*f*g", "at most 6 factors"),
        ("y ~ " + " + ".join(f"x{i}" for i in range(201)), "at most 200 terms"),
        ("y ~ " + "x" * MOST_CHARACTERS, "at most 4,000 characters"),
        ("y ~ a" + "9" * 400 + "/" + "9" * 400, "must be a positive number"),
        (None, "must be text, got NoneType"),
    ],
)
def test_a_mistake_is_one_short_sentence(text, sentence):
    with pytest.raises(TableError) as caught:
        read_formula(text)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text(alphabet="ab1 ~+:*^/()`².é\n", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        formula = read_formula(text)
    except TableError:
        return
    again = read_formula(
        f"`{formula.outcome}` ~ 1" + "".join(f" + {term.label}" for term in formula.terms)
    )
    assert again.terms == formula.terms
