"""Try asks people who do not exist, whatever they may answer; the commands that it shows do so too."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from studio_parts import Page

from deniable import Survey
from deniable.cli import main
from deniable.lab.datasets import load
from deniable.questionnaire import Questionnaire
from deniable.studio.trials import csv_text, made_up

NO = "no answer"
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "ill": {"missing": NO},
    "sure": {"missing": NO, "other": NO},
    "age": {"low": 18, "high": 100, "missing": NO},
    "pay": {"low": 0, "high": 4, "step": 0.25, "missing": NO, "other": NO},
    "moved": {"low": "2026-01-01", "high": "2026-12-31", "missing": NO},
    "children": {"values": ["1", "0", "99"], "complete": True},
    "coded": {"values": ["1", "0", "99"], "missing": "99"},
    "numbered": {"values": [1, 0, 99], "missing": 99},
    "zeros": {"values": ["01", "02", "10"], "missing": NO},
    "rank": {"values": ["1", "2", "3"], "missing": "9", "ordered": True},
}


def form(**attributes: dict[str, Any]) -> dict[str, Any]:
    asked = [{"name": n, "wording": f"{n}?"} | fields for n, fields in attributes.items()]
    asked.append({"name": "sound", "wording": "Sound?"})
    about = {"deniable": "questionnaire", "format": 1, "languages": ["en"], "title": "A trial"}
    return about | {"attributes": asked}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_whatever_is_asked_can_be_tried(page: Page, name: str) -> None:
    assert page.save(form(**{name: ATTRIBUTES[name]})).status_code == 200
    answer = page.post("trial", {"people": 400})
    assert answer.status_code == 200, answer.text
    assert [each["name"] for each in answer.json()["questions"]] == [name, "sound"]


@pytest.mark.slow
def test_the_commands_of_a_trial_of_all_kinds_report_as_it_did(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page.save(form(**ATTRIBUTES))
    shown = page.post("trial", {"people": 600}).json()
    there = tmp_path / "there" / "trial"
    there.mkdir(parents=True)
    for name in ("answers.csv", "survey.json", "survey.texts.json"):
        shutil.copy(page.folder / "trial" / name, there)
    monkeypatch.chdir(there.parent)
    for line in shown["deeds"][0]["commands"]:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, line
    assert capsys.readouterr().err == ""  # no value passes for another
    for name in ("reports.parquet", "trial.tally"):
        assert (there / name).read_bytes() == (page.folder / "trial" / name).read_bytes()


def test_made_up_answers_mean_in_their_file_what_they_mean_in_memory(tmp_path: Path) -> None:
    questionnaire = Questionnaire.of(form(**ATTRIBUTES))
    schema, people = questionnaire.schema, made_up(questionnaire, 500)
    (tmp_path / "answers.csv").write_text(
        csv_text(people, Survey.from_questionnaire(questionnaire).labels)
    )
    held, read = (
        schema.encode_frame(each) for each in (people, load(str(tmp_path / "answers.csv")))
    )
    for index, own in enumerate(schema.attributes):
        codes = schema.codes(held, index)
        assert codes.tolist() == schema.codes(read, index).tolist(), own.name
        assert own.missing is None or own.code_of(own.missing) in codes
