"""From coefficients to cells: tables and their covariances, many at a time.

Inside, a table's cells are numbered with its first attribute fastest, as coefficients' masks are.
People see arrays of the attributes' sizes instead, the last attribute fastest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.coefficients import Ints, signs
from deniable.mechanisms.evidence import Spread

__all__ = ["cell_covariances", "in_chunks", "people_share", "to_axes"]

_MOST_COVARIANCES = 1 << 22
"""The most numbers that covariances computed together have."""

Floats = NDArray[np.float64]


def in_chunks(tables: Ints) -> Iterator[Ints]:
    """Yield so many tables at a time that their covariances fit into memory."""
    step = max(1, _MOST_COVARIANCES >> 2 * tables.shape[1])
    for start in range(0, len(tables), step):
        yield tables[start : start + step]


def cell_covariances(evidence: Spread, tables: Ints, theta: Floats | None = None) -> Floats:
    """Return the covariance matrix of each table's cells.

    Where a coefficient was never asked, every cell's variance is infinite, and covariances
    between cells are not a number.
    """
    spread = evidence.covariance(tables, theta)
    unknown = np.isinf(np.einsum("rii->ri", spread)).any(axis=1)
    transform = signs(tables.shape[1]) / 2 ** tables.shape[1]
    known = np.where(unknown[:, None, None], 0.0, spread)
    covariance: Floats = np.einsum("ac,rab,bd->rcd", transform, known, transform, optimize=True)
    covariance[unknown] = np.nan
    np.einsum("rii->ri", covariance)[unknown] = np.inf
    return covariance


def people_share(values: Floats, people: float) -> Floats:
    """Return the part of the covariance that comes from who was asked, (diag f − ff')/N."""
    share = values.clip(0, 1)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    out: Floats = -share[:, :, None] * share[:, None, :]
    np.einsum("rii->ri", out)[...] += share
    out /= people
    return out


def to_axes(flat: Floats, attributes: int, order: tuple[int, ...] | None = None) -> Floats:
    """Return one table's cells as an array with one axis per attribute, in the order asked for."""
    table = flat.reshape((2,) * attributes).transpose(range(attributes)[::-1])
    return table if order is None else table.transpose(order)
