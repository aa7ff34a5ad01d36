"""Linear forms of coefficients: means of products of functions, one function for each attribute.

Whatever a survey's coefficients span is a form: a cell, a share, the mean of a number, the mean of a
product of two numbers, or of a number among people with some value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from deniable.survey.coefficients import Floats, Ints, Numbering

if TYPE_CHECKING:
    from deniable.decoding.evidence import Overview


@dataclass(frozen=True, eq=False)
class Form:
    """A constant, and the weights of some coefficients by their numbers."""

    constant: float
    numbers: Ints
    weights: Floats

    def at(self, theta: Floats) -> float:
        """Return the form's value."""
        return self.constant + float(self.weights @ theta[self.numbers])

    def scaled(self, factor: float) -> Form:
        """Return a multiple of the form."""
        return Form(factor * self.constant, self.numbers, factor * self.weights)


class FormEvidence(ABC):
    """Evidence of which forms can be taken: its estimates are linear in numbered parts."""

    numbering: Numbering

    @property
    @abstractmethod
    def overview(self) -> Overview:
        """Return what is known of every part."""

    @abstractmethod
    def weights_of(self, attribute: int, functions: Floats) -> Floats:
        """Return the weights of 1 and of an attribute's parts in means of functions (rows)."""

    @abstractmethod
    def form_covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of linear forms of parts.

        It is infinite where something was never asked.
        """


def product_form(evidence: FormEvidence, functions: Mapping[int, Floats]) -> Form:
    """Return the mean of a product of functions of attributes' codes, by the attributes' positions."""
    if not functions:
        return Form(1.0, np.zeros(0, np.int64), np.zeros(0))
    attributes = sorted(functions)
    parts = [evidence.weights_of(a, functions[a][None, :])[0] for a in attributes]
    weights = reduce(np.multiply.outer, parts).ravel()
    at = np.flatnonzero(weights[1:])
    numbers = evidence.numbering.of_tables(np.array([attributes]))[0]
    return Form(float(weights[0]), numbers[at], weights[1:][at])


def sum_of(forms: Sequence[Form]) -> Form:
    """Return the sum of some forms."""
    return Form(
        sum(form.constant for form in forms),
        np.concatenate([form.numbers for form in forms]),
        np.concatenate([form.weights for form in forms]),
    )


def weight_matrix(forms: Sequence[Form]) -> tuple[Ints, Floats]:
    """Return the coefficients that forms take, and their weights: a row for each, a column per form."""
    numbers = np.unique(np.concatenate([form.numbers for form in forms]))
    matrix = np.zeros((len(numbers), len(forms)))
    for column, form in enumerate(forms):
        np.add.at(matrix[:, column], np.searchsorted(numbers, form.numbers), form.weights)
    return numbers, matrix
