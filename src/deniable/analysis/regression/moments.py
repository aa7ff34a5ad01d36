"""Mean products of columns: unbiased estimates, all of them at once, with exact covariances.

Each is a form of the release's coefficients. They are kept by sets of attributes, so that all mean
products of the same attributes share their weights' places.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from deniable.analysis.regression.columns import Column, Functions, times
from deniable.decoding.forms import Form
from deniable.errors import TableError
from deniable.release.numbers.forms import Forms
from deniable.survey.coefficients import Floats, Ints

_MOST_WEIGHTS = 1 << 26
"""The most weights of coefficients in all mean products together."""


class Moments:
    """The mean products of some columns, pair by pair, among the people who are there.

    ``at[i, j]`` is the position of the mean product of columns i and j among all that are kept.
    """

    def __init__(self, forms: Forms, columns: Sequence[Column], there: Functions) -> None:
        self.columns = tuple(columns)
        self._forms = forms
        count = len(columns)
        self.at = np.zeros((count, count), np.int64)
        self.pairs = [(i, j) for i in range(count) for j in range(i, count)]
        for place, (i, j) in enumerate(self.pairs):
            self.at[i, j] = self.at[j, i] = place
        self._products = [
            times(columns[i].functions, columns[j].functions, there) for i, j in self.pairs
        ]
        self._check()

    def _check(self) -> None:
        """Refuse products of more attributes than were asked about together, and too many weights."""
        survey = self._forms.release.survey
        order, weights = survey.order, 0
        for (i, j), functions in zip(self.pairs, self._products, strict=True):
            if len(functions) > order:
                names = [survey.schema.names[attribute] for attribute in functions]
                raise TableError(
                    f"{self._whose(i, j, functions)} needs the mean of {' × '.join(names)}, of "
                    f"{len(functions)} attributes together, and so order {len(functions)}; this survey "
                    f"collected order {order}."
                )
            self._forms.release.check_asked(sorted(functions))
            sizes = [survey.lists[attribute].count + 1 for attribute in functions]
            weights += prod(sizes)
        if weights > _MOST_WEIGHTS:
            raise TableError(
                f"These terms need {weights:,} weights of coefficients; {_MOST_WEIGHTS:,} is the limit, "
                "so leave out some terms."
            )

    def _whose(self, i: int, j: int, functions: Functions) -> str:
        """Return which regression it is: of everybody, or of those who have an outcome."""
        if len(times(self.columns[i].functions, self.columns[j].functions)) == len(functions):
            return "This regression"
        return "Not everybody has a value of the outcome, and a regression among those who have one"

    @cached_property
    def _matrix(self) -> tuple[Floats, Any]:
        """Return the constants of all mean products, and their weights: a sparse row each."""
        from scipy import sparse

        evidence = self._forms.evidence
        constants = np.ones(len(self.pairs))
        by_set: dict[tuple[int, ...], list[int]] = {}
        for place, functions in enumerate(self._products):
            by_set.setdefault(tuple(sorted(functions)), []).append(place)
        rows, columns, values = [], [], []
        for attributes, members in by_set.items():
            if not attributes:
                continue
            weights = np.ones((len(members), 1))
            for attribute in attributes:
                rows_of_codes = np.stack([self._products[place][attribute] for place in members])
                own = evidence.weights_of(attribute, rows_of_codes)
                weights = (weights[:, :, None] * own[:, None, :]).reshape(len(members), -1)
            constants[members] = weights[:, 0]
            row, column = np.nonzero(weights[:, 1:])
            rows.append(np.array(members)[row])
            columns.append(evidence.numbering.of_tables(np.array([attributes]))[0][column])
            values.append(weights[:, 1:][row, column])
        shape = (len(self.pairs), evidence.numbering.size)
        if not rows:
            return constants, sparse.csr_array(shape)
        at = np.concatenate(rows), np.concatenate(columns)
        return constants, sparse.coo_array((np.concatenate(values), at), shape).tocsr()

    @cached_property
    def values(self) -> Floats:
        """Return the estimate of every mean product."""
        constants, weights = self._matrix
        values: Floats = constants + weights @ self._forms.evidence.overview.theta
        return values

    @cached_property
    def expected_covariance(self) -> Floats:
        """Return the covariance of all of them as far as the variances of coefficients tell.

        That is roughly all, where a report seldom tells of two of them.
        """
        _, weights = self._matrix
        variance = self._forms.evidence.overview.variance
        some = np.unique(weights.indices)
        unknown = some[~np.isfinite(variance[some])]
        if len(unknown):
            raise TableError(
                "Some of these attributes were never asked about together, so a regression on them is "
                "not known; it needs more reports, or fewer terms."
            )
        own = weights[:, some]
        covariance: Floats = ((own * variance[some]) @ own.T).toarray()
        return covariance

    def covariance(self, sums: Floats) -> Floats:
        """Return the exact covariance of sums (rows) of the mean products."""
        from scipy import sparse

        constants, weights = self._matrix
        combined = (sparse.csr_array(sums) @ weights).tocsr()
        forms = [
            Form(float(row @ constants), combined.indices[start:stop], combined.data[start:stop])
            for row, start, stop in zip(
                sums, combined.indptr[:-1], combined.indptr[1:], strict=True
            )
        ]
        return self._forms.covariance(forms)

    def shares(self, attribute: int, size: int) -> Floats:
        """Return the estimated share of each value of an attribute that is no number."""
        return self._forms.values(self._forms.cells({attribute: np.eye(size)}))

    def evenly(self) -> Floats:
        """Return what every mean product is where all codes are as common and independent."""
        means = [
            prod(float(function.mean()) for function in functions.values())
            for functions in self._products
        ]
        return np.array(means)

    def matrix(self, values: Floats, rows: Ints, columns: Ints) -> Floats:
        """Return the mean products of some columns with some others, of these values of all."""
        matrix: Floats = values[self.at[np.ix_(rows, columns)]]
        return matrix
