"""The analysts' page in a real browser, before a real collector; and both pages for everybody's use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from page_parts import Running, Visitor, until

from deniable import Schema, Survey
from deniable.api.tally import Tally
from deniable.show.sections import NO_TREE

NAMES = ("Action", "Crime", "Drama")
SURVEY = Survey(Schema.binary(*NAMES), 2, 1.1, "InpHT")
PEOPLE = 4000
AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
ROWS = "[...document.querySelectorAll('#table tbody tr')].map((row) => row.innerText.split('\\t'))"


def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    action = random.random(PEOPLE) < 0.5
    crime = random.random(PEOPLE) < np.where(action, 0.9, 0.1)
    return pd.DataFrame({"Action": action, "Crime": crime, "Drama": random.random(PEOPLE) < 0.3})


def reports(seed: str) -> str:
    rows = SURVEY.randomize(people(), seed).to_arrow().to_pylist()
    return json.dumps([{name: str(row[name]) for name in ("slot", "value")} for row in rows])


def send(url: str, reports: str) -> None:
    headers = {"Content-Type": "application/json"}
    urlopen(Request(f"{url}/v1/reports", reports.encode(), headers)).close()


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    """A collector that has 4,000 reports."""
    made = Running(tmp_path_factory.mktemp("collector"), SURVEY, slots="drawn")
    send(made.url, reports("dashboard"))
    assert made.people == PEOPLE
    yield made
    made.close()


@pytest.fixture
def visitor(browser: Any, collector: Running) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.forget(collector.url)
    made.look(1280)
    yield made
    made.close()


def test_the_dashboard_shows_people_and_tables(visitor: Visitor, collector: Running) -> None:
    visitor.go(collector.dashboard, "#tree svg")
    assert visitor.text("#facts .most dd") == f"{PEOPLE:,}"
    assert not visitor.sees("#state"), "there is nothing to worry about"
    assert visitor.text("#table caption").startswith("Action × Crime"), "the strongest pair"
    assert visitor.run("document.querySelectorAll('#tree .node').length") == len(NAMES)
    assert visitor.run("document.querySelectorAll('#errors-table tbody tr').length") == 1
    assert [line for line in visitor.text("#honest").splitlines() if line[0] in "✓✕"] == [
        "✓ Questions",
        "✓ Answers",
        "✓ Estimates",
    ]
    assert "beyond noise" in visitor.run("document.querySelector('#pairs .clear').ariaLabel")
    assert visitor.complaints == []

    # With the keyboard: one stop, arrows within.
    visitor.run("document.querySelector('#pairs [tabindex=\"0\"]').focus()")
    visitor.press("ArrowDown", 40)
    assert visitor.text("#tip").startswith("Action × Drama")
    assert visitor.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    visitor.press("Enter", 13, "\r")
    until(lambda: visitor.text("#table caption").startswith("Action × Drama"))
    tally = Tally.of(collector.tally())
    assert visitor.run("document.querySelector('#consistency').value") == "auto"
    assert "modelled estimates (intervals bootstrapped)" in visitor.text("#table caption")
    assert shown_rows(visitor) == expected_rows(tally, "auto")

    # The unbiased estimates are one click away, and so is the way back.
    visitor.click("#unbiased")
    until(lambda: "unbiased estimates from" in visitor.text("#table caption"))
    assert visitor.run("document.querySelector('#consistency').value") == "none"
    assert shown_rows(visitor) == expected_rows(tally, "none")
    visitor.click("#unbiased")
    until(lambda: "modelled estimates" in visitor.text("#table caption"))
    assert visitor.complaints == []


def shown_rows(visitor: Visitor) -> list[list[str]]:
    return [[part.replace("−", "-") for part in row[:4]] for row in visitor.run(ROWS)]


def expected_rows(tally: Tally, consistency: str) -> list[list[str]]:
    table = tally.release(consistency).marginal("Action", "Drama")
    low, high = table.interval(0.95)
    return [
        [*cell, f"{100 * share:.1f}", f"{100 * below:.1f} to {100 * above:.1f}"]
        for cell, share, below, above in zip(
            [[a, b] for a in ("no", "yes") for b in ("no", "yes")],
            table.values.ravel().tolist(),
            low.ravel().tolist(),
            high.ravel().tolist(),
            strict=True,
        )
    ]


def test_a_name_with_a_comma_has_a_table_of_its_own(browser: Any, tmp_path: Path) -> None:
    """Asked for with commas between them, it would be the table of the other two."""
    chosen = Survey(Schema.binary("smokes,drinks", "smokes", "drinks"), 1, 1.1, "InpHT")
    made = Running(tmp_path, chosen, slots="drawn")
    visitor = Visitor(browser)
    try:
        visitor.forget(made.url)
        visitor.look(1280)
        send(made.url, json.dumps([{"slot": n % 3, "value": n % 2} for n in range(300)]))
        visitor.go(made.dashboard, "#table table")
        assert visitor.text("#table caption").startswith("smokes,drinks")
        assert visitor.complaints == []
    finally:
        visitor.close()
        made.close()


@pytest.mark.parametrize("unknown", [None, 1.0])
def test_half_widths_that_are_not_known_are_not_drawn(
    visitor: Visitor, collector: Running, unknown: float | None
) -> None:
    def early(form: dict[str, Any]) -> None:
        form["history"].insert(0, {"people": 5, "half_width": unknown})

    go = f"location = {json.dumps(collector.dashboard)}"
    visitor.forge("/v1/release/history", early, [go])
    visitor.wait("#tree svg")
    assert visitor.run("document.querySelectorAll('#errors-table tbody tr').length") == 1
    assert "NaN" not in visitor.run("document.querySelector('#errors').innerHTML")
    assert visitor.complaints == []

    def only(form: dict[str, Any]) -> None:
        form["history"] = [{"people": PEOPLE, "half_width": unknown}]

    visitor.go("about:blank", "html")
    go = f"location = {json.dumps(collector.dashboard)}"
    visitor.forge("/v1/release/history", only, [go])
    visitor.wait("#tree svg")
    assert "not every table is known" in visitor.text("#state")
    assert visitor.complaints == []


def test_a_closed_survey_is_said_to_be_closed(visitor: Visitor, collector: Running) -> None:
    def closed(form: dict[str, Any]) -> None:
        form.update(closed=True, ends="2026-01-02T03:04:05Z")

    visitor.go("about:blank", "html")
    visitor.forge("/v1/release", closed, [f"location = {json.dumps(collector.dashboard)}"])
    visitor.wait("#tree svg")
    assert "no: closed since 2 Jan 2026" in visitor.text("#facts")


def test_the_token_stays_in_the_tab(visitor: Visitor, collector: Running) -> None:
    visitor.go(f"{collector.url}/dashboard", "#key")
    visitor.type("#token", "nonsense")
    visitor.click("#key .main")
    until(lambda: "no analyst’s" in visitor.text("#key-why"))
    assert not visitor.sees("#all")
    visitor.type("#token", collector.token)
    visitor.click("#key .main")
    visitor.wait("#tree svg")
    assert visitor.run("localStorage.length") == 0
    assert all(one["url"].startswith(collector.url) for one in visitor.requests)
    visitor.click("#leave")
    visitor.wait("#key")
    assert visitor.run("sessionStorage.length") == 0


def test_an_address_opens_the_dashboard_once(visitor: Visitor, collector: Running) -> None:
    """A browser's history keeps it, and others may read that."""
    address = collector.dashboard
    visitor.go(address, "#tree svg")
    assert visitor.run("location.hash") == ""
    key = visitor.run("sessionStorage.getItem('deniable.analyst')")
    assert collector.token not in key
    assert not any(key in one["url"] + one.get("urlFragment", "") for one in visitor.requests)
    entries = visitor.call("Page.getNavigationHistory")["entries"]
    assert not any("#" in one["url"] for one in entries[1:])
    visitor.reload("#tree svg")

    visitor.run("sessionStorage.clear()")
    visitor.go(address, "#key")
    assert "opened before" in visitor.text("#key-why")
    assert not visitor.sees("#all")
    visitor.go(f"{collector.url}/dashboard#token={collector.token}", "#key")
    assert visitor.run("sessionStorage.length") == 0, "no token is taken from an address"
    assert visitor.run("location.hash") == ""
    visitor.run(f"location.hash = {json.dumps(collector.dashboard.partition('#')[2])}")
    visitor.wait("#tree svg")


