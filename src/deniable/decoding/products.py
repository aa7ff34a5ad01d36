"""Products of two coefficients, attribute by attribute, as each attribute's question list says.

Coefficients of a table are numbered by mask (`deniable.survey.coefficients`). A product is a sum of
terms in the product of the lists' bases: one term where a list is closed, more where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deniable.questions.lists import QuestionList, Terms
from deniable.survey.coefficients import Floats, Ints, along_axes

__all__ = ["mean_products", "products_at_cells"]


def mean_products(cells: Floats, left: Ints, right: Ints, lists: Sequence[QuestionList]) -> Floats:
    """Return the mean over people of the product of two coefficients' signs, pair by pair.

    ``cells`` are those of the table.
    """
    moments = along_axes(cells[None, :], [each.basis.T for each in lists])[0]
    numbers, factors, pairs = _terms(left, right, np.ones(len(left)), lists, _signs)
    means: Floats = np.bincount(pairs, factors * moments[numbers], len(left)).astype(np.float64)
    return means


def products_at_cells(
    left: Ints, right: Ints, values: Floats, lists: Sequence[QuestionList]
) -> Floats:
    """Return Σ value·w_α·w_α' at every cell, where w_α is what θ_α contributes to a cell."""
    numbers, factors, _ = _terms(left, right, values, lists, _cells)
    bases = [each.basis for each in lists]
    count = int(np.prod([basis.shape[1] for basis in bases]))
    sums: Floats = along_axes(np.bincount(numbers, factors, count)[None, :], bases)[0]
    return sums


def _signs(each: QuestionList, left: Ints, right: Ints) -> Terms:
    return each.sign_products(left, right)


def _cells(each: QuestionList, left: Ints, right: Ints) -> Terms:
    return each.cell_products(left, right)


def _terms(
    left: Ints,
    right: Ints,
    values: Floats,
    lists: Sequence[QuestionList],
    products: Callable[[QuestionList, Ints, Ints], Terms],
) -> tuple[Ints, Floats, Ints]:
    """Return the terms of all pairs: their numbers in the lists' bases, factors, and pairs."""
    numbers, pairs, stride = np.zeros_like(left), np.arange(len(left)), 1
    for each in reversed(lists):
        left, i = np.divmod(left, each.count + 1)
        right, j = np.divmod(right, each.count + 1)
        terms = products(each, i, j)
        numbers = np.concatenate([numbers + part * stride for part, _ in terms])
        values = np.concatenate([values * factor for _, factor in terms])
        left, right, pairs = (np.tile(column, len(terms)) for column in (left, right, pairs))
        stride *= each.basis.shape[1]
    return numbers, values, pairs
