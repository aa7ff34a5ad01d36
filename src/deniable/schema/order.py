"""What a number, a day or an ordered word needs to be declared soundly."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableWarning, SchemaError
from deniable.formats.forms import check_form
from deniable.schema.scale import (
    MOST_LEVELS,
    Days,
    Grid,
    Points,
    Scale,
    plain_number,
    scale_between,
)

if TYPE_CHECKING:
    from deniable.schema.attribute import Attribute


def fields_of_scale(attribute: Attribute, points: tuple[float, ...]) -> dict[str, Any]:
    """Return the grid of a number, and what follows for its fields; say where its upper end moved."""
    ends = (attribute.low, attribute.high)
    try:
        if points:
            scale: Scale | None = Points(points)
            if any(
                end not in (None, at) for end, at in zip(ends, (points[0], points[-1]), strict=True)
            ):
                raise SchemaError("its points begin and end elsewhere than low and high say.")
        elif ends == (None, None):
            scale = None
        else:
            scale, moved = scale_between(*ends, attribute.step, log=attribute.log)
            if moved:
                message = f"The upper end of {attribute.name!r} becomes {moved}."
                warnings.warn(message, DeniableWarning, stacklevel=5)
    except SchemaError as error:
        raise SchemaError(f"Attribute {attribute.name!r} has no such scale: {error}") from None
    if scale is None and (
        attribute.step is not None or attribute.unit is not None or attribute.log
    ):
        raise SchemaError(
            f"Attribute {attribute.name!r} has a step, a unit or a logarithm, but no low and high."
        )
    if not isinstance(attribute.strict, bool) or (attribute.strict and scale is None):
        raise SchemaError(
            f"Attribute {attribute.name!r} may be strict, True or False, if it has a low and a high end."
        )
    if scale is not None and attribute.ordered:
        raise SchemaError(
            f"Attribute {attribute.name!r} has an order already, that of its numbers."
        )
    if attribute.unit is not None and (
        isinstance(scale, Days) or not isinstance(attribute.unit, str)
    ):
        raise SchemaError(f"The unit of {attribute.name!r} must be a text; days have none.")
    if attribute.unit is not None:
        check_form("unit", attribute.unit, SchemaError)
    fields: dict[str, Any] = {"scale": scale, "points": points}
    if isinstance(scale, Grid):
        fields |= {name: plain_number(getattr(scale, name)) for name in ("low", "high", "step")}
    elif isinstance(scale, Days):
        fields |= {"low": scale.point(0), "high": scale.point(-1), "step": scale.step}
    elif isinstance(scale, Points):
        fields |= {"low": scale.point(0), "high": scale.point(-1), "points": scale.at}
    return fields


def check_order(attribute: Attribute) -> None:
    """Refuse stand-ins that an order has no room for."""
    name, scale, missing, other = (
        attribute.name,
        attribute.scale,
        attribute.missing,
        attribute.other,
    )
    if not isinstance(attribute.ordered, bool):
        raise SchemaError(f"Attribute {name!r} is ordered or not: give True or False.")
    if not attribute.is_ordered:
        return
    if attribute.ordered and attribute.edges:
        raise SchemaError(f"Attribute {name!r} is ordered by its edges already.")
    if other is not None and (missing is None or other != missing):
        raise SchemaError(
            f"Attribute {name!r} has an order, in which one value stands for what is missing and for "
            "all else: other must be the same as missing."
        )
    if missing is not None and _differ(missing, attribute.values[-1]):
        raise SchemaError(f"The value for missing must be the last one of {name!r}.")
    if attribute.levels < 2:
        raise SchemaError(f"Attribute {name!r} needs two values in order, or more.")
    if scale is not None and missing is not None and scale.holds(missing):
        raise SchemaError(
            f"What stands for missing in {name!r} could be one of its numbers or days; take a text "
            'such as "no answer".'
        )
    if scale is not None and attribute.codes > MOST_LEVELS:
        raise SchemaError(
            f"{name!r} has {MOST_LEVELS:,} points, and no room for a value for missing; take a larger "
            "step."
        )


def _differ(one: object, other: object) -> bool:
    return type(one) is not type(other) or one != other
