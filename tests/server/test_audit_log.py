"""The audit log: what is written into it, what is not, and that nobody changes it unnoticed."""

from __future__ import annotations

import json
import os
import pwd

import pytest
from server_parts import Clock, Service, survey

from deniable.errors import StoreError
from deniable.server.audit_log import START, Head, check, follow, read_lines
from deniable.server.serve import Rules
from deniable.server.stores import open_store

NOW = Clock().now


def chain(count=9):
    lines, head = [], START
    for number in range(count):
        lines.append(follow(head, "operator", "issue", f"{number} ids", 1e9 + number))
        head = Head(lines[-1].number, lines[-1].hash)
    return lines


def altered(line):
    return line._replace(text=line.text.replace("issue", "tally"))


HARM = {
    "removed": lambda lines: lines[:3] + lines[4:],
    "removed first": lambda lines: lines[1:],
    "altered": lambda lines: [*lines[:3], altered(lines[3]), *lines[4:]],
    "altered last": lambda lines: [*lines[:-1], altered(lines[-1])],
    "hash altered": lambda lines: [*lines[:3], lines[3]._replace(hash=bytes(32)), *lines[4:]],
    "swapped": lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
    "swapped and numbered": lambda lines: [
        *lines[:3], lines[4]._replace(number=4), lines[3]._replace(number=5), *lines[5:]
    ],
    "twice": lambda lines: [*lines[:4], lines[3], *lines[4:]],
    "number altered": lambda lines: [
        *lines[:-1], lines[-1]._replace(text=lines[-1].text.replace('"number": 9', '"number": 8'))
    ],
    "no JSON": lambda lines: [*lines[:-1], lines[-1]._replace(text="[]")],
}  # fmt: skip


@pytest.mark.parametrize("name", HARM)
def test_a_harmed_log_is_found_out(name):
    lines = chain()
    assert check(lines) == Head(9, lines[-1].hash)
    with pytest.raises(StoreError, match="audit log"):
        check(HARM[name](lines))


def test_a_head_finds_out_what_the_chain_alone_cannot():
    lines = chain()
    heads = [Head(each.number, each.hash) for each in lines]
    assert check(lines, [START, *heads]) == heads[-1]
    assert check(lines[:-1]) == heads[-2], "a tail that was cut off leaves a good chain"
    with pytest.raises(StoreError, match="ends at line 8 and had a line 9: its end was cut off"):
        check(lines[:-1], heads)
    again = [*lines[:4], follow(heads[3], "operator", "tally", "", 2e9)]
    assert check(again).number == 5, "and so does one that was written anew"
    with pytest.raises(StoreError, match=r"Line 5 .* written anew"):
        check(again, [heads[4]])
    with pytest.raises(StoreError, match="Line 5 "):
        check(lines, [heads[4], Head(5, bytes(32))])
    assert Head.of(str(heads[4])) == heads[4]
    for text in ("", "5", "5:abc", f"x:{'0' * 64}", f"{'9' * 19}:{'0' * 64}"):
        with pytest.raises(StoreError, match="A head is"):
            Head.of(text)


def test_a_file_is_the_same_log():
    lines = chain()
    rows = [f"{line}\n" for line in lines]
    assert list(read_lines(rows)) == lines
    for bad in ("", "x y", f"{'0' * 64} 7", f"{'0' * 64} [", rows[3][1:], '{"number": 1}'):
        with pytest.raises(StoreError, match="Row 4 of the file is no line"):
            list(read_lines([*rows[:3], bad, *rows[4:]]))
    with pytest.raises(StoreError, match="has line 5 where line 4 belongs"):
        check(read_lines(rows[:3] + rows[4:]))


def told(service):
    """Who did what, since the service began."""
    with service.opened() as store:
        lines = list(store.audit_lines())
        assert check(lines, [store.audit_head()]) == store.audit_head()
    forms = [line.fields for line in lines]
    return [
        (form["who"], form["what"], form["on"]) for form in forms if form["who"][:8] == "analyst:"
    ]


