"""Shares: the nearest ones, those of what is there, and tables with given margins."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.numeric.axes import Floats

_MOST_CELLS = 1 << 20


def ratio(above: Any, below: Floats) -> Floats:
    """Return a quotient; where nothing is below, nothing comes of it."""
    out = np.zeros(np.broadcast_shapes(np.shape(above), below.shape))
    quotient: Floats = np.divide(above, below, out=out, where=below > 0)
    return quotient


def proportions(values: Floats) -> Floats:
    """Return values (the last axis) as shares that add up to 1; one below 0 counts for nothing."""
    least = values.clip(0, None)
    shares: Floats = least / least.sum(axis=-1, keepdims=True)
    return shares


def onto_simplex(values: Floats) -> Floats:
    """Return the nearest shares (the last axis) that are not negative and add up to 1."""
    falling = -np.sort(-values, axis=-1)
    excess = (falling.cumsum(axis=-1) - 1) / np.arange(1, values.shape[-1] + 1)
    last = (falling > excess).sum(axis=-1, keepdims=True) - 1
    shares: Floats = (values - np.take_along_axis(excess, last, axis=-1)).clip(0, None)
    return shares


def draw(shares: Floats, rows: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Draw a value for each record from the row of shares, which sum to 1, that it stands in."""
    values = shares.shape[1]
    ends = shares.cumsum(axis=1) + np.arange(len(shares))[:, None]
    at = np.searchsorted(ends.ravel(), random.random(len(rows)) + rows, side="right")
    codes: NDArray[np.int64] = np.clip(at - rows * values, 0, values - 1)
    return codes


def check_cells(sizes: Sequence[int]) -> None:
    """Refuse a table of so many cells that fitting it takes too long."""
    if prod(sizes) > _MOST_CELLS:
        raise TableError(
            f"A table of {prod(sizes):,} cells is too large to be made of smaller ones; "
            f"{_MOST_CELLS:,} is the limit."
        )


def fit_proportionally(
    cells: Floats, goals: Sequence[Floats], rounds: int = 100, enough: float = 1e-9
) -> Floats:
    """Return a table scaled in turns to agree with each of these, which have 1 in axes they lack.

    It stays near itself (iterative proportional fitting).
    """
    for _ in range(rounds):
        most = 0.0
        for goal in goals:
            others = tuple(axis for axis, size in enumerate(goal.shape) if size == 1)
            now = cells.sum(axis=others, keepdims=True)
            most = max(most, float(np.abs(now - goal).max()))
            cells = cells * ratio(goal, now)
        if most < enough:
            break
    return cells


def whole_parts(shares: Floats, total: int) -> NDArray[np.int64]:
    """Return shares of a total as whole numbers that add up to it, by largest remainders."""
    exact = shares / shares.sum() * total
    parts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    parts[np.argsort(parts - exact, kind="stable")[: total - int(parts.sum())]] += 1
    return parts
