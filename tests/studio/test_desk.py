"""What is done in the studio: each thing is a file, and a command that does the same."""

from __future__ import annotations

import base64
import copy
import csv
import io
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from studio_parts import GERMAN, SMALL, Page

from deniable import Ledger, Survey
from deniable.cli import main
from deniable.errors import SurveyError
from deniable.questionnaire import Questionnaire, Texts, yaml_text
from deniable.server.stores import open_store
from deniable.studio import children
from deniable.studio.folder import Folder

ANSWER = {"one": True, "two": False, "three": True}


def changed(**fields: Any) -> dict[str, Any]:
    return copy.deepcopy(GERMAN) | fields


def run(line: str, folder: Path) -> None:
    """Type a command that the studio shows."""
    program, *words = shlex.split(line)
    assert program == "deniable"
    subprocess.run(
        [sys.executable, "-m", "deniable", *words], cwd=folder, check=True, capture_output=True
    )


# Write


def test_a_new_folder_begins_with_an_empty_questionnaire(page: Page) -> None:
    draft = page.get("state").json()["draft"]
    assert not draft["is_valid"]
    assert draft["form"]["attributes"] == []
    assert list(page.folder.iterdir()) == []  # looking writes nothing


def test_what_is_whole_and_what_is_not_yet_are_two_files(page: Page) -> None:
    saved = page.save(GERMAN).json()
    assert saved["is_valid"]
    assert saved["flaw"] is None
    assert Questionnaire.read(page.folder / "survey.yaml").to_form() == GERMAN
    whole = (page.folder / "survey.yaml").read_text()
    saved = page.save(changed(title={"de": "", "en": "x"})).json()
    assert not saved["is_valid"]
    assert saved["place"]["field"] == "title"
    assert (page.folder / "survey.yaml").read_text() == whole
    assert page.get("state").json()["draft"]["flaw"] == saved["flaw"]
    page.save(GERMAN)
    assert not (page.folder / "survey.draft.yaml").exists()


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("wording", None, (0, "wording")),
        ("name", "place", (0, None)),
        ("values", [], (0, "values")),
        ("when", {"attribute": "hours", "is": 3, "otherwise": False}, (0, "when")),
    ],
)
def test_a_flaw_says_at_which_question_and_field_it_is(
    page: Page, field: str, value: Any, place: tuple[int, str | None]
) -> None:
    form = changed()
    form["attributes"][0][field] = value
    if value is None:
        del form["attributes"][0][field]
    saved = page.save(form).json()
    assert not saved["is_valid"]
    assert saved["flaw"].endswith(".")
    if field != "name":
        assert (saved["place"]["attribute"], saved["place"]["field"]) == place
        line = saved["text"].splitlines()[saved["place"]["line"] - 1]
        assert "name: nap" in line


def test_a_flaw_of_the_text_says_its_line(page: Page) -> None:
    saved = page.save("title: a\nlanguages: [en\nattributes: []\n").json()
    assert saved["form"] is None
    assert saved["place"]["line"] in (2, 3)
    assert f"line {saved['place']['line']}" in saved["flaw"]


def test_a_text_is_saved_as_it_was_typed(page: Page) -> None:
    text = "# my notes\n" + page.save(GERMAN).json()["text"]
    assert page.save(text).json()["is_valid"]
    assert (page.folder / "survey.yaml").read_text() == text


def test_of_two_windows_none_undoes_the_other(page: Page) -> None:
    page.save(GERMAN)
    old = page.get("state").json()["draft"]["revision"]
    (page.folder / "survey.yaml").write_text("# changed by hand\n")
    answer = page.post("draft", {"form": GERMAN, "revision": old})
    assert answer.status_code == 409
    assert (page.folder / "survey.yaml").read_text() == "# changed by hand\n"


