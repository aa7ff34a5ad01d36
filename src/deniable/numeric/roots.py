"""Where a function crosses a threshold, asked only on which side of it a point lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def bracket(
    is_below: Callable[[Any], Any], low: Any, high: Any, steps: int = 40, relative: float = 0.0
) -> tuple[Any, Any]:
    """Return the ends between which points, or rows of them, cease to be below a threshold.

    The interval is halved so many times, or until it is no longer than this part of its upper end.
    """
    for _ in range(steps):
        if np.all(high - low <= relative * high):
            break
        middle = (low + high) / 2
        is_lower = is_below(middle)
        low, high = np.where(is_lower, middle, low), np.where(is_lower, high, middle)
    return low, high
