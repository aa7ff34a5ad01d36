"""The built client in a real browser: what it sends, what it refuses, and one answer from two tabs."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from client_parts import RECORD, ROOT, lacking
from fake_collector import FakeCollector, static
from scipy.stats import chisquare

from deniable import Survey

_spec = importlib.util.spec_from_file_location(
    "chromium_over_a_pipe", ROOT / "tests" / "browser" / "conftest.py"
)
assert _spec
assert _spec.loader
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

PAGE = b"<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>A page</title>"

ANSWER = """(async () => {
  const { Client, browserLedger } = await import("/deniable.min.js");
  const { explain } = await import("/explain.min.js");
  const client = new Client({ ...OPTIONS, ledger: browserLedger() });
  try {
    const question = await client.question(RECORD);
    const report = await client.answer(RECORD);
    await client.submit();
    const { state } = await client.entry();
    return { question, report, state, explained: explain(question, report) };
  } catch (error) {
    return { reason: error.reason, message: error.message };
  }
})()"""

RACE = """(async () => {
  const { Client, browserLedger } = await import("/deniable.min.js");
  const unsafe = () => ({
    async update(change) {
      const entries = JSON.parse(localStorage.ledger ?? "{}");
      const made = change(entries);
      await new Promise((done) => setTimeout(done, 50));
      localStorage.ledger = JSON.stringify(entries);
      return made;
    },
  });
  const clients = Array.from({ length: 8 }, () =>
    new Client({ ...OPTIONS, ledger: LEDGER }));
  for (const client of clients) await client.question(RECORD);
  globalThis.raced = (async () => {
    await new Promise((done) => setTimeout(done, START - Date.now()));
    return Promise.all(clients.map((client) => client.answer(RECORD)));
  })();
})()"""


MANY = """(async () => {
  const { Client } = await import("/deniable.min.js");
  const shown = await (await fetch("/v1/survey")).json();
  const headers = { "Content-Type": "application/json" };
  const asking = await fetch("/v1/questions", { method: "POST", headers, body: '{"token": "me"}' });
  const asked = await asking.json();
  const counts = {};
  globalThis.fetch = async (url, { body }) => {
    if (url.includes("reports")) {
      const { value } = JSON.parse(body);
      counts[value] = (counts[value] ?? 0) + 1;
    }
    const posed = url.includes("questions") ? asked : { accepted: 1 };
    return Response.json(url.includes("/survey") ? shown : posed);
  };
  for (let turn = 0; turn < 3000; turn++) {
    const entries = {};
    const client = new Client({ ...OPTIONS, ledger: { update: async (change) => change(entries) } });
    await client.answer(RECORD);
    await client.submit();
  }
  return counts;
})()"""


class Tabs:
    """Tabs of one browser, at the collector's own origin."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, url: str) -> str:
        """Open a new tab; return its session."""
        self.browser.session = None
        target = self.browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.browser.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.browser.call(f"{domain}.enable")
        self.browser.events.clear()
        self.browser.call("Page.navigate", url=f"{url}/page")
        while not any(one["method"] == "Page.loadEventFired" for one in self.browser.events):
            self.browser._next()
        return str(self.browser.session)

    def run(self, session: str, code: str, **told: Any) -> Any:
        for name, value in ({"RECORD": RECORD} | told).items():
            code = code.replace(name, value if name == "LEDGER" else json.dumps(value))
        self.browser.session = session
        return self.browser.run(code)


@pytest.fixture(scope="module")
def tabs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tabs]:
    program = next(filter(None, map(shutil.which, _module.NAMES)), None)
    if program is None:
        lacking("no Chromium is installed (apt-get install chromium)")
    made = _module.Browser(program, tmp_path_factory.mktemp("chromium"))
    yield Tabs(made)
    made.close()


@pytest.fixture
def page(collector: FakeCollector) -> FakeCollector:
    names = ["deniable.min.js", "explain.min.js"]
    collector.files = static(ROOT / "clients" / "js" / "dist", names)
    collector.files["/page"] = ("text/html", PAGE)
    return collector


def options(page: FakeCollector, **more: object) -> dict[str, object]:
    return {"survey": page.survey.id, "collector": page.url, "token": "me", **more}


def test_a_person_answers_in_a_browser(tabs: Tabs, page: FakeCollector) -> None:
    tab = tabs.open(page.url)
    came = tabs.run(tab, ANSWER, OPTIONS=options(page))
    slot = page.slot_of("me")
    asked = page.survey.question(slot)
    assert came.get("reason") is None, came
    assert came["question"] == asked.to_json()
    assert came["state"] == "sent"
    assert came["explained"]["text"] == asked.english(full=True)
    (kept,) = page.counted.values()
    assert kept["value"] == came["report"]["value"]
    assert came["explained"]["answers"] == ["no", "yes"]
    assert came["explained"]["reported"] == [["no", "yes"][int(kept["value"])]]
    assert came["explained"]["epsilon"] == pytest.approx(asked.epsilon, abs=1e-12)
    survey, questions, reports = page.seen
    assert survey.body == b""
    assert set(questions.form) == {"survey", "token"}
    assert set(reports.form) == {"ticket", "value"}
    for one in page.seen:
        assert "Referer" not in one.headers
        assert "Cookie" not in one.headers


