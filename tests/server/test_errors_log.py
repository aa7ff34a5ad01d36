"""The log is no weapon: closed peers are no errors, a full pipe stops nobody, errors are few."""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
from contextlib import suppress

import pytest
from crashing import started
from server_parts import open_store, prepare, problem, survey, until

from deniable.errors import StoreError
from deniable.server.analysts import Part
from deniable.server.database import UnavailableError
from deniable.server.errors_log import EVERY, MOST_KINDS, ErrorLog, cause
from deniable.server.problems import ProblemError
from deniable.server.serve import Rules

REPORT = b'{"slot": 1, "value": 1}'
HEAD = b"%b HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
PEERS = {
    "no request": b"\x00\x01garbage\r\n\r\n",
    "a long head": b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000,
    "half a report": HEAD % (b"POST /v1/reports", 100) + b"{",
    "half a question": HEAD % (b"POST /v1/questions", 100) + b"{",
    "too large a report": HEAD % (b"POST /v1/reports", 1 << 30),
    "pages": b"GET /static/dashboard.js HTTP/1.1\r\nHost: here\r\n\r\n" * 30,
    "logs": b"GET /v1/log HTTP/1.1\r\nHost: here\r\n\r\n" * 60,
}


@pytest.fixture
def stored(tmp_path) -> str:
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as store:
        prepare(store, [survey()], Rules("drawn"))
    return url


@pytest.mark.slow
def test_a_peer_that_is_gone_is_not_an_error(stored: str) -> None:
    with started(stored) as process:
        for data in PEERS.values():
            for pause in (0.0, 0.01, 0.05) * 5:
                peer = socket.create_connection(("127.0.0.1", process.port))
                peer.sendall(data)
                time.sleep(pause)
                # So that closing sends a reset.
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                peer.close()
        assert process.post(REPORT)[0] == 200
    assert process.said == ""


BREAKS = """
import os
from deniable.server.collector import Collector
def take(*_):
    raise RuntimeError("a person's value")
Collector.take = take
def fill():
    os.set_blocking(2, False)
    try:
        while True:
            os.write(2, b"x" * 1000)
    except BlockingIOError:
        os.set_blocking(2, True)
"""


@pytest.mark.slow
def test_a_log_that_nobody_reads_stops_nobody(stored: str) -> None:
    """The pipe is full, and thousands of requests fail, each in a way that is logged."""
    full = BREAKS.replace("    raise Run", "    fill()\n    raise Run")
    with started(stored, first=full) as process:
        for _ in range(2000):
            assert process.post(REPORT)[0] == 500
        connected = process.post(b"{}", path="/v1/questions")
        assert connected[0] == 400
        # Now it is read, so that the process can end.
        assert process.running is not None
        assert process.running.stderr is not None
        reader = threading.Thread(target=process.running.stderr.read, daemon=True)
        reader.start()


@pytest.mark.slow
def test_an_error_is_written_once_with_its_cause_and_no_value(stored: str) -> None:
    with started(stored, first=BREAKS) as process:
        for _ in range(500):
            assert process.post(REPORT)[0] == 500
    assert process.said.count("\n") < 5, process.said
    assert "RuntimeError" in process.said
    assert "report_endpoint.py" in process.said
    assert "value" not in process.said


def lines(log: ErrorLog, descriptor: int) -> str:
    until(log._queue.empty)
    time.sleep(0.05)
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 1 << 20).decode()
    except BlockingIOError:
        return ""


def test_each_kind_is_written_at_a_limited_rate(monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("deniable.server.errors_log.time.monotonic", lambda: now[0])
    read, write = os.pipe()
    log, logger = ErrorLog(write), logging.Logger("deniable.server")
    logger.addHandler(log)
    for _ in range(1000):
        logger.error("one")
        logger.error("another")
    assert lines(log, read).count("\n") == 2
    now[0] += EVERY
    logger.error("one")
    assert lines(log, read).endswith("one (999 more like it)\n")
    for number in range(2 * MOST_KINDS):
        logger.error("kind %d", number)
    assert len(log._kinds) == MOST_KINDS


def test_lines_that_a_full_pipe_does_not_take_are_counted() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    log, logger = ErrorLog(write), logging.Logger("deniable.server")
    logger.addHandler(log)
    for number in range(250):
        logger.error("kind %d", number)
    assert log.dropped > 100
    os.set_blocking(read, False)
    said = b""
    until(lambda: os.read(read, 1 << 20) and log._queue.empty())
    logger.error("the last")
    os.set_blocking(read, True)
    while b"the last" not in said:
        said += os.read(read, 1 << 20)
    assert b"lines were not read" in said


def test_a_cause_quotes_nobody() -> None:
    import sqlite3

    full = UnavailableError("database or disk is full")
    full.__cause__ = sqlite3.OperationalError("database or disk is full")
    assert cause(full) == "UnavailableError, from OperationalError: database or disk is full"
    assert (
        cause(UnavailableError("s.db is not the file")) == "UnavailableError: s.db is not the file"
    )
    assert cause(OSError(28, "No space left on device")) == "OSError: No space left on device"
    assert cause(KeyError("a person's value")) == "KeyError"
    assert cause(StoreError("The key is harmed.")) == "StoreError: The key is harmed."


def test_what_the_store_does_not_do_is_told_to_the_operator(small, caplog, monkeypatch) -> None:
    from deniable.server.sqlite import SqliteStore

    service = small(slots="drawn")

    def full(*_: object) -> None:
        raise UnavailableError("database or disk is full")

    monkeypatch.setattr(SqliteStore, "commit", full)
    assert problem(service.send({"slot": 1, "value": 1}), "unavailable")
    assert "The store takes nothing: UnavailableError: database or disk is full" in caplog.text
    monkeypatch.setattr(SqliteStore, "snapshot", full)
    analysts, part = service.collector.analysts, Part(service.collector.surveys[0])
    with pytest.raises(ProblemError):
        analysts.answer(analysts.overview, part)
    assert "The store could not be read: UnavailableError: database or disk is full" in caplog.text
