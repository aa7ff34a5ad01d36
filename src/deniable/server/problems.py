"""What the collector answers when it does not do what was asked: RFC 9457 problems.

A problem's name is stable; its title and detail are for people.
"""

from __future__ import annotations

import json

from starlette.responses import Response

__all__ = ["PROBLEMS", "ProblemError"]

BASE = "https://deniable.invalid/problems/"

PROBLEMS: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is not what this address takes."),
    "unauthorized": (401, "This needs the analysts' token."),
    "participant-unknown": (401, "No such participant id was issued."),
    "ticket-invalid": (401, "The ticket is none of this collector's."),
    "survey-unknown": (404, "This collector does not hold that survey."),
    "group-small": (404, "Groups under 100 reports are not displayed."),
    "not-found": (404, "There is nothing at this address."),
    "method-not-allowed": (405, "This address does not take that method."),
    "too-slow": (408, "The request did not come in whole in time."),
    "answered": (409, "This participant's answer is counted already."),
    "conflict": (409, "This participant has given another answer, which stays."),
    "no-tickets": (409, "This survey gives out no tickets."),
    "no-reports": (409, "There are no reports yet to release anything from."),
    "ticket-expired": (410, "The ticket has expired; ask for the question again."),
    "too-large": (413, "The request is too large."),
    "address-too-long": (414, "The request's address is too long."),
    "unsupported-media-type": (415, "This address takes application/json."),
    "value-impossible": (422, "Nobody can report this value to this question."),
    "label-unknown": (422, "The labels are not those that the survey declares."),
    "key-reused": (422, "The idempotency key came with another request before."),
    "table-impossible": (422, "This release cannot give that."),
    "too-many-requests": (429, "Too many requests for one participant."),
    "head-too-large": (431, "The request's headers are too large."),
    "internal": (500, "The collector made a mistake."),
    "unavailable": (503, "The collector cannot store anything just now; try again."),
}
"""The status and the title of each problem."""


class ProblemError(Exception):
    """A request that is not answered as it wished."""

    def __init__(self, name: str, detail: str = "", retry_after: int | None = None) -> None:
        super().__init__(detail or name)
        self.name, self.detail, self.retry_after = name, detail, retry_after

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return PROBLEMS[self.name][0]

    def response(self) -> Response:
        """Return the problem as it is sent."""
        status, title = PROBLEMS[self.name]
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
