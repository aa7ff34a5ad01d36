"""The studio in a real browser: from an empty folder to the first answer, with the keyboard alone."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from page_parts import Visitor, axe, until

AREAS = ("design", "preview", "try", "freeze", "collect", "read", "write")
AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
EMPTIED = """(() => {
  const own = document.querySelector('[data-place="1:wording"]');
  own.value = "";
  own.dispatchEvent(new Event("input"));
})()"""
SCRIPT = "<img src=x onerror=\"document.title='run'\">"
TWO = """\
deniable: questionnaire
format: 1
languages: [de, en]
title: {de: Arbeit und Schlaf, en: Work and sleep}
design: {order: 2, epsilon: 1.1, people: 2000}
attributes:
  - {name: nap, wording: {de: Schlafen Sie im Dienst?, en: Do you sleep at work?}}
  - {name: dream, wording: {de: Träumen Sie dabei?, en: Do you dream there?}}
  - {name: place, wording: {de: Wo?, en: Where?}, values: [desk, sofa], missing: nowhere}
"""
FORM = """\
deniable: questionnaire
format: 1
languages: [sw]
title: Mahali
attributes:
  - {name: a_long_name_that_tells_everything, wording: Je?, values: [ndiyo, si], complete: true}
"""


class Studio:
    """A studio in a process of its own, as the command starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deniable", "studio", str(folder), "--no-browser"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # Whoever runs the tests by nohup has told all that they start to stay.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", line)
        assert found, line
        self.address = found[0]

    def close(self, end: signal.Signals = signal.SIGINT) -> str:
        """Press Ctrl-C, or end it otherwise; return what it said meanwhile."""
        self.process.send_signal(end)
        _, told = self.process.communicate(timeout=60)
        return str(told)


