"""Models of many attributes: a graph of low treewidth over the pairs that depend on each other.

Beyond some twenty attributes a joint distribution cannot be kept whole. Pairs whose dependence is
significant (Benjamini–Hochberg) are gathered greedily, those that share the most information first,
into cliques of at most `WIDTH` + 1 attributes that form a tree: each attribute joins the group of
earlier ones with which it shares the most. `mbi` fits the distribution of maximal entropy over that
tree to everything measured inside its cliques, by mirror descent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np

from deniable.errors import TableError
from deniable.release.dependence.information import information, margins
from deniable.release.dependence.residuals import Residuals
from deniable.release.dependence.selection import false_discoveries
from deniable.release.model import MOST_WHOLE, independent, relative_precision
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, all_tables, hadamard

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


def pair_information(measurements: Measurements) -> Floats:
    """Return, for each pair that significantly depends, its mutual information; 0 for others.

    Test and information are those of `deniable.release.dependence`, as everywhere. Measurements carry
    no covariances between coefficients, though, so these count as uncorrelated, as InpHT's are.
    """
    from scipy import special

    numbering = measurements.numbering
    d = numbering.attributes
    matrix = np.zeros((d, d))
    if numbering.order < 2:
        return matrix
    pairs = all_tables(d, 2)
    numbers = numbering.of_tables(pairs)
    is_known = measurements.known[numbers].all(axis=1)
    pairs, numbers = pairs[is_known], numbers[is_known]
    theta = measurements.theta.clip(-1, 1)
    variance = np.where(
        measurements.known, measurements.variance - measurements.gain * theta**2, np.inf
    )
    signs = hadamard(np.eye(4))
    cells = np.column_stack((np.ones(len(pairs)), measurements.theta[numbers])) @ signs / 4
    covariance = (signs[:, 1:] * variance[numbers][:, None, :]) @ signs[1:] / 16
    tables = cells.reshape(-1, 2, 2)
    residuals = Residuals.of(tables, covariance)
    q_value = false_discoveries(special.chdtrc(1, residuals.statistic))
    single = np.stack((1 + measurements.theta[:d], 1 - measurements.theta[:d]), axis=1) / 2
    noise = np.repeat(variance[:d, None] / 4, 2, axis=1)
    share = margins(single, noise, np.inf, measurements.known[:d])
    a, b = pairs.T
    nats, _ = information(residuals, tables, covariance, share[a], share[b], np.inf)
    matrix[a, b] = np.where(q_value < _LEVEL, nats.clip(0, None), 0)
    return matrix + matrix.T


def grow(weight: Floats, width: int = WIDTH) -> list[Clique]:
    """Return a tree of cliques that gathers heavy pairs: parents stand before their children."""
    start = int(weight.max(axis=1).argmax())
    others = set(range(len(weight))) - {start}
    cliques = [Clique((start,), 0)]
    best: dict[int, tuple[float, tuple[int, ...], int]] = dict.fromkeys(others, (0.0, (), 0))

    def offer(index: int) -> None:
        for v in others:
            near = [u for u in cliques[index].attributes if weight[u, v] > 0]
            heaviest = sorted(near, key=lambda u: -weight[u, v])[:width]
            gain = float(weight[heaviest, v].sum())
            if gain > best[v][0]:
                best[v] = (gain, tuple(sorted(heaviest)), index)

    offer(0)
    while others:
        new = max(sorted(others), key=lambda v: best[v][0])
        _gain, shared, parent = best[new]
        if (
            not shared
        ):  # it depends on nothing that stands: a new tree, at the heaviest of the others
            new = max(sorted(others), key=lambda v: weight[v, sorted(others)].max())
            parent = 0
        others.remove(new)
        cliques.append(Clique((*shared, new), parent))
        offer(len(cliques) - 1)
    return cliques


@dataclass(frozen=True, eq=False)
class CliqueTree:
    """A distribution over a tree of cliques, as each clique's table (an axis per attribute)."""

    cliques: list[Clique]
    marginals: list[Floats]

    @cached_property
    def _home(self) -> dict[int, int]:
        return {clique.attributes[-1]: index for index, clique in enumerate(self.cliques)}

    @cached_property
    def conditionals(self) -> list[Floats]:
        """Return each clique's table given what it shares with its parent."""
        conditionals = []
        for table in self.marginals:
            below = table.sum(axis=-1, keepdims=True)
            even = np.full_like(table, 0.5)
            conditionals.append(np.divide(table, below, out=even, where=below > 0))
        return conditionals

    def tables(self, tables: Ints) -> Floats:
        """Return the cells of tables of one size."""
        rows = [self._table(tuple(row)).ravel() for row in tables.tolist()]
        return np.array(rows).reshape(len(tables), -1)

    def _table(self, attributes: tuple[int, ...]) -> Floats:
        """Sum everything else out, from the leaves up to where all these attributes have met."""
        messages: dict[int, list[tuple[Floats, tuple[int, ...]]]] = {}
        indices = {self._home[a] for a in attributes}
        while True:
            index = max(indices)
            indices.remove(index)
            clique = self.cliques[index]
            is_top = not indices
            factors = [
                (self.marginals[index] if is_top else self.conditionals[index], clique.attributes),
                *messages.pop(index, []),
            ]
            candidates = attributes if is_top else (*clique.shared, *attributes)
            present = {a for _, axes in factors for a in axes}
            out = tuple(dict.fromkeys(a for a in candidates if a in present))
            table = _product(factors, out)
            if is_top:
                return table
            messages.setdefault(clique.parent, []).append((table, out))
            indices.add(clique.parent)


