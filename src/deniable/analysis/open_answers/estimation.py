"""Regression of a private answer on open columns: logistic by maximum likelihood, or linear.

Let π(x) = 1/(1 + exp(−x'β)) be the share of yes among people with open terms x. A report that has the
probability a where the truth is yes and b where it is no has the probability b + (a − b)·π(x), so that

    ℓ(β) = Σ log(b_i + (a_i − b_i)·π(x_i))

is a true likelihood, whatever people's other attributes are (`answers`). It is maximised by Newton's
method, in terms that are centred and scaled. Standard errors are Fisher's, from the curvature at the
maximum; beside them stand those of the sandwich H⁻¹JH⁻¹, J the sum of squared scores, which hold as well
where π is not logistic, and then tell of the nearest logistic curve. Where the two differ much, the
curve does not fit.

Noise may hide that there is any yes among people of some kind: then the likelihood is highest at
infinity, or so flat that its curvature tells nothing, and the fit is refused.

Where the curve does not fit, the likelihood of noisy answers has its maximum elsewhere than that of open
ones has: it heeds most where most can be told. By *scores* u, unbiased for the outcome whatever is true,

    Σ w_i·x_i·(u_i − π(x_i)) = 0

has the solution that a fit of open answers tends to, whether or not the curve fits, with wider errors,
those of the sandwich. A linear fit is the same with x'β in place of π, that is, least squares of
scores; the outcome may then be a number (`scores`). What the scores leave at the maximum of the
likelihood tests whether the curve is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deniable.analysis.open_answers.answers import OutcomeAnswers
from deniable.analysis.open_answers.scale import Scale, gram, inverse_of, sums_by
from deniable.analysis.open_answers.scores import Scores
from deniable.analysis.open_answers.terms import Patterns
from deniable.errors import TableError
from deniable.survey.coefficients import Floats, Ints

_MOST_STEPS = 200

_GAIN = 1e-10
"""Newton's method ends where another step would raise the log-likelihood by less."""

_LARGEST_ERROR = 5.0
"""The largest standard error in any direction, in logits: beyond, there is as good as no maximum."""

_GOOD_ERROR = 0.4
"""The largest standard error, in logits, that the people who are asked for would give."""

_ENOUGH = 30.0
"""So many people, alike, tell by what is left how much their scores vary."""

_FEWEST_YES = 0.05
"""The least share of yes at which the people who are asked for are reckoned."""


@dataclass(frozen=True, eq=False)
class OpenEstimate:
    """Coefficients, the covariance of their standard errors, the sandwich, and the log-likelihood."""

    coefficients: Floats
    covariance: Floats
    sandwich: Floats
    width: Floats
    """The standard deviation of each term among those whose answers tell."""
    log_likelihood: float | None = None
    misfit: float = float("nan")
    """The p-value of the curve being true, where it can be told."""


def fit_likelihood(
    patterns: Patterns, terms: Sequence[str], answers: OutcomeAnswers
) -> OpenEstimate:
    """Return the logistic fit that makes people's answers likeliest."""
    weights = sums_by(patterns.person, answers.tells.astype(np.float64), len(patterns.matrix))
    scale = Scale.of(patterns.matrix, weights, terms)
    likelihood = AnswerLikelihood(scale.applied(patterns.matrix), patterns.person, answers)
    place = _highest(likelihood)
    at = likelihood.curvature(place)
    covariance = _settled(inverse_of(at.information))
    if covariance is None:
        share = float(weights @ likelihood.shares(place) / weights.sum())
        precision = answers.precision[answers.kind]
        raise _too_few(likelihood.matrix, patterns.person, precision, share)
    back = scale.back
    return OpenEstimate(
        back @ place,
        back @ covariance @ back.T,
        back @ covariance @ at.squares @ covariance @ back.T,
        scale.width,
        likelihood.value(place),
        likelihood.misfit(place, covariance),
    )