def test_who_has_signed_in_needs_no_token(visitor: Visitor, tmp_path: Path) -> None:
    """A proxy that knows people by a cookie says who somebody is, whatever else they say."""

    def behind(app: Any) -> Any:
        async def proxy(scope: Any, receive: Any, send: Any) -> None:
            headers = [each for each in scope.get("headers", ()) if each[0] != b"authorization"]
            if (b"cookie", b"session=alice") in headers:
                headers.append((b"authorization", f"Bearer {made.token}".encode()))
            await app(scope | {"headers": headers}, receive, send)

        return proxy

    made = Running(tmp_path, SURVEY, behind=behind, slots="drawn")
    try:
        send(made.url, reports("signed in"))
        visitor.go(f"{made.url}/dashboard", "#key")
        visitor.click("#key .main")
        until(lambda: "You are not signed in" in visitor.text("#key-why"))
        visitor.run("document.cookie = 'session=alice; SameSite=Strict'")
        visitor.click("#key .main")
        visitor.wait("#tree svg")
        visitor.go(f"{made.url}/dashboard", "#tree svg")
        visitor.run("document.cookie = 'session=; Max-Age=0'")
        visitor.go(f"{made.url}/dashboard", "#key")
    finally:
        made.close()


def test_files_are_fetched_with_the_token(
    visitor: Visitor, collector: Running, tmp_path: Path
) -> None:
    visitor.go(collector.dashboard, "#tree svg")
    visitor.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    starts = {
        "tables.csv": b"attribute_1,value_1",
        "tables.json": b"{",
        "tables.parquet": b"PAR1",
        "report": b"<!doctype html>",
    }
    for name, start in starts.items():
        visitor.click(f"[data-file='{name}']")
        ending = {"report": "html"}.get(name, name.partition(".")[2])
        path = tmp_path / f"{SURVEY.id[:16]}.{ending}"
        until(lambda path=path: path.exists() and path.stat().st_size)  # type: ignore[misc]
        assert path.read_bytes().startswith(start)
    assert visitor.complaints == []


