"""`deniable check` on the command line: what it prints, and its exit code."""

from __future__ import annotations

import socket
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
    assert lines[0].startswith("files  Others on this machine may read the store's keys, in s.db.")
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


def test_serve_looks_at_what_its_own_options_describe(run: Run, store: Path) -> None:
    """The command line that starts a collector, with --check: nothing is started or changed."""
    survey = store.parent / "survey.json"
    survey.write_text(Survey(Schema.binary("a", "b"), 2, 1.1, "InpHT").to_json(), "utf-8")
    before = {path.name: path.read_bytes() for path in store.parent.iterdir()}
    with socket.socket() as free:  # bound, and nobody listens
        free.bind(("127.0.0.1", 0))
        here = ("--check", "--host", "0.0.0.0", "--port", str(free.getsockname()[1]))
        done = run("serve", str(survey), "--store", str(store), *here)
        assert done.code == 0, done.out
        assert "Well: files, folder, disk, store, keys, tokens, limits, time." in done.out
        assert "Not looked at: address. Nobody answers at http://127.0.0.1:" in done.out
        store.chmod(0o644)
        backups = store.parent / "backups"
        backups.mkdir()
        address = f"http://127.0.0.1:{here[-1]}"
        options = ("--url", address, "--backups", str(backups))
        done = run("serve", "--store", f"sqlite:///{store}", *here, *options)
        assert done.code == 1
        lines = [line.split("  ")[0] for line in done.out.splitlines()]
        assert lines[:3] == ["health", "files", "backups"]
        backups.rmdir()
        new = run("serve", "--store", f"sqlite:///{store.parent / 'new.db'}", *here)
        assert new.code == 0
        assert "Not looked at: store. The first start makes it." in new.out
    assert {path.name: path.read_bytes() for path in store.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--url", "https://a.example"), "say what --check looks at"),
        (("--backups", "."), "say what --check looks at"),
        (("--check", "none.json"), "no survey none.json"),
        (("--check", "--store", "none/s.db"), "There is no folder"),
        (("--check", "--url", "collector"), "http or https address"),
    ],
)
def test_bad_input_of_a_check_by_serve(run: Run, arguments: tuple[str, ...], words: str) -> None:
    done = run("serve", *arguments)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


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
