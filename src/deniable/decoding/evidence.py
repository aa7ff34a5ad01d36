"""Evidence: what a tally tells about coefficients, with exact covariances.

A slot's reports give, for every coefficient α its question holds, scores with mean θ_α. With weights
g = 1/V (V the score's second moment; weights never look at the data), and G_α = Σ g over the reports
that hold α,

    θ̂_α = Σ g·score / G_α
    Cov(θ̂_α, θ̂_α') = Σ g² (κ·θ_{α⊕α'} − θ_α·θ_α') / (G_α·G_α')   over reports that hold both,

with V in place of κ·θ_{α⊕α'} where α = α', so that Σ g²V = G_α. κ and V come from the way of answering
alone (`deniable.questions.answers.Inclusion`). A coefficient that no report holds is estimated as 0
with infinite variance.

An attribute of many values has many coefficients, though, and a component is known well long before
each of its coefficients was asked often. So where a component has few reports per coefficient, all of
its coefficients are divided by their *mean* G: unbiased, because which of them a report holds is
chance, and free of the loss that small numbers of reports bring (E[1/N] > 1/E[N]), at the price of
−θ_α·θ_α', which is small there, and dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.questions.lists import Signs, walsh
from deniable.survey.coefficients import (
    Ints,
    Numbering,
    all_tables,
    along_axes,
    hadamard,
    same_sizes,
)

__all__ = [
    "CoefficientEvidence",
    "Evidence",
    "Overview",
    "Readings",
    "SlotEvidence",
    "Spread",
    "SymmetricEvidence",
    "Tables",
    "analysed",
    "refuse_covariance",
    "synthesised",
]

Floats = NDArray[np.float64]

FEW_REPORTS = 32
"""With fewer reports per coefficient, those of a component are divided by their mean number."""

MOST_COVARIED = 1 << 12
"""The largest table with a covariance: 16 million numbers."""

MOST_PRODUCTS = 1 << 27
"""The most products of a table's cells and coefficients on the way to its covariance."""

_BEYOND = 7.0
_TABLES_TOGETHER = 256


@dataclass(frozen=True)
class Tables:
    """Estimated cells of several tables: the first attribute, in ascending order, is fastest."""

    values: Floats
    known: NDArray[np.bool_]
    notes: dict[str, NDArray[Any]]


def synthesised(theta: Floats, signs: Sequence[Signs]) -> Floats:
    """Return the cells of tables of these coefficients (without θ_∅), by attributes' lists."""
    full = np.column_stack((np.ones(len(theta)), theta))
    if all(each.size == 2 for each in signs):
        made: Floats = hadamard(full) / full.shape[1]
        return made
    return along_axes(full, [each.synthesis for each in signs])


def analysed(cells: Floats, signs: Sequence[Signs]) -> Floats:
    """Return the coefficients (without θ_∅) of tables of these cells."""
    if all(each.size == 2 for each in signs):
        return hadamard(cells)[:, 1:]
    return along_axes(cells, [each.analysis for each in signs])[:, 1:]


def refuse_covariance(cells: int, coefficients: int = 0) -> None:
    """Refuse a covariance of too many cells; their variances can be had all the same."""
    if cells > MOST_COVARIED or cells * coefficients > MOST_PRODUCTS:
        raise TableError(
            f"A table of {cells:,} cells has a covariance of {cells**2:,} numbers, which is too "
            f"large: up to {MOST_COVARIED:,} cells have one, or fewer. Standard errors are there for "
            "all."
        )


class Overview(NamedTuple):
    """All coefficients at once, by number: θ̂, its variance where θ is near 0, and its reports.

    At another θ the variance is ``variance − gain·θ²``. A coefficient that was never asked counts as
    0, with infinite variance and no reports.
    """

    theta: Floats
    variance: Floats
    people: Floats
    gain: Floats


class Spread(Protocol):
    """What a prediction needs. Tables asked for together have the same sizes, place by place."""

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table, at these cells or at what is known."""
        ...

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells.

        Where something needed was never asked, every cell's variance is infinite, and covariances
        between cells are not a number.
        """
        ...


