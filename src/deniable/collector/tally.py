"""Tallies: exact integer counts of reports, mergeable in any order.

A tally is a sorted sparse table (slot, value, count). For answers by subset or bit by bit, a row
counts the reports of that value. A unary report speaks for many symbols at once, so its tally is
folded: value s < M counts the reports whose bit s is set, and value M counts the reports. Either
way a tally is what a decoder needs, no more, and its size does not grow with the people for long.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally_file import REFUSALS, TallyFile, read_tally, width, write_tally
from deniable.errors import ReportError, TallyError
from deniable.messages.report import ReportBatch
from deniable.questions.answers import Unary
from deniable.survey.frozen import FrozenSurvey

__all__ = ["Counter", "Counts", "refuse"]

Ints = NDArray[np.int64]

_DENSE = 1 << 24
"""The most counters kept in one array; larger tallies are kept as sorted rows."""

_MOST_PACKED = 1 << 28


@dataclass(frozen=True, eq=False)
class Counts:
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
    def total(cls, survey: FrozenSurvey, parts: Iterable[Counts]) -> Self:
        """Return the tally of all that tallies of one survey count; of a group if all are of it."""
        every = list(parts)
        for part in every:
            if part.survey.id != survey.id:
                raise TallyError(
                    "Cannot merge tallies of different surveys "
                    f"({survey.id[:8]} and {part.survey.id[:8]})."
                )
        empty = np.zeros(0, np.int64)
        rows = [(part.slot, part.value, part.count) for part in every] or [(empty, empty, empty)]
        group = every[0].group if every else {}
        return cls(
            survey,
            *merge(rows),
            any(part.simulated for part in every),
            dict(sum((Multiset(part.refused) for part in every), Multiset())),
            frozenset().union(*(part.sources for part in every)),
            {n: v for n, v in group.items() if all(part.group.get(n) == v for part in every)},
        )

    @property
    def people(self) -> int:
        """Return the number of reports."""
        return int(self.count[~self.is_folded()].sum())

    def is_folded(self) -> NDArray[np.bool_]:
        """Tell which rows count bits, not reports."""
        folded = np.zeros(len(self.slot), np.bool_)
        for family in self.survey.families:
            if isinstance(family.answer, Unary):
                rows = slice(*np.searchsorted(self.slot, (family.start, family.stop)))
                folded[rows] = self.value[rows] < family.answer.symbols
        return folded

    def people_by_slot(self) -> tuple[Ints, Ints]:
        """Return the slots that were asked, and how many reported to each."""
        kept = ~self.is_folded()
        slots, row = np.unique(self.slot[kept], return_inverse=True)
        return slots, np.bincount(row, self.count[kept], len(slots)).astype(np.int64)

    def overlaps(self, other: Counts) -> bool:
        """Tell whether two tallies may count the same reports: of one source, of no other group."""
        apart = any(other.group.get(name, value) != value for name, value in self.group.items())
        some = len(self.count) and len(other.count)
        return bool(self.sources & other.sources and some) and not apart

    def __add__(self, other: Counts) -> Self:
        if not isinstance(other, Counts):
            return NotImplemented
        return type(self).total(self.survey, [self, other])

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() adds tallies up

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
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
        mark = ", SIMULATED" if self.simulated else ""
        group = "".join(f", {name} {value}" for name, value in self.group.items())
        return (
            f"<{type(self).__name__} of survey {self.survey.id[:8]}{group}: "
            f"{self.people:,} people{mark}>"
        )

    def save(self, path: str | Path) -> None:
        """Write the tally to a Parquet file that also holds its survey."""
        write_tally(
            TallyFile(**{part.name: getattr(self, part.name) for part in fields(Counts)}), path
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a tally from a file, and refuse one that is foreign, broken or impossible."""
        made = cls(**vars(read_tally(path)))
        made._check(Path(path).name or str(path))
        return made

    def _check(self, name: str) -> None:
        covered = 0
        for family in self.survey.families:
            rows = slice(*np.searchsorted(self.slot, (family.start, family.stop)))
            value = self.value[rows]
            covered += len(value)
            if len(value) and (value.min() < 0 or value.max() >= width(family)):
                raise TallyError(f"{name} is broken: it counts values that nobody can report.")
        if covered < len(self.slot):
            raise TallyError(f"{name} is broken: it counts slots that its survey does not have.")
        folded = self.is_folded()
        if self.count[~folded].sum(dtype=np.float64) >= 1 << 53:
            raise TallyError(f"{name} is broken: it counts more reports than there can be.")
        slots, people = self.people_by_slot()
        place = np.searchsorted(slots, self.slot[folded])
        known = np.append(people, 0)[place] * (np.append(slots, -1)[place] == self.slot[folded])
        if (self.count[folded] > known).any():
            raise TallyError(f"{name} is broken: more bits are set than there are reports.")


