"""Numbers on the way from −1 to 1, as functions of their codes, of which moments are the means."""

from __future__ import annotations

import numpy as np

from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats


class UnitNumber:
    """A number on the way from −1 to 1, with what is there of it: missing counts for nothing.

    ``by_step`` counts steps of the scale instead: on a logarithmic one, these are logarithms.
    """

    def __init__(self, attribute: Attribute, *, by_step: bool = False) -> None:
        numbers = np.arange(attribute.levels) if by_step else attribute.numbers
        low, high = float(numbers[0]), float(numbers[-1])
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        lack = np.zeros(attribute.codes - attribute.levels)
        self.value = np.append((numbers - low) / self.half - 1, lack)
        self.there = np.append(np.ones(attribute.levels), lack)
        self.has_missing = bool(len(lack))


def joint_moments(a: int, x: UnitNumber, b: int, y: UnitNumber) -> list[dict[int, Floats]]:
    """Return what the means of x, x², y, y², xy and of who has both numbers are taken of.

    Where nobody lacks a number, what single answers tell about it is all there is to its moments.
    """
    with_y = {b: y.there} if y.has_missing else {}
    with_x = {a: x.there} if x.has_missing else {}
    return [
        {a: x.value, **with_y},
        {a: x.value**2, **with_y},
        {b: y.value, **with_x},
        {b: y.value**2, **with_x},
        {a: x.value, b: y.value},
        {a: x.there, b: y.there} if with_x or with_y else {},
    ]
