"""Regression of a private answer on open covariates: logistic by maximum likelihood, or linear.

Let π(x) = 1/(1 + exp(−x'β)) be the share of yes among people with open terms x. A report that has the
probability a where the truth is yes and b where it is no has the probability b + (a − b)·π(x), so that

    ℓ(β) = Σ log(b_i + (a_i − b_i)·π(x_i))

is a true likelihood, whatever people's other attributes are (`deniable.analysis.outcome_answers`). It
is maximised by Newton's method, in terms that are centred and scaled. Standard errors are Fisher's,
from the curvature at the maximum; beside them stand those of the sandwich H⁻¹JH⁻¹, J the sum of squared
scores, which hold as well where π is not logistic, and then tell of the nearest logistic curve. Where
the two differ much, the curve does not fit.

Noise may hide that there is any yes among people of some kind: then the likelihood is highest at
infinity, or so flat that its curvature tells nothing, and the fit is refused.

A linear fit is least squares of scores that are unbiased for the outcome, a number or yes and no
(`deniable.analysis.outcome_scores`). What they vary by is noise for the most part, and differs from
report to report, so its standard errors are those of the sandwich.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.analysis.formula import shown
from deniable.analysis.open_terms import Patterns
from deniable.analysis.outcome_answers import OutcomeAnswers
from deniable.errors import TableError
from deniable.survey.coefficients import Floats, Ints

_MOST_STEPS = 200

_GAIN = 1e-10
"""Newton's method ends where another step would raise the log-likelihood by less."""

_LARGEST_ERROR = 10.0
"""The largest standard error of a scaled term, in logits: beyond, there is as good as no maximum."""

_GOOD_ERROR = 0.5
"""The standard error, in logits, that the number of people which is asked for would give."""

_ALONE = 1e-9
"""The least share of a term's variance that others must leave unexplained."""

_TOGETHER = 1 << 18
"""How many patterns are looked at together."""


@dataclass(frozen=True, eq=False)
class OpenEstimate:
    """Coefficients, the covariance of their standard errors, the sandwich, and the log-likelihood."""

    coefficients: Floats
    covariance: Floats
    sandwich: Floats
    log_likelihood: float | None = None


@dataclass(frozen=True, eq=False)
class Scale:
    """Terms centred and scaled: the first is the intercept, and stays."""

    centre: Floats
    width: Floats

    @classmethod
    def of(cls, matrix: Floats, weights: Floats, labels: Sequence[str]) -> Scale:
        """Return the scale of terms; one that tells nothing beside those before it is refused."""
        if not weights.sum():
            raise TableError(
                "None of the reports tells of the outcome alone, so nothing can be fitted; a survey of "
                "order 1 asks everybody about single attributes."
            )
        centre = weights @ matrix / weights.sum()
        centre[0] = 0.0
        width = np.sqrt(gram(matrix, weights, centre).diagonal() / weights.sum())
        for label, own, mean in zip(labels[1:], width[1:], centre[1:], strict=True):
            if own <= 1e-12 * abs(mean):
                raise TableError(
                    f"The term {shown(label)} is the same for everybody whose answer tells of the "
                    "outcome; leave it out."
                )
        scale = cls(centre, width)
        scale._check_alone(matrix, weights, labels)
        return scale

    def _check_alone(self, matrix: Floats, weights: Floats, labels: Sequence[str]) -> None:
        own = gram(matrix, weights, self.centre) / weights.sum() / np.outer(self.width, self.width)
        for place in range(2, len(own)):
            row = own[place, :place]
            rest = own[place, place] - row @ np.linalg.solve(own[:place, :place], row)
            if rest < _ALONE:
                raise TableError(
                    f"The term {shown(labels[place])} follows from those before it (collinear terms); "
                    "leave one of them out."
                )

    def applied(self, matrix: Floats) -> Floats:
        """Return the terms on this scale."""
        scaled: Floats = (matrix - self.centre) / self.width
        return scaled

    @property
    def back(self) -> Floats:
        """Return the matrix that makes coefficients of terms as they are of those on this scale."""
        matrix = np.diag(1 / self.width)
        matrix[0, 1:] = -self.centre[1:] / self.width[1:]
        return matrix


def gram(matrix: Floats, weights: Floats, centre: Floats | float = 0.0) -> Floats:
    """Return the weighted products of all columns, in bounded memory."""
    total = np.zeros((matrix.shape[1],) * 2)
    for start in range(0, len(matrix), _TOGETHER):
        part = matrix[start : start + _TOGETHER] - centre
        total += (part * weights[start : start + _TOGETHER, None]).T @ part
    return total


def sums_by(group: Ints, numbers: Floats, groups: int) -> Floats:
    """Return the sum of the numbers of each of so many groups."""
    return np.bincount(group, numbers, groups).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class _Curvature:
    """The slope of a log-likelihood, its curvature, and the sum of squared scores."""

    score: Floats
    information: Floats
    squares: Floats


