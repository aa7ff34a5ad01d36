"""A release in the survey's own words: tables, report, methods paragraph and citation."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_parts import stored_tables, unpacked
from test_report import Page
from worded_parts import LENGTHY, SCRIPT, questionnaire, release, texts

from deniable import Release, Schema, Survey, __version__, simulate
from deniable.cli.statistics import numbers_of
from deniable.errors import TableError, TextsError
from deniable.questionnaire import Questionnaire, Texts
from deniable.questionnaire.wording import Wording, direction
from deniable.show.citing import cite_survey
from deniable.show.numbers import points, share
from deniable.show.reading import doubtful_cells
from deniable.show.report import page
from deniable.show.structure import association_cells
from deniable.show.terminal import percent
from deniable.show.words import shown_values


def test_words_fall_back_to_the_default_language_and_say_so() -> None:
    words = Wording.of(texts(), questionnaire().schema, "en")
    assert words.title == "Work"
    assert words.survey["introduction"].language == "de"
    ward = words.attributes["ward"]
    assert [each and each.language for each in ward.labels] == ["en", "de", None]
    assert (ward.wording and ward.wording.language) == "de"
    schema = questionnaire().schema
    assert shown_values(schema.attributes[1], words) == ["Intensive care", LENGTHY.strip(), "other"]
    assert shown_values(schema.attributes[2], words)[-1] == "not said"
    assert (direction("ar"), direction("de"), direction("x")) == ("rtl", "ltr", "ltr")
    with pytest.raises(TextsError, match=r"no texts in 'fr'; there are de, en, ar\."):
        Wording.of(texts(), schema, "fr")


def test_tables_carry_labels(tmp_path: Path) -> None:
    own = release().worded(texts())
    plain, table = release().marginal("theft", "hours"), own.marginal("theft", "hours")
    frame = table.to_frame(labels=True)
    assert frame.columns.tolist() == table.to_frame().columns.tolist()
    assert set(frame["theft"]) == {"Ja", "Nein"}
    assert frame["hours"].tolist()[-1] == "keine Angabe"
    np.testing.assert_array_equal(frame["estimate"], plain.to_frame()["estimate"])
    assert table.percentages("theft", labels=True).index.tolist() == ["Ja", "Nein"]
    cut = own.marginal("theft", "hours", bins={"hours": [35]}).to_frame(labels=True)
    assert cut["hours"].tolist()[2] == "keine Angabe"
    with pytest.raises(TableError, match="has no labels"):
        plain.to_frame(labels=True)
    for other in (
        own.with_consistency("joint"),
        own.unprocessed,
        own.poststratify({"ward": WARDS}),
    ):
        assert other.marginal("theft").to_frame(labels=True)["theft"].tolist() == ["Ja", "Nein"]
    (tmp_path / "t.json").write_text(texts().to_json(), "utf-8")
    english = release().worded(tmp_path / "t.json", "en").marginal("theft")
    assert english.to_frame(labels=True)["theft"].tolist() == ["Yes", "No"]


WARDS = {"icu": 0.3, "general": 0.3, "other": 0.4}


def test_other_texts_are_refused() -> None:
    form = texts().to_form()
    other = Texts.of(json.loads(json.dumps(form).replace("Taken anything?", "Take anything?")))
    with pytest.raises(TextsError, match="the words of 'theft' differ in en"):
        release().worded(other)
    schema = Schema.binary("a", "b")
    frame = pd.DataFrame({"a": [True] * 200, "b": [False] * 200})
    with pytest.raises(TextsError, match="has no texts"):
        simulate(Survey(schema), frame, "x").worded(texts())


def worded_page(language: str) -> tuple[Release, Page, str]:
    own = release("auto").worded(texts(), language)
    text = page(own)
    return own, Page(text), text


def test_a_report_speaks_as_the_survey_does() -> None:
    own, seen, text = worded_page("de")
    assert own.wording is not None
    assert "Auf welcher Station?" in seen.words
    assert "The survey’s own words are in German" in seen.words
    assert "Zehn Fragen." in seen.words
    assert "Institut für Beispiele" in seen.words
    assert seen.data["values"][0] == ["Ja", "Nein"]
    assert seen.data["values"][2][-1] == "keine Angabe"
    assert seen.data["languages"][1] == ["de", "de", None]
    spans = [a for tag, a in seen.elements if tag == "span" and a.get("lang") == "de"]
    assert spans
    assert {one["dir"] for one in spans} == {"ltr"}
    # Every short name that has a card opens it, and every card is there.
    ids = {a["id"] for _, a in seen.elements if "popover" in a}
    assert ids == {"word-0", "word-1", "word-2"}
    openers = {a["popovertarget"] for _, a in seen.elements if "popovertarget" in a}
    assert openers <= ids
    # What is planted is text: in the page, in its title, and in what its script reads.
    assert SCRIPT in json.dumps(seen.data, ensure_ascii=False)
    assert "<img" not in text
    assert [tag for tag, _ in seen.elements].count("script") == 2
    assert not [tag for tag, _ in seen.elements if tag == "img"]


def test_a_report_in_arabic_is_written_from_right_to_left() -> None:
    _, seen, _ = worded_page("ar")
    titles = [a for tag, a in seen.elements if tag == "span" and a.get("lang") == "ar"]
    assert titles
    assert {one["dir"] for one in titles} == {"rtl"}
    assert seen.data["directions"] == {"ar": "rtl", "de": "ltr"}
    assert "(in German)" in seen.words, "a wording that is not translated says so"


def test_a_report_without_texts_has_no_cards() -> None:
    seen = Page(page(release()))
    assert not [a for _, a in seen.elements if "popover" in a or "popovertarget" in a]
    assert "own words" not in seen.words


def test_what_may_be_noise_is_decided_once() -> None:
    """The report's bits, table by table, are those that dashboard and charts are given."""
    own = release("auto")
    data = Page(page(own)).data
    bits = np.unpackbits(np.frombuffer(base64.b64decode(data["doubtful"]), np.uint8),
                         bitorder="little")  # fmt: skip
    start, kinds = 0, set()
    for key, cells in stored_tables(data).items():
        table = own.marginal(*(data["names"][at] for at in key))
        doubts = doubtful_cells(table, *table.interval()).ravel()
        assert bits[start : start + len(doubts)].astype(bool).tolist() == doubts.tolist()
        start += len(doubts)
        kinds |= set(doubts.tolist())
        assert len(cells[0]) == len(doubts)
    assert kinds == {True, False}


