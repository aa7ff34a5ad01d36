"""What is estimated of a known population: tables and linear forms of unbiased estimates, weighted.

`WeightedTables` weights the tables of one group of people or several; whatever estimates tables can be
weighted so. `WeightedForms` weights linear forms: with these come means of numbers, numbers cut where
known shares are cut, and linear weights, which take tables of fewer attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from deniable.analysis.margins import Margin
from deniable.analysis.weighting import Union, Weights, columns_of, rake
from deniable.decoding.evidence import Evidence
from deniable.decoding.forms import Form, sum_of
from deniable.errors import TableError
from deniable.numeric.covariances import mark_unknown
from deniable.release.numbers.forms import Forms
from deniable.release.release import ReleasedTables
from deniable.survey.coefficients import Floats

_NOTHING = 1e-18
"""A variance below this is of rounding."""


class Part(NamedTuple):
    """A group of people: its share of all who answered, and where it stands among the known labels."""

    release: ReleasedTables
    share: float
    place: tuple[int, ...] = ()


class Cells(NamedTuple):
    """The cells of a table, whether they are known, and their covariance."""

    values: Floats
    known: bool
    covariance: Floats


def nothing(table: Sequence[int], sizes: Sequence[int]) -> Cells:
    """Return a table of which nothing is known."""
    cells = prod(sizes[a] for a in table)
    return Cells(np.zeros(cells), False, mark_unknown(np.empty((cells, cells)), True, between=0.0))


def weigh(
    shares: Floats, positions: Sequence[tuple[int, ...]], margins: Sequence[Margin]
) -> Weights:
    """Return the weights of combinations of known values (columns) in groups (rows).

    ``positions`` say which known labels each group has.
    """
    labels = [margin for margin in margins if margin.attribute is None]
    own = [margin for margin in margins if margin.attribute is not None]
    sizes = [len(margin.values) for margin in own]
    grid = np.zeros([*(len(label.values) for label in labels), *sizes])
    for place, row in zip(positions, shares, strict=True):
        grid[place] += row.reshape(sizes)
    factors = rake(grid, [margin.shares for margin in (*labels, *own)])
    if not np.isfinite(factors).all():
        names = " and ".join(repr(margin.name) for margin in margins)
        raise TableError(
            f"The known shares of {names} contradict each other: as far as these reports tell, no "
            "weights of the people who answered meet all of them; adjust by fewer, or ask more people."
        )
    alike = columns_of(sizes)
    columns = []
    for place in positions:
        of_labels = [np.eye(len(label.values))[at] for label, at in zip(labels, place, strict=True)]
        of_label = np.concatenate([*of_labels, np.zeros(0)])
        columns.append(np.column_stack((np.tile(of_label, (len(alike), 1)), alike)))
    every = np.concatenate([factors[place].ravel() for place in positions])
    return Weights.raked(every, shares.ravel(), np.concatenate(columns))


class WeightedTables:
    """Tables of one group of people or several, raked to a known population."""

    def __init__(self, parts: Sequence[Part], margins: Sequence[Margin]) -> None:
        self._parts, self._margins = tuple(parts), tuple(margins)
        self._survey = parts[0].release.survey
        self._known = [m.attribute for m in margins if m.attribute is not None]

    def tells(self, table: Sequence[int]) -> bool:
        """Tell whether the survey's order is enough for a table."""
        return len({*table, *self._known}) <= self._survey.order

    @cached_property
    def _weights(self) -> Weights:
        cells = [self._combinations(part.release.evidence) for part in self._parts]
        shares = np.array([part.share for part in self._parts])[:, None] * np.array(cells)
        return weigh(shares, [part.place for part in self._parts], self._margins)

    def _combinations(self, evidence: Evidence) -> Floats:
        """Return the table of the known attributes, in the order given."""
        ascending = sorted(self._known)
        cells = evidence.tables(np.array([ascending])).values[0]
        grid = cells.reshape([self._survey.schema.sizes[a] for a in ascending])
        shares: Floats = grid.transpose([ascending.index(a) for a in self._known]).ravel()
        return shares

    def table(self, table: Sequence[int], *, with_errors: bool = False) -> Cells:
        """Return the weighted cells of a table; they are not known where the order is too low."""
        sizes = self._survey.schema.sizes
        if not self.tells(table):
            return nothing(table, sizes)
        union = sorted({*table, *self._known})
        both = union_of(union, sizes, table, self._known)
        row, weights = np.array([union]), self._weights
        estimates = [part.release.evidence.tables(row) for part in self._parts]
        tops = np.concatenate(
            [
                part.share * both.by_combination(each.values[0])
                for part, each in zip(self._parts, estimates, strict=True)
            ]
        )
        is_known = all(bool(each.known[0]) for each in estimates)
        covariance = np.zeros((both.cells, both.cells))
        if not is_known:
            covariance = nothing(table, sizes).covariance
        elif with_errors:
            explained = weights.columns @ weights.slopes(tops)
            halves = (np.split(each, len(self._parts)) for each in (weights.factors, explained))
            for part, factors, own in zip(self._parts, *halves, strict=True):
                way = part.share * both.jacobian(factors, own)
                covariance += way @ part.release.evidence.cell_covariances(row)[0] @ way.T
        return Cells(weights.factors @ tops, is_known, covariance)


