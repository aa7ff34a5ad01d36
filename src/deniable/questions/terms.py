"""Terms: what a question asks about one attribute, "is its value one of these?" or "is it above?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.errors import QuestionError
from deniable.schema.attribute import Value, kind
from deniable.schema.scale import Point


@dataclass(frozen=True)
class Term:
    """An attribute, and some of its values."""

    attribute: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise QuestionError(f"A question lists a value of {self.attribute!r} twice.")

    def place(self, record: Mapping[str, Value | Point]) -> int | None:
        """Return where the record's value stands among these, or None."""
        value = record[self.attribute]
        for index, candidate in enumerate(self.values):
            if type(candidate) is type(value) and candidate == value:
                return index
        return None

    def holds(self, record: Mapping[str, Value | Point]) -> bool:
        """Tell whether it is true of a record of declared values."""
        return self.place(record) is not None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"attribute": self.attribute, "values": list(self.values)}

    @classmethod
    def from_json(cls, form: Any) -> Term:
        """Read the JSON form strictly."""
        match form:
            case {"attribute": str(name), "values": [_, *_] as values, **rest} if not rest:
                if all(isinstance(v, bool | int | str) for v in values):
                    return cls(name, tuple(values))
        raise QuestionError("A question's term must be an attribute with a list of values.")


@dataclass(frozen=True)
class Range:
    """A number or a day that is above a point, and at most another one; or what stands for missing."""

    attribute: str
    above: Point
    to: Point | None = None
    stand_in: Value | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.to is not None and not _is_less(self.above, self.to):
            raise QuestionError(f"A question about {self.attribute!r} asks for an empty range.")

    def holds(self, record: Mapping[str, Value | Point]) -> bool:
        """Tell whether it is true of a record of declared values."""
        value = record[self.attribute]
        if self.stand_in is not None and kind(value) == kind(self.stand_in):
            return True
        is_above = _is_less(self.above, value)
        return is_above and (self.to is None or not _is_less(self.to, value))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form = {"attribute": self.attribute, "above": self.above}
        rest = {"to": self.to, "or": self.stand_in, "unit": self.unit}
        return form | {name: value for name, value in rest.items() if value is not None}

    @classmethod
    def from_json(cls, form: Any) -> Range:
        """Read the JSON form strictly."""
        match form:
            case {"attribute": str(name), "above": above, **rest}:
                to: Any = rest.pop("to", None)
                stand_in, unit = rest.pop("or", None), rest.pop("unit", None)
                if (
                    not rest
                    and _is_point(above)
                    and (to is None or _is_point(to))
                    and isinstance(stand_in, bool | int | str | None)
                    and isinstance(unit, str | None)
                ):
                    return cls(name, above, to, stand_in, unit)
        raise QuestionError("A question's range must be an attribute and a point that it is above.")


def _is_less(point: object, other: object) -> bool:
    """Tell whether two points, both numbers or both days, are in this order."""
    if not _is_point(point) or not _is_point(other):
        return False
    if isinstance(point, str) or isinstance(other, str):
        return isinstance(point, str) and isinstance(other, str) and point < other
    return bool(point < other)  # type: ignore[operator]


def _is_point(value: object) -> bool:
    if isinstance(value, str):
        return _is_day(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < 1 << 53  # type: ignore[arg-type]


def _is_day(text: str) -> bool:
    from deniable.schema.scale import day_of

    return day_of(text) is not None


def term_of_form(form: Any) -> Term | Range:
    """Read the JSON form of a term strictly."""
    is_range = isinstance(form, dict) and "above" in form
    return Range.from_json(form) if is_range else Term.from_json(form)
