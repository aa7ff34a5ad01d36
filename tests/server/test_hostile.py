"""What strangers may send: it is bounded in bytes, and says nothing that was not asked for."""

from __future__ import annotations

import json
import re

import pytest
from server_parts import problem

from deniable import Attribute, Schema, Survey
from deniable.server import limits
from deniable.server.access import NEEDS
from deniable.server.limits import Texts


def test_kept_texts_are_bounded_in_bytes():
    kept = Texts(100_000)
    for number in range(1000):
        assert (
            kept.text(number, lambda number=number: f"{number:05d}" * 200) == f"{number:05d}" * 200
        )
        assert kept.size <= 100_000
    assert kept.text(999, lambda: "it is there") == "00999" * 200
    assert kept.text(0, lambda: "made anew") == "made anew", "the oldest made room"
    size = kept.size
    assert kept.text("long", lambda: "x" * 50_000) == "x" * 50_000
    assert kept.text("long", lambda: "not kept") == "not kept", "one does not push out the others"
    assert kept.size < size + 1000
    assert kept.size == sum(limits._size(each) for each in kept._texts.values())


def test_questions_of_many_values_are_not_kept_without_bound(small):
    """Anybody can ask, under any token: what is kept of it is bounded in bytes."""
    values = [f"value {number:04d} of this attribute" for number in range(2000)]
    wide = Survey(Schema.of(a=values, b=values, c=values).completed(), 2, 1.1, "InpHT")
    service = small(wide)
    service.collector._texts = Texts(1 << 20)
    sizes = [len(service.ask(f"stranger {number}").text) for number in range(60)]
    assert sum(sizes) > 2 << 20
    assert service.collector._texts.size <= 1 << 20


@pytest.mark.parametrize(
    "path", ["/v1/surveys/", "/healthz/", "/dashboard/", "/static", "/v1/release/", "/v1/reports/"]
)
def test_a_slash_too_many_leads_nowhere(small, path):
    """A redirect would go to whatever host the request names."""
    response = small().client.get(path, headers={"Host": "evil.example"}, follow_redirects=False)
    assert problem(response, "not-found")
    assert "location" not in response.headers


def test_a_name_with_a_comma_is_one_name(small):
    """Both the pair and the one attribute of that name are there; each is what it is."""
    chosen = Survey(Schema.binary("smokes", "drinks", "smokes,drinks"), 2, 1.1, "InpHT")
    service = small(chosen, slots="drawn")
    batch = [{"slot": slot % chosen.slots, "value": slot % 2} for slot in range(120)]
    assert service.send(batch).status_code == 200

    def names(**query):
        form = service.get("/v1/release/marginal", **query).json()
        return [each["name"] for each in form["attributes"]]

    assert names(attributes="smokes,drinks") == ["smokes,drinks"]
    assert names(attributes=["smokes", "drinks"]) == ["smokes", "drinks"]
    assert names(attributes=["drinks", "smokes,drinks"]) == ["drinks", "smokes,drinks"]
    assert problem(
        service.get("/v1/release/marginal", attributes="drinks,smokes"), "table-impossible"
    )
    assert problem(service.get("/v1/release/marginal"), "table-impossible")
    assert problem(service.get("/v1/release/marginal", attribute="smokes"), "malformed")


def test_a_file_for_spreadsheets_runs_nothing(small):
    chosen = Survey(Schema.binary("=cmd|' /C calc'!A0", "plain"), 2, 1.1, "InpHT")
    service = small(chosen, slots="drawn")
    service.send([{"slot": slot % chosen.slots, "value": 1} for slot in range(120)])
    text = service.get("/v1/release/tables.csv").text
    assert "'=cmd|" in text
    assert not any(cell.startswith("=") for row in text.splitlines() for cell in row.split(","))
    tables = json.loads(service.get("/v1/release/tables.json").text)
    assert tables["attributes"][0]["name"] == "=cmd|' /C calc'!A0", "programs get it as it is"


KINDS = {
    "mixed": (
        Attribute("smokes"),
        Attribute("hours", low=0, high=40, step=10, missing="none"),
        Attribute("mood", ("low", "mid", "high"), ordered=True),
    ),
    "categories": (
        Attribute("smokes"),
        Attribute("hours", ("a", "b", "c")),
        Attribute("mood", ("p", "q", "r", "s")),
    ),
    "plain": (Attribute("smokes"), Attribute("hours"), Attribute("mood")),
}
QUERIES = {
    "/v1/release/marginal": [{"attributes": "smokes"}, {"attributes": ["smokes", "hours"]}],
    "/v1/release/number": [{"attribute": "hours", "probability": "0.1"}],
    "/v1/release/means": [{"attribute": "hours", "by": "smokes"}],
    "/v1/release/correlation": [{"attributes": ["hours", "mood"]}],
}
PROCESSED = ("marginal", "associations", "tree", "report", "tables.csv", "tables.json")
PROCESSINGS = ({}, {"consistency": "auto"}, {"consistency": "model"})
REPORTS = {
    "the same value": lambda slots: [{"slot": slot, "value": 0} for slot in range(slots)],
    "the same slot": lambda slots: [{"slot": 0, "value": 0}] * slots,
    "one report": lambda slots: [{"slot": slots - 1, "value": 1}],
}


@pytest.mark.slow
@pytest.mark.parametrize("sent", REPORTS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_sent_breaks_the_reading(small, kind, sent):
    """Ten posts of 10,000 constant reports: every address answers, or says why it does not."""
    chosen = Survey(Schema(KINDS[kind]).completed(), 2, 1.1)
    service = small(chosen, slots="drawn")
    reports = REPORTS[sent](chosen.slots)
    many = (reports * (10_000 // len(reports) + 1))[:10_000]
    for batch in [reports] if len(reports) == 1 else [many] * 10:
        assert service.send(batch).status_code == 200
    reason = "no-reports" if len(reports) == 1 else "table-impossible"
    asked = [path for path, role in NEEDS.items() if role and path.startswith("/v1/")]
    assert set(QUERIES) <= set(asked)
    for path in asked:
        is_processed = path.endswith(PROCESSED)
        for query in QUERIES.get(path, [{}]):
            for how in PROCESSINGS if is_processed else PROCESSINGS[:1]:
                response = service.get(path, **query, **how)
                where = f"{path} {query} {how}: {response.text[:300]}"
                assert response.status_code == 200 or problem(response, reason), where
                if response.headers["content-type"] == "application/json":
                    assert not re.search(r"\b(NaN|Infinity)\b", response.text), where
