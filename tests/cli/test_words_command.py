"""A survey's own words and its citation on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from cli_parts import Run

from deniable import Tally, __version__

TEXT = """
deniable: questionnaire
format: 1
languages: [de, en]
title: {de: Arbeit, en: Work}
attributes:
  - name: job
    wording: {de: Haben Sie Arbeit?, en: Do you have a job?}
    values: [{value: true, label: {de: Ja, en: Yes}}, {value: false, label: {de: Nein, en: No}}]
  - {name: naps, wording: {de: Schlafen Sie dort?, en: Do you sleep there?}}
"""


@pytest.fixture
def tally(run: Run) -> Path:
    """A tally in the folder of its survey, whose texts are beside it."""
    Path("q.yaml").write_text(TEXT)
    assert run("new", "q.yaml", "-o", "survey.json").code == 0
    pd.DataFrame({"job": [True, False] * 200, "naps": [True, True, False, False] * 100}).to_csv(
        "data.csv", index=False
    )
    assert run("randomize", "data.csv", "--survey", "survey.json", "-o", "r.parquet").code == 0
    assert run("tally", "r.parquet", "--survey", "survey.json", "-o", "day.tally").code == 0
    return Path("day.tally")


def test_words_beside_a_tally_are_used(run: Run, tally: Path) -> None:
    Path("a.texts.json").write_text("{}")  # texts of something else are passed over
    ended = run("release", tally, "-o", "out.html")
    assert (ended.code, ended.err) == (0, "")
    assert "Haben Sie Arbeit?" in Path("out.html").read_text("utf-8")
    assert run("release", tally, "-o", "out.html", "--language", "en").code == 0
    report = Path("out.html").read_text("utf-8")
    assert "Do you have a job?" in report
    assert "Haben Sie" not in report
    refused = run("release", tally, "-o", "out.html", "--language", "fr")
    assert (refused.code, refused.err) == (
        *(2, "deniable: There are no texts in 'fr'; there are de, en.\n"),
    )


def test_words_elsewhere_are_named_and_must_be_the_surveys(run: Run, tally: Path) -> None:
    Path("survey.texts.json").rename("words.json")
    ended = run("release", tally, "-o", "out.html")
    assert ended.code == 0
    assert "no file beside the tally has the survey's words" in ended.err
    assert "Haben Sie Arbeit?" not in Path("out.html").read_text("utf-8")
    refused = run("release", tally, "-o", "out.html", "--language", "de")
    assert refused.code == 2
    assert "name their file by --texts" in refused.err
    assert run("release", tally, "--texts", "words.json", "-o", "out.html").code == 0
    assert "Haben Sie Arbeit?" in Path("out.html").read_text("utf-8")
    text = Path("words.json").read_text("utf-8").replace("Haben Sie", "Hatten Sie")
    Path("words.json").write_text(text, "utf-8")
    refused = run("release", tally, "--texts", "words.json", "-o", "new.html")
    assert refused.code == 2
    assert "the words of 'job' differ in de" in refused.err
    assert not Path("new.html").exists()


def test_a_methods_paragraph_is_one_line(run: Run, tally: Path) -> None:
    ended = run("release", tally, "--methods")
    assert (ended.code, ended.err, ended.out.count("\n")) == (0, "", 1)
    assert ended.out.strip() == Tally.load(tally).release("auto").methods()
    document = run("release", tally, "--methods", "--json", "--consistency", "none").document
    assert document["methods"] == Tally.load(tally).release().methods()


def test_surveys_tallies_and_reports_are_cited(run: Run, tally: Path) -> None:
    survey = Tally.load(tally).survey.id
    said = run("cite", "survey.json").out
    assert said.startswith(f"Arbeit. Survey {survey[:16]}, collected with deniable {__version__}")
    assert "people" not in said.splitlines()[0]
    assert "400 people" in run("cite", tally, "--language", "en").out.splitlines()[0]
    assert run("cite", tally, "--language", "en").out.startswith("Work. ")
    assert run("release", tally, "-o", "out.html").code == 0
    of_report = run("cite", "out.html", "--json").document
    assert (
        of_report["text"]
        == Tally.load(tally).release("auto").worded("survey.texts.json").cite().text
    )
    assert of_report["survey"] == survey
    bibtex = run("cite", "out.html", "--bibtex").out
    assert re.findall(r"^@(\w+)\{", bibtex, re.MULTILINE) == ["misc", "software", "inproceedings"]
    assert survey in bibtex


def test_what_is_no_report_of_ours_is_refused(run: Run, tally: Path) -> None:
    Path("other.html").write_text("<p>nothing")
    form = '<script id="data" type="application/json">{"citation": {"text": 1}}</script>'
    Path("wrong.html").write_text(form)
    for name in ("other.html", "wrong.html"):
        refused = run("cite", name)
        assert refused.code == 2
        assert "is no report of deniable that says how to cite it" in refused.err
    assert "There is no report none.html" in run("cite", "none.html").err
    hostile = Path("survey.json").read_text() and run("release", tally, "-o", "r.html").code
    assert hostile == 0
    text = Path("r.html").read_text("utf-8").replace('"text":"Arbeit', '"text":"\\u001b[2JArbeit')
    Path("r.html").write_text(text, "utf-8")
    assert "\x1b" not in run("cite", "r.html").out
