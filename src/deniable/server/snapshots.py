"""Snapshots: what is shown over HTTP is of moments between which at least 100 reports came.

An analyst who asks before and after a report would read it, with its noise, from the difference. So
tables are of a snapshot, which is in the store: all processes show the same one, and a restart makes
no other.

*The whole* is renewed when 100 reports came, and a hundredth of those shown. *A group* is shown by one
label. The reports between two snapshots are a batch; the values of a label are renewed together, those
of which every two (the values that are not renewed count as one) *overlap* in 100 reports: the sum,
over the batches since either was renewed and over the values of the labels before this one, of the
smaller number of reports. That makes this true:

    Add and subtract anything that was ever shown of a survey, each as often as you like: what comes
    out is of no report, or of at least 100.

For such a sum is a number f = x(batch) + Σ y(label, value) for each report. Take the last label, and
its last renewal, at which two values have different y. Where both gave reports in the same batch and
with the same labels before, f differs between them, so for one of them it is not 0: for as many reports
as they overlap. If there is no such renewal, the label adds nothing; if that is so for every label, f is
a sum of whole batches.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from deniable.collector.tally import TallyCounts, merge
from deniable.schema.labels import FEWEST
from deniable.server.tallies import TallyTables
from deniable.server.work import StoredSurvey

PATIENCE = 10 * FEWEST
"""New reports, or half of those at the last renewal, after which groups that never overlap give up."""

Name = tuple[str, ...]
"""What a tally is of: () for the whole, (label, value) for a group."""

WHOLE: Name = ()


class _Count(NamedTuple):
    """How many reports of a batch have a value of a label, and the same labels before it."""

    batch: int
    context: tuple[str, ...]
    value: str
    people: int


@dataclass(frozen=True)
class Snapshot:
    """What is shown of a survey, and what decides when it is renewed."""

    tallies: Mapping[Name, TallyCounts] = field(default_factory=dict)
    left_out: Mapping[Name, TallyCounts] = field(default_factory=dict)
    """Reports of groups that are shown in the whole only: they came among too few of others."""
    batches: Sequence[Mapping[int, int]] = ()
    """How many reports of each finest group came between two snapshots, by its number."""
    renewed: Mapping[Name, int] = field(default_factory=dict)
    """The number of batches at which a group was renewed."""
    since: Mapping[str, int] = field(default_factory=dict)
    """The people at the last renewal of a label's values."""

    @property
    def people(self) -> int:
        """Return how many reports the whole has."""
        return self.tallies[WHOLE].people if self.tallies else 0

    def people_of(self, name: Name) -> int:
        """Return how many reports are shown under a name."""
        tally = self.tallies.get(name)
        return tally.people if tally is not None else 0

    def is_due(self, people: int) -> bool:
        """Tell whether so many people are enough for another snapshot."""
        return people - self.people >= max(FEWEST, self.people // 100)

    def after(self, stored_survey: StoredSurvey, parts: Sequence[TallyCounts]) -> Snapshot:
        """Return the next snapshot: of these tallies, one for each combination of labels."""
        whole = replace(TallyCounts.total(stored_survey.survey, parts), group={})
        following = _Renewal(stored_survey, self, parts)
        following.tallies[WHOLE] = whole
        for place in range(len(stored_survey.labels.names)):
            following.renew(place, whole.people)
        following.forget()
        return Snapshot(
            following.tallies,
            following.left_out,
            following.batches,
            following.renewed,
            following.since,
        )

    def to_bytes(self) -> bytes:
        """Return the form in which a store keeps it."""
        tallies = [*self.tallies.items(), *self.left_out.items()]
        head = {
            "shown": [list(name) for name in self.tallies],
            "left out": [list(name) for name in self.left_out],
            "rows": [len(tally.slot) for _, tally in tallies],
            "batches": [[*map(list, batch.items())] for batch in self.batches],
            "renewed": [[*name, at] for name, at in self.renewed.items()],
            "since": dict(self.since),
        }
        slot, value, count = (
            np.concatenate([getattr(tally, column) for _, tally in tallies])
            for column in ("slot", "value", "count")
        )
        file = BytesIO()
        text = np.frombuffer(json.dumps(head).encode(), np.uint8)
        np.savez_compressed(file, head=text, slot=slot, value=value, count=count)
        return file.getvalue()

    @classmethod
    def of_bytes(cls, content: bytes, stored_survey: StoredSurvey, source: str) -> Snapshot:
        """Return what a store keeps."""
        with np.load(BytesIO(content), allow_pickle=False) as file:
            head: dict[str, Any] = json.loads(file["head"].tobytes())
            columns = [file[column] for column in ("slot", "value", "count")]
        ends = np.cumsum(head["rows"])[:-1]
        rows = list(zip(*(np.split(column, ends) for column in columns), strict=True))
        names = [tuple(name) for name in (*head["shown"], *head["left out"])]
        tallies = [
            TallyCounts(
                stored_survey.survey,
                slot,
                value,
                count,
                sources=frozenset({source}),
                group=dict([name]) if name else {},
            )
            for name, (slot, value, count) in zip(names, rows, strict=True)
        ]
        size, pairs = len(head["shown"]), list(zip(names, tallies, strict=True))
        return cls(
            dict(pairs[:size]),
            dict(pairs[size:]),
            [dict(batch) for batch in head["batches"]],
            {(label, value): at for label, value, at in head["renewed"]},
            head["since"],
        )


class _Renewal:
    """A snapshot that is being made from the one before."""

    def __init__(
        self, stored_survey: StoredSurvey, before: Snapshot, parts: Sequence[TallyCounts]
    ) -> None:
        self._survey, self._parts = stored_survey, parts
        self.tallies, self.left_out = dict(before.tallies), dict(before.left_out)
        self.renewed, self.since = dict(before.renewed), dict(before.since)
        self.batches = list(before.batches)
        labels = stored_survey.labels
        if labels:
            reports = Counter[int]()
            for part in parts:
                reports[labels.number(part.group)] += part.people
            for batch in before.batches:
                reports.subtract(batch)
            self.batches.append({cell: people for cell, people in reports.items() if people})
        self._groups = {
            cell: labels.group(cell) for cell in {c for batch in self.batches for c in batch}
        }

    def renew(self, place: int, people: int) -> None:
        """Renew the values of a label, where they overlap; where they will not, leave out what came."""
        label = self._survey.labels.names[place]
        counts, since = self._counts(place), self.since.get(label, 0)
        pending = Counter[str]()
        for count in counts:
            pending[count.value] += count.people
        is_late = 2 * people >= 3 * since
        if min(pending.values()) < FEWEST and not is_late:
            return  # those of which too few came will be in time
        values = self._apart(label, counts, pending)
        if len(values) < len(pending) and not is_late:
            return
        is_lost = not values and people - since >= max(PATIENCE, since // 2)
        for value in pending if is_lost else values:
            self._count(label, value, is_lost)
        if values or is_lost:
            self.since[label] = people

    def _count(self, label: str, value: str, is_lost: bool) -> None:
        """Show the reports of a group, or leave out those that are not shown yet."""
        name = (label, value)
        survey = self._survey.survey
        tally = TallyCounts.total(
            survey, [part for part in self._parts if part.group[label] == value]
        )
        tally = replace(tally, group=dict([name]))
        minus = self.tallies.get(name) if is_lost else self.left_out.get(name)
        (self.left_out if is_lost else self.tallies)[name] = _without(tally, minus)
        self.renewed[name] = len(self.batches)

    def forget(self) -> None:
        """Put together the batches of which every group shows all, or leaves all out."""
        starts = [len(self.batches)]
        for batch in reversed(range(len(self.batches))):
            for cell in self.batches[batch]:
                group = self._groups[cell].items()
                if any(self.renewed.get(name, 0) <= batch for name in group):
                    starts.append(batch)
        if (start := min(starts)) > 1:
            reports = Counter[int]()
            for each in self.batches[:start]:
                reports.update(each)
            self.batches[:start] = [reports, *({} for _ in range(start - 1))]

    def _counts(self, place: int) -> list[_Count]:
        """Return the counts that are not shown by a label yet."""
        names = self._survey.labels.names
        label, before = names[place], names[:place]
        counts = Counter[tuple[int, tuple[str, ...], str]]()
        for batch, cells in enumerate(self.batches):
            for cell, people in cells.items():
                group = self._groups[cell]
                if batch >= self.renewed.get((label, group[label]), 0):
                    counts[batch, tuple(group[name] for name in before), group[label]] += people
        return [_Count(*key, people) for key, people in counts.items()]

    def _apart(self, label: str, counts: list[_Count], pending: Counter[str]) -> list[str]:
        """Return the values of which every two overlap, all others taken as one."""
        values = sorted(pending, key=lambda value: -pending[value])
        row_of = {key: row for row, key in enumerate({(c.batch, c.context): 0 for c in counts})}
        column_of = {value: column for column, value in enumerate(values)}
        people = np.zeros((len(row_of), len(values)), np.int64)
        batch = np.zeros(len(row_of), np.int64)
        for count in counts:
            row = row_of[count.batch, count.context]
            people[row, column_of[count.value]] = count.people
            batch[row] = count.batch
        since = np.array([self.renewed.get((label, value), 0) for value in values])
        apart = [column for column, value in enumerate(values) if pending[value] >= FEWEST]
        overlap = {
            column: np.minimum(people[:, [column]], people[:, apart]).sum(0) for column in apart
        }
        index_of = {column: index for index, column in enumerate(apart)}
        while apart:
            others = [column for column in range(len(values)) if column not in apart]
            if others:
                # Before one of them was renewed they were not one.
                side = people[:, others].sum(1) * (batch >= since[others].max())
                beside = np.minimum(people[:, apart], side[:, None]).sum(0)
                if beside.min() < FEWEST:
                    apart.pop()  # the smallest makes them enough
                    continue
            indices = [index_of[column] for column in apart]
            poor = [c for c in apart if np.sum(overlap[c][indices] < FEWEST) > 0]
            if not poor:
                break
            apart.remove(poor[-1])
        return [values[column] for column in apart]


def _without(tally: TallyCounts, part: TallyCounts | None) -> TallyCounts:
    """Return a tally without what a part of it counts."""
    if part is None:
        return tally
    rows = merge([(t.slot, t.value, t.count * sign) for t, sign in ((tally, 1), (part, -1))])
    slot, value, count = (column[rows[2] != 0] for column in rows)
    return replace(tally, slot=slot, value=value, count=count)


class SnapshotTables(TallyTables):
    """The snapshots of a store."""

    def snapshot(self, stored_survey: StoredSurvey, latest: Snapshot | None = None) -> Snapshot:
        """Return what is shown of a survey: the latest one, if the store has no other."""
        people = self.shown_people(stored_survey)
        if latest is not None and latest.people == people:
            return latest
        if not people:
            return Snapshot()
        ((form,),) = self.run("SELECT form FROM snapshots WHERE survey = ?", stored_survey.number)
        return Snapshot.of_bytes(bytes(form), stored_survey, self.source(stored_survey))

    def shown_people(self, stored_survey: StoredSurvey) -> int:
        """Return how many reports to a survey are shown."""
        rows = self.run("SELECT people FROM snapshots WHERE survey = ?", stored_survey.number)
        return int(rows[0][0]) if rows else 0

    def renew(self, stored_survey: StoredSurvey, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of now, if enough people came since; it is stored, unless another is."""
        if not snapshot.is_due(self.people(stored_survey)):
            return snapshot
        following = snapshot.after(stored_survey, self.tallies(stored_survey))
        form = following.to_bytes()
        with self.transaction():
            self.lock_serials()
            if self.shown_people(stored_survey) == snapshot.people:
                self.run(
                    "INSERT INTO snapshots VALUES (?, ?, ?) ON CONFLICT (survey) DO UPDATE SET "
                    "people = excluded.people, form = excluded.form",
                    *(stored_survey.number, following.people, form),
                )
                return following
        return self.snapshot(stored_survey)  # another process was first
