"""What the ways of answering have in common."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.questions.entropy import WORD, Source, Stream
from deniable.questions.exact import exponential, log_down

NARROW = 62
"""The widest bit mask that is reported as an integer."""

A = TypeVar("A", bound="Answer")


@dataclass(frozen=True)
class Inclusion:
    """How often a report's support holds the true symbol and other symbols.

    ``own``: the true one · ``other``: a given other one · ``own_and_other``: both ·
    ``two_others``: two given others. For α ≠ 0 the score Σ_{s in support} χ_α(s)/(own − other) has
    mean θ_α, and products of scores have mean `cross`·θ_{α⊕α'}, or `second_moment` where α = α'.
    """

    own: Fraction
    other: Fraction
    own_and_other: Fraction
    two_others: Fraction

    @property
    def contrast(self) -> Fraction:
        """Return own − other, by which scores are divided."""
        return self.own - self.other

    @property
    def cross(self) -> Fraction:
        """Return κ: the mean of a product of two scores is κ·θ of their product."""
        return (self.contrast - 2 * (self.own_and_other - self.two_others)) / self.contrast**2

    def second_moment(self, symbols: int) -> Fraction:
        """Return V, the mean of one squared score."""
        return self.cross + symbols * (self.other - self.two_others) / self.contrast**2


class Answer(Protocol):
    """What every way of answering can do; ``symbols`` is the number of true answers."""

    @property
    def symbols(self) -> int:
        """Return M: the true answer is an integer below it."""
        ...

    @property
    def outcomes(self) -> int:
        """Return how many different values may be reported."""
        ...

    @property
    def ratio(self) -> Fraction:
        """Return the largest ratio of a value's probabilities under two true answers, e^ε."""
        ...

    @property
    def words(self) -> int:
        """Return the 64-bit words that a device draws for one answer, if none is rejected."""
        ...

    @property
    def law_total(self) -> int:
        """Return the common denominator of the law."""
        ...

    def law(self, symbol: int) -> list[int]:
        """Return the probability of every value, in order, times `law_total`."""
        ...

    def answer(self, symbol: int, source: Source) -> int:
        """Draw the value one device reports."""
        ...

    def answers(self, symbols: NDArray[Any], stream: Stream) -> NDArray[Any]:
        """Draw the values of many people with the same way of answering."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...


def floor(probability: Fraction) -> int:
    """Return the largest threshold, out of 2⁶⁴, that is not above a probability."""
    return (WORD * probability.numerator) // probability.denominator


def product_law(ones: list[int]) -> list[int]:
    """Return the law of independent bits, bit j set with weight ones[j] out of 2⁶⁴."""
    law = [1]
    for one in ones:
        law = [p * (WORD - one) for p in law] + [p * one for p in law]
    return law


def checked(answer: A, epsilon: float) -> A:
    """Return the answer if 64 bits express ε well.

    Far below 2⁻⁶⁴ they do not even keep the bound: the nearest threshold may be on the other side.
    """
    if not epsilon * (1 - 1e-3) <= log_down(answer.ratio) <= epsilon:
        raise too_small(epsilon)
    if answer.ratio > exponential(epsilon):
        raise AssertionError("rounding went the wrong way")
    return answer


def too_small(epsilon: float) -> SurveyError:
    """Return the error of an ε that no threshold expresses."""
    return SurveyError(
        f"epsilon = {epsilon!r} is too small to be expressed with 64-bit thresholds here; "
        "take a larger one."
    )
