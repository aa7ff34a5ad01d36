"""What columns of a frame are declared to hold: values, bins, numbers and days.

All of it comes from public knowledge and never from the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deniable.errors import SchemaError
from deniable.schema.attribute import Attribute, Value
from deniable.schema.scale import Days, day_of

NUMBER_FIELDS = ("low", "high", "step", "unit", "log", "points")
"""What a number is declared by."""

_BESIDE = ("missing", "other", "edges", "complete")


def is_end(value: object) -> bool:
    """Tell whether a value may be an end of a scale: a number, or a day."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number or day_of(value) is not None


def number_attribute(
    name: str, declaration: Any, missing: Value | None = None, other: Value | None = None
) -> Attribute:
    """Return the number or day that two ends, a mapping of fields or an attribute declare.

    A number has one stand-in: it stands for what is no number, too, where ``other`` asks for that.
    """
    if isinstance(declaration, Attribute):
        attribute = replace(declaration, name=name)
    elif isinstance(declaration, Mapping):
        unknown = [field for field in declaration if field not in (*NUMBER_FIELDS, *_BESIDE)]
        if unknown:
            raise SchemaError(
                f"Number {name!r} has a field that is none of {', '.join(NUMBER_FIELDS + _BESIDE)}."
            )
        stand_in = {
            "missing": missing,
            "other": None if missing is None or other is None else missing,
        }
        attribute = Attribute(name, **(stand_in | dict(declaration)))
    elif isinstance(declaration, tuple | list) and len(declaration) in (2, 3):
        fields = dict(zip(NUMBER_FIELDS, declaration, strict=False))
        return number_attribute(name, fields, missing, other)
    else:
        raise SchemaError(
            f"Number {name!r} needs where it begins and ends, such as (0, 120), a mapping such as "
            "{'low': 0, 'high': 200_000, 'step': 1_000}, or an Attribute."
        )
    if attribute.scale is None:
        raise SchemaError(f"Number {name!r} has no low and high.")
    return attribute


def column_holds(kind: Any) -> str:
    """Return what an Arrow type holds, as far as attributes care."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return column_holds(kind.value_type)
    if pa.types.is_boolean(kind):
        return "truth values"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_decimal(kind):
        return "decimals"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "days"
    if str(kind) in {"string", "large_string", "string_view"}:
        return "texts"
    return "nothing" if pa.types.is_null(kind) else "something else"


def check_number_column(attribute: Attribute, kind: Any) -> Attribute:
    """Return a number's attribute, unless its column is of an Arrow type that holds none."""
    is_day = isinstance(attribute.scale, Days)
    fitting = {"days", "texts", "nothing"} if is_day else {"numbers", "decimals", "nothing"}
    if column_holds(kind) not in fitting and attribute.other is None:
        what = "days" if is_day else "numbers"
        raise SchemaError(f"Column {attribute.name!r} is of type {kind}, which holds no {what}.")
    return attribute


def undeclared_column(name: str, kind: Any) -> str:
    """Say what to do with a column that is neither boolean nor declared."""
    match column_holds(kind):
        case "numbers":
            remedy = (
                "say where it begins and ends in numbers, give public edges in bins, or declare its "
                "values if they are few"
            )
        case "decimals":
            remedy = "say where it begins and ends in numbers"
        case "days":
            remedy = "say on which days it begins and ends in numbers"
        case "something else":
            remedy = "make it numbers, days, texts or boolean"
        case _:
            remedy = "declare its values, in their order if they have one"
    return f"Column {name!r} is of type {kind}: {remedy}, or leave it out."
