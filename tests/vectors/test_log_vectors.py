"""Proofs about logs of surveys, as all clients take and refuse them: `scripts/make_log_vectors.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.client.remote import RemoteCollector
from deniable.errors import LogError, RefusedError
from deniable.messages.survey_log import Head, SurveyLog

VECTORS = json.loads(Path(__file__).with_name("log.json").read_text("utf-8"))


def proven(monkeypatch, vector):
    """What a client makes of an answer."""
    answer = {name: vector[name] for name in vector.keys() - {"known", "survey", "why"}}
    collector = RemoteCollector("http://localhost")
    monkeypatch.setattr(collector, "call", lambda path: answer)
    return collector.proven_head(vector["survey"], Head.of(vector["known"]))


def test_golden_heads_follow_from_the_lines():
    log = SurveyLog.of_text(VECTORS["log"])
    assert log.text == VECTORS["log"]
    for size, head in enumerate(VECTORS["heads"]):
        assert str(Head.of_log(log.entries[:size])) == head
        log.check_continues(Head.of(head))


def test_golden_proofs_are_taken(monkeypatch):
    for vector in VECTORS["sound"]:
        assert proven(monkeypatch, vector)._asdict() == vector["head"]


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: v["why"])
def test_bad_proofs_are_refused(monkeypatch, vector):
    with pytest.raises(RefusedError, match=r"^Nothing was answered\. ") as refusal:
        proven(monkeypatch, vector)
    assert refusal.value.reason == "log"


@pytest.mark.parametrize(
    "text", ["", "1", f"01:{'0' * 64}", f"1:{'0' * 63}", f"9999999999:{'0' * 64}"]
)
def test_what_is_no_head_is_refused(text):
    with pytest.raises(LogError, match="size and root, such as 12:9f2c"):
        Head.of(text)
