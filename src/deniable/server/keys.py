"""Keys that change: those of tickets, and those of ids.

A key has a number, which everything that it seals says. The newest one seals; older ones go on being
honoured until they are retired, which destroys them. What must stay for ever depends on none of them:
slots come from each survey's own key, and who has answered is known by serials and by the store's own.

*The race.* Several processes work on a store, and any may be the last to hear of a new key. It is
committed before anybody seals with it, so whoever meets a number that they do not know reads the keys
anew, in a turn that begins afterwards, before they refuse. Which key is the newest is read in the very
transaction in which somebody enrols or ids are issued: what an older key seals after a rotation has
returned belongs to a transaction that was under way.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Literal, NamedTuple

from deniable.errors import StoreError
from deniable.messages.token import MOST_KEYS
from deniable.server.audit_log import OPERATOR
from deniable.server.database import KINDS
from deniable.server.participants import ParticipantTables
from deniable.server.tickets import GRACE, LIFE, SLACK, Seal
from deniable.server.work import StoredSurvey

State = Literal["seals", "honoured", "ended", "retired"]


class KeyRow(NamedTuple):
    """A key, without its material."""

    kind: str
    number: int
    state: State
    fingerprint: str | None
    """What tells two keys apart, and tells nothing of them; None for one that is destroyed."""
    since: int | None
    """The hour since which it seals; None where a version made it that did not note that."""
    ends: int | None
    """The hour after which nothing that it sealed is good; None where that is open."""
    first: int
    """The first serial to which it may have issued an id."""
    uses: int
    """Ids that it sealed; of tickets, none are counted."""


class KeyTables(ParticipantTables):
    """The keys of a store."""

    def key_rows(self, hour: int) -> list[KeyRow]:
        """Return all keys, the newest of each kind last."""
        rows = self.run(
            "SELECT kind, number, material, since, ends, first, uses FROM keys ORDER BY kind, number"
        )
        newest = {kind: number for kind, number, *_ in rows}
        return [
            KeyRow(
                kind,
                number,
                _state(number == newest[kind], material, ends, hour),
                None if material is None else _fingerprint(bytes(material)),
                since,
                ends,
                first,
                uses,
            )
            for kind, number, material, since, ends, first, uses in rows
        ]

    def rotate(self, kind: str, hour: int) -> int:
        """Let a new key seal from now on; return its number.

        What the old one of tickets has sealed expires by itself; ids stay good until it is retired.
        """
        with self.transaction():
            self.lock_serials()
            number = self.newest_key(kind) + 1
            if number >= MOST_KEYS:
                raise StoreError(f"A store has at most {MOST_KEYS:,} keys of a kind.")
            ends = hour + LIFE + GRACE + SLACK if kind == "ticket" else None
            self.run(
                "UPDATE keys SET ends = ? WHERE kind = ? AND number = ?", ends, kind, number - 1
            )
            self.run(
                "INSERT INTO keys VALUES (?, ?, ?, ?, NULL, ?, 0)",
                *(kind, number, Seal.fresh_secret(), hour, self.next_serial("issued")),
            )
            self.audit(OPERATOR, "rotate", f"{kind} key {number}")
        return number

    def retire(self, kind: str, number: int, hour: int, *, breaks: bool = False) -> str | None:
        """Destroy a key; refuse while something depends on it, unless it may break.

        Return what it breaks, in a sentence, or None.
        """
        with self.transaction():
            self.lock_serials()
            row = self._key(kind, number, hour)
            if row.state == "retired":
                raise StoreError(f"Key {number} of {kind}s is retired already.")
            if row.state == "seals":
                raise StoreError(
                    f"Key {number} of {kind}s seals: 'deniable keys rotate {kind}' first."
                )
            broken = self._depends(row, hour)
            if broken and not breaks:
                raise StoreError(f"{broken} Wait, or say --breaks to retire it all the same.")
            self.run(
                "UPDATE keys SET material = NULL, ends = ? WHERE kind = ? AND number = ?",
                *(hour, kind, number),
            )
            self.audit(OPERATOR, "retire", f"{kind} key {number}")
        return broken

    def _key(self, kind: str, number: int, hour: int) -> KeyRow:
        for row in self.key_rows(hour):
            if (row.kind, row.number) == (kind, number):
                return row
        raise StoreError(
            f"The store has no key {number} of {kind}s; 'deniable keys list' shows all."
        )

    def _depends(self, row: KeyRow, hour: int) -> str | None:
        """Return what depends on a key that does not seal any more, in a sentence."""
        if row.kind == "ticket":
            if row.ends is not None and row.ends <= hour:
                return None
            ends = (
                "" if row.ends is None else datetime.fromtimestamp(row.ends * 3600, UTC).isoformat()
            )
            return (
                f"Tickets of key {row.number} may be good until {ends[:16]} UTC; whoever holds one "
                "would have to ask for the question again."
            )
        unanswered = self.unanswered(row)
        if not unanswered:
            return None
        return (
            f"Of the {row.uses:,} ids of key {row.number}, {unanswered:,} have not answered all open "
            "surveys, and never could."
        )

    def unanswered(self, row: KeyRow) -> int:
        """Return how many ids of a key have not answered some survey for issued ids that is open."""
        rows = self.run("SELECT first FROM keys WHERE kind = 'id' AND number = ?", row.number + 1)
        end = int(rows[0][0]) if rows else self.next_serial("issued")
        surveys = self.run("SELECT number, ends FROM surveys WHERE participants = 'issued'")
        now = time.time()
        answers = [
            row.uses  # whoever has not answered never will
            if ends is not None and ends <= now
            else self.answers_within(*(StoredSurvey.key_of(n, at) for at in (row.first, end)))
            for n, ends in surveys
        ]
        return max(0, row.uses - min(answers, default=0))


def check_kinds(kinds: list[str]) -> list[str]:
    """Return the kinds that are meant: all, if none is named."""
    for kind in kinds:
        if kind not in KINDS:
            raise StoreError(f"Keys are of tickets or of ids ('ticket', 'id'), got {kind!r}.")
    return kinds or list(KINDS)


def _state(seals: bool, material: object, ends: int | None, hour: int) -> State:
    if material is None:
        return "retired"
    if seals:
        return "seals"
    return "honoured" if ends is None or hour < ends else "ended"


def _fingerprint(material: bytes) -> str:
    return blake2b(b"deniable.fingerprint", key=material, digest_size=8).hexdigest()