def test_a_collector_that_is_away_and_a_pause(visitor: Visitor, collector: Running) -> None:
    visitor.go(collector.dashboard, "#tree svg")
    visitor.click("#pause")
    assert visitor.text("#updated").startswith("Paused")
    visitor.offline(True)
    visitor.click("#pause")
    until(lambda: "does not answer" in visitor.text("#state"))
    assert visitor.sees("#tree svg"), "what was known stays"
    visitor.offline(False)
    visitor.click("#pause")
    visitor.click("#pause")
    until(lambda: not visitor.sees("#state"))


def test_nobody_then_few(visitor: Visitor, tmp_path: Path) -> None:
    others = Survey(Schema.of(tea=[False, True], region=list("abcdefghi")).completed(), 1, 1.5)
    collector = Running(tmp_path, SURVEY, others, slots="drawn")
    try:
        visitor.go(collector.dashboard, "#facts")
        until(lambda: "Fewer than 100 people have taken part" in visitor.text("#state"))
        assert f"{collector.url}/?survey=" in visitor.text("#state"), "where people take part"
        for survey, frame in (
            (SURVEY, people()[:100]),
            (others, pd.DataFrame({"tea": [True] * 100, "region": ["b"] * 100})),
        ):
            reports = survey.randomize(frame, "few").to_arrow().to_pylist()
            body = [{n: str(row[n]) for n in ("slot", "value")} for row in reports]
            rows = json.dumps([{"survey": survey.id, **row} for row in body])
            send(collector.url, rows)
        for survey in (SURVEY, others):
            choose = "document.querySelector('#which select')"
            visitor.run(
                f"{choose}.value = '{survey.id}'; {choose}.dispatchEvent(new Event('change'))"
            )
            until(lambda own=survey: own.id in visitor.text("#survey-id"))  # type: ignore[misc]
            visitor.wait("#table table")
            until(lambda: "Too few people yet" in visitor.text("#state"))
        until(lambda: "tables of one" in visitor.text("#tree"))
        assert visitor.complaints == []
    finally:
        collector.close()


