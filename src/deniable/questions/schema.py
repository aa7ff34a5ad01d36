"""What a person holds: named attributes with declared values, and records encoded as bits.

Values are declared, never learned: a list of values taken from people's data would itself leak.
(`Schema.from_frame(..., values="observed")` does it all the same, for simulation; such a schema is
marked, and clients and servers refuse it.)

Inside, a record is a row of machine words. An attribute of r values takes ⌈log₂ r⌉ bits of one
word, and no attribute straddles two words, so any number of attributes fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError, SchemaError

__all__ = ["Attribute", "Records", "Schema", "Value"]

Value = bool | int | str
"""What an attribute's value may be."""

_LARGEST_ATTRIBUTE = 1 << 16


def _kind(value: object) -> tuple[str, object]:
    """Return a key under which True, 1 and "1" are three different values."""
    return type(value).__name__, value


def _plain(value: object) -> object:
    """Return the plain Python form of a numpy scalar or a whole float; None for missing."""
    if hasattr(value, "item") and not isinstance(value, bool | int | str):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


@dataclass(frozen=True)
class Attribute:
    """One thing that may be true of a person, with the values it may take.

    ``missing`` and ``other`` name the values that stand for an absent and for an undeclared one;
    they join ``values`` if they are not among them, and no record can then fail on this
    attribute. ``edges`` makes it a number in buckets: below the first edge, between two edges
    (the lower one included), from the last edge on.
    """

    name: str
    values: tuple[Value, ...] = (False, True)
    missing: Value | None = None
    other: Value | None = None
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("An attribute's name must be a text that is not empty.")
        values = tuple(self._bucket_names()) if self.edges else tuple(self.values)
        for extra in (self.missing, self.other):
            if extra is not None and _kind(extra) not in map(_kind, values):
                values += (extra,)
        object.__setattr__(self, "values", values)
        self._check()

    def _check(self) -> None:
        for value in self.values:
            if not isinstance(value, bool | int | str):
                raise SchemaError(
                    f"Attribute {self.name!r} declares a {type(value).__name__} as a value; "
                    "values are texts, whole numbers, or false and true."
                )
            if isinstance(value, int) and abs(value) >= 1 << 53:
                raise SchemaError(f"Attribute {self.name!r} declares a number of 2^53 or more.")
            if isinstance(value, str) and any(0xD800 <= ord(c) < 0xE000 for c in value):
                raise SchemaError(f"Attribute {self.name!r} declares a text that is not Unicode.")
        if any(0xD800 <= ord(c) < 0xE000 for c in self.name):
            raise SchemaError("An attribute's name is not valid Unicode text.")
        if len(set(self.values)) < len(self.values):
            raise SchemaError(f"Attribute {self.name!r} declares a value twice.")
        if not 2 <= len(self.values) <= _LARGEST_ATTRIBUTE:
            raise SchemaError(
                f"Attribute {self.name!r} must have 2 to {_LARGEST_ATTRIBUTE:,} values, "
                f"got {len(self.values):,}."
            )

    def _bucket_names(self) -> Iterable[str]:
        edges = tuple(float(edge) for edge in self.edges)
        if any(not math.isfinite(e) for e in edges) or any(
            low >= high for low, high in zip(edges, edges[1:], strict=False)
        ):
            raise SchemaError(f"The bin edges of {self.name!r} must be finite and increasing.")
        object.__setattr__(self, "edges", edges)
        shown = [f"{edge:g}" for edge in edges]
        yield f"below {shown[0]}"
        yield from (f"{a} to {b}" for a, b in zip(shown, shown[1:], strict=False))
        yield f"{shown[-1]} or more"

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.values)

    @property
    def bits(self) -> int:
        """Return how many bits hold a value."""
        return (self.size - 1).bit_length()

    @property
    def is_binary(self) -> bool:
        """Tell whether there are two values."""
        return self.size == 2

    @cached_property
    def _codes(self) -> dict[tuple[str, object], int]:
        return {_kind(value): code for code, value in enumerate(self.values)}

    def declared(self) -> str:
        """Return the declared values as a text for messages, the first ten of them."""
        shown = ", ".join(repr(v) for v in self.values[:10])
        return shown + (", …" if self.size > 10 else "")

    def encode(self, value: object) -> int:
        """Return the code of one value; an error never repeats the value."""
        value = _plain(value)
        if value is None or type(value).__name__ in {"NAType", "NaTType"}:
            if self.missing is None:
                raise RecordError(
                    f"Attribute {self.name!r} is missing; give it, or declare a value for missing."
                )
            return self._codes[_kind(self.missing)]
        if self.edges and isinstance(value, int | float) and not isinstance(value, bool):
            return int(np.searchsorted(self.edges, value, side="right"))
        code = None if self.edges else self._codes.get(_kind(value))
        if code is None:
            if self.other is None:
                raise RecordError(self._undeclared())
            code = self._codes[_kind(self.other)]
        return code

    def _undeclared(self) -> str:
        if self.edges:
            return f"Attribute {self.name!r} must be a number, to be put into a bucket."
        return f"Attribute {self.name!r} has no such value; declared values are {self.declared()}."

    def encode_column(self, column: Any) -> NDArray[Any]:
        """Return the codes of an Arrow array, vectorised."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_dictionary(column.type):
            if column.null_count or column.dictionary.null_count:
                column = column.dictionary_decode()
            else:
                codes = self.encode_column(column.dictionary)
                return codes[column.indices.to_numpy(zero_copy_only=False)]
        if pa.types.is_boolean(column.type) and not column.null_count:
            if self.values == (False, True):
                return _unpack(column)
        elif pa.types.is_floating(column.type):
            column = column.fill_null(float("nan"))
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        absent = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        if self.edges:
            codes, unknown = self._bucket(column)
        else:
            codes, unknown = self._look_up(column)
        if absent is not None:
            codes[absent] = self._stand_in(self.missing, int(absent.sum()), "no value")
            unknown &= ~absent
        if unknown.any():
            codes[unknown] = self._stand_in(self.other, int(unknown.sum()), "an undeclared value")
        return codes

    def _stand_in(self, value: Value | None, rows: int, lack: str) -> int:
        if value is None:
            remedy = (
                "declare a value for missing"
                if lack == "no value"
                else f"declared values are {self.declared()}"
                if not self.edges
                else "a bucket needs a number"
            )
            raise RecordError(f"Attribute {self.name!r} has {lack} in {rows:,} rows; {remedy}.")
        return self._codes[_kind(value)]

    def _bucket(self, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        import pyarrow as pa

        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise RecordError(f"Attribute {self.name!r} must be numeric, got {column.type}.")
        numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        codes = np.searchsorted(self.edges, numbers, side="right")
        return codes, np.zeros(len(codes), np.bool_)

    def _look_up(self, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        matches = {
            bool: pa.types.is_boolean(column.type),
            int: pa.types.is_integer(column.type) or pa.types.is_floating(column.type),
            str: is_text or str(column.type) == "string_view",
        }
        candidates = [value for value in self.values if matches[type(value)]]
        if not candidates and len(column) > column.null_count and self.other is None:
            raise RecordError(
                f"Attribute {self.name!r} is a column of type {column.type}; "
                f"declared values are {self.declared()}."
            )
        codes = np.full(len(column), -1, np.int64)
        if candidates:
            kind = type(candidates[0])
            arrow = {bool: pa.bool_(), int: pa.float64(), str: pa.string()}[kind]
            found = pc.index_in(column.cast(arrow), value_set=pa.array(candidates, arrow))
            index = found.fill_null(-1).to_numpy(zero_copy_only=False)
            known = np.array([self._codes[_kind(value)] for value in candidates])
            codes = np.where(index < 0, -1, known[index])
        return codes, codes < 0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; edges are decimal texts."""
        form: dict[str, Any] = {"name": self.name, "values": list(self.values)}
        if self.missing is not None:
            form["missing"] = self.missing
        if self.other is not None:
            form["other"] = self.other
        if self.edges:
            form["edges"] = [repr(edge) for edge in self.edges]
        return form

    @classmethod
    def from_json(cls, form: Any) -> Attribute:
        """Read the JSON form strictly."""
        if not isinstance(form, dict) or not {"name", "values"} <= set(form) <= {
            "name",
            "values",
            "missing",
            "other",
            "edges",
        }:
            raise SchemaError("An attribute must be an object with name and values.")
        if not isinstance(form["values"], list):
            raise SchemaError("An attribute's values must be a list.")
        try:
            edges = tuple(float(edge) for edge in form.get("edges", ()))
        except (TypeError, ValueError):
            raise SchemaError("An attribute's edges must be decimal numbers.") from None
        made = cls(
            form["name"], tuple(form["values"]), form.get("missing"), form.get("other"), edges
        )
        if made.to_json() != form:
            raise SchemaError(f"Attribute {made.name!r} is not in its canonical form.")
        return made


