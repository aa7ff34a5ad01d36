"""How a table differs from that of independent attributes, and how sure that is.

For a pair with the estimated table P̂ and margins p̂_a, p̂_b,

    U = P̂ − p̂_a·p̂_b' + Cov(p̂_a, p̂_b)        W = U'·V⁺·U  ~  χ² with (r_a − 1)(r_b − 1) degrees

where V is the covariance of U: sampling and privacy noise, from the exact covariance Σ of the table.
To first order it is J·Σ·J', which has a part Q of products of margins with their covariances. U is a
product of estimates, so V has a second-order part E = Σ_a ⊗ Σ_b + (products of Cov(p̂_a, p̂_b)), too; but
products of *estimated* margins contain their own covariance, and so Q is too large by 2E. Together,

    V = J·Σ·J' − Q + (Q − E)₊

where ₊ leaves out what is not a covariance. For InpHT and yes/no attributes this is
σ²_ab + max(0, θ̂_b²σ²_a + θ̂_a²σ²_b − σ²_aσ²_b).

U, Q and E have nothing along a table's margins, so they are kept as *contrasts*: r − 1 numbers, not
r, for each attribute. Tables are arrays (rows, values of a, values of b).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from deniable.numeric.axes import along_axes, contrast_basis
from deniable.numeric.covariances import both_sides, standard_errors
from deniable.numeric.inference import quadratic
from deniable.numeric.positive import positive_part
from deniable.survey.coefficients import Floats

_FEW = 4
"""So many degrees of freedom for each of both margins' pay for looking at these alone."""

_TOGETHER = 32
"""How many tables are looked at together where they have one covariance."""

_MOST_CLIPPED = 1 << 9
"""Beyond so many degrees of freedom the second-order part, which makes V smaller, is left out."""


