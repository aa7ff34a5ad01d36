"""Logistic regression from mean products without bias.

The coefficients β solve E[z·(y − σ(z'β))] = 0, as they do for records. E[zy] is estimated without bias,
but E[zσ(z'β)] asks for the joint law of the predictors, of which pairs are known. So

1. a law P₀ of predictors and outcome is fitted: of all laws exp(Σλt + y·z'β₀) times independent
   attributes, with t the mean products of columns, the one whose mean products are nearest to the
   estimated ones, as sure as these are. It always exists, however noisy they are;
2. every function z·σ(z'β) is approximated by the mean products that come nearest to it under P₀, and
   *their* unbiased estimates are put in: E[zσ] ≈ E_P₀[zσ] + c'(estimates − E_P₀[t]).

So P₀ only decides how a smooth function is approximated, and what is put in is linear in unbiased
estimates: U = E[zy] − E[zσ] has an exact covariance, and Cov β̂ = A⁻¹·Cov(U)·A⁻¹ with A = E[zz'σ(1 − σ)].
Without noise P₀ has all the mean products, and β is that of the largest entropy, exp(Σλt + y·z'β).

States of the predictors are listed if they are few, and else drawn, each attribute with its own shares.

Where hardly any of those who have some value have the outcome, or lack it, an odds ratio is 0 or without
bound, and no standard error says so: such a regression is refused. Only where that is sure, however: to
refuse all that is in doubt would leave those that chance made strong.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from deniable.analysis.regression.linear import bounded
from deniable.analysis.regression.moments import Moments
from deniable.analysis.regression.stability import rounded
from deniable.errors import TableError
from deniable.numeric.newton import climb
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables

_MOST_STATES = 1 << 15
_MOST_FEATURES = 1 << 22
"""The most states times mean products."""

_LEAST = 1e-3
"""The least share that a value has among the states."""

_MIXED = 0.05
"""What independent attributes have in the law under which functions are approximated."""

_DEPENDENT = 1e-9
_EXACT = 1e-10
_FLAT = 1e-10
_FAR = 50.0
"""Coefficients of columns of size 1 beyond this mean that an outcome is certain for some people."""

_SURELY = 2.0
"""A share that is not so many standard errors above 0 may be nobody's."""

_HARDLY = 0.25
"""And if it is surely less than this of what would be alike, it is hardly anybody's."""

_NOT_SOLVED = (
    "No odds ratios fit these estimates: noise, or a predictor that decides the outcome, puts them "
    "beyond what people can have; kind='linear' may do, or more people, or fewer terms."
)


def fit_odds(moments: Moments, release: ReleasedTables) -> tuple[Floats, Floats]:
    """Return the coefficients of a logistic regression of the last column, and their covariance."""
    _check_chances(moments, release.people)
    count = len(moments.columns) - 1
    columns = np.arange(count)
    pairs = np.array([p for p, (_, j) in enumerate(moments.pairs) if 0 < j < count], np.int64)
    with_outcome = moments.at[columns, count]
    there = float(moments.values[moments.at[0, 0]])
    means, target = moments.values[pairs] / there, moments.values[with_outcome] / there
    states = _States(moments, release, pairs)
    every = np.append(pairs, with_outcome)
    noise = moments.expected_covariance[np.ix_(every, every)] / there**2
    shares, start = _fit_law(states, means, target, noise)
    weights, nearest = _calibrated(states, shares, means)
    coefficients = _solve(states.columns, weights, target, start)
    chance = special.expit(states.columns @ coefficients)
    # E[zσ] in mean products: c, and what is left over of 1.
    parts = nearest @ (states.columns * chance[:, None])
    remainder = states.columns.T @ (shares * chance) - parts.T @ (states.features.T @ shares)
    sums = np.zeros((count, len(moments.pairs)))
    sums[:, pairs] -= parts.T
    sums[:, moments.at[0, 0]] -= remainder
    sums[columns, with_outcome] += 1
    sums /= there
    errors = moments.covariance(sums)
    inverse = np.asarray(np.linalg.inv(_curvature(states.columns, weights, chance)), np.float64)
    covariance = inverse @ errors @ inverse.T
    own = moments.expected_covariance[pairs] @ sums.T / there
    shift = _shift(states.columns, weights, chance, inverse, covariance, nearest, own)
    return coefficients + bounded(inverse @ shift, covariance), covariance


