"""Texts of surveys as all clients read, refuse and follow them: `scripts/make_text_vectors.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable import Survey
from deniable.errors import SurveyError, TextsError
from deniable.questionnaire import Texts
from deniable.survey.digests import TextDigests

VECTORS = json.loads(Path(__file__).with_name("texts.json").read_text("utf-8"))
SOUND = VECTORS["sound"]


@pytest.mark.parametrize("vector", SOUND, ids=lambda v: v["why"])
def test_golden_texts_are_read_and_followed(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert survey.id == vector["id"]
    texts = Texts.from_json(json.dumps(vector["texts"]))
    texts.check(survey)
    assert json.loads(texts.to_json()) == vector["texts"]
    for row in vector["completed"]:
        whole = texts.completed(row["record"], survey.schema)
        assert whole == row["whole"]
        if "values" in row:
            codes = survey.schema.encode(whole)
            assert [*survey.schema.decode(codes).values()] == row["values"]


def test_other_texts_make_another_id():
    assert len({vector["id"] for vector in SOUND}) == len(SOUND)
    assert all(vector["survey"]["follows"] == SOUND[0]["id"] for vector in SOUND[1:])


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: v["why"])
def test_texts_that_are_not_a_surveys_are_refused(vector):
    survey = Survey.from_json(json.dumps(SOUND[0]["survey"]))
    if "digests" in vector:
        form = vector["digests"]
        covered = None if form is None else TextDigests.of_form(form)
        survey.__dict__["texts"] = covered  # some of these no survey may have
    with pytest.raises(TextsError):
        Texts.from_json(json.dumps(vector["texts"])).check(survey)


@pytest.mark.parametrize("vector", VECTORS["broken"], ids=lambda v: v["why"])
def test_surveys_whose_digests_are_none_are_refused(vector):
    with pytest.raises(SurveyError):
        Survey.from_json(json.dumps(vector["survey"]))
