"""What an experiment is: a grid of points, what is measured at each, a chart, and claims to check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from deniable.lab.experiments.sources import Data

Point = dict[str, Any]
"""One place of a grid, as JSON: it says all that a measurement depends on, which repeat included."""


@dataclass(frozen=True)
class Claim:
    """One statement, what was measured about it, and the verdict."""

    number: int | None
    """Its number among the paper's ten claims; None for what goes beyond the paper."""
    paper: str
    """What the paper says, or nothing for a statement of our own."""
    statement: str
    """What was checked: the paper's claim, made precise, or corrected."""
    measured: str
    """What came out, as a sentence with numbers."""
    verdict: str
    repeats_needed: int | None = None
    """About how many repeats would decide what is undecided, if any number would."""
    numbers: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the claim as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Experiment:
    """One result of the paper, or beyond it."""

    name: str
    """As on the command line, and of the files."""
    title: str
    shows: str
    """What of the paper it regenerates."""
    note: str
    """What a reader of the chart must know."""
    grid: Callable[[bool], Sequence[Point]]
    """Return the points, fewer of them for a quick run."""
    measure: Callable[[Point, Data], list[dict[str, Any]]]
    """Return the rows of one point."""
    chart: Callable[[pd.DataFrame], Any]
    claims: Callable[[pd.DataFrame], list[Claim]]

    def frame(self, points: Sequence[Point], rows: Sequence[list[dict[str, Any]]]) -> pd.DataFrame:
        """Return the rows of all points, each with its point's settings."""
        pairs = zip(points, rows, strict=True)
        return pd.DataFrame([point | row for point, part in pairs for row in part])
