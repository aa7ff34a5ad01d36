"""Forms of cells: what product tables of any sizes tell of means and sums, across tables.

The parts that forms are made of are the cells of every û_S (`deniable.decoding.cells`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from deniable.decoding.evidence import Overview
from deniable.decoding.forms import Form, FormEvidence, weight_matrix
from deniable.decoding.reports import counted
from deniable.errors import TableError
from deniable.numeric.axes import centred
from deniable.numeric.covariances import mark_unknown
from deniable.questions.answers import Inclusion
from deniable.survey.coefficients import Floats, Ints, Shared

Key = tuple[tuple[int, ...], tuple[int, ...]]
"""Whose reports (those to one table, or to all where it is empty), and about which attributes."""


@dataclass(frozen=True, eq=False)
class TableReports:
    """One product table that was asked about, and what was reported.

    ``supports`` counts the reports that speak for each cell; it is None where reports are only
    expected.
    """

    attributes: tuple[int, ...]
    people: float
    supports: Floats | None
    law: Inclusion
    symbols: int

    @property
    def weight(self) -> float:
        """Return g, the weight of one report."""
        return _numbers_of(self.law, self.symbols)[0]

    @property
    def jump(self) -> float:
        """Return g/contrast, what one report adds for each cell that it speaks for."""
        weight, contrast, _, _ = _numbers_of(self.law, self.symbols)
        return weight / contrast

    @property
    def moments(self) -> Floats:
        """Return Σg, Σg²·a·M, Σg²κ and Σg² over the reports."""
        g, _, noise, cross = _numbers_of(self.law, self.symbols)
        squared = g**2 * self.people
        return np.array([g * self.people, squared * noise, squared * cross, squared])


@lru_cache(maxsize=1 << 10)
def _numbers_of(law: Inclusion, symbols: int) -> tuple[float, float, float, float]:
    """Return g, the contrast, a·M and κ: the same of many tables."""
    noise = symbols * (law.other - law.two_others) / law.contrast**2
    exact = 1 / law.second_moment(symbols), law.contrast, noise, law.cross
    weight, contrast, own, cross = map(float, exact)
    return weight, contrast, own, cross


class CellForms(FormEvidence):
    """Evidence about cells of which forms can be taken."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        order: int,
        reports: Sequence[TableReports],
        *,
        pooled: bool = True,
    ) -> None:
        self.sizes, self.order, self.pooled = sizes, order, pooled
        self._reports = reports
        self.estimates = all(a.supports is not None for a in reports if a.people > 0)
        self.numbering = Shared(len(sizes), order, sizes)
        """Of forms: a number for each cell of each û_S."""

    @property
    @abstractmethod
    def _numbers(self) -> tuple[dict[Key, int], Floats, Floats]:
        """Return a number for each set, and its moments and largest jump; the last: never asked."""

    @property
    @abstractmethod
    def _components(self) -> list[Floats]:
        """Return û_S of each set, by its number."""

    def weights_of(self, attribute: int, functions: Floats) -> Floats:
        """Return the weights of 1 and of û's cells in means of functions of an attribute (rows)."""
        means = functions.mean(axis=1, keepdims=True)
        return np.hstack((means, functions - means))

    def _cells_of(self, subset: tuple[int, ...]) -> Ints:
        """Return the numbers of the cells of û_S."""
        numbers = np.append(-1, self.numbering.of_tables(np.array([subset]))[0])
        inner = (slice(1, None),) * len(subset)
        return numbers.reshape([self.sizes[i] + 1 for i in subset])[inner].ravel()

    @cached_property
    def overview(self) -> Overview:
        """Return what is known of every cell of every û_S, its variance where all are as common."""
        if not self.pooled:
            raise TableError("Forms are of pooled estimates.")
        numbers, moments, _ = self._numbers
        theta, people, gain = np.zeros((3, self.numbering.size))
        variance = np.full(len(theta), np.inf)
        answers = dict.fromkeys(numbers, 0.0)
        for a in self._reports:
            for size in range(1, min(self.order, len(a.attributes)) + 1):
                for subset in combinations(a.attributes, size):
                    answers[(), subset] += a.people
        for key, number in numbers.items():
            at, weight = self._cells_of(key[1]), moments[number, 0]
            if weight > 0:
                theta[at] = self._components[number] if self.estimates else 0
                variance[at] = 1 / (weight * len(at))
                people[at] = answers[key] / len(at)
        return Overview(theta, variance, people, gain)

    def form_covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of linear forms, by the law of answers where the estimates are."""
        if not self.estimates:
            raise TableError("Reports that are only expected have no estimates.")
        at, matrix = weight_matrix(forms)
        position = np.full(self.numbering.size + 1, len(at))
        position[at] = np.arange(len(at))
        rows = np.vstack((matrix, np.zeros(len(forms))))
        numbers, moments, _ = self._numbers
        total = np.zeros((len(forms), len(forms)))
        for a in self._reports:
            if not a.people:
                continue
            shape = tuple(self.sizes[i] for i in a.attributes)
            functions, means = np.zeros((*shape, len(forms))), np.zeros(len(forms))
            for size in range(1, min(self.order, len(a.attributes)) + 1):
                for subset in combinations(a.attributes, size):
                    own = rows[position[self._cells_of(subset)]]
                    if not own.any():
                        continue
                    number = numbers[(), subset]
                    inside = tuple(self.sizes[i] for i in subset)
                    own = centred(own.reshape(*inside, -1), range(size)).reshape(own.shape)
                    own *= a.weight / moments[number, 0]
                    means += self._components[number] @ own
                    wide = [
                        r if i in subset else 1 for i, r in zip(a.attributes, shape, strict=True)
                    ]
                    functions += own.reshape(*wide, len(forms))
            if functions.any():
                flat = functions.reshape(-1, len(forms)).T[None]
                assert a.supports is not None
                people = np.array([a.people])
                total += counted(flat, means[None], a.supports[None], people, a.law)
        never = np.isinf(self.overview.variance[at])
        return mark_unknown(total, (matrix[never] != 0).any(axis=0))
