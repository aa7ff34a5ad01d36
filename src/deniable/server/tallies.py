"""What was reported: counted by slot and value, or kept in no order; and what analysts get of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.collector.builder import TallyBuilder
from deniable.collector.tally import Rows, TallyCounts
from deniable.errors import StoreError
from deniable.messages.report import ReportBatch
from deniable.server.database import Database
from deniable.server.work import Arrivals, StoredSurvey
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

TOGETHER = 500
"""Groups that one statement asks for."""

PEOPLE = -1
"""The slot under which a survey's reports are counted in all; the value is group · SHARDS + shard."""

SHARDS = 64
"""Rows that the number of people is divided among, so that processes do not wait for one row."""


class TallyTables(Database):
    """Tallies, reports that are kept, and how wide intervals were."""

    def count(self, new: Arrivals) -> None:
        """Count new reports to a survey, or keep them as they are."""
        if not new.slots:
            return
        stored_survey = new.stored_survey
        people, rows = _columns(), _columns()
        for group, slots, values in _by_group(new):
            shard = group * SHARDS + self.shard
            _append(people, stored_survey.number, ([PEOPLE], [shard], [len(slots)]))
            if stored_survey.is_unary and stored_survey.keeps_reports:
                columns = _alike(slots, values)
            else:
                columns = [c.tolist() for c in tally_rows(stored_survey.survey, slots, values)]
            _append(rows, stored_survey.group_key(group), columns)
        if stored_survey.is_unary and stored_survey.keeps_reports:
            self.add("masks", rows)
            self.add("counts", people)
        else:
            self.add("counts", [p + r for p, r in zip(people, rows, strict=True)])

    def people(self, stored_survey: StoredSurvey) -> int:
        """Return how many reports a survey has."""
        return sum(self.people_by_group(stored_survey).values())

    def people_by_group(self, stored_survey: StoredSurvey) -> dict[int, int]:
        """Return how many reports each group has, by its number; those without any are left out."""
        rows = self.run(
            "SELECT value, count FROM counts WHERE survey = ? AND slot = ?",
            stored_survey.number,
            PEOPLE,
        )
        people: Counter[int] = Counter()
        for value, count in rows:
            people[value // SHARDS] += count
        return dict(people)

    def tally(
        self, stored_survey: StoredSurvey, group: Mapping[str, str] | None = None
    ) -> TallyCounts:
        """Return the tally of a survey, or of those reports that have some labels, as of one moment."""
        parts = self.tallies(stored_survey, group)
        whole = parts[0] if len(parts) == 1 else TallyCounts.total(stored_survey.survey, parts)
        return replace(whole, group=dict(group or {}))

    def tallies(
        self, stored_survey: StoredSurvey, group: Mapping[str, str] | None = None
    ) -> list[TallyCounts]:
        """Return the tally of each combination of labels, as of one moment; all, or of a group.

        Their source is the collector's own: a later tally of the same survey counts the same people.
        """
        with self.reading():
            rows = self._rows("counts", stored_survey, group)
            masks = self._masks(stored_survey, group)
        table = np.array(rows, np.int64).reshape(-1, 4)
        parts = [
            (group_key, TallyCounts(stored_survey.survey, *np.ascontiguousarray(part[:, 1:].T)))
            for group_key, part in _split(table[:, 0], table)
        ]
        for group_key, part in _split(masks[0], np.arange(len(masks[0]))):
            builder = TallyBuilder(stored_survey.survey)
            builder.add(masks[1][part], masks[2][part])
            parts.append((group_key, builder.tally()))
        sources = frozenset({self.source(stored_survey)})
        return [
            replace(part, group=_labels(stored_survey, group_key), sources=sources)
            for group_key, part in parts
        ]

    def source(self, stored_survey: StoredSurvey) -> str:
        """Return what stands for this collector's reports to a survey in tallies of them."""
        return self.seal().digest("source", stored_survey.survey.id.encode()).hex()

    def reports(self, stored_survey: StoredSurvey) -> ReportBatch:
        """Return the reports themselves, in an order that tells nothing of when they came."""
        with self.reading():
            rows = self._rows("counts", stored_survey)
            group_keys, slots, values = self._masks(stored_survey)
        if not stored_survey.is_unary:
            table = np.array(rows, np.int64).reshape(-1, 4)
            group_keys, slots, values = (np.repeat(table[:, i], table[:, 3]) for i in (0, 1, 2))
        elif rows:
            raise StoreError(
                f"The reports to survey {stored_survey.survey.id[:8]} were counted, not kept; "
                "'deniable serve --keep reports' keeps those to come."
            )
        labels = {}
        if stored_survey.labels:
            unique, row = np.unique(group_keys, return_inverse=True)
            groups = [_labels(stored_survey, group_key) for group_key in unique.tolist()]
            for name in stored_survey.labels.names:
                labels[name] = np.array([group[name] for group in groups], object)[row]
        return ReportBatch(stored_survey.survey.id, slots, values, labels=labels)

    def _masks(
        self, stored_survey: StoredSurvey, group: Mapping[str, str] | None = None
    ) -> tuple[Ints, Ints, NDArray[Any]]:
        """Return unary reports that were kept, each as often as it came: group key, slot, value."""
        rows = self._rows("masks", stored_survey, group)
        width = stored_survey.survey.packed_bytes
        count = np.array([count for *_, count in rows], np.int64)
        group_keys, slots = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
        data = np.frombuffer(b"".join(bytes(value) for *_, value, _ in rows), np.uint8)
        values: NDArray[Any] = (
            data.reshape(-1, width) if width else data.view("<i8").astype(np.int64)
        )
        return (
            np.repeat(group_keys, count),
            np.repeat(slots, count),
            np.repeat(values, count, axis=0),
        )

    def _rows(
        self, table: str, stored_survey: StoredSurvey, group: Mapping[str, str] | None = None
    ) -> list[tuple[Any, ...]]:
        """Return columns survey (which tells the group), slot, value, count, in order."""
        select = f"SELECT survey, slot, value, count FROM {table} WHERE slot > ? AND survey"
        order = "ORDER BY survey, slot, value"
        if not group:
            last = stored_survey.labels.groups - 1
            ends = stored_survey.group_key(0), stored_survey.group_key(last)
            return self.run(f"{select} BETWEEN ? AND ? {order}", PEOPLE, *ends)
        group_keys, rows = stored_survey.group_keys(group), list[tuple[Any, ...]]()
        for start in range(0, len(group_keys), TOGETHER):
            part = group_keys[start : start + TOGETHER]
            placeholders = ",".join("?" * len(part))
            rows += self.run(f"{select} IN ({placeholders}) {order}", PEOPLE, *part)
        return rows

    def checkpoints(self, stored_survey: StoredSurvey) -> list[tuple[int, float | None]]:
        """Return how wide intervals were, by people."""
        rows = self.run(
            "SELECT people, width FROM checkpoints WHERE survey = ? ORDER BY people",
            stored_survey.number,
        )
        return [(int(people), None if width is None else float(width)) for people, width in rows]

    def add_checkpoint(self, stored_survey: StoredSurvey, people: int, width: float | None) -> None:
        """Write down how wide intervals are now that people have doubled."""
        self.run(
            "INSERT INTO checkpoints VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            *(stored_survey.number, people, width),
        )


def _columns() -> list[list[Any]]:
    """Return empty columns survey, slot, value, count."""
    return [[], [], [], []]


def _append(columns: list[list[Any]], survey: int, rows: Sequence[list[Any]]) -> None:
    for column, more in zip(columns, ([survey] * len(rows[0]), *rows), strict=True):
        column += more


def _by_group(new: Arrivals) -> Iterator[tuple[int, list[int], list[Any]]]:
    """Return the slots and values of each group, in the order of the groups."""
    if not new.groups:
        yield 0, new.slots, new.values
        return
    rows: dict[int, list[int]] = {}
    for row, group in enumerate(new.groups):
        rows.setdefault(group, []).append(row)
    for group in sorted(rows):
        of = rows[group]
        yield group, [new.slots[row] for row in of], [new.values[row] for row in of]


def _split(group_keys: Ints, rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Return the rows of each group key; these are in order."""
    starts = np.flatnonzero(np.diff(group_keys, prepend=-1))
    return zip(group_keys[starts].tolist(), np.split(rows, starts)[1:], strict=True)


def _labels(stored_survey: StoredSurvey, group_key: int) -> dict[str, str]:
    """Return the labels of those whose reports are counted under a number."""
    labels = stored_survey.labels
    return labels.group(group_key - stored_survey.group_key(0)) if labels else {}


def _alike(slots: list[int], values: list[Any]) -> list[list[Any]]:
    """Return columns slot, value (as bytes), count of reports that may repeat."""
    masks = (v if isinstance(v, bytes) else v.to_bytes(8, "little") for v in values)
    reports = Counter(zip(slots, masks, strict=True))
    rows = sorted(reports)
    return [[s for s, _ in rows], [v for _, v in rows], [reports[row] for row in rows]]


def tally_rows(survey: FrozenSurvey, slots: list[int], values: list[Any]) -> Rows:
    """Return the tally of some reports, without counters for all that there could be."""
    width = survey.packed_bytes
    builder = TallyBuilder(survey, sparse=True)
    columns: NDArray[Any] = (
        np.frombuffer(b"".join(values), np.uint8).reshape(-1, width)
        if width
        else np.array(values, np.int64)
    )
    builder.add(np.array(slots, np.int64), columns, is_checked=True)
    return builder.rows()
