"""Levels of intervals, and how far an interval reaches."""

from __future__ import annotations

from statistics import NormalDist

from deniable.errors import TableError


def check_level(level: float) -> float:
    """Return the level of an interval, or refuse it."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise TableError(f"An interval's level must lie between 0 and 1, got {level!r}.")
    return level


def normal_reach(level: float) -> float:
    """Return how many standard errors a normal interval of this level reaches to either side."""
    return NormalDist().inv_cdf((1 + check_level(level)) / 2)
