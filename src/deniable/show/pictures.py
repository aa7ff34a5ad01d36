"""Pictures of a number: its histogram, and its distribution function with a band.

They are drawn here only. The report holds the SVG as it is, and the collector gives it to the
dashboard. Colours are classes, so that a page may have a dark theme; as a file of its own the SVG has
light ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from textwrap import wrap

import numpy as np
from markupsafe import Markup

from deniable.release.numbers.estimates import NumberDistribution
from deniable.show.axes import (
    Bar,
    Tick,
    axis_kind,
    axis_words,
    bar_words,
    bars_of,
    point_text,
    ticks,
)
from deniable.show.numbers import share

WIDTH, HEIGHT = 430, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 30, 28, 46
_MOST_TICKS = 5
_MOST_POINTS = 120
"""The most points of a drawn curve."""
_MOST_STEPS = 12
"""So few points have steps, and a gap between their bars."""
_LONGEST_LABEL = 16
_MOST_LINES = 3
"""So many lines may the label of a word have, where each word can have one."""
_LETTER, _LEADING = 7, 14
"""How wide a letter is, and how far lines are from each other."""

_BLUE, _PALE, _GREY, _LINE, _SOFT = "#0072b2", "#9fc9e4", "#999999", "#e3e7eb", "#57606a"

_SVG = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" class="chart number {kind}" role="img" '
    f'width="{WIDTH}" height="{{height}}" viewBox="0 0 {WIDTH} {{height}}">\n'
    "<title>{words}</title>\n{parts}\n</svg>"
)
_TEXT = Markup(
    '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12.5" '
    f'font-family="Helvetica, Arial, sans-serif" fill="{_SOFT}">{{text}}</text>'
)
_RULE = Markup(
    '<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'
)
_BAR = Markup(
    '<g class="bar"><title>{words}</title><rect class="hit" x="{x:.1f}" y="{top:.1f}" '
    'width="{width:.1f}" height="{room:.1f}" fill="none" pointer-events="all"/>'
    f'<rect class="share" x="{{start:.1f}}" y="{{y:.1f}}" width="{{own:.1f}}" height="{{height:.1f}}" '
    f'fill="{_BLUE}"/></g>'
)
_BAND = Markup(f'<path class="band" d="{{}}" fill="{_PALE}"/>')
_CURVE = Markup(
    f'<path class="measured" d="{{}}" fill="none" stroke="{_BLUE}" stroke-width="2" '
    'stroke-linejoin="round"/>'
)
_HIT = Markup(
    '<g class="step"><title>{words}</title><rect class="hit" x="{x:.1f}" y="{top:.1f}" '
    'width="{width:.1f}" height="{room:.1f}" fill="none" pointer-events="all"/></g>'
)


@dataclass(frozen=True)
class _Room:
    """Where a number's points, and shares up to the highest one, are drawn."""

    levels: int
    highest: float

    def x(self, level: float) -> float:
        """Return where a point is; the first begins half a step before it."""
        return _LEFT + (level + 0.5) / self.levels * (WIDTH - _LEFT - _RIGHT)

    def y(self, height: float) -> float:
        """Return where a share is."""
        return HEIGHT - _BOTTOM - height / self.highest * (HEIGHT - _TOP - _BOTTOM)


def histogram(distribution: NumberDistribution) -> str:
    """Return the SVG of a number's histogram."""
    bars = bars_of(distribution)
    top, shares = _share_ticks(max(bar.height for bar in bars))
    room = _Room(len(distribution.points), top)
    gap = 1.0 if len(bars) > _MOST_STEPS else 8.0
    parts = [
        *_frame(distribution, room, shares, bar_words(distribution)),
        *(_bar(distribution, room, bar, gap) for bar in bars),
        _rule("axis", _LEFT, WIDTH - _RIGHT, HEIGHT - _BOTTOM, _GREY),
    ]
    most = max(bars, key=lambda bar: bar.height)
    words = f"Histogram of {distribution.name}; it is highest at {_with_unit(distribution, most.words)}."
    return _svg(distribution, "histogram", words, parts)


def _bar(distribution: NumberDistribution, room: _Room, bar: Bar, gap: float) -> Markup:
    start, end = room.x(bar.first - 0.5), room.x(bar.last + 0.5)
    gap = min(gap, (end - start) / 4)
    return _BAR.format(
        words=f"{_with_unit(distribution, bar.words)}: {share(bar.share)}",
        x=start,
        width=end - start,
        top=_TOP,
        room=HEIGHT - _TOP - _BOTTOM,
        start=start + gap / 2,
        own=end - start - gap,
        y=room.y(bar.height),
        height=HEIGHT - _BOTTOM - room.y(bar.height),
    )


