"""Tables that people may have given reports about: where covariances are taken, which depend on them.

Estimates of many cells have more noise than people in most of them. Cut at 0 and rescaled, as once was
done here, all that noise is taken off the large cells, whose variance then comes out too small.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from deniable.numeric.shares import proportions, ratio
from deniable.survey.coefficients import Floats


def likely_cells(cells: Floats, deviation: Floats, expected: Floats) -> Floats:
    """Return tables (rows) of cells that stand out of noise of this deviation, and others as expected.

    A cell stands out that is further from what is expected than the largest noise of so many cells,
    √(2·ln(cells)) deviations. The others share what those leave.
    """
    with np.errstate(invalid="ignore"):
        stands_out = np.abs(cells - expected) > sqrt(2 * log(cells.shape[1])) * deviation
    large = np.where(stands_out, cells.clip(0, 1), 0)
    rest = np.where(stands_out, 0, expected)
    remainder = (1 - large.sum(axis=1)).clip(0, None)
    return proportions(large + ratio(remainder, rest.sum(axis=1))[:, None] * rest)
