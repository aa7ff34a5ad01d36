"""One attribute: the values it may take, and how a value becomes a code.

Values are declared, never learned. A value that is absent or was not declared is an error that never
repeats it, unless the attribute names a value that stands for it. True, 1 and "1" are three values,
but one attribute may not declare two of them: people could not tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import RecordError, SchemaError
from deniable.formats.forms import check_form
from deniable.numeric.bins import bins_of, members_of
from deniable.schema.bins import bin_names, cuts_at, described, names_between
from deniable.schema.order import check_order, fields_of_scale
from deniable.schema.scale import (
    Days,
    Grid,
    Point,
    Points,
    Scale,
    scale_of_form,
    spoken_point,
)

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


def is_absent(value: object) -> bool:
    """Tell whether there is no value."""
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

    ``low`` and ``high`` make it a number (or a day) on a public grid: what people are asked is whether
    it is above some point. ``step`` is how far points are apart, by default as fine as makes 200 of
    them; where it does not divide the range, ``high`` moves up to the next point, and a warning says
    so. ``log`` puts the points at about equal ratios, ``points`` wherever they are listed. A value
    counts as its nearest point, halves upwards, what is beyond the ends as the ends. ``edges``, points
    of the grid, are then where tables cut it into bins, at most eight of equal width unless said
    otherwise, and ``values`` are the names of these bins. ``ordered`` declares that values are in
    order, as words are such as never, sometimes, often. ``strict`` declares that what is beyond the
    ends is no such number (or day): it counts as ``other``, or is refused. ``missing`` comes last in
    an order, and ``other``, if there is one, is the same.
    """

    name: str
    values: tuple[Value, ...] = (False, True)
    missing: Value | None = None
    other: Value | None = None
    edges: tuple[float, ...] = ()
    complete: bool = False
    low: Any = field(default=None, kw_only=True)
    high: Any = field(default=None, kw_only=True)
    step: Any = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    log: bool = field(default=False, kw_only=True)
    points: tuple[float, ...] = field(default=(), kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    scale: Scale | None = field(default=None, init=False, repr=False)
    """The grid of a number; of ordered words, and of all else, there is none."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("An attribute's name must be a text that is not empty.")
        edges = tuple(map(_number, self._listed(self.edges)))
        own_values = tuple(map(_own, self._listed(self.values)))
        points = tuple(map(_number, self._listed(self.points)))
        for name, value in fields_of_scale(self, points).items():
            object.__setattr__(self, name, value)
        if self.scale is not None and edges[:1] == (self.scale.numbers[0],):
            edges = edges[1:]  # the lower end cuts nothing
        values = tuple(self._bucket_names(edges)) if edges else own_values
        if self.scale is not None:
            values = tuple(bin_names(self.scale, self.cuts(edges)))
        missing, other = _own(self.missing), _own(self.other)
        if self.scale is not None and missing is not None:
            values = tuple(f"{name} (bin)" if name == spoken(missing) else name for name in values)
        for extra in (missing, other):
            if extra is not None and kind(extra) not in map(kind, values):
                values += (extra,)
        if (edges or self.scale) and own_values not in ((), (False, True), values):
            raise SchemaError(f"Attribute {self.name!r} has values and edges; give one of them.")
        own = {"name": _own(self.name), "values": values, "edges": edges}
        for name, value in (own | {"missing": missing, "other": other}).items():
            object.__setattr__(self, name, value)
        self._check()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribute):
            return NotImplemented
        return self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        values = [*map(kind, self.values)]
        own = (self.name, values, self.missing, self.other, self.edges, self.complete)
        return (*own, self.scale, self.unit, self.ordered, self.strict)

    # Order

    @property
    def is_ordered(self) -> bool:
        """Tell whether it is a number, a day, or one of ordered words."""
        return self.ordered or self.scale is not None

    @property
    def levels(self) -> int:
        """Return the number of values in order: points, or words; missing is none of them."""
        if self.scale is not None:
            return self.scale.levels
        return self.size - (self.missing is not None)

    @property
    def codes(self) -> int:
        """Return how many different values records hold: as many as tables, unless it is a number."""
        return self.size if self.scale is None else self.levels + (self.missing is not None)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Return what each level counts for in means: words count 1, 2, 3, …."""
        if self.scale is not None:
            return self.scale.numbers
        return np.arange(1.0, self.levels + 1)

    def cuts(self, edges: Sequence[object] = ()) -> tuple[int, ...]:
        """Return where bins begin, as levels from 1 on: at edges, or those that are declared."""
        assert self.scale is not None
        at = cuts_at(self.scale, edges if len(edges) else self.edges)
        if at is None:
            raise SchemaError(
                f"The bins of {self.name!r} must begin at points of its grid, in ascending order: "
                f"{described(self.scale)}."
            )
        return at

    @cached_property
    def bins(self) -> NDArray[np.int64]:
        """Return the value, as tables count them, of each code."""
        if self.scale is None:
            return np.arange(self.size)
        return bins_of(self.cuts(), self.levels, self.codes)

    @property
    def members(self) -> NDArray[np.float64]:
        """Return which codes (columns) are in which value, as tables count them (rows): 0 or 1."""
        return members_of(self.bins, self.size)

    def value_of(self, code: int) -> Value | Point:
        """Return the value behind a code: for a number, its point."""
        if self.scale is not None and code < self.levels:
            return self.scale.point(code)
        return self.values[-1 if self.scale is not None else code]

    def record_value(self, code: int) -> object:
        """Return what a record holds where this is the code: of a bin a number, None for no answer."""
        if self.scale is not None:
            return self.value_of(code) if code < self.levels else None
        if not self.edges:
            return self.values[code]
        if code > len(self.edges):
            is_missing = self.missing is not None and code == self.code_of(self.missing)
            return None if is_missing else str(self.values[code])
        lowest = self.edges[0]
        return self.edges[code - 1] if code else 0 if lowest > 0 else 2 * lowest - 1

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
            if plain(value) is None or is_absent(value):
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
        check_order(self)
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
        return names_between(edges)

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.values)

    @property
    def bits(self) -> int:
        """Return how many bits hold a value."""
        return (self.codes - 1).bit_length()

    @property
    def is_binary(self) -> bool:
        """Tell whether there are two values, and no order."""
        return self.size == 2 and not self.is_ordered

    @property
    def covers(self) -> bool:
        """Tell whether every record can be encoded: yes or no, declared so, or with stand-ins."""
        is_truth = {*map(kind, self.values)} == {("bool", False), ("bool", True)}
        has_stand_ins = self.missing is not None and self.other is not None
        return self.complete or is_truth or has_stand_ins

    @cached_property
    def code_by_value(self) -> dict[tuple[str, object], int]:
        """Return the code of each declared value, by its kind."""
        return {kind(value): code for code, value in enumerate(self.values)}

    def declared(self) -> str:
        """Return the declared values as a text for messages, the first ten of them."""
        examples = ", ".join(repr(v) for v in self.values[:10])
        return examples + (", …" if self.size > 10 else "")

    def encode(self, value: object) -> int:
        """Return the code of one value; an error never repeats the value."""
        value = plain(value)
        if is_absent(value):
            if self.missing is None:
                raise RecordError(
                    f"Attribute {self.name!r} is missing; give it, or declare a value for missing."
                )
            return self.code_of(self.missing)
        if self.scale is not None:
            level = self.scale.level_of(value)
            if self.strict and self.scale.is_beyond(value):
                level = None
            if level is None and self.other is None:
                raise RecordError(self.undeclared())
            return self.levels if level is None else level
        if self.edges and isinstance(value, int | float) and not isinstance(value, bool):
            return int(np.searchsorted(self.edges, _double(value), side="right"))
        may_be_declared = isinstance(value, bool | int | str) and not self.edges
        code = self.code_by_value.get(kind(value)) if may_be_declared else None
        if code is None:
            if self.other is None:
                raise RecordError(self.undeclared())
            code = self.code_by_value[kind(self.other)]
        return code

    def code_of(self, stand_in: Value) -> int:
        """Return the code of a value that stands for others."""
        return self.levels if self.scale is not None else self.code_by_value[kind(stand_in)]

    def undeclared(self) -> str:
        """Return what a value must be, for messages."""
        if self.scale is not None:
            what = (
                "a day, such as 2026-11-01" if isinstance(self.scale, Days) else "a finite number"
            )
            if self.strict:
                ends = (spoken_point(self.scale.point(at)) for at in (0, self.scale.levels - 1))
                what += " from " + " to ".join(ends)
            return f"Attribute {self.name!r} must be {what}."
        if self.edges:
            return f"Attribute {self.name!r} must be a number, to be put into a bucket."
        return f"Attribute {self.name!r} has no such value; declared values are {self.declared()}."

    def encode_column(self, column: Any) -> NDArray[Any]:
        """Return the codes of an Arrow array, vectorised."""
        from deniable.schema.columns import encode_column

        return encode_column(self, column)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; edges are decimal texts."""
        form: dict[str, Any] = {"name": self.name}
        form |= {"values": list(self.values)} if self.scale is None else self.scale.to_json()
        form |= {"ordered": True} if self.ordered else {}
        form |= {} if self.unit is None else {"unit": self.unit}
        form |= {"strict": True} if self.strict else {}
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
        scale = scale_of_form(form)
        points = scale.at if isinstance(scale, Points) else ()
        order: dict[str, Any] = {"ordered": "ordered" in form, "unit": form.get("unit")}
        order["strict"] = "strict" in form
        if isinstance(scale, Grid):
            order |= {"low": scale.low, "high": scale.high, "step": scale.step}
        elif isinstance(scale, Days):
            order |= {"low": scale.first, "high": scale.last, "step": scale.step}
        rest = (form.get("missing"), form.get("other"), edges, "complete" in form)
        attribute = cls(form["name"], tuple(form.get("values", ())), *rest, points=points, **order)
        if attribute.to_json() != form:
            raise SchemaError(f"Attribute {attribute.name!r} is not in its canonical form.")
        return attribute
