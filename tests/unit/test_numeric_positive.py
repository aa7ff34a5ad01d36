"""The positive part of a difference of covariances, against a whole decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.numeric.positive import positive_part


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 30.0])
def test_positive_part_is_that_of_all_eigenvalues(size: float, spread: float) -> None:
    random = np.random.default_rng(7)
    factors = size * random.standard_normal((20, 30, 5))
    factors[:, :, 4] = factors[:, :, 0]
    less = 1 + spread * (random.random(30) - 0.5)
    part = positive_part(factors, less)
    values, axes = np.linalg.eigh(factors @ factors.swapaxes(1, 2) - np.diag(less))
    whole = (axes * values.clip(0, None)[:, None]) @ axes.swapaxes(1, 2)
    np.testing.assert_allclose(part @ part.swapaxes(1, 2), whole, atol=1e-9 * (1 + size**2))
