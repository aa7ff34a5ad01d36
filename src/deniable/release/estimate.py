"""Cells of tables, as they are computed and as people see them.

Inside, a table's cells are numbered with its first attribute fastest, as coefficients' masks are.
People see arrays of the attributes' sizes instead, the last attribute fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.survey.coefficients import Ints

__all__ = ["in_chunks", "people_share", "to_axes"]

_MOST_COVARIANCES = 1 << 22
"""The most numbers that covariances computed together have."""

Floats = NDArray[np.float64]


def in_chunks(tables: Ints, cells: int) -> Iterator[Ints]:
    """Yield so many tables of so many cells that their covariances fit into memory."""
    step = max(1, _MOST_COVARIANCES // cells**2)
    for start in range(0, len(tables), step):
        yield tables[start : start + step]


def people_share(values: Floats, people: float) -> Floats:
    """Return the part of cells' variances that comes from who was asked, f(1 − f)/N."""
    share = values.clip(0, 1)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    out: Floats = share * (1 - share) / people
    return out


def to_axes(
    flat: NDArray[Any], sizes: Sequence[int], order: tuple[int, ...] | None = None
) -> NDArray[Any]:
    """Return one table's cells as an array with one axis per attribute, in the order asked for."""
    table = flat.reshape(tuple(sizes)[::-1]).transpose(range(len(sizes))[::-1])
    return table if order is None else table.transpose(order)
