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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from math import comb, expm1, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.coefficients import Ints, Shared, all_tables, positions
from deniable.mechanisms.shape import ALL_WEIGHT, Shape, span, swapped
from deniable.questions.answers import Subset

__all__ = ["LARGEST_DIMENSION", "Type", "needs_of", "symmetric_design", "tailored_design"]

Floats = NDArray[np.float64]

LARGEST_DIMENSION = 8
"""The most parities of a question that pay below ε = 6, where no order asks for more."""

_GROUND = 6
_STEPS = 3_000
_MOST_CANDIDATES = 1 << 18
_MOST_QUESTIONS = 1 << 60


class Type(NamedTuple):
    """A subspace up to relabelling: its parities over the first few attributes, and its members."""

    attributes: int
    parities: tuple[int, ...]
    levels: tuple[int, ...]
    """How many members have 1, 2, … k attributes."""

    @property
    def dimension(self) -> int:
        """Return c."""
        return len(self.parities)


def symmetric_design(
    attributes: int,
    order: int,
    epsilon: float,
    dimension: int | None = None,
    squares: tuple[float, ...] = (),
) -> tuple[Shape, ...]:
    """Return the best mixture of shapes where all tables of ``order`` attributes matter alike.

    ``squares`` are the mean θ² of coefficients by level, where a pilot has told: they make V − θ²
    of V. ``dimension`` limits c; 1 gives InpHT with its levels weighted.
    """
    types = [
        kind
        for kind in _worthwhile(subspace_types(attributes, order, dimension))
        if _questions(attributes, kind) < _MOST_QUESTIONS
    ]
    levels = range(1, order + 1)
    needs = np.array([comb(order, j) for j in levels], float)
    held = np.array([t.levels for t in types]) / [comb(attributes, j) for j in levels]
    moments = np.array([_moment(epsilon, t.dimension) for t in types])[:, None]
    touched = [t.attributes for t in types]
    kept, shares = _few_types(held / moments, needs, touched)
    if squares:
        # V − θ² in place of V is what a coefficient's variance is about, but reports are weighted by
        # 1/V: take the better of the two designs.
        def value(chosen: Ints, shares: Floats) -> float:
            part, moment = held[chosen], moments[chosen]
            spread = shares @ (part * (moment - np.array(squares)) / moment**2)
            return float((needs * spread / (shares @ (part / moment)) ** 2).sum())

        other = _few_types(held / (moments - np.array(squares)), needs, touched)
        kept, shares = min((kept, shares), other, key=lambda found: value(*found))
    made = [
        (share / len(turned), types[index], parities)
        for share, index in zip(shares, kept, strict=True)
        for turned in [_orientations(types[index])]
        for parities in turned
    ]
    weights = _whole_weights(np.array([share for share, _, _ in made]))
    return _side_by_side(
        _shape(kind, parities, epsilon, weights=(weight,))
        for weight, (_, kind, parities) in zip(weights, made, strict=True)
    )


def _questions(attributes: int, kind: Type) -> int:
    """Return how many slots a type takes, or at least that they are too many."""
    sets = comb(attributes, kind.attributes)
    return sets if sets >= _MOST_QUESTIONS else sets * len(_orientations(kind))


def _few_types(gains: Floats, needs: Floats, attributes: list[int]) -> tuple[Ints, Floats]:
    """Return the best mixture of as few types, of as few attributes, as cost next to nothing."""
    shares = _best_mixture(gains, needs)
    plain = _fewest_attributes(gains, shares, attributes)
    best = _value(gains, needs, shares)
    for smallest in (0.1, 0.01, 0.001, 1e-6, 0.0):
        kept = np.flatnonzero(plain > smallest)
        if len(kept):
            shares = _best_mixture(gains[kept], needs)
            if _value(gains[kept], needs, shares) <= best * (1 + 1e-5):
                break
    return kept, shares


def tailored_design(
    order: int,
    epsilon: float,
    workload: Mapping[tuple[int, ...], float],
    dimension: int | None = None,
    squares: tuple[float, ...] = (),
) -> tuple[Shape, ...]:
    """Return the best questions where some tables matter, by weight: the same convex program.

    A coefficient's need is the weight of the tables that hold it, and every set of attributes may
    have a weight of its own. Sets that tell less than a single coefficient does are left out.
    """
    from scipy import sparse

    used, numbering, needs = needs_of(workload, order)
    theta = np.array(squares or (0.0,) * order)
    tables = [np.searchsorted(used, sorted(table)) for table in workload]
    candidates = list(_candidates(numbering, tables, needs, epsilon, dimension, theta))
    gains = sparse.vstack([c.gains for c in candidates], format="csr")
    needed = needs > 0
    gains, needs = gains[:, needed], needs[needed]
    shares = _best_mixture(gains, needs, steps=300)
    kept = np.flatnonzero(shares > 1e-4 * shares.max())
    # What matters little must be asked all the same: by the question that tells most about it.
    missing = np.flatnonzero(np.asarray(gains[kept].sum(axis=0)).ravel() == 0)
    best = np.asarray(gains[:, missing].argmax(axis=0)).ravel()
    kept = np.union1d(kept, best).astype(np.int64)
    shares = _best_mixture(gains[kept], needs)
    weights = _whole_weights(shares)
    shapes, start = [], 0
    for kind, parities, sets, _ in candidates:
        low, high = np.searchsorted(kept, (start, start + len(sets)))
        if low < high:
            chosen = used[sets[kept[low:high] - start]]
            shapes.append(
                _shape(
                    kind,
                    parities,
                    epsilon,
                    weights=tuple(weights[low:high]),
                    sets=tuple(map(tuple, chosen.tolist())),
                )
            )
        start += len(sets)
    return _side_by_side(shapes)


