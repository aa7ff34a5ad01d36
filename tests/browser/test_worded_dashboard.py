"""The analysts' page in the survey's words and languages, with percentages and the report's noise."""

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

from deniable import Survey
from deniable.api.tally import Tally
from deniable.questionnaire import Questionnaire
from deniable.show.reading import doubtful_cells

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
MARKUP = "<img src=x onerror=\"document.title='run'\">"
YES = [
    {"value": True, "label": {"de": "Ja", "ar": "نعم"}},
    {"value": False, "label": {"de": f"Nein {MARKUP}", "ar": "لا"}},
]
QUESTIONNAIRE = Questionnaire.of(
    {
        "deniable": "questionnaire",
        "format": 1,
        "languages": ["de", "ar"],
        "title": {"de": "Ruhe", "ar": "الراحة"},
        "attributes": [
            {
                "name": "naps",
                "wording": {"de": f"Schlafen Sie? {MARKUP}", "ar": "هل تنام؟"},
                "values": YES,
            },
            {"name": "tired", "wording": {"de": "Sind Sie müde?"}, "values": YES},
        ],
    }
)
PEOPLE = 3000
CELLS = """[...document.querySelectorAll('#table tbody tr')]
.map((row) => [...row.children].map((cell) => [cell.innerText, cell.classList.contains('faint')]))"""
PICK = """(([selector, value]) => {{ const menu = document.querySelector(selector);
menu.value = value; menu.dispatchEvent(new Event("change")); }})({})"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    survey = Survey.from_questionnaire(QUESTIONNAIRE, epsilon=2.0)
    running = Running(
        tmp_path_factory.mktemp("worded"),
        survey,
        texts={survey.id: QUESTIONNAIRE.texts},
        slots="drawn",
    )
    random = np.random.default_rng(5)
    naps = random.random(PEOPLE) < 0.4
    tired = random.random(PEOPLE) < np.where(naps, 0.98, 0.3)
    frame = pd.DataFrame({"naps": naps, "tired": tired})
    rows = survey.randomize(frame, "worded").to_arrow().to_pylist()
    body = json.dumps([{name: str(row[name]) for name in ("slot", "value")} for row in rows])
    headers = {"Content-Type": "application/json"}
    urlopen(Request(f"{running.url}/v1/reports", body.encode(), headers)).close()
    yield running
    running.close()


@pytest.fixture
def visitor(browser: Any, collector: Running) -> Iterator[Visitor]:
    tab = Visitor(browser)
    tab.forget(collector.url)
    tab.look(390)
    tab.go(collector.dashboard, "#tree svg")
    yield tab
    tab.close()


def pick(visitor: Visitor, selector: str, value: str) -> None:
    visitor.run(PICK.format(json.dumps([selector, value])))


def test_tables_are_in_the_surveys_words_and_say_on_demand_what_was_asked(
    visitor: Visitor, collector: Running
) -> None:
    assert visitor.text("#title") == "Ruhe"
    assert {row[0][0] for row in visitor.run(CELLS) if row[0][0]} == {"Ja", f"Nein {MARKUP}"}
    visitor.run("document.querySelector('#table .word').focus()")
    visitor.press("Enter", 13, "\r")
    visitor.wait(".card:popover-open")
    card = visitor.text(".card:popover-open")
    assert f"Schlafen Sie? {MARKUP}" in card
    assert visitor.run(AUDIT) == []
    visitor.press("Escape", 27)
    until(lambda: not visitor.sees(".card:popover-open"))
    pick(visitor, "#language select", "ar")
    until(lambda: visitor.text("#title") == "الراحة")
    until(lambda: {row[0][0] for row in visitor.run(CELLS) if row[0][0]} == {"نعم", "لا"})
    label = "document.querySelector('#table tbody th span')"
    assert visitor.run(f"[{label}.lang, {label}.dir]") == ["ar", "rtl"]
    # What nobody translated is there in the survey's own language, and says so.
    assert visitor.run("document.querySelector('#word-1 p[lang]').lang") == "de"
    assert visitor.run("document.documentElement.scrollWidth <= innerWidth")
    assert visitor.run("document.title") == "Tables so far · deniable"
    assert visitor.complaints == []


def test_percentages_are_those_of_the_release_and_noise_is_drawn_as_in_the_report(
    visitor: Visitor, collector: Running
) -> None:
    table = Tally.of(collector.tally()).release("auto").marginal("naps", "tired")
    doubtful = doubtful_cells(table, *table.interval(0.95))
    assert 0 < doubtful.sum() < doubtful.size
    for within in ("naps", "tired"):
        pick(visitor, "#within select", within)
        own = table.percentages(within).to_numpy()
        rows = visitor.run(CELLS)
        assert [[cell[0] for cell in row[1:]] for row in rows] == [
            [f"{share:.1f}" for share in row] for row in own
        ]
        assert [[cell[1] for cell in row[1:]] for row in rows] == doubtful.tolist()
    assert "Dashed: may be noise" in visitor.text("#table caption")
    assert visitor.run(AUDIT) == []
    pick(visitor, "#within select", "")
    until(lambda: "share, %" in visitor.text("#table"))
