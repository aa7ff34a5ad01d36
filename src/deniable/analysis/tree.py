"""The tree of Chow and Liu: the distribution over a tree that comes nearest to all pairs' tables.

Among all trees, the one whose edges share the most mutual information is the likeliest. Its edges are
a maximal spanning tree over all pairs, with mutual information from which the noise's share is taken
away (`deniable.analysis.information`). Given its parent, an attribute depends on nothing else, so one
conditional table per attribute says all.
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

from deniable.analysis.association import associations
from deniable.analysis.bif import bif
from deniable.analysis.information import (
    Information,
    information,
    margins_of,
    mutual_information,
    pair_tables,
)
from deniable.analysis.records import check_people, codes_of, drawn, frame_of, generator, true_pairs
from deniable.errors import TableError
from deniable.release.marginal import IMPLAUSIBLE
from deniable.release.release import Released
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Ints, all_tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Totals", "Tree", "spanning", "tree"]

Floats = NDArray[np.float64]

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
    strongest first. ``parents`` maps each attribute to its parent, or None for a root; parents stand
    before their children. ``cpts`` maps each attribute to its shares: an array of its values for a
    root, of its parent's values × its own otherwise. ``notes`` says what a reader should know.
    """

    schema: Schema
    edges: pd.DataFrame
    parents: dict[str, str | None]
    cpts: dict[str, Floats] = field(repr=False)
    people: int
    simulated: bool
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kind = "tree" if len(self.edges) == len(self.schema) - 1 else "forest"
        mark = ", SIMULATED" if self.simulated else ""
        said = "".join(f"\n{note}" for note in self.notes)
        return (
            f"<Tree: a {kind} over {len(self.schema)} attributes from {self.people:,} people{mark}>"
            f"\n{self.edges.to_string(index=False)}{said}"
        )

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
        codes: list[Ints] = [np.zeros(people, np.int64)] * len(self.schema)
        for child, parent, given in self._steps:
            rows = np.zeros(people, np.int64) if parent is None else codes[parent]
            codes[child] = drawn(given, rows, random)
        return frame_of(self.schema, codes)

    def log_likelihood(self, frame: Any) -> float:
        """Return the mean log-likelihood of a frame's records, in nats per record."""
        codes = codes_of(self.schema, frame)
        total = 0.0
        for child, parent, given in self._steps:
            rows = 0 if parent is None else codes[parent]
            total += float(np.log(given)[rows, codes[child]].mean())
        return total

    def total_mutual_information(self, frame: Any) -> Totals:
        """Return what the tree's edges share in a frame's records, beside that frame's best tree."""
        codes, sizes = codes_of(self.schema, frame), self.schema.sizes
        pairs = all_tables(len(sizes), 2)
        told = [mutual_information(table[None])[0] for table in true_pairs(codes, sizes, pairs)]
        strength = dict(zip(map(tuple, pairs.tolist()), map(float, told), strict=True))
        everything = np.ones(len(pairs), np.bool_)
        best = pairs[spanning(len(sizes), pairs, np.array(told), everything)]
        return Totals(
            sum(strength[pair] for pair in self._pairs()),
            sum(strength[pair] for pair in map(tuple, best.tolist())),
        )

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
        for a, b, told in self.edges[["a", "b", "mutual_information"]].itertuples(index=False):
            ends = (a, b) if self.parents[b] == a else (b, a)
            graph.add_edge(*ends, mutual_information=told)
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


