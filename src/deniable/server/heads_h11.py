"""Requests that h11 reads, with limits to their heads."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from deniable.server.heads import Guarded
from deniable.server.problems import ProblemError


class Reading(Guarded, H11Protocol):
    """A connection whose requests h11 reads."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        H11Protocol.connection_made(self, transport)  # type: ignore[arg-type]
        self.enter()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.watched.leave(self)
        H11Protocol.connection_lost(self, exc)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self.read(data)

    def parse(self, piece: bytes) -> None:
        """Read a piece; h11 keeps what it waits for the rest of, and requests that wait for others."""
        H11Protocol.data_received(self, piece)
        self._unparsed = len(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        """Go on to the next request, or wait for one."""
        H11Protocol.on_response_complete(self)
        self._unparsed = len(self.conn.trailing_data[0])
        self.rest()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        self.refuse(ProblemError("malformed"))

    def is_in_first_line(self) -> bool:
        """Tell whether the first line has no end yet."""
        return b"\n" not in self.conn.trailing_data[0]

    def shutdown(self) -> None:
        """End, after the answer that is due."""
        if self._is_over:
            self.drop()
        else:
            H11Protocol.shutdown(self)
