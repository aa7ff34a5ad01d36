"""What estimates with a covariance tell: whether they are off, and what their ratios may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.numeric.axes import Floats

_NOTHING = 1e-12


def wald(
    off: Floats, covariance: Floats, nothing: float | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """Return Wald's statistic U'·V⁺·U of what is off (the last axis), and its degrees of freedom.

    Directions with no variance but rounding's, as where nobody is in some cell, tell nothing and have
    no degree of freedom. That is 10⁻¹² of the largest, so all must be in one unit; people make more,
    and rounding 10⁻¹⁵, unless V is a difference: then ``nothing`` says how much.
    """
    variances, axes = np.linalg.eigh(covariance)
    least = _NOTHING * variances[..., -1:].clip(0, None) if nothing is None else nothing
    varies = variances > least
    along = (off[..., None, :] @ axes)[..., 0, :]
    squares = np.divide(along**2, variances, out=np.zeros_like(variances), where=varies)
    return squares.sum(axis=-1), varies.sum(axis=-1)


def quadratic(off: Floats, covariance: Floats) -> Floats:
    """Return U'·V⁺·U of each row of what is off, many times faster than `wald` for many tables.

    Here a hair is added to each variance instead: what nobody has and no noise hides has no variance,
    and is not off either, so that all degrees of freedom may be counted.
    """
    df = covariance.shape[-1]
    hair = (_NOTHING * np.einsum("...ii->...", covariance) / df).clip(1e-300, None)
    full = covariance + hair[..., None, None] * np.eye(df)
    if df == 1:  # what is said to vary by less than nothing does not
        solved = np.divide(off, full, out=np.zeros_like(off), where=covariance > 0)
    else:
        solved = np.linalg.solve(full, off.swapaxes(-1, -2)).swapaxes(-1, -2)
    squares: Floats = np.einsum("...ni,...ni->...n", off, solved)
    return squares


def fieller(
    above: Floats, below: Floats, noise: tuple[Floats, Floats, Floats], reach: float
) -> Floats:
    """Return Fieller's interval, stacked: the r for which above − r·below is as near to 0 as noise is.

    ``noise`` is the variance of what is above, its covariance with what is below, and the variance of
    that. Ends are not numbers where that is no interval: what is below may be 0.
    """
    of_above, of_both, of_below = (reach**2 * part for part in noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b, c = below**2 - of_below, above * below - of_both, above**2 - of_above
        root = b**2 - a * c
        # It is negative by rounding only, where nothing is off.
        half = np.sqrt(np.where(root > -_NOTHING * b**2, np.maximum(root, 0), np.nan))
        ends: Floats = np.where(a > 0, np.stack((b - half, b + half)) / a, np.nan)
    return ends
