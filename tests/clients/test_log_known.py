"""Both clients, told the head of a log of surveys, answer only what a continuation of it holds."""

from __future__ import annotations

from typing import Any

import pytest
from client_parts import Drive
from fake_collector import FakeCollector

from deniable.messages.survey_log import Entry, Head

OTHERS = [Entry(f"2026-11-{i + 1:02}", f"{i:064x}") for i in range(9)]


def known(collector: FakeCollector, entries: list[Entry]) -> dict[str, Any]:
    head = str(Head.of_log(entries))
    return {
        "collector": collector.url,
        "survey": collector.survey.id,
        "token": "me",
        "log_head": head,
    }


@pytest.fixture
def own(collector: FakeCollector) -> Entry:
    return Entry("2026-11-19", collector.survey.id)


def test_a_log_that_goes_on_is_taken(drive: Drive, collector: FakeCollector, own: Entry) -> None:
    collector.logged = [*OTHERS[:5], own, *OTHERS[5:]]
    came = drive("question", "answer", "submit", **known(collector, OTHERS[:3]))
    assert came.reason == "", came.message
    (asked,) = collector.sent("log")
    assert asked.path == f"/v1/log/proof?survey={collector.survey.id}&size=3"
    assert collector.accepted == 1


LOGS = {
    "rewritten": lambda own: [OTHERS[8], *OTHERS[1:5], own],
    "removed": lambda own: [*OTHERS[:2], *OTHERS[3:6], own],
    "reordered": lambda own: [*OTHERS[:2], OTHERS[3], OTHERS[2], OTHERS[4], own],
    "private, and in front": lambda own: [own, *OTHERS[:6]],
    "private, and in place of another": lambda own: [*OTHERS[:4], own],
    "cut short": lambda own: [own, *OTHERS[:3]],
    "not listed": lambda own: OTHERS[:6],
}


@pytest.mark.parametrize("fault", LOGS)
def test_another_log_is_refused(
    drive: Drive, collector: FakeCollector, own: Entry, fault: str
) -> None:
    collector.logged = LOGS[fault](own)
    came = drive("answer", **known(collector, OTHERS[:5]))
    reasons = {"cut short": "head-unknown", "not listed": "survey-unknown"}
    assert came.reason == reasons.get(fault, "log"), came.message
    assert not collector.sent("questions"), "nothing was asked, so nothing was answered"


def test_who_knows_no_head_asks_for_no_proof(drive: Drive, collector: FakeCollector) -> None:
    options = known(collector, [])
    del options["log_head"]
    assert drive("answer", "submit", **options).reason == ""
    assert not collector.sent("log")
    for head in ("x", f"1:{'0' * 63}"):
        assert drive("question", **options | {"log_head": head}).reason == "options"
