"""Tokens: what tells participants apart, an issued id or a text of their own, and what follows from it.

An issued id is base64url of a number (the key's and a serial) and the collector's seal over it. Where
slots are hashed, the id alone decides which question is asked, for whoever knows it.
"""

from __future__ import annotations

import binascii
import re
import struct
from typing import TYPE_CHECKING, TypeGuard

from deniable.questions.entropy import HashedSource

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

SURVEY_ID = re.compile("[0-9a-f]{64}")
"""A survey's id: the SHA-256 of its canonical JSON."""

ISSUED_ID = re.compile("[A-Za-z0-9_-]{32}")
"""What an issued id looks like; a slot that is hashed from anything else would be answered in vain."""

IDEMPOTENCY_KEY = re.compile("[A-Za-z0-9_-]{16,64}")
"""What names a request where nothing else does, so that a collector counts it once."""

TOKEN_LETTERS = 1, 256
"""The letters of a token: from, to."""

ID_LAYOUT = struct.Struct(">Q16s")
"""An issued id: the key's number and the serial, the seal."""

ID_LETTERS = 32

OPEN = 1 << 47
"""Added to the serials of participants that nobody issued an id to."""

KEY_SHIFT = 48
"""Bits of a serial, above which ids and tickets have the number of the key that sealed them."""

MOST_KEYS = 1 << 15
"""Keys of a kind that a store may have one after the other."""

_FROM_URL = bytes.maketrans(b"-_+/", b"+/__")  # what is not base64url becomes no base64


def is_survey_id(text: object) -> TypeGuard[str]:
    """Tell whether this can be a survey's id."""
    return isinstance(text, str) and SURVEY_ID.fullmatch(text) is not None


def octets(text: str, letters: int) -> bytes | None:
    """Return the bytes of base64url text of this length, without padding."""
    if len(text) != letters or not text.isascii():
        return None
    try:
        raw = binascii.a2b_base64(text.encode().translate(_FROM_URL), strict_mode=True)
    except binascii.Error:
        return None
    return raw if 4 * len(raw) == 3 * letters else None


def hashed_text(survey: str, issued_id: str = "") -> bytes:
    """Return what is hashed to a slot: it begins alike for all ids of a survey."""
    return f"deniable.slot{survey}{issued_id}".encode()


def hashed_slot(survey: FrozenSurvey, issued_id: str) -> int:
    """Return the slot that follows from an issued id."""
    return survey.draw_slot(HashedSource(hashed_text(survey.id, issued_id)))
