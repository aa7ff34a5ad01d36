"""Numbers in a real browser: in the report, and on the analysts' page before a real collector."""

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

from deniable import Schema, Survey, simulate
from deniable.api.tally import Tally
from deniable.schema.attribute import Attribute

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")
HOSTILE = "</script><b onclick=alert(1)>x</b>"
SURVEY = Survey(
    Schema(
        [
            Attribute("income", low=0, high=100_000, step=5_000, unit="EUR", missing="no answer",
                      other="no answer"),
            Attribute("age", low=20, high=80, step=5, unit="years", missing="?", other="?"),
            Attribute("sex", ("f", "m", HOSTILE), complete=True),
            Attribute("smoker"),
        ]
    ),
    2,
    1.9,
)  # fmt: skip
PEOPLE = 6000


def people() -> pd.DataFrame:
    random = np.random.default_rng(3)
    sex = random.choice(["f", "m"], PEOPLE)
    age = random.normal(50, 12, PEOPLE).clip(20, 80)
    income = 20_000 * (sex == "m") + 600 * age + random.normal(0, 8_000, PEOPLE)
    income[random.random(PEOPLE) < 0.1] = np.nan
    smoker = random.random(PEOPLE) < 0.3
    return pd.DataFrame({"income": income, "age": age, "sex": sex, "smoker": smoker})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers") / "numbers.html"
    simulate(SURVEY, people(), "x", consistency="auto").report(path)
    return path


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_a_report_draws_numbers(browser: Any, report: Path, width: int) -> None:
    browser.open(report, width)
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.run("document.documentElement.scrollWidth") == width, "nothing sticks out"
    assert browser.run("document.querySelectorAll('#numbers .curves svg').length") == 4
    assert browser.run(AUDIT) == []
    browser.run("document.querySelectorAll('#numbers details').forEach((one) => one.open = true)")
    lasts = "[...document.querySelectorAll('#numbers .curves + details tr:last-child td')]"
    assert (
        browser.run(f"{lasts}.map((one) => one.innerText)")[1::3] == ["100\N{NO-BREAK SPACE}%"] * 2
    )
    assert browser.run(AUDIT) == [], "and what is drawn is a table as well"
    browser.run("document.querySelectorAll('[data-attribute]').forEach((one, i) => {"
                " one.value = i; one.dispatchEvent(new Event('change')); })")  # fmt: skip
    cells = "[...document.querySelectorAll('#table .heat tbody td')].map((one) => one.innerText)"
    shares = [float(cell) for cell in browser.run(cells)]
    sizes = [one.size for one in SURVEY.schema.attributes[:2]]
    assert len(shares) == sizes[0] * sizes[1]
    assert sum(shares) == pytest.approx(100, abs=1)
    rows = "document.querySelectorAll('#table details tbody tr').length"
    assert browser.run(rows) == 24
    assert browser.run(AUDIT) == []
    assert browser.complaints == []


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("collector"), SURVEY, slots="drawn")
    reports = SURVEY.randomize(people(), "numbers").to_arrow().to_pylist()
    for start in range(0, len(reports), 3000):
        rows = [{n: str(row[n]) for n in ("slot", "value")} for row in reports[start:][:3000]]
        headers = {"Content-Type": "application/json"}
        body = json.dumps(rows).encode()
        urlopen(Request(f"{running.url}/v1/reports", body, headers)).close()
    assert running.people == PEOPLE
    yield running
    running.close()


@pytest.fixture
def visitor(browser: Any, collector: Running) -> Iterator[Visitor]:
    made = Visitor(browser)
    made.forget(collector.url)
    made.look(1280)
    yield made
    made.close()


def choose(visitor: Visitor, key: str, value: str) -> None:
    one = f"document.querySelector('[data-choice={key}]')"
    visitor.run(f"{one}.value = {json.dumps(value)}; {one}.dispatchEvent(new Event('change'))")


def test_the_dashboard_draws_numbers(visitor: Visitor, collector: Running) -> None:
    visitor.go(collector.dashboard, "#tree svg, #tree p")
    visitor.wait("#number-map .heat")
    release = Tally.of(collector.tally()).release()
    assert visitor.run("document.querySelectorAll('#number .curves svg').length") == 2
    assert visitor.text("#number table tbody tr").split("\t")[0] == "mean"
    median = release.quantile("income", 0.5)
    assert f"median\t{median.estimate:,}\t" in visitor.text("#number table")
    assert visitor.text("#number-groups h3") == "Mean of income by sex"
    assert HOSTILE in visitor.text("#number-groups table"), "a name is a text"
    assert "Correlation" in visitor.text("#number-correlation") or "cannot be told" in visitor.text(
        "#number-correlation"
    )
    sizes = [one.size for one in SURVEY.schema.attributes[:2]]
    cells = "document.querySelectorAll('#number-map .heat tbody td').length"
    assert visitor.run(cells) == sizes[0] * sizes[1]

    # Another number by other groups, and no pair.
    choose(visitor, "number", "age")
    until(lambda: "age among 6,000 people" in visitor.text("#number caption"))
    until(lambda: visitor.text("#number-told") == "age by sex is shown.")
    assert not visitor.sees("#number-map table"), "age is no pair with itself"
    choose(visitor, "by", "smoker")
    until(lambda: visitor.text("#number-groups h3") == "Mean of age by smoker")
    choose(visitor, "by", "")
    until(lambda: not visitor.sees("#number-groups h3"))
    choose(visitor, "other", "income")
    visitor.wait("#number-map .heat")
    assert visitor.text("#number-correlation h3") == "age × income"
    assert visitor.complaints == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360], ids=["desk", "phone"])
def test_numbers_can_be_used_by_all(
    visitor: Visitor, collector: Running, width: int, is_dark: bool
) -> None:
    visitor.look(width, is_dark)
    visitor.go(collector.dashboard, "#tree svg, #tree p")
    visitor.wait("#number-map .heat")
    visitor.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert visitor.run(AUDIT) == []
    # With the keyboard: each choice and each table that scrolls is a stop, and says what it is.
    stops = "[...document.querySelectorAll('#numbers select, #numbers [tabindex=\"0\"]')]"
    named = f"{stops}.every((one) => one.ariaLabel || one.labels?.length)"
    assert visitor.run(f"{stops}.length") >= 6
    assert visitor.run(named)


def test_without_numbers_there_is_no_such_part(browser: Any, tmp_path: Path) -> None:
    survey = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")
    running, visitor = Running(tmp_path, survey, slots="drawn"), Visitor(browser)
    try:
        visitor.look(1280)
        rows = json.dumps([{"slot": n % 3, "value": n % 2} for n in range(300)]).encode()
        headers = {"Content-Type": "application/json"}
        urlopen(Request(f"{running.url}/v1/reports", rows, headers)).close()
        visitor.go(running.dashboard, "#table table")
        assert not visitor.sees("#numbers")
        assert visitor.complaints == []
    finally:
        visitor.close()
        running.close()
