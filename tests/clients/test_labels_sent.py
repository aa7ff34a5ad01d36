"""What Python's client and its command send of labels and periods, and what they say before."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from client_parts import NAMES, RECORD
from fake_collector import FakeCollector
from test_submit_command import Command, submit  # noqa: F401

import deniable.client.client as client_module
from deniable import Ledger, Schema, Survey
from deniable.client.http import HTTPClient
from deniable.errors import RecordError, RefusedError

MONTHS = ["2026-11-01", "2026-12-01", "2027-01-01"]
LABELLED = Survey(
    Schema.binary(*NAMES), 2, 1.1, "InpHT", labels={"region": ["north", "south"]}, periods=MONTHS
)
SENT = {"region": "south", "period": "2026-12-01"}


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch):
    """Say which day it is."""
    return lambda day: monkeypatch.setattr(client_module, "today", lambda: date.fromisoformat(day))


@pytest.fixture(params=["assigned", "hashed", "drawn"])
def labelled(request: pytest.FixtureRequest) -> Iterator[FakeCollector]:
    with FakeCollector(LABELLED, request.param) as made:
        yield made


@pytest.fixture
def collecting() -> Iterator[FakeCollector]:
    with FakeCollector(LABELLED) as made:
        yield made


def in_december(path: Path) -> Ledger:
    ledger = Ledger(path)
    ledger.period(LABELLED.id, lambda: "2026-12-01")
    return ledger


def client(collector: FakeCollector, path: Path) -> HTTPClient:
    return HTTPClient(collector.url, LABELLED.id, ledger=in_december(path), token="A" * 32)


def test_labels_are_sent_beside_the_value_with_all_kinds_of_slots(
    labelled: FakeCollector, tmp_path: Path, on
) -> None:
    on("2026-12-05")
    one = client(labelled, tmp_path / "me.json")
    assert one.period() == (date(2026, 12, 1), date(2027, 1, 1))
    report = one.answer(RECORD, {"region": "south"})
    assert report.labels == SENT
    on("2027-01-02")
    assert one.submit() == report, "what was drawn in its period is sent after it"
    (sent,) = labelled.sent("reports")
    assert sent.form["labels"] == SENT
    assert sent.form["value"] == str(report.value)
    for asked in labelled.sent("questions"):
        assert b"south" not in asked.body, "labels go with the answer and with nothing else"


def test_a_survey_without_labels_sends_none(collector: FakeCollector) -> None:
    one = HTTPClient(collector.url, collector.survey.id, ledger=Ledger.in_memory())
    assert one.period() is None
    one.answer(RECORD)
    one.submit()
    assert "labels" not in collector.sent("reports")[0].form
    with pytest.raises(RecordError, match="no label 'region'"):
        one.check(RECORD, {"region": "north"})


def test_the_same_labels_are_sent_again_whatever_is_said_later(
    collecting: FakeCollector, tmp_path: Path, on, monkeypatch: pytest.MonkeyPatch
) -> None:
    on("2026-12-05")
    told_time = SimpleNamespace(time=time.time, sleep=lambda seconds: None)
    monkeypatch.setattr("deniable.client.remote.time", told_time)
    collecting.faults.reports = ["503", "drop"]
    one = client(collecting, tmp_path / "me.json")
    one.answer(RECORD, {"region": "south"})
    collecting.hour += 100  # the ticket expires, and a new one is sent with the same
    one.answer(RECORD, {"region": "north"})
    one.submit()
    sent = collecting.sent("reports")
    assert len(sent) > 2
    assert all(each.form["labels"] == SENT for each in sent)


@pytest.mark.parametrize(("day", "reason"), [("2026-11-30", "early"), ("2027-01-01", "over")])
def test_outside_its_period_no_question_is_fetched_and_nothing_is_drawn(
    labelled: FakeCollector, day: str, reason: str, tmp_path: Path, on
) -> None:
    on(day)
    one = client(labelled, tmp_path / "me.json")
    for ask in (one.question, lambda record: one.answer(record, {"region": "south"})):
        with pytest.raises(RefusedError) as caught:
            ask(RECORD)
        assert caught.value.reason == reason
    assert one.entry() is None
    assert [seen.path for seen in labelled.seen] == [f"/v1/survey?survey={LABELLED.id}"]


def test_labels_are_checked_before_a_question_is_fetched(
    labelled: FakeCollector, tmp_path: Path, on
) -> None:
    on("2026-12-05")
    one = client(labelled, tmp_path / "me.json")
    for labels in (None, {"region": "Rumpel"}, {"region": "north", "period": "2026-12-01"}):
        with pytest.raises(RecordError) as caught:
            one.answer(RECORD, labels)
        assert "Rumpel" not in str(caught.value)
    assert not labelled.sent("questions")
    assert one.entry() is None


def test_a_collector_that_does_not_know_a_label_is_said_in_words(
    collecting: FakeCollector, tmp_path: Path, on, monkeypatch: pytest.MonkeyPatch
) -> None:
    on("2026-12-05")
    one = client(collecting, tmp_path / "me.json")
    one.answer(RECORD, {"region": "south"})
    problem = collecting._problem(422, "label-unknown")
    monkeypatch.setattr(collecting, "_reports", lambda path, form: problem)
    with pytest.raises(RefusedError, match="no such labels") as caught:
        one.submit()
    assert caught.value.reason == "label-unknown"


# The command


def test_the_command_shows_what_is_public_before_it_asks(
    submit: Command,  # noqa: F811
    collecting: FakeCollector,
    tmp_path: Path,
    on,
) -> None:
    on("2026-12-05")
    in_december(tmp_path / "mine.json")
    told = ("me.json", "--to", collecting.url, "--ledger", "mine.json", "--label", "region=south")
    code, out, _ = submit(*told, stdin="n\n", terminal=True)
    assert code == 130
    assert out.index(LABELLED.labels.english()) < out.index("Shall your device answer")
    assert not collecting.sent("reports")
    code, out, err = submit(*told, "--yes")
    assert (code, err) == (0, "")
    assert "beside it went: region south, period 2026-12-01." in out
    assert collecting.sent("reports")[0].form["labels"] == SENT
    document = json.loads(submit(*told[:5], "--json")[1])
    assert document == {"survey": LABELLED.id, "again": True}, "it may be another person who asks"


@pytest.mark.parametrize(
    ("day", "labels", "sentence"),
    [
        ("2026-12-05", (), "The label 'region' is missing; it is north or south."),
        ("2026-12-05", ("region=Rumpel",), "The label 'region' must be north or south."),
        ("2026-12-05", ("region",), "--label needs a name and what follows it, such as region="),
        ("2026-12-05", ("region=south", "region=north"), "--label gives 'region' twice."),
        ("2026-12-05", ("region=south", "town=x"), "The survey has no label 'town'"),
        ("2026-12-05", ("region=south", "period=2026-12-01"), "A period is drawn by the device"),
        ("2026-11-05", ("region=south",), "Your device drew the period that begins on 2026-12-01"),
        ("2027-02-05", ("region=south",), "Your device drew the period that began on 2026-12-01"),
    ],
)
def test_labels_that_do_not_fit_are_one_sentence(
    submit: Command,  # noqa: F811
    collecting: FakeCollector,
    day: str,
    labels: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    on,
) -> None:
    on(day)
    in_december(tmp_path / "mine.json")
    more = [part for label in labels for part in ("--label", label)]
    code, _, err = submit(
        "me.json", "--yes", "--to", collecting.url, "--ledger", "mine.json", *more
    )
    assert code == 2
    assert err.startswith(f"deniable: {sentence}")
    assert len(err.splitlines()) == 1
    assert "Rumpel" not in err
    assert not collecting.sent("questions")
