"""What becomes of reports: counted once, whatever is sent again, on either store."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from server_parts import SECRET, Service, problem, survey, taken

from deniable.messages.report import Report
from deniable.questions.entropy import HashedSource, SystemSource
from deniable.server.limits import Buckets
from deniable.server.problems import ProblemError
from deniable.server.report_endpoint import read_body
from deniable.server.serve import Rules
from deniable.server.slots import Assignment
from deniable.server.tallies import tally_rows
from deniable.server.tickets import GRACE, LIFE
from deniable.server.work import Arrivals, Reports, StoredSurvey

JSON = {"Content-Type": "application/json"}


def test_a_ticket_counts_once_and_the_first_value_stays(start):
    service = start()
    asked = service.ask("me")
    assert asked.status_code == 200
    form = asked.json()
    assert set(form) == {"ticket", "question", "expires"}
    assert form["question"] == service.surveys[0].question(int(form["question"]["slot"])).to_json()
    assert service.ask("me").content == asked.content  # byte for byte
    first = service.send({"ticket": form["ticket"], "value": "1"})
    assert (first.status_code, first.json()) == (200, {"accepted": 1})
    again = service.send({"ticket": form["ticket"], "value": 1})
    assert again.content == first.content
    other = service.send({"ticket": form["ticket"], "value": "0"})
    assert other.status_code == 409
    assert problem(other, "conflict")
    assert problem(service.ask("me"), "answered")
    assert service.people() == 1
    tally = service.tally()
    assert tally.value.tolist() == [1]
    assert tally.slot.tolist() == [int(form["question"]["slot"])]


def test_a_batch_says_what_was_refused_and_says_it_again(start):
    service = start()
    tickets = [service.ticket(f"t{i}") for i in range(6)]
    service.send({"ticket": tickets[5], "value": "0"})
    broken = tickets[0][:-1] + ("A" if tickets[0][-1] != "A" else "B")
    batch = [
        {"ticket": tickets[0], "value": "0"},
        {"ticket": broken, "value": "0"},
        {"ticket": tickets[1], "value": "7"},
        {"ticket": tickets[2], "value": "1"},
        {"ticket": tickets[2], "value": "1"},  # the same again
        {"ticket": tickets[2], "value": "0"},  # and otherwise
        {"ticket": tickets[5], "value": "1"},
        {"ticket": "short", "value": "1"},
    ]
    refused = [
        {"index": 1, "type": "ticket-invalid"},
        {"index": 2, "type": "value-impossible"},
        {"index": 5, "type": "conflict"},
        {"index": 6, "type": "conflict"},
        {"index": 7, "type": "ticket-invalid"},
    ]
    first = service.send(batch)
    assert first.json() == {"accepted": 3, "refused": refused}
    assert service.send(batch).content == first.content
    assert service.people() == 3
    assert service.send([]).json() == {"accepted": 0, "refused": []}


def test_reports_that_come_together_are_told_apart(start):
    """Singles gather while others are stored; each hears of its own fate, at once or not at all."""
    service = start(buckets=Buckets(1, 1e-9))
    tickets = [service.ticket(f"t{i}") for i in range(10)]
    broken = tickets[0][:-1] + ("A" if tickets[0][-1] != "A" else "B")
    bodies = [
        *({"ticket": ticket, "value": "1"} for ticket in tickets),
        {"ticket": tickets[3], "value": "1"},  # one too many of this participant
        {"ticket": broken, "value": "1"},
        {"ticket": tickets[9], "value": "7"},
        {"ticket": tickets[9], "packed": "1"},
    ]
    hold, commit = threading.Event(), service.collector.store.commit

    def slow(works):
        hold.wait(60)
        return commit(works)

    service.collector.store.commit = slow
    with ThreadPoolExecutor(len(bodies)) as pool:
        sent = [pool.submit(service.send, body) for body in bodies]
        deadline = time.monotonic() + 60
        while service.collector.in_work < 11 and time.monotonic() < deadline:
            time.sleep(0.01)
        hold.set()
        came = [each.result() for each in sent]
    names = [r.json().get("type", "").rpartition("/")[2] for r in came]
    # Which of the two requests of participant 3 is one too many, nobody can say.
    assert sorted(names[3:11:7]) == ["", "too-many-requests"]
    assert names[:3] + names[4:10] == [""] * 9
    assert names[11:] == ["ticket-invalid", "value-impossible", "malformed"]
    assert service.people() == 10


def test_a_mistake_of_ours_is_told_to_all_who_wait(start, monkeypatch):
    service = start()
    ticket = service.ticket("me")
    monkeypatch.setattr(service.collector.intake, "valid_reports", lambda sent: 1 / 0)
    assert problem(service.send({"ticket": ticket, "value": "1"}), "internal")
    monkeypatch.undo()
    assert service.send({"ticket": ticket, "value": "1"}).json() == {"accepted": 1}


def test_without_a_writer_nobody_waits(start):
    service = start()
    ticket = service.ticket("me")
    writer = service.collector.writer
    writer.close()
    writer.join(60)
    for _ in range(2):
        assert problem(service.send({"ticket": ticket, "value": "1"}), "unavailable")


def test_one_bad_form_refuses_the_whole_batch(start):
    service = start()
    ticket = service.ticket("a")
    good = {"ticket": ticket, "value": "1"}
    for bad in (
        {"ticket": ticket},
        {"ticket": ticket, "value": "1", "extra": 1},
        {"ticket": ticket, "value": "1", "slot": "1"},
        {"ticket": ticket, "value": "-1"},
        {"ticket": ticket, "value": "01"},
        {"ticket": ticket, "value": 1.0},
        {"ticket": ticket, "value": "1e0"},
        {"ticket": ticket, "value": True},
        {"ticket": ticket, "value": None},
        {"ticket": ticket, "value": "1", "packed": "AA=="},
        {"ticket": ticket, "packed": "!"},
        {"ticket": ticket, "packed": "AQ=="},
        {"ticket": ticket, "value": str(1 << 63)},
        {"ticket": ticket, "value": 1 << 53},
        {"ticket": ticket, "value": 10**4000},
        {"ticket": 1, "value": "1"},
        {"slot": "1", "value": "1"},  # this survey's slots are assigned
        {"value": "1"},
        7,
    ):
        for body in ([good, bad], bad):
            response = service.send(body)
            assert response.status_code == 400, bad
            assert problem(response, "malformed"), bad
    for raw in (b"", b"{", b"[", b"\xff", b'"x"', b"[[]]", b"nonsense", b"[" * 100_000):
        assert problem(service.client.post("/v1/reports", content=raw, headers=JSON), "malformed")
    for hidden in (b'"v\\u0061lue":0.0', b'"value":0.0', b'"value":-0', b'"value":1e0'):
        raw = b'{"ticket":"%b",%b}' % (ticket.encode(), hidden)
        assert problem(service.client.post("/v1/reports", content=raw, headers=JSON), "malformed")
    assert service.people() == 0


def test_nothing_that_was_sent_comes_back_in_an_error(start):
    service = start()
    for body in (
        {"my secret": 1},
        {"my\nsecret": 1},
        {"ticket": "my secret", "value": "my secret"},
        {"ticket": "my secret", "value": "1"},
    ):
        assert "secret" not in service.send(body).text


def test_too_much_is_refused(start, monkeypatch):
    service = start()
    many = [{"slot": "0", "value": "0"}] * 10_001
    assert problem(service.send(many), "too-large")
    with monkeypatch.context() as never:  # and before it is decoded
        never.setattr("deniable.server.intake._many", None)
        assert problem(service.send(many), "too-large")
    monkeypatch.setattr("deniable.server.report_endpoint.MOST_BYTES", 1000)
    assert problem(service.send([{"slot": "0", "value": "0"}] * 100), "too-large")

    def in_pieces():
        for _ in range(100):
            yield b" " * 100

    response = service.client.post("/v1/reports", content=in_pieces(), headers=JSON)
    assert response.status_code == 413
    assert response.headers["connection"] == "close"
    assert service.people() == 0


@pytest.mark.parametrize("path", ["/v1/reports", "/v1/questions"])
def test_what_a_browser_sends_without_asking_is_refused(start, path):
    """A form or a script of another origin may send plain text; JSON only after a preflight."""
    service = start(slots="drawn" if path == "/v1/reports" else None)
    form = {"slot": "1", "value": "1"} if path == "/v1/reports" else {"token": "me"}
    raw = json.dumps(form).encode()
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
        "text/plain; application/json",
    ):
        headers = {"Content-Type": kind, "Origin": "https://b.example"} if kind else {}
        response = service.client.post(path, content=raw, headers=headers)
        assert response.status_code == 415
        assert problem(response, "unsupported-media-type")
    for kind in ("application/json", "Application/JSON; charset=utf-8"):
        response = service.client.post(path, content=raw, headers={"Content-Type": kind})
        assert response.status_code == 200
    assert service.people() == (2 if path == "/v1/reports" else 0)


def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("deniable.server.report_endpoint.PATIENCE", 0.05)
    collector, came = SimpleNamespace(being_read=0, reading=0, in_work=1), []

    async def dribble():
        if came:  # the first is there at once, however slow the machine
            await asyncio.sleep(0.02)
        came.append(1)
        return {"type": "http.request", "body": b"[", "more_body": True}

    scope = {"headers": [(b"content-type", b"application/json")]}
    with pytest.raises(ProblemError) as told:
        asyncio.run(read_body(scope, dribble, collector))
    assert told.value.response().status_code == 408
    assert told.value.response().headers["connection"] == "close"
    assert 0 < len(came) < 10
    assert collector.being_read == 0
    monkeypatch.setattr("deniable.server.report_endpoint.MOST_BEING_READ", 0)
    with pytest.raises(ProblemError, match="being read"):
        asyncio.run(read_body(scope, dribble, collector))
    assert collector.being_read == 0


def test_wide_reports_are_folded_in_little_memory():
    chosen = survey("InpRR", 16)
    rng = np.random.default_rng(1)
    octets = rng.bytes(300 * 8192)
    values = [octets[at : at + 8192] for at in range(0, len(octets), 8192)]
    tracemalloc.start()
    try:
        slot, value, count = tally_rows(chosen, [0] * 300, values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    bits = np.unpackbits(
        np.frombuffer(octets, np.uint8).reshape(300, -1), axis=1, bitorder="little"
    )
    assert (slot == 0).all()
    assert value.tolist() == [*np.flatnonzero(bits.sum(0)).tolist(), 1 << 16]
    assert count.tolist() == [*bits.sum(0)[bits.sum(0) > 0].tolist(), 300]
    assert peak < 60 << 20, peak
    held = StoredSurvey(1, chosen, "drawn", "open", False, Assignment(SECRET))
    wide = Reports([Arrivals(held, [0] * 300, values)])
    assert (wide.size, wide.weight) == (300, 300 * 33)


def test_tickets_expire_and_are_renewed_for_the_same_slot(start):
    service = start()
    first = service.ask("me").json()
    lost = service.ask("lost").json()
    service.clock.now += LIFE + GRACE
    late = service.send({"ticket": first["ticket"], "value": "1"})
    assert late.status_code == 410
    assert problem(late, "ticket-expired")
    renewed = service.ask("me").json()
    assert renewed["ticket"] != first["ticket"]
    assert renewed["question"] == first["question"]
    assert service.send({"ticket": renewed["ticket"], "value": "1"}).status_code == 200
    assert lost["expires"] < renewed["expires"]
    assert service.people() == 1


def test_a_ticket_is_taken_for_a_day_after_it_would_be_renewed(start):
    service = start()
    ticket = service.ticket("me")
    hours = service.collector.seal.read(ticket).expiry - service.clock.now
    assert 0 < hours <= LIFE
    service.clock.now += hours + GRACE - 1
    assert service.ticket("me") != ticket
    assert service.send({"ticket": ticket, "value": "1"}).status_code == 200


def test_after_forgetting_who_answered_stays_known(start):
    service = start()
    tickets = [service.ticket(f"t{i}") for i in range(50)]
    kept = service.clock.now
    service.send([{"ticket": t, "value": "1"} for t in tickets[:40]])
    early = service.opened()
    assert early.forget(service.clock.now) == 0
    service.clock.now += LIFE + GRACE + 1
    fresh = [service.ticket(f"t{i}") for i in range(40, 50)]
    forgot = early.forget(service.clock.now)
    service_forgot = 40 - forgot  # the writer may have been faster
    assert 0 <= service_forgot <= 40
    assert early.run("SELECT count(*) FROM spent") == [(0,)]
    assert problem(service.ask("t3"), "answered")
    # Somebody hoarded a ticket of the future: its bit tells that the answer is counted.
    seal, held = service.collector.seal, service.collector.surveys[0]
    hoarded = seal.read(tickets[3])._replace(expiry=service.clock.now + 5)
    response = service.send({"ticket": seal.ticket(hoarded), "value": "0"})
    assert problem(response, "answered")
    batch = [{"ticket": seal.ticket(hoarded), "value": "1"}, {"ticket": fresh[0], "value": "0"}]
    assert service.send(batch).json() == {
        "accepted": 1,
        "refused": [{"index": 0, "type": "answered"}],
    }
    assert service.people() == 41
    assert kept < service.clock.now
    assert held.key(0) not in {key for key, _ in early.find("spent", [held.key(0)])}
    early.close()


def test_what_is_forgotten_is_in_no_file(tmp_path):
    """SQLite's log would keep the rows until it is written over, long after a survey is over."""
    with Service(f"sqlite:///{tmp_path / 's.db'}", (survey(),), Rules("assigned")) as service:
        service.send([{"ticket": service.ticket(f"t{i}"), "value": "1"} for i in range(40)])
        store = service.opened()
        rows = [row_number(key) for (key,) in store.run("SELECT key FROM spent")]

        def traces() -> int:
            files = [path.read_bytes() for path in tmp_path.iterdir()]
            return sum(any(row in file for file in files) for row in rows)

        assert traces() == len(rows) == 40
        after = service.clock.now + LIFE + GRACE + 1
        with service.opened() as other, other.reading():
            other.run("SELECT count(*) FROM spent")  # somebody reads what was: the log must stay
            assert store.forget(after) == 40
            assert traces() == 40
        store.forget(after)
        assert traces() == 0
        store.close()
        assert service.people() == 40


