"""Newton's method on the way up, with steps that are shortened until they rise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from deniable.numeric.axes import Floats

Outlook = TypeVar("Outlook", bound=tuple[Any, ...])

HALVES = tuple(0.5**i for i in range(20))


def climb(
    start: Floats,
    look: Callable[[Floats], Outlook],
    step_at: Callable[[Floats, Outlook], tuple[Floats, float]],
    enough: float = 0.0,
    most: int = 200,
    promise: float = 0.1,
    lengths: Sequence[float] = HALVES,
) -> tuple[Floats, Outlook]:
    """Return where at most so many steps lead, and what ``look`` says of that place, its height first.

    ``step_at`` tells a step and the rise that the slope promises of it. The first of the ``lengths`` is
    gone that rises by this part of its promise; the way ends where that is no more than ``enough``.
    """
    place, here = start, look(start)
    for _ in range(most):
        step, rise = step_at(place, here)
        for length in lengths:
            ahead = look(place + length * step)
            if ahead[0] > here[0] + promise * length * rise or length * rise <= 2 * enough:
                break
        if not ahead[0] > here[0] + enough:
            break
        place, here = place + length * step, ahead
    return place, here
