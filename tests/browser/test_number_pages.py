"""Numbers, days and ordered words on the participant's page, in a real browser."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from page_parts import Visitor, in_line

from deniable.languages import spoken

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
PAGES = Path(__file__).parents[2] / "src" / "deniable" / "server" / "pages"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
SURVEY = {
    "deniable": "survey",
    "format": 2,
    "schema": {
        "attributes": [
            {
                "name": "age",
                "grid": {"low": "18.0", "high": "100.0", "step": "1.0"},
                "unit": "years",
            },
            {
                "name": "income",
                "points": ["-500.5", "1000.0", "10000.0", "100000.0"],
                "missing": "rather not say",
                "other": "rather not say",
            },
            {
                "name": "born",
                "days": {"first": "2024-01-01", "last": "2024-12-30", "step": 7},
                "missing": False,
            },
            {"name": "mood", "values": ["bad", "fair", "good", "best"], "ordered": True},
        ]
    },
    "order": 1,
    "epsilon": "1.2",
    "mechanism": "by hand",
    "lists": [{"list": "thresholds"}] * 4,
    "templates": [
        {
            "attributes": 1,
            "parities": [[0], [1]],
            "questions": [2],
            "answer": {"way": "subset", "symbols": 4, "chosen": 1, "threshold": str(1 << 63)},
        }
    ],
}
TEXT = json.dumps(SURVEY, sort_keys=True, separators=(",", ":"))
ID = hashlib.sha256(TEXT.encode()).hexdigest()
SHOWN = {
    "/v1/surveys": {"surveys": [{"id": ID, "epsilon": 1.2, "attributes": 4}]},
    "/v1/survey": {"id": ID, "survey": SURVEY, "slots": "drawn"},
}


class Handler(BaseHTTPRequestHandler):
    """A collector that shows one survey, and takes whatever is sent."""

    def do_GET(self) -> None:
        """Show a page, a script or the survey."""
        path = self.path.partition("?")[0]
        if path in SHOWN:
            return self._send(json.dumps(SHOWN[path]).encode(), "application/json")
        if path == "/static/languages.json":
            return self._send(spoken().encode(), "application/json")
        file = PAGES / (path.rpartition("/")[2] or "index.html")
        return self._send(file.read_bytes(), KINDS[file.suffix])

    def do_POST(self) -> None:
        """Take a report."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(b'{"accepted": 1}', "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *told: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.forget(address)
    made.look(1000)
    made.go(f"{address}/?survey={ID}", "#fill")
    yield made
    made.close()


def attributes(visitor: Visitor, selector: str) -> dict[str, str]:
    code = "Object.fromEntries([...document.querySelector({}).attributes].map((a) => [a.name, a.value]))"
    return dict(visitor.run(code.format(json.dumps(selector))))


def test_fields_have_ends_units_and_hints(visitor: Visitor) -> None:
    age, income, born = (attributes(visitor, f"#a{number}") for number in range(3))
    assert age.items() >= {
        "type": "number", "min": "18", "max": "100", "step": "1", "inputmode": "numeric",
        "aria-describedby": "a0-hint",
    }.items()  # fmt: skip
    assert income.items() >= {"min": "-500.5", "max": "100000", "step": "any"}.items()
    assert "inputmode" not in income
    assert born.items() >= {"type": "date", "min": "2024-01-01", "max": "2024-12-30"}.items()
    tail = "anything beyond counts as the nearest limit."
    assert visitor.text("#a0-hint") == f"18 to 100 years; {tail}"
    assert visitor.text("#a1-hint") == f"-500.5 to 100,000; {tail}"
    assert visitor.text("#a2-hint") == (
        "1 January 2024 to 30 December 2024; an earlier or later day counts as the first or last."
    )
    assert visitor.text(".number") == "years"
    labels = visitor.run("[...document.querySelectorAll('#items .item')].map((i) => i.innerText)")
    assert "rather not say" in labels[1]
    assert "No answer (false)" in labels[2]
    assert visitor.run("document.querySelectorAll('fieldset.item input[type=radio]').length") == 4


def test_what_is_empty_is_said_beside_its_field(visitor: Visitor) -> None:
    visitor.click("#fill .main")
    assert visitor.text("#incomplete") == "Still open: age, income, born and mood."
    assert visitor.text("#a0-missing") == "Please enter a number."
    assert visitor.text("#a2-missing") == "Please enter a day."
    age = attributes(visitor, "#a0")
    assert (age["aria-describedby"], age["aria-invalid"]) == ("a0-hint a0-missing", "true")
    assert visitor.run("document.activeElement.id") == "a0"
    visitor.call("Input.insertText", text="41.5")
    assert not visitor.sees("#a0-missing")
    assert attributes(visitor, "#a0")["aria-invalid"] == "false"
    assert visitor.complaints == []