def test_a_tab_that_is_opened_later_gives_the_same_answer(tabs: Tabs, page: FakeCollector) -> None:
    first = tabs.run(tabs.open(page.url), ANSWER, OPTIONS=options(page))
    page.counted.clear()
    page.slot = None
    again = tabs.run(tabs.open(page.url), ANSWER, OPTIONS=options(page))
    assert again["report"] == first["report"]
    assert len(page.sent("reports")) == 1


def _race(tabs: Tabs, page: FakeCollector, ledger: str) -> set[str]:
    """Let eight clients in each of two tabs answer at the same moment; return what they answer."""
    survey = Survey(page.survey.schema, 4, 0.1, "MargPS")  # of sixteen values
    page.survey, page.shown = survey, json.loads(survey.to_json())
    both = [tabs.open(page.url) for _ in range(2)]
    start = tabs.run(both[0], "Date.now() + 1500")
    for tab in both:
        tabs.run(tab, RACE, OPTIONS=options(page), LEDGER=ledger, START=start)
    return {one["value"] for tab in both for one in tabs.run(tab, "globalThis.raced")}


def test_two_tabs_give_one_answer(tabs: Tabs, page: FakeCollector) -> None:
    assert len(_race(tabs, page, "browserLedger()")) == 1


def test_a_ledger_without_turns_gives_two(tabs: Tabs, page: FakeCollector) -> None:
    """The race is one: a ledger that takes no turns loses it, even if one tab comes too late for it.

    The eight of the other tab answer alike once in 10⁸.
    """
    assert len(_race(tabs, page, "unsafe()")) > 1


def test_what_a_browser_sends_follows_the_law(tabs: Tabs, page: FakeCollector) -> None:
    """The same check as in Node, at the same false-alarm rate of one in 10⁹."""
    survey = Survey(page.survey.schema, 2, 1.0, "MargPS")
    page.survey, page.shown = survey, json.loads(survey.to_json())
    counts = tabs.run(tabs.open(page.url), MANY, OPTIONS=options(page))
    question = survey.question(page.slot_of("me"))
    law = question.answer.law(question.asks.symbol(RECORD))
    seen = [counts.get(str(value), 0) for value in range(4)]
    assert sum(seen) == 3000
    expected = [3000 * chance / question.answer.law_total for chance in law]
    assert chisquare(seen, expected).pvalue > 1e-9
    assert chisquare(seen, expected[1:] + expected[:1]).pvalue < 1e-9, "another law is told apart"


def test_too_large_an_epsilon_is_refused_in_a_browser(tabs: Tabs, page: FakeCollector) -> None:
    survey = Survey(page.survey.schema, 2, 3.0, "InpHT")
    page.survey, page.shown = survey, json.loads(survey.to_json())
    tab = tabs.open(page.url)
    came = tabs.run(tab, ANSWER, OPTIONS=options(page))
    assert came["reason"] == "epsilon"
    assert not page.sent("reports")
    assert tabs.run(tab, ANSWER, OPTIONS=options(page, limit=3))["state"] == "sent"


def test_a_raised_threshold_is_refused_in_a_browser(tabs: Tabs, page: FakeCollector) -> None:
    def raised(question: dict[str, Any]) -> dict[str, Any]:
        answer = question["answer"]
        more = str(int(answer["threshold"]) + 1)
        return question | {"answer": answer | {"threshold": more}}

    page.tamper = raised
    came = tabs.run(tabs.open(page.url), ANSWER, OPTIONS=options(page))
    assert came["reason"] == "question", "the survey asks no such thing"
    assert not page.sent("reports")


def test_the_example_page_works(tabs: Tabs, page: FakeCollector) -> None:
    text = (ROOT / "clients" / "js" / "README.md").read_text("utf-8")
    (html,) = re.findall(r"^```html\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    html = html.replace("SURVEY_ID", page.survey.id).replace("https://collector.example", page.url)
    page.files["/page"] = ("text/html", f"<link rel=icon href=data:,>{html}".encode())
    tab = tabs.open(page.url)
    asked = (
        "new Promise((done) => { const look = () => consent.disabled ? setTimeout(look, 20) : done("
    )
    shown = tabs.run(tab, asked + "document.getElementById('question').textContent); look(); })")
    assert not page.sent("reports"), "nothing is drawn or sent before consent"
    click = "new Promise((done) => { consent.click(); const look = () => sent.textContent ? done("
    sent = tabs.run(tab, click + "sent.textContent) : setTimeout(look, 20); look(); })")
    (kept,) = page.counted.values()
    assert shown.startswith(page.survey.question(int(kept["slot"])).english(full=True))
    assert shown.endswith("A suspicion of 50% becomes at most 75.0%.")
    assert sent == f"Sent: {['no', 'yes'][int(kept['value'])]}."
