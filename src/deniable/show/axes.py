"""Axes of numbers: where their ticks are, and which points share a bar of a histogram.

An axis counts a number's points, 0, 1, 2, …, so that grids of numbers, points at any distances, days
and ordered words are all drawn alike: a point takes the room from half a step before it to half a step
after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import floor, log10
from typing import Any

import numpy as np

from deniable.release.numbers.estimates import NumberDistribution
from deniable.schema.attribute import Attribute, spoken
from deniable.schema.scale import Days, day_of, spoken_point
from deniable.show.numbers import digits_for, thousands

MOST_BARS = 50
"""The most bars of a histogram."""

_LONG_NUMBER = re.compile(r"(?<![\d.])\d{5,}(?![\d])")
_ROUND = (1, 2, 5, 10, 20, 25, 50)
_ROUND_DAYS = (1, 2, 7, 14, 28)
_ROUND_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_LEAST_RATIO = 20
"""From this ratio of its ends on, an uneven scale has ticks at powers of ten."""
_LETTERS = 10
"""About how many letters the label of a tick has room for."""


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in points from the first one, and what it says."""

    at: float
    label: str


def axis_kind(points: Sequence[Any]) -> str:
    """Return what a number's points are: an even "grid", other "points", "days" or "words"."""
    if isinstance(points[0], str):
        return "days" if day_of(points[0]) is not None else "words"
    if isinstance(points[0], bool):
        return "words"
    gaps = np.diff(np.array(points, np.float64))
    return "grid" if np.allclose(gaps, gaps[0], rtol=1e-6) else "points"


