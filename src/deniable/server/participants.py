"""Who takes part, and who has answered: what a store knows of participants."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable

from deniable.errors import StoreError
from deniable.messages.token import OPEN
from deniable.server.audit_log import OPERATOR, AuditTables
from deniable.server.slots import BLOCK
from deniable.server.tickets import Seal
from deniable.server.work import Enrolment, EnrolmentOutcome

PAGE = 1 << 15
"""Participants whose bits share a row of `answered`."""

SCAN_ROWS = 20_000
"""Rows that one step of forgetting looks at."""

DAY = 24

_REGION = 1 << 32
"""Serials that are left out at least, where some may have been given out that nobody knows of."""


class ParticipantTables(AuditTables):
    """Serials, tokens, and who has answered: the value until its ticket has expired, then a bit."""

    _cursor = -1
    _forget_hour = -1
    _tidy_day = -1
    _scrub_hour = -1

    def issue(self, count: int) -> range:
        """Take serials for participants who are issued an id of the newest key."""
        return self._issue(count)[0]

    def issue_ids(self, count: int) -> list[str]:
        """Return new ids."""
        serials, seal = self._issue(count)
        return [seal.issue(serial) for serial in serials]

    def _issue(self, count: int) -> tuple[range, Seal]:
        with self.transaction():
            serials = self._serials("issued", count)
            self.run(
                "UPDATE keys SET uses = uses + ? WHERE kind = 'id' AND number = ?",
                *(count, self.newest_key("id")),
            )
            self.audit(OPERATOR, "issue", f"{count} ids")
            return serials, self.seal()

    def newest_key(self, kind: str) -> int:
        """Return the number of the key that seals as of this transaction."""
        return int(self.run("SELECT max(number) FROM keys WHERE kind = ?", kind)[0][0])

    def advance(self) -> None:
        """Give out serials from afar on, because this is a copy of a store that went on after it.

        It gave the next serials to people whom the copy does not know. How far is left to chance, so
        that two copies of one store do not meet either.
        """
        with self.transaction():
            self.lock_serials()
            for kind in ("issued", "open"):
                first = self.next_serial(kind)
                start = (first // _REGION + 1) * _REGION + secrets.randbelow(1 << 30) * BLOCK
                self._serials(kind, start - first)
            self.audit(OPERATOR, "advance")

    def _serials(self, kind: str, count: int) -> range:
        self.lock_serials()
        first = self.next_serial(kind)
        if first + count > OPEN:
            raise StoreError("There are no serials left.")
        self.run(
            "INSERT INTO serials VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET next = excluded.next",
            *(kind, first + count),
        )
        return range(first, first + count)

    def next_serial(self, kind: str) -> int:
        """Return the serial that the next one gets who is issued an id, or is open."""
        rows = self.run("SELECT next FROM serials WHERE kind = ?", kind)
        return int(rows[0][0]) if rows else 0

    def _enrol(self, tokens: Iterable[bytes]) -> dict[bytes, int]:
        """Return the serials of tokens, new ones for those that come for the first time."""
        distinct = sorted(set(tokens))
        serials = self._known_serials(distinct)
        new = [token for token in distinct if token not in serials]
        if new:
            self.lock_serials()
            serials |= self._known_serials(new)  # another process may have been faster
            new = [token for token in new if token not in serials]
            for token, serial in zip(new, self._serials("open", len(new)), strict=True):
                self.run("INSERT INTO tokens VALUES (?, ?)", token, serial)
                serials[token] = serial + OPEN
        return serials

    def _known_serials(self, tokens: Iterable[bytes]) -> dict[bytes, int]:
        """Return the serials of those tokens that have one."""
        rows = self.find("tokens", sorted(set(tokens)))
        return {bytes(token): int(serial) + OPEN for token, serial in rows}

    def enrol(
        self, enrolments: list[Enrolment], closed: Collection[int] = ()
    ) -> list[EnrolmentOutcome]:
        """Return who asks for questions, and whether their answer is counted already.

        To a survey that is closed nobody comes for the first time.
        """
        if not enrolments:
            return []
        is_late = [each.stored_survey.number in closed for each in enrolments]
        rows = list(zip(enrolments, is_late, strict=True))
        serials = self._known_serials(e.token for e, late in rows if late and e.token is not None)
        serials |= self._enrol(e.token for e, late in rows if not late and e.token is not None)
        people = [e.participant if e.token is None else serials.get(e.token) for e in enrolments]
        keys = [
            -1 if p is None else e.stored_survey.key(p)
            for e, p in zip(enrolments, people, strict=True)
        ]
        answered_keys = self.answered_keys([key for key in keys if key >= 0])
        ticket_key = self.newest_key("ticket")
        return [
            EnrolmentOutcome(
                -1 if person is None else person, key in answered_keys, ticket_key, late
            )
            for person, key, late in zip(people, keys, is_late, strict=True)
        ]

    def answered_keys(self, keys: list[int]) -> set[int]:
        """Return those of some participants who have answered."""
        return {key for key, _ in self.find("spent", sorted(set(keys)))} | self.keys_with_bit(keys)

    def keys_with_bit(self, keys: Iterable[int]) -> set[int]:
        """Return those who answered so long ago that only a bit tells it."""
        pages = dict(self.find("answered", sorted({key // PAGE for key in keys})))
        if not pages:
            return set()
        return {
            key
            for key in keys
            if key // PAGE in pages and pages[key // PAGE][key % PAGE >> 3] >> (key & 7) & 1
        }

    def answers_within(self, begin: int, end: int) -> int:
        """Return how many of some participants have answered: those whose keys begin and end so."""
        recent = self.run("SELECT count(*) FROM spent WHERE key >= ? AND key < ?", begin, end)
        pages = self.run(
            "SELECT key, value FROM answered WHERE key >= ? AND key <= ?",
            begin // PAGE,
            end // PAGE,
        )
        folded = 0
        for number, bits in pages:
            first, last = max(begin - number * PAGE, 0), min(end - number * PAGE, PAGE)
            whole = int.from_bytes(bytes(bits), "little") & ((1 << max(last, 0)) - 1)
            folded += (whole >> first).bit_count()
        return int(recent[0][0]) + folded

    def forget(self, hour: int) -> int:
        """Turn some answers whose tickets have expired into bits; return how many.

        One step looks at the next rows after those of the last step, so that none takes long.
        """
        if hour != self._forget_hour:
            with self.transaction():
                rows = self.run(
                    "DELETE FROM remembered WHERE key IN "
                    "(SELECT key FROM remembered WHERE expiry < ? LIMIT ?) RETURNING key",
                    *(hour, SCAN_ROWS),
                )
            if len(rows) < SCAN_ROWS:
                self._forget_hour = hour
                if hour // DAY != self._tidy_day:  # if it fails, once more in an hour
                    self.tidy()
                    self._tidy_day = hour // DAY
        rows = self.run(
            "SELECT key, expiry FROM spent WHERE key > ? ORDER BY key LIMIT ?",
            *(self._cursor, SCAN_ROWS),
        )
        begin, end = self._cursor, int(rows[-1][0]) if rows else -1
        self._cursor = end if len(rows) == SCAN_ROWS else -1
        folded = self._fold(begin, end, hour) if any(row[1] < hour for row in rows) else 0
        if self._cursor < 0 and hour != self._scrub_hour and self.scrub():
            self._scrub_hour = hour
        return folded

    def _fold(self, begin: int, end: int, hour: int) -> int:
        """Turn the expired answers of a range of participants into bits."""
        condition = "FROM spent WHERE key > ? AND key <= ? AND expiry < ?", begin, end, hour
        with self.forgetting():
            keys = [int(key) for (key,) in self.run(f"SELECT key {condition[0]}", *condition[1:])]
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
            self.run(f"DELETE {condition[0]}", *condition[1:])
        return len(keys)
