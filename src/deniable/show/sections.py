"""What a report's sections say: how good the tables are, and what hangs together."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from deniable.decoding.evidence import expected_tv
from deniable.errors import TableError
from deniable.planning.error import predicted_tv
from deniable.release.marginal import Table
from deniable.release.release import Released
from deniable.show.charts import SHADES
from deniable.show.structure import BOX, DOUBTFUL, MOST_NUMBERS, draw_tree, short_names

__all__ = ["Quality", "associations", "found", "matrix", "tree"]

MOST_ROWS = 15
"""The most associations that are listed."""

MOST_ATTRIBUTES = 40
"""The most attributes that a matrix shows."""


def found(release: Released, what: str) -> tuple[Any, str]:
    """Return what a release's method finds, or why it finds nothing."""
    method = getattr(release, what, None)
    if method is None:
        return None, f"This release has no {what}."
    try:
        return method(), ""
    except TableError as error:
        return None, str(error)


# How good it is


@dataclass
class _Size:
    """What is seen of the tables of one size."""

    tables: int = 0
    unknown: int = 0
    errors: list[float] = field(default_factory=list)
    largest: float = 0.0
    expected: list[float] = field(default_factory=list)


class Quality:
    """How large the errors of the tables are, table by table."""

    def __init__(self, release: Released) -> None:
        self._release = release
        self._sizes = {size: _Size() for size in range(1, release.survey.order + 1)}
        self._widest: tuple[float, str] = (0.0, "")

    def add(self, table: Table, low: Any, high: Any) -> None:
        """Take a table with its intervals into account."""
        seen = self._sizes[len(table.names)]
        seen.tables += 1
        if not table.known:
            seen.unknown += 1
            return
        errors = table.standard_error.ravel()
        if table.interval_kind == "none" or not np.isfinite(errors).all():
            return
        seen.errors.append(float(np.median(errors)))
        seen.largest = max(seen.largest, float(errors.max()))
        seen.expected.append(float(expected_tv(errors**2)))
        width = float((high - low).max())
        if width > self._widest[0]:
            self._widest = width, " × ".join(table.names)

    def told(self) -> dict[str, Any]:
        """Return what the section says."""
        rows = [
            {
                "size": size,
                "tables": f"{seen.tables:,}",
                "unknown": f"{seen.unknown:,}" if seen.unknown else "none",
                "typical": points(float(np.median(seen.errors))) if seen.errors else "–",
                "largest": points(seen.largest) if seen.errors else "–",
                "expected": share(float(np.mean(seen.expected))) if seen.expected else "–",
            }
            for size, seen in self._sizes.items()
        ]
        return {"rows": rows, "sentences": list(self._sentences()), "note": self._note()}

    def _sentences(self) -> list[str]:
        release, last = self._release, self._sizes[self._release.survey.order]
        size = f"of {release.survey.order} attributes" if len(self._sizes) > 1 else ""
        said = []
        if last.expected:
            said.append(
                f"A table {size or 'of one attribute'} is expected to put "
                f"{share(float(np.mean(last.expected)))} of the people into the wrong cell; its cells "
                f"have a standard error of {points(float(np.median(last.errors)))} points, typically."
            )
            before = predicted_tv(release.survey, release.people)
            is_plain = release.applied == "none" and not release.strata
            if is_plain and before is not None and isfinite(before):
                said[0] += f" Before anybody was asked, {share(before)} was predicted."
        else:
            said.append("These tables have no error bars: this way of estimating has none.")
        if self._widest[1]:
            width, names = self._widest
            said.append(f"The widest 95 % interval spans {points(width)} points, in {names}.")
        unknown = sum(seen.unknown for seen in self._sizes.values())
        if unknown:
            verb = "table is" if unknown == 1 else "tables are"
            said.append(
                f"{unknown:,} {verb} not known: what they need was never asked. More people help."
            )
        return said

    def _note(self) -> str:
        release = self._release
        if release.applied == "none":
            return " Estimates are unbiased and not clipped: a small share may come out below 0."
        return (
            f" Tables were made consistent ({release.applied}): they are not negative, and agree with "
            "each other."
        )


def share(value: float) -> str:
    """Return a share in percent with two significant digits."""
    percent = 100 * value
    return (
        f"{percent:.0f}\N{NO-BREAK SPACE}%"
        if percent >= 10
        else f"{percent:.2g}\N{NO-BREAK SPACE}%"
    )


def points(value: float) -> str:
    """Return a share as percentage points, without their sign."""
    percent = 100 * value
    return f"{percent:.1f}" if percent >= 1 else f"{percent:.2g}"


# Associations


