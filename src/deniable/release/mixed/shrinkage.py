"""Margins that people can have, and departures from independence without what is noise.

*Margins.* Shares are taken to come from Dirichlet(α), α from the shares themselves; the posterior means,
made to add up to 1, err less than the nearest distribution does.

*Departures.* With diag p − pp' = UΛU' of each margin, Y = U_a'·D·U_b is what departures of a sample
would be in, were there no dependence; so the prior Y_ij ~ N(0, φ²·λ_i·μ_j/n), n = (r_a−1)(r_b−1), says
that dependence of mean square contingency φ² has no favourite direction. How strong pairs are, the
many pairs tell themselves: φ² comes from a mixture whose weights are fitted to all of them (empirical
Bayes), and every Y_ij is multiplied by its posterior mean of φ²λ_iμ_j/(φ²λ_iμ_j + n·s²), s² being the
noise (Wiener). Sets of more attributes go the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from deniable.numeric.axes import contrast_basis, product_of_rows, stacks
from deniable.numeric.shares import onto_simplex
from deniable.release.mixed.interactions import Interactions, Sets, turn
from deniable.release.numbers.moments import Moments
from deniable.survey.coefficients import Floats, Ints

STRENGTHS = np.append(0.0, np.logspace(-4, 0.75, 20))
"""The φ² that a set's departures may have."""

_COMMON = np.exp(-((np.log10(np.maximum(STRENGTHS, 1e-5)) + 1.5) ** 2) / 2)
"""How common each is, before anybody was asked; it counts for so many sets."""
_PRIOR_SETS = 5.0

_ROUNDS = 60

_EVENNESS = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 20.0)
_GRID = np.append(0.0, np.logspace(-12, 0, 1_000))
_FAR, _LEAST = 7.0, 1e-30
_STEPS = np.linspace(0, 1, 120) ** 2
"""Where a share is looked at between the least and the most that it may be: close to the least."""


class Margin(NamedTuple):
    """The distribution to expect of an attribute, and how far each share may be off, squared."""

    shares: Floats
    variances: Floats


def margins(measured: Interactions) -> list[Margin]:
    """Return the distribution of every attribute."""
    sets = measured.sets
    pure = sets.split(measured.vector[: len(sets.uniform)])
    return [
        Margin(sets.numbers[a].weights, np.zeros(sets.sizes[a]))
        if a in sets.numbers  # fitted already
        else margin(own, energy)
        for a, (own, energy) in enumerate(zip(pure, measured.energy, strict=False))
    ]


def margin(pure: Floats, energy: float) -> Margin:
    """Return the distribution to expect of an attribute, of which ``pure`` was measured beyond uniform.

    Shares come from Dirichlet(α), noise is normal. How uneven shares are, α, is learnt from them.
    """
    size = len(pure)
    shares, deviation = 1 / size + pure, sqrt(max(energy, _LEAST) / size)
    if deviation > 1:  # nobody was asked, or nothing can be told
        return Margin(np.full(size, 1 / size), np.full(size, (size - 1) / size**2))
    # However far beyond 0 to 1 an estimate is, no share is: priors give such points no chance.
    begin, prior = (shares - _FAR * deviation).clip(0, 1 - deviation), _priors(size)
    width = ((shares.clip(0, 1) + _FAR * deviation).clip(None, 1) - begin)[:, None]
    edges = begin[:, None] + width * _STEPS
    points = (edges[:, 1:] + edges[:, :-1]) / 2
    likelihood = -(((points - shares[:, None]) / deviation) ** 2) / 2
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    chances = np.stack([np.diff(np.interp(edges, _GRID, each), axis=1) for each in prior])
    with np.errstate(divide="ignore"):
        evidence = np.log((likelihood * chances).sum(axis=2)).sum(axis=1)
    weights = np.exp(evidence - evidence.max())
    posterior = likelihood * np.tensordot(weights / weights.sum(), chances, 1)
    posterior /= posterior.sum(axis=1, keepdims=True)
    mean = (posterior * points).sum(axis=1)
    variance = (posterior * (points - mean[:, None]) ** 2).sum(axis=1).clip(_LEAST, None)
    # Shares add up to 1: what they lack, or have too much, falls on those that are least sure.
    return Margin(onto_simplex(mean + (1 - mean.sum()) * variance / variance.sum()), variance)


@cache
def _priors(size: int) -> Floats:
    """Return, for each α, the chance that a value's share is at most so much."""
    from scipy import stats

    return np.stack([stats.beta.cdf(_GRID, each, (size - 1) * each) for each in _EVENNESS])


