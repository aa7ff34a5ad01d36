"""Mirror descent over a tree of cliques: the path from independence to the likeliest model.

The model is exp(Σ λ_S χ_S(x)) over the measured sets S inside the cliques. A step is

    λ ← λ − α·w·(θ(λ) − θ̂),        w the relative precisions,

and α follows Armijo's rule: a hundredth longer after a step that goes down as far as its slope
promises, half as long after one that does not (McKenna, Sheldon and Miklau 2019, Algorithm 1, as in
their library `mbi`, which the tests compare with). θ(λ) is exact, by messages from the leaves to the
root and back; cliques of one depth, and several sets of measurements, go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from deniable.numeric.shares import ratio
from deniable.release.graph import Clique
from deniable.release.model import independent, relative_precision
from deniable.release.projection import Measurements
from deniable.survey.coefficients import Floats, Ints, Shared, hadamard

STEPS = 50
"""The steps of a round."""

_LONGER, _SHORTER, _PROMISE = 1.01, 0.5, 0.5


class _Level(NamedTuple):
    """The cliques of one depth below the root, and how they meet those above them."""

    rows: slice
    parents: Ints
    """The different rows of their parents."""
    starts: Ints
    """Where the cliques of each parent begin."""
    own: Ints
    """The row of each clique's parent."""
    cells: Ints
    """For each clique and cell of its parent, the cell of what they share."""
    sums: Floats
    """The same as sums: a row for each cell of the parent, a column for each cell of what they share."""


class JunctionTree:
    """Cliques of yes/no attributes, each a row of cells; of a smaller one, the first cells only.

    A clique's last attribute is the lowest bit of a cell's number, and the one that it does not share.
    """

    def __init__(self, cliques: Sequence[Clique]) -> None:
        """Order the cliques by depth, those of one parent side by side."""
        self.width = max(len(clique.attributes) for clique in cliques)
        levels, row = [[0]], {0: 0}
        while children := [i for i, c in enumerate(cliques) if i and c.parent in levels[-1]]:
            children.sort(key=lambda i: row[cliques[i].parent])
            row |= {index: len(row) + place for place, index in enumerate(children)}
            levels.append(children)
        self.row = np.array([row[index] for index in range(len(cliques))])
        cells = np.arange(1 << self.width)
        sizes = np.array([1 << len(cliques[index].attributes) for index in row])
        self.exists = cells < sizes[:, None]
        self._levels = []
        for numbers in levels[1:]:
            own = np.array([row[cliques[index].parent] for index in numbers])
            above, starts = np.unique(own, return_index=True)
            shared = np.array([_shared_cells(cliques, index, cells) for index in numbers])
            sums = (shared[:, :, None] == np.arange(1 << (self.width - 1))).astype(float)
            rows = slice(row[numbers[0]], row[numbers[-1]] + 1)
            self._levels.append(_Level(rows, above, starts, own, shared, sums))
        self._signs = hadamard(np.eye(1 << self.width))

    def potentials(self, masks: Floats) -> Floats:
        """Return each cell's weight, from λ by clique and mask: (clique, set of measurements, mask)."""
        exponent = masks @ self._signs
        exponent -= exponent.max(axis=2, keepdims=True)
        weights: Floats = np.exp(exponent, out=exponent)
        weights *= self.exists[:, None]
        return weights

    def marginals(self, weights: Floats) -> Floats:
        """Turn the cells' weights into the cliques' tables, in place."""
        for level in reversed(self._levels):
            own = weights[level.rows]
            message = own[:, :, 0::2] + own[:, :, 1::2]
            message /= message.max(axis=2, keepdims=True)
            across = np.take_along_axis(message, level.cells[:, None, :], axis=2)
            weights[level.parents] *= np.multiply.reduceat(across, level.starts, axis=0)
            # What many cliques say of one may be tiny together.
            weights[level.parents] /= weights[level.parents].max(axis=2, keepdims=True)
        weights[0] /= weights[0].sum(axis=1, keepdims=True)
        for level in self._levels:
            own = weights[level.rows]
            total = own[:, :, 0::2] + own[:, :, 1::2]
            share = weights[level.own] @ level.sums
            own *= np.repeat(ratio(share, total), 2, axis=2)
        return weights

    def spectra(self, marginals: Floats) -> Floats:
        """Return all coefficients of the cliques, by mask."""
        spectra: Floats = marginals @ self._signs
        return spectra


