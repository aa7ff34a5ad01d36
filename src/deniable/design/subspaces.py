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

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from math import comb, expm1, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.design.workload import Targets
from deniable.questions.answers import Subset
from deniable.questions.lists import Signs
from deniable.survey.coefficients import Ints, all_tables, positions
from deniable.survey.template import ALL_WEIGHT, Shape, span, swapped

__all__ = [
    "LARGEST_DIMENSION",
    "Targets",
    "Type",
    "symmetric_design",
    "tailored_design",
    "whole_weights",
]

Floats = NDArray[np.float64]

LARGEST_DIMENSION = 8
"""The most parities of a question that pay below ε = 6, where no order asks for more."""

_GROUND = 6
_STEPS = 3_000
_WORTHWHILE = 1.002
_MOST_PAIRS = 10**8
"""The most pairs of coefficients that questions hold together: a decoder lists their covariances."""
_MOST_CANDIDATES = 1 << 18
_MOST_QUESTIONS = 1 << 60


class Type(NamedTuple):
    """A subspace up to relabelling: its parities over the first few attributes, and its members."""

    attributes: int
    parities: tuple[int, ...]
    levels: tuple[int, ...]
    """How many members have 1, 2, … k attributes."""
    functionals: tuple[int, ...] = ()
    """How many questions of each attribute's list are taken, if not one each."""

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
    weights = whole_weights(np.array([share for share, _, _ in made]))
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
    signs: Sequence[Signs] = (),
) -> tuple[Shape, ...]:
    """Return the best questions where tables differ in weight or attributes in their values.

    It is the same convex program, with a need for each component (`Targets`), and every set of
    attributes may have a weight of its own. Sets that tell less than a single coefficient does are
    left out. Errors of tables count, not their squares: so the program is solved again with needs
    that are divided by the error each table had.
    """
    from scipy import sparse

    targets = Targets.of(workload, order, signs)
    theta = np.array(squares or (0.0,) * order)
    candidates = [
        *(_alike if targets.is_everything else _candidates)(targets, epsilon, dimension, theta),
        *_generic_candidates(targets, epsilon, dimension, theta),
    ]
    gains = sparse.vstack([c.gains for c in candidates], format="csr")
    needs = targets.needs()
    needed = needs > 0
    gains = gains[:, needed]
    kept, shares = _kept(gains, needs[needed])
    before, rounds = inf, 0
    while not targets.is_single:
        precision = np.ones(len(needs))
        precision[needed] = gains[kept].T @ shares
        errors = targets.errors(precision)
        value = targets.mean(errors)
        if value > before * (1 - 1e-8):
            break
        needs, before, rounds = targets.needs(errors), value, rounds + 1
        if rounds == 1:  # other questions may be worth asking now
            kept, shares = _kept(gains, needs[needed])
        else:
            shares = _best_mixture(gains[kept], needs[needed], shares=shares)
    chosen, start = [], 0
    for candidate in candidates:
        low, high = np.searchsorted(kept, (start, start + len(candidate.sets)))
        chosen.append((candidate, kept[low:high] - start, shares[low:high]))
        start += len(candidate.sets)
    weights = whole_weights(np.concatenate([c.spread(own) for c, _, own in chosen]))
    shapes = []
    for candidate, rows, _ in chosen:
        sets = targets.used[candidate.sets[rows]]
        if len(rows) and candidate.alike:
            for parities in _orientations(candidate.kind):
                rest = {"weights": (weights.pop(0),), "among": tuple(sets[0].tolist())}
                shapes.append(_shape(candidate.kind, parities, epsilon, **rest))
        elif len(rows):
            own, weights = tuple(weights[: len(rows)]), weights[len(rows) :]
            rest = {"weights": own, "sets": tuple(map(tuple, sets.tolist()))}
            shapes.append(_shape(candidate.kind, candidate.parities, epsilon, **rest))
    return _side_by_side(shapes)


def _kept(gains: Any, needs: Floats) -> tuple[Ints, Floats]:
    """Return the questions that are worth asking, and how often each is asked."""
    shares = _best_mixture(gains, needs, steps=300)
    kept = np.flatnonzero(shares > 1e-4 * shares.max())
    # What matters little must be asked all the same: by the question that tells most about it.
    missing = np.flatnonzero(np.asarray(gains[kept].sum(axis=0)).ravel() == 0)
    best = np.asarray(gains[:, missing].argmax(axis=0)).ravel()
    kept = np.union1d(kept, best).astype(np.int64)
    return kept, _best_mixture(gains[kept], needs)


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