class Margins(NamedTuple):
    """The margins of tables, or contrasts of them, with their covariances."""

    a: Floats
    b: Floats
    covariance_a: Floats
    covariance_b: Floats
    covariance_ab: Floats
    """Cov(p̂_a, p̂_b), by values of a and of b."""

    @classmethod
    def of(cls, cells: Floats, covariance: Floats) -> Margins:
        """Return the margins of tables of these cells and covariances."""
        by_axis = covariance.reshape(len(covariance), *cells.shape[1:], *cells.shape[1:])
        return cls(
            cells.sum(axis=2),
            cells.sum(axis=1),
            by_axis.sum(axis=(2, 4)),
            by_axis.sum(axis=(1, 3)),
            by_axis.sum(axis=(2, 3)),
        )

    def contrasts(self) -> Margins:
        """Return the same as contrasts."""
        a, b = contrast_basis(self.a.shape[1]), contrast_basis(self.b.shape[1])
        return Margins(
            self.a @ a.T,
            self.b @ b.T,
            a @ self.covariance_a @ a.T,
            b @ self.covariance_b @ b.T,
            a @ self.covariance_ab @ b.T,
        )

    @property
    def likely(self) -> tuple[Floats, Floats]:
        """Return margins whose squared distance from uniform ones is what noise does not explain."""
        return _shrink(self.a, self.covariance_a), _shrink(self.b, self.covariance_b)

    @property
    def errors(self) -> tuple[Floats, Floats]:
        """Return the standard errors of both margins."""
        return standard_errors(self.covariance_a), standard_errors(self.covariance_b)

    @property
    def linear(self) -> Floats:
        """Return Q, the covariance of p_a·e_b' + e_a·p_b'."""
        a, b = self.a[:, :, None, None, None], self.b[:, None, :, None, None]
        a_too, b_too = self.a[:, None, None, :, None], self.b[:, None, None, None, :]
        of_a, of_b, ab, ba = self._covariances
        return self._flat(a * a_too * of_b + b * b_too * of_a + a * b_too * ba + b * a_too * ab)

    @property
    def square(self) -> Floats:
        """Return E, the covariance of e_a·e_b'."""
        of_a, of_b, ab, ba = self._covariances
        return self._flat(of_a * of_b + ab * ba)

    @property
    def _covariances(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return all covariances, by values of a, of b, of a and of b."""
        return (
            self.covariance_a[:, :, None, :, None],
            self.covariance_b[:, None, :, None, :],
            self.covariance_ab[:, :, None, None, :],
            self.covariance_ab.swapaxes(1, 2)[:, None, :, :, None],
        )

    def _flat(self, products: Floats) -> Floats:
        width = self.a.shape[1] * self.b.shape[1]
        return products.reshape(-1, width, width)


def _shrink(margin: Floats, covariance: Floats) -> Floats:
    """Return margins drawn towards uniform ones by what their noise adds to their squares."""
    uniform = 1 / margin.shape[1]
    noise = np.einsum("rii->r", covariance)
    square = ((margin - uniform) ** 2).sum(axis=1)
    signal = np.divide(square - noise, square, out=np.zeros_like(square), where=square > noise)
    likely: Floats = uniform + np.sqrt(signal)[:, None] * (margin - uniform)
    return likely


class Residuals(NamedTuple):
    """How tables differ from independent ones: U (as cells), what errors make of it, and W."""

    margins: Margins
    residual: Floats
    change: Callable[[Floats], Floats]
    """What errors of cells (the last axis) make of U, to first order."""
    second_order: Floats
    """(Q − E)₊ − Q, as contrasts."""
    covariance: Floats
    """V, as contrasts."""
    statistic: Floats

    @classmethod
    def of(cls, cells: Floats, cell_covariance: Floats) -> Residuals:
        """Compare tables of these cells and covariances with independent ones."""
        margins, shape = Margins.of(cells, cell_covariance), cells.shape[1:]
        a, b = margins.a[:, None, :, None], margins.b[:, None, None, :]

        def change(errors: Floats) -> Floats:
            off = errors.reshape(*errors.shape[:2], *shape)
            of_a, of_b = off.sum(axis=3, keepdims=True), off.sum(axis=2, keepdims=True)
            change: Floats = (off - of_a * b - a * of_b).reshape(errors.shape)
            return change

        residual = cells - margins.a[:, :, None] * margins.b[:, None, :]
        residual = residual + margins.covariance_ab
        bases = [contrast_basis(size) for size in shape]

        second = _second_order(margins.contrasts())
        covariance = (
            both_sides(cell_covariance, lambda off: along_axes(change(off), bases)) + second
        )
        off = along_axes(residual.reshape(len(cells), -1), bases)
        statistic = quadratic(off[:, None], covariance)[:, 0]
        return cls(margins, residual, change, second, covariance, statistic)

    def as_cells(self, covariance: Floats) -> Floats:
        """Return the covariance of cells of a covariance of contrasts."""
        back = [contrast_basis(size).T for size in self.residual.shape[1:]]
        return both_sides(covariance, partial(along_axes, matrices=back))


def statistics_of(tables: Floats, covariance: Floats) -> Floats:
    """Return W of tables that all have this covariance.

    With e_w = e_a·p_b' + p_a·e_b' = G·e_z, z being both margins, J·Σ·J' − Q is Cov(e) − Cov(e, e_z)·G' −
    G·Cov(e_z, e). Only G is a table's own, and it has few columns.
    """
    one, other = (contrast_basis(size) for size in tables.shape[1:])
    df, rank = len(one) * len(other), len(one) + len(other)
    margins = Margins.of(tables[:1], covariance[None]).contrasts()
    noise, turn = np.linalg.eigh(margins.square[0])
    sums = np.kron(one, np.ones(len(other) + 1)), np.kron(np.ones(len(one) + 1), other)
    parts = np.vstack([turn.T @ np.kron(one, other), *sums])
    joint = parts @ covariance @ parts.T
    variances, axes = np.linalg.eigh(joint[df:, df:])
    if rank * _FEW > df or min(noise[0], variances[0]) < 0:
        return Residuals.of(tables, np.repeat(covariance[None], len(tables), axis=0)).statistic
    axes *= np.sqrt(variances)
    turned, statistics = turn.reshape(len(one), len(other), df), []
    for start in range(0, len(tables), _TOGETHER):
        contrasts = tables[start : start + _TOGETHER].reshape(-1, parts.shape[1]) @ parts.T
        a, b = contrasts[:, df : df + len(one)], contrasts[:, df + len(one) :]
        of_a, of_b = np.tensordot(b, turned, (1, 1)), np.tensordot(a, turned, (1, 0))
        off = contrasts[:, :df] + margins.covariance_ab.ravel() @ turn
        off -= np.einsum("ri,rik->rk", a, of_a)
        own = np.concatenate((of_a, of_b), axis=1).swapaxes(1, 2)
        cross, positive = (
            np.broadcast_to(joint[:df, df:], own.shape),
            positive_part(own @ axes, noise),
        )
        left = np.concatenate((-own, -cross, positive), axis=2)
        right = np.concatenate((cross, own, positive), axis=2).swapaxes(1, 2)
        statistics.append(quadratic(off[:, None], joint[:df, :df] + left @ right)[:, 0])
    return np.concatenate(statistics)


def _second_order(contrasts: Margins) -> Floats:
    """Return (Q − E)₊ − Q."""
    linear = contrasts.linear
    difference = linear - contrasts.square
    if difference.shape[1] == 1:
        return difference.clip(0, None) - linear
    if difference.shape[1] > _MOST_CLIPPED:
        return np.zeros_like(difference)
    values, vectors = np.linalg.eigh(difference)
    positive: Floats = (vectors * values.clip(0, None)[:, None, :]) @ vectors.swapaxes(1, 2)
    return positive - linear
