"""A thread that does one thing after the other, and can be left behind where one takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from deniable.server.problems import settle, stop_problem

ENDING = 5.0
"""Seconds that whoever waits is given when the collector ends."""


class _Job(NamedTuple):
    future: asyncio.Future[Any]
    what: Callable[..., Any]
    arguments: tuple[Any, ...]


class Lane:
    """Where work waits for its turn; nothing can stop a turn, but nobody has to wait for its end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._starting = Lock()
        self._thread: Thread | None = None
        self._futures: set[asyncio.Future[Any]] = set()
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._futures)

    async def do(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, when its turn has come."""
        if self._is_stopping:
            raise stop_problem()
        with self._starting:
            if self._thread is None:
                # A daemon: the process does not wait for it, whatever it is at.
                self._thread = Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._futures.add(future)
        self._queue.put(_Job(future, what, arguments))
        try:
            return await future
        finally:
            self._futures.discard(future)

    def stop(self) -> None:
        """Take nothing more, and tell all who still wait in a little while that they wait in vain."""
        self._is_stopping = True
        asyncio.get_running_loop().call_later(ENDING, self._give_up)

    def _give_up(self) -> None:
        for future in tuple(self._futures):
            settle(future, stop_problem())

    def close(self) -> bool:
        """End; return whether the thread has ended, or is left behind at its work."""
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(1.0 if self._is_stopping else ENDING)
        self._is_stopping = True
        return not self.is_busy

    @property
    def is_busy(self) -> bool:
        """Tell whether the thread is there."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if job.future.done():
                continue  # whoever asked is gone
            try:
                outcome = job.what(*job.arguments)
            except BaseException as error:
                outcome = error
            with suppress(RuntimeError):  # the loop has ended, and with it all who waited
                job.future.get_loop().call_soon_threadsafe(settle, job.future, outcome)
