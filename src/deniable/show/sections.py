"""What a report's sections say: how good the tables are, and which attributes depend on each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import comb, isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.planning.error import predicted_tv
from deniable.release.marginal import Table
from deniable.release.release import ReleasedTables
from deniable.show.numbers import points, q_value, share
from deniable.show.structure import (
    DOUBTFUL,
    MOST_NUMBERS,
    association_cells,
    draw_tree,
    is_noise,
    short_names,
    surest_names,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 15
"""The most associations that are listed."""

NO_TREE = (
    "No edge stands out from the noise, so there is no tree to draw: which attributes it joined would "
    "be chance."
)

# How good it is


@dataclass
class _Size:
    """The errors of the tables of one size."""

    tables: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Tables that are not known, by the reason why."""
    errors: list[float] = field(default_factory=list)
    largest: float = 0.0
    swamped: int = 0
    expected: list[float] = field(default_factory=list)


class Quality:
    """How large the errors of the tables are, table by table."""

    def __init__(self, release: ReleasedTables) -> None:
        self._release = release
        self._sizes = {size: _Size() for size in range(1, release.survey.order + 1)}
        self._widest: tuple[float, str] = (0.0, "")

    def add(self, table: Table, low: Any, high: Any) -> None:
        """Take a table with its intervals into account."""
        size = self._sizes[len(table.names)]
        size.tables += 1
        if not table.known:
            size.unknown[table.unknown] += 1
            return
        if table.expected_error is None:
            return
        errors = table.standard_error.ravel().tolist()
        size.errors.append(median(errors))
        size.largest = max(size.largest, *errors)
        size.expected.append(table.expected_error)
        size.swamped += table.is_swamped
        width = float((high - low).max())
        if width > self._widest[0]:
            self._widest = width, " × ".join(table.names)

    def section(self) -> dict[str, Any]:
        """Return what the section says."""
        rows = [
            {
                "size": size,
                "tables": f"{errors.tables:,}",
                "unknown": f"{errors.unknown.total():,}" if errors.unknown else "none",
                "typical": points(float(np.median(errors.errors))) if errors.errors else "–",
                "largest": points(errors.largest) if errors.errors else "–",
                "expected": share(float(np.mean(errors.expected))) if errors.expected else "–",
            }
            for size, errors in self._sizes.items()
        ]
        return {"rows": rows, "sentences": self.sentences, "note": self._note()}

    @property
    def sentences(self) -> list[str]:
        """Return what the tables' errors come to."""
        release, last = self._release, self._sizes[self._release.survey.order]
        size = f"of {release.survey.order} attributes" if len(self._sizes) > 1 else ""
        sentences = []
        if last.expected:
            sentences.append(
                f"A table {size or 'of one attribute'} is expected to put "
                f"{share(float(np.mean(last.expected)))} of the people into the wrong cell; its cells "
                f"have a standard error of {points(float(np.median(last.errors)))} points, typically."
            )
            before = predicted_tv(release.survey, release.people)
            is_plain = release.applied == "none" and not release.strata and not release.population
            if is_plain and before is not None and isfinite(before):
                sentences[0] += f" Before anybody was asked, {share(before)} was predicted."
        else:
            sentences.append("These tables have no error bars: this way of estimating has none.")
        if self._widest[1]:
            width, names = self._widest
            sentences.append(f"The widest 95 % interval spans {points(width)} points, in {names}.")
        swamped = sum(size.swamped for size in self._sizes.values())
        if swamped:
            verb = "table is" if swamped == 1 else "tables are"
            sentences.append(
                f"{swamped:,} {verb} swamped by the error: more than half of the people are expected "
                "to be in the wrong cell. They are drawn in grey, and say little. More people help, or "
                "coarser values."
            )
        unknown = sum((size.unknown for size in self._sizes.values()), Counter[str]())
        for reason, count in unknown.items():
            verb = "table is" if count == 1 else "tables are"
            sentences.append(f"{count:,} {verb} not known: {reason}.")
        return sentences

    def _note(self) -> str:
        release = self._release
        if release.population is not None and release.applied == "none":
            return (
                " Estimates are weighted and not clipped: a small share may come out below 0. Tables of "
                "more attributes than the survey can weight are read from a model."
            )
        if release.applied == "none":
            return " Estimates are unbiased and not clipped: a small share may come out below 0."
        return (
            f" Tables were made consistent ({release.applied}): they are not negative, and agree with "
            "each other."
        )


# Associations


