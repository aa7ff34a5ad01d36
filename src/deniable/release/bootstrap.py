"""Error bars of processed tables: the noise drawn anew, and processed anew.

Processing bends and shrinks noise, so an unbiased estimate's covariance is not that of the tables made
from it. The parametric bootstrap takes the processed estimate for the truth, adds the noise that the
survey is known to have, and processes again. How far the results lie from the truth that was
assumed is the error. What a model leaves out, and how far shrinking pulled the estimate itself away
from the truth, no bootstrap can see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deniable.release.fit import coefficients
from deniable.release.model import Distribution
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints

DRAWS = 40
_FEWEST = 16
_BUDGET = 1 << 20


def affordable(cells: int) -> int:
    """Return how many draws there is time for, when one goes over so many cells; 0 for too few.

    Sixteen draws of a model of sixteen attributes take some ten seconds.
    """
    draws = min(DRAWS, _BUDGET // cells)
    return draws if draws >= _FEWEST else 0


class Bootstrap:
    """What comes of a processed estimate when its noise is drawn and processed again."""

    def __init__(
        self,
        measurements: Measurements,
        distribution: Distribution,
        process: Callable[[Measurements], Distribution],
        draws: int,
        random: np.random.Generator,
    ) -> None:
        numbering = measurements.numbering
        centre = coefficients(distribution, numbering, np.arange(numbering.size))
        variance = measurements.variance - measurements.gain * centre**2
        deviation = np.sqrt(np.where(measurements.known, variance, 0).clip(0, None))
        self._distribution = distribution
        noises = (deviation * random.standard_normal(len(centre)) for _ in range(draws))
        self._draws = [process(replace(measurements, theta=centre + noise)) for noise in noises]

    def covariances(self, tables: Ints) -> Floats:
        """Return the mean product of the cells' errors, for each table."""
        centre = self._distribution.tables(tables)
        total = np.zeros((len(tables), centre.shape[1], centre.shape[1]))
        for other in self._draws:
            error = other.tables(tables) - centre
            total += error[:, :, None] * error[:, None, :]
        return total / len(self._draws)
