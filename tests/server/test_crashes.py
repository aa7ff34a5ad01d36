"""Killed, stopped, cut off: what was acknowledged is there, once."""

from __future__ import annotations

import http.client
import json
import secrets
import signal
import threading
from contextlib import nullcontext

import pytest
from crashing import Crash, started
from server_parts import Service, new_schema, problem, survey, until

from deniable.server.database import UnavailableError
from deniable.server.serve import Rules, new_token, prepare
from deniable.server.stores import open_store


def test_what_was_acknowledged_survives_being_killed(url):
    crash = Crash(url, "assigned")
    crash.run(kills=4)
    crash.check()
    assert len(crash.acknowledged) > 50


def test_keys_survive_being_killed(tmp_path):
    crash = Crash(f"sqlite:///{tmp_path / 's.db'}", "drawn")
    crash.run(kills=3)
    crash.check()
    assert len(crash.acknowledged) > 50


def test_the_check_finds_a_report_that_was_lost_or_counted_twice(tmp_path):
    """Planted: a count one too high, one too low, a spent ticket that is gone."""
    crash = Crash(f"sqlite:///{tmp_path / 's.db'}", "assigned")
    with started(crash.url) as process:
        for number in range(20):
            crash.sent[number] = crash.body(number)
            assert process.post(crash.sent[number])[0] == 200
            crash.acknowledged.add(number)
    crash.check()
    for harm in (
        "UPDATE counts SET count = count + 1 WHERE slot = (SELECT max(slot) FROM counts)",
        "DELETE FROM counts WHERE slot = (SELECT max(slot) FROM counts)",
        "DELETE FROM spent WHERE key = (SELECT max(key) FROM spent)",
    ):
        with open_store(crash.url) as store:
            before = {t: store.run(f"SELECT * FROM {t}") for t in ("counts", "spent")}
            store.run(harm)
        with pytest.raises((AssertionError, KeyError)):
            crash.check()
        with open_store(crash.url) as store:
            for table, rows in before.items():
                store.run(f"DELETE FROM {table}")
                for row in rows:
                    store.run(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", *row)
    crash.check()


def test_a_stop_answers_what_came_in(url):
    """SIGTERM while requests wait: all of those that were taken are answered, and stored."""
    with open_store(url) as store:
        prepare(store, [survey()], Rules("drawn"))
    answers = []
    with started(url) as process:

        def send(number):
            body = json.dumps([{"slot": "1", "value": "1"}] * 1000).encode()
            try:
                answers.append(process.post(body, f"{number:032d}")[0])
            except (OSError, http.client.HTTPException):
                answers.append(0)

        senders = [threading.Thread(target=send, args=(i,)) for i in range(20)]
        for each in senders:
            each.start()
        until(lambda: answers)  # one is answered, and others wait
        assert process.end(signal.SIGTERM) == 0
        for each in senders:
            each.join()
        assert "Traceback" not in process.said
    taken = answers.count(200)
    assert set(answers) <= {200, 503, 0}
    assert taken > 0
    with open_store(url) as store:
        assert store.people(store.surveys()[0]) == 1000 * taken


def test_a_lost_connection_is_made_anew(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("CREATE DATABASE lost")
    url = postgres.replace("/postgres?", "/lost?")
    with Service(url, (survey(),), Rules("drawn")) as service:
        report = {"slot": "1", "value": "1"}
        assert service.send(report).status_code == 200
        with psycopg.connect(postgres, autocommit=True) as admin:
            admin.execute("ALTER DATABASE lost ALLOW_CONNECTIONS false")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'lost'"
            )
            for _ in range(3):
                response = service.send(report)
                assert problem(response, "unavailable")
                assert response.headers["retry-after"]
            assert problem(service.get("/v1/release"), "unavailable")
            admin.execute("ALTER DATABASE lost ALLOW_CONNECTIONS true")
        assert service.send(report).status_code == 200
        assert service.people() == 2


@pytest.mark.parametrize("which", ["s.db", "s.db-wal", "s.db-shm"])
def test_a_lost_file_is_noticed_and_found_again(tmp_path, which):
    """SQLite goes on writing to a file that was moved away: that must not be acknowledged."""
    with Service(f"sqlite:///{tmp_path / 's.db'}", (survey(),), Rules("drawn")) as service:
        report = {"slot": "1", "value": "1"}
        assert service.send(report).status_code == 200
        (tmp_path / which).rename(tmp_path / "away")
        until(lambda: service.client.get("/healthz").status_code == 503)  # before anybody reports
        for _ in range(3):
            response = service.send(report)
            assert problem(response, "unavailable")
            assert response.headers["retry-after"]
        (tmp_path / which).write_bytes(b"")  # another file of that name is not it
        assert problem(service.send(report), "unavailable")
        (tmp_path / "away").rename(tmp_path / which)
        until(lambda: service.client.get("/healthz").status_code == 200)  # nor for it to get well
        assert service.send(report).status_code == 200
        assert service.people() == 2


def test_a_deleted_store_takes_no_report(tmp_path):
    with Service(f"sqlite:///{tmp_path / 's.db'}", (survey(),), Rules()) as service:
        ticket = service.ticket("somebody")
        for path in tmp_path.glob("s.db*"):
            path.unlink()
        assert problem(service.send({"ticket": ticket, "value": "1"}), "unavailable")
        assert problem(service.ask("somebody"), "unavailable")
        assert problem(service.get("/v1/release"), "unavailable")
    assert not list(tmp_path.iterdir())


def test_a_stuck_database_is_told_to_clients_and_to_whoever_watches(postgres, monkeypatch):
    import psycopg

    monkeypatch.setattr("deniable.server.postgres.PATIENCE", "4s")
    monkeypatch.setattr("deniable.server.writer.STUCK", 0.3)
    url = new_schema(postgres)
    with Service(url, (survey(),), Rules("drawn")) as service:
        report = {"slot": "1", "value": "1"}
        assert service.send(report).status_code == 200
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE counts")
            told = []
            sending = threading.Thread(target=lambda: told.append(service.send(report)))
            sending.start()
            until(lambda: service.client.get("/healthz").status_code == 503)
            assert not told
            assert problem(service.client.get("/healthz"), "unavailable")
            sending.join(60)
            assert problem(told[0], "unavailable")
            assert told[0].headers["retry-after"]
        assert service.send(report).status_code == 200
        assert service.client.get("/healthz").status_code == 200
        assert service.people() == 2


def test_a_database_that_allows_too_little_is_no_mistake_of_ours(postgres):
    """Somebody took rights away: reports wait for them (503), and commands say so in a sentence."""
    import psycopg

    url = new_schema(postgres)
    open_store(url).close()
    reader, schema = f"reader_{secrets.token_hex(4)}", url.rpartition("%3D")[2]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {reader} LOGIN")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {reader}")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")
    with (
        open_store(url.replace("postgres:@", f"{reader}:@"), create=False) as store,
        pytest.raises(UnavailableError, match="permission denied"),
    ):
        store.note("backup")