def row_number(number: int) -> bytes:
    """Return a row's number as SQLite writes it."""
    digits = [number & 127]
    while number := number >> 7:
        digits.append(number & 127 | 128)
    return bytes(reversed(digits))


def test_issued_ids_are_needed_where_they_are_asked_for(start):
    service = start(participants="issued")
    ids = service.ids(3)
    assert len(set(ids)) == 3
    assert all(len(each) == 32 for each in ids)
    assert service.ask(ids[0]).status_code == 200
    for made_up in ("me", ids[0][:-1] + "A" if ids[0][-1] != "A" else "B", "A" * 32, "=" * 32):
        response = service.ask(made_up)
        assert response.status_code == 401
        assert problem(response, "participant-unknown")


def test_hashed_slots_follow_from_the_id(start):
    service = start(slots="hashed")
    ids = service.ids(300)
    chosen = service.surveys[0]
    assert problem(service.ask(ids[0]), "no-tickets")
    first = service.send([{"id": each, "value": "1"} for each in ids])
    assert first.json() == {"accepted": 300, "refused": []}
    assert problem(service.send({"id": ids[7], "value": "0"}), "conflict")
    assert service.send({"id": ids[7], "value": "1"}).json() == {"accepted": 1}
    assert problem(service.send({"id": "x" * 32, "value": "1"}), "participant-unknown")
    tally = service.tally()
    slots = [
        chosen.draw_slot(HashedSource(b"deniable.slot" + chosen.id.encode() + each.encode()))
        for each in ids
    ]
    assert tally.people == 300
    assert tally.slot.tolist() == sorted(set(slots))
    assert tally.count.tolist() == np.bincount(slots)[sorted(set(slots))].tolist()


