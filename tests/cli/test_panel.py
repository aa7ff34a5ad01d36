"""2,000 panelists answer over real HTTP from personal links, and the weighted report needs no Python."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

from deniable import Survey
from deniable.lab.datasets import load

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from play_panel import links_of, play

Run = Callable[..., Any]
PEOPLE = 2000
COLUMNS = ("legal_if_poor", "college", "female")
STANDARD_ERRORS = 5.0
"""A share is further off once in more than a million panels; the panel here is another each time."""


@pytest.fixture
def address(tmp_path: Path, run: Run) -> Iterator[str]:
    """Serve a survey to who was issued an id, and return where."""
    new = ("new", "abortion", "--columns", ",".join(COLUMNS), "--people", PEOPLE, "--epsilon", 2)
    assert run(*new, "-o", "survey.json").code == 0
    code = "from deniable.cli import main; main()"
    words = ("serve", "survey.json", "--store", "c.db", "--participants", "issued", "--port", "0")
    server = subprocess.Popen(
        [sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    yield next(m[1] for line in server.stderr if (m := re.match(r"Collecting at (\S+)", line)))
    server.terminate()
    server.communicate(timeout=60)


@pytest.mark.slow
def test_a_panel_answers_from_links_and_its_report_is_weighted(
    run: Run, address: str, tmp_path: Path
) -> None:
    issue = ("issue", "--count", PEOPLE, "--store", "c.db", "--links", address, "--batch", "spring")
    assert run(*issue, "--format", "csv", "-o", "links.csv").code == 0
    links = list(links_of(Path("links.csv")))
    assert len({token for _, token in links}) == PEOPLE
    people = load("abortion", list(COLUMNS))
    keen = people["college"].map({True: 3, False: 1})
    panel = people.sample(PEOPLE, weights=keen, random_state=1).to_dict("records")
    play(links, panel, Survey.load("survey.json"))
    turnout = run("issued", "c.db", "--json").document
    # In tens, and never all: that would say of each of them that they answered.
    assert (turnout["issued"], turnout["answered"], turnout["open"]) == (PEOPLE, PEOPLE - 10, 10)
    # From here on as an analyst does it: commands, and what the census office says.
    Path("census.json").write_text('{"college": {"false": 0.773, "true": 0.227}}')
    assert run("tally", "sqlite:///c.db", "-o", "panel.tally").code == 0
    for name in ("panel.html", "panel.csv"):
        assert run("release", "panel.tally", "--poststratify", "census.json", "-o", name).code == 0
    assert "college" in Path("panel.html").read_text("utf-8")
    with Path("panel.csv").open(newline="", encoding="utf-8") as file:
        rows = {(r["attribute_1"], r["value_1"], r["attribute_2"]): r for r in csv.DictReader(file)}
    college = rows["college", "true", ""]
    assert json.loads(college["estimate"]) == pytest.approx(0.227)
    for name in ("legal_if_poor", "female"):
        row = rows[name, "true", ""]
        # Within each schooling the panel is a fair sample, so weights give back the population.
        truth = people[name].groupby(people["college"]).mean() @ [0.773, 0.227]
        assert abs(float(row["estimate"]) - truth) < STANDARD_ERRORS * float(row["standard_error"])
