"""Covariances: what is done to all of them, stacks of them alike."""

from __future__ import annotations

from collections.abc import Callable

from deniable.numeric.axes import Floats


def both_sides(covariance: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """Return A·Σ·A' for each Σ, where ``change`` applies A to the last axis."""
    return change(change(covariance).swapaxes(-1, -2)).swapaxes(-1, -2)
