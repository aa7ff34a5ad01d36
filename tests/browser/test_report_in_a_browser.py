"""A report in a real browser, offline: no error, no request, at a desk and on a phone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, simulate
from deniable.show import report as report_module

NAMES = (
    "coffee",
    "</script><img src=https://example.org/x onerror=alert(1)>",
    "a name that is much longer than anybody would like to read on the screen of a phone",
    "tea",
    "an_attribute_of_many_words_without_a_single_space_in_it",
)


def associations(release: Any) -> pd.DataFrame:
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
        patch.setattr(report_module, "tree", lambda release: SimpleNamespace(edges=edges))
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
        [tea, coffee] for tea in ("black", "green", "none") for coffee in ("false", "true")
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
