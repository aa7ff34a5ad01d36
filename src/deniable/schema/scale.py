"""Scales: public grids that a number or a day is put on, before anything is asked about it.

A value counts as the nearest point, halves upwards; what lies beyond an end counts as that end. All
arithmetic is on doubles, one operation after the other, so that every client finds the same level.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SchemaError

Point = int | float | str
"""A number, or a day as its text."""

MOST_LEVELS = 4096
_MOST_STEPS = 200
"""A step that nobody gave makes at most so many of them."""
_LOG_STEPS = 64
_MOST_DECIMALS = 15
_LARGEST = 1 << 53
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def decimals_of(number: float) -> int:
    """Return the fewest decimals that tell a number from all others; an error for more than 15."""
    for count in range(_MOST_DECIMALS + 1):
        if float(f"{number:.{count}f}") == number:
            return count
    raise SchemaError(f"Numbers of a scale have at most {_MOST_DECIMALS} decimals.")


def spoken_point(point: Point) -> str:
    """Return a point as people read it: 41,000, 0.25 or 2026-11-01."""
    if isinstance(point, str):
        return point
    return f"{point:,.{decimals_of(point)}f}"


def plain_number(number: float) -> int | float:
    """Return a whole number as an integer."""
    return int(number) if float(number).is_integer() else float(number)


class Scale(ABC):
    """A public grid of ``levels`` points."""

    @property
    @abstractmethod
    def numbers(self) -> NDArray[np.float64]:
        """Return what each point counts for in means."""

    @property
    def levels(self) -> int:
        """Return the number of points."""
        return len(self.numbers)

    @abstractmethod
    def point(self, level: int) -> Point:
        """Return a point as clients write it."""

    @abstractmethod
    def number_of(self, value: object) -> float | None:
        """Return what a value counts for, finite; None if it has no level."""

    @abstractmethod
    def numbers_of(self, column: Any) -> NDArray[np.float64] | None:
        """Return what an Arrow array counts for, NaN where there is nothing; None for another type."""

    @abstractmethod
    def _nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the levels of finite numbers."""

    def level_of(self, value: object) -> int | None:
        """Return the level of a value that is there; None if it has none."""
        number = self.number_of(value)
        return None if number is None else int(self._nearest(np.array([number]))[0])

    def levels_of(self, column: Any) -> NDArray[np.int64] | None:
        """Return the levels of an Arrow array, −1 where there is none; None for another type."""
        numbers = self.numbers_of(column)
        if numbers is None:
            return None
        finite = np.isfinite(numbers)
        if finite.all():
            return self._nearest(numbers)
        return np.where(finite, self._nearest(np.where(finite, numbers, self.numbers[0])), -1)

    def is_beyond(self, value: object) -> bool:
        """Tell whether a value that has a level lies beyond an end."""
        number = self.number_of(value)
        return number is not None and not self.numbers[0] <= number <= self.numbers[-1]

    def beyond(self, column: Any) -> NDArray[np.bool_]:
        """Tell which rows of an Arrow array, not of texts, lie beyond an end."""
        numbers = self.numbers_of(column)
        if numbers is None:
            return np.zeros(len(column), np.bool_)
        is_out: NDArray[np.bool_] = (numbers < self.numbers[0]) | (numbers > self.numbers[-1])
        return is_out & np.isfinite(numbers)

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the fields that declare it."""

    def holds(self, value: object) -> bool:
        """Tell whether a value is one that people may have."""
        return self.level_of(value) is not None

    def cut_at(self, point: object) -> int | None:
        """Return the cut that begins at a point: the level there, if it is exactly one."""
        level = self.level_of(point)
        return level if level is not None and self.point(level) == point else None


def _floats(column: Any) -> NDArray[np.float64] | None:
    """Return a numeric Arrow array as doubles, not a number where it has none."""
    import pyarrow as pa

    if not (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_decimal(column.type)
        or pa.types.is_null(column.type)
    ):
        return None
    numbers: NDArray[np.float64] = (
        column.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False)
    )
    return numbers


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class NumberScale(Scale):
    """A grid of numbers."""

    def point(self, level: int) -> int | float:
        """Return a point."""
        return plain_number(self.numbers[level])

    def number_of(self, value: object) -> float | None:
        """Return a finite number as a double."""
        if not _is_number(value):
            return None
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def numbers_of(self, column: Any) -> NDArray[np.float64] | None:
        """Return an Arrow array of numbers as doubles."""
        return _floats(column)


@dataclass(frozen=True)
class Grid(NumberScale):
    """Points from ``low`` to ``high``, a step apart."""

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        first, last, step, _ = self._whole
        if not max(abs(first), abs(last)) < _LARGEST or not 0 < step < _LARGEST:
            raise SchemaError("A scale's ends, in units of its last decimal, must be below 2^53.")
        if (last - first) % step:
            raise SchemaError("A scale's range must be a whole number of steps.")
        _check_levels((last - first) // step + 1)

    @cached_property
    def _whole(self) -> tuple[int, int, int, int]:
        """Return low, high and step as whole numbers, and what they are divided by."""
        decimals = max(decimals_of(self.low), decimals_of(self.step))
        scale = 10**decimals

        def whole(number: float) -> int:
            return int(f"{number:.{decimals}f}".replace(".", ""))

        if decimals_of(self.high) > decimals:
            raise SchemaError("A scale's range must be a whole number of steps.")
        return whole(self.low), whole(self.high), whole(self.step), scale

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Return the points, each the double nearest to its decimal text."""
        first, last, step, scale = self._whole
        return np.arange(first, last + 1, step, dtype=np.int64) / scale

    def _nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(over="ignore"):
            steps = (numbers - self.low) / self.step
        steps += 0.5  # and downwards, which casting is: they are above 0
        levels: NDArray[np.int64] = np.clip(steps, 0, self.levels - 1, out=steps).astype(np.int64)
        return levels

    def to_json(self) -> dict[str, Any]:
        """Return the fields that declare it."""
        return {"grid": {"low": repr(self.low), "high": repr(self.high), "step": repr(self.step)}}


