"""A collector that is somewhere else: asking it, and asking again after what may pass."""

from __future__ import annotations

import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
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
            status, answer, delay = _ask(request)
            if 200 <= status < 300 and answer is not None:
                return answer
            if 300 <= status < 500 and status != 429:
                raise _refusal(answer)
            wait = max(delay, 2**turn * (0.5 + secrets.randbelow(512) / 1024))
            if turn == TURNS or wait > PATIENCE:
                break
            if turn == 1 and self._waiting is not None:
                self._waiting()
            time.sleep(wait)
        raise RefusedError(
            "The collector cannot be reached; what was answered is kept, so try again later.",
            "unavailable",
        )


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


_Response = tuple[int, Any, float]
"""A status (0 for no answer), JSON (None for anything else), and the seconds to wait."""


def _ask(request: urllib.request.Request) -> _Response:
    """Ask within the deadline; a thread, because a socket's own limit is for each read anew."""
    responses: list[_Response] = [(0, None, 0.0)]
    thread = threading.Thread(target=lambda: responses.append(_exchange(request)), daemon=True)
    thread.start()
    thread.join(_DEADLINE)
    return responses[-1]


def _exchange(request: urllib.request.Request) -> _Response:
    try:
        with _OPENER.open(request, timeout=_DEADLINE) as response:
            return response.status, _read(response), 0.0
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            is_number = after.isascii() and after.isdecimal()
            return error.code, _read(error), float(after) if is_number else 0.0
    except (OSError, HTTPException, ValueError):  # the last from names that are none
        return 0, None, 0.0


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
