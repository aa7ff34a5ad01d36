"""Encoding a frame is encoding its records one by one, whatever the frame is made of."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Attribute, Schema
from deniable.errors import RecordError

TEXTS = st.text(max_size=3)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.integers(-3, 3)
WIDE = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0])


MANY = st.integers(2, 300) | st.sampled_from([2, 3, 4, 5, 16, 17, 128, 129, 255, 256, 257])


@st.composite
def many_values(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any], pa.DataType]:
    """Return an attribute of 2 to 300 values without its name, what rows may hold, and its type."""
    size, start = draw(MANY), draw(st.integers(-200, 200))
    numbers = range(start, start + size)
    held: st.SearchStrategy[Any] = st.integers(start, start + size - 1)
    match draw(st.sampled_from(["texts", "whole", "whole in floats", "bins", "whole bins"])):
        case "texts":
            return {"values": tuple(f"v{n}" for n in numbers)}, held.map("v{}".format), pa.string()
        case "whole":
            return {"values": numbers}, held, pa.int16()
        case "whole in floats":
            return {"values": numbers}, held.map(float), pa.float32()
        case "bins":
            near = st.sampled_from([-0.5, -(2.0**-30), 0.0, 2.0**-30, 0.5])
            held = st.builds(float.__add__, held.map(float), near) | st.floats(allow_nan=False)
            return {"edges": numbers[1:]}, held, pa.float64()
        case _:
            return {"edges": [n + 0.5 for n in numbers[1:]]}, held, pa.int32()


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, Any, st.SearchStrategy[Any], pa.DataType]:
    """Return an attribute without its name, what rows may hold, and the column's type."""
    kind = draw(st.sampled_from(["bool", "text", "whole", "whole in floats", "bins", "whole bins"]))
    missing, other = draw(st.none() | st.just("missing")), draw(st.none() | st.just("other"))
    if "bins" in kind:
        edges = draw(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True))
        made = {"values": (), "edges": tuple(sorted(edges))}
        held = st.sampled_from(edges) | FLOATS if kind == "bins" else WIDE
        kind_of_column = pa.float64() if kind == "bins" else pa.int64()
        if kind == "whole bins":
            other = None
    elif kind == "bool":
        made, held, kind_of_column = {"values": (False, True)}, st.booleans(), pa.bool_()
        other = None
    else:
        source = TEXTS if kind == "text" else NUMBERS
        values = draw(st.lists(source, min_size=2, max_size=5, unique=True))
        made, held = {"values": tuple(values)}, st.sampled_from(values)
        kind_of_column = {"text": pa.string(), "whole": pa.int64()}.get(kind, pa.float64())
        if other is not None:
            held |= {"text": TEXTS, "whole": WIDE}.get(kind, FLOATS.map(lambda f: f + 0.25))
        if kind == "whole in floats":
            held = held.map(float)
        if missing is not None and draw(st.booleans()):
            missing = values[0]
    if missing is not None:
        held |= st.none()
    elif kind_of_column == pa.float64():
        held = held.filter(lambda value: value == value)
    return kind, {**made, "missing": missing, "other": other}, held, kind_of_column


@st.composite
def frames(draw: st.DrawFn) -> tuple[Schema, pa.Table]:
    """Return a schema and an Arrow table that fits it, sliced at odd places and in chunks."""
    rows = draw(st.integers(0, 20))
    attributes, arrays = [], {}
    for index in range(draw(st.integers(1, 6))):
        _kind, made, held, column = draw(columns())
        attributes.append(Attribute(f"c{index}", **made))
        values = draw(st.lists(held, min_size=rows, max_size=rows))
        array = pa.array(values, column)
        if column != pa.float64() and draw(st.booleans()):  # pandas has no categories of NaN
            array = array.dictionary_encode()
        arrays[f"c{index}"] = _chunked(draw, array)
    names = draw(st.permutations(sorted(arrays)))
    return Schema(tuple(attributes)), pa.table({name: arrays[name] for name in names})


