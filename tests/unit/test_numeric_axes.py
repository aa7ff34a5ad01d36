"""Matrices along the axes of flat arrays, means taken out, contrasts, bins and covariances."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np
import pandas as pd
import pytest

from deniable.numeric.axes import along_axes, centred, contrast_basis, product_of_rows, stacks
from deniable.numeric.bins import bins_of, members_of
from deniable.numeric.covariances import (
    both_sides,
    mark_unknown,
    standard_errors,
    unknown_covariance,
    variances_of,
)

SHAPES = [(3, 2), (2, 4), (5, 1)]
"""Of matrices along three axes: 2·4·1 cells become 3·2·5."""


@pytest.mark.parametrize("rows", [(), (1,), (4,), (0,), (3, 2)])
def test_matrices_along_axes_are_a_kronecker_product(rows: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    matrices = [random.standard_normal(shape) for shape in SHAPES]
    cells = random.standard_normal((*rows, 8))
    result = along_axes(cells, matrices)
    assert result.shape == (*rows, 30)
    assert result == pytest.approx(cells @ reduce(np.kron, matrices).T)


def test_each_row_may_have_matrices_of_its_own() -> None:
    random = np.random.default_rng(2)
    stacks = [random.standard_normal((6, *shape)) for shape in SHAPES]
    cells = random.standard_normal((6, 8))
    alone = [along_axes(row, [stack[i] for stack in stacks]) for i, row in enumerate(cells)]
    assert along_axes(cells, stacks) == pytest.approx(np.array(alone))


def test_both_sides_of_a_covariance() -> None:
    random = np.random.default_rng(3)
    matrices, factor = [random.standard_normal((3, 2)) for _ in "ab"], random.random((7, 4, 4))
    covariance, whole = factor @ factor.swapaxes(1, 2), np.kron(*matrices)
    result = both_sides(covariance, partial(along_axes, matrices=matrices))
    assert result == pytest.approx(whole @ covariance @ whole.T)


def test_centred_cells_have_mean_0_along_axes_and_stay_so() -> None:
    cells = np.random.default_rng(4).standard_normal((3, 4, 5))
    pure = centred(cells, (1, 2))
    assert np.abs(pure.sum(axis=1)).max() < 1e-12
    assert np.abs(pure.sum(axis=2)).max() < 1e-12
    assert centred(pure, (1, 2)) == pytest.approx(pure)
    projections = [np.eye(size) - 1 / size for size in (4, 5)]
    assert pure.reshape(3, -1) == pytest.approx(along_axes(cells.reshape(3, -1), projections))


@pytest.mark.parametrize("size", [2, 3, 9])
def test_contrasts_are_orthonormal_and_none_is_of_the_mean(size: int) -> None:
    basis = contrast_basis(size)
    assert basis @ basis.T == pytest.approx(np.eye(size - 1))
    assert basis.T @ basis == pytest.approx(np.eye(size) - 1 / size)


def test_what_is_unknown_has_infinite_variance_and_no_covariance() -> None:
    covariance = np.ones((2, 3, 3))
    result = mark_unknown(covariance, np.array([[False, True, False], [False, False, False]]))
    assert result is covariance
    assert np.isnan(result[0]).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert variances_of(result).tolist() == [[1, np.inf, 1], [1, 1, 1]]
    assert standard_errors(4 * result)[0].tolist() == [2, np.inf, 2]
    by_table = mark_unknown(np.ones((2, 2, 2)), np.array([[True], [False]]), between=0.0)
    assert by_table.tolist() == [[[np.inf, 0], [0, np.inf]], [[1, 1], [1, 1]]]
    nothing = unknown_covariance(2, 1)
    assert variances_of(nothing).tolist() == [[np.inf, np.inf]]
    assert np.isnan(nothing).sum() == 2


def test_rows_are_multiplied_as_the_parts_they_name_are() -> None:
    random = np.random.default_rng(5)
    parts = [random.random(size) for size in (2, 2, 3)]
    rows = np.array([[0, 2], [1, 2]])
    result = product_of_rows(stacks(parts, rows))
    assert result == pytest.approx(
        np.stack([np.kron(parts[0], parts[2]), np.kron(parts[1], parts[2])])
    )


def test_bins_are_those_of_pandas() -> None:
    cuts, levels = (2, 3, 7), 9
    codes = pd.cut(np.arange(levels), [-np.inf, *cuts, np.inf], right=False).codes
    assert bins_of(cuts, levels, levels).tolist() == codes.tolist()
    assert bins_of(cuts, levels, levels + 1).tolist() == [*codes, 4]
    assert (
        members_of(bins_of(cuts, levels, levels), 4).tolist()
        == pd.get_dummies(codes).T.to_numpy().tolist()
    )
