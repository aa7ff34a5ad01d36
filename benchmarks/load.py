"""A load generator: raw sockets, kept alive, with requests made beforehand, so that it costs little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Load:
    """What a run took."""

    requests: int
    seconds: float
    latencies: np.ndarray

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        return float(np.percentile(self.latencies, share))


def request(body: bytes, path: str = "/v1/reports", **headers: str) -> bytes:
    """Return the bytes of a POST request."""
    rest = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{rest}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Connection(asyncio.Protocol):
    """One connection: sends the next request as soon as the last one is answered."""

    def __init__(self, requests: Iterator[bytes], latencies: list[float]) -> None:
        self._requests, self._latencies = requests, latencies
        self._rest, self._sent = b"", 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def _next(self) -> None:
        body = next(self._requests, None)
        if body is None:
            self._transport.close()
            self.done.set_result(None)
            return
        self._sent = time.perf_counter()
        self._transport.write(body)

    def data_received(self, data: bytes) -> None:
        self._rest += data
        head, found, body = self._rest.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().index(b"content-length:") + 15
        length = int(head[at:].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        if not self._rest.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(self._rest.decode(errors="replace")))
            return
        self._latencies.append(time.perf_counter() - self._sent)
        self._rest = b""
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionResetError("the collector hung up"))


async def _send(port: int, requests: Sequence[bytes], connections: int) -> Load:
    loop, latencies = asyncio.get_running_loop(), list[float]()
    shared = iter(requests)
    began = time.perf_counter()
    made = [
        await loop.create_connection(lambda: _Connection(shared, latencies), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    return Load(len(latencies), time.perf_counter() - began, np.array(latencies))


def send(port: int, requests: Sequence[bytes], connections: int) -> Load:
    """Send all requests over some connections, each waiting for its answer."""
    return asyncio.run(_send(port, requests, connections))
