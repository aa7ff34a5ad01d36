"""InpHTBits: InpHT on the bits of attributes' codes, as the paper encodes categories; for comparison.

*Idea.* Every attribute is written as bits, the bits are taken for attributes, and tables of k
attributes for tables of k₂ bits, where k₂ is what the k widest attributes have. InpHT then asks for a
random coefficient of at most k₂ *bits*, which may touch up to k₂ attributes.

*Privacy.* InpHT's: one bit with odds e^ε, about a set of bits drawn without looking at the record.

*Estimator.* InpHT's. Coefficients that touch more than k attributes are in no table that is
wanted, and what is reported about them is lost: of eight attributes with 4 to 6 values, 99 reports in
100. Which of those useless coefficients are asked makes no difference, so they are drawn
among all that touch as many attributes, as often as the paper draws such.

*Variance.* InpHT's, with so many fewer people.

*Source.* Cormode, Kulkarni, Srivastava, SIGMOD 2018, §6 and its corollary for categorical data.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from deniable.design.mixtures import whole_weights
from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Subset
from deniable.schema.schema import Schema
from deniable.survey.template import Template


class InpHTBits(Mechanism):
    """One random coefficient of at most k₂ bits, by randomized response."""

    name = "InpHTBits"

    @classmethod
    def design(
        cls, schema: Schema, order: int, epsilon: float, **options: Any
    ) -> tuple[Template, ...]:
        """Return a template per number of attributes touched, by how many sets of bits do so."""
        if schema.is_binary:
            raise SurveyError(
                f"{cls.name} is InpHT where all attributes have two values; take that."
            )
        answer = Subset.within(epsilon, 2)
        counts = _sets_of_bits(schema.sizes, order)
        weights = whole_weights(np.array([count / sum(counts) for count in counts]))
        return tuple(
            Template(attributes, ((1 << attributes) - 1,), answer, weights=(weight,))
            for attributes, weight in enumerate(weights, start=1)
        )


def _order_in_bits(sizes: tuple[int, ...], order: int) -> int:
    """Return k₂: the bits that ``order`` attributes have at most."""
    return sum(sorted((size - 1).bit_length() for size in sizes)[-order:])


def _sets_of_bits(sizes: tuple[int, ...], order: int) -> list[int]:
    """Return how many sets of at most k₂ bits touch exactly 1, 2, … attributes."""
    most = _order_in_bits(sizes, order)
    attributes = min(len(sizes), most)
    counts = np.zeros((attributes + 1, most + 1), object)  # by attributes touched, and by bits
    counts[0, 0] = 1
    for size in sizes:
        width = (size - 1).bit_length()
        more = counts.copy()
        for bits in range(1, min(width, most) + 1):
            more[1:, bits:] += comb(width, bits) * counts[:-1, : most + 1 - bits]
        counts = more
    return [int(count) for count in counts[1:].sum(axis=1)]
