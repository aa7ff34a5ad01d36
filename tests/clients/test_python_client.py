"""What only Python's client has: tickets that are read, vectors of its own, and light imports."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import time
from http.client import BadStatusLine
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_collector import FakeCollector

from deniable import Client, Ledger, Schema, Survey
from deniable.client import remote
from deniable.client.http import HTTPClient
from deniable.errors import DeniableError, QuestionError, RefusedError
from deniable.messages.ticket import Ticket, split_ticket
from deniable.messages.token import hashed_slot
from deniable.questions.answers import answer_from_json
from deniable.questions.exact import exponential
from deniable.questions.question import Question

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "clients.json").read_text("utf-8"))


def test_golden_tickets_are_read() -> None:
    for vector in VECTORS["tickets"]:
        parts = split_ticket(vector["ticket"])
        assert parts is not None
        ticket = Ticket.of(parts[0])
        assert (ticket.survey.hex(), ticket.slot, ticket.expiry) == (
            vector["survey"][:16],
            int(vector["slot"]),
            vector["hour"],
        )


@pytest.mark.parametrize(
    "text", ["", "AAAA", "é" * 60, None, 5, "A" * 60, "AQ" + "A" * 59, "!" * 60]
)
def test_what_is_no_ticket_is_told_apart(text: object) -> None:
    assert split_ticket(text) is None


def test_golden_hashed_slots_follow_from_ids() -> None:
    for vector in VECTORS["hashed"]:
        survey = Survey.from_json(vector["survey"])
        assert str(hashed_slot(survey, vector["id"])) == vector["slot"]


def test_golden_records_keep_what_they_stand_for() -> None:
    schema = Schema.from_json(VECTORS["records"]["schema"])
    for vector in VECTORS["records"]["records"]:
        try:
            held = schema.decode(schema.encode(vector["record"]))
        except DeniableError:
            held = None
        assert held == vector["held"]


def test_golden_limits_are_kept() -> None:
    for vector in VECTORS["limits"]:
        ratio = answer_from_json(vector["answer"]).ratio
        assert (ratio > exponential(float(vector["limit"]))) is vector["exceeds"]


@pytest.mark.parametrize(
    ("whole", "vector"),
    [(whole, vector) for whole in VECTORS["refused"] for vector in whole["refused"]],
    ids=[vector["why"] for whole in VECTORS["refused"] for vector in whole["refused"]],
)
def test_golden_questions_that_are_refused(whole: dict, vector: dict) -> None:
    client = Client(Survey.from_json(whole["survey"]), ledger=Ledger.in_memory())
    client.check(Question.from_json(whole["sound"]))
    reason = ""
    try:
        client.check(Question.from_json(vector["question"]))
    except QuestionError:
        reason = "question"
    except RefusedError as error:
        reason = error.reason
    assert reason == vector["reason"]


@pytest.mark.parametrize("survey", ["", "0" * 63, "G" * 64, "A" * 64])
def test_an_id_that_is_none_is_refused(survey: str) -> None:
    with pytest.raises(RefusedError, match="64 hexadecimal digits"):
        HTTPClient("http://localhost", survey, ledger=Ledger.in_memory())


@pytest.mark.parametrize("address", ["", "ftp://x", "file:///etc/passwd", "x", "http://", None])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(RefusedError, match="http or https address"):
        HTTPClient(address, "0" * 64, ledger=Ledger.in_memory())


@pytest.mark.parametrize(
    ("address", "is_here"),
    [
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:8000/prefix", True),
        ("http://a.localhost", True),
        ("http://collector.example", False),
        ("http://192.168.0.5", False),
        ("http://localhost.example", False),
        ("http://127.0.0.1@collector.example", False),
    ],
)
def test_plain_http_is_for_this_machine_unless_allowed(address: str, is_here: bool) -> None:
    told = {"survey": "0" * 64, "ledger": Ledger.in_memory()}
    HTTPClient(address, **told, allow_http=True)
    HTTPClient(address.replace("http", "https"), **told)
    if is_here:
        HTTPClient(address, **told)
        return
    with pytest.raises(RefusedError, match="plain http shows it to others") as caught:
        HTTPClient(address, **told)
    assert caught.value.reason == "insecure"


def test_an_answer_that_drips_in_is_given_up(
    collector: FakeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_DEADLINE", 0.5)
    monkeypatch.setattr(remote, "TURNS", 1)
    collector.faults.survey = ["drip"]
    start = time.monotonic()
    with pytest.raises(RefusedError) as caught:
        HTTPClient(collector.url, ledger=Ledger.in_memory()).survey  # noqa: B018
    assert caught.value.reason == "unavailable"
    assert time.monotonic() - start < 30, "the answer itself takes a minute"


@pytest.mark.parametrize(
    ("reason", "words", "is_lasting"),
    [
        (socket.gaierror(socket.EAI_NONAME, "secret"), "there is no machine of that name", True),
        (socket.gaierror(socket.EAI_AGAIN, "secret"), "cannot be looked up just now", False),
        (UnicodeError("secret"), "there is no machine of that name", True),
        (ConnectionRefusedError(111, "Connection refused"), "connection refused", False),
        (ssl.SSLEOFError(8, "secret"), "the connection was cut", False),
        (ssl.SSLError(1, "secret"), "does not speak TLS as it should (unknown)", True),
        (TimeoutError("secret"), "no answer within 30 seconds", False),
        (BadStatusLine("secret"), "speaks no HTTP, or hung up", False),
    ],
)
def test_why_nobody_answers_is_said(
    monkeypatch: pytest.MonkeyPatch, reason: Exception, words: str, is_lasting: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise reason

    waits: list[float] = []
    monkeypatch.setattr(remote, "time", SimpleNamespace(sleep=waits.append))
    monkeypatch.setattr(remote._OPENER, "open", fail)
    with pytest.raises(RefusedError) as caught:
        HTTPClient("https://collector.invalid", ledger=Ledger.in_memory()).survey  # noqa: B018
    assert caught.value.reason == "unavailable"
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(waits) == (0 if is_lasting else remote.TURNS - 1)


def test_the_client_over_http_is_light() -> None:
    code = "import deniable.client.http, json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {
        f"deniable.{room}"
        for room in ("mechanisms", "design", "collector", "decoding", "planning", "api")
    }
    heavy = {"pandas", "pyarrow", "duckdb", "altair", "scipy", "typer", "rich", "starlette"}
    assert not set(json.loads(run.stdout)) & (heavy | ours)
    code = code.replace("client.http", "client")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(run.stdout)) & {"urllib.request", "http.client", "ssl"}
