"""The tree of Chow and Liu: the distribution over a tree that comes nearest to all pairs' tables.

Among all trees, the one whose edges share the most mutual information is the likeliest. Its edges are
a maximal spanning tree over all pairs, with the mutual information that `deniable.analysis.dependence`
tells, without what noise adds (or that of a model, where there is one). Given its parent, an attribute
depends on nothing else, so one conditional table per attribute says all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.bif import bif
from deniable.analysis.dependence import Dependence, dependence, margins_of
from deniable.analysis.records import (
    check_people,
    frame_of,
    generator,
    levels_within,
    true_pairs,
    values_of,
)
from deniable.errors import TableError
from deniable.formats.markup import frame_text, number_text, table_markup
from deniable.numeric.shares import draw
from deniable.release.dependence.information import (
    effective_people,
    mutual_information,
    nearest,
    smoothen,
)
from deniable.release.estimate import chunks_alike
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.release import ReleasedTables
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints, all_tables, same_sizes

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.05
"""The share of chance findings among the edges of a forest."""


class Totals(NamedTuple):
    """What the edges of a tree share in some records, in nats, and what those of the best tree do."""

    tree: float
    best: float

    @property
    def share(self) -> float:
        """Return which part of the best tree's information the tree has."""
        return self.tree / self.best if self.best > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Tree:
    """A distribution over records: each attribute depends on its parent, and on nothing else.

    ``edges`` is a pandas frame (a, b, mutual_information in nats, standard_error, q_value), the
    surest first; edges were picked, so their mutual information is drawn towards 0 (see
    `deniable.release.dependence.selection`). ``parents`` maps each attribute to its parent, or None
    for a root; parents stand before their children. ``cpts`` maps each attribute to its shares: an
    array of its values for a root, of its parent's values × its own otherwise; values of numbers are
    bins, and ``levels`` are the fitted shares of their points (and of missing). ``notes`` says what a
    reader should know.
    """

    schema: Schema
    edges: pd.DataFrame
    parents: dict[str, str | None]
    cpts: dict[str, Floats] = field(repr=False)
    people: int
    simulated: bool
    notes: tuple[str, ...] = ()
    levels: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        kind = "tree" if len(self.edges) == len(self.schema) - 1 else "forest"
        mark = ", SIMULATED" if self.simulated else ""
        notes = "".join(f"\n{note}" for note in self.notes)
        return (
            f"<Tree: a {kind} over {len(self.schema)} attributes from {self.people:,} people{mark}>"
            f"\n{frame_text(self.edges)}{notes}"
        )

    def _repr_html_(self) -> str:
        rows = [
            (a, b, f"{information:.4f}", number_text(q_value, ".2g"))
            for a, b, information, q_value in zip(
                *(self.edges[name] for name in ("a", "b", "mutual_information", "q_value")),
                strict=True,
            )
        ]
        caption = f"Tree over {len(self.schema)} attributes, {self.people:,} people"
        heads = ("a", "b", "mutual information (nats)", "q-value")
        notes = (*self.notes, *(["Simulated."] * self.simulated))
        return table_markup(heads, rows, caption=caption, notes=notes)

    @cached_property
    def _steps(self) -> list[tuple[int, int | None, Floats]]:
        """Return each attribute, its parent, and its shares given each of the parent's values."""
        index = self.schema.index
        return [
            (index(name), None if parent is None else index(parent), np.atleast_2d(self.cpts[name]))
            for name, parent in self.parents.items()
        ]

    def sample(self, people: int, seed: str | None = None) -> pd.DataFrame:
        """Return synthetic records of declared values, as a pandas frame; a seed makes them again.

        The tree is private already, so a seed gives nothing away but the records themselves.
        """
        people, random = check_people(people), generator(seed)
        values: list[Ints] = [np.zeros(people, np.int64)] * len(self.schema)
        for child, parent, shares in self._steps:
            rows = np.zeros(people, np.int64) if parent is None else values[parent]
            values[child] = draw(shares, rows, random)
        for name, shares in self.levels.items():
            at = self.schema.index(name)
            values[at] = levels_within(shares, self.schema.attributes[at].bins, values[at], random)
        return frame_of(self.schema, values)

    def log_likelihood(self, frame: Any) -> float:
        """Return the mean log-likelihood of a frame's records, numbers in bins, in nats per record."""
        values = values_of(self.schema, frame)
        total = 0.0
        for child, parent, shares in self._steps:
            rows = 0 if parent is None else values[parent]
            total += float(np.log(shares)[rows, values[child]].mean())
        return total

    def total_mutual_information(self, frame: Any) -> Totals:
        """Return what the tree's edges share in a frame's records, beside that frame's best tree."""
        values, sizes = values_of(self.schema, frame), self.schema.sizes
        pairs = all_tables(len(sizes), 2)
        tables = true_pairs(values, sizes, pairs)
        nats = np.array([mutual_information(table[None])[0] for table in tables])
        best = spanning(len(sizes), pairs, nats, np.ones(len(pairs), np.bool_))
        row = {pair: number for number, pair in enumerate(map(tuple, pairs.tolist()))}
        own = [row[pair] for pair in self._pairs()]
        return Totals(float(nats[own].sum()), float(nats[best].sum()))

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the edges as sorted pairs of positions."""
        for child, parent, _ in self._steps:
            if parent is not None:
                yield min(child, parent), max(child, parent)

    def to_networkx(self) -> Any:
        """Return a networkx DiGraph from parents to children, with mutual information on edges."""
        try:
            networkx = import_module("networkx")
        except ImportError:
            raise TableError(
                "A networkx graph needs networkx, which is not installed: pip install networkx."
            ) from None
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.parents)
        for a, b, nats in self.edges[["a", "b", "mutual_information"]].itertuples(index=False):
            ends = (a, b) if self.parents[b] == a else (b, a)
            graph.add_edge(*ends, mutual_information=nats)
        return graph

    def to_bif(self) -> str:
        """Return the tree as a Bayesian network in the Interchange Format (BIF), for other tools."""
        return bif(self.schema, self.parents, self.cpts)

    def to_json(self) -> str:
        """Return the tree as a JSON text; what is not known is null."""
        edges = self.edges.astype(object).where(self.edges.notna(), None).to_dict("records")
        form = {
            "kind": "tree",
            "people": self.people,
            "simulated": self.simulated,
            "schema": self.schema.to_json(),
            "parents": self.parents,
            "cpts": {name: table.tolist() for name, table in self.cpts.items()},
            "edges": edges,
            "notes": list(self.notes),
        }
        return json.dumps(form, ensure_ascii=False, allow_nan=False)


def tree(release: ReleasedTables, *, significant: bool = False, root: str | None = None) -> Tree:
    """Return the Chow–Liu tree of a release's pairs.

    ``significant`` keeps only edges whose pairs significantly depend, with at most one in twenty by
    chance (Benjamini–Hochberg over all pairs): a forest. ``root`` is the attribute that its tree
    starts at, by default the first; it changes neither edges nor distribution.
    """
    survey = release.survey
    schema = survey.schema
    start = 0 if root is None else schema.index(root)
    if survey.order < 2:
        raise TableError("A tree needs tables of two attributes; this survey collected order 1.")
    if not release.evidence.plausible:
        raise TableError(f"There is no tree of such reports. {IMPLAUSIBLE}")
    pairwise = dependence(release)
    is_allowed = pairwise.known
    if significant:
        release.needs_covariance("A tree of significant edges")
        is_allowed = is_allowed & (np.nan_to_num(pairwise.columns["q_value"], nan=1) < _LEVEL)
    smooth = as_read(release)
    edges = spanning(len(schema), pairwise.pairs, _weights(smooth, pairwise), is_allowed)
    edge_pairs = pairwise.pairs[edges]
    parents = dict(_parents(len(schema), edge_pairs, start))
    return Tree(
        schema,
        _edges(schema, pairwise, edges),
        {schema.names[c]: None if p is None else schema.names[p] for c, p in parents.items()},
        _cpts(smooth, edge_pairs, parents),
        release.people,
        release.simulated,
        _notes(pairwise, len(schema), len(edge_pairs), significant),
        {
            attribute.name: release.number_fits[at].shares
            for at, attribute in enumerate(schema.attributes)
            if attribute.scale is not None
        },
    )


def as_read(release: ReleasedTables) -> ReleasedTables:
    """Return the release of which synthetic records are made: with numbers, that of a model.

    Single cells of numbers are mostly noise, while their distributions and moments are known well.
    Combined strata have no model.
    """
    if release.model is not None or release.strata or not release.number_fits:
        return release
    return release.with_consistency("model")


def _edges(schema: Schema, pairwise: Dependence, rows: Ints) -> pd.DataFrame:
    import pandas as pd

    excess, statistic, p_value = (
        pairwise.columns[name][rows] for name in ("excess", "statistic", "p_value")
    )
    rows = rows[np.lexsort((-excess, -statistic, p_value))]  # without a test, the strongest first
    names = np.array(schema.names, dtype=object)[pairwise.pairs[rows]]
    columns = ("mutual_information", "standard_error", "q_value")
    return pd.DataFrame(
        {"a": names[:, 0], "b": names[:, 1]}
        | {name: pairwise.columns[name][rows] for name in columns}
    )


def _weights(release: ReleasedTables, pairwise: Dependence) -> Floats:
    """Return what pairs are compared by: what they share without noise, or share in a model.

    A model is of all pairs together, and has hardly any noise left in each.
    """
    if release.model is None:
        return pairwise.columns["excess"]
    weights, sizes = np.empty(len(pairwise.pairs)), release.survey.schema.sizes
    for rows in same_sizes(release.survey.kinds, pairwise.pairs):
        shape = tuple(sizes[attribute] for attribute in pairwise.pairs[rows[0]])
        cells = release.estimate(pairwise.pairs[rows]).values
        weights[rows] = mutual_information(cells.reshape(-1, *shape))
    return weights


def _cpts(
    release: ReleasedTables, edges: Ints, parents: dict[int, int | None]
) -> dict[str, Floats]:
    """Return each attribute's shares given its parent's value, from the release's own tables."""
    schema = release.survey.schema
    margins = margins_of(release.survey.kinds, release.estimate, release.variances, release.people)
    tables = _pair_tables(release, edges, margins)
    cpts = {}
    for child, parent in parents.items():
        if parent is None:
            share = margins[child]
        else:
            both = tables[min(child, parent), max(child, parent)]
            share = both if parent < child else both.T
        cpts[schema.names[child]] = share / share.sum(axis=-1, keepdims=True)
    return cpts


