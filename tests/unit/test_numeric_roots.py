"""Roots by halving: against scipy's bisection, row by row and alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from deniable.numeric.roots import bracket


def test_it_is_where_scipy_finds_the_root() -> None:
    low, high = bracket(lambda x: x**3 < 2, 0.0, 5.0, steps=60)
    root = optimize.bisect(lambda x: x**3 - 2, 0, 5, xtol=1e-15)
    assert low == pytest.approx(root, rel=1e-15)
    assert high == pytest.approx(root, rel=1e-15)
    assert low**3 < 2 <= high**3


def test_rows_have_roots_that_do_not_depend_on_each_other() -> None:
    goals, top = np.array([0.0, 0.3, 1.0, 9.0, np.nan]), np.array([1.0, 1.0, 2.0, 2.0, np.nan])
    low, high = bracket(lambda x: x**2 < goals, 0.0, top)
    assert low[:4] == pytest.approx([0, np.sqrt(0.3), 1, 2], abs=1e-11)
    assert (high - low)[:4] == pytest.approx(top[:4] / 2**40)
    assert low[4] == 0
    assert np.isnan(high[4])


def test_it_ends_where_it_is_as_near_as_was_asked() -> None:
    points: list[float] = []

    def is_below(x: float) -> bool:
        points.append(x)
        return x < 0.3

    assert bracket(is_below, 0.0, 1.0, relative=0.5) == (0.25, 0.5)
    assert points == [0.5, 0.25]
