"""What is answered where something goes wrong: a problem, always."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from deniable.server.problems import ProblemError


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response()


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
    response = ProblemError(names.get(error.status_code, "malformed")).response()
    response.headers.update(error.headers or {})
    return response


async def _no_reader(_request: Request, _error: Exception) -> Response:
    return ProblemError("malformed").response()  # nobody is there to read it


async def _mistake(_request: Request, _error: Exception) -> Response:
    return ProblemError("internal").response()


HANDLERS: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    ProblemError: _problem,
    HTTPException: _http_problem,
    ClientDisconnect: _no_reader,
    Exception: _mistake,
}
"""By what was raised."""