@pytest.mark.parametrize("url", ["postgresql://me:hush@h/db", "postgresql://h/db?password=hush"])
def test_a_password_is_not_kept_where_it_is_shown(url, monkeypatch):
    from deniable.server.postgres import PostgresStore

    monkeypatch.setattr(PostgresStore, "transaction", lambda _: nullcontext())
    monkeypatch.setattr(PostgresStore, "run", lambda *_: [(True,)])
    monkeypatch.setattr(PostgresStore, "set_up", lambda *_, **__: None)
    shown = PostgresStore(url).url
    assert "hush" not in shown
    assert "db" in shown


def test_nobody_is_written_down(tmp_path):
    """Nothing of a request is logged, whatever is wrong with it."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as store:
        prepare(store, [survey()], Rules())
    with started(url) as process:
        told = process.post(b'{"token": "Rumpelstiltskin"}', path="/v1/questions")[1]
        report = json.dumps({"ticket": json.loads(told)["ticket"], "value": "1"}).encode()
        assert process.post(report)[0] == 200
        for body in (
            b"Rumpelstiltskin",
            b'{"token": "Rumpelstiltskin"}',
            b'{"ticket": "Rumpelstiltskin", "value": "1"}',
        ):
            process.post(body)
            process.post(body, path="/v1/questions")
            process.post(body, path="/Rumpelstiltskin")
        process.end()
    assert process.said == ""
    assert process.printed == ""
    for path in tmp_path.iterdir():
        assert b"127.0.0.1" not in path.read_bytes()
        assert b"Rumpelstiltskin" not in path.read_bytes()


def test_locks_are_not_lost_when_a_second_connection_opens(tmp_path):
    """Closing any handle of a file drops a process's locks on it, and SQLite lives by them.

    Without its locks, whoever else closes the store takes away the log that is being written to.
    """
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as store:
        prepare(store, [survey()], Rules("drawn"))
        token = new_token(store)
    report = b'{"slot": 1, "value": 1}'
    with started(url) as process:
        for number in range(1, 6):
            assert process.post(report)[0] == 200
            connection = http.client.HTTPConnection("127.0.0.1", process.port)
            headers = {"Authorization": f"Bearer {token}"}
            connection.request("GET", "/v1/release", headers=headers)  # opens one more
            assert json.loads(connection.getresponse().read())["people"] == 0  # too few
            connection.close()
            with open_store(url) as store:  # in this process, which is another one
                assert store.people(store.surveys()[0]) == number
        assert process.end(signal.SIGKILL) != 0
    with open_store(url) as store:
        assert store.people(store.surveys()[0]) == 5
