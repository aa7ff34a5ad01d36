"""The collector itself: a store, its surveys, and the threads that work on them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from deniable.decoding.decoder import InclusionDecoder, decoder_of
from deniable.decoding.scores import scoring
from deniable.server.access import Analyst, Role
from deniable.server.analysts import Analysts
from deniable.server.closing import Endings
from deniable.server.doorkeeper import Doorkeeper
from deniable.server.errors_log import report
from deniable.server.gathering import Gathering
from deniable.server.intake import Intake
from deniable.server.limits import Buckets, Texts
from deniable.server.problems import ProblemError
from deniable.server.sign_in import Provider
from deniable.server.store import Store
from deniable.server.tickets import UNKNOWN, hour
from deniable.server.work import Note, Outcome, StoredSurvey
from deniable.server.writer import Writer

_ONE_ACCEPTED = b'{"accepted":1}'

WATCH = 30.0
"""Seconds after which it is looked whether people have doubled, and for new keys and analysts."""


class Collector:
    """A store, its surveys, and the threads that work on them."""

    is_rehearsal = False
    """Whether answers are checked and forgotten; the participants' page then keeps no ledger."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        surveys: Sequence[str] | None = None,
        clock: Callable[[], int] = hour,
        buckets: Buckets | None = None,
        provider: Provider | None = None,
    ) -> None:
        self.clock, self.store = clock, open_store()
        every = self.store.surveys()
        texts = self.store.texts()
        self.surveys = [each for each in every if surveys is None or each.survey.id in surveys]
        self.texts = {
            each.survey.id: texts[each.survey.id].encode()
            for each in self.surveys
            if each.survey.id in texts
        }
        """What people read of the surveys whose ids cover it, as it is sent."""
        self.analysts, self.gauges = Analysts(open_store), Analysts(open_store)
        self.doorkeeper = Doorkeeper(self.store, self.gauges, clock, provider)
        self.seal = self.doorkeeper.seal
        self.endings = Endings(self._ends)
        self.intake = Intake(self.seal, self.surveys, clock)
        self.buckets = Buckets() if buckets is None else buckets
        self.writer: Writer | None = None
        self.gathering: Gathering | None = None
        self.in_work = self.reading = self.being_read = 0
        self.answers: Counter[int] = Counter()
        self.accepted = self.failures = 0
        self.refused: Counter[str] = Counter()
        self._texts = Texts()

    async def _ends(self) -> dict[int, int]:
        """Return when surveys end, as the store has it."""
        ends: dict[int, int] = await self.gauges.work(self.gauges.ends)
        return ends

    async def admit(self, analyst: Analyst, role: Role, subject: str) -> None:
        """Let an analyst do something, when it is in the audit log."""
        await self.doorkeeper.admit(analyst, role, subject, self._write)

    async def _write(self, note: Note) -> None:
        """Write into the audit log, in one transaction with all that is waiting."""
        assert self.writer is not None
        await self.writer.hand_over(note)

    async def take(self, body: bytes, key: str | None) -> bytes:
        """Take the reports of a request; they are durable when this returns the answer."""
        sent_reports, is_many = self.intake.read(body, key)
        if not is_many and sent_reports[0].is_plain:
            assert self.gathering is not None
            name = await self.gathering.take(sent_reports[0])
            if name in UNKNOWN:
                final_name = await self.doorkeeper.settled(name)
                name = await self.gathering.take(sent_reports[0])
                name = final_name if name in UNKNOWN else name
            if name is not None:
                self.refused[name] += 1
                raise ProblemError(name)
            self.accepted += 1
            return _ONE_ACCEPTED
        reports, refusals = self.intake.reports(sent_reports, body, key)
        if any(name in UNKNOWN for _, name in refusals):
            await self.doorkeeper.refresh()
            reports, refusals = self.intake.reports(sent_reports, body, key)
            refusals = [(at, UNKNOWN.get(name, name)) for at, name in refusals]
        count = len(refusals) + reports.size
        if reports.size:
            people = {key for part in reports.arrivals for key in part.keys}
            if len(people) == 1:
                self.buckets.take(people.pop())
            assert self.writer is not None
            outcome: Outcome = await self.writer.hand_over(reports)
            if outcome.problem:
                raise ProblemError(outcome.problem)
            refusals += outcome.refusals
        self.accepted += count - len(refusals)
        for _, name in refusals:
            self.refused[name] += 1
        if not is_many:
            if refusals:
                raise ProblemError(refusals[0][1])
            return _ONE_ACCEPTED
        rows = [{"index": index, "type": name} for index, name in sorted(refusals)]
        return json.dumps({"accepted": count - len(rows), "refused": rows}).encode()

    def text(self, stored_survey: StoredSurvey) -> str:
        """Return a survey's canonical JSON text."""
        return self._texts.text((stored_survey.number, -1), stored_survey.survey.canonical)

    def question(self, stored_survey: StoredSurvey, slot: int) -> str:
        """Return a question's JSON text."""

        def make() -> str:
            return json.dumps(stored_survey.survey.question(slot).to_json(), ensure_ascii=False)

        return self._texts.text((stored_survey.number, slot), make)

    @asynccontextmanager
    async def running(self, _app: Starlette) -> AsyncIterator[None]:
        """Write while the service runs; at its end, store what still waits."""
        self.writer = Writer(self.store, self.clock)
        self.writer.start()
        self.gathering = Gathering(self.intake, self.buckets, self.writer)
        watching = [
            asyncio.create_task(self._watch(each))
            for each in (self.doorkeeper.refresh, self._checkpoint)
        ]
        try:
            yield
        finally:
            for each in watching:
                each.cancel()
            self.writer.close()
            await run_in_threadpool(self.writer.join)
            for analysts in (self.analysts, self.gauges):
                await run_in_threadpool(analysts.close)

    def stop(self) -> None:
        """Begin to end: whoever waits for a long computation is told so in a little while."""
        for analysts in (self.analysts, self.gauges):
            analysts.stop()

    @property
    def is_busy(self) -> bool:
        """Tell whether a computation still runs that nobody waits for."""
        return self.analysts.is_busy or self.gauges.is_busy

    async def _watch(self, look: Callable[[], Awaitable[None]]) -> None:
        """Look after something again and again, whatever happens."""
        while True:
            await asyncio.sleep(WATCH)
            try:
                await look()
            except Exception as error:  # later
                self.failures += 1
                report("Keys or snapshots could not be looked after", error)

    async def _checkpoint(self) -> None:
        """Write down how wide intervals are whenever people have doubled."""
        for stored_survey in self.surveys:
            try:
                await self.analysts.work(self.analysts.checkpoint, stored_survey)
            except ProblemError as error:
                self.failures += 1
                report("A snapshot could not be looked after", error)


def poisoning(stored_survey: StoredSurvey) -> str:
    """Return how far liars can push an estimate, in a sentence or two."""
    if stored_survey.slots == "drawn":
        return "There is no bound: participants choose their own questions, as often as they like."
    if stored_survey.participants == "open":
        return "There is no bound: anybody can take part any number of times, under other tokens."
    survey = stored_survey.survey
    if not isinstance(decoder_of(survey), InclusionDecoder):
        return "Each issued id counts once, about a question it cannot choose; no bound is known."
    largest = max(scoring(template).largest for template in survey.templates)
    alone = (
        " Of a single group there is no bound: a label is what a device says."
        if stored_survey.labels
        else ""
    )
    return (
        "If 1 % of the participants lie, they are expected to shift no coefficient by more than "
        f"{0.01 * (largest + 1):.3f}: each issued id counts once, about a question that it "
        f"cannot choose.{alone}"
    )
