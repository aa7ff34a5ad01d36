"""How far regressions are off, with fewer surveys than scripts/measure_regression.py; seeds are fixed.

Bias and coverage are those of 40 surveys; a coverage of 95 % of 280 coefficients, of which those of one
survey go together, is below 88 % less than once in a million times.
"""

from __future__ import annotations

import numpy as np
import pytest
from script_parts import load_script

from deniable import Schema
from deniable.analysis.regression import logistic, regress
from deniable.lab.datasets import load

SURVEYS, PEOPLE = 40, 60_000
LEAST, MOST = 0.88, 0.995


@pytest.fixture(scope="module")
def script():
    return load_script("measure_regression")


def scaled_errors(script, kind: str) -> np.ndarray:
    """Return the errors of all coefficients of many surveys, over their standard errors."""
    names = ["legal_if_poor", "legal_if_single", "female", "college", "over_50", "democrat"]
    data = script.Data(
        load("abortion", names), Schema.binary(*names), f"{names[0]} ~ {' + '.join(names[2:])}"
    )
    truth = script.of_records(data, kind)
    fits = script.Runs("small", data, 3.0, PEOPLE).fits((kind,), range(SURVEYS))[kind]
    assert all(fits)
    return np.array([(fit.values - truth) / fit.standard_error for fit in fits])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_regressions_are_unbiased_and_know_their_error(script, kind) -> None:
    errors = scaled_errors(script, kind)
    assert (np.abs(errors.mean(axis=0)) < 4.5 / np.sqrt(SURVEYS)).all()
    assert LEAST < (np.abs(errors) < 1.96).mean() < MOST


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_errors_that_are_too_small_would_be_seen(script, kind, monkeypatch) -> None:
    covariance = regress.Moments.covariance
    monkeypatch.setattr(
        regress.Moments, "covariance", lambda self, sums: 0.5 * covariance(self, sums)
    )
    assert (np.abs(scaled_errors(script, kind)) < 1.96).mean() < LEAST


@pytest.mark.slow
def test_a_wrong_curvature_would_be_seen(script, monkeypatch) -> None:
    curvature = logistic._curvature

    def doubled(columns, weights, chance):
        return 2 * curvature(columns, weights, chance)

    monkeypatch.setattr(logistic, "_curvature", doubled)
    assert (np.abs(scaled_errors(script, "logistic")) < 1.96).mean() < LEAST
