"""Both clients behave alike: what they take, what they refuse, what they send, how they try again."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from client_parts import NAMES, RECORD, Drive
from fake_collector import FakeCollector, TLSPort

from deniable import Schema, Survey
from deniable.questions.question import Question

SECRET = "Rumpelstiltskin"
ISSUED, OTHER = "AAAAAAAAAAA-bcdefghijklm_0123456", "AAAAAAAAAAE-bcdefghijklm_0123456"
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "clients.json").read_text("utf-8"))


def known(collector: FakeCollector, **more: object) -> dict[str, object]:
    token = ISSUED if collector.slots == "hashed" else "me"
    return {"collector": collector.url, "survey": collector.survey.id, "token": token, **more}


# The way of an answer


def test_an_answer_is_drawn_kept_and_sent(drive: Drive, collector: FakeCollector) -> None:
    came = drive("survey", "check", "question", "answer", "submit", "submit", **known(collector))
    assert came.reason == "", came.message
    identity, _, question, report, sent, again = came.results
    slot = collector.slot_of("me")
    assert identity == collector.survey.id
    assert question == collector.survey.question(slot).to_json()
    assert report == sent == again
    assert report["slot"] == str(slot)
    (kept,) = collector.counted.values()
    assert kept == {"token": "me", "slot": str(slot), "value": report["value"]}
    assert len(collector.sent("reports")) == 1, "what was acknowledged is not sent again"


def test_requests_hold_nothing_else(drive: Drive, collector: FakeCollector) -> None:
    names = (SECRET, "Crime", "Drama", "Horror", "Western")
    collector.survey = Survey(Schema.binary(*names), 2, 1.0, "MargPS")
    collector.shown = json.loads(collector.survey.to_json())
    record = dict(zip(names, RECORD.values(), strict=True))
    came = drive("answer", "submit", record=record, **known(collector))
    assert came.reason == ""
    survey, questions, reports = collector.seen
    assert (survey.method, survey.body) == ("GET", b"")
    assert questions.form == {"survey": collector.survey.id, "token": "me"}
    assert set(reports.form) == {"ticket", "value"}
    allowed = {"host", "connection", "content-type", "content-length", "user-agent", "accept"}
    allowed |= {"accept-encoding", "accept-language", "sec-fetch-mode"}
    for one in collector.seen:
        assert SECRET not in one.path + str(one.headers) + one.body.decode()
        assert {name.lower() for name in one.headers} <= allowed


def test_a_token_is_made_up_and_stays(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    options = known(collector, ledger=tmp_path / "ledger.json")
    del options["token"]
    first = drive("question", **options).results
    second = drive("question", "answer", "submit", **options)
    assert second.reason == ""
    assert second.results[:1] == first, "asking again gives the same question"
    tokens = {one.form["token"] for one in collector.sent("questions")}
    assert len(tokens) == 1
    assert len(tokens.pop()) >= 22


def test_only_the_same_answer_is_ever_sent(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    options = known(collector, ledger=tmp_path / "ledger.json")
    first = drive("answer", **options)
    assert not collector.sent("reports"), "drawn and kept before anything is sent"
    changed = {name: not held for name, held in RECORD.items()}
    for _ in range(3):
        again = drive("answer", "submit", record=changed, **options)
        assert again.results == [first.results[0]] * 2
    assert len(collector.sent("reports")) == 1


def test_a_client_says_whether_it_drew_the_answer(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    """Who did not see it drawn may be another person, at the same device."""
    options = known(collector, ledger=tmp_path / "ledger.json")
    steps = "receipt", "answer", "receipt", "answer", "submit", "receipt"
    for draws in (True, False):
        came = drive(*steps, **options)
        assert came.reason == ""
        before, report, drawn, *_, sent = came.results
        assert before is None
        assert [entry and entry["report"] for entry in (drawn, sent)] == [
            report if draws else None
        ] * 2


@pytest.mark.parametrize("slots", ["assigned", "drawn"])
@pytest.mark.parametrize("others", [False, True], ids=["cleared", "another's"])
def test_what_is_at_its_place_meanwhile_is_not_the_answer_that_was_sent(
    drive: Drive, collector: FakeCollector, tmp_path: Path, slots: str, others: bool
) -> None:
    """Storage may be cleared, and another person answer at the same device, while one is on its way."""
    collector.slots = slots
    mine, theirs = tmp_path / "ledger.json", tmp_path / "another.json"
    options = known(collector)
    del options["token"]
    assert drive("answer", ledger=theirs, **options).reason == ""
    kept = theirs.read_bytes()
    replies = collector._reports

    def reply(path: object, form: object) -> tuple[int, dict]:
        mine.unlink()
        if others:
            theirs.rename(mine)
        return replies(path, form)

    collector._reports = reply  # type: ignore[method-assign]
    came = drive("answer", "submit", "receipt", "forget", ledger=mine, **options)
    assert (came.reason, came.results[2]) == ("", None)
    assert came.results[0] == came.results[1]
    assert len(collector.counted) == 1
    assert (mine.read_bytes() if mine.exists() else b"") in ((kept,) if others else (b"",))


def test_a_survey_of_many_symbols_is_sent_packed(drive: Drive, collector: FakeCollector) -> None:
    names = tuple(f"a{i}" for i in range(7))
    collector.survey = Survey(Schema.binary(*names), 2, 1.0, "InpRR")
    collector.shown = json.loads(collector.survey.to_json())
    came = drive("answer", "submit", record=dict.fromkeys(names, True), **known(collector))
    assert came.reason == ""
    sent = collector.sent("reports")[0].form
    assert set(sent) == {"ticket", "packed"}
    assert came.results[0] == {"slot": "0", "packed": sent["packed"]}


@pytest.mark.parametrize("slots", ["hashed", "drawn"])
def test_slots_without_a_ticket(drive: Drive, collector: FakeCollector, slots: str) -> None:
    collector.slots = slots
    came = drive("answer", "submit", **known(collector))
    assert came.reason == ""
    assert not collector.sent("questions")
    (sent,) = collector.sent("reports")
    named = {"id"} if slots == "hashed" else {"slot"}
    assert set(sent.form) == {"survey", "value"} | named
    (kept,) = collector.counted.values()
    assert kept["slot"] == came.results[0]["slot"], "the collector computes the same slot"
    if slots == "drawn":
        key = {n.lower(): v for n, v in sent.headers.items()}["idempotency-key"]
        assert 16 <= len(key) <= 64
        assert key.replace("-", "").replace("_", "").isalnum()


def test_hashed_slots_need_an_id(drive: Drive, collector: FakeCollector) -> None:
    collector.slots = "hashed"
    options = known(collector)
    del options["token"]
    came = drive("answer", "submit", **options)
    assert came.reason == "token"
    assert not collector.sent("reports")


@pytest.mark.parametrize(
    "token", ["bogus", "", ISSUED[1:], ISSUED + "A", ISSUED + "\n", ISSUED[1:] + "=", "é" * 32]
)
def test_an_id_that_nobody_issues_is_refused_before_anything_is_drawn(
    drive: Drive,
    collector: FakeCollector,
    tmp_path: Path,
    token: str,
) -> None:
    collector.slots, collector.issued = "hashed", {ISSUED}
    ledger = tmp_path / "ledger.json"
    came = drive("answer", "submit", **known(collector, ledger=ledger, token=token))
    assert (came.reason, came.step) == ("token", "answer")
    assert "32 letters" in came.message
    assert "bogus" not in came.message
    assert '"report"' not in (ledger.read_text() if ledger.exists() else "")
    assert not collector.sent("reports")
    assert drive("answer", "submit", **known(collector, ledger=ledger)).reason == ""


@pytest.mark.parametrize("slots", ["assigned", "hashed"])
@pytest.mark.parametrize("state", ["unknown", "drawn", "sent", "forgotten"])
def test_a_device_answers_under_another_id_only_for_another_person(
    drive: Drive,
    collector: FakeCollector,
    tmp_path: Path,
    slots: str,
    state: str,
) -> None:
    """Another id is another question about the same record, unless its owner is another person."""
    collector.slots = slots
    if state == "unknown":
        collector.issued = {OTHER}
    ledger = tmp_path / "ledger.json"
    first = known(collector, ledger=ledger, token=ISSUED)
    steps = {"drawn": ("answer",), "forgotten": ("answer", "submit", "forget")}
    drive(*steps.get(state, ("answer", "submit")), **first)
    kept, seen = ledger.read_text(), len(collector.sent("reports"))
    second = first | {"token": OTHER}
    assert drive("entry", **second).results == [None], "nothing of the first is shown"
    for told in (second, {name: told for name, told in first.items() if name != "token"}):
        came = drive("answer", **told)
        assert (came.reason, came.step) == ("another", "answer")
        assert "another id" in came.message
        assert ISSUED not in came.message
        assert drive("submit", **told).reason == "nothing"
    assert json.loads(ledger.read_text())["surveys"] == json.loads(kept)["surveys"]
    assert len(collector.sent("reports")) == seen

    came = drive("answer", "submit", **second, another=True)
    assert came.reason == "", came.message
    assert [each["slot"] for each in collector.counted.values()][-1] == came.results[0]["slot"]
    both = json.loads(ledger.read_text())["surveys"]
    assert both.items() >= json.loads(kept)["surveys"].items(), "the first one's stays as it was"
    assert len(both) == 2


def test_epsilon_adds_up_over_all_ids_of_a_device(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    """Nobody can tell whether they are one person, to whom an operator sent several links."""
    options = known(collector, ledger=tmp_path / "ledger.json", another=True)
    epsilon = collector.survey.epsilon
    told = options | {"limit": 1.2, "lifetime_limit": 2.5 * epsilon}
    for token, reason in (("a", ""), ("b", ""), ("c", "lifetime"), ("b", "")):
        came = drive("answer", "submit", **told | {"token": token})
        assert came.reason == reason, token
    assert len(collector.counted) == 2


def test_what_is_forgotten_is_neither_kept_nor_answered_again(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.json"
    for token in ("me", None):
        collector.counted.clear()
        ledger.unlink(missing_ok=True)
        options = known(collector, ledger=ledger)
        if token is None:
            del options["token"]
        assert drive("answer", "forget", "answer", **options).reason == "", "not before it is sent"
        came = drive("submit", "forget", **options)
        assert came.reason == ""
        text = ledger.read_text()
        [(entry)] = json.loads(text)["surveys"].values()
        assert "report" not in entry
        for word in ("slot", "value", "ticket", "token", "names", *collector.counted):
            assert f'"{word}"' not in text
        for step in ("answer", "submit", "question"):
            came = drive(step, **options)
            assert (came.reason, came.step) == ("answered", step)
        assert drive("entry", **options).results != [None], "that it was answered is known"
        assert drive("answer", **options | {"lifetime_limit": 1}).reason == "answered"


@pytest.mark.parametrize("days", [5, 7])
def test_a_drawn_slot_is_not_sent_when_its_key_may_be_forgotten(
    drive: Drive,
    collector: FakeCollector,
    tmp_path: Path,
    days: int,
) -> None:
    collector.slots = "drawn"
    path = tmp_path / "ledger.json"
    first = drive("answer", **known(collector, ledger=path)).results
    (day,) = re.findall(r'"day": (\d+)', kept := path.read_text())
    today = int(time.time() // 86_400)
    assert int(day) in {today, today - 1}
    path.write_text(kept.replace(f'"day": {day}', f'"day": {today - days}'))
    came = drive("submit", **known(collector, ledger=path))
    if days < 6:
        assert (came.reason, came.results) == ("", first)
    else:
        assert came.reason == "late"
        assert "count" in came.message
    assert len(collector.counted) == (days < 6)


# Trying again


def test_errors_that_pass_are_tried_again_with_the_same_bytes(
    drive: Drive, collector: FakeCollector
) -> None:
    collector.faults.reports = ["before 503 7", "before 429 9", "before drop", "500", "html"]
    came = drive("answer", "submit", **known(collector))
    assert came.reason == ""
    assert len(came.waits) == 5
    assert came.waits[0] >= 7
    assert came.waits[1] >= 9
    assert 4 <= came.waits[2] <= 8
    assert 8 <= came.waits[3] <= 16
    assert 16 <= came.waits[4] <= 32
    sent = collector.sent("reports")
    assert len(sent) == 6
    assert len({one.body for one in sent}) == 1
    assert len(collector.counted) == 1


@pytest.mark.parametrize("slots", ["assigned", "hashed", "drawn"])
def test_only_an_acknowledgement_is_one(
    drive: Drive,
    collector: FakeCollector,
    tmp_path: Path,
    slots: str,
) -> None:
    collector.slots = slots
    options = known(collector, ledger=tmp_path / "ledger.json")
    collector.faults.reports = ["before json"]
    assert drive("answer", "submit", **options).reason == "collector"
    assert not collector.counted
    assert drive("submit", **options).reason == ""
    assert len(collector.counted) == 1


@pytest.mark.parametrize("after", ["²", "-1", "soon"])
def test_a_wait_that_is_no_number_is_not_heeded(
    drive: Drive, collector: FakeCollector, after: str
) -> None:
    collector.faults.survey = [f"before 503 {after}"]
    came = drive("survey", **known(collector))
    assert (came.reason, len(came.waits)) == ("", 1)


def test_waits_differ(drive: Drive, collector: FakeCollector) -> None:
    waits = []
    for turn in range(5):  # each one of 512: all alike once in 10^10 runs
        collector.faults.survey = ["before 503"]
        waits += drive("survey", **known(collector, token=str(turn))).waits
    assert len(set(waits)) > 1
    assert all(1 <= wait <= 2 for wait in waits)


def test_a_connection_dropped_after_the_commit_counts_once(
    drive: Drive, collector: FakeCollector
) -> None:
    collector.faults.reports = ["drop"]
    came = drive("answer", "submit", **known(collector))
    assert came.reason == ""
    assert len(collector.counted) == 1
    assert collector.accepted == 2


def test_a_collector_that_stays_away_loses_nothing(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    options = known(collector, ledger=tmp_path / "ledger.json")
    collector.faults.reports = ["before 503"] * 6
    came = drive("answer", "submit", **options)
    assert (came.reason, came.step) == ("unavailable", "submit")
    again = drive("submit", **options)
    assert again.results == came.results
    assert len(collector.counted) == 1


@pytest.mark.parametrize("fault", ["certificate", "no TLS"])
def test_what_somebody_has_to_mend_is_said_at_once(
    drive: Drive, collector: FakeCollector, tmp_path: Path, fault: str
) -> None:
    with TLSPort(tmp_path) as port:
        address = f"https://127.0.0.1:{port}"
        if fault == "no TLS":
            address = collector.url.replace("http:", "https:")
        came = drive("answer", **known(collector) | {"collector": address})
    assert (came.reason, came.waits) == ("unavailable", [])
    assert re.search({"certificate": "(?i)self.signed", "no TLS": "TLS|SSL"}[fault], came.message)


def test_who_asks_for_too_long_a_wait_is_not_asked_again(
    drive: Drive, collector: FakeCollector
) -> None:
    collector.faults.reports = ["before 503 3600"]
    came = drive("answer", "submit", **known(collector))
    assert (came.reason, came.waits) == ("unavailable", [])
    assert len(collector.sent("reports")) == 1


def test_a_redirect_is_not_followed(drive: Drive, collector: FakeCollector) -> None:
    collector.faults.reports = ["before redirect"] * 6
    came = drive("answer", "submit", **known(collector))
    assert came.reason in {"collector", "unavailable"}
    assert not any(one.path == "/elsewhere" for one in collector.seen)


# Tickets


@pytest.mark.parametrize("stale", ["ticket-expired", "key-retired", "ticket-invalid"])
def test_a_stale_ticket_is_renewed_for_the_same_slot(
    drive: Drive, collector: FakeCollector, tmp_path: Path, stale: str
) -> None:
    """It expired, its key was retired, or the collector's store was put back to before that key."""
    options = known(collector, ledger=tmp_path / "ledger.json")
    collector.stale = stale
    first = drive("answer", **options)
    collector.hour += 100
    came = drive("submit", **options)
    assert came.reason == ""
    assert came.results == first.results
    old, new = (one.form for one in collector.sent("reports"))
    assert old["value"] == new["value"]
    assert old["ticket"] != new["ticket"]
    assert collector.accepted == 1


