"""Covariances: what is done to all of them, and with unknown entries; stacks of them alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.numeric.axes import Floats


def variances_of(covariance: Floats) -> Floats:
    """Return the diagonal of a covariance: a view, so that writing there changes the covariance."""
    variances: Floats = np.einsum("...ii->...i", covariance)
    return variances


def standard_errors(covariance: Floats) -> Floats:
    """Return the standard errors that a covariance has on its diagonal; of rounding below 0, none."""
    errors: Floats = np.sqrt(variances_of(covariance).clip(0, None))
    return errors


def both_sides(covariance: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """Return A·Σ·A' for each Σ, where ``change`` applies A to the last axis."""
    return change(change(covariance).swapaxes(-1, -2)).swapaxes(-1, -2)


def mark_unknown(covariance: Floats, unknown: Any, between: float = np.nan) -> Floats:
    """Return a covariance, changed in place: infinite variances where something is unknown.

    Its covariances with all else become ``between``. The flags are one for each row of it, or for all.
    """
    rows = np.broadcast_to(unknown, covariance.shape[:-1])
    if rows.any():
        covariance[rows[..., :, None] | rows[..., None, :]] = between
        variances_of(covariance)[rows] = np.inf
    return covariance


def unknown_covariance(size: int, *stack: int) -> Floats:
    """Return the covariance (or a stack of so many) of values of which nothing is known."""
    return mark_unknown(np.empty((*stack, size, size)), True)
