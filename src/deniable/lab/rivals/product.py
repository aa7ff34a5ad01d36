"""The product of margins: ask for single attributes only, and take all of them for independent.

The least that any method of tables must beat. All reports go into margins, which so are as sure as they
can be: an order-1 survey of Subspace for unbiased shares, each margin the nearest distribution, that of
a number the fitted one. Where tables hold little but noise beyond their margins, nothing is better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.api.survey import Survey
from deniable.lab.rivals.rival import Advance, Rival
from deniable.lab.simulate import count_crowd
from deniable.numeric.shares import onto_simplex
from deniable.questions.entropy import Key
from deniable.release.mixed.classes import Classes
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.lab.simulate import Crowd


class ProductOfMargins(Rival):
    """The product of margins: tables of independent attributes."""

    name = "product of margins"

    def run(self, crowd: Crowd, key: Key, advance: Advance = lambda people: None) -> Classes:
        """Ask everybody of a crowd for one attribute or another."""
        survey = Survey(self.schema, 1, self.epsilon, "Subspace", aim="unbiased")
        release = count_crowd(survey, crowd, key, advance).release()
        shares: list[Floats] = []
        for at, attribute in enumerate(self.schema.attributes):
            if attribute.is_ordered:
                own: Floats = release.number_fits[at].shares
                shares.append(np.bincount(attribute.bins, own).astype(np.float64))
            else:
                shares.append(onto_simplex(release.estimate(np.array([[at]])).values[0]))
        return Classes.independent(self.schema.sizes, shares)
