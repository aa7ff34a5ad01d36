"""Large answers keep nobody waiting: an answer has a limit, and is encoded beside the loop."""

from __future__ import annotations

import threading

import pytest
from server_parts import problem

from deniable import Schema, Survey
from deniable.server import app

VALUES = [f"v{i}" for i in range(1100)]


def test_a_table_of_too_many_cells_names_the_limit(small) -> None:
    wide = Survey(Schema.of(a=VALUES, b=VALUES, c=["x", "y"]).completed(), 2, 4.0)
    service = small(wide, slots="drawn")
    service.send([{"slot": 0, "value": 0}] * 100)
    answer = service.get("/v1/release/marginal", attributes=["a", "b"])
    assert problem(answer, "table-impossible")
    assert "1,210,000 cells" in answer.json()["detail"]
    assert "10,000" in answer.json()["detail"]
    # However it is asked for.
    for names in (["b", "a"], ["a", "b", "c"], ["a", "a", "b"]):
        assert 400 <= service.get("/v1/release/marginal", attributes=names).status_code < 500
    model = service.get("/v1/release/marginal", attributes=["a", "b"], consistency="model")
    assert problem(model, "table-impossible")
    for ending in ("csv", "json"):
        assert problem(service.get(f"/v1/release/tables.{ending}"), "table-impossible")
    few = service.get("/v1/release/marginal", attributes=["a", "c"], consistency="none")
    assert few.status_code == 200
    assert len(few.json()["values"]) == 1100


def test_a_list_of_too_many_pairs_names_the_limit(small) -> None:
    wide = Survey(Schema.binary(*(f"a{i}" for i in range(150))), 2, 1.1, "InpHT")
    service = small(wide, slots="drawn")
    service.send([{"slot": i % 150, "value": i % 2} for i in range(100)])
    answer = service.get("/v1/release/associations")
    assert problem(answer, "table-impossible")
    assert "11,175 pairs" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["", "/marginal", "/associations", "/history", "/groups"])
def test_answers_are_encoded_beside_the_loop(small, monkeypatch, path) -> None:
    service, threads = small(slots="drawn"), []
    service.send([{"slot": i % 10, "value": i % 2} for i in range(200)])
    encoded = app._encoded

    def spy(form: object) -> bytes:
        threads.append(threading.current_thread().name)
        return encoded(form)

    monkeypatch.setattr(app, "_encoded", spy)
    query = {"attributes": "a0"} if path == "/marginal" else {}
    assert service.get(f"/v1/release{path}", **query).status_code == 200
    assert threads == ["deniable-analysts"]