def _product(factors: list[tuple[Floats, tuple[int, ...]]], out: tuple[int, ...]) -> Floats:
    names: dict[int, int] = {}
    arguments: list[Any] = []
    for factor, attributes in factors:
        arguments += [factor, [names.setdefault(a, len(names)) for a in attributes]]
    table: Floats = np.einsum(*arguments, [names[a] for a in out])
    return table


class Graph:
    """A tree of cliques, ready to be fitted to measurements; compiled once, at the first of them."""

    def __init__(self, measurements: Measurements) -> None:
        """Take the structure from the pairs that significantly depend."""
        self.cliques = grow(pair_information(measurements))
        self.largest = _largest(self.cliques)
        signs = {c: hadamard(np.eye(1 << len(c))) for c in self.largest}

        def loss(marginals: Any, data: Any) -> Any:
            errors = {c: signs[c] @ marginals[c].datavector() - data[0][c] for c in self.largest}
            return sum((data[1][c] * error**2).sum() / 2 for c, error in errors.items())

        self._loss = loss

    def descend(self, measurements: Measurements, rounds: int) -> list[CliqueTree]:
        """Return the model after each round of mirror descent, the start at independence first."""
        with _libraries() as mbi:
            attributes = measurements.numbering.attributes
            domain = mbi.Domain(range(attributes), [2] * attributes)
            goals, weights, start = _goals(measurements, self.largest)
            stops = [self._tree(self._independent(measurements))]

            def pause(marginals: Any) -> None:
                tables = {c: np.asarray(marginals[c].values, np.float64) for c in self.largest}
                stops.append(self._tree(tables))

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

    def _tree(self, tables: dict[tuple[int, ...], Floats]) -> CliqueTree:
        """Sum each clique's table from that of a largest clique that holds all of its attributes."""
        marginals = []
        for clique in self.cliques:
            whole = next(c for c in tables if set(clique.attributes) <= set(c))
            marginals.append(_product([(tables[whole], whole)], clique.attributes))
        return CliqueTree(self.cliques, marginals)

    def _independent(self, measurements: Measurements) -> dict[tuple[int, ...], Floats]:
        """Return the cliques' tables where all attributes are independent."""
        theta = np.tanh(independent(measurements))
        single = np.stack((1 + theta, 1 - theta), axis=1) / 2
        return {c: _product([(single[a], (a,)) for a in c], c) for c in self.largest}


NEEDS_EXTRA = (
    "A model of more than twenty attributes needs the extra 'model', which is not installed: "
    'pip install "deniable[model]".'
)


def lacks_extra(attributes: int) -> bool:
    """Tell whether a model of so many yes/no attributes takes libraries that are not installed."""
    return attributes > MOST_WHOLE and any(find_spec(name) is None for name in ("jax", "mbi"))


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
        raise TableError(NEEDS_EXTRA) from None
    try:
        yield mbi
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _largest(cliques: list[Clique]) -> list[tuple[int, ...]]:
    """Return the cliques that no other one holds, their attributes ascending."""
    sets = [frozenset(clique.attributes) for clique in cliques]
    largest = {one for one in sets if not any(one < other for other in sets)}
    return sorted(tuple(sorted(one)) for one in largest)


def _goals(measurements: Measurements, cliques: list[tuple[int, ...]]) -> tuple[Any, Any, Any]:
    """Return what each clique should match, how much that counts, and where λ starts.

    Positions are masks over a clique's cells, its last attribute the lowest bit. A coefficient that
    several cliques hold counts in the first of them.
    """
    numbering, weight = measurements.numbering, relative_precision(measurements)
    start = independent(measurements)
    goals, weights, begins = {}, {}, {}
    earlier: set[tuple[int, ...]] = set()
    for clique in cliques:
        goal, own_weight, begin = (np.zeros(1 << len(clique)) for _ in range(3))
        for size in range(1, min(numbering.order, len(clique)) + 1):
            for axes in combinations(range(len(clique)), size):
                members = tuple(clique[i] for i in axes)
                if members in earlier:
                    continue
                earlier.add(members)
                number = int(numbering.of_question(np.array([members]), (1 << size) - 1)[0])
                mask = sum(1 << (len(clique) - 1 - i) for i in axes)
                goal[mask], own_weight[mask] = (
                    measurements.theta[number].clip(-1, 1),
                    weight[number],
                )
                if size == 1:
                    begin[mask] = start[members[0]]
        goals[clique], weights[clique] = goal, own_weight
        begins[clique] = hadamard(begin[None])[0]
    return goals, weights, begins
