"""A store of 0.2.0 opens in this version, nothing lost; the golden one is that release's own work."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from server_parts import ROOT, new_schema, survey
from starlette.testclient import TestClient
from typer.testing import CliRunner

from deniable.cli import app
from deniable.errors import StoreError
from deniable.server import sqlite
from deniable.server.app import create_app
from deniable.server.collector import Collector
from deniable.server.migrations import FORMAT, FORMAT_OF, OLDEST, STEPS
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store

STORES = ROOT / "tests" / "vectors" / "stores"
GOLDEN = json.loads((STORES / "0.2.0.json").read_text("utf-8"))
OLD_TABLES = [
    "settings",
    "surveys",
    "serials",
    "tokens",
    "spent",
    "answered",
    "counts",
    "masks",
    "remembered",
    "checkpoints",
]


def rows(store, table, columns="*"):
    return sorted(
        tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row)
        for row in store.run(f"SELECT {columns} FROM {table}")
    )


def columns(store, table):
    """The names and types of a table's columns."""
    if store.url.startswith("sqlite"):
        return [
            (name, kind.lower(), key)
            for _, name, kind, _, _, key in store.run(f"PRAGMA table_info({table})")
        ]
    return store.run(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
        table,
    )


def tables(store):
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if store.url.startswith("sqlite")
        else "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    return sorted(name for (name,) in store.run(query))


