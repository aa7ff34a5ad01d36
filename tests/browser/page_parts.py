"""A real collector in a thread, and a visitor who sees and clicks its pages in a real browser."""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import uvicorn

from deniable import Survey
from deniable.collector.tally import TallyCounts
from deniable.messages.ticket import Ticket, split_ticket
from deniable.questionnaire import Texts
from deniable.questionnaire.wordings import wordings
from deniable.questions.question import Question
from deniable.server.access import FIRST
from deniable.server.app import Collector, create_app
from deniable.server.dashboard_codes import new_code
from deniable.server.limits import Buckets
from deniable.server.serve import Rules, new_token, prepare
from deniable.server.store import Store
from deniable.server.stores import open_store

PATIENCE = 90.0

SPY = """
var drawn = 0, rigged;
const own = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => {
  drawn++;
  (rigged ?? own)(new Uint8Array(array.buffer));
  return array;
};
"""
"""Counts how often a page asks for randomness; `rigged` may give it other bytes."""

HURRY = """
const patient = globalThis.setTimeout;
globalThis.setTimeout = (work, wait, ...rest) => patient(work, wait / 40, ...rest);
"""
"""Lets a page wait a fortieth of its time."""

SEEN = (
    "(() => {{ const one = document.querySelector({0}); return !!one && one.checkVisibility() }})()"
)
CENTRE = """(() => {{
  const one = document.querySelector({0});
  one.scrollIntoView({{ block: "center", behavior: "instant" }});
  const {{ x, y, width, height }} = one.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}})()"""


VIOLATIONS = """axe.run(document, { iframes: false }).then(({ violations }) =>
  violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(" "))]))"""


def axe(visitor: Visitor) -> list[Any]:
    """Return what axe-core finds wrong with a page."""
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "axe.min.js"
    visitor.run(path.read_text("utf-8") + ";0")
    return list(visitor.run(VIOLATIONS))


def in_line(text: str) -> str:
    """Return lines of text as one, without the signs of their lists."""
    lines = [re.sub(r"^\s*(• |\d+\. )", "", line) for line in text.splitlines()]
    return " ".join(" ".join(lines).split())


def words_of(question: Question, survey: Survey, tag: str = "en", texts: Any = None) -> str:
    """Return a question as Python says it, in one line."""
    return in_line(question.words(tag, wordings(survey.schema, tag, texts)))


def sent_report(visitor: Visitor) -> dict[str, str]:
    """Return what a visit sent, with the slot that its ticket is for."""
    [body] = [body for path, body in visitor.posts if path == "/reports"]
    sealed, _ = split_ticket(body["ticket"]) or (b"", b"")
    return {"slot": str(Ticket.of(sealed).slot), "value": body["value"]}