def test_cells_that_may_be_noise() -> None:
    table = release().marginal("theft", "ward")
    low, high = table.interval()
    assert doubtful_cells(table, low, high).tolist() == (low <= 0).tolist()
    few = release("none", 200).marginal("ward", "hours")
    assert few.is_swamped
    assert doubtful_cells(few, *few.interval()).all(), "a table that its error swamps is noise"
    nothing = np.full_like(low, np.nan)
    assert doubtful_cells(table, nothing, nothing).tolist() == (~(table.values > 0)).tolist()


def test_pairs_are_shaded_in_the_script_as_in_the_page() -> None:
    own = release()
    data = Page(page(own)).data["pairs"]
    shades = [cell["shade"] for cell in association_cells(own.associations())]
    assert unpacked(data["shade"], 1).tolist() == shades


# Methods and citation


@pytest.mark.parametrize("consistency", ["none", "auto"])
def test_the_methods_paragraph_has_the_releases_numbers(consistency: str) -> None:
    own = release(consistency)
    words = own.methods().replace("\N{NO-BREAK SPACE}", " ")
    survey, tables = own.survey, own.marginals(2)
    for fact in (
        "SIMULATED",
        f"deniable {__version__} (survey {survey.id[:16]})",
        f"one of {survey.slots:,} questions",
        f"mechanism {survey.mechanism}, for tables of up to 2 attributes",
        f"record of {len(survey.schema)} attributes",
        f"ε = {survey.epsilon:g}",
        "at most 95.3 %",
        "Reports of 6,000 people were counted.",
        f"Tables are {own.table_kind}",
        share(float(np.mean([table.expected_error for table in tables]))).replace("\u00a0", " "),
        points(float(np.median([np.median(table.standard_error) for table in tables]))),
        "neither non-response",
    ):
        assert fact in words, (fact, words)
    assert own.methods() in Page(page(own)).data["methods"]


def test_the_methods_paragraph_tells_of_weights_and_groups() -> None:
    adjusted = release().poststratify({"ward": WARDS})
    assert adjusted.population is not None
    assert adjusted.population.sentence in adjusted.methods()
    both = Release.combine({"a": release(), "b": release("none", 200)}, {"a": 0.25, "b": 0.75})
    words = both.methods()
    assert f"a {percent(0.25)}" in words.replace("\u00a0", "") or "a 25" in words
    assert "6,200 people" in words
    refused = simulate(Survey(Schema.binary("a", "b"), 1, 1.0, "InpEM"), FEW, "x").methods()
    assert "no error bars" in refused
    assert "Intervals" not in refused


