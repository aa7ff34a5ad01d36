"""In front of the routes: limits, security headers, counting; and reports, which go no further."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.server.collector import Collector
from deniable.server.errors_log import is_closed
from deniable.server.problems import ProblemError, stop_problem

MOST_BYTES = 8 << 20
"""The largest request that is read."""

MOST_BEING_READ = 256 << 20
"""Bytes of requests that have not come in whole."""

PATIENCE = 20.0
"""Seconds within which a request must have come in."""

_LATE = "late"

MOST_IN_WORK = 2_000
"""Requests that are in work at once, all of which have come in whole."""

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""What every response carries, unless it says otherwise."""


def policy_of(embed_in: Sequence[str]) -> dict[str, str]:
    """Return the header by which pages of these origins may frame a page; none if there are none."""
    if not embed_in:
        return {}
    ancestors = f"frame-ancestors {' '.join(embed_in)}"
    return {
        "Content-Security-Policy": POLICY.decode().replace("frame-ancestors 'none'", ancestors),
        "X-Frame-Options": "SAMEORIGIN",  # of browsers that do not know the other, none frames it
    }


JSON = ((b"content-type", b"application/json"), *HEADERS)

PAGE_HEADERS = (
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # A page of the same site shares the thread otherwise, and could time what is done here.
    (b"origin-agent-cluster", b"?1"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What is added where a browser would show or run it: all that is not data."""


class ReportEndpoint:
    """Around every request: a limit to how many are in work, security headers, and counting.

    Reports go no further than this: nothing stands between them and the writer.
    """

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app, self._collector = app, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        collector, send = self._collector, _to_peer(send)
        if collector.in_work >= MOST_IN_WORK:
            await _busy().response()(scope, receive, _HeaderSender(collector, send))
            return
        collector.in_work += 1
        try:
            if scope["path"] == "/v1/reports" and scope["method"] == "POST":
                await self._take(scope, receive, send)
            else:
                await self._answer(self._app, scope, receive, send)
        finally:
            collector.in_work -= 1

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take reports, and say that they are durable."""
        try:
            body = await read_body(scope, receive, self._collector)
            answer = await self._collector.take(body, _header(scope, b"idempotency-key"))
        except ClientDisconnect:
            return
        except ProblemError as problem:
            await self._answer(problem.response(), scope, receive, send)
            return
        except asyncio.CancelledError:
            await self._answer(stop_problem().response(), scope, receive, send)
            return
        except Exception:
            await self._answer(ProblemError("internal").response(), scope, receive, send)
            raise  # so that somebody hears of it
        self._collector.answers[200] += 1
        length = (b"content-length", str(len(answer)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length, *JSON]})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an application answer, with our headers."""
        sender = _HeaderSender(self._collector, send)
        try:
            await app(scope, receive, sender)
        except asyncio.CancelledError:  # the collector ends, and cannot wait any longer
            if not sender.has_started:
                await stop_problem().response()(scope, receive, sender)
        except Exception:
            if not sender.has_started:
                await ProblemError("internal").response()(scope, receive, sender)
            raise  # so that somebody hears of it


def _to_peer(send: Send) -> Send:
    """Return a way to send that takes a peer who is gone for one who has all."""

    async def send_to_peer(message: Message) -> None:
        try:
            await send(message)
        except (OSError, RuntimeError) as error:
            if not is_closed(error):
                raise

    return send_to_peer


class _HeaderSender:
    """Sends an answer with security headers, and counts it."""

    def __init__(self, collector: Collector, send: Send) -> None:
        self._collector, self._send, self.has_started = collector, send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            self._collector.answers[message["status"]] += 1
            _add_headers(message["headers"])
        await self._send(message)


def _add_headers(headers: list[tuple[bytes, bytes]]) -> None:
    own = dict(headers)
    kind = own.get(b"content-type", b"")
    extra = (
        HEADERS
        if kind.startswith((b"application/json", b"application/problem"))
        else (HEADERS + PAGE_HEADERS)
    )
    headers.extend(header for header in extra if header[0] not in own)


def _header(scope: Scope, header: bytes) -> str | None:
    for name, value in scope["headers"]:
        if name == header:
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
    if not length.isdecimal() or int(length) > MOST_BYTES:
        raise _too_large()
    parts, size = list[bytes](), 0
    collector.in_work -= 1  # not yet: whoever sends slowly keeps nobody from being answered
    collector.reading += 1
    reader = asyncio.current_task()
    assert reader is not None
    # As asyncio.timeout would, which takes a tenth of all the time that a report takes.
    late = asyncio.get_running_loop().call_later(PATIENCE, reader.cancel, _LATE)
    try:
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
                if collector.in_work >= MOST_IN_WORK:
                    raise _busy()
                return b"".join(parts)
            if collector.being_read > MOST_BEING_READ:
                raise ProblemError("unavailable", "Too much is being read.", 2)
    except asyncio.CancelledError as cancellation:
        if cancellation.args != (_LATE,) or reader.uncancel():
            raise
        raise ProblemError("too-slow") from None
    finally:
        late.cancel()
        collector.in_work += 1
        collector.reading -= 1
        collector.being_read -= size


def _busy() -> ProblemError:
    return ProblemError("unavailable", "Too many requests are in work.", 1)


def _too_large() -> ProblemError:
    return ProblemError("too-large", f"A request has at most {MOST_BYTES:,} bytes.")