def _best_mixture(
    gains: Any, needs: Floats, steps: int = _STEPS, shares: Floats | None = None
) -> Floats:
    """Return the shares ρ ≥ 0, Σρ = 1, that minimise Σ_j needs_j / (ρ·gains)_j.

    Multiplicative updates: a share grows with the root of what it would gain. At the optimum no
    gain exceeds the mean; how far the largest does bounds what is left to win. They begin with these
    ``shares``, or with all alike.
    """
    if shares is None:
        shares = np.full(gains.shape[0], 1 / gains.shape[0])
    gained = gains.T.tocsr() if hasattr(gains, "tocsr") else gains.T
    for _ in range(steps):
        precision = gained @ shares
        if not precision.all():
            break  # something needed is not asked for, and no share can change that
        value = (needs / precision).sum()
        slope = gains @ (needs / precision**2) / value
        if slope.max() < 1 + 1e-7:
            break
        shares = shares * np.sqrt(slope)
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


def whole_weights(shares: Floats) -> list[int]:
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
    is_table = is_table and not kind.functionals
    return Shape(
        kind.attributes, parities, answer, cell=is_table, functionals=kind.functionals, **rest
    )


def _side_by_side(shapes: Any) -> tuple[Shape, ...]:
    """Return shapes with equal ways of answering side by side."""
    return tuple(
        sorted(
            shapes,
            key=lambda s: (s.answer.symbols, s.attributes, s.functionals, s.parities, s.sets or ()),
        )
    )


# Candidates for a workload


class _Candidates(NamedTuple):
    """Questions of one kind about some sets of attributes, and what each tells of components."""

    kind: Type
    parities: tuple[int, ...]
    sets: Ints
    gains: Any
    alike: bool = False
    """Whether any of the attributes of the one set may be asked about, in any orientation."""

    def spread(self, shares: Floats) -> Floats:
        """Return the shares of its shapes or sets."""
        times = len(_orientations(self.kind)) if self.alike else 1
        return np.repeat(shares / times, times)

    @classmethod
    def of(
        cls,
        targets: Targets,
        kind: Type,
        parities: tuple[int, ...],
        sets: Ints,
        touched: Ints,
        moment: float,
        theta: Floats,
    ) -> _Candidates:
        """Return candidates whose members touch these places."""
        from scipy import sparse

        counts = np.array([signs.count for signs in targets.signs])
        masks, members = np.unique(touched, return_counts=True)
        numbers = [targets.numbering.of_question(sets, mask) for mask in masks.tolist()]
        gains = [
            times
            / (
                (moment - theta[mask.bit_count() - 1])
                * counts[sets[:, positions(mask)]].prod(axis=1)
            )
            for mask, times in zip(masks.tolist(), members.tolist(), strict=True)
        ]
        starts = np.arange(0, len(sets) * len(masks) + 1, len(masks))
        held = (np.stack(gains, axis=1).ravel(), np.stack(numbers, axis=1).ravel(), starts)
        return cls(
            kind, parities, sets, sparse.csr_array(held, (len(sets), targets.numbering.size))
        )