FEW = pd.DataFrame({"a": [True, False] * 100, "b": [False] * 200})


def test_a_citation_names_software_version_survey_and_day() -> None:
    today = datetime.now(UTC).date().isoformat()
    own = release().worded(texts(), "en").cite()
    assert own.text.startswith(f"Work. Survey {release().survey.id[:16]}, collected with deniable")
    for fact in (__version__, today, "6,000 people", "SIMULATED", "ε = 3 per report"):
        assert fact in own.text
    assert f"Version {__version__}" in own.software
    entries = re.findall(r"^@(\w+)\{", own.bibtex, re.MULTILINE)
    assert entries == ["misc", "software", "inproceedings"]
    assert release().survey.id in own.bibtex
    assert own.bibtex.count("{") == own.bibtex.count("}")
    hostile = cite_survey(release().survey, title="a}\\input{x} $%&#_~^ \x1b[31m\nb").bibtex
    assert "\\input" not in hostile
    assert "\x1b" not in hostile
    assert r"a\}\textbackslash{}input\{x\} \$\%\&\#\_\textasciitilde{}\textasciicircum{}" in hostile


def test_a_report_says_how_it_is_cited() -> None:
    own: Any = release("auto")
    seen = Page(page(own))
    assert seen.data["citation"]["text"] == own.cite().text
    assert own.cite().text in seen.words
    copies = {a["data-copy"] for _, a in seen.elements if "data-copy" in a}
    assert copies == {"methods", "citation", "bibtex"} <= {a.get("id") for _, a in seen.elements}


def test_yes_and_no_that_nobody_worded_are_those_of_the_language() -> None:
    form = {
        "deniable": "questionnaire",
        "format": 1,
        "languages": ["nds", "fr"],
        "title": {"nds": "T", "fr": "T"},
        "attributes": [{"name": "naps", "wording": "?"}],
    }
    own = Questionnaire.of(form)
    shown = [
        shown_values(own.schema.attributes[0], Wording.of(own.texts, own.schema, tag))
        for tag in ("fr", "nds")
    ]
    assert shown == [["non", "oui"], ["no", "yes"]], "of a language that nobody knows, English ones"


def tired() -> Release:
    """Two thousand people who said how tired they are, in words that have an order."""
    values = [
        {"value": value, "label": {"de": label, "ar": other}}
        for value, label, other in (("never", "nie", "أبدا"), ("often", "oft", "غالبا"))
    ]
    asked = {"name": "tired", "wording": {"de": "Wie oft müde?", "ar": "كم مرة؟"}, "values": values}
    form = {
        "deniable": "questionnaire",
        "format": 1,
        "languages": ["de", "ar"],
        "title": {"de": "Ruhe", "ar": "الراحة"},
        "attributes": [asked | {"ordered": True, "complete": True}, *NUMBERS],
    }
    own = Questionnaire.of(form)
    random = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"tired": random.choice(["never", "often"], 2000), "hours": random.integers(0, 81, 2000)}
    )
    survey = Survey.from_questionnaire(own, epsilon=3.0)
    return simulate(survey, frame, "tired").worded(own.texts, "ar")


NUMBERS = [
    {
        "name": "hours",
        "wording": {"de": "Wie viele Stunden?", "ar": "كم ساعة؟"},
        "low": 0,
        "high": 80,
        "step": 10,
        "unit": {"de": "Stunden", "ar": "ساعات"},
        "complete": True,
    }
]


def test_a_question_and_numbers_are_told_in_the_language_of_those_who_read() -> None:
    own = tired()
    text = page(own)
    quote = re.search(
        r'<blockquote class="asked" lang="ar" dir="rtl">(.*?)</blockquote>', text, re.S
    )
    assert quote is not None
    assert "كم" in quote[1]
    assert "device reports" not in quote[1]
    numbers = text[text.index('id="numbers"') : text.index('id="associations"')]
    assert numbers.count("أبدا") > 1  # a quartile, and a tick of a chart
    assert "ساعات" in numbers
    assert not re.search(r"never|often|Stunden", numbers)
    assert [each["unit"] for each in numbers_of(own)] == [None, "ساعات"]
    hours = own.survey.schema.attributes[1]
    labels = shown_values(hours, own.wording)
    assert labels == ["أقل من 20", *(f"من {n} إلى {n + 20}" for n in (20, 40, 60)), "80 أو أكثر"]
    cut = own.marginal("hours", bins={"hours": [50]}).to_frame(labels=True)
    assert cut["hours"].tolist() == ["أقل من 50", "50 أو أكثر"]