def association_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the surest associations for people to read."""
    clear = frame[frame["q_value"] <= DOUBTFUL]
    pairs = f"{len(frame):,} pair{'' if len(frame) == 1 else 's'}"
    least = float(frame["detectable_v"].median())
    if len(clear):
        are = "depends" if len(clear) == 1 else "depend"
        sentence = f"{len(clear):,} of {pairs} of attributes {are} on each other beyond noise."
    else:
        sentence = f"None of the {pairs} of attributes depends on each other beyond noise."
    sentence += " Cramér’s V is 0 for independent attributes, and 1 where one determines the other."
    if isfinite(least):
        sentence += (
            f" A typical pair is found four times out of five if its V is {least:.2g}; weaker ones "
            "are often missed."
        )
    top = clear.head(MOST_ROWS)
    most = max([*top["cramers_v_high"], *top["cramers_v"], 0.0]) or 1.0
    return {
        "sentence": sentence,
        "shown": selection_words(len(top), len(clear), len(frame)),
        "top": [_association(row, most) for row in top.to_dict("records")],
        "vague": bool((top["cramers_v_high"] >= 1).any()),
    }


def selection_words(rows: int, clear: int, every: int) -> str:
    """Return what intervals of what was picked promise."""
    if not rows:
        return ""
    if rows == every:
        which = "all pairs, the surest first"
    elif rows == clear:
        which = f"the {rows:,} of {every:,} pairs that chance does not explain, the surest first"
    else:
        which = f"the {rows:,} surest of {clear:,} that chance does not explain, of {every:,} pairs"
    return (
        f"Shown are {which} (q-value up to {DOUBTFUL:g}). They were picked, so their intervals are "
        "wider, such that on average 95 % of those shown hold the truth, and V and mutual information "
        "are drawn towards 0."
    )


def _association(row: dict[Any, Any], most: float) -> dict[str, Any]:
    low, at, high = (float(row[f"cramers_v{end}"]) for end in ("_low", "", "_high"))
    has_ends = isfinite(low) and isfinite(high)
    return {
        "a": row["a"],
        "b": row["b"],
        "v": f"{at:.3f}",
        "interval": f"{low:.3f} to {high:.3f}" if has_ends else "–",
        "left": f"{100 * low / most:.2f}" if has_ends else 0,
        "width": f"{100 * (high - low) / most:.2f}" if has_ends else 0,
        "at": f"{100 * at / most:.2f}",
        "information": f"{float(row['mutual_information']):.4f}",
        "q": q_value(float(row["q_value"])),
    }


def matrix_section(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the triangle of all pairs, of the attributes in the surest if there are many."""
    attributes = surest_names(frame, names)
    labels = short_names(attributes)
    cells = association_cells(frame)
    by_pair = {
        frozenset(pair): cell for *pair, cell in zip(frame["a"], frame["b"], cells, strict=True)
    }
    rows = [
        (
            name,
            labels[name],
            [(other, by_pair[frozenset((name, other))]) for other in attributes[:index]],
        )
        for index, name in enumerate(attributes)
        if index
    ]
    out = len(frame) - comb(len(attributes), 2)
    note = (
        f" Of {len(names):,} attributes, the {len(attributes)} in the surest pairs are shown. "
        f"{out:,} pairs are left out; choose others above."
    )
    return {
        "listed": len(frame) > MOST_ROWS,
        "rows": rows,
        "columns": [(name, labels[name]) for name in attributes[:-1]],
        "dense": len(attributes) > MOST_NUMBERS,
        "top": "" if all(cell["doubtful"] for cell in cells) else f"{cells[0]['top']:.2f}",
        "note": note if len(attributes) < len(names) else "",
    }


def trees_section(edges: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the drawings of the trees of a forest, the largest first, or why there are none."""
    trees = [tree_section(part, ()) | {"sentence": sentence} for part, sentence in _trees(edges)]
    if not trees:
        return {"absent": NO_TREE}
    linked = len({*edges["a"], *edges["b"]})
    return {
        "doubtful": False,
        "trees": trees,
        "alone": len(names) - linked,
        "linked": linked,
    }


def _trees(edges: pd.DataFrame) -> list[tuple[pd.DataFrame, str]]:
    """Return the edges of each tree of a forest, and a sentence on it, the largest first."""
    home: dict[str, set[str]] = {}
    for a, b in zip(edges["a"], edges["b"], strict=True):
        both = home.get(a, {a}) | home.get(b, {b})
        home |= dict.fromkeys(both, both)
    trees = []
    for members in sorted({id(each): each for each in home.values()}.values(), key=len)[::-1]:
        part = edges[edges["a"].isin(members)]
        first = part.sort_values("mutual_information", ascending=False).iloc[0]
        most = f"{first['a']} and {first['b']}"
        size = f"{len(members):,} attributes; the strongest link is of {most}"
        trees.append((part, size if len(members) > 2 else most))
    return trees


def tree_section(edges: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the drawings of a tree, or why there is none."""
    if is_noise(edges):
        return {"absent": NO_TREE}
    wide, narrow = draw_tree(edges, names), draw_tree(edges, names, narrow=True)
    return {
        "width": round(wide.width),
        "wide": wide.svg,
        "narrow": narrow.svg,
        "doubtful": any(link.doubtful for link in wide.links),
    }
