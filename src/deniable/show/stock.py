"""Tables and pairs as a report's file holds them: packed numbers, which its script unpacks.

Numbers are whole ones of a few bytes, the low byte first, in base64: thousands of tables fit into a
megabyte or two, and a browser reads them at once.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.release.marginal import Table
from deniable.show.reading import doubtful_cells, warning_words
from deniable.show.structure import darkest, shade_of
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    import pandas as pd

UNIT = 100_000
"""Shares are stored in whole hundred-thousandths, unless an absurd one takes a coarser unit."""

MOST_PAIRS = 30_000
"""The most pairs that a report lists: about half a megabyte."""

_CELL_BYTES, _PAIR_BYTES = 3, 2
_PAIR_UNIT = 10_000
_UNKNOWN = -1


def pack(numbers: Any, size: int) -> str:
    """Return whole numbers as so many bytes each, in two's complement, in base64."""
    whole = np.ascontiguousarray(numbers, "<i4").reshape(-1, 1)
    return base64.b64encode(whole.view(np.uint8)[:, :size].tobytes()).decode()


class Stock:
    """Tables as a file holds them, in the order in which they come."""

    def __init__(self) -> None:
        self.tables = 0
        self._kinds: list[str] = []
        self._arrays: list[Floats] = []
        self._warnings: dict[str, list[int]] = {}
        self._doubts: list[NDArray[np.bool_]] = []

    def add(self, table: Table, low: Any, high: Any) -> None:
        """Take a table in, and what must be said of it."""
        warning = warning_words(table)
        if warning:
            self._warnings.setdefault(warning, []).append(self.tables)
        self._doubts.append(doubtful_cells(table, low, high).ravel())
        self.tables += 1
        arrays = [table.values.ravel()] if table.known else []
        if table.known and table.interval_kind != "none":
            ends = [low.ravel(), high.ravel()]
            arrays += ends if np.isfinite(ends).all() else []
        self._kinds.append(str(len(arrays)))
        self._arrays += arrays

    def form(self) -> dict[str, Any]:
        """Return all tables, and those that their error swamps, with words for it.

        ``kinds`` has a digit for each: how many numbers there are of a cell, its estimate and the ends
        of its interval, if any are known. ``cells`` has the estimates of a table, then all lower ends,
        then all upper ones. ``doubtful`` has a bit for each cell of every table, from the lowest bit of
        a byte on: whether it may be noise.
        """
        doubts = np.packbits(np.concatenate(self._doubts or [np.zeros(0, bool)]), bitorder="little")
        shares = np.concatenate(self._arrays or [np.zeros(0)])
        most = float(np.abs(shares).max(initial=0.0))
        unit = min(float(UNIT), ((1 << 8 * _CELL_BYTES - 1) - 1) / max(most, 1.0))
        return {
            "kinds": "".join(self._kinds),
            "unit": unit,
            "cells": pack(np.rint(shares * unit), _CELL_BYTES),
            "swamped": list(self._warnings.items()),
            "doubtful": base64.b64encode(doubts.tobytes()).decode(),
        }


def pairs_form(frame: pd.DataFrame, names: Sequence[str], together: int) -> dict[str, Any]:
    """Return the surest pairs of a frame of associations, column by column; -1 is not known.

    A matrix shows so many attributes ``together``; ``shade`` is how, 0 for what may be noise.
    """
    surest = frame.head(MOST_PAIRS)
    at = {name: place for place, name in enumerate(names)}
    columns = {end: surest[end].map(at).to_numpy() for end in ("a", "b")}
    measures = {"v": "cramers_v", "low": "cramers_v_low", "high": "cramers_v_high", "q": "q_value"}
    for name, column in measures.items():
        values = np.rint(surest[column].to_numpy(float) * _PAIR_UNIT)
        columns[name] = np.where(np.isfinite(values), values, _UNKNOWN)
    texts = {name: pack(column, _PAIR_BYTES) for name, column in columns.items()}
    top = darkest(frame)
    pairs = zip(surest["cramers_v"].tolist(), surest["q_value"].tolist(), strict=True)
    shades = np.array([shade_of(v, q, top) for v, q in pairs])
    return {"count": len(frame), "together": together, **texts, "shade": pack(shades, 1)}
