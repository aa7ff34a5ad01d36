"""One device, several people: what a visit leaves behind, and what the next person sees and can do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_parts import HURRY, Running, Visitor, in_line, until

from deniable import Survey
from deniable.schema.attribute import Attribute
from deniable.schema.schema import Schema

INCOME, DAY, REGION = 61873, "2019-07-23", "g"
SURVEY = Survey(
    Schema(
        [
            Attribute("hiv"),
            Attribute("income", low=0, high=100_000, step=100),
            Attribute("moved", low="2000-01-01", high="2026-01-14", step=30),
            Attribute("region", tuple("abcdefghi")),
            Attribute("size", low=0, high=50, step=1, missing="not told"),
        ]
    ).completed(),
    2,
    2.0,
    labels={"place": ["farm", "town"]},
)

DUMP = """(async () => {
  const stored = {};
  for (const { name, version } of await indexedDB.databases()) {
    const database = await new Promise((done) => {
      const opening = indexedDB.open(name, version);
      opening.onsuccess = () => done(opening.result);
    });
    for (const store of database.objectStoreNames) {
      const all = database.transaction(store).objectStore(store);
      const read = (way) => new Promise((done) => {
        const reading = all[way]();
        reading.onsuccess = () => done(reading.result);
      });
      const [keys, values] = await Promise.all(["getAllKeys", "getAll"].map(read));
      stored[`${name} ${store}`] = [keys, values];
    }
    database.close();
  }
  const fields = [...document.querySelectorAll("input, select, textarea")];
  return {
    stored,
    local: { ...localStorage }, session: { ...sessionStorage }, cookies: document.cookie,
    caches: await caches.keys(), title: document.title, address: location.href, name,
    state: history.state, page: document.documentElement.outerHTML,
    fields: fields.map(({ type, value }) => [type, value]),
    checked: fields.filter(({ checked }) => checked).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
  };
})()"""
"""All places in which a page can leave something."""


def dump(visitor: Visitor) -> dict[str, Any]:
    entries = visitor.call("Page.getNavigationHistory")["entries"]
    return {**visitor.run(DUMP), "history": [[e["url"], e["title"]] for e in entries]}


def nothing_of_the_record(visitor: Visitor) -> dict[str, Any]:
    """Check that nothing that was filled in is anywhere."""
    left = dump(visitor)
    text = json.dumps(left)
    for word in (str(INCOME), f"{INCOME:,}", DAY):
        assert word not in text
    assert left["checked"] == 0
    assert all(value == "" for kind, value in left["fields"] if kind in ("number", "date", "text"))
    assert not [left[each] for each in ("local", "session", "cookies", "caches", "name", "workers")
                if left[each]]  # fmt: skip
    return left


def nothing_of_what_was_told(visitor: Visitor) -> None:
    """Check that the page holds nothing of it either, neither filled in nor to be sent."""
    held = visitor.run("document.body.innerHTML")
    for word in (str(INCOME), f"{INCOME:,}", DAY, "farm"):
        assert word not in held


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, SURVEY, participants="issued")
    yield running
    running.close()


@pytest.fixture
def visitor(browser: Any, collector: Running) -> Iterator[Visitor]:
    tab = Visitor(browser)
    tab.forget(collector.url)
    tab.look(1000)
    yield tab
    tab.close()


def link(collector: Running, own: str) -> str:
    return f"{collector.url}/?survey={SURVEY.id}#token={own}"


def fill_in(visitor: Visitor) -> None:
    visitor.click("#items .item:nth-child(1) label")
    visitor.type("#a1", str(INCOME))
    visitor.run(f"document.querySelector('#a2').value = {json.dumps(DAY)}")
    visitor.run(f"document.querySelector('#a3').value = {'abcdefghi'.index(REGION)}")
    visitor.click("#items .item:nth-child(5) [type=checkbox]")
    visitor.run("document.querySelector('#labels input').click()")


def ask(visitor: Visitor) -> str:
    """Fill in the form and get the question."""
    fill_in(visitor)
    visitor.click("#fill .main")
    visitor.wait("#ask")
    return in_line(visitor.text("#question"))


def answer(visitor: Visitor) -> str:
    question = ask(visitor)
    visitor.click("#agree")
    visitor.wait("#sent")
    return question


def test_a_second_person_takes_part_and_learns_nothing_of_the_first(
    visitor: Visitor, collector: Running
) -> None:
    first, second = collector.ids(2)
    visitor.go(link(collector, first), "#fill")
    question = answer(visitor)
    reported = in_line(visitor.text("#what .value"))
    assert question in in_line(visitor.text("#what")), "the visit that sends it shows it"
    nothing_of_the_record(visitor)

    visitor.go(link(collector, second), "#somebody")
    assert "Is that you? Then you are done" in in_line(visitor.text("#somebody"))
    left = nothing_of_the_record(visitor)
    seen = json.dumps(
        {name: each for name, each in left.items() if name not in ("history", "state")}
    )
    assert question not in in_line(left["page"])
    assert not any(id in seen for id in (first, second)), "no id is kept or shown"
    assert not any(f'"{word}"' in seen for word in ("slot", "value", "ticket", "labels"))
    visitor.click("#other")
    visitor.wait("#fill")
    own = answer(visitor)
    assert own, "asked in the same way"
    assert collector.people == 2
    [entries] = [values for _, values in dump(visitor)["stored"].values()]
    assert all(set(entry) <= {"epsilon", "state"} for entry in entries[0].values())
    assert len(entries[0]) == 2, "both count in the limit of this device"
    assert reported, "something was shown, and is gone"


@pytest.mark.parametrize("way", ["again", "reload", "without", "other tab"])
def test_later_visits_say_that_there_is_an_answer_and_not_which(
    visitor: Visitor, collector: Running, browser: Any, way: str
) -> None:
    [own] = collector.ids(1)
    visitor.go(link(collector, own), "#fill")
    answer(visitor)
    assert visitor.run("history.state?.token") is None, "the id is kept no longer than it is needed"
    later = Visitor(browser) if way == "other tab" else visitor
    later.look(1000)
    try:
        if way == "reload":
            later._browser.events.clear()
            later.reload("#somebody")
        elif way == "without":
            later.go(f"{collector.url}/?survey={SURVEY.id}", "#somebody")
        else:
            later.go(link(collector, own), "#sent")
            assert "already" in later.text("#again")
            assert later.run("history.state?.token") is None
        assert not later.sees("#what")
        assert later.run("document.querySelector('#what').childElementCount") == 0
        assert not later.sees("#fill")
        assert later.posts == [], "the id is dead: it neither shows nor allows anything"
        nothing_of_the_record(later)
        later.call("Emulation.setEmulatedMedia", media="print")
        assert "reported" not in later.text("body")
        later.call("Emulation.setEmulatedMedia", media="screen")
    finally:
        if later is not visitor:
            later.close()
    assert collector.people == 1


@pytest.mark.parametrize("step", ["fill", "ask", "sent"])
@pytest.mark.parametrize("keeps", [False, True], ids=["no-store", "kept"])
def test_back_brings_nothing_that_was_filled_in(
    visitor: Visitor, collector: Running, step: str, keeps: bool
) -> None:
    """Not even where a browser keeps the page alive, as some do in spite of no-store."""
    [own] = collector.ids(1)
    visitor.go(link(collector, own), "#fill")
    {"fill": fill_in, "ask": ask, "sent": answer}[step](visitor)
    if keeps:
        visitor.run("""dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }))""")
        nothing_of_the_record(visitor)
        assert in_line(visitor.text("#question, #what")) == ""
        visitor.run("stale = true")
        visitor.leave("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        until(lambda: visitor.holds("typeof stale == 'undefined'"))
    else:
        visitor.leave(f"location = '{collector.url}/healthz'")
        until(lambda: visitor.holds("location.pathname == '/healthz'"))
        visitor.leave("history.back()")
        until(lambda: visitor.holds("location.pathname == '/'"))
    visitor.wait("#somebody" if step == "sent" else "#fill")
    nothing_of_the_record(visitor)


def test_a_link_that_is_opened_where_the_page_is_open_is_taken(
    visitor: Visitor, collector: Running
) -> None:
    """A browser does not load a page again for what stands behind the #."""
    first, second = collector.ids(2)
    visitor.go(link(collector, first), "#fill")
    answer(visitor)
    visitor.leave(f"location = {json.dumps(link(collector, second))}")
    visitor.wait("#somebody")
    assert visitor.run("history.state.token") == second
    assert visitor.run("location.hash") == ""
    nothing_of_the_record(visitor)