def _candidates(
    targets: Targets, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[_Candidates]:
    """Yield questions about yes/no attributes that tell more than a single coefficient does."""
    plain = np.array([place for place, signs in enumerate(targets.signs) if signs.size == 2])
    if not len(plain):
        return
    attributes, order, needs = len(plain), targets.order, targets.needs()
    types = sorted(subspace_types(attributes, order, dimension), key=lambda t: t.attributes)
    for size, group in groupby(types, key=lambda t: t.attributes):
        turned = [(t, p) for t in group for p in _orientations(t)]
        # All sets if they are few, else those within a table, else only what treats attributes alike.
        if comb(attributes, size) * len(turned) <= _MOST_CANDIDATES:
            sets = plain[all_tables(attributes, size)]
        else:
            sets = _within(targets.tables, size)
            sets = sets[np.isin(sets, plain).all(axis=1)]
            if len(sets) * len(turned) > _MOST_CANDIDATES:
                turned = [(t, p) for t, p in turned if len(_orientations(t)) == 1]
        if not len(sets):
            continue
        for kind, parities in turned:
            masks = span(parities)[1:]
            masks = masks[np.bitwise_count(masks) <= order]
            moment = _moment(epsilon, kind.dimension)
            numbers = np.stack([targets.numbering.of_question(sets, m) for m in masks.tolist()], 1)
            useful = (needs[numbers] > 0).sum(axis=1) / moment
            worth = (needs[numbers] > 0).any(axis=1) & (
                (kind.dimension == 1) | (useful > 1 / _moment(epsilon, 1))
            )
            if worth.any():
                yield _Candidates.of(targets, kind, parities, sets[worth], masks, moment, theta)


def _alike(
    targets: Targets, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[_Candidates]:
    """Yield questions about yes/no attributes, all of them alike, where all tables matter alike."""
    from scipy import sparse

    plain = np.array([place for place, signs in enumerate(targets.signs) if signs.size == 2])
    order = min(targets.order, len(plain))
    for kind in _worthwhile(subspace_types(len(plain), order, dimension)) if len(plain) else ():
        if _questions(len(plain), kind) >= _MOST_QUESTIONS:
            continue
        moment, gains = _moment(epsilon, kind.dimension), np.zeros(targets.numbering.size)
        for level, held in enumerate(kind.levels, start=1):
            sets = plain[all_tables(len(plain), level)]
            numbers = targets.numbering.of_question(sets, (1 << level) - 1)
            gains[numbers] = held / (len(sets) * (moment - theta[level - 1]))
        row = sparse.csr_array(gains[None, :])
        yield _Candidates(kind, kind.parities, plain[None, :], row, alike=True)


def _generic_candidates(
    targets: Targets, epsilon: float, dimension: int | None, theta: Floats
) -> Iterator[_Candidates]:
    """Yield questions about sets in which some attribute has more than two values.

    Each attribute gives as many questions as there are parities, or as many as it has bits: so every
    sum of parities touches every attribute of enough bits, and nothing is learnt that no table of
    these attributes needs.
    """
    widths = np.array([(signs.size - 1).bit_length() for signs in targets.signs])
    limit = LARGEST_DIMENSION if dimension is None else dimension
    worth = [1]
    for parities in range(2, limit + 1):  # more of them must tell more
        if _worth(epsilon, parities) > _worth(epsilon, worth[-1]) * _WORTHWHILE:
            worth.append(parities)
    for level in range(1, targets.order + 1):
        sets = _within(targets.tables, level)
        sets = sets[(widths[sets] > 1).any(axis=1)]
        questions = float(((1 << widths) - 1)[sets].prod(axis=1, dtype=np.float64).sum())
        for parities in worth:
            if parities > 1 and questions * ((1 << parities) - 1) ** 2 > _MOST_PAIRS:
                break
            taken = np.minimum(widths[sets], parities)
            for functionals in np.unique(taken[taken.sum(axis=1) >= parities], axis=0):
                same = sets[(taken == functionals).all(axis=1)]
                kind = _generic(tuple(functionals.tolist()), parities)
                shape = _shape(kind, kind.parities, epsilon)
                moment = _moment(epsilon, parities)
                yield _Candidates.of(
                    targets, kind, kind.parities, same, shape.touched, moment, theta
                )


def _worth(epsilon: float, dimension: int) -> float:
    """Return what a report of so many parities tells, if all of their sums are needed."""
    return ((1 << dimension) - 1) / _moment(epsilon, dimension)


def _generic(functionals: tuple[int, ...], dimension: int) -> Type:
    """Return the type whose parities take turns at attributes' questions."""
    parities = [0] * dimension
    for bit in range(sum(functionals)):
        parities[bit % dimension] |= 1 << bit
    plain = set(functionals) == {1}
    return Type(len(functionals), tuple(parities), (), () if plain else functionals)


def _within(groups: Sequence[Ints], size: int) -> Ints:
    """Return the sets of so many attributes that some table holds."""
    parts = [
        tables[:, places]
        for tables in groups
        if tables.shape[1] >= size
        for places in all_tables(tables.shape[1], size).tolist()
    ]
    return np.unique(np.concatenate(parts), axis=0) if parts else np.zeros((0, size), np.int64)
