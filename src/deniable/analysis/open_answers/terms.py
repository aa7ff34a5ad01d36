"""Open terms: what a formula makes of open columns, such as age, sex and their product.

Numbers and truth values count as they are; texts become contrasts against the first of their values.
Rows are put together by what they hold in the columns that the formula names, so that the terms of ten
million people of a few hundred kinds take no more room than those kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.formula import Factor, Formula, shown
from deniable.analysis.regression.columns import INTERCEPT
from deniable.errors import DataError, TableError
from deniable.survey.coefficients import Floats, Ints

_MOST_VALUES = 1_000
"""The most values of a text column that become contrasts."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OpenColumn:
    """One open column: its numbers, or the places of its texts among ``values``; what is missing."""

    name: str
    numbers: Floats
    missing: Bools
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, column: Any, values: Sequence[str] = ()) -> OpenColumn:
        """Read an Arrow column; ``values`` are those that a label declares, or an earlier column had."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        missing = column.is_null().to_numpy()
        if pa.types.is_null(kind):
            return cls(name, np.zeros(len(column)), missing, tuple(values))
        if kind in (pa.string(), pa.large_string(), pa.string_view()):
            texts = column.cast(pa.string())
            own = list(values) or sorted(pc.unique(texts).drop_null().to_pylist())
            if len(own) > _MOST_VALUES:
                raise TableError(
                    f"The open column {shown(name)} has {len(own):,} values; contrasts are made of at "
                    f"most {_MOST_VALUES:,}, so put some together."
                )
            index = pc.index_in(texts, value_set=pa.array(own, pa.string()))
            codes = index.fill_null(-1).to_numpy().astype(np.float64)
            unknown = int(((codes < 0) & ~missing).sum())
            if unknown:
                raise DataError(
                    f"The column {shown(name)} has a value that is not among the {len(own):,} known "
                    f"ones in {unknown:,} rows."
                )
            return cls(name, codes, missing, tuple(own))
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if values or not (is_number or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
            needs = "texts" if values else "numbers, truth values or texts"
            raise DataError(f"The column {shown(name)} must hold {needs}, got {kind}.")
        numbers = column.cast(kind).cast(pa.float64(), safe=False).fill_null(np.nan)
        floats = np.asarray(numbers.to_numpy(), np.float64)
        infinite = int(np.isinf(floats).sum())
        if infinite:
            raise DataError(
                f"The column {shown(name)} holds no finite number in {infinite:,} rows."
            )
        return cls(name, floats, np.isnan(floats))

    def rows(self, some: Ints) -> OpenColumn:
        """Return some rows of the column."""
        return replace(self, numbers=self.numbers[some], missing=self.missing[some])

    def without_unused(self) -> OpenColumn:
        """Return the column without values that no row has; none of its rows is missing."""
        if not self.values:
            return self
        codes, index = np.unique(self.numbers.astype(np.int64), return_inverse=True)
        values = tuple(self.values[code] for code in codes.tolist())
        return replace(self, numbers=index.ravel().astype(np.float64), values=values)


@dataclass(frozen=True, eq=False)
class OpenTerms:
    """The terms of a formula over open columns: ``levels`` are the values of those that hold texts."""

    formula: Formula
    levels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, formula: Formula, columns: Mapping[str, OpenColumn]) -> OpenTerms:
        """Return the terms over columns that were read."""
        levels = {name: each.values for name, each in columns.items() if each.values}
        for name, values in levels.items():
            if len(values) < 2:
                raise TableError(
                    f"The column {shown(name)} holds the same text for everybody; leave it out."
                )
        for factor in (factor for term in formula.terms for factor in term.factors):
            if factor.name in levels and (factor.divisor, factor.power) != (1.0, 1):
                raise TableError(
                    f"The column {shown(factor.name)} holds texts, which are not divided or raised to a "
                    "power."
                )
        return cls(formula, levels)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Return the label of each column, and the formula's term that it belongs to."""
        columns = [(INTERCEPT.label, INTERCEPT.term)]
        for term in self.formula.terms:
            values = [self._contrasts(factor) for factor in term.factors]
            if any(factor.name in self.levels for factor in term.factors):
                columns += [
                    (":".join(map(_label, term.factors, choice)), term.label)
                    for choice in product(*values)
                ]
            else:
                columns.append((term.label, term.label))
        return tuple(columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of all columns: the intercept, and each contrast by its value."""
        return tuple(label for label, _ in self.columns)

    def _contrasts(self, factor: Factor) -> list[str | None]:
        """Return the values that a factor's contrasts are of; None for a number."""
        return list(self.levels[factor.name][1:]) if factor.name in self.levels else [None]

    def check(self, columns: Mapping[str, OpenColumn]) -> None:
        """Refuse texts in place of what were numbers when these terms were fitted."""
        for name, column in columns.items():
            if column.values and name not in self.levels:
                raise DataError(
                    f"The column {shown(name)} must hold numbers, as in the fit, got texts."
                )

    def matrix(self, columns: Mapping[str, OpenColumn], people: int) -> Floats:
        """Return the terms (columns) of so many rows, of which none has a missing value."""
        parts = [np.ones((people, 1))]
        for term in self.formula.terms:
            whole = np.ones((people, 1))
            for factor in term.factors:
                numbers = columns[factor.name].numbers
                if factor.name in self.levels:
                    codes = np.arange(1, len(self.levels[factor.name]))
                    own = np.equal.outer(numbers, codes).astype(np.float64)
                else:
                    own = ((numbers / factor.divisor) ** factor.power)[:, None]
                whole = (whole[:, :, None] * own[:, None, :]).reshape(people, -1)
            parts.append(whole)
        return np.concatenate(parts, axis=1)


def _label(factor: Factor, value: str | None) -> str:
    if value is not None:
        return f"{factor.name}[{value}]"
    text = factor.name if factor.divisor == 1 else f"{factor.name}/{factor.divisor:g}"
    if factor.power == 1:
        return text
    return f"({text})^{factor.power}" if factor.divisor != 1 else f"{text}^{factor.power}"


@dataclass(frozen=True, eq=False)
class Patterns:
    """What people look like: ``matrix`` has each pattern's terms, ``person`` tells who has which."""

    matrix: Floats
    person: Ints

    @property
    def weights(self) -> Floats:
        """Return how many people have each pattern."""
        return np.bincount(self.person, minlength=len(self.matrix)).astype(np.float64)


def patterns_of(terms: OpenTerms, columns: Mapping[str, OpenColumn], people: int) -> Patterns:
    """Return people, of whom none has a missing value, put together by their open columns."""
    import pandas as pd

    person = np.zeros(people, np.int64)
    for column in columns.values():
        codes, values = pd.factorize(column.numbers)
        person = pd.factorize(person * len(values) + codes)[0].astype(np.int64)
    _, first = np.unique(person, return_index=True)
    every = {name: each.rows(first) for name, each in columns.items()}
    return Patterns(terms.matrix(every, len(first)), person)
