"""Models of many attributes: a graph of low treewidth over the pairs that depend on each other.

Beyond some twenty attributes a joint distribution cannot be kept whole. Pairs whose dependence is
significant (Benjamini–Hochberg) are gathered greedily, the strongest first, into cliques of at most
`WIDTH` + 1 attributes that form a tree: each attribute joins the group of earlier ones to which its
bonds are strongest. `mbi` fits the distribution of maximal entropy over that tree to everything
measured inside its cliques, by mirror descent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.release.model import independent, relative_precision
from deniable.release.projection import Measured
from deniable.survey.coefficients import Ints, hadamard

__all__ = ["ROUNDS", "WIDTH", "Clique", "Graph", "Tree", "bonds", "grow"]

Floats = NDArray[np.float64]

WIDTH = 3
"""The treewidth: an attribute may depend on so many earlier ones directly."""

_LEVEL = 0.3
"""The share of chance findings among the pairs kept: more real ones come along, and early stopping
deals with the rest (0.05 leaves most of the gain on real data behind)."""

ROUNDS = 24
"""Mirror descent pauses so often, after fifty steps each (`mbi` fixes that), and may end there."""


@dataclass(frozen=True)
class Clique:
    """Attributes that depend on each other, the last of them new; the others are its parent's."""

    attributes: tuple[int, ...]
    parent: int

    @property
    def shared(self) -> tuple[int, ...]:
        """Return the attributes that are its parent's too."""
        return self.attributes[:-1]


def bonds(measured: Measured) -> Floats:
    """Return, for each pair that significantly depends, its strength as mutual information.

    The test is ρ̂²/Var ~ χ²₁ with ρ̂ = θ̂_ab − θ̂_a·θ̂_b; in nats, small dependence carries
    ρ²/(2(1−θ_a²)(1−θ_b²)), from which the noise's own share is taken away.
    """
    from scipy import stats

    numbering = measured.numbering
    d = numbering.attributes
    strength = np.zeros((d, d))
    if numbering.order < 2:
        return strength
    pairs = np.array(list(combinations(range(d), 2)))
    number = numbering.of_question(pairs, 3)
    theta = np.where(measured.known, measured.theta, 0).clip(-1, 1)
    spread = np.where(measured.known, measured.variance, np.inf)
    a, b = pairs.T
    rho = theta[number] - theta[a] * theta[b]
    with np.errstate(invalid="ignore"):
        more = theta[b] ** 2 * spread[a] + theta[a] ** 2 * spread[b] - spread[a] * spread[b]
    variance = spread[number] + np.nan_to_num(more, nan=np.inf, posinf=np.inf).clip(0, None)
    tested = np.isfinite(variance)
    found = np.ones(len(pairs))
    found[tested] = stats.chi2.sf(rho[tested] ** 2 / variance[tested], 1)
    significant = tested & (stats.false_discovery_control(found) < _LEVEL)
    room = ((1 - theta[a] ** 2) * (1 - theta[b] ** 2)).clip(0.01, None)
    share = (rho**2 - np.where(tested, variance, 0)).clip(0, None) / (2 * room)
    strength[a[significant], b[significant]] = share[significant]
    return strength + strength.T


def grow(strength: Floats, width: int = WIDTH) -> list[Clique]:
    """Return a tree of cliques that gathers strong bonds: parents stand before their children."""
    d = len(strength)
    left = set(range(d))
    start = int(strength.max(axis=1).argmax())
    cliques = [Clique((start,), 0)]
    left.remove(start)
    best: dict[int, tuple[float, tuple[int, ...], int]] = dict.fromkeys(left, (0.0, (), 0))

    def offer(index: int) -> None:
        held = cliques[index].attributes
        for v in left:
            near = sorted((u for u in held if strength[u, v] > 0), key=lambda u: -strength[u, v])
            chosen = near[:width]
            gain = float(strength[chosen, v].sum())
            if gain > best[v][0]:
                best[v] = (gain, tuple(sorted(chosen)), index)

    offer(0)
    while left:
        new = max(sorted(left), key=lambda v: best[v][0])
        _gain, shared, parent = best[new]
        if not shared:  # nothing bound to what stands: a new tree, at the strongest that is left
            new = max(sorted(left), key=lambda v: strength[v, sorted(left)].max())
            shared, parent = (), 0
        left.remove(new)
        cliques.append(Clique((*shared, new), parent))
        offer(len(cliques) - 1)
    return cliques


