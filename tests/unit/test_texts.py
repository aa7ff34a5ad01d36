"""Texts: what people read, what a survey's id covers of it, and what is asked under which condition."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_questionnaire import FORM

from deniable import Attribute, Schema, Survey
from deniable.errors import SurveyError, TextsError
from deniable.questionnaire import Questionnaire, Texts
from deniable.questionnaire.layout import Clause, Condition, Layout, runs_of

QUESTIONNAIRE = Questionnaire.of(FORM)
SURVEY = Survey.from_questionnaire(QUESTIONNAIRE)
Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> Texts:
    form = copy.deepcopy(QUESTIONNAIRE.texts.to_form())
    change(form)
    return Texts.of(form)


def test_texts_are_a_document(tmp_path: Path) -> None:
    texts = QUESTIONNAIRE.texts
    path = tmp_path / "survey.texts.json"
    path.write_text(texts.to_json(), encoding="utf-8")
    assert Texts.read(path) == texts == Texts.from_json(texts.to_json().encode())
    texts.check(SURVEY)
    form = json.loads(SURVEY.to_json())["texts"]
    assert form["default"] == "de"
    assert {name: len(each["attributes"]) for name, each in form["languages"].items()} == {
        "de": 4,
        "en": 4,
    }


def words(language: str, index: int, **fields: Any) -> Change:
    return lambda form: form["languages"][language]["attributes"][index].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (words("de", 0, wording="Haben sie Arbeit?"), "the words of 'job' differ in de"),
        (words("en", 3, help="Hm."), "the words of 'why' differ in en"),
        (words("de", 0, values=["Nein", "Ja", None]), "the words of 'job' differ in de"),
        (lambda f: f["languages"]["en"]["survey"].update(title="Play"), "the survey differs in en"),
        (lambda f: f["languages"]["de"]["survey"]["pages"].reverse(), "the survey differs in de"),
        (lambda f: f["languages"].pop("en"), "they are in other languages"),
        (lambda f: f["languages"].update(fr=f["languages"]["en"]), "they are in other languages"),
        (lambda f: f["layout"]["pages"].reverse(), "their pages or conditions differ"),
        (lambda f: f["layout"].update(conditions=[]), "their pages or conditions differ"),
        (lambda f: f["layout"]["conditions"][0].update(otherwise=1), "their pages or conditions"),
        (lambda f: f["languages"]["de"]["attributes"].append({"wording": "x"}), "other attributes"),
    ],
)  # fmt: skip
def test_one_word_that_differs_is_refused(change: Change, message: str) -> None:
    with pytest.raises(TextsError, match=message) as refusal:
        changed(change).check(SURVEY)
    assert SURVEY.id[:8] in str(refusal.value)


def test_the_default_language_is_covered() -> None:
    form = copy.deepcopy(QUESTIONNAIRE.texts.to_form())
    for part, own in zip(
        *(form["languages"][name]["attributes"] for name in ("en", "de")), strict=True
    ):
        part.setdefault("wording", own["wording"])
    other = Survey(SURVEY.schema, epsilon=1.0, labels={"region": ["n", "s"]}, texts=Texts.of(form))
    form["default"] = "en"
    with pytest.raises(TextsError, match="they are in other languages"):
        Texts.of(form).check(other)


def test_texts_belong_to_one_survey() -> None:
    plain = Survey(SURVEY.schema)
    with pytest.raises(TextsError, match="has no texts, and these are of another"):
        QUESTIONNAIRE.texts.check(plain)
    with pytest.raises(TextsError, match="the survey has 1"):
        Survey(Schema.binary("a"), 1, texts=QUESTIONNAIRE.texts)
    with pytest.raises(TextsError, match="words of other labels"):
        Survey(SURVEY.schema, texts=QUESTIONNAIRE.texts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.update(format=2), "format must be 1"),
        (lambda f: f.update(extra=1), "fields that it should not have"),
        (lambda f: f.update(default="fr"), "no texts in the default language fr"),
        (lambda f: f["languages"]["de"]["survey"].pop("title"), "must have a title"),
        (lambda f: f["languages"]["de"]["attributes"][0].pop("wording"), "a wording of each"),
        (lambda f: f["languages"].update(DE={}), "Each key of the texts's languages must be a language"),
        (words("de", 0, wording="\u202ea"), "wording must be a text of 1 to 20,000 letters that people"),
        (words("de", 0, wording="\u200b \u00ad"), "wording must be a text"),
        (words("de", 0, wording=" a"), "wording must be a text"),
        (words("de", 0, wording="a\x00b"), "wording must be a text"),
        (words("de", 0, wording="\ud800"), "wording must be a text"),
        (words("de", 0, wording=7), "wording must be a text"),
        (words("de", 0, values=[1, 2]), "must be a text of 1 to 1,000 letters, or null"),
        (lambda f: f["layout"].update(pages=[]), "pages must be a list of 1"),
        (lambda f: f["layout"]["conditions"][0].update(all=[]), "all must be a list of 1 to 20"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[1]]), "a list of 2 to 2"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[-1, 1]]), "number from 0"),
    ],
)  # fmt: skip
def test_what_is_no_texts_is_refused(change: Change, message: str) -> None:
    with pytest.raises(TextsError, match=message):
        changed(change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (words("de", 0, values=["a", "b"]), "The texts in de word other values of 'job'"),
        (words("de", 1, values=["a", "b"]), "The texts in de word other values of 'pay'"),
        (words("de", 2, missing="x"), "word a missing 'happy' that is none"),
        (words("de", 0, missing="x"), "word a missing 'job' that is none"),
        (words("de", 2, unit="x"), "word a unit of 'happy' that is none"),
        (lambda f: f["languages"]["en"]["survey"]["pages"].pop(), "words of other pages"),
        (lambda f: f["languages"]["de"]["survey"]["labels"].append({}), "words of other labels"),
        (lambda f: f["languages"]["de"]["survey"]["labels"][0].update(values=["a"]), "of other labels"),
        (lambda f: f["layout"]["pages"][1]["attributes"].pop(), "each of its attributes exactly once"),
        (lambda f: f["layout"]["pages"][1]["attributes"].append(0), "exactly once"),
        (lambda f: f["layout"]["pages"][0].update(attributes=[0, 7]), "exactly once"),
        (lambda f: f["layout"]["conditions"].reverse(), "in the order of their attributes"),
        (lambda f: f["layout"]["conditions"][1].update(attribute=4), "in the order of their"),
        (lambda f: f["layout"]["conditions"][0].update(attribute=0), "attributes asked before it"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(on=3), "attributes asked before it"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(on=99), "attributes asked before it"),
        (lambda f: f["layout"]["conditions"][0].update(otherwise=22), "one of its declared values"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[2, 3]]), "values of 'job'"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[1, 0]]), "values of 'job'"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[0, 0], [1, 1]]), "in order"),
        (lambda f: f["layout"]["conditions"][0]["all"][0].update(codes=[[1, 1], [0, 0]]), "in order"),
    ],
)  # fmt: skip
def test_texts_that_do_not_fit_are_refused_even_if_a_survey_names_them(
    change: Change, message: str
) -> None:
    texts = changed(change)
    with pytest.raises(TextsError, match=message):
        texts.fit(SURVEY.schema, SURVEY.labels)
    if len(texts.languages["de"]["attributes"]) == 4:
        with pytest.raises(TextsError, match=message):
            texts.check(SURVEY.worded(texts.digests))


def test_what_is_read_and_what_it_follows_make_the_id() -> None:
    plain = Survey.from_questionnaire(QUESTIONNAIRE)
    assert plain.id == SURVEY.id
    later = Survey.from_questionnaire(
        Questionnaire.of(FORM | {"follows": SURVEY.id, "thanks": "Danke."})
    )
    assert later.follows == SURVEY.id
    assert later.id != SURVEY.id
    assert Survey.from_json(later.to_json()).follows == SURVEY.id
    assert later.worded(SURVEY.texts) == SURVEY
    assert later.wording("pay") == SURVEY.wording("pay") != SURVEY.wording("job")
    assert later.wording("pay").keys() == {"de", "en"}
    assert Survey(SURVEY.schema).wording("pay") == {}
    for follows in ("x", SURVEY.id.upper(), SURVEY.id[:-1], 7):
        with pytest.raises(SurveyError, match="The predecessor must be the id of a survey"):
            SURVEY.worded(None, follows)


def survey_form(change: Change) -> str:
    form = json.loads(SURVEY.to_json())
    change(form)
    return json.dumps(form)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["texts"].update(default="fr"), "no texts in its default language fr"),
        (lambda f: f["texts"]["languages"]["de"]["attributes"].pop(), "one digest of texts for each"),
        (lambda f: f["texts"]["languages"]["de"].update(survey="x"), "64 hexadecimal digits"),
        (lambda f: f["texts"].update(layout=f["texts"]["layout"].upper()), "64 hexadecimal digits"),
        (lambda f: f["texts"].update(languages={}), "must map 1 to 100 keys"),
        (lambda f: f["texts"]["languages"].update({"d\n": f["texts"]["languages"]["de"]}), "language"),
        (lambda f: f["texts"]["languages"].update({"en\n": f["texts"]["languages"]["de"]}), "language"),
        (lambda f: f.update(texts=None), "must be an object"),
        (lambda f: f.update(follows=""), "must be the id of a survey"),
        (lambda f: f.update(follows=f["texts"]["layout"] + "\n"), "must be the id of a survey"),
        (lambda f: f.update(follows=None), "must be the id of a survey"),
    ],
)  # fmt: skip
def test_broken_digests_are_refused(change: Change, message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(survey_form(change))


# Conditions


def test_what_is_not_asked_has_its_declared_value() -> None:
    def completed(*answers: Any) -> list[Any]:
        names = QUESTIONNAIRE.schema.names
        record = dict(zip(names, answers, strict=True))
        whole = QUESTIONNAIRE.texts.completed(record, QUESTIONNAIRE.schema)
        assert record == dict(zip(names, answers, strict=True)), "the record given stays as it is"
        return [whole[name] for name in names]

    assert completed(True, 1000, False, "pay") == [True, 1000, False, "pay"]
    assert completed(True, 1000, True, "pay") == [True, 1000, True, "other"]
    assert completed(False, 1000, False, "pay") == [False, 0, False, "other"], "a chain"
    assert completed(None, 1000, False, None) == [None, 0, False, "other"]
    assert completed("no answer", None, False, "pay") == ["no answer", 0, False, "other"]
    assert completed(True, 749, False, "pay") == [True, 749, False, "other"], "nearer to 500"
    assert completed(True, 750, False, "pay") == [True, 750, False, "pay"]
    assert completed(True, 2249, False, "pay") == [True, 2249, False, "pay"]
    assert completed(True, 2250, False, "pay") == [True, 2250, False, "other"]
    assert completed(True, "?", False, "pay") == [True, "?", False, "other"], (
        "no answer: none of them"
    )
    assert completed(True, 1000, "unclear", "pay") == [True, 1000, "unclear", "other"]


def test_a_condition_that_looks_at_nothing_given_does_not_hold() -> None:
    schema = Schema((Attribute("a", ("x", "y")), Attribute("n", low=0, high=9), Attribute("b")))
    layout = Layout(
        ((1, 0), (2,)),
        (Condition(0, (Clause(1, ((3, 9),)),), 1), Condition(2, (Clause(0, ((0, 0),)),), 0)),
    )
    layout.check(schema)
    assert layout.order == (1, 0, 2)
    assert layout.completed({}, schema) == {"a": "y", "b": False}
    assert layout.completed({"a": "x", "n": 4, "b": True}, schema) == {"a": "x", "n": 4, "b": True}
    assert layout.completed({"a": "x", "n": 2, "b": True}, schema) == {"a": "y", "n": 2, "b": False}
    assert Layout.of_form(layout.to_json()) == layout


def test_runs_are_ascending() -> None:
    assert runs_of([5, 1, 2, 2, 7, 3]) == ((1, 3), (5, 5), (7, 7))


def test_a_wide_survey_stays_small_and_quick() -> None:
    """200 attributes in five languages: the protocol part below 100 kB, two thirds of it digests."""
    languages = ["de", "en", "fr", "es", "ar"]

    def text(words: str) -> dict[str, str]:
        return {name: f"{words} ({name})" for name in languages}

    form = {
        "deniable": "questionnaire",
        "format": 1,
        "languages": languages,
        "title": text("Wide"),
        "design": {"mechanism": "InpHT"},
        "attributes": [
            {"name": f"a{i}", "wording": text(f"Is it true of you that you have done number {i}?")}
            for i in range(200)
        ],
    }
    questionnaire = Questionnaire.of(form)
    survey = Survey.from_questionnaire(questionnaire)
    assert len(survey.to_json()) < 100_000
    questionnaire.texts.check(Survey.from_json(survey.to_json()))
