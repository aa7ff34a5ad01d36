"""Data of people who were not asked everything: each cell that is skipped holds its declared value.

A device does so with its own record (`Layout.completed`); here it is done with a table of records, as of
a survey that was made elsewhere, where such cells are empty or hold anything.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError
from deniable.questionnaire.layout import Condition, Layout
from deniable.schema.attribute import Attribute, spoken
from deniable.schema.cells import text_column
from deniable.schema.scale import Days
from deniable.schema.schema import Schema


def completed_table(table: Any, layout: Layout, schema: Schema) -> Any:
    """Return an Arrow table whose records are `Layout.completed`; it has a column for each attribute."""
    for condition in layout.in_order:
        own = schema.attributes[condition.attribute]
        if own.name not in table.column_names:
            continue  # whoever reads the table says so
        column = _filled(own, table.column(own.name), _asked(condition, table, schema), condition)
        table = table.set_column(table.column_names.index(own.name), own.name, column)
    return table


def _asked(condition: Condition, table: Any, schema: Schema) -> NDArray[np.bool_]:
    """Return which rows are asked."""
    is_asked = np.ones(table.num_rows, np.bool_)
    for clause in condition.clauses:
        on = schema.attributes[clause.on]
        if on.name in table.column_names:
            codes = _codes(on, table.column(on.name))
            runs = [(codes >= low) & (codes <= high) for low, high in clause.codes]
            is_asked &= np.any(runs, axis=0)
    return is_asked


def _codes(attribute: Attribute, column: Any) -> NDArray[np.int64]:
    """Return codes, -1 where there is no value and no code stands for that."""
    codes = np.full(len(column), -1, np.int64)
    is_given = np.ones(len(column), np.bool_)
    if attribute.missing is None:
        is_given = column.is_valid().to_numpy()
    codes[is_given] = attribute.encode_column(column.filter(is_given))
    return codes


def _filled(own: Attribute, column: Any, is_asked: NDArray[np.bool_], condition: Condition) -> Any:
    """Return a column with the declared value in the rows that are not asked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    value: Any = own.record_value(condition.otherwise)
    if own.missing is not None and own.value_of(condition.otherwise) == own.missing:
        value = None  # as a column of numbers or of yes and no has it
    elif isinstance(own.scale, Days):
        value = date.fromisoformat(value)
    if value is not None and _kind(column.type) == "null":
        column = column.cast(pa.scalar(value).type)
    elif _kind(column.type) == "number":
        column = column.cast(pa.float64(), safe=False)
    elif isinstance(value, date) and _kind(column.type) == "text":
        value = value.isoformat()
    with suppress(pa.ArrowException):
        return pc.if_else(is_asked, column, pa.scalar(value).cast(column.type))
    texts = text_column(column.to_pylist())
    if texts is None:
        raise RecordError(
            f"Column {own.name!r} is of type {column.type} and cannot hold {value!r}, its value where "
            "it is not asked."
        )
    return pc.if_else(is_asked, texts, pa.scalar(spoken(value)))


def _kind(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return "null" if types.is_null(kind) else "other"
