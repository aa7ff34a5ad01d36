"""Requests that h11 reads, with limits to their heads."""

from __future__ import annotations

from uvicorn.protocols.http.h11_impl import H11Protocol

from deniable.server.heads import LimitedProtocol


class Reading(LimitedProtocol, H11Protocol):
    """A connection whose requests h11 reads."""

    def parse(self, piece: bytes) -> None:
        """Read a piece; h11 keeps what it waits for the rest of, and requests that wait for others."""
        H11Protocol.data_received(self, piece)
        self._unparsed_bytes = len(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unparsed_bytes = len(self.conn.trailing_data[0])
        self.rest()

    def is_in_first_line(self) -> bool:
        return b"\n" not in self.conn.trailing_data[0]