def fit_scores(patterns: Patterns, terms: Sequence[str], scores: Scores) -> OpenEstimate:
    """Return the logistic fit of weighted scores."""
    sums = ScoreSums.of(patterns, scores)
    scale = Scale.of(patterns.matrix, sums.weights, terms)
    curve = ScoreCurve(scale.applied(patterns.matrix), sums)
    place = _highest(curve)
    sandwich = _settled(curve.sandwich(place))
    if sandwich is None:
        share = float(sums.scores.sum() / sums.weights.sum())
        raise _too_few(curve.matrix, patterns.person, scores.weights, share)
    back = scale.back
    sandwich = back @ sandwich @ back.T
    return OpenEstimate(back @ place, sandwich, sandwich, scale.width)


def fit_linear(patterns: Patterns, terms: Sequence[str], scores: Scores) -> OpenEstimate:
    """Return the least squares of weighted scores."""
    sums = ScoreSums.of(patterns, scores)
    scale = Scale.of(patterns.matrix, sums.weights, terms)
    matrix, back = scale.applied(patterns.matrix), scale.back
    bread = np.linalg.inv(gram(matrix, sums.weights))
    inverse = back @ bread
    place = inverse @ (sums.scores @ matrix)
    pull = ((matrix @ bread) * matrix).sum(axis=1)
    noise = gram(matrix, sums.noise(patterns.matrix @ place, pull))
    sandwich = inverse @ noise @ inverse.T
    return OpenEstimate(place, sandwich, sandwich, scale.width)


@dataclass(frozen=True, eq=False)
class Curvature:
    """The slope of a log-likelihood, its curvature, and a curvature that is never negative."""

    score: Floats
    information: Floats
    squares: Floats


class Curve(Protocol):
    """What is made as high as it gets: by coefficients of terms on a good scale."""

    matrix: Floats

    def value(self, coefficients: Floats) -> float:
        """Return how high it is."""
        ...

    def curvature(self, coefficients: Floats) -> Curvature:
        """Return the derivatives by the coefficients."""
        ...