def test_what_analysts_do_is_written_before_they_are_answered(start):
    service = start(slots="drawn")
    who, prefix = "analyst:analyst", service.surveys[0].id[:16]
    service.send([{"slot": "1", "value": "1"}] * 200)
    assert told(service) == [], "what participants send is nobody's business"
    for _ in range(3):
        service.get("/v1/release")
        service.get("/metrics")
    service.get("/v1/release/marginal", attributes=["a2", "a0"], level=0.9)
    assert told(service) == [
        (who, "look", f"/v1/release {prefix}"),
        (who, "look", f"/v1/release/marginal {prefix} a2 a0"),
    ]
    before = len(told(service))
    for _ in range(2):
        service.get("/v1/release/tables.csv")
    assert told(service)[before:] == [(who, "export", f"/v1/release/tables.csv {prefix}")] * 2
    service.clock.now += 1
    service.get("/v1/release")
    assert told(service)[-1] == (who, "look", f"/v1/release {prefix}")
    with service.opened() as store:
        token = store.add_analyst("bob", ["operate"], None, NOW)
    headers = {"Authorization": f"Bearer {token}"}
    assert service.client.get("/v1/release/report", headers=headers).status_code == 403
    assert told(service)[-1] == ("analyst:bob", "refused export", f"/v1/release/report {prefix}")


def test_nothing_that_was_typed_is_written(small):
    service = small(slots="drawn")
    service.send([{"slot": "1", "value": "1"}] * 200)
    secret = "Rumpelstiltskin"
    for query in (
        {"attributes": ["a0", secret]},
        {"attributes": "a0", "consistency": secret},
        {"attributes": "a0", "level": secret},
        {"attributes": "a0", "survey": secret},
        {"attributes": "a0", f"label[{secret}]": secret},
        {secret: secret},
    ):
        assert service.get("/v1/release/marginal", **query).status_code >= 400
    service.get(f"/v1/release/tables.{secret}")
    service.get(f"/{secret}")
    with service.opened() as store:
        assert secret not in str([line.text for line in store.audit_lines()])


def test_whoever_cannot_be_written_down_is_not_answered(small, monkeypatch):
    service = small(slots="drawn")
    monkeypatch.setattr(service.collector.store, "audit", lambda *_: 1 / 0)
    assert service.get("/v1/release").status_code == 500
    monkeypatch.undo()
    assert service.get("/v1/release").status_code == 200


def test_what_operators_change_is_written_with_it(url, monkeypatch):
    monkeypatch.delenv("SUDO_USER", raising=False)
    with open_store(url) as store:
        from deniable.server.serve import new_token, prepare

        prepare(store, [survey()], Rules())
        prepare(store, [survey()], Rules())  # it is there already: nothing changes
        new_token(store)
        store.issue(3)
        store.issue_ids(2)
        store.rotate("id", NOW)
        store.retire("id", 0, NOW, breaks=True)
        store.advance()
        for what in (lambda: store.retire("id", 0, NOW), lambda: store.add_analyst("", [])):
            with pytest.raises(StoreError):
                what()
        forms = [line.fields for line in store.audit_lines()]
        assert [(form["what"], form["on"]) for form in forms] == [
            ("serve", f"survey {survey().id[:16]}"),
            ("add analyst", "analyst: look export operate"),
            ("issue", "3 ids"),
            ("issue", "2 ids"),
            ("rotate", "id key 1"),
            ("retire", "id key 0"),
            ("advance", ""),
        ]
        assert {form["who"] for form in forms} == {f"operator:{pwd.getpwuid(os.getuid()).pw_name}"}
        assert [form["number"] for form in forms] == list(range(1, 8))
        keys = [bytes(each) for (each,) in store.run("SELECT material FROM keys") if each]
        assert not any(key.hex() in json.dumps(forms) for key in keys)


@pytest.mark.parametrize(
    ("login", "who"), [("alice", "operator:alice"), ("a b\n", None), ("", None), ("é", None)]
)
def test_a_command_is_of_who_called_sudo(tmp_path, monkeypatch, login, who):
    monkeypatch.setenv("SUDO_USER", login)
    with open_store(f"sqlite:///{tmp_path / 's.db'}") as store:
        store.note("tally")
        own = f"operator:{pwd.getpwuid(os.getuid()).pw_name}"
        assert [line.fields["who"] for line in store.audit_lines()] == [who or own]


def test_two_processes_write_one_log(url):
    """Each line follows the one before, whoever wrote that."""
    with Service(url, (survey(),), Rules("drawn")) as first, Service(url, (), Rules()) as second:
        second.token = first.token  # the second start made another one
        with first.opened() as store:
            first.token = second.token = store.add_analyst("both", ["look", "export"], None, NOW)
        for _ in range(5):
            first.get("/v1/release/report")
            second.get("/v1/release/report")
            first.ids(1)
        assert len(told(first)) == 10