def _unpack(column: Any) -> NDArray[np.uint8]:
    """Return an Arrow boolean array without nulls as bytes 0 and 1."""
    start = column.offset
    packed = np.frombuffer(column.buffers()[1], np.uint8)[start >> 3 : (start + len(column) + 7) >> 3]
    return np.unpackbits(packed, bitorder="little")[start & 7 : (start & 7) + len(column)]


@dataclass(frozen=True)
class Records:
    """Many people's encoded records: one row of machine words each."""

    words: NDArray[Any]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Any) -> Records:
        return Records(self.words[rows])


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in order."""

    attributes: tuple[Attribute, ...]
    observed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise SchemaError("A schema needs at least one attribute.")
        repeated = {n for n in self.names if self.names.count(n) > 1} if len(
            set(self.names)
        ) < len(self.names) else set()
        if repeated:
            raise SchemaError(f"Attribute {min(repeated)!r} is declared twice.")

    @classmethod
    def binary(cls, *names: str) -> Schema:
        """Return a schema of attributes that are false or true."""
        return cls(tuple(Attribute(name) for name in names))

    @classmethod
    def of(cls, **attributes: Sequence[Value] | Attribute) -> Schema:
        """Return a schema from names and their values (or an `Attribute`, which is renamed)."""
        made = []
        for name, given in attributes.items():
            if isinstance(given, Attribute):
                values = () if given.edges else given.values
                made.append(Attribute(name, values, given.missing, given.other, given.edges))
            elif isinstance(given, str) or not isinstance(given, Iterable):
                raise SchemaError(f"Attribute {name!r} needs a list of values.")
            else:
                made.append(Attribute(name, tuple(given)))
        return cls(tuple(made))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        values: Mapping[str, Sequence[Value]] | str | None = None,
        bins: Mapping[str, Sequence[float]] | None = None,
        missing: Value | None = None,
        other: Value | None = None,
    ) -> Schema:
        """Return a schema for the columns of a pandas, polars or Arrow frame.

        Boolean columns need nothing. Others need declared ``values`` or public ``bins`` edges.
        ``values="observed"`` takes the values that occur, for simulation only: it marks the schema.
        ``missing`` and ``other`` apply to every attribute that is not boolean.
        """
        import pyarrow as pa

        from deniable.questions.frames import to_arrow

        table = to_arrow(frame)
        declared = {} if values is None or isinstance(values, str) else dict(values)
        if isinstance(values, str) and values != "observed":
            raise SchemaError(f'values must be "observed" or a mapping, got {values!r}.')
        edges = dict(bins or {})
        for name in (*declared, *edges):
            if name not in table.column_names:
                raise SchemaError(f"The frame has no column {name!r}.")
        made, learned = [], False
        for name in table.column_names:
            column = table.column(name)
            if name in edges:
                made.append(Attribute(name, (), missing, other, tuple(edges[name])))
            elif name in declared:
                made.append(Attribute(name, tuple(declared[name]), missing, other))
            elif pa.types.is_boolean(column.type):
                made.append(Attribute(name))
            elif values == "observed":
                learned = True
                seen = {_plain(v) for v in column.unique().to_pylist()} - {None}
                made.append(Attribute(name, tuple(sorted(seen, key=_sort_key)), missing, other))  # type: ignore[arg-type]
            else:
                raise SchemaError(
                    f"Column {name!r} is of type {column.type}: declare its values or bins, "
                    "make it boolean, or leave it out."
                )
        return cls(tuple(made), observed=learned)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the attributes' names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def is_binary(self) -> bool:
        """Tell whether every attribute has two values."""
        return all(attribute.is_binary for attribute in self.attributes)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return an attribute's position."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise SchemaError(
                f"There is no attribute {name!r}; attributes are {', '.join(self.names[:10])}"
                f"{', …' if len(self) > 10 else ''}."
            ) from None

    @cached_property
    def layout(self) -> tuple[tuple[int, int], ...]:
        """Return each attribute's word and the shift of its lowest bit within it."""
        places, word, shift = [], 0, 0
        for attribute in self.attributes:
            if shift + attribute.bits > 64:
                word, shift = word + 1, 0
            places.append((word, shift))
            shift += attribute.bits
        return tuple(places)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Return the layout as an array, one row (word, shift) per attribute."""
        return np.array(self.layout)

    @cached_property
    def word_type(self) -> np.dtype[Any]:
        """Return the narrowest unsigned type that holds a record, or its words if several."""
        word, shift = self.layout[-1]
        bits = shift + self.attributes[-1].bits
        return np.dtype(f"uint{64 if word else next(w for w in (8, 16, 32, 64) if bits <= w)}")

    def decode(self, codes: Sequence[int]) -> dict[str, Value]:
        """Return the declared values behind codes."""
        return {a.name: a.values[code] for a, code in zip(self.attributes, codes, strict=True)}

    def encode(self, record: Mapping[str, object]) -> tuple[int, ...]:
        """Return the codes of one record; every attribute must be given or have a ``missing``."""
        if not isinstance(record, Mapping):
            raise RecordError("A record must map attribute names to values.")
        unknown = [name for name in record if name not in self._index]
        if unknown:
            raise RecordError(
                f"The record has {len(unknown)} entries that are no attributes of this survey."
            )
        return tuple(a.encode(record.get(a.name)) for a in self.attributes)

    def encode_frame(self, frame: Any) -> Records:
        """Return the encoded records of a pandas, polars or Arrow frame; other columns are left."""
        from deniable.questions.frames import to_arrow

        table = to_arrow(frame)
        absent = [name for name in self.names if name not in table.column_names]
        if absent:
            raise RecordError(f"The frame has no column {absent[0]!r}.")
        dtype = self.word_type
        words = np.zeros((table.num_rows, self.layout[-1][0] + 1), dtype)
        for attribute, (word, shift) in zip(self.attributes, self.layout, strict=True):
            codes = attribute.encode_column(table.column(attribute.name)).astype(dtype)
            if shift:
                codes <<= dtype.type(shift)
            words[:, word] |= codes
        return Records(words)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form: dict[str, Any] = {"attributes": [a.to_json() for a in self.attributes]}
        return form | {"observed": True} if self.observed else form

    @classmethod
    def from_json(cls, form: Any) -> Schema:
        """Read the JSON form strictly."""
        if not isinstance(form, dict) or not isinstance(form.get("attributes"), list):
            raise SchemaError("A schema must be an object with a list of attributes.")
        observed = form.get("observed", False)
        if set(form) - {"attributes", "observed"} or (observed is not True and "observed" in form):
            raise SchemaError("A schema holds fields that it should not.")
        return cls(tuple(Attribute.from_json(a) for a in form["attributes"]), observed=observed)


def _sort_key(value: Any) -> tuple[str, Any]:
    return _kind(value)
