"""Tables of numbers as they are read: from values that stand for moments back to bins.

What is told of a number's dependence are means of polynomials (`moments`), what is told of the number
alone is its fitted distribution. A table on bins, whichever these are, is made of both: the fitted
shares of the bins, and the departure from independence that the polynomials have there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from deniable.decoding.evidence import Tables, refuse_covariance
from deniable.numeric.axes import along_axes, kronecker, stacks
from deniable.numeric.covariances import both_sides, unknown_covariance
from deniable.numeric.shares import draw, proportions
from deniable.questions.thresholds import Thresholds
from deniable.release.mixed.fitting import MixedModel, MixedTables
from deniable.release.mixed.interactions import turn
from deniable.release.mixed.reading import keep_margins
from deniable.release.numbers.fit import NumberFit
from deniable.release.processed import ProcessedTables
from deniable.survey.coefficients import Floats, Ints, same_sizes

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey


@dataclass(frozen=True, eq=False)
class Bins:
    """How each attribute is cut in a table: which of its codes are in which value (rows)."""

    matrices: Mapping[int, Floats]

    @classmethod
    def default(cls, survey: FrozenSurvey) -> Bins:
        """Return the bins of numbers that are declared."""
        matrices = {
            a: each.members for a, each in enumerate(survey.lists) if isinstance(each, Thresholds)
        }
        return cls(matrices)


@dataclass(frozen=True, eq=False)
class NumberModel:
    """A model of attributes some of which are numbers: its tables are on bins."""

    inner: MixedModel
    fits: Mapping[int, NumberFit]
    bins: Bins

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of the same sizes."""
        return self.cut(tables, self.bins)

    def cut(self, tables: Ints, bins: Bins) -> Floats:
        """Return the cells of tables, whose numbers are cut into some bins."""
        sizes = self.inner.reading.sets.sizes
        groups = list(same_sizes(sizes, tables))
        parts = [self._cut(tables[rows], bins) for rows in groups]
        back = np.argsort(np.concatenate(groups))
        return np.concatenate(parts)[back]

    def margin(self, attribute: int, bins: Bins) -> Floats:
        """Return the distribution of one attribute."""
        if attribute in self.fits:
            shares: Floats = bins.matrices[attribute] @ self.fits[attribute].shares
            return shares
        return self.inner.reading.margins[attribute].shares

    def _cut(self, tables: Ints, bins: Bins) -> Floats:
        every = [self.margin(a, bins) for a in range(len(self.inner.reading.margins))]
        margins = stacks(every, tables)
        if len(margins) == 1:
            return margins[0]
        cells = turn(self.inner.tables(tables), tables, self.ways(bins))
        if len(margins) > 2:
            return proportions(cells)
        rows, columns = margins[0][:, :, None], margins[1][:, None, :]
        cells = cells.reshape(len(tables), rows.shape[1], columns.shape[2])
        return keep_margins(cells, rows, columns).reshape(len(tables), -1).clip(0, None)

    def ways(self, bins: Bins) -> list[Floats]:
        """Return what makes bins of the values that stand for a number; other values stay."""
        return [
            bins.matrices[a] @ self.fits[a].moments.on_grid if a in self.fits else np.eye(size)
            for a, size in enumerate(self.inner.reading.sets.sizes)
        ]

    def draw(self, people: int, random: np.random.Generator) -> list[Ints]:
        """Draw records, as the codes of each attribute."""
        codes = self.inner.draw(people, random)
        for attribute, each in self.fits.items():
            shares = proportions(each.moments.on_grid.T)
            codes[attribute] = draw(shares, codes[attribute], random)
        return codes


@dataclass(frozen=True, eq=False)
class NumberTables(ProcessedTables):
    """Tables of a model of attributes some of which are numbers, on bins."""

    inner: MixedTables
    numbers: NumberModel

    def interval_kind(self, size: int) -> str:
        """Return what the error bars of tables of this size are."""
        return self.inner.interval_kind(size)

    def tables(self, tables: Ints) -> Tables:
        """Return the cells of each table, and whether all that it needs was asked."""
        return self.cut(tables, self.numbers.bins)

    def cut(self, tables: Ints, bins: Bins) -> Tables:
        """Return tables whose numbers are cut into some bins."""
        return Tables(self.numbers.cut(tables, bins), self.inner.measured.knows(tables), {})

    def covariances(self, tables: Ints) -> Floats:
        """Return the covariance of each table's cells; infinite variances where none is known."""
        return self.covariances_of(tables, self.numbers.bins)

    def covariances_of(self, tables: Ints, bins: Bins) -> Floats:
        """Return the same for tables whose numbers are cut into some bins."""
        return np.stack([self._covariance(table, bins) for table in tables])

    def _covariance(self, table: Ints, bins: Bins) -> Floats:
        """Return what margins and departures make of it: numbers' margins as they were fitted."""
        model = self.numbers
        shares = [model.margin(a, bins) for a in table.tolist()]
        cells = prod(map(len, shares))
        refuse_covariance(cells)
        if (
            self.interval_kind(len(table)) == "none"
            or not self.inner.measured.knows(table[None])[0]
        ):
            return unknown_covariance(cells)
        ways = model.ways(bins)
        way = partial(along_axes, matrices=[ways[attribute] for attribute in table.tolist()])
        whole = both_sides(self.inner.covariances(table[None])[0], way)
        for place, attribute in enumerate(table.tolist()):
            if attribute in model.fits:
                own = model.fits[attribute].covariance(bins.matrices[attribute])
                whole = whole + _beside(own, place, shares)
        return whole


def _beside(own: Floats, place: int, shares: Sequence[Floats]) -> Floats:
    """Return the covariance of a table in which one margin errs, and all others are what they are."""
    parts = [own if i == place else np.outer(each, each) for i, each in enumerate(shares)]
    return kronecker(parts)
