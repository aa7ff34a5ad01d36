"""Newton's method on the way up: against scipy's minimum of the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from deniable.numeric.newton import climb

START = np.array([-3.0, 4.0])


def look(at: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a height, so bent that a whole step from the start goes too far, and its slope."""
    height = -float(np.logaddexp(at, -3 * at).sum() + (at[0] - at[1]) ** 2)
    share = special.expit(4 * at)
    return height, 3 - 4 * share - 2 * np.array([at[0] - at[1], at[1] - at[0]])


def step_at(at: np.ndarray, here: tuple[float, np.ndarray]) -> tuple[np.ndarray, float]:
    share = special.expit(4 * at)
    bend = (
        np.diag(16 * share * (1 - share)) + np.array([[2.0, -2.0], [-2.0, 2.0]]) + 1e-3 * np.eye(2)
    )
    step = np.linalg.solve(bend, here[1])
    return step, float(here[1] @ step)


@pytest.mark.parametrize(
    "options", [{}, {"promise": 0.25}, {"promise": 0, "lengths": 0.1 ** np.arange(9)}]
)
def test_it_ends_where_scipy_finds_the_top(options: dict[str, Any]) -> None:
    place, (height, slope) = climb(START, look, step_at, 1e-14, **options)
    top = optimize.minimize(lambda at: -look(at)[0], START, method="Nelder-Mead", tol=1e-12)
    assert place == pytest.approx(top.x, abs=1e-6)
    assert height == pytest.approx(-top.fun, rel=1e-12)
    assert slope == pytest.approx(0, abs=1e-5)


def test_no_step_leads_down() -> None:
    heights = [climb(START, look, step_at, 1e-14, most)[1][0] for most in range(9)]
    assert heights[0] == look(START)[0]
    assert heights == sorted(heights)


def test_what_promises_too_little_is_not_gone() -> None:
    place, _ = climb(START, look, step_at, enough=1e9)
    assert place is START


def test_a_step_that_leads_down_however_short_it_is_ends_the_way() -> None:
    place, _ = climb(START, look, lambda at, here: (-step_at(at, here)[0], 1.0), 1e-14)
    assert place is START
