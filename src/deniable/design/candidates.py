"""Candidates: questions that a survey for a workload may ask, and what each tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.design.templates import second_moment, template_of
from deniable.design.types import (
    LARGEST_DIMENSION,
    MOST_QUESTIONS,
    Type,
    orientations,
    slots_of,
    subspace_types,
    worthwhile,
)
from deniable.design.workload import Workload
from deniable.questions.thresholds import Thresholds
from deniable.survey.coefficients import Floats, Ints, all_tables, positions
from deniable.survey.template import span

_WORTHWHILE = 1.002
_MOST_PAIRS = 10**8
"""The most pairs of coefficients that questions hold together: a decoder lists their covariances."""
_MOST_CANDIDATES = 1 << 18


class Candidates(NamedTuple):
    """Questions of one kind about some sets of attributes, and what each tells of components."""

    kind: Type
    parities: tuple[int, ...]
    sets: Ints
    gains: Any
    alike: bool = False
    """Whether any of the attributes of the one set may be asked about, in any orientation."""

    def shares_of(self, shares: Floats) -> Floats:
        """Return the shares of its templates or sets."""
        times = len(orientations(self.kind)) if self.alike else 1
        return np.repeat(shares / times, times)

    @classmethod
    def of(
        cls,
        workload: Workload,
        kind: Type,
        parities: tuple[int, ...],
        sets: Ints,
        member_sets: Ints,
        moment: float,
        theta: Floats,
    ) -> Candidates:
        """Return candidates whose members touch these positions."""
        from scipy import sparse

        counts = np.array([each.count for each in workload.lists])
        masks, members = np.unique(member_sets, return_counts=True)
        numbers = [workload.numbering.of_question(sets, mask) for mask in masks.tolist()]
        gains = [
            times
            / (
                (moment - theta[mask.bit_count() - 1])
                * counts[sets[:, positions(mask)]].prod(axis=1)
            )
            for mask, times in zip(masks.tolist(), members.tolist(), strict=True)
        ]
        starts = np.arange(0, len(sets) * len(masks) + 1, len(masks))
        csr = (np.stack(gains, axis=1).ravel(), np.stack(numbers, axis=1).ravel(), starts)
        return cls(
            kind, parities, sets, sparse.csr_array(csr, (len(sets), workload.numbering.size))
        )


def single_candidates(
    workload: Workload, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[Candidates]:
    """Yield questions about yes/no attributes that tell more than a single coefficient does."""
    plain = np.flatnonzero(_is_plain(workload))
    if not len(plain):
        return
    attributes, order, needs = len(plain), workload.order, workload.needs()
    types = sorted(subspace_types(attributes, order, dimension), key=lambda t: t.attributes)
    for size, group in groupby(types, key=lambda t: t.attributes):
        rotations = [(t, p) for t in group for p in orientations(t)]
        # All sets if they are few, else those within a table, else only what treats attributes alike.
        if comb(attributes, size) * len(rotations) <= _MOST_CANDIDATES:
            sets = plain[all_tables(attributes, size)]
        else:
            sets = sets_within(workload.tables, size)
            sets = sets[np.isin(sets, plain).all(axis=1)]
            if len(sets) * len(rotations) > _MOST_CANDIDATES:
                rotations = [(t, p) for t, p in rotations if len(orientations(t)) == 1]
        if not len(sets):
            continue
        for kind, parities in rotations:
            masks = span(parities)[1:]
            masks = masks[np.bitwise_count(masks) <= order]
            moment = second_moment(epsilon, kind.dimension)
            numbers = np.stack([workload.numbering.of_question(sets, m) for m in masks.tolist()], 1)
            useful = (needs[numbers] > 0).sum(axis=1) / moment
            worth = (needs[numbers] > 0).any(axis=1) & (
                (kind.dimension == 1) | (useful > 1 / second_moment(epsilon, 1))
            )
            if worth.any():
                yield Candidates.of(workload, kind, parities, sets[worth], masks, moment, theta)


def alike_candidates(
    workload: Workload, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[Candidates]:
    """Yield questions about yes/no attributes, all of them alike, where all tables matter alike."""
    from scipy import sparse

    plain = np.flatnonzero(_is_plain(workload))
    order = min(workload.order, len(plain))
    for kind in worthwhile(subspace_types(len(plain), order, dimension)) if len(plain) else ():
        if slots_of(len(plain), kind) >= MOST_QUESTIONS:
            continue
        moment, gains = second_moment(epsilon, kind.dimension), np.zeros(workload.numbering.size)
        for level, count in enumerate(kind.levels, start=1):
            sets = plain[all_tables(len(plain), level)]
            numbers = workload.numbering.of_question(sets, (1 << level) - 1)
            gains[numbers] = count / (len(sets) * (moment - theta[level - 1]))
        row = sparse.csr_array(gains[None, :])
        yield Candidates(kind, kind.parities, plain[None, :], row, alike=True)


def mixed_candidates(
    workload: Workload, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[Candidates]:
    """Yield questions about sets in which some attribute has more than two values.

    Each attribute gives as many questions as there are parities, or as many as it has bits: so every
    sum of parities touches every attribute of enough bits, and nothing is learnt that no table of
    these attributes needs.
    """
    depths = np.array([each.depth for each in workload.lists])
    counts = np.array([each.count for each in workload.lists])
    is_plain = _is_plain(workload)
    is_ordered = np.array([isinstance(each, Thresholds) for each in workload.lists])
    limit = LARGEST_DIMENSION if dimension is None else dimension
    worth = [1]
    for parities in range(2, limit + 1):  # more of them must tell more
        if _worth(epsilon, parities) > _worth(epsilon, worth[-1]) * _WORTHWHILE:
            worth.append(parities)
    for level in range(1, workload.order + 1):
        sets = sets_within(workload.tables, level)
        sets = sets[~is_plain[sets].all(axis=1)]
        slots = float(counts[sets].prod(axis=1, dtype=np.float64).sum())
        for parities in worth:
            if parities > 1 and slots * ((1 << parities) - 1) ** 2 > _MOST_PAIRS:
                break
            some = sets
            if parities > 1:  # two thresholds are asked about alone, and in full
                some = sets[~is_ordered[sets].any(axis=1) | (level == 1)]
            questions = np.minimum(depths[some], parities)
            for row in np.unique(questions[questions.sum(axis=1) >= parities], axis=0):
                same = some[(questions == row).all(axis=1)]
                kind = _generic(tuple(row.tolist()), parities)
                template = template_of(kind, kind.parities, epsilon)
                moment = second_moment(epsilon, parities)
                yield Candidates.of(
                    workload, kind, kind.parities, same, template.member_sets, moment, theta
                )


def _is_plain(workload: Workload) -> NDArray[np.bool_]:
    """Tell which attributes are yes/no ones."""
    return np.array([each.size == 2 and each.is_parity for each in workload.lists])


def _worth(epsilon: float, dimension: int) -> float:
    """Return what a report of so many parities tells, if all of their sums are needed."""
    return ((1 << dimension) - 1) / second_moment(epsilon, dimension)


def _generic(questions: tuple[int, ...], dimension: int) -> Type:
    """Return the type whose parities take turns at attributes' questions."""
    parities = [0] * dimension
    for bit in range(sum(questions)):
        parities[bit % dimension] |= 1 << bit
    plain = set(questions) == {1}
    return Type(len(questions), tuple(parities), (), () if plain else questions)


def sets_within(groups: Sequence[Ints], size: int) -> Ints:
    """Return the sets of so many attributes that some table holds."""
    parts = [
        tables[:, columns]
        for tables in groups
        if tables.shape[1] >= size
        for columns in all_tables(tables.shape[1], size).tolist()
    ]
    return np.unique(np.concatenate(parts), axis=0) if parts else np.zeros((0, size), np.int64)
