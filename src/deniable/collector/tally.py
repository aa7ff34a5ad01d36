"""Tallies: exact integer counts of reports, mergeable in any order.

A tally is a sorted sparse table (slot, value, count). For answers by subset or bit by bit, a row
counts the reports of that value. A unary report speaks for many symbols at once, so its tally is
folded: value s < M counts the reports whose bit s is set, and value M counts the reports. Either
way a tally is what a decoder needs, no more, and its size does not grow with the people for long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally_file import REFUSALS, read_tally, write_tally
from deniable.collector.validity import tally_values
from deniable.errors import ReportError, TallyError
from deniable.questions.answers import Unary
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

Rows = tuple[Ints, Ints, Ints]
"""Columns slot, value, count."""

MOST_PEOPLE = 1 << 53
"""A tally counts fewer reports than these: below, sums of doubles are exact."""

_LOG_OF_COINCIDENCE = float(np.log(1e-6))
"""Tallies that are equal by chance less often than that are of the same people."""


@dataclass(frozen=True, eq=False)
class TallyCounts:
    """How often each value was reported to each slot of one survey.

    ``refused`` says how many reports were left out, and why; ``sources`` are the SHA-256 of the
    files that were counted, where that was noted, or stand for a collector; ``group`` are the labels
    that all counted reports are known to share. Two tallies are equal if they count the same.
    """

    survey: FrozenSurvey
    slot: Ints
    value: Ints
    count: Ints
    simulated: bool = False
    refused: Mapping[str, int] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    group: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def total(cls, survey: FrozenSurvey, parts: Iterable[TallyCounts]) -> Self:
        """Return the tally of all that tallies of one survey count; of a group if all are of it."""
        every = list(parts)
        for part in every:
            if part.survey.id != survey.id:
                raise TallyError(
                    "Cannot merge tallies of different surveys "
                    f"({survey.id[:8]} and {part.survey.id[:8]})."
                )
        rows = [(part.slot, part.value, part.count) for part in every]
        group = every[0].group if every else {}
        # Folded rows count no people; the others' sum could wrap an int64, and a double's cannot.
        if sum(float(part.count[~part.is_folded()].sum(dtype=np.float64)) for part in every) >= (
            MOST_PEOPLE
        ):
            raise TallyError("A tally counts fewer than 2^53 reports; these are more together.")
        return cls(
            survey,
            *add_sorted(rows),
            any(part.simulated for part in every),
            _refusals(every),
            frozenset().union(*(part.sources for part in every)),
            {n: v for n, v in group.items() if all(part.group.get(n) == v for part in every)},
        )

    @property
    def people(self) -> int:
        """Return the number of reports."""
        return int(self.count[~self.is_folded()].sum())

    def is_folded(self) -> NDArray[np.bool_]:
        """Tell which rows count bits, not reports."""
        is_bit_count = np.zeros(len(self.slot), np.bool_)
        for family in self.survey.families:
            if isinstance(family.answer, Unary):
                rows = slice(*np.searchsorted(self.slot, (family.start, family.stop)))
                is_bit_count[rows] = self.value[rows] < family.answer.symbols
        return is_bit_count

    def people_by_slot(self) -> tuple[Ints, Ints]:
        """Return the slots that were asked, and how many reported to each."""
        is_report = ~self.is_folded()
        slots, row = np.unique(self.slot[is_report], return_inverse=True)
        return slots, np.bincount(row, self.count[is_report], len(slots)).astype(np.int64)

    def overlaps(self, other: TallyCounts) -> bool:
        """Tell whether two tallies may count the same reports: of one source or copies, of one group."""
        apart = any(other.group.get(name, value) != value for name, value in self.group.items())
        some = len(self.count) and len(other.count)
        return bool(self.sources & other.sources and some and not apart) or self.copies(other)

    def copies(self, other: TallyCounts) -> bool:
        """Tell whether two tallies surely count the same reports: equal in more than chance makes equal.

        Two counts of n of different people are equal with a chance of about 1/√(4πn).
        """
        if dict(self.group) != dict(other.group) or self != other:
            return False
        chances = np.sort(1 / np.sqrt(4 * np.pi * self.count))
        chances = chances[1:]  # the last one follows from their sum
        return float(np.log(chances).sum()) < _LOG_OF_COINCIDENCE

    def __add__(self, other: TallyCounts) -> Self:
        if not isinstance(other, TallyCounts):
            return NotImplemented
        return type(self).total(self.survey, [self, other])

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() adds tallies up

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TallyCounts):
            return NotImplemented
        return (
            self.survey.id == other.survey.id
            and self.simulated == other.simulated
            and np.array_equal(self.slot, other.slot)
            and np.array_equal(self.value, other.value)
            and np.array_equal(self.count, other.count)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        note = ", SIMULATED" if self.simulated else ""
        group = "".join(f", {name} {value}" for name, value in self.group.items())
        return (
            f"<{type(self).__name__} of survey {self.survey.id[:8]}{group}: "
            f"{self.people:,} people{note}>"
        )

    def save(self, path: str | Path) -> None:
        """Write the tally to a Parquet file that also holds its survey."""
        write_tally(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a tally from a file, and refuse one that is foreign, broken or impossible."""
        tally = cls(*read_tally(path))
        tally._check(Path(path).name or str(path))
        return tally

    def check_size(self, name: str = "The tally") -> None:
        """Refuse more reports than a float counts exactly, and counts that no addition makes."""
        if self.count[~self.is_folded()].sum(dtype=np.float64) >= MOST_PEOPLE:
            raise TallyError(f"{name} is broken: it counts more reports than there can be.")
        if len(self.count) and self.count.min() < 1:
            raise TallyError(f"{name} is broken: it counts some reports less than once.")

    def _check(self, name: str) -> None:
        rows_covered = 0
        for family in self.survey.families:
            rows = slice(*np.searchsorted(self.slot, (family.start, family.stop)))
            value = self.value[rows]
            rows_covered += len(value)
            if len(value) and (value.min() < 0 or value.max() >= tally_values(family)):
                raise TallyError(f"{name} is broken: it counts values that nobody can report.")
        if rows_covered < len(self.slot):
            raise TallyError(f"{name} is broken: it counts slots that its survey does not have.")
        is_bit_count = self.is_folded()
        self.check_size(name)
        slots, people = self.people_by_slot()
        index = np.searchsorted(slots, self.slot[is_bit_count])
        reports = np.append(people, 0)[index] * (
            np.append(slots, -1)[index] == self.slot[is_bit_count]
        )
        if (self.count[is_bit_count] > reports).any():
            raise TallyError(f"{name} is broken: more bits are set than there are reports.")


