"""The evidence to expect of surveys that ask about all attributes alike."""

from __future__ import annotations

import numpy as np

from deniable.decoding.evidence import CoefficientErrors, covariance_of_moments, divided_moments
from deniable.questions.lists import QuestionList, lists_named
from deniable.survey.coefficients import Floats, Ints


class SymmetricErrors(CoefficientErrors):
    """The evidence to expect where all attributes are asked about alike: known by size alone.

    How many reports hold α and α' together depends on |α|, |α'| and |α ∪ α'| only. The arrays are
    indexed by these, or by |α|: Σg²κ and Σg² over the reports that hold both, Σg over those that
    hold one. There are no estimates.
    """

    def __init__(self, cross: Floats, share: Floats, weight: Floats) -> None:
        self._cross, self._share, self._weight = cross, share, weight

    def lists_of(self, tables: Ints) -> tuple[QuestionList, ...]:
        """Return the lists of one question about each attribute."""
        return lists_named("codes", (2,) * int(tables.shape[1]))

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at 0 or at a given θ."""
        masks = np.arange(1, 1 << tables.shape[1])
        size = np.bitwise_count(masks)
        at = (size[:, None], size[None, :], np.bitwise_count(masks[:, None] | masks))
        weight = self._weight[size]
        if theta is None:
            theta = np.zeros((len(tables), len(masks)))
        alone = np.broadcast_to(weight, theta.shape)
        moments = covariance_of_moments(theta, self._cross[at], self._share[at], alone)
        return divided_moments(moments, alone)
