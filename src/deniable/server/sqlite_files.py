"""The files of an SQLite store: that they are still those that were opened, and that all see the same.

Beside the file there are its log (-wal) and the log's index (-shm), through which processes know of each
other's writing. Where the index is removed while a process has it open, the next process makes another:
both write to one log, over each other's pages, and each finds all well. So every process watches its
three files, and none opens a store that somebody has open and of which a file is gone.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from deniable.errors import StoreError
from deniable.server.database import UnavailableError

PATIENCE = 2.0
"""Seconds in which a process that opens a store has made all its files."""

REMEDY = "end every process that uses the store, then start again"
"""What to do where a file was removed."""


def parts(path: Path) -> tuple[Path, Path, Path]:
    """Return the files of a store: itself, its log, the log's index."""
    return path, Path(f"{path}-wal"), Path(f"{path}-shm")


class Files:
    """The files that a connection has open."""

    def __init__(self, path: Path) -> None:
        self._files = {part: _identity(part) for part in parts(path) if part.exists()}

    def check(self) -> None:
        """Refuse to go on where the files are not there any more.

        SQLite writes to a file that was deleted or moved as long as it has it open, and nobody would
        find there what was acknowledged.
        """
        for part, identity in self._files.items():
            try:
                if _identity(part) == identity:
                    continue
            except OSError:
                pass
            raise UnavailableError(f"{part.name} is not the file that was opened")


def check_whole(path: Path) -> None:
    """Refuse a store of which a file is gone while somebody has it open."""
    if (part := removed_file(path)) is not None:
        raise StoreError(
            f"The store {str(path)!r} is in use, and its file {part.name} was removed; {REMEDY}."
        )


def removed_file(path: Path) -> Path | None:
    """Return the file of a store that is gone while somebody has it open."""
    end = time.monotonic() + PATIENCE
    while path.exists() and (missing_files := _missing(path)) and _is_open(path):
        if time.monotonic() > end:
            return missing_files[0]
        time.sleep(0.05)  # somebody is just opening it
    return None


def _missing(path: Path) -> list[Path]:
    return [part for part in parts(path) if not part.exists()]


def _is_open(path: Path) -> bool:
    """Tell whether a connection to this file is open, here or in another process.

    In this mode SQLite needs no index, and wants the file for itself.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    finally:
        connection.close()
    return False


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells a file from any other, by whatever name it goes."""
    status = path.stat()
    return status.st_dev, status.st_ino
