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

*Source.* Ours. Subset selection: Ye and Barg, 2018; Wang et al., 2016.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from numbers import Integral, Real
from typing import Any

from deniable.errors import SchemaError, SurveyError
from deniable.mechanisms.base import Mechanism, Shape
from deniable.mechanisms.design import LARGEST_DIMENSION, symmetric_design, tailored_design
from deniable.questions.answers import Subset
from deniable.questions.schema import Schema

__all__ = ["Subspace", "read_workload"]


class Subspace(Mechanism):
    """The parities of a random low-dimensional subspace, by subset selection.

    Options: ``dimension``, the most parities of a question (1 gives InpHT with weighted levels);
    ``workload``, the tables that matter (a list of tuples of names, or a mapping from those to
    weights), by default all of k attributes alike; ``squares``, the mean θ² of coefficients of 1, 2, …
    k attributes as a pilot found them.
    """

    name = "Subspace"
    options = ("dimension", "workload", "squares")

    def __init__(
        self,
        schema: Schema,
        order: int,
        epsilon: float,
        shapes: tuple[Shape, ...] | None = None,
        **options: Any,
    ) -> None:
        if options.get("workload") is not None:
            options["workload"] = read_workload(schema, order, options["workload"])
        super().__init__(schema, order, epsilon, shapes, **options)

    @classmethod
    def design(
        cls,
        attributes: int,
        order: int,
        epsilon: float,
        *,
        dimension: int | None = None,
        workload: Mapping[tuple[int, ...], float] | None = None,
        squares: tuple[float, ...] = (),
        **options: Any,
    ) -> tuple[Shape, ...]:
        """Return the best mixture of shapes."""
        if dimension is not None and not (
            isinstance(dimension, Integral)
            and not isinstance(dimension, bool)
            and 1 <= dimension <= LARGEST_DIMENSION
        ):
            raise SurveyError(
                f"dimension must be a whole number from 1 to {LARGEST_DIMENSION}, got {dimension!r}."
            )
        Subset.within(epsilon, 2)  # refuses an ε that is too small
        if squares and not (len(squares) == order and all(0 <= s < 1 for s in squares)):
            raise SurveyError(f"squares must be {order} numbers from 0 to 1, one for each level.")
        if workload is None:
            return symmetric_design(attributes, order, epsilon, dimension, tuple(squares))
        return tailored_design(order, epsilon, workload, dimension, tuple(squares))

    @property
    def most_touched(self) -> int:
        """Return the most attributes that a question may touch."""
        return min(len(self.schema), max(LARGEST_DIMENSION + 1, self.order))

    def decodes(self, shape: Shape) -> bool:
        """Tell whether a shape has weights, and is answered by subset."""
        return isinstance(shape.answer, Subset) and bool(shape.weights)


def read_workload(schema: Schema, order: int, workload: Any) -> dict[tuple[int, ...], float]:
    """Return the tables that matter, as sorted positions of attributes, with their weights."""
    if not isinstance(workload, Iterable):
        raise SurveyError(f"A workload lists tables, got {type(workload).__name__}.")
    weighted: Iterable[tuple[Any, Any]] = (
        workload.items() if isinstance(workload, Mapping) else ((table, 1.0) for table in workload)
    )
    made: dict[tuple[int, ...], float] = {}
    for names, weight in weighted:
        if isinstance(names, str) or not isinstance(names, Iterable) or not names:
            raise SurveyError("A workload lists tables, each a tuple of attributes' names.")
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) < inf:
            raise SurveyError(f"A table's weight must be a positive number, got {weight!r}.")
        try:
            table = tuple(sorted(schema.index(name) for name in names))
        except SchemaError as error:
            raise SurveyError(f"The workload is wrong: {error}") from None
        if len(set(table)) < len(table):
            raise SurveyError("A table of the workload holds an attribute twice.")
        if len(table) > order:
            raise SurveyError(
                f"A table of the workload has {len(table)} attributes; the survey's order is {order}."
            )
        made[table] = made.get(table, 0.0) + float(weight)
    if not made:
        raise SurveyError("A workload must list at least one table.")
    return made
