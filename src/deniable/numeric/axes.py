"""Arrays flat in C order: matrices along their axes, means taken out, and contrasts of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def along_axes(cells: NDArray[Any], matrices: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return cells (the last axis, flat in C order) with a matrix applied along each of their axes.

    A matrix is one for all, or a stack of one for each row of cells.
    """
    rows = cells.shape[:-1]
    before, after = 1, prod(matrix.shape[-1] for matrix in matrices)
    for matrix in reversed(matrices):
        after //= matrix.shape[-1]
        split = cells.reshape(*rows, after, matrix.shape[-1], before)
        cells = matrix[..., None, :, :] @ split
        before *= matrix.shape[-2]
    return cells.reshape(*rows, before)


def kronecker(matrices: Iterable[NDArray[Any]]) -> Floats:
    """Return the one matrix that does to flat cells what each of these does along its axis."""
    return reduce(lambda a, b: np.asarray(np.kron(a, b), np.float64), matrices)


def centred(cells: Floats, axes: Iterable[int]) -> Floats:
    """Return cells with the mean taken out along each of these axes: a pure interaction of all."""
    for axis in axes:
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells


def stacks(parts: Sequence[NDArray[Any]], rows: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return the parts that each column of rows names, those of all rows on top of each other."""
    return [np.stack([parts[number] for number in column]) for column in rows.T]


def product_of_rows(factors: Sequence[Floats]) -> Floats:
    """Return the product of rows along an axis for each factor, flat in C order."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), factors)


@lru_cache(maxsize=16)
def contrast_basis(size: int) -> Floats:
    """Return the contrasts of so many values (rows): orthonormal, and each adds up to 0."""
    from scipy import linalg

    basis: Floats = linalg.helmert(size)
    basis.setflags(write=False)  # all who ask have the same one
    return basis
