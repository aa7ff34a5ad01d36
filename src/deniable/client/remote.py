"""A collector that is somewhere else: asking it, and asking again after what may pass."""

from __future__ import annotations

import secrets
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from deniable.errors import LogError, RefusedError
from deniable.formats.forms import limit as most
from deniable.formats.forms import parse_json
from deniable.formats.reading import TooDeep
from deniable.messages.problems import PROBLEMS, problem_name
from deniable.messages.survey_log import Entry, Head, SurveyLog
from deniable.messages.token import is_survey_id
from deniable.survey.digests import canonical

TURNS = 6
PATIENCE = 60.0
"""The most seconds to wait before one more try; who asks for more is tried again another day."""

_DEADLINE = 30.0
"""The seconds that a request may take as a whole, however slowly its answer drips in."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OTHER_NAMES = (62, 64)
"""OpenSSL's codes for a certificate that is not of this host's name or address."""

_OPENER = urllib.request.build_opener(_NoRedirects)


class RemoteCollector:
    """A collector's address; asking it again and again is left to this class.

    ``waiting`` is called when a request has failed for the first time and is about to be tried again.
    """

    def __init__(
        self, address: str, *, allow_http: bool = False, waiting: Callable[[], object] | None = None
    ) -> None:
        parts = urlsplit(address) if isinstance(address, str) else urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query:
            raise RefusedError("A collector has an http or https address.", "options")
        if parts.scheme == "http" and not allow_http and not _is_here(parts.hostname or ""):
            raise RefusedError(
                "A token is for the collector only, and plain http shows it to others: use https, "
                "or allow http.",
                "insecure",
            )
        self.address, self._waiting = address.rstrip("/"), waiting

    def surveys(self) -> list[str]:
        """Return the ids of the surveys that the collector holds, as far as they are ids."""
        match self.call("surveys"):
            case {"surveys": list(rows)}:
                ids = [row.get("id") for row in rows if isinstance(row, dict)]
                return [each for each in ids if is_survey_id(each)]
        return []

    def proven_head(self, survey: str, earlier: Head) -> Head:
        """Return the log's present head, which must continue an earlier one and hold a survey."""
        answer = self.call(f"log/proof?survey={survey}&size={earlier.size}")
        try:
            match answer:
                case {"head": {"size": int(size), "root": str(root)}, "entry": {"day": day}}:
                    head = Head.of(f"{size}:{root}")
                case _:
                    raise LogError("What came is no proof.")
            head.check_follows(earlier, answer.get("consistency"))
            head.check_inclusion(
                Entry.of(day, survey), answer.get("index"), answer.get("inclusion")
            )
        except LogError as error:
            raise RefusedError(f"Nothing was answered. {error}", "log") from None
        return head

    def log(self) -> SurveyLog:
        """Return the collector's whole log of surveys."""
        try:
            match self.call("log"):
                case {"entries": list(rows)} if all(isinstance(row, dict) for row in rows):
                    return SurveyLog.of(Entry.of(row.get("day"), row.get("survey")) for row in rows)
            raise LogError("What answered has no log of surveys.")
        except LogError as error:
            raise RefusedError(str(error), "log") from None

    def call(self, path: str, form: Any = None, key: str | None = None) -> Any:
        """Ask, and the same bytes again after errors that may pass; return the JSON answer."""
        headers = {"User-Agent": "deniable", "Accept": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        body = None
        if form is not None:
            headers["Content-Type"] = "application/json"
            body = canonical(form).encode()
        for turn in range(1, TURNS + 1):
            request = urllib.request.Request(f"{self.address}/v1/{path}", body, headers)
            status, answer, delay, cause, is_lasting = _ask(request)
            if 200 <= status < 300 and answer is not None:
                return answer
            if 300 <= status < 500 and status != 429:
                raise _refusal(answer)
            wait = max(delay, 2**turn * (0.5 + secrets.randbelow(512) / 1024))
            if turn == TURNS or wait > PATIENCE or is_lasting:
                break
            if turn == 1 and self._waiting is not None:
                self._waiting()
            time.sleep(wait)
        advice = "that has to be mended first" if is_lasting else "try again later"
        raise RefusedError(
            f"The collector cannot be reached: {cause or f'it answered with status {status}'}. What was "
            f"answered is kept; {advice}.",
            "unavailable",
        )


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class _Response(NamedTuple):
    """What came of a request, or why nothing did."""

    status: int = 0
    """0 for no answer."""
    answer: Any = None
    """JSON; None for anything else."""
    delay: float = 0.0
    """The seconds to wait."""
    cause: str = ""
    is_lasting: bool = False
    """Whether the same would come of the same request until somebody mends something."""


def _ask(request: urllib.request.Request) -> _Response:
    """Ask within the deadline; a thread, because a socket's own limit is for each read anew."""
    responses = [_Response(cause=f"no answer within {_DEADLINE:g} seconds")]
    thread = threading.Thread(target=lambda: responses.append(_exchange(request)), daemon=True)
    thread.start()
    thread.join(_DEADLINE)
    return responses[-1]


def _exchange(request: urllib.request.Request) -> _Response:
    try:
        with _OPENER.open(request, timeout=_DEADLINE) as response:
            return _Response(response.status, _read(response))
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            is_number = after.isascii() and after.isdecimal()
            return _Response(error.code, _read(error), float(after) if is_number else 0.0)
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return _failure(reason)


def _failure(reason: object) -> _Response:
    """Return why a request got no answer, in words that hold nothing of it."""
    match reason:
        case ssl.SSLCertVerificationError():
            return _Response(cause=f"its certificate is {_verdict(reason)}", is_lasting=True)
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return _Response(cause="the connection was cut")
        case ssl.SSLError():
            kind = (getattr(reason, "reason", None) or "unknown").lower().replace("_", " ")
            return _Response(cause=f"it does not speak TLS as it should ({kind})", is_lasting=True)
        case socket.gaierror(errno=socket.EAI_AGAIN):
            return _Response(cause="its name cannot be looked up just now")
        case socket.gaierror() | ValueError():  # the latter from names that are none
            return _Response(cause="there is no machine of that name", is_lasting=True)
        case TimeoutError():
            return _Response(cause=f"no answer within {_DEADLINE:g} seconds")
        case OSError(strerror=str(words)):
            return _Response(cause=words[:1].lower() + words[1:])
    return _Response(cause="what answers speaks no HTTP, or hung up")


def _verdict(error: ssl.SSLCertVerificationError) -> str:
    """Return what is wrong with a certificate, as OpenSSL words it, but no name that it holds."""
    if error.verify_code in _OTHER_NAMES:
        return "of another name"
    return f"not good ({error.verify_message})"


def _read(response: Any) -> Any:
    try:
        text = response.read(most("letters") + 1)
        return parse_json(text, from_wire=True) if len(text) <= most("letters") else None
    except TooDeep:
        return {}  # it is JSON, but nothing that a collector says
    except (OSError, HTTPException, ValueError):
        return None


def _refusal(answer: Any) -> RefusedError:
    """Return what to say of a collector's problem, which has a stable name."""
    name = problem_name(answer.get("type") if isinstance(answer, dict) else None)
    if name is None:
        return RefusedError("What answered is no collector.", "collector")
    sentence = PROBLEMS[name].to_owner if name in PROBLEMS else ""
    return RefusedError(sentence or f"The collector refuses: {name}.", name)
