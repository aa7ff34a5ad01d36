"""A question up to the choice of attributes, and how often it is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.mechanisms.coefficients import Ints, positions
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary, answer_from_json

__all__ = ["ALL_WEIGHT", "MOST_CELLS", "Shape", "pairs_among", "span", "swapped"]

MOST_CELLS = 1 << 24
"""The largest table of cells that a mechanism may hold in memory."""


ALL_WEIGHT = 1 << 32
"""What the weights of a survey's shapes add up to."""


@dataclass(frozen=True)
class Shape:
    """A question up to the choice of attributes: the parities it asks of those, and how.

    It is asked about any attributes, or only about the ``sets`` that are listed. ``weights`` say how
    often, out of 2³²: one for the shape, shared by all sets alike, or one for each set that is
    listed. Without weights, every question of the survey is as likely as any other.
    """

    attributes: int
    parities: tuple[int, ...]
    answer: Subset | Unary | Bitwise
    cell: bool = False
    weights: tuple[int, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None

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
    def table(
        cls, attributes: int, answer: Subset | Unary | Bitwise, weights: tuple[int, ...] = ()
    ) -> Shape:
        """Return the shape that asks for the joint value of its attributes."""
        bits = tuple(1 << i for i in range(attributes))
        return cls(attributes, bits, answer, cell=True, weights=weights)

    def slots(self, attributes: int) -> int:
        """Return how many questions have this shape, with so many attributes to choose from."""
        return comb(attributes, self.attributes) if self.sets is None else len(self.sets)

    @cached_property
    def members(self) -> Ints:
        """Return the coefficient (a mask over the attributes) behind each non-zero symbol mask."""
        return span(self.parities)[1:]

    def held(self, level: int) -> int:
        """Return how many of the members are coefficients of ``level`` attributes."""
        if self.cell:  # all of them; listing those of a whole record may take a second
            return comb(self.attributes, level)
        return int((np.bitwise_count(self.members) == level).sum())

    def held_together(self, order: int) -> NDArray[np.float64]:
        """Return how many ordered pairs of members have each |α|, |α'| and |α ∪ α'| up to order."""
        pairs = np.zeros((order + 1,) * 3)
        if self.cell:
            for left, right, both in np.ndindex(pairs.shape):
                if max(left, right) <= both <= left + right and left and right:
                    pairs[left, right, both] = pairs_among(self.attributes, left, right, both)
            return pairs
        masks = self.members[np.bitwise_count(self.members) <= order]
        union = np.bitwise_count(masks[:, None] | masks)
        sizes = np.broadcast_to(np.bitwise_count(masks), union.shape)
        fits = union <= order
        np.add.at(pairs, (sizes.T[fits], sizes[fits], union[fits]), 1)
        return pairs

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        asks: dict[str, Any] = (
            {"cell": True}
            if self.cell
            else {"parities": [positions(parity) for parity in self.parities]}
        )
        if self.sets is not None:
            asks |= {"sets": [list(each) for each in self.sets], "weights": list(self.weights)}
        elif self.weights:
            asks["weight"] = self.weights[0]
        return {"attributes": self.attributes, "answer": self.answer.to_json(), **asks}

    @classmethod
    def from_json(cls, form: Any) -> Shape:
        """Read the JSON form strictly."""
        count = form.get("attributes") if isinstance(form, dict) else None
        if type(count) is not int or not 1 <= count <= NARROW:
            raise SurveyError(f"A survey's shape must be about 1 to {NARROW} attributes.")
        rest: dict[Any, Any]
        match form:
            case {"attributes": _, "answer": answer, "cell": True, **rest}:
                made = cls.table(count, answer_from_json(answer))
            case {"attributes": _, "answer": answer, "parities": [_, *_] as bits, **rest}:
                if not all(_is_set(bit) and bit[-1] < count for bit in bits):
                    raise SurveyError("A survey's parities must list positions of attributes.")
                parities = tuple(sum(1 << i for i in bit) for bit in bits)
                made = cls(count, parities, answer_from_json(answer))
            case _:
                raise SurveyError("A survey's shape must hold attributes, answer and what it asks.")
        return replace(made, **_how_often(count, rest))


def span(parities: tuple[int, ...]) -> Ints:
    """Return the XOR of each set of parities, by the set's mask."""
    members = np.zeros(1, np.int64)
    for parity in parities:
        members = np.concatenate((members, members ^ parity))
    return members


def swapped(members: Ints, place: int) -> Ints:
    """Return masks with the attributes at a place and after it changed for each other."""
    differ = (members >> place ^ members >> place + 1) & 1
    return members ^ differ * (3 << place)


def pairs_among(attributes: int, left: int, right: int, both: int) -> int:
    """Return how many ordered pairs of sets have these sizes, and this size together."""
    return comb(attributes, both) * comb(both, left) * comb(left, left + right - both)


def _is_set(form: Any) -> bool:
    """Tell whether a form is a list of distinct positions, ascending."""
    return (
        isinstance(form, list)
        and bool(form)
        and all(type(i) is int for i in form)
        and form[0] >= 0
        and form == sorted(set(form))
    )


def _how_often(attributes: int, form: dict[Any, Any]) -> dict[str, Any]:
    """Read which sets of attributes a shape is asked about, and its weights."""
    rest: dict[Any, Any]
    match form:
        case {"weight": int(weight), **rest}:
            made: dict[str, Any] = {"weights": (weight,)}
        case {"sets": [_, *_] as sets, "weights": [_, *_] as weights, **rest}:
            if not all(_is_set(each) and len(each) == attributes for each in sets):
                raise SurveyError("A survey's sets must list the attributes of a shape.")
            made = {"sets": tuple(map(tuple, sets)), "weights": tuple(weights)}
            if len(set(made["sets"])) < len(sets) or len(sets) != len(weights):
                raise SurveyError("A survey's sets must differ, with one weight each.")
        case rest:
            made = {"weights": ()}
    if rest:
        raise SurveyError("A survey's shape holds fields that it should not.")
    if any(type(w) is not int or not 0 < w <= ALL_WEIGHT for w in made["weights"]):
        raise SurveyError("A survey's weights must be whole numbers from 1 to 2^32.")
    return made
