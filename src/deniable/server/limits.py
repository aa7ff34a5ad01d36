"""Limits: how often one participant may ask, how much is in work at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from deniable.server.problems import ProblemError


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
        left, then = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        if left < 1:
            self._buckets[who] = left, now
            raise ProblemError(
                "too-many-requests", retry_after=max(1, round((1 - left) / self._rate))
            )
        self._buckets[who] = left - 1, now
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