def associations(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the strongest associations for people to read."""
    clear = frame[frame["q_value"] <= DOUBTFUL]
    pairs = f"{len(frame):,} pair{'' if len(frame) == 1 else 's'}"
    least = float(frame["detectable_v"].median()) if "detectable_v" in frame else float("nan")
    seen = (
        f" A typical pair is found four times out of five if its V is {least:.2g}; weaker ones are "
        "often missed."
    )
    if len(clear):
        said = f"{len(clear):,} of {pairs} of attributes hang together more than noise explains."
    else:
        said = f"None of the {pairs} of attributes hangs together more than noise explains."
    top = clear.sort_values("cramers_v", ascending=False, kind="stable").head(MOST_ROWS)
    most = max([*top["cramers_v_high"], *top["cramers_v"], 0.0]) or 1.0
    return {
        "sentence": said
        + " Cramér’s V is 0 for attributes that are independent, and 1 where one tells the other."
        + (seen if isfinite(least) else ""),
        "top": [_association(row, most) for row in top.to_dict("records")],
        "vague": bool(((top["cramers_v_low"] <= 0) & (top["cramers_v_high"] >= 1)).any()),
    }


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


def q_value(value: float) -> str:
    """Return a q-value with as many digits as matter."""
    return "<\N{NO-BREAK SPACE}0.0001" if value < 1e-4 else f"{value:.2g}"


def matrix(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the triangle of all pairs, of the attributes with the strongest if there are many."""
    shown, note = list(names), ""
    if len(names) > MOST_ATTRIBUTES:
        first = list(dict.fromkeys(frame[["a", "b"]].to_numpy().ravel()))[:MOST_ATTRIBUTES]
        shown = [name for name in names if name in first]
        note = f" Of {len(names):,} attributes, the {MOST_ATTRIBUTES} in the strongest are shown."
    found = {frozenset((row["a"], row["b"])): row for row in frame.to_dict("records")}
    labels = short_names(shown)
    top = float(np.nanmax([*frame["cramers_v"], 0.0])) or 1.0
    is_dense = len(shown) > MOST_NUMBERS
    rows = [
        {
            "name": name,
            "label": labels[name],
            "cells": [_cell(found.get(frozenset((name, o))), name, o, top) for o in shown[:index]],
        }
        for index, name in enumerate(shown)
        if index
    ]
    return {
        "rows": rows,
        "columns": [(name, labels[name]) for name in shown[:-1]],
        "dense": is_dense,
        "top": f"{top:.2f}",
        "note": note,
    }


def _cell(row: dict[Any, Any] | None, name: str, other: str, top: float) -> dict[str, str]:
    value = float(row["cramers_v"]) if row else float("nan")
    if row is None or not isfinite(value):
        said = {"kind": "faint", "colour": "#ffffff", "text": "–"}
        return said | {"title": f"{name} and {other}: not known"}
    is_faint = not row["q_value"] <= DOUBTFUL
    colour = shade(min(1.0, max(0.0, value / top)), 0.25 if is_faint else 1.0)
    low, high = float(row["cramers_v_low"]), float(row["cramers_v_high"])
    return {
        "kind": "faint" if is_faint else "light" if _is_dark(colour) else "",
        "colour": colour,
        "text": f"{value:.2f}",
        "title": f"{name} and {other}: V {value:.3f} ({low:.3f} to {high:.3f}), "
        f"q-value {q_value(float(row['q_value']))}",
    }


def shade(part: float, opacity: float = 1.0) -> str:
    """Return a colour between the palest and the darkest blue, on white."""
    scale = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in SHADES], float)
    places = np.linspace(0, 1, len(SHADES))
    mixed = [np.interp(part, places, scale[:, i]) * opacity + 255 * (1 - opacity) for i in range(3)]
    return "#" + "".join(f"{round(float(one)):02x}" for one in mixed)


def _is_dark(colour: str) -> bool:
    """Tell whether white stands out from a colour more than black does (WCAG's luminance)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722))) < 0.179


# The tree


def tree(edges: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the drawing of a tree."""
    drawing = draw_tree(edges, names)
    boxes = [
        {
            "name": box.name,
            "label": box.label,
            "x": f"{box.x:.1f}",
            "y": f"{box.y:.1f}",
            "top": f"{box.y - BOX / 2:.1f}",
            "width": f"{box.width:.1f}",
            "middle": f"{box.x + box.width / 2:.1f}",
        }
        for box in drawing.boxes
    ]
    lines = [
        {
            "path": f"M{line.x:.1f},{line.y:.1f}C{(line.x + line.x2) / 2:.1f},{line.y:.1f} "
            f"{(line.x + line.x2) / 2:.1f},{line.y2:.1f} {line.x2:.1f},{line.y2:.1f}",
            "thickness": f"{line.thickness:.2f}",
            "doubtful": line.doubtful,
            "title": f"{line.a} and {line.b}: mutual information {line.mutual_information:.4f}",
        }
        for line in drawing.links
    ]
    strongest = sorted(drawing.links, key=lambda line: -line.mutual_information)[:3]
    pairs = "; ".join(f"{line.a} and {line.b}" for line in strongest)
    return {
        "boxes": boxes,
        "edges": lines,
        "width": round(drawing.width + 8),
        "height": round(drawing.height),
        "doubtful": any(line.doubtful for line in drawing.links),
        "box": BOX,
        "line": SHADES[2],
        "border": SHADES[3],
        "words": f"Tree of {len(boxes)} attributes. Its strongest links: {pairs}.",
    }