@dataclass(frozen=True)
class Points(NumberScale):
    """Points at any distances."""

    at: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.at)) or any(np.diff(self.at) <= 0):
            raise SchemaError("The points of a scale must be finite and increasing numbers.")
        if max(map(abs, self.at)) >= _LARGEST:
            raise SchemaError("The points of a scale must be below 2^53.")
        for point in self.at:
            decimals_of(point)
        _check_levels(len(self.at))

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Return the points."""
        return np.array(self.at)

    def _nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        halfway = (self.numbers[:-1] + self.numbers[1:]) / 2
        return np.searchsorted(halfway, numbers, side="right")

    def to_json(self) -> dict[str, Any]:
        """Return the fields that declare it."""
        return {"points": [repr(point) for point in self.at]}


def spoken_day(number: float) -> str | None:
    """Return the text of a day, counted from the first of the year 1; None where there is none."""
    is_day = math.isfinite(number) and 1 <= round(number) <= date.max.toordinal()
    return date.fromordinal(round(number)).isoformat() if is_day else None


@dataclass(frozen=True)
class Days(Scale):
    """Days from the ``first`` to the ``last``, some days apart."""

    first: date
    last: date
    step: int = 1

    def __post_init__(self) -> None:
        days = (self.last - self.first).days
        if days % self.step:
            raise SchemaError("A scale's range must be a whole number of steps.")
        _check_levels(days // self.step + 1)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Return the days, counted from the first of the year 1."""
        first, last = self.first.toordinal(), self.last.toordinal()
        return np.arange(first, last + 1, self.step, dtype=np.float64)

    def point(self, level: int) -> str:
        """Return a day's text."""
        return date.fromordinal(int(self.numbers[level])).isoformat()

    def number_of(self, value: object) -> float | None:
        """Return the number of a day, a moment, or the text of a day."""
        day = day_of(value)
        return None if day is None else float(day.toordinal())

    def numbers_of(self, column: Any) -> NDArray[np.float64] | None:
        """Return the numbers of an Arrow array of days or moments."""
        return _ordinals(column)

    def _nearest(self, ordinals: NDArray[Any]) -> NDArray[np.int64]:
        steps = np.floor((ordinals - self.numbers[0]) / self.step + 0.5)
        levels: NDArray[np.int64] = steps.clip(0, self.levels - 1).astype(np.int64)
        return levels

    def to_json(self) -> dict[str, Any]:
        """Return the fields that declare it."""
        ends = {"first": self.first.isoformat(), "last": self.last.isoformat()}
        return {"days": ends | {"step": self.step}}


def _ordinals(column: Any) -> NDArray[np.float64] | None:
    """Return the days of an Arrow array, counted from the first of the year 1; NaN where it has none."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_null(kind)):
        return None
    days = column.cast(pa.date32(), safe=False).cast(pa.int32())
    numbers = _floats(days)
    return None if numbers is None else numbers + date(1970, 1, 1).toordinal()


def day_of(value: object) -> date | None:
    """Return the day of a date, a moment or a text such as 2026-11-01; None of anything else."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        is_day = isinstance(value, str) and _DAY.fullmatch(value)
        return date.fromisoformat(str(value)) if is_day else None
    except ValueError:
        return None


def is_end(value: object) -> bool:
    """Tell whether a value may be an end of a scale: a number, or a day."""
    return _is_number(value) or day_of(value) is not None