def ticks(points: Sequence[Any], most: int) -> list[Tick]:
    """Return up to about so many ticks of an axis, at round numbers or at first days of months."""
    kind = axis_kind(points)
    if kind == "grid":
        return _number_ticks(float(points[0]), float(points[-1]), len(points), most)
    if kind == "days":
        return _day_ticks([day_of(point) or date.min for point in points], most)
    if kind == "points":
        return _uneven_ticks(np.array(points, np.float64), most)
    if kind == "words":
        longest = max(len(str(point)) for point in points)
        most = max(1, most * _LETTERS // (longest + 1))
    step = -(-len(points) // most)
    return [Tick(float(i), point_text(points[i])) for i in range(0, len(points), step)]


def point_text(point: Any) -> str:
    """Return a point as people read it: 41,000, a day or a word."""
    is_number = isinstance(point, int | float) and not isinstance(point, bool)
    return spoken_point(point) if is_number else str(point)


def _number_ticks(low: float, high: float, levels: int, most: int) -> list[Tick]:
    span = high - low
    power = 10.0 ** (floor(log10(span / most)))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if span / (factor * power) <= most)
    digits = max(0, -floor(log10(step) + 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    numbers = np.arange(first, last + 1) * step
    return [
        Tick(float((number - low) / span * (levels - 1)), f"{number:,.{digits}f}".replace("-", "−"))
        for number in (numbers + 0.0).tolist()
    ]


def _uneven_ticks(points: Any, most: int) -> list[Tick]:
    """Return round numbers, 1, 2 and 5 times powers of ten where points have about equal ratios."""
    low, high = float(points[0]), float(points[-1])
    levels = np.arange(len(points))
    if low <= 0 or high / low < _LEAST_RATIO:
        every = _number_ticks(low, high, len(points), most)
        numbers = [low + tick.at / (len(points) - 1) * (high - low) for tick in every]
        at = np.interp(numbers, points, levels)
        return [Tick(float(x), tick.label) for x, tick in zip(at, every, strict=True)]
    powers = range(floor(log10(low)), floor(log10(high)) + 1)
    rounds = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    numbers = [
        float(f"{n:.6g}") for n in rounds if low <= n * (1 + 1e-9) and n <= high * (1 + 1e-9)
    ]
    numbers = numbers[:: max(1, -(-len(numbers) // most))]
    at = np.interp(np.log(numbers), np.log(points), levels)
    return [Tick(float(x), spoken_point(n)) for x, n in zip(at, numbers, strict=True)]


def _day_ticks(days: list[date], most: int) -> list[Tick]:
    ordinals = np.array([day.toordinal() for day in days], np.float64)
    span = ordinals[-1] - ordinals[0]
    for step in _ROUND_DAYS:
        if span / step <= most:
            round_days = [
                date.fromordinal(int(d)) for d in np.arange(ordinals[0], ordinals[-1] + 1, step)
            ]
            return _ticks_at(round_days, ordinals, "%-d %b %Y")
    months = range(days[0].year * 12 + days[0].month - 1, days[-1].year * 12 + days[-1].month)
    every = next((m for m in _ROUND_MONTHS if len(months) / m <= most), _ROUND_MONTHS[-1])
    firsts = [date(month // 12, month % 12 + 1, 1) for month in months if month % every == 0]
    within = [day for day in firsts if days[0] <= day <= days[-1]]
    return _ticks_at(within, ordinals, "%Y" if every >= 12 else "%b %Y")


def _ticks_at(days: list[date], ordinals: Any, form: str) -> list[Tick]:
    at = np.interp([day.toordinal() for day in days], ordinals, np.arange(len(ordinals)))
    return [Tick(float(x), day.strftime(form)) for x, day in zip(at, days, strict=True)]


@dataclass(frozen=True)
class Bar:
    """Neighbouring points together: the share of people at them, and up to the last of them."""

    first: int
    """The first point, and the last one, by their numbers."""
    last: int
    words: str
    share: float
    height: float
    """The share of so many points as bars have: less than its own where it has more."""
    cumulative: float
    low: float
    high: float


def bar_width(levels: int, most: int = MOST_BARS) -> int:
    """Return how many points a bar has: a round number."""
    power = 1
    while True:
        for factor in _ROUND:
            if -(-levels // (factor * power)) <= most:
                return factor * power
        power *= 100


def bars_of(distribution: NumberDistribution, most: int = MOST_BARS) -> list[Bar]:
    """Return a histogram of a distribution; what is over at the end joins the last bar."""
    points = distribution.points
    width = bar_width(len(points), most)
    starts = list(range(0, len(points), width))
    if len(starts) > 1 and len(points) - starts[-1] < (width + 1) // 2:
        starts.pop()
    bars = []
    for first, stop in zip(starts, [*starts[1:], len(points)], strict=True):
        share = float(distribution.shares[first:stop].sum())
        ends = (
            each[stop - 1]
            for each in (distribution.cumulative, distribution.low, distribution.high)
        )
        height = share * width / (stop - first)
        bars.append(
            Bar(
                first,
                stop - 1,
                _bar_words(points, first, stop - 1),
                share,
                height,
                *map(float, ends),
            )
        )
    return bars


def _bar_words(points: Sequence[Any], first: int, last: int) -> str:
    start, end = (point_text(points[i]) for i in (first, last))
    return start if first == last else f"{start} to {end}"


def bar_words(distribution: NumberDistribution, most: int = MOST_BARS) -> str:
    """Say what a bar's height is: "share of people per 5,000 EUR"."""
    points = distribution.points
    width, kind = bar_width(len(points), most), axis_kind(distribution.points)
    if kind == "days":
        gap = (day_of(points[1]) or date.min) - (day_of(points[0]) or date.min)
        days = width * gap.days
        return "share of people per day" if days == 1 else f"share of people per {days:,} days"
    if kind != "grid":
        return "share of people" if width == 1 else f"share of people per {width:,} points"
    size = spoken_point(float(f"{width * (points[1] - points[0]):.12g}"))
    unit = f" {distribution.unit}" if distribution.unit else ""
    if not unit:
        return "share of people" if size == "1" else f"share of people per {size}"
    return (
        f"share of people per {'' if size == '1' else size}{unit.strip() if size == '1' else unit}"
    )


def axis_words(name: str, unit: str | None) -> str:
    """Return the title of an axis: "income, EUR"."""
    return f"{name}, {unit}" if unit else name


def value_text(attribute: Attribute, value: float, error: float) -> str:
    """Return a mean as people read it, with as many digits as its standard error bears."""
    if not np.isfinite(value):
        return "not known"
    if isinstance(attribute.scale, Days):
        return date.fromordinal(round(value)).isoformat()
    return thousands(value, digits_for(error))


def value_name(attribute: Attribute, value: object) -> str:
    """Return a value of a table as people read it: yes or no, a number's bin with its thousands."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = spoken(value)
    if attribute.scale is None or isinstance(attribute.scale, Days):
        return text
    return _LONG_NUMBER.sub(lambda match: f"{int(match[0]):,}", text)
