"""Templates: a question up to the choice of attributes, and how often it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError
from deniable.formats.forms import limit
from deniable.questions.answers import NARROW, Bitwise, Subset, Unary, answer_from_json
from deniable.survey.coefficients import Ints, all_tables, positions

MOST_CELLS = 1 << 24
"""The largest table of cells that a mechanism may hold in memory."""

ALL_WEIGHT = 1 << 32
"""What the weights of a survey's templates add up to."""


@dataclass(frozen=True)
class Template:
    """A question up to the choice of attributes: what it asks of those, and how it is answered.

    It asks for a *cell*, the joint value of its attributes, of which ``sizes`` are the numbers of
    values (two each, unless said otherwise). Or it asks for *parities*: each is the XOR of yes/no
    questions about single attributes, of which there are ``questions[i]`` about its i-th attribute
    (one each, unless said otherwise). Bit masks number these attribute by attribute. Which entry of
    an attribute's question list they come from is part of the slot: see `deniable.questions.lists`.

    It is asked about any attributes, or any ``among`` some, or only about the ``sets`` that are listed.
    ``weights`` say how often, out of 2³²: one for the template, shared by all slots alike, or one for
    each set that is listed. Without weights, every question of the survey is as likely as any other.
    """

    attributes: int
    parities: tuple[int, ...]
    answer: Subset | Unary | Bitwise
    cell: bool = False
    weights: tuple[int, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    questions: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    among: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.cell and isinstance(self.answer, Bitwise):
            raise SurveyError("A survey's cells are answered by subset or unary.")
        if self.sizes:
            if self.answer.symbols != prod(self.sizes):
                raise SurveyError("A survey's template does not fit its way of answering.")
            return
        if sum(self.question_counts) > NARROW or max(self.question_counts) > len(self.parities):
            raise SurveyError(
                "A survey's template takes more questions about attributes than it asks."
            )
        if self.answer.symbols != 1 << len(self.parities):
            raise SurveyError("A survey's template does not fit its way of answering.")
        self._check_parities()

    def _check_parities(self) -> None:
        """Refuse parities that are too many, or depend on each other."""
        is_long = self.cell or isinstance(self.answer, Bitwise)
        if not is_long and len(self.parities) > limit("parities"):
            raise SurveyError(
                f"A survey's template asks for at most {limit('parities')} parities at once."
            )
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
    ) -> Template:
        """Return the template that asks for the joint value of its attributes."""
        sizes = () if set(sizes) == {2} else sizes
        bits = () if sizes else tuple(1 << i for i in range(attributes))
        return cls(attributes, bits, answer, True, weights, sets, sizes=sizes)

    @cached_property
    def question_counts(self) -> tuple[int, ...]:
        """Return how many questions are taken about each attribute: so many bits of masks."""
        return self.questions or (1,) * self.attributes

    @cached_property
    def members(self) -> Ints:
        """Return the coefficient (a mask) behind each non-zero symbol mask."""
        return span(self.parities)[1:]

    def split(self, masks: Ints) -> Ints:
        """Return masks attribute by attribute, one row each."""
        shifts = [0, *accumulate(self.question_counts)]
        parts = [
            masks >> s & (1 << b) - 1 for s, b in zip(shifts, self.question_counts, strict=False)
        ]
        return np.stack(parts, axis=-1)

    @property
    def is_asked(self) -> NDArray[np.bool_]:
        """Tell of each attribute whether some parity takes questions about it."""
        is_asked: NDArray[np.bool_] = np.any(self.split(np.array(self.parities)) > 0, axis=0)
        return is_asked

    @cached_property
    def member_sets(self) -> Ints:
        """Return the positions (a mask) that each member touches."""
        if not self.questions:
            return self.members
        masks: Ints = (self.split(self.members) > 0) @ (1 << np.arange(self.attributes))
        return masks

    def members_of(self, level: int) -> int:
        """Return how many of the members are coefficients of ``level`` attributes."""
        if self.cell:  # all of them; listing those of a whole record may take a second
            return comb(self.attributes, level)
        return int((np.bitwise_count(self.member_sets) == level).sum())

    def pairs_of(self, order: int) -> NDArray[np.float64]:
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
        if self.questions:
            asks["questions"] = list(self.questions)
        if self.sets is not None:
            asks["sets"] = [list(each) for each in self.sets]
            asks |= {"weights": list(self.weights)} if self.weights else {}
        elif self.weights:
            asks["weight"] = self.weights[0]
        if self.among:
            asks["among"] = list(self.among)
        return {"attributes": self.attributes, "answer": self.answer.to_json(), **asks}

    @classmethod
    def of_form(cls, form: dict[str, Any]) -> Template:
        """Read the JSON form, whose fields are checked already (`deniable.formats.forms`)."""
        count, answer = form["attributes"], answer_from_json(form["answer"])
        sizes, questions = (tuple(form.get(n, ())) for n in ("sizes", "questions"))
        among, set_rows = tuple(form.get("among", ())), form.get("sets")
        sets = None if set_rows is None else tuple(map(tuple, set_rows))
        weights = (form["weight"],) if "weight" in form else tuple(form.get("weights", ()))
        for numbers in (sizes, questions):
            if numbers and len(numbers) != count:
                raise SurveyError(
                    "A survey's template must give one number for each of its attributes."
                )
        if set(sizes) == {2} or set(questions) == {1}:
            raise SurveyError("A survey's template gives numbers that need not be given.")
        if among and len(among) < count:
            raise SurveyError("A survey's template must be among at least as many attributes.")
        if sets is not None:
            if any(len(each) != count for each in sets):
                raise SurveyError("A survey's sets must list the attributes of a template.")
            if len(set(sets)) < len(sets) or (weights and len(sets) != len(weights)):
                raise SurveyError("A survey's sets must differ, with one weight each.")
        if "cell" in form:
            return replace(cls.table(count, answer, weights, sizes, sets), among=among)
        most = sum(questions) if questions else count
        if any(bit[-1] >= most for bit in form["parities"]):
            raise SurveyError("A survey's parities must list positions of attributes.")
        parities = tuple(sum(1 << i for i in bit) for bit in form["parities"])
        return cls(count, parities, answer, False, weights, sets, questions=questions, among=among)


def tables_of(
    sizes: tuple[int, ...], order: int, answer: Callable[[int], Subset | Unary]
) -> tuple[Template, ...]:
    """Return the templates that ask for the joint value of ``order`` attributes.

    ``answer`` makes the way of answering from the number of cells. Attributes of two values are all
    alike; otherwise there is a template for each sequence of sizes, with the sets that have it.
    """
    if set(sizes) == {2}:
        return (Template.table(order, answer(1 << order)),)
    sets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for members in all_tables(len(sizes), order).tolist():
        sets.setdefault(tuple(sizes[a] for a in members), []).append(tuple(members))
    alike = sorted(sets, key=lambda each: (prod(each), each))
    answers = {cells: answer(cells) for cells in sorted(set(map(prod, alike)))}
    return tuple(
        Template.table(order, answers[prod(each)], sizes=each, sets=tuple(sets[each]))
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
