"""Types of questions: subspaces up to relabelling of attributes."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

from deniable.survey.coefficients import Ints, positions
from deniable.survey.template import span, swapped

LARGEST_DIMENSION = 8
"""The most parities of a question that pay below ε = 6, where no order asks for more."""

MOST_QUESTIONS = 1 << 60

_GROUND = 6


class Type(NamedTuple):
    """A subspace up to relabelling: its parities over the first few attributes, and its members."""

    attributes: int
    parities: tuple[int, ...]
    levels: tuple[int, ...]
    """How many members have 1, 2, … k attributes."""
    questions: tuple[int, ...] = ()
    """How many questions of each attribute's list are taken, if not one each."""

    @property
    def dimension(self) -> int:
        """Return c."""
        return len(self.parities)


@cache
def subspace_types(attributes: int, order: int, dimension: int | None = None) -> tuple[Type, ...]:
    """Return subspaces up to relabelling: one for each dimension and levels of all members.

    Without a limit on the dimension there are tables of up to eight attributes, or ``order``.
    """
    limit = max(LARGEST_DIMENSION, order) if dimension is None else dimension
    bases: dict[tuple[int, ...], None] = {}
    ground = min(attributes, _GROUND)
    masks = np.arange(1, 1 << ground)
    masks = masks[np.bitwise_count(masks) <= order]
    spaces = [np.zeros(1, np.int64)]
    for _ in range(min(limit, ground)):
        larger: dict[bytes, Ints] = {}
        for members in spaces:
            others = masks[~np.isin(masks, members)]
            both = np.concatenate(
                (np.broadcast_to(members, (len(others), len(members))), others[:, None] ^ members),
                1,
            )
            sizes = np.bitwise_count(both)
            profiles = np.stack([(sizes == j).sum(axis=1) for j in range(1, ground + 1)], axis=1)
            for profile, row in zip(profiles, both, strict=True):
                larger.setdefault(profile.tobytes(), row)
        spaces = list(larger.values())
        for members in spaces:
            bases[_basis(_packed(members))] = None
    for size in range(1, min(attributes, max(LARGEST_DIMENSION + 1, order)) + 1):
        everything = tuple(1 << i for i in range(size))
        families = [everything, tuple(1 | bit for bit in everything[1:])]  # tables, even sets
        families += [((1 << size) - 1,)] if size <= order else []  # single coefficients
        bases |= dict.fromkeys(f for f in families if 1 <= len(f) <= limit)
    types = (_type(basis, order) for basis in bases)
    return tuple(kind for kind in types if any(kind.levels))


def _type(basis: tuple[int, ...], order: int) -> Type:
    sizes = np.bitwise_count(span(basis))
    levels = tuple(int((sizes == j).sum()) for j in range(1, order + 1))
    return Type(int(np.bitwise_or.reduce(basis)).bit_count(), basis, levels)


def worthwhile(types: tuple[Type, ...]) -> list[Type]:
    """Return the types that no other of their dimension has more members than, at every level."""

    def beaten(one: Type) -> bool:
        return any(
            other.dimension == one.dimension
            and all(a >= b for a, b in zip(other.levels, one.levels, strict=True))
            and (other.levels, -other.attributes) > (one.levels, -one.attributes)
            for other in types
        )

    return [one for one in types if not beaten(one)]


def _packed(members: Ints) -> Ints:
    """Return members relabelled so that they touch the first attributes."""
    out = np.zeros_like(members)
    for place, bit in enumerate(positions(int(np.bitwise_or.reduce(members)))):
        out |= (members >> bit & 1) << place
    return out


def _basis(members: Ints) -> tuple[int, ...]:
    """Return the basis of the smallest members: the plainest questions with these answers."""
    reached, basis = {0}, []
    for member in sorted(members.tolist(), key=lambda m: (m.bit_count(), m)):
        if member not in reached:
            basis.append(member)
            reached |= {member ^ other for other in reached}
    return tuple(basis)


@cache
def orientations(kind: Type) -> tuple[tuple[int, ...], ...]:
    """Return the parities of all relabellings of a type that ask for something else."""
    rotations = {kind.parities}
    waiting = [kind.parities]
    while waiting:
        members = span(waiting.pop())
        for place in range(kind.attributes - 1):
            other = _basis(swapped(members, place))
            if other not in rotations:
                rotations.add(other)
                waiting.append(other)
    return tuple(sorted(rotations))


def slots_of(attributes: int, kind: Type) -> int:
    """Return how many slots a type takes, or at least that they are too many."""
    sets = comb(attributes, kind.attributes)
    return sets if sets >= MOST_QUESTIONS else sets * len(orientations(kind))
