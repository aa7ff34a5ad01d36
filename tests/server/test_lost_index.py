"""The index of SQLite's log (-shm) is removed under a collector, and a second one comes.

Without the index they do not know of each other: both would write over each other's pages, and
acknowledge everything.
"""

from __future__ import annotations

import signal
import time
from types import SimpleNamespace

import pytest
from crashing import Crash, Process, started

from deniable.errors import StoreError
from deniable.server import sqlite_files
from deniable.server.database import UnavailableError
from deniable.server.stores import open_store

AT_ONCE = "import deniable.server.sqlite_files as f; f.PATIENCE = 0.2\n"
NO_WATCH = "import deniable.server.sqlite_files as f; f.Files.check = lambda _: None\n"
NO_CHECK = "import deniable.server.sqlite as s; s.check_whole = lambda _: None\n"


def send(crash, process, numbers):
    """Send requests to a collector; return the statuses, and remember what was acknowledged."""
    statuses = []
    for number in numbers:
        crash.sent[number] = crash.body(number)
        status, _ = process.post(crash.sent[number])
        statuses.append(status)
        if status == 200:
            crash.acknowledged.add(number)
    return statuses


@pytest.fixture
def crash(tmp_path):
    return Crash(f"sqlite:///{tmp_path / 's.db'}", "assigned")


def test_without_its_index_a_store_is_opened_by_nobody_else(crash, tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "PATIENCE", 0.2)  # nobody is just opening it
    with started(crash.url) as first:
        assert send(crash, first, range(10)) == [200] * 10
        (tmp_path / "s.db-shm").unlink()
        second = Process(crash.url, first=AT_ONCE)
        with pytest.raises(AssertionError, match=r"in use, and its file s\.db-shm was removed"):
            second.start()
        assert second.end() == 2
        with pytest.raises(StoreError, match="end every process"):
            open_store(crash.url, create=False)
        assert send(crash, first, range(10, 15)) == [503] * 5
    with started(crash.url) as first, started(crash.url) as second:  # several may share it as ever
        assert send(crash, first, range(10, 20)) == [200] * 10
        assert send(crash, second, range(20, 30)) == [200] * 10
    crash.check()
    assert len(crash.acknowledged) == 30


def test_a_collector_that_lost_its_index_acknowledges_nothing(crash, tmp_path):
    """Whoever opens the store without looking, the first collector notices."""
    with started(crash.url) as first:
        assert send(crash, first, range(10)) == [200] * 10
        (tmp_path / "s.db-shm").unlink()
        with started(crash.url, first=NO_CHECK) as second:
            for start in range(10, 110, 10):
                assert send(crash, first, range(start, start + 5)) == [503] * 5
                assert send(crash, second, range(start + 5, start + 10)) == [200] * 5
            assert first.end(signal.SIGKILL) != 0
    crash.check()
    assert len(crash.acknowledged) == 60


def test_the_check_finds_what_two_indexes_do(crash, tmp_path):
    """Planted: nobody watches, nobody looks. All is acknowledged, and not all is there."""
    blind = NO_WATCH + NO_CHECK
    with started(crash.url, first=blind) as first:
        assert send(crash, first, range(10)) == [200] * 10
        (tmp_path / "s.db-shm").unlink()
        with started(crash.url, first=blind) as second:
            for start in range(10, 210, 10):
                assert send(crash, first, range(start, start + 5)) == [200] * 5
                assert send(crash, second, range(start + 5, start + 10)) == [200] * 5
    with pytest.raises((AssertionError, KeyError, StoreError, UnavailableError)):
        crash.check()


def test_what_is_removed_during_a_commit_is_noticed_before_the_answer(tmp_path):
    """The commit may have been written over by then: who sent it sends it again."""
    with open_store(str(tmp_path / "s.db")) as store:
        connection = store._connection

        class Late:
            in_transaction = False

            def execute(self, statement, *values):
                found = connection.execute(statement, *values)
                if statement == "COMMIT":
                    (tmp_path / "s.db-shm").rename(tmp_path / "away")
                return found

        store._connection = Late()
        with (
            pytest.raises(UnavailableError, match=r"s\.db-shm is not the file"),
            store.transaction(),
        ):
            pass
        store._connection = connection
        (tmp_path / "away").rename(tmp_path / "s.db-shm")


def test_who_is_just_opening_a_store_is_waited_for(tmp_path, monkeypatch):
    """For a moment a store is open and has no index: that is no harm."""
    path = tmp_path / "s.db"
    with open_store(str(path)):
        path.with_name("s.db-shm").rename(tmp_path / "away")
        slept = []

        def sleep(seconds):
            slept.append(seconds)
            (tmp_path / "away").rename(tmp_path / "s.db-shm")

        clock = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
        monkeypatch.setattr(sqlite_files, "time", clock)
        with open_store(str(path), create=False) as second:
            assert second.surveys() == []
        assert len(slept) == 1