def _shared_cells(cliques: Sequence[Clique], index: int, cells: Ints) -> Ints:
    """Return the cell of what a clique shares with its parent, for each cell of the parent."""
    clique, parent = cliques[index], cliques[cliques[index].parent]
    bits = {a: len(parent.attributes) - 1 - i for i, a in enumerate(parent.attributes)}
    shared = np.zeros_like(cells)
    for attribute in clique.attributes[:-1]:
        shared = 2 * shared + (cells >> bits[attribute] & 1)
    return shared


class _Goals(NamedTuple):
    """The measured sets inside cliques: row and mask of each, and what it should be."""

    rows: Ints
    masks: Ints
    goal: Floats
    weight: Floats
    start: Floats


def _goals(
    tree: JunctionTree, cliques: Sequence[Clique], several: Sequence[Measurements]
) -> _Goals:
    """Return what to fit; a set of attributes that several cliques hold stands in the first of them."""
    numbering = several[0].numbering
    at: dict[tuple[int, ...], tuple[int, int]] = {}
    for index, clique in enumerate(cliques):
        size = len(clique.attributes)
        for count in range(1, min(numbering.order, size) + 1):
            for axes in combinations(range(size), count):
                members = tuple(sorted(clique.attributes[i] for i in axes))
                mask = sum(1 << (size - 1 - i) for i in axes)
                at.setdefault(members, (int(tree.row[index]), mask))
    numbers = _numbers(numbering, list(at))
    rows, masks = np.array(list(at.values())).T
    singles = np.array([members[0] if len(members) == 1 else -1 for members in at])
    goal = np.stack([each.theta[numbers].clip(-1, 1) for each in several], axis=1)
    weight = np.stack([relative_precision(each)[numbers] for each in several], axis=1)
    start = np.stack(
        [np.where(singles < 0, 0, independent(each)[singles]) for each in several], axis=1
    )
    return _Goals(rows, masks, goal, weight, start)


def _numbers(numbering: Shared, sets: list[tuple[int, ...]]) -> Ints:
    """Return the numbers of the coefficients of sets of attributes."""
    numbers = np.empty(len(sets), np.int64)
    sizes = np.array(list(map(len, sets)))
    for size in np.unique(sizes).tolist():
        members = np.array([each for each in sets if len(each) == size])
        numbers[sizes == size] = numbering.of_question(members, (1 << size) - 1)
    return numbers


def descend(
    cliques: Sequence[Clique], several: Sequence[Measurements], rounds: int
) -> list[Floats]:
    """Return the cliques' tables at the start and after each round, as independent as can be first.

    Of each stop: (clique, set of measurements, cell). All measurements have one numbering.
    """
    tree = JunctionTree(cliques)
    goals = _goals(tree, cliques, several)
    shape = (len(cliques), len(several), 1 << tree.width)

    def tables(at: Floats) -> tuple[Floats, Floats]:
        masks = np.zeros(shape)
        masks[goals.rows, :, goals.masks] = at
        marginals = tree.marginals(tree.potentials(masks))
        return marginals, tree.spectra(marginals)[goals.rows, :, goals.masks]

    at = goals.start.copy()
    # The first step is as short as the first of a `Path`; every stop lies 1.64 times as far as the last.
    length = 2 / (100 * np.maximum(1.0, goals.weight.sum(axis=0)))
    marginals, theta = tables(at)
    stops = [marginals[tree.row]]
    for _ in range(rounds):
        for _ in range(STEPS):
            error = theta - goals.goal
            slope = goals.weight * error
            next_at = at - length * slope
            next_marginals, next_theta = tables(next_at)
            gain = (goals.weight * (error**2 - (next_theta - goals.goal) ** 2)).sum(axis=0) / 2
            is_down = gain >= _PROMISE * length * (slope * (theta - next_theta)).sum(axis=0)
            length = np.where(is_down, _LONGER, _SHORTER) * length
            at = np.where(is_down, next_at, at)
            theta = np.where(is_down, next_theta, theta)
            marginals = np.where(is_down[:, None], next_marginals, marginals)
        stops.append(marginals[tree.row])
    return stops