class Keyboard:
    """Somebody without a mouse."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self.keys = self.letters = 0

    def press(self, key: str, code: int, text: str = "") -> None:
        self._visitor.press(key, code, text)
        self.keys += 1

    def to(self, selector: str, most: int = 120) -> None:
        """Press Tab until something has the focus."""
        for _ in range(most):
            self.press("Tab", 9)
            if self._visitor.run(
                f"document.activeElement?.matches({json.dumps(selector)}) ?? false"
            ):
                return
        raise AssertionError(f"no key leads to {selector}")

    def enter(self) -> None:
        self.press("Enter", 13, "\r")

    def space(self) -> None:
        self.press(" ", 32, " ")

    def type(self, text: str) -> None:
        self._visitor.call("Input.insertText", text=text)
        self.letters += len(text)

    def choose(self, letter: str) -> None:
        """Choose what begins with a letter."""
        self.press(letter, ord(letter.upper()), letter)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "survey")
    yield made
    if made.process.poll() is None:
        made.close()


@pytest.fixture
def visitor(browser: Any) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.offline(False)
    yield made
    made.close()


def phone(visitor: Visitor) -> None:
    visitor.look(390)
    visitor.call(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=844,
        deviceScaleFactor=1,
        mobile=True,
    )


def errors(visitor: Visitor) -> list[Any]:
    return [one for one in visitor.complaints if "error" in json.dumps(one).lower()]


@pytest.mark.slow
def test_from_nothing_to_the_first_answer_in_german_with_the_keyboard_alone(
    studio: Studio, visitor: Visitor, browser: Any
) -> None:
    phone(visitor)
    visitor.go(studio.address, "nav")
    assert "token" not in visitor.run("location.href")
    keyboard = Keyboard(visitor)
    keyboard.to("#first-language")
    keyboard.choose("D")
    until(lambda: visitor.run("document.querySelector('#first-language').value === 'de'"))
    keyboard.to('[data-place="survey:title"]')
    keyboard.type("Arbeit und Schlaf")
    keyboard.to("#add .main")
    for number, words in enumerate(("Schlafen Sie im Dienst?", "Träumen Sie dabei?")):
        if number:
            keyboard.to("#add .main")
        keyboard.enter()
        keyboard.type(words)
    until(lambda: (studio.folder / "survey.yaml").exists())
    visitor.run("document.body.focus()")
    go(visitor, keyboard, "freeze")
    keyboard.to("#freezing .main")
    keyboard.enter()
    visitor.wait("#frozen .card")
    go(visitor, keyboard, "collect")
    keyboard.to("#collect-port")
    keyboard.type("0")  # any port, in place of 8000
    keyboard.to("#here-card .main")
    keyboard.enter()
    visitor.wait("#collect-link")
    link = visitor.run("document.querySelector('#collect-link').href")
    assert errors(visitor) == []

    keys = answer_on_a_phone(browser, link, questions=2)
    until(lambda: visitor.text("#collect-people") == "1")
    print(f"{keyboard.keys} keys and {keyboard.letters} letters in the studio, {keys} on the page")
    told = studio.close()
    assert "nap" not in told
    assert str(studio.folder) not in told
    assert "Traceback" not in told
    assert not listens(link)  # the collector ended with the studio


def answer_on_a_phone(browser: Any, link: str, questions: int) -> int:
    """Answer a survey as somebody who reads German; return how many keys that took."""
    participant = Visitor(browser)
    participant.offline(False)
    phone(participant)
    agent = participant.run("navigator.userAgent")
    participant.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage="de-DE,de")
    participant.go(link, "#fill form")
    assert participant.run("document.documentElement.lang") == "de"
    hand = Keyboard(participant)
    for _ in range(questions):
        hand.to("#items input[type=radio]")
        hand.space()
    hand.to("#fill .main")
    hand.enter()
    participant.wait("#ask")
    hand.to("#agree")
    hand.enter()
    participant.wait("#sent")
    participant.close()
    return hand.keys


@pytest.mark.slow
def test_from_an_xlsform_to_the_first_answer_in_german(
    studio: Studio, visitor: Visitor, browser: Any, tmp_path: Path
) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "survey"
    for row in [
        ("type", "name", "label::Deutsch (de)", "label::English (en)"),
        ("select_one yn", "nap", "Schlafen Sie im Dienst?", "Do you sleep at work?"),
        ("select_one yn", "dream", "Träumen Sie dabei?", "Do you dream there?"),
        ("geopoint", "home", "Wo wohnen Sie?", "Where do you live?"),
    ]:
        book.active.append(row)
    choices = book.create_sheet("choices")
    for row in [
        ("list_name", "name", "label::Deutsch (de)"),
        ("yn", "y", "Ja"),
        ("yn", "n", "Nein"),
    ]:
        choices.append(row)
    book.save(tmp_path / "Schlaf.xlsx")
    phone(visitor)
    visitor.go(studio.address, "nav")
    document = visitor.call("DOM.getDocument")["root"]["nodeId"]
    field = visitor.call("DOM.querySelector", nodeId=document, selector="input[type=file]")
    visitor.call(
        "DOM.setFileInputFiles", files=[str(tmp_path / "Schlaf.xlsx")], nodeId=field["nodeId"]
    )
    visitor.wait("#import-rows")
    assert "1 of 3 rows cannot be asked" in visitor.text("#import-rows")
    assert "places cannot be asked" in visitor.text("#import-rows")
    assert axe(visitor) == []
    visitor.run("location.hash = '#freeze'")
    visitor.wait("#freezing .main")
    visitor.click("#freezing .main")
    visitor.wait("#frozen .card")
    visitor.run("location.hash = '#collect'")
    visitor.wait("#collect-port")
    visitor.run("document.querySelector('#collect-port').value = 0")
    visitor.click("#here-card .main")
    visitor.wait("#collect-link")
    link = visitor.run("document.querySelector('#collect-link').href")
    answer_on_a_phone(browser, link, questions=2)
    until(lambda: visitor.text("#collect-people") == "1")
    assert errors(visitor) == []


def listens(address: str) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", urlsplit(address).port)) == 0


def go(visitor: Visitor, keyboard: Keyboard, area: str) -> None:
    """Go to an area by its link, which the keyboard reaches from the beginning of the page."""
    visitor.run("document.querySelector('.skip').focus()")
    keyboard.to(f'nav a[href="#{area}"]')
    keyboard.enter()
    until(lambda: visitor.run(f"document.activeElement.id === '{area}-head'"))


@pytest.mark.slow
def test_every_area_can_be_used_without_seeing_it(studio: Studio, visitor: Visitor) -> None:
    (studio.folder / "survey.yaml").write_text(TWO, "utf-8")
    visitor.look(1280)
    visitor.go(studio.address, "nav")
    visitor.click("#questions summary")
    for width in (1280, 390):
        visitor.look(width)
        for area in AREAS:
            visitor.run(f"location.hash = '#{area}'")
            until(lambda area=area: visitor.run(f"document.activeElement.id === '{area}-head'"))
            if area == "try" and width > 1000:
                visitor.click("#try-tools .main")
                visitor.wait("#trial table")
            if area == "design":
                visitor.wait("#facts dd")
            assert (area, width, axe(visitor)) == (area, width, [])
            assert (area, width, visitor.run(AUDIT)) == (area, width, [])
    assert errors(visitor) == []


def test_the_address_opens_one_tab_which_stays_open(
    studio: Studio, visitor: Visitor, browser: Any
) -> None:
    visitor.look(1280)
    visitor.go(studio.address, "nav")
    visitor.go(studio.address.partition("#")[0], "nav")  # the same tab, loaded again
    other = Visitor(browser)
    other.offline(False)
    other.go(studio.address, "#closed")
    other.go(studio.address.partition("#")[0], "#closed")
    other.close()


REACH = """Promise.all([
  fetch({0}).then(() => "read", () => "blocked"),
  fetch({0}, {{ mode: "no-cors", method: "POST", body: "{{}}" }}).then(() => "sent", () => "blocked"),
])"""


def test_words_do_not_run_on_the_stage_and_nothing_there_reaches_the_studio(
    studio: Studio, visitor: Visitor
) -> None:
    text = TWO.replace("Arbeit und Schlaf", json.dumps(SCRIPT)).replace("Wo?", json.dumps(SCRIPT))
    (studio.folder / "survey.yaml").write_text(text, "utf-8")
    visitor.look(1280)
    visitor.go(studio.address, "#phone iframe")
    shown = visitor.run("document.querySelector('#phone iframe').src")
    here = studio.address.partition("#")[0]
    assert urlsplit(shown).netloc != urlsplit(here).netloc
    visitor.go(shown, "#fill form")
    assert visitor.run("document.title") != "run"
    assert not visitor.run("document.querySelector('[onerror]')")
    state = json.dumps(f"{here}api/state")
    assert visitor.run(REACH.format(state)) == ["blocked", "blocked"]
    assert visitor.run("sessionStorage.length") == 0


def test_a_warning_is_mended_with_a_click(studio: Studio, visitor: Visitor) -> None:
    text = TWO.replace("people: 2000", "people: 500")
    (studio.folder / "survey.yaml").write_text(text, "utf-8")
    visitor.look(1280)
    visitor.go(studio.address, "nav")
    visitor.run("location.hash = '#design'")
    visitor.wait(".warning")
    assert "With 500 people, pairs will be noise" in visitor.text("#warnings")
    visitor.click(".warning button:nth-of-type(2)")
    visitor.wait("[data-pair]")
    until(lambda: "tables" in (studio.folder / "survey.yaml").read_text("utf-8"))
    visitor.click(".warning button:nth-of-type(1)")
    until(lambda: "pairs" not in visitor.text("#outlook-told"))
    until(lambda: "order: 1" in (studio.folder / "survey.yaml").read_text("utf-8"))


def test_a_flaw_leads_to_its_field_and_what_is_removed_comes_back(
    studio: Studio, visitor: Visitor
) -> None:
    (studio.folder / "survey.yaml").write_text(TWO, "utf-8")
    visitor.look(1280)
    visitor.go(studio.address, "nav")
    visitor.click("#questions > li:nth-child(2) summary")
    visitor.run(EMPTIED)
    visitor.wait("#flaw")
    visitor.click("#flaw button")
    assert visitor.run("document.activeElement.dataset.place") == "1:wording"
    visitor.type('[data-place="1:wording"]', SCRIPT)
    until(lambda: not visitor.sees("#flaw"))
    visitor.click('[aria-label="Remove question 2"]')
    until(lambda: "dream" not in (studio.folder / "survey.yaml").read_text("utf-8"))
    assert visitor.run("document.activeElement.textContent") == "Undo"
    visitor.click("#undo button")
    until(lambda: "dream" in (studio.folder / "survey.yaml").read_text("utf-8"))
    text = (studio.folder / "survey.yaml").read_text("utf-8")
    (studio.folder / "survey.yaml").write_text(text.replace("Arbeit", "Anderes"), "utf-8")
    visitor.type('[data-place="survey:title"]', "Meines")
    until(lambda: visitor.text("#problem button") == "Load it again")
    assert "Anderes" in (studio.folder / "survey.yaml").read_text("utf-8")
    visitor.click("#problem button")
    title = "document.querySelector('[data-place=\"survey:title\"]')?.value ?? ''"
    until(lambda: visitor.run(title) == "Anderes und Schlaf")
    assert "onerror" in visitor.text("#questions")
    assert visitor.run("document.title") != "run"
    assert [one for one in errors(visitor) if "409" not in json.dumps(one)] == []


NAMES = """(async () => {
  const { shortName } = await import("./static/words.js");
  return TEXTS.map((text) => shortName(text, [], "q1"));
})()"""


def test_short_names_say_what_is_asked_and_not_since_when(studio: Studio, visitor: Visitor) -> None:
    visitor.look(1280)
    visitor.go(studio.address, "nav")
    texts = {
        "Haben Sie in den letzten 12 Monaten am Arbeitsplatz Alkohol getrunken?": "arbeitsplatz_alkohol",
        "Haben Sie sich krankgemeldet, ohne krank zu sein?": "krankgemeldet_krank",
        "In the last 12 months, have you taken anything to work better?": "taken_anything",
        "Au cours des 12 derniers mois, avez-vous bu de l’alcool ?": "bu_alcool",
        "2026": "2026",
        "": "q1",
    }
    names = visitor.run(NAMES.replace("TEXTS", json.dumps(list(texts))))
    assert names == list(texts.values())


def test_another_session_opens_in_a_tab_of_an_ended_one(studio: Studio, visitor: Visitor) -> None:
    visitor.look(1280)
    visitor.go(studio.address.partition("#")[0], "#closed")
    visitor.leave(f"location.href = {json.dumps(studio.address)}")
    visitor.wait("nav")
    until(lambda: visitor.sees("nav"))
    assert "Traceback" not in studio.close(signal.SIGHUP)  # as of a terminal that is closed
    assert studio.process.returncode == 0  # it came to its end, and was not ended


def test_titles_of_questions_have_room_on_a_phone(studio: Studio, visitor: Visitor) -> None:
    (studio.folder / "survey.yaml").write_text(FORM, "utf-8")
    phone(visitor)
    visitor.go(studio.address, "#questions summary")
    title = "document.querySelector('#questions summary span').getBoundingClientRect().width"
    assert visitor.run(title) > 200
    assert visitor.text("#preview-tools [data-language]") == "Kiswahili"
    visitor.run("location.hash = '#design'")
    visitor.wait("#planned code")
    assert "75.1" in visitor.text("#facts")  # e^1.1 : 1 is 75.03 %, and at most is rounded up