def curve(distribution: NumberDistribution) -> str:
    """Return the SVG of a number's distribution function with its band."""
    levels = len(distribution.points)
    room = _Room(levels, 1.0)
    step = max(1, -(-levels // _MOST_POINTS))
    at = np.unique(np.append(np.arange(step - 1, levels, step), levels - 1))
    columns = (distribution.cumulative, distribution.low, distribution.high)
    if levels <= _MOST_STEPS:  # steps, as nobody is between two words
        rise, low, high = (np.append(0.0, np.repeat(column, 2)) for column in columns)
        ends = np.repeat(np.arange(levels + 1), 2)[:-1] - 0.5
    else:
        rise, low, high = (np.append(0.0, column[at]) for column in columns)
        ends = np.append(-0.5, at + 0.5)
    x = np.array([room.x(end) for end in ends.tolist()])
    upper, lower = _line(room, x, high), _line(room, x[::-1], low[::-1])
    shares = [Tick(quarter / 4, f"{25 * quarter} %") for quarter in range(5)]
    bars = bars_of(distribution)
    parts = [
        *_frame(distribution, room, shares, "share of people at this or below"),
        _BAND.format(f"M{upper}L{lower}Z"),
        _CURVE.format(f"M{_line(room, x, rise)}"),
        *(_step(distribution, room, bar) for bar in bars),
        _rule("axis", _LEFT, WIDTH - _RIGHT, HEIGHT - _BOTTOM, _GREY),
    ]
    middle = distribution.points[int(np.searchsorted(distribution.cumulative, 0.5))]
    words = (
        f"Distribution function of {distribution.name}: half of the people are at "
        f"{_with_unit(distribution, point_text(middle))} or below."
    )
    return _svg(distribution, "curve", words, parts)


def _step(distribution: NumberDistribution, room: _Room, bar: Bar) -> Markup:
    start, end = room.x(bar.first - 0.5), room.x(bar.last + 0.5)
    point = _with_unit(distribution, point_text(distribution.points[bar.last]))
    words = f"{point} or below: {share(bar.cumulative)} ({share(bar.low)} to {share(bar.high)})"
    height = HEIGHT - _TOP - _BOTTOM
    return _HIT.format(words=words, x=start, width=end - start, top=_TOP, room=height)


def _line(room: _Room, x: Iterable[float], heights: Iterable[float]) -> str:
    return "L".join(f"{a:.1f} {room.y(b):.1f}" for a, b in zip(x, heights, strict=True))


def _svg(distribution: NumberDistribution, kind: str, words: str, parts: Iterable[Markup]) -> str:
    height = _height(_labels(distribution))
    return _SVG.format(kind=kind, height=height, words=words, parts=Markup("\n").join(parts))


def _height(labels: Iterable[tuple[float, list[str]]]) -> int:
    """Return how high a picture with these labels is."""
    return HEIGHT + _LEADING * (max((len(lines) for _, lines in labels), default=1) - 1)


def _labels(distribution: NumberDistribution) -> list[tuple[float, list[str]]]:
    """Return the points of an axis that have labels, and the labels' lines."""
    points = distribution.points
    letters = (WIDTH - _LEFT - _RIGHT) // len(points) // _LETTER
    if axis_kind(points) == "words" and letters:
        every = [wrap(point_text(each), letters, break_long_words=False) for each in points]
        if all(len(e) <= _MOST_LINES and max(map(len, e)) <= letters for e in every):
            return [(float(at), lines) for at, lines in enumerate(every)]
    some = ticks(points, _MOST_TICKS)
    return [(tick.at, [_cut(tick.label, _LONGEST_LABEL)]) for tick in some]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _frame(
    distribution: NumberDistribution, room: _Room, shares: Sequence[Tick], title: str
) -> list[Markup]:
    """Return the axes and their words, below all else."""
    parts = [_text(2, 14, "start", title)]
    for tick in shares:
        height = room.y(tick.at)
        if tick.at:
            parts.append(_rule("grid", _LEFT, WIDTH - _RIGHT, height, _LINE))
        parts.append(_text(_LEFT - 7, height + 4, "end", tick.label))
    floor_line = HEIGHT - _BOTTOM
    labels = _labels(distribution)
    for at, lines in labels:
        x = room.x(at)
        parts.append(
            _RULE.format(kind="axis", x1=x, x2=x, y1=floor_line, y2=floor_line + 5, colour=_GREY)
        )
        heights = [floor_line + 18 + _LEADING * line for line in range(len(lines))]
        parts += [_text(x, y, "middle", line) for y, line in zip(heights, lines, strict=True)]
    title = _cut(axis_words(distribution.name, distribution.unit), 50)
    return [*parts, _text(WIDTH - _RIGHT, _height(labels) - 7, "end", title)]


def _rule(kind: str, x1: float, x2: float, y: float, colour: str) -> Markup:
    return _RULE.format(kind=kind, x1=x1, x2=x2, y1=y, y2=y, colour=colour)


def _text(x: float, y: float, anchor: str, text: str) -> Markup:
    return _TEXT.format(x=x, y=y, anchor=anchor, text=text)


def _with_unit(distribution: NumberDistribution, text: str) -> str:
    return f"{text} {distribution.unit}" if distribution.unit else text


def _share_ticks(highest: float) -> tuple[float, list[Tick]]:
    """Return the top of an axis of shares, and round shares up to it."""
    highest = max(highest, 1e-6)
    power = 10.0 ** floor(log10(highest))
    step = next(part * power for part in (0.2, 0.5, 1, 2, 5) if highest / (part * power) <= 4)
    count = int(np.ceil(highest / step - 1e-9))
    digits = max(0, -floor(log10(100 * step) + 1e-9))
    every = [Tick(i * step, f"{100 * i * step:.{digits}f} %") for i in range(count + 1)]
    return count * step, every
