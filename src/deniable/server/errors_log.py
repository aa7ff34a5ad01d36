"""What goes wrong, on stderr: a line of each kind once in a while, and nobody waits for the reader.

A thread writes; what a full pipe does not take is dropped and counted. An error is written as its cause:
what it is and where it arose. Its text is left out, since it may quote what somebody sent.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import traceback
from collections import OrderedDict
from queue import Full, Queue
from threading import Lock, Thread

from starlette.requests import ClientDisconnect

from deniable.errors import DeniableError
from deniable.server.database import UnavailableError

EVERY = 60.0
"""Seconds between two lines of one kind."""

MOST_WAITING = 100
"""Lines that wait to be written."""

MOST_KINDS = 256
"""Kinds of errors that are told apart."""

_FRAMES = 8
"""Places in the code that are named, the last ones."""

_LOGGERS = "deniable", "uvicorn", "asyncio", "py.warnings"

GONE = (ConnectionError, ClientDisconnect)
"""What is raised where a peer has closed the connection: no error of anybody's."""

_UNANSWERED = "ASGI callable returned without"
"""What uvicorn says where nobody is left to be answered."""

LOG = logging.getLogger("deniable.server")


def is_closed(error: BaseException) -> bool:
    """Tell whether an error says that a peer has closed its connection."""
    # uvloop has no class for it.
    return isinstance(error, GONE) or (
        isinstance(error, RuntimeError) and "handler is closed" in str(error)
    )


def cause(error: BaseException) -> str:
    """Return what an error is, and what it comes from, without anything that somebody sent."""
    words = list[str]()
    each: BaseException | None = error
    while each is not None and len(words) < 4:
        name = type(each).__name__
        code = getattr(each, "sqlstate", None)
        is_ours = isinstance(each, UnavailableError) and each.__cause__ is None
        if is_ours or isinstance(each, DeniableError | sqlite3.Error):
            name += f": {each}"
        elif isinstance(each, OSError) and each.strerror:
            name += f": {each.strerror}"
        elif isinstance(code, str):
            name += f": SQLSTATE {code}"
        words.append(name)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return ", from ".join(words)


def report(what: str, error: BaseException) -> None:
    """Write down what could not be done, and why."""
    LOG.error("%s: %s", what, cause(error))


class ErrorLog(logging.Handler):
    """Writes some of what is logged, and never waits."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__(logging.WARNING)
        self._descriptor, self._kinds_lock = descriptor, Lock()
        self._queue: Queue[bytes] = Queue(MOST_WAITING)
        self._kinds: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self.dropped = 0
        Thread(target=self._write, name="deniable-errors", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, unless it is of a kind that was written just now, or too many wait."""
        error = record.exc_info[1] if record.exc_info else None
        if (error is not None and is_closed(error)) or str(record.msg).startswith(_UNANSWERED):
            return
        line = _line(record, error)
        more = self._more(line if record.name == LOG.name else f"{record.msg} {type(error)}")
        if more is None:
            return
        text = f"{line} ({more:,} more like it)" if more else line
        if self.dropped:
            text += f" ({self.dropped:,} lines were not read)"
        try:
            self._queue.put_nowait(f"{text}\n".encode(errors="replace"))
            self.dropped = 0
        except Full:
            self.dropped += 1

    def _more(self, kind: str) -> int | None:
        """Return how many of a kind were left out since the last one, or None to leave this one out."""
        now = time.monotonic()
        with self._kinds_lock:
            written_at, left_out = self._kinds.pop(kind, (-EVERY, 0))
            is_due = now - written_at >= EVERY
            self._kinds[kind] = (now, 0) if is_due else (written_at, left_out + 1)
            if len(self._kinds) > MOST_KINDS:
                self._kinds.popitem(last=False)
        return left_out if is_due else None

    def _write(self) -> None:
        while True:
            line = self._queue.get()
            try:
                os.write(self._descriptor, line)
            except OSError:  # nobody is there to read it
                self.dropped += 1


def _line(record: logging.LogRecord, error: BaseException | None) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
    words = record.getMessage() if error is None else f"{record.msg}: {cause(error)}"
    stack = [] if error is None else traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    names = [f"{place.filename.rpartition('/')[2]}:{place.lineno}" for place in stack]
    at = f" at {' > '.join(names)}" if names else ""
    return f"{stamp} {record.levelname} {' '.join(words.split())[:2000]}{at}"


def write_errors() -> ErrorLog:
    """Let this process write its errors so, and in no other way."""
    log = ErrorLog()
    logging.captureWarnings(True)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [log], False
    return log