@pytest.mark.parametrize("step", ["fill", "ask"])
def test_who_is_refused_leaves_nothing_for_the_next(
    visitor: Visitor, collector: Running, browser: Any, step: str
) -> None:
    """The page says that one is done and may go; the next may say that they are another person."""
    first, second = collector.ids(2)
    visitor.go(link(collector, first), "#fill")
    question = {"fill": fill_in, "ask": ask}[step](visitor)
    other = Visitor(browser)
    other.look(1000)
    other.go(link(collector, second), "#fill")
    answer(other)
    other.close()
    visitor.click("#agree" if step == "ask" else "#fill .main")
    visitor.wait("#somebody")
    nothing_of_the_record(visitor)
    assert not question or question not in in_line(dump(visitor)["page"])
    visitor.click("#other")
    visitor.wait("#fill")
    nothing_of_the_record(visitor)
    assert collector.people == 1


@pytest.mark.parametrize("way", ["reload", "retry"])
def test_an_answer_that_is_sent_later_is_not_shown(
    visitor: Visitor, collector: Running, way: str
) -> None:
    [own] = collector.ids(1)
    visitor.before(HURRY)
    visitor.go(link(collector, own), "#fill")
    question = ask(visitor)
    visitor.offline(True)
    visitor.click("#agree")
    visitor.wait("#problem")
    assert "kept" in visitor.text("#problem")
    assert question not in in_line(visitor.text("body")), "who waits need not be who answered"
    nothing_of_what_was_told(visitor)
    visitor.offline(False)
    if way == "reload":
        visitor.reload("#sent")
    else:
        visitor.click("#problem button")
        visitor.wait("#sent")
    assert not visitor.sees("#what"), "anybody may have opened the page again"
    assert visitor.run("document.querySelector('#what').childElementCount") == 0
    assert collector.people == 1
    nothing_of_the_record(visitor)


