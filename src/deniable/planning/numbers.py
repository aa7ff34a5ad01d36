"""Predicted errors of what is told of numbers: means, medians and correlations.

Means and correlations are linear in what was asked, or functions of what is. So their errors follow
from the law of the answers, as those of a release do (`deniable.decoding.reports`): a report has the
influence Σ_α a_α·g·(score_α − τ_α)/G_α on the form Σ a_α·θ̂_α, with τ = θ where coefficients are asked
often, and 0 where a component is divided by its mean number of reports. The three cuts of one report go
together: their scores have the covariance that the people in the four intervals between them make.
People are taken to be drawn at random. Where nothing is known of them, every point of a grid is equally
common, nobody lacks a number, and no two numbers depend on each other.

A median's error is that of its interval, which is made of the best rising curves through what is told of
all cuts. Where neighbouring cuts differ by less than a single one errs, these err as Chernoff's
distribution does, by .5136·(4·p/w)^⅓, p being the share of people at a point and w the precision of a
single cut; else by √(1/w).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from deniable.analysis.records import codes_of
from deniable.decoding.evidence import FEW_REPORTS
from deniable.decoding.scores import scoring
from deniable.decoding.thresholds import cut_moments, cut_products
from deniable.numeric.covariances import variances_of
from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.unit import UnitNumber, joint_moments
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints, positions
from deniable.survey.frozen import FrozenSurvey

NORMAL = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
_CHERNOFF = 0.5136
"""The standard deviation of Chernoff's distribution."""
_NEAR = 0.1
"""A distribution's slope at its median is that between the quantiles so far below and above."""


class Population:
    """What people are like: the shares of each attribute's codes, and how numbers go together.

    ``is_known`` tells whether a sample told; until one does, codes are equally common.
    """

    def __init__(self, schema: Schema, sample: Any = None) -> None:
        self.is_known = sample is not None
        self.numbers = [a for a, each in enumerate(schema.attributes) if each.is_ordered]
        every = None if sample is None else codes_of(schema, sample)
        self._codes = None if every is None else {a: every[a] for a in self.numbers}
        columns = [None] * len(schema) if every is None else every
        self.shares = [_share(*each) for each in zip(schema.attributes, columns, strict=True)]

    def mean(self, functions: Mapping[int, Floats]) -> float:
        """Return the mean of a product of functions of codes."""
        if self._codes is None or len(functions) < 2:
            parts = [float(self.shares[a] @ each) for a, each in functions.items()]
            return float(np.prod(parts))
        product = [each[self._codes[a]] for a, each in functions.items()]
        return float(np.prod(product, axis=0).mean())


def _share(attribute: Attribute, codes: Ints | None) -> Floats:
    """Return the share of each code; nobody's number is missing until somebody tells."""
    if codes is not None:
        shares: Floats = np.bincount(codes, minlength=attribute.codes) / len(codes)
        return shares
    some = attribute.levels if attribute.is_ordered else attribute.codes
    return np.append(np.full(some, 1 / some), np.zeros(attribute.codes - some))


@dataclass(frozen=True, eq=False)
class _Block:
    """Reports about cuts of one number: of each entry (rows) the coefficients, and what scores mean."""

    people: float
    """The reports about each entry."""
    members: Ints
    weights: Floats
    """g of each place."""
    products: Floats
    """The mean products of an entry's scores."""


class SingleNumber:
    """The covariance of means of functions of one number."""

    def __init__(self, own: Thresholds, shares: Floats, blocks: Sequence[_Block]) -> None:
        below = np.cumsum(shares[: own.levels])[:-1]
        missing = float(shares[-1]) if own.missing else 0.0
        theta = (
            2 * below - 1 + missing
        )  # h = −1 from a cut on; missing passes none of the first half
        self.theta = np.concatenate((theta + missing, theta - missing)) if own.missing else theta
        self._blocks, self._steps = blocks, own.steps
        weight, people = np.zeros((2, own.count))
        for block in blocks:
            at, times = block.members.ravel(), len(block.members)
            weight += np.bincount(at, np.tile(block.people * block.weights, times), own.count)
            people += np.bincount(at, minlength=own.count) * block.people
        self.reports = float(people.mean())
        self._thin = self.reports < FEW_REPORTS
        self._weight = np.full_like(weight, weight.mean()) if self._thin else weight

    def covariance(self, forms: Floats) -> Floats:
        """Return the covariance of forms, whose weights of coefficients are in rows."""
        total = np.zeros((len(forms), len(forms)))
        if not self._weight.all():
            used_by = np.any(forms[:, self._weight == 0] != 0, axis=1)
            total[used_by], total[:, used_by] = inf, inf
            return total
        for block in self._blocks:
            own = (forms / self._weight)[:, block.members] * block.weights
            moments = np.einsum("fej,ejk,gek->fg", own, block.products, own)
            means = np.einsum("fej,ej->fe", own, self.theta[block.members])
            centre = means @ means.T
            if self._thin:
                centre = np.outer(means.sum(axis=1), means.sum(axis=1)) / means.shape[1]
            total += block.people * (moments - centre)
        few = 1.0 if self._thin else 1 + 1 / self.reports  # E[1/N] is a little more than 1/E[N]
        return few * total

    def cut_precision(self, cut: int) -> float:
        """Return one over the variance of the share of people below a cut, from answers about it."""
        total = 0.0
        for block in self._blocks:
            at = block.members % self._steps == cut - 1  # whatever missing passes
            own = (variances_of(block.products) - self.theta[block.members] ** 2)[at]
            total += 4 * block.people * float((1 / own).sum())
        return total


