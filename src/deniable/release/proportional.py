"""Iterative proportional fitting: a table is made to agree with smaller ones, and stays near itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from deniable.errors import TableError
from deniable.survey.coefficients import Floats

_MOST_CELLS = 1 << 20
_ROUNDS = 100
_ENOUGH = 1e-9


def check_cells(sizes: Sequence[int]) -> None:
    """Refuse a table of so many cells that fitting it takes too long."""
    if prod(sizes) > _MOST_CELLS:
        raise TableError(
            f"A table of {prod(sizes):,} cells is too large to be made of smaller ones; "
            f"{_MOST_CELLS:,} is the limit."
        )


def fit_proportionally(cells: Floats, goals: Sequence[Floats]) -> Floats:
    """Return a table scaled in turns to agree with each of these, which have 1 in axes they lack."""
    for _ in range(_ROUNDS):
        most = 0.0
        for goal in goals:
            others = tuple(axis for axis, size in enumerate(goal.shape) if size == 1)
            now = cells.sum(axis=others, keepdims=True)
            most = max(most, float(np.abs(now - goal).max()))
            cells = cells * ratio(goal, now)
        if most < _ENOUGH:
            break
    share: Floats = cells / cells.sum()
    return share


def ratio(goal: Floats, now: Floats) -> Floats:
    """Return what to scale by; where nothing is there, nothing comes of it."""
    factors: Floats = np.divide(goal, now, out=np.zeros_like(now), where=now > 0)
    return factors