@dataclass(frozen=True, eq=False)
class Tree:
    """A distribution over a tree of cliques, held as each clique's table (an axis per attribute)."""

    cliques: list[Clique]
    marginals: list[Floats]

    @cached_property
    def _home(self) -> dict[int, int]:
        return {clique.attributes[-1]: index for index, clique in enumerate(self.cliques)}

    @cached_property
    def given(self) -> list[Floats]:
        """Return each clique's table given what it shares with its parent."""
        given = []
        for table in self.marginals:
            shared = table.sum(axis=-1, keepdims=True)
            given.append(np.divide(table, shared, out=np.full_like(table, 0.5), where=shared > 0))
        return given

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        rows = [self._table(tuple(row)).transpose().ravel() for row in tables.tolist()]
        return np.array(rows).reshape(len(tables), -1)

    def _table(self, wanted: tuple[int, ...]) -> Floats:
        """Sum everything else out, from the leaves up to where all that is wanted has met."""
        waiting: dict[int, list[tuple[Floats, tuple[int, ...]]]] = {}
        needed = {self._home[a] for a in wanted}
        while True:
            index = max(needed)
            needed.remove(index)
            clique = self.cliques[index]
            top = not needed
            factors = [
                (self.marginals[index] if top else self.given[index], clique.attributes),
                *waiting.pop(index, []),
            ]
            kept = wanted if top else (*clique.shared, *(a for a in wanted))
            held = {a for _, attributes in factors for a in attributes}
            out = tuple(dict.fromkeys(a for a in kept if a in held))
            made = _product(factors, out)
            if top:
                return made
            waiting.setdefault(clique.parent, []).append((made, out))
            needed.add(clique.parent)


def _product(factors: list[tuple[Floats, tuple[int, ...]]], out: tuple[int, ...]) -> Floats:
    names: dict[int, int] = {}
    arguments: list[Any] = []
    for factor, attributes in factors:
        arguments += [factor, [names.setdefault(a, len(names)) for a in attributes]]
    made: Floats = np.einsum(*arguments, [names[a] for a in out])
    return made


