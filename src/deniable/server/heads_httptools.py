"""Requests that httptools reads, with limits to their heads."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deniable.server.heads import MOST_HEAD, LimitedProtocol

MOST_AHEAD = 64
"""Requests that may wait for another of their connection; beyond, the connection ends."""


class Reading(LimitedProtocol, HttpToolsProtocol):
    """A connection whose requests httptools reads."""

    def parse(self, piece: bytes) -> None:
        """Read a piece; the callbacks below say that something came of it."""
        self._unparsed_bytes += len(piece)
        HttpToolsProtocol.data_received(self, piece)

    def on_headers_complete(self) -> None:
        self._unparsed_bytes = 0
        super().on_headers_complete()
        if len(self.pipeline) > MOST_AHEAD:
            self.drop()

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.rest()

    def is_in_first_line(self) -> bool:
        """Tell whether most of what came is an address."""
        return not self.headers and len(self.url) > MOST_HEAD // 2

    def is_ahead(self) -> bool:
        return bool(self.pipeline)
