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


LEDGER = """import("/static/deniable.min.js")
  .then(({ browserLedger }) => browserLedger().update(() => "kept"))
  .catch(({ reason }) => reason)"""
NESTED = """<!doctype html><iframe src="{site}/framed.html" style="width: 90vw"></iframe>"""
ALONE = """<!doctype html><iframe credentialless src="{page}"></iframe>"""


def window_of(visitor: Visitor, browser: Any) -> Visitor:
    """Open the window that a frame of another site offers, and return it."""
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


@pytest.mark.slow
def test_frames_under_several_sites_give_one_answer(
    browser: Any, sites: tuple[Path, list[int]], tmp_path: Path
) -> None:
    """Browsers keep storage apart under each site: three sites had three independent answers."""
    folder, ports = sites
    friends = [f"http://{name}:{ports[0]}" for name in ("localhost", "one.localhost", "127.0.0.1")]
    collector = Running(tmp_path, SURVEY, embed_in=friends)
    visitor = Visitor(browser)
    visitor.forget(collector.url)
    for place, friend in enumerate(friends[:2]):
        write_host(folder, collector, SURVEY.id, "the same link")
        visitor.go(f"{friend}/", "deniable-survey")
        until(lambda: frame_sees(visitor, "#framed a"))
        assert not frame_sees(visitor, "#fill")
        assert in_frame(visitor, LEDGER) == "framed"
        assert in_frame(visitor, "indexedDB.databases().then((all) => all.length)") == 0
        assert in_frame(visitor, "document.cookie") == ""
        assert visitor.run("told") == []
        window = window_of(visitor, browser)
        if place:
            window.wait("#sent")
            assert window.sees("#again")
        else:
            window.wait("#fill")
            assert window.run("opener === null && location.hash === ''")
            for code in (
                "for (const one of document.querySelectorAll('#items input')) one.click()",
                "document.querySelector('#fill .main').click()",
            ):
                window.run(code)
            window.wait("#ask")
            assert window.posts == [("/questions", {"survey": SURVEY.id, "token": "the same link"})]
            window.run("document.querySelector('#agree').click()")
            window.wait("#sent")
        window.close()
    assert collector.people == 1
    # Nor is there a way around it: by a page of this site around one of another, or without credentials.
    (folder / "framed.html").write_text((folder / "index.html").read_text())
    (folder / "index.html").write_text(NESTED.format(site=friends[0]))
    visitor.go(f"{friends[2]}/", "iframe")
    until(lambda: frame_sees(visitor, "#framed a"))
    (folder / "index.html").write_text(ALONE.format(page=f"{collector.url}/?survey={SURVEY.id}"))
    visitor.go(f"{friends[2]}/", "iframe")
    until(lambda: frame_sees(visitor, "#framed a"))
    visitor.close()
    collector.close()


def test_what_it_adds_is_small() -> None:
    assert (PAGES / "survey-element.js").stat().st_size < 4_000
    assert (PAGES / "framed.min.js").stat().st_size < 4_000
