"""The vectors hold: golden surveys keep their id, questions, answers and estimates; bad ones fail.

The JSON files stand on their own: a client in another language is right if it passes them.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from deniable import Attribute, Client, Ledger, Survey, Tally
from deniable.errors import DeniableError, RecordError, RefusedError
from deniable.messages.report import Report
from deniable.questions.question import Question

FOLDER = Path(__file__).parent


def vectors(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


class Words:
    """A source that gives recorded words, and no more."""

    def __init__(self, words):
        self.words = [int(word) for word in words]

    def word(self):
        return self.words.pop(0)


SUBSPACE = vectors("subspace")
MIXED = vectors("mixed")
NUMBERS = vectors("numbers")
LABELS = vectors("labels")


@pytest.mark.parametrize(
    "vector",
    vectors("surveys") + SUBSPACE + MIXED + NUMBERS,
    ids=lambda v: f"{v['survey']['mechanism']} {v['id'][:6]}",
)
def test_a_golden_survey_keeps_its_id_and_its_questions(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert survey.to_json() == vector["canonical"]
    assert survey.id == vector["id"] == hashlib.sha256(vector["canonical"].encode()).hexdigest()
    for entry in vector["questions"]:
        question = survey.question(int(entry["question"]["slot"]))
        assert question.to_json() == entry["question"]
        assert repr(question.epsilon) == entry["epsilon"]


def test_a_survey_made_today_is_the_golden_one():
    for vector in vectors("surveys"):
        golden = Survey.from_json(vector["canonical"])
        made = Survey(golden.schema, golden.order, golden.epsilon, golden.mechanism)
        assert made.id == vector["id"]


def test_a_subspace_survey_made_today_has_nearly_the_golden_weights():
    """A design is optimised in floating point, so another machine may round it otherwise."""
    for vector in SUBSPACE[:4]:
        golden = Survey.from_json(vector["canonical"])
        made = Survey(golden.schema, golden.order, golden.epsilon, "Subspace").templates
        assert [s.parities for s in made] == [s.parities for s in golden.templates]
        assert [s.answer for s in made] == [s.answer for s in golden.templates]
        weights = [s.weights[0] for s in golden.templates]
        assert [s.weights[0] for s in made] == pytest.approx(weights, rel=1e-3)


def test_golden_slots_follow_from_their_words():
    for vector in SUBSPACE + MIXED + NUMBERS:
        survey = Survey.from_json(vector["canonical"])
        for draw in vector["draws"]:
            source = Words(draw["words"])
            assert str(survey.draw_slot(source)) == draw["slot"]
            assert not source.words, "every recorded word is used"


def test_golden_answers_follow_from_their_words():
    for vector in vectors("answers") + [
        answer for v in SUBSPACE + MIXED + NUMBERS for answer in v["answers"]
    ]:
        question = Question.from_json(vector["question"])
        source = Words(vector["words"])
        assert str(question.asks.symbol(vector["record"])) == vector["symbol"]
        assert str(question.reply(vector["record"], source)) == vector["value"]
        assert not source.words, "every recorded word is used"


@pytest.mark.parametrize(
    "vector",
    vectors("estimates") + [v["estimates"] for v in SUBSPACE + MIXED + NUMBERS],
    ids=lambda v: v["survey"][-99:][:8],
)
def test_golden_estimates_stay(vector):
    survey = Survey.from_json(vector["survey"])
    columns = [np.array(column) for column in vector["tally"]]
    tally = Tally(survey, *columns, True)
    for entry in vector["tables"]:
        table = tally.release(estimator=entry["estimator"]).marginal(*vector["attributes"])
        assert table.values == pytest.approx(np.array(entry["values"]), rel=1e-9, abs=1e-12)
        if entry["standard_error"] is not None:
            assert table.standard_error == pytest.approx(
                np.array(entry["standard_error"]), rel=1e-9
            )


def test_golden_records_with_numbers_are_taken_or_refused():
    survey = Survey.from_json(NUMBERS[0]["canonical"])
    for vector in NUMBERS[0]["records"]:
        if vector["held"] is None:
            with pytest.raises(DeniableError):
                survey.schema.encode(vector["record"])
        else:
            assert survey.schema.decode(survey.schema.encode(vector["record"])) == vector["held"]
    assert {vector["held"] is None for vector in NUMBERS[0]["records"]} == {False, True}


BAD = vectors("bad")


@pytest.mark.parametrize("vector", BAD["reports"], ids=lambda v: v["why"])
def test_a_bad_report_is_refused(vector):
    with pytest.raises(DeniableError):
        Report.from_json(vector["form"])


@pytest.mark.parametrize("vector", BAD["questions"], ids=lambda v: v["why"])
def test_a_bad_question_is_refused(vector):
    with pytest.raises(DeniableError):
        Question.from_json(vector["form"])


@pytest.mark.parametrize("vector", BAD["surveys"], ids=lambda v: v["why"])
def test_a_bad_survey_is_refused(vector):
    (sound,) = [v for v in vectors("surveys") if v["survey"]["mechanism"] == "InpHT"]
    text = vector.get("text") or json.dumps(sound["survey"] | vector["change"])
    with pytest.raises(DeniableError):
        Survey.from_json(text)


@pytest.mark.parametrize("vector", vectors("hostile"), ids=lambda v: v["why"])
def test_a_hostile_survey_is_taken_or_refused(vector):
    """Surveys as an enemy writes them; those with an id are sound all the same."""
    if vector["id"] is None:
        with pytest.raises(DeniableError):
            Survey.from_json(vector["text"])
    else:
        assert Survey.from_json(vector["text"]).id == vector["id"]


# Labels and periods


def labelled():
    """Return the surveys of these vectors by id."""
    return {each["id"]: Survey.from_json(each["canonical"]) for each in LABELS["surveys"]}


@pytest.mark.parametrize("vector", LABELS["surveys"], ids=lambda v: v["id"][:6])
def test_a_golden_survey_keeps_its_labels(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert survey.to_json() == vector["canonical"]
    assert survey.id == vector["id"] == hashlib.sha256(vector["canonical"].encode()).hexdigest()
    assert {name: list(values) for name, values in survey.labels.values.items()} == vector["values"]
    assert survey.labels.english() == vector["english"]


@pytest.mark.parametrize("vector", LABELS["bad surveys"], ids=lambda v: v["why"])
def test_a_survey_with_bad_labels_is_refused(vector):
    with pytest.raises(DeniableError):
        Survey.from_json(json.dumps(vector["survey"]))


def test_golden_labels_are_sent_or_refused():
    for vector in LABELS["given"]:
        labels = labelled()[vector["survey"]].labels
        if vector["sent"] is None:
            with pytest.raises(DeniableError):
                labels.given(vector["labels"])
        else:
            assert labels.given(vector["labels"]) == vector["sent"]
    assert {vector["sent"] is None for vector in LABELS["given"]} == {False, True}


def test_golden_periods_follow_from_their_words():
    for vector in LABELS["periods"]:
        survey, source = labelled()[vector["survey"]], Words(vector["words"])
        ledger = Ledger.in_memory()
        bounds = Client(survey, ledger=ledger).period(source=source)
        assert list(map(str, bounds)) == [vector["begins"], vector["ends"]]
        assert source.words == []
    assert any(len(vector["words"]) > 1 for vector in LABELS["periods"]), "some words are rejected"


def test_a_device_answers_on_golden_days(monkeypatch):
    survey = next(s for s in labelled().values() if "region" in s.labels.names and s.labels.periods)
    for vector in LABELS["days"]:
        ledger = Ledger.in_memory()
        ledger.period(survey.id, lambda begins=vector["begins"]: begins)
        today = date.fromisoformat(vector["today"])
        monkeypatch.setattr("deniable.client.client.today", lambda today=today: today)
        client, reason = Client(survey, ledger=ledger), None
        try:
            client.check_period()
        except RefusedError as error:
            reason = error.reason
        assert reason == vector["refused"]
        assert list(map(str, client.period())) == [vector["begins"], vector["ends"]]


def test_golden_labelled_reports_are_read_and_bad_ones_refused():
    for form in LABELS["reports"]:
        assert Report.from_json(form).to_json() == form
    for form in LABELS["bad reports"]:
        with pytest.raises(DeniableError):
            Report.from_json(form)


@pytest.mark.parametrize("vector", vectors("strict"))
def test_a_number_is_taken_or_refused_beyond_its_ends(vector):
    attribute = Attribute.from_json(vector["attribute"])
    for value, declared in vector["taken"]:
        assert attribute.value_of(attribute.encode(value)) == declared
    for value in vector["refused"]:
        with pytest.raises(RecordError):
            attribute.encode(value)