def test_a_questionnaire_is_imported_and_the_earlier_one_stays(page: Page) -> None:
    page.save(changed(title={"de": "Vorher"}))
    content = base64.b64encode(json.dumps(GERMAN).encode()).decode()
    taken = page.post("import", {"name": "C:\\forms\\mine.json", "content": content}).json()
    assert taken["form"] == GERMAN
    assert "Vorher" in (page.folder / "survey.before-import.yaml").read_text()
    again = page.post("import", {"name": "other.json", "content": content}).json()
    assert "survey.before-import-2.yaml" in again["deeds"][0]["files"]
    assert "Vorher" in (page.folder / "survey.before-import.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("form.pdf", b"%PDF", "ends in"),
        ("form.json", b"{", "not JSON"),
        ("form.json", b"[]", "no fields"),
        ("form.yaml", b"\xff", "UTF-8"),
        ("form.yaml", b"a: " + b"1" * 400, "numbers are finite"),
        ("form.xlsx", b"no workbook", ""),
    ],
)
def test_what_is_no_questionnaire_is_not_imported(
    page: Page, name: str, data: bytes, why: str
) -> None:
    answer = page.post("import", {"name": name, "content": base64.b64encode(data).decode()})
    assert answer.status_code == 422
    assert why in answer.json()["detail"]
    assert list(page.folder.iterdir()) == []


