"""Keys that change: slots stick, who has answered stays known, every process hears of a new key."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from rotating import Rotation
from server_parts import SECRET, Clock, Service, fixed_seal, problem, survey

from deniable.errors import StoreError
from deniable.server.audit_log import check
from deniable.server.serve import Rules
from deniable.server.stores import open_store
from deniable.server.tickets import GRACE, LIFE, SLACK, Seal

NOW = Clock().now


@pytest.fixture
def pair(url):
    """Two collectors on one store, which hear nothing of each other."""
    with ExitStack() as stack:
        first = stack.enter_context(Service(url, (survey(),), Rules(None, "issued")))
        second = Service(url, (), Rules())
        yield first, stack.enter_context(second)


def rotate(service, *kinds):
    with service.opened() as store:
        return [store.rotate(kind, service.clock.now) for kind in kinds or ("ticket", "id")]


def retire(service, kind, number, **rest):
    with service.opened() as store:
        return store.retire(kind, number, service.clock.now, **rest)


def test_who_answered_before_a_rotation_has_answered_and_slots_stick(start):
    service = start()
    used, kept = service.ask("used").json(), service.ask("kept").json()
    service.send({"ticket": used["ticket"], "value": "1"})
    rotate(service)
    assert problem(service.ask("used"), "answered")
    again = service.ask("kept").json()
    assert again["question"] == kept["question"]
    assert again["expires"] == kept["expires"]
    assert again["ticket"] != kept["ticket"]
    assert service.collector.seal.read(again["ticket"]).key == 1
    assert service.send({"ticket": used["ticket"], "value": "1"}).status_code == 200
    assert problem(service.send({"ticket": used["ticket"], "value": "0"}), "conflict")
    assert service.send({"ticket": kept["ticket"], "value": "0"}).status_code == 200
    assert service.send({"ticket": again["ticket"], "value": "0"}).status_code == 200
    assert service.people() == 2


def test_another_process_takes_what_a_key_sealed_that_it_does_not_know(pair):
    first, second = pair
    old = first.ids(10)
    assert rotate(first) == [1, 1]
    new = first.ids(12)
    assert {base64.urlsafe_b64decode(each)[1] for each in new} == {1}
    for each in [*new, *old]:
        assert first.ticket(each)  # it hears of the key with the first of these
    assert first.collector.seal.ticket_key == 1
    assert second.collector.seal.ticket_key == 0
    tickets = [first.ticket(each) for each in [*new, *old]]
    assert second.send({"ticket": tickets[0], "value": "1"}).status_code == 200
    rotate(first)
    tickets[12:] = [first.ticket(each) for each in old]
    batch = [{"ticket": each, "value": "1"} for each in tickets]
    assert second.send(batch).json() == {"accepted": 22, "refused": []}
    rotate(first)
    (newest,) = first.ids(1)
    assert second.ask(newest).status_code == 200
    assert first.people() == 22


def test_keys_that_nobody_has_are_looked_for_and_refused(small):
    service = small(participants="issued")
    (issued,) = service.ids(1)
    ticket = service.ticket(issued)
    for text, forged in ((ticket, forge(ticket, 10)), (issued, forge(issued, 1))):
        assert text != forged
    ahead = {"ticket": forge(ticket, 10), "value": "1"}
    assert problem(service.send(ahead), "ticket-invalid")
    told = service.send([ahead, {"ticket": ticket, "value": "1"}]).json()
    assert told == {"accepted": 1, "refused": [{"index": 0, "type": "ticket-invalid"}]}
    assert problem(service.ask(forge(issued, 1)), "participant-unknown")


def forge(text, at):
    """Write another key's number into a ticket, or an id."""
    raw = bytearray(base64.urlsafe_b64decode(text))
    raw[at] ^= 9
    return base64.urlsafe_b64encode(bytes(raw)).decode()


def test_a_retired_key_is_told_by_name(start):
    service = start(slots="hashed", participants="issued")
    (issued, answered) = service.ids(2)
    assert service.send({"id": answered, "value": "1"}).status_code == 200
    rotate(service)
    with pytest.raises(StoreError, match="Of the 2 ids of key 0, 1 have not answered"):
        retire(service, "id", 0)
    assert "1 have not answered" in retire(service, "id", 0, breaks=True)
    service.client.portal.call(service.collector.doorkeeper.refresh)
    assert problem(service.send({"id": issued, "value": "1"}), "key-retired")
    batch = [{"id": each, "value": "1"} for each in (issued, *service.ids(1))]
    told = service.send(batch).json()
    assert told == {"accepted": 1, "refused": [{"index": 0, "type": "key-retired"}]}
    with pytest.raises(StoreError, match="retired already"):
        retire(service, "id", 0)
    with pytest.raises(StoreError, match="Key 1 of ids seals: 'deniable keys rotate id' first"):
        retire(service, "id", 1)
    with pytest.raises(StoreError, match="no key 7"):
        retire(service, "id", 7)
    with service.opened() as store:
        rows = {(row.kind, row.number): row for row in store.key_rows(NOW)}
        assert rows["id", 0].state == "retired"
        assert rows["id", 0].fingerprint is None
        assert store.run("SELECT material FROM keys WHERE kind = 'id' AND number = 0") == [(None,)]


