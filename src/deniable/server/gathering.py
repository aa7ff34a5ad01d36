"""Single reports gather while others are being stored, and are taken together.

A report in a batch costs a fraction of what one alone does, and who waits for the disk has the time.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from deniable.server.intake import Intake, SentReport
from deniable.server.limits import Buckets
from deniable.server.problems import ProblemError, settle
from deniable.server.work import Arrivals, Outcome, Reports
from deniable.server.writer import Writer


class _Single(NamedTuple):
    report: SentReport
    future: asyncio.Future[str | None]


class Gathering:
    """Where single reports with tickets wait for each other."""

    def __init__(self, intake: Intake, buckets: Buckets, writer: Writer) -> None:
        self._intake, self._buckets, self._writer = intake, buckets, writer
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Single] = []
        self._is_storing = False

    def take(self, report: SentReport) -> asyncio.Future[str | None]:
        """Return why a report is refused, or None once it is durable."""
        self._writer.check()
        future: asyncio.Future[str | None] = self._loop.create_future()
        if not (self._waiting or self._is_storing):
            self._loop.call_soon(self._store)
        self._waiting.append(_Single(report, future))
        return future

    def _store(self) -> None:
        singles, self._waiting = self._waiting, []
        try:
            parts, refusals = self._intake.valid_reports([single.report for single in singles])
            for position, name in refusals:
                settle(singles[position].future, name)
            for part in parts:
                self._limit(part, singles)
            reports = Reports(parts)
            if reports.size:
                future = self._writer.hand_over(reports)
                self._is_storing = True
                future.add_done_callback(lambda outcome: self._finish(outcome, singles))
        except Exception as error:  # nobody must wait for ever, whatever is wrong
            _settle_all(singles, error)

    def _limit(self, part: Arrivals, singles: list[_Single]) -> None:
        """Take out the reports of participants who send too often."""
        is_allowed = []
        for position, key in zip(part.positions, part.keys, strict=True):
            try:
                self._buckets.take(key)
                is_allowed.append(True)
            except ProblemError as problem:
                is_allowed.append(False)
                settle(singles[position].future, problem)
        part.keep(is_allowed)

    def _finish(self, outcome: asyncio.Future[Outcome], singles: list[_Single]) -> None:
        error = outcome.exception()
        if error is None:
            for position, name in outcome.result().refusals:
                settle(singles[position].future, name)
        _settle_all(singles, error)
        self._is_storing = False
        if self._waiting:
            self._store()


def _settle_all(singles: list[_Single], outcome: BaseException | None) -> None:
    for single in singles:
        settle(single.future, outcome)