class AnswerLikelihood:
    """The likelihood of answers by the terms of patterns."""

    def __init__(self, matrix: Floats, person: Ints, answers: OutcomeAnswers) -> None:
        kinds = len(answers.if_yes)
        groups, counts = np.unique(person * kinds + answers.kind, return_counts=True)
        self._pattern, kind = np.divmod(groups, kinds)
        self.matrix, self._count = matrix, counts.astype(np.float64)
        self._no = answers.if_no[kind]
        self._difference = answers.if_yes[kind] - self._no
        self._score, self._precision = answers.score[kind], answers.precision[kind]

    def shares(self, coefficients: Floats) -> Floats:
        """Return the share of yes of each pattern."""
        return _logistic(self.matrix @ coefficients)

    def _chances(self, shares: Floats) -> Floats:
        """Return how likely the answers of each group are."""
        chances: Floats = self._no + self._difference * shares[self._pattern]
        return np.maximum(chances, np.finfo(np.float64).tiny)

    def _slope(self, shares: Floats) -> Floats:
        """Return the slope of the log-likelihood of each group by its linear predictor."""
        slope: Floats = self._difference * (shares * (1 - shares))[self._pattern]
        return slope / self._chances(shares)

    def _sums(self, *numbers: Floats) -> list[Floats]:
        """Return the sums over the people of each pattern."""
        return [sums_by(self._pattern, self._count * each, len(self.matrix)) for each in numbers]

    def value(self, coefficients: Floats) -> float:
        """Return the log-likelihood."""
        return float(self._count @ np.log(self._chances(self.shares(coefficients))))

    def curvature(self, coefficients: Floats) -> Curvature:
        """Return the derivatives; the second curvature is the sum of squared scores."""
        shares = self.shares(coefficients)
        slope = self._slope(shares)
        bend = slope * (1 - 2 * shares)[self._pattern] - slope**2
        first, second, squares = self._sums(slope, bend, slope**2)
        return Curvature(
            first @ self.matrix, gram(self.matrix, -second), gram(self.matrix, squares)
        )

    def misfit(self, coefficients: Floats, covariance: Floats) -> float:
        """Return the p-value of the curve being true, tested by what scores say beside it.

        Scores leave an excess Σ w·x·(u − π(x)) at the maximum, whose mean is 0 if the curve is true. It
        is not a number where scores and likelihood cannot differ, as without covariates.
        """
        from scipy.stats import chi2

        shares = self.shares(coefficients)
        slope = self._slope(shares)
        rest = self._precision * (self._score - shares[self._pattern])
        excess, noise, cross, squares, rise = self._sums(
            rest, rest**2, rest * slope, slope**2, self._precision
        )
        pull = gram(self.matrix, rise * shares * (1 - shares)) @ covariance
        whole, shared = gram(self.matrix, noise), gram(self.matrix, cross) @ pull.T
        variance = whole - shared - shared.T + pull @ gram(self.matrix, squares) @ pull.T
        values, vectors = np.linalg.eigh(variance)
        some = values > 1e-6 * np.linalg.eigvalsh(whole)[-1]
        if not some.any():
            return float("nan")
        statistic = (((excess @ self.matrix) @ vectors[:, some]) ** 2 / values[some]).sum()
        return float(chi2.sf(statistic, some.sum()))


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums over the people of each pattern: of w, w·u, w², w²·u, w²·u², and what w²·Var u is made of."""

    weights: Floats
    scores: Floats
    squared_weights: Floats
    cross: Floats
    squared_scores: Floats
    square: Floats
    rise: Floats
    bounds: tuple[float, float]

    @classmethod
    def of(cls, patterns: Patterns, scores: Scores) -> ScoreSums:
        """Add up the scores of people."""
        weights, own = scores.weights, scores.weights * scores.values
        squares = weights**2

        def sums(each: Floats) -> Floats:
            return sums_by(patterns.person, each, len(patterns.matrix))

        return cls(
            weights=sums(weights),
            scores=sums(own),
            squared_weights=sums(squares),
            cross=sums(weights * own),
            squared_scores=sums(own**2),
            square=sums(squares * scores.square),
            rise=sums(squares * scores.rise),
            bounds=scores.bounds,
        )

    @property
    def mean(self) -> float:
        """Return the mean of all scores, or the nearest that people can have."""
        return float(np.clip(self.scores.sum() / self.weights.sum(), *self.bounds))

    def noise(self, fitted: Floats, pull: Floats) -> Floats:
        """Return the sum of w²·Var u of each pattern, whose estimated mean is ``fitted``.

        ``pull`` is the share of a person of the pattern in that estimate, for each unit of weight. Where
        many people make it, squares of what is left tell the variance, whatever is true. A person who
        makes it alone leaves nothing, and a few leave too little by chance: there it is the law's, the
        most from the mean of all people to the pattern's own estimate, drawn to it by half the leverage.
        """
        seen = self.squared_scores - 2 * fitted * self.cross + fitted**2 * self.squared_weights
        typical = np.divide(
            self.squared_weights, self.weights, out=np.zeros_like(pull), where=self.weights > 0
        )
        leverage = (pull * typical).clip(0, 1)
        part = np.minimum(1.0, _ENOUGH * leverage)
        drawn = fitted.clip(*self.bounds) + leverage / 2 * (self.mean - fitted.clip(*self.bounds))
        noise: Floats = (1 - part) * seen + part * self._most_by_law(drawn)
        return noise

    def _most_by_law(self, drawn: Floats) -> Floats:
        """Return the most that the law gives from the mean of all people to one of each pattern."""
        ends = np.minimum(drawn, self.mean), np.maximum(drawn, self.mean)
        top = np.divide(
            self.rise / 2, self.squared_weights, out=ends[0].copy(), where=self.squared_weights > 0
        ).clip(*ends)
        most: Floats = self.square + top * self.rise - top**2 * self.squared_weights
        return most


class ScoreCurve:
    """What has the slope Σ w·x·(u − π(x)): Σ w·(u·x'β − log(1 + exp(x'β)))."""

    def __init__(self, matrix: Floats, sums: ScoreSums) -> None:
        self.matrix, self._sums = matrix, sums

    def value(self, coefficients: Floats) -> float:
        """Return how high it is."""
        predictor = self.matrix @ coefficients
        return float(
            self._sums.scores @ predictor - self._sums.weights @ np.logaddexp(0, predictor)
        )

    def curvature(self, coefficients: Floats) -> Curvature:
        """Return the derivatives; it is bent downwards everywhere."""
        shares = _logistic(self.matrix @ coefficients)
        score = (self._sums.scores - self._sums.weights * shares) @ self.matrix
        information = gram(self.matrix, self._sums.weights * shares * (1 - shares))
        return Curvature(score, information, information)

    def sandwich(self, coefficients: Floats) -> Floats | None:
        """Return the covariance of the coefficients."""
        inverse = inverse_of(self.curvature(coefficients).information)
        if inverse is None:
            return None
        shares = _logistic(self.matrix @ coefficients)
        rises = shares * (1 - shares)
        pull = ((self.matrix @ inverse) * self.matrix).sum(axis=1) * rises
        return inverse @ gram(self.matrix, self._sums.noise(shares, pull)) @ inverse


def _logistic(predictor: Floats) -> Floats:
    from scipy.special import expit

    shares: Floats = expit(predictor)
    return shares


def _highest(curve: Curve) -> Floats:
    """Return where a curve is highest, or as far as it was followed."""
    place = np.zeros(curve.matrix.shape[1])
    value = curve.value(place)
    for _ in range(_MOST_STEPS):
        at = curve.curvature(place)
        step = _uphill(at)
        if at.score @ step < _GAIN:
            break
        rise = curve.value(place + step)
        while not rise >= value and np.abs(step).max() > 1e-12:
            step /= 2
            rise = curve.value(place + step)
        place, value = place + step, rise
    return place


def _uphill(at: Curvature) -> Floats:
    """Return Newton's step; where the curve is not bent downwards, one by the other curvature."""
    for matrix in (at.information, at.squares):
        values, vectors = np.linalg.eigh(matrix)
        least = 1e-10 * max(values[-1], 1e-300)
        if values[0] > least:
            break
    step: Floats = vectors @ ((vectors.T @ at.score) / np.maximum(values, least))
    return step / max(1.0, float(np.abs(step).max()) / 5)  # five logits, not more, at a time


