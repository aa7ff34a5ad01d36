"""What columns of a frame are declared to hold: values, bins, numbers and days.

All of it comes from public knowledge and never from the frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from deniable.errors import SchemaError
from deniable.schema.attribute import Attribute, Value, kind, plain
from deniable.schema.scale import Days

NUMBER_FIELDS = ("low", "high", "step", "unit", "log", "points", "strict")
"""What a number is declared by."""

_BESIDE = ("missing", "other", "edges", "complete")


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
    fitting |= (
        set() if attribute.missing is None else {"texts"}
    )  # beside its name, numbers are texts
    if column_holds(kind) not in fitting and attribute.other is None:
        what = "days" if is_day else "numbers"
        raise SchemaError(f"Column {attribute.name!r} is of type {kind}, which holds no {what}.")
    return attribute


def listed_attribute(
    name: str, values: Any, is_ordered: bool, missing: Value | None, other: Value | None
) -> Attribute:
    """Return an attribute of listed values; those in order have one stand-in, as numbers do."""
    stand_in = missing if is_ordered and other is not None else other
    return Attribute(name, values, missing, stand_in, ordered=is_ordered)


class Undeclared(NamedTuple):
    """What an undeclared column brings along, and whether its values may be those of the data."""

    attribute: Attribute
    is_learned: bool


def undeclared_attribute(
    name: str, column: Any, observed: bool, missing: Value | None, other: Value | None
) -> Undeclared:
    """Return the attribute of a column that nobody declared, or say what to do with it."""
    holds = column_holds(column.type)
    if holds == "truth values":
        return Undeclared(Attribute(name), False)
    category = category_of(column)
    if category and (observed or category.values):
        values = category.seen if observed else category.values
        attribute = listed_attribute(name, values, category.is_ordered, missing, other)
        # Only an order is sure to be somebody's: other categories may be what a frame held.
        return Undeclared(attribute, observed or not category.is_ordered)
    if observed and holds in {"numbers", "texts", "nothing"}:
        return Undeclared(Attribute(name, seen_values(column), missing, other), True)
    raise SchemaError(undeclared_column(name, column.type))


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


def check_declarations(
    declarations: Mapping[str, Any], ordered: Sequence[str], columns: Sequence[str]
) -> None:
    """Refuse what declares no column, or one twice."""
    if isinstance(ordered, str) or not all(isinstance(m, Mapping) for m in declarations.values()):
        raise SchemaError(
            'values must be "observed" or map columns to lists; so must bins and numbers, and ordered '
            "is a list of columns."
        )
    own: dict[str, str] = {}
    for what, each in declarations.items():
        for name in each:
            if name not in columns:
                raise SchemaError(f"The frame has no column {name!r}.")
            if name in own:
                raise SchemaError(f"Column {name!r} has {own[name]} and {what}; give one of them.")
            own[name] = what
    for name in ordered:
        if own.get(name) != "values":
            raise SchemaError(f"Column {name!r} is in order: declare its values, in that order.")


@dataclass(frozen=True)
class Category:
    """The values of a categorical column, in its order, and those of them that occur."""

    values: tuple[Any, ...]
    seen: tuple[Any, ...]
    is_ordered: bool


def category_of(column: Any) -> Category | None:
    """Return what a categorical (dictionary) Arrow column declares; None of any other column."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind) or column_holds(kind) not in {"numbers", "texts"}:
        return None
    values = dict.fromkeys(
        plain(value) for part in column.chunks for value in part.dictionary.to_pylist()
    )
    values.pop(None, None)
    own = {plain(value) for value in column.unique().to_pylist()}
    return Category(tuple(values), tuple(v for v in values if v in own), bool(kind.ordered))


def seen_values(column: Any) -> tuple[Any, ...]:
    """Return the values that occur in an Arrow column, sorted."""
    import pyarrow as pa

    if str(column.type) == "string_view":
        column = column.cast(pa.string())  # Arrow finds an empty text where a view has none
    return tuple(sorted({plain(v) for v in column.unique().to_pylist()} - {None}, key=kind))


def binned_attribute(name: str, edges: Any, column: Any, missing: Any, other: Any) -> Attribute:
    """Return a number that is asked about in bins only."""
    if column_holds(column) not in {"numbers", "nothing"} | ({"texts"} if missing else set()):
        raise SchemaError(f"Column {name!r} is of type {column}; bins need numbers.")
    attribute = Attribute(name, (False, True), missing, other, edges)
    if not attribute.edges:
        raise SchemaError(f"The bins of column {name!r} have no edges; give one or more.")
    return attribute
