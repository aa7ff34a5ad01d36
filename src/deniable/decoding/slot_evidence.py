"""Slot evidence: coefficients pooled over slots, with exact covariances.

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
−θ_α·θ_α', which is small there, and dropped. Where a list asks for some coefficients more often than for
others, none are divided so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from deniable.decoding.evidence import (
    BEYOND,
    FEW_AT_CUTS,
    FEW_REPORTS,
    CoefficientEvidence,
    Overview,
    cells_of,
    coefficients_of,
    covariance_of_moments,
    divided_moments,
    refuse_covariance,
)
from deniable.decoding.forms import Form, weight_matrix
from deniable.decoding.likely import likely_cells
from deniable.decoding.products import mean_products, products_at_cells
from deniable.decoding.reports import DOUBT, DOUBT_OF_TESTS, CountedReports, SlotReports, blended
from deniable.numeric.axes import along_axes, kronecker, product_of_rows
from deniable.numeric.covariances import mark_unknown, unknown_covariance, variances_of
from deniable.numeric.shares import ratio
from deniable.questions.lists import QuestionList
from deniable.survey.coefficients import Floats, Ints, Numbering, all_tables, same_sizes

_TABLES_TOGETHER = 256


@dataclass(frozen=True, eq=False)
class Scores:
    """What the reports to slots of one template say about their coefficients.

    ``members[i, j]`` numbers the coefficient that score j of slot i speaks about, ``member_sets[j]``
    says which of the slot's attributes it touches; ``sums[i, j]`` is the sum of the scores of its
    ``people[i]`` reports.
    """

    members: Ints
    member_sets: Ints
    people: Floats
    sums: Floats
    second_moment: float | Floats
    """V; of three cuts, that of each. All three have the same weight g, or none would count evenly."""
    cross: float
    largest: float
    """The largest score of a report."""
    reports: SlotReports | CountedReports | None = None
    """The single reports, or what is counted of them, where these are not only expected."""

    @property
    def weight(self) -> float:
        """Return g."""
        return 1 / float(np.mean(self.second_moment))


class SlotEvidence(CoefficientEvidence):
    """Evidence pooled over slots, by whatever numbering."""

    def __init__(
        self, numbering: Numbering, scores: Sequence[Scores], lists: Sequence[QuestionList] = ()
    ) -> None:
        super().__init__(numbering, lists)
        self._scores = scores
        size = numbering.size
        whole = (1, size) if numbering.is_plain else None
        self._whole = [r for r in scores if r.members.shape == whole]
        weight, people, total, squared, noise = np.zeros((5, size))
        for r in scores:
            members, each = r.members.ravel(), np.repeat(r.people, r.members.shape[1])
            people += np.bincount(members, each, size)
            moments = np.broadcast_to(r.second_moment, r.members.shape).ravel()
            weight += np.bincount(members, each * r.weight, size)
            squared += np.bincount(members, each * r.weight**2, size)
            noise += np.bincount(members, each * (r.weight * r.weight * moments), size)
            total += np.bincount(members, r.sums.ravel() * r.weight, size)
        self._thin = np.zeros(size, np.bool_)
        components = numbering.components
        if components is not None and all(each.is_even for each in self.lists):
            counts = np.bincount(components)
            sums = (people, weight, noise)
            means = [np.bincount(components, each) / counts for each in sums]
            few = FEW_AT_CUTS if any(each.is_order for each in self.lists) else FEW_REPORTS
            thin = ((counts > 1) & (means[0] < few))[components]
            people, weight, noise = (
                np.where(thin, mean[components], each)
                for mean, each in zip(means, sums, strict=True)
            )
            self._thin, squared = thin, np.where(thin, 0, squared)
        self._weight, self._people = weight, people
        self._likely_margins: dict[tuple[int, QuestionList], Floats] = {}
        is_asked = weight > 0
        self._theta = ratio(total, weight)
        variance = np.divide(noise, weight**2, out=np.full(size, np.inf), where=is_asked)
        gain = ratio(squared, weight**2)
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
        most = max((r.members.shape[1] for r in self._scores), default=1)
        largest = max((r.largest * r.weight for r in self._scores), default=0.0)
        is_cut = np.array([each.is_order for each in self.lists])
        tables = tables[~is_cut[tables].any(axis=1)]  # single cuts are looked at above
        for rows in same_sizes(self.kinds, tables):
            for start in range(0, len(rows), _TABLES_TOGETHER):
                part = tables[rows[start : start + _TABLES_TOGETHER]]
                lists, numbers = self.lists_of(part), self.numbering.of_tables(part)
                is_known = (self._weight[numbers] > 0).all(axis=1)
                own = np.column_stack((np.zeros(len(part)), self._overview.variance[numbers]))
                own = own[is_known]
                variance = self._most_variances(part)[is_known]
                tops = [np.abs(each.synthesis).max(axis=0)[:, None] for each in lists]
                reach = along_axes(np.ones((1, 1)), tops)[0]  # of each coefficient, at any cell
                jump = (own * reach).max(axis=1, initial=0) * largest * most
                room = BEYOND * np.sqrt(variance) + BEYOND**2 / 6 * jump[:, None]
                cells = self.tables(part[is_known]).values if is_known.any() else variance
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
        for r in self._scores:
            if r in self._whole:  # their products are all the same, and too many to be listed
                continue
            if not isinstance(r.second_moment, float):  # cuts: see form_covariance
                continue
            width = r.members.shape[1]
            squared = r.people / r.second_moment**2
            together = np.bitwise_count(r.member_sets[:, None] | r.member_sets) <= order
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
        if not self.numbering.is_plain:
            lists = self.lists_of(tables)
            likely = self._likely_cells(tables) if theta is None else cells_of(theta, lists)
            return np.stack(
                [
                    self._one_covariance(members, cells, lists).toarray()
                    for members, cells in zip(numbers, likely, strict=True)
                ]
            )
        if theta is None:
            theta = self._theta[numbers].clip(-1, 1)
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
        return divided_moments(moments, weight)

    def _likely_cells(self, tables: Ints) -> Floats:
        """Return tables that people may have: margins multiplied, but for cells beyond their noise."""
        cells = self.tables(tables).values
        if tables.shape[1] == 1:
            even = np.full(cells.shape, 1 / cells.shape[1])
            return likely_cells(cells, np.sqrt(self.cell_variances(tables, even)), even)
        margins = [np.stack([self._likely(a) for a in column]) for column in tables.T.tolist()]
        deviation = np.sqrt(self._most_variances(tables))
        return likely_cells(cells, deviation, product_of_rows(margins))

    def _likely(self, attribute: int) -> Floats:
        """Return the margin that an attribute may have, by its question list."""
        key = attribute, self.lists[attribute]
        if key not in self._likely_margins:
            self._likely_margins[key] = self._likely_cells(np.array([[attribute]]))[0]
        return self._likely_margins[key]

    def _most_variances(self, tables: Ints) -> Floats:
        """Return what variances of cells are at most; infinite where not all was asked.

        It is what their coefficients' own variances add up to, times the most that a report holds.
        """
        most = max((r.members.shape[1] for r in self._scores), default=1)
        own = self._overview.variance[self.numbering.of_tables(tables)]
        is_known = np.isfinite(own).all(axis=1, keepdims=True)
        own = np.column_stack((np.zeros(len(own)), np.where(is_known, own, 0)))
        squares = along_axes(own, [each.synthesis**2 for each in self.lists_of(tables)])
        variances: Floats = np.where(is_known, squares * most, np.inf)
        return variances

    def _pairs(
        self, numbers: Ints, cells: Floats, theta: Floats, lists: Sequence[QuestionList]
    ) -> tuple[Ints, Ints, Floats]:
        """Return the pairs of a table's coefficients with a covariance (α before α'), and that."""
        cross, share = self._products
        position = self._positions
        position[numbers] = np.arange(len(numbers))
        weight, thin = self._weight[numbers], self._thin[numbers]
        left, right, values = _rows_of(cross, numbers, position)
        values = values * mean_products(cells, left + 1, right + 1, lists)
        pairs = [(left, right, values)]
        left, right, values = _rows_of(share, numbers, position)
        fat = ~(thin[left] | thin[right])
        left, right = left[fat], right[fat]
        pairs.append((left, right, -values[fat] * theta[left] * theta[right]))
        position[numbers] = -1
        lefts, rights, products = (np.concatenate(column) for column in zip(*pairs, strict=True))
        return lefts, rights, products / (weight[lefts] * weight[rights])

    @cached_property
    def _positions(self) -> Ints:
        """Return where each coefficient stands in a table that is looked at; −1 outside."""
        return np.full(self.numbering.size, -1)

    def _variances(self, numbers: Ints, theta: Floats) -> Floats:
        """Return the variances of a table's coefficients; infinite where nobody was asked."""
        view = self._overview
        variances: Floats = view.variance[numbers] - view.gain[numbers] * theta**2
        return variances

    def _one_covariance(self, numbers: Ints, cells: Floats, lists: Sequence[QuestionList]) -> Any:
        """Return the covariance matrix of one table's coefficients, a sparse one."""
        from scipy import sparse

        theta = coefficients_of(cells[None, :], lists)[0]
        left, right, values = self._pairs(numbers, cells, theta, lists)
        own = np.arange(len(numbers))
        at = np.concatenate((left, right, own)), np.concatenate((right, left, own))
        every = np.concatenate((values, values, self._variances(numbers, theta)))
        return sparse.coo_array((every, at), (len(own), len(own))).tocsr()

    def form_covariance(self, forms: Sequence[Form], doubt: float = DOUBT) -> Floats:
        """Return the covariance of linear forms, from reports where these are known.

        Where they are only expected, it is what the variances of the coefficients make of it: all, if
        no report tells of two. It is infinite where a coefficient was never asked.
        """
        numbers, matrix = weight_matrix(forms)
        never = np.isinf(self._overview.variance[numbers])
        matrix[~never] /= self._weight[numbers[~never], None]
        own = matrix[~never]
        some = numbers[~never]
        covariance = (own.T * (self._overview.variance[some] * self._weight[some] ** 2)) @ own
        if not self._is_expected:
            covariance = blended(*self._influence(some, own, covariance), doubt)
        return mark_unknown(covariance, (matrix[never] != 0).any(axis=0))

    def noise(self, random: np.random.Generator, draws: int) -> Floats:
        """Return draws of the noise of all coefficients, in standard errors: a row for each draw.

        They correlate as the reports do.
        """
        if any(not isinstance(r.reports, SlotReports) for r in self._scores):
            return super().noise(random, draws)
        # Single reports say nothing about how far reports are from their mean.
        centre = np.where(self._thin, 0, self._theta.clip(-1, 1))
        centre = centre * self._people / (self._people + FEW_REPORTS)
        total, squares = np.zeros((draws, self.numbering.size)), np.zeros(self.numbering.size)
        for r in self._scores:
            assert isinstance(r.reports, SlotReports)
            own = r.reports.noise(r.members, centre[r.members], random, total.shape)
            total, squares = total + r.weight * own[0], squares + r.weight**2 * own[1]
        noise: Floats = np.divide(total, np.sqrt(squares), out=total, where=squares > 0)
        return noise

    @cached_property
    def _is_expected(self) -> bool:
        """Tell whether these are reports to expect, of which nobody knows what they say."""
        return any(r.reports is None and r.people.any() for r in self._scores)

    def _influence(
        self, numbers: Ints, weights: Floats, law: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return the covariance of sums of scores with these weights (rows), a column for each.

        Beside it, what the law makes of it, and how many reports tell of each sum.
        """
        position, centre = self._positions, np.where(self._thin, 0, self._theta)
        position[numbers] = np.arange(len(numbers))
        total, reports = np.zeros_like(law), np.zeros(len(law))
        for r in self._scores:
            assert r.reports is not None
            at = position[r.members]
            own, count = r.reports.covariance(at, r.weight * weights, centre[r.members], r.people)
            total, reports = total + own, reports + count
        position[numbers] = -1
        return total, law, reports

    def _covariance_by_forms(
        self, table: Ints, lists: Sequence[QuestionList], truth: Floats | None
    ) -> Floats:
        """Return the covariance of the cells of a table: by its reports, or to expect at these cells."""
        count = prod(each.size for each in lists)
        refuse_covariance(count)
        numbers = np.append(-1, self.numbering.of_tables(table[None, :])[0])
        numbers = numbers.reshape([each.count + 1 for each in lists])
        columns = [np.flatnonzero(each.synthesis.any(axis=0)) for each in lists]
        parts = [each.synthesis[:, some] for each, some in zip(lists, columns, strict=True)]
        transform = kronecker(parts)
        at = numbers[np.ix_(*columns)].ravel()
        is_asked = bool(np.isfinite(self._overview.variance[at]).all())
        if truth is not None and self._is_expected and is_asked:
            theta = np.append(0.0, coefficients_of(truth[None, :], lists)[0])
            theta = theta.reshape(numbers.shape)[np.ix_(*columns)].ravel()
            variances = np.where(at >= 0, self._variances(at, theta), 0)
            covariance: Floats = (transform * variances) @ transform.T
            return covariance
        forms = [Form(0.0, at[at >= 0], row[at >= 0]) for row in transform]
        return self.form_covariance(forms, DOUBT if truth is None else DOUBT_OF_TESTS)

    def cell_covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the covariance matrix of each table's cells."""
        if self.numbering.is_plain:
            return super().cell_covariances(tables, truth)
        lists = self.lists_of(tables)
        if any(each.is_order for each in lists):
            truths = [None] * len(tables) if truth is None else truth
            pairs = zip(tables, truths, strict=True)
            return np.stack([self._covariance_by_forms(table, lists, own) for table, own in pairs])
        matrices = [each.synthesis for each in lists]
        numbers = self.numbering.of_tables(tables)
        count = prod(each.size for each in lists)
        refuse_covariance(count, numbers.shape[1])
        transform = kronecker([matrix.T for matrix in matrices])
        out = unknown_covariance(count, len(tables))
        likely = self._likely_cells(tables) if truth is None else truth
        for row, (members, cells) in enumerate(zip(numbers, likely, strict=True)):
            if np.isinf(self._overview.variance[members]).any():
                continue
            half = (self._one_covariance(members, cells, lists) @ transform[1:]).T
            out[row] = along_axes(np.column_stack((np.zeros(count), half)), matrices)
        return out

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell of each table, without their covariances.

        Coefficients' own variances go through squared synthesis. Two coefficients' products are, at
        every cell and attribute by attribute, a few functions of lists' bases, so all of them are
        added up in these and turned into cells once.
        """
        if self.numbering.is_plain:
            return super().cell_variances(tables, truth)
        lists = self.lists_of(tables)
        if any(each.is_order for each in lists):
            covariances = self.cell_covariances(tables, truth)
            return variances_of(covariances).clip(0, None)
        numbers = self.numbering.of_tables(tables)
        squares = [each.synthesis**2 for each in lists]
        out = np.full((len(tables), prod(each.size for each in lists)), np.inf)
        likely = self._likely_cells(tables) if truth is None else truth
        theta = coefficients_of(likely, lists)
        for row, (members, cells, own) in enumerate(zip(numbers, likely, theta, strict=True)):
            alone = self._variances(members, own)
            if np.isfinite(alone).all():
                out[row] = along_axes(np.append(0.0, alone)[None, :], squares)[0]
                left, right, values = self._pairs(members, cells, own, lists)
                out[row] += 2 * products_at_cells(left + 1, right + 1, values, lists)
        return out.clip(0, None)


def _rows_of(matrix: Any, numbers: Ints, position: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the entries of a sparse matrix in some rows and columns, above the diagonal."""
    starts, stops = matrix.indptr[numbers], matrix.indptr[numbers + 1]
    lengths = stops - starts
    left = np.repeat(np.arange(len(numbers)), lengths)
    at = np.arange(len(left)) - np.repeat(np.cumsum(lengths) - lengths - starts, lengths)
    right = position[matrix.indices[at]]
    above = right > left
    return left[above], right[above], matrix.data[at[above]]
