"""<deniable-survey> in a page of another origin: what it shows, what it tells, and who may show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framing import FRAME, frame_sees, in_frame, serving, window_of, write_host
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
def test_a_survey_in_another_page_is_an_invitation(
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
    until(lambda: frame_sees(visitor, "#framed a"))
    assert in_frame(visitor, "document.documentElement.scrollWidth <= innerWidth")
    # The page around it reads nothing of the frame.
    assert visitor.run(f"{FRAME}.contentDocument") is None
    assert visitor.run(f"{FRAME}.title") == "Work"
    # No request that another site or a log sees holds the id.
    urls = [
        one["params"]["request"]["url"]
        for one in visitor.events
        if one["method"] == "Network.requestWillBeSent"
    ]
    assert urls
    assert not any(token in url for url in urls)
    # A stranger's page shows nothing of it.
    visitor.go(f"{stranger}/", "deniable-survey")
    until(lambda: any("frame-ancestors" in json.dumps(one) for one in visitor.events))
    assert visitor.run("told") == []
    visitor.close()
    collector.close()


LEDGER = """import("/static/deniable.min.js")
  .then(({ browserLedger }) => browserLedger().update(() => "kept"))
  .catch(({ reason }) => reason)"""
NESTED = """<!doctype html><iframe src="{site}/framed.html" style="width: 90vw"></iframe>"""
ALONE = """<!doctype html><iframe credentialless src="{page}"></iframe>"""


@pytest.mark.slow
def test_frames_under_several_sites_give_one_answer(
    browser: Any, sites: tuple[Path, list[int]], tmp_path: Path
) -> None:
    """Browsers keep storage apart under each site: three sites had three independent answers.

    And a page of the same site, which shares the storage, can lay a sheet over the form.
    """
    folder, ports = sites
    friends = [f"http://{name}:{ports[0]}" for name in ("localhost", "one.localhost", "127.0.0.1")]
    collector = Running(tmp_path, SURVEY, embed_in=friends)
    visitor = Visitor(browser)
    visitor.forget(collector.url)
    for place, friend in enumerate(friends):
        write_host(folder, collector, SURVEY.id, "the same link")
        visitor.go(f"{friend}/", "deniable-survey")
        until(lambda: frame_sees(visitor, "#framed a"))
        assert not frame_sees(visitor, "#fill")
        assert in_frame(visitor, LEDGER) == "framed"
        if friend != friends[2]:  # of the collector's site, which shares its storage
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
    visitor.go(f"{friends[2]}/?nested", "iframe")
    until(lambda: frame_sees(visitor, "#framed a"))
    (folder / "index.html").write_text(ALONE.format(page=f"{collector.url}/?survey={SURVEY.id}"))
    visitor.go(f"{friends[2]}/?alone", "iframe")
    until(lambda: frame_sees(visitor, "#framed a"))
    visitor.close()
    collector.close()


def test_what_it_adds_is_small() -> None:
    assert (PAGES / "survey-element.js").stat().st_size < 4_000
