"""Every mechanism, every check."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from deniable.errors import SurveyError
from deniable.lab import checks
from deniable.lab.checks import (
    CHECKS,
    CheckFailedError,
    check_sampler_follows_law,
    check_vectorised_sampler_follows_law,
)
from deniable.mechanisms.registry import MECHANISMS, mechanism_named
from deniable.questions.answers import Subset
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import ALL_WEIGHT, Template

SAMPLED = (
    checks.check_covariance_calibrated,
    checks.check_sampler_follows_law,
    checks.check_vectorised_sampler_follows_law,
    checks.check_words_tell_nothing,
)
"""The checks that draw. How a value is drawn depends on the way of answering, and how far estimates
scatter is enumerated in tests/unit/test_exact_moments.py, so these look at one setting of each kind."""


def checks_of(settings, *, draws=1):
    """Return every check of every setting; the first settings also get the checks that draw, slowly."""
    return [
        pytest.param(
            *setting,
            check,
            marks=[pytest.mark.slow] if number or check in SAMPLED else [],
            id=f"{'-'.join(str(part).replace(' ', '') for part in setting)}-{check.__name__}",
        )
        for number, setting in enumerate(settings)
        for check in CHECKS
        if number < draws or check not in SAMPLED
    ]


SIZES = [(4, 2, math.log(3)), (3, 3, 0.4), (7, 1, 6.0)]
"""Attributes, order, epsilon: usual ones, then the largest order and the smallest at either end of ε."""


@pytest.mark.parametrize(("attributes", "order", "epsilon", "check"), checks_of(SIZES))
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_contract_holds(name, attributes, order, epsilon, check):
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    check(MECHANISMS[name].survey(schema, order, epsilon))


@pytest.mark.parametrize(("attributes", "order", "epsilon", "check"), checks_of([(3, 3, 1.1)]))
@pytest.mark.parametrize("name", ["InpRR", "MargRR"])
def test_the_contract_holds_for_optimised_unary_answers(name, attributes, order, epsilon, check):
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    check(MECHANISMS[name].survey(schema, order, epsilon, optimised=True))


MIXED = [((2, 3), 2, math.log(3)), ((3, 5), 1, 2.0), ((3, 2, 2, 2), 3, 2.0)]
"""Sizes, order, epsilon; Subspace takes several ways of answering, and types of yes/no attributes."""


@pytest.mark.parametrize(("sizes", "order", "epsilon", "check"), checks_of(MIXED))
@pytest.mark.parametrize("name", [*MECHANISMS, "InpHTBits"])
def test_the_contract_holds_for_attributes_of_any_sizes(name, sizes, order, epsilon, check):
    check(mechanism_named(name).survey(mixed(*sizes), order, epsilon))


def mixed(*sizes):
    return Schema.of(**{f"a{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(sizes)})


AGE = Attribute("age", low=0, high=9, missing="none", edges=(4,))
NUMBERS = {
    "missing": ((AGE, Attribute("sex", ("f", "m"))), 2, 2.0),
    "days": ((Attribute("day", low="2026-01-01", high="2026-01-05"), AGE), 1, math.log(3)),
    "points": (
        (
            Attribute("paid", points=(0.5, 1, 10), unit="EUR", missing="?", other="?"),
            Attribute("often", ("never", "often", "?"), missing="?", ordered=True),
            Attribute("b", ("x", "y", "z")),
        ),
        2,
        4.0,
    ),
    "words": ((Attribute("w", ("a", "b", "c", "d"), ordered=True), Attribute("yes")), 2, 0.5),
}
"""Attributes with an order, and others; order; epsilon."""


def numbered(kind, name, **options):
    attributes, order, epsilon = NUMBERS[kind]
    return MECHANISMS[name].survey(Schema(attributes), order, epsilon, **options)


@pytest.mark.parametrize(("kind", "check"), checks_of([(kind,) for kind in NUMBERS]))
@pytest.mark.parametrize("name", ["Subspace", "InpHT", "MargHT", "InpES"])
def test_the_contract_holds_for_attributes_with_an_order(name, kind, check):
    check(numbered(kind, name))


@pytest.mark.parametrize(("aim", "check"), checks_of([("associations",), ("unbiased",)], draws=0))
def test_the_contract_holds_whatever_a_survey_of_numbers_aims_at(aim, check):
    survey = numbered("missing", "Subspace", aim=aim, people=5000)
    check(survey)


@pytest.mark.parametrize("name", ["InpRR", "InpPS", "InpEM", "MargRR", "MargPS"])
def test_what_asks_for_cells_or_bits_refuses_an_order_in_one_sentence(name):
    with pytest.raises(SurveyError, match="by thresholds: by Subspace, InpHT or MargHT"):
        numbered("missing", name)


SUBSPACES = [
    (4, 2, 2.0, {}),  # two ways of answering
    (5, 3, 0.5, {}),  # sets of several symbols
    (6, 3, math.log(3), {}),  # orientations of one type
    (5, 2, 1.1, {"dimension": 1}),
    (5, 2, 0.9, {"workload": {("a0", "a1"): 1, ("a0", "a2"): 3, ("a4",): 0.5}}),
]


@pytest.mark.parametrize(
    ("attributes", "order", "epsilon", "options", "check"), checks_of(SUBSPACES, draws=2)
)
def test_the_contract_holds_for_every_kind_of_subspace(attributes, order, epsilon, options, check):
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    check(MECHANISMS["Subspace"].survey(schema, order, epsilon, **options))


def test_an_unknown_option_is_refused():
    with pytest.raises(SurveyError, match="no option 'optimized'; its options are optimised"):
        MECHANISMS["MargRR"].survey(Schema.binary("a", "b"), 2, 1.1, optimized=True)
    with pytest.raises(SurveyError, match="it has none"):
        MECHANISMS["InpHT"].survey(Schema.binary("a", "b"), 2, 1.1, optimised=True)


SIXTEEN = Template.table(4, Subset.within(0.5, 16, 6), (ALL_WEIGHT,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "attributes", "order", "epsilon", "templates"),
    [
        ("InpPS", 9, 1, 4.0, None),
        ("InpEM", 9, 1, 4.0, None),
        ("Subspace", 4, 4, 0.5, (SIXTEEN,)),  # six symbols of sixteen
    ],
)
def test_values_beyond_enumeration_are_checked_by_what_they_speak_for(
    name, attributes, order, epsilon, templates, monkeypatch
):
    schema = Schema.binary(*"abcdefghi"[:attributes])
    kind = MECHANISMS[name]
    survey = (
        FrozenSurvey(schema, order, epsilon, templates, kind.lists(schema), mechanism=name)
        if templates
        else kind.survey(schema, order, epsilon)
    )
    answer = survey.families[0].answer
    assert answer.outcomes > 256
    check_sampler_follows_law(survey)
    check_vectorised_sampler_follows_law(survey)
    way, wrong = type(answer), replace(answer, threshold=int(answer.threshold * 0.9))
    sound = way.answers
    monkeypatch.setattr(way, "answers", lambda self, *given: sound(wrong, *given))
    with pytest.raises(CheckFailedError):
        check_vectorised_sampler_follows_law(survey)


def test_check_mechanism_runs_every_check(monkeypatch):
    ran = []
    monkeypatch.setattr(checks, "CHECKS", (ran.append, ran.append))
    survey = MECHANISMS["InpHT"].survey(Schema.binary("a", "b"), 2, 1.1)
    checks.check_mechanism(survey)
    assert ran == [survey, survey]
