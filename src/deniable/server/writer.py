"""One thread writes: it takes all that waits, stores it in one transaction, and then tells everybody.

While a transaction reaches the disk, requests gather for the next one, so that the price of being
durable is shared. Nobody is told anything before it is on the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from deniable.server.database import UnavailableError
from deniable.server.errors_log import LOG, report
from deniable.server.problems import ProblemError, settle
from deniable.server.store import Store, Work
from deniable.server.tickets import hour

MOST_WAITING = 100_000
"""Reports that may wait, by weight; beyond, clients are told to try again."""

MOST_TOGETHER = 50_000
"""Reports that one transaction takes, by weight."""

STUCK = 5.0
"""Seconds that no transaction takes unless something is wrong."""

_STEP = 1.0
"""Seconds between two looks after the store."""

_RETRY = 2
"""Seconds after which a client may try again."""


@dataclass(slots=True)
class _Waiting:
    work: Work
    future: asyncio.Future[Any]


class Writer(Thread):
    """The thread that owns the store."""

    def __init__(self, store: Store, clock: Callable[[], int] = hour) -> None:
        super().__init__(name="deniable-writer", daemon=True)
        self._store, self._clock = store, clock
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._weight_in = self._weight_out = 0  # each counted by one thread
        self.commits, self.seconds, self.failures = 0, 0.0, 0
        self.is_well = True
        self._began: float | None = None

    @property
    def is_stuck(self) -> bool:
        """Tell whether a transaction takes so long that something must be wrong."""
        began = self._began
        return began is not None and time.monotonic() - began > STUCK

    @property
    def waiting(self) -> int:
        """Return how many reports wait to be stored, by weight."""
        return self._weight_in - self._weight_out

    def check(self) -> None:
        """Refuse what would never be stored, because the thread has ended."""
        if not self.is_alive():
            raise ProblemError("unavailable", "Nothing can be stored any more.", _RETRY)

    def hand_over(self, work: Work) -> asyncio.Future[Any]:
        """Return what will hold the work's outcome, once that is durable."""
        weight = work.weight
        self.check()
        if self._closing or self.waiting + weight > MOST_WAITING:
            raise ProblemError("unavailable", "Too much is waiting to be stored.", _RETRY)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._weight_in += weight
        self._queue.put(_Waiting(work, future))
        return future

    def run(self) -> None:
        """Store what comes until closed, and look after the store in between."""
        last_look = time.monotonic()
        while not (self._closing and self._queue.empty()):
            group = self._next_group()
            if group:
                self._write(group)
            if time.monotonic() - last_look > _STEP:
                self._look_after()
                last_look = time.monotonic()
        self._store.close()

    def _next_group(self) -> list[_Waiting]:
        """Return all that waits, or as much as one transaction takes; wait a little for the first."""
        group, weight = list[_Waiting](), 0
        try:
            each = self._queue.get(timeout=_STEP)
            while each is not None:
                weight += each.work.weight
                group.append(each)
                each = self._queue.get_nowait() if weight <= MOST_TOGETHER else None
        except Empty:
            pass
        self._weight_out += weight
        return group

    def _write(self, group: list[_Waiting]) -> None:
        began = self._began = time.monotonic()
        try:
            results: list[Any] = list(self._store.commit([each.work for each in group]))
            self.is_well = True
        except UnavailableError as error:
            self.is_well = False
            self.failures += 1
            report("The store takes nothing", error)
            problem = ProblemError("unavailable", "The database cannot be written to.", _RETRY)
            results = [problem] * len(group)
        except Exception as error:  # a mistake of ours must not end the thread
            self.failures += 1
            LOG.exception("A transaction failed")
            results = [error] * len(group)
        self.commits += 1
        self.seconds += time.monotonic() - began
        self._began = None
        self._loop.call_soon_threadsafe(_settle_all, group, results)

    def _look_after(self) -> None:
        """Forget what has expired; where anything went wrong, find out whether it still does.

        Nobody sends anything to a collector that says it is not well, so it cannot wait for that.
        """
        self._began = time.monotonic()
        well = self.is_well
        try:
            if well:
                self._store.forget(self._clock())
        except Exception as error:  # later: reports must be taken, whatever is wrong with old ones
            self.failures += 1
            report("What has expired could not be forgotten", error)
            well = False
        self.is_well = well or self._store.is_writable()
        self._began = None

    def close(self) -> None:
        """Store what waits, then end."""
        self._closing = True
        self._queue.put(None)  # wakes the thread


def _settle_all(group: list[_Waiting], results: list[Any]) -> None:
    for each, result in zip(group, results, strict=True):
        settle(each.future, result)