def test_tickets_of_a_retired_key_are_asked_for_again(start):
    service = start()
    first = service.ask("me").json()
    rotate(service, "ticket")
    with pytest.raises(StoreError, match="may be good until 2027"):
        retire(service, "ticket", 0)
    retire(service, "ticket", 0, breaks=True)
    service.client.portal.call(service.collector.doorkeeper.refresh)
    assert problem(service.send({"ticket": first["ticket"], "value": "1"}), "key-retired")
    again = service.ask("me").json()
    assert again["question"] == first["question"]
    assert service.send({"ticket": again["ticket"], "value": "1"}).status_code == 200
    rotate(service, "ticket")
    service.clock.now += LIFE + GRACE + SLACK
    assert retire(service, "ticket", 1) is None


def test_ids_that_all_answered_long_ago_hold_no_key(start):
    service = start(participants="issued")
    other = service.ids(3)
    rotate(service, "id")
    ids = service.ids(5)
    for each in ids[:4]:
        service.send({"ticket": service.ticket(each), "value": "1"})
    with service.opened() as store:
        store.forget(NOW + 2 * LIFE)  # from now on, bits tell who has answered
        service.send({"ticket": service.ticket(ids[4]), "value": "1"})
        service.send({"ticket": service.ticket(other[0]), "value": "1"})
        counts = [store.unanswered(row) for row in store.key_rows(NOW) if row.kind == "id"]
    assert counts == [2, 0]
    with service.opened() as store:
        store.close_survey(store.surveys()[0])
        assert [store.unanswered(row) for row in store.key_rows(NOW) if row.kind == "id"] == [0, 0]
        store.reopen_survey(store.surveys()[0])
    rotate(service, "id")
    assert retire(service, "id", 1) is None


@pytest.mark.parametrize("hours", [-60, -24, 24, 60])
def test_clocks_that_do_not_agree_lose_nothing(start, hours):
    """One process gives tickets by a clock that another does not share; a day of it is forgiven."""
    service = start()
    service.clock.now += hours
    tickets = [service.ticket(f"t{i}") for i in range(80)]
    service.clock.now = NOW
    told = service.send([{"ticket": each, "value": "1"} for each in tickets]).json()
    assert bool(told["refused"]) is (abs(hours) > 24)
    assert {row["type"] for row in told["refused"]} <= {"ticket-expired"}
    for row in told["refused"]:
        ticket = service.ticket(f"t{row['index']}")
        assert service.send({"ticket": ticket, "value": "1"}).status_code == 200
    assert service.people() == 80


def test_a_ticket_of_a_far_future_is_not_remembered_for_as_long(start):
    service = start()
    service.clock.now += 50 * 365 * 24
    ticket = service.ticket("me")
    service.clock.now = NOW
    assert problem(service.send({"ticket": ticket, "value": "1"}), "ticket-expired")
    assert service.send({"ticket": service.ticket("me"), "value": "1"}).status_code == 200
    with service.opened() as store:
        assert store.run("SELECT max(expiry) FROM spent")[0][0] <= NOW + LIFE + GRACE


def test_a_truncated_or_foreign_ticket_is_none(small):
    service = small()
    ticket = service.ticket("me")
    foreign = fixed_seal(bytes(32)).ticket(service.collector.seal.read(ticket))
    for text in (ticket[:-4], ticket[:-1], ticket + "AAAA", foreign, forge(ticket, 44)):
        assert problem(service.send({"ticket": text, "value": "1"}), "ticket-invalid")
    assert service.send({"ticket": ticket, "value": "1"}).status_code == 200


def test_a_copy_of_before_a_rotation_loses_nobody(small, tmp_path):
    """Its tickets are none there, and asking again gives another one for the same question."""
    service = small()
    first = service.ask("me").json()
    with service.opened() as store:
        store.back_up(tmp_path / "copy.db")
    rotate(service)
    later = service.ask("me").json()["ticket"]
    with Service(f"sqlite:///{tmp_path / 'copy.db'}", (), Rules()) as restored:
        assert problem(restored.send({"ticket": later, "value": "1"}), "ticket-invalid")
        again = restored.ask("me").json()
        assert again["question"] == first["question"]
        assert restored.send({"ticket": again["ticket"], "value": "1"}).status_code == 200
        assert restored.send({"ticket": first["ticket"], "value": "1"}).status_code == 200
        assert restored.people() == 1


def test_a_number_that_is_given_again_is_another_key():
    """A store was put back to before a rotation, under a process that goes on, and rotated again."""
    lost, again = bytes(32), bytes(range(1, 33))
    running = fixed_seal()
    running.learn({0: SECRET, 1: lost}, {0: SECRET, 1: lost})
    for key in (lost, again):
        running.learn({0: SECRET, 1: key}, {0: SECRET, 1: key})
        other = Seal(SECRET, {0: SECRET, 1: key}, {0: SECRET, 1: key})
        assert running.participant(other.issue(7)) == 7
        assert running.participant(fixed_seal().issue(7)) == 7


def test_rotations_at_once_give_each_its_own_number(url):
    with open_store(url):
        pass

    def turn(_):
        with open_store(url) as store:
            return [store.rotate("id", NOW) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for each in pool.map(turn, range(4)) for number in each]
    with open_store(url) as store:
        rows = [row for row in store.key_rows(NOW) if row.kind == "id"]
        assert sorted(numbers) == list(range(1, 17)) == [row.number for row in rows[1:]]
        assert len({row.fingerprint for row in rows}) == 17
        assert check(store.audit_lines()).number == 16


@pytest.mark.slow
def test_rotation_under_load_refuses_nothing(url):
    """Keys are rotated all the time, by a command that is killed again and again."""
    rotation = Rotation(url)
    rotation.run(seconds=3.0)
    rotation.check()
    assert rotation.asked
    assert rotation.rotations >= 1
    assert rotation.kills >= 1
