"""Whole parts of a total: Hamilton's method, by its own definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deniable.numeric.shares import whole_parts


def test_parts_add_up_and_the_largest_remainders_are_rounded_up() -> None:
    assert whole_parts(np.array([47, 16, 15.8, 12, 6.1, 3.1]), 10).tolist() == [5, 2, 1, 1, 1, 0]
    assert whole_parts(np.array([1.0, 1.0, 1.0]), 5).tolist() == [2, 2, 1], "of equals the first"
    shares = np.random.default_rng(5).integers(1, 1000, 40)
    parts = whole_parts(shares.astype(np.float64), 1_000)
    exact = [Fraction(int(share), int(shares.sum())) * 1_000 for share in shares]
    off = [int(part) - quota for part, quota in zip(parts, exact, strict=True)]
    assert parts.sum() == 1_000
    assert max(map(abs, off)) < 1
    up = [1 - rise for rise in off if rise > 0]  # their remainders
    down = [-fall for fall in off if fall < 0]
    assert min(up) >= max(down)
