"""Inference by numbers: against scipy's and numpy's own, and laws that must hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable.numeric.inference import fieller, quadratic, wald

RANDOM = np.random.default_rng(31)
SPREAD = RANDOM.normal(size=(5, 4, 9))
COVARIANCES = SPREAD @ SPREAD.swapaxes(1, 2)
OFF = RANDOM.normal(size=(5, 4))


def test_both_statistics_are_that_of_the_inverse() -> None:
    expected = [
        off @ np.linalg.inv(covariance) @ off
        for off, covariance in zip(OFF, COVARIANCES, strict=True)
    ]
    statistic, df = wald(OFF, COVARIANCES)
    assert statistic == pytest.approx(expected)
    assert df.tolist() == [4] * 5
    assert quadratic(OFF[:, None], COVARIANCES)[:, 0] == pytest.approx(expected)
    assert quadratic(OFF[:, None, :1], COVARIANCES[:, :1, :1])[:, 0] == pytest.approx(
        OFF[:, 0] ** 2 / COVARIANCES[:, 0, 0]
    )


def test_of_shares_of_a_sample_it_is_pearsons() -> None:
    """Cells sum to 1, and nobody is in the last one: both take a degree of freedom."""
    shares, counts = np.array([0.5, 0.3, 0.2, 0.0]), np.array([60, 24, 16, 0])
    off, covariance = counts / 100 - shares, (np.diag(shares) - np.outer(shares, shares)) / 100
    pearson = stats.chisquare(counts[:3], 100 * shares[:3]).statistic
    statistic, df = wald(off, covariance)
    assert (statistic, df) == (pytest.approx(pearson), 2)
    assert quadratic(off[None], covariance) == pytest.approx(pearson)


def test_what_rounding_leaves_or_takes_is_no_variance() -> None:
    off = np.array([1.0, 1e-9, 1e-9])
    assert wald(off, np.diag([1.0, 1e-15, -1e-15])) == (1.0, 1)
    assert wald(off, np.diag([1.0, 1e-9, 0.0])) == (pytest.approx(1 + 1e-9), 2)
    assert wald(off, np.diag([1.0, 1e-9, 0.0]), 1e-6) == (1.0, 1)
    assert wald(off, np.zeros((3, 3))) == (0.0, 0)
    assert wald(off[:0], np.zeros((0, 0))) == (0.0, 0)
    assert quadratic(np.zeros((1, 1)), np.zeros((1, 1))) == 0
    assert quadratic(np.ones((1, 1)), np.full((1, 1), -1e-9)) == 0


def test_fiellers_ends_are_where_the_difference_is_as_large_as_noise() -> None:
    above, below, reach = np.array([0.2, 0.9]), np.array([0.5, 0.4]), 1.96
    noise = np.array([0.01, 0.02]), np.array([0.005, -0.003]), np.array([0.008, 0.001])
    for ends in fieller(above, below, noise, reach):
        variance = noise[0] - 2 * ends * noise[1] + ends**2 * noise[2]
        assert (above - ends * below) ** 2 == pytest.approx(reach**2 * variance)
    assert (fieller(above, below, noise, reach)[0] < above / below).all()
    assert (fieller(above, below, noise, reach)[1] > above / below).all()


def test_nothing_is_told_of_a_ratio_to_what_may_be_nothing_or_has_no_variance() -> None:
    one, none = np.ones(1), np.zeros(1)
    assert np.isnan(fieller(one, one, (one, none, one), 1.96)).all()
    assert np.isnan(fieller(one, 3 * one, (-one, none, none), 1.96)).all()
    assert np.isnan(fieller(one, 3 * one, (np.inf * one, none, np.inf * one), 1.96)).all()
    assert fieller(0.1 * one, 0.3 * one, (none, none, none), 1.96) == pytest.approx(1 / 3)
