"""What a design is for: the tables that matter, and what their components need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, inf
from numbers import Real
from typing import Any

import numpy as np

from deniable.errors import SchemaError, SurveyError
from deniable.questions.lists import QuestionList, lists_named
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints, Shared, all_tables, products_within

MOST_TABLES = 1 << 18
"""The most tables that are listed where attributes differ: questions about each are in the survey."""

_LEAST = 1e-100
"""The lightest table; the heaviest weighs its inverse."""


@dataclass(frozen=True, eq=False)
class Workload:
    """The tables that matter, over the attributes that they touch, and what those need.

    A table's expected distance is κ·√(Σ_S need_S/(N·P_S)) over its components, where P_S is the
    precision of a coefficient of S. An attribute of r values with a list of norm n makes a need of
    r(r−1)/n: 1 for a yes/no attribute. ``numbering`` numbers components, not coefficients.
    """

    used: Ints
    order: int
    lists: tuple[QuestionList, ...]
    tables: tuple[Ints, ...]
    """Tables of one size each, as sorted positions among the used attributes."""
    weights: tuple[Floats, ...]

    @classmethod
    def of(
        cls,
        workload: Mapping[tuple[int, ...], float],
        order: int,
        lists: Sequence[QuestionList] = (),
    ) -> Workload:
        """Return a workload by tables; without lists, attributes are yes/no ones."""
        all_used = np.array(sorted({a for table in workload for a in table}))
        by_size: dict[int, list[tuple[int, ...]]] = {}
        for table in workload:
            by_size.setdefault(len(table), []).append(table)
        return cls(
            all_used,
            min(order, len(all_used)),
            tuple(lists[a] for a in all_used)
            if lists
            else lists_named("codes", (2,) * len(all_used)),
            tuple(
                np.searchsorted(all_used, np.sort(np.array(t), axis=1)) for t in by_size.values()
            ),
            tuple(np.array([workload[table] for table in t]) for t in by_size.values()),
        )

    @classmethod
    def everything(cls, order: int, lists: Sequence[QuestionList]) -> Workload:
        """Return the workload where all tables of ``order`` attributes matter alike."""
        tables = all_tables(len(lists), order)
        ones = np.ones(len(tables))
        return cls(np.arange(len(lists)), order, tuple(lists), (tables,), (ones,))

    @cached_property
    def numbering(self) -> Shared:
        """Return the numbers of sets of used attributes."""
        return Shared(len(self.used), self.order)

    @cached_property
    def is_single(self) -> bool:
        """Tell whether only one table matters, so that there are no errors to even out."""
        return sum(map(len, self.tables)) == 1

    @cached_property
    def is_everything(self) -> bool:
        """Tell whether all tables of ``order`` attributes matter, and alike."""
        (tables, *more), (weights, *_) = self.tables, self.weights
        every = tables.shape == (comb(len(self.used), self.order), self.order)
        return every and not more and bool((weights == weights[0]).all())

    @cached_property
    def scale(self) -> Floats:
        """Return Π r(r−1)/n over the attributes of each set."""
        return products_within([each.size * each.energy for each in self.lists], self.order)

    @cached_property
    def dimensions(self) -> Floats:
        """Return Π (r−1) over the attributes of each set: the need, if cells themselves are told."""
        return products_within([each.size - 1.0 for each in self.lists], self.order)

    @cached_property
    def _numbers(self) -> list[Ints]:
        """Return the numbers of the components of each table."""
        return [self.numbering.of_tables(tables) for tables in self.tables]

    def errors(self, precision: Floats, scale: Floats | None = None) -> tuple[Floats, ...]:
        """Return Σ_S need_S/P_S of each table, and its root: the distance over κ/√N."""
        with np.errstate(divide="ignore"):  # infinite where nobody is asked for what is needed
            variance = (self.scale if scale is None else scale) / precision
        return tuple(np.sqrt(variance[numbers].sum(axis=1)) for numbers in self._numbers)

    def mean(self, errors: Sequence[Floats]) -> float:
        """Return the mean error of the tables, by their weights."""
        total = sum(float(w @ e) for w, e in zip(self.weights, errors, strict=True))
        return total / sum(float(weights.sum()) for weights in self.weights)

    def needs(
        self, errors: tuple[Floats, ...] | None = None, scale: Floats | None = None
    ) -> Floats:
        """Return the need of each component: that of the tables which hold it, over their errors."""
        needs = np.zeros(self.numbering.size)
        for index, (numbers, weights) in enumerate(zip(self._numbers, self.weights, strict=True)):
            each = weights if errors is None else weights / errors[index]
            needs += np.bincount(numbers.ravel(), np.repeat(each, numbers.shape[1]), len(needs))
        needs *= self.scale if scale is None else scale
        # A share of one in 2³² is the least that can be given, and is enough for one in 2⁶⁴ of the need.
        return np.where(needs > 0, needs.clip(needs.max() / 2**60, None), 0)


def every_table(name: str, attributes: int, order: int) -> dict[tuple[int, ...], float]:
    """Return all tables of ``order`` attributes, alike, unless they are too many to be listed."""
    count = comb(attributes, order)
    if count > MOST_TABLES:
        raise SurveyError(
            f"{name} would list {count:,} tables of {order} of {attributes} attributes; with more "
            f"than two values {MOST_TABLES:,} is the limit, so name the tables that matter."
        )
    return dict.fromkeys(map(tuple, all_tables(attributes, order).tolist()), 1.0)


def read_workload(schema: Schema, order: int, workload: Any) -> dict[tuple[int, ...], float]:
    """Return the tables that matter, as sorted positions of attributes, with their weights."""
    if not isinstance(workload, Iterable):
        raise SurveyError(f"A workload lists tables, got {type(workload).__name__}.")
    weighted: Iterable[tuple[Any, Any]] = (
        workload.items() if isinstance(workload, Mapping) else ((table, 1.0) for table in workload)
    )
    tables: dict[tuple[int, ...], float] = {}
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
        tables[table] = tables.get(table, 0.0) + float(weight)
    if not tables:
        raise SurveyError("A workload must list at least one table.")
    return tables


def _number(weight: object) -> float:
    """Return a weight as a float, or nothing that passes for one."""
    if isinstance(weight, bool) or not isinstance(weight, Real):
        return 0.0
    try:
        return float(weight)
    except OverflowError:
        return inf
