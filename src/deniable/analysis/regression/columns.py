"""Columns of a regression: what each term of a formula counts for each code of its attributes.

A column is a product of functions of attributes' codes. A number counts its value, divided and raised
to a power as written; yes counts 1; a category has a column for each value but its first, its
contrasts. Who has no number counts 0 there, and has a column of its own, as values of categories have:
so a number's slope is that among the people who have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from deniable.analysis.formula import Factor, Formula, Term, shown
from deniable.errors import TableError
from deniable.schema.attribute import Attribute, spoken
from deniable.survey.coefficients import Floats
from deniable.survey.frozen import FrozenSurvey

MOST_COLUMNS = 80

Functions = Mapping[int, Floats]
"""A product of functions of codes, by the attributes' positions; of none it is 1."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column, centred and scaled for computing: what it stands for is scale·column + shift."""

    label: str
    term: str
    functions: Functions
    scale: float
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is explained: a number, or whether somebody has the second of two values."""

    label: str
    column: Column
    there: Functions
    """Who has an outcome: 1, or 0 where it is missing; nothing where everybody has."""
    is_truth: bool
    """Whether it is one of two values."""


INTERCEPT = Column("(intercept)", "(intercept)", {}, 1.0)


def times(*parts: Functions) -> Functions:
    """Return the product of functions."""
    whole: dict[int, Floats] = {}
    for functions in parts:
        for attribute, function in functions.items():
            whole[attribute] = whole[attribute] * function if attribute in whole else function
    return whole


def outcome_of(survey: FrozenSurvey, name: str) -> Outcome:
    """Return the outcome, or say why it is none."""
    index, attribute = _attribute(survey, name)
    there = np.ones(attribute.codes)
    has_missing = attribute.missing is not None
    if attribute.is_ordered:
        value = np.append(attribute.numbers, np.zeros(attribute.codes - attribute.levels))
        there[attribute.levels :] = 0
        is_truth, label = False, name
    else:
        own = [
            code for code, each in enumerate(attribute.values) if not _is_missing(attribute, each)
        ]
        if len(own) != 2:
            raise TableError(
                f"The outcome must be a number or have two values, and {shown(name)} has {len(own)}; "
                "put its values together into two."
            )
        value, is_truth = np.zeros(attribute.codes), True
        value[own[1]] = 1
        there = np.isin(np.arange(attribute.codes), own).astype(np.float64)
        label = _value_label(attribute, own[1])
    column = _standard(label, "outcome", {index: value}, within=there)
    return Outcome(label, column, {index: there} if has_missing else {}, is_truth)


def columns_of(survey: FrozenSurvey, formula: Formula) -> list[Column]:
    """Return the columns of all terms behind the intercept, none of them twice."""
    columns = {INTERCEPT.label: INTERCEPT}
    for term in formula.terms:
        for label, functions in _parts_of_term(survey, term):
            columns.setdefault(label, _standard(label, term.label, functions))
        if len(columns) > MOST_COLUMNS:
            raise TableError(
                f"A regression has at most {MOST_COLUMNS} coefficients, and these terms have more; "
                "leave out attributes of many values, or put values together."
            )
    return list(columns.values())


def _attribute(survey: FrozenSurvey, name: str) -> tuple[int, Attribute]:
    if name in survey.labels.names:
        raise TableError(
            f"{name!r} is a label: count by it, tally(reports, by={name!r}), and fit the release of "
            "each group."
        )
    if name not in survey.schema.names:
        names = ", ".join(survey.schema.names[:10]) + (", …" if len(survey.schema) > 10 else "")
        raise TableError(f"The formula names {shown(name)}, but the attributes are {names}.")
    index = survey.schema.index(name)
    return index, survey.schema.attributes[index]


def _is_missing(attribute: Attribute, value: object) -> bool:
    """Tell whether a value stands for nothing: True is not 1."""
    return type(value) is type(attribute.missing) and value == attribute.missing


def _parts_of_term(survey: FrozenSurvey, term: Term) -> list[tuple[str, Functions]]:
    """Return the columns of a product: one for each choice of its factors' columns."""
    names = [name.strip() for name in _factor_labels(term)]
    parts = [_parts_of_factor(survey, *each) for each in zip(term.factors, names, strict=True)]
    return [
        (":".join(label for label, _ in some), times(*(functions for _, functions in some)))
        for some in product(*parts)
    ]


def _factor_labels(term: Term) -> list[str]:
    """Return how each factor of a term was written: a name in backquotes may hold a colon."""
    labels = [""]
    is_quoted = False
    for sign in term.label:
        is_quoted ^= sign == "`"
        if sign == ":" and not is_quoted:
            labels.append("")
        else:
            labels[-1] += sign
    return labels


def _parts_of_factor(
    survey: FrozenSurvey, factor: Factor, label: str
) -> list[tuple[str, Functions]]:
    index, attribute = _attribute(survey, factor.name)
    if attribute.is_ordered:
        lack = np.zeros(attribute.codes - attribute.levels)
        value = np.append((attribute.numbers / factor.divisor) ** factor.power, lack)
        parts: list[tuple[str, Functions]] = [(label, {index: value})]
        if len(lack):
            own = np.append(np.zeros(attribute.levels), lack + 1)
            parts.append((f"{factor.name}[{spoken(attribute.missing)}]", {index: own}))
        return parts
    if factor.divisor != 1 or factor.power != 1:
        raise TableError(
            f"Only numbers are divided or raised to a power, and {shown(factor.name)} is none."
        )
    every = np.eye(attribute.size)
    return [
        (_value_label(attribute, code), {index: every[code]}) for code in range(1, attribute.size)
    ]


def _value_label(attribute: Attribute, code: int) -> str:
    """Return how a contrast is called: a yes/no attribute by its name alone."""
    if attribute.values == (False, True):
        return attribute.name
    return f"{attribute.name}[{spoken(attribute.values[code])}]"


def _standard(label: str, term: str, functions: Functions, within: Floats | None = None) -> Column:
    """Return a column that is centred, if it is of one attribute, and has about the size of 1."""
    if len(functions) > 1:
        scale = reduce(lambda size, each: size * float(np.abs(each).max()), functions.values(), 1.0)
        first, *others = functions.items()
        return Column(label, term, dict([(first[0], first[1] / scale), *others]), scale)
    ((index, function),) = functions.items()
    present = function if within is None else function[within > 0]
    middle = (
        float(present.min() + present.max()) / 2 if set(present.tolist()) != {0.0, 1.0} else 0.0
    )
    scale = float(np.abs(present - middle).max()) or 1.0
    return Column(label, term, {index: (function - middle) / scale}, scale, middle)