def _shift(
    columns: Floats,
    weights: Floats,
    chance: Floats,
    inverse: Floats,
    covariance: Floats,
    nearest: Floats,
    together: Floats,
) -> Floats:
    """Return what noise makes of the equations on average, to second order.

    That is the mean of D·A⁻¹·U, of noise D in A that goes with U (``together``), and half the equations'
    second derivative times the covariance of the coefficients.
    """
    bend = chance * (1 - chance)
    count = columns.shape[1]
    products = columns[:, :, None] * columns[:, None, :]
    flat = (products * bend[:, None, None]).reshape(len(columns), -1)
    noise = ((nearest @ flat).T @ together).reshape(count, count, count)
    shift: Floats = np.einsum("abc,bc->a", noise, inverse)
    turn = weights * bend * (1 - 2 * chance)
    shift += columns.T @ (turn * np.einsum("sa,ab,sb->s", columns, covariance, columns)) / 2
    return shift


def _check_chances(moments: Moments, people: int) -> None:
    """Refuse an outcome that all, or none, of the people at one end of a column may have."""
    count = len(moments.columns) - 1
    ends = _ends(moments)
    sums = np.zeros((2 * len(ends), len(moments.pairs)))
    for row, (_, weights) in enumerate(ends):
        np.add.at(sums[2 * row], moments.at[:count, count], weights)
        np.add.at(sums[2 * row + 1], moments.at[0, :count], weights)
        sums[2 * row + 1] -= sums[2 * row]
    shares = sums @ moments.values
    noise = np.einsum("ip,pq,iq->i", sums, moments.expected_covariance, sums, optimize=True)
    errors = np.sqrt(noise.clip(0, None))
    # Of people who are alike, the outcome's share is the same at every end.
    alike = (shares[::2] + shares[1::2])[:, None] * shares[:2] / shares[:2].sum()
    is_nobody = (shares <= _SURELY * errors) & (shares + _SURELY * errors < _HARDLY * alike.ravel())
    if not is_nobody.any():
        return
    worst = int(np.flatnonzero(is_nobody)[0])
    needed = people * (_SURELY * errors[worst] / max(shares[worst], errors[worst] / 2)) ** 2
    what = "anybody is without" if worst % 2 else "anybody has"
    raise TableError(
        f"Hardly {what} {moments.columns[-1].label} among "
        f"people {ends[worst // 2][0]}, so an odds ratio is 0 or without bound as far as noise lets "
        f"see: it would take {rounded(needed)} people or more, and there are {people:,}; take "
        "kind='linear', or leave it out."
    )


def _ends(moments: Moments) -> list[tuple[str, Floats]]:
    """Return sums of columns that are above 0 at one end of a column only, with words for it."""
    columns = moments.columns[:-1]
    first: dict[int, Floats] = {}
    ends = [("at all", np.eye(len(columns))[0])]
    for place, column in enumerate(columns[1:], start=1):
        reach = np.ones(1)
        for function in column.functions.values():
            reach = np.outer(reach, [function.min(), function.max()]).ravel()
        own = np.eye(len(columns))[place]
        low, high = -reach.min() * ends[0][1], reach.max() * ends[0][1]
        ends.append((f"with {column.label}", own + low))
        is_number = low.any()
        ends.append(
            (
                f"with little of {column.label}" if is_number else f"without {column.label}",
                high - own,
            )
        )
        if len(column.functions) == 1 and not is_number:
            attribute = next(iter(column.functions))
            first[attribute] = first.get(attribute, ends[0][1]) - own
    ends += [("with the first value of a category", weights) for weights in first.values()]
    return ends


class _States:
    """States that people may be in, each attribute independent of the others."""

    def __init__(self, moments: Moments, release: ReleasedTables, pairs: Ints) -> None:
        columns = moments.columns[:-1]
        attributes = sorted({each for column in columns for each in column.functions})
        margins = [_margin(release, moments, attribute) for attribute in attributes]
        codes, self.base = _listed_or_drawn(release, margins, max(1, len(pairs)))
        at = dict(zip(attributes, codes.T, strict=True))
        self.columns = np.ones((len(codes), len(columns)))
        for place, column in enumerate(columns):
            for attribute, function in column.functions.items():
                self.columns[:, place] *= function[at[attribute]]
        first, second = np.array(moments.pairs, np.int64)[pairs].reshape(-1, 2).T
        self.features = self.columns[:, first] * self.columns[:, second]
        self.middle = self.base @ self.features
        centred = self.features - self.middle
        gram = (centred * self.base[:, None]).T @ centred
        size = np.sqrt(np.diagonal(gram).clip(1e-300, None))
        values, vectors = np.linalg.eigh(gram / np.outer(size, size))
        some = values > _DEPENDENT * max(1.0, values.max(initial=0))
        self.basis: Floats = vectors[:, some] / np.sqrt(values[some]) / size[:, None]
        """What makes features that are independent of each other of the mean products."""
        self.own: Floats = centred @ self.basis


