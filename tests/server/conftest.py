"""The real parts that the tests of the collector need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_parts import Service, new_schema, running_postgres, survey

from deniable import Survey
from deniable.server.serve import Rules


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server that ends with the tests."""
    with running_postgres() as address:
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            # Here collectors crash, not machines: the disk need not keep up.
            connection.execute("ALTER SYSTEM SET fsync TO off")
            connection.execute("SELECT pg_reload_conf()")
        yield address


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
