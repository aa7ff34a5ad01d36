"""A report in a real browser, offline: no error, no request, at a desk and on a phone."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_parts import Visitor

from deniable import Schema, Survey, simulate
from deniable.show import report as report_module

NAMES = (
    "coffee",
    "</script><img src=https://example.org/x onerror=alert(1)>",
    "a name that is much longer than anybody would like to read on the screen of a phone",
    "tea",
    "an_attribute_of_many_words_without_a_single_space_in_it",
)


def associations(release: Any, **_: Any) -> pd.DataFrame:
    names = release.survey.schema.names
    rows = [
        {
            "a": a,
            "b": b,
            "statistic": 9.0,
            "df": 1,
            "p_value": 0.01,
            "q_value": 0.02 + 0.1 * j,
            "cramers_v": 0.3 / (j + 1),
            "cramers_v_low": 0.0,
            "cramers_v_high": 0.5,
            "mutual_information": 0.01,
            "mutual_information_low": 0.0,
            "mutual_information_high": 0.1,
            "detectable_v": 0.1,
            "method": "any",
        }
        for i, a in enumerate(names)
        for j, b in enumerate(names[i + 1 :])
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.random((5000, 5)) < 0.4, columns=list(NAMES))
    frame["tea"] = np.array(["black", "green", "none"])[random.integers(0, 3, 5000)]
    schema = Schema.from_frame(frame, values={"tea": ["black", "green", "none"]})
    release = simulate(Survey(schema, 2, 1.1, "MargPS"), frame, "x")
    path = tmp_path_factory.mktemp("report") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_module, "associations", associations)
        edges = associations(release)[["a", "b", "mutual_information"]][:4]
        patch.setattr(report_module, "tree", lambda release, **_: SimpleNamespace(edges=edges))
        release.report(path)
    return path


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_a_report_works_offline(browser: Any, report: Path, width: int) -> None:
    browser.open(report, width)
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.run("document.documentElement.scrollWidth") == width, "nothing sticks out"
    assert browser.run("document.images.length") == 0
    assert browser.run("document.querySelectorAll('h2').length") == 6
    smallest = "Math.min(...[...document.querySelectorAll('main p, main td, main th')]"
    smallest += ".filter((e) => e.textContent.trim())"
    smallest += ".map((e) => parseFloat(getComputedStyle(e).fontSize)))"
    assert browser.run(smallest) >= 12, "everything can be read"
    widths = "[...document.querySelectorAll('#table .reach')].map((e) => "
    widths += "[e.offsetWidth, e.querySelector('b').offsetWidth])"
    drawn = browser.run(widths)
    assert drawn
    assert all(10 * mark < room for room, mark in drawn), "a mark hides no interval"


def test_any_table_can_be_looked_at(browser: Any, report: Path) -> None:
    browser.open(report, 1280)
    cells = "[...document.querySelectorAll('#table tbody tr')].map((row) => row.innerText)"
    assert len(browser.run(cells)) == 4, "the strongest pair is shown first"

    def choose(*places: int | str) -> list[str]:
        for number, place in enumerate(places):
            browser.run(
                f"(() => {{ const one = document.querySelectorAll('[data-attribute]')[{number}];"
                f"one.value = '{place}'; one.dispatchEvent(new Event('change')); }})()"
            )
        return list(browser.run(cells))

    assert [row.split("\t")[:2] for row in choose(3, 0)] == [
        [tea, coffee] for tea in ("black", "green", "none") for coffee in ("no", "yes")
    ]
    turned = {tuple(sorted(row.split("\t")[:2])): row.split("\t")[2] for row in choose(3, 0)}
    for row in choose(0, 3):
        coffee, tea, share = row.split("\t")[:3]
        assert turned[tuple(sorted((tea, coffee)))] == share
    assert len(choose(3, "")) == 3
    assert len(choose(3, 3)) == 3
    total = sum(float(row.split("\t")[1].replace("−", "-")) for row in choose(3, ""))
    assert total == pytest.approx(100, abs=0.2)
    assert browser.complaints == []


def test_unbiased_tables_are_one_click_away(browser: Any, tmp_path: Path) -> None:
    """A negative share is never the first thing that a reader meets; noise looks like noise."""
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"x": random.integers(0, 4, 1500), "y": random.integers(0, 6, 1500)})
    schema = Schema.from_frame(frame, values={"x": range(4), "y": range(6)})
    release = simulate(Survey(schema, 2, 0.7), frame, "x", consistency="auto")
    assert (release.applied, release.marginal("x", "y").is_swamped) == ("model", False)
    assert release.unprocessed.marginal("x", "y").is_swamped
    release.report(tmp_path / "auto.html")
    browser.open(tmp_path / "auto.html", 1280)
    table = "document.querySelector('#table').innerText"
    swamped = "document.querySelectorAll('#table .warning, #table .swamped').length"
    assert "−" not in browser.run(table)
    assert browser.run(swamped) == 0
    browser.run("document.querySelector('#unbiased').click()")
    assert "unbiased estimates" in browser.run(table)
    assert "The error swamps this table" in browser.run(table)
    assert "−" in browser.run(table)
    assert browser.run(swamped) == 2
    bar = "getComputedStyle(document.querySelector('#table .reach i')).backgroundImage"
    assert "repeating-linear-gradient" in browser.run(bar), "hatched"
    browser.run("document.querySelector('#unbiased').click()")
    assert "−" not in browser.run(table)
    assert browser.complaints == []


def test_the_check_sees_errors_and_requests(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<img src='https://example.org/a.png'><script>console.log(1); x()</script>")
    browser.open(path, 1280)
    assert len(browser.complaints) >= 2
    assert browser.requests == ["https://example.org/a.png"]


def test_a_saved_chart_is_read_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """Phones shrink pages that do not say that they are for phones: to two fifths, with its letters."""
    frame = pd.DataFrame({"a": [True, False] * 200, "b": [True] * 400})
    release = simulate(Survey(Schema.binary("a", "b"), 2, 1.1), frame, "x")
    release.marginal("a", "b").plot().save(tmp_path / "chart.html")
    browser.open(tmp_path / "chart.html", 390)
    assert browser.run("!!document.querySelector('#vis canvas, #vis svg')")
    assert browser.run("innerWidth") == 390
    assert browser.run("document.documentElement.scrollWidth") == 390, (
        "the chart scrolls, not the page"
    )
    assert browser.complaints == browser.requests == []


# A wide survey: 200 attributes

TOPICS = ("asthma", "chess", "choir", "coffee", "garden", "tea", "tram", "violin", "yoga", "zebra")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    random = np.random.default_rng(8)
    names = [f"{topic}_{place}" for topic in TOPICS for place in range(1, 21)]
    held = random.random((30_000, 200)) < random.random(200) * 0.6 + 0.2
    frame = pd.DataFrame(held, columns=names)
    release = simulate(Survey(Schema.binary(*names), 2, 6.0, people=30_000), frame, "x")
    path = tmp_path_factory.mktemp("wide") / "wide.html"
    release.report(path)
    assert path.stat().st_size < 3_000_000
    return release, path


def expected_rows(release: Any, a: str, b: str) -> list[float]:
    return list(100 * release.marginal(a, b).values.ravel())


def shown_rows(visitor: Visitor) -> list[float]:
    cells = "[...document.querySelectorAll('#table tbody td.number:not(.interval)')]"
    shares = visitor.run(f"{cells}.map((one) => one.innerText)")
    return [float(share.replace("−", "-")) for share in shares]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_a_stranger_finds_the_table_of_two_attributes(
    browser: Any, wide: tuple[Any, Path], width: int
) -> None:
    """In three actions: type one name and part of the other, and click at what is found."""
    release, path = wide
    visitor = Visitor(browser)
    visitor.look(width)
    visitor.go(path.as_uri(), "#list tbody tr")
    assert "19,900 of 19,900 pairs" in visitor.text("#matches")
    visitor.type("#find", "tea_2 violin_17")  # there are tea_20 and violin_17 as well
    assert visitor.text("#list tbody tr th") == "tea_2 × violin_17"
    visitor.click("#list tbody tr .link")
    visitor.wait("#table table")
    assert visitor.run("document.activeElement.id") == "table", "a screen reader goes on there"
    assert visitor.text("#table caption") == "tea_2 × violin_17"
    np.testing.assert_allclose(
        shown_rows(visitor), expected_rows(release, "tea_2", "violin_17"), atol=0.06
    )
    top = visitor.run("document.querySelector('#table').getBoundingClientRect().top")
    assert 0 <= top < 900, "it is on the screen"
    assert visitor.run("document.documentElement.scrollWidth") == width
    assert visitor.complaints == []
    visitor.close()


@pytest.mark.slow
def test_pairs_are_found_with_the_keyboard_and_sorted(browser: Any, wide: tuple[Any, Path]) -> None:
    release, path = wide
    visitor = Visitor(browser)
    visitor.look(1280)
    visitor.go(path.as_uri(), "#list tbody tr")
    surest = visitor.text("#list tbody tr th")
    first = release.associations().iloc[0]
    assert surest == f"{first['a']} × {first['b']}"
    visitor.run("document.querySelector('#find').focus()")
    visitor.call("Input.insertText", text="nobody")
    assert visitor.text("#matches") == "None of 19,900 pairs has these names."
    visitor.run("document.querySelector('#find').select()")
    visitor.call("Input.insertText", text="YOGA_3 asthma")
    assert "of 19,900 pairs" in visitor.text("#matches")
    assert visitor.text("#more") == "Show 10 more", "of 20"
    for _ in range(5):  # past the scrolled region and the three heads that sort
        visitor.press("Tab", 9)
    chosen = visitor.run("document.activeElement.innerText")
    assert sorted(chosen.split(" × "))[1] == "yoga_3"
    visitor.press("Enter", 13, "\r")
    assert visitor.text("#table caption") == chosen
    visitor.run(
        "(() => { const one = document.querySelector('#find'); one.value = '';"
        "one.dispatchEvent(new Event('input')); })()"
    )
    visitor.click("[data-sort=name]")
    assert visitor.text("#list tbody tr th") == "asthma_1 × asthma_2"
    assert visitor.run("document.querySelectorAll('#list [aria-sort]').length") == 1
    visitor.click("[data-sort=name]")
    assert visitor.text("#list tbody tr th") == "zebra_19 × zebra_20"
    assert visitor.run("document.querySelector('#list [aria-sort]').ariaSort") == "descending"
    visitor.click("[data-sort=v]")
    shown = visitor.text("#list tbody tr td")
    assert float(shown) == round(float(release.associations()["cramers_v"].max()), 3)
    visitor.click("#more")
    assert visitor.run("document.querySelectorAll('#list tbody tr').length") == 110
    visitor.close()


@pytest.mark.slow
def test_a_matrix_of_many_attributes_can_be_browsed(browser: Any, wide: tuple[Any, Path]) -> None:
    release, path = wide
    visitor = Visitor(browser)
    visitor.look(1280)
    visitor.go(path.as_uri(), "#browse")
    cells = "document.querySelectorAll('#matrix td span').length"
    assert visitor.run(cells) == 40 * 39 // 2
    first = visitor.run("document.querySelector('#matrix').innerHTML")
    pick = "(([at, value]) => {{ const one = document.querySelectorAll('#browse select')[at];"
    pick += "one.value = value; one.dispatchEvent(new Event('change')); }})({})"
    pages = visitor.run("[...document.querySelector('#browse select').options].map((o) => o.text)")
    assert pages[1] == "1 to 40: asthma_1 to chess_20"
    assert len(pages) == 6
    visitor.run(pick.format("[0, 5]"))
    visitor.run(pick.format("[1, 1]"))
    assert visitor.run(cells) == 40 * 40
    heads = "[...document.querySelectorAll('#matrix th[scope={}]')].map((one) => one.title)"
    assert visitor.run(heads.format("row")) == list(release.survey.schema.names[160:])
    assert visitor.run(heads.format("col")) == list(release.survey.schema.names[:40])
    visitor.click("#matrix tr:nth-child(40) td:nth-child(5) span")
    assert visitor.text("#table caption") == "asthma_4 × zebra_20"
    title = visitor.run(
        "document.querySelector('#matrix tr:nth-child(40) td:nth-child(5) span').title"
    )
    assert title.startswith("zebra_20 and asthma_4: Cramér’s V ")
    visitor.run(pick.format("[0, 0]"))
    visitor.run(pick.format("[1, 0]"))
    drawn = visitor.run("document.querySelector('#matrix').innerHTML")
    marks = [re.findall(r'class="(s\d) (\w+)"', text) for text in (first, drawn)]
    assert marks[0] == marks[1], "what the file drew and what its script draws is the same"
    assert visitor.complaints == []
    visitor.close()
