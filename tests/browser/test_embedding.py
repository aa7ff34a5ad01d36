"""<deniable-survey> in a page of another origin: what it shows, what it tells, and who may show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framing import FRAME, frame_sees, in_frame, serving, write_host
from page_parts import Running, Visitor, until

from deniable import Schema, Survey

SURVEY = Survey(Schema.binary("Grumbling", "Romance"), 2, 1.1, "MargPS")
PAGES = Path(__file__).parents[2] / "src" / "deniable" / "server" / "pages"


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[int]]]:
    """Return a folder, and two ports that serve it."""
    folder = tmp_path_factory.mktemp("site")
    with serving(folder) as one, serving(folder) as other:
        yield folder, [one, other]


@pytest.mark.slow
def test_a_survey_in_another_page_tells_that_and_not_what(
    browser: Any, sites: tuple[Path, list[int]], tmp_path: Path
) -> None:
    folder, ports = sites
    friend, stranger = (f"http://127.0.0.1:{port}" for port in ports)
    collector = Running(tmp_path, SURVEY, embed_in=[friend], participants="issued")
    visitor = Visitor(browser)
    visitor.look(390)
    (token,) = collector.ids(1)
    write_host(folder, collector, SURVEY.id, token)
    visitor.go(f"{friend}/", "deniable-survey")
    until(lambda: frame_sees(visitor, "#fill"))
    until(lambda: visitor.run("told.length"))
    [height] = [json.loads(text)["height"] for _, text in visitor.run("told")]
    assert abs(in_frame(visitor, "document.documentElement.offsetHeight") - height) < 2
    assert height > visitor.run("innerHeight") == visitor.run(f"{FRAME}.offsetHeight")
    assert in_frame(visitor, "document.documentElement.scrollWidth <= innerWidth")
    # The page around it reads nothing of the frame.
    assert visitor.run(f"{FRAME}.contentDocument") is None
    assert visitor.run(f"{FRAME}.title") == "Work"
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
    write_host(folder, collector, "0" * 64, token)
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
