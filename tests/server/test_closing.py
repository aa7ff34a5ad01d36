"""A closed survey gives no new questions; what was asked for before still counts. On either store."""

from __future__ import annotations

import time

from server_parts import Service, problem, survey

from deniable.server.serve import Rules
from deniable.server.tickets import GRACE, LIFE

SOON = 3600


def end(service, at=None, index=0):
    with service.opened() as store:
        return store.close_survey(store.surveys()[index], at)


def row(service, index=0):
    return service.client.get("/v1/surveys").json()["surveys"][index]


def test_who_was_asked_before_is_counted_and_nobody_else(start, url):
    service = start(survey(), survey("MargPS"))
    first, other = (each.id for each in service.surveys)
    early, done = (service.ticket(name, survey=first) for name in ("early", "done"))
    assert service.send({"ticket": done, "value": "1"}).status_code == 200
    assert (row(service)["closed"], row(service)["ends"]) == (False, None)
    before = service.client.get("/v1/survey", params={"survey": first}).json()
    with Service(url, service.surveys, Rules(), clock=service.clock) as twin:
        for each in (service, twin):
            assert each.client.get("/v1/surveys").status_code == 200  # both have looked just now
        second = end(service)
        assert problem(service.ask("late", survey=first), "survey-closed")
        assert problem(twin.ask("late", survey=first), "survey-closed"), "the other process knows"
        # Whose answer is counted hears that, not that they came too late.
        assert problem(twin.ask("done", survey=first), "answered")
        assert twin.send({"ticket": early, "value": "0"}).status_code == 200
        assert service.ask("late", survey=other).status_code == 200, "the other survey goes on"
        time.sleep(1.01)
        for each in (service, twin):
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
            assert (row(each)["closed"], row(each)["ends"]) == (True, stamp)
            assert row(each, 1)["closed"] is False
        after = twin.client.get("/v1/survey", params={"survey": first}).json()
    assert after == {**before, "closed": True, "ends": stamp}
    assert problem(service.ask("early", survey=first), "answered")
    unused = [{"ticket": service.ticket(f"u{i}", survey=other), "value": "0"} for i in range(2)]
    service.clock.now += LIFE + GRACE
    assert problem(service.send({"ticket": early, "value": "0"}), "ticket-expired")
    assert [each["type"] for each in service.send(unused).json()["refused"]] == [
        "ticket-expired"
    ] * 2
    assert service.people() == 2


def test_no_serial_is_given_to_who_comes_too_late(start):
    service = start()
    service.ask("early")
    end(service)
    with service.opened() as store:
        serial = store.next_serial("open")
        assert problem(service.ask("late"), "survey-closed")
        assert problem(service.ask("early"), "survey-closed"), "no question anew, nor an old one"
        assert store.next_serial("open") == serial
        store.reopen_survey(store.surveys()[0])
        assert service.ask("late").status_code == 200
        assert store.next_serial("open") > serial
        log = [(line.fields["what"], line.fields["on"]) for line in store.audit_lines()]
    name = f"survey {service.surveys[0].id[:16]}"
    assert [what for what, _ in log[-2:]] == ["close", "reopen"]
    assert log[-2][1].startswith(f"{name} at 20")
    assert log[-1][1] == name


def test_hashed_reports_are_new_or_repeated(start):
    service = start(slots="hashed")
    old, new, newer = service.ids(3)
    assert service.send({"id": old, "value": "1"}).status_code == 200
    end(service)
    assert problem(service.send({"id": new, "value": "1"}), "survey-closed")
    batch = [{"id": each, "value": "1"} for each in (new, old, newer, old)]
    refused = [{"index": at, "type": "survey-closed"} for at in (0, 2)]
    for _ in range(2):
        assert service.send(batch).json() == {"accepted": 2, "refused": refused}
    assert problem(service.send({"id": old, "value": "0"}), "conflict")
    assert service.people() == 1
    with service.opened() as store:
        store.reopen_survey(store.surveys()[0])
    assert service.send(batch).json() == {"accepted": 4, "refused": []}
    assert service.people() == 3


def test_drawn_reports_are_repeated_by_their_key_only(start):
    service = start(slots="drawn")
    report, keys = {"slot": "1", "value": "1"}, [letter * 16 for letter in "ab"]
    assert service.send(report, Idempotency_Key=keys[0]).status_code == 200
    end(service)
    assert service.send(report, Idempotency_Key=keys[0]).status_code == 200
    other = {"slot": "2", "value": "1"}
    assert problem(service.send(other, Idempotency_Key=keys[0]), "key-reused")
    for _ in range(2):
        assert problem(service.send([report], Idempotency_Key=keys[1]), "survey-closed")
    assert problem(service.send(report), "survey-closed")
    assert service.send([report]).json() == {
        "accepted": 0,
        "refused": [{"index": 0, "type": "survey-closed"}],
    }
    assert service.people() == 1
    with service.opened() as store:
        store.reopen_survey(store.surveys()[0])
    assert service.send([report], Idempotency_Key=keys[1]).status_code == 200
    assert service.people() == 2, "what was refused was not remembered as counted"


def test_an_end_to_come(small):
    service = small()
    second = int(time.time()) + SOON
    assert end(service, second) == second
    assert (row(service)["closed"], row(service)["ends"][:2]) == (False, "20")
    assert service.ask("me").status_code == 200
    with service.opened() as store:
        store.run("UPDATE surveys SET ends = ?", int(time.time()))  # it has come
    assert problem(service.ask("you"), "survey-closed")


def test_analysts_are_told_that_a_survey_is_closed(small):
    service = small()
    told = service.get("/v1/release").json()
    assert (told["closed"], told["ends"]) == (False, None)
    end(service, int(time.time()) - 5)
    told = service.get("/v1/release").json()
    assert (told["closed"], told["ends"][:2]) == (True, "20")


def test_a_store_that_is_away_is_said_to_be_as_it_was(small, monkeypatch):
    service = small()
    end(service)
    assert row(service)["closed"] is True

    def broken(_):
        from deniable.server.database import UnavailableError

        raise UnavailableError("away")

    monkeypatch.setattr(type(service.collector.gauges), "ends", broken)
    time.sleep(1.01)
    assert row(service)["closed"] is True
