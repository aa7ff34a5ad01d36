"""The collector's key, and what it vouches for: participant ids, tickets, assigned slots.

Everything here is keyed BLAKE2b under one secret of 32 bytes. Nobody else can make up an id, a ticket
or a slot; nothing of it has to be stored, because the collector makes the same again from its key.
"""

from __future__ import annotations

import base64
import secrets
from functools import lru_cache
from hashlib import blake2b, sha256
from hmac import compare_digest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.messages.ticket import (
    SEALED,
    TICKET_LETTERS,
    TICKET_ROW,
    VERSION,
    Ticket,
    split_ticket,
)
from deniable.messages.token import ID_LAYOUT, ID_LETTERS, OPEN, hashed_slot, hashed_text, octets
from deniable.questions.entropy import Key
from deniable.survey.frozen import FrozenSurvey

LIFE = 24 * 14
"""Hours for which a participant is given the same ticket."""

GRACE = 24
"""Hours for which a ticket is still taken after that, so that none is worthless when it is given."""

BLOCK = 4096
"""Neighbouring serials that share the slots out among themselves."""

_FINE = 116
"""Bits of the line of slots within a stratum."""

_FEW = 8
"""So many are done one by one faster than together."""


class TicketColumns(NamedTuple):
    """The columns of many tickets; a survey is the integer of its 8 bytes, None for a bad ticket."""

    surveys: list[int | None]
    participants: list[int]
    slots: list[int]
    expiries: list[int]


class Seal:
    """The collector's key."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        tickets = blake2b(b"deniable.ticket", key=secret, digest_size=32).digest()
        self._id = blake2b(b"deniable.id", key=secret, digest_size=16)
        self._ticket = blake2b(key=tickets, digest_size=16)
        self._point = blake2b(key=tickets, digest_size=16, person=b"deniable.point")
        self._slots = Key(blake2b(b"deniable.slots", key=secret, digest_size=32).digest())
        self._strata = lru_cache(256)(self._shuffle)

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
        number = serial.to_bytes(8, "big")
        return base64.urlsafe_b64encode(number + _digest(self._id, number)).decode()

    def participant(self, text: str) -> int | None:
        """Return the serial of an issued id, or None if it was made up."""
        raw = octets(text, ID_LETTERS)
        if raw is None:
            return None
        serial, seal = ID_LAYOUT.unpack(raw)
        is_ours = compare_digest(seal, _digest(self._id, raw[:8]))
        return serial if is_ours and serial < OPEN else None

    def participants(self, texts: list[str]) -> list[int | None]:
        """Return the serials of many ids at once."""
        raw = _all_octets(texts, ID_LETTERS)
        if raw is not None:
            rows = np.frombuffer(raw, np.uint8).reshape(-1, ID_LAYOUT.size)
            starts = range(0, len(raw), ID_LAYOUT.size)
            seals = b"".join([_digest(self._id, raw[at : at + 8]) for at in starts])
            serials = rows[:, :8].copy().view(">u8").ravel()
            if compare_digest(seals, rows[:, 8:].tobytes()) and (serials < OPEN).all():
                return list(serials.tolist())
        return [self.participant(text) for text in texts]

    # Tickets

    def ticket(self, ticket: Ticket) -> str:
        """Return a ticket's text."""
        return ticket.text(_digest(self._ticket, ticket.sealed_bytes()))

    def read(self, text: str) -> Ticket | None:
        """Return a ticket, or None if it is not one that this key signed."""
        sealed_bytes, seal = split_ticket(text) or (b"", b"")
        is_ours = compare_digest(seal, _digest(self._ticket, sealed_bytes))
        return Ticket.of(sealed_bytes) if is_ours else None

    def read_all(self, texts: list[str]) -> TicketColumns:
        """Return many tickets at once, column by column."""
        raw = _all_octets(texts, TICKET_LETTERS)
        if raw is not None:
            starts = range(0, len(raw), TICKET_ROW.itemsize)
            seals = b"".join([_digest(self._ticket, raw[at : at + SEALED]) for at in starts])
            rows = np.frombuffer(raw, TICKET_ROW)
            is_ours = compare_digest(seals, rows["seal"].tobytes())
            if is_ours and (rows["version"] == VERSION).all():
                serials = (rows["number"] & np.uint64(OPEN - 1)).astype(np.int64)
                is_open = rows["number"] >> np.uint64(63) != 0
                return TicketColumns(
                    rows["survey"].tolist(),
                    (serials + OPEN * is_open).tolist(),
                    rows["slot"].tolist(),
                    rows["expiry"].tolist(),
                )
        # One by one, because there are few, or some of them are bad.
        tickets = [self.read(text) for text in texts]
        return TicketColumns(
            [None if t is None else int.from_bytes(t.survey, "big") for t in tickets],
            [0 if t is None else t.participant for t in tickets],
            [0 if t is None else t.slot for t in tickets],
            [0 if t is None else t.expiry for t in tickets],
        )

    def expiry(self, participant: int, hour: int) -> int:
        """Return when the ticket that a participant is given now expires.

        Time is cut into lives of a ticket, for each participant elsewhere, so that a ticket is the
        same whenever it is asked for, and tickets do not all expire at once.
        """
        phase = int.from_bytes(self.digest("phase", participant.to_bytes(8, "big"))[:4], "big")
        return hour + LIFE - (hour + phase) % LIFE

    # Slots

    def slot(self, survey: FrozenSurvey, participant: int) -> int:
        """Return the slot that is assigned to a participant, always the same.

        Each block of serials shares out equal strata of the line of slots in a secret order, so that
        slots are used as often as the survey says, and nobody can tell or choose their own.
        """
        block, index = divmod(participant, BLOCK)
        stratum = int(self._strata(survey.id, block)[index])
        within = _digest(self._point, survey.id.encode() + participant.to_bytes(8, "big"))
        point = stratum << _FINE | int.from_bytes(within, "big") >> 128 - _FINE
        return survey.index.slot_at(point, _FINE + BLOCK.bit_length() - 1)

    def _shuffle(self, survey: str, block: int) -> NDArray[np.uint16]:
        words = self._slots.stream(survey, block).words(BLOCK)
        return np.argsort(words).astype(np.uint16)


