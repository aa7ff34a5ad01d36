"""What a person holds: named attributes with declared values, and records encoded as bits.

Values are declared, never learned: a list of values taken from people's data would itself leak.
(`Schema.from_frame(..., values="observed")` does it all the same, for simulation; such a schema is
marked, and clients and servers refuse it.)

Inside, a record is a row of machine words. An attribute of r values takes ⌈log₂ r⌉ bits of one
word, and no attribute straddles two words, so any number of attributes fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError, SchemaError
from deniable.formats.forms import check_form
from deniable.schema.attribute import Attribute, Value, spoken
from deniable.schema.remarks import Remarks
from deniable.schema.scale import Point, is_end, spoken_point


@dataclass(frozen=True, eq=False)
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
        if not self.attributes or not all(isinstance(a, Attribute) for a in self.attributes):
            raise SchemaError("A schema needs at least one attribute, and nothing but attributes.")
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise SchemaError(f"Attribute {min(repeated)!r} is declared twice.")

    @classmethod
    def binary(cls, *names: str) -> Schema:
        """Return a schema of attributes that are false or true."""
        return cls(tuple(Attribute(name) for name in names))

    @classmethod
    def of(cls, /, **attributes: Sequence[Value] | tuple[Any, Any] | Attribute) -> Schema:
        """Return a schema from names and their values.

        A list holds the values; a tuple of two numbers, or two days, is where a number begins and ends;
        an `Attribute` is renamed.
        """
        return cls(tuple(_declared(name, values) for name, values in attributes.items()))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        values: Mapping[str, Sequence[Value]] | str | None = None,
        bins: Mapping[str, Sequence[float]] | None = None,
        numbers: Mapping[str, Any] | None = None,
        ordered: Sequence[str] = (),
        missing: Value | None = None,
        other: Value | None = None,
    ) -> Schema:
        """Return a schema for the columns of a pandas, polars or Arrow frame.

        Boolean columns need nothing. Columns of texts, and ordinal ones, need their ``values``, in
        the order in which tables shall show them; ``ordered`` names those whose values are an order.
        Columns of numbers and days need ``numbers``, which map a column to where it begins and ends,
        ``(18, 100)``, to a mapping of what `Attribute` takes, ``{"low": 0, "high": 200_000, "step":
        1_000, "unit": "EUR"}``, or to an `Attribute`; or, for questions about bins only, ``bins``, which
        map a column to its edges (a number on an edge belongs to the bucket above it); or, if they
        take few whole numbers, ``values``. All of it comes from public knowledge and never from the
        frame: there are no default edges. A categorical column that has an order brings its values with
        it; other categories may be what the data held, so they mark the schema as does
        ``values="observed"``, which takes the values that occur (of categories, in their order), for
        simulation only. ``missing`` and ``other`` apply to every attribute that is
        not boolean; a number has one stand-in, ``missing``, for both. A `DeniableWarning` says how many
        values of the frame pass for another: undeclared ones, and numbers and days beyond their ends.
        """
        from deniable.schema import declarations as declare
        from deniable.schema.frames import to_arrow

        table = to_arrow(frame)
        observed = isinstance(values, str) and values == "observed"
        declared_values = {} if values is None or observed else values
        declarations = {"values": declared_values, "bins": bins or {}, "numbers": numbers or {}}
        declare.check_declarations(declarations, ordered, table.column_names)
        attributes, has_observed = [], False
        for name in table.column_names:
            column = table.column(name)
            if name in declarations["numbers"]:
                number = declare.number_attribute(
                    name, declarations["numbers"][name], missing, other
                )
                attributes.append(declare.check_number_column(number, column.type))
            elif name in declarations["bins"]:
                edges = declarations["bins"][name]
                attributes.append(
                    declare.binned_attribute(name, edges, column.type, missing, other)
                )
            elif name in declarations["values"]:
                values_there = declarations["values"][name]
                attributes.append(
                    declare.listed_attribute(name, values_there, name in ordered, missing, other)
                )
            else:
                own = declare.undeclared_attribute(name, column, observed, missing, other)
                attributes.append(own.attribute)
                has_observed |= own.is_learned
        schema = cls(tuple(attributes), observed=has_observed)
        Remarks.of(schema, table).warn()
        return schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the attributes' names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def _repr_html_(self) -> str:
        from deniable.formats.markup import table_markup

        return table_markup(
            ("attribute", "values"),
            [(each.name, _in_words(each)) for each in self.attributes],
            caption=f"Schema of {len(self)} attributes",
            notes=["Its values were learned from data: for simulation only."] * self.observed,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def ranges(self) -> tuple[int, ...]:
        """Return how many different codes records hold, of each attribute: of numbers, all points."""
        return tuple(attribute.codes for attribute in self.attributes)

    @property
    def is_binary(self) -> bool:
        """Tell whether every attribute has two values."""
        return all(attribute.is_binary for attribute in self.attributes)

    def completed(self) -> Schema:
        """Return the same schema, declaring that everybody has one of the values of each attribute."""
        every = tuple(replace(attribute, complete=True) for attribute in self.attributes)
        return replace(self, attributes=every)

    def check_coverage(self) -> None:
        """Refuse attributes that may not fit everybody: who stays silent would tell about themselves."""
        for attribute in self.attributes:
            if not attribute.covers:
                raise SchemaError(
                    f"Attribute {attribute.name!r} may not fit everybody, and a device that cannot "
                    "answer shows by its silence: name the values that stand for missing and for "
                    "other ones, or declare that its values are complete (with `new`: --values or "
                    "--complete)."
                )

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
    def layout(self) -> NDArray[np.int64]:
        """Return each attribute's word and the shift of its lowest bit within it, one row each."""
        rows, word, shift = [], 0, 0
        for attribute in self.attributes:
            if shift + attribute.bits > 64:
                word, shift = word + 1, 0
            rows.append((word, shift))
            shift += attribute.bits
        return np.array(rows)

    @cached_property
    def word_type(self) -> np.dtype[Any]:
        """Return the narrowest unsigned type that holds a record, or its words if several."""
        word, shift = self.layout[-1]
        bits = shift + self.attributes[-1].bits
        return np.dtype(f"uint{64 if word else next(w for w in (8, 16, 32, 64) if bits <= w)}")

    def codes(self, records: Records, attribute: int) -> NDArray[np.int64]:
        """Return the codes of one attribute of many records."""
        word, shift = self.layout[attribute]
        mask = (1 << self.attributes[attribute].bits) - 1
        words = records.words[:, word] >> np.array(shift, records.words.dtype)
        codes: NDArray[np.int64] = (words & np.array(mask, words.dtype)).astype(np.int64)
        return codes

    def decode(self, codes: Sequence[int]) -> dict[str, Value | Point]:
        """Return the declared values behind codes."""
        return {a.name: a.value_of(code) for a, code in zip(self.attributes, codes, strict=True)}

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
        from deniable.schema.frames import to_arrow

        table = to_arrow(frame)
        absent = [name for name in self.names if name not in table.column_names]
        if absent:
            raise RecordError(f"The frame has no column {absent[0]!r}.")
        dtype = self.word_type
        words = np.zeros((self.layout[-1][0] + 1, table.num_rows), dtype).T
        # From the last attribute to the first, each pushes those after it up in their word.
        for attribute, (word, _shift) in zip(self.attributes[::-1], self.layout[::-1], strict=True):
            column = words[:, word]
            if dtype.itemsize > 1 and attribute.bits > 1:
                column <<= dtype.type(attribute.bits)
            else:
                for _ in range(attribute.bits):
                    column += column  # far faster than a shift, in bytes
            column |= attribute.encode_column(table.column(attribute.name)).astype(
                dtype, copy=False
            )
        return Records(words)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form: dict[str, Any] = {"attributes": [a.to_json() for a in self.attributes]}
        return form | {"observed": True} if self.observed else form

    @classmethod
    def from_json(cls, form: Any) -> Schema:
        """Read the JSON form strictly."""
        check_form("schema", form, SchemaError)
        return cls.of_form(form)

    @classmethod
    def of_form(cls, form: Mapping[str, Any]) -> Schema:
        """Read the JSON form, whose fields are checked already (`deniable.formats.forms`)."""
        attributes = tuple(map(Attribute.of_form, form["attributes"]))
        return cls(attributes, observed="observed" in form)


def _declared(name: str, values: Any) -> Attribute:
    """Return the attribute that a list of values, a range or an attribute declares."""
    if isinstance(values, Attribute):
        return replace(values, name=name)
    if isinstance(values, tuple) and len(values) == 2 and all(map(is_end, values)):
        return Attribute(name, low=values[0], high=values[1])
    return Attribute(name, values)


def _in_words(attribute: Attribute) -> str:
    """Return what values there are: of a number, its ends."""
    scale, values = attribute.scale, list(map(spoken, attribute.values))
    if scale is not None:
        ends = " to ".join(spoken_point(scale.point(at)) for at in (0, scale.levels - 1))
        values = [" ".join(filter(None, (ends, attribute.unit, f"({scale.levels:,} points)")))]
        values += [spoken(attribute.missing)] * (attribute.missing is not None)
    order = " (in this order)" if attribute.is_ordered and scale is None else ""
    return ", ".join(values) + order
