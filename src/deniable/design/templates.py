"""Templates of a design: a type of question, with the best way of answering it."""

from __future__ import annotations

from functools import cache
from math import comb, expm1
from typing import Any

from deniable.design.types import Type
from deniable.questions.answers import Subset
from deniable.survey.template import Template


def _chosen(epsilon: float, dimension: int) -> int:
    """Return the best w for 2^c symbols, among those that fit a report."""
    symbols = 1 << dimension
    fitting = range(1, min(symbols // 2, 33) + 1)
    return min(
        (w for w in fitting if comb(symbols, w) < 1 << 63),
        key=lambda w: (symbols + w * expm1(epsilon)) ** 2 / (w * (symbols - w)),
    )


@cache
def second_moment(epsilon: float, dimension: int) -> float:
    """Return V(c, w) for the best w."""
    symbols, w = 1 << dimension, _chosen(epsilon, dimension)
    e = expm1(epsilon)
    return (symbols - 1) * (symbols + w * e) ** 2 / (w * (symbols - w) * e**2)


def template_of(kind: Type, parities: tuple[int, ...], epsilon: float, **rest: Any) -> Template:
    """Return the template of a type in one orientation; ``rest`` says how often it is asked."""
    answer = Subset.within(epsilon, 1 << len(parities), _chosen(epsilon, len(parities)))
    is_table = len(parities) == kind.attributes > 1 and max(parities) == 1 << kind.attributes - 1
    is_table = is_table and not kind.questions
    return Template(
        kind.attributes, parities, answer, cell=is_table, questions=kind.questions, **rest
    )


def side_by_side(templates: Any) -> tuple[Template, ...]:
    """Return templates with equal ways of answering side by side."""
    return tuple(
        sorted(
            templates,
            key=lambda s: (s.answer.symbols, s.attributes, s.questions, s.parities, s.sets or ()),
        )
    )
