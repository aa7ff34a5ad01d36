"""<deniable-survey> in a page of another origin: what it shows, what it tells, and who may show it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from page_parts import Running, Visitor, until

from deniable import Schema, Survey

SURVEY = Survey(Schema.binary("Grumbling", "Romance"), 2, 1.1, "MargPS")
PAGES = Path(__file__).parents[2] / "src" / "deniable" / "server" / "pages"

HOST = """<!doctype html><title>Another site</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline' {collector}; frame-src {collector};
 style-src 'unsafe-inline'">
<script>
var told = [];
for (const name of ["answered", "refused"])
  addEventListener(`deniable-${{name}}`, (event) => told.push([name, event.target.localName]));
addEventListener("message", ({{ data }}) => told.push(["message", JSON.stringify(data)]));
</script>
<script src="{collector}/static/survey-element.js"></script>
<h1>Another site</h1>
<deniable-survey survey="{survey}" participant="{token}" aria-label="Work"></deniable-survey>
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str]]]:
    """Return a folder, and two origins that serve it, of another site than the collector's."""
    folder = tmp_path_factory.mktemp("site")
    servers = [
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) for _ in range(2)
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, [f"http://localhost:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


def in_frame(visitor: Visitor, code: str) -> Any:
    """Run code in the frame, which the page around it cannot: it is a process of its own."""
    browser = visitor._browser
    browser.session = None
    targets = browser.call("Target.getTargets")["targetInfos"]
    frame = next((each for each in targets if each["type"] == "iframe"), None)
    if frame is None:
        return None
    attached = browser.call("Target.attachToTarget", targetId=frame["targetId"], flatten=True)
    browser.session = attached["sessionId"]
    result = browser.call("Runtime.evaluate", expression=code, returnByValue=True)
    assert "exceptionDetails" not in result, result
    return result["result"].get("value")


def frame_sees(visitor: Visitor, selector: str) -> bool:
    seen = f"!!document.querySelector({json.dumps(selector)})?.checkVisibility()"
    return bool(in_frame(visitor, seen))


HEIGHT = "document.querySelector('deniable-survey').shadowRoot.querySelector('iframe').offsetHeight"


@pytest.mark.slow
def test_a_survey_in_another_page_tells_that_and_not_what(
    browser: Any, sites: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, (friend, stranger) = sites
    collector = Running(tmp_path, SURVEY, embed_in=[friend], participants="issued")
    visitor = Visitor(browser)
    visitor.look(390)
    (token,) = collector.ids(1)
    page = folder / "index.html"
    page.write_text(HOST.format(collector=collector.url, survey=SURVEY.id, token=token))
    visitor.go(f"{friend}/", "deniable-survey")
    until(lambda: frame_sees(visitor, "#fill"))
    until(lambda: visitor.run(HEIGHT) not in (0, 640))
    tall = visitor.run(HEIGHT)
    inner = in_frame(visitor, "document.documentElement.getBoundingClientRect().height")
    assert abs(tall - inner) < 2
    assert in_frame(visitor, "document.documentElement.scrollWidth <= innerWidth")
    # The page around it reads nothing of the frame.
    frame = "document.querySelector('deniable-survey').shadowRoot.querySelector('iframe')"
    assert visitor.run(f"{frame}.contentDocument") is None
    assert visitor.run(f"{frame}.title") == "Work"
    for code in (
        "for (const one of document.querySelectorAll('#items input')) one.click()",
        "document.querySelector('#fill button[type=submit], #fill form button').click()",
    ):
        in_frame(visitor, code)
    until(lambda: frame_sees(visitor, "#ask"))
    in_frame(visitor, "document.querySelector('#ask input[type=checkbox]')?.click()")
    in_frame(visitor, "document.querySelector('#agree, #ask button').click()")
    until(lambda: visitor.run("told.some(([name]) => name === 'answered')"))
    assert collector.people == 1
    told = visitor.run("told")
    events = [each for each in told if each[0] != "message"]
    assert events == [["answered", "deniable-survey"]]
    messages = [json.loads(text) for name, text in told if name == "message"]
    assert {name for message in messages for name in message} == {"deniable", "height"}
    # No request that another site or a log sees holds the id.
    urls = [
        one["params"]["request"]["url"]
        for one in visitor.events
        if one["method"] == "Network.requestWillBeSent"
    ]
    assert not any(token in url for url in urls)
    # An id that is none is refused, and the page around is told.
    page.write_text(HOST.format(collector=collector.url, survey="0" * 64, token=token))
    visitor.go(f"{friend}/?again", "deniable-survey")
    until(lambda: visitor.run("told.some(([name]) => name === 'refused')"))
    # A stranger's page shows nothing of it.
    visitor.go(f"{stranger}/", "deniable-survey")
    until(lambda: any("frame-ancestors" in json.dumps(one) for one in visitor.events))
    assert not visitor.run("told.some(([name]) => name !== 'message')")
    visitor.close()
    collector.close()


def test_what_it_adds_is_small() -> None:
    embedded = PAGES.parents[3] / "clients" / "js" / "page" / "embedded.js"
    assert (PAGES / "survey-element.js").stat().st_size < 4_000
    assert embedded.stat().st_size < 2_000  # before it is made smaller
