"""Subspace: a few parities of the record at once, mixed so that the error is the smallest.

*Idea.* A person is given c parities, each of a few attributes, and reports a set of w of the 2^c
possible answers that holds the true one more often than not. Every coefficient in the span of the
parities is learnt from every report: {a, b} tells about a, b and ab; the "triangle" {ab, ac} about
ab, ac and bc. Which parities, and how often, is optimised for (d, k, ε) when the survey is made,
and then stands in the survey as integers. c = 1 alone is InpHT with its levels weighted; tables
with w = 1 alone are MargPS.

*Privacy.* The parities are drawn without looking at the record; a set is at most e^ε times likelier
for one record than for another.

*Estimator.* Every coefficient from all reports whose span holds it, weighted by 1/V.

*Variance.* (V − θ²)/N_α with V = (M−1)(we^ε+M−w)²/(w(M−w)(e^ε−1)²), M = 2^c. At ε = ln 3 the
mixture attains the lower bound for all unbiased ε-private protocols.

*More values.* A parity takes yes/no questions about attributes, several of them where there are
several parities, so that c bits tell all they can about a set of attributes whatever its numbers of
values; which sets, and how often, is optimised for the sizes at hand.

*Source.* Ours. Subset selection: Ye and Barg, 2018; Wang et al., 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from numbers import Integral
from typing import Any

from deniable.design.mixtures import Objective
from deniable.design.reading import PEOPLE, Strengths, check_goal, objective_of
from deniable.design.subspaces import symmetric_design, tailored_design
from deniable.design.types import LARGEST_DIMENSION
from deniable.design.workload import Workload, every_table
from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import Template


class Subspace(Mechanism):
    """The parities of a random low-dimensional subspace, by subset selection.

    Options: ``dimension``, the most parities of a question (1 gives InpHT with weighted levels);
    ``workload``, the tables that matter (a list of tuples of names, or a mapping from those to
    weights), by default all of k attributes alike; ``squares``, the mean θ² of coefficients of 1, 2, …
    k attributes as a pilot found them. ``aim`` is what the design is good at where attributes have more
    than two values (`deniable.design.reading`), if so many ``people`` answer; ``strengths`` are what a
    pilot told about them.
    """

    name = "Subspace"
    options = ("dimension", "workload", "squares", "aim", "people", "strengths")

    @classmethod
    def design(
        cls,
        schema: Schema,
        order: int,
        epsilon: float,
        *,
        dimension: int | None = None,
        workload: Mapping[tuple[int, ...], float] | None = None,
        squares: Any = None,
        aim: str = "tables",
        people: float = PEOPLE,
        strengths: Strengths | None = None,
        **options: Any,
    ) -> tuple[Template, ...]:
        """Return the best mixture of templates."""
        if dimension is not None and not (
            isinstance(dimension, Integral)
            and not isinstance(dimension, bool)
            and 1 <= dimension <= LARGEST_DIMENSION
        ):
            raise SurveyError(
                f"dimension must be a whole number from 1 to {LARGEST_DIMENSION}, got {dimension!r}."
            )
        goal = check_goal(aim)
        Subset.within(epsilon, 2)  # refuses an ε that is too small
        mean_squares = () if squares is None else _squares(squares, order)
        attributes = len(schema)
        if workload is None or _is_everything(workload, attributes, order):
            if schema.is_binary:
                return symmetric_design(attributes, order, epsilon, dimension, mean_squares)
            workload = every_table(cls.name, attributes, order)

        def objective(own: Workload) -> Objective | None:
            """Return what is made small; of yes/no attributes the unbiased tables are best read."""
            return None if schema.is_binary else objective_of(goal, own, strengths, people)

        return tailored_design(
            order, epsilon, workload, dimension, mean_squares, cls.lists(schema), objective
        )


def _squares(squares: Any, order: int) -> tuple[float, ...]:
    try:
        numbers = tuple(map(float, squares))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != order or not all(0 <= square < 1 for square in numbers):
        raise SurveyError(f"squares must be {order} numbers from 0 to 1, one for each level.")
    return numbers


def _is_everything(workload: Mapping[tuple[int, ...], float], attributes: int, order: int) -> bool:
    """Tell whether all tables of the survey's order matter, and alike."""
    return (
        len(workload) == comb(attributes, order)
        and len(set(workload.values())) == 1
        and set(map(len, workload)) == {order}
    )
