"""Analysts read a survey's tables in its own words, in the language that they ask for."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from server_parts import Service, problem, survey

from deniable import Survey
from deniable.api.tally import Tally
from deniable.questionnaire import Questionnaire
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.show.reading import doubtful_cells

PEOPLE = 1500


def asked(name: str, wording: dict[str, str], values: list[Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "wording": wording, "values": values, **more}


YES = [
    {"value": True, "label": {"de": "Ja", "ar": "نعم"}},
    {"value": False, "label": {"de": "Nein", "ar": "لا"}},
]
OFTEN = [
    {"value": "never", "label": {"de": "nie", "ar": "أبدا"}},
    {"value": "often", "label": {"de": "oft"}},
]
QUESTIONNAIRE = Questionnaire.of(
    {
        "deniable": "questionnaire",
        "format": 1,
        "languages": ["de", "ar"],
        "title": {"de": "Ruhe", "ar": "الراحة"},
        "attributes": [
            asked("naps", {"de": "Schlafen Sie?", "ar": "هل تنام؟"}, YES),
            asked("tired", {"de": "Wie oft müde?"}, OFTEN, ordered=True, complete=True),
            asked("rare", {"de": "Selten?"}, YES),
        ],
    }
)
SURVEY = Survey.from_questionnaire(QUESTIONNAIRE, epsilon=2.0)
SUCCESSOR = Survey.from_questionnaire(QUESTIONNAIRE, epsilon=2.5)
PLAIN = survey()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    random = np.random.default_rng(2)
    naps = random.random(PEOPLE) < 0.3
    tired = np.where(random.random(PEOPLE) < 0.2 + 0.6 * naps, "often", "never")
    frame = pd.DataFrame({"naps": naps, "tired": tired, "rare": random.random(PEOPLE) < 0.01})
    url = f"sqlite:///{tmp_path_factory.mktemp('worded') / 's.db'}"
    worded = (SURVEY, SUCCESSOR)
    with open_store(url) as store:
        prepare(store, worded, Rules("drawn"), {own.id: QUESTIONNAIRE.texts for own in worded})
    with Service(url, (*worded, PLAIN), Rules("drawn")) as running:
        for own in worded:
            rows = own.randomize(frame, own.id[:8]).to_arrow().to_pylist()
            reports = [
                {"survey": own.id} | {name: str(row[name]) for name in ("slot", "value")}
                for row in rows
            ]
            assert running.send(reports).status_code == 200
        yield running


def look(service: Service, path: str, **query: Any) -> Any:
    return service.get(path, **{"survey": SURVEY.id, **query}).json()


def table(service: Service, **query: Any) -> Any:
    return look(service, "/v1/release/marginal", attributes=["naps", "tired"], **query)


def test_words_are_the_surveys_own_unless_another_language_is_asked_for(service: Service) -> None:
    own = look(service, "/v1/release")["wording"]
    assert (own["title"]["text"], own["language"]) == ("Ruhe", "de")
    assert [each["name"] for each in own["languages"]] == ["Deutsch", "العربية"]
    assert own["attributes"][0]["wording"] == {
        "text": "Schlafen Sie?",
        "language": "de",
        "direction": "ltr",
    }
    other = look(service, "/v1/release", language="ar")["wording"]
    assert other["title"] == {"text": "الراحة", "language": "ar", "direction": "rtl"}
    assert other["attributes"][1]["wording"]["language"] == "de"  # nobody translated it
    labels = [each["labels"] for each in table(service, language="ar")["attributes"]]
    assert labels == [["نعم", "لا"], ["أبدا", "oft"]]
    # What one analyst asks for is not what the next one gets.
    assert table(service)["attributes"][1]["labels"] == ["nie", "oft"]


def test_numbers_and_files_are_in_that_language(service: Service) -> None:
    number = look(service, "/v1/release/number", attribute="tired", language="ar")
    assert number["quantiles"][0]["text"] in ("أبدا", "oft")
    assert "أبدا" in number["drawing"]["histogram"]
    rows = look(service, "/v1/release/means", attribute="tired", by="naps", language="de")["means"]
    assert [row["drawing"]["name"] for row in rows][:2] == ["Ja", "Nein"]
    ask = {"survey": SURVEY.id, "language": "ar"}
    assert "الراحة" in service.get("/v1/release/report", **ask).text
    csv = pd.read_csv(io.StringIO(service.get("/v1/release/tables.csv", **ask).text))
    assert set(csv["label_1"]) >= {"نعم", "لا", "أبدا"}
    for ending in ("xlsx", "sav"):
        answer = service.get(f"/v1/release/tables.{ending}", **ask)
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].endswith(f'.{ending}"')
    sheet = pd.read_excel(io.BytesIO(service.get("/v1/release/tables.xlsx", **ask).content))
    assert sheet["label_1"].tolist() == csv["label_1"].tolist()


def test_pooled_surveys_have_their_common_words(service: Service) -> None:
    pooled = look(service, "/v1/release", pool=SUCCESSOR.id, language="ar")
    assert pooled["wording"]["title"]["text"] == "الراحة"
    assert table(service, pool=SUCCESSOR.id, language="ar")["attributes"][1]["labels"][0] == "أبدا"
    assert table(service, pool=SUCCESSOR.id)["attributes"][1]["labels"][0] == "nie"


def test_a_language_that_there_is_not_is_refused(service: Service) -> None:
    ask = {"attributes": ["naps"], "language": "fr"}
    answer = service.get("/v1/release/marginal", survey=SURVEY.id, **ask)
    assert problem(answer, "malformed")
    assert "no texts in 'fr'; there are de, ar." in answer.json()["detail"]
    reports = [{"survey": PLAIN.id, "slot": "0", "value": "0"}] * 100
    assert service.send(reports).status_code == 200
    answer = service.get("/v1/release", survey=PLAIN.id, language="de")
    assert "there are none" in answer.json()["detail"]
    assert service.get("/v1/release", survey=PLAIN.id).json()["wording"] is None


def test_a_table_says_which_cells_may_be_noise_as_the_report_draws_them(service: Service) -> None:
    with open_store(service.url) as store:
        stored_survey = next(each for each in store.surveys() if each.survey.id == SURVEY.id)
        release = Tally.of(store.tally(stored_survey)).release("auto")
    own = release.marginal("naps", "rare")
    expected = doubtful_cells(own, *own.interval(0.95)).tolist()
    ask = {"attributes": ["naps", "rare"]}
    assert look(service, "/v1/release/marginal", **ask)["doubtful"] == expected
    assert json.dumps(expected).count("true") > 0
    assert json.dumps(expected).count("false") > 0
