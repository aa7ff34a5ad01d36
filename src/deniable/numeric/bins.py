"""Bins: runs of levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def bins_of(cuts: Sequence[int], levels: int, codes: int) -> NDArray[np.int64]:
    """Return the bin of each code, by the levels where bins begin; what is no level has the last."""
    return np.searchsorted((*cuts, levels), np.arange(codes), side="right")


def members_of(bins: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return which codes (columns) are in which of so many bins (rows), as 0 and 1."""
    return np.equal.outer(np.arange(count), bins).astype(np.float64)