class NumberErrors:
    """The errors to expect of a survey's numbers if so many people answer.

    The survey must ask about numbers by sums of questions, as all mechanisms do that take numbers.
    """

    def __init__(self, survey: FrozenSurvey, people: float, population: Population) -> None:
        self._survey, self._people, self._population = survey, people, population
        self.numbers = population.numbers

    @cached_property
    def _shares(self) -> tuple[list[tuple[int, Floats]], Floats]:
        """Return the share of reports about each number alone, by template; of pairs, also over V."""
        survey, size = self._survey, len(self._survey.schema)
        alone: list[tuple[int, Floats]] = []
        pairs = np.zeros((size, size, 2))
        for index, template in enumerate(survey.templates):
            if template.among and not set(template.among) & set(self.numbers):
                continue
            sets, chances = survey.index.templates[index].sets, survey.index.set_chances(index)
            if template.question_counts == (2,):
                alone.append((index, _sums(sets[:, 0], chances, size)))
                continue
            moment = scoring(template).moment
            for mask in template.member_sets.tolist():
                touched_places = positions(mask)
                if len(touched_places) == 1:
                    single = sets[:, touched_places[0]]
                    alone.append((index, _sums(single, chances, size)))
                elif len(touched_places) == 2:
                    both = np.column_stack((chances, chances / moment))
                    np.add.at(pairs, tuple(sets[:, touched_places].T), both)
        return alone, pairs

    def single(self, attribute: int) -> SingleNumber:
        """Return what is told of one number by answers about it alone."""
        own = self._survey.lists[attribute]
        assert isinstance(own, Thresholds)
        shares = self._population.shares[attribute]
        return SingleNumber(own, shares, list(self._blocks(attribute, own, shares)))

    def _blocks(self, attribute: int, own: Thresholds, shares: Floats) -> Iterator[_Block]:
        entries = np.arange(own.entries)
        for index, chances in self._shares[0]:
            people = self._people * float(chances[attribute]) / own.entries
            if not people:
                continue
            template = self._survey.templates[index]
            score = scoring(template)
            if template.question_counts != (2,):
                each = np.full((own.entries, 1, 1), score.moment)
                yield _Block(people, entries[:, None], np.array([1 / score.moment]), each)
                continue
            cuts, passes = own.triples(entries), own.passes(entries)
            below = np.append(0, np.cumsum(shares[: own.levels]))
            edges = np.column_stack(
                (np.zeros_like(entries), cuts, np.full_like(entries, own.levels))
            )
            intervals = np.diff(below[edges], axis=1)
            if own.missing:
                intervals[~passes, 0] += shares[-1]
                intervals[passes, -1] += shares[-1]
            products = cut_products(score.law)
            moments = cut_moments(score.law)
            members = cuts - 1 + own.steps * passes[:, None]
            yield _Block(people, members, 1 / moments, np.tensordot(intervals, products, 1))

    def mean(self, attribute: int) -> float:
        """Return the standard error of a number's mean, in its unit."""
        number = UnitNumber(self._survey.schema.attributes[attribute])
        forms = self._weights(attribute, (number.value, number.there))[:, 1:]
        covariance = self.single(attribute).covariance(forms)
        if not np.isfinite(covariance).all():
            return inf
        top, there = (
            self._population.mean({attribute: each}) for each in (number.value, number.there)
        )
        slopes = np.array([1, -top / there]) / there
        return number.half * sqrt(max(0.0, float(slopes @ covariance @ slopes)))

    def _weights(self, attribute: int, functions: Sequence[Floats]) -> Floats:
        return self._survey.lists[attribute].expectation(np.stack(functions))

    def median(self, attribute: int) -> float:
        """Return the standard error of a number's median, in its unit."""
        own = self._survey.schema.attributes[attribute]
        there = self._population.shares[attribute][: own.levels]
        curve = np.cumsum(there) / there.sum()
        low, cut, high = (int(np.searchsorted(curve, q)) for q in (0.5 - _NEAR, 0.5, 0.5 + _NEAR))
        cut = min(max(cut, 1), own.levels - 1)
        rise = float(curve[high] - curve[max(low - 1, 0)]) / (high - low + 1)
        precision = self.single(attribute).cut_precision(cut) * float(there.sum()) ** 2
        if not precision:
            return inf
        error = min(_CHERNOFF * (4 * rise / precision) ** (1 / 3), precision**-0.5)
        numbers = own.numbers
        step = (numbers[high] - numbers[max(low - 1, 0)]) / (high - max(low - 1, 0) or 1)
        return float(error / rise * step)

    def correlation(self, first: int, second: int) -> float:
        """Return the standard error of the correlation of two numbers."""
        own = self._survey.schema.attributes
        x, y = (UnitNumber(own[a], by_step=True) for a in (first, second))
        forms = joint_moments(first, x, second, y)
        covariance = self._covariance((first, second), forms)
        slopes = _slopes(np.array([self._population.mean(form) for form in forms]))
        if not (np.isfinite(covariance).all() and np.isfinite(slopes).all()):
            return inf
        return sqrt(max(0.0, float(slopes @ covariance @ slopes)))

    def _covariance(self, pair: tuple[int, int], forms: Sequence[Mapping[int, Floats]]) -> Floats:
        """Return the covariance of means of products of functions of two numbers."""
        weights = []
        for attribute in pair:
            codes = self._survey.schema.attributes[attribute].codes
            functions = [form.get(attribute, np.ones(codes)) for form in forms]
            own = self._weights(attribute, functions)
            own[[attribute not in form for form in forms], 1:] = 0
            weights.append(own)
        one, other = weights
        total = self.single(pair[0]).covariance(one[:, 1:] * other[:, :1])
        total = total + self.single(pair[1]).covariance(other[:, 1:] * one[:, :1])
        return total + self._pair_covariance(pair, one[:, 1:], other[:, 1:], forms)

    def _pair_covariance(
        self,
        pair: tuple[int, int],
        one: Floats,
        other: Floats,
        forms: Sequence[Mapping[int, Floats]],
    ) -> Floats:
        """Return what answers about both numbers at once make of it; the two are all but independent."""
        people, precision = self._people * self._shares[1][min(pair), max(pair)]
        if not precision:
            needed = np.logical_and(one.any(axis=1), other.any(axis=1)).astype(np.float64)
            return np.where(np.outer(needed, needed) > 0, inf, 0.0)
        count = one.shape[1] * other.shape[1]
        moments = (one @ one.T) * (other @ other.T) * count / precision
        theta = [self.single(a).theta for a in pair]
        if people / count >= FEW_REPORTS:
            means = (one * theta[0]), (other * theta[1])
            centre = (means[0] @ means[0].T) * (means[1] @ means[1].T) * count
        else:
            mean = (one @ theta[0]) * (other @ theta[1])
            mean[4] = self._population.mean(forms[4])
            centre = np.outer(mean, mean)
        covariance: Floats = moments - centre / people
        return covariance


def _sums(numbers: Ints, shares: Floats, size: int) -> Floats:
    sums: Floats = np.bincount(numbers, shares, size).astype(np.float64)
    return sums


def _slopes(values: Floats) -> Floats:
    """Return how a correlation changes with the means of x, x², y, y², xy and of who has both.

    Without bounds where a number is the same for everybody, as it may be in a sample.
    """
    x, xx, y, yy, xy, _ = (values / values[5]).tolist()
    spread_x, spread_y, together = xx - x * x, yy - y * y, xy - x * y
    if min(spread_x, spread_y) <= 0:
        return np.full(6, inf)
    scale = sqrt(spread_x * spread_y)
    rho = together / scale
    by_xx, by_yy = -rho / (2 * spread_x), -rho / (2 * spread_y)
    slopes = [-y / scale - 2 * x * by_xx, by_xx, -x / scale - 2 * y * by_yy, by_yy, 1 / scale]
    own: Floats = np.array([*slopes, 0.0]) / values[5]
    own[5] = -float(own[:5] @ values[:5]) / values[5]
    return own
