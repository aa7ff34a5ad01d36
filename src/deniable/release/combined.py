"""Strata combined: one population from groups that were asked unequally.

Where people of some groups answer more often than others, all reports together speak for those who
answer most. With the groups' known shares w_h of the population, Σ w_h·x_h is unbiased for the whole,
whatever its groups are like, and because groups are of different people its covariance is Σ w_h²·C_h.
The weights must come from elsewhere (a census, a register): shares among the reports would give the
unweighted answer back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import fsum, inf
from numbers import Real
from typing import Any, Self

import numpy as np

from deniable.decoding.cells import CellEvidence
from deniable.decoding.evidence import CoefficientEvidence, Evidence, Overview, Tables
from deniable.decoding.forms import Form, FormEvidence
from deniable.errors import TableError
from deniable.numeric.shares import proportions
from deniable.questions.lists import QuestionList
from deniable.release.consistency import Request, method_named
from deniable.release.halves import generator
from deniable.release.numbers.fit import NumberFit, StrataFit
from deniable.release.release import ReleasedTables
from deniable.survey.coefficients import Floats, Ints


class CombinedTables(ReleasedTables):
    """A release of a population, from releases of its strata and the share that each has in it.

    It starts from the strata's unbiased estimates, whatever was done to their own tables.
    """

    def __init__(
        self,
        releases: Mapping[str, ReleasedTables],
        weights: Mapping[str, float],
        consistency: str = "none",
    ) -> None:
        self._weights, self._releases = _check_weights(releases, weights), dict(releases)
        every = list(releases.values())
        self.survey, self.estimator = every[0].survey, every[0].estimator
        self.people = sum(release.people for release in every)
        self.simulated = any(release.simulated for release in every)
        self.group = {
            label: value
            for label, value in every[0].group.items()
            if all(release.group.get(label) == value for release in every)
        }
        self.tallies = tuple(tally for release in every for tally in release.tallies)
        self.evidence = combine([release.evidence for release in every], self._shares)
        self.wording = every[0].wording
        self.consistency = consistency
        self._processing = method_named(consistency).process(
            Request(self.survey, self.evidence, self.estimator, self.generator)
        )

    @property
    def _shares(self) -> list[float]:
        return list(self._weights.values())

    @property
    def strata(self) -> Mapping[str, float]:
        """Return the strata's weights, which sum to 1."""
        return dict(self._weights)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return random numbers that the survey, the strata, their weights and their purpose fix."""
        parts = [generator(tally, purpose).bytes(16) for tally in self.tallies]
        weights = ",".join(weight.hex() for weight in self._shares)
        digest = hashlib.sha256(b"".join(parts) + weights.encode()).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "big")))

    def with_consistency(self, consistency: str) -> Self:
        """Return the same strata's release with other post-processing, or this one."""
        if consistency == self.consistency:
            return self
        other = type(self)(self._releases, self._weights, consistency)
        other.population, other.wording = self.population, self.wording
        return other

    def sampling(self, tables: Ints) -> Floats:
        """Return the part of each cell's variance that comes from who was asked in each stratum."""
        parts = [release.sampling(tables) for release in self._releases.values()]
        return _weighted_sum(parts, [share**2 for share in self._shares])

    @cached_property
    def number_fits(self) -> Mapping[int, NumberFit]:
        """Return the distribution of every number, the weighted mean of those of the strata."""
        every = [each.number_fits for each in self._releases.values()]
        return {
            attribute: StrataFit(
                fit.thresholds, (), tuple(each[attribute] for each in every), shares
            )
            for shares in [tuple(self._shares)]
            for attribute, fit in every[0].items()
        }

    @property
    def exact_evidence(self) -> Evidence:
        """Return what the strata tell by the decoder's first unbiased estimator."""
        return combine([each.exact_evidence for each in self._releases.values()], self._shares)


def _check_weights(
    releases: Mapping[str, ReleasedTables], weights: Mapping[str, float]
) -> dict[str, float]:
    """Return weights that sum to 1, in the order of the strata, or say what does not fit."""
    if not isinstance(releases, Mapping) or not isinstance(weights, Mapping):
        raise TableError("Strata and their weights are two mappings with the same names.")
    if not releases:
        raise TableError("There is nothing to combine without a stratum.")
    for name in releases:
        if name not in weights:
            raise TableError(f"The stratum {name!r} needs a weight: its share of the population.")
    for name in weights:
        if name not in releases:
            raise TableError(f"The weight of {name!r} is of no stratum that is released here.")
    for name, weight in weights.items():
        if not _is_weight(weight):
            raise TableError(f"A weight must be a positive number; that of {name!r} is not.")
    first, *others = releases.values()
    for release in releases.values():
        release.needs_covariance("A combination of strata")
    for release in others:
        if release.survey.id != first.survey.id:
            raise TableError(
                "Strata are groups of one survey; these are releases of different ones "
                f"({first.survey.id[:8]} and {release.survey.id[:8]})."
            )
        if release.estimator != first.estimator:
            raise TableError("Strata must be estimated alike to be combined.")
    for one, other in combinations(releases, 2):
        if releases[one].shares_people(releases[other]):
            raise TableError(
                f"The strata {one!r} and {other!r} hold the same people, who would count twice."
            )
    largest = max(float(weight) for weight in weights.values())
    shares = {name: float(weights[name]) / largest for name in releases}
    total = fsum(shares.values())
    return {name: share / total for name, share in shares.items()}


