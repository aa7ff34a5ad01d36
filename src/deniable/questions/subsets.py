"""Numbering sets: the colexicographic rank of a sorted set {s₁ < … < s_w} is Σ C(sᵢ, i).

Ranks do not depend on how large the ground set is, so the subsets of the first n things are the
ranks below C(n, w). Slots number sets of attributes this way, and reported subsets are numbered
this way. Each direction exists once for a single set (exact integers, any size) and once for
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray


def rank(members: Sequence[int]) -> int:
    """Return the colex rank of a sorted set."""
    return sum(comb(member, i) for i, member in enumerate(members, start=1))


def unrank(number: int, size: int) -> tuple[int, ...]:
    """Return the sorted set of ``size`` members with this colex rank."""
    members: list[int] = []
    for i in range(size, 0, -1):
        low, high = i - 1, i
        while comb(high, i) <= number:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if comb(middle, i) <= number else (low, middle)
        members.append(low)
        number -= comb(low, i)
    return tuple(reversed(members))


@lru_cache(maxsize=256)
def _binomials(ground: int, size: int) -> NDArray[np.int64]:
    """Return C(0, size) … C(ground, size), the largest first cut to what an int64 holds."""
    return np.array([min(comb(n, size), 2**63 - 1) for n in range(ground + 1)], np.int64)


def ranks(members: NDArray[np.int64], ground: int) -> NDArray[np.int64]:
    """Return the colex rank of each row of sorted members below ``ground``."""
    out = np.zeros(len(members), np.int64)
    for i in range(members.shape[1]):
        out += _binomials(ground, i + 1)[members[:, i]]
    return out


def unranks(numbers: NDArray[np.int64], size: int, ground: int) -> NDArray[np.int64]:
    """Return the sorted sets with these ranks, one row each."""
    members = np.empty((len(numbers), size), np.int64)
    rest = numbers
    for i in range(size, 0, -1):
        column = _binomials(ground, i)
        members[:, i - 1] = np.searchsorted(column, rest, side="right") - 1
        rest = rest - column[members[:, i - 1]]
    return members
