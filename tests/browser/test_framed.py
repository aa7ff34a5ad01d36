"""What a page around a survey notices: the same, whatever somebody fills in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from framing import frame_sees, serving, window_of, write_host
from page_parts import HURRY, Running, Visitor, until

from deniable import Schema, Survey
from deniable.questionnaire import Questionnaire

pytestmark = pytest.mark.slow

HELP = "Think of all that you did, at home and elsewhere, in each of the last four weeks. " * 3
FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en", "de", "ar"],
    "title": {"en": "Health", "de": "Gesundheit", "ar": "الصحة"},
    "design": {"epsilon": 0.5, "order": 1, "people": 2000},
    "labels": [
        {
            "name": "region",
            "wording": {"en": "Where do you live?"},
            "values": [
                {"value": "north", "label": {"en": "in the north"}},
                {"value": "south", "label": {"en": "in the south"}},
            ],
        }
    ],
    "attributes": [
        {"name": "ill", "wording": {"en": "Were you ill?"}},
        {
            "name": "cared",
            "wording": {"en": "Did somebody care for you?"},
            "help": {"en": HELP},
            "when": {"attribute": "ill", "is": True, "otherwise": False},
        },
        {
            "name": "weeks",
            "wording": {"en": "For how many weeks?"},
            "help": {"en": HELP},
            "low": 0,
            "high": 50,
            "step": 1,
            "missing": "no answer",
            "label_missing": {"en": "I would rather not say"},
            "when": {"attribute": "ill", "is": True, "otherwise": 0},
        },
        {
            "name": "doctor",
            "wording": {"en": "Did you see a doctor?"},
            "when": {
                "all": [
                    {"attribute": "ill", "is": True},
                    {"attribute": "weeks", "is": {"above": 5}},
                ],
                "otherwise": False,
            },
        },
        {
            "name": "since",
            "wording": {"en": "Since when?"},
            "low": "2026-01-01",
            "high": "2026-12-31",
            "step": 1,
            "complete": True,
            "when": {"attribute": "doctor", "is": True, "otherwise": "2026-01-01"},
        },
        {
            "name": "where",
            "wording": {"en": "Where?"},
            "values": [*"abcdefghij"],
            "complete": True,
            "when": {"attribute": "doctor", "is": True, "otherwise": "a"},
        },
        {"name": "smokes", "wording": {"en": "Do you smoke?"}},
    ],
    "pages": [
        {"title": {"en": "Illness"}, "attributes": ["ill", "cared", "weeks", "doctor"]},
        {"title": {"en": "Doctors"}, "attributes": ["since", "where"]},
        {"title": {"en": "Habits"}, "attributes": ["smokes"]},
    ],
}
GROUPED = Survey(Schema.binary(*[f"item_{number:02}" for number in range(50)]), 1, 0.5, "MargPS")
FILL = """((record) => {
  for (const [key, value] of Object.entries(record)) {
    const field = document.querySelector(`#${key}, [name="${key}"][value="${value}"]`);
    if (!field?.checkVisibility()) continue;
    if (field.type === "radio") field.click();
    else {
      field.value = value;
      for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
    }
  }
})"""
PRESS = "document.querySelector('%s').click()"


class Notice(NamedTuple):
    """All that somebody else notices of a visit."""

    told: list[Any]
    noted: dict[str, list[Any]]
    requests: list[Any]


def form_of(requests: list[dict[str, Any]]) -> list[Any]:
    """Return requests as whoever sees them does, but for the noisy value and for what names a visit."""
    rows = []
    for one in requests:
        address = urlsplit(one["url"])
        body = json.loads(one.get("postData", "{}"))
        sizes = {
            name: value if name == "labels" else name == "value" or len(value)
            for name, value in body.items()
        }
        rows.append((one["method"], address.path, address.query, sizes, sorted(one["headers"])))
    return rows


class Framed:
    """A collector, and a page around it that keeps notes of every visitor."""

    def __init__(self, folder: Path, port: int, browser: Any, *surveys: Survey, **more: Any):
        self.folder, self.host = folder, f"http://127.0.0.1:{port}"
        (folder / "store").mkdir(exist_ok=True)
        self.survey = surveys[-1]
        self.collector = Running(
            folder / "store", *surveys, embed_in=[self.host], participants="issued", **more
        )
        self.browser = browser

    def visit(self, *steps: Any) -> Notice:
        """Take part in steps: records to fill in, code to run, what to wait for."""
        visitor = Visitor(self.browser)
        visitor.look(1000)
        visitor.forget(self.collector.url)
        people = self.collector.people
        (token,) = self.collector.ids(1)
        write_host(self.folder, self.collector, self.survey.id, token)
        visitor.go(f"{self.host}/", "deniable-survey")
        until(lambda: frame_sees(visitor, "#framed a"))
        window = window_of(visitor, self.browser)
        window.wait("#fill")
        window.run("new Promise((done) => setTimeout(done, 300))")
        loaded = len(window.requests)
        for step in steps:
            if isinstance(step, dict):
                window.run(f"{FILL}({json.dumps(step)})")
            elif step.startswith("#"):
                window.wait(step)
            else:
                window.run(step)
            window.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
        window.run(PRESS % "#fill .main")
        window.wait("#ask")
        window.run(PRESS % "#agree")
        window.wait("#sent")
        assert self.collector.people == people + 1
        assert not frame_sees(visitor, "#fill, #sent")
        requests = form_of(window.requests[loaded:])
        window.close()
        visitor.run("new Promise((done) => setTimeout(done, 300))")
        notice = Notice(visitor.run("told"), visitor.run("noted"), requests)
        visitor.close()
        return notice


@pytest.fixture(scope="module")
def framed(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Framed]:
    folder = tmp_path_factory.mktemp("framed")
    form = Questionnaire.of(FORM)
    survey = Survey.from_questionnaire(form)
    with serving(folder) as port:
        one = Framed(folder, port, browser, survey, texts={survey.id: form.texts})
        yield one
        one.collector.close()


CHOOSE = """(() => {{
  const list = document.querySelector("#languages select");
  list.value = "{}";
  list.dispatchEvent(new Event("change", {{ bubbles: true }}));
}})()"""
NEXT, BACK = PRESS % "#fill .main", PRESS % "#previous"
WELL = ({"a0": 0}, NEXT, {"a6": 0, "l0": 0})
ILL = {"a0": 1, "a1": 1, "a2": "7", "a3": 1}
SEEN = {"a4": "2026-06-01", "a5": 3}
LAST = {"a6": 1, "l0": 0}
RECORDS: dict[str, tuple[Any, ...]] = {
    "what conditions show": (ILL, NEXT, SEEN, NEXT, LAST),
    "a page that is skipped": (ILL | {"a2": "3"}, NEXT, LAST),
    "a number beyond its range": (ILL | {"a2": "-999999"}, NEXT, LAST),
    "a day beyond its range": (ILL, NEXT, SEEN | {"a4": "1990-05-05"}, NEXT, LAST),
    "a day that is refused": (
        *(ILL, NEXT, SEEN | {"a4": "12026-06-01"}, NEXT, LAST, NEXT),
        *("#problem", BACK, SEEN, NEXT),
    ),
    "an item left open": (NEXT, NEXT, *WELL[:2], NEXT, WELL[2]),
    "many items left open": (ILL, NEXT, NEXT, NEXT, SEEN, NEXT, NEXT, LAST),
    "another mind": (ILL, {"a0": 0}, *WELL[1:]),
    "another language": (CHOOSE.format("ar"), *WELL, CHOOSE.format("de")),
    "back and forth": (ILL, NEXT, SEEN, BACK, *WELL),
}


@pytest.fixture(scope="module")
def usual(framed: Framed) -> Notice:
    """Return what is noticed of somebody who was not ill, and so is asked least."""
    return framed.visit(*WELL)


def test_a_page_around_is_told_nothing(usual: Notice) -> None:
    assert usual.told == []
    assert usual.noted["scroll"] == []
    assert [path for _, path, *_ in usual.requests] == ["/v1/questions", "/v1/reports"]


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_not_told_apart_around_a_frame(
    framed: Framed, usual: Notice, name: str
) -> None:
    notice = framed.visit(*RECORDS[name])
    assert notice.told == usual.told
    assert notice.requests == usual.requests
    assert notice.noted == usual.noted


@pytest.mark.parametrize("leaves", ["at the form", "at the question", "with an unsent answer"])
def test_nothing_that_is_left_tells_records_apart(framed: Framed, leaves: str) -> None:
    """Not even how many things were asked, which conditions decide."""
    visitor = Visitor(framed.browser)
    visitor.before(HURRY)
    visitor.look(1000)
    (token,) = framed.collector.ids(1)
    left = []
    for steps in (WELL, RECORDS["what conditions show"]):
        visitor.forget(framed.collector.url)
        visitor.go(f"{framed.collector.url}/?survey={framed.survey.id}#token={token}", "#fill form")
        for step in steps:
            visitor.run(f"{FILL}({json.dumps(step)})" if isinstance(step, dict) else step)
        shown = visitor.text("#how-many")
        if leaves != "at the form":
            visitor.run(NEXT)
            visitor.wait("#ask")
        if leaves == "with an unsent answer":
            visitor.offline(True)
            visitor.run(PRESS % "#agree")
            visitor.wait("#problem")
            visitor.offline(False)
        else:
            visitor.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        left.append((shown, visitor.run("document.documentElement.outerHTML")))
    visitor.close()
    assert left[0][0] != left[1][0], "while it is filled in, it shows"
    assert left[0][1] == left[1][1]


def test_groups_that_fold_are_not_told_apart(browser: Any, tmp_path: Path) -> None:
    every = {f"a{number}": 1 for number in range(50)}
    with serving(tmp_path) as port:
        one = Framed(tmp_path, port, browser, GROUPED)
        most = dict([*every.items()][:-1])
        notices = [
            one.visit(every),
            one.visit(dict.fromkeys(every, 0)),
            one.visit(most, NEXT, {"a49": 0}),
        ]
        one.collector.close()
    assert notices[0] == notices[1] == notices[2]