def refuse(counts: Counts) -> None:
    """Refuse reports if some could not be counted, and say how many, and why."""
    refused = counts.refused
    if refused:
        kinds = ", ".join(f"{kind}: {refused[kind]:,}" for kind in REFUSALS if kind in refused)
        wrong = sum(refused.values())
        raise ReportError(
            f"{wrong:,} of {wrong + counts.people:,} reports cannot be counted ({kinds}); "
            "invalid='drop' leaves them out (--invalid drop)."
        )


def merge(parts: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    """Return the sum of sparse tables, sorted by slot and value."""
    slot, value, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((value, slot))
    slot, value, count = slot[order], value[order], count[order]
    if not len(slot):
        return slot, value, count
    first = np.append(True, (slot[1:] != slot[:-1]) | (value[1:] != value[:-1]))
    starts = np.flatnonzero(first)
    return slot[starts], value[starts], np.add.reduceat(count, starts)


class Counter:
    """Adds reports up, block by block, in bounded memory.

    Reports that the survey cannot have got are left out, and ``refused`` counts them by reason. A
    counter that is not the only one says that it is the ``nth``, so that together they stay small.
    """

    def __init__(self, survey: FrozenSurvey, nth: int = 1) -> None:
        self.survey = survey
        self.refused: Multiset[str] = Multiset()
        self._dense: list[Ints | None] = []
        for family in survey.families:
            cells = (family.stop - family.start) * width(family)
            if survey.packed_bytes and cells * nth > _MOST_PACKED:
                groups = f" by {nth:,} groups or more" if nth > 1 else ""
                raise TallyError(
                    f"A tally of this survey{groups} would need {cells * nth * 8 / 1e9:,.0f} GB of "
                    "counters."
                )
            is_dense = cells * nth <= _DENSE or survey.packed_bytes
            self._dense.append(np.zeros(cells, np.int64) if is_dense else None)
        self._sparse: list[tuple[Ints, Ints, Ints]] = []
        self._rows = 0

    def add(
        self,
        slots: Ints,
        values: NDArray[Any],
        counts: Ints | None = None,
        *,
        checked: bool = False,
    ) -> None:
        """Add reports, or rows that stand for ``counts`` reports each.

        Reports are checked first, unless they were ``checked``, or drawn by the mechanism itself.
        """
        if not checked:
            slots, values, counts, _ = self.sound(slots, values, counts)
        if len(self._dense) == 1:
            self._add_family(0, slots, values, counts)
            return
        for index, family in enumerate(self.survey.families):
            rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
            if len(rows):
                part = None if counts is None else counts[rows]
                self._add_family(index, slots[rows], values[rows], part)

    def sound(
        self,
        slots: Ints,
        values: NDArray[Any],
        counts: Ints | None = None,
        groups: Ints | None = None,
    ) -> tuple[Ints, NDArray[Any], Ints | None, Ints | None]:
        """Return the rows that the survey can have got, and note the others as left out."""
        for reason, wrong in self._wrong(slots, values):
            self.refuse(reason, wrong, counts)
            slots, values = slots[~wrong], values[~wrong]
            counts = None if counts is None else counts[~wrong]
            groups = None if groups is None else groups[~wrong]
        return slots, values, counts, groups

    def refuse(self, reason: str, wrong: NDArray[np.bool_], counts: Ints | None = None) -> None:
        """Note the rows that are wrong as reports that were left out."""
        found = np.count_nonzero(wrong) if counts is None else counts[wrong].sum()
        if found:
            self.refused[reason] += int(found)

    def _wrong(self, slots: Ints, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield why rows are wrong, and which; of the rows that are left after the reason before."""
        if not len(slots):
            return
        if slots.min() < 0 or slots.max() >= self.survey.slots:
            unknown = (slots < 0) | (slots >= self.survey.slots)
            yield "unknown slot", unknown
            slots, values = slots[~unknown], values[~unknown]
        impossible = np.zeros(len(slots), np.bool_)
        for family in self.survey.families:
            answer = family.answer
            whole = len(self.survey.families) == 1
            rows = slice(None) if whole else (slots >= family.start) & (slots < family.stop)
            part = values[rows]
            if part.ndim == 2:
                full, rest = divmod(answer.symbols, 8)
                spare = part[:, full:].copy()
                if rest:
                    spare[:, 0] >>= rest
                impossible[rows] = spare.any(axis=1)
            elif len(part) and (part.min() < 0 or part.max() >= min(answer.outcomes, 1 << 63)):
                impossible[rows] = (part < 0) | (part >= answer.outcomes)
        if impossible.any():
            yield "impossible value", impossible

    def _add_family(
        self, index: int, slots: Ints, values: NDArray[Any], counts: Ints | None
    ) -> None:
        family = self.survey.families[index]
        answer, rows = family.answer, slots - family.start if family.start else slots
        if not isinstance(answer, Unary):
            self._count(index, rows, values, counts)
            return
        everyone = np.full(len(rows), answer.symbols)
        self._count(index, rows, everyone, counts)
        if values.ndim == 2:
            self._fold_packed(index, answer.symbols, rows, values)
            return
        if counts is None and (family.stop - family.start) << answer.symbols <= len(rows):
            # With fewer different reports than reports, count them first.
            grouped = np.bincount((rows << answer.symbols) | values)
            keys = np.flatnonzero(grouped)
            counts, rows = grouped[keys], keys >> answer.symbols
            values = keys & ((1 << answer.symbols) - 1)
        for symbol in range(answer.symbols):
            said = np.flatnonzero((values >> symbol) & 1)
            part = None if counts is None else counts[said]
            self._count(index, rows[said], np.full(len(said), symbol), part)

    def _fold_packed(self, index: int, symbols: int, rows: Ints, values: NDArray[Any]) -> None:
        dense = self._dense[index]
        assert dense is not None
        table = dense.reshape(-1, symbols + 1)
        order = np.argsort(rows, kind="stable")
        step = max(1, (1 << 24) // symbols)
        for start in range(0, len(rows), step):
            part = order[start : start + step]
            bits = np.unpackbits(values[part], axis=1, count=symbols, bitorder="little")
            row = rows[part]
            # Up to 255 reports to one slot are added in bytes, many times faster than in words.
            edges = np.union1d(np.arange(0, len(row), 255), np.flatnonzero(np.diff(row)) + 1)
            for low, high in pairwise([*edges.tolist(), len(row)]):
                table[row[low], :-1] += bits[low:high].sum(axis=0, dtype=np.uint8)

    def _count(self, index: int, rows: Ints, values: Ints, counts: Ints | None) -> None:
        family, dense = self.survey.families[index], self._dense[index]
        if dense is not None:
            keys = rows * width(family) + values if family.stop - family.start > 1 else values
            if counts is None:
                dense += np.bincount(keys, minlength=len(dense))
            else:
                np.add.at(dense, keys, counts)
            return
        ones = np.ones(len(rows), np.int64) if counts is None else counts
        self._sparse.append(merge([(rows + family.start, values, ones)]))
        self._rows += len(self._sparse[-1][0])
        if self._rows > _DENSE:
            self._sparse = [merge(self._sparse)]
            self._rows = 0

    def counts(
        self,
        *,
        simulated: bool = False,
        invalid: str = "refuse",
        group: Mapping[str, str] | None = None,
    ) -> Counts:
        """Return the tally of what was added; if reports were left out, ``invalid`` says "drop"."""
        parts = list(self._sparse)
        for family, dense in zip(self.survey.families, self._dense, strict=True):
            if dense is not None:
                keys = np.flatnonzero(dense)
                rows, values = np.divmod(keys, width(family))
                parts.append((rows + family.start, values, dense[keys]))
        empty = np.zeros(0, np.int64)
        rows3 = merge(parts) if parts else (empty, empty, empty)
        made = Counts(self.survey, *rows3, simulated, dict(self.refused), group=dict(group or {}))
        if invalid == "refuse":
            refuse(made)
        return made


def count_batch(survey: FrozenSurvey, batch: ReportBatch) -> Counts:
    """Return the tally of a batch of reports to this survey."""
    width = survey.packed_bytes
    fits = batch.values.ndim == 1 if not width else batch.values.shape[1:] == (width,)
    if not fits or (width and batch.values.dtype != np.uint8):
        form = f"rows of {width} packed bytes" if width else "single integers"
        raise ReportError(f"The batch's values must be {form}, which is how this survey reports.")
    counter = Counter(survey)
    step = 1 << 18
    for start in range(0, len(batch), step):
        slots, values = batch.slots[start : start + step], batch.values[start : start + step]
        # What an int64 does not hold turns negative, and is refused as that.
        values = values if width else values.astype(np.int64, copy=False)
        counter.add(slots.astype(np.int64, copy=False), values)
    return counter.counts(simulated=batch.simulated, invalid="drop")
