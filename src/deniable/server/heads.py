"""Heads of requests: up to so many bytes, within so many seconds; what is no request is a problem.

uvicorn reads a head until it ends, however long that takes. Here it is read in pieces, and what has
not led to anything is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from contextlib import suppress
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deniable.server.connections import Connections
from deniable.server.problems import ProblemError
from deniable.server.report_endpoint import HEADERS

MOST_HEAD = 16 << 10
"""The most bytes of a request's first line and headers."""

MOST_AFTER = 1 << 20
"""The most bytes that a peer may send after it was refused, before it has read so."""


MOST_AHEAD = 64
"""Requests that may wait for another of their connection; beyond, the connection ends."""

FORWARDING = ("x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip")
"""Headers by which a proxy tells who asked: nobody here looks at what they say."""


def is_forwarded(names: Container[str]) -> bool:
    """Tell whether a proxy told who asks."""
    return any(name in names for name in FORWARDING)


class LimitedProtocol(HttpToolsProtocol):
    """A connection of uvicorn's, with limits to heads, and problems for what cannot be read."""

    peers: Connections
    _is_over = False
    _unparsed_bytes = 0
    """Bytes that have come in and led to nothing yet: no whole head, no part of a body."""

    @property
    def is_idle(self) -> bool:
        """Tell whether no request of this connection is in work."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place among the connections, or say that there is none."""
        super().connection_made(transport)  # type: ignore[arg-type]
        if not self.peers.admit(self, self.loop.time()):
            self.refuse(ProblemError("unavailable", "There are too many connections.", 1))

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the place among the connections."""
        self.peers.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, as far as the limits allow."""
        if self._is_over:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > MOST_AFTER:
                self.drop()
            return
        if self.timeout_keep_alive_task is not None:  # the first of another request
            self.peers.wait(self, self.loop.time())
        at = 0
        while at < len(data) and not self._is_over and not self.transport.is_closing():
            room = MOST_HEAD - self._unparsed_bytes
            piece = data[at : at + room]
            self._unparsed_bytes += len(piece)
            super().data_received(piece)  # the callbacks below say that something came of it
            at += room
            if self._unparsed_bytes >= MOST_HEAD and not self._is_over:
                is_line = not self.headers and len(self.url) > MOST_HEAD // 2
                self.refuse(ProblemError("address-too-long" if is_line else "head-too-large"))
        if not self.is_idle and self.cycle.more_body:
            self.peers.read(self, self.loop.time())
        elif not self.is_idle:
            self.peers.work(self)

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._unparsed_bytes = 0
        super().on_headers_complete()
        if len(self.pipeline) > MOST_AHEAD:
            self.drop()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Go on to the next request."""
        self._unparsed_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, if none is in work."""
        super().on_response_complete()
        if self.is_idle and not self.transport.is_closing():
            self.peers.wait(self, self.loop.time())

    def refuse(self, problem: ProblemError) -> None:
        """Say what is wrong, and end; say nothing where another answer is due first."""
        if self._is_over:
            return
        self._is_over = True
        cycle = self.cycle
        if not self.is_idle:
            if self.pipeline or cycle.response_started or not cycle.more_body:
                self.transport.abort()
                return
            cycle.disconnected = True  # whoever reads the body need not wait for the rest
            cycle.message_event.set()
        self.peers.answers[problem.status] += 1
        with suppress(OSError, RuntimeError):  # the peer is gone
            self.transport.write(_raw(problem))
            # Closed at once, what is still unread would make the system take the answer back.
            self.transport.write_eof()
        self.peers.linger(self, self.loop.time())

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        self.refuse(ProblemError("malformed"))

    def shutdown(self) -> None:
        """End, after the answer that is due."""
        if self._is_over:
            self.drop()
        else:
            super().shutdown()

    def hurry(self) -> None:
        """End, because the peer was too slow; one that has sent nothing is told nothing."""
        if self._unparsed_bytes:
            self.refuse(ProblemError("too-slow"))
        else:
            self.transport.close()

    def drop(self) -> None:
        """End at once."""
        self.transport.abort()

    def unsent(self) -> int:
        """Return how many bytes the peer has not taken."""
        return self.transport.get_write_buffer_size()


def _raw(problem: ProblemError) -> bytes:
    """Return a problem as it is sent where no application is asked."""
    response = problem.response()
    headers = {**dict(response.raw_headers), **dict(HEADERS), b"connection": b"close"}
    lines = [
        b"HTTP/1.1 %d %b" % (problem.status, HTTPStatus(problem.status).phrase.encode()),
        *(b"%b: %b" % header for header in headers.items()),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body)


def protocol(connections: Connections) -> type[LimitedProtocol]:
    """Return how requests of these connections are read."""
    return type("Connection", (LimitedProtocol,), {"peers": connections})