def test_drawn_slots_are_recognised_by_their_key(start):
    service = start(slots="drawn")
    body = [{"slot": "3", "value": "1"}, {"slot": "99", "value": "0"}, {"slot": 4, "value": 1}]
    told = {"accepted": 2, "refused": [{"index": 1, "type": "value-impossible"}]}
    first = service.send(body, Idempotency_Key="k" * 16)
    assert first.json() == told
    assert service.send(body, Idempotency_Key="k" * 16).content == first.content
    assert service.people() == 2
    reused = service.send(body[:1], Idempotency_Key="k" * 16)
    assert reused.status_code == 422
    assert problem(reused, "key-reused")
    assert problem(service.send(body, Idempotency_Key="short"), "malformed")
    assert service.send(body).json() == told  # without a key, a repeat counts again
    assert service.people() == 4
    service.clock.now += 24 * 7
    store = service.opened()
    store.forget(service.clock.now)
    assert store.run("SELECT count(*) FROM remembered") == [(1,)]
    service.clock.now += 24 * 7 + 1
    store.forget(service.clock.now)
    assert store.run("SELECT count(*) FROM remembered") == [(0,)]
    store.close()


def test_the_hour_of_arrival_is_not_stored(start):
    """Reports of many hours: what is stored with them is the same, whenever they came."""
    service = start(survey(), survey("MargPS"), slots="drawn")
    held = service.collector.surveys[0]
    service.clock.now = LIFE * 1500 + 5  # the first hours of a week, and of whoever has this phase
    expiries = set()
    for number in range(24):
        service.send(
            {"slot": "0", "value": "0", "survey": held.survey.id},
            Idempotency_Key=f"k{number:020d}",
        )
        service.clock.now += 1
    with service.opened() as store:
        expiries = {row[0] for row in store.run("SELECT expiry FROM remembered")}
    assert len(expiries) == 1
    assert expiries.pop() - service.clock.now >= 24 * 7


