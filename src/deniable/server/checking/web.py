"""Checks of a collector's address, from outside: what a participant's browser and a stranger see."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from deniable.errors import StoreError
from deniable.server.checking.finding import Finding, judge, unseen, well, wrong
from deniable.server.report_endpoint import PAGE_HEADERS, policy_of

HTTP, HTTPS = 80, 443

PATIENCE = 10.0
"""Seconds to wait for an answer."""

RENEWAL = 21
"""Days before its end from which a certificate should have been renewed."""

HALF_A_YEAR = 15_552_000
"""The least seconds for which browsers should remember to use TLS."""

SKEW = 60.0
"""Seconds that two clocks may differ."""

BURST = 200
"""Requests that a limit for an address should not let pass at once."""

_REDIRECTS = range(300, 400)

_MOST_BYTES = 1 << 20
"""Bytes of an answer that are read, and of the end of a log."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    cookies: int
    body: bytes
    certificate_end: float | None


class Address(NamedTuple):
    """Where a collector is asked."""

    host: str
    port: int
    path: str
    tls: bool
    trusts_any: bool = False
    """Whether to go on with a certificate that was refused, so that the rest can be looked at."""

    @classmethod
    def of(cls, url: str) -> Address:
        """Read an address, or say what one is."""
        try:
            parts = urlsplit(url)
            tls, port = parts.scheme == "https", parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            raise StoreError("A collector has an http or https address.")
        return cls(parts.hostname, port or (HTTPS if tls else HTTP), parts.path.rstrip("/"), tls)

    @property
    def is_here(self) -> bool:
        """Tell whether it is on this machine."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        if not self.tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        context = ssl.create_default_context()
        if self.trusts_any:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.host, self.port, timeout=PATIENCE, context=context)

    def answers(self) -> bool:
        """Tell whether anybody answers."""
        try:
            self.ask("/healthz")
        except (OSError, http.client.HTTPException):
            return False
        return True

    def ask(self, path: str) -> Answer:
        """Ask for something; raise OSError or HTTPException where nothing comes back."""
        with closing(self.connect()) as connection:
            connection.connect()
            certificate = None
            if isinstance(connection.sock, ssl.SSLSocket):
                certificate = (connection.sock.getpeercert() or {}).get("notAfter")
            connection.request("GET", self.path + path, headers={"User-Agent": "deniable-check"})
            response = connection.getresponse()
            headers = [(name.lower(), value) for name, value in response.getheaders()]
            return Answer(
                response.status,
                dict(headers),
                sum(name == "set-cookie" for name, _ in headers),
                response.read(_MOST_BYTES),
                ssl.cert_time_to_seconds(str(certificate)) if certificate else None,
            )


def check_address(url: str, *, plain_port: int = HTTP) -> Iterator[Finding]:
    """Look at a collector's address; ``plain_port`` is where http should lead to https."""
    address = Address.of(url)
    try:
        address.ask("/healthz")
    except ssl.SSLCertVerificationError as error:
        yield wrong(
            "tls",
            f"The certificate is refused: {error.verify_message}.",
            "Install one that browsers trust, with the whole chain.",
        )
        address = address._replace(trusts_any=True)
    except (OSError, http.client.HTTPException) as error:
        yield _no_answer(error)
        return
    try:
        health = address.ask("/healthz")
        page = address.ask("/")
        closed = {path: address.ask(path).status for path in ("/v1/release", "/metrics")}
    except (OSError, http.client.HTTPException) as error:
        yield _no_answer(error)
        return
    if health.status in _REDIRECTS:
        yield wrong(
            "health",
            f"{url} leads to {health.headers.get('location', 'another address')}.",
            "Name the address that participants have.",
        )
        return
    yield _health(health)
    if not address.trusts_any:
        yield _tls(address, health)
    yield _redirect(address, plain_port)
    yield _hsts(address, page)
    yield _headers(page)
    yield _cookies(page)
    yield _forwarding(health)
    yield _analysts(closed)
    yield _clock(health)


def _no_answer(error: Exception) -> Finding:
    reason = getattr(error, "strerror", None) or str(error) or "the connection was closed"
    return wrong(
        "health", f"The collector does not answer: {reason}.", "Look at its process and its proxy."
    )


def _form(answer: Answer) -> dict[str, object]:
    with suppress(ValueError):
        form = json.loads(answer.body)
        return form if isinstance(form, dict) else {}
    return {}


def _health(answer: Answer) -> Finding:
    return judge(
        "health",
        answer.status == 200 and _form(answer).get("status") == "ok",
        f"/healthz answers {answer.status}: reports cannot be stored, or this is no collector.",
        "Look at the disk, the database and what the collector printed.",
    )


def _tls(address: Address, answer: Answer) -> Finding:
    if not address.tls:
        if address.is_here:
            return unseen("tls", "This machine was asked without TLS; name the public address.")
        return wrong(
            "tls",
            "The address has no TLS: others read along, and browsers give the page no cryptography.",
            "Put a proxy with TLS before it, and let nobody reach it directly.",
        )
    days = ((answer.certificate_end or 0.0) - time.time()) / 86_400
    if days < RENEWAL:
        return wrong("tls", f"The certificate ends in {days:.0f} days.", "Renew it.")
    return well("tls")


