"""Write a golden store of a release: `python scripts/make_golden_store.py FOLDER VERSION`.

FOLDER holds that release's own `src` (`git archive COMMIT src | tar -x -C FOLDER`), and its code alone
makes the store: it serves, people answer over HTTP, and what they were told is written down beside the
SQLite file, with the same rows as SQL for PostgreSQL. Files that exist are not overwritten.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

STORES = Path(__file__).parents[1] / "tests" / "vectors" / "stores"

SURVEYS = """
import json
from deniable import Schema, Survey
four = Schema.binary("a", "b", "c", "d")
region = {"region": ["north", "south"]}
every = {
    "open": Survey(four, 2, 1.1, "InpHT"),
    "issued": Survey(Schema.binary("e", "f", "g"), 2, 1.5, "InpHT"),
    "hashed": Survey(Schema.binary("h", "i", "j"), 2, 1.1, "InpHT", labels=region),
    "drawn": Survey(Schema.binary("k", "l", "m"), 2, 1.1, "InpHT"),
    "kept": Survey(Schema.binary("n", "o", "p"), 2, 1.1, "MargRR"),
}
print(json.dumps({name: survey.to_json() for name, survey in every.items()}))
"""

FORGET = """
import sys, time
from deniable.server.stores import open_store
with open_store(sys.argv[1]) as store:
    assert store.forget(int(time.time()) // 3600 + 1000) > 0
"""

OPTIONS = {
    "open": (),
    "issued": ("--participants", "issued"),
    "hashed": ("--slots", "hashed"),
    "drawn": ("--slots", "drawn"),
    "kept": ("--slots", "drawn", "--keep", "reports"),
}

TYPES = {
    "settings": "name text PRIMARY KEY, value bytea",
    "surveys": "number integer PRIMARY KEY, id text UNIQUE, form text, slots text, "
    "participants text, keeps integer",
    "serials": "kind text PRIMARY KEY, next bigint",
    "tokens": "key bytea PRIMARY KEY, value bigint",
    "spent": "key bigint PRIMARY KEY, value bigint, expiry integer",
    "answered": "key bigint PRIMARY KEY, value bytea",
    "counts": "survey integer, slot bigint, value bigint, count bigint, "
    "PRIMARY KEY (survey, slot, value)",
    "masks": "survey integer, slot bigint, value bytea, count bigint, "
    "PRIMARY KEY (survey, slot, value)",
    "remembered": "key bytea PRIMARY KEY, value bytea, expiry integer",
    "checkpoints": "survey integer, people bigint, width float8, PRIMARY KEY (survey, people)",
}
"""The tables that 0.2.0 makes in PostgreSQL."""


class Release:
    """A release's own code, run in processes of their own."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.environment = os.environ | {"PYTHONPATH": str(source / "src")}
        self.url = f"sqlite:///{folder / 'store.db'}"
        self.token = ""

    def python(self, code: str, *arguments: str) -> str:
        run = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            run, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def command(self, *arguments: str) -> str:
        return self.python("from deniable.cli import main; main()", *arguments)

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[http.client.HTTPConnection]:
        run = [sys.executable, "-c", "from deniable.cli import main; main()", "serve", *arguments]
        process = subprocess.Popen(
            [*run, "--store", self.url, "--port", "0"],
            env=self.environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if shown := re.search(r"token, shown this once: (\S+)", line):
                self.token = shown[1]
            if port := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        with closing(http.client.HTTPConnection("127.0.0.1", int(port[1]))) as connection:
            yield connection
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def post(connection: http.client.HTTPConnection, path: str, form: Any, key: str = "") -> Any:
    """Send a request that must be taken."""
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    connection.request("POST", f"/v1/{path}", json.dumps(form), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    assert not answer.get("refused"), answer
    return answer


def ask(connection: http.client.HTTPConnection, survey: str, token: str, number: int) -> Any:
    """Be asked, and report unless one is of every third."""
    form = post(connection, "questions", {"token": token, "survey": survey})
    row = {"survey": survey, "token": token, "ticket": form["ticket"], "value": None}
    row["slot"] = form["question"]["slot"]
    if number % 3:
        row["value"] = str(number % 2)
        post(connection, "reports", {"ticket": row["ticket"], "value": row["value"]})
    return row


def collect(release: Release, folder: Path) -> dict[str, Any]:
    """Let people answer; return what they were told."""
    surveys = json.loads(release.python(SURVEYS))
    ids = json.loads(release.command("issue", "--count", "30", "--store", release.url, "--json"))
    ids = ids["ids"]
    paths = {}
    for name, text in surveys.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(text, encoding="utf-8")
        with release.serving(str(paths[name]), *OPTIONS[name]) as connection:
            connection.request("GET", "/v1/survey")
            surveys[name] = json.loads(connection.getresponse().read())["id"]
            if name == "open":
                old = [ask(connection, surveys[name], f"early bird {n}", n) for n in range(6)]
    release.python(FORGET, release.url)
    hour = int(time.time()) // 3600
    with release.serving() as connection:
        told = [ask(connection, surveys["open"], f"somebody {n:03d}", n) for n in range(30)]
        told += [ask(connection, surveys["issued"], each, n) for n, each in enumerate(ids[:12])]
        hashed = [
            {"id": each, "survey": surveys["hashed"], "value": str(n % 2),
             "labels": {"region": "north" if n % 4 else "south"}}
            for n, each in enumerate(ids[:15])
        ]  # fmt: skip
        post(connection, "reports", hashed[:10])
        batch = [
            {"survey": surveys["drawn"], "slot": str(n % 6), "value": str(n % 2)} for n in range(25)
        ]
        post(connection, "reports", batch, "0123456789abcdef")
        kept = [{"survey": surveys["kept"], "slot": str(n % 3), "value": "5"} for n in range(9)]
        post(connection, "reports", kept)
    return {
        "hour": hour, "analyst": release.token, "surveys": surveys, "ids": ids, "answered": old,
        "told": told, "hashed": {"sent": hashed[:10], "unsent": hashed[10:]},
        "batch": {"key": "0123456789abcdef", "body": json.dumps(batch)},
    }  # fmt: skip


def in_sql(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the same rows as PostgreSQL takes them."""
    for table, columns in TYPES.items():
        yield f"CREATE TABLE {table} ({columns});"
        for row in connection.execute(f"SELECT * FROM {table}"):
            yield f"INSERT INTO {table} VALUES ({', '.join(map(_literal, row))});"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def main(source: Path, version: str) -> None:
    """Write the three files."""
    places = {ending: STORES / f"{version}.{ending}" for ending in ("db", "sql", "json")}
    for path in places.values():
        if path.exists():
            raise SystemExit(f"{path.name} exists; what a release wrote does not change.")
    STORES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        release = Release(source.resolve(), Path(name))
        form = collect(release, Path(name))
        with closing(sqlite3.connect(Path(name, "store.db"))) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("VACUUM")
            lines = list(in_sql(connection))
        places["db"].write_bytes(Path(name, "store.db").read_bytes())
    places["sql"].write_text("\n".join(lines) + "\n", encoding="utf-8")
    places["json"].write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