@pytest.mark.parametrize("is_delivered", [True, False], ids=["sent", "unsent"])
@pytest.mark.parametrize("has_ids", [True, False], ids=["one link", "no ids"])
def test_a_tab_that_drew_nothing_shows_nothing_of_another_tabs_answer(
    browser: Any, tmp_path: Path, has_ids: bool, is_delivered: bool
) -> None:
    """Both stand at the question; then one agrees, and the other, whoever sits there, after it."""
    running = Running(tmp_path, SURVEY, participants="issued" if has_ids else "open")
    address = link(running, running.ids(1)[0]) if has_ids else f"{running.url}/"
    tabs = [Visitor(browser), Visitor(browser)]
    try:
        tabs[0].forget(running.url)
        for tab in tabs:
            tab.look(1000)
            tab.before(HURRY)
            tab.go(address, "#fill")
        for tab in tabs:
            tab.call("Page.bringToFront")
            ask(tab)
        tabs[1].offline(not is_delivered)
        tabs[1].click("#agree")
        tabs[1].wait("#sent" if is_delivered else "#problem")
        assert tabs[1].sees("#what") == is_delivered, "who drew it is shown it, once it is counted"
        tabs[0].call("Page.bringToFront")
        tabs[0].click("#agree")
        tabs[0].wait("#sent")
        assert not tabs[0].sees("#what")
        assert tabs[0].run("document.querySelector('#what').childElementCount") == 0
        assert "already" in tabs[0].text("#again")
        assert running.people == 1
    finally:
        for tab in tabs:
            tab.close()
        running.close()


def test_epsilon_adds_up_over_all_who_share_a_device(visitor: Visitor, collector: Running) -> None:
    """The limit that the page states holds, even if all links were one person's."""
    ids = collector.ids(4)
    for number, own in enumerate(ids[:3]):
        visitor.go(link(collector, own), "#somebody" if number else "#fill")
        if number:
            visitor.click("#other")
            visitor.wait("#fill")
        answer(visitor)
    visitor.go(link(collector, ids[3]), "#problem")
    assert "lifetime limit (ε = 6)" in visitor.text("#problem")
    assert collector.people == 3


def test_an_id_that_is_typed_is_looked_for_in_the_ledger(
    visitor: Visitor, collector: Running
) -> None:
    [own] = collector.ids(1)
    visitor.go(link(collector, own), "#fill")
    answer(visitor)
    visitor.go(f"{collector.url}/?survey={SURVEY.id}", "#somebody")
    visitor.click("#other")
    visitor.wait("#fill")
    fill_in(visitor)
    visitor.type("#token", own)
    visitor.click("#fill .main")
    visitor.wait("#sent")
    assert visitor.posts == []
    nothing_of_the_record(visitor)