@pytest.mark.usefixtures("at_once")
def test_a_form_of_other_tools_is_imported_row_by_row(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "survey"
    rows = [
        ("type", "name", "label"),
        ("select_one yn", "naps", "Do you nap?"),
        ("geopoint", "home", "Where?"),
    ]
    for row in rows:
        book.active.append(row)
    choices = book.create_sheet("choices")
    for row in [("list_name", "name", "label"), ("yn", "y", "Yes"), ("yn", "n", "No")]:
        choices.append(row)
    file = io.BytesIO()
    book.save(file)
    content = base64.b64encode(file.getvalue()).decode()
    taken = page.post("import", {"name": "../my form.xlsx", "content": content}).json()
    assert [each["name"] for each in taken["form"]["attributes"]] == ["naps"]
    assert [(row["row"], row["name"], row["outcome"]) for row in taken["rows"]] == [
        (2, "naps", "imported"),
        (3, "home", "refused"),
    ]
    assert taken["is_valid"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "my form.xlsx").write_bytes(file.getvalue())
    monkeypatch.chdir(other)
    children.run(Folder(other), shlex.split(taken["deeds"][0]["commands"][0])[1:])
    assert (other / "survey.yaml").read_text() == (page.folder / "survey.yaml").read_text()


# Design


def warnings(page: Page, **design: Any) -> dict[str, Any]:
    form = page.post("plan", {"design": design}).json()
    return {each["id"]: each for each in form["warnings"]}


@pytest.mark.slow
def test_a_warning_comes_with_what_mends_it(page: Page) -> None:
    page.save(GERMAN)
    design = {"order": 2, "epsilon": 1.1, "people": 300}
    pairs = warnings(page, **design)["pairs"]
    assert pairs["text"].startswith(
        "With 300 people, pairs will be noise: ask about single questions"
    )
    assert "name the three pairs that matter" in pairs["text"]
    hopeless = warnings(page, **(design | {"people": 50}))["pairs"]
    assert "ask far fewer questions, or have more people" in hopeless["text"]
    assert {"tables": "choose"} not in [each["change"] for each in hopeless["remedies"]]
    single, named = (each["change"] for each in pairs["remedies"][:2])
    assert named == {"tables": "choose"}
    assert "pairs" not in warnings(page, **(design | {"order": single["order"]}))
    assert warnings(page, **(design | {"people": 1_000_000})) == {}
    assert set(warnings(page, **(design | {"people": 1_000_000, "epsilon": 2.5}))) == {"limit"}
    assert "order" in warnings(page, order=3, people=1_000_000)


@pytest.mark.usefixtures("at_once")
def test_what_is_shown_is_what_the_command_says(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    from deniable import plan

    page.save(SMALL)
    for order in (1, 2):
        design = {"order": order, "epsilon": 1.1, "people": 5000}
        shown = page.post("plan", {"design": design}).json()
        schema = Questionnaire.of(SMALL).schema
        rows = {row.mechanism: row for row in plan(schema, order=order, people=5000).rows}
        row = rows[shown["mechanism"]]
        assert shown["share_points"] == pytest.approx(row.share_points)
        assert shown["detectable_v"] == pytest.approx(row.detectable_v) or order == 1
        assert shown["suspicion"] == pytest.approx(0.75, abs=0.002)
        people = page.post("needs", {"design": design}).json()
        assert people["share"] > 100
        (page.folder / "survey.yaml").write_text(yaml_text(SMALL | {"design": design}))
        children.run(Folder(page.folder), [*shlex.split(shown["command"])[1:], "--json"])
        said = json.loads(capsys.readouterr().out)
        assert said["recommended"] == shown["mechanism"]
        assert said["rows"][0]["share_points"] == pytest.approx(shown["share_points"])
        needed = {each["target"]: each["people"] for each in said["targets"]}
        assert needed["share"] == people["share"]
        assert needed.get("v") == people["association"]


def test_named_pairs_are_seen_more_sharply(page: Page) -> None:
    page.save(GERMAN)
    design = {"order": 2, "epsilon": 1.1, "people": 2000}
    tables = [{"attributes": ["nap", "place"]}]
    every, one = (
        page.post("plan", {"design": each}).json()["detectable_v"]
        for each in (design, design | {"tables": tables})
    )
    assert one < every


@pytest.mark.parametrize(
    "design",
    [
        {"epsilon": 0},
        {"order": 99},
        {"people": -1},
        {"aim": "x"},
        {"a": 1},
        {"tables": [{"attributes": ["no"]}]},
        [],
    ],
)
def test_a_design_that_is_none_is_refused(page: Page, design: Any) -> None:
    page.save(GERMAN)
    assert page.post("plan", {"design": design}).status_code == 422


# Try


def test_a_trial_asks_people_who_do_not_exist(page: Page) -> None:
    page.save(GERMAN)
    shown = page.post("trial", {"people": 4000, "seed": 3}).json()
    assert shown["simulated"]
    assert [each["name"] for each in shown["questions"]] == ["nap", "place", "hours"]
    nap = shown["questions"][0]["rows"]
    assert len(nap) == 1
    assert nap[0]["low"] < nap[0]["share"] < nap[0]["high"]
    assert shown["questions"][1]["rows"][1]["value"] == "auf dem Sofa"
    pair = shown["pairs"][0]
    assert {pair["a"], pair["b"]} == {"nap", "place"}  # who does not nap has no place
    assert pair["is_found"]
    answers = (page.folder / "trial" / "answers.csv").read_text().splitlines()
    assert len(answers) == 4001
    assert not [row for row in answers if row.startswith("false") and ",none," not in row]


def test_made_up_people_have_labels_where_a_survey_declares_some(page: Page) -> None:
    page.save(SMALL | {"labels": [{"name": "region", "values": ["north", "south"]}]})
    assert page.post("trial", {"people": 50}).status_code == 200
    rows = (page.folder / "trial" / "answers.csv").read_text().splitlines()
    assert rows[0] == "one,two,three,region"
    assert {row.rpartition(",")[2] for row in rows[1:]} == {"north", "south"}


@pytest.fixture
def at_once(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands in this process, where all is imported."""

    def run_here(folder: Folder, words: list[str]) -> None:
        monkeypatch.setattr(sys, "argv", ["deniable", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, words

    monkeypatch.chdir(page.folder)
    monkeypatch.setattr(children, "run", run_here)


@pytest.mark.slow
def test_a_command_that_fails_says_why_and_runs_in_the_folder(page: Page) -> None:
    with pytest.raises(SurveyError, match=r"There is no survey survey\.json"):
        children.run(Folder(page.folder), ["explain", "survey.json"])


@pytest.mark.usefixtures("at_once")
def test_a_trials_report_is_of_that_trial_and_made_by_the_commands_that_are_shown(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.save(SMALL)
    assert page.post("trial/report").status_code == 422  # nothing was tried
    shown = page.post("trial", {"people": 500, "seed": 4}).json()
    made = page.post("trial/report").json()
    report = page.stage(made["address"].partition(page.studio.session.stage)[2]).text
    assert "SIMULATED" in report
    assert "one?" in report  # the question's words, which no file of a frozen survey has yet
    trial, other = page.folder / "trial", tmp_path / "other" / "trial"
    other.mkdir(parents=True)
    for name in ("answers.csv", "survey.json", "survey.texts.json"):
        shutil.copy(trial / name, other)
    monkeypatch.chdir(other.parent)
    for line in (*shown["deeds"][0]["commands"], *made["deeds"][0]["commands"]):
        children.run(Folder(other.parent), shlex.split(line)[1:])
    for name in ("reports.parquet", "trial.tally"):
        assert (other / name).read_bytes() == (trial / name).read_bytes()
    children.run(Folder(other.parent), ["release", "trial/trial.tally", "-o", "tables.csv"])
    rows = csv.DictReader((other.parent / "tables.csv").read_text().splitlines())
    shares = {row["attribute_1"]: row for row in rows if row["value_1"] == "true"}
    for each in shown["questions"]:
        share = shares[each["name"]]
        for name, column in (("read", "read"), ("low", "read_low"), ("high", "read_high")):
            assert each["rows"][0][name] == pytest.approx(float(share[column]))


# Freeze


@pytest.mark.slow
def test_the_command_shown_freezes_the_very_same_survey(page: Page, tmp_path: Path) -> None:
    page.save(GERMAN)
    state = page.post("freeze", {}).json()
    assert state["frozen"]["name"] == "survey"
    assert state["free_name"] == "survey-2"
    deed = state["deeds"][0]
    assert deed["files"] == ["survey.json", "survey.texts.json"]
    (tmp_path / "survey.yaml").write_bytes((page.folder / "survey.yaml").read_bytes())
    run(deed["commands"][0], tmp_path)
    for name in deed["files"]:
        assert (tmp_path / name).read_bytes() == (page.folder / name).read_bytes()
    survey = Survey.load(page.folder / "survey.json")
    assert survey.id == state["frozen"]["id"]
    Texts.read(page.folder / "survey.texts.json").check(survey)


def test_a_corrected_survey_names_the_one_that_it_replaces(page: Page) -> None:
    page.save(GERMAN)
    first = page.post("freeze", {}).json()["frozen"]["id"]
    page.save(changed(title={"de": "Arbeit und Ruhe"}))
    second = page.post("freeze", {"name": "corrected", "follows": "survey"}).json()
    assert Survey.load(page.folder / "corrected.json").follows == first
    assert second["draft"]["form"]["follows"] == first
    assert [each["name"] for each in second["surveys"]] == ["survey", "corrected"]  # latest last


def test_one_question_is_a_survey(page: Page) -> None:
    one = {"name": "nap", "wording": {"de": "Schlafen Sie im Dienst?"}}
    page.save(changed(attributes=[one]))
    page.post("freeze", {})
    assert Survey.load(page.folder / "survey.json").order == 1


def test_a_link_among_the_surveys_is_left_alone(page: Page, tmp_path: Path) -> None:
    page.save(GERMAN)
    page.post("freeze", {})
    for name in ("far.json", "gone.json"):
        (page.folder / name).symlink_to(tmp_path / name)
    (tmp_path / "far.json").write_text("{}")
    state = page.get("state")
    assert [each["name"] for each in state.json()["surveys"]] == ["survey"]


def test_what_is_not_whole_is_not_frozen(page: Page) -> None:
    answer = page.post("freeze", {})
    assert answer.status_code == 422
    assert list(page.folder.iterdir()) == []


# Preview


def test_the_preview_is_the_participants_page_of_the_draft(page: Page) -> None:
    page.save(GERMAN)
    shown = page.post("preview").json()
    assert shown["languages"] == ["de", "en"]
    assert "participant.min.js" in page.stage("/page/").text
    assert page.stage("/page/static/participant.min.js").status_code == 200
    survey = page.stage("/page/v1/survey").json()
    assert survey["id"] == shown["survey"]
    texts = Texts.from_json(page.stage("/page/v1/texts").text)
    assert texts.languages["de"]["survey"]["title"] == "Arbeit und Schlaf"
    origin = {"origin": "http://127.0.0.1:7002"}
    asked = page.stage(
        "/page/v1/questions", "POST", json={"token": "somebody here"}, headers=origin
    ).json()
    report = {"ticket": asked["ticket"], "value": 0}
    for _ in range(2):
        told = page.stage("/page/v1/reports", "POST", json=report, headers=origin)
        assert told.json() == {"accepted": 1}
    bad = page.stage("/page/v1/reports", "POST", json=report | {"value": 10**6}, headers=origin)
    assert bad.status_code == 422


def test_nothing_that_is_tried_in_the_preview_is_stored(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deniable.studio import stage

    urls: list[str] = []
    monkeypatch.setattr(
        stage, "open_store", lambda url, **how: (urls.append(url), open_store(url, **how))[1]
    )
    page.save(GERMAN)
    page.post("preview")
    origin = {"origin": "http://127.0.0.1:7002"}
    asked = page.stage(
        "/page/v1/questions", "POST", json={"token": "somebody here"}, headers=origin
    ).json()
    page.stage(
        "/page/v1/reports", "POST", json={"ticket": asked["ticket"], "value": 0}, headers=origin
    )
    with open_store(urls[0], create=False) as store:
        assert store.people(store.surveys()[0]) == 0
    page.save(changed(title={"de": "Neu"}))
    page.post("preview")
    assert len(set(urls)) == 2
    assert not Path(urls[0].removeprefix("sqlite:///")).exists()


# Collect and read


def exchanged(address: str, code: str) -> int:
    """Exchange the code of an address as the dashboard does; return what comes of it."""
    body, headers = json.dumps({"code": code}).encode(), {"Content-Type": "application/json"}
    try:
        with urlopen(Request(f"{address}/v1/session", body, headers)) as response:
            return int(response.status)
    except HTTPError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_from_collecting_to_a_report(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deniable.client.http import HTTPClient

    page.save(SMALL)
    page.post("freeze", {})
    assert page.post("read", {"survey": "survey"}).status_code == 422
    try:
        started = page.post("collect", {"survey": "survey"}).json()["collecting"]
        assert page.post("collect", {"survey": "survey"}).status_code == 422  # one at a time
        assert started["people"] == 0
        assert started["link"].endswith(f"/?survey={started['id']}")
        survey = Survey.load(page.folder / "survey.json")
        for number in range(3):
            client = HTTPClient(
                started["address"],
                survey,
                ledger=Ledger(tmp_path / f"{number}.json"),
                token=f"person {number}",
            )
            client.answer(ANSWER)
            client.submit()
        assert page.get("collecting").json()["collecting"]["people"] == 3
        assert "/dashboard#code=" in started["dashboard"]
        assert page.get("collecting").json()["collecting"]["dashboard"] == started["dashboard"]
        code = started["dashboard"].partition("#code=")[2]
        for status in (200, 401):
            assert exchanged(started["address"], code) == status, "it opens the dashboard once"
        assert page.get("collecting").json()["collecting"]["dashboard"] != started["dashboard"]
        assert "code" not in json.dumps(page.get("state").json()["deeds"])
    finally:
        stopped = page.post("collect/stop").json()
    assert stopped["collecting"] is None
    made = page.post("read", {"survey": "survey"}).json()
    assert (page.folder / "results" / "survey-1.html").stat().st_size > 10_000
    assert page.stage(made["address"].partition(page.studio.session.stage)[2]).status_code == 200
    assert made["report"] == "results/survey-1.html"
    other = tmp_path / "other"  # with what was collected, and nothing else
    other.mkdir()
    for name in ("survey.json", "survey.texts.json", "survey.db"):
        shutil.copy(page.folder / name, other)
    monkeypatch.chdir(other)
    folder_made, *lines = made["deeds"][0]["commands"]
    assert folder_made == "mkdir -p results"
    Folder(other).make("results")
    for line in lines:
        children.run(Folder(other), shlex.split(line)[1:])
    for name in made["files"]:
        assert (other / name).read_bytes() == (page.folder / name).read_bytes()


@pytest.mark.usefixtures("at_once")
def test_what_a_server_needs_is_written(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.save(GERMAN)
    state = page.post("freeze", {}).json()
    body = {"survey": "survey", "address": "https://survey.example.org/"}
    made = page.post("deploy", body).json()
    assert made["link"] == f"https://survey.example.org/?survey={state['frozen']['id']}"
    assert made["qr"].startswith("data:image/svg+xml")
    deploy = page.folder / "deploy"
    assert (deploy / "surveys" / "survey.json").read_bytes() == (
        page.folder / "survey.json"
    ).read_bytes()
    assert made["link"] in (deploy / "README.md").read_text()
    other = tmp_path / "other"
    other.mkdir()
    for name in ("survey.json", "survey.texts.json"):
        shutil.copy(page.folder / name, other)
    monkeypatch.chdir(other)
    children.run(Folder(other), shlex.split(made["deeds"][0]["commands"][0])[1:])
    for name in made["files"]:
        assert (other / name).read_bytes() == (page.folder / name).read_bytes()
    for address in (
        "http://x.org",
        "https://x.org/?a",
        "javascript:alert(1)",
        "https://x y",
        "",
        None,
    ):
        assert page.post("deploy", body | {"address": address}).status_code == 422


def test_commands_that_are_shown_are_one_word_where_they_are_one(page: Page) -> None:
    from deniable.studio.deeds import command

    assert shlex.split(command("new", "a; rm -rf $HOME", "`x`")) == [
        "deniable",
        "new",
        "a; rm -rf $HOME",
        "`x`",
    ]
