"""The queries of an address: which are allowed, and what they say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from deniable.release.consistency import CONSISTENCY, READABLE
from deniable.server.analysts import LEVEL
from deniable.server.problems import ProblemError
from deniable.show.summaries import QUARTILES

Endpoint = Callable[[Request], Awaitable[Response]]

LABEL = "label[NAME]"
"""A query that names a label: label[region]=north."""

LISTS = ("attributes", "by", "probability", "pool")
"""Queries that may come several times."""


def strict(endpoint: Endpoint, allowed: Sequence[str]) -> Endpoint:
    """Return an endpoint that refuses other queries."""

    async def with_known_queries(request: Request) -> Response:
        check(request, allowed)
        return await endpoint(request)

    return with_known_queries


def check(request: Request, allowed: Sequence[str]) -> None:
    """Refuse queries that are not known, or come twice, which only lists may."""
    names = [name for name, _ in request.query_params.multi_items()]
    once = [name for name in names if name not in LISTS]
    kinds = {LABEL if is_label(name) else name for name in names}
    if len(set(once)) < len(once) or not kinds <= set(allowed):
        names_text = ", ".join(allowed) if allowed else "none"
        raise ProblemError("malformed", f"The queries that are known here: {names_text}.")


def names_in(request: Request) -> list[str]:
    """Return the names of attributes and labels that a request asks for, as far as there are such."""
    query = request.query_params
    names = [name for key in ("attribute", *LISTS) for name in query.getlist(key)]
    return names + [key.removeprefix("label[").removesuffix("]") for key in query if is_label(key)]


def is_label(name: str) -> bool:
    """Tell whether a query names a label."""
    return name.startswith("label[") and name.endswith("]")


def consistency(request: Request) -> str:
    """Return what is done to estimates."""
    return request.query_params.get("consistency", CONSISTENCY[0])


def readable(request: Request) -> str:
    """Return what is done to tables that people look at."""
    return request.query_params.get("consistency", READABLE)


def by(request: Request) -> list[str]:
    """Return what makes groups."""
    return request.query_params.getlist("by")


def names(request: Request) -> list[str]:
    """Return the attributes of a table."""
    return request.query_params.getlist("attributes")


def attribute(request: Request) -> str:
    """Return the name of a number."""
    name = request.query_params.get("attribute")
    if name is None:
        raise ProblemError("malformed", "attribute names a number.")
    return name


def probabilities(request: Request) -> list[float]:
    """Return those of quantiles; by default, the quartiles."""
    try:
        return [float(text) for text in request.query_params.getlist("probability")] or [*QUARTILES]
    except ValueError:
        raise ProblemError("malformed", "A probability is a number between 0 and 1.") from None


def level(request: Request) -> float:
    """Return the level of intervals."""
    try:
        return float(request.query_params.get("level", LEVEL))
    except ValueError:
        raise ProblemError("malformed", "The level must be a number between 0 and 1.") from None