class OutcomeLikelihood:
    """The likelihood of answers by the terms of patterns; ``matrix`` has them on a good scale."""

    def __init__(self, matrix: Floats, person: Ints, answers: OutcomeAnswers) -> None:
        kinds = len(answers.if_yes)
        groups, counts = np.unique(person * kinds + answers.kind, return_counts=True)
        self._pattern, kind = np.divmod(groups, kinds)
        self._matrix, self._count = matrix, counts.astype(np.float64)
        self._no = answers.if_no[kind]
        self._difference = answers.if_yes[kind] - self._no

    @property
    def terms(self) -> int:
        """Return how many coefficients there are."""
        return int(self._matrix.shape[1])

    def _shares(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return the share of yes of each pattern, and how likely the answers of each group are."""
        from scipy.special import expit

        shares: Floats = expit(self._matrix @ coefficients)
        chances = self._no + self._difference * shares[self._pattern]
        return shares, np.maximum(chances, np.finfo(np.float64).tiny)

    def value(self, coefficients: Floats) -> float:
        """Return the log-likelihood."""
        return float(self._count @ np.log(self._shares(coefficients)[1]))

    def mean_share(self, coefficients: Floats, weights: Floats) -> float:
        """Return the mean share of yes."""
        return float(weights @ self._shares(coefficients)[0] / weights.sum())

    def curvature(self, coefficients: Floats) -> _Curvature:
        """Return the derivatives by the coefficients."""
        shares, chances = self._shares(coefficients)
        slope = self._difference * (shares * (1 - shares))[self._pattern] / chances
        bend = slope * (1 - 2 * shares)[self._pattern] - slope**2
        first, second, squares = (
            sums_by(self._pattern, self._count * each, len(self._matrix))
            for each in (slope, bend, slope**2)
        )
        return _Curvature(
            first @ self._matrix, gram(self._matrix, -second), gram(self._matrix, squares)
        )

    def maximum(self) -> Floats:
        """Return where the likelihood is highest, or as far as it was followed."""
        place = np.zeros(self._matrix.shape[1])
        value = self.value(place)
        for _ in range(_MOST_STEPS):
            at = self.curvature(place)
            step = _uphill(at)
            if at.score @ step < _GAIN:
                break
            rise = self.value(place + step)
            while not rise >= value and np.abs(step).max() > 1e-12:
                step /= 2
                rise = self.value(place + step)
            place, value = place + step, rise
        return place


def _uphill(at: _Curvature) -> Floats:
    """Return Newton's step; where the likelihood is not bent downwards, one by the squared scores."""
    for matrix in (at.information, at.squares):
        values, vectors = np.linalg.eigh(matrix)
        if values[0] > 1e-10 * max(values[-1], 1e-300):
            break
    values = np.maximum(values, 1e-10 * max(values[-1], 1e-300))
    step: Floats = vectors @ ((vectors.T @ at.score) / values)
    return step / max(1.0, float(np.abs(step).max()) / 5)  # a logit or five, not more, at a time


def fit_logistic(
    patterns: Patterns, labels: Sequence[str], answers: OutcomeAnswers
) -> OpenEstimate:
    """Return the logistic fit of people by their terms and what their answers say."""
    weights = sums_by(patterns.person, answers.tells.astype(np.float64), len(patterns.matrix))
    scale = Scale.of(patterns.matrix, weights, labels)
    likelihood = OutcomeLikelihood(scale.applied(patterns.matrix), patterns.person, answers)
    place = likelihood.maximum()
    at = likelihood.curvature(place)
    covariance = _inverse(at.information)
    if covariance is None or np.sqrt(covariance.diagonal().max()) > _LARGEST_ERROR:
        share = np.clip(likelihood.mean_share(place, weights), 0.05, 0.95)
        raise _too_few(likelihood, float(share), len(patterns.person))
    back = scale.back
    return OpenEstimate(
        back @ place,
        back @ covariance @ back.T,
        back @ covariance @ at.squares @ covariance @ back.T,
        likelihood.value(place),
    )


def fit_linear(
    patterns: Patterns, labels: Sequence[str], scores: Floats, weights: Floats
) -> OpenEstimate:
    """Return the weighted least squares of unbiased scores on people's terms, with the sandwich."""
    moments = [weights, weights * scores, weights**2, weights**2 * scores, (weights * scores) ** 2]
    own, first, square, cross, both = (
        sums_by(patterns.person, each, len(patterns.matrix)) for each in moments
    )
    scale = Scale.of(patterns.matrix, own, labels)
    matrix = scale.applied(patterns.matrix)
    inverse = np.linalg.inv(gram(matrix, own)).astype(np.float64, copy=False)
    place = inverse @ (first @ matrix)
    fitted = matrix @ place
    noise = both - 2 * fitted * cross + fitted**2 * square
    back = scale.back
    sandwich = back @ inverse @ gram(matrix, noise) @ inverse @ back.T
    return OpenEstimate(back @ place, sandwich, sandwich)


def _inverse(information: Floats) -> Floats | None:
    """Return the inverse of a matrix if it is positive definite."""
    values, vectors = np.linalg.eigh(information)
    if not values[0] > 1e-12 * abs(values[-1]):
        return None
    inverse: Floats = (vectors / values) @ vectors.T
    return inverse


def _too_few(likelihood: OutcomeLikelihood, share: float, people: int) -> TableError:
    """Return the error of a likelihood without a maximum, with the people who would give it one.

    They are counted where nothing but the intercept differs from 0, at the share of yes that was found.
    """
    start = np.zeros(likelihood.terms)
    start[0] = np.log(share / (1 - share))
    inverse = _inverse(likelihood.curvature(start).squares)
    needed = 2.0 * people
    if inverse is not None:
        needed = max(needed, people * float(inverse.diagonal().max()) / _GOOD_ERROR**2)
    digits = 10 ** max(0, int(np.log10(needed)) - 1)
    return TableError(
        f"The {people:,} reports do not settle the coefficients: noise hides whether people of some "
        f"kind say yes at all; about {int(np.ceil(needed / digits)) * digits:,} would be needed, or "
        "fewer terms."
    )