def _settled(covariance: Floats | None) -> Floats | None:
    """Return a covariance, or None where some sum of coefficients is as good as not known."""
    if covariance is None or not np.linalg.eigvalsh(covariance)[-1] < _LARGEST_ERROR**2:
        return None
    return covariance


def _too_few(matrix: Floats, person: Ints, precision: Floats, share: float) -> TableError:
    """Return the error of a fit that is not settled, with the people who would settle it.

    What they would tell is reckoned at the same share of yes for everybody, none too small.
    """
    share = min(max(share, _FEWEST_YES), 1 - _FEWEST_YES)
    each = share * (1 - share)
    with np.errstate(divide="ignore"):
        information = each**2 / (1 / precision + each)
    covariance = inverse_of(gram(matrix, sums_by(person, information, len(matrix))))
    people = len(person)
    needed = 2.0 * people
    if covariance is not None:
        needed = max(needed, people * float(np.linalg.eigvalsh(covariance)[-1]) / _GOOD_ERROR**2)
    digits = 10 ** max(0, int(np.log10(needed)) - 1)
    return TableError(
        f"The {people:,} reports do not settle the coefficients: noise hides whether people of some "
        f"kind say yes at all; about {int(np.ceil(needed / digits)) * digits:,} would be needed, or "
        "fewer terms."
    )