def tree(release: Released, *, significant: bool = False, root: str | None = None) -> Tree:
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
    if not release.plausible:
        raise TableError(f"There is no tree of such reports. {IMPLAUSIBLE}")
    margins = margins_of(release)
    found = information(release, margins)
    q_values = _q_values(release)
    allowed = found.known
    if significant:
        if np.isnan(q_values[allowed]).any():
            raise TableError(
                "Significant edges need estimates with known noise; this release's estimator "
                f"{release.estimator!r} has none. Take {release.decoder.exact_estimator!r}."
            )
        allowed = allowed & (np.nan_to_num(q_values, nan=1) < _LEVEL)
    kept = spanning(len(schema), found.pairs, found.mutual_information, allowed)
    chosen = found.pairs[kept]
    parents = dict(_rooted(len(schema), chosen, start))
    tables = dict(
        zip(map(tuple, chosen.tolist()), pair_tables(release, chosen, margins), strict=True)
    )
    cpts = {}
    for child, parent in parents.items():
        if parent is None:
            share = margins[child]
        else:
            both = tables[min(child, parent), max(child, parent)]
            share = both if parent < child else both.T
        cpts[schema.names[child]] = share / share.sum(axis=-1, keepdims=True)
    return Tree(
        schema,
        _edges(schema, found, q_values, kept),
        {schema.names[c]: None if p is None else schema.names[p] for c, p in parents.items()},
        cpts,
        release.people,
        release.simulated,
        _notes(found, len(schema), len(chosen), significant),
    )


def _q_values(release: Released) -> Floats:
    """Return each pair's q-value, in the order of pairs; none where no noise is known."""
    pairs = all_tables(len(release.survey.schema), 2)
    if release.estimator not in release.decoder.unbiased:
        return np.full(len(pairs), np.nan)
    names = np.array(release.survey.schema.names, dtype=object)[pairs]
    found = associations(release).set_index(["a", "b"])["q_value"]
    return found.loc[list(map(tuple, names))].to_numpy()


def _edges(schema: Schema, found: Information, q_values: Floats, kept: Ints) -> pd.DataFrame:
    """Return the edges as a frame, the strongest first."""
    import pandas as pd

    kept = kept[np.argsort(-found.mutual_information[kept], kind="stable")]
    names = np.array(schema.names, dtype=object)
    return pd.DataFrame(
        {
            "a": names[found.pairs[kept, 0]],
            "b": names[found.pairs[kept, 1]],
            "mutual_information": found.mutual_information[kept],
            "standard_error": found.standard_error[kept],
            "q_value": q_values[kept],
        }
    )


def _notes(found: Information, attributes: int, edges: int, significant: bool) -> tuple[str, ...]:
    """Return what a reader of the tree should know."""
    notes = []
    unknown = int((~found.known).sum())
    if unknown:
        notes.append(
            f"{unknown:,} of {len(found.pairs):,} pairs are not known, because nobody was asked "
            "what they need: they count as no edge."
        )
    if significant and edges < attributes - 1:
        notes.append(
            f"{attributes - 1 - edges:,} edges of a full tree are not significant and left out."
        )
    return tuple(notes)


def spanning(attributes: int, pairs: Ints, strength: Floats, allowed: NDArray[np.bool_]) -> Ints:
    """Return the rows of the pairs that make the strongest tree, or forest, of those allowed."""
    from scipy.sparse import coo_array, csgraph

    rows = np.flatnonzero(allowed)
    if not len(rows):
        return rows
    # Costs are positive, because a sparse zero would be no edge at all; a constant changes no tree.
    scale = float(np.ptp(strength[rows])) or 1.0
    costs = 1 + (strength[rows].max() - strength[rows]) / scale
    # Before 1.17.1, scipy's spanning tree takes no wider indices, and its arrays keep what they get.
    at = tuple(pairs[rows].T.astype(np.int32))
    whole = coo_array((costs, at), (attributes, attributes)).tocsr()
    kept = csgraph.minimum_spanning_tree(whole).tocoo()
    number = {pair: row for row, pair in enumerate(map(tuple, pairs.tolist()))}
    ends = zip(kept.row.tolist(), kept.col.tolist(), strict=True)
    return np.sort(np.array([number[min(pair), max(pair)] for pair in ends], np.int64))


def _rooted(attributes: int, edges: Ints, start: int) -> Iterator[tuple[int, int | None]]:
    """Yield each attribute with its parent, parents before children, from ``start`` on."""
    near: list[list[int]] = [[] for _ in range(attributes)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    seen: set[int] = set()
    for root in (start, *range(attributes)):
        waiting: list[tuple[int, int | None]] = [] if root in seen else [(root, None)]
        for child, parent in waiting:
            seen.add(child)
            yield child, parent
            waiting += [(each, child) for each in sorted(near[child]) if each != parent]
