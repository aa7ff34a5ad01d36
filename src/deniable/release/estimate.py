"""Tables in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deniable.survey.coefficients import Ints, same_sizes

_MOST_COVARIANCES = 1 << 22
"""The most numbers that covariances computed together have."""


def in_chunks(tables: Ints, cells: int) -> Iterator[Ints]:
    """Yield so many tables of so many cells that their covariances fit into memory."""
    step = max(1, _MOST_COVARIANCES // cells**2)
    for start in range(0, len(tables), step):
        yield tables[start : start + step]


def chunks_alike(
    kinds: Sequence[int] | Ints, sizes: Sequence[int], tables: Ints, copies: int = 1
) -> Iterator[tuple[Ints, int]]:
    """Yield rows of tables whose attributes are of the same kinds, and how many cells each has.

    The covariances of the tables of a chunk, in so many copies, fit into memory.
    """
    for alike in same_sizes(kinds, tables):
        cells = int(np.prod([sizes[attribute] for attribute in tables[alike[0]]]))
        for rows in in_chunks(alike, copies * cells):
            yield rows, cells
