"""Problems: what a collector answers when it does not do what was asked (RFC 9457).

A name is stable, and a type is an address that ends in it; titles and details are for people.
"""

from __future__ import annotations

from typing import NamedTuple

BASE = "https://deniable.invalid/problems/"


class Problem(NamedTuple):
    """A kind of problem: its HTTP status, its title, and what a device tells its owner instead."""

    status: int
    title: str
    to_owner: str = ""


PROBLEMS: dict[str, Problem] = {
    "malformed": Problem(400, "The request is not what this address takes."),
    "unauthorized": Problem(401, "This needs an analyst's token that is good."),
    "participant-unknown": Problem(
        401, "No such participant id was issued.", "The collector issued no such participant id."
    ),
    "ticket-invalid": Problem(401, "The ticket is none of this collector's."),
    "forbidden": Problem(403, "This analyst's roles do not allow it."),
    "survey-unknown": Problem(
        404, "This collector does not hold that survey.", "The collector does not hold this survey."
    ),
    "no-texts": Problem(
        404,
        "This survey has no texts: its id covers none.",
        "The collector does not have the texts that belong to this survey.",
    ),
    "head-unknown": Problem(
        404,
        "The log of surveys was never that long.",
        "The collector's log of surveys is shorter than the one that you know: it was cut short, so "
        "nothing was answered.",
    ),
    "group-small": Problem(
        404, "This group is not displayed: it, or what is beside it, is too small."
    ),
    "not-found": Problem(404, "There is nothing at this address."),
    "method-not-allowed": Problem(405, "This address does not take that method."),
    "too-slow": Problem(408, "The request did not come in whole in time."),
    "answered": Problem(
        409,
        "This participant's answer is counted already.",
        "Your answer to this survey is counted already.",
    ),
    "conflict": Problem(
        409,
        "This participant has given another answer, which stays.",
        "The collector has counted another answer of yours, which stays.",
    ),
    "no-tickets": Problem(409, "This survey gives out no tickets."),
    "no-reports": Problem(409, "There are fewer than 100 reports: nothing of them is shown."),
    "survey-closed": Problem(
        410,
        "The survey is closed: it gives no new questions.",
        "The survey is over: it takes no new answers.",
    ),
    "ticket-expired": Problem(410, "The ticket has expired; ask for the question again."),
    "key-retired": Problem(
        410,
        "The key that sealed this ticket or id is retired; ask for the question again, or for an id.",
        "The collector's ids of this kind are not good any more: ask for another one.",
    ),
    "too-large": Problem(413, "The request is too large."),
    "address-too-long": Problem(414, "The request's address is too long."),
    "unsupported-media-type": Problem(415, "This address takes application/json."),
    "value-impossible": Problem(
        422,
        "Nobody can report this value to this question.",
        "The collector holds that nobody can answer this.",
    ),
    "label-unknown": Problem(
        422,
        "The labels are not those that the survey declares.",
        "The collector holds that the survey has no such labels.",
    ),
    "key-reused": Problem(422, "The idempotency key came with another request before."),
    "table-impossible": Problem(422, "This release cannot give that."),
    "too-many-requests": Problem(429, "Too many requests for one participant."),
    "head-too-large": Problem(431, "The request's headers are too large."),
    "internal": Problem(500, "The collector made a mistake."),
    "unavailable": Problem(503, "The collector cannot store anything just now; try again."),
}


def problem_name(kind: object) -> str | None:
    """Return the name in a problem's type, whether it is known here or not; None if it has none."""
    name = kind.rpartition("/")[2] if isinstance(kind, str) else ""
    return name if name.isascii() and name.replace("-", "").isalpha() else None
