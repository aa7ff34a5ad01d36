"""Requests that httptools reads, with limits to their heads."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deniable.server.heads import MOST_HEAD, Guarded
from deniable.server.problems import ProblemError

MOST_AHEAD = 64
"""Requests that may wait for another of their connection; beyond, the connection ends."""


class Reading(Guarded, HttpToolsProtocol):
    """A connection whose requests httptools reads."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        HttpToolsProtocol.connection_made(self, transport)  # type: ignore[arg-type]
        self.enter()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.watched.leave(self)
        HttpToolsProtocol.connection_lost(self, exc)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self.read(data)

    def parse(self, piece: bytes) -> None:
        """Read a piece; the callbacks below say that something came of it."""
        self._unparsed += len(piece)
        HttpToolsProtocol.data_received(self, piece)

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._unparsed = 0
        HttpToolsProtocol.on_headers_complete(self)
        if len(self.pipeline) > MOST_AHEAD:
            self.drop()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unparsed = 0
        HttpToolsProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        """Go on to the next request."""
        self._unparsed = 0
        HttpToolsProtocol.on_message_complete(self)

    def on_response_complete(self) -> None:
        """Go on to the next request, or wait for one."""
        HttpToolsProtocol.on_response_complete(self)
        self.rest()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        self.refuse(ProblemError("malformed"))

    def is_in_first_line(self) -> bool:
        """Tell whether most of what came is an address."""
        return not self.headers and len(self.url) > MOST_HEAD // 2

    def is_ahead(self) -> bool:
        """Tell whether requests wait for others of the same connection."""
        return bool(self.pipeline)

    def shutdown(self) -> None:
        """End, after the answer that is due."""
        if self._is_over:
            self.drop()
        else:
            HttpToolsProtocol.shutdown(self)
