"""Checks of a store: the version of its tables, and how its database is set."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from deniable.errors import StoreError
from deniable.formats.extras import lacking
from deniable.server.checking.finding import Finding, judge, well, wrong
from deniable.server.checking.keys import Query, check_keys, check_tokens
from deniable.server.checking.machine import check_files
from deniable.server.checking.web import SKEW
from deniable.server.migrations import FORMAT
from deniable.server.sqlite_files import REMEDY, removed_file
from deniable.server.stores import sqlite_path
from deniable.server.tickets import hour

_DURABLE = {
    "fsync": {"on"},
    "full_page_writes": {"on"},
    "synchronous_commit": {"on", "local", "remote_write", "remote_apply"},
}
"""What keeps that which was acknowledged, should the machine lose its power."""

_SILENT = {
    "log_statement": {"none"},
    "log_min_duration_statement": {"-1"},
    "log_min_duration_sample": {"-1"},
    "log_min_error_statement": {"panic"},
}
"""What keeps statements out of PostgreSQL's log: they say who answered what, it says when."""


def check_store(url: str) -> Iterator[Finding]:
    """Look at a store without changing anything in it."""
    path = sqlite_path(url)
    if path is None:
        yield from _check_postgres(url)
        return
    if not path.is_file():
        raise StoreError(f"There is no store {str(path)!r}.")
    yield from check_files(path)
    if (part := removed_file(path)) is not None:  # who opened it now would see another state
        yield wrong(
            "store",
            f"The store is in use, and its file {part.name} was removed.",
            f"{REMEDY.capitalize()}.",
        )
    else:
        yield from _check_sqlite(path)


def _check_sqlite(path: Path) -> Iterator[Finding]:
    """Read from an SQLite store; it is opened by its name, or the log beside it would not be read."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
        ) as connection:

            def query(statement: str) -> list[tuple[Any, ...]]:
                return connection.execute(statement).fetchall()

            yield from _check_tables(query)
    except sqlite3.DatabaseError as error:
        yield _unreadable(str(error))


def _unreadable(reason: str) -> Finding:
    return wrong(
        "store", f"The store cannot be read: {reason}.", "See that it is one, and who may open it."
    )


def _check_postgres(url: str) -> Iterator[Finding]:
    try:
        import psycopg
    except ImportError:
        raise StoreError(f"{lacking('PostgreSQL needs', 'server')}.") from None
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            connection.read_only = True

            def query(statement: str) -> list[tuple[Any, ...]]:
                return connection.execute(statement.encode()).fetchall()

            yield from _check_tables(query)
            yield from _check_settings(query)
            yield _check_server_clock(query)
            yield _check_encryption(connection.info.host, connection.pgconn.ssl_in_use)
    except psycopg.Error as error:
        yield _unreadable((str(error).strip().splitlines() or ["no answer"])[-1].rstrip("."))


def _check_tables(query: Query) -> Iterator[Finding]:
    """Look which version of the tables there is."""
    try:
        form = int(bytes(query("SELECT value FROM settings WHERE name = 'format'")[0][0]))
    except (IndexError, TypeError, ValueError):
        yield _unreadable("it does not say of which version it is")
        return
    if form < FORMAT:
        yield wrong(
            "store",
            f"The tables are of an older version (format {form}; this one writes {FORMAT}).",
            "Make a backup; the next start of this version moves them on, and an older one then "
            "cannot read them.",
        )
    elif form > FORMAT:
        yield wrong(
            "store",
            f"The tables are of a newer version (format {form}; this one reads {FORMAT}).",
            "Install that version.",
        )
    else:
        yield well("store")
        yield from check_keys(query, hour())
        yield from check_tokens(query, hour())


def _check_settings(query: Query) -> Iterator[Finding]:
    """Look whether PostgreSQL keeps what it acknowledges, and logs no statement."""
    for check, wanted_values, harm in (
        ("durability", _DURABLE, "what was acknowledged can be lost with the power"),
        ("statement-log", _SILENT, "its log tells who answered what, and when"),
    ):
        harmful = [
            f"{name} = {value}"
            for name, allowed_values in wanted_values.items()
            if (value := str(query(f"SHOW {name}")[0][0])) not in allowed_values
        ]
        if harmful:
            yield wrong(
                check,
                f"PostgreSQL is set to {', '.join(harmful)}: {harm}.",
                f"Set {', '.join(f'{n} = {min(v)}' for n, v in wanted_values.items())}.",
            )
        else:
            yield well(check)


def _check_server_clock(query: Query) -> Finding:
    seconds = float(query("SELECT extract(epoch FROM clock_timestamp())")[0][0]) - time.time()
    return judge(
        "database-clock",
        abs(seconds) <= SKEW,
        f"The database's clock differs from this one by {abs(seconds):,.0f} seconds.",
        "Set both by NTP.",
    )


def _check_encryption(host: str, is_encrypted: bool) -> Finding:
    """Look whether a connection to another machine can be read on its way."""
    if is_encrypted or not host or host.startswith("/") or host == "localhost":
        return well("database-tls")
    try:
        if ip_address(host).is_loopback:
            return well("database-tls")
    except ValueError:
        pass
    return wrong(
        "database-tls",
        "The connection to the database is not encrypted.",
        "Let PostgreSQL speak TLS, and add sslmode=verify-full to the store's address.",
    )
