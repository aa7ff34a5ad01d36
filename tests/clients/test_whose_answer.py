"""Whose an answer is: the token that was given decides alone, whatever a collector says meanwhile."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest
from client_parts import Drive
from fake_collector import FakeCollector

A, B = "AAAAAAAAAAA-bcdefghijklm_0123456", "AAAAAAAAAAE-bcdefghijklm_0123456"
MADE_UP = "0f8fad5b-d9cb-469f-a165-70867728950e"
SLOTS = "assigned", "hashed", "drawn"
UNLIMITED = {"limit": 2, "lifetime_limit": 100}


def told(collector: FakeCollector, ledger: Path, token: str | None, **more: object) -> dict:
    whose = {} if token is None else {"token": token}
    return (
        {"collector": collector.url, "survey": collector.survey.id, "ledger": ledger} | whose | more
    )


def surveys_of(ledger: Path) -> dict:
    return json.loads(ledger.read_text())["surveys"] if ledger.exists() else {}


def answered(ledger: Path) -> list[dict]:
    """Return the entries of a ledger's answers, which in JavaScript has others."""
    return [entry for entry in surveys_of(ledger).values() if "epsilon" in entry]


@dataclass
class Device:
    """A device that several people share, and a collector that gives slots as it likes."""

    drive: Drive
    collector: FakeCollector
    ledger: Path
    drawn: dict[str | None, dict] = field(default_factory=dict)
    forgotten: set[str | None] = field(default_factory=set)

    def visit(self, token: str | None, slots: str, *, forgets: bool, another: bool) -> None:
        """Let a person answer, and compare what comes of it with what is promised."""
        self.collector.slots = slots
        whose = told(self.collector, self.ledger, token, another=another, **UNLIMITED)
        before = len(answered(self.ledger))
        came = self.drive("answer", "submit", *(["forget"] if forgets else []), **whose)
        why = f"{token} {slots} forgets={forgets} another={another}: {came.reason} {came.message}"
        if token in self.forgotten:
            assert came.reason == "answered", why
        elif token in self.drawn:
            assert came.reason == "", why
            assert came.results[:2] == [self.drawn[token]] * 2, why
        elif self.drawn and not another:
            assert came.reason == "another", why
        elif token is None and slots == "hashed":
            assert came.reason == "token", why
        else:
            assert came.reason == "", why
            self.drawn[token] = came.results[0]
            before += 1
        assert len(answered(self.ledger)) == before, why
        if forgets and token in self.drawn:
            self.forgotten.add(token)
        self._check_kept()

    def _check_kept(self) -> None:
        entries = answered(self.ledger)
        assert len(entries) == len(self.drawn)
        spent = sum(float(entry["epsilon"]) for entry in entries)
        assert spent == pytest.approx(self.collector.survey.epsilon * len(self.drawn))
        if self.ledger.exists():
            assert A not in self.ledger.read_text()
            assert B not in self.ledger.read_text()


def visits() -> list[tuple[tuple[str | None, str, bool, bool], ...]]:
    """Return pairs of visits, all that there are of one person or two, and some threes."""
    each = list(product((None, A, B), SLOTS, (False, True), (False, True)))
    pairs = [
        (one, two)
        for one, two in product(each, each)
        if one[0] != B and not one[3] and not two[2]  # the first needs no consent, the last no end
    ]
    threes = [
        ((first, one, forgets, True), (second, two, False, True), (first, three, False, True))
        for first, second in ((None, A), (A, None), (A, B))
        for one, two, three in product(SLOTS, repeat=3)
        for forgets in (False, True)
    ]
    return [*pairs, *threes]


@pytest.mark.slow
@pytest.mark.parametrize("first", [None, A])
@pytest.mark.parametrize("slots", SLOTS)
def test_each_token_has_one_answer_however_slots_are_given(
    drive: Drive, collector: FakeCollector, tmp_path: Path, slots: str, first: str | None
) -> None:
    """A collector chooses how slots are given, and no survey's id covers that."""
    kinds = Counter[bool]()
    for number, sequence in enumerate(visits()):
        if sequence[0][:2] != (first, slots):
            continue
        collector.counted.clear()
        device = Device(drive, collector, tmp_path / f"{number}.json")
        for token, given, forgets, another in sequence:
            device.visit(token, given, forgets=forgets, another=another)
        kinds[len(device.drawn) > 1] += 1
    if (first, slots) != (None, "hashed"):
        assert min(kinds[False], kinds[True]) > 10


