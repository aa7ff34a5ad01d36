"""In front of the routes: limits, security headers, counting; and reports, which go no further."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.server.collector import Collector
from deniable.server.problems import ProblemError

__all__ = ["Frame", "ReportsFirst", "read_body"]

MOST_BYTES = 8 << 20
"""The largest request that is read."""

MOST_BEING_READ = 256 << 20
"""Bytes of requests that have not come in whole."""

PATIENCE = 20.0
"""Seconds within which a request must have come in."""

MOST_IN_WORK = 2_000
"""Requests that are in work at once."""

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""What every response carries, unless it says otherwise."""

PAGE_HEADERS = (
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What is added where a browser would show or run it: all that is not data."""


class Frame:
    """Around every request: a limit to how many are in work, security headers, and counting."""

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app, self._collector = app, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        collector, started = self._collector, False

        async def framed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                collector.answers[message["status"]] += 1
                _add_headers(message["headers"])
            await send(message)

        if collector.in_work >= MOST_IN_WORK:
            busy = ProblemError("unavailable", "Too many requests are in work.", 1)
            await busy.response()(scope, receive, framed)
            return
        collector.in_work += 1
        try:
            await self._app(scope, receive, framed)
        except Exception:
            if not started:
                await ProblemError("internal").response()(scope, receive, framed)
            raise  # so that somebody hears of it
        finally:
            collector.in_work -= 1


def _add_headers(headers: list[tuple[bytes, bytes]]) -> None:
    own = dict(headers)
    kind = own.get(b"content-type", b"")
    extra = (
        HEADERS
        if kind.startswith((b"application/json", b"application/problem"))
        else (HEADERS + PAGE_HEADERS)
    )
    headers.extend(header for header in extra if header[0] not in own)


class ReportsFirst:
    """Takes reports, in front of everything else: nothing stands between them and the writer."""

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app, self._collector = app, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] != "http" or scope["path"] != "/v1/reports" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await read_body(scope, receive, self._collector)
            answer = await self._collector.take(body, _header(scope, b"idempotency-key"))
        except ProblemError as problem:
            await problem.response()(scope, receive, send)
            return
        except ClientDisconnect:
            return
        length = str(len(answer)).encode()
        headers = [(b"content-length", length), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


def _header(scope: Scope, wanted: bytes) -> str | None:
    for name, value in scope["headers"]:
        if name == wanted:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_body(scope: Scope, receive: Receive, collector: Collector) -> bytes:
    """Read a request of JSON, up to the limits.

    A browser asks before it sends JSON to another origin; anything else it would just send.
    """
    kind = _header(scope, b"content-type") or ""
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise ProblemError("unsupported-media-type")
    length = _header(scope, b"content-length") or "0"
    if not length.isdigit() or int(length) > MOST_BYTES:
        raise _too_large()
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                part: bytes = message.get("body", b"")
                parts.append(part)
                size += len(part)
                collector.being_read += len(part)
                if size > MOST_BYTES:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join(parts)
                if collector.being_read > MOST_BEING_READ:
                    raise ProblemError("unavailable", "Too much is being read.", 2)
    except TimeoutError:
        raise ProblemError("too-slow") from None
    finally:
        collector.being_read -= size


def _too_large() -> ProblemError:
    return ProblemError("too-large", f"A request has at most {MOST_BYTES:,} bytes.")