def test_a_renewed_ticket_for_another_slot_is_refused(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    options = known(collector, ledger=tmp_path / "ledger.json")
    first = drive("answer", **options)
    collector.hour += 100
    collector.slot = (int(first.results[0]["slot"]) + 1) % collector.survey.slots
    assert drive("submit", **options).reason == "slot"
    assert len(collector.sent("reports")) == 1
    assert not collector.counted


def test_an_answer_that_was_counted_before_its_ticket_expired_is_done(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    options = known(collector, ledger=tmp_path / "ledger.json")
    collector.faults.reports = ["503 3600"]
    assert drive("answer", "submit", **options).reason == "unavailable"
    assert len(collector.counted) == 1
    collector.hour += 100
    assert drive("submit", "submit", **options).reason == ""
    assert len(collector.sent("reports")) == 2


def test_a_late_repeat_that_is_counted_already_is_done(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    collector.slots = "hashed"
    options = known(collector, ledger=tmp_path / "ledger.json")
    collector.faults.reports = ["503 3600", "answered"]
    assert drive("answer", "submit", **options).reason == "unavailable"
    assert drive("submit", "submit", **options).reason == ""
    assert len(collector.sent("reports")) == 2, "it is known to be sent"


def test_a_second_device_hears_that_it_is_counted(drive: Drive, collector: FakeCollector) -> None:
    assert drive("answer", "submit", **known(collector)).reason == ""
    came = drive("question", **known(collector))
    assert came.reason == "answered"
    assert len(collector.counted) == 1


def test_two_devices_that_answer_at_once_hear_of_the_conflict(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    first = drive("answer", **known(collector, ledger=one)).results[0]
    for turn in range(60):
        path = other.with_suffix(f".{turn}")
        second = drive("answer", **known(collector, ledger=path)).results[0]
        if second != first:
            break
    assert drive("submit", **known(collector, ledger=one)).reason == ""
    assert drive("submit", **known(collector, ledger=path)).reason == "conflict"


# Refusing


def test_another_survey_is_refused(drive: Drive, collector: FakeCollector) -> None:
    other = Survey(collector.survey.schema, 1, 1.0, "InpHT")
    collector.shown = json.loads(other.to_json())
    came = drive("question", **known(collector))
    assert came.reason == "survey"
    assert not collector.sent("questions")


def test_a_survey_with_a_letter_changed_is_refused(drive: Drive, collector: FakeCollector) -> None:
    collector.shown["schema"]["attributes"][0]["name"] = "Comedi"
    assert drive("survey", **known(collector)).reason == "survey"


def test_a_survey_that_the_collector_does_not_hold(drive: Drive, collector: FakeCollector) -> None:
    came = drive("survey", **known(collector, survey="0" * 64))
    assert came.reason == "survey-unknown"


@pytest.mark.parametrize(
    ("whole", "vector"),
    [(whole, vector) for whole in VECTORS["refused"] for vector in whole["refused"]],
    ids=[vector["why"] for whole in VECTORS["refused"] for vector in whole["refused"]],
)
def test_a_question_that_was_tampered_with_is_refused(
    drive: Drive, collector: FakeCollector, whole: dict, vector: dict, tmp_path: Path
) -> None:
    """The shared vectors, over HTTP: nothing is drawn, kept or sent."""
    collector.survey = Survey.from_json(whole["survey"])
    collector.shown = json.loads(collector.survey.to_json())
    collector.tamper = lambda _: vector["question"]
    collector.slot = int(whole["sound"]["slot"])
    record = {a.name: a.values[-1] for a in collector.survey.schema.attributes}
    ledger = tmp_path / "ledger.json"
    came = drive("answer", "submit", record=record, **known(collector, ledger=ledger))
    assert came.step == "answer"
    assert came.reason in {vector["reason"], "question", "ticket"}, came.message
    assert not collector.sent("reports")
    assert '"report"' not in (ledger.read_text() if ledger.exists() else "")
    collector.tamper = lambda question: question
    assert drive("answer", record=record, **known(collector)).reason == ""


def test_the_limit_is_exact(drive: Drive, collector: FakeCollector) -> None:
    for limit, reason in ((1.0986122886681098, ""), (1.0986122886681096, "epsilon")):
        assert drive("answer", **known(collector, limit=limit)).reason == reason


def test_the_default_limit_is_two(drive: Drive, collector: FakeCollector) -> None:
    for epsilon, reason in ((2.0, ""), (2.0000000000000004, "epsilon")):
        collector.survey = Survey(collector.survey.schema, 2, epsilon, "MargRR")
        collector.shown = json.loads(collector.survey.to_json())
        assert drive("answer", **known(collector, token=str(epsilon))).reason == reason


def test_surveys_add_up_to_the_lifetime_limit(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.json"
    came = []
    for mechanism in ("InpHT", "MargPS", "MargHT", "MargRR"):
        collector.survey = Survey(collector.survey.schema, 2, 2.0, mechanism)
        collector.shown = json.loads(collector.survey.to_json())
        came.append(drive("answer", **known(collector, ledger=ledger)).reason)
    assert came == ["", "", "", "lifetime"]
    options = known(collector, ledger=tmp_path / "fresh", lifetime_limit=1.9999999999999998)
    assert drive("answer", **options).reason == "lifetime"


@pytest.mark.parametrize("limit", [0, -1, 1e9])
@pytest.mark.parametrize("name", ["limit", "lifetime_limit"])
def test_a_limit_that_is_none_is_refused(
    drive: Drive, collector: FakeCollector, name: str, limit: float
) -> None:
    came = drive("question", **known(collector, **{name: limit}))
    assert came.reason in {"options", "refused"}
    assert not collector.sent("questions")


def test_values_learned_from_data_are_refused(drive: Drive, collector: FakeCollector) -> None:
    schema = replace(collector.survey.schema, observed=True)
    collector.survey = Survey(schema, 2, 1.0, "InpHT")
    collector.shown = json.loads(collector.survey.to_json())
    came = drive("answer", **known(collector))
    assert came.reason == "observed"
    assert not collector.sent("reports")


@pytest.mark.parametrize(
    "change",
    [{"Comedy": SECRET}, {"Western": None}, {SECRET: True}, {"Crime": 1}, {"Crime": [SECRET]}],
    ids=["a value", "nothing", "a name", "1 for true", "a list"],
)
def test_a_record_is_checked_in_full_before_a_question_is_fetched(
    drive: Drive, collector: FakeCollector, change: dict
) -> None:
    for step in ("check", "question", "answer"):
        came = drive(step, record=RECORD | change, **known(collector))
        assert came.reason == "record"
        assert SECRET not in came.message
    assert not collector.sent("questions")


@pytest.mark.parametrize("step", ["check", "question", "answer"])
def test_who_holds_the_survey_contacts_nobody_with_a_record_that_does_not_fit(
    drive: Drive, collector: FakeCollector, step: str
) -> None:
    """A device that fetched the survey and then fell silent would tell something of its record."""
    schema = Schema.of(hiv=["negative", "never tested"])
    collector.survey = Survey(schema, 1, 1.0, "InpHT")
    collector.shown = json.loads(collector.survey.to_json())
    held = known(collector, form=collector.shown)
    came = drive(step, record={"hiv": SECRET}, **held)
    assert came.reason == "record"
    assert SECRET not in came.message
    assert collector.seen == []
    assert drive("answer", "submit", record={"hiv": "negative"}, **held).reason == ""
    other = json.loads(Survey(schema, 1, 0.5, "InpHT").to_json())
    assert drive("answer", record={"hiv": "negative"}, **held | {"form": other}).reason in {
        *("survey", "survey-unknown"),
    }


@pytest.mark.parametrize("step", ["question", "answer"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [({"limit": 0.5}, "epsilon"), ({"lifetime_limit": 0.5}, "lifetime")],
    ids=["limit", "lifetime"],
)
def test_a_survey_above_the_limits_is_refused_before_the_record_is_looked_at(
    drive: Drive, collector: FakeCollector, step: str, options: dict[str, float], reason: str
) -> None:
    """Else a survey that costs nothing would learn, by who asks for a question, whose record fits."""
    for record in (RECORD, RECORD | {"Comedy": SECRET}):
        came = drive(step, record=record, **known(collector, **options))
        assert came.reason == reason
    assert not collector.sent("questions")


def test_nothing_but_an_answer_draws(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.json"
    came = drive("survey", "check", "question", "entry", **known(collector, ledger=ledger))
    assert came.reason == ""
    assert came.results[-1] is None
    assert '"report"' not in (ledger.read_text() if ledger.exists() else "")


def test_there_is_nothing_to_send_before_an_answer(drive: Drive, collector: FakeCollector) -> None:
    assert drive("submit", **known(collector)).reason == "nothing"


def test_a_ledger_that_is_none_is_refused(
    drive: Drive, collector: FakeCollector, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.json"
    path.write_text("[]")
    assert drive("answer", **known(collector, ledger=path)).reason in {"ledger"}
    assert path.read_text() == "[]"


def test_the_answer_is_one_that_the_question_can_have(
    drive: Drive, collector: FakeCollector
) -> None:
    came = drive("question", "answer", **known(collector))
    question = Question.from_json(came.results[0])
    assert 0 <= int(came.results[1]["value"]) < question.answer.outcomes
    assert set(question.attributes) <= set(NAMES)