@pytest.mark.parametrize(("one", "two"), [(o, t) for o in SLOTS for t in SLOTS if o != t])
@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("another", [False, True])
def test_a_collector_that_changes_how_slots_are_given_gets_one_answer(
    drive: Drive,
    collector: FakeCollector,
    tmp_path: Path,
    one: str,
    two: str,
    forgets: bool,
    another: bool,
) -> None:
    device = Device(drive, collector, tmp_path / "ledger.json")
    for slots in (one, two, one):
        device.visit(A, slots, forgets=forgets, another=another)


@pytest.mark.parametrize("slots", SLOTS)
def test_a_given_token_is_not_kept(
    drive: Drive, collector: FakeCollector, tmp_path: Path, slots: str
) -> None:
    """Who reads a ledger must not be able to answer in somebody's place, nor find out who it was."""
    collector.slots = slots
    ledger = tmp_path / "ledger.json"
    mine = told(collector, ledger, A)
    assert drive("question", "answer", **mine).reason == ""
    assert A not in ledger.read_text()
    collector.hour += 100  # a ticket expires, and the renewed one is kept
    collector.faults.reports = ["503 3600"]
    drive("submit", **mine)
    assert A not in ledger.read_text()
    assert drive("submit", **mine).reason == ""
    assert A not in ledger.read_text()
    assert len(collector.counted) == 1
    assert {each["token"] for each in collector.counted.values()} <= {A, ""}


# Ledgers of earlier versions


@pytest.fixture
def language(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["drive"])


def former(
    language: str,
    collector: FakeCollector,
    ledger: Path,
    state: str = "sent",
    token: str | None = A,
    kind: str = "assigned",
) -> dict:
    """Write a ledger of version 0.2.0, which kept answers at the survey's id, with the token."""
    slot = collector.slot_of(token or MADE_UP)
    report = {"slot": str(slot), "value": "1"}
    ticket = collector.ticket(token or MADE_UP, slot)
    collector._tokens = {ticket: token or MADE_UP}
    if language == "python":
        sending = {"state": state, "token": token or MADE_UP}
        if kind == "assigned":
            sending["ticket"] = ticket
        entry: dict = {"report": report, "epsilon": repr(collector.survey.epsilon)}
        form: dict = {
            "deniable": "ledger",
            "surveys": {collector.survey.id: entry | {"sending": sending}},
        }
        if token is None:
            form["tokens"] = {collector.survey.id: MADE_UP}
    else:
        entry = {"report": report, "epsilon": collector.survey.epsilon, "state": state}
        if kind == "assigned":
            entry |= {"token": token or MADE_UP, "names": {"ticket": ticket}}
        else:
            entry |= {"names": {"survey": collector.survey.id, "id": token}}
        form = {"deniable": "ledger of deniable.js", "surveys": {collector.survey.id: entry}}
    ledger.write_text(json.dumps(form))
    return report


@pytest.mark.parametrize("kind", ["assigned", "hashed"])
@pytest.mark.parametrize("state", ["drawn", "sent"])
@pytest.mark.parametrize("another", [False, True])
def test_a_former_answer_is_that_of_the_token_that_it_names(
    drive: Drive,
    language: str,
    collector: FakeCollector,
    tmp_path: Path,
    state: str,
    another: bool,
    kind: str,
) -> None:
    collector.slots = kind
    ledger = tmp_path / "ledger.json"
    for visitor in (B, None):
        report = former(language, collector, ledger, state, A, kind)
        theirs = told(collector, ledger, visitor, **UNLIMITED)
        assert drive("entry", **theirs).results == [None]
        for step in ("answer", "question"):
            assert drive(step, **theirs).reason == "another"
        assert drive("submit", **theirs).reason == "nothing"
        assert not collector.sent("reports"), "what A answered is A's to send"
        expects_id = kind == "hashed" and visitor is None
        came = drive("answer", **theirs, another=True)
        assert came.reason == ("token" if expects_id else "")
        assert len(answered(ledger)) == 2 - expects_id
        mine = told(collector, ledger, A, another=another, **UNLIMITED)
        for _ in range(2):
            came = drive("answer", "submit", **mine)
            assert (came.reason, came.results) == ("", [report] * 2)
        assert drive("forget", "answer", **mine).reason == "answered"
        assert A not in ledger.read_text()
        assert drive("answer", **mine).reason == "answered", "and so the next time"
        assert len(answered(ledger)) == 2 - expects_id
        sent = collector.sent("reports")
        assert len(sent) == (state == "drawn")
        collector.seen.clear()
        collector.counted.clear()


