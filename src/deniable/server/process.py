"""The serving process: uvicorn, which looks after connections, and ends within its grace."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import uvicorn
from starlette.types import ASGIApp

from deniable.server.collector import Collector
from deniable.server.connections import Connections
from deniable.server.heads import protocol

GRACE = 30
"""Seconds after which requests that are still in work are given up at the end."""


class Server(uvicorn.Server):
    """uvicorn, with limits to connections and to the heads of requests."""

    def __init__(
        self, app: ASGIApp, collector: Collector | None, most: int, backlog: int = 128
    ) -> None:
        self._collector = collector
        self.watched = Connections(most, collector.answers if collector else None)
        config = uvicorn.Config(
            app,
            http=protocol(self.watched),
            ws="none",
            access_log=False,  # nobody's address is written down
            log_level="error",  # and nobody fills the disk by sending what is no request
            server_header=False,
            proxy_headers=False,  # whoever it was: their address is not looked at
            timeout_graceful_shutdown=GRACE,
            backlog=backlog,
        )
        super().__init__(config)

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, ten times a second."""
        now = asyncio.get_running_loop().time()
        self.watched.look(now)
        if counter % 10 == 0:
            self.watched.look_at_takers(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; who waits for a long computation is told so in time."""
        if self._collector is not None:
            self._collector.stop()
        await super().shutdown(sockets)


def leave(collector: Collector | None, code: int) -> None:
    """End the process here and now, if a computation runs that nobody waits for any more.

    Everything is stored and closed by now. Python would tear down what that computation works on.
    """
    if collector is not None and collector.is_busy:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