LONG = [f"a_rather_long_name_number_{number}" for number in range(18)]
WIDE = Survey(Schema.binary(*LONG), 2, 1.9, "InpHT")
CUT_OFF = """[...document.querySelectorAll(".scroll")].filter((one) => one.checkVisibility())
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML)"""
MARKS = """[...document.querySelectorAll(".reach")].map((one) =>
    ["i", "b"].map((tag) => one.querySelector(tag).getBoundingClientRect().width))"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    """A collector of many attributes with long names, a few of which depend on each other."""
    made = Running(tmp_path_factory.mktemp("wide"), WIDE, slots="drawn")
    random = np.random.default_rng(7)
    shared = random.random(20_000) < 0.5
    frame = pd.DataFrame(
        {name: np.where(random.random(20_000) < 0.9, shared, ~shared) for name in LONG}
    )
    reports = WIDE.randomize(frame, seed="wide").to_arrow().to_pylist()
    for start in range(0, len(reports), 5000):
        rows = [{n: str(row[n]) for n in ("slot", "value")} for row in reports[start:][:5000]]
        send(made.url, json.dumps(rows))
    yield made
    made.close()


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_long_names_are_not_cut_off(visitor: Visitor, wide: Running, width: int) -> None:
    visitor.look(width)
    visitor.go(wide.dashboard, "#tree svg")
    visitor.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert visitor.run(CUT_OFF) == []
    assert visitor.run("document.querySelectorAll('#pairs button').length") == 18 * 17 / 2
    assert visitor.run("document.querySelectorAll('#tree .node').length") == len(LONG)
    assert visitor.run("document.documentElement.scrollWidth") <= width
    assert visitor.text("#table > p").endswith("from 20,000 people")
    assert visitor.complaints == []

    # The window may change, and what is drawn with it.
    visitor.look(390 if width > 500 else 1280)
    until(lambda: visitor.run(CUT_OFF) == [])
    assert visitor.sees("#tree svg")


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_intervals_are_seen_beyond_their_estimates(
    visitor: Visitor, collector: Running, width: int
) -> None:
    visitor.look(width)
    visitor.go(collector.dashboard, "#tree svg")
    marks = visitor.run(MARKS)
    assert len(marks) == 4
    assert all(bar > 4 * mark > 0 for bar, mark in marks)
    ends = visitor.run("[...document.querySelectorAll('.axis span')].map((one) => one.innerText)")
    assert len(ends) > 1
    assert ends[-1].endswith(" %"), "the scale says where it ends"


def test_a_table_that_its_error_swamps_is_drawn_as_such(
    visitor: Visitor, collector: Running
) -> None:
    def swamp(form: dict[str, Any]) -> None:
        form.update(swamped=True, words="The error swamps this table.")

    go = f"location = {json.dumps(collector.dashboard)}"
    visitor.forge("/v1/release/marginal", swamp, [go])
    visitor.wait("#table .swamped")
    assert visitor.text("#table .warning") == "The error swamps this table."
    bar = "getComputedStyle(document.querySelector('#table .reach i')).backgroundImage"
    assert "repeating-linear-gradient" in visitor.run(bar), "hatched"
    assert visitor.complaints == []


def test_noise_is_not_shown_as_structure(visitor: Visitor, tmp_path: Path) -> None:
    collector = Running(tmp_path, SURVEY, slots="drawn")
    try:
        frame = pd.DataFrame(np.random.default_rng(3).random((120, 3)) < 0.5, columns=list(NAMES))
        reports = SURVEY.randomize(frame).to_arrow().to_pylist()
        send(
            collector.url, json.dumps([{n: str(r[n]) for n in ("slot", "value")} for r in reports])
        )

        def all_noise(form: dict[str, Any]) -> None:
            for row in form["associations"]:
                row.update(doubtful=True, shade=0, top=None)

        def no_tree(form: dict[str, Any]) -> None:
            form["drawing"] = {"absent": NO_TREE}

        go = f"location = {json.dumps(collector.dashboard)}"
        visitor.forge("/v1/release/associations", all_noise, [go])
        visitor.wait("#pairs table")
        assert "None of the 3 pairs" in visitor.text("#pairs-words")
        assert not visitor.sees("#pairs .shades"), "a ramp that no cell has the colour of"
        visitor.go("about:blank", "html")
        go = f"location = {json.dumps(collector.dashboard)}"
        visitor.forge("/v1/release/tree", no_tree, [go])
        until(lambda: NO_TREE in visitor.text("#tree"))
        assert not visitor.sees("#tree svg")
        assert not visitor.sees("#tree-list")
    finally:
        collector.close()


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360], ids=["desk", "phone"])
def test_both_pages_can_be_used_by_all(
    visitor: Visitor, collector: Running, width: int, is_dark: bool
) -> None:
    visitor.look(width, is_dark)
    found = {}
    visitor.go(f"{collector.url}/", "#fill")
    visitor.click("#fill .main")
    found["form"] = visitor.run(AUDIT)
    for number in range(len(NAMES)):
        visitor.click(f"#items fieldset:nth-child({number + 1}) label")
    visitor.click("#fill .main")
    visitor.wait("#ask")
    found["question"] = visitor.run(AUDIT)
    visitor.go(f"{collector.url}/?survey=none", "#problem")
    found["problem"] = visitor.run(AUDIT)
    visitor.go(f"{collector.url}/dashboard", "#key")
    found["token"] = visitor.run(AUDIT)
    visitor.go(collector.dashboard, "#tree svg")
    found["tables"] = visitor.run(AUDIT)
    assert found == {state: [] for state in found}


def test_the_audit_finds_what_it_looks_for(visitor: Visitor, collector: Running) -> None:
    visitor.go(f"{collector.url}/", "#fill")
    visitor.run("""document.documentElement.lang = "";
        document.querySelector("#items label").replaceWith(document.querySelector("#items input"));
        document.querySelector("h2").replaceWith(document.createElement("h1"));
        document.querySelector("#how-many").style.color = "#999";
        document.querySelector("main").style.minWidth = "2000px";
        document.querySelector("#fill .main").textContent = "";""")
    said = " ".join(visitor.run(AUDIT))
    for fault in ("language", "h1", "label", "contrast", "wide", "name"):
        assert fault in said