class Evidence(Spread, Protocol):
    """What a release needs to make tables."""

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        ...

    @property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports."""
        ...


class CoefficientSpread(ABC):
    """What follows for cells from the covariance of coefficients."""

    @abstractmethod
    def signs_of(self, tables: Ints) -> tuple[Signs, ...]:
        """Return the lists of questions about the attributes of these tables."""

    @abstractmethod
    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the covariance matrices of all coefficients but θ_∅ of each table.

        They are at a given θ, or at what is known of it.
        """

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells."""
        signs = self.signs_of(tables)
        cells = prod(each.size for each in signs)
        refuse_covariance(cells)
        theta = None if truth is None else analysed(truth, signs)
        spread = self.covariance(tables, theta)
        unknown = np.isinf(np.einsum("rii->ri", spread)).any(axis=1)
        coefficients = np.eye(prod(len(each.odd) for each in signs))[1:]
        transform = along_axes(coefficients, [each.synthesis for each in signs]).T
        known = np.where(unknown[:, None, None], 0.0, spread)
        covariance: Floats = transform @ known @ transform.T
        covariance[unknown] = np.nan
        np.einsum("rii->ri", covariance)[unknown] = np.inf
        return covariance

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table."""
        variances: Floats = np.einsum("rii->ri", self.cell_covariances(tables, truth))
        return variances


