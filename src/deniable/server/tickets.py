"""What the collector vouches for: participant ids and tickets, by keys that have numbers.

Everything here is keyed BLAKE2b. Nobody else can make up an id or a ticket; none of them has to be
stored, because the collector makes the same again from its keys. Tickets and ids say the number of the
key that sealed them: new ones are of the newest key, old ones are good until theirs is retired.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, NamedTuple

import numpy as np

from deniable.messages.ticket import (
    SEALED,
    TICKET_LETTERS,
    TICKET_ROW,
    VERSION,
    Ticket,
    split_ticket,
)
from deniable.messages.token import ID_LAYOUT, ID_LETTERS, KEY_SHIFT, MOST_KEYS, OPEN, octets
from deniable.server.digests import digest_of
from deniable.server.slots import FEW

LIFE = 24 * 14
"""Hours for which a participant is given the same ticket."""

GRACE = 24
"""Hours for which a ticket is still taken after that, so that none is worthless when it is given."""

SLACK = 24
"""Hours by which clocks of several machines may differ."""

UNKNOWN = {"ticket-key-unknown": "ticket-invalid", "id-key-unknown": "participant-unknown"}
"""What names a key that is newer than those known here, and what it is if the store has no such key."""


def hour() -> int:
    """Return the hours since 1970: the finest time that the collector knows."""
    return int(time.time()) // 3600


Keys = Mapping[int, bytes | None]
"""Keys by their number; None for those that are retired."""


class TicketColumns(NamedTuple):
    """The columns of many tickets; a survey is the integer of its 8 bytes, or what is wrong instead."""

    surveys: list[int | str]
    participants: list[int]
    slots: list[int]
    expiries: list[int]


class _Ring:
    """The keys of one kind, each with what its seals begin with."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._keys: Keys = {}
        self.newest = -1
        self.hashers: dict[int, Any] = {}

    def learn(self, keys: Keys) -> None:
        """Use these keys; a number has another one where a store was put back, and rotated again."""
        same = self.hashers.keys() & {n for n, key in keys.items() if key == self._keys.get(n)}
        self.hashers = {
            n: self.hashers[n] if n in same else _hasher(self._kind, key)
            for n, key in keys.items()
            if key
        }
        self.newest, self._keys = max(keys), dict(keys)

    def why(self, number: int) -> str:
        """Return why nothing is good that names a key which is none of these."""
        return "key-retired" if number <= self.newest else f"{self._kind}-key-unknown"

    def seal(self, number: int, text: bytes) -> bytes:
        return digest_of(self.hashers[number], text)

    def seals(self, numbers: list[int], texts: list[bytes]) -> bytes | None:
        """Return all seals, one after the other; None where a key is none of these."""
        hashers = self.hashers
        try:
            return b"".join([digest_of(hashers[n], t) for n, t in zip(numbers, texts, strict=True)])
        except KeyError:
            return None


def _hasher(kind: str, key: bytes) -> Any:
    if kind == "id":
        return blake2b(b"deniable.id", key=key, digest_size=16)
    return blake2b(
        key=blake2b(b"deniable.ticket", key=key, digest_size=32).digest(), digest_size=16
    )


