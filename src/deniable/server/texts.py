"""Texts that are asked for again and again, kept up to so many bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable

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
        self._texts: OrderedDict[Hashable, str] = OrderedDict()
        self.size = 0

    def text(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return a text; one that would take more than a tenth of the room is not kept."""
        text_before = self._texts.get(key)
        if text_before is not None:
            self._texts.move_to_end(key)
            return text_before
        text = make()
        size = _size(text)
        if size <= self._most // 10:
            self._texts[key] = text
            self.size += size
            while self.size > self._most:
                self.size -= _size(self._texts.popitem(last=False)[1])
        return text


def _size(text: str) -> int:
    return sys.getsizeof(text) + _BESIDE
