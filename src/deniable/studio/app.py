"""The studio's HTTP interface, for its own page alone; docs/studio.md tells its rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from deniable.errors import DeniableError
from deniable.formats.reading import parse
from deniable.formats.writing import finite
from deniable.server.app import PAGES as PARTICIPANT_PAGES
from deniable.studio.desk import Desk
from deniable.studio.folder import Folder
from deniable.studio.guard import Guard, read_body
from deniable.studio.problems import StudioProblem
from deniable.studio.session import Session
from deniable.studio.stage import Stage

PAGES = Path(__file__).parent / "pages"
SHARED = ("dom.js", "page.css")
"""What the studio's page shares with the collector's."""

Work = Callable[[dict[str, Any]], Any]


class Studio:
    """Both addresses of the studio, as one application: each request goes by where it came in."""

    def __init__(self, folder: Folder, port: int, stage_port: int) -> None:
        self.session = Session()
        host, stage_host = f"127.0.0.1:{port}", f"127.0.0.1:{stage_port}"
        self.stage = Stage(folder, self.session.stage, stage_host, f"http://{host}")
        self.desk = Desk(folder, self.stage)
        self.address = f"http://{host}/#token={self.session.token}"
        self._stage_port = stage_port
        self._page = Guard(self._routes(), host, f"http://{stage_host}", self.session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer at the address that was asked; what Host says is checked there."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app: ASGIApp = self.stage if scope["server"][1] == self._stage_port else self._page
        await app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin, and at the end take down what was put up."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stage.close()
        await asyncio.to_thread(self.desk.close)
        await send({"type": "lifespan.shutdown.complete"})

    def _routes(self) -> Starlette:
        desk = self.desk
        reads: dict[str, Work] = {"state": desk.state, "collecting": desk.collecting}
        works: dict[str, Work] = {
            "draft": desk.save,
            "import": desk.take_over,
            "plan": desk.plan,
            "needs": desk.needs,
            "trial": desk.try_out,
            "trial/report": desk.report_trial,
            "freeze": desk.freeze,
            "collect": desk.collect,
            "collect/stop": desk.stop,
            "deploy": desk.deploy,
            "read": desk.read,
        }
        routes = [
            Route("/", self._index, methods=["GET"]),
            Route("/api/session", self._exchange, methods=["POST"]),
            Route("/api/preview", self._preview, methods=["POST"]),
            *(Route(f"/api/{name}", _reading(work)) for name, work in reads.items()),
            *(
                Route(f"/api/{name}", _posted(work), methods=["POST"])
                for name, work in works.items()
            ),
            *(Route(f"/static/{name}", _shared(name), methods=["GET"]) for name in SHARED),
            Mount("/static", StaticFiles(directory=PAGES)),
        ]
        handlers: dict[Any, Any] = {
            HTTPException: _http_problem,
            StudioProblem: _problem,
            Exception: _mistake,
        }
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False
        return app

    async def _index(self, _request: Request) -> Response:
        return FileResponse(PAGES / "studio.html")

    async def _exchange(self, request: Request) -> Response:
        body = await _body_of(request)
        return _json({"key": self.session.exchange(body.get("token"))})

    async def _preview(self, request: Request) -> Response:
        """Put the draft on the stage, and say where that is."""
        await _body_of(request)
        try:
            draft = await asyncio.to_thread(self.desk.drafts.current)
            if draft.questionnaire is None:
                raise StudioProblem("impossible", draft.flaw or "")
            survey = await self.stage.rehearse(draft.questionnaire, draft.revision)
        except DeniableError as error:
            raise StudioProblem("impossible", str(error)) from None
        return _json(
            {
                "address": f"{self.stage.address}/page/",
                "survey": survey.id,
                "languages": list(draft.questionnaire.languages),
            }
        )


def _reading(work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def give(_request: Request) -> Response:
        return _json(await _result(work, {}))

    return give


def _posted(work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def take(request: Request) -> Response:
        return _json(await _result(work, await _body_of(request)))

    return take


async def _result(work: Work, body: dict[str, Any]) -> Any:
    """Do some work beside the loop; what deniable refuses is a problem with its sentence."""
    try:
        return await asyncio.to_thread(work, body)
    except DeniableError as error:
        raise StudioProblem("impossible", str(error)) from None


async def _body_of(request: Request) -> dict[str, Any]:
    body = await read_body(request.scope, request.receive)
    try:
        form = parse(body)
        json.dumps(form, ensure_ascii=False).encode()  # half a letter cannot be written anywhere
    except ValueError:
        raise StudioProblem("malformed", "The request is not JSON.") from None
    if not isinstance(form, dict):
        raise StudioProblem("malformed", "A request is an object.")
    return form


def _shared(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def give(_request: Request) -> Response:
        return FileResponse(PARTICIPANT_PAGES / name)

    return give


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, StudioProblem)
    return error.response()


async def _mistake(_request: Request, _error: Exception) -> Response:
    return StudioProblem("internal").response()


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "not-found", 405: "method-not-allowed"}
    response = StudioProblem(names.get(error.status_code, "malformed")).response()
    response.headers.update(error.headers or {})
    return response


def _json(form: Any) -> Response:
    text = json.dumps(finite(form), ensure_ascii=False, allow_nan=False)
    return Response(text, media_type="application/json")
