"""The distribution of a number as it was fitted, how sure it is, and its moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.answers import Answers, Law
from deniable.release.numbers.likelihood import fit
from deniable.release.numbers.moments import Moments
from deniable.survey.coefficients import Floats

_UNSURE = 1.3
"""What not knowing a bin's shape, and the fit's smoothness, add to its variance."""


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
    def shares(self) -> Floats:
        """Return the shares of levels, and of missing; equal ones where nobody was asked."""
        own = self.thresholds
        if not self.people:
            return np.full(own.codes, 1 / own.codes)
        return fit(self.answers, own.levels, own.missing)

    @cached_property
    def moments(self) -> Moments:
        """Return the list of the number's moments."""
        return Moments(self.thresholds, self.shares)

    def covariance(self, bins: Floats) -> Floats:
        """Return the covariance of the shares of bins (rows; their codes in columns).

        It is the inverse of Fisher's information about the bins' shares, each bin's shape being that of
        the fit.
        """
        shares = bins @ self.shares
        shapes = (bins * self.shares) / np.maximum(shares, 1e-300)[:, None]
        empty = shares < 1e-12
        shapes[empty] = bins[empty] / bins[empty].sum(axis=1, keepdims=True)
        information = np.zeros((len(bins), len(bins)))
        for block in self.answers:
            law = Law(block, self.thresholds.levels, self.thresholds.missing)
            slopes = law.chances(shapes).reshape(len(bins), -1)
            chances = law.chances(self.shares).ravel()
            reports = np.repeat(block.people, block.outcomes.shape[1])
            information += (slopes * (reports / chances)) @ slopes.T
        # Shares add up to 1: only differences between them can be wrong.
        differences = np.linalg.qr(np.ones((len(bins), 1)), mode="complete")[0][:, 1:]
        inner = differences.T @ information @ differences
        scale = np.trace(inner) / len(inner) if self.people else 1.0
        inverse = np.linalg.inv(inner + 1e-9 * scale * np.eye(len(inner)))
        covariance: Floats = _UNSURE * differences @ inverse @ differences.T
        return covariance


@dataclass(frozen=True, eq=False)
class StrataFit(NumberFit):
    """The distribution of a number in a population of strata, of which each was fitted by itself."""

    strata: tuple[NumberFit, ...] = ()
    weights: tuple[float, ...] = ()

    @property
    def people(self) -> float:
        """Return how many answered, in the stratum where fewest did."""
        return min(each.people for each in self.strata)

    @cached_property
    def shares(self) -> Floats:
        """Return the weighted mean of the strata's shares."""
        pairs = zip(self.weights, self.strata, strict=True)
        shares: Floats = np.sum([weight * each.shares for weight, each in pairs], axis=0)
        return shares

    def covariance(self, bins: Floats) -> Floats:
        """Return the covariance of the shares of bins: strata are of different people."""
        pairs = zip(self.weights, self.strata, strict=True)
        covariance: Floats = np.sum(
            [weight**2 * each.covariance(bins) for weight, each in pairs], axis=0
        )
        return covariance