def hashed_slots(survey: FrozenSurvey, ids: list[str]) -> list[int]:
    """Return the slots that follow from many issued ids."""
    if len(ids) < _FEW:
        return [hashed_slot(survey, each) for each in ids]
    slots = _from_blocks(survey, ids, 1)
    again = [at for at, slot in enumerate(slots) if slot < 0]  # draws that were all rejected
    if again:
        for at, slot in zip(again, _from_blocks(survey, [ids[at] for at in again], 2), strict=True):
            slots[at] = hashed_slot(survey, ids[at]) if slot < 0 else slot
    return slots


def _from_blocks(survey: FrozenSurvey, ids: list[str], blocks: int) -> list[int]:
    """Return slots from so many blocks of each id's hashes; −1 where these do not suffice."""
    hasher = sha256(hashed_text(survey.id))
    counts = [block.to_bytes(4, "big") for block in range(blocks)]
    digests = [_digest(hasher, text + count) for text in map(str.encode, ids) for count in counts]
    words = np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 4 * blocks)
    slots: list[int] = survey.index.draw_from(words).tolist()
    return slots


def _digest(hasher: Any, text: bytes) -> bytes:
    """Return the digest of what was begun and a text; beginning anew would take twice as long."""
    hasher = hasher.copy()
    hasher.update(text)
    digest: bytes = hasher.digest()
    return digest


def _all_octets(texts: list[str], letters: int) -> bytes | None:
    """Return the bytes of many texts, if these are many, and all of them are well-formed."""
    if len(texts) < _FEW or set(map(len, texts)) != {letters}:
        return None
    return octets("".join(texts), letters * len(texts))
