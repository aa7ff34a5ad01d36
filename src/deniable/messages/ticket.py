"""Tickets: a participant's right to report to one slot of one survey.

A ticket is base64url of 45 bytes: version, the first 8 bytes of the survey's id, a number of 8 bytes
(from the top: is the participant open, the key's number, the participant's serial), slot and expiry, all
big-endian, and the collector's seal over these. Anybody can read one; only the collector that sealed it
can tell whether it is genuine.
"""

from __future__ import annotations

import base64
import struct
from typing import NamedTuple

import numpy as np

from deniable.messages.token import KEY_SHIFT, MOST_KEYS, OPEN, octets

VERSION = 1

_LAYOUT = struct.Struct(">B8sQQI")

SEALED = _LAYOUT.size
"""The bytes that the seal is over; it follows them."""

TICKET_ROW = np.dtype([
    ("version", "u1"), ("survey", ">u8"), ("number", ">u8"), ("slot", ">u8"), ("expiry", ">u4"),
    ("seal", "V16"),
])  # fmt: skip
"""The same, for many tickets at once."""

TICKET_LETTERS = TICKET_ROW.itemsize * 4 // 3

_OPEN_BIT = 1 << 63


class Ticket(NamedTuple):
    """What a ticket says."""

    survey: bytes
    """The first 8 bytes of the survey's id."""
    participant: int
    slot: int
    expiry: int
    """In hours since 1970."""
    key: int = 0
    """The number of the key that sealed it."""

    def sealed_bytes(self) -> bytes:
        """Return the bytes that the seal is over."""
        is_open, serial = divmod(self.participant, OPEN)
        number = is_open * _OPEN_BIT | self.key << KEY_SHIFT | serial
        return _LAYOUT.pack(VERSION, self.survey, number, self.slot, self.expiry)

    def text(self, seal: bytes) -> str:
        """Return the ticket as it travels."""
        return base64.urlsafe_b64encode(self.sealed_bytes() + seal).decode()

    @classmethod
    def of(cls, sealed_bytes: bytes) -> Ticket:
        """Return what the bytes before a seal say, whether or not it is genuine."""
        _, survey, number, slot, expiry = _LAYOUT.unpack(sealed_bytes)
        participant = number % OPEN + (OPEN if number >= _OPEN_BIT else 0)
        return cls(survey, participant, slot, expiry, number >> KEY_SHIFT & MOST_KEYS - 1)


def split_ticket(text: object) -> tuple[bytes, bytes] | None:
    """Return the bytes of a ticket, and the seal over them; None for what is no ticket."""
    raw = octets(text, TICKET_LETTERS) if isinstance(text, str) else None
    return (raw[:SEALED], raw[SEALED:]) if raw is not None and raw[0] == VERSION else None
