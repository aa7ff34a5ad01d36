"""Stores by their URL."""

from __future__ import annotations

from pathlib import Path

from deniable.errors import StoreError
from deniable.formats.extras import lacking
from deniable.server.store import Store

_POSTGRES = ("postgresql://", "postgres://")
_SQLITE = "sqlite:///"


def sqlite_path(url: str) -> Path | None:
    """Return the file of an SQLite store, or None for another kind."""
    if url.startswith(_POSTGRES):
        return None
    if url.startswith(_SQLITE):
        url = url.removeprefix(_SQLITE)
    if not url or "://" in url:
        raise StoreError("A store is sqlite:///FILE or postgresql://….")
    return Path(url)


def open_store(url: str, *, create: bool = True, migrate: bool = False) -> Store:
    """Open a store; make it, if it is not there and may be made; change an older one, if that may be."""
    path = sqlite_path(url)
    if path is not None:
        from deniable.server.sqlite import SqliteStore

        return SqliteStore(path, create=create, migrate=migrate)
    try:
        from deniable.server.postgres import PostgresStore
    except ImportError:
        raise StoreError(f"{lacking('PostgreSQL needs', 'server')}.") from None
    return PostgresStore(url, create=create, migrate=migrate)
