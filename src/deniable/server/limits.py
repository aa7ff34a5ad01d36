"""Limits: how often one participant may ask, how many bytes of texts are kept."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from deniable.server.problems import ProblemError

MOST_BYTES = 16 << 20
"""Bytes of texts that are kept: 4,096 questions of 4 KB, or a hundred of 160 KB."""

_BESIDE = 512
"""Bytes that keeping a text takes beside the text: its key, its place."""


class Buckets:
    """A token bucket for each participant; nobody's address is looked at.

    The least recent ones are dropped when there are too many, which only fills their buckets again.
    """

    def __init__(
        self,
        burst: float = 30.0,
        per_second: float = 0.5,
        most: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._rate, self._most, self._clock = burst, per_second, most, clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, who: Hashable) -> None:
        """Count a request, or refuse it."""
        now = self._clock()
        tokens, then = self._buckets.pop(who, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._rate)
        if tokens < 1:
            self._buckets[who] = tokens, now
            raise ProblemError(
                "too-many-requests", retry_after=max(1, round((1 - tokens) / self._rate))
            )
        self._buckets[who] = tokens - 1, now
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)


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
