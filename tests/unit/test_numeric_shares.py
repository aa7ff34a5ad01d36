"""Shares that are nearest, shares of what is there, and tables with given margins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from deniable.errors import TableError
from deniable.numeric.shares import (
    check_cells,
    fit_proportionally,
    onto_simplex,
    proportions,
    ratio,
)


def test_the_nearest_shares_are_those_that_an_optimiser_finds() -> None:
    rows = np.random.default_rng(1).standard_normal((2, 3, 4))
    nearest = onto_simplex(rows)
    adds_up = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    for values, shares in zip(rows.reshape(-1, 4), nearest.reshape(-1, 4), strict=True):
        best = optimize.minimize(
            lambda x, values=values: ((x - values) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints=adds_up,
            tol=1e-12,
        )
        assert shares == pytest.approx(best.x, abs=1e-5)


def test_shares_stay_and_a_row_alone_is_as_one_of_many() -> None:
    shares = np.random.default_rng(2).dirichlet(np.ones(5), 3)
    assert onto_simplex(shares) == pytest.approx(shares)
    assert proportions(3 * shares) == pytest.approx(shares)
    assert onto_simplex(shares[0] - 0.1) == pytest.approx(shares[0])
    assert proportions(np.array([-1.0, 1.0, 3.0])) == pytest.approx([0, 0.25, 0.75])


def test_nothing_comes_of_nothing() -> None:
    below = np.array([[2.0, 0.0, -1.0]])
    assert ratio(np.ones((2, 1)), below).tolist() == [[0.5, 0, 0]] * 2
    assert ratio(1, below).tolist() == [[0.5, 0, 0]]


def test_a_fitted_table_has_the_margins_and_keeps_its_odds_ratios() -> None:
    random = np.random.default_rng(3)
    cells = random.random((3, 4)) + 0.1
    rows, columns = random.dirichlet(np.ones(3)), random.dirichlet(np.ones(4))
    result = fit_proportionally(cells, [rows[:, None], columns[None, :]])
    assert result.sum(axis=1) == pytest.approx(rows)
    assert result.sum(axis=0) == pytest.approx(columns)
    change = np.log(result / cells)
    assert change == pytest.approx(change[:, :1] + change[:1] - change[0, 0])


def test_tables_that_are_too_large_to_be_fitted_are_refused() -> None:
    check_cells((1 << 10, 1 << 10))
    with pytest.raises(TableError, match="1,048,577 cells is too large"):
        check_cells(((1 << 20) + 1,))