def test_the_hour_of_arrival_is_not_stored_for_hashed_slots(start):
    service = start(slots="hashed")
    held, ids = service.collector.surveys[0], service.ids(24)
    for hour, each in enumerate(ids):
        service.clock.now = LIFE * 1500 + hour
        assert service.send({"id": each, "value": "1"}).status_code == 200
    with service.opened() as store:
        rows = store.run("SELECT key, expiry FROM spent")
    assert len(rows) == len(ids)
    for key, expiry in rows:
        # It follows from the participant and from two weeks that are theirs.
        assert (expiry - GRACE + key - held.key(0)) % LIFE == 0
        assert GRACE < expiry - service.clock.now <= LIFE + GRACE


def test_a_remembered_request_cannot_be_guessed_from_the_store(start):
    """There are few bodies; with the collector's key all could be tried, but not without theirs."""
    service = start(slots="drawn")
    report = {"slot": "3", "value": "1"}
    for key in ("k" * 16, "l" * 16):
        service.send(report, Idempotency_Key=key)
    with service.opened() as store:
        assert len(store.run("SELECT DISTINCT value FROM remembered")) == 2


def test_kept_reports_do_not_lie_in_the_order_in_which_they_came(start):
    chosen = survey("InpRR", 7)
    service = start(chosen, slots="drawn", keeps=True)
    values = [pow(3, 70 + i, 1 << 120) | 1 << 120 for i in range(30)]
    for value in values:
        assert service.send(Report(0, value).to_json()).status_code == 200
    with service.opened() as store:
        store.forget(service.clock.now)
        rows = store.run("SELECT value FROM masks")  # as they lie there
        kept = [int.from_bytes(bytes(value), "little") for (value,) in rows]
        assert sorted(kept) == sorted(values)
        assert kept == sorted(values, key=lambda value: value.to_bytes(16, "little"))


