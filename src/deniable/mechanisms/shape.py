"""A question up to the choice of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from deniable.errors import SurveyError
from deniable.mechanisms.coefficients import Ints, positions
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary, answer_from_json

__all__ = ["MOST_CELLS", "Shape"]

MOST_CELLS = 1 << 24
"""The largest table of cells that a mechanism may hold in memory."""


@dataclass(frozen=True)
class Shape:
    """A question up to the choice of attributes: the parities it asks of those, and how."""

    attributes: int
    parities: tuple[int, ...]
    answer: Subset | Unary | Bitwise
    cell: bool = False

    def __post_init__(self) -> None:
        most = NARROW if isinstance(self.answer, Bitwise) else MOST_CELLS.bit_length() - 1
        if len(self.parities) > most or self.answer.symbols != 1 << len(self.parities):
            raise SurveyError("A survey's shape does not fit its way of answering.")
        independent: list[int] = []
        for parity in self.parities:
            for other in independent:
                parity = min(parity, parity ^ other)
            if not parity:
                raise SurveyError("A survey's parities must be independent of each other.")
            independent.append(parity)

    @classmethod
    def table(cls, attributes: int, answer: Subset | Unary | Bitwise) -> Shape:
        """Return the shape that asks for the joint value of its attributes."""
        return cls(attributes, tuple(1 << i for i in range(attributes)), answer, cell=True)

    @cached_property
    def members(self) -> Ints:
        """Return the coefficient (a mask over the attributes) behind each non-zero symbol mask."""
        masks = np.zeros(1, np.int64)
        for parity in self.parities:
            masks = np.concatenate((masks, masks ^ parity))
        return masks[1:]

    def held(self, level: int) -> int:
        """Return how many of the members are coefficients of ``level`` attributes."""
        if self.cell:  # all of them; listing those of a whole record may take a second
            return comb(self.attributes, level)
        return int((np.bitwise_count(self.members) == level).sum())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        asks: dict[str, Any] = (
            {"cell": True}
            if self.cell
            else {"parities": [positions(parity) for parity in self.parities]}
        )
        return {"attributes": self.attributes, "answer": self.answer.to_json(), **asks}

    @classmethod
    def from_json(cls, form: Any) -> Shape:
        """Read the JSON form strictly."""
        count = form.get("attributes") if isinstance(form, dict) else None
        if type(count) is not int or not 1 <= count <= NARROW:
            raise SurveyError(f"A survey's shape must be about 1 to {NARROW} attributes.")
        match form:
            case {"attributes": _, "answer": answer, "cell": True, **rest}:
                made = cls.table(count, answer_from_json(answer))
            case {"attributes": _, "answer": answer, "parities": [_, *_] as bits, **rest}:
                if not all(
                    isinstance(bit, list)
                    and bit
                    and all(type(i) is int for i in bit)
                    and bit == sorted(set(bit))
                    and bit[0] >= 0
                    and bit[-1] < count
                    for bit in bits
                ):
                    raise SurveyError("A survey's parities must list positions of attributes.")
                parities = tuple(sum(1 << i for i in bit) for bit in bits)
                made = cls(count, parities, answer_from_json(answer))
            case _:
                raise SurveyError("A survey's shape must hold attributes, answer and what it asks.")
        if rest:
            raise SurveyError("A survey's shape holds fields that it should not.")
        return made
