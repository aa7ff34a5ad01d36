"""The distribution of a number as it was fitted, how sure it is, and its moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.answers import Answers
from deniable.release.numbers.likelihood import Climb
from deniable.release.numbers.moments import Moments
from deniable.survey.coefficients import Floats

_UNSURE = 1.3
"""What the fit had smoothed away before it was drawn from adds to the variance."""

_DRAWS = 40


@dataclass(frozen=True, eq=False)
class NumberFit:
    """The distribution of a number, from what was answered about it alone."""

    thresholds: Thresholds
    answers: tuple[Answers, ...]

    @property
    def people(self) -> float:
        """Return how many answered."""
        return float(sum(block.people.sum() for block in self.answers))

    @cached_property
    def climb(self) -> Climb:
        """Return how the shares were fitted; it takes answers, of however few people."""
        return Climb(self.answers, self.thresholds.levels, self.thresholds.missing)

    @cached_property
    def shares(self) -> Floats:
        """Return the shares of levels, and of missing; equal ones where nobody was asked."""
        own = self.thresholds
        return self.climb.shares if self.people else np.full(own.codes, 1 / own.codes)

    @cached_property
    def moments(self) -> Moments:
        """Return the list of the number's moments."""
        return Moments(self.thresholds, self.shares)

    @cached_property
    def _errors(self) -> Floats:
        """Return how far fits of reports drawn anew are from what these were drawn from, a row each."""
        return self.climb.again(_DRAWS, np.random.default_rng(1)) - self.shares

    def covariance(self, bins: Floats) -> Floats:
        """Return the covariance of the shares of bins (rows; their codes in columns).

        It is that of fits of reports drawn anew (the parametric bootstrap), about what they were drawn
        from, so that what a fit smooths away counts as well; and a bit more, for what the first fit had
        smoothed away already.
        """
        if not self.people:
            equal = np.full(len(bins), 1 / len(bins))
            return np.diag(equal)
        errors = self._errors @ bins.T
        covariance: Floats = _UNSURE * errors.T @ errors / len(errors)
        return covariance


@dataclass(frozen=True, eq=False)
class StrataFit(NumberFit):
    """The distribution of a number in a population, from fits of its strata."""

    strata: tuple[NumberFit, ...]
    weights: tuple[float, ...]

    @property
    def people(self) -> float:
        """Return how many answered; none, if nobody did in some stratum."""
        people = [each.people for each in self.strata]
        return sum(people) if all(people) else 0.0

    @cached_property
    def shares(self) -> Floats:
        """Return the weighted mean of the strata's shares."""
        return _sum([each.shares for each in self.strata], self.weights)

    def covariance(self, bins: Floats) -> Floats:
        """Return the covariance of the shares of bins."""
        squares = [weight**2 for weight in self.weights]
        return _sum([each.covariance(bins) for each in self.strata], squares)


def _sum(parts: Sequence[Floats], weights: Sequence[float]) -> Floats:
    total: Floats = np.sum([w * part for w, part in zip(weights, parts, strict=True)], axis=0)
    return total
