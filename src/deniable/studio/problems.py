"""A request that the studio does not do: a problem (RFC 9457) with a stable name."""

from __future__ import annotations

import json

from starlette.responses import Response

from deniable.messages.problems import BASE

TITLES: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is not what this address takes."),
    "session-unknown": (401, "This page has no session: open the address that the terminal shows."),
    "token-spent": (401, "This address was opened already, or is none: start the studio again."),
    "host-foreign": (403, "The studio answers under its own address alone."),
    "origin-foreign": (403, "The studio takes nothing from other pages."),
    "not-found": (404, "There is nothing at this address."),
    "method-not-allowed": (405, "This address does not take that method."),
    "changed-elsewhere": (409, "The questionnaire was changed elsewhere: load it again."),
    "too-large": (413, "The request is too large."),
    "unsupported-media-type": (415, "This address takes application/json."),
    "impossible": (422, "This cannot be done."),
    "internal": (500, "The studio made a mistake."),
}
"""The status of each problem, and its title."""


class StudioProblem(Exception):  # noqa: N818 - it is what the message is called (RFC 9457)
    """A request that is not done; ``detail`` says why, in a sentence for the operator."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(name)
        self.name, self.detail = name, detail

    def response(self) -> Response:
        """Return the problem as it is sent."""
        status, title = TITLES[self.name]
        form = {"type": f"{BASE}studio-{self.name}", "title": title, "status": status}
        form |= {"detail": self.detail} if self.detail else {}
        return Response(json.dumps(form), status, media_type="application/problem+json")
