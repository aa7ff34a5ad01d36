"""What a collector keeps: counts, who has answered, and nothing that tells when.

===========  =====================================================================================
table        holds
===========  =====================================================================================
settings     the collector's key, the digest of the analysts' token
surveys      each survey's JSON, how its slots are given out, and to whom
tokens       keyed hash of an open participant's token → serial
spent        participant → the value reported, until the ticket has expired
answered     afterwards: one bit per participant, in pages
counts       the tally: how often each value was reported to each slot; reports in all at slot −1.
             Of a survey with labels, reports are counted by group: see `Held.place`
masks        with ``--keep reports``: unary reports as they came, each with how often, in no order
remembered   digests of requests with an idempotency key, for one to two weeks
checkpoints  how wide intervals were when the people had doubled
===========  =====================================================================================

What is decided (new, repeated, contradicting) is decided here, in one transaction for everything
that is waiting; how rows get into a database is left to `SqliteStore` and `PostgresStore`.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import Counter, Counts, merge
from deniable.errors import StoreError
from deniable.mechanisms.base import FrozenSurvey
from deniable.mechanisms.registry import read_survey
from deniable.messages.report import ReportBatch
from deniable.messages.token import OPEN
from deniable.questions.answers import Unary
from deniable.server.tickets import BLOCK, Seal
from deniable.server.work import Arrivals, Ask, Asked, Held, Outcome, Reports

__all__ = ["RepeatedError", "Store", "UnavailableError"]

Ints = NDArray[np.int64]

FORMAT = 1
"""The version of the tables."""

PAGE = 1 << 15
"""Participants whose bits share a row of `answered`."""

SCANNED = 20_000
"""Rows that one step of forgetting looks at."""

TOGETHER = 500
"""Groups that one statement asks for."""

FOLDED = 1 << 22
"""Bits of unary reports that are counted at once."""

PEOPLE = -1
"""The slot under which a survey's reports are counted in all; the value is group · SHARDS + shard."""

SHARDS = 64
"""Rows that the number of people is spread over, so that processes do not wait for one row."""

DAY = 24
WEEK = 7 * DAY

MOST_SURVEYS = 1 << 14

_REGION = 1 << 32
"""Serials that are left out at least, where some may have been given out that nobody knows of."""


class UnavailableError(Exception):
    """The database cannot take anything just now; nothing of the transaction was stored."""


class RepeatedError(Exception):
    """Somebody answered before, which a store that is not careful finds out too late."""


