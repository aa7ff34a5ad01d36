"""What strangers may send: it is bounded in bytes, and says nothing that was not asked for."""

from __future__ import annotations

import json

import pytest
from server_parts import problem

from deniable import Schema, Survey
from deniable.server import limits
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
