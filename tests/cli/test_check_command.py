"""`deniable check` on the command line: what it prints, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

from deniable import Schema, Survey
from deniable.server.checking import machine
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store

Run = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "_clock_state", lambda: 0)
    tmp_path.chmod(0o700)
    with open_store(f"sqlite:///{tmp_path / 's.db'}") as opened:
        prepare(opened, [Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT")], Rules())
    return tmp_path / "s.db"


def test_a_store_that_is_well(run: Run, store: Path) -> None:
    done = run("check", "--store", str(store))
    assert done.code == 0, done.out
    assert "Well: files, folder, disk, store, keys, tokens, limits, time." in done.out
    assert "Not looked at: address. Name the collector's address." in done.out


def test_what_is_wrong_is_said_in_a_line_each_and_by_the_exit_code(run: Run, store: Path) -> None:
    store.chmod(0o644)
    (store.parent / "backups").mkdir()
    options = ("--store", str(store), "--backups", str(store.parent / "backups"))
    done = run("check", *options)
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0].startswith("files  Others on this machine may read s.db")
    assert lines[0].endswith("chmod 600 s.db")
    assert lines[1].startswith("backups  There is no backup. Make one daily")
    done = run("check", *options, "--json")
    assert done.code == 1
    assert [row["check"] for row in done.document["problems"]] == ["files", "backups"]
    assert set(done.document["problems"][0]) == {"check", "says", "do"}
    assert done.document["well"] == ["folder", "disk", "store", "keys", "tokens", "limits", "time"]
    assert done.document["unseen"] == [
        {"check": "address", "says": "Name the collector's address."}
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Name what to look at"),
        (("--store", "none.db"), "There is no store"),
        (("--store", "mysql://a"), "A store is sqlite"),
        (("collector",), "http or https address"),
        (("--burst", "--store", "none.db"), "name its address"),
        (("--backups", "none"), "no folder"),
    ],
)
def test_bad_input(run: Run, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run("check", *arguments)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
