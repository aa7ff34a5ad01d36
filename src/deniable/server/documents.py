"""Public documents beside a survey: what people read of it, and the log of all surveys."""

from __future__ import annotations

import asyncio
import json
from math import inf
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deniable.messages.survey_log import SurveyLog
from deniable.server.collector import WATCH, Collector
from deniable.server.problems import ProblemError

_LASTING = "public, max-age=31536000, immutable"

_PAUSE = 1.0
"""Seconds between two looks at the log in the store, whatever is asked."""


class LogReader:
    """The log of surveys, to which other processes of the store may add at any time."""

    def __init__(self, collector: Collector) -> None:
        self._gauges, self._log, self._read_at = collector.gauges, SurveyLog(()), -inf
        self._reading: asyncio.Task[None] | None = None

    async def log(self, size: int = 1) -> SurveyLog:
        """Return the log: of late, or of now if it has fewer entries than somebody has seen."""
        # A look that had begun before may have missed the entry: the second one has not.
        for _ in range(2):
            is_old = asyncio.get_running_loop().time() > self._read_at + WATCH
            if size <= len(self._log.entries) and not is_old:
                break
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read())
            await asyncio.shield(self._reading)
        return self._log

    async def _read(self) -> None:
        now = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, self._read_at + _PAUSE - now()))
        self._log = await self._gauges.work(self._gauges.survey_log)
        self._read_at = now()


class Documents:
    """What anybody may read, keep, and show to others."""

    def __init__(self, collector: Collector) -> None:
        self._collector, self._reader = collector, LogReader(collector)
        self._log_text: tuple[SurveyLog, str] | None = None

    async def texts(self, request: Request) -> Response:
        """Give what people read of a survey, in all languages: who has it need never ask again."""
        survey = request.query_params.get("survey")
        text = self._collector.texts.get(self._collector.intake.survey(survey).survey.id)
        if text is None:
            raise ProblemError("no-texts")
        # An id has these texts for ever; without one, another survey may be meant tomorrow.
        headers = {"Cache-Control": "no-cache" if survey is None else _LASTING}
        return Response(text, 200, headers, "application/json")

    async def survey_log(self, _request: Request) -> Response:
        """Give all surveys that were ever offered."""
        log = await self._reader.log()
        if self._log_text is None or self._log_text[0] is not log:
            entries = [entry._asdict() for entry in log.entries]
            self._log_text = log, json.dumps({"head": log.head._asdict(), "entries": entries})
        return Response(self._log_text[1], media_type="application/json")

    async def log_proof(self, request: Request) -> Response:
        """Prove that the log continues an earlier one of some size, and that a survey is in it."""
        size, survey = _size(request), request.query_params.get("survey")
        log = await self._reader.log(size)
        if size > len(log.entries):
            raise ProblemError("head-unknown")
        form: dict[str, Any] = {"head": log.head._asdict(), "consistency": log.consistency(size)}
        if survey is not None:
            index = log.index(survey)
            if index is None:
                raise ProblemError("survey-unknown")
            entry = log.entries[index]._asdict()
            form |= {"entry": entry, "index": index, "inclusion": log.inclusion(index)}
        return JSONResponse(form)


def _size(request: Request) -> int:
    """Return the size of the log that somebody knows; by default none of it."""
    text = request.query_params.get("size", "0")
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise ProblemError("malformed", "The size of a log is a whole number.")
    return int(text)
