"""Error bars of processed tables: the noise drawn anew, and processed anew.

Processing bends and shrinks noise, so an unbiased estimate's covariance is not that of the tables made
from it. The parametric bootstrap takes some tables for the truth, adds the noise that the survey is
known to have, correlated as its reports are, and processes again. How far the results lie from the
truth that was assumed is the error.

What is taken for the truth matters. A model is what was measured, shrunk: in it there is too little left
to be shrunk away again, and its bias would not be seen. What was measured is more than there is, for it
holds all noise. So the truth is a fit between both, as strong as people's dependence may be
(`deniable.release.fit`).
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
    """What comes of a processed estimate when its noise is drawn and processed again.

    ``truth`` is what is taken for it.
    """

    def __init__(
        self,
        measurements: Measurements,
        truth: Distribution,
        process: Callable[[Measurements], Distribution],
        draws: int,
        random: np.random.Generator,
    ) -> None:
        numbering = measurements.numbering
        centre = coefficients(truth, numbering, np.arange(numbering.size))
        variance = measurements.variance - measurements.gain * centre**2
        deviation = np.sqrt(np.where(measurements.known, variance, 0).clip(0, None))
        self._truth = truth
        noises = deviation * measurements.noise(random, draws)
        self._draws = [process(replace(measurements, theta=centre + noise)) for noise in noises]

    def covariances(self, tables: Ints) -> Floats:
        """Return the mean product of the cells' errors, for each table.

        A mean of a few draws is not sure itself: it is taken times draws/(draws − 2), the variance of
        Student's t with so many degrees of freedom.
        """
        centre = self._truth.tables(tables)
        total = np.zeros((len(tables), centre.shape[1], centre.shape[1]))
        for other in self._draws:
            error = other.tables(tables) - centre
            total += error[:, :, None] * error[:, None, :]
        return total / (len(self._draws) - 2)
