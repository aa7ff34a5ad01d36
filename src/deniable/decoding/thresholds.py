"""What reports about three cuts at once tell of each: scores of functions of four intervals.

The score of a function g of the true symbol is (Σ_{s in support} g(s) − q·Σg)/(p − q), p and q being how
often a report holds the true symbol and another one. Its mean is the mean of g.
"""

from __future__ import annotations

import numpy as np

from deniable.numeric.covariances import variances_of
from deniable.questions.answers import Inclusion
from deniable.survey.coefficients import Floats

SYMBOLS = np.array([0, 2, 3, 1])
"""The symbol of each interval: bit 0 is set beyond the middle cut, bit 1 between the outer ones."""

SIGNS: Floats = np.ones((3, 4))
"""The sign of each cut (rows) for each symbol."""
for _cut in range(3):
    SIGNS[_cut, SYMBOLS[_cut + 1 :]] = -1


def cut_sums(supports: Floats, people: Floats, law: Inclusion) -> Floats:
    """Return the sums of the scores of three cuts, of slots (rows) with these supports and reports."""
    part = float(law.other) * np.outer(people, SIGNS.sum(axis=1))
    sums: Floats = (supports @ SIGNS.T - part) / float(law.contrast)
    return sums


def cut_products(law: Inclusion) -> Floats:
    """Return the mean products of the scores of three cuts, for each interval that people are in."""
    own, other = float(law.own), float(law.other)
    sums, products = SIGNS.sum(axis=1), np.zeros((4, 3, 3))
    for interval, symbol in enumerate(SYMBOLS.tolist()):
        both = np.full((4, 4), float(law.two_others))
        both[symbol], both[:, symbol] = float(law.own_and_other), float(law.own_and_other)
        chances = np.where(np.arange(4) == symbol, own, other)
        np.fill_diagonal(both, chances)
        lone = other * np.outer(sums, SIGNS @ chances)
        products[interval] = (
            SIGNS @ both @ SIGNS.T + other**2 * np.outer(sums, sums) - lone - lone.T
        )
    products /= float(law.contrast) ** 2
    return products


def cut_moments(law: Inclusion) -> Floats:
    """Return the second moments of the scores of three cuts, where symbols are equally common."""
    moments: Floats = variances_of(cut_products(law)).mean(axis=0)
    return moments
