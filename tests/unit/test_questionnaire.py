"""A questionnaire's file: what it may say, and what follows of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from deniable import Survey
from deniable.errors import QuestionnaireError
from deniable.questionnaire import Questionnaire, yaml_text
from deniable.questionnaire.structure import check_structure, json_schema

FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en"],
    "title": {"de": "Arbeit", "en": "Work"},
    "introduction": "Zehn Fragen.\n\nSie dauern nicht lange.",
    "design": {
        "epsilon": 2,
        "people": 2000,
        "tables": [{"attributes": ["job", "pay"], "weight": 2}],
    },
    "labels": [
        {"name": "region", "wording": "Wo?", "values": [{"value": "n", "label": "Nord"}, "s"]}
    ],
    "attributes": [
        {
            "name": "job",
            "wording": {"de": "Haben Sie Arbeit?", "en": "Do you have a job?"},
            "values": [{"value": True, "label": {"de": "Ja", "en": "Yes"}}, False],
            "missing": "no answer",
            "label_missing": {"de": "keine Angabe"},
        },
        {
            "name": "pay",
            "wording": "Wie viel verdienen Sie?",
            "help": {"de": "Im Monat.", "en": "Per month."},
            "low": 0,
            "high": 10_000,
            "step": 500,
            "unit": {"de": "Euro", "en": "EUR"},
            "missing": "no answer",
            "label_missing": {"de": "keine Angabe"},
            "when": {"attribute": "job", "is": True, "otherwise": 0},
        },
        {"name": "happy", "wording": {"de": "Froh?", "en": "Happy?"}},
        {
            "name": "why",
            "wording": "Woran liegt es?",
            "values": ["pay", "people", "other"],
            "complete": True,
            "when": {
                "all": [
                    {"attribute": "pay", "is": {"above": 500, "to": 2000}},
                    {"attribute": "happy", "is": [False]},
                ],
                "otherwise": "other",
            },
        },
    ],
    "pages": [
        {"title": "Arbeit", "attributes": ["job", "pay"]},
        {"title": {"de": "Leben", "en": "Life"}, "attributes": ["happy", "why"]},
    ],
}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    form = copy.deepcopy(FORM)
    change(form)
    return form


def test_a_survey_and_its_texts_follow() -> None:
    questionnaire = Questionnaire.of(FORM)
    assert questionnaire.to_form() == FORM
    assert questionnaire.languages == ("de", "en")
    assert [each.codes for each in questionnaire.schema.attributes] == [3, 22, 2, 3]
    assert questionnaire.schema.attributes[0].values == (True, False, "no answer")
    assert questionnaire.schema.attributes[0].other == "no answer"
    assert questionnaire.design == {
        "epsilon": 2,
        "people": 2000,
        "workload": {("job", "pay"): 2.0},
    }
    words = questionnaire.texts.languages
    assert words["de"]["attributes"][0] == {
        "wording": "Haben Sie Arbeit?",
        "values": ["Ja", None, "keine Angabe"],
    }
    assert words["en"]["attributes"] == [
        {"wording": "Do you have a job?", "values": ["Yes", None, None]},
        {"help": "Per month.", "unit": "EUR"},
        {"wording": "Happy?"},
        {},
    ]
    assert words["de"]["attributes"][1]["missing"] == "keine Angabe"
    assert words["en"]["survey"] == {"title": "Work", "pages": [{}, {"title": "Life"}]}
    assert words["de"]["survey"]["labels"] == [{"wording": "Wo?", "values": ["Nord", None]}]
    assert questionnaire.texts.layout.to_json() == {
        "pages": [{"attributes": [0, 1]}, {"attributes": [2, 3]}],
        "conditions": [
            {"attribute": 1, "all": [{"on": 0, "codes": [[0, 0]]}], "otherwise": 0},
            {
                "attribute": 3,
                "all": [{"on": 1, "codes": [[2, 4]]}, {"on": 2, "codes": [[0, 0]]}],
                "otherwise": 2,
            },
        ],
    }
    addressed = Questionnaire.of(questionnaire.form | {"contact": "study@example.org"})
    assert addressed.untranslated == questionnaire.untranslated, "an address is in no language"
    assert questionnaire.untranslated == {
        "en": [
            "questionnaire's introduction",
            "title of page 1",
            "wording of label 'region'",
            "label of 'n' of label 'region'",
            "label_missing of attribute 'job'",
            "wording of attribute 'pay'",
            "label_missing of attribute 'pay'",
            "wording of attribute 'why'",
            "label of 's' of label 'region'",
            "label of 'pay' of attribute 'why'",
            "label of 'people' of attribute 'why'",
            "label of 'other' of attribute 'why'",
        ]
    }
    survey = Survey.from_questionnaire(questionnaire, epsilon=1.5)
    assert (survey.epsilon, survey.order) == (1.5, 2)
    assert survey.labels.names == ("region",)
    questionnaire.texts.check(survey)
    assert Survey.from_json(survey.to_json()) == survey


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda form: form.pop(name)


def first(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda form: form["attributes"][0].update(fields)


def when(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda form: form["attributes"][1].update(
        when={"attribute": "job", "is": True, "otherwise": 0} | fields
    )


BY_STRUCTURE = [
    (without("deniable"), "The questionnaire needs the field deniable."),
    (without("title"), "The questionnaire needs the field title."),
    (lambda form: form.update(format=2), "The questionnaire: format must be 1."),
    (lambda form: form.update(format=True), "format must be 1"),
    (lambda form: form.update(titel="x"), "The questionnaire has a field 'titel'; fields are"),
    (lambda form: form.update(languages=[]), "languages must be a list of 1 to 100"),
    (lambda form: form.update(languages=["de", "de"]), "languages lists 'de' twice"),
    (lambda form: form.update(languages=["DE"]), "must be a language such as de"),
    (lambda form: form.update(title=""), "title must be a text of at most 1,000 letters, or one for"),
    (lambda form: form.update(title={}), "must have 1 to 100 fields"),
    (lambda form: form.update(title={"deutsch!": "x"}), "a key must be a language such as de"),
    (lambda form: form.update(title=7), "title must be a text of at most 1,000 letters, or one for"),
    (lambda form: form.update(follows="f" * 63), "follows must be the id of a survey"),
    (lambda form: form.update(attributes=[]), "attributes must be a list of 1 to 10,000"),
    (lambda form: form["attributes"].append(7), "attributes, 5 must be a mapping of fields"),
    (lambda form: form["design"].update(order=0), "design: order must be a whole number at least 1 and"),
    (lambda form: form["design"].update(order=1.5), "design: order must be a whole number"),
    (lambda form: form["design"].update(epsilon=0), "design: epsilon must be a number above 0"),
    (lambda form: form["design"].update(aim="best"), "aim must be one of tables, associations"),
    (lambda form: form["design"].update(delta=1), "design has a field 'delta'"),
    (first(wording=None), "attributes, 'job': wording is empty: fill it in, or leave"),
    (lambda form: form["attributes"][0].pop("wording"), "attributes, 'job' needs the field wording."),
    (first(wordings="x"), "attributes, 'job' has a field 'wordings'; fields are name, wording"),
    (first(name="a\u202eb"), "name must be a name of 1 to 100 letters that can all be seen"),
    (first(values=[[1]]), "values, 1 must be a value, or an object with value and label"),
    (first(values=[1.5, 2]), "must be a value, or an object with value and label"),
    (first(values=[2**60, 2]), "must be a value, or an object with value and label"),
    (first(values=[{"label": "x"}]), "values, 1 must be a value, or an object with"),
    (first(complete=False), "complete must be true"),
    (first(low=0), "'job' has low without high"),
    (first(ordered="yes"), "ordered must be true or false"),
    (when(otherwise=[1]), "when: otherwise must be a declared value, or a point of a number"),
    (when(so=1), "when has a field 'so'; fields are attribute, is, otherwise"),
    (lambda form: form["attributes"][1]["when"].pop("otherwise"), "when must be attribute, is and"),
    (when(**{"is": {}}), "is must have 1 to 2 fields"),
    (lambda form: form["pages"][0].update(attributes=[]), "pages, 1: attributes must be a list of 1"),
    (lambda form: form["labels"][0].update(values=[]), "labels, 'region': values must be a list"),
    (lambda form: form.update(periods=["today", "later"]), "periods, 1 must be a day such as"),
]  # fmt: skip

BY_MEANING = [
    (lambda form: form.update(title={"en": "x"}), "questionnaire's title has no text in de"),
    (lambda form: form.update(title={"de": "x", "fr": "y"}), "has a text in fr, which is none"),
    (lambda form: form["pages"][1].update(title={"en": "x"}), "title of page 2 has no text in de"),
    (first(wording="\u202eevil"), "Attribute 'job', in de: wording must be a text of 1 to 20,000"),
    (first(name="pay"), "Attribute 'pay' is declared twice: attributes 1 and 2."),
    (
        lambda form: form["languages"].append("fr"),
        "There is no text in fr: write one, such as the title, or take fr out of the languages.",
    ),
    (
        first(wording={"de": "Haben Sie Arbeit?", "en": "Do you, ${name}, work?"}),
        "The wording of attribute 'job', in en, repeats an answer, ${name}, and a survey's texts are",
    ),
    (
        lambda form: form["labels"][0]["values"][0].update(label="${x}"),
        "The label of 'n' of label 'region', in de, repeats an answer",
    ),
    (first(values=[1, 1]), "'job' declares a value twice"),
    (
        first(values=[{"value": v, "label": {"de": f"{v}", "en": "x"}} for v in (1, 2)]),
        "Two values of attribute 'job' have one label in en, 'x': people could not tell them apart.",
    ),
    (
        lambda form: form["labels"][0].update(values=[{"value": v, "label": "Nord"} for v in "ns"]),
        "Two values of label 'region' have one label in de, 'Nord'",
    ),
    (first(values=["a", "b"], low=0, high=1), "'job' has values, points or a range; give one"),
    (first(values=["a", "b"], edges=[1]), "'job' has values and edges; give one"),
    (
        lambda form: form["attributes"][3].pop("complete"),
        "Attribute 'why' may not fit everybody, and whoever cannot answer shows by silence: declare",
    ),
    (when(attribute="jobs"), "The condition of 'pay' names 'jobs', and there is no such attribute"),
    (when(attribute="pay"), "The condition of 'pay' looks at 'pay', which is not asked before it"),
    (when(attribute="why"), "The condition of 'pay' looks at 'why', which is not asked before it"),
    (
        lambda form: form["pages"].reverse(),
        "The condition of 'why' looks at 'pay', which is not asked before it",
    ),
    (when(**{"is": ["yes"]}), "The condition of 'pay': is must be declared values of 'job', True,"),
    (when(**{"is": {"above": 3}}), "The condition of 'pay': 'job' is no number, so list its values"),
    (when(otherwise=1), "The condition of 'pay': otherwise must be a declared value of it, 0, 500,"),
    (when(otherwise="none"), "otherwise must be a declared value of it, 0, 500, 1000, … 10000, or 'no"),
    (
        lambda form: form["attributes"][3]["when"]["all"][0].update({"is": {"above": 501}}),
        "The condition of 'why': above must be a point of 'pay', 0, 500, 1000, … 10000",
    ),
    (
        lambda form: form["attributes"][3]["when"]["all"][0].update({"is": {"above": 500, "to": 500}}),
        "The condition of 'why' can never hold: above is not below to",
    ),
    (lambda form: form["pages"].pop(), "Attribute 'happy' is on no page"),
    (lambda form: form["pages"][0]["attributes"].append("why"), "'why' is on pages more than once"),
    (lambda form: form["pages"][0]["attributes"].append("x"), "Page 1 names 'x', and there is no such"),
    (lambda form: form["design"]["tables"][0]["attributes"].append("x"), "A table of the design names"),
    (lambda form: form["labels"].append(form["labels"][0]), "There are two labels 'region'"),
    (lambda form: form["labels"][0].update(name="job"), "label"),
    (lambda form: form.update(periods=["2026-01-01", "2025-01-01"]), "period"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BY_STRUCTURE + BY_MEANING)
def test_what_makes_no_sense_is_refused_in_one_sentence(change: Any, message: str) -> None:
    with pytest.raises(QuestionnaireError) as refusal:
        Questionnaire.of(changed(change))
    said = str(refusal.value)
    assert message in said
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 300


@pytest.mark.parametrize("change", [change for change, _ in BY_STRUCTURE if change is not None])
def test_the_json_schema_refuses_the_same_structures(change: Any) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    form = changed(change)
    assert not validator.is_valid(form)
    with pytest.raises(QuestionnaireError):
        Questionnaire.of(form)


@pytest.mark.parametrize("change", [lambda form: None, *(c for c, _ in BY_MEANING)])
def test_the_json_schema_takes_what_has_the_structure(change: Any) -> None:
    form = changed(change)
    jsonschema.Draft202012Validator(json_schema()).validate(form)
    check_structure(form)


def test_a_name_may_join_letters() -> None:
    """As Persian does, and some pictures; what only hides or turns letters is refused above."""
    name = "می\u200cخواهم"
    form = changed(lambda form: form["attributes"][3].update(name=name))
    form["pages"][1]["attributes"][1] = name
    assert Questionnaire.of(form).schema.names[3] == name


def test_the_json_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


ODD = [None, True, False, 0, -1, 1.5, 1e300, "", "x", "x" * 30_000, [], {}, [[]], {"": 0}, [None]]


def places(form: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = (
        form.items()
        if isinstance(form, dict)
        else enumerate(form)
        if isinstance(form, list)
        else ()
    )
    return [path, *(place for name, part in parts for place in places(part, (*path, name)))]


def test_reader_and_json_schema_agree_wherever_something_odd_stands() -> None:
    """Each part replaced by each odd thing: our reader of the schema, and another's, say the same."""
    validator = jsonschema.Draft202012Validator(json_schema())
    cases = refusals = 0
    for place in places(FORM)[1:]:
        for odd in ODD:
            form = copy.deepcopy(FORM)
            *path, last = place
            part = form
            for name in path:
                part = part[name]
            part[last] = odd
            try:
                check_structure(form)
                fits = True
            except QuestionnaireError:
                fits = False
            assert fits == validator.is_valid(form), (place, odd)
            with suppress(QuestionnaireError):  # and nothing else is raised, whatever stands there
                Questionnaire.of(form)
                assert fits
            cases, refusals = cases + 1, refusals + (not fits)
    assert cases >= 1500
    assert refusals > 1000


def test_yaml_is_written_as_it_is_read(tmp_path: Path) -> None:
    form = changed(
        first(
            wording={"de": "No: 1e3\n\n#x", "en": "yes"},
            help=" - ".join(["é", "عربي", "'", '"', "\\", ": ", "#", "%"]),
            values=[{"value": v, "label": v} for v in ("1", "1e3", "0x1f", "true", "no", "~", "-")],
            missing=".5",
        )
    )  # fmt: skip
    form["attributes"][1].pop("when")
    questionnaire = Questionnaire.of(form)
    for name, text in (
        ("f.yaml", yaml_text(questionnaire.to_form())),
        ("f.json", json.dumps(form)),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        assert Questionnaire.read(path).to_form() == questionnaire.to_form()
