"""`deniable new` with a questionnaire: the survey, and its texts beside it."""

from __future__ import annotations

import json
from pathlib import Path

from cli_parts import Run

from deniable import Survey
from deniable.questionnaire import Texts

TEXT = """
deniable: questionnaire
format: 1
languages: [de, en]
title: {de: Arbeit, en: Work}
design: {epsilon: 1.5, people: 2000}
attributes:
  - {name: job, wording: {de: Haben Sie Arbeit?, en: Do you have a job?}}
  - {name: naps, wording: Schlafen Sie dort?, when: {attribute: job, is: true, otherwise: false}}
"""


def test_a_questionnaire_becomes_a_survey_and_its_texts(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT)
    ended = run("new", "q.yaml", "-o", "s.json")
    assert (ended.code, ended.err) == (0, "")
    said = " ".join(ended.out.split())
    assert "written to s.json and s.texts.json." in said
    assert "Its id covers the texts, too: Arbeit, in de, en." in said
    assert "Not translated into en, so shown in de: 1 texts (wording of attribute 'naps')." in said
    survey, texts = Survey.load("s.json"), Texts.read("s.texts.json")
    assert (survey.epsilon, survey.order) == (1.5, 2)
    texts.check(survey)
    again = run("new", "q.yaml", "-o", "s.json", "--json")
    assert again.document["id"] == survey.id
    assert again.document["untranslated"] == {"en": ["wording of attribute 'naps'"]}


def test_the_command_line_stands_above_the_design(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT)
    assert run("new", "q.yaml", "-o", "s.json", "--epsilon", 2, "--mechanism", "InpHT").code == 0
    assert Survey.load("s.json").epsilon == 2
    for option in (("--columns", "job"), ("--complete",), ("--label", "a=b,c"), ("--period", "x")):
        refused = run("new", "q.yaml", "-o", "t.json", *option)
        assert refused.code == 2
        assert f"{option[0]} is for data; a questionnaire says it itself." in refused.err
        assert not Path("t.json").exists()


def test_neither_file_is_overwritten_and_none_is_half_there(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT)
    Path("s.texts.json").write_text("mine")
    refused = run("new", "q.yaml", "-o", "s.json")
    assert refused.code == 2
    assert "'s.texts.json' exists already; the texts of a survey are frozen" in refused.err
    assert not Path("s.json").exists()
    assert Path("s.texts.json").read_text() == "mine"


def test_a_flaw_is_one_sentence(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT.replace("wording: Schlafen", "wordign: Schlafen"))
    refused = run("new", "q.yaml", "-o", "s.json")
    assert refused.code == 2
    assert "attributes, 'naps' has a field 'wordign'; fields are name, wording," in refused.err
    Path("q.json").write_text(json.dumps([]))
    assert "must be a mapping of fields" in run("new", "q.json", "-o", "s.json").err
    assert "There is no questionnaire 'none.toml'" in run("new", "none.toml", "-o", "s.json").err