def _pair_tables(
    release: ReleasedTables, pairs: Ints, margins: list[Floats]
) -> dict[tuple[int, int], Floats]:
    """Return the table (a, b) of each pair, as people may hold it, with these margins and no zero."""
    sizes = release.survey.schema.sizes
    tables: dict[tuple[int, int], Floats] = {}
    for rows, _ in chunks_alike(release.survey.kinds, sizes, pairs):
        a, b = (np.array([margins[i] for i in column]) for column in pairs[rows].T)
        cells = release.estimate(pairs[rows]).values.reshape(-1, a.shape[1], b.shape[1])
        people = effective_people(release.variances(pairs[rows]), release.people)
        smooth = smoothen(nearest(cells, a, b), a[:, :, None] * b[:, None, :], people)
        tables |= dict(zip(map(tuple, pairs[rows].tolist()), smooth, strict=True))
    return tables


def _notes(pairwise: Dependence, attributes: int, edges: int, significant: bool) -> tuple[str, ...]:
    notes = []
    unknown_pairs = int((~pairwise.known).sum())
    if unknown_pairs:
        notes.append(
            f"{unknown_pairs:,} of {len(pairwise.pairs):,} pairs are not known, because nobody was "
            "asked what they need, or because they have too many cells: they count as no edge."
        )
    if significant and edges < attributes - 1:
        notes.append(
            f"{attributes - 1 - edges:,} edges of a full tree are not significant and left out."
        )
    return tuple(notes)


