"""The collector's HTTP interface; docs/http.md tells it in full."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.questions.answers import Bitwise
from deniable.server.analysts import LEVEL, Analysts, finite
from deniable.server.intake import Intake, read_asking
from deniable.server.limits import Buckets
from deniable.server.openapi import document
from deniable.server.problems import ProblemError
from deniable.server.store import Ask, Held, Store
from deniable.server.tickets import Ticket
from deniable.server.writer import Writer, hour

__all__ = ["Collector", "create_app"]

MOST_BYTES = 8 << 20
"""The largest request that is read."""

MOST_IN_WORK = 2_000
"""Requests that are in work at once."""

PAGES = Path(__file__).parent / "pages"

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""What every response carries, unless it says otherwise."""

PAGE_HEADERS = (
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What is added where a browser would show or run it: all that is not data."""

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'; sandbox allow-scripts"
)
"""The report is one file with its own script; it runs in a sandbox, as if from nowhere."""

_CHECKPOINT = 30.0

Endpoint = Callable[[Request], Awaitable[Response]]


class Collector:
    """A store, its surveys, and the threads that work on them."""

    def __init__(
        self,
        opened: Callable[[], Store],
        *,
        surveys: Sequence[str] | None = None,
        clock: Callable[[], int] = hour,
        buckets: Buckets | None = None,
    ) -> None:
        self.opened, self.clock = opened, clock
        self.store = opened()
        held = self.store.surveys()
        self.surveys = [h for h in held if surveys is None or h.mechanism.id in surveys]
        self.seal = self.store.seal()
        self.intake = Intake(self.seal, self.surveys, clock)
        self.analysts = Analysts(opened)
        self.buckets = Buckets() if buckets is None else buckets
        self._analyst = self.store.setting("analyst") or b""
        self.writer: Writer | None = None
        self.in_work = 0
        self.answers: Counter[int] = Counter()
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self._question = lru_cache(4096)(self._made_question)

    def knows(self, token: str) -> bool:
        """Tell whether a token is the analysts', in a time that does not depend on it."""
        return compare_digest(sha256(token.encode()).digest(), self._analyst)

    async def take(self, body: bytes, key: str | None) -> bytes:
        """Take the reports of a request; they are durable when this returns the answer."""
        reports, refused, is_many = self.intake.reports(body, key)
        count = len(refused) + reports.size
        if reports.size:
            if not is_many and reports.arrivals[0].keys:
                self.buckets.take(reports.arrivals[0].keys[0])
            assert self.writer is not None
            outcome = await self.writer.store(reports)
            if outcome.problem:
                raise ProblemError(outcome.problem)
            refused += outcome.refused
        self.accepted += count - len(refused)
        for _, name in refused:
            self.refused[name] += 1
        if not is_many:
            if refused:
                raise ProblemError(refused[0][1])
            return b'{"accepted":1}'
        rows = [{"index": index, "type": name} for index, name in sorted(refused)]
        return json.dumps({"accepted": count - len(rows), "refused": rows}).encode()

    def _made_question(self, survey: str, slot: int) -> str:
        held = self.intake.survey(survey)
        return json.dumps(held.mechanism.question(slot).to_json(), ensure_ascii=False)

    def question(self, held: Held, slot: int) -> str:
        """Return a question's JSON text."""
        return self._question(held.mechanism.id, slot)

    @asynccontextmanager
    async def running(self, _app: Starlette) -> AsyncIterator[None]:
        """Write while the service runs; at its end, store what still waits."""
        self.writer = Writer(self.store, self.clock)
        self.writer.start()
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            self.writer.close()
            await run_in_threadpool(self.writer.join)
            await run_in_threadpool(self.analysts.answer, self.analysts.close)

    async def _watch(self) -> None:
        """Write down how wide intervals are whenever people have doubled."""
        while True:
            await asyncio.sleep(_CHECKPOINT)
            for held in self.surveys:
                try:
                    await run_in_threadpool(self.analysts.answer, self.analysts.checkpoint, held)
                except ProblemError:
                    continue  # later


def create_app(collector: Collector, allow_origins: Sequence[str] = ()) -> ASGIApp:
    """Return the service."""
    app: ASGIApp = Starlette(
        routes=_Routes(collector).all(),
        exception_handlers={
            ProblemError: _problem,
            HTTPException: _http_problem,
            ClientDisconnect: _gone,
            Exception: _mistake,
        },
        lifespan=collector.running,
    )
    app = _Frame(_Reports(app, collector), collector)
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
    made = ProblemError(names.get(error.status_code, "malformed")).response()
    made.headers.update(error.headers or {})
    return made


async def _gone(_request: Request, _error: Exception) -> Response:
    return ProblemError("malformed").response()  # nobody is there to read it


async def _mistake(_request: Request, _error: Exception) -> Response:
    return ProblemError("internal").response()


class _Frame:
    """Around every request: a limit to how many are in work, security headers, and counting."""

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app, self._collector = app, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        collector, started = self._collector, False

        async def framed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                collector.answers[message["status"]] += 1
                _add_headers(message["headers"])
            await send(message)

        if collector.in_work >= MOST_IN_WORK:
            busy = ProblemError("unavailable", "Too many requests are in work.", 1)
            await busy.response()(scope, receive, framed)
            return
        collector.in_work += 1
        try:
            await self._app(scope, receive, framed)
        except Exception:
            if not started:
                await ProblemError("internal").response()(scope, receive, framed)
            raise  # so that somebody hears of it
        finally:
            collector.in_work -= 1


def _add_headers(headers: list[tuple[bytes, bytes]]) -> None:
    own = dict(headers)
    kind = own.get(b"content-type", b"")
    extra = (
        HEADERS
        if kind.startswith((b"application/json", b"application/problem"))
        else (HEADERS + PAGE_HEADERS)
    )
    headers.extend(header for header in extra if header[0] not in own)


class _Reports:
    """Takes reports, in front of everything else: nothing stands between them and the writer."""

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app, self._collector = app, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/v1/reports" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await read_body(scope, receive)
            answer = await self._collector.take(body, _header(scope, b"idempotency-key"))
        except ProblemError as problem:
            await problem.response()(scope, receive, send)
            return
        except ClientDisconnect:
            return
        length = str(len(answer)).encode()
        headers = [(b"content-length", length), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


def _header(scope: Scope, wanted: bytes) -> str | None:
    for name, value in scope["headers"]:
        if name == wanted:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Read a request, up to the limit."""
    length = _header(scope, b"content-length") or "0"
    if not length.isdigit() or int(length) > MOST_BYTES:
        raise _too_large()
    read = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body: bytes = message.get("body", b"")
        read = read + body if read else body
        if len(read) > MOST_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return read


def _too_large() -> ProblemError:
    return ProblemError("too-large", f"A request has at most {MOST_BYTES:,} bytes.")


def _json(form: Any) -> Response:
    return Response(
        json.dumps(finite(form), ensure_ascii=False, allow_nan=False), media_type="application/json"
    )


class _Routes:
    """What is answered where."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def all(self) -> list[Route | Mount]:
        survey, made = ("survey",), ("survey", "consistency")
        public = {
            "/v1/survey": (self.survey, survey),
            "/v1/surveys": (self.surveys, ()),
            "/healthz": (self.health, ()),
            "/openapi.json": (self.openapi, ()),
            "/": (self.page("index.html"), ()),
            "/dashboard": (self.page("dashboard.html"), ()),
        }
        guarded = {
            "/v1/release": (self.release, survey),
            "/v1/release/marginal": (self.marginal, (*made, "attributes", "level")),
            "/v1/release/associations": (self.associations, made),
            "/v1/release/tree": (self.tree, made),
            "/v1/release/history": (self.history, survey),
            "/v1/release/report": (self.report, made),
            "/v1/release/tables.{ending}": (self.tables, made),
            "/v1/integrity": (self.integrity, survey),
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
            Mount("/static", StaticFiles(directory=PAGES)),
        ]

    # Participants

    async def surveys(self, _request: Request) -> Response:
        """Tell which surveys there are."""
        rows = []
        for held in self._collector.surveys:
            mechanism = held.mechanism
            rows.append(
                {
                    "id": mechanism.id,
                    "attributes": len(mechanism.schema),
                    "order": mechanism.order,
                    "epsilon": mechanism.epsilon,
                    "mechanism": mechanism.name,
                    "slots": held.slots,
                    "participants": held.participants,
                }
            )
        return _json({"surveys": rows})

    async def survey(self, request: Request) -> Response:
        """Tell all of one survey."""
        held = self._held(request)
        rest = {
            "slots": held.slots,
            "participants": held.participants,
            "poisoning": poisoning(held),
        }
        # The survey's own text, byte for byte: its SHA-256 is the id.
        text = f'{{"id":"{held.mechanism.id}","survey":{held.mechanism.canonical()},'
        return Response(text + json.dumps(rest)[1:], media_type="application/json")

    def _held(self, request: Request) -> Held:
        return self._collector.intake.survey(request.query_params.get("survey"))

    async def questions(self, request: Request) -> Response:
        """Give a participant the ticket and the question that are theirs."""
        collector = self._collector
        wish = read_asking(await read_body(request.scope, request.receive))
        held = collector.intake.survey(wish.survey)
        if held.slots != "assigned":
            raise ProblemError("no-tickets", f"The slots of this survey are {held.slots}.")
        if held.participants == "issued":
            participant = collector.seal.participant(wish.token)
            if participant is None:
                raise ProblemError("participant-unknown")
            ask = Ask(held, participant)
        else:
            ask = Ask(held, None, collector.seal.digest("token", wish.token.encode()))
        collector.buckets.take((held.number, ask.participant, ask.token))
        assert collector.writer is not None
        asked = await collector.writer.ask(ask)
        if asked.answered:
            raise ProblemError("answered")
        slot = collector.seal.slot(held.mechanism, asked.participant)
        expiry = collector.seal.expiry(asked.participant, collector.clock())
        survey = bytes.fromhex(held.mechanism.id)[:8]
        ticket = collector.seal.ticket(Ticket(survey, asked.participant, slot, expiry))
        expires = datetime.fromtimestamp(expiry * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        question = collector.question(held, slot)
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

    async def _made(self, what: Callable[..., Any], *arguments: Any) -> Any:
        return await run_in_threadpool(self._collector.analysts.answer, what, *arguments)

    async def release(self, request: Request) -> Response:
        """Tell what there is so far."""
        return _json(await self._made(self._collector.analysts.overview, self._held(request)))

    async def marginal(self, request: Request) -> Response:
        """Give one table."""
        asked = request.query_params
        names = [name for name in asked.get("attributes", "").split(",") if name]
        try:
            level = float(asked.get("level", LEVEL))
        except ValueError:
            raise ProblemError("malformed", "The level must be a number between 0 and 1.") from None
        made = self._collector.analysts.marginal
        return _json(
            await self._made(made, self._held(request), names, level, _consistency(request))
        )

    async def associations(self, request: Request) -> Response:
        """Give a test for each pair of attributes."""
        made = self._collector.analysts.associations
        rows = await self._made(made, self._held(request), _consistency(request))
        return _json({"associations": rows})

    async def tree(self, request: Request) -> Response:
        """Give the tree."""
        made = self._collector.analysts.tree
        return _json(await self._made(made, self._held(request), _consistency(request)))

    async def history(self, request: Request) -> Response:
        """Tell how wide intervals were."""
        rows = await self._made(self._collector.analysts.history, self._held(request))
        return _json({"history": rows})

    async def report(self, request: Request) -> Response:
        """Give the report, one file."""
        made = self._collector.analysts.file
        page = await self._made(made, self._held(request), "html", _consistency(request))
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
        held = self._held(request)
        made = self._collector.analysts.file
        content = await self._made(made, held, ending, _consistency(request))
        name = f"{held.mechanism.id[:16]}.{ending}"
        return Response(
            content,
            media_type=types[ending],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def integrity(self, request: Request) -> Response:
        """Tell what the integrity monitor sees."""
        return _json(await self._made(self._collector.analysts.integrity, self._held(request)))

    async def metrics(self, _request: Request) -> Response:
        """Give numbers about the service, for Prometheus."""
        collector = self._collector
        writer = collector.writer
        assert writer is not None
        people = {
            held.mechanism.id: await self._made(collector.analysts.people, held)
            for held in collector.surveys
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
        ]  # fmt: skip
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    # Everybody

    async def elsewhere(self, _request: Request) -> Response:
        """Stand for what is answered in front of the routes."""
        raise ProblemError("not-found")

    async def health(self, _request: Request) -> Response:
        """Tell whether reports can be stored."""
        writer = self._collector.writer
        if writer is None or not writer.is_alive() or not writer.is_well:
            raise ProblemError("unavailable", "The last transaction failed.", 2)
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
    """Refuse queries that are not known, or come twice."""

    async def checked(request: Request) -> Response:
        given = [name for name, _ in request.query_params.multi_items()]
        if len(set(given)) < len(given) or not set(given) <= set(queries):
            known = ", ".join(queries) if queries else "none"
            raise ProblemError("malformed", f"The queries that are known here: {known}.")
        return await endpoint(request)

    return checked


def _consistency(request: Request) -> str:
    return request.query_params.get("consistency", "none")


def _metric(name: str, kind: str, about: str, values: dict[str, Any]) -> list[str]:
    full = f"deniable_{name}"
    rows = [f"{full}{labels} {value}" for labels, value in values.items()]
    return [f"# HELP {full} {about}", f"# TYPE {full} {kind}", *rows]


def poisoning(held: Held) -> str:
    """Return how far liars can push an estimate, in one sentence."""
    if held.slots == "drawn":
        return "There is no bound: participants choose their own questions, as often as they like."
    if held.participants == "open":
        return "There is no bound: anybody can take part any number of times, under other tokens."
    mechanism = held.mechanism
    if any(isinstance(shape.answer, Bitwise) for shape in mechanism.shapes):
        return "Each issued id counts once, about a question it cannot choose; no bound is known."
    largest = max(
        shape.answer.reach / float(shape.answer.inclusion.contrast)
        for shape in mechanism.shapes
        if not isinstance(shape.answer, Bitwise)
    )
    choice = "" if held.slots == "assigned" else " (on average over ids that cannot be chosen)"
    return (
        "If 1 % of the participants lie, they shift no coefficient by more than "
        f"{0.01 * (largest + 1):.3f}{choice}: each issued id counts once, about a question that it "
        "cannot choose."
    )
