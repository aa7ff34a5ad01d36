"""What an analyst may ask a plan for: read from what is written, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Integral, Real

from deniable.design.reading import POWER
from deniable.errors import SurveyError
from deniable.planning.needs import (
    HALVES,
    Dependence,
    GroupDifference,
    Mean,
    Need,
    PrivateDifference,
    Share,
    Slope,
)
from deniable.planning.number_rows import check_means
from deniable.schema.scale import Days
from deniable.schema.schema import Schema

DETECTED = ("v", "difference")
"""What a test can be asked to find."""


def needs_of(
    schema: Schema,
    detect: Mapping[str, float] | None = None,
    share: float | None = None,
    slope: float | None = None,
    means: Mapping[str, float] | None = None,
    *,
    power: float = POWER,
    groups: str | Sequence[float] | None = None,
    predictors: int | None = None,
) -> tuple[Need, ...]:
    """Return what an analyst asked for, or refuse it."""
    needs = _detections(schema, detect, _number("power", power, 1.0), groups)
    if share is not None:
        needs.append(Share(_number("share", share, 50.0)))
    if slope is not None:
        needs.append(Slope(_number("slope", slope, inf), _predictors(schema, predictors)))
    elif predictors is not None:
        raise SurveyError("Predictors are those of a slope; say how sure it is to be.")
    for attribute, width in check_means(schema, means).items():
        own = schema.attributes[attribute]
        unit = "days" if isinstance(own.scale, Days) else own.unit
        needs.append(Mean(width, attribute, own.name, unit))
    return tuple(needs)


def _detections(
    schema: Schema,
    detect: Mapping[str, float] | None,
    power: float,
    groups: str | Sequence[float] | None,
) -> list[Need]:
    """Return what tests are to find."""
    if detect is not None and not isinstance(detect, Mapping):
        raise SurveyError('What to detect maps a name to a size, such as {"v": 0.1}.')
    needs: list[Need] = []
    for name, value in (detect or {}).items():
        if name == "v":
            needs.append(Dependence(_number("v", value, 1.0), power))
        elif name == "difference":
            points = _number("difference", value, 100.0)
            if isinstance(groups, str):
                index = schema.index(groups)
                if schema.attributes[index].is_ordered:
                    raise SurveyError(f"{groups!r} is a number or an order, and makes no groups.")
                needs.append(PrivateDifference(points, power, 1, index, groups))
            else:
                needs.append(GroupDifference(points, power, 1, _group_shares(groups)))
        else:
            raise SurveyError(f"A test can detect {' or '.join(DETECTED)}, not {name!r}.")
    if groups is not None and "difference" not in (detect or {}):
        raise SurveyError("Groups are those of a difference; say how large it is.")
    return needs


def _number(name: str, value: object, most: float) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < most:  # type: ignore[arg-type]
        limit = "" if most == inf else f" and below {most:g}"
        raise SurveyError(f"{name} must be a number above 0{limit}, got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def _group_shares(groups: Sequence[float] | None) -> tuple[float, float]:
    if groups is None:
        return HALVES
    shares = tuple(groups)
    is_all = all(isinstance(each, Real) and 0 < float(each) < 1 for each in shares)
    if len(shares) != 2 or not is_all or sum(shares) > 1 + 1e-9:
        raise SurveyError(
            "Groups are two shares of all people, such as 0.5 and 0.5, or the name of an attribute."
        )
    return float(shares[0]), float(shares[1])


def _predictors(schema: Schema, predictors: int | None) -> int:
    others = len(schema) - 1
    if predictors is None:
        return max(1, others)
    is_number = isinstance(predictors, Integral) and not isinstance(predictors, bool)
    if not is_number or not 1 <= int(predictors) <= max(1, others):
        raise SurveyError(f"Predictors must be 1 to {max(1, others)}, got {predictors!r}.")
    return int(predictors)