def needs_of(workload: Mapping[tuple[int, ...], float], order: int) -> tuple[Ints, Shared, Floats]:
    """Return the attributes that tables touch, their coefficients' numbers, and the need of each."""
    used = np.array(sorted({a for table in workload for a in table}))
    numbering = Shared(len(used), min(order, len(used)))
    needs = np.zeros(numbering.size)
    for table, weight in workload.items():
        local = np.searchsorted(used, sorted(table))[None, :]
        np.add.at(needs, numbering.of_tables(local)[0], weight)
    # A share of one in 2³² is the least that can be given, and is enough for one in 2⁶⁴ of the need.
    return used, numbering, np.where(needs > 0, needs.clip(needs.max() / 2**60, None), 0)


# Types


@cache
def subspace_types(attributes: int, order: int, dimension: int | None = None) -> tuple[Type, ...]:
    """Return subspaces up to relabelling: one for each dimension and levels of all members.

    Without a limit on the dimension there are tables of up to eight attributes, or ``order``.
    """
    limit = max(LARGEST_DIMENSION, order) if dimension is None else dimension
    found: dict[tuple[int, ...], None] = {}
    ground = min(attributes, _GROUND)
    masks = np.arange(1, 1 << ground)
    masks = masks[np.bitwise_count(masks) <= order]
    spaces = [np.zeros(1, np.int64)]
    for _ in range(min(limit, ground)):
        larger: dict[bytes, Ints] = {}
        for members in spaces:
            added = masks[~np.isin(masks, members)]
            both = np.concatenate(
                (np.broadcast_to(members, (len(added), len(members))), added[:, None] ^ members), 1
            )
            sizes = np.bitwise_count(both)
            profiles = np.stack([(sizes == j).sum(axis=1) for j in range(1, ground + 1)], axis=1)
            for profile, row in zip(profiles, both, strict=True):
                larger.setdefault(profile.tobytes(), row)
        spaces = list(larger.values())
        for members in spaces:
            found[_basis(_packed(members))] = None
    for size in range(1, min(attributes, max(LARGEST_DIMENSION + 1, order)) + 1):
        everything = tuple(1 << i for i in range(size))
        families = [everything, tuple(1 | bit for bit in everything[1:])]  # tables, even sets
        families += [((1 << size) - 1,)] if size <= order else []  # single coefficients
        found |= dict.fromkeys(f for f in families if 1 <= len(f) <= limit)
    types = (_type(basis, order) for basis in found)
    return tuple(kind for kind in types if any(kind.levels))


def _type(basis: tuple[int, ...], order: int) -> Type:
    sizes = np.bitwise_count(span(basis))
    levels = tuple(int((sizes == j).sum()) for j in range(1, order + 1))
    return Type(int(np.bitwise_or.reduce(basis)).bit_count(), basis, levels)


def _worthwhile(types: tuple[Type, ...]) -> list[Type]:
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
def _orientations(kind: Type) -> tuple[tuple[int, ...], ...]:
    """Return the parities of all relabellings of a type that ask for something else."""
    found = {kind.parities}
    waiting = [kind.parities]
    while waiting:
        members = span(waiting.pop())
        for place in range(kind.attributes - 1):
            other = _basis(swapped(members, place))
            if other not in found:
                found.add(other)
                waiting.append(other)
    return tuple(sorted(found))


# Mixtures


def _value(gains: Any, needs: Floats, shares: Floats) -> float:
    """Return Σ_j needs_j / (ρ·gains)_j; infinite where something needed is not asked for."""
    precision = gains.T @ shares
    return float((needs / precision).sum()) if precision.all() else inf


def _best_mixture(gains: Any, needs: Floats, steps: int = _STEPS) -> Floats:
    """Return the shares ρ ≥ 0, Σρ = 1, that minimise Σ_j needs_j / (ρ·gains)_j.

    Multiplicative updates: a share grows with the root of what it would gain. At the optimum no
    gain exceeds the mean; how far the largest does bounds what is left to win.
    """
    shares = np.full(gains.shape[0], 1 / gains.shape[0])
    for _ in range(steps):
        precision = gains.T @ shares
        if not precision.all():
            break  # something needed is not asked for, and no share can change that
        value = (needs / precision).sum()
        slope = gains @ (needs / precision**2) / value
        if slope.max() < 1 + 1e-7:
            break
        shares *= np.sqrt(slope)
        shares /= shares.sum()
    return shares