class Store(ABC):
    """A database with a collector's tables, used by one thread."""

    url: str
    shard = 0
    """Which of the rows that add up to the people this connection counts in."""
    is_careful = False
    """Whether to look who has answered before writing that they do."""
    _cursor = -1
    _forgot = -1
    _tidied = -1

    # What a kind of database does in its own way

    @abstractmethod
    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement, with ? for values, and return its rows."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Do all or nothing; raise `UnavailableError` where the database cannot."""

    @abstractmethod
    def forgetting(self) -> AbstractContextManager[None]:
        """Do all or nothing, while nobody else's transaction runs."""

    @abstractmethod
    def spend(self, keys: list[int], marks: list[int], expiries: list[int]) -> dict[int, int]:
        """Write down who answered what; return what those had answered who had answered before."""

    @abstractmethod
    def find(self, table: str, keys: Iterable[Any]) -> list[tuple[Any, Any]]:
        """Return key and value of those rows of a table that have one of these keys."""

    @abstractmethod
    def add(self, table: str, rows: Sequence[list[Any]]) -> None:
        """Add columns survey, slot, value, count to a table of counts; none but the last repeats."""

    @abstractmethod
    def lock_serials(self) -> None:
        """Let no other transaction give out serials before this one ends."""

    @abstractmethod
    def tidy(self) -> None:
        """Move rows, where a database keeps them in the order in which they came."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Settings

    def set_up(self, statements: Sequence[str]) -> None:
        """Make the tables, unless they are there, and the collector's key."""
        for statement in statements:
            self.run(statement)
        self.settle("format", str(FORMAT).encode())
        if self.setting("format") != str(FORMAT).encode():
            raise StoreError(f"The store {self.url!r} is of another version of deniable.")
        self.settle("secret", Seal.fresh_secret())

    def setting(self, name: str) -> bytes | None:
        """Return a setting."""
        rows = self.run("SELECT value FROM settings WHERE name = ?", name)
        return bytes(rows[0][0]) if rows else None

    def settle(self, name: str, value: bytes) -> None:
        """Make a setting that is not there yet."""
        self.run("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", name, value)

    def change(self, name: str, value: bytes) -> None:
        """Make or replace a setting."""
        self.run(
            "INSERT INTO settings VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )

    def seal(self) -> Seal:
        """Return the collector's key."""
        secret = self.setting("secret")
        assert secret is not None
        return Seal(secret)

    # Surveys

    def surveys(self) -> list[Held]:
        """Return the surveys of this store, in the order in which they came."""
        rows = self.run(
            "SELECT number, form, slots, participants, keeps FROM surveys ORDER BY number"
        )
        return [Held(n, read_survey(form), s, p, bool(keeps)) for n, form, s, p, keeps in rows]

    def survey(self, wanted: str | None) -> Held:
        """Return a survey by the beginning of its id, or the only one."""
        surveys = self.surveys()
        found = [held for held in surveys if held.survey.id.startswith(wanted or "")]
        if len(found) == 1:
            return found[0]
        if not surveys:
            raise StoreError("The store holds no survey.")
        ids = ", ".join(each.survey.id[:8] for each in surveys[:20])
        if not found:
            raise StoreError(f"The store does not hold that survey; it holds {ids}.")
        raise StoreError(f"The store holds several surveys ({ids}); name one with --survey-id.")

    def register(
        self, survey: FrozenSurvey, slots: str, participants: str, keeps_reports: bool
    ) -> None:
        """Add a survey, unless it is there."""
        with self.transaction():
            self.lock_serials()
            known = self.run("SELECT number, id FROM surveys")
            if survey.id in {each[1] for each in known}:
                return
            if len(known) >= MOST_SURVEYS:
                raise StoreError(f"A store holds at most {MOST_SURVEYS:,} surveys.")
            number = 1 + max((each[0] for each in known), default=0)
            self.run(
                "INSERT INTO surveys VALUES (?, ?, ?, ?, ?, ?)",
                *(number, survey.id, survey.canonical(), slots, participants),
                int(keeps_reports),
            )

    # Participants

    def issue(self, count: int) -> range:
        """Take serials for participants who are issued an id."""
        with self.transaction():
            return self._serials("issued", count)

    def advance(self) -> None:
        """Give out serials from afar on, because this is a copy of a store that went on after it.

        It gave the next serials to people whom the copy does not know. How far is left to chance, so
        that two copies of one store do not meet either.
        """
        with self.transaction():
            self.lock_serials()
            for kind in ("issued", "open"):
                first = self._next_serial(kind)
                start = (first // _REGION + 1) * _REGION + secrets.randbelow(1 << 30) * BLOCK
                self._serials(kind, start - first)

    def _serials(self, kind: str, count: int) -> range:
        self.lock_serials()
        first = self._next_serial(kind)
        if first + count > OPEN:
            raise StoreError("There are no serials left.")
        self.run(
            "INSERT INTO serials VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET next = excluded.next",
            *(kind, first + count),
        )
        return range(first, first + count)

    def _next_serial(self, kind: str) -> int:
        rows = self.run("SELECT next FROM serials WHERE kind = ?", kind)
        return int(rows[0][0]) if rows else 0

    def _enrol(self, tokens: Iterable[bytes]) -> dict[bytes, int]:
        """Return the serials of tokens, new ones for those that come for the first time."""
        wanted = sorted(set(tokens))
        known = {bytes(token): int(serial) for token, serial in self.find("tokens", wanted)}
        new = [token for token in wanted if token not in known]
        if new:
            self.lock_serials()
            again = self.find("tokens", new)  # another process may have been faster
            known |= {bytes(token): int(serial) for token, serial in again}
            new = [token for token in new if token not in known]
            for token, serial in zip(new, self._serials("open", len(new)), strict=True):
                self.run("INSERT INTO tokens VALUES (?, ?)", token, serial)
                known[token] = serial
        return {token: serial + OPEN for token, serial in known.items()}

    # Everything that waits, in one transaction

    def commit(self, works: Sequence[Reports | Ask]) -> list[Outcome | Asked]:
        """Store all that came in, and return what became of each; all of it is durable then."""
        try:
            return self._committed(works)
        except RepeatedError:
            self.is_careful = True
            try:
                return self._committed(works)
            finally:
                self.is_careful = False

    def _committed(self, works: Sequence[Reports | Ask]) -> list[Outcome | Asked]:
        with self.transaction():
            asks = [work for work in works if isinstance(work, Ask)]
            reports = [work for work in works if isinstance(work, Reports)]
            asked, took = iter(self._ask(asks)), iter(self._take(reports))
            return [next(asked) if isinstance(work, Ask) else next(took) for work in works]

    def _ask(self, asks: list[Ask]) -> list[Asked]:
        if not asks:
            return []
        serials = self._enrol(ask.token for ask in asks if ask.token is not None)
        who = [a.participant if a.token is None else serials[a.token] for a in asks]
        keys = [a.held.key(p) for a, p in zip(asks, who, strict=True) if p is not None]
        known = {key for key, _ in self.find("spent", sorted(set(keys)))} | self._answered(keys)
        return [Asked(p, key in known) for p, key in zip(who, keys, strict=True) if p is not None]

    def _answered(self, keys: Iterable[int]) -> set[int]:
        """Return those who answered so long ago that only a bit tells it."""
        pages = dict(self.find("answered", sorted({key // PAGE for key in keys})))
        if not pages:
            return set()
        return {
            key
            for key in keys
            if key // PAGE in pages and pages[key // PAGE][key % PAGE >> 3] >> (key & 7) & 1
        }

    def _take(self, works: list[Reports]) -> list[Outcome]:
        repeated, reused = self._remember(works)
        counted = [w for i, w in enumerate(works) if i not in repeated and i not in reused]
        keys = [key for w in counted for part in w.arrivals for key in part.keys]
        before: dict[int, int] = {}
        answered: set[int] = set()
        twins = False
        if keys:
            marks = [mark for w in counted for part in w.arrivals for mark in part.marks]
            hours = [hour for w in counted for part in w.arrivals for hour in part.expiries]
            answered = self._answered(keys)
            twins = len(set(keys)) < len(keys)
            if answered or twins:
                rows = dict(
                    zip(keys[::-1], zip(marks[::-1], hours[::-1], strict=True), strict=True)
                )
                keys = [key for key in rows if key not in answered]
                marks, hours = ([rows[key][i] for key in keys] for i in (0, 1))
            before = self.spend(keys, marks, hours)
        fresh: dict[int, Arrivals] = {}
        outcomes = []
        for index, work in enumerate(works):
            if index in reused:
                outcomes.append(Outcome([], "key-reused"))
                continue
            refused: list[tuple[int, str]] = []
            for part in work.arrivals if index not in repeated else ():
                new = fresh.setdefault(part.held.number, Arrivals(part.held))
                if not part.keys or not (before or answered or twins):
                    new.slots += part.slots
                    new.values += part.values
                    new.groups += part.groups
                    continue
                for at, key in enumerate(part.keys):
                    mark = before.get(key)
                    if key in answered:
                        refused.append((part.places[at], "answered"))
                    elif mark is None:  # the first of its group; from now on it was there before
                        before[key] = part.marks[at]
                        new.slots.append(part.slots[at])
                        new.values.append(part.values[at])
                        if part.groups:
                            new.groups.append(part.groups[at])
                    elif mark != part.marks[at]:
                        refused.append((part.places[at], "conflict"))
            outcomes.append(Outcome(sorted(refused)))
        for number in sorted(fresh):
            self._count(fresh[number])
        return outcomes

    def _remember(self, works: list[Reports]) -> tuple[set[int], set[int]]:
        """Return which requests were counted before, and which contradict their key."""
        repeated: set[int] = set()
        reused: set[int] = set()
        keyed = {i: work.once for i, work in enumerate(works) if work.once is not None}
        if not keyed:
            return repeated, reused
        first = {once[0]: once for once in reversed(keyed.values())}
        bodies = {bytes(key): bytes(body) for key, body in self.hold(first)}
        for index, (key, body, _) in keyed.items():
            if key not in bodies:
                bodies[key] = body
            elif bodies[key] == body:
                repeated.add(index)
            else:
                reused.add(index)
        return repeated, reused

    @abstractmethod
    def hold(self, requests: dict[bytes, tuple[bytes, bytes, int]]) -> list[tuple[Any, Any]]:
        """Remember requests by their keys; return key and body of those that came before."""

    def _count(self, new: Arrivals) -> None:
        if not new.slots:
            return
        held = new.held
        people, rows = _columns(), _columns()
        for group, slots, values in _by_group(new):
            _append(people, held.number, ([PEOPLE], [group * SHARDS + self.shard], [len(slots)]))
            if held.is_unary and held.keeps_reports:
                counted = _grouped(slots, values)
            else:
                folded = _folded(held.survey, np.array(slots, np.int64), values)
                counted = [column.tolist() for column in folded]
            _append(rows, held.place(group), counted)
        if held.is_unary and held.keeps_reports:
            self.add("masks", rows)
            self.add("counts", people)
        else:
            self.add("counts", [p + r for p, r in zip(people, rows, strict=True)])

    # Looking after itself

    def is_writable(self) -> bool:
        """Tell whether the database takes anything, by writing what changes nothing."""
        try:
            with self.transaction():
                self.run("UPDATE settings SET value = value")
        except Exception:  # whatever it is: nothing can be written, and the writer goes on
            return False
        return True

    def forget(self, hour: int) -> int:
        """Turn some answers whose tickets have expired into bits; return how many.

        One step looks at the next rows after those of the last step, so that none takes long.
        """
        if hour != self._forgot:
            with self.transaction():
                gone = self.run(
                    "DELETE FROM remembered WHERE key IN "
                    "(SELECT key FROM remembered WHERE expiry < ? LIMIT ?) RETURNING key",
                    *(hour, SCANNED),
                )
            if len(gone) < SCANNED:
                self._forgot = hour
                if hour // DAY != self._tidied:  # if it fails, once more in an hour
                    self.tidy()
                    self._tidied = hour // DAY
        rows = self.run(
            "SELECT key, expiry FROM spent WHERE key > ? ORDER BY key LIMIT ?",
            *(self._cursor, SCANNED),
        )
        begin, end = self._cursor, int(rows[-1][0]) if rows else -1
        self._cursor = end if len(rows) == SCANNED else -1
        return self._fold(begin, end, hour) if any(row[1] < hour for row in rows) else 0

    def _fold(self, begin: int, end: int, hour: int) -> int:
        """Turn the expired answers of a range of participants into bits."""
        expired = "FROM spent WHERE key > ? AND key <= ? AND expiry < ?", begin, end, hour
        with self.forgetting():
            keys = [int(key) for (key,) in self.run(f"SELECT key {expired[0]}", *expired[1:])]
            numbers = sorted({key // PAGE for key in keys})
            pages = {int(n): bytearray(bits) for n, bits in self.find("answered", numbers)}
            for key in keys:
                page = pages.setdefault(key // PAGE, bytearray(PAGE // 8))
                page[key % PAGE >> 3] |= 1 << (key & 7)
            for number in numbers:
                self.run(
                    "INSERT INTO answered VALUES (?, ?) "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    *(number, bytes(pages[number])),
                )
            self.run(f"DELETE {expired[0]}", *expired[1:])
        return len(keys)

    # What analysts get

    def people(self, held: Held) -> int:
        """Return how many reports a survey has."""
        return sum(self.people_by_group(held).values())

    def people_by_group(self, held: Held) -> dict[int, int]:
        """Return how many reports each group has, by its number; those without any are left out."""
        rows = self.run(
            "SELECT value, count FROM counts WHERE survey = ? AND slot = ?", held.number, PEOPLE
        )
        made: dict[int, int] = {}
        for value, count in rows:
            made[value // SHARDS] = made.get(value // SHARDS, 0) + count
        return made

    def tally(self, held: Held, group: Mapping[str, str] | None = None) -> Counts:
        """Return the tally of a survey, or of those reports that have some labels, as of one moment."""
        parts = self.tallies(held, group)
        made = parts[0] if len(parts) == 1 else Counts.total(held.survey, parts)
        return replace(made, group=dict(group or {}))

    def tallies(self, held: Held, group: Mapping[str, str] | None = None) -> list[Counts]:
        """Return the tally of each combination of labels, as of one moment; all, or of a group.

        Their source is the collector's own: a later tally of the same survey counts the same people.
        """
        with self.reading():
            rows = self._rows("counts", held, group)
            masks = self._masks(held, group)
        table = np.array(rows, np.int64).reshape(-1, 4)
        parts = [
            (place, Counts(held.survey, *np.ascontiguousarray(part[:, 1:].T)))
            for place, part in _split(table[:, 0], table)
        ]
        for place, part in _split(masks[0], np.arange(len(masks[0]))):
            counter = Counter(held.survey)
            counter.add(masks[1][part], masks[2][part])
            parts.append((place, counter.counts()))
        source = self.seal().digest("source", held.survey.id.encode()).hex()
        return [
            replace(part, group=_labels(held, place), sources=frozenset({source}))
            for place, part in parts
        ]

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read as of one moment, whatever is written meanwhile."""

    def reports(self, held: Held) -> ReportBatch:
        """Return the reports themselves, in an order that tells nothing of when they came."""
        with self.reading():
            rows = self._rows("counts", held)
            places, slots, values = self._masks(held)
        if not held.is_unary:
            table = np.array(rows, np.int64).reshape(-1, 4)
            places, slots, values = (np.repeat(table[:, i], table[:, 3]) for i in (0, 1, 2))
        elif rows:
            raise StoreError(
                f"The reports to survey {held.survey.id[:8]} were counted, not kept; "
                "'deniable serve --keep reports' keeps those to come."
            )
        labels = {}
        if held.labels:
            found, row = np.unique(places, return_inverse=True)
            groups = [_labels(held, place) for place in found.tolist()]
            for name in held.labels.names:
                labels[name] = np.array([group[name] for group in groups], object)[row]
        return ReportBatch(held.survey.id, slots, values, labels=labels)

    def _masks(
        self, held: Held, group: Mapping[str, str] | None = None
    ) -> tuple[Ints, Ints, NDArray[Any]]:
        """Return unary reports that were kept, each as often as it came: place, slot, value."""
        rows = self._rows("masks", held, group)
        width = held.survey.packed_bytes
        count = np.array([count for *_, count in rows], np.int64)
        places, slots = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
        packed = np.frombuffer(b"".join(bytes(value) for *_, value, _ in rows), np.uint8)
        values: NDArray[Any] = (
            packed.reshape(-1, width) if width else packed.view("<i8").astype(np.int64)
        )
        return (
            np.repeat(places, count),
            np.repeat(slots, count),
            np.repeat(values, count, axis=0),
        )

    def _rows(
        self, table: str, held: Held, group: Mapping[str, str] | None = None
    ) -> list[tuple[Any, ...]]:
        """Return columns survey (which tells the group), slot, value, count, in order."""
        select = f"SELECT survey, slot, value, count FROM {table} WHERE slot > ? AND survey"
        order = "ORDER BY survey, slot, value"
        if not group:
            ends = held.place(0), held.place(held.labels.groups - 1)
            return self.run(f"{select} BETWEEN ? AND ? {order}", PEOPLE, *ends)
        places, found = held.places(group), list[tuple[Any, ...]]()
        for start in range(0, len(places), TOGETHER):
            part = places[start : start + TOGETHER]
            marks = ",".join("?" * len(part))
            found += self.run(f"{select} IN ({marks}) {order}", PEOPLE, *part)
        return found

    def checkpoints(self, held: Held) -> list[tuple[int, float | None]]:
        """Return how wide intervals were, by people."""
        rows = self.run(
            "SELECT people, width FROM checkpoints WHERE survey = ? ORDER BY people", held.number
        )
        return [(int(people), None if width is None else float(width)) for people, width in rows]

    def mark(self, held: Held, people: int, width: float | None) -> None:
        """Write down how wide intervals are now that people have doubled."""
        self.run(
            "INSERT INTO checkpoints VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            *(held.number, people, width),
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


def _split(places: Ints, rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Return the rows of each place; places are in order."""
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    return zip(places[starts].tolist(), np.split(rows, starts)[1:], strict=True)


def _labels(held: Held, place: int) -> dict[str, str]:
    """Return the labels of those whose reports are counted under a number."""
    return held.labels.group(place - held.place(0)) if held.labels else {}


def _grouped(slots: list[int], values: list[Any]) -> list[list[Any]]:
    """Return columns slot, value (as bytes), count of reports that may repeat."""
    counts: dict[tuple[int, bytes], int] = {}
    for slot, value in zip(slots, values, strict=True):
        row = slot, value if isinstance(value, bytes) else value.to_bytes(8, "little")
        counts[row] = counts.get(row, 0) + 1
    rows = sorted(counts)
    return [[s for s, _ in rows], [v for _, v in rows], [counts[row] for row in rows]]


def _folded(survey: FrozenSurvey, slots: Ints, values: list[Any]) -> tuple[Ints, Ints, Ints]:
    """Return the tally of some reports, without counters for all that there could be."""
    packed = survey.packed_bytes
    parts = []
    for family in survey.families:
        rows = np.flatnonzero((slots >= family.start) & (slots < family.stop))
        if not len(rows):
            continue
        slot, count = slots[rows], np.ones(len(rows), np.int64)
        if not isinstance(family.answer, Unary):
            parts.append((slot, np.array(values, np.int64)[rows], count))
            continue
        symbols = family.answer.symbols
        held = [values[row] for row in rows.tolist()]
        octets = b"".join(held) if packed else np.array(held, "<i8").tobytes()
        masks = np.frombuffer(octets, np.uint8).reshape(len(rows), -1)
        parts.append((slot, np.full(len(rows), symbols), count))
        step = max(1, FOLDED // symbols)
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            parts.append(_bits(slot[some], masks[some], symbols))
    return merge(parts)


def _bits(slots: Ints, masks: NDArray[np.uint8], symbols: int) -> tuple[Ints, Ints, Ints]:
    """Return columns slot, bit, and how many masks have that bit."""
    order = np.argsort(slots, kind="stable")
    bits = np.unpackbits(masks[order], axis=1, count=symbols, bitorder="little")
    found, starts = np.unique(slots[order], return_index=True)
    counts = np.add.reduceat(bits, starts, axis=0, dtype=np.int64)
    row, symbol = np.nonzero(counts)
    return found[row], symbol.astype(np.int64), counts[row, symbol]
