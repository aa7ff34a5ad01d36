"""The collector's HTTP interface; docs/http.md tells it in full."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from deniable.formats.writing import finite
from deniable.languages import spoken
from deniable.messages.ticket import Ticket
from deniable.release.consistency import METHODS, READABLE
from deniable.server import queries
from deniable.server.access import NEEDS
from deniable.server.analysts import Part
from deniable.server.closing import CLOSED
from deniable.server.collector import Collector, poisoning
from deniable.server.documents import Documents
from deniable.server.handlers import HANDLERS
from deniable.server.heads import is_forwarded
from deniable.server.intake import read_code, read_question_request
from deniable.server.metrics import metrics_text
from deniable.server.openapi import TABLE_TYPES, document
from deniable.server.problems import ProblemError
from deniable.server.queries import Endpoint
from deniable.server.report_endpoint import ReportEndpoint, policy_of, read_body
from deniable.server.tickets import UNKNOWN
from deniable.server.work import Enrolment, EnrolmentOutcome, StoredSurvey

PAGES = Path(__file__).parent / "pages"

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; sandbox allow-scripts"
)
"""The report is one file with its own script; it runs in a sandbox, as if from nowhere."""

_FILE_HEADERS = {"Cache-Control": "no-cache"}
_PAGE_HEADERS = {"Cache-Control": "no-store"}
"""Whoever goes back to a page finds it as if new: the next at a device may be another person."""


def create_app(
    collector: Collector, allow_origins: Sequence[str] = (), embed_in: Sequence[str] = ()
) -> ASGIApp:
    """Return the service; pages of ``embed_in`` may frame the participants' page."""
    service = Starlette(
        routes=_Routes(collector, embed_in).all(),
        exception_handlers=HANDLERS,
        lifespan=collector.running,
    )
    service.router.redirect_slashes = False  # it would send people where their Host header says
    app: ASGIApp = ReportEndpoint(service, collector)
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


