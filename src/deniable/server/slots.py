"""Who is asked what: the slots that a survey's own key assigns, and those that follow from an issued id.

A survey's key is drawn with it and lives as long as it does: whatever other keys are changed, nobody is
ever asked another question.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b, sha256

import numpy as np
from numpy.typing import NDArray

from deniable.messages.token import hashed_slot, hashed_text
from deniable.questions.entropy import Key
from deniable.server.digests import digest_of
from deniable.survey.frozen import FrozenSurvey

BLOCK = 4096
"""Neighbouring serials that share the slots out among themselves."""

FEW = 8
"""So many are done one by one faster than together."""

_FINE = 116
"""Bits of the line of slots within a stratum."""


class Assignment:
    """A survey's assignment key."""

    def __init__(self, key: bytes) -> None:
        points = blake2b(b"deniable.ticket", key=key, digest_size=32).digest()
        self._point = blake2b(key=points, digest_size=16, person=b"deniable.point")
        self._slots = Key(blake2b(b"deniable.slots", key=key, digest_size=32).digest())
        self._strata = lru_cache(256)(self._shuffle)

    def __repr__(self) -> str:
        return "Assignment(<redacted>)"

    def slot(self, survey: FrozenSurvey, participant: int) -> int:
        """Return the slot that is assigned to a participant, always the same.

        Each block of serials shares out equal strata of the line of slots in a secret order, so that
        slots are used as often as the survey says, and nobody can tell or choose their own.
        """
        block, index = divmod(participant, BLOCK)
        stratum = int(self._strata(survey.id, block)[index])
        within = digest_of(self._point, survey.id.encode() + participant.to_bytes(8, "big"))
        point = stratum << _FINE | int.from_bytes(within, "big") >> 128 - _FINE
        return survey.index.slot_at(point, _FINE + BLOCK.bit_length() - 1)

    def _shuffle(self, survey: str, block: int) -> NDArray[np.uint16]:
        words = self._slots.stream(survey, block).words(BLOCK)
        return np.argsort(words).astype(np.uint16)


def hashed_slots(survey: FrozenSurvey, ids: list[str]) -> list[int]:
    """Return the slots that follow from many issued ids."""
    if len(ids) < FEW:
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
    digests = [digest_of(hasher, text + count) for text in map(str.encode, ids) for count in counts]
    words = np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 4 * blocks)
    slots: list[int] = survey.index.draw_from(words).tolist()
    return slots