def golden():
    """The golden store's columns and rows by table, without a look through this version."""
    found = {}
    with closing(sqlite3.connect(f"file:{STORES / '0.2.0.db'}?mode=ro", uri=True)) as connection:
        for table in OLD_TABLES:
            cursor = connection.execute(f"SELECT * FROM {table}")
            found[table] = ", ".join(each[0] for each in cursor.description), sorted(cursor)
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request, tmp_path):
    """The URL of a copy of the golden store, of each kind."""
    if request.param == "sqlite":
        shutil.copyfile(STORES / "0.2.0.db", tmp_path / "old.db")
        return f"sqlite:///{tmp_path / 'old.db'}"
    import psycopg

    url = new_schema(request.getfixturevalue("postgres"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((STORES / "0.2.0.sql").read_bytes())
    return url


def test_the_golden_store_has_the_format_of_its_version():
    assert dict(golden()["settings"][1])["format"] == str(FORMAT_OF["0.2.0"]).encode()


def test_nothing_is_lost(old):
    before = golden()
    assert all(before[table][1] for table in OLD_TABLES if table != "checkpoints")
    with open_store(old, create=False, migrate=True) as store:
        assert store.setting("format") == str(FORMAT).encode()
        for table in OLD_TABLES[1:]:
            assert rows(store, table, before[table][0]) == before[table][1], table
        settings = dict(before["settings"][1])
        assert store.setting("secret") == settings["secret"]
        assert rows(store, "analysts") == [
            ("analyst", "look export operate", settings["analyst"], None)
        ]
        assert store.setting("analyst") is None
    with open_store(old, create=False, migrate=True) as again:
        assert again.setting("format") == str(FORMAT).encode()


def outcome(client, ticket, value):
    response = client.post("/v1/reports", json={"ticket": ticket, "value": value})
    return response.status_code, response.json().get("type", "").rpartition("/")[2]


def test_all_that_people_hold_is_still_good(old):
    """Tokens, tickets, ids, slots, the analysts' token: also after both keys were rotated."""
    collector = Collector(
        lambda: open_store(old, create=False, migrate=True), clock=lambda: GOLDEN["hour"]
    )
    headers = {"Authorization": f"Bearer {GOLDEN['analyst']}"}
    ids = set(GOLDEN["ids"])
    with TestClient(create_app(collector)) as client, open_store(old, migrate=True) as store:
        for turn in range(2):
            for row in GOLDEN["told"]:
                form = {"token": row["token"], "survey": row["survey"]}
                asked = client.post("/v1/questions", json=form)
                if row["value"] is None:
                    assert asked.json()["question"]["slot"] == row["slot"]
                    assert (asked.json()["ticket"] == row["ticket"]) is not turn
                else:
                    assert asked.status_code == 409
                    assert outcome(client, row["ticket"], row["value"]) == (200, "")
                    assert outcome(client, row["ticket"], str(1 - int(row["value"])))[0] == 409
            for row in GOLDEN["answered"]:
                if row["value"] is not None:
                    assert outcome(client, row["ticket"], row["value"]) == (409, "answered")
            hashed = client.post("/v1/reports", json=GOLDEN["hashed"]["sent"]).json()
            assert hashed == {"accepted": len(GOLDEN["hashed"]["sent"]), "refused": []}
            release = client.get(f"/v1/release?survey={GOLDEN['surveys']['open']}", headers=headers)
            assert release.json()["people"] == 0, "fewer than 100 are shown"
            held = store.survey(GOLDEN["surveys"]["open"])
            assert store.people(held) == 24, "a repeat was counted"
            for kind in ("ticket", "id"):
                store.rotate(kind, GOLDEN["hour"])
            assert store.issue_ids(1)[0] not in ids
        unsent = client.post("/v1/reports", json=GOLDEN["hashed"]["unsent"]).json()
        assert unsent["accepted"] == len(GOLDEN["hashed"]["unsent"])
        headers |= {"Idempotency-Key": GOLDEN["batch"]["key"], "Content-Type": "application/json"}
        assert client.post(
            "/v1/reports", content=GOLDEN["batch"]["body"], headers=headers
        ).json() == {"accepted": 25, "refused": []}
        assert store.people(store.survey(GOLDEN["surveys"]["drawn"])) == 25


def test_it_has_the_tables_of_a_new_one(old, tmp_path, request):
    fresh = (
        f"sqlite:///{tmp_path / 'new.db'}"
        if old.startswith("sqlite")
        else new_schema(request.getfixturevalue("postgres"))
    )
    with open_store(old, migrate=True) as store, open_store(fresh) as new:
        assert tables(store) == tables(new)
        for table in tables(new):
            assert columns(store, table) == columns(new, table)


def test_a_store_of_a_newer_version_is_refused(old):
    with open_store(old, migrate=True) as store:
        store.change("format", str(FORMAT + 1).encode())
        before = {table: rows(store, table) for table in tables(store)}
    with pytest.raises(StoreError, match=rf"newer version .*format {FORMAT + 1}; .*{FORMAT}"):
        open_store(old, migrate=True)
    with pytest.raises(StoreError, match="install that version"):
        open_store(old, create=False, migrate=True)
    assert before["counts"]


@pytest.mark.parametrize("value", ["X'78'", "NULL", "X''"])
def test_a_store_of_no_version_is_refused(tmp_path, value):
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as store:
        store.run(f"UPDATE settings SET value = {value} WHERE name = 'format'")
    with pytest.raises(StoreError, match=r"of which version it is|'format' is harmed"):
        open_store(url)


COMMANDS = {
    "tally": ["tally", "{}", "-o", "out.tally", "--survey-id"],
    "reports": ["reports", "{}", "-o", "out.parquet", "--survey-id"],
    "issued": ["issued", "{}", "--survey-id"],
    "issue": ["issue", "--count", "1", "--store", "{}"],
    "close": ["close", "{}", "--survey-id"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_that_is_too_old_is_left_as_it_is(tmp_path, monkeypatch, name):
    """Its collector may be running, and could not start again."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "old.db"
    shutil.copyfile(STORES / "0.2.0.db", path)
    before = path.read_bytes()
    words = [word.format(f"sqlite:///{path}") for word in COMMANDS[name]]
    words += [GOLDEN["surveys"]["open"]] if words[-1] == "--survey-id" else []
    result = CliRunner().invoke(app, words)
    assert "deniable migrate" in str(result.exception)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["old.db"]
    assert CliRunner().invoke(app, ["migrate", f"sqlite:///{path}"]).exit_code == 0
    result = CliRunner().invoke(app, words)
    assert "deniable migrate" not in str(result.exception)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_of_the_version_before_is_used_as_it_is(kind, tmp_path, request):
    """By whoever counts it, while its collector runs: its tables do not change."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    if kind == "postgresql":
        url = new_schema(request.getfixturevalue("postgres"))
    asked = survey()
    with open_store(url) as running:
        prepare(running, [asked], Rules("drawn"))
        running.run("DROP TABLE snapshots")
        running.change("format", str(OLDEST).encode())
        names = tables(running)
        told = ["tally", url, "-o", str(tmp_path / "t.tally")]
        assert CliRunner().invoke(app, told).exit_code == 0
        assert running.setting("format") == str(OLDEST).encode()
        assert tables(running) == names
        with open_store(url, create=False) as another:
            assert another.people(another.surveys()[0]) == 0
            another.issue_ids(1)
        assert running.format() == OLDEST
        assert CliRunner().invoke(app, ["migrate", url]).exit_code == 0
        assert running.format() == FORMAT
        assert tables(running) == sorted([*names, "snapshots"])


def test_a_copy_that_is_only_read_keeps_its_bytes(tmp_path):
    with open_store(f"sqlite:///{tmp_path / 's.db'}") as store:
        prepare(store, [survey()], Rules("drawn"))
        store.back_up(tmp_path / "copy.db")
    before = (tmp_path / "copy.db").read_bytes()
    with open_store(f"sqlite:///{tmp_path / 'copy.db'}", create=False) as copy:
        assert copy.people(copy.surveys()[0]) == 0
    assert (tmp_path / "copy.db").read_bytes() == before


def test_many_open_it_at_once(old):
    """Whoever comes first migrates it; the others wait, and find it done."""
    start = Barrier(4)

    def people(_):
        start.wait()
        with open_store(old, create=False, migrate=True) as store:
            return [store.people(each) for each in store.surveys()]

    with ThreadPoolExecutor(4) as pool:
        assert len(set(map(tuple, pool.map(people, range(4))))) == 1
    test_nothing_is_lost(old)


def test_a_store_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    """Root may write anything, so SQLite is told that this one may not."""
    path = tmp_path / "old.db"
    shutil.copyfile(STORES / "0.2.0.db", path)
    connect = sqlite3.connect
    read_only = {"uri": True}
    monkeypatch.setattr(
        sqlite.sqlite3, "connect", lambda at, **o: connect(f"file:{at}?mode=ro", **o, **read_only)
    )
    monkeypatch.setattr(sqlite.os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="it and its folder must be writable"):
        open_store(f"sqlite:///{path}", migrate=True)
    assert path.read_bytes() == (STORES / "0.2.0.db").read_bytes()


KILLED = """
import os, signal, sys
from deniable.server import database
from deniable.server.stores import open_store
url, left = sys.argv[1], int(sys.argv[2])
class Steps(dict):
    def __getitem__(self, step):
        for number, statement in enumerate(super().__getitem__(step)):
            if number == left:
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
database.STEPS = Steps(database.STEPS)
set_up = database.Database.set_up
def last(self, *words, **options):
    set_up(self, *words, **options)
    os.kill(os.getpid(), signal.SIGKILL)  # all is done, and nothing is committed
database.Database.set_up = last
open_store(url, migrate=True)
"""


@pytest.mark.parametrize("after", [0, 1, 4, 6, len(STEPS[2]) - 1, len(STEPS[2])])
def test_a_migration_that_is_killed_leaves_the_old_store(old, after):
    done = subprocess.run([sys.executable, "-c", KILLED, old, str(after)], check=False)
    assert done.returncode == -signal.SIGKILL
    if old.startswith("sqlite"):
        with closing(sqlite3.connect(Path(old.removeprefix("sqlite:///")))) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            assert "keys" not in names
            form = connection.execute("SELECT value FROM settings WHERE name = 'format'")
            assert form.fetchall() == [(b"1",)]
    test_nothing_is_lost(old)