@pytest.mark.parametrize("state", ["drawn", "sent"])
@pytest.mark.parametrize("another", [False, True])
def test_a_former_answer_under_a_made_up_token_is_the_devices(
    drive: Drive, language: str, collector: FakeCollector, tmp_path: Path, state: str, another: bool
) -> None:
    ledger = tmp_path / "ledger.json"
    report = former(language, collector, ledger, state, None)
    with_link = told(collector, ledger, A, **UNLIMITED)
    assert drive("entry", **with_link).results == [None]
    assert drive("answer", **with_link).reason == "another"
    for token in (None, MADE_UP):
        device = told(collector, ledger, token, another=another, **UNLIMITED)
        assert drive("answer", "submit", **device).results == [report] * 2
    assert len(answered(ledger)) == 1
    assert drive("answer", **with_link, another=True).reason == ""
    assert len(answered(ledger)) == 2


@pytest.mark.parametrize("state", ["drawn", "sent"])
def test_a_former_answer_under_a_given_token_that_looks_made_up_is_that_tokens(
    drive: Drive, language: str, collector: FakeCollector, tmp_path: Path, state: str
) -> None:
    """An operator may issue UUIDs; a ledger in JavaScript does not say whether it made one up."""
    ledger = tmp_path / "ledger.json"
    report = former(language, collector, ledger, state, MADE_UP)
    mine = told(collector, ledger, MADE_UP, another=True, **UNLIMITED)
    assert drive("answer", "submit", "forget", **mine).results[:2] == [report] * 2
    for _ in range(2):
        assert drive("answer", **mine).reason == "answered", "another person has another token"
    assert len(answered(ledger)) == 1
    assert MADE_UP not in ledger.read_text()


def test_of_many_former_answers_of_one_token_each_counts(
    drive: Drive, language: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """Earlier versions can be used in turn with this one; ε adds up over all that was drawn."""
    ledger = tmp_path / "ledger.json"
    mine = told(collector, ledger, A, **UNLIMITED)
    gathered: dict = {}
    for number in range(1, 5):
        former(language, collector, ledger)
        form = json.loads(ledger.read_text())
        form["surveys"] |= gathered
        ledger.write_text(json.dumps(form))
        assert drive("answer", **mine).reason == ""
        # A ledger that is only read is not written anew in Python: a made-up token is.
        assert (
            drive("question", **told(collector, ledger, None, another=True, **UNLIMITED)).reason
            == ""
        )
        gathered = {place: each for place, each in surveys_of(ledger).items() if "epsilon" in each}
        assert len(gathered) == number


def test_of_two_former_answers_of_one_token_none_is_lost_or_shown(
    drive: Drive, language: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """An earlier version could be made to draw twice; then one counts on, and is nobody's."""
    ledger = tmp_path / "ledger.json"
    assert drive("answer", **told(collector, ledger, A)).reason == ""
    [(place, entry)] = [each for each in surveys_of(ledger).items() if "epsilon" in each[1]]
    kept = drive("answer", **told(collector, ledger, A)).results[0]
    former(language, collector, ledger)
    form = json.loads(ledger.read_text())
    form["surveys"][place] = entry
    ledger.write_text(json.dumps(form))
    assert drive("answer", **told(collector, ledger, A, **UNLIMITED)).results == [kept]
    anonymous = told(collector, ledger, None, **UNLIMITED)
    assert drive("entry", **anonymous).results == [None]
    assert drive("answer", **anonymous).reason == "another"
    assert drive("answer", **anonymous, another=True).reason == ""
    assert len(answered(ledger)) == 3