class Seal:
    """The store's own key, which stays, and the keys of tickets and of ids, which change."""

    def __init__(self, secret: bytes, tickets: Keys, ids: Keys) -> None:
        self._secret = secret
        self._tickets = _Ring("ticket")
        self._ids = _Ring("id")
        self.learn(tickets, ids)

    def learn(self, tickets: Keys, ids: Keys) -> None:
        """Use these keys from now on."""
        self._tickets.learn(tickets)
        self._ids.learn(ids)

    @staticmethod
    def fresh_secret() -> bytes:
        """Draw a secret from the operating system."""
        return secrets.token_bytes(32)

    def __repr__(self) -> str:
        return "Seal(<redacted>)"

    def digest(self, purpose: str, text: bytes) -> bytes:
        """Return 16 bytes that stand for a text, and that nobody else can compute."""
        label = purpose.encode()
        return blake2b(
            len(label).to_bytes(1, "big") + label + text, key=self._secret, digest_size=16
        ).digest()

    # Participants

    def issue(self, serial: int) -> str:
        """Return the id of an issued participant."""
        key = self._ids.newest
        number = (key << KEY_SHIFT | serial).to_bytes(8, "big")
        return base64.urlsafe_b64encode(number + self._ids.seal(key, number)).decode()

    def participant(self, text: str) -> int | str:
        """Return the serial of an issued id, or why it is none: the name of a problem."""
        raw = octets(text, ID_LETTERS)
        if raw is None:
            return "participant-unknown"
        number, seal = ID_LAYOUT.unpack(raw)
        key, serial = divmod(number, 1 << KEY_SHIFT)
        if key not in self._ids.hashers:
            return self._ids.why(key)
        is_ours = compare_digest(seal, self._ids.seal(key, raw[:8]))
        return serial if is_ours and serial < OPEN else "participant-unknown"

    def participants(self, texts: list[str]) -> list[int | str]:
        """Return the serials of many ids at once."""
        raw = _all_octets(texts, ID_LETTERS)
        if raw is not None:
            rows = np.frombuffer(raw, np.uint8).reshape(-1, ID_LAYOUT.size)
            numbers = rows[:, :8].copy().view(">u8").ravel()
            keys, starts = (numbers >> KEY_SHIFT).tolist(), range(0, len(raw), ID_LAYOUT.size)
            seals = self._ids.seals(keys, [raw[at : at + 8] for at in starts])
            serials = numbers & np.uint64((1 << KEY_SHIFT) - 1)
            is_ours = seals is not None and compare_digest(seals, rows[:, 8:].tobytes())
            if is_ours and (serials < OPEN).all():
                return list(serials.tolist())
        return [self.participant(text) for text in texts]

    # Tickets

    @property
    def ticket_key(self) -> int:
        """Return the number of the newest key of tickets."""
        return self._tickets.newest

    def ticket(self, ticket: Ticket) -> str:
        """Return a ticket's text, sealed with the newest key."""
        ticket = ticket._replace(key=self.ticket_key)
        return ticket.text(self._tickets.seal(ticket.key, ticket.sealed_bytes()))

    def read(self, text: str) -> Ticket | str:
        """Return a ticket, or why it is none of ours: the name of a problem."""
        sealed_bytes, seal = split_ticket(text) or (b"", b"")
        if not sealed_bytes:
            return "ticket-invalid"
        ticket = Ticket.of(sealed_bytes)
        if ticket.key not in self._tickets.hashers:
            return self._tickets.why(ticket.key)
        is_ours = compare_digest(seal, self._tickets.seal(ticket.key, sealed_bytes))
        return ticket if is_ours else "ticket-invalid"

    def read_all(self, texts: list[str]) -> TicketColumns:
        """Return many tickets at once, column by column."""
        raw = _all_octets(texts, TICKET_LETTERS)
        if raw is not None:
            rows = np.frombuffer(raw, TICKET_ROW)
            numbers, starts = rows["number"], range(0, len(raw), TICKET_ROW.itemsize)
            keys = (numbers >> KEY_SHIFT & (MOST_KEYS - 1)).tolist()
            seals = self._tickets.seals(keys, [raw[at : at + SEALED] for at in starts])
            is_ours = seals is not None and compare_digest(seals, rows["seal"].tobytes())
            if is_ours and (rows["version"] == VERSION).all():
                serials = (numbers & np.uint64(OPEN - 1)).astype(np.int64)
                is_open = numbers >> np.uint64(63) != 0
                return TicketColumns(
                    rows["survey"].tolist(),
                    (serials + OPEN * is_open).tolist(),
                    rows["slot"].tolist(),
                    rows["expiry"].tolist(),
                )
        # One by one, because there are few, or some of them are bad.
        tickets = [self.read(text) for text in texts]
        bad = Ticket(b"", 0, 0, 0)
        good = [bad if isinstance(each, str) else each for each in tickets]
        return TicketColumns(
            [t if isinstance(t, str) else int.from_bytes(t.survey, "big") for t in tickets],
            [each.participant for each in good],
            [each.slot for each in good],
            [each.expiry for each in good],
        )

    def expiry(self, participant: int, hour: int) -> int:
        """Return when the ticket that a participant is given now expires.

        Time is cut into lives of a ticket, for each participant elsewhere, so that a ticket is the
        same whenever it is asked for, and tickets do not all expire at once.
        """
        phase = int.from_bytes(self.digest("phase", participant.to_bytes(8, "big"))[:4], "big")
        return hour + LIFE - (hour + phase) % LIFE


def _all_octets(texts: list[str], letters: int) -> bytes | None:
    """Return the bytes of many texts, if these are many, and all of them are well-formed."""
    if len(texts) < FEW or set(map(len, texts)) != {letters}:
        return None
    return octets("".join(texts), letters * len(texts))
