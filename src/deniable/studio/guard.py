"""In front of the studio: whose requests are taken, and what every answer carries.

A page of another site can make a browser send requests here, and by rebinding a name to 127.0.0.1 even
read the answers. So Host must be this address to the letter, Origin too wherever something is done, and
everything but the page itself needs a key in a header, which no other site has.
"""

from __future__ import annotations

import sys

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.studio.problems import StudioProblem
from deniable.studio.session import Session

MOST_BYTES = 12 << 20
"""The largest request that is read: a file of 8 MB, as text."""

PUBLIC = "/api/session"
"""Where the token is exchanged, before there is a key."""

API = "/api/"

_COMMON = {
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}


def studio_headers(stage: str) -> dict[bytes, bytes]:
    """Return what every answer of the studio carries; ``stage`` is the origin that it may frame."""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src 'self'; frame-src {stage}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
    return _COMMON | {
        b"content-security-policy": policy.encode(),
        b"x-frame-options": b"DENY",
        b"cross-origin-opener-policy": b"same-origin",
    }


def header(scope: Scope, name: bytes) -> list[str]:
    """Return all values of a header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def check_host(scope: Scope, host: str) -> None:
    """Refuse a request that was not sent to this address to the letter."""
    if header(scope, b"host") != [host]:
        raise StudioProblem("host-foreign")


def check_origin(scope: Scope, origin: str) -> None:
    """Refuse what another page sends; where something is done, a page must say which one it is."""
    origins = header(scope, b"origin")
    is_reading = scope["method"] in ("GET", "HEAD")
    if origins != [origin] and not (is_reading and not origins):
        raise StudioProblem("origin-foreign")
    if any(site not in ("same-origin", "none") for site in header(scope, b"sec-fetch-site")):
        raise StudioProblem("origin-foreign")


class Guard:
    """Around every request to the studio."""

    def __init__(self, app: ASGIApp, host: str, stage: str, session: Session) -> None:
        self._app, self._host, self._session = app, host, session
        self._headers = studio_headers(stage)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = HeaderSender(send, self._headers)
        try:
            check_host(scope, self._host)
            check_origin(scope, f"http://{self._host}")
            path = scope["path"]
            if path.startswith(API) and path != PUBLIC:
                keys = header(scope, b"authorization")
                self._session.check(keys[0] if len(keys) == 1 else None)
            await self._app(scope, receive, sender)
        except ClientDisconnect:
            return
        except StudioProblem as problem:
            await problem.response()(scope, receive, sender)
        except Exception as error:
            tell(error)
            if not sender.has_started:
                await StudioProblem("internal").response()(scope, receive, sender)


def tell(error: Exception) -> None:
    """Tell of a mistake; it may hold somebody's words, or paths, and its kind holds none."""
    print(f"The studio made a mistake: {type(error).__name__}.", file=sys.stderr)  # noqa: T201


class HeaderSender:
    """Sends an answer with these headers in place of its own; an empty one takes its own away."""

    def __init__(self, send: Send, headers: dict[bytes, bytes]) -> None:
        self._send, self.headers, self.has_started = send, headers, False

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.has_started = True
            rest = [each for each in message["headers"] if each[0].lower() not in self.headers]
            message["headers"] = [*rest, *(each for each in self.headers.items() if each[1])]
        await self._send(message)


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Read a request of JSON, up to the limit.

    A browser asks before it sends JSON to another origin; text it would just send.
    """
    kinds = header(scope, b"content-type")
    if [kind.partition(";")[0].strip().lower() for kind in kinds] != ["application/json"]:
        raise StudioProblem("unsupported-media-type")
    lengths = header(scope, b"content-length")
    if not all(length.isdigit() and int(length) <= MOST_BYTES for length in lengths):
        raise StudioProblem("too-large", f"A request has at most {MOST_BYTES:,} bytes.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise StudioProblem("too-large", f"A request has at most {MOST_BYTES:,} bytes.")
        if not message.get("more_body", False):
            return bytes(body)
