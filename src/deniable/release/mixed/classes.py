"""Latent classes: people of K kinds, of each of which all attributes are independent.

    P(x) = Σ_z π_z·∏_a A_a(z, x_a)

is a joint distribution whatever the numbers are: non-negative, all tables agree, tables of any order and
records can be drawn from it. It is fitted to the measured margins and interactions of pairs by least
squares, each weighted by its precision, from near independence on. What is common to many pairs is
fitted early and noise late, so the halves of a tally say when to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.release.mixed.interactions import Interactions
from deniable.survey.coefficients import Floats, Ints

CLASSES = 8
_APART = 0.3
"""How far the classes are from each other at first, in logarithms."""
_LEAST, _LEAST_NOISE = 1e-4, 1e-30
"""The smallest share of a value at first."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Shares of classes (π), and the distribution of each attribute within each class."""

    sizes: tuple[int, ...]
    shares: Floats
    values: Floats
    """Rows are classes; the attributes' values stand side by side."""

    @classmethod
    def independent(cls, sizes: tuple[int, ...], shares: Sequence[Floats]) -> Classes:
        """Return one class: attributes that are independent of each other."""
        return cls(sizes, np.ones(1), np.concatenate(shares)[None, :])

    @cached_property
    def alone(self) -> Classes:
        """Return the same margins, of independent attributes."""
        return Classes(self.sizes, np.ones(1), (self.shares @ self.values)[None, :])

    @cached_property
    def begins(self) -> Ints:
        """Return where each attribute's values begin."""
        return np.append(0, np.cumsum(self.sizes))

    def of(self, attribute: int) -> Floats:
        """Return the distribution of an attribute within each class."""
        return self.values[:, self.begins[attribute] : self.begins[attribute + 1]]

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of the same sizes."""
        return self._product(tables, 0.0)

    def interactions(self, tables: Ints) -> Floats:
        """Return the pure interactions of tables of the same sizes."""
        return self._product(tables, 1.0)

    def _product(self, tables: Ints, less: float) -> Floats:
        """Return Σ_z π_z·∏ of what values have in a class, less so much of a uniform share."""
        rows, classes = len(tables), len(self.shares)
        cells = np.ones((rows, classes, 1))
        for column in tables.T[:-1]:
            own = np.stack([self.of(attribute) for attribute in column])
            own = own - less / own.shape[2]
            cells = (cells[:, :, :, None] * own[:, :, None, :]).reshape(rows, classes, -1)
        last = np.stack([self.of(attribute) for attribute in tables[:, -1]])
        last = (last - less / last.shape[2]) * self.shares[:, None]
        total: Floats = (cells.swapaxes(1, 2) @ last).reshape(rows, -1)
        return total


class ClassFit:
    """The least squares problem of classes, for one set of measurements."""

    def __init__(
        self, measured: Interactions, distributions: Sequence[Floats], random: np.random.Generator
    ) -> None:
        sets = measured.sets
        self._sizes, self._begins = sets.sizes, np.append(0, np.cumsum(sets.sizes))[:-1]
        self._uniform = sets.uniform
        width = len(sets.uniform)
        self._pairs, self._weights = np.zeros((2, width, width))
        # What was not measured has no weight, and perhaps nothing was.
        noise, is_measured = measured.noise.clip(_LEAST_NOISE, None), measured.measured
        least = noise[is_measured].min(initial=np.inf)
        precision = np.divide(least, noise, out=np.zeros_like(noise), where=is_measured)
        for some in sets.groups(2):
            blocks = measured.vector[sets.positions(some)].reshape(sets.shape(some))
            weights = precision[sets.numbers_of(some)]
            for (a, b), block, weight in zip(some.tolist(), blocks, weights, strict=True):
                rows, columns = (slice(at, at + n) for at, n in (self._span(a), self._span(b)))
                self._pairs[rows, columns], self._pairs[columns, rows] = block, block.T
                self._weights[rows, columns] = self._weights[columns, rows] = weight
        self._single = measured.vector[:width]
        self._single_weights = np.repeat(precision[: len(sets.sizes)], sets.sizes)
        shares = np.concatenate(distributions).clip(_LEAST, None)
        apart = _APART * random.standard_normal((CLASSES, width))
        self._at = np.concatenate((np.zeros(CLASSES), (np.log(shares) + apart).ravel()))

    def _span(self, attribute: int) -> tuple[int, int]:
        return int(self._begins[attribute]), self._sizes[attribute]

    def _classes(self, at: Floats) -> Classes:
        """Return the classes that logarithms of shares stand for."""
        logarithms = at[CLASSES:].reshape(CLASSES, -1)
        top = np.maximum.reduceat(logarithms, self._begins, axis=1)
        values = np.exp(logarithms - np.repeat(top, self._sizes, axis=1))
        values /= np.repeat(np.add.reduceat(values, self._begins, axis=1), self._sizes, axis=1)
        shares = np.exp(at[:CLASSES] - at[:CLASSES].max())
        return Classes(self._sizes, shares / shares.sum(), values)

    def _loss(self, at: Floats) -> tuple[float, Floats]:
        """Return the weighted sum of squares, and its slope."""
        classes = self._classes(at)
        shares, values = classes.shares, classes.values
        beyond = values - self._uniform
        off = (beyond * shares[:, None]).T @ beyond - self._pairs
        pull = self._weights * off
        off_single = shares @ values - self._uniform - self._single
        pull_single = self._single_weights * off_single
        loss = float(np.vdot(pull, off)) / 4 + float(pull_single @ off_single) / 2
        toward = beyond @ pull
        of_values = shares[:, None] * (toward + pull_single)
        of_shares = (beyond * toward).sum(axis=1) / 2 + values @ pull_single
        inside = np.add.reduceat(values * of_values, self._begins, axis=1)
        slope = values * (of_values - np.repeat(inside, self._sizes, axis=1))
        return loss, np.concatenate((shares * (of_shares - shares @ of_shares), slope.ravel()))

    def advance(self, steps: int) -> Classes:
        """Go so many steps on, and return the classes there."""
        from scipy import optimize

        self._at, *_ = optimize.fmin_l_bfgs_b(
            self._loss, self._at, maxiter=steps, m=20, factr=0, pgtol=0
        )
        return self._classes(self._at)
