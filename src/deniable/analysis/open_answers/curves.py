"""Curves that a logistic fit climbs: the likelihood of answers, and what scores have in its place.

Both count a person's log odds only as far as ±15: beyond, the share is the same to seven digits, so
where answers are all alike in a group, the way up ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from deniable.analysis.open_answers.answers import OutcomeAnswers
from deniable.analysis.open_answers.scale import gram, sums_by
from deniable.analysis.open_answers.scores import Scores
from deniable.analysis.open_answers.terms import Patterns
from deniable.numeric.inference import wald
from deniable.numeric.newton import climb
from deniable.survey.coefficients import Floats, Ints

_GAIN = 5e-11
"""Newton's method ends where another step would raise the curve by less."""

_PARTS = tuple(0.25**i for i in range(15))

_LONGEST = 5.0
"""How many log odds a step changes for anybody, at most."""

_SATURATED = 15.0
"""Log odds beyond which a share is as good as 0 or 1."""

_ENOUGH = 30.0
"""So many people, alike, tell by what is left how much their scores vary."""


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

    def misfit_of(self, coefficients: Floats, forms: Floats, free: Floats) -> float:
        """Return how ill the answers go with coefficients at which some sums (rows) were held.

        Less what it is at the ``free`` ones, it is about χ², of as many degrees as sums.
        """
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
        return logistic(self.matrix @ coefficients)

    def _chances(self, shares: Floats) -> Floats:
        """Return how likely the answers of each group are."""
        chances: Floats = self._no + self._difference * shares[self._pattern]
        return np.maximum(chances, np.finfo(np.float64).tiny)

    def _slope(self, shares: Floats, inside: Floats | float = 1.0) -> Floats:
        """Return the slope of the log-likelihood of each group by its linear predictor."""
        slope: Floats = self._difference * (inside * shares * (1 - shares))[self._pattern]
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
        slope = self._slope(shares, _inside(self.matrix @ coefficients))
        bend = slope * (1 - 2 * shares)[self._pattern] - slope**2
        first, second, squares = self._sums(slope, bend, slope**2)
        return Curvature(
            first @ self.matrix, gram(self.matrix, -second), gram(self.matrix, squares)
        )

    def misfit_of(self, coefficients: Floats, forms: Floats, free: Floats) -> float:
        """Return twice the log-likelihood, downwards."""
        return -2 * self.value(coefficients)

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
        nothing = 1e-6 * float(np.linalg.eigvalsh(whole)[-1])
        return float(chi2.sf(*wald(excess @ self.matrix, variance, nothing)))


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

    @property
    def typical_weight(self) -> Floats:
        """Return the weight of one person of each pattern whose answer tells."""
        each = np.zeros_like(self.weights)
        return np.divide(self.squared_weights, self.weights, out=each, where=self.weights > 0)

    def noise(self, fitted: Floats, pull: Floats, hypothesis: Floats | None = None) -> Floats:
        """Return the sum of w²·Var u of each pattern, whose estimated mean is ``fitted``.

        Where a ``hypothesis`` is tested, it is the mean of each pattern.

        ``pull`` is the share of a person of the pattern in that estimate, for each unit of weight. Where
        many people make it, squares of what is left tell the variance, whatever is true. A person who
        makes it alone leaves nothing, and a few leave too little by chance: there it is the law's, the
        most from the mean of all people (or the hypothesis) to the pattern's own estimate, drawn to it
        by half the leverage.
        """
        centre = fitted if hypothesis is None else hypothesis
        squares = self.squared_scores - 2 * centre * self.cross + centre**2 * self.squared_weights
        leverage = (pull * self.typical_weight).clip(0, 1)
        part = np.minimum(1.0, _ENOUGH * leverage)
        base = np.full_like(fitted, self.mean) if hypothesis is None else hypothesis
        own = fitted.clip(*self.bounds)
        noise: Floats = (1 - part) * squares + part * self._by_law(
            base, own + leverage / 2 * (base - own)
        )
        return noise

    def _by_law(self, base: Floats, other: Floats) -> Floats:
        """Return the most that the law gives between two means of each pattern."""
        ends = np.minimum(other, base), np.maximum(other, base)
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
        predictor = _bounded(self.matrix @ coefficients)
        return float(
            self._sums.scores @ predictor - self._sums.weights @ np.logaddexp(0, predictor)
        )

    def curvature(self, coefficients: Floats) -> Curvature:
        """Return the derivatives; it is bent downwards everywhere."""
        predictor = self.matrix @ coefficients
        shares, inside = logistic(predictor), _inside(predictor)
        score = (inside * (self._sums.scores - self._sums.weights * shares)) @ self.matrix
        information = gram(self.matrix, inside * self._sums.weights * shares * (1 - shares))
        return Curvature(score, information, information)

    def misfit_of(self, coefficients: Floats, forms: Floats, free: Floats) -> float:
        """Return the score statistic of the sums that were held, with the variance that it has there."""
        shares = logistic(self.matrix @ coefficients)
        excess = (self._sums.scores - self._sums.weights * shares) @ self.matrix
        inverse, noise = self._parts(logistic(self.matrix @ free), shares)
        way = forms @ inverse
        shift, variance = way @ excess, way @ noise @ way.T
        return float(wald(shift, variance)[0])

    def sandwich(self, coefficients: Floats, inverse: Floats) -> Floats:
        """Return the covariance of the coefficients; ``inverse`` is that of the information."""
        _, noise = self._parts(logistic(self.matrix @ coefficients))
        return inverse @ noise @ inverse

    def _parts(self, fitted: Floats, hypothesis: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the inverse of the information at shares, and the noise of the slope."""
        shares = fitted if hypothesis is None else hypothesis
        rises = shares * (1 - shares)
        information = gram(self.matrix, self._sums.weights * rises)
        inverse: Any = np.linalg.pinv(information, rcond=1e-14, hermitian=True)
        pull = ((self.matrix @ inverse) * self.matrix).sum(axis=1) * rises
        return inverse, gram(self.matrix, self._sums.noise(fitted, pull, hypothesis))


def logistic(predictor: Floats) -> Floats:
    """Return shares at log odds, none nearer to 0 or 1 than can matter."""
    from scipy.special import expit

    shares: Floats = expit(_bounded(predictor))
    return shares


def _bounded(predictor: Floats) -> Floats:
    return predictor.clip(-_SATURATED, _SATURATED)


def _inside(predictor: Floats) -> Floats:
    """Return 1 for log odds that count, and 0 beyond."""
    return (np.abs(predictor) < _SATURATED).astype(np.float64)


def highest(curve: Curve, start: Floats, ways: Floats | None = None) -> Floats:
    """Return where a curve is highest, or as far as it was followed: along some ways (columns) only."""
    if ways is not None and not ways.shape[1]:
        return start
    turn = np.eye(len(start)) if ways is None else ways

    def step_at(place: Floats, _: tuple[float]) -> tuple[Floats, float]:
        at = curve.curvature(place)
        # Where the curve is not bent downwards, the step is by the other curvature.
        for matrix in (at.information, at.squares):
            values, vectors = np.linalg.eigh(turn.T @ matrix @ turn)
            least = 1e-10 * max(values[-1], 1e-300)
            if values[0] > least:
                break
        step = turn @ (vectors @ ((vectors.T @ (turn.T @ at.score)) / np.maximum(values, least)))
        inside = _inside(curve.matrix @ place) > 0
        step /= max(1.0, float(np.abs(curve.matrix[inside] @ step).max(initial=0)) / _LONGEST)
        return step, float(at.score @ step)

    def look(at: Floats) -> tuple[float]:
        return (curve.value(at),)

    return climb(start, look, step_at, _GAIN, promise=0.0, lengths=_PARTS)[0]
