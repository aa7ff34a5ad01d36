"""Triangle passes the contract of mechanisms, and is found by its name."""

from __future__ import annotations

import pytest
from deniable_triangle import Triangle

from deniable import Schema, Survey, register
from deniable.errors import SurveyError
from deniable.lab.checks import CHECKS

SCHEMAS = {
    "yes or no": Schema.binary(*"abcd"),
    "many values": Schema.of(sex=["f", "m"], work=["private", "public", "own"], age=range(4)),
}


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, schema: Schema, epsilon: float) -> None:
    check(Triangle.survey(schema, 2, epsilon))


def test_it_is_taken_by_name() -> None:
    register(Triangle)  # as its entry point does where the package is installed
    survey = Survey(SCHEMAS["yes or no"], 2, 1.0, "Triangle")
    assert survey == Triangle.survey(SCHEMAS["yes or no"], 2, 1.0)
    assert Survey.from_json(survey.to_json()) == survey


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SurveyError, match="at least three attributes"):
        Triangle.survey(Schema.binary("a", "b"), 2, 1.0)
