"""One attribute: the values it may take, and how a value becomes a code.

Values are declared, never learned. A value that is absent or was not declared is an error that never
repeats it, unless the attribute names a value that stands for it. True, 1 and "1" are three values,
but one attribute may not declare two of them: people could not tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError, SchemaError
from deniable.formats.forms import check_form

Value = bool | int | str
"""What an attribute's value may be."""

_LARGEST_ATTRIBUTE = 1 << 16


def kind(value: object) -> tuple[str, object]:
    """Return a key under which True, 1 and "1" are three different values."""
    return type(value).__name__, value


def spoken(value: object) -> str:
    """Return a value as people read it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _own(value: object) -> object:
    """Return a numpy scalar, or a text or number of a class of its own, as plain Python."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else value  # as an item, some would be numbers
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    return int.__int__(value) if isinstance(value, int) and type(value) is not bool else value


def plain(value: object) -> object:
    """Return the plain Python form of a value or of a whole float; None for missing."""
    value = _own(value)
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


def _number(edge: Any) -> float:
    """Return an edge as a float; NaN for what is no number."""
    try:
        return math.nan if isinstance(edge, bool | str | bytes) else float(edge) + 0.0  # -0 is 0
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _double(number: float) -> float:
    """Return a number as a double, as every client's JSON reads it: infinite if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_absent(value: object) -> bool:
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


@dataclass(frozen=True)
class Attribute:
    """One thing that may be true of a person, with the values it may take.

    ``missing`` and ``other`` name the values that stand for an absent and for an undeclared one;
    they join ``values`` if they are not among them, and no record can then fail on this
    attribute. ``edges`` makes it a number in buckets: below the first edge, between two edges
    (the lower one included), from the last edge on. A value that nobody has may be declared, and
    so may an empty text or spaces: questions show them in quotes. ``complete`` declares that everybody
    has one of the values: where that is wrong, a device cannot answer, and its silence shows.
    """

    name: str
    values: tuple[Value, ...] = (False, True)
    missing: Value | None = None
    other: Value | None = None
    edges: tuple[float, ...] = ()
    complete: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("An attribute's name must be a text that is not empty.")
        edges = tuple(map(_number, self._listed(self.edges)))
        own_values = tuple(map(_own, self._listed(self.values)))
        values = tuple(self._bucket_names(edges)) if edges else own_values
        missing, other = _own(self.missing), _own(self.other)
        for extra in (missing, other):
            if extra is not None and kind(extra) not in map(kind, values):
                values += (extra,)
        if edges and own_values not in ((), (False, True), values):
            raise SchemaError(f"Attribute {self.name!r} has values and edges; give one of them.")
        own = {"name": _own(self.name), "values": values, "edges": edges}
        for field, value in (own | {"missing": missing, "other": other}).items():
            object.__setattr__(self, field, value)
        self._check()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribute):
            return NotImplemented
        return self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        values = [*map(kind, self.values)]
        return (self.name, values, self.missing, self.other, self.edges, self.complete)

    def _listed(self, items: Any) -> tuple[Any, ...]:
        """Return a list of values or edges, or as much of it as shows that it is too long."""
        try:
            if not isinstance(items, str | bytes | Set | Mapping):
                return tuple(islice(items, _LARGEST_ATTRIBUTE + 1))
        except TypeError:
            pass
        raise SchemaError(
            f"Attribute {self.name!r} needs a list of values or edges, not a text, a set or a mapping."
        )

    def _check(self) -> None:
        if not isinstance(self.complete, bool):
            raise SchemaError(f"Attribute {self.name!r} is complete or not: give True or False.")
        if any(0xD800 <= ord(c) < 0xE000 for c in self.name):
            raise SchemaError("An attribute's name is not valid Unicode text.")
        for value in self.values:
            if plain(value) is None or _is_absent(value):
                raise SchemaError(
                    f"Attribute {self.name!r} lists None or NaN as a value; leave it out, "
                    "and name the value that stands for an absent one in missing."
                )
            if not isinstance(value, bool | int | str):
                raise SchemaError(
                    f"Attribute {self.name!r} declares a {type(value).__name__} as a value; "
                    "values are texts, whole numbers, or false and true, and other numbers "
                    "need bins at public edges."
                )
            if isinstance(value, int) and abs(value) >= 1 << 53:
                raise SchemaError(f"Attribute {self.name!r} declares a number of 2^53 or more.")
            if isinstance(value, str) and any(0xD800 <= ord(c) < 0xE000 for c in value):
                raise SchemaError(f"Attribute {self.name!r} declares a text that is not Unicode.")
        self._check_count()
        if len(set(map(kind, self.values))) < self.size:
            raise SchemaError(f"Attribute {self.name!r} declares a value twice.")
        if len(set(self.values)) < self.size or len(set(map(spoken, self.values))) < self.size:
            raise SchemaError(
                f"Attribute {self.name!r} declares values that are easily confused, "
                "as true, 1 and '1' are; keep one of them."
            )

    def _check_count(self) -> None:
        if not self.values:
            raise SchemaError(
                f"Attribute {self.name!r} has no values; list two or more, or leave it out."
            )
        if self.size == 1:
            raise SchemaError(
                f"Attribute {self.name!r} has only one value, the same for everybody: leave it out."
            )
        if self.size > _LARGEST_ATTRIBUTE:
            raise SchemaError(
                f"Attribute {self.name!r} has more than {_LARGEST_ATTRIBUTE:,} values; group some "
                "of them into one, or put numbers into bins."
            )

    def _bucket_names(self, edges: tuple[float, ...]) -> Iterable[str]:
        if not all(map(math.isfinite, edges)) or any(a >= b for a, b in pairwise(edges)):
            raise SchemaError(
                f"The bin edges of {self.name!r} must be finite and increasing numbers."
            )
        texts = [f"{e:g}" if float(f"{e:g}") == e else repr(e) for e in edges]
        yield f"below {texts[0]}"
        yield from (f"{a} to {b}" for a, b in pairwise(texts))
        yield f"{texts[-1]} or more"

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

    @property
    def covers(self) -> bool:
        """Tell whether every record can be encoded: yes or no, declared so, or with stand-ins."""
        is_truth = {*map(kind, self.values)} == {("bool", False), ("bool", True)}
        has_stand_ins = self.missing is not None and self.other is not None
        return self.complete or is_truth or has_stand_ins

    @cached_property
    def _codes(self) -> dict[tuple[str, object], int]:
        return {kind(value): code for code, value in enumerate(self.values)}

    def declared(self) -> str:
        """Return the declared values as a text for messages, the first ten of them."""
        examples = ", ".join(repr(v) for v in self.values[:10])
        return examples + (", …" if self.size > 10 else "")

    def encode(self, value: object) -> int:
        """Return the code of one value; an error never repeats the value."""
        value = plain(value)
        if _is_absent(value):
            if self.missing is None:
                raise RecordError(
                    f"Attribute {self.name!r} is missing; give it, or declare a value for missing."
                )
            return self._codes[kind(self.missing)]
        if self.edges and isinstance(value, int | float) and not isinstance(value, bool):
            return int(np.searchsorted(self.edges, _double(value), side="right"))
        may_be_declared = isinstance(value, bool | int | str) and not self.edges
        code = self._codes.get(kind(value)) if may_be_declared else None
        if code is None:
            if self.other is None:
                raise RecordError(self._undeclared())
            code = self._codes[kind(self.other)]
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
            try:
                if not (column.null_count or column.dictionary.null_count):
                    codes = self.encode_column(column.dictionary)
                    picked: NDArray[Any] = codes[column.indices.to_numpy(zero_copy_only=False)]
                    return picked
            except RecordError:
                pass  # a dictionary may list values that no row holds: look at the rows
            column = column.dictionary_decode()
        if pa.types.is_boolean(column.type) and not column.null_count:
            if self._codes == {("bool", False): 0, ("bool", True): 1}:
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
                "declare a value for missing, or leave such rows out"
                if lack == "no value"
                else f"declared values are {self.declared()}"
                if not self.edges
                else "a bucket needs a number"
            )
            raise RecordError(f"Attribute {self.name!r} has {lack} in {rows:,} rows; {remedy}.")
        return self._codes[kind(value)]

    def _bucket(self, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        import pyarrow as pa

        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            if len(column) > column.null_count and self.other is None:
                raise RecordError(f"Attribute {self.name!r} must be numeric, got {column.type}.")
            return np.zeros(len(column), np.int64), np.ones(len(column), np.bool_)
        numbers = _floats(column).fill_null(0.0).to_numpy(zero_copy_only=False)
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
            value_type = type(candidates[0])
            arrow = {bool: pa.bool_(), int: pa.float64(), str: pa.string()}[value_type]
            same = _floats(column) if value_type is int else column.cast(arrow)
            indices = pc.index_in(same, value_set=pa.array(candidates, arrow))
            index = indices.fill_null(-1).to_numpy(zero_copy_only=False)
            candidate_codes = np.array([self._codes[kind(value)] for value in candidates])
            codes = np.where(index < 0, -1, candidate_codes[index])
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
        return form | {"complete": True} if self.complete else form

    @classmethod
    def from_json(cls, form: Any) -> Attribute:
        """Read the JSON form strictly."""
        check_form("attribute", form, SchemaError)
        return cls.of_form(form)

    @classmethod
    def of_form(cls, form: Mapping[str, Any]) -> Attribute:
        """Read the JSON form, whose fields are checked already (`deniable.formats.forms`)."""
        edges = tuple(map(float, form.get("edges", ())))
        rest = (form.get("missing"), form.get("other"), edges, "complete" in form)
        attribute = cls(form["name"], tuple(form["values"]), *rest)
        if attribute.to_json() != form:
            raise SchemaError(f"Attribute {attribute.name!r} is not in its canonical form.")
        return attribute


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