class CoefficientEvidence(CoefficientSpread):
    """Evidence that consists of estimated coefficients."""

    def __init__(self, numbering: Numbering, signs: Sequence[Signs] = ()) -> None:
        self.numbering = numbering
        self.signs = tuple(signs) or (walsh(2),) * numbering.attributes

    def signs_of(self, tables: Ints) -> tuple[Signs, ...]:
        """Return the lists of questions about the attributes of these tables."""
        return tuple(self.signs[attribute] for attribute in tables[0].tolist())

    @property
    @abstractmethod
    def overview(self) -> Overview:
        """Return what is known of every coefficient."""

    @abstractmethod
    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""

    def tables(self, tables: Ints) -> Tables:
        """Return the estimated cells of each table."""
        theta, people = self.coefficients(tables)
        known = np.all(people > 0, axis=1)
        return Tables(synthesised(theta, self.signs_of(tables)), known, {})

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports: no coefficient lies far beyond ±1.

        Chance alone puts one seven standard errors beyond it less than once in 10¹¹ times; liars and
        damaged tallies easily do.
        """
        found = self.overview
        least = 1 if self.numbering.is_plain else FEW_REPORTS  # of fewer, nobody can tell
        asked = found.people >= least
        beyond = np.abs(found.theta[asked]) - 1
        return not bool((beyond > _BEYOND * np.sqrt(found.variance[asked])).any())


@dataclass(frozen=True, eq=False)
class Readings:
    """Slots that answer in one way: who reported, and what was learnt about which coefficients.

    ``members[i, j]`` numbers the coefficient that score j of slot i speaks about, ``touched[j]`` says
    which of the slot's attributes it touches; ``scores[i, j]`` is the sum of the scores of its
    ``people[i]`` reports.
    """

    members: Ints
    touched: Ints
    people: Floats
    scores: Floats
    second_moment: float
    cross: float
    largest: float
    """The largest score of a report."""


class SlotEvidence(CoefficientEvidence):
    """Evidence pooled over slots, by whatever numbering."""

    def __init__(
        self, numbering: Numbering, readings: Sequence[Readings], signs: Sequence[Signs] = ()
    ) -> None:
        super().__init__(numbering, signs)
        self._readings = readings
        size = numbering.size
        whole = (1, size) if numbering.is_plain else None
        self._whole = [r for r in readings if r.members.shape == whole]
        weight, people, total, squared = np.zeros((4, size))
        for r in readings:
            members = r.members.ravel()
            held = np.bincount(members, np.repeat(r.people, r.members.shape[1]), size)
            people += held
            weight += held / r.second_moment
            squared += held / r.second_moment**2
            total += np.bincount(members, r.scores.ravel(), size) / r.second_moment
        self._thin = np.zeros(size, np.bool_)
        components = numbering.components
        if components is not None:
            counts = np.bincount(components)
            means = [np.bincount(components, each) / counts for each in (people, weight)]
            thin = ((counts > 1) & (means[0] < FEW_REPORTS))[components]
            people, weight = (
                np.where(thin, mean[components], each)
                for mean, each in zip(means, (people, weight), strict=True)
            )
            self._thin, squared = thin, np.where(thin, 0, squared)
        self._weight, self._people = weight, people
        asked = weight > 0
        self._theta = np.divide(total, weight, out=np.zeros(size), where=asked)
        variance = np.divide(1, weight, out=np.full(size, np.inf), where=asked)
        gain = np.divide(squared, weight**2, out=np.zeros(size), where=asked)
        self._overview = Overview(self._theta, variance, people, gain)

    @property
    def overview(self) -> Overview:
        """Return what is known of every coefficient."""
        return self._overview

    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""
        numbers = self.numbering.of_tables(tables)
        return self._theta[numbers], self._people[numbers]

    @cached_property
    def plausible(self) -> bool:
        """Tell whether people can have given these reports.

        No coefficient may lie far beyond ±1. Where components have many coefficients, that says
        little, so no cell of a table may lie far beyond 0 to 1 either. Its variance is at most
        what its coefficients' own variances add up to, times the most that a report holds; and there
        is room for what single reports do to a rare cell (Bernstein).
        """
        if not super().plausible or self.numbering.is_plain:
            return super().plausible
        tables = all_tables(self.numbering.attributes, self.numbering.order)
        most = max((r.members.shape[1] for r in self._readings), default=1)
        largest = max((r.largest / r.second_moment for r in self._readings), default=0.0)
        sizes = [each.size for each in self.signs]
        for alike in same_sizes(sizes, tables):
            for start in range(0, len(alike), _TABLES_TOGETHER):
                part = tables[alike[start : start + _TABLES_TOGETHER]]
                signs, numbers = self.signs_of(part), self.numbering.of_tables(part)
                known = (self._weight[numbers] > 0).all(axis=1)
                own = np.column_stack((np.zeros(len(part)), self._overview.variance[numbers]))
                own = own[known]
                spread = along_axes(own, [each.synthesis**2 for each in signs]) * most
                tops = [np.abs(each.synthesis).max(axis=0)[:, None] for each in signs]
                reach = along_axes(np.ones((1, 1)), tops)[0]  # of each coefficient, at any cell
                jump = (own * reach).max(axis=1, initial=0) * largest * most
                room = _BEYOND * np.sqrt(spread) + _BEYOND**2 / 6 * jump[:, None]
                cells = self.tables(part[known]).values if known.any() else spread
                if ((cells < -room) | (cells > 1 + room)).any():
                    return False
        return True

    @cached_property
    def _everywhere(self) -> tuple[float, float]:
        """Return Σg²κ and Σg² over the reports that hold all coefficients."""
        squared = [(r.people[0] / r.second_moment**2, r.cross) for r in self._whole]
        return sum(g * cross for g, cross in squared), sum(g for g, _ in squared)

    @cached_property
    def _products(self) -> tuple[Any, Any]:
        """Return Σg²κ and Σg² over other reports that hold two coefficients.

        Only pairs of coefficients that a table may hold together are looked at.
        """
        from scipy import sparse

        size, order = self.numbering.size, self.numbering.order
        cross, share = sparse.csr_array((size, size)), sparse.csr_array((size, size))
        for r in self._readings:
            if r in self._whole:  # their products are all the same, and too many to be listed
                continue
            width = r.members.shape[1]
            squared = r.people / r.second_moment**2
            together = np.bitwise_count(r.touched[:, None] | r.touched) <= order
            both: Any
            if together.all():
                starts = np.arange(0, r.members.size + 1, width)
                holds: Any = sparse.csr_array(
                    (np.ones(r.members.size), r.members.ravel(), starts), (len(squared), size)
                )
                both = (holds.T @ (holds * squared[:, None])).tocsr()
            else:
                left, right = np.nonzero(together)
                at = (r.members[:, left].ravel(), r.members[:, right].ravel())
                both = sparse.coo_array((np.repeat(squared, len(left)), at), (size, size)).tocsr()
            cross, share = cross + r.cross * both, share + both
        return cross, share

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at θ̂ or at a given θ."""
        numbers = self.numbering.of_tables(tables)
        if theta is None:
            theta = self._likely(tables)
        if not self.numbering.is_plain:
            pairs = zip(numbers, theta, strict=True)
            return np.stack([self._one_covariance(*each).toarray() for each in pairs])
        count, width = numbers.shape
        left = np.broadcast_to(numbers[:, :, None], (count, width, width))
        right = np.broadcast_to(numbers[:, None, :], (count, width, width))
        cross, share = self._products
        weight = self._weight[numbers]
        all_cross, all_share = self._everywhere
        at = (left.ravel(), right.ravel())
        moments = covariance_of_moments(
            theta,
            np.asarray(cross[at]).reshape(left.shape) + all_cross,
            np.asarray(share[at]).reshape(left.shape) + all_share,
            weight,
        )
        return _divided(moments, weight)

    def _likely(self, tables: Ints) -> Floats:
        """Return coefficients that people may have: estimates within ±1, or of possible tables.

        Where a component has few reports per coefficient, single coefficients are far too noisy.
        """
        if self.numbering.is_plain:
            theta: Floats = self._theta[self.numbering.of_tables(tables)].clip(-1, 1)
            return theta
        cells = self.tables(tables).values.clip(0, None)
        return analysed(cells / cells.sum(axis=1, keepdims=True), self.signs_of(tables))

    def _pairs(self, numbers: Ints, theta: Floats) -> tuple[Ints, Ints, Floats]:
        """Return the pairs of a table's coefficients with a covariance (α before α'), and that."""
        cross, share = self._products
        place = self._places
        place[numbers] = np.arange(len(numbers))
        full, weight, thin = np.append(1, theta), self._weight[numbers], self._thin[numbers]
        found = []
        for matrix, is_share in ((cross, False), (share, True)):
            left, right, values = _rows_of(matrix, numbers, place)
            if is_share:
                kept = ~(thin[left] | thin[right])
                left, right, values = left[kept], right[kept], -values[kept]
                values *= theta[left] * theta[right]
            else:
                values *= full[(left + 1) ^ (right + 1)]
            found.append((left, right, values / (weight[left] * weight[right])))
        place[numbers] = -1
        lefts, rights, each = (np.concatenate(column) for column in zip(*found, strict=True))
        return lefts, rights, each

    @cached_property
    def _places(self) -> Ints:
        """Return where each coefficient stands in a table that is looked at; −1 outside."""
        return np.full(self.numbering.size, -1)

    def _variances(self, numbers: Ints, theta: Floats) -> Floats:
        """Return the variances of a table's coefficients; infinite where nobody was asked."""
        found = self._overview
        variances: Floats = found.variance[numbers] - found.gain[numbers] * theta**2
        return variances

    def _one_covariance(self, numbers: Ints, theta: Floats) -> Any:
        """Return the covariance matrix of one table's coefficients, a sparse one."""
        from scipy import sparse

        left, right, values = self._pairs(numbers, theta)
        own = np.arange(len(numbers))
        at = np.concatenate((left, right, own)), np.concatenate((right, left, own))
        every = np.concatenate((values, values, self._variances(numbers, theta)))
        return sparse.coo_array((every, at), (len(own), len(own))).tocsr()

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells."""
        if self.numbering.is_plain:
            return super().cell_covariances(tables, truth)
        signs = self.signs_of(tables)
        lists = [each.synthesis for each in signs]
        numbers = self.numbering.of_tables(tables)
        cells = prod(each.size for each in signs)
        refuse_covariance(cells, numbers.shape[1])
        theta = self._likely(tables) if truth is None else analysed(truth, signs)
        transform: Floats = np.ones((1, 1))
        for matrix in lists:
            transform = np.kron(matrix, transform).astype(np.float64, copy=False)
        out = np.full((len(tables), cells, cells), np.nan)
        for row, (members, own) in enumerate(zip(numbers, theta, strict=True)):
            if np.isinf(self._variances(members, own)).any():
                np.fill_diagonal(out[row], np.inf)
                continue
            half = (self._one_covariance(members, own) @ transform[:, 1:].T).T
            out[row] = along_axes(np.column_stack((np.zeros(cells), half)), lists)
        return out

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table, without their covariances.

        Coefficients' own variances go through squared synthesis. Two coefficients' products are, at
        every cell and attribute by attribute, four coefficients, so all of them are added up as
        coefficients and turned into cells once.
        """
        if self.numbering.is_plain:
            return super().cell_variances(tables, truth)
        signs = self.signs_of(tables)
        numbers = self.numbering.of_tables(tables)
        theta = self._likely(tables) if truth is None else analysed(truth, signs)
        squares = [each.synthesis**2 for each in signs]
        out = np.full((len(tables), prod(each.size for each in signs)), np.inf)
        for row, (members, own) in enumerate(zip(numbers, theta, strict=True)):
            alone = self._variances(members, own)
            if np.isfinite(alone).all():
                out[row] = along_axes(np.append(0.0, alone)[None, :], squares)[0]
                out[row] += 2 * _products_at_cells(*self._pairs(members, own), signs)
        return out.clip(0, None)


