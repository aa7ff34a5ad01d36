"""Analysts read several surveys of a store together: the tables of `Release.pool`, or the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from server_parts import Service, problem

from deniable import Release, Schema, Survey
from deniable.api.tally import Tally
from deniable.server.openapi import document
from deniable.server.serve import Rules

OLD = Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")
NEW = Survey(Schema.binary("a", "b", "c"), 2, 2.0, "InpHT", follows=OLD.id)
OTHER = Survey(Schema.of(a=["no", "yes"], d=[False, True]).completed(), 2, 2.0, "InpHT")
EMPTY = Survey(Schema.binary("a", "z"), 1, 2.0, "InpHT")
PEOPLE = 400


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    url = f"sqlite:///{tmp_path_factory.mktemp('pooled') / 's.db'}"
    truths = np.random.default_rng(4).random((PEOPLE, 3)) < 0.5
    with Service(url, (OLD, NEW, OTHER, EMPTY), Rules("drawn")) as running:
        for own in (OLD, NEW):
            frame = pd.DataFrame(truths[:, : len(own.schema)], columns=own.schema.names)
            rows = own.randomize(frame, own.id[:8]).to_arrow().to_pylist()
            reports = [{name: str(row[name]) for name in ("slot", "value")} for row in rows]
            sent = running.send([{"survey": own.id, **each} for each in reports])
            assert sent.status_code == 200, sent.json()
        yield running


@pytest.fixture(scope="module")
def pooled(service: Service) -> Release:
    return Release.pool([Tally.of(service.tally(index)).release() for index in (0, 1)])


def test_which_surveys_can_be_pooled_is_told(service: Service) -> None:
    form = service.get("/v1/release/poolable", survey=OLD.id).json()
    rows = {row["survey"]: row for row in form["surveys"]}
    assert list(rows) == [NEW.id, OTHER.id, EMPTY.id]
    assert rows[NEW.id] == {
        "survey": NEW.id,
        "people": PEOPLE,
        "shared": ["a", "b"],
        "exact": True,
        "refused": None,
    }
    assert "Attribute 'a' is not the same" in rows[OTHER.id]["refused"]
    assert rows[EMPTY.id]["people"] == 0
    schema = document()["paths"]["/v1/release/poolable"]["get"]["responses"]["200"]["content"]
    Draft202012Validator(schema["application/json"]["schema"]).validate(form)


def test_pooled_tables_are_those_of_the_library(service: Service, pooled: Release) -> None:
    query = {"survey": OLD.id, "pool": NEW.id}
    overview = service.get("/v1/release", **query).json()
    assert overview["people"] == 2 * PEOPLE
    assert overview["attributes"] == ["a", "b", "c"]
    assert overview["pooled"] == pooled.pooling.to_json()
    assert overview["integrity"] is None
    table = service.get(
        "/v1/release/marginal", attributes=["a", "b"], consistency="none", **query
    ).json()
    own = pooled.marginal("a", "b")
    assert np.array(table["values"]) == pytest.approx(own.values)
    assert np.array(table["standard_error"]) == pytest.approx(own.standard_error)
    assert len(service.get("/v1/release/associations", **query).json()["associations"]) == 3
    assert service.get("/v1/release/tree", **query).status_code == 200
    assert service.get("/v1/release/history", **query).json()["history"][-1]["people"] == 800
    assert b"pooled" in service.get("/v1/release/tables.json", **query).content
    assert service.get("/v1/release", survey=OLD.id).json()["pooled"] is None


def test_what_cannot_be_pooled_is_a_problem(service: Service) -> None:
    for name, query in [
        ("table-impossible", {"survey": OLD.id, "pool": OTHER.id}),
        ("no-reports", {"survey": OLD.id, "pool": EMPTY.id}),
        ("malformed", {"survey": OLD.id, "pool": OLD.id}),
        ("malformed", {"survey": OLD.id, "pool": [NEW.id, NEW.id]}),
        ("malformed", {"survey": OLD.id, "pool": NEW.id, "label[x]": "y"}),
        ("survey-unknown", {"survey": OLD.id, "pool": "0" * 64}),
    ]:
        assert problem(service.get("/v1/release/associations", **query), name), query
    refused = service.get("/v1/integrity", survey=OLD.id, pool=NEW.id)
    assert problem(refused, "table-impossible")
    assert "survey by survey" in refused.json()["detail"]
