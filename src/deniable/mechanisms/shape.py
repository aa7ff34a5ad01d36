"""A question up to the choice of attributes, and how often it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.mechanisms.coefficients import Ints, all_tables, positions
from deniable.mechanisms.signs import MOST_BITS
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary, answer_from_json
from deniable.questions.subsets import unranks

__all__ = [
    "ALL_WEIGHT",
    "MOST_CELLS",
    "MOST_SETS",
    "Places",
    "Shape",
    "pairs_among",
    "span",
    "swapped",
    "tables_of",
]

MOST_CELLS = 1 << 24
"""The largest table of cells that a mechanism may hold in memory."""

MOST_SETS = 1 << 22
"""The most sets of attributes that are listed where each has questions of its own."""

ALL_WEIGHT = 1 << 32
"""What the weights of a survey's shapes add up to."""


@dataclass(frozen=True)
class Shape:
    """A question up to the choice of attributes: what it asks of those, and how it is answered.

    It asks for a *cell*, the joint value of its attributes, of which ``sizes`` are the numbers of
    values (two each, unless said otherwise). Or it asks for *parities*: each is the XOR of yes/no
    questions about single attributes, of which there are ``functionals[i]`` about its i-th attribute
    (one each, unless said otherwise). Bit masks number these attribute by attribute. Which questions
    of an attribute's list they are is part of the slot: see `deniable.mechanisms.signs`.

    It is asked about any attributes, or any ``among`` some, or only about the ``sets`` that are listed.
    ``weights`` say how
    often, out of 2³²: one for the shape, shared by all slots alike, or one for each set that is
    listed. Without weights, every question of the survey is as likely as any other.
    """

    attributes: int
    parities: tuple[int, ...]
    answer: Subset | Unary | Bitwise
    cell: bool = False
    weights: tuple[int, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    functionals: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    among: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.sizes:
            if self.answer.symbols != prod(self.sizes):
                raise SurveyError("A survey's shape does not fit its way of answering.")
            return
        if sum(self.bits) > NARROW or max(self.bits) > len(self.parities):
            raise SurveyError(
                "A survey's shape takes more questions about attributes than it asks."
            )
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
        cls,
        attributes: int,
        answer: Subset | Unary | Bitwise,
        weights: tuple[int, ...] = (),
        sizes: tuple[int, ...] = (),
        sets: tuple[tuple[int, ...], ...] | None = None,
    ) -> Shape:
        """Return the shape that asks for the joint value of its attributes."""
        sizes = () if set(sizes) == {2} else sizes
        bits = () if sizes else tuple(1 << i for i in range(attributes))
        return cls(attributes, bits, answer, True, weights, sets, sizes=sizes)

    @property
    def is_framed(self) -> bool:
        """Tell whether its slots differ in the questions of attributes' lists that they take."""
        return not self.cell and not isinstance(self.answer, Bitwise)

    @property
    def is_product(self) -> bool:
        """Tell whether it asks for one bit: the XOR of one question about each of its attributes."""
        everything = ((1 << self.attributes) - 1,)
        is_bit = isinstance(self.answer, Subset) and self.parities == everything
        return is_bit and not self.cell and not self.functionals

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """Return how many bits of masks stand for each attribute."""
        return self.functionals or (1,) * self.attributes

    @cached_property
    def members(self) -> Ints:
        """Return the coefficient (a mask) behind each non-zero symbol mask."""
        return span(self.parities)[1:]

    def split(self, masks: Ints) -> Ints:
        """Return masks attribute by attribute, one row each."""
        shifts = [0, *accumulate(self.bits)]
        parts = [masks >> s & (1 << b) - 1 for s, b in zip(shifts, self.bits, strict=False)]
        return np.stack(parts, axis=-1)

    @cached_property
    def touched(self) -> Ints:
        """Return the places (a mask) that each member touches."""
        if not self.functionals:
            return self.members
        held: Ints = (self.split(self.members) > 0) @ (1 << np.arange(self.attributes))
        return held

    def held(self, level: int) -> int:
        """Return how many of the members are coefficients of ``level`` attributes."""
        if self.cell:  # all of them; listing those of a whole record may take a second
            return comb(self.attributes, level)
        return int((np.bitwise_count(self.touched) == level).sum())

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
        if self.sizes:
            asks["sizes"] = list(self.sizes)
        if self.functionals:
            asks["functionals"] = list(self.functionals)
        if self.sets is not None:
            asks["sets"] = [list(each) for each in self.sets]
            asks |= {"weights": list(self.weights)} if self.weights else {}
        elif self.weights:
            asks["weight"] = self.weights[0]
        if self.among:
            asks["among"] = list(self.among)
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
                sizes = _counts(rest.pop("sizes", None), count, 2, MOST_CELLS)
                if set(sizes) == {2}:
                    raise SurveyError("A survey's shape gives sizes that need not be given.")
                made = cls.table(count, answer_from_json(answer), sizes=sizes)
            case {"attributes": _, "answer": answer, "parities": [_, *_] as bits, **rest}:
                functionals = _counts(rest.pop("functionals", None), count, 1, MOST_BITS)
                most = sum(functionals) if functionals else count
                if not all(_is_set(bit) and bit[-1] < most for bit in bits):
                    raise SurveyError("A survey's parities must list positions of attributes.")
                parities = tuple(sum(1 << i for i in bit) for bit in bits)
                made = cls(count, parities, answer_from_json(answer), functionals=functionals)
            case _:
                raise SurveyError("A survey's shape must hold attributes, answer and what it asks.")
        return replace(made, **_how_often(count, rest))