def _fewest_attributes(gains: Floats, shares: Floats, attributes: list[int]) -> Floats:
    """Return the mixture as precise as this one that touches the fewest attributes on average."""
    from scipy.optimize import linprog

    precision = gains.T @ shares
    found = linprog(
        attributes,
        A_ub=-(gains / precision).T,
        b_ub=np.full(len(precision), 1e-7 - 1),
        A_eq=np.ones((1, len(shares))),
        b_eq=[1.0],
    )
    return np.asarray(found.x) if found.success else shares


def _whole_weights(shares: Floats) -> list[int]:
    """Return shares as whole numbers from 1 that add up to 2³², by largest remainders."""
    exact = shares / shares.sum() * (ALL_WEIGHT - len(shares))
    weights = np.floor(exact).astype(np.int64)
    missing = ALL_WEIGHT - len(shares) - int(weights.sum())
    weights[np.argsort(weights - exact, kind="stable")[:missing]] += 1
    whole: list[int] = (weights + 1).tolist()
    return whole


# Shapes


def _chosen(epsilon: float, dimension: int) -> int:
    """Return the best w for 2^c symbols, among those that fit a report."""
    symbols = 1 << dimension
    fitting = range(1, min(symbols // 2, 33) + 1)
    return min(
        (w for w in fitting if comb(symbols, w) < 1 << 63),
        key=lambda w: (symbols + w * expm1(epsilon)) ** 2 / (w * (symbols - w)),
    )


@cache
def _moment(epsilon: float, dimension: int) -> float:
    """Return V(c, w) for the best w."""
    symbols, w = 1 << dimension, _chosen(epsilon, dimension)
    e = expm1(epsilon)
    return (symbols - 1) * (symbols + w * e) ** 2 / (w * (symbols - w) * e**2)


def _shape(kind: Type, parities: tuple[int, ...], epsilon: float, **rest: Any) -> Shape:
    answer = Subset.within(epsilon, 1 << len(parities), _chosen(epsilon, len(parities)))
    is_table = len(parities) == kind.attributes > 1 and max(parities) == 1 << kind.attributes - 1
    return Shape(kind.attributes, parities, answer, cell=is_table, **rest)


def _side_by_side(shapes: Any) -> tuple[Shape, ...]:
    """Return shapes with equal ways of answering side by side."""
    return tuple(
        sorted(shapes, key=lambda s: (s.answer.symbols, s.attributes, s.parities, s.sets or ()))
    )


# Candidates for a workload


class _Candidates(NamedTuple):
    kind: Type
    parities: tuple[int, ...]
    sets: Ints
    gains: Any


def _candidates(
    numbering: Shared,
    tables: list[Ints],
    needs: Floats,
    epsilon: float,
    dimension: int | None,
    theta: Floats,
) -> Iterator[_Candidates]:
    """Yield questions that tell more about what is needed than a single coefficient does."""
    from scipy import sparse

    attributes, order = numbering.attributes, numbering.order
    types = sorted(subspace_types(attributes, order, dimension), key=lambda t: t.attributes)
    for size, group in groupby(types, key=lambda t: t.attributes):
        turned = [(t, p) for t in group for p in _orientations(t)]
        # All sets if they are few, else those within a table, else only what treats attributes alike.
        if comb(attributes, size) * len(turned) <= _MOST_CANDIDATES:
            sets = all_tables(attributes, size)
        else:
            sets = _within(tables, size)
            if len(sets) * len(turned) > _MOST_CANDIDATES:
                turned = [(t, p) for t, p in turned if len(_orientations(t)) == 1]
        if not len(sets):
            continue
        for kind, parities in turned:
            masks = span(parities)[1:]
            masks = masks[np.bitwise_count(masks) <= order]
            numbers = np.stack([numbering.of_question(sets, mask) for mask in masks.tolist()], 1)
            moment = _moment(epsilon, kind.dimension)
            useful = (needs[numbers] > 0).sum(axis=1) / moment
            worth = (needs[numbers] > 0).any(axis=1) & (
                (kind.dimension == 1) | (useful > 1 / _moment(epsilon, 1))
            )
            rows = np.flatnonzero(worth)
            if len(rows):
                each = 1 / (moment - theta[np.bitwise_count(masks).astype(int) - 1])
                starts = np.arange(0, len(rows) * len(masks) + 1, len(masks))
                gains = sparse.csr_array(
                    (np.tile(each, len(rows)), numbers[rows].ravel(), starts),
                    (len(rows), numbering.size),
                )
                yield _Candidates(kind, parities, sets[rows], gains)


def _within(tables: list[Ints], size: int) -> Ints:
    """Return the sets of so many attributes that some table holds."""
    parts = [table[all_tables(len(table), size)] for table in tables if len(table) >= size]
    return np.unique(np.concatenate(parts), axis=0) if parts else np.zeros((0, size), np.int64)