def _chunked(draw: st.DrawFn, array: pa.Array) -> pa.ChunkedArray:
    """Cut an array into chunks, each a slice of something longer, so that offsets are odd."""
    cuts = sorted(draw(st.lists(st.integers(0, len(array)), max_size=3)))
    chunks = []
    for low, high in zip([0, *cuts], [*cuts, len(array)], strict=True):
        before = draw(st.integers(0, 9))
        repeated = pa.concat_arrays([array] * 2) if len(array) else array
        padding = repeated.slice(0, min(before, len(repeated)))
        chunks.append(pa.concat_arrays([padding, array.slice(low, high - low)]).slice(len(padding)))
    return pa.chunked_array(chunks, array.type)


def codes(schema: Schema, frame: Any) -> list[tuple[int, ...]]:
    """Return the codes of a frame's records, read from their words."""
    words = schema.encode_frame(frame).words
    return [
        tuple(
            int(row[word]) >> shift & ((1 << a.bits) - 1)
            for a, (word, shift) in zip(schema.attributes, schema.layout.tolist(), strict=True)
        )
        for row in words
    ]


@st.composite
def wide_frames(draw: st.DrawFn) -> tuple[Schema, pa.Table]:
    """Return a schema of many values, in several words, and an Arrow table that fits it."""
    attributes, arrays = [], {}
    for index in range(draw(st.integers(1, 20))):
        made, held, column = draw(many_values())
        missing = draw(st.sampled_from([None, "missing"]))
        attributes.append(Attribute(f"c{index}", missing=missing, **made))
        held |= st.none() if missing else st.nothing()
        array = pa.array(draw(st.lists(held, min_size=4, max_size=4)), column)
        is_float = pa.types.is_floating(column)
        is_coded = not is_float and draw(st.booleans())  # pandas has no categories of NaN
        arrays[f"c{index}"] = array.dictionary_encode() if is_coded else array
    return Schema(tuple(attributes)), pa.table(arrays)


@given(frames() | wide_frames())
@settings(max_examples=300)
def test_a_frame_is_encoded_as_its_records_are(made: tuple[Schema, pa.Table]) -> None:
    schema, table = made
    expected = [schema.encode(record) for record in table.to_pylist()]
    assert codes(schema, table) == expected
    if not any(pa.types.is_integer(c.type) and c.null_count for c in table.columns):
        # pandas turns integers with gaps into floats, and so rounds the large ones
        assert codes(schema, table.to_pandas()) == expected
    polars = pl.from_arrow(table)
    assert codes(schema, polars) == expected
    assert codes(schema, polars.lazy()) == expected


@given(frames() | wide_frames(), st.data())
@settings(max_examples=150)
def test_a_value_nobody_declared_is_refused_in_a_frame_where_it_is_in_a_record(
    made: tuple[Schema, pa.Table], data: st.DataObject
) -> None:
    schema, table = made
    name = data.draw(st.sampled_from(schema.names))
    column = data.draw(st.sampled_from(["Rumpelstiltskin", 2**55 + 1, 0.375, True, None]))
    changed = table.set_column(
        table.column_names.index(name), name, pa.array([column] * table.num_rows)
    )
    try:
        expected = [schema.encode(record) for record in changed.to_pylist()]
    except RecordError:
        with pytest.raises(RecordError) as caught:
            schema.encode_frame(changed)
        assert "Rumpel" not in str(caught.value)
        assert "36028797" not in str(caught.value)
    else:
        assert codes(schema, changed) == expected


@given(st.integers(1, 200), st.data())
@settings(max_examples=40)
def test_any_number_of_attributes_is_encoded_and_decoded(count: int, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from([2, 3, 5, 300]), min_size=count, max_size=count))
    schema = Schema(tuple(Attribute(f"a{i}", tuple(range(r))) for i, r in enumerate(sizes)))
    seed = data.draw(st.integers(0, 2**32))
    rows = [[(seed * (i + 3) + 7 * j) % r for i, r in enumerate(sizes)] for j in range(3)]
    records = [schema.decode(row) for row in rows]
    assert [list(schema.encode(record)) for record in records] == rows
    assert codes(schema, pa.Table.from_pylist(records)) == [tuple(row) for row in rows]


@given(frames(), st.booleans())
def test_a_schema_survives_json(made: tuple[Schema, pa.Table], observed: bool) -> None:
    schema = Schema(made[0].attributes, observed=observed)
    again = Schema.from_json(schema.to_json())
    assert again == schema
    kinds = [[type(value) for value in a.values] for a in schema.attributes]
    assert [[type(value) for value in a.values] for a in again.attributes] == kinds
