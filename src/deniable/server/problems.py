"""A request that is not answered as it wished: a problem (RFC 9457), as it is sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.responses import Response

from deniable.messages.problems import BASE, PROBLEMS


class ProblemError(Exception):
    """A request that is not answered as it wished."""

    def __init__(self, name: str, detail: str = "", retry_after: int | None = None) -> None:
        super().__init__(detail or name)
        self.name, self.detail, self.retry_after = name, detail, retry_after

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return PROBLEMS[self.name].status

    def response(self) -> Response:
        """Return the problem as it is sent."""
        status, title, _ = PROBLEMS[self.name]
        form = {"type": BASE + self.name, "title": title, "status": status}
        if self.detail:
            form["detail"] = self.detail
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.name in ("too-large", "too-slow"):
            headers["Connection"] = "close"  # the rest of it is not waited for
        if self.name == "unauthorized":
            headers["WWW-Authenticate"] = 'Bearer realm="analysts"'
        return Response(json.dumps(form), status, headers, "application/problem+json")


def stop_problem() -> ProblemError:
    """Return what whoever still waits is told when the collector ends."""
    return ProblemError("unavailable", "The collector is being stopped.", 5)


def settle(future: asyncio.Future[Any], outcome: object) -> None:
    """Give whoever waits a result or an error, unless they have one already, or are gone."""
    if future.done():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
