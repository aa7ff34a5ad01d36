"""Texts that are asked for again and again, kept up to so many bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable

__all__ = ["Texts"]

MOST_BYTES = 16 << 20
"""Bytes of texts that are kept: 4,096 questions of 4 KB, or a hundred of 160 KB."""

_BESIDE = 512
"""Bytes that keeping a text takes beside the text: its key, its place."""


class Texts:
    """Texts by their keys, made where they are missing; those last asked for are kept.

    What counts is bytes: anybody can ask for questions, and a survey's author says how long they are.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, str] = OrderedDict()
        self.size = 0

    def text(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return a text; one that would take more than a tenth of the room is not kept."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        text = make()
        size = _size(text)
        if size <= self._most // 10:
            self._kept[key] = text
            self.size += size
            while self.size > self._most:
                self.size -= _size(self._kept.popitem(last=False)[1])
        return text


def _size(text: str) -> int:
    return sys.getsizeof(text) + _BESIDE