def _rows_of(matrix: Any, numbers: Ints, place: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the entries of a sparse matrix in some rows and columns, above the diagonal."""
    starts, stops = matrix.indptr[numbers], matrix.indptr[numbers + 1]
    lengths = stops - starts
    left = np.repeat(np.arange(len(numbers)), lengths)
    at = np.arange(len(left)) - np.repeat(np.cumsum(lengths) - lengths - starts, lengths)
    right = place[matrix.indices[at]]
    kept = right > left
    return left[kept], right[kept], matrix.data[at[kept]]


def _products_at_cells(left: Ints, right: Ints, values: Floats, signs: Sequence[Signs]) -> Floats:
    """Return Σ value·w_α·w_α' at every cell, where w_α is what θ_α contributes to a cell.

    With m_i the mean of a question's signs, w_i·w_j is (χ_{i⊕j} − m_j·χ_i − m_i·χ_j + m_i·m_j) times
    the scales of both.
    """
    left, right = left + 1, right + 1
    masks, stride = np.zeros_like(left), 1
    for each in signs:
        base = len(each.odd)
        left, i = np.divmod(left, base)
        right, j = np.divmod(right, base)
        scale = np.full(base, 1 / float(each.norm))
        scale[0] = 1 / each.size
        mean = each.analysis.mean(axis=1).round(12)
        mean[0] = 0
        values = values * scale[i] * scale[j]
        terms = [(i ^ j, 1.0)]
        if mean.any():
            terms += [(i, -mean[j]), (j, -mean[i]), (np.zeros_like(i), mean[i] * mean[j])]
        masks = np.concatenate([masks + part * stride for part, _ in terms])
        values = np.concatenate([values * factor for _, factor in terms])
        left, right = (np.tile(digits, len(terms)) for digits in (left, right))
        stride *= base
    summed = np.bincount(masks, values, stride)
    cells: Floats = along_axes(summed[None, :], [each.analysis.T for each in signs])[0]
    return cells


def _divided(moments: Floats, weight: Floats) -> Floats:
    """Return moments over products of weights; infinite variance where nobody was asked."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moments /= weight[:, :, None] * weight[:, None, :]
    unknown = weight == 0
    moments[unknown[:, :, None] | unknown[:, None, :]] = 0
    np.einsum("rii->ri", moments)[unknown] = np.inf
    return moments


class SymmetricEvidence(CoefficientSpread):
    """The evidence to expect where all attributes are asked about alike: known by size alone.

    How many reports hold α and α' together depends on |α|, |α'| and |α ∪ α'| only. The arrays are
    indexed by these, or by |α|: Σg²κ and Σg² over the reports that hold both, Σg over those that
    hold one. There are no estimates.
    """

    def __init__(self, cross: Floats, share: Floats, weight: Floats) -> None:
        self._cross, self._share, self._weight = cross, share, weight

    def signs_of(self, tables: Ints) -> tuple[Signs, ...]:
        """Return the lists of one question about each attribute."""
        return (walsh(2),) * int(tables.shape[1])

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at 0 or at a given θ."""
        masks = np.arange(1, 1 << tables.shape[1])
        size = np.bitwise_count(masks)
        at = (size[:, None], size[None, :], np.bitwise_count(masks[:, None] | masks))
        weight = self._weight[size]
        if theta is None:
            theta = np.zeros((len(tables), len(masks)))
        alone = np.broadcast_to(weight, theta.shape)
        moments = covariance_of_moments(theta, self._cross[at], self._share[at], alone)
        return _divided(moments, alone)


def covariance_of_moments(theta: Floats, cross: Floats, share: Floats, alone: Floats) -> Floats:
    """Return cross·θ_{α⊕α'} − share·θ_α·θ_α', with ``alone`` for the first term where α = α'."""
    width = theta.shape[1]
    masks = np.arange(1, width + 1)
    full = np.column_stack((np.ones(len(theta)), theta))
    out = cross * full[:, masks[:, None] ^ masks]
    diagonal = np.einsum("rii->ri", out)
    diagonal[:] = alone
    out -= share * theta[:, :, None] * theta[:, None, :]
    return out
