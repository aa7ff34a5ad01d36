"""The commands that end a survey, and take that back: close, reopen."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated

from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import conclude
from deniable.cli.serving import needing_extra, store_at
from deniable.errors import StoreError

At = Annotated[
    str | None,
    about(
        "When: a day and a time to come, such as 2026-12-31T18:00, of this machine's clock, or with Z "
        "or +02:00 behind it; by default, now.",
        "--at",
    ),
]


def close(
    store: option.StoreArgument,
    survey_id: option.SurveyId = None,
    at: At = None,
    as_json: option.Json = False,
) -> None:
    """Close a survey while collectors run: it gives no new questions, and pages say that it is over.

    Tickets that were given before stay good until they expire, for devices that have drawn their answer.
    """
    second = None if at is None else _second(at)
    with needing_extra():
        from deniable.server.closing import end_form
    with store_at(store) as source:
        stored_survey = source.survey(survey_id)
        end = end_form(source.close_survey(stored_survey, second))
    name = stored_survey.survey.id
    state = "is closed" if end["closed"] else f"closes at {end['ends']}"
    what = (
        "Answers to questions that were given out before are counted for up to 15 days."
        if stored_survey.slots == "assigned"
        else "Only what was counted before is acknowledged again."
    )
    conclude(
        as_json,
        {"survey": name, **end},
        f"Survey [bold]{name[:16]}[/bold] {state}: from then on nobody gets a question anew. {what} "
        "'deniable reopen' takes it back.",
    )


def reopen(
    store: option.StoreArgument,
    survey_id: option.SurveyId = None,
    as_json: option.Json = False,
) -> None:
    """Take new answers to a survey again, or take back when it was to end."""
    with needing_extra():
        from deniable.server.closing import end_form
    with store_at(store) as source:
        stored_survey = source.survey(survey_id)
        source.reopen_survey(stored_survey)
    name = stored_survey.survey.id
    conclude(
        as_json,
        {"survey": name, **end_form(None)},
        f"Survey [bold]{name[:16]}[/bold] is open, without an end.",
    )


def _second(text: str) -> int:
    """Return the second of a moment to come."""
    try:
        moment = datetime.fromisoformat(text) if ":" in text else None
        second = None if moment is None else int(moment.timestamp())
    except (ValueError, OverflowError, OSError):
        second = None
    if second is None:
        raise StoreError(
            f"--at is a day and a time, such as 2026-12-31T18:00 or 2026-12-31T18:00Z; got {text!r}."
        )
    if second <= time.time():
        raise StoreError(f"--at is a moment to come, and {text} is over; without it, it is now.")
    return second
