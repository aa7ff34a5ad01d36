"""Tables in parts that fit into memory, and the part of their variance that is not noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deniable.survey.coefficients import Floats, Ints

_MOST_COVARIANCES = 1 << 22
"""The most numbers that covariances computed together have."""


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
