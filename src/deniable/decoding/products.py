"""Products of two coefficients, attribute by attribute, as each attribute's question list says.

Coefficients of a table are numbered by mask (`deniable.survey.coefficients`). A product is a sum of
terms in the product of the lists' bases: one term where a list is closed, more where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deniable.numeric.axes import along_axes
from deniable.questions.lists import QuestionList, Terms
from deniable.survey.coefficients import Floats, Ints


def mean_products(cells: Floats, left: Ints, right: Ints, lists: Sequence[QuestionList]) -> Floats:
    """Return the mean over people of the product of two coefficients' signs, pair by pair.

    ``cells`` are those of the table.
    """
    moments = along_axes(cells, [each.basis.T for each in lists])
    numbers, factors, pairs = _terms(left, right, np.ones(len(left)), lists, _signs)
    parts: Floats = factors * moments[numbers]
    if len(parts) > len(left):
        parts = np.bincount(pairs, parts, len(left)).astype(np.float64)
    return parts


def products_at_cells(
    left: Ints, right: Ints, values: Floats, lists: Sequence[QuestionList]
) -> Floats:
    """Return Σ value·w_α·w_α' at every cell, where w_α is what θ_α contributes to a cell."""
    numbers, factors, _ = _terms(left, right, values, lists, _cells)
    bases = [each.basis for each in lists]
    count = int(np.prod([basis.shape[1] for basis in bases]))
    sums: Floats = along_axes(np.bincount(numbers, factors, count), bases)
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
        left, i = _divided(left, each.count + 1)
        right, j = _divided(right, each.count + 1)
        terms = products(each, i, j)
        if len(terms) == 1:
            numbers, values = numbers + terms[0][0] * stride, values * terms[0][1]
            stride *= each.basis.shape[1]
            continue
        numbers = np.concatenate([numbers + part * stride for part, _ in terms])
        values = np.concatenate([values * factor for _, factor in terms])
        left, right, pairs = (np.tile(column, len(terms)) for column in (left, right, pairs))
        stride *= each.basis.shape[1]
    return numbers, values, pairs


def _divided(numbers: Ints, base: int) -> tuple[Ints, Ints]:
    """Return quotients and remainders; by a power of two, which is far faster, as shifts."""
    if base & (base - 1):
        return np.divmod(numbers, base)
    return numbers >> base.bit_length() - 1, numbers & base - 1