def union_of(
    union: Sequence[int], sizes: Sequence[int], table: Sequence[int], others: Sequence[int]
) -> Union:
    """Return where the cells of a table of all these attributes stand in a table, among known values."""
    axes = [[union.index(a) for a in own] for own in (table, others)]
    return Union.of([sizes[a] for a in union], *axes)


class WeightedForms(Forms):
    """Makes linear forms of a release that is weighted to a known population.

    Such a form has the adjusted estimate for its value, and moves with the estimates as that does, to
    first order; so its covariance is that of adjusted estimates, across whatever tables.
    """

    def __init__(self, release: ReleasedTables, margins: Sequence[Margin], method: str) -> None:
        super().__init__(release)
        self._margins, self._is_linear = tuple(margins), method == "linear"
        self._known = [m.attribute for m in margins if m.attribute is not None]
        self._values = [
            [{m.attribute: row} for row in m.matrix] for m in margins if m.attribute is not None
        ]

    def tells(self, attributes: Sequence[int]) -> bool:
        """Tell whether the survey's order is enough for a form of these attributes."""
        order = self.release.survey.order
        if self._is_linear:
            return order > 1 and all(len({*attributes, a}) <= order for a in self._known)
        return len({*attributes, *self._known}) <= order

    @cached_property
    def _terms(self) -> list[dict[int, Floats]]:
        """Return what weights are made of: combinations of known values, or each value alone."""
        if self._is_linear:
            return [each for values in self._values for each in values]
        return [_product(*each) for each in product(*self._values)]

    @cached_property
    def _weights(self) -> Weights:
        if not self._is_linear:
            shares = self.values([super(WeightedForms, self).mean(term) for term in self._terms])
            return weigh(shares[None], [()], self._margins)
        gram = np.array([self.values(self._among(term)) for term in self._terms])
        return Weights.linear(gram, np.concatenate([margin.shares for margin in self._margins]))

    def _among(self, functions: Mapping[int, Floats]) -> list[Form]:
        """Return the mean of a product of functions among the people of each term."""
        mean = super().mean
        return [mean(_product(functions, term)) for term in self._terms]

    @cached_property
    def _explaining(self) -> list[Form]:
        """Return the weighted share of each known value, as it moves with the estimates."""
        weights = self._weights
        if self._is_linear:
            return [self._sum(self._among(term), weights.factors) for term in self._terms]
        shares = [super(WeightedForms, self).mean(term) for term in self._terms]
        return [self._sum(shares, column) for column in weights.pull.T]

    def covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of the estimates; what is known of the population has none."""
        covariance = super().covariance(forms)
        is_known = np.diagonal(covariance) < _NOTHING
        covariance[is_known], covariance[:, is_known] = 0.0, 0.0
        return covariance

    @staticmethod
    def _sum(forms: Sequence[Form], weights: Floats) -> Form:
        return sum_of([each.scaled(w) for each, w in zip(forms, weights.tolist(), strict=True)])

    def mean(self, functions: Mapping[int, Floats]) -> Form:
        """Return the mean of a product of functions of attributes' codes, in the known population."""
        if not self.tells(list(functions)):
            raise TableError(
                f"Adjusted by {', '.join(margin.name for margin in self._margins)}, this needs tables "
                f"of more attributes than the survey's order, {self.release.survey.order}."
            )
        weights, among = self._weights, self._among(functions)
        slopes = weights.slopes(self.values(among))
        goals = np.concatenate([margin.shares for margin in self._margins])
        explained = self._sum(self._explaining, -slopes)
        constant = Form(float(slopes @ goals), np.zeros(0, np.int64), np.zeros(0))
        return sum_of([self._sum(among, weights.factors), explained, constant])

    def table(self, table: Sequence[int], *, with_errors: bool = False) -> Cells:
        """Return the weighted cells of a table; they are not known where the order is too low."""
        survey = self.release.survey
        if not self.tells(table):
            return nothing(table, survey.schema.sizes)
        forms = self.cells({a: survey.schema.attributes[a].members for a in table})
        covariance = self.covariance(forms) if with_errors else np.zeros((0, 0))
        return Cells(self.values(forms), self.knows(forms), covariance)


def _product(*parts: Mapping[int, Floats]) -> dict[int, Floats]:
    """Return a product of functions, each of the codes of one attribute."""
    whole: dict[int, Floats] = {}
    for part in parts:
        for attribute, function in part.items():
            whole[attribute] = whole[attribute] * function if attribute in whole else function
    return whole
