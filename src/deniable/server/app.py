"""The collector's HTTP interface; docs/http.md tells it in full."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from deniable.messages.ticket import Ticket
from deniable.server.analysts import LEVEL, Part, finite
from deniable.server.collector import Collector, poisoning
from deniable.server.intake import read_question_request
from deniable.server.openapi import document
from deniable.server.problems import ProblemError
from deniable.server.report_endpoint import ReportEndpoint, read_body
from deniable.server.work import Enrolment, StoredSurvey

PAGES = Path(__file__).parent / "pages"

LABEL = "label[NAME]"
"""A query that names a label: label[region]=north."""

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; sandbox allow-scripts"
)
"""The report is one file with its own script; it runs in a sandbox, as if from nowhere."""


Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(collector: Collector, allow_origins: Sequence[str] = ()) -> ASGIApp:
    """Return the service."""
    routed = Starlette(
        routes=_Routes(collector).all(),
        exception_handlers={
            ProblemError: _problem,
            HTTPException: _http_problem,
            ClientDisconnect: _gone,
            Exception: _mistake,
        },
        lifespan=collector.running,
    )
    routed.router.redirect_slashes = False  # it would send people where their Host header says
    app: ASGIApp = ReportEndpoint(routed, collector)
    if allow_origins:
        app = CORSMiddleware(
            app,
            allow_origins=list(allow_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", "Idempotency-Key"],
            expose_headers=["Retry-After"],
            max_age=3600,
        )
    return app


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response()


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
    response = ProblemError(names.get(error.status_code, "malformed")).response()
    response.headers.update(error.headers or {})
    return response


async def _gone(_request: Request, _error: Exception) -> Response:
    return ProblemError("malformed").response()  # nobody is there to read it


async def _mistake(_request: Request, _error: Exception) -> Response:
    return ProblemError("internal").response()


def _json(form: Any) -> Response:
    return Response(
        json.dumps(finite(form), ensure_ascii=False, allow_nan=False), media_type="application/json"
    )


class _Routes:
    """What is answered where."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def all(self) -> list[Route | Mount]:
        survey, part = ("survey",), ("survey", LABEL)
        processed = (*part, "consistency")
        public = {
            "/v1/survey": (self.survey, survey),
            "/v1/surveys": (self.surveys, ()),
            "/healthz": (self.health, ()),
            "/openapi.json": (self.openapi, ()),
        }
        guarded = {
            "/v1/release": (self.release, part),
            "/v1/release/groups": (self.groups, (*survey, "by")),
            "/v1/release/marginal": (self.marginal, (*processed, "attributes", "level")),
            "/v1/release/associations": (self.associations, processed),
            "/v1/release/tree": (self.tree, processed),
            "/v1/release/history": (self.history, part),
            "/v1/release/report": (self.report, processed),
            "/v1/release/tables.{ending}": (self.tables, processed),
            "/v1/integrity": (self.integrity, part),
            "/metrics": (self.metrics, ()),
        }
        return [
            Route("/v1/reports", self.elsewhere, methods=["POST"]),
            Route("/v1/questions", _strict(self.questions, ()), methods=["POST"]),
            *(Route(at, _strict(do, queries)) for at, (do, queries) in public.items()),
            *(
                Route(at, self._guarded(_strict(do, queries)))
                for at, (do, queries) in guarded.items()
            ),
            # Pages take any query: theirs is `survey`, and other sites add some to links.
            Route("/", self.page("index.html")),
            Route("/dashboard", self.page("dashboard.html")),
            Mount("/static", StaticFiles(directory=PAGES)),
        ]

    # Participants

    async def surveys(self, _request: Request) -> Response:
        """Tell which surveys there are."""
        rows = []
        for stored in self._collector.surveys:
            survey = stored.survey
            rows.append(
                {
                    "id": survey.id,
                    "attributes": len(survey.schema),
                    "order": survey.order,
                    "epsilon": survey.epsilon,
                    "mechanism": survey.mechanism,
                    "slots": stored.slots,
                    "participants": stored.participants,
                }
            )
        return _json({"surveys": rows})

    async def survey(self, request: Request) -> Response:
        """Tell all of one survey."""
        stored = self._stored_survey(request)
        rest = {
            "slots": stored.slots,
            "participants": stored.participants,
            "poisoning": poisoning(stored),
        }
        # The survey's own text, byte for byte: its SHA-256 is the id.
        text = f'{{"id":"{stored.survey.id}","survey":{stored.survey.canonical()},'
        return Response(text + json.dumps(rest)[1:], media_type="application/json")

    def _stored_survey(self, request: Request) -> StoredSurvey:
        return self._collector.intake.survey(request.query_params.get("survey"))

    def _part(self, request: Request) -> Part:
        """Return what is asked about: label[region]=north is all of the survey that is so labelled."""
        labels = {
            name.removeprefix("label[").removesuffix("]"): value
            for name, value in request.query_params.items()
            if _is_label(name)
        }
        return Part.of(self._stored_survey(request), labels)

    async def questions(self, request: Request) -> Response:
        """Give a participant the ticket and the question that are theirs."""
        collector = self._collector
        question_request = read_question_request(
            await read_body(request.scope, request.receive, collector)
        )
        stored = collector.intake.survey(question_request.survey)
        if stored.slots != "assigned":
            raise ProblemError("no-tickets", f"The slots of this survey are {stored.slots}.")
        if stored.participants == "issued":
            serial = collector.seal.participant(question_request.token)
            if serial is None:
                raise ProblemError("participant-unknown")
            enrolment = Enrolment(stored, serial)
        else:
            enrolment = Enrolment(
                stored, None, collector.seal.digest("token", question_request.token.encode())
            )
        collector.buckets.take((stored.number, enrolment.participant, enrolment.token))
        assert collector.writer is not None
        participant = await collector.writer.enrol(enrolment)
        if participant.answered:
            raise ProblemError("answered")
        slot = collector.seal.slot(stored.survey, participant.serial)
        expiry = collector.seal.expiry(participant.serial, collector.clock())
        survey = bytes.fromhex(stored.survey.id)[:8]
        ticket = collector.seal.ticket(Ticket(survey, participant.serial, slot, expiry))
        expires = datetime.fromtimestamp(expiry * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        question = collector.question(stored, slot)
        return Response(
            f'{{"ticket":"{ticket}","question":{question},"expires":"{expires}"}}',
            media_type="application/json",
        )

    # Analysts

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def checked(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not self._collector.knows(token.strip()):
                raise ProblemError("unauthorized")
            return await endpoint(request)

        return checked

    async def _work(self, what: Callable[..., Any], *arguments: Any) -> Any:
        return await self._collector.analysts.work(what, *arguments)

    async def release(self, request: Request) -> Response:
        """Tell what there is so far."""
        return _json(await self._work(self._collector.analysts.overview, self._part(request)))

    async def groups(self, request: Request) -> Response:
        """Tell which groups can be displayed."""
        by = request.query_params.getlist("by")
        return _json(
            await self._work(self._collector.analysts.groups, self._stored_survey(request), by)
        )

    async def marginal(self, request: Request) -> Response:
        """Give one table."""
        queries = request.query_params
        names = queries.getlist("attributes")
        try:
            level = float(queries.get("level", LEVEL))
        except ValueError:
            raise ProblemError("malformed", "The level must be a number between 0 and 1.") from None
        work = self._collector.analysts.marginal
        return _json(
            await self._work(work, self._part(request), names, level, _consistency(request))
        )

    async def associations(self, request: Request) -> Response:
        """Give a test for each pair of attributes."""
        work = self._collector.analysts.associations
        rows = await self._work(work, self._part(request), _consistency(request))
        return _json({"associations": rows})

    async def tree(self, request: Request) -> Response:
        """Give the tree."""
        work = self._collector.analysts.tree
        return _json(await self._work(work, self._part(request), _consistency(request)))

    async def history(self, request: Request) -> Response:
        """Tell how wide intervals were."""
        rows = await self._work(self._collector.analysts.history, self._part(request))
        return _json({"history": rows})

    async def report(self, request: Request) -> Response:
        """Give the report, one file."""
        work = self._collector.analysts.file
        page = await self._work(work, self._part(request), "html", _consistency(request))
        return Response(
            page, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY}
        )

    async def tables(self, request: Request) -> Response:
        """Give all tables as a file."""
        ending = request.path_params["ending"]
        types = {
            "csv": "text/csv",
            "json": "application/json",
            "parquet": "application/vnd.apache.parquet",
        }
        if ending not in types:
            raise ProblemError("not-found")
        part = self._part(request)
        work = self._collector.analysts.file
        content = await self._work(work, part, ending, _consistency(request))
        name = f"{part.stored.survey.id[:16]}.{ending}"
        return Response(
            content,
            media_type=types[ending],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def integrity(self, request: Request) -> Response:
        """Tell what the integrity monitor sees."""
        return _json(await self._work(self._collector.analysts.integrity, self._part(request)))

    async def metrics(self, _request: Request) -> Response:
        """Give numbers about the service, for Prometheus."""
        collector = self._collector
        writer = collector.writer
        assert writer is not None
        people = {
            stored.survey.id: await collector.gauges.work(collector.gauges.people, stored)
            for stored in collector.surveys
        }
        lines = [
            *_metric("responses_total", "counter", "Responses by status.",
                     {f'{{status="{s}"}}': n for s, n in sorted(collector.answers.items())}),
            *_metric("reports_accepted_total", "counter", "Reports acknowledged, repeats included.",
                     {"": collector.accepted}),
            *_metric("reports_refused_total", "counter", "Reports refused by problem.",
                     {f'{{type="{t}"}}': n for t, n in sorted(collector.refused.items())}),
            *_metric("people", "gauge", "Reports counted.",
                     {f'{{survey="{i}"}}': n for i, n in people.items()}),
            *_metric("reports_waiting", "gauge", "Reports that wait to be stored.",
                     {"": writer.waiting}),
            *_metric("requests_in_work", "gauge", "Requests in work.", {"": collector.in_work}),
            *_metric("commits_total", "counter", "Transactions.", {"": writer.commits}),
            *_metric("commit_seconds_total", "counter", "Time that transactions took.",
                     {"": round(writer.seconds, 6)}),
            *_metric("store_failures_total", "counter", "Transactions that failed.",
                     {"": writer.failures}),
            *_metric("watch_failures_total", "counter", "Checkpoints and tokens not looked after.",
                     {"": collector.failures}),
        ]  # fmt: skip
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    # Everybody

    async def elsewhere(self, _request: Request) -> Response:
        """Stand for what is answered in front of the routes."""
        raise ProblemError("not-found")

    async def health(self, _request: Request) -> Response:
        """Tell whether reports can be stored."""
        writer = self._collector.writer
        if writer is None or not writer.is_alive() or not writer.is_well or writer.is_stuck:
            raise ProblemError("unavailable", "The last transaction failed, or takes too long.", 2)
        return _json({"status": "ok"})

    async def openapi(self, _request: Request) -> Response:
        """Give the OpenAPI document."""
        return _json(document())

    def page(self, name: str) -> Endpoint:
        """Return what gives one page."""

        async def give(_request: Request) -> Response:
            return FileResponse(PAGES / name, headers={"Cache-Control": "no-cache"})

        return give


def _strict(endpoint: Endpoint, queries: Sequence[str]) -> Endpoint:
    """Refuse queries that are not known, or come twice, which only `attributes` and `by` may."""

    async def checked(request: Request) -> Response:
        queried = [name for name, _ in request.query_params.multi_items()]
        once = [name for name in queried if name not in ("attributes", "by")]
        kinds = {LABEL if _is_label(name) else name for name in queried}
        if len(set(once)) < len(once) or not kinds <= set(queries):
            known = ", ".join(queries) if queries else "none"
            raise ProblemError("malformed", f"The queries that are known here: {known}.")
        return await endpoint(request)

    return checked


def _is_label(name: str) -> bool:
    return name.startswith("label[") and name.endswith("]")


def _consistency(request: Request) -> str:
    return request.query_params.get("consistency", "none")


def _metric(name: str, kind: str, about: str, values: dict[str, Any]) -> list[str]:
    full = f"deniable_{name}"
    rows = [f"{full}{labels} {value}" for labels, value in values.items()]
    return [f"# HELP {full} {about}", f"# TYPE {full} {kind}", *rows]