def _margin(release: ReleasedTables, moments: Moments, attribute: int) -> Floats:
    """Return about how common each code of an attribute is; none is very rare."""
    fits = release.number_fits
    size = release.survey.schema.attributes[attribute].codes
    shares = fits[attribute].shares if attribute in fits else moments.shares(attribute, size)
    shares = shares.clip(_LEAST / size, None)
    own: Floats = shares / shares.sum()
    return own


def _listed_or_drawn(
    release: ReleasedTables, margins: list[Floats], features: int
) -> tuple[Ints, Floats]:
    """Return the codes of all states with their shares, or of states that were drawn."""
    count = prod(len(each) for each in margins)
    if count <= _MOST_STATES and count * features <= 2 * _MOST_FEATURES:
        grids = np.meshgrid(*(np.arange(len(each)) for each in margins), indexing="ij")
        codes = (
            np.stack([each.ravel() for each in grids], axis=1) if margins else np.zeros((1, 0), int)
        )
        shares = np.ones(1)
        for each in margins:
            shares = np.outer(shares, each).ravel()
        return codes, shares
    draws = min(_MOST_STATES, _MOST_FEATURES // features)
    random = release.generator("logistic")
    even = (np.arange(draws) + 0.5) / draws
    codes = np.stack(
        [np.searchsorted(each.cumsum()[:-1], random.permutation(even)) for each in margins], axis=1
    )
    return codes, np.full(draws, 1 / draws)


def _fit_law(
    states: _States, means: Floats, target: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """Return the shares of states under P₀, and its coefficients of the outcome.

    Newton's method on the dual: the logarithm of the sum of all weights, less what the estimates say,
    and half the square of how far the parameters pull at these, by their noise.
    """
    aim = np.append(states.basis.T @ (means - states.middle), target)
    features, count = states.basis.shape
    turn = np.zeros((len(aim), len(noise)))
    turn[:count, :features], turn[count:, features:] = states.basis.T, np.eye(len(target))
    noise = turn @ noise @ turn.T

    def look(at: Floats) -> tuple[float, Floats, Floats]:
        score = states.columns @ at[count:]
        weights = np.log(states.base) + states.own @ at[:count] + np.logaddexp(0, score)
        total = special.logsumexp(weights)
        value = float(total - at @ aim + at @ noise @ at / 2)
        return -value, np.exp(weights - total), special.expit(score)

    def step_at(at: Floats, here: tuple[float, Floats, Floats]) -> tuple[Any, float]:
        _, shares, chance = here
        every = np.column_stack((states.own, states.columns * chance[:, None]))
        mean = shares @ every
        slope = mean - aim + noise @ at
        bend = (every * shares[:, None]).T @ every - np.outer(mean, mean) + noise
        bend[count:, count:] += _curvature(states.columns, shares, chance)
        np.einsum("ii->i", bend)[...] += 1e-12
        step = np.linalg.solve(bend, -slope)
        return step, -float(slope @ step)

    at, (_, shares, _) = climb(np.zeros(len(aim)), look, step_at, 5e-13, promise=0.25)
    return shares, at[count:]


def _calibrated(states: _States, shares: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return weights of states that have the estimated mean products, some of them negative perhaps.

    Beside them, what turns functions of the states into weights of mean products: those that come
    nearest to the functions, by least squares.
    """
    mixed = (1 - _MIXED) * shares + _MIXED * states.base
    centred = states.own - mixed @ states.own
    gram = (centred * mixed[:, None]).T @ centred
    solved = np.linalg.solve(gram, (centred * mixed[:, None]).T)
    aim = states.basis.T @ (means - states.features.T @ shares)
    weights: Floats = shares + aim @ solved
    return weights, states.basis @ solved


def _curvature(columns: Floats, weights: Floats, chance: Floats) -> Floats:
    """Return the weighted mean of zz'σ(1 − σ)."""
    curvature: Floats = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns
    return curvature


def _solve(columns: Floats, weights: Floats, target: Floats, start: Floats) -> Floats:
    """Return β with Σ weights·z·σ(z'β) = target, by Newton's method."""

    def look(at: Floats) -> tuple[float, Floats, Floats]:
        chance = special.expit(columns @ at)
        off = target - columns.T @ (weights * chance)
        return -float(np.abs(off).max()), off, chance

    def step_at(at: Floats, here: tuple[float, Floats, Floats]) -> tuple[Any, float]:
        height, off, chance = here
        curvature = _curvature(columns, weights, chance)
        is_flat = np.abs(at).max() > _FAR or np.linalg.eigvalsh(curvature)[0] <= _FLAT
        if is_flat or height > -_EXACT:
            return np.zeros_like(at), 0.0
        return np.linalg.solve(curvature, off), -height

    at, (height, *_) = climb(start, look, step_at)
    if not height > -_EXACT:
        raise TableError(_NOT_SOLVED)
    return at
