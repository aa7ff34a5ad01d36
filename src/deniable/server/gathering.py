"""Single reports gather while others are being stored, and are taken together.

A report in a batch costs a fraction of what one alone does, and who waits for the disk has the time.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from deniable.server.intake import Intake, SentReport
from deniable.server.limits import Buckets
from deniable.server.problems import ProblemError
from deniable.server.work import Arrivals, Outcome, Reports
from deniable.server.writer import Writer


class _Single(NamedTuple):
    report: SentReport
    told: asyncio.Future[str | None]


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
        told: asyncio.Future[str | None] = self._loop.create_future()
        if not (self._waiting or self._is_storing):
            self._loop.call_soon(self._store)
        self._waiting.append(_Single(report, told))
        return told

    def _store(self) -> None:
        """Store all that waits."""
        singles, self._waiting = self._waiting, []
        try:
            parts, refused = self._intake.checked([single.report for single in singles])
            for at, name in refused:
                _tell(singles[at], name)
            for part in parts:
                self._limit(part, singles)
            reports = Reports(parts)
            if reports.size:
                stored = self._writer.hand_over(reports)
                self._is_storing = True
                stored.add_done_callback(lambda done: self._stored(done, singles))
        except Exception as error:  # nobody must wait for ever, whatever is wrong
            _tell_all(singles, error)

    def _limit(self, part: Arrivals, singles: list[_Single]) -> None:
        """Take out the reports of participants who send too often."""
        allowed = []
        for at, key in zip(part.places, part.keys, strict=True):
            try:
                self._buckets.take(key)
                allowed.append(True)
            except ProblemError as problem:
                allowed.append(False)
                _tell(singles[at], problem)
        part.keep(allowed)

    def _stored(self, done: asyncio.Future[Outcome], singles: list[_Single]) -> None:
        error = done.exception()
        if error is None:
            for at, name in done.result().refused:
                _tell(singles[at], name)
        _tell_all(singles, error)
        self._is_storing = False
        if self._waiting:
            self._store()


def _tell(single: _Single, what: str | BaseException | None) -> None:
    """Tell who waits what became of a report, unless it was told already, or is gone."""
    if single.told.done():
        return
    if isinstance(what, BaseException):
        single.told.set_exception(what)
    else:
        single.told.set_result(what)


def _tell_all(singles: list[_Single], what: BaseException | None) -> None:
    for single in singles:
        _tell(single, what)
