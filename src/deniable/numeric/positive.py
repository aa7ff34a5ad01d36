"""The part of a difference of two covariances that is a covariance."""

from __future__ import annotations

import numpy as np

from deniable.numeric.axes import Floats

_ROUNDS, _STEPS = 2, 3
_EXACT = 1e-11
"""Directions are exact once they miss by so small a part of the longest one."""


def positive_part(factors: Floats, less: Floats) -> Floats:
    """Return Z with Z·Z' = (K·K' − diag e)₊ for each K of a few columns, where no e is negative.

    No more directions are positive than K has columns, and none of them is orthogonal to all columns:
    subspace iteration begins at these, and takes few steps where K is large beside what differs in e.
    What has not settled by then is decomposed as a whole.
    """
    result, width = np.empty_like(factors), factors.shape[2]
    rows, axes = np.arange(len(factors)), np.linalg.qr(factors)[0]
    for _ in range(_ROUNDS):
        own = factors[rows]
        for _ in range(_STEPS):
            axes = np.linalg.qr(_times(own, less - less.mean(), axes))[0]
        image = _times(own, less, axes)
        values, turn = np.linalg.eigh(axes.swapaxes(1, 2) @ image)
        turn = turn * np.sqrt(values.clip(0, None))[:, None]
        result[rows] = axes @ turn
        off = np.abs(image @ turn - result[rows] * values[:, None]).max(axis=(1, 2))
        misses = off > _EXACT * values[:, -1].clip(0, None) ** 1.5
        rows, axes = rows[misses], axes[misses]
        if not len(rows):
            return result
    values, axes = np.linalg.eigh(factors[rows] @ factors[rows].swapaxes(1, 2) - np.diag(less))
    result[rows] = axes[:, :, -width:] * np.sqrt(values[:, None, -width:].clip(0, None))
    return result


def _times(factors: Floats, less: Floats, axes: Floats) -> Floats:
    image: Floats = factors @ (factors.swapaxes(1, 2) @ axes) - less[:, None] * axes
    return image