def _is_weight(weight: Any) -> bool:
    try:
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        return is_number and 0 < float(weight) < inf
    except OverflowError:  # an integer that is too large
        return False


def combine(parts: Sequence[Evidence], weights: Sequence[float]) -> Evidence:
    """Return the evidence of a weighted mean of independent strata of one survey."""
    if all(isinstance(part, CoefficientEvidence) for part in parts):
        return _CoefficientStrata([p for p in parts if isinstance(p, CoefficientEvidence)], weights)
    if all(isinstance(part, CellEvidence) for part in parts):
        return _CellStrata([p for p in parts if isinstance(p, CellEvidence)], weights)
    return _Strata(parts, weights)


def _weighted_sum(parts: Sequence[Floats], weights: Iterable[float]) -> Floats:
    total: Floats = np.sum([w * part for w, part in zip(weights, parts, strict=True)], axis=0)
    return total


class _Strata:
    """The evidence of a weighted mean of tables."""

    def __init__(self, parts: Sequence[Evidence], weights: Sequence[float]) -> None:
        self.parts, self.weights = tuple(parts), tuple(weights)
        self._squares = tuple(weight**2 for weight in weights)

    def tables(self, tables: Ints) -> Tables:
        """Return the weighted mean of each table; it is known where all strata know it."""
        estimates = [part.tables(tables) for part in self.parts]
        is_known = np.logical_and.reduce([each.known for each in estimates])
        return Tables(
            _weighted_sum([each.values for each in estimates], self.weights), is_known, {}
        )

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell."""
        strata = zip(self.parts, self._truths(tables, truth), strict=True)
        return _weighted_sum(
            [part.cell_variances(tables, own) for part, own in strata], self._squares
        )

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells."""
        strata = zip(self.parts, self._truths(tables, truth), strict=True)
        covariances = [part.cell_covariances(tables, own) for part, own in strata]
        return _weighted_sum(covariances, self._squares)

    def _truths(self, tables: Ints, truth: Floats | None) -> list[Floats | None]:
        """Return where each stratum's covariance is taken: as far from the mean as it is estimated."""
        if truth is None:
            return [None] * len(self.parts)
        mean = self.tables(tables).values
        return [proportions(part.tables(tables).values + truth - mean) for part in self.parts]

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given the reports of every stratum."""
        return all(part.plausible for part in self.parts)


class _FormStrata(_Strata, FormEvidence):
    """The same where forms of all strata can be taken."""

    _strata: tuple[CoefficientEvidence, ...] | tuple[CellEvidence, ...]

    @cached_property
    def overview(self) -> Overview:
        """Return what is known of every coefficient, with the fewest reports of any stratum.

        Its variance at another θ is that of strata which are all alike.
        """
        views = [part.overview for part in self._strata]
        w = np.array(self.weights)[:, None]
        theta, variance, gain = (np.stack([view[field] for view in views]) for field in (0, 1, 3))
        people = np.stack([view.people for view in views]).min(axis=0)
        theta = np.where(people > 0, (w * theta).sum(axis=0), 0.0)
        return Overview(theta, (w**2 * variance).sum(axis=0), people, (w**2 * gain).sum(axis=0))

    def form_covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of linear forms."""
        covariances = [part.form_covariance(forms) for part in self._strata]
        return _weighted_sum(covariances, self._squares)


class _CellStrata(_FormStrata):
    """The same where all strata tell about cells."""

    def __init__(self, parts: Sequence[CellEvidence], weights: Sequence[float]) -> None:
        super().__init__(parts, weights)
        self._strata, self.numbering = tuple(parts), parts[0].numbering

    def weights_of(self, attribute: int, functions: Floats) -> Floats:
        """Return the weights of 1 and of an attribute's cells in means of functions (rows)."""
        return self._strata[0].weights_of(attribute, functions)


class _CoefficientStrata(_FormStrata, CoefficientEvidence):
    """The same where all strata tell about coefficients."""

    _strata: tuple[CoefficientEvidence, ...]

    def __init__(self, parts: Sequence[CoefficientEvidence], weights: Sequence[float]) -> None:
        _Strata.__init__(self, parts, weights)
        CoefficientEvidence.__init__(self, parts[0].numbering, parts[0].lists)
        self._strata = tuple(parts)

    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the fewest reports behind each."""
        theta, people = zip(*(part.coefficients(tables) for part in self._strata), strict=True)
        return _weighted_sum(theta, self.weights), np.min(people, axis=0)

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at θ̂ or at a θ that all strata share."""
        covariances = [part.covariance(tables, theta) for part in self._strata]
        return _weighted_sum(covariances, self._squares)

    def with_lists(self, lists: Sequence[QuestionList]) -> Self:
        """Return the same coefficients, of which other lists make tables."""
        return type(self)([part.with_lists(lists) for part in self._strata], self.weights)

    def noise(self, random: np.random.Generator, draws: int) -> Floats:
        """Return draws of the noise of all coefficients, in standard errors: a row for each draw."""
        strata = zip(self._strata, self._squares, strict=True)
        total, squares = np.zeros((draws, self.numbering.size)), np.zeros(self.numbering.size)
        for part, square in strata:
            variance = square * np.where(part.overview.people > 0, part.overview.variance, 0)
            total, squares = (
                total + np.sqrt(variance) * part.noise(random, draws),
                squares + variance,
            )
        noise: Floats = np.divide(total, np.sqrt(squares), out=total, where=squares > 0)
        return noise