def refuse(tallies: Sequence[TallyCounts]) -> None:
    """Refuse reports if some could not be counted, and say how many, and why."""
    if refusals := _refusals(tallies):
        kinds = ", ".join(f"{kind}: {refusals[kind]:,}" for kind in REFUSALS if kind in refusals)
        wrong, people = sum(refusals.values()), sum(tally.people for tally in tallies)
        raise ReportError(
            f"{wrong:,} of {wrong + people:,} reports cannot be counted ({kinds}); "
            "invalid='drop' leaves them out (--invalid drop)."
        )


def _refusals(tallies: Sequence[TallyCounts]) -> dict[str, int]:
    return dict(sum((Counter(tally.refused) for tally in tallies), Counter()))


def add_sorted(parts: Sequence[Rows]) -> Rows:
    """Return the sum of tables that are sorted; one alone, beside empty ones, is the sum already."""
    rows = [part for part in parts if len(part[0])]
    return rows[0] if len(rows) == 1 else merge(rows)


def merge(parts: list[Rows]) -> Rows:
    """Return the sum of sparse tables, sorted by slot and value."""
    if not parts:
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    slot, value, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((value, slot))
    slot, value, count = slot[order], value[order], count[order]
    if not len(slot):
        return slot, value, count
    first = np.append(True, (slot[1:] != slot[:-1]) | (value[1:] != value[:-1]))
    starts = np.flatnonzero(first)
    return slot[starts], value[starts], np.add.reduceat(count, starts)
