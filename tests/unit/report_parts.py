"""What a report's file holds, read as its script reads it."""

from __future__ import annotations

import base64
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpacked(text: str, size: int) -> NDArray[np.int32]:
    """Return whole numbers of so many bytes each."""
    raw = np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, size)
    whole = np.zeros((len(raw), 4), np.uint8)
    whole[:, 4 - size :] = raw
    return whole.view("<i4").ravel() >> (32 - 8 * size)


def stored_tables(data: Any) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Return a report's tables by the numbers of their attributes: estimates, and interval ends."""
    cells, start, tables = unpacked(data["cells"], 3) / data["unit"], 0, {}
    places = range(len(data["names"]))
    by_last = (sorted(combinations(places, size), key=lambda key: key[::-1]) for size in (1, 2, 3))
    every = chain.from_iterable(by_last)
    for kind, key in zip(data["kinds"], every, strict=False):
        size = int(np.prod([len(data["values"][at]) for at in key]))
        end = start + size * int(kind)
        tables[key] = cells[start:end].reshape(int(kind), size)
        start = end
    assert start == len(cells)
    return tables