class Directions:
    """The directions in which departures of sets of attributes may go, and their prior variances.

    Those of a number are its polynomials, of which slopes are known better than bends.
    """

    def __init__(
        self, distributions: Sequence[Floats], numbers: Mapping[int, Moments] | None = None
    ) -> None:
        self.bases: list[Floats] = []
        self.ways_back: list[Floats] = []
        self._scales: list[Floats] = []
        for attribute, shares in enumerate(distributions):
            if numbers and attribute in numbers:
                self.bases.append(numbers[attribute].directions)
                self.ways_back.append((numbers[attribute].directions * shares).T)
                self._scales.append(np.ones(len(shares) - 1))
                continue
            basis = contrast_basis(len(shares))
            sampling = np.diag(shares) - np.outer(shares, shares)
            scales, vectors = np.linalg.eigh(basis @ sampling @ basis.T)
            self.bases.append(vectors.T @ basis)
            self.ways_back.append(self.bases[-1].T)
            self._scales.append(scales.clip(0, None))

    def into(self, interactions: Floats, sets: Ints) -> Floats:
        """Return interactions of sets of the same sizes by direction, a row for each set."""
        return turn(interactions, sets, self.bases)

    def back(self, directions: Floats, sets: Ints) -> Floats:
        """Return the interactions of what is given by direction."""
        return turn(directions, sets, self.ways_back)

    def cell_variances(self, variances: Floats, sets: Ints) -> Floats:
        """Return the variances of interactions whose directions have these, independently."""
        return turn(variances, sets, [way**2 for way in self.ways_back])

    def variances(self, sets: Ints) -> Floats:
        """Return λ_i·μ_j·…/∏(r−1) of sets of the same sizes: what φ² = 1 makes of each direction."""
        variances = product_of_rows(stacks(self._scales, sets))
        degrees: Floats = variances / variances.shape[1]
        return degrees


class Departures(NamedTuple):
    """What is left of departures of some sets, and how far the truth may be from it, squared.

    Both are by direction, a row for each set.
    """

    sets: Ints
    estimates: Floats
    variances: Floats
    strengths: Floats
    """φ² of each set."""


def shrink(
    rest: Floats, noise: Floats, sets: Sets, directions: Directions, level: int
) -> Iterator[Departures]:
    """Yield departures of all sets of so many attributes without their noise.

    ``rest`` is what was measured beyond independent attributes, or classes; ``noise`` the variance of
    one contrast of each set.
    """
    groups, likelihoods = [], []
    for some in sets.groups(level):
        rows, prior = directions.into(rest[sets.positions(some)], some), directions.variances(some)
        own = noise[sets.numbers_of(some)][:, None] * sets.noises_of(some)
        groups.append((some, rows, prior, own))
        likelihoods.append(_likelihood(rows**2, prior, own))
    weights = _mixture(np.concatenate(likelihoods))
    for (some, rows, prior, own), likelihood in zip(groups, likelihoods, strict=True):
        posterior = _posterior(likelihood, weights)
        shares, parts = posterior.T[:, :, None], STRENGTHS[:, None, None] * prior
        gains = parts / (parts + own)  # 0 where nothing was measured
        estimates = (shares * gains).sum(axis=0) * rows
        variances = (shares * (1 - gains) * parts).sum(axis=0)  # within each strength, and between
        variances += ((shares * gains**2).sum(axis=0) * rows**2 - estimates**2).clip(0, None)
        yield Departures(some, estimates, variances, posterior @ STRENGTHS)


def _likelihood(squares: Floats, prior: Floats, noise: Floats) -> Floats:
    """Return the log-likelihood of each set (rows) by its strength; 0 where nothing was measured."""
    is_measured = np.isfinite(noise[:, 0])
    own = np.where(is_measured[:, None], noise, 1)
    variances = STRENGTHS[:, None, None] * prior + own
    columns = (np.log(variances) + squares / variances).sum(axis=2).T / -2
    likelihood: Floats = np.where(is_measured[:, None], columns, 0)
    return likelihood


def _posterior(likelihood: Floats, weights: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        both = likelihood + np.log(weights)
    both = np.exp(both - both.max(axis=1, keepdims=True))
    posterior: Floats = both / both.sum(axis=1, keepdims=True)
    return posterior


def _mixture(likelihood: Floats) -> Floats:
    """Return how common each strength is among the sets: expectation maximisation."""
    before = _PRIOR_SETS * _COMMON / _COMMON.sum()
    weights: Floats = before / _PRIOR_SETS
    for _ in range(_ROUNDS):
        weights = _posterior(likelihood, weights).sum(axis=0) + before
        weights /= weights.sum()
    return weights
