"""What the benchmarks share: people with a known truth, one core, and rows to show."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Any

import numpy as np
import pyarrow as pa

EPSILON = log(3)
REPEATS = 3

_PIECE = 1 << 18


@dataclass(frozen=True)
class Row:
    """One line of a table; ``met`` is None where no target was set."""

    cells: tuple[str, ...]
    target: str = "–"
    met: bool | None = None

    @property
    def verdict(self) -> str:
        return "–" if self.met is None else "met" if self.met else "MISSED"


@dataclass(frozen=True)
class Section:
    """A table, and what it is about."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class People:
    """A frame of people whose yes/no attributes lean on a hidden trait, so that they correlate.

    It is made in pieces, so that making it leaves no peak of memory behind.
    """

    count: int
    attributes: int

    @cached_property
    def frame(self) -> pa.Table:
        random = np.random.default_rng(2018)
        chances = np.linspace(0.15, 0.65, self.attributes, dtype=np.float32)
        pieces: list[list[pa.Array]] = [[] for _ in chances]
        for start in range(0, self.count, _PIECE):
            size = min(_PIECE, self.count - start)
            trait = random.random(size, np.float32) < 0.4
            for column, chance in zip(pieces, chances, strict=True):
                drawn = random.random(size, np.float32) < chance + np.float32(0.3) * trait
                column.append(pa.array(drawn))
        return pa.table({f"a{i}": pa.concat_arrays(column) for i, column in enumerate(pieces)})

    @cached_property
    def _records(self) -> tuple[dict[str, Any], Any]:
        """Return the different records, a column of 0 and 1 per attribute, and how many hold each."""
        names = self.frame.column_names
        columns = [self.frame.column(name).to_numpy().astype(np.uint8) for name in names]
        if self.attributes > 16:
            return dict(zip(names, columns, strict=True)), np.ones(self.count)
        cells = np.zeros(self.count, np.int64)
        for i, column in enumerate(columns):
            cells |= column.astype(np.int64) << i
        held = np.bincount(cells, minlength=1 << self.attributes)
        numbers = np.arange(len(held))
        return {name: (numbers >> i & 1).astype(np.uint8) for i, name in enumerate(names)}, held

    def table(self, names: Sequence[str]) -> Any:
        """Return the true shares, one axis per attribute."""
        columns, held = self._records
        cell = np.zeros(len(held), np.uint8)
        for name in names:
            cell = 2 * cell + columns[name]
        return np.bincount(cell, held, 2 ** len(names)).reshape((2,) * len(names)) / self.count

    def check(self, what: str, people: int, marginals: Iterable[Any]) -> None:
        """Refuse a result that lost people or strays: a fast wrong path must not win."""
        require(people == self.count, f"{what} counted {people:,} of {self.count:,} people.")
        strays = [
            np.abs((m.values - self.table(m.names)) / m.standard_error).max() for m in marginals
        ]
        require(max(strays) < 6, f"{what} is {max(strays):.1f} standard errors off the truth.")


def require(holds: bool, sentence: str) -> None:
    """Stop the whole run if a result is wrong."""
    if not holds:
        raise SystemExit(sentence)


def seconds(job: Callable[[], Any]) -> float:
    """Return how long a job takes; what it returns is dropped afterwards."""
    began = time.perf_counter()
    result = job()
    took = time.perf_counter() - began
    del result
    return took


def best(jobs: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the best time of each job, the jobs taking turns."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            times[name].append(seconds(job))
    return {name: min(took) for name, took in times.items()}


def use_one_core() -> None:
    """Keep this process, and those that it starts, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)


def memory(field: str) -> int | None:
    """Return a field of this process's status in bytes (VmRSS: resident, VmHWM: its peak)."""
    try:
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith(f"{field}:"))
    except (OSError, StopIteration):
        return None
    return int(line.split()[1]) * 1024


def progress(what: str) -> None:
    """Say on stderr what is being measured: one line that rewrites itself on a terminal."""
    start, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    print(f"{start}{what}", end=end, file=sys.stderr, flush=True)


def million(rate: float) -> str:
    return f"{rate / 1e6:.3g} M"
