"""Exact numbers: e^ε as a rational, its logarithm rounded down, integers from decimal texts."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import nextafter

from deniable.errors import QuestionError

LARGEST_EPSILON = 20.0
"""Beyond this, 64-bit thresholds no longer express ε well."""

_DIGITS = Context(prec=80)


def exponential(epsilon: float, share: int = 1) -> Fraction:
    """Return a rational number at most e^(ε/share), equal to it in about 75 digits."""
    exact = _DIGITS.divide(Decimal(epsilon), Decimal(share)).exp(_DIGITS)
    return Fraction(exact) * (1 - Fraction(1, 10**75))


def log_down(ratio: Fraction) -> float:
    """Return the natural logarithm of a ratio as a float, rounded down."""
    exact = _DIGITS.subtract(
        Decimal(ratio.numerator).ln(_DIGITS), Decimal(ratio.denominator).ln(_DIGITS)
    )
    nearest = float(exact)
    return nearest if Decimal(nearest) <= exact else nextafter(nearest, float("-inf"))


def decimal(text: str) -> int:
    """Return an integer below 10²⁰ from its one decimal text."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and str(int(text)) == text):
        raise QuestionError("A number must be a decimal integer without sign or leading zeros.")
    return int(text)