class _Files(StaticFiles):
    """What pages load: a browser keeps it, and asks each time whether it is still the same."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_FILE_HEADERS)
        return response


def _json(form: Any) -> Response:
    return Response(_encoded(form), media_type="application/json")


def _encoded(form: Any) -> bytes:
    return json.dumps(finite(form), ensure_ascii=False, allow_nan=False).encode()


@cache
def _openapi() -> bytes:
    return json.dumps(document(), ensure_ascii=False).encode()


class _Routes:
    """What is answered where."""

    def __init__(self, collector: Collector, embed_in: Sequence[str] = ()) -> None:
        self._collector = collector
        self._page_headers = _PAGE_HEADERS | policy_of(embed_in)

    def all(self) -> list[Route | Mount]:
        survey, documents = ("survey",), Documents(self._collector)
        public = {
            "/v1/survey": (self.survey, survey),
            "/v1/surveys": (self.surveys, ()),
            "/v1/texts": (documents.texts, survey),
            "/v1/log": (documents.survey_log, ()),
            "/v1/log/proof": (documents.log_proof, (*survey, "size")),
            "/healthz": (self.health, ()),
            "/openapi.json": (self.openapi, ()),
        }
        routes: list[Route | Mount] = [
            Route("/v1/reports", self.elsewhere, methods=["POST"]),
            Route("/v1/questions", queries.strict(self.questions, ()), methods=["POST"]),
            Route("/v1/session", queries.strict(self.session, ()), methods=["POST"]),
            *(Route(at, queries.strict(do, allowed)) for at, (do, allowed) in public.items()),
            *(
                Route(at, self._for_analysts(at, do, allowed))
                for at, (do, allowed) in self._for_roles().items()
            ),
            # Pages take any query: theirs is `survey`, and other sites add some to links.
            Route("/", self.participant_page),
            Route("/dashboard", self.dashboard),
            Route("/static/languages.json", self.catalogues),
            Mount("/static", _Files(directory=PAGES)),
        ]
        for route in routes:
            NEEDS[route.path]  # or nobody thought of who may ask for it
        return routes

    def _for_roles(self) -> dict[str, tuple[Endpoint, Sequence[str]]]:
        """Return what analysts get, with the queries that each address knows."""
        survey, part = ("survey",), ("survey", queries.LABEL, "pool")
        worded_part = (*part, "language")
        processed_part, read_part = (*part, "consistency"), (*worded_part, "consistency")
        analysts, endpoint = self._collector.analysts, self._document
        marginal = endpoint(
            analysts.marginal, self._part, queries.names, queries.level, queries.readable
        )
        associations = endpoint(
            analysts.associations, self._part, queries.consistency, name="associations"
        )
        return {
            "/v1/release": (endpoint(analysts.overview, self._part), worded_part),
            "/v1/release/poolable": (endpoint(analysts.poolable, self._all_surveys), survey),
            "/v1/release/groups": (
                endpoint(analysts.groups, self._stored_survey),
                survey,
            ),
            "/v1/release/marginal": (marginal, (*read_part, "attributes", "level")),
            "/v1/release/number": (
                endpoint(
                    analysts.number,
                    self._part,
                    queries.attribute,
                    queries.probabilities,
                    queries.level,
                ),
                (*worded_part, "attribute", "probability", "level"),
            ),
            "/v1/release/means": (
                endpoint(analysts.means, self._part, queries.attribute, queries.by, queries.level),
                (*worded_part, "attribute", "by", "level"),
            ),
            "/v1/release/correlation": (
                endpoint(analysts.correlation, self._part, queries.names, queries.level),
                (*part, "attributes", "level"),
            ),
            "/v1/release/associations": (associations, processed_part),
            "/v1/release/tree": (
                endpoint(analysts.tree, self._part, queries.consistency),
                processed_part,
            ),
            "/v1/release/history": (endpoint(analysts.history, self._part, name="history"), part),
            "/v1/release/report": (self.report, read_part),
            **{
                f"/v1/release/tables.{ending}": (self._tables(ending), read_part)
                for ending in TABLE_TYPES
            },
            "/v1/integrity": (endpoint(analysts.integrity, self._part), part),
            "/metrics": (self.metrics, ()),
        }

    # Participants

    async def surveys(self, _request: Request) -> Response:
        rows = []
        for stored_survey in self._collector.surveys:
            survey = stored_survey.survey
            rows.append(
                {
                    "id": survey.id,
                    "attributes": len(survey.schema),
                    "order": survey.order,
                    "epsilon": survey.epsilon,
                    "mechanism": survey.mechanism,
                    "slots": stored_survey.slots,
                    "participants": stored_survey.participants,
                    **await self._collector.endings.form(stored_survey),
                }
            )
        return _json({"surveys": rows})

    async def survey(self, request: Request) -> Response:
        stored_survey = self._stored_survey(request)
        rest = {
            "slots": stored_survey.slots,
            "participants": stored_survey.participants,
            "poisoning": poisoning(stored_survey),
            **await self._collector.endings.form(stored_survey),
        }
        # The survey's own text, byte for byte: its SHA-256 is the id.
        text = f'{{"id":"{stored_survey.survey.id}","survey":{self._collector.text(stored_survey)},'
        return Response(text + json.dumps(rest)[1:], media_type="application/json")

    def _stored_survey(self, request: Request) -> StoredSurvey:
        return self._collector.intake.survey(request.query_params.get("survey"))

    def _part(self, request: Request) -> Part:
        """Return what is asked about: label[region]=north is all of the survey that is so labelled.

        Other surveys that ``pool`` names are read together with it.
        """
        labels = {
            name.removeprefix("label[").removesuffix("]"): value
            for name, value in request.query_params.items()
            if queries.is_label(name)
        }
        language = request.query_params.get("language", "")
        return Part.of(self._stored_survey(request), labels, self._pooled(request), language)

    def _pooled(self, request: Request) -> list[StoredSurvey]:
        return [
            self._collector.intake.survey(name) for name in request.query_params.getlist("pool")
        ]

    def _all_surveys(self, request: Request) -> list[StoredSurvey]:
        """Return the survey that is named, then the others of the store."""
        first = self._stored_survey(request)
        return [first, *(each for each in self._collector.surveys if each != first)]

    async def questions(self, request: Request) -> Response:
        """Give a participant the ticket and the question that are theirs."""
        collector = self._collector
        question_request = read_question_request(
            await read_body(request.scope, request.receive, collector)
        )
        stored_survey = collector.intake.survey(question_request.survey)
        if stored_survey.slots != "assigned":
            raise ProblemError("no-tickets", f"The slots of this survey are {stored_survey.slots}.")
        if stored_survey.participants == "issued":
            enrolment = Enrolment(stored_survey, await self._serial(question_request.token))
        else:
            enrolment = Enrolment(
                stored_survey, None, collector.seal.digest("token", question_request.token.encode())
            )
        collector.buckets.take((stored_survey.number, enrolment.participant, enrolment.token))
        assert collector.writer is not None
        participant: EnrolmentOutcome = await collector.writer.hand_over(enrolment)
        if participant.is_answered:
            raise ProblemError("answered")
        if participant.is_closed:
            raise ProblemError(CLOSED)
        if participant.ticket_key != collector.seal.ticket_key:
            await collector.doorkeeper.refresh()
        slot = stored_survey.slot(participant.serial)
        expiry = collector.seal.expiry(participant.serial, collector.clock())
        survey = bytes.fromhex(stored_survey.survey.id)[:8]
        ticket = collector.seal.ticket(Ticket(survey, participant.serial, slot, expiry))
        expires = datetime.fromtimestamp(expiry * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        question = collector.question(stored_survey, slot)
        return Response(
            f'{{"ticket":"{ticket}","question":{question},"expires":"{expires}"}}',
            media_type="application/json",
        )

    async def _serial(self, issued_id: str) -> int:
        """Return whose an issued id is."""
        collector = self._collector
        serial = collector.seal.participant(issued_id)
        if serial in UNKNOWN:
            final_name = await collector.doorkeeper.settled(str(serial))
            serial = collector.seal.participant(issued_id)
            serial = final_name if serial in UNKNOWN else serial
        if isinstance(serial, str):
            raise ProblemError(serial)
        return serial

    # Analysts

    async def session(self, request: Request) -> Response:
        """Exchange the code of an address for a key that the dashboard shows from then on."""
        collector = self._collector
        code = read_code(await read_body(request.scope, request.receive, collector))
        key = await collector.analysts.work(collector.analysts.exchange, code, collector.clock())
        if key is None:
            raise ProblemError(
                "unauthorized", "This address was opened before, or is too old: get a new one."
            )
        return _json({"token": key})

    def _for_analysts(self, at: str, endpoint: Endpoint, allowed: Sequence[str]) -> Endpoint:
        """Return an endpoint for those who have its role; it is in the log before it answers."""
        role = NEEDS[at]
        assert role is not None

        async def with_token(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            good_token = token.strip() if scheme.lower() == "bearer" else ""
            analyst = await self._collector.doorkeeper.analyst(good_token)
            queries.check(request, allowed)
            await self._collector.admit(analyst, role, self._subject(request, allowed))
            return await endpoint(request)

        return with_token

    def _subject(self, request: Request, allowed: Sequence[str]) -> str:
        """Return what is asked for, for the audit log: names that are the survey's, nothing else."""
        words = [request.url.path]
        if "survey" in allowed:
            survey = self._stored_survey(request).survey
            words.append(survey.id[:16])
            words += [each.survey.id[:16] for each in self._pooled(request)]
            declared = {*survey.schema.names, *survey.labels.names}
            words += [name for name in queries.names_in(request) if name in declared]
        return " ".join(dict.fromkeys(words))

    def _document(
        self, work: Callable[..., Any], *readers: Callable[[Request], Any], name: str | None = None
    ) -> Endpoint:
        """Return an endpoint: what some work makes of the parts of a request, as JSON."""

        def encode(*arguments: Any) -> bytes:
            result = work(*arguments)
            return _encoded(result if name is None else {name: result})

        async def give(request: Request) -> Response:
            arguments = [read(request) for read in readers]
            body = await self._collector.analysts.work(encode, *arguments)
            return Response(body, media_type="application/json")

        return give

    async def report(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return Response(await self._file(request, "html"), 200, headers, "text/html")

    def _tables(self, ending: str) -> Endpoint:
        async def tables(request: Request) -> Response:
            content = await self._file(request, ending)
            name = f"{self._stored_survey(request).survey.id[:16]}.{ending}"
            headers = {"Content-Disposition": f'attachment; filename="{name}"'}
            return Response(content, 200, headers, TABLE_TYPES[ending])

        return tables

    async def _file(self, request: Request, ending: str) -> bytes:
        analysts = self._collector.analysts
        part, consistency = self._part(request), queries.readable(request)
        content: bytes = await analysts.work(analysts.file, part, ending, consistency)
        return content

    async def metrics(self, _request: Request) -> Response:
        text = await metrics_text(self._collector)
        return Response(text, media_type="text/plain; version=0.0.4")

    # Everybody

    async def elsewhere(self, _request: Request) -> Response:
        """Stand for what is answered in front of the routes."""
        raise ProblemError("not-found")

    async def health(self, request: Request) -> Response:
        """Tell whether reports can be stored, and whether a proxy told who asks."""
        writer = self._collector.writer
        if writer is None or not writer.is_alive() or not writer.is_well or writer.is_stuck:
            raise ProblemError("unavailable", "The last transaction failed, or takes too long.", 2)
        return _json({"status": "ok", "forwarded": is_forwarded(request.headers)})

    async def openapi(self, _request: Request) -> Response:
        return Response(_openapi(), media_type="application/json")

    async def participant_page(self, _request: Request) -> Response:
        """Give the participants' page."""
        page = (PAGES / "index.html").read_text(encoding="utf-8")
        if self._collector.is_rehearsal:
            page = page.replace("<html ", "<html data-rehearsal ", 1)
        return HTMLResponse(page, headers=self._page_headers)

    async def catalogues(self, request: Request) -> Response:
        """Give what the participants' page says in all languages."""
        text = spoken()
        headers = _FILE_HEADERS | {"ETag": f'"{sha256(text.encode()).hexdigest()[:32]}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(None, 304, headers)
        return Response(text, 200, headers, "application/json")

    async def dashboard(self, _request: Request) -> Response:
        """Give the analysts' page, on which every consistency method can be chosen."""
        options = "\n".join(
            f'<option value="{escape(method.name)}">{escape(method.says or method.name)}</option>'
            for method in sorted(METHODS.values(), key=lambda method: method.name != READABLE)
        )
        page = (PAGES / "dashboard.html").read_text(encoding="utf-8")
        return HTMLResponse(page.replace("<!-- consistency -->", options), headers=_PAGE_HEADERS)
