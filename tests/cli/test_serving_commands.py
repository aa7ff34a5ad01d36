"""The commands of a collector."""

from __future__ import annotations

import importlib
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

from deniable import Schema, Survey, Tally
from deniable.server.database import UnavailableError
from deniable.server.intake import Intake
from deniable.server.serve import Rules, bound, prepare
from deniable.server.sqlite import SqliteStore
from deniable.server.stores import open_store

Run = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with 200 reports to each of two surveys: by subset, and unary and kept."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    surveys = [Survey(Schema.binary(*"abcd"), 2, 1.1, name) for name in ("InpHT", "MargRR")]
    with open_store(url) as opened:
        prepare(opened, surveys, Rules("drawn", None, True))
        intake = Intake(opened.seal(), opened.surveys(), lambda: 0)
        rng = np.random.default_rng(1)
        for survey, values in zip(surveys, (2, 16), strict=True):
            forms = [
                {
                    "survey": survey.id,
                    "slot": int(rng.integers(survey.slots)),
                    "value": int(rng.integers(values)),
                }
                for _ in range(200)
            ]
            body = json.dumps(forms).encode()
            sent, _ = intake.read(body, None)
            opened.commit([intake.reports(sent, body, None)[0]])
    return url


def ids(store: str) -> list[str]:
    with open_store(store) as opened:
        return [held.survey.id for held in opened.surveys()]


def test_issued_ids_differ_and_go_on(run: Run, tmp_path: Path) -> None:
    first = run("issue", "--count", 3, "--store", "sqlite:///s.db")
    assert first.code == 0, first.err
    assert "holds no survey yet" in first.err, "it may be a misspelt one"
    more = run("issue", "--count", 2, "--store", "s.db", "--json").document
    assert more["issued"] == 2
    every = first.out.split() + more["ids"]
    assert len(set(every)) == 5
    ended = run("issue", "--count", 4, "--store", "s.db", "-o", "ids.txt")
    assert "4 participant ids are in ids.txt" in ended.out
    assert not set((tmp_path / "ids.txt").read_text().split()) & set(every)
    assert (tmp_path / "ids.txt").stat().st_mode & 0o777 == 0o600
    assert run("issue", "--count", 0).code == 2


