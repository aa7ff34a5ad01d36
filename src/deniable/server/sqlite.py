"""A store in one file: SQLite with a write-ahead log that is on the disk before anybody hears so."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from deniable.errors import StoreError
from deniable.server.database import RepeatedError, UnavailableError
from deniable.server.migrations import for_sqlite
from deniable.server.sqlite_files import Files, check_whole, parts
from deniable.server.store import Store

PATIENCE = 10_000
"""Milliseconds to wait for another process that writes."""

_TOGETHER = (1000, 256, 64)
"""Rows that one statement takes, or fewer than any of these.

A statement runs without Python's lock, and then has to get it back while requests are being read: the
fewer statements, the better.
"""


class SqliteStore(Store):
    """A collector's tables in an SQLite file."""

    def __init__(self, path: Path, *, create: bool = True, migrate: bool = False) -> None:
        self.url = f"sqlite:///{path}"
        if not create and not path.is_file():
            raise StoreError(f"There is no store {str(path)!r}.")
        try:
            check_whole(path)
            _make(path)
            self._connection = sqlite3.connect(
                path,
                isolation_level=None,
                timeout=PATIENCE / 1000,
                check_same_thread=False,
                cached_statements=256,
            )
            try:
                self._begin(path, create, migrate)
            except BaseException:
                self._connection.close()
                raise
        except OSError as error:
            raise StoreError(
                f"The store {str(path)!r} cannot be opened: {error.strerror}."
            ) from None
        except (sqlite3.DatabaseError, UnavailableError) as error:
            reason = (
                error if _is_writable(path) else "it and its folder must be writable, even to read"
            )
            raise StoreError(f"The store {str(path)!r} cannot be opened: {reason}.") from None

    def _begin(self, path: Path, create: bool, migrate: bool) -> None:
        self._files: Files | None = None
        if migrate or not self.has_tables():  # a copy that is only looked at stays as it is
            self._connection.execute("PRAGMA journal_mode = WAL")
        for pragma in ("synchronous = FULL", "secure_delete = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        with self.transaction():
            if not create and not self.has_tables():
                raise StoreError(f"{str(path)!r} holds no collector's store.")
            self.set_up(for_sqlite, migrate=migrate)
        self._files = Files(path)

    def _check_files(self) -> None:
        if self._files is not None:
            self._files.check()

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with _as_unavailable():
            if not self._connection.in_transaction:
                self._check_files()
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        with _as_unavailable():
            self._connection.execute(begin)
            try:
                yield
                self._check_files()
                self._connection.execute("COMMIT")
                self._check_files()  # or somebody may have written over it in the meantime
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    forgetting = transaction

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self.transaction("BEGIN"):
            yield

    def find(self, table: str, keys: Iterable[Any]) -> list[tuple[Any, Any]]:
        key_list, rows = list(keys), list[tuple[Any, Any]]()
        for start in range(0, len(key_list), _TOGETHER[0]):
            part = key_list[start : start + _TOGETHER[0]]
            placeholders = ",".join("?" * len(part))
            rows += self.run(f"SELECT key, value FROM {table} WHERE key IN ({placeholders})", *part)
        return rows

    def spend(
        self, keys: list[int], fingerprints: list[int], expiries: list[int]
    ) -> dict[int, int]:
        """Write down who answered what; return what those had answered who had answered before.

        Hardly anybody has, so nobody looks; where somebody has, all is done again, looking first.
        """
        earlier: dict[int, int] = {}
        if self.is_careful:
            earlier = dict(self.find("spent", keys))
            rows = [
                r for r in zip(keys, fingerprints, expiries, strict=True) if r[0] not in earlier
            ]
            keys, fingerprints, expiries = ([row[i] for row in rows] for i in range(3))
        try:
            self._insert("INSERT INTO spent VALUES", "(?,?,?)", (keys, fingerprints, expiries))
        except sqlite3.IntegrityError:
            raise RepeatedError from None
        return earlier

    def _insert(self, command: str, row: str, columns: Sequence[list[Any]], end: str = "") -> None:
        """Insert rows, many with each statement; statements of few different lengths are made."""
        values = list(chain.from_iterable(zip(*columns, strict=True)))
        width, start, rows_left = len(columns), 0, len(columns[0])
        while rows_left:
            size = next((size for size in _TOGETHER if size <= rows_left), rows_left)
            statement = f"{command} {','.join([row] * size)} {end}"
            self._connection.execute(statement, values[start : start + size * width])
            start, rows_left = start + size * width, rows_left - size

    def remember(self, requests: dict[bytes, tuple[bytes, bytes, int]]) -> list[tuple[Any, Any]]:
        earlier = self.find("remembered", requests)
        there = {key for key, _ in earlier}
        for request in requests.values():
            if request[0] not in there:
                self.run("INSERT INTO remembered VALUES (?, ?, ?)", *request)
        return earlier

    def add(self, table: str, rows: Sequence[list[Any]]) -> None:
        first, is_one = rows[0][0], len(set(rows[0])) == 1
        self._insert(
            f"INSERT INTO {table} VALUES",
            f"({first:d},?,?,?)" if is_one else "(?,?,?,?)",
            rows[1:] if is_one else rows,
            "ON CONFLICT (survey, slot, value) DO UPDATE SET count = count + excluded.count",
        )

    def has_tables(self) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = 'settings'"))

    def lock_serials(self) -> None:
        """Do nothing: one transaction writes at a time."""

    lock_audit = lock_serials

    def tidy(self) -> None:
        """Do nothing: rows lie in the order of their keys."""

    def scrub(self) -> bool:
        """Move the log into the file, where deleted rows are zeros, and empty it.

        It would keep them until it is written over: without reports, for ever.
        """
        self.run("PRAGMA busy_timeout = 0")  # who reads or writes is not kept waiting
        try:
            return not self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        finally:
            self.run(f"PRAGMA busy_timeout = {PATIENCE}")

    def back_up(self, path: Path) -> None:
        """Copy the whole store to an empty file, or to one that is not there, while it is in use."""
        _make(path)
        copy = sqlite3.connect(path)
        try:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()

    def close(self) -> None:
        """Close the connection; the last one moves the log into the file."""
        self._connection.close()


def _make(path: Path) -> None:
    """Make a file that only its owner can read: it holds the collector's key.

    One that is there is not opened: closing any handle of a file drops the locks that SQLite has
    on it in this process, and then other processes take it for unused.
    """
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "it is a link that leads nowhere")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    for part in parts(path):
        with suppress(FileNotFoundError, PermissionError):  # it may belong to somebody else
            if part.stat().st_mode & 0o077:
                part.chmod(0o600)


def _is_writable(path: Path) -> bool:
    """Tell whether this user may write to a store, and make the files beside it."""
    return all(os.access(each, os.W_OK) for each in (path, path.absolute().parent))


@contextmanager
def _as_unavailable() -> Iterator[None]:
    """Turn what a full disk, a lock or a broken file raises into one error."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.NotSupportedError):
        raise  # a mistake of ours
    except sqlite3.DatabaseError as error:
        raise UnavailableError(str(error)) from error