def test_keys_that_come_together_are_told_apart(start):
    """Requests of one transaction: the first counts, its repeat does not, another one is refused."""
    service = start(slots="drawn")
    intake, key = service.collector.intake, "k" * 16
    one, other = ([{"slot": "3", "value": str(value)}] for value in (0, 1))
    bodies = [json.dumps(form).encode() for form in (one, one, other)]
    with service.opened() as store:
        told = store.commit([taken(intake, body, key) for body in bodies])
        assert [outcome.problem for outcome in told] == [None, None, "key-reused"]
        again = store.commit([taken(intake, body, key) for body in bodies[1:]])
        assert [outcome.problem for outcome in again] == [None, "key-reused"]
    assert service.tally().value.tolist() == [0]
    assert service.people() == 1


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize(("mechanism", "attributes"), [("MargRR", 4), ("InpRR", 7)])
def test_unary_reports_are_folded_or_kept(start, mechanism, attributes, keeps, tmp_path):
    chosen = survey(mechanism, attributes)
    service = start(chosen, slots="drawn", keeps=keeps)
    source = SystemSource()
    reports = []
    for number in range(200):
        slot = chosen.draw_slot(source)
        record = {name: bool(number >> i & 1) for i, name in enumerate(chosen.schema.names)}
        reports.append(Report(slot, chosen.question(slot).reply(record, source)))
    service.send([report.to_json() for report in reports[:150]])
    for report in reports[150:]:
        assert service.send(report.to_json()).status_code == 200
    store = service.opened()
    held = store.surveys()[0]
    assert store.tally(held) == chosen.tally(reports)
    if keeps:
        batch = store.reports(held)
        assert chosen.tally(batch) == chosen.tally(reports)
        order = [report.value for report in reports]
        kept = [int.from_bytes(v.tobytes(), "little") for v in batch.values]
        assert sorted(order) == sorted(kept)
        assert order != kept
    else:
        with pytest.raises(Exception, match="counted, not kept"):
            store.reports(held)
    store.close()