def spanning(attributes: int, pairs: Ints, weight: Floats, is_allowed: NDArray[np.bool_]) -> Ints:
    """Return the rows of the pairs that make the heaviest tree, or forest, of those allowed."""
    from scipy.sparse import coo_array, csgraph

    rows = np.flatnonzero(is_allowed)
    if not len(rows):
        return rows
    # Costs are positive, because a sparse zero would be no edge at all; a constant changes no tree.
    scale = float(np.ptp(weight[rows])) or 1.0
    costs = 1 + (weight[rows].max() - weight[rows]) / scale
    # Before 1.17.1, scipy's spanning tree takes no wider indices, and its arrays keep what they get.
    at = tuple(pairs[rows].T.astype(np.int32))
    whole = coo_array((costs, at), (attributes, attributes)).tocsr()
    lightest = csgraph.minimum_spanning_tree(whole).tocoo()
    number = {pair: row for row, pair in enumerate(map(tuple, pairs.tolist()))}
    ends = zip(lightest.row.tolist(), lightest.col.tolist(), strict=True)
    return np.sort(np.array([number[min(pair), max(pair)] for pair in ends], np.int64))


def _parents(attributes: int, edges: Ints, start: int) -> Iterator[tuple[int, int | None]]:
    """Yield each attribute with its parent, parents before children, from ``start`` on."""
    near: list[list[int]] = [[] for _ in range(attributes)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    visits: set[int] = set()
    for root in (start, *range(attributes)):
        queue: list[tuple[int, int | None]] = [] if root in visits else [(root, None)]
        for child, parent in queue:
            visits.add(child)
            yield child, parent
            queue += [(each, child) for each in sorted(near[child]) if each != parent]
