"""Columns of people's values, encoded attribute by attribute, vectorised.

What a cell stands for says `deniable.schema.cells`. An error tells how many rows are wrong, and never
what they hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError
from deniable.schema.attribute import Attribute, Value
from deniable.schema.cells import cells_of, codes_of_texts, number_in
from deniable.schema.scale import Days, Scale


def encode_column(attribute: Attribute, column: Any) -> NDArray[Any]:
    """Return the codes of an Arrow array, vectorised."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        try:
            if not (column.null_count or column.dictionary.null_count):
                codes = encode_column(attribute, column.dictionary)
                picked: NDArray[Any] = codes[column.indices.to_numpy(zero_copy_only=False)]
                return picked
        except RecordError:
            pass  # a dictionary may list values that no row holds: look at the rows
        column = column.dictionary_decode()
    is_plain = attribute.code_by_value == {("bool", False): 0, ("bool", True): 1}
    if is_plain and pa.types.is_boolean(column.type) and not column.null_count:
        return _unpack(column)
    codes, unknown, absent = _codes(attribute, column)
    if absent is not None:
        codes[absent] = _stand_in(attribute, attribute.missing, int(absent.sum()), "no value")
    if unknown.any():
        codes[unknown] = _stand_in(
            attribute, attribute.other, int(unknown.sum()), "an undeclared value"
        )
    return codes


def count_undeclared(attribute: Attribute, column: Any) -> int:
    """Return how many rows of an Arrow array have a value that is not declared.

    >>> import pyarrow as pa
    >>> ill = Attribute("ill", (False, True), other="no answer")
    >>> count_undeclared(ill, pa.array(["True", "no answer", "perhaps", None]))
    1
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return int(_codes(attribute, column)[1].sum())


def count_beyond(attribute: Attribute, column: Any) -> int:
    """Return how many rows of an Arrow array have a number or a day beyond the ends of its scale.

    >>> import pyarrow as pa
    >>> age = Attribute("age", low=18, high=100, missing="no answer")
    >>> count_beyond(age, pa.array([17, 18, 100, 101, None])), count_beyond(age, pa.array(["17", "x"]))
    (2, 1)
    """
    import pyarrow as pa

    if attribute.scale is None:
        return 0
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return int(np.count_nonzero(_beyond(attribute, column)))


def _beyond(attribute: Attribute, column: Any) -> NDArray[np.bool_]:
    """Tell which rows of an Arrow array lie beyond the ends of a number's scale."""
    scale = attribute.scale
    assert scale is not None
    if not _is_text(column.type):
        return scale.beyond(column)
    # 0 or 1, and nothing else: what stands for a missing number has a code above these.
    sides = codes_of_texts(attribute, column, lambda text: int(scale.is_beyond(_said(scale, text))))
    return np.asarray(sides == 1, np.bool_)


def _said(scale: Scale, text: str) -> object:
    """Return the day or the number that a text is, or what is neither."""
    return text if isinstance(scale, Days) else number_in(text)


def _codes(
    attribute: Attribute, column: Any
) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return codes, where there is an undeclared value instead, and where there is none, if anywhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = column.fill_null(float("nan"))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    absent = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if attribute.scale is not None:
        codes, unknown = _levels(attribute, column)
    elif attribute.edges:
        codes, unknown = _bucket(attribute, column)
    else:
        codes, unknown = _look_up(attribute, column)
    return codes, unknown if absent is None else unknown & ~absent, absent


def _stand_in(attribute: Attribute, value: Value | None, rows: int, lack: str) -> int:
    if value is None:
        remedy = (
            "declare a value for missing, or leave such rows out"
            if lack == "no value"
            else f"declared values are {attribute.declared()}"
            if not attribute.edges
            else "a bucket needs a number"
        )
        if attribute.scale is not None and lack != "no value":
            raise RecordError(f"{attribute.undeclared()[:-1]}, and is none in {rows:,} rows.")
        raise RecordError(f"Attribute {attribute.name!r} has {lack} in {rows:,} rows; {remedy}.")
    return attribute.code_of(value)


def _levels(attribute: Attribute, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    scale = attribute.scale
    assert scale is not None
    levels = scale.levels_of(column)
    if levels is None and _is_text(column.type):
        levels = codes_of_texts(attribute, column, lambda text: scale.level_of(_said(scale, text)))
        levels = None if (levels < 0).all() else levels  # texts about something else
    if levels is None:
        if len(column) > column.null_count and attribute.other is None:
            kind_of = "days" if isinstance(attribute.scale, Days) else "numbers"
            raise RecordError(
                f"Attribute {attribute.name!r} needs {kind_of}, got a column of type {column.type}."
            )
        return np.zeros(len(column), np.int64), np.ones(len(column), np.bool_)
    if attribute.strict:
        levels = np.where(_beyond(attribute, column), -1, levels)
    return levels, levels < 0


def _bucket(attribute: Attribute, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    import pyarrow as pa

    if _is_text(column.type):

        def bucket(text: str) -> int | None:
            number = number_in(text)
            edges = attribute.edges
            return None if number is None else int(np.searchsorted(edges, number, side="right"))

        codes = codes_of_texts(attribute, column, bucket)
        return codes, codes < 0
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        if len(column) > column.null_count and attribute.other is None:
            raise RecordError(f"Attribute {attribute.name!r} must be numeric, got {column.type}.")
        return np.zeros(len(column), np.int64), np.ones(len(column), np.bool_)
    numbers = _floats(column).fill_null(0.0).to_numpy(zero_copy_only=False)
    codes = np.searchsorted(attribute.edges, numbers, side="right")
    return codes, np.zeros(len(codes), np.bool_)


def _look_up(attribute: Attribute, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    cells, kind = cells_of(attribute), column.type
    code_by_cell: dict[Any, int] = {}
    if pa.types.is_boolean(kind):
        code_by_cell, column = cells.truths, column.cast(pa.bool_())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        code_by_cell, column = cells.numbers, _floats(column)
    elif _is_text(kind):
        code_by_cell, column = cells.texts, column.cast(pa.string())
    if not code_by_cell:
        if len(column) > column.null_count and attribute.other is None:
            raise RecordError(
                f"Attribute {attribute.name!r} is a column of type {kind}; "
                f"declared values are {attribute.declared()}."
            )
        return np.full(len(column), -1, np.int64), np.ones(len(column), np.bool_)
    indices = pc.index_in(column, value_set=pa.array(list(code_by_cell), column.type))
    index = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    codes = list(code_by_cell.values())
    if codes == list(range(len(codes))):
        return index.copy(), index < 0
    picked = np.where(index < 0, -1, np.array(codes)[index])
    return picked, picked < 0


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_plain or str(kind) == "string_view")


def _floats(column: Any) -> Any:
    """Return a numeric Arrow array as floats; integers beyond 2⁵³, never declared, are rounded.

    A strict cast would refuse them, with a message that repeats the value.
    """
    import pyarrow as pa

    return column.cast(pa.float64(), safe=False)


def _unpack(column: Any) -> NDArray[np.uint8]:
    """Return an Arrow boolean array without nulls as bytes 0 and 1."""
    start = column.offset
    octets = np.frombuffer(column.buffers()[1], np.uint8)[
        start >> 3 : (start + len(column) + 7) >> 3
    ]
    return np.unpackbits(octets, bitorder="little")[start & 7 : (start & 7) + len(column)]
