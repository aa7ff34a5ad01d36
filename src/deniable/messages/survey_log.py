"""The public log of surveys: an append-only list of all that a collector ever offered, as a Merkle tree.

An entry is a line, ``2026-11-19 3fa9…``: the day on which a survey was first offered (UTC), and its
id. The tree over the lines is that of RFC 9162 (SHA-256; 0x00 before a leaf, 0x01 before two nodes),
and a *head* is its size and root, ``12:9f2c…``. From two heads and a few hashes anybody can tell whether
the later log only adds to the earlier one, and from a head and a few hashes whether a survey is in it.

>>> log = SurveyLog([Entry("2026-11-19", 64 * "a"), Entry("2026-12-01", 64 * "b")])
>>> log.head.size
2
>>> log.head.check_inclusion(log.entries[1], 1, log.inclusion(1))
>>> log.head.check_follows(Head.of_log(log.entries[:1]), log.consistency(1))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple, Self

from deniable.errors import LogError
from deniable.messages.token import is_survey_id

MOST = 1 << 30
"""The most entries of a log."""

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HEAD = re.compile("(0|[1-9][0-9]{0,9}):([0-9a-f]{64})")
_HASH = re.compile("[0-9a-f]{64}")
_LONGEST = 64

_FORKED = (
    "The log does not continue the one whose head is known: it was rewritten, or is another one."
)


def today() -> str:
    """Return the day of UTC."""
    return datetime.now(UTC).date().isoformat()


class Entry(NamedTuple):
    """A survey in the log, and the day on which it was first offered."""

    day: str
    survey: str

    @property
    def line(self) -> str:
        """Return its line, without the line's end."""
        return f"{self.day} {self.survey}"

    @property
    def leaf(self) -> bytes:
        """Return the hash of its line as a leaf."""
        return sha256(b"\0" + self.line.encode()).digest()

    @classmethod
    def of(cls, day: object, survey: object) -> Self:
        """Return an entry; refuse what is none."""
        if not (isinstance(day, str) and _DAY.fullmatch(day) and is_survey_id(survey)):
            raise LogError("An entry of a log of surveys is a day and a survey's id.")
        return cls(day, survey)


class Head(NamedTuple):
    """What there is to remember of a log: how long it is, and the root of its tree."""

    size: int
    root: str

    def __str__(self) -> str:
        return f"{self.size}:{self.root}"

    @classmethod
    def of(cls, text: object) -> Self:
        """Read a head such as ``12:9f2c…``."""
        match = _HEAD.fullmatch(text) if isinstance(text, str) else None
        if match is None or int(match[1]) > MOST:
            raise LogError(
                "The head of a log of surveys is its size and root, such as 12:9f2c…, with 64 "
                "hexadecimal digits."
            )
        return cls(int(match[1]), match[2])

    @classmethod
    def of_log(cls, entries: Iterable[Entry]) -> Head:
        """Return the head of some entries."""
        return SurveyLog(entries).head

    def check_inclusion(self, entry: Entry, index: object, proof: object) -> None:
        """Refuse an entry that is not proven to be in the log of this head (RFC 9162, 2.1.3.2)."""
        path = _hashes(proof)
        if not (type(index) is int and 0 <= index < self.size):
            raise LogError("The survey is not in the log.")
        place, last, node = index, self.size - 1, entry.leaf
        for other in path:
            if last == 0:
                raise LogError("The survey is not in the log.")
            if place & 1 or place == last:
                node = _node(other, node)
                place, last = _up(place, last)
            else:
                node = _node(node, other)
            place, last = place >> 1, last >> 1
        if last or node.hex() != self.root:
            raise LogError("The survey is not in the log.")

    def check_follows(self, earlier: Head, proof: object) -> None:
        """Refuse this head unless its log only adds to that of an earlier one (RFC 9162, 2.1.4.2)."""
        path = _hashes(proof)
        if earlier.size > self.size:
            raise LogError("The log is shorter than the one whose head is known: it was cut short.")
        if earlier.size in (0, self.size):
            if path or earlier.root != (self.root if earlier.size else SurveyLog(()).head.root):
                raise LogError(_FORKED)
            return
        if earlier.size & (earlier.size - 1) == 0:
            path = [bytes.fromhex(earlier.root), *path]
        place, last = earlier.size - 1, self.size - 1
        while place & 1:
            place, last = place >> 1, last >> 1
        if not path:
            raise LogError(_FORKED)
        old = new = path[0]
        for other in path[1:]:
            if last == 0:
                raise LogError(_FORKED)
            if place & 1 or place == last:
                old, new = _node(other, old), _node(other, new)
                place, last = _up(place, last)
            else:
                new = _node(new, other)
            place, last = place >> 1, last >> 1
        if last or old.hex() != earlier.root or new.hex() != self.root:
            raise LogError(_FORKED)


