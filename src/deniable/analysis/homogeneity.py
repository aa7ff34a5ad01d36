"""Whether groups have the same tables: their cells, covariances and the test of homogeneity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.decoding.evidence import CoefficientEvidence, Evidence
from deniable.errors import TableError
from deniable.numeric.axes import contrast_basis
from deniable.numeric.inference import wald
from deniable.numeric.shares import proportions
from deniable.schema.attribute import Attribute, kind
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables


class Test(NamedTuple):
    """A test of one table for any difference between groups; not a number where nothing is known."""

    statistic: float
    df: int
    p_value: float


class Comparison(NamedTuple):
    """Tables of the same sizes, by group and table: cells in C order, and tests."""

    values: Floats
    covariance: Floats
    known: NDArray[np.bool_]
    statistic: Floats
    df: Ints
    p_value: Floats

    @property
    def first_test(self) -> Test:
        """Return the test of the first table."""
        return Test(float(self.statistic[0]), int(self.df[0]), float(self.p_value[0]))


def measure(views: Sequence[View], tables: Ints) -> Comparison:
    """Return the cells of tables in each group, their covariances, and whether groups differ."""
    estimates = [view.cells(tables) for view in views]
    values = np.stack([cells for cells, _ in estimates])
    covariance = np.stack([view.covariances(tables) for view in views])
    is_known = np.logical_and.reduce([own for _, own in estimates])
    is_known &= np.isfinite(covariance).all(axis=(0, 2, 3))
    cells = values.shape[2]
    statistic, p_value = np.full((2, len(is_known)), np.nan)
    df = np.full(len(is_known), (len(views) - 1) * (cells - 1))
    for rows in _tested_together(views, tables, is_known):
        statistic[rows], df[rows] = _test([view.by_moments for view in views], tables[rows])
    p_value[is_known] = special.chdtrc(df[is_known], statistic[is_known])
    return Comparison(values, covariance, is_known, statistic, df, p_value)


def _tested_together(
    views: Sequence[View], tables: Ints, is_known: NDArray[np.bool_]
) -> Iterator[Ints]:
    """Yield the rows of known tables whose tests are made together: each one's own, of numbers."""
    rows = np.flatnonzero(is_known)
    if views[0].by_moments is views[0]:
        yield from [rows] if len(rows) else []
    else:
        yield from rows[:, None]


def _test(views: Sequence[View], tables: Ints) -> tuple[Floats, Ints]:
    """Return W and its degrees of freedom for tables of the same sizes."""
    values = np.stack([view.cells(tables)[0] for view in views])
    cells = values.shape[2]
    even = np.full((len(tables), cells), 1 / cells)
    precision = np.stack([1 / view.variances(tables, even).sum(axis=1) for view in views])
    mean = proportions((precision[:, :, None] * values).sum(axis=0))
    return homogeneity(values, np.stack([view.covariances(tables, mean) for view in views]))


def homogeneity(values: Floats, covariance: Floats) -> tuple[Floats, Ints]:
    """Return W and its degrees of freedom for tables (groups, tables, cells) with covariances.

    Where nobody is in some cell, so that nothing can vary, it takes its degrees of freedom with it.
    """
    groups, tables, cells = values.shape
    basis = contrast_basis(cells)
    contrasts = values @ basis.T
    within = basis @ covariance @ basis.T
    apart = (contrasts[:-1] - contrasts[-1]).transpose(1, 0, 2).reshape(tables, -1)
    count = groups - 1
    both = np.tile(within[-1][:, None, :, None, :], (1, count, 1, count, 1))
    for group in range(count):
        both[:, group, :, group, :] += within[group]
    return wald(apart, both.reshape(tables, apart.shape[1], -1))


class View:
    """A release's tables of some attributes, numbered by these, with their cells in C order.

    ``by_moments`` are tables in which a few values stand for a number's moments, by which groups are
    tested; the same values in all groups.
    """

    def __init__(self, release: ReleasedTables, attributes: Sequence[Attribute]) -> None:
        schema = release.survey.schema
        self.by_moments = self
        for attribute in attributes:
            if not alike(schema.attributes[schema.index(attribute.name)], attribute):
                raise TableError(
                    f"{attribute.name!r} is not declared with the same values in both surveys, and "
                    "cannot be compared."
                )
        self._evidence: Evidence = release.evidence
        self._sizes = np.array([attribute.size for attribute in attributes])
        self._own = np.array([schema.index(attribute.name) for attribute in attributes])
        self.kinds = release.survey.kinds[self._own]

    @classmethod
    def of_groups(
        cls, releases: Sequence[ReleasedTables], attributes: Sequence[Attribute]
    ) -> list[View]:
        """Return a view of each release."""
        views = [cls(release, attributes) for release in releases]
        fits = {
            place: releases[0].number_fits[int(own)].moments
            for place, own in enumerate(views[0]._own)
            if int(own) in releases[0].number_fits
        }
        for view in views if fits else ():
            evidence = view._evidence
            if isinstance(evidence, CoefficientEvidence):
                lists = list(evidence.lists)
                for place, moments in fits.items():
                    lists[view._own[place]] = moments
                other = copy(view)
                other._evidence = evidence.with_lists(lists)
                other._sizes = np.array([lists[own].size for own in view._own])
                view.by_moments = other
        return views

    def _by_order(self, tables: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield rows, their tables as the release numbers them, and the numbers of their cells."""
        own = self._own[tables]
        orders = own.argsort(axis=1)
        for order in np.unique(orders, axis=0):
            rows = np.flatnonzero((orders == order).all(axis=1))
            sizes = self._sizes[tables[rows[0]]][order]
            back = tuple(order.argsort().tolist())
            cells = np.arange(prod(sizes.tolist())).reshape(sizes)
            numbers = cells.transpose(back).ravel()
            yield rows, own[rows][:, order], numbers

    def cells(self, tables: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the estimated cells of tables of the same sizes, and which tables are known."""
        values = np.empty((len(tables), prod(self._sizes[tables[0]].tolist())))
        is_known = np.empty(len(tables), np.bool_)
        for rows, own, numbers in self._by_order(tables):
            estimates = self._evidence.tables(own)
            values[rows], is_known[rows] = estimates.values[:, numbers], estimates.known
        return values, is_known

    def covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return their covariances, at these cells or at the release's own."""
        cells = prod(self._sizes[tables[0]].tolist())
        covariance = np.empty((len(tables), cells, cells))
        for rows, own, numbers in self._by_order(tables):
            at = None if truth is None else truth[rows][:, numbers.argsort()]
            own_covariance = self._evidence.cell_covariances(own, at)
            covariance[rows] = own_covariance[:, numbers[:, None], numbers]
        return covariance

    def variances(self, tables: Ints, truth: Floats) -> Floats:
        """Return their cells' variances at these cells."""
        variance = np.empty_like(truth)
        for rows, own, numbers in self._by_order(tables):
            own_variance = self._evidence.cell_variances(own, truth[rows][:, numbers.argsort()])
            variance[rows] = own_variance[:, numbers]
        return variance


def alike(one: Attribute, other: Attribute) -> bool:
    """Tell whether two attributes are declared alike; True and 1 are two values."""
    return one == other and list(map(kind, one.values)) == list(map(kind, other.values))