def test_a_record_of_numbers_is_answered_in_plain_words(visitor: Visitor, address: str) -> None:
    visitor.type("#a0", "999")  # beyond the end
    visitor.click("#items .item:nth-child(2) label:not(.name)")
    assert visitor.run("document.querySelector('#a1').disabled")
    visitor.run("document.querySelector('#a2').value = '2024-02-29'")
    visitor.click("#items .item:nth-child(4) label:nth-of-type(3)")
    visitor.click("#fill .main")
    visitor.wait("#ask")
    asked = in_line(visitor.text("#question"))
    number = r"-?[\d,.]+"
    day = r"\d+ \w+ 2024"
    patterns = (
        rf"age – above {number} years age – above {number} and up to {number} years",
        rf"income – above {number}(, or “rather not say”)? income – above {number} and up to {number}",
        rf"born – after {day}(, or “no answer \(false\)”)? born – after {day} and up to {day}",
        r"mood – good or best mood – fair or good",
    )
    assert asked.startswith("For each of these 2: is it true for you, yes or no?")
    assert any(re.search(pattern, asked) for pattern in patterns), asked
    visitor.click("#agree")
    visitor.wait("#sent")
    assert re.fullmatch("(yes|no) and (yes|no)", visitor.text("#what .value"))
    ((path, report),) = visitor.posts
    assert path == "/reports"
    assert sorted(report) == ["slot", "survey", "value"]
    assert visitor.complaints == []


def tab_to(visitor: Visitor, test: str) -> None:
    """Press the tab key until something of interest has the focus."""
    for _ in range(30):
        visitor.press("Tab", 9)
        if visitor.run(f"((one) => {test})(document.activeElement)"):
            return
    raise AssertionError(f"the tab key does not reach {test}")


def write(visitor: Visitor, text: str) -> None:
    for letter in text:
        visitor.press(letter, ord(letter), letter)


def test_numbers_days_and_words_are_filled_in_by_the_keyboard_alone(visitor: Visitor) -> None:
    tab_to(visitor, "one.id === 'a0'")
    write(visitor, "41")
    tab_to(visitor, "one.id === 'a1'")
    write(visitor, "5000")
    tab_to(visitor, "one.type === 'checkbox'")
    visitor.press(" ", 32, " ")
    assert visitor.run("document.querySelector('#a1').disabled")
    visitor.press(" ", 32, " ")
    assert not visitor.run("document.querySelector('#a1').disabled")
    tab_to(visitor, "one.id === 'a2'")
    write(visitor, "02292024")
    tab_to(visitor, "one.type === 'radio'")
    visitor.press("ArrowDown", 40)
    fields = "['#a0', '#a1', '#a2'].map((one) => document.querySelector(one).value)"
    assert visitor.run(fields) == ["41", "5000", "2024-02-29"]
    assert visitor.run("document.querySelectorAll('input[type=radio]:checked').length") == 1
    tab_to(visitor, "one.matches('#fill .main')")
    visitor.press("Enter", 13, "\r")
    visitor.wait("#ask")
    assert visitor.complaints == []


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_a_screen_reader_is_told_names_units_and_what_is_clamped(
    visitor: Visitor, width: int
) -> None:
    visitor.look(width)
    visitor.click("#fill .main")  # so that what is empty is told as well
    nodes = visitor.call("Accessibility.getFullAXTree")["nodes"]
    told = {
        (node["role"]["value"], node["name"]["value"]): node.get("description", {})
        .get("value", "")
        .replace("\N{NO-BREAK SPACE}", " ")
        for node in nodes
        if "name" in node and not node["ignored"]
    }
    clamped = "anything beyond counts as the nearest limit."
    assert told["spinbutton", "age"] == f"18 to 100 years; {clamped} Please enter a number."
    assert told["spinbutton", "income"].startswith(f"-500.5 to 100,000; {clamped}")
    assert told["Date", "born"].startswith("1 January 2024 to 30 December 2024; ")
    assert told["checkbox", "rather not say"].startswith("-500.5 to 100,000")
    assert ("group", "mood") in told
    assert {name for role, name in told if role == "radio"} == {"bad", "fair", "good", "best"}
    assert visitor.run(AUDIT) == []
