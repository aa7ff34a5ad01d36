"""The subspace design problem: which questions to ask, and how often, for the smallest error.

A question asks for c parities of a record, and so for the coefficients of a c-dimensional subspace U
of F₂^d: of all 2^c − 1 members α ≠ 0 at once, each with second moment V(c, w). If a share ρ_t of the
people gets a subspace of type t with n_{t,j} members of j attributes, a coefficient of j attributes
is known with precision N·P_j, P_j = Σ_t ρ_t·n_{t,j} / (C(d,j)·V_t), and a table's cells have mean
variance 4^{−k}·Σ_j C(k,j)/(N·P_j). That is convex in ρ. (`deniable.planning.error` has the lower
bound that it is compared with.)

A *type* is a subspace up to relabelling of attributes. They are enumerated over six symbolic
attributes, from members of at most k attributes; tables and even-weight sets of more attributes,
which pay for large ε, are added. Of equally good mixtures the one that touches fewest attributes is
taken, which also has few types: at most one more than there are levels.

Where attributes have more than two values, a parity takes one yes/no question of an attribute's list
(`deniable.questions.lists`), and several parities of the same attributes take several: then all sums of
the parities touch the same set of attributes, and whatever the numbers of values, a report of c bits
tells all it can about that set. What an attribute needs is in `deniable.design.workload`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import comb, inf
from typing import Any

import numpy as np

from deniable.design.candidates import (
    Candidates,
    alike_candidates,
    mixed_candidates,
    single_candidates,
)
from deniable.design.mixtures import (
    Objective,
    best_mixture,
    few_types,
    whole_weights,
    worth_asking,
    worth_asking_besides,
)
from deniable.design.reading import FLOOR
from deniable.design.templates import second_moment, side_by_side, template_of
from deniable.design.types import MOST_QUESTIONS, orientations, slots_of, subspace_types, worthwhile
from deniable.design.workload import Workload
from deniable.questions.lists import QuestionList
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.template import Template


def symmetric_design(
    attributes: int,
    order: int,
    epsilon: float,
    dimension: int | None = None,
    squares: tuple[float, ...] = (),
) -> tuple[Template, ...]:
    """Return the best mixture of templates where all tables of ``order`` attributes matter alike.

    ``squares`` are the mean θ² of coefficients by level, where a pilot has told: they make V − θ²
    of V. ``dimension`` limits c; 1 gives InpHT with its levels weighted.
    """
    types = [
        kind
        for kind in worthwhile(subspace_types(attributes, order, dimension))
        if slots_of(attributes, kind) < MOST_QUESTIONS
    ]
    levels = range(1, order + 1)
    needs = np.array([comb(order, j) for j in levels], float)
    members = np.array([t.levels for t in types]) / [comb(attributes, j) for j in levels]
    moments = np.array([second_moment(epsilon, t.dimension) for t in types])[:, None]
    widths = [t.attributes for t in types]
    best, shares = few_types(members / moments, needs, widths)
    if squares:
        # V − θ² in place of V is what a coefficient's variance is about, but reports are weighted by
        # 1/V: take the better of the two designs.
        def value(rows: Ints, shares: Floats) -> float:
            part, moment = members[rows], moments[rows]
            variance = shares @ (part * (moment - np.array(squares)) / moment**2)
            return float((needs * variance / (shares @ (part / moment)) ** 2).sum())

        other = few_types(members / (moments - np.array(squares)), needs, widths)
        best, shares = min((best, shares), other, key=lambda mixture: value(*mixture))
    oriented = [
        (share / len(rotations), types[index], parities)
        for share, index in zip(shares, best, strict=True)
        for rotations in [orientations(types[index])]
        for parities in rotations
    ]
    weights = whole_weights(np.array([share for share, _, _ in oriented]))
    return side_by_side(
        template_of(kind, parities, epsilon, weights=(weight,))
        for weight, (_, kind, parities) in zip(weights, oriented, strict=True)
    )


def tailored_design(
    order: int,
    epsilon: float,
    tables: Mapping[tuple[int, ...], float],
    dimension: int | None = None,
    squares: tuple[float, ...] = (),
    lists: Sequence[QuestionList] = (),
    objective: Callable[[Workload], Objective | None] = lambda workload: None,
) -> tuple[Template, ...]:
    """Return the best questions where tables differ in weight or attributes in their values.

    It is the same convex program, with a need for each component (`Workload`), and every set of
    attributes may have a weight of its own. Sets that tell less than a single coefficient does are
    left out. Errors of tables count, not their squares: so the program is solved again with needs
    that are divided by the error each table had. With an ``objective`` other than these errors, every
    component keeps a part of the precision that it would have without it.
    """
    weighted, theta = tuple(tables.items()), squares or (0.0,) * order
    base = _unbiased_mixture(order, epsilon, weighted, dimension, theta, tuple(lists))
    workload, candidates, gains, rows, shares = base
    aim = objective(workload)
    if aim is not None:
        rows, shares = worth_asking_besides(gains, rows, shares, aim, FLOOR)
    return _templates(workload, candidates, rows, shares, epsilon)


@lru_cache(maxsize=2)
def _unbiased_mixture(
    order: int,
    epsilon: float,
    tables: tuple[tuple[tuple[int, ...], float], ...],
    dimension: int | None,
    squares: tuple[float, ...],
    lists: tuple[QuestionList, ...],
) -> tuple[Workload, list[Candidates], Any, Ints, Floats]:
    """Return candidates, their gains, and the mixture of them for unbiased tables, whatever the aim."""
    from scipy import sparse

    workload, theta = Workload.of(dict(tables), order, lists), np.array(squares)
    yes_or_no = alike_candidates if workload.is_everything else single_candidates
    candidates = [
        *yes_or_no(workload, epsilon, dimension, theta),
        *mixed_candidates(workload, epsilon, dimension, theta),
    ]
    all_gains = sparse.vstack([c.gains for c in candidates], format="csr")
    needs = workload.needs()
    is_needed = needs > 0
    gains = all_gains[:, is_needed]
    rows, shares = worth_asking(gains, needs[is_needed])
    before, rounds = inf, 0
    while not workload.is_single:
        precision = np.ones(len(needs))
        precision[is_needed] = gains[rows].T @ shares
        errors = workload.errors(precision)
        value = workload.mean(errors)
        if value > before * (1 - 1e-8):
            break
        needs, before, rounds = workload.needs(errors), value, rounds + 1
        if rounds == 1:  # other questions may be worth asking now
            rows, shares = worth_asking(gains, needs[is_needed])
        else:
            shares = best_mixture(gains[rows], needs[is_needed], shares=shares)
    return workload, candidates, all_gains, rows, shares


def _templates(
    workload: Workload,
    candidates: Sequence[Candidates],
    rows: Ints,
    shares: Floats,
    epsilon: float,
) -> tuple[Template, ...]:
    """Return the templates of some rows of candidates, which are asked as often as shares say."""
    result, start = [], 0
    for candidate in candidates:
        low, high = np.searchsorted(rows, (start, start + len(candidate.sets)))
        result.append((candidate, rows[low:high] - start, shares[low:high]))
        start += len(candidate.sets)
    weights = whole_weights(np.concatenate([c.shares_of(own) for c, _, own in result]))
    templates = []
    for candidate, own_rows, _ in result:
        sets = workload.used[candidate.sets[own_rows]]
        if len(own_rows) and candidate.alike:
            for parities in orientations(candidate.kind):
                rest = {"weights": (weights.pop(0),), "among": tuple(sets[0].tolist())}
                templates.append(template_of(candidate.kind, parities, epsilon, **rest))
        elif len(own_rows):
            own, weights = tuple(weights[: len(own_rows)]), weights[len(own_rows) :]
            rest = {"weights": own, "sets": tuple(map(tuple, sets.tolist()))}
            templates.append(template_of(candidate.kind, candidate.parities, epsilon, **rest))
    return side_by_side(templates)
