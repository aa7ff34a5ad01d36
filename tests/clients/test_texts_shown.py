"""Both clients take a survey's texts only to the letter, follow them, and do not answer twice."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from client_parts import Drive
from fake_collector import FakeCollector

from deniable import Survey
from deniable.questionnaire import Questionnaire, Texts

FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["en", "de"],
    "title": "Work",
    "design": {"mechanism": "InpHT", "epsilon": 1.0},
    "attributes": [
        {"name": "job", "wording": {"en": "Do you have a job?", "de": "Haben Sie Arbeit?"}},
        {
            "name": "naps",
            "wording": "Do you sleep there?",
            "values": ["yes", "no"],
            "complete": True,
            "when": {"attribute": "job", "is": True, "otherwise": "no"},
        },
    ],
}
QUESTIONNAIRE = Questionnaire.of(FORM)


@pytest.fixture
def survey() -> Survey:
    return Survey.from_questionnaire(QUESTIONNAIRE)


@pytest.fixture
def asked(collector: FakeCollector) -> FakeCollector:
    collector.texts = QUESTIONNAIRE.texts.to_form()
    return collector


def known(collector: FakeCollector, **more: Any) -> dict[str, Any]:
    return {"collector": collector.url, "survey": collector.survey.id, "token": "me", **more}


def test_what_is_not_asked_has_its_declared_value(drive: Drive, asked: FakeCollector) -> None:
    skipped = {"job": False}
    came = drive("check", "answer", "submit", record=skipped, **known(asked))
    assert came.reason == "", came.message
    assert len(asked.sent("texts")) == 1, "fetched once, whole"
    assert drive("check", record={"job": True}, **known(asked)).reason == "record"
    assert drive("check", record=[], **known(asked)).reason == "record"
    nonsense = {"job": False, "naps": "whatever was left in the form"}
    assert drive("answer", record=nonsense, **known(asked, token="another")).reason == ""
    paths = [seen.path for seen in asked.sent("texts")]
    assert set(paths) == {f"/v1/texts?survey={asked.survey.id}"}, "nothing of a record is in it"


def test_other_words_than_the_id_covers_are_refused(drive: Drive, asked: FakeCollector) -> None:
    sound = copy.deepcopy(asked.texts)
    for change in ("wording", "layout", "language", "form", "none"):
        asked.texts = copy.deepcopy(sound)
        match change:
            case "wording":
                asked.texts["languages"]["de"]["attributes"][0]["wording"] += " "
            case "layout":
                asked.texts["layout"]["conditions"] = []
            case "language":
                asked.texts["languages"]["fr"] = asked.texts["languages"]["de"]
            case "form":
                asked.texts = {"login": "please"}
            case "none":
                asked.texts = None
        came = drive("answer", record={"job": True, "naps": "no"}, **known(asked))
        assert came.reason == ("no-texts" if change == "none" else "texts")
    assert not asked.sent("questions"), "nothing was asked, so nothing was answered"


def test_texts_at_hand_are_not_fetched(drive: Drive, asked: FakeCollector, survey: Survey) -> None:
    form, texts = json.loads(survey.to_json()), asked.texts
    more = known(asked, form=form, texts=texts)
    assert drive("check", record={"job": True}, **more).reason == "record"
    assert drive("check", record={"job": False}, **more).reason == ""
    assert not asked.seen, "nobody was contacted"
    other = copy.deepcopy(texts)
    other["languages"]["en"]["survey"]["title"] = "Play"
    came = drive("answer", record={"job": False}, **known(asked, form=form, texts=other))
    assert came.reason == "texts"
    assert not asked.seen


def test_who_answered_the_predecessor_does_not_answer_again(
    drive: Drive, asked: FakeCollector, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"ledger": tmp_path / "ledger.json", "record": {"job": False}}
    first = asked.survey
    assert drive("answer", "submit", **known(asked), **options).reason == ""
    later = Questionnaire.of(FORM | {"title": "Work, corrected", "follows": first.id})
    asked.survey, asked.texts = Survey.from_questionnaire(later), later.texts.to_form()
    asked.shown = json.loads(asked.survey.to_json())
    before = len(asked.sent("questions"))
    for step in ("question", "answer"):
        came = drive(step, **known(asked, token="new"), **options)
        assert came.reason == "predecessor", came.message
    assert len(asked.sent("questions")) == before
    new = drive("answer", **known(asked, token="x"), record={"job": False}, ledger=tmp_path / "2")
    assert new.reason == "", "a device that did not answer the first is asked as ever"
    more = known(asked, token="new", again=True)
    assert drive("answer", **more, lifetime_limit=1.5, **options).reason == "lifetime"
    assert drive("answer", "submit", **more, **options).reason == ""
    assert drive("answer", "submit", **known(asked, token="new"), **options).reason == ""


def test_the_texts_document_is_what_the_id_covers(survey: Survey) -> None:
    Texts.of(QUESTIONNAIRE.texts.to_form()).check(survey)
