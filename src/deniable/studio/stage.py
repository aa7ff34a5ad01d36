"""The stage: where the studio shows what others wrote, the participant's page and reports.

It is a second address of this machine, with a port of its own, and so another origin than the studio's:
whatever a text might bring a page on the stage to do, it cannot reach the studio's page or its key, and
the studio takes nothing from that origin. A frame in the studio's own origin would have to choose
between `allow-same-origin`, with which a script reaches the studio, and a nameless origin, in which the
participant's page has no storage for its ledger. The address holds a secret of its own, so that other
programs and people of this machine do not read a draft there.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from deniable.api.survey import Survey
from deniable.errors import SurveyError
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.server.app import REPORT_POLICY, create_app
from deniable.server.collector import Collector
from deniable.server.limits import Buckets
from deniable.server.problems import ProblemError
from deniable.server.report_endpoint import POLICY
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.studio.folder import Folder
from deniable.studio.guard import HeaderSender, check_host, check_origin, tell
from deniable.studio.problems import StudioProblem

_PAGE, _REPORT = "/page", "/report/"
_OPEN = ("/", "/v1/surveys", "/v1/survey", "/v1/texts", "/v1/questions", "/v1/reports")
REPORTS = ("trial", "results")
"""The folders whose reports are shown."""


class Rehearsal(Collector):
    """A collector that checks what it is sent, says that it counted it, and forgets it."""

    is_rehearsal = True

    async def take(self, body: bytes, key: str | None) -> bytes:
        """Take reports as a collector would, and store none of them."""
        sent_reports, _ = self.intake.read(body, key)
        _, refusals = self.intake.reports(sent_reports, body, key)
        if refusals:
            raise ProblemError(refusals[0][1])
        return b'{"accepted":1}'


class _Show(NamedTuple):
    """What is on the stage: the service of one draft, and how to end it."""

    revision: str
    survey: Survey
    app: ASGIApp
    end: AsyncExitStack


class Stage:
    """The second address: the participant's page of a draft, and reports of the folder."""

    def __init__(self, folder: Folder, secret: str, host: str, studio: str) -> None:
        self._folder, self._host = folder, host
        self.root = f"/{secret}"
        self.address = f"http://{host}{self.root}"
        self._show: _Show | None = None
        self._lock = asyncio.Lock()
        ancestors = f"frame-ancestors {studio}"
        policy = POLICY.decode().replace("frame-ancestors 'none'", ancestors)
        report = REPORT_POLICY.replace("frame-ancestors 'none'", ancestors)
        self._page_headers = _headers(policy)
        self._report_headers = _headers(report)
        # A draft is answered again and again, and each time as if for the first time.
        self._fresh_headers = self._page_headers | {b"clear-site-data": b'"storage"'}

    async def rehearse(self, questionnaire: Questionnaire, revision: str) -> Survey:
        """Put a draft on the stage, unless it is there; return the survey that it would be."""
        async with self._lock:
            if self._show is None or self._show.revision != revision:
                survey = await asyncio.to_thread(Survey.from_questionnaire, questionnaire)
                await self._close()
                self._show = await self._opened(survey, questionnaire, revision)
            return self._show.survey

    async def _opened(self, survey: Survey, questionnaire: Questionnaire, revision: str) -> _Show:
        async with AsyncExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="deniable-"))
            url = f"sqlite:///{Path(place) / 'rehearsal.db'}"
            with open_store(url) as store:
                prepare(store, [survey], Rules(), {survey.id: questionnaire.texts})
            collector = Rehearsal(lambda: open_store(url, create=False), buckets=Buckets(1e9, 1e9))
            await stack.enter_async_context(collector.running(Starlette()))
            return _Show(revision, survey, create_app(collector), stack.pop_all())

    async def close(self) -> None:
        """Take what is there off the stage."""
        async with self._lock:
            await self._close()

    async def _close(self) -> None:
        show, self._show = self._show, None
        if show is not None:
            await show.end.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer whoever knows the stage's address."""
        sender = HeaderSender(send, self._page_headers)
        try:
            check_host(scope, self._host)
            path: str = scope["path"]
            if not path.startswith(f"{self.root}/"):
                raise StudioProblem("not-found")
            rest = path.removeprefix(self.root)
            if rest.startswith(_REPORT):
                report = self._report(scope, rest.removeprefix(_REPORT))
                sender.headers = self._report_headers
                await report(scope, receive, sender)
                return
            await self._play(rest.removeprefix(_PAGE), rest, scope, receive, sender)
        except StudioProblem as problem:
            await problem.response()(scope, receive, sender)
        except Exception as error:
            tell(error)
            if not sender.has_started:
                await StudioProblem("internal").response()(scope, receive, sender)

    async def _play(
        self, path: str, rest: str, scope: Scope, receive: Receive, sender: HeaderSender
    ) -> None:
        """Let the draft's collector answer."""
        is_known = path in _OPEN or path.startswith("/static/")
        if self._show is None or not rest.startswith(f"{_PAGE}/") or not is_known:
            raise StudioProblem("not-found")
        if path != "/":  # the studio frames the page itself, and nothing else
            check_origin(scope, f"http://{self._host}")
        if path == "/":
            sender.headers = self._fresh_headers
        inner = dict(scope, path=path, raw_path=path.encode(), root_path="")
        await self._show.app(inner, receive, sender)

    def _report(self, scope: Scope, name: str) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise StudioProblem("method-not-allowed")
        is_report = name.partition("/")[0] in REPORTS and name.endswith(".html")
        try:
            text = self._folder.read(name) if is_report else None
        except SurveyError:  # a name that leads elsewhere
            text = None
        if text is None:
            raise StudioProblem("not-found")
        return Response(text, media_type="text/html")


def _headers(policy: str) -> dict[bytes, bytes]:
    """Return headers that let the studio frame a page; an empty one takes another's away."""
    return {
        b"content-security-policy": policy.encode(),
        b"cache-control": b"no-store",
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cross-origin-resource-policy": b"same-origin",
        b"x-frame-options": b"",
    }
