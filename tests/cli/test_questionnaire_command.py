"""`deniable new` with a questionnaire: the survey, and its texts beside it."""

from __future__ import annotations

import json
from pathlib import Path

from cli_parts import Run

from deniable import Attribute, Schema, Survey
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
    assert "Not translated into en, so shown as in de: wording of attribute 'naps'." in said
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


def test_no_letter_of_a_form_moves_a_terminal(run: Run, tmp_path: Path) -> None:
    names = ("a\x1b]0;x\x07", "b\u009b31m", "c\u202e")
    texts = [{"wording": "A?"}, {"wording": "B?"}, {"wording": "C?"}]
    words = {"survey": {"title": "T"}, "attributes": texts}
    layout = {"pages": [{"attributes": [0, 1, 2]}], "conditions": []}
    whole = {"deniable": "texts", "format": 1, "default": "en", "layout": layout}
    beside = Texts.of(whole | {"languages": {"en": words}})
    survey = Survey(Schema.binary(*names), 2, 1.0, texts=beside)
    Path("s.json").write_text(survey.to_json())
    Path("s.texts.json").write_text(beside.to_json())
    for language in ([], ["--language", "en"]):
        said = run("explain", "s.json", "--slot", 0, *language).out
        assert not {letter for name in names for letter in name if not letter.isprintable()} & {
            *said
        }


def test_explain_and_serve_take_the_texts_beside_a_survey(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT)
    assert run("new", "q.yaml", "-o", "s.json").code == 0
    told = run("explain", "s.json", "--slot", 0, "--json").document
    assert told["wording"] == {"job": "Haben Sie Arbeit?", "naps": "Schlafen Sie dort?"}
    assert (
        "How people are asked:\njob: Haben Sie Arbeit?" in run("explain", "s.json", "--slot", 0).out
    )
    texts = Path("s.texts.json")
    sound = texts.read_text()
    texts.write_text(sound.replace("Arbeit?", "arbeit?"))
    for command in (("explain", "s.json"), ("serve", "s.json", "--port", 0)):
        refused = run(*command)
        assert refused.code == 2
        assert "the words of 'job' differ in de" in refused.err
    texts.unlink()
    assert "wording" not in run("explain", "s.json", "--json").document
    refused = run("serve", "s.json", "--port", 0)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "covers texts: they must be beside its file" in refused.err


def test_explain_says_a_question_as_people_read_it(run: Run, tmp_path: Path) -> None:
    Path("q.yaml").write_text(TEXT)
    run("new", "q.yaml", "-o", "s.json")
    said = run("explain", "s.json", "--slot", "0", "--language", "de").out
    assert "• Haben Sie Arbeit? – " in said
    assert "Mit einer Wahrscheinlichkeit" in said
    told = run("explain", "s.json", "--slot", "0", "--language", "ar", "--json").document
    assert "يُبلغ جهازك" in told["words"]
    assert "\u2069 [de]" in told["words"], "texts that are missing in Arabic are marked"
    refused = run("explain", "s.json", "--language", "tlh")
    assert refused.code == 2
    assert "There is no language 'tlh'; there are en, ar" in refused.err


def test_data_is_completed_as_devices_complete_their_own(run: Run, tmp_path: Path) -> None:
    """Who has no job was not asked about naps: whatever a column holds there, it counts as no."""
    Path("q.yaml").write_text(TEXT)
    run("new", "q.yaml", "-o", "s.json", "--epsilon", 20, "--mechanism", "InpPS")
    Path("d.csv").write_text("job,naps\n" + "false,true\n" * 200)
    survey = Survey.load("s.json")

    def naps(name: str) -> float:
        ended = run("randomize", "d.csv", "--survey", "s.json", "--seed", "x", "-o", name)
        said.append(ended.err)
        table = survey.tally(name, simulation=True).release().marginal("naps")
        return float(table.values[1])

    said: list[str] = []
    assert naps("a.parquet") < 0.1
    Path("s.texts.json").unlink()
    assert naps("b.parquet") > 0.9
    assert said[0] == ""
    assert "without s.texts.json nobody knows what was not asked of whom" in said[1]


def test_randomize_says_how_many_values_pass_for_another(run: Run) -> None:
    """Beside a text, a file's true is a text too: it stands for yes. What stands for nothing is said."""
    ill = Attribute("ill", (False, True, "not said"), missing="not said", other="not said")
    Path("survey.json").write_text(Survey(Schema((ill, Attribute("old"))), 2, 1.1).to_json())
    told = ("--survey", "survey.json", "-o")
    Path("good.csv").write_text("ill,old\nTrue,True\nnot said,True\nFalse,True\n")
    assert run("randomize", "good.csv", *told, "good.parquet").err == ""
    Path("mixed.csv").write_text("ill,old\nTrue,True\nnot said,True\nperhaps,True\n?,True\n")
    ended = run("randomize", "mixed.csv", *told, "mixed.parquet")
    assert ended.code == 0
    assert ended.err == (
        "deniable: 2 of 4 values of 'ill' are not declared, and count as 'not said'.\n"
    )
    Path("empty.csv").write_text("ill,old\nTrue,True\n,True\nFalse,True\n")
    assert run("randomize", "empty.csv", *told, "empty.parquet").err == ""