class Places:
    """The slots of a shape: which attributes, and which questions of their lists.

    Slots are numbered set after set (colex rank, or as listed); within a set, by the frames of its
    attributes, the first one fastest. ``counts`` are the frames of each attribute.
    """

    def __init__(self, shape: Shape, counts: Sequence[int]) -> None:
        listed = () if shape.sets is None else {a for each in shape.sets for a in each}
        if max((*listed, *shape.among, 0)) >= len(counts):
            raise SurveyError("The survey asks about attributes that its schema does not have.")
        self._size = shape.attributes
        self._among = np.array(shape.among or range(len(counts)))
        self._sets = None if shape.sets is None else np.array(shape.sets)
        self._begins: Ints | None = None
        if shape.is_framed and max(counts[a] for a in listed or self._among) > 1:
            self._sets = self.sets
            self._radix: Ints = np.array(counts)[self._sets]
            asked = int(np.bitwise_or.reduce(shape.touched))
            self._radix[:, [i for i in range(self._size) if not asked >> i & 1]] = 1
            if self._radix.prod(axis=1, dtype=np.float64).sum() >= 1 << 62:
                raise SurveyError("The questions of a survey's shape are too many to be numbered.")
            self._begins = np.append(0, np.cumsum(self._radix.prod(axis=1)))
        self.count = (
            int(self._begins[-1])
            if self._begins is not None
            else comb(len(self._among), self._size)
            if self._sets is None
            else len(self._sets)
        )

    @property
    def by_set(self) -> Ints:
        """Return the slots of each set."""
        ones = np.ones(self.count if self._sets is None else len(self._sets), np.int64)
        return ones if self._begins is None else np.diff(self._begins)

    @property
    def sets(self) -> Ints:
        """Return the sets of attributes, one sorted row each."""
        if self._sets is None:
            return self._among[all_tables(len(self._among), self._size)]
        return self._sets

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the sorted attributes and the frames of slots, one row each."""
        if self._begins is None:
            chosen = (
                self._among[unranks(numbers, self._size, len(self._among))]
                if self._sets is None
                else self._sets[numbers]
            )
            return chosen, np.zeros_like(chosen)
        assert self._sets is not None
        row = np.searchsorted(self._begins, numbers, side="right") - 1
        rest, chosen = numbers - self._begins[row], self._sets[row]
        frame = np.empty_like(chosen)
        for place in range(self._size):
            rest, frame[:, place] = np.divmod(rest, self._radix[row, place])
        return chosen, frame


def tables_of(
    sizes: tuple[int, ...], order: int, answer: Callable[[int], Subset | Unary]
) -> tuple[Shape, ...]:
    """Return the shapes that ask for the joint value of ``order`` attributes.

    ``answer`` makes the way of answering from the number of cells. Attributes of two values are all
    alike; otherwise there is a shape for each sequence of sizes, with the sets that have it.
    """
    if set(sizes) == {2}:
        return (Shape.table(order, answer(1 << order)),)
    sets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for chosen in all_tables(len(sizes), order).tolist():
        sets.setdefault(tuple(sizes[a] for a in chosen), []).append(tuple(chosen))
    alike = sorted(sets, key=lambda each: (prod(each), each))
    answers = {cells: answer(cells) for cells in sorted(set(map(prod, alike)))}
    return tuple(
        Shape.table(order, answers[prod(each)], sizes=each, sets=tuple(sets[each]))
        for each in alike
    )


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


def _counts(form: Any, count: int, least: int, most: int) -> tuple[int, ...]:
    """Read a number for each attribute of a shape, or none at all."""
    if form is None:
        return ()
    if not (
        isinstance(form, list)
        and len(form) == count
        and all(type(n) is int and least <= n <= most for n in form)
    ):
        raise SurveyError("A survey's shape must give one number for each of its attributes.")
    return tuple(form)


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
            among = rest.pop("among", [])
            if "among" in form and not (_is_set(among) and len(among) >= attributes):
                raise SurveyError("A survey's shape must be among at least as many attributes.")
            made: dict[str, Any] = {"weights": (weight,), "among": tuple(among)}
        case {"sets": [_, *_] as sets, **rest}:
            weights = rest.pop("weights", [])
            if not isinstance(weights, list) or ("weights" in form and not weights):
                raise SurveyError("A survey's weights must be a list of whole numbers.")
            if not all(_is_set(each) and len(each) == attributes for each in sets):
                raise SurveyError("A survey's sets must list the attributes of a shape.")
            made = {"sets": tuple(map(tuple, sets)), "weights": tuple(weights)}
            if len(set(made["sets"])) < len(sets) or (weights and len(sets) != len(weights)):
                raise SurveyError("A survey's sets must differ, with one weight each.")
        case rest:
            made = {"weights": ()}
    if rest:
        raise SurveyError("A survey's shape holds fields that it should not.")
    if any(type(w) is not int or not 0 < w <= ALL_WEIGHT for w in made["weights"]):
        raise SurveyError("A survey's weights must be whole numbers from 1 to 2^32.")
    return made