class SurveyLog:
    """All entries of a log, from which it proves what it is asked."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._nodes: dict[tuple[int, int], bytes] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """Take the entries of somebody else's log; refuse a survey that is there twice."""
        log = cls(entries)
        if len(log._indices) < len(log.entries):
            raise LogError("The log has a survey twice.")
        return log

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Read a file's lines; refuse what is not exactly such."""
        lines = text.split("\n")
        if lines.pop():
            raise LogError("The log's last line is cut short.")
        entries = []
        for number, line in enumerate(lines, start=1):
            try:
                entries.append(Entry.of(*line.split(" ", 1)) if " " in line else Entry.of("", ""))
            except LogError:
                raise LogError(
                    f"Line {number:,} of the log is not a day and a survey's id."
                ) from None
        return cls.of(entries)

    @property
    def text(self) -> str:
        """Return the lines of its file."""
        return "".join(f"{entry.line}\n" for entry in self.entries)

    @property
    def head(self) -> Head:
        """Return its size and root."""
        return Head(len(self.entries), self._root(0, len(self.entries)).hex())

    def begins(self, longer: SurveyLog) -> bool:
        """Tell whether another log only adds to this one."""
        return longer.entries[: len(self.entries)] == self.entries

    def check_continues(self, earlier: Head) -> None:
        """Refuse this log unless its first entries, so many, have an earlier head."""
        self.head.check_follows(earlier, self.consistency(earlier.size))

    def index(self, survey: str) -> int | None:
        """Return where a survey stands; None if it is not there."""
        return self._indices.get(survey)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {entry.survey: index for index, entry in enumerate(self.entries)}

    def inclusion(self, index: int) -> list[str]:
        """Return what proves that an entry is in the log (RFC 9162, 2.1.3.1)."""
        start, stop, path = 0, len(self.entries), list[str]()
        while stop - start > 1:
            middle = start + _below(stop - start)
            if index < middle:
                path.append(self._root(middle, stop).hex())
                stop = middle
            else:
                path.append(self._root(start, middle).hex())
                start = middle
        return path[::-1]

    def consistency(self, size: int) -> list[str]:
        """Return what proves that the log adds to its first entries, so many (RFC 9162, 2.1.4.1)."""
        if not 0 < size < len(self.entries):
            return []
        start, stop, path, is_whole = 0, len(self.entries), list[str](), True
        while size < stop:
            middle = start + _below(stop - start)
            if size <= middle:
                path.append(self._root(middle, stop).hex())
                stop = middle
            else:
                path.append(self._root(start, middle).hex())
                start, is_whole = middle, False
        if not is_whole:
            path.append(self._root(start, stop).hex())
        return path[::-1]

    def _root(self, start: int, stop: int) -> bytes:
        """Return the root over some entries; those of the tree are computed once."""
        if stop - start < 2:
            return self.entries[start].leaf if stop > start else sha256().digest()
        if (start, stop) not in self._nodes:
            middle = start + _below(stop - start)
            both = self._root(start, middle), self._root(middle, stop)
            self._nodes[start, stop] = _node(*both)
        return self._nodes[start, stop]


def _below(size: int) -> int:
    """Return the largest power of two below a size."""
    return 1 << ((size - 1).bit_length() - 1)


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _up(place: int, last: int) -> tuple[int, int]:
    """Return the places of two nodes once the first is a right child, or the root."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last


def _hashes(proof: object) -> Sequence[bytes]:
    if not isinstance(proof, list) or len(proof) > _LONGEST:
        raise LogError("A proof about a log of surveys is a list of hashes.")
    if not all(isinstance(each, str) and _HASH.fullmatch(each) for each in proof):
        raise LogError("A proof about a log of surveys is a list of hashes.")
    return [bytes.fromhex(each) for each in proof]