def test_a_tally_straight_from_the_store(run: Run, store: str, tmp_path: Path) -> None:
    first, second = ids(store)
    ended = run("tally", store, "-o", "a.tally", "--survey-id", first[:6], "--json")
    assert ended.document == {"survey": first, "people": 200, "simulated": False}
    assert Tally.load(tmp_path / "a.tally").people == 200
    assert run("tally", store, "-o", "b.tally", "--survey-id", second).code == 0
    with open_store(store) as opened:
        (tmp_path / "one.json").write_text(opened.survey(first).survey.canonical())
    (tmp_path / "other.json").write_text(Survey(Schema.binary(*"abc"), 2, 1.1).to_json())
    assert run("tally", store, "--survey", "one.json", "-o", "named.tally").code == 0
    assert Tally.load(tmp_path / "named.tally") == Tally.load(tmp_path / "a.tally")
    for arguments, said in (
        (("-o", "c.tally"), "several surveys"),
        (("-o", "c.tally", "--survey-id", "zzz"), "does not hold that survey"),
        (("-o", "a.tally", "--survey-id", first), "exists already"),
        (("-o", "c.tally", "--append"), "alone"),
        (("-o", "c.tally", "--survey", "one.json", "--survey-id", first), "give one"),
        (("-o", "c.tally", "--survey", "other.json"), "does not hold that survey"),
    ):
        ended = run("tally", store, *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
    assert "--survey" in run("tally", "x.parquet", "-o", "x.tally").err
    assert run("tally", "sqlite:///nothing.db", "-o", "x.tally").code == 2
    assert run("release", "a.tally", "-o", "a.html").code == 0


def test_a_store_s_people_are_not_counted_twice(run: Run, store: str) -> None:
    """Each tally of a store counts all its people: Monday's and Tuesday's do not add up."""
    first, _ = ids(store)
    for name in ("monday", "tuesday"):
        assert run("tally", store, "-o", f"{name}.tally", "--survey-id", first).code == 0
    twice = run("release", "monday.tally", "tuesday.tally", "-o", "both.csv")
    assert (twice.code, twice.out) == (2, "")
    assert "tuesday.tally is named twice, or counts reports that another tally counts" in twice.err
    assert "hold the same people" in run("compare", "monday.tally", "tuesday.tally").err
    assert run("backup", store, "copy.db").code == 0
    assert run("tally", "sqlite:///copy.db", "-o", "copy.tally", "--survey-id", first).code == 0
    assert run("release", "monday.tally", "copy.tally", "-o", "both.csv").code == 2
    assert run("release", "monday.tally", "tuesday.tally", "-o", "b.csv", "--again").code == 0


def test_reports_leave_the_store_in_no_order(run: Run, store: str, tmp_path: Path) -> None:
    for name in ids(store):
        ended = run("reports", store, "-o", "r.parquet", "--survey-id", name, "--json")
        assert ended.document == {"survey": name, "reports": 200}
        with open_store(store) as opened:
            held = opened.survey(name)
            survey = Survey.of(held.survey)
            assert survey.tally(tmp_path / "r.parquet") == Tally.of(opened.tally(held))
    assert run("reports", store, "-o", "r.csv").code == 2


def test_a_backup_is_the_store(run: Run, store: str, tmp_path: Path) -> None:
    path = store.removeprefix("sqlite:///")
    assert run("backup", store, "copy.db").code == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert run("restore", "copy.db", "sqlite:///again.db").code == 0
    assert (tmp_path / "again.db").stat().st_mode & 0o777 == 0o600
    with open_store(store) as one, open_store("sqlite:///again.db") as two:
        assert one.seal().issue(5) == two.seal().issue(5)
        for held in one.surveys():
            assert one.tally(held) == two.tally(held)
    for arguments, said in (
        (("restore", "copy.db", path), "exists already"),
        (("restore", "nothing.db", "new.db"), "no file"),
        (("restore", "copy.db", "postgresql://x/y"), "pg_restore"),
        (("backup", "nothing.db", "x.db"), "no store"),
    ):
        ended = run(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
    Path(tmp_path / "bad.db").write_text("nonsense " * 1000)
    sqlite3.connect(tmp_path / "other.db").close()
    for name in ("bad.db", "other.db"):
        ended = run("restore", name, "new.db")
        assert ended.code == 2
        assert "no copy of a store" in ended.err
    assert sorted(p.name for p in tmp_path.glob("new*")) == []


def test_a_restored_store_gives_nobody_a_serial_that_somebody_has(run: Run, store: str) -> None:
    """Ids and tokens of after the copy: whoever comes to the restored store is somebody else."""
    assert run("backup", store, "copy.db").code == 0
    before = set(run("issue", "--count", 50, "--store", store).out.split())
    ended = run("restore", "copy.db", "again.db")
    assert "serials that nobody had before" in " ".join(ended.out.split())
    assert run("restore", "copy.db", "third.db").code == 0
    for name in ("again.db", "third.db"):
        after = set(run("issue", "--count", 50, "--store", name).out.split())
        assert not after & before
        before |= after
    with open_store(store) as one, open_store("again.db") as two:
        known, new = (each._enrol([b"0123456789abcdef"]) for each in (one, two))
        assert known != new
        held = two.surveys()[0]
        participant = new[b"0123456789abcdef"]
        assert held.key(participant) < two.surveys()[1].key(0)
        assert 0 <= held.slot(participant) < held.survey.slots
    assert "nobody had before" in run("advance", "again.db").out
    assert run("advance", "nothing.db").code == 2


def test_a_restored_store_lets_in_who_was_let_out_since_and_says_so(run: Run, store: str) -> None:
    assert run("analysts", "add", "alice", "--store", store).code == 0
    assert run("backup", store, "copy.db").code == 0
    assert run("analysts", "revoke", "alice", "--store", store).code == 0
    told = " ".join(run("restore", "copy.db", "again.db").out.split())
    assert "Analysts who were let out since the copy," in told
    assert "are good again: revoke and retire them anew." in told
    rows = run("analysts", "list", "--store", "again.db", "--json").document["analysts"]
    assert [row["token"] for row in rows if row["name"] == "alice"] == ["valid"]


def test_a_provider_that_cannot_be_used_starts_nothing(run: Run, tmp_path: Path) -> None:
    for more in ((), ("--check",)):
        ended = run("serve", "--oidc", "none.json", "--store", "new.db", *more)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert "none.json cannot be read: No such file or directory." in ended.err
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("reason", ["database or disk is full", ""])
def test_a_store_that_fails_meanwhile_is_one_sentence(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    def fail(*_: object) -> None:
        raise UnavailableError(reason)

    monkeypatch.setattr(SqliteStore, "note", fail)
    done = run("backup", store, "copy.db")
    assert done.code == 2
    assert f"cannot be used just now: {reason or 'nobody answers'}." in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("rest", ["-wal", "-shm"])
def test_a_broken_store_is_not_played_into_a_restored_one(
    run: Run, store: str, tmp_path: Path, rest: str
) -> None:
    assert run("backup", store, "copy.db").code == 0
    (tmp_path / f"new.db{rest}").write_bytes(b"left over")
    ended = run("restore", "copy.db", "new.db")
    assert ended.code == 2
    assert f"new.db{rest}" in ended.err
    assert not (tmp_path / "new.db").exists()


def test_a_server_that_cannot_start_says_why(run: Run, tmp_path: Path) -> None:
    survey = tmp_path / "s.json"
    survey.write_text(Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT").to_json())
    for arguments, said in (
        ((), "no store"),
        (("nothing.json",), "no survey nothing.json"),
        ((survey, "--slots", "mine"), "--slots must be 'assigned', 'hashed' or 'drawn'"),
        ((survey, "--participants", "all"), "--participants must be 'open' or 'issued'"),
        ((survey, "--slots", "hashed", "--participants", "open"), "need issued ids"),
        ((survey, "--keep", "all"), "'counts' or 'reports'"),
        ((survey, "--host", "no.such.host.invalid"), "Cannot listen"),
        ((survey, "--port", "99999"), "Cannot listen"),
        ((survey, "--allow-origin", "example.org"), "A web origin is"),
        ((survey, "--allow-origin", "https://Example.org"), "A web origin is"),
        ((survey, "--allow-origin", "https://example.org/"), "A web origin is"),
        ((survey, "--store", "mysql://x"), "A store is"),
        ((survey, "--store", "postgresql://127.0.0.1:1/x"), "cannot be opened"),
    ):
        ended = run("serve", "--port", "0", *arguments)  # of two, the last one counts
        assert (ended.code, ended.out) == (2, ""), (arguments, ended.err)
        assert said in ended.err
        assert "Traceback" not in ended.err
    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        ended = run("serve", survey, "--store", "new.db", "--port", taken.getsockname()[1])
        assert "Cannot listen" in ended.err
        assert "token" not in ended.err
    assert not (tmp_path / "new.db").exists()


def test_without_the_extra_it_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    survey = tmp_path / "s.json"
    survey.write_text(Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT").to_json())
    monkeypatch.setattr("deniable.server", importlib.import_module("deniable.server"))  # put back
    for name in [name for name in sys.modules if name.startswith("deniable.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    ended = run("serve", survey)
    assert ended.code == 2
    assert "in a clone of deniable, pip install '.[server]'" in ended.err