class Graph:
    """A tree of cliques, ready to be fitted to measurements; compiled once, at the first of them."""

    def __init__(self, measured: Measured) -> None:
        """Take the structure from the pairs that significantly depend."""
        self.cliques = grow(bonds(measured))
        self.largest = _largest(self.cliques)
        signs = {c: hadamard(np.eye(1 << len(c))) for c in self.largest}

        def loss(marginals: Any, data: Any) -> Any:
            missed = {c: signs[c] @ marginals[c].datavector() - data[0][c] for c in self.largest}
            return sum((data[1][c] * miss**2).sum() / 2 for c, miss in missed.items())

        self._loss = loss

    def descend(self, measured: Measured, rounds: int) -> list[Tree]:
        """Return the model after each round of mirror descent, the start at independence first."""
        with _libraries() as mbi:
            attributes = measured.numbering.attributes
            domain = mbi.Domain(range(attributes), [2] * attributes)
            goals, weights, start = _targets(measured, self.largest)
            stops = [self._tree(self._independent(measured))]

            def pause(marginals: Any) -> None:
                found = {c: np.asarray(marginals[c].values, np.float64) for c in self.largest}
                stops.append(self._tree(found))

            # mbi's first step is 2/lipschitz long, and each is 1 % longer: fifty of them make a first
            # stop as near as that of a `Path`, and every stop lies 1.64 times as far as the last.
            lipschitz = 100 * max(1.0, float(sum(weight.sum() for weight in weights.values())))
            factors = {
                c: mbi.Factor(domain.project(c), start[c].reshape((2,) * len(c)))
                for c in self.largest
            }
            mbi.estimation.MirrorDescent().estimate(
                domain,
                mbi.MarginalLossFn(self.largest, self._loss, (goals, weights), lipschitz),
                known_total=1.0,
                iters=rounds * mbi.estimation.CALLBACK_EVERY,
                callback_fn=pause,
                warm_start=mbi.CliqueVector(domain, self.largest, factors),
            )
        return stops

    def _tree(self, found: dict[tuple[int, ...], Floats]) -> Tree:
        return Tree(self.cliques, [_inside(found, clique.attributes) for clique in self.cliques])

    def _independent(self, measured: Measured) -> dict[tuple[int, ...], Floats]:
        """Return the cliques' tables where all attributes are independent."""
        theta = np.tanh(independent(measured))
        single = np.stack((1 + theta, 1 - theta), axis=1) / 2
        return {c: _product([(single[a], (a,)) for a in c], c) for c in self.largest}


@contextmanager
def _libraries() -> Iterator[Any]:
    """Import mbi, with jax in double precision and quick to compile: no step takes long to run."""
    try:
        jax = import_module("jax")
        settings = {
            "jax_enable_x64": True,
            "jax_enable_compilation_cache": False,
            "jax_disable_most_optimizations": True,
        }
        before = {name: jax.config.values[name] for name in settings}
        for name, value in settings.items():
            jax.config.update(name, value)
        mbi = import_module("mbi")
    except ImportError:
        raise TableError(
            "A model of more than twenty attributes needs the extra 'model', which is not "
            'installed: pip install "deniable[model]".'
        ) from None
    try:
        yield mbi
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _largest(cliques: list[Clique]) -> list[tuple[int, ...]]:
    """Return the cliques that no other one holds, their attributes ascending."""
    sets = [frozenset(clique.attributes) for clique in cliques]
    kept = [one for one in sets if not any(one < other for other in sets)]
    return sorted(tuple(sorted(one)) for one in set(kept))


def _inside(found: dict[tuple[int, ...], Floats], wanted: tuple[int, ...]) -> Floats:
    """Return the table of these attributes, summed from a clique that holds them all."""
    whole = next(c for c in found if set(wanted) <= set(c))
    return _product([(found[whole], whole)], wanted)


def _targets(measured: Measured, cliques: list[tuple[int, ...]]) -> tuple[Any, Any, Any]:
    """Return what each clique should match, how much that counts, and where λ starts.

    Positions are masks over a clique's cells, its last attribute the lowest bit. A coefficient that
    several cliques hold counts in the first of them.
    """
    numbering, weight = measured.numbering, relative_precision(measured)
    start = independent(measured)
    goals, weights, begins = {}, {}, {}
    seen: set[tuple[int, ...]] = set()
    for clique in cliques:
        goal, counts, begin = (np.zeros(1 << len(clique)) for _ in range(3))
        for size in range(1, min(numbering.order, len(clique)) + 1):
            for places in combinations(range(len(clique)), size):
                members = tuple(clique[i] for i in places)
                if members in seen:
                    continue
                seen.add(members)
                number = int(numbering.of_question(np.array([members]), (1 << size) - 1)[0])
                mask = sum(1 << (len(clique) - 1 - i) for i in places)
                goal[mask], counts[mask] = measured.theta[number].clip(-1, 1), weight[number]
                if size == 1:
                    begin[mask] = start[members[0]]
        goals[clique], weights[clique] = goal, counts
        begins[clique] = hadamard(begin[None])[0]
    return goals, weights, begins