class Running:
    """A collector with a new SQLite store, served on a free port until the end."""

    def __init__(
        self,
        folder: Path,
        *surveys: Survey,
        embed_in: Sequence[str] = (),
        texts: Mapping[str, Texts] = MappingProxyType({}),
        behind: Callable[[Any], Any] = lambda app: app,
        **rules: Any,
    ) -> None:
        self._url = f"sqlite:///{folder / 'store.db'}"
        with open_store(self._url) as store:
            prepare(store, surveys, Rules(**rules), texts)
            self.token = new_token(store)
        listening = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio delays small answers
        listening.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = create_app(Collector(self._opened, buckets=Buckets(1e9, 1e9)), (), embed_in)
        config = uvicorn.Config(behind(app), access_log=False, log_level="warning", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        self._socket = listening
        until(lambda: self._server.started)

    def _opened(self) -> Store:
        return open_store(self._url, create=False)

    def ids(self, count: int) -> list[str]:
        """Issue participant ids."""
        with self._opened() as store:
            return store.issue_ids(count)

    @property
    def dashboard(self) -> str:
        """Return an address that opens the dashboard, once."""
        with self._opened() as store:
            return f"{self.url}/dashboard#code={new_code(store, FIRST)}"

    def tally(self) -> TallyCounts:
        """Return what is counted for the first survey."""
        with self._opened() as store:
            return store.tally(store.surveys()[0])

    def end(self, survey_id: str) -> None:
        """Close a survey."""
        with self._opened() as store:
            (stored_survey,) = [one for one in store.surveys() if one.survey.id == survey_id]
            store.close_survey(stored_survey)

    @property
    def people(self) -> int:
        """Return how many reports are counted for the first survey."""
        return self.tally().people

    def close(self) -> None:
        """End the service."""
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._socket.close()


class NavigatedError(Exception):
    """The page went elsewhere while it was looked at."""


def until(is_so: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Wait until something is so."""
    end = time.monotonic() + patience
    while not (found := is_so()):
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
    return found


class Visitor:
    """One tab of a browser: what somebody does with a page, and all that the page asks for."""

    def __init__(self, browser: Any, target: str | None = None) -> None:
        self._browser = browser
        browser.session = None
        self._target = target or browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = browser.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol for this tab."""
        self._browser.session = self._session
        return dict(self._browser.call(method, **parameters))

    def run(self, code: str) -> Any:
        """Run JavaScript in the page."""
        self._browser.session = self._session
        return self._browser.run(code)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the browser told about this tab."""
        return [one for one in self._browser.events if one.get("sessionId") == self._session]

    def before(self, script: str) -> None:
        """Run a script in every page before its own."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def look(self, width: int, is_dark: bool = False) -> None:
        """Take a window of this width, in the light or in the dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # clicks shall not miss
        self.call("Emulation.setEmulatedMedia", features=[scheme, still])

    def go(self, url: str, expects: str) -> None:
        """Go to a page and wait until something is seen there."""
        self.call("Page.navigate", url="about:blank")
        self._browser.events.clear()
        self.call("Page.navigate", url=url)
        self.wait(expects)

    def holds(self, code: str) -> bool:
        """Tell whether something is so in the page; on one that is going elsewhere nothing is."""
        try:
            return bool(self.run(code))
        except NavigatedError:
            return False

    def leave(self, code: str) -> None:
        """Run what leads elsewhere, once the browser has said that it will."""
        self.run(f"void setTimeout(() => {{ {code} }})")

    def reload(self, expects: str) -> None:
        """Load the page again, and wait until something is seen in the new one."""
        self.run("stale = true")
        self.call("Page.reload")
        until(lambda: self.holds("typeof stale == 'undefined'"))
        self.wait(expects)

    def sees(self, selector: str) -> bool:
        """Tell whether something is seen."""
        return self.holds(SEEN.format(json.dumps(selector)))

    def wait(self, selector: str, patience: float = PATIENCE) -> None:
        """Wait until something is seen."""
        until(lambda: self.sees(selector), patience)

    def text(self, selector: str) -> str:
        """Read something; a space is a space."""
        read = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return str(read).replace("\N{NO-BREAK SPACE}", " ")

    def click(self, selector: str) -> None:
        """Click at something with the mouse."""
        x, y = self.run(CENTRE.format(json.dumps(selector)))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.click(selector)
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                **({"text": text} if text and kind == "keyDown" else {}),
            )  # fmt: skip

    def offline(self, is_off: bool) -> None:
        """Cut the page's network, or mend it."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=is_off, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip

    def forget(self, url: str) -> None:
        """Clear all that the browser keeps for a site."""
        self.call("Storage.clearDataForOrigin", origin=url, storageTypes="all")

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests, the page's own included."""
        sent = [e["params"]["request"] for e in self.events
                if e["method"] == "Network.requestWillBeSent"]  # fmt: skip
        return [one for one in sent if not one["url"].startswith(("data:", "blob:"))]

    @property
    def posts(self) -> list[tuple[str, dict[str, Any]]]:
        """The path and the body of each POST."""
        return [
            (one["url"].partition("/v1")[2], json.loads(one["postData"]))
            for one in self.requests
            if one["method"] == "POST"
        ]

    @property
    def complaints(self) -> list[Any]:
        """All that the page said to the console, and every error."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [one["params"] for one in self.events if one["method"] in kinds]

    def _hear(self) -> Any:
        """Take in what the browser tells, and ask no page, which may just be going away."""
        self._browser.session = None
        return self._browser.call("Browser.getVersion")

    def forge(
        self,
        path: str,
        change: Callable[[dict[str, Any]], None],
        doing: Sequence[str],
        status: int = 200,
    ) -> None:
        """Click at something, and change the collector's next answer from a path on its way here."""
        self.call(
            "Fetch.enable", patterns=[{"urlPattern": f"*{path}*", "requestStage": "Response"}]
        )
        for one in doing:
            self.leave(one)
        came = until(lambda: self._hear() and [e for e in self.events
                                               if e["method"] == "Fetch.requestPaused"])  # fmt: skip
        number = came[-1]["params"]["requestId"]
        body = self.call("Fetch.getResponseBody", requestId=number)
        text = base64.b64decode(body["body"]) if body["base64Encoded"] else body["body"]
        form = json.loads(text)
        change(form)
        self.call(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=status,
            responseHeaders=[{"name": "Content-Type", "value": "application/json"}],
            body=base64.b64encode(json.dumps(form).encode()).decode(),
        )
        self.call("Fetch.disable")

    def close(self) -> None:
        """Close the tab."""
        self._browser.session = None
        self._browser.call("Target.closeTarget", targetId=self._target)
