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

from collections.abc import Iterable, Mapping
from math import comb, inf
from numbers import Integral, Real
from typing import Any

from deniable.errors import SchemaError, SurveyError
from deniable.mechanisms.base import Mechanism, Shape
from deniable.mechanisms.coefficients import all_tables
from deniable.mechanisms.design import LARGEST_DIMENSION, symmetric_design, tailored_design
from deniable.mechanisms.shape import swapped
from deniable.questions.answers import Subset
from deniable.questions.schema import Schema

__all__ = ["Subspace", "every_table", "read_workload"]

MOST_TABLES = 1 << 18
"""The most tables that are listed where attributes differ: questions about each are in the survey."""

_LEAST = 1e-100
"""The lightest table; the heaviest weighs its inverse."""


class Subspace(Mechanism):
    """The parities of a random low-dimensional subspace, by subset selection.

    Options: ``dimension``, the most parities of a question (1 gives InpHT with weighted levels);
    ``workload``, the tables that matter (a list of tuples of names, or a mapping from those to
    weights), by default all of k attributes alike; ``squares``, the mean θ² of coefficients of 1, 2, …
    k attributes as a pilot found them.
    """

    name = "Subspace"
    options = ("dimension", "workload", "squares")

    def read_options(self, schema: Schema, order: int, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with the workload's names looked up."""
        if options.get("workload") is None:
            return options
        return options | {"workload": read_workload(schema, order, options["workload"])}

    @classmethod
    def design(
        cls,
        sizes: tuple[int, ...],
        order: int,
        epsilon: float,
        *,
        dimension: int | None = None,
        workload: Mapping[tuple[int, ...], float] | None = None,
        squares: Any = None,
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
        known = () if squares is None else _squares(squares, order)
        attributes = len(sizes)
        if workload is None or _is_everything(workload, attributes, order):
            if set(sizes) == {2}:
                return symmetric_design(attributes, order, epsilon, dimension, known)
            workload = every_table(cls.name, attributes, order)
        signs = tuple(map(cls.listing, sizes))
        return tailored_design(order, epsilon, workload, dimension, known, signs)

    @property
    def most_touched(self) -> int:
        """Return the most attributes that a question may touch."""
        return min(len(self.schema), max(LARGEST_DIMENSION + 1, self.order))

    def decodes(self, shape: Shape) -> bool:
        """Tell whether a shape has weights, is answered by subset, and asks for what is decoded."""
        return (
            isinstance(shape.answer, Subset)
            and bool(shape.weights)
            and any(shape.held(level) for level in range(1, self.order + 1))
        )

    def verify(self) -> None:
        """Refuse a design that was read if it leaves something out, or attributes are not alike."""
        super().verify()
        if not self.is_symmetric:
            return
        if not all(self.precision(level) for level in range(1, self.order + 1)):
            raise SurveyError("The survey does not ask for all that tables of its order need.")
        weights = {(s.attributes, frozenset(s.members.tolist()), s.answer): s for s in self.shapes}
        for (attributes, _, answer), shape in weights.items():
            for place in range(attributes - 1):
                turned = frozenset(swapped(shape.members, place).tolist())
                other = weights.get((attributes, turned, answer))
                if other is None or abs(other.weights[0] - shape.weights[0]) > 1:
                    raise SurveyError("The survey's shapes must treat all attributes alike.")


def every_table(name: str, attributes: int, order: int) -> dict[tuple[int, ...], float]:
    """Return all tables of ``order`` attributes, alike, unless they are too many to be listed."""
    count = comb(attributes, order)
    if count > MOST_TABLES:
        raise SurveyError(
            f"{name} would list {count:,} tables of {order} of {attributes} attributes; with more "
            f"than two values {MOST_TABLES:,} is the limit, so name the tables that matter."
        )
    return dict.fromkeys(map(tuple, all_tables(attributes, order).tolist()), 1.0)


def _squares(squares: Any, order: int) -> tuple[float, ...]:
    """Read the mean θ² of each level."""
    try:
        made = tuple(map(float, squares))
    except (TypeError, ValueError):
        made = ()
    if len(made) != order or not all(0 <= square < 1 for square in made):
        raise SurveyError(f"squares must be {order} numbers from 0 to 1, one for each level.")
    return made


def _is_everything(workload: Mapping[tuple[int, ...], float], attributes: int, order: int) -> bool:
    """Tell whether all tables of the survey's order matter, and alike."""
    return (
        len(workload) == comb(attributes, order)
        and len(set(workload.values())) == 1
        and set(map(len, workload)) == {order}
    )


def read_workload(schema: Schema, order: int, workload: Any) -> dict[tuple[int, ...], float]:
    """Return the tables that matter, as sorted positions of attributes, with their weights."""
    if not isinstance(workload, Iterable):
        raise SurveyError(f"A workload lists tables, got {type(workload).__name__}.")
    weighted: Iterable[tuple[Any, Any]] = (
        workload.items() if isinstance(workload, Mapping) else ((table, 1.0) for table in workload)
    )
    made: dict[tuple[int, ...], float] = {}
    for names, weight in weighted:
        if isinstance(names, str) or not isinstance(names, Iterable) or not len(tuple(names)):
            raise SurveyError("A workload lists tables, each a tuple of attributes' names.")
        if not _LEAST < _number(weight) < 1 / _LEAST:
            raise SurveyError("A table's weight must be a positive number, from 1e-100 to 1e100.")
        try:
            table = tuple(sorted(schema.index(str(name)) for name in names))
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


def _number(weight: object) -> float:
    """Return a weight as a float, or nothing that passes for one."""
    if isinstance(weight, bool) or not isinstance(weight, Real):
        return 0.0
    try:
        return float(weight)
    except OverflowError:
        return inf
