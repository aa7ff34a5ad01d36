"""Models of many attributes: a graph of low treewidth over the pairs that depend on each other.

Beyond some twenty attributes a joint distribution cannot be kept whole. Pairs whose dependence is
significant (Benjamini–Hochberg) are gathered greedily, those that share the most information first,
into cliques of at most `WIDTH` + 1 attributes that form a tree: each attribute joins the group of
earlier ones with which it shares the most. The distribution of maximal entropy over that tree is
fitted to everything measured inside its cliques, by mirror descent (`deniable.release.descent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.release.dependence.information import information, margins
from deniable.release.dependence.residuals import Residuals
from deniable.release.dependence.selection import false_discoveries
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, all_tables, hadamard

WIDTH = 3
"""The treewidth: an attribute may depend on so many earlier ones directly."""

_LEVEL = 0.3
"""The share of chance findings among the pairs kept: more real ones come along, and early stopping
deals with the rest (0.05 leaves most of the gain on real data behind)."""

ROUNDS = 24
"""Mirror descent pauses so often, after fifty steps each, and may end there."""


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
    """A distribution over a tree of cliques, as each clique's table (an axis per attribute).

    Or several distributions over one tree, along axes that stand before these.
    """

    cliques: Sequence[Clique]
    marginals: Sequence[Floats]

    @classmethod
    def of_cells(cls, cliques: Sequence[Clique], cells: Floats) -> CliqueTree:
        """Return the tree of cliques with these cells: (clique, …, cell), of small ones the first."""
        marginals = []
        for clique, row in zip(cliques, cells, strict=True):
            size = len(clique.attributes)
            marginals.append(row[..., : 1 << size].reshape(*row.shape[:-1], *(2,) * size))
        return cls(cliques, marginals)

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
        cells = 1 << tables.shape[1]
        rows = [self._table(tuple(row)) for row in tables.tolist()]
        shape = self.marginals[0].shape[: self.marginals[0].ndim - len(self.cliques[0].attributes)]
        if not rows:
            return np.empty((*shape, 0, cells))
        return np.stack([row.reshape(*shape, cells) for row in rows], axis=-2)

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
        arguments += [factor, [..., *(names.setdefault(a, len(names)) for a in attributes)]]
    table: Floats = np.einsum(*arguments, [..., *(names[a] for a in out)])
    return table