def _redirect(address: Address, plain_port: int) -> Finding:
    if not address.tls:
        return unseen("redirect", "Only an https address can be led to.")
    if address.port != HTTPS and plain_port == HTTP:
        return unseen("redirect", "At a port of its own, it is not known where http would be.")
    try:
        answer = address._replace(tls=False, port=plain_port).ask("/")
    except (OSError, http.client.HTTPException):
        return well("redirect")  # nothing is said without TLS at all
    return judge(
        "redirect",
        answer.status in _REDIRECTS and answer.headers.get("location", "").startswith("https://"),
        f"http://{address.host} answers {answer.status} and does not lead to https.",
        "Let the proxy redirect all of it (return 301 https://...).",
    )


def _hsts(address: Address, page: Answer) -> Finding:
    if not address.tls:
        return unseen("hsts", "Browsers heed it only with TLS.")
    text = page.headers.get("strict-transport-security", "")
    seconds = re.search(r"max-age=\"?(\d+)", text)
    return judge(
        "hsts",
        seconds is not None and int(seconds[1]) >= HALF_A_YEAR,
        "Browsers are not told to use TLS for at least half a year.",
        'Let the proxy add Strict-Transport-Security "max-age=31536000".',
    )


def _headers(page: Answer) -> Finding:
    expected = {name.decode(): value.decode() for name, value in PAGE_HEADERS}
    policy = page.headers.get("content-security-policy", "")
    if sites := re.search(
        r"frame-ancestors (https://[^;*]+)$", policy
    ):  # whoever serves chose them
        own = policy_of(sites[1].split())
        expected |= {name.lower(): value for name, value in own.items()}
    changed_names = [name for name, value in expected.items() if page.headers.get(name) != value]
    return judge(
        "headers",
        not changed_names,
        f"The page comes without, or with other, {', '.join(changed_names)}.",
        "Let the proxy hand the collector's headers through as they are.",
    )


def _cookies(page: Answer) -> Finding:
    return judge(
        "cookies",
        not page.cookies,
        "The proxy sets a cookie, by which participants can be recognised.",
        "Switch it off: the collector needs none.",
    )


def _forwarding(health: Answer) -> Finding:
    is_forwarded = _form(health).get("forwarded")
    if is_forwarded is False:
        return well("forwarding")
    if is_forwarded is None:
        return unseen("forwarding", "The collector does not say.")
    return wrong(
        "forwarding",
        "The proxy tells the collector the addresses of those who ask.",
        "Remove X-Forwarded-For, X-Real-IP and Forwarded from what it sends on.",
    )


def _analysts(statuses: dict[str, int]) -> Finding:
    open_paths = [path for path, status in statuses.items() if 200 <= status < 300]
    return judge(
        "analysts",
        not open_paths,
        f"{' and '.join(open_paths)} answer somebody who has no token.",
        "Look what the proxy adds to requests: an Authorization header must come from the analyst.",
    )


def _clock(health: Answer) -> Finding:
    try:
        theirs = parsedate_to_datetime(health.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return unseen("clock", "The answer has no date.")
    seconds = theirs - time.time()
    return judge(
        "clock",
        abs(seconds) <= SKEW,
        f"The collector's clock is {abs(seconds):,.0f} seconds "
        f"{'ahead of' if seconds > 0 else 'behind'} this one's.",
        "Set both by NTP: tickets, keys and tokens end by the clock.",
    )


def check_burst(url: str) -> Finding:
    """Ask many times at once: a proxy that limits addresses refuses some of it."""
    address, limited = Address.of(url)._replace(trusts_any=True), {429, 503}
    try:
        with closing(address.connect()) as connection:
            for _ in range(BURST):
                connection.request("GET", address.path + "/healthz")
                response = connection.getresponse()
                response.read()
                if response.status in limited:
                    return well("limit")
    except (OSError, http.client.HTTPException):
        return well("limit")  # it closes the connection, which limits as well
    return wrong(
        "limit",
        f"{BURST} requests at once from one address were all answered.",
        "Let the proxy limit requests by address, in memory (nginx: limit_req).",
    )


def check_logs(url: str, folders: Sequence[Path]) -> Finding:
    """Ask for what nobody else asks for, and look whether logs tell of it."""
    address, mark = Address.of(url), f"check-{secrets.token_hex(8)}"
    with suppress(OSError, http.client.HTTPException):
        address._replace(trusts_any=True).ask(f"/{mark}")
    time.sleep(0.2)  # logs may be written in a moment
    for path in _files(folders):
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_BYTES))
            if mark.encode() in file.read():
                return wrong(
                    "logs",
                    f"{path} tells who asked for what, and when.",
                    "Switch the access log off (nginx: access_log off), and delete what it holds.",
                )
    return well("logs")


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.exists():
            raise StoreError(f"There is no log {str(folder)!r}.")
        yield from (
            sorted(path for path in folder.rglob("*") if path.is_file())
            if (folder.is_dir())
            else [folder]
        )
