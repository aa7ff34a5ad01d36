"""When surveys end: a closed one gives no new questions, in all processes of its store at once.

Who was given a ticket before may still answer until it expires: their device may have drawn the answer
already, and draws no other. Where no ticket tells that, as where ids are hashed or devices draw their
questions, only what was counted before is acknowledged again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

from deniable.errors import StoreError
from deniable.server.audit_log import OPERATOR
from deniable.server.participants import ParticipantTables
from deniable.server.problems import ProblemError
from deniable.server.shared import Shared
from deniable.server.work import Arrivals, Reports, StoredSurvey

Refusals = list[tuple[int, str]]

CLOSED = "survey-closed"
"""The name of the problem."""

FRESH = 1.0
"""Seconds for which a collector does not ask its store again whether surveys are closed."""


class Endings:
    """The ends of surveys as a running collector tells them: those of a second ago at the latest."""

    def __init__(self, read: Callable[[], Awaitable[dict[int, int]]]) -> None:
        self._look, self._ends, self._read_at = read, dict[int, int](), -inf
        self._refresh = Shared(self._read)

    async def _read(self) -> None:
        began = time.monotonic()
        with suppress(ProblemError):  # the store is away: what it said last is told
            self._ends = await self._look()
        self._read_at = began

    async def form(self, stored_survey: StoredSurvey) -> dict[str, object]:
        """Return whether a survey is closed, and when it ends."""
        if time.monotonic() > self._read_at + FRESH:
            await self._refresh()
        return end_form(self._ends.get(stored_survey.number))


def end_form(second: int | None) -> dict[str, object]:
    """Return whether a survey is closed that ends at a second, and when that is."""
    is_closed = second is not None and second <= time.time()
    return {"closed": is_closed, "ends": moment_text(second)}


def moment_text(second: int | None) -> str | None:
    """Return a moment as it is sent, to the second."""
    if second is None:
        return None
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ClosingTables(ParticipantTables):
    """The ends of a store's surveys."""

    def ends(self) -> dict[int, int]:
        """Return the second at which each survey ends, or ended, by its number; most have none."""
        rows = self.run("SELECT number, ends FROM surveys WHERE ends IS NOT NULL")
        return {int(number): int(second) for number, second in rows}

    def closed(self) -> set[int]:
        """Return the numbers of the surveys that are closed now."""
        now = int(time.time())
        return {number for number, second in self.ends().items() if second <= now}

    def close_survey(self, stored_survey: StoredSurvey, second: int | None = None) -> int:
        """Close a survey, now or at a second to come, and return when."""
        now = int(time.time())
        second = now if second is None else second
        with self.transaction():
            end = self.ends().get(stored_survey.number)
            if end is not None and end <= now:
                raise StoreError(
                    f"The survey {stored_survey.survey.id[:8]} is closed since {moment_text(end)}; "
                    "'deniable reopen' opens it again."
                )
            self._set_end(stored_survey, second)
            subject = f"survey {stored_survey.survey.id[:16]}"
            self.audit(OPERATOR, "close", f"{subject} at {moment_text(second)}")
        return second

    def reopen_survey(self, stored_survey: StoredSurvey) -> None:
        """Take new answers again, without an end."""
        with self.transaction():
            if stored_survey.number not in self.ends():
                raise StoreError(
                    f"The survey {stored_survey.survey.id[:8]} is open, without an end."
                )
            self._set_end(stored_survey, None)
            self.audit(OPERATOR, "reopen", f"survey {stored_survey.survey.id[:16]}")

    def _set_end(self, stored_survey: StoredSurvey, second: int | None) -> None:
        self.run("UPDATE surveys SET ends = ? WHERE number = ?", second, stored_survey.number)

    def without_late(
        self, works: Sequence[Reports], closed: Collection[int]
    ) -> tuple[list[Reports], list[Refusals]]:
        """Take first answers to closed surveys out of what came in; say which were, request by request.

        What comes with a ticket stays, and so does what may be the repeat of a request with a key.
        """
        late = [part for work in works for part in work.arrivals if _is_late(part, closed)]
        earlier_keys = self.answered_keys([key for part in late for key in part.keys])
        rest, refusals = list[Reports](), list[Refusals]()
        for work in works:
            parts, own = list[Arrivals](), Refusals()
            for part in work.arrivals:
                if work.once is not None or not _is_late(part, closed):
                    parts.append(part)
                    continue
                flags = [key in earlier_keys for key in part.keys] or [False] * len(part.slots)
                own += [
                    (at, CLOSED) for at, flag in zip(part.positions, flags, strict=True) if not flag
                ]
                copy = replace(part)
                copy.keep(flags)
                parts.append(copy)
            rest.append(Reports(parts, work.once))
            refusals.append(own)
        return rest, refusals


def _is_late(part: Arrivals, closed: Collection[int]) -> bool:
    """Tell whether reports are to a closed survey, and no ticket says that they were asked for."""
    return part.stored_survey.number in closed and part.stored_survey.slots != "assigned"


def is_late(work: Reports, closed: Collection[int]) -> bool:
    """Tell whether some of a request's reports are."""
    return any(_is_late(part, closed) for part in work.arrivals)
