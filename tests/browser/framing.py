"""A page of another origin that frames a survey and notes all that it can, as a curious site would."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from page_parts import Running, Visitor, until

HOST = """<!doctype html><title>Another site</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline' {collector}; frame-src {collector};
 style-src 'unsafe-inline'">
<script>
var told = [], noted = {{ scroll: [], history: [], size: [] }};
addEventListener("message", ({{ data }}) => told.push(JSON.stringify(data)));
const note = (kind, what) => noted[kind].at(-1) === what || noted[kind].push(what);
addEventListener("scroll", () => note("scroll", scrollY));
setInterval(() => note("history", history.length), 20);
const size = ([{{ contentRect }}]) => note("size", `${{contentRect.width}} x ${{contentRect.height}}`);
onload = () => new ResizeObserver(size).observe(document.querySelector("deniable-survey"));
</script>
<script src="{collector}/static/survey-element.js"></script>
<h1>Another site</h1>
<deniable-survey survey="{survey}" participant="{token}" aria-label="Work"></deniable-survey>
<div style="height: 3000px"></div>
"""
FRAME = "document.querySelector('deniable-survey').shadowRoot.querySelector('iframe')"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a folder at a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def write_host(folder: Path, collector: Running, survey: str, token: str) -> None:
    """Write the page around a survey."""
    page = HOST.format(collector=collector.url, survey=survey, token=token)
    (folder / "index.html").write_text(page)


def in_frame(visitor: Visitor, code: str) -> Any:
    """Run code in the frame, which the page around it cannot; nothing while there is no frame."""
    visitor.run("0")
    contexts = {
        one["params"]["context"]["uniqueId"]: one["params"]["context"]
        for one in visitor.events
        if one["method"] == "Runtime.executionContextCreated"
    }
    ended = {
        one["params"]["executionContextUniqueId"]
        for one in visitor.events
        if one["method"] == "Runtime.executionContextDestroyed"
    }
    here = visitor.run("location.origin")
    frames = [
        number
        for number, one in contexts.items()
        if number not in ended and one["origin"] not in (here, "://")
    ]
    if frames:
        found = visitor.call(
            "Runtime.evaluate",
            expression=code,
            returnByValue=True,
            userGesture=True,
            awaitPromise=True,
            uniqueContextId=frames[-1],
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")
    return _in_foreign_frame(visitor, code)


def _in_foreign_frame(visitor: Visitor, code: str) -> Any:
    """Run code in a frame of another site, which is a process of its own."""
    browser = visitor._browser
    browser.session = None
    targets = browser.call("Target.getTargets")["targetInfos"]
    frames = [each for each in targets if each["type"] == "iframe" and "?survey=" in each["url"]]
    if not frames:
        return None
    attached = browser.call("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)
    browser.session = attached["sessionId"]
    found = browser.call(
        "Runtime.evaluate",
        expression=code,
        returnByValue=True,
        userGesture=True,
        awaitPromise=True,
    )
    assert "exceptionDetails" not in found, found
    return found["result"].get("value")


def window_of(visitor: Visitor, browser: Any) -> Visitor:
    """Open the window that a frame offers, and return it."""
    browser.session = None
    before = {one["targetId"] for one in browser.call("Target.getTargets")["targetInfos"]}
    in_frame(visitor, "document.querySelector('#framed a').click()")

    def fresh() -> str | None:
        browser.session = None
        targets = browser.call("Target.getTargets")["targetInfos"]
        new = [one for one in targets if one["targetId"] not in before and one["type"] == "page"]
        return new[0]["targetId"] if new else None

    window = Visitor(browser, until(fresh))
    window.look(1000)
    return window


def frame_sees(visitor: Visitor, selector: str) -> bool:
    """Tell whether something is seen in the frame."""
    seen = f"!!document.querySelector({json.dumps(selector)})?.checkVisibility()"
    return bool(in_frame(visitor, seen))
