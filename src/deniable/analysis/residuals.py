"""How a table differs from that of independent attributes, and how sure that is.

For a pair with the estimated table P̂ and margins p̂_a, p̂_b,

    U = P̂ − p̂_a·p̂_b' + Cov(p̂_a, p̂_b)        W = U'·V⁺·U  ~  χ² with (r_a − 1)(r_b − 1) degrees

where V is the covariance of U: sampling and privacy noise, from the exact covariance Σ of the table.
U is a product of estimates, so V has a second-order part E, with Σ_a ⊗ Σ_b and the products of
Cov(p̂_a, p̂_b); and an estimated margin's square exceeds the true one by the margin's own variance. So
V = J·Σ·J' + E, with J at margins whose squared distance from uniform ones is less by just that excess
(or 0, where there is more noise than distance). For InpHT and yes/no attributes this is

    σ²_ab + θ_b²σ²_a + θ_a²σ²_b + σ²_aσ²_b    with θ̂² − σ² for θ²
    = σ²_ab + θ̂_b²σ²_a + θ̂_a²σ²_b − σ²_aσ²_b

but it is a covariance in every case, and never below what noise alone gives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from deniable.mechanisms.coefficients import along_axes

__all__ = ["Margins", "Residuals", "both_sides"]

Floats = NDArray[np.float64]


class Margins(NamedTuple):
    """The margins of tables, with their covariances; tables are (rows, values of b, values of a)."""

    a: Floats
    b: Floats
    spread_a: Floats
    spread_b: Floats
    spread_ab: Floats
    """Cov(p̂_a, p̂_b), by values of a and of b."""

    @classmethod
    def of(cls, cells: Floats, spread: Floats) -> Margins:
        """Return the margins of tables of these cells and covariances."""
        spread = spread.reshape(len(spread), *cells.shape[1:], *cells.shape[1:])
        return cls(
            cells.sum(axis=1),
            cells.sum(axis=2),
            spread.sum(axis=(1, 3)),
            spread.sum(axis=(2, 4)),
            spread.sum(axis=(1, 4)),
        )

    @property
    def likely(self) -> tuple[Floats, Floats]:
        """Return margins whose squared distance from uniform ones is what noise does not explain."""
        return _shrunk(self.a, self.spread_a), _shrunk(self.b, self.spread_b)

    @property
    def errors(self) -> tuple[Floats, Floats]:
        """Return the standard errors of both margins."""
        return _errors(self.spread_a), _errors(self.spread_b)

    @property
    def second_order(self) -> Floats:
        """Return the covariance of the product of both margins' errors."""
        both = self.spread_b[:, :, None, :, None] * self.spread_a[:, None, :, None, :]
        crossed = self.spread_ab[:, None, :, :, None]
        made = both + crossed * self.spread_ab.swapaxes(1, 2)[:, :, None, None, :]
        cells = self.a.shape[1] * self.b.shape[1]
        return made.reshape(-1, cells, cells)


def _errors(spread: Floats) -> Floats:
    """Return standard errors."""
    made: Floats = np.sqrt(np.einsum("rii->ri", spread).clip(0, None))
    return made


def _shrunk(margin: Floats, spread: Floats) -> Floats:
    """Return margins drawn towards uniform ones by what their noise adds to their squares."""
    uniform = 1 / margin.shape[1]
    noise = np.einsum("rii->r", spread)
    square = ((margin - uniform) ** 2).sum(axis=1)
    kept = np.sqrt(
        np.divide(square - noise, square, out=np.zeros_like(square), where=square > noise)
    )
    made: Floats = uniform + kept[:, None] * (margin - uniform)
    return made


def both_sides(
    spread: Floats, shape: tuple[int, int], change: Callable[[Floats], Floats]
) -> Floats:
    """Return A·Σ·A' for each Σ, where A is how a table's errors change."""
    for _ in range(2):
        errors = spread.reshape(*spread.shape[:2], *shape)
        spread = change(errors).reshape(spread.shape).swapaxes(1, 2)
    return spread


class Residuals(NamedTuple):
    """How tables differ from independent ones: U, its covariance V, and W."""

    margins: Margins
    residual: Floats
    change: Callable[[Floats], Floats]
    """What errors of cells, (rows, any, values of b, values of a), make of U, to first order."""
    second_order: Floats
    covariance: Floats
    statistic: Floats

    @classmethod
    def of(cls, cells: Floats, spread: Floats) -> Residuals:
        """Compare tables (rows, values of b, values of a) of these covariances with independence."""
        margins = Margins.of(cells, spread)
        a, b = margins.likely

        def change(off: Floats) -> Floats:
            of_a, of_b = off.sum(axis=2, keepdims=True), off.sum(axis=3, keepdims=True)
            made: Floats = off - of_b * a[:, None, None, :] - b[:, None, :, None] * of_a
            return made

        shape = (cells.shape[1], cells.shape[2])
        residual = cells - margins.b[:, :, None] * margins.a[:, None, :]
        residual = residual + margins.spread_ab.swapaxes(1, 2)
        second = margins.second_order
        covariance = both_sides(spread, shape, change) + second
        return cls(margins, residual, change, second, covariance, _wald(residual, covariance))


def _wald(residual: Floats, covariance: Floats) -> Floats:
    """Return U'V⁺U; U and V have nothing along a table's margins, so these are left out first."""
    rows, *shape = residual.shape
    contrasts = [linalg.helmert(size) for size in shape[::-1]]
    off = along_axes(residual.reshape(rows, -1), contrasts)
    df = off.shape[1]
    half = along_axes(covariance.reshape(-1, prod(shape)), contrasts).reshape(rows, -1, df)
    full = along_axes(half.swapaxes(1, 2).reshape(-1, prod(shape)), contrasts).reshape(rows, df, df)
    if df == 1:
        alone = full[:, 0, 0]
        square: Floats = np.divide(off[:, 0] ** 2, alone, out=np.zeros(rows), where=alone > 0)
        return square
    # A value that nobody has and no noise hides has no variance, and no residual either.
    least = 1e-12 * np.einsum("rii->r", full) / df
    full = full + np.maximum(least, 1e-300)[:, None, None] * np.eye(df)
    statistic: Floats = np.einsum("ri,ri->r", off, np.linalg.solve(full, off[:, :, None])[:, :, 0])
    return statistic
