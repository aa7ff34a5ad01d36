"""XLSForm: what becomes of each row, as ODK and KoBo write them. The forms here are our own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from xlsform_parts import CHOICES, read, write_book

from deniable.errors import QuestionnaireError
from deniable.questionnaire import Questionnaire, yaml_text
from deniable.questionnaire.reading import read_form
from deniable.questionnaire.xlsform import Row, is_xlsform, read_xlsform, walk
from deniable.questionnaire.xlsform.languages import language_code

PLAIN = "type|name|label"
WHOLE = "type|name|label|hint|relevant|required|constraint|parameters"


def test_each_kind_of_question_becomes_attributes(tmp_path: Path) -> None:
    form, rows = read(
        tmp_path,
        ["select_one yes_no", "works", "Do you work?", "For money", None, "yes", None, None],
        ["select_multiple pets", "pet", "Which pets?", None, None, None, None, None],
        ["integer", "age", "Age?", None, None, "TRUE", ". >= 0 and . < 121", None],
        ["decimal", "rent", "Rent?", None, None, None, "(0 <= .) and . <= 1000", None],
        ["range", "mood", "Mood?", None, None, None, None, "start=0 end=10 step=0.5"],
        ["date", "moved", "When?", None, None, None, _DAYS, None],
        ["select_one grade or_other", "class", "Class?", None, None, None, None, None],
        header=WHOLE,
        settings=[["form_title", "default_language"], ["Rest", "English (en)"]],
    )
    assert [row.outcome for row in rows] == ["imported"] * 7
    own = {each["name"]: each for each in form["attributes"]}
    assert own["works"] == {
        "name": "works",
        "wording": "Do you work?",
        "help": "For money",
        "values": [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}],
        "complete": True,
    }
    assert own["pet_cat"] == {"name": "pet_cat", "wording": "Which pets? – A cat"}
    assert (own["age"]["low"], own["age"]["high"], own["age"]["step"]) == (0, 120, 1)
    assert own["rent"]["missing"] == "no answer"
    assert own["mood"]["step"] == 0.5
    assert own["moved"]["low"] == "2026-01-01"
    assert [value["value"] for value in own["class"]["values"]] == ["1", "2", "other"]
    assert "the text of other is not asked" in rows[6].says
    questionnaire = Questionnaire.of(form)
    assert questionnaire.title == "Rest"
    assert questionnaire.languages == ("en",)
    path = tmp_path / "q.yaml"
    path.write_text(yaml_text(form), encoding="utf-8")
    assert read_form(path) == form


_DAYS = ". >= date('2026-01-01') and . <= date('2026-12-31')"

CONDITIONS: list[tuple[str, Any]] = [
    ("${works} = 'yes'", {"attribute": "works", "is": "yes"}),
    ("selected(${works}, 'yes')", {"attribute": "works", "is": "yes"}),
    ("'yes' = ${works}", {"attribute": "works", "is": "yes"}),
    # As in XPath, no answer is an empty text, which differs from every choice.
    ("${works} != 'yes'", {"attribute": "works", "is": ["no", "no answer"]}),
    ("not(${works} != 'yes')", {"attribute": "works", "is": "yes"}),
    ("${works} != ''", {"attribute": "works", "is": ["yes", "no"]}),
    ("${works} = ''", {"attribute": "works", "is": "no answer"}),
    ("${works}='yes' or ${works}='no'", {"attribute": "works", "is": ["yes", "no"]}),
    ("selected(${pet}, 'cat')", {"attribute": "pet_cat", "is": True}),
    ("not(selected(${pet}, 'cat'))", {"attribute": "pet_cat", "is": False}),
    ("${age} >= 18", {"attribute": "age", "is": {"above": 17}}),
    ("18 > ${age}", {"attribute": "age", "is": {"to": 17}}),
    ("${age} > 17 and ${age} <= 65", {"attribute": "age", "is": {"above": 17, "to": 65}}),
    ("${grade} > 1", {"attribute": "grade", "is": "2"}),
    ("${grade} = 2", {"attribute": "grade", "is": "2"}),
    (
        "${works} = 'yes' and not(${age} > 3 or ${grade} = 1)",
        {
            "all": [
                {"attribute": "works", "is": "yes"},
                # ... and an age that is not there is not above 3 either.
                {"attribute": "age", "is": [0, 1, 2, 3, "no answer"]},
                {"attribute": "grade", "is": ["2", "no answer"]},
            ]
        },
    ),
    ("${works} = 'yes' or ${age} > 3", "joins answers of different questions by or"),
    ("${works} = 'maybe'", "'maybe' is no choice of 'works'"),
    ("selected(${pet}, 'cow')", "'cow' is no choice of 'pet'"),
    ("${pet} = 'cat'", "'pet' has several answers: write selected(${pet}, "),
    ("count-selected(${pet}) > 1", "count-selected() is calculated"),
    ("${age} > ${rent}", "must compare one answer with a constant"),
    ("${works} = 'yes' and ${works} = 'no'", "it can never hold"),
    ("${late} = 'yes'", "'late', which is asked after it, in row "),
    ("${here} = 'yes'", "it looks at its own answer"),
    ("${nobody} = 'yes'", "'nobody', and there is no such row"),
    ("${note} = 'yes'", "'note', which is refused"),
    ("${works} = 'yes' and", "it ends early"),
    ("((((((((((((((((((((((((${age} > 1))))))))))))))))))))))))", "nested too deep"),
    ("${age} + 1 > 3", "not understood"),
]


@pytest.fixture(scope="module")
def conditions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[Row]]:
    """Return a form that asks something under each of the conditions, and its rows."""
    rows = [
        ["select_one yes_no", "here" if "here" in text else f"c{index}", "C?", text, None]
        for index, (text, _) in enumerate(CONDITIONS)
    ]
    return read(
        tmp_path_factory.mktemp("forms"),
        ["select_one yes_no", "works", "W?", None, None],
        ["select_multiple pets", "pet", "P?", None, None],
        ["integer", "age", "A?", None, ". >= 0 and . <= 120"],
        ["select_one grade", "grade", "G?", None, None],
        ["text", "note", "N?", None, None],
        *rows,
        ["select_one yes_no", "late", "L?", None, None],
        header="type|name|label|relevant|constraint",
    )


@pytest.mark.parametrize("index", range(len(CONDITIONS)), ids=[text for text, _ in CONDITIONS])
def test_a_condition_is_kept_or_refused(conditions: tuple[Any, list[Row]], index: int) -> None:
    (form, rows), (_, meaning) = conditions, CONDITIONS[index]
    row = rows[5 + index]
    if isinstance(meaning, str):
        assert (row.row, row.outcome, row.column) == (7 + index, "refused", "relevant")
        assert meaning in row.says
    else:
        own = {each["name"]: each for each in form["attributes"]}
        assert own[row.name]["when"] == meaning | {"otherwise": "no answer"}


def test_conditions_make_a_questionnaire(conditions: tuple[Any, list[Row]]) -> None:
    assert len(Questionnaire.of(conditions[0]).texts.layout.conditions) == 16


REFUSED = [
    (["text", "a", "A?"], "type", "free text cannot be asked"),
    (["geopoint", "a", "A?"], "type", "places cannot be asked"),
    (["image", "a", "A?"], "type", "files, pictures and recordings"),
    (["barcode", "a", "A?"], "type", "barcodes"),
    (["time", "a", "A?"], "type", "times cannot be asked"),
    (["calculate", "a", None], "type", "what is calculated of answers is not asked"),
    (["acknowledge", "a", "A?"], "type", "ask it as consent"),
    (["rank pets", "a", "A?"], "type", "an order of choices"),
    (["select_one_from_file towns.csv", "a", "A?"], "type", "not in the sheet choices"),
    (["select_one nothing", "a", "A?"], "type", "there is no list 'nothing'"),
    (["select_one alike", "a", "A?"], "type", "has one label for 'x' and 'y', in row 10 of choices"),
    (["lottery", "a", "A?"], "type", "there is no type 'lottery' in XLSForm"),
    (["select_one yes_no", None, "A?"], "name", "it has no name"),
    (["select_one yes_no", "a", None], "label", "it has no label"),
    (["select_one yes_no", "a", "Does ${b}?"], "label", "it repeats an answer"),
    (["select_one yes_no", "a", "A\u202e?"], "label", "it must be a text of 1 to 20,000 letters"),
    (["select_one yes_no", "a" * 101, "A?"], "name", "it must be a name of 1 to 100 letters"),
    (["select_one yes_no", "first", "A?"], "name", "'first' is the name of a row before it"),
    ([None, "a", "A?"], "type", "it has no type"),
    (["end group", None, None], "type", "no group is open"),
    (["integer", "a", "A?"], "constraint", "write . >= 0 and . <= 120"),
    (["integer", "a", "A?", ". >= 0"], "constraint", "it gives no end"),
    (["integer", "a", "A?", ". >= 0 and . <= today()"], "constraint", "today() is calculated"),
    (["integer", "a", "A?", ". > 0 or . < 9"], "constraint", "says more than where"),
    (["integer", "a", "A?", ". >= 9 and . <= 1"], "constraint", "low must be below high"),
    (["date", "a", "A?", ". > '2026-01-01' and . < '2026-02-01'"], "constraint", ">= and <="),
    (["integer", "a", "A?", ". >= -1e400 and . <= 9"], "constraint", "it has 'e400'"),
    (["integer", "a", "A?", f". >= 0 and . <= {10**300}"], "constraint", "below 2^53"),
    (["range", "a", "A?", None, "start=1 end=10 step=4"], "parameters", "whole number of steps"),
    (["range", "a", "A?", None, "start=0 end=1e308 step=1e-9"], "parameters", "at most 4,096"),
    (["range", "a", "A?", None, "start=1 end=ten"], "parameters", "must be numbers"),
    (["range", "a", "A?", None, "from 1 to 10"], "parameters", "not written as"),
    (["begin group", "a", "A"], "type", "it has no end"),
]  # fmt: skip


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[Row]]:
    """Return a form with all that cannot be asked, and its rows."""
    return read(
        tmp_path_factory.mktemp("forms"),
        ["select_one yes_no", "first", "F?"],
        *[cells for cells, _, _ in REFUSED],
        header="type|name|label|constraint|parameters",
        choices=[*CHOICES, ["alike", "x", "One"], ["alike", "z", "Two"], ["alike", "y", "One"]],
    )


@pytest.mark.parametrize("index", range(len(REFUSED)))
def test_what_cannot_be_asked_is_refused_by_row_and_column(
    refusals: tuple[Any, list[Row]], index: int
) -> None:
    (form, rows), (_, column, reason) = refusals, REFUSED[index]
    (row,) = (row for row in rows if row.row == 3 + index and row.outcome == "refused")
    assert row.column == column
    assert reason in row.says
    assert row.sentence().startswith(f"Row {3 + index}")
    assert f"column {column}: " in row.sentence()
    assert [each["name"] for each in form["attributes"]] == ["first"]


def test_groups_become_pages_and_notes_their_introductions(tmp_path: Path) -> None:
    form, rows = read(
        tmp_path,
        ["start", "start", None, None],
        ["note", "hello", "Hello!", None],
        ["select_one yes_no", "works", "W?", None],
        ["begin group", "job", "Your job", "${works} = 'yes'"],
        ["select_one yes_no", "tired", "T?", None],
        ["begin_group", "deep", None, None],
        ["select_one yes_no", "naps", "N?", "${tired} = 'yes'"],
        ["end_group", None, None, None],
        ["end group", None, None, None],
        ["begin repeat", "child", "Child", None],
        ["begin group", "inner", "Inner", None],
        ["select_one yes_no", "c", "C?", None],
        ["end group", None, None, None],
        ["end repeat", None, None, None],
        ["note", "bye", "Goodbye.", None],
        header="type|name|label|relevant",
    )
    assert form["pages"] == [
        {"introduction": "Hello!", "attributes": ["works"]},
        {"title": "Your job", "attributes": ["tired"]},
        {"attributes": ["naps"]},
    ]
    assert form["thanks"] == "Goodbye."
    naps = form["attributes"][2]
    assert naps["when"]["all"] == [
        {"attribute": "works", "is": "yes"},
        {"attribute": "tired", "is": "yes"},
    ]
    Questionnaire.of(form)
    assert [row.outcome for row in rows] == [
        *("left out", *["imported"] * 8),
        *(*["refused"] * 5, "imported"),
    ]
    assert "it is in repeat 'child' of row 11" in rows[11].says


def test_no_title_of_a_group_is_lost_in_silence(tmp_path: Path) -> None:
    form, rows = read(
        tmp_path,
        ["begin group", "home", "Your home"],
        ["begin group", "rooms", "Rooms"],
        ["select_one yes_no", "kitchen", "K?"],
        ["end group", None, None],
        ["begin group", "garden", "Garden"],
        ["select_one yes_no", "trees", "T?"],
        ["end group", None, None],
        ["end group", None, None],
        ["begin group", "end", "The end"],
        ["note", "bye", "Goodbye."],
        ["end group", None, None],
        header="type|name|label",
    )
    assert [page.get("title") for page in form["pages"]] == ["Your home – Rooms", "Garden"]
    assert [row.says for row in rows if row.type == "begin group"] == [
        "its title leads that of the page after it.",
        "a page.",
        "a page.",
        "no page: nothing is asked there and its title is left out.",
    ]


def test_texts_in_several_languages(tmp_path: Path) -> None:
    header = "type|name|label::German (de)|label::français|label::Klingonese|hint::German (de)"
    form, rows = read(
        tmp_path,
        ["select_one janein", "arbeit", "Arbeiten Sie?", "Travaillez-vous ?", "x", "Für Geld"],
        ["select_one janein", "nur", None, "Seulement ?", None, None],
        ["select_one janein", "ohne", "Ohne?", None, None, None],
        ["select_one leer", "leer", "Leer?", None, None, None],
        header=header,
        choices=[
            ["list name", "name", "label::German (de)", "label::français"],
            ["janein", "ja", "Ja", "Oui"],
            ["janein", "nein", "Nein", None],
            ["leer", "x", None, "Vide"],
            ["leer", "y", "Y", None],
        ],
    )
    assert form["languages"] == ["de", "fr"]
    assert (rows[0].column, rows[0].outcome) == ("label::Klingonese", "refused")
    assert (rows[2].column, rows[2].says) == (
        "label",
        "it has no text in de, the default language.",
    )
    assert (
        "row 4 of choices" in rows[4].says
        or "row 4 of choices: it has no text in de" in rows[4].says
    )
    questionnaire = Questionnaire.of(form)
    assert questionnaire.schema.names == ("arbeit", "ohne")
    assert "wording of attribute 'ohne'" in questionnaire.untranslated["fr"]
    assert form["attributes"][0]["label_missing"] == {"de": "keine Angabe", "fr": "sans réponse"}


def test_a_language_without_a_text_is_left_out(tmp_path: Path) -> None:
    """A header alone is no language: people would choose it, and read another one."""
    form, rows = read(
        tmp_path,
        ["select_one yes_no", "works", "W?", None, None],
        header="type|name|label::English (en)|label::French (fr)|label::Klingonese",
    )
    assert form["languages"] == ["en"]
    assert [(row.row, row.name, row.outcome) for row in rows[:2]] == [
        (1, "label::French (fr)", "left out"),
        (1, "label::Klingonese", "left out"),
    ]
    Questionnaire.of(form)


@pytest.mark.parametrize(
    ("name", "code"),
    [("English (en)", "en"), ("pt_br", "pt-BR"), ("Deutsch", "de"), ("espanol", "es"), ("Arabic", "ar")],
)  # fmt: skip
def test_languages_are_known_by_code_or_name(name: str, code: str) -> None:
    assert language_code(name) == code


def test_settings_that_nobody_can_follow_are_refused(tmp_path: Path) -> None:
    form, rows = read(
        tmp_path,
        ["select_one yes_no", "works", "W?"],
        header=PLAIN,
        settings=[["form_title", "default_language"], ["\u202eevil", "Klingonese"]],
    )
    assert [(row.row, row.column, row.outcome) for row in rows[:2]] == [
        (2, "default_language", "refused"),
        (2, "form_title", "refused"),
    ]
    assert (form["title"], form["languages"]) == ("form", ["en"])
    Questionnaire.of(form)


def test_a_form_of_300_items_is_read_in_good_time(tmp_path: Path) -> None:
    rows = [
        ["select_one yes_no", f"q{i}", f"Q{i}?", f"${{q{i - 1}}} = 'yes'" if i % 2 else None]
        for i in range(300)
    ]
    begin = time.process_time()
    form, outcomes = read(tmp_path, *rows, header="type|name|label|relevant")
    assert {row.outcome for row in outcomes} == {"imported"}
    assert len(Questionnaire.of(form).schema) == 300
    assert time.process_time() - begin < 5


def test_a_long_list_is_not_offered_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "_MOST_CHOICES", 100)
    choices = [*CHOICES, *(["towns", f"t{i}", f"Town {i}"] for i in range(40))]
    rows = [["select_one towns", f"q{i}", f"Q{i}?"] for i in range(5)]
    form, outcomes = read(tmp_path, *rows, header="type|name|label", choices=choices)
    assert len(form["attributes"]) == 2
    assert outcomes[2].says == "with its list, rows offer more than 100 choices in all."


def test_what_is_a_form_is_told_by_its_sheets(tmp_path: Path) -> None:
    data = write_book(tmp_path / "data.xlsx", survey=[["age", "income"], [3, 4]], choices=CHOICES)
    assert not is_xlsform(data)
    form = write_book(tmp_path / "form.xlsx", Survey=[["Type", "Name"], ["text", "a"]])
    assert is_xlsform(form)
    assert not is_xlsform(tmp_path / "none.xlsx")
    with pytest.raises(QuestionnaireError, match="has no column 'type'"):
        read_xlsform(data)
    other = write_book(tmp_path / "other.xlsx", Sheet=[["a"]])
    with pytest.raises(QuestionnaireError, match="it has no sheet 'survey'"):
        read_xlsform(other)
    twice = write_book(tmp_path / "twice.xlsx", survey=[["type", "name", "label", "label"]])
    with pytest.raises(QuestionnaireError, match="Duplicate column header: label"):
        read_xlsform(twice)