def test_packed_values_must_be_possible_and_short(start):
    service = start(survey("InpRR", 7), slots="drawn")
    most = (1 << 128) - 1
    good = Report(0, most).to_json()
    assert service.send(good).status_code == 200
    assert problem(service.send(Report(0, most + 1).to_json()), "value-impossible")
    longer = base64.b64encode(most.to_bytes(17, "little")).decode()
    assert problem(service.send({"slot": "0", "packed": longer}), "malformed")
    assert service.send({"slot": "0", "value": "5"}).status_code == 200
    assert service.people() == 2


def test_packed_values_with_tickets_are_told_apart(start):
    service = start(survey("InpRR", 7))
    ticket = service.ticket("me")
    one, two = (Report(0, (1 << 100) + i).to_json()["packed"] for i in (1, 2))
    assert service.send({"ticket": ticket, "packed": one}).status_code == 200
    assert service.send({"ticket": ticket, "packed": one}).status_code == 200
    assert problem(service.send({"ticket": ticket, "packed": two}), "conflict")
    assert service.people() == 1


def test_several_surveys_share_a_collector(start):
    one, two = survey("InpHT"), survey("MargPS")
    service = start(one, two)
    assert problem(service.ask("me"), "survey-unknown")
    assert problem(service.ask("me", survey="0" * 64), "survey-unknown")
    tickets = [service.ticket("me", survey=each.id) for each in (one, two)]
    sent = service.send([{"ticket": t, "value": "1"} for t in tickets])
    assert sent.json() == {"accepted": 2, "refused": []}
    assert service.people(0) == service.people(1) == 1
    listed = service.client.get("/v1/surveys").json()["surveys"]
    assert [each["id"] for each in listed] == [one.id, two.id]
    told = service.client.get("/v1/survey", params={"survey": two.id}).json()
    assert json.dumps(told["survey"], sort_keys=True) == json.dumps(
        json.loads(two.to_json()), sort_keys=True
    )
    assert two.to_json() in service.client.get("/v1/survey", params={"survey": two.id}).text


def test_drawn_and_hashed_reports_name_their_survey_where_there_are_several(start):
    one, two = survey("InpHT"), survey("MargPS")
    service = start(one, two, slots="drawn")
    report = {"slot": "1", "value": "1"}
    assert problem(service.send(report), "survey-unknown")
    assert service.send(report | {"survey": two.id}).status_code == 200
    assert problem(service.send(report | {"survey": "0" * 64}), "survey-unknown")
    batch = [report | {"survey": name} for name in (one.id, "0" * 64, two.id, one.id)]
    told = {"accepted": 3, "refused": [{"index": 1, "type": "survey-unknown"}]}
    assert service.send(batch).json() == told
    assert (service.people(0), service.people(1)) == (2, 2)


def test_reports_of_different_kinds_do_not_come_together(start):
    service = start(slots="drawn")
    mixed = [{"slot": "1", "value": "1"}, {"ticket": "A" * 60, "value": "1"}]
    assert problem(service.send(mixed), "malformed")
    assert service.people() == 0


def test_a_survey_is_collected_in_one_way_for_ever(start):
    service = start(slots="drawn")
    from deniable.errors import StoreError
    from deniable.server.serve import Rules, prepare

    store = service.opened()
    prepare(store, service.surveys, Rules())
    with pytest.raises(StoreError, match="cannot be changed"):
        prepare(store, service.surveys, Rules(slots="assigned"))
    with pytest.raises(StoreError, match="with keep counts, not reports"):
        prepare(store, service.surveys, Rules(keeps_reports=True))
    wide = survey("InpRR", 17)
    prepare(store, [wide], Rules("drawn", keeps_reports=True))
    prepare(store, [wide], Rules())
    assert [held.keeps_reports for held in store.surveys()] == [False, True]
    store.close()
