"""keys, analysts, audit-log."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the extra 'server' is not installed")

from deniable import Schema, Survey
from deniable.cli.serving import _prepare, store_at
from deniable.errors import StoreError
from deniable.server.access import whose
from deniable.server.dashboard_codes import exchange, is_open
from deniable.server.database import UnavailableError
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.server.tickets import hour

Run = Callable[..., Any]
STORE = "--store", "s.db"


@pytest.fixture
def issued(run: Run) -> None:
    """A store that has issued three ids."""
    assert run("issue", "--count", 3, *STORE, "-o", "ids.txt").code == 0


@pytest.mark.usefixtures("issued")
def test_keys_are_listed_rotated_and_retired(run: Run) -> None:
    assert run("keys", "rotate", "id", *STORE, "--json").document == {"keys": {"id": 1}}
    assert run("keys", "rotate", *STORE, "--json").document == {"keys": {"ticket": 1, "id": 2}}
    rows = run("keys", "list", *STORE, "--json").document["keys"]
    assert [(row["kind"], row["number"], row["state"]) for row in rows] == [
        ("id", 0, "honoured"),
        ("id", 1, "honoured"),
        ("id", 2, "seals"),
        ("ticket", 0, "honoured"),
        ("ticket", 1, "seals"),
    ]
    assert [(row["uses"], row["unanswered"]) for row in rows[:3]] == [(3, 3), (0, 0), (0, 0)]
    assert len({row["fingerprint"] for row in rows}) == 5
    assert rows[3]["ends"] > rows[4]["since"]
    with open_store("s.db") as store:
        materials = [bytes(each).hex() for (each,) in store.run("SELECT material FROM keys")]
    shown = run("keys", "list", *STORE).out
    assert "honoured" in shown
    assert not any(each[:16] in shown for each in materials)
    refusal = run("keys", "retire", "id", 0, *STORE)
    assert refusal.code == 2
    assert "Of the 3 ids of key 0, 3 have not answered" in refusal.err
    ended = run("keys", "retire", "id", 0, *STORE, "--breaks", "--json").document
    assert (ended["retired"], "3 have not answered" in ended["breaks"]) == (0, True)
    assert "is destroyed" in run("keys", "retire", "id", 1, *STORE).out


def test_an_analyst_gets_an_address_that_opens_the_dashboard_once(run: Run) -> None:
    run("analysts", "add", "alice", *STORE)
    page = "https://survey.example.org/"
    came = run("analysts", "link", "alice", "--page", page, *STORE)
    address, _, code = came.out.strip().splitlines()[-1].partition("#code=")
    assert address == f"{page}dashboard"
    assert run("analysts", "link", "alice", *STORE, "--json").document["link"] != came.out
    with open_store("s.db") as store:
        assert is_open(store, code)
        assert exchange(store, code, hour()) is not None
        assert not is_open(store, code)
    for name, where in (("nobody", page), ("alice", "http://survey.example.org/")):
        refusal = run("analysts", "link", name, "--page", where, *STORE)
        assert (refusal.code, refusal.err.count("\n")) == (2, 1)


@pytest.mark.usefixtures("issued")
def test_analysts_come_and_go(run: Run) -> None:
    ended = run(
        "analysts", "add", "alice", "--role", "look", "--role", "export", "--expires", "90d", *STORE
    )
    assert ended.code == 0
    assert re.fullmatch(r"[\w-]{43}\n", ended.out), "the token alone, for a script"
    assert "shown this once; it may look, export until 20" in ended.err
    bob = run("analysts", "add", "bob", *STORE, "--json").document
    assert (bob["roles"], bob["expires"]) == (["look"], None)
    with open_store("s.db") as store:
        now, rows = hour(), store.analysts()
        alice = whose(ended.out.strip(), rows, now)
        assert alice is not None
        assert (alice.name, alice.roles) == ("alice", ("look", "export"))
        assert whose(ended.out.strip(), rows, now + 90 * 24) is None
        assert whose(ended.out.strip(), rows, now + 90 * 24 - 1) is alice
        assert whose(bob["token"], rows, now + 10**6) is not None
    assert "bob is let in no more" in run("analysts", "revoke", "bob", *STORE).out
    listed = run("analysts", "list", *STORE, "--json").document["analysts"]
    assert [(row["name"], row["token"]) for row in listed] == [
        ("alice", "valid"),
        ("bob", "revoked"),
    ]
    assert "look export" in run("analysts", "list", *STORE).out
    carol = "carol@example.org"
    ended = run("analysts", "add", carol, "--role", "export", "--sign-in", *STORE)
    assert (ended.code, ended.out) == (0, "")
    assert f"{carol} signs in under this name, and may export." in ended.err
    again = run("analysts", "add", carol, *STORE)
    assert (again.code, "There is an analyst" in again.err) == (2, True)
    assert run("analysts", "list", *STORE, "--json").document["analysts"][2]["token"] == "signs in"


def test_who_is_let_in_before_the_first_start_has_the_only_token(run: Run) -> None:
    """So no token comes to stand in the log of a service."""
    assert run("analysts", "add", "alice", "--role", "operate", *STORE).code == 0
    _prepare("s.db", [Survey(Schema.binary("a", "b"), 2, 1.1)], Rules(), {}, None)
    with open_store("s.db") as store:
        assert [each.name for each in store.analysts()] == ["alice"]


@pytest.mark.usefixtures("issued")
def test_a_log_is_verified_with_the_head_that_its_store_noted(run: Run, tmp_path: Path) -> None:
    head = run("audit-log", "verify", *STORE, "--json").document["head"]
    for _ in range(3):
        run("issue", "--count", 1, *STORE)
    ended = run("audit-log", "verify", *STORE, "--head", head)
    assert ended.code == 0
    assert "4 lines, each as it was written" in ended.out
    shown = run("audit-log", "show", *STORE, "--last", 2).out
    assert ("1 ids" in shown, "3 ids" in shown) == (True, False)
    assert run("audit-log", "show", *STORE, "--json").document["lines"][0]["on"] == "3 ids"
    assert "4 lines are in log.txt" in run("audit-log", "export", *STORE, "-o", "log.txt").out
    assert run("audit-log", "verify", "log.txt", "--head", head).code == 0
    rows = (tmp_path / "log.txt").read_text().splitlines(keepends=True)
    (tmp_path / "gap.txt").write_text("".join(rows[:1] + rows[2:]))
    gap = run("audit-log", "verify", "gap.txt")
    assert gap.code == 2
    assert "has line 3 where line 2 belongs" in gap.err
    with open_store("s.db") as store:
        store.run("DELETE FROM audit WHERE number > 2")
    ended = run("audit-log", "verify", *STORE)
    assert ended.code == 2
    assert "ends at line 2, and the store has noted that it ends at line 4" in ended.err


def test_a_survey_is_closed_and_reopened(run: Run) -> None:
    survey = Survey(Schema.binary(*"abc"), 2, 1.1, "InpHT")
    with open_store("s.db") as store:
        prepare(store, [survey], Rules())
    for at in ("2999-12-31", "soon", "2999-13-01T00:00", "9999999-01-01T00:00"):
        refused = run("close", "s.db", "--at", at)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "--at is a day and a time, such as 2026-12-31T18:00" in refused.err
    assert "is over; without it, it is now" in run("close", "s.db", "--at", "2020-01-01T00:00Z").err
    assert "is open, without an end" in run("reopen", "s.db").err
    at = run("close", "s.db", "--at", "2999-12-31T18:00+02:00", "--json").document
    end = "2999-12-31T16:00:00Z"
    assert at == {"survey": survey.id, "closed": False, "ends": end}
    assert f"The survey closes at {end}." in run("issued", "s.db").out
    assert "is closed: from then on nobody gets a question" in run("close", "s.db").out
    assert "The survey is closed since 20" in run("issued", "s.db").out
    assert run("issued", "s.db", "--json").document["closed"] is True
    again = run("close", "s.db")
    assert (again.code, "'deniable reopen' opens it again" in again.err) == (2, True)
    assert run("reopen", "s.db", "--json").document["ends"] is None
    unknown = run("close", "s.db", "--survey-id", "none")
    assert (unknown.code, "does not hold that survey" in unknown.err) == (2, True)
    log = run("audit-log", "show", "--store", "s.db", "--json").document["lines"]
    whats = "serve", "close", "issued", "close", "issued", "issued", "reopen"
    assert tuple(row["what"] for row in log) == whats


@pytest.mark.usefixtures("issued")
def test_a_harmed_log_is_shown_and_told(run: Run, tmp_path: Path) -> None:
    """Whatever a line holds by now, it is shown as far as it can be, and never without a word."""
    assert run("audit-log", "export", *STORE, "-o", "log.txt").code == 0
    digest = (tmp_path / "log.txt").read_text()[:64]
    for number, harm in enumerate(("no JSON", "[" * 20_000, '{"number": 1, "on": "\\u001b[2J"}')):
        with open_store("s.db") as store:
            store.run("UPDATE audit SET line = ? WHERE number = 1", harm)
        ended = run("audit-log", "show", *STORE)
        assert (ended.code, ended.err) == (
            2,
            "deniable: Line 1 of the audit log is not as it was written.\n",
        )
        assert "\x1b[2J" not in ended.out
        assert harm[:7] in ended.out or number == 2
        (tmp_path / "harmed.txt").write_text(f"{digest} {harm}\n")
        assert run("audit-log", "verify", "harmed.txt").code == 2
    (tmp_path / "bytes.txt").write_bytes(bytes(range(128, 256)))
    assert "bytes.txt is no audit log" in run("audit-log", "verify", "bytes.txt").err
    assert "nothing.txt cannot be read" in run("audit-log", "verify", "nothing.txt").err


@pytest.mark.usefixtures("issued")
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("UPDATE audit SET line = NULL", "Line 1 of the audit log is not as"),
        ("UPDATE audit SET line = x'ff'", "Line 1 of the audit log is not as"),
        ("UPDATE audit SET hash = NULL", "Line 1 of the audit log is not as"),
        ("UPDATE audit SET hash = 'x'", "Line 1 of the audit log is not as"),
        ("UPDATE audit SET number = x'1b5b324a'", "has line -1 where line 1 belongs"),
        ("DELETE FROM settings WHERE name = 'audit'", "noted that it ends at line 0"),
        ("UPDATE settings SET value = NULL WHERE name = 'audit'", "end is no head: somebody"),
        ("UPDATE settings SET value = x'ff' WHERE name = 'audit'", "end is no head: somebody"),
        ("UPDATE settings SET value = x'31' WHERE name = 'audit'", "end is no head: somebody"),
    ],
)
def test_whatever_was_put_into_a_store_is_told_in_a_sentence(
    run: Run, harm: str, words: str
) -> None:
    with open_store("s.db") as store:
        store.run(harm)
    for command in (("verify",), ("show",), ("export", "-o", "log.txt")):
        ended = run("audit-log", *command, *STORE)
        is_kept = command[0] == "export" and "number" in harm  # the row's own number, in the line
        assert (ended.code, ended.err.count("\n")) == ((0, 0) if is_kept else (2, 1)), ended.err
        assert words in ended.err or command[0] == "export"
    if "settings" in harm:  # and nothing is done that cannot be written down
        ended = run("issue", "--count", 1, *STORE)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert "somebody has harmed it. Restore a backup." in ended.err


@pytest.mark.usefixtures("issued")
def test_a_log_of_many_lines_is_read_some_at_a_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.server.audit_log._SOME", 2)
    for _ in range(5):
        run("issue", "--count", 1, *STORE)
    assert run("audit-log", "verify", *STORE, "--json").document["lines"] == 6
    assert run("audit-log", "export", *STORE, "-o", "log.txt", "--json").document["lines"] == 6
    shown = run("audit-log", "show", *STORE, "--last", 3, "--json").document["lines"]
    assert [line["number"] for line in shown] == [4, 5, 6]


@pytest.mark.usefixtures("issued")
def test_a_log_with_any_names_is_the_same_in_a_file(run: Run) -> None:
    """Names of attributes may hold what some take for the end of a line."""
    with open_store("s.db") as store:
        store.note("look", "age\u2028 \x85 größe")
    head = run("audit-log", "export", *STORE, "-o", "log.txt", "--json").document["head"]
    assert run("audit-log", "verify", "log.txt", "--json").document["head"] == head


@pytest.mark.usefixtures("issued")
def test_a_store_that_fails_is_told_in_a_sentence() -> None:
    with pytest.raises(StoreError, match="cannot be used just now: disk is full"), store_at("s.db"):
        raise UnavailableError("disk is full\nand more of it")


@pytest.mark.usefixtures("issued")
@pytest.mark.parametrize(
    "command",
    [
        ("keys",),
        ("keys", "turn"),
        ("keys", "rotate", "tickets"),
        ("keys", "retire", "id"),
        ("keys", "retire", "id", 9),
        ("keys", "retire", "id", -1),
        ("keys", "retire", "id", 0),
        ("keys", "retire", "all", 0),
        ("keys", "list", "--store", "nothing.db"),
        ("analysts", "add"),
        ("analysts", "add", "a b"),
        ("analysts", "add", "a", "--role", "all"),
        ("analysts", "add", "a", "--expires", "90"),
        ("analysts", "add", "a", "--expires", "0d"),
        ("analysts", "add", "a", "--expires", "999999d"),
        ("analysts", "revoke", "nobody"),
        ("audit-log", "verify", "--head", "7"),
        ("audit-log", "verify", "--head", f"9:{'0' * 64}"),
        ("audit-log", "verify", "ids.txt"),
        ("audit-log", "verify", "nothing.txt"),
        ("audit-log", "export", "-o", "nowhere/log.txt"),
        ("audit-log", "show", "--last", 0),
    ],
    ids=lambda command: " ".join(map(str, command)),
)
def test_bad_input_ends_with_one_sentence(run: Run, command: tuple[object, ...]) -> None:
    store = (
        () if len(command) == 1 or "--store" in command or ".txt" in str(command[2:3]) else STORE
    )
    ended = run(*command, *store)
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("deniable: ")
    assert "Error" not in ended.err