def _check_levels(levels: int) -> None:
    if not 2 <= levels <= MOST_LEVELS:
        cure = ": take a larger step" if levels > MOST_LEVELS else ""
        raise SchemaError(f"A scale has 2 to {MOST_LEVELS:,} points, got {levels:,}{cure}.")


def scale_between(low: Any, high: Any, step: Any = None, *, log: bool = False) -> tuple[Scale, str]:
    """Return the scale from one number or day to another, and what was done to its upper end, if so."""
    first, last = day_of(low), day_of(high)
    if first is not None or last is not None:
        return _days_between(first, last, step, log)
    ends = tuple(map(_finite, (low, high)))
    if ends[0] is None or ends[1] is None:
        raise SchemaError("low and high must be finite numbers, or days.")
    if not ends[0] < ends[1]:
        raise SchemaError("low must be below high.")
    if log:
        return _logarithmic(ends[0], ends[1], step), ""
    size = _nice_step(ends[0], ends[1]) if step is None else _finite(step)
    if size is None or size <= 0:
        raise SchemaError("step must be a positive number.")
    unit = 10 ** max(decimals_of(ends[0]), decimals_of(size))
    start, whole = (round(each * unit) for each in (ends[0], size))
    steps = -(-math.ceil(round(ends[1] * unit, 6) - start) // whole)
    if steps >= MOST_LEVELS:
        needed = (ends[1] - ends[0]) / (MOST_LEVELS - 1)
        raise SchemaError(
            f"The scale would have {steps + 1:,} points; {MOST_LEVELS:,} is the limit, so take a step "
            f"of {needed:.3g} or more."
        )
    top = (start + steps * whole) / unit
    note = (
        f"{spoken_point(plain_number(top))}, a whole number of steps"
        if step is not None and top != ends[1]
        else ""
    )
    return Grid(ends[0], top, size), note


def _days_between(first: date | None, last: date | None, step: Any, log: bool) -> tuple[Days, str]:
    if first is None or last is None or log:
        raise SchemaError("A scale of days goes from one day to another, such as 2026-11-01.")
    if first >= last:
        raise SchemaError("low must be below high.")
    days = (last - first).days
    size = max(1, -(-days // _MOST_STEPS)) if step is None else step
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= days:
        raise SchemaError("The step of a scale of days is a whole number of days.")
    ordinal = first.toordinal() + -(-days // size) * size
    if ordinal > date.max.toordinal():
        raise SchemaError("A scale of days ends on 9999-12-31 at the latest; take another step.")
    top = date.fromordinal(ordinal)
    note = f"{top}, a whole number of steps" if step is not None and top != last else ""
    return Days(first, top, size), note


def _logarithmic(low: float, high: float, step: Any) -> Points:
    """Return points whose ratios are about equal, of three digits each."""
    if low <= 0:
        raise SchemaError("A logarithmic scale begins above 0.")
    factor = (high / low) ** (1 / _LOG_STEPS) if step is None else _finite(step)
    if factor is None or factor <= 1:
        raise SchemaError("The step of a logarithmic scale is a factor above 1.")
    count = max(1, round(math.log(high / low) / math.log(factor)))
    _check_levels(min(count + 1, MOST_LEVELS + 1))
    inner = [float(f"{low * (high / low) ** (i / count):.3g}") for i in range(1, count)]
    return Points(tuple(sorted({low, *(p for p in inner if low < p < high), high})))


def _nice_step(low: float, high: float) -> float:
    """Return 1, 2 or 5 times a power of ten: the least of which there are at most 200."""
    span = high - low
    power = math.floor(math.log10(span / _MOST_STEPS))
    for factor in (1, 2, 5, 10, 20):
        step = factor * 10.0**power if power >= 0 else factor / 10**-power
        if span / step <= _MOST_STEPS:
            is_whole = float(low).is_integer() and float(high).is_integer()
            return 1.0 if is_whole and step < 1 else step
    raise AssertionError("a larger factor suffices")


def _finite(value: Any) -> float | None:
    """Return a finite number as a double; None for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        number = float(value) if _is_number(value) else math.inf
    except OverflowError:
        return None
    return number + 0.0 if math.isfinite(number) else None


def scale_of_form(form: Mapping[str, Any]) -> Scale | None:
    """Return the scale that an attribute's JSON form declares, whose fields are checked already."""
    if "grid" in form:
        ends: Sequence[float] = [float(form["grid"][name]) for name in ("low", "high", "step")]
        if not ends[0] < ends[1]:
            raise SchemaError("low must be below high.")
        return Grid(*ends)
    if "points" in form:
        return Points(tuple(map(float, form["points"])))
    if "days" in form:
        days = form["days"]
        first, last = (date.fromisoformat(days[name]) for name in ("first", "last"))
        if first >= last:
            raise SchemaError("low must be below high.")
        return Days(first, last, days["step"])
    return None
