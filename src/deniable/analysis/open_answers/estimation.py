"""Regression of a private answer on open columns: logistic by maximum likelihood, or linear.

Let π(x) = 1/(1 + exp(−x'β)) be the share of yes among people with open terms x. A report that has the
probability a where the truth is yes and b where it is no has the probability b + (a − b)·π(x), so that

    ℓ(β) = Σ log(b_i + (a_i − b_i)·π(x_i))

is a true likelihood, whatever people's other attributes are (`answers`). It is maximised by Newton's
method, in terms that are centred and scaled (`curves`). Intervals and tests are by profile likelihood
(`profile`); standard errors are Fisher's, from the curvature at the maximum. Beside them stand those of
the sandwich H⁻¹JH⁻¹, J the sum of squared scores, which hold as well where π is not logistic, and then
tell of the nearest logistic curve. Where the two differ much, the curve does not fit.

Noise may hide that there is any yes among people of some kind: then the likelihood is highest at
infinity, and an end of the interval is there. What is refused are terms that no answers could tell
apart.

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

import numpy as np

from deniable.analysis.open_answers.answers import OutcomeAnswers
from deniable.analysis.open_answers.curves import (
    AnswerLikelihood,
    ScoreCurve,
    ScoreSums,
    highest,
)
from deniable.analysis.open_answers.profile import Profile
from deniable.analysis.open_answers.scale import Scale, gram, sums_by
from deniable.analysis.open_answers.scores import Scores
from deniable.analysis.open_answers.terms import Patterns
from deniable.survey.coefficients import Floats


@dataclass(frozen=True, eq=False)
class OpenEstimate:
    """Coefficients, the covariance of their standard errors, the sandwich, and the log-likelihood.

    Those that are highest at infinity are as far there as they were followed; ``profile`` tells which,
    and their covariances leave them out.
    """

    coefficients: Floats
    covariance: Floats
    sandwich: Floats
    width: Floats
    """The standard deviation of each term among those whose answers tell."""
    profile: Profile | None = None
    log_likelihood: float | None = None
    misfit: float = float("nan")
    """The p-value of the curve being true, where it can be told."""


def fit_likelihood(
    patterns: Patterns, terms: Sequence[str], answers: OutcomeAnswers
) -> OpenEstimate:
    """Return the logistic fit that makes people's answers likeliest."""
    weights = sums_by(patterns.person, answers.tells.astype(np.float64), len(patterns.matrix))
    scale = Scale.of(patterns.matrix, weights, terms)
    curve = AnswerLikelihood(scale.applied(patterns.matrix), patterns.person, answers)
    place, back = highest(curve, np.zeros(len(terms))), scale.back
    profile = Profile(curve, place, back, weights, np.ones(len(weights)))
    covariance = profile.covariance
    return OpenEstimate(
        back @ place,
        back @ covariance @ back.T,
        back @ covariance @ curve.curvature(place).squares @ covariance @ back.T,
        scale.width,
        profile,
        curve.value(place),
        curve.misfit(place, covariance) if profile.is_finite.all() else float("nan"),
    )


def fit_scores(patterns: Patterns, terms: Sequence[str], scores: Scores) -> OpenEstimate:
    """Return the logistic fit of weighted scores."""
    sums = ScoreSums.of(patterns, scores)
    scale = Scale.of(patterns.matrix, sums.weights, terms)
    curve = ScoreCurve(scale.applied(patterns.matrix), sums)
    place, back = highest(curve, np.zeros(len(terms))), scale.back
    profile = Profile(curve, place, back, sums.weights, sums.typical_weight)
    sandwich = back @ curve.sandwich(place, profile.covariance) @ back.T
    return OpenEstimate(back @ place, sandwich, sandwich, scale.width, profile)


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
