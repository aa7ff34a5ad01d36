"""A collector shows the texts that a survey's id covers, and takes no survey without them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from server_parts import Service, problem, survey

from deniable import Survey
from deniable.errors import StoreError, TextsError
from deniable.questionnaire import Texts
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store

VECTORS = Path(__file__).parents[1] / "vectors" / "texts.json"


@pytest.fixture(scope="module")
def worded() -> list[tuple[Survey, Texts]]:
    rows = json.loads(VECTORS.read_text("utf-8"))["sound"]
    return [(Survey.from_json(json.dumps(r["survey"])), Texts.of(r["texts"])) for r in rows]


def test_texts_are_shown_to_everybody(url, worded):
    (first, texts), plain = worded[1], survey()
    with open_store(url) as store:
        prepare(store, [first], Rules(), {first.id: texts})
    with Service(url, (first, plain), Rules()) as service:
        answer = service.client.get("/v1/texts", params={"survey": first.id})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.text == texts.to_json()
        Texts.from_json(answer.content).check(first)
        assert problem(service.client.get("/v1/texts", params={"survey": plain.id}), "no-texts")
        assert problem(service.client.get("/v1/texts"), "survey-unknown")
        assert problem(service.client.get("/v1/texts", params={"language": "de"}), "malformed")


def test_without_an_id_nothing_lasts(url, worded):
    first, texts = worded[0]
    with open_store(url) as store:
        prepare(store, [first], Rules(), {first.id: texts})
    with Service(url, (first,), Rules()) as service:
        answer = service.client.get("/v1/texts")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


def test_no_survey_is_collected_without_its_texts(url, worded):
    (first, texts), (_, others) = worded[0], worded[1]
    with open_store(url) as store:
        with pytest.raises(StoreError, match="covers texts: they must be beside its file"):
            prepare(store, [first], Rules())
        with pytest.raises(TextsError, match="the words of 'job' differ in de"):
            prepare(store, [first], Rules(), {first.id: others})
        plain = survey()
        with pytest.raises(TextsError, match="has no texts, and these are of another one"):
            prepare(store, [plain], Rules(), {plain.id: texts})
        assert store.surveys() == []
        assert store.texts() == {}
        prepare(store, [first], Rules(), {first.id: texts})
        prepare(store, [first], Rules())
        assert store.texts() == {first.id: texts.to_json()}
