"""A thread that does one thing after the other, and can be left behind where one takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from deniable.server.problems import ProblemError

ENDING = 5.0
"""Seconds that whoever waits is given when the collector ends."""


class _Job(NamedTuple):
    told: asyncio.Future[Any]
    what: Callable[..., Any]
    arguments: tuple[Any, ...]


class Lane:
    """Where work waits for its turn; nothing can stop a turn, but nobody has to wait for its end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._starting = Lock()
        self._thread: Thread | None = None
        self._asked: set[asyncio.Future[Any]] = set()
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._asked)

    async def do(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, when its turn has come."""
        if self._is_stopping:
            raise _ended()
        with self._starting:
            if self._thread is None:
                # A daemon: the process does not wait for it, whatever it is at.
                self._thread = Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.add(told)
        self._queue.put(_Job(told, what, arguments))
        try:
            return await told
        finally:
            self._asked.discard(told)

    def stop(self) -> None:
        """Take nothing more, and tell all who still wait in a little while that they wait in vain."""
        self._is_stopping = True
        asyncio.get_running_loop().call_later(ENDING, self._give_up)

    def _give_up(self) -> None:
        for told in tuple(self._asked):
            _tell(told, None, _ended())

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
            if job.told.done():
                continue  # whoever asked is gone
            result, error = None, None
            try:
                result = job.what(*job.arguments)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop has ended, and with it all who waited
                job.told.get_loop().call_soon_threadsafe(_tell, job.told, result, error)


def _tell(told: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if told.done():  # whoever asked is gone, or was told before
        return
    if error is None:
        told.set_result(result)
    else:
        told.set_exception(error)


def _ended() -> ProblemError:
    return ProblemError("unavailable", "The collector is being stopped.", int(ENDING))
