"""Checks of the machine that a collector runs on: files, disk, limits, clock, backups."""

from __future__ import annotations

import ctypes
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from deniable.errors import StoreError
from deniable.server.checking.finding import Finding, judge, unseen, well, wrong
from deniable.server.connections import MOST
from deniable.server.sqlite_files import parts

LEAST_FREE = 1 << 30
"""The least free bytes of a disk, and ..."""

LEAST_SHARE = 0.1
"""... the least part of it that should be free."""

_DUMP = b"--\n-- PostgreSQL database dump\n"
"""How what pg_dump writes as text begins, and ..."""

_DUMP_END = b"-- PostgreSQL database dump complete"
"""... what stands near its end, in so many of the last bytes."""

_DUMP_TAIL = 1_000

_UNSYNCHRONIZED = 5
_HOUR = 3_600


def check_files(path: Path) -> Iterator[Finding]:
    """Look who may read and change an SQLite store, and whether its disk has room."""
    open_files = [part.name for part in parts(path) if part.exists() and _mode(part) & 0o077]
    if open_files:
        yield wrong(
            "files",
            f"Others on this machine may read the store's keys, in {', '.join(open_files)}.",
            f"chmod 600 {' '.join(open_files)}",
        )
    else:
        yield well("files")
    folder = path.absolute().parent
    if _mode(folder) & 0o022:
        yield wrong(
            "folder",
            f"Others may change the folder {str(folder)!r}, and so replace the store.",
            "Keep the store in a folder of the collector's own: chmod 700.",
        )
    else:
        yield well("folder")
    yield check_disk(folder)


def check_disk(folder: Path) -> Finding:
    """Look whether a disk has room."""
    usage = shutil.disk_usage(folder)
    return judge(
        "disk",
        usage.free >= min(LEAST_FREE, LEAST_SHARE * usage.total) and usage.free >= LEAST_FREE // 8,
        f"{usage.free / 1e9:.2f} GB of {usage.total / 1e9:.1f} are free where the store lies.",
        "Make room: on a full disk no report is taken (503), though none is lost.",
    )


def check_limits() -> Finding:
    """Look whether a collector may open as many files as it wants connections."""
    if sys.platform == "win32":
        return unseen("limits", "This system has no such limit.")
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted_files = MOST * 3 // 2
    return judge(
        "limits",
        most == resource.RLIM_INFINITY or most >= wanted_files,
        f"A process may open {most:,} files here, so a collector takes {most * 3 // 4:,} connections.",
        f"Raise the limit to {wanted_files:,} (systemd: LimitNOFILE=, compose: ulimits).",
    )


def check_time() -> Finding:
    """Ask the kernel whether something keeps its clock right."""
    state = _clock_state()
    if state is None:
        return unseen("time", "This system does not tell whether its clock is kept right.")
    return judge(
        "time",
        state != _UNSYNCHRONIZED,
        "The kernel says that nothing keeps this machine's clock right.",
        "Run an NTP client, such as systemd-timesyncd or chrony.",
    )


def _clock_state() -> int | None:
    """Return what adjtimex says without changing anything; None where there is none."""
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
    except (AttributeError, OSError, TypeError):
        return None
    state = int(adjtimex(ctypes.create_string_buffer(512)))
    return None if state < 0 else state


def check_backups(folder: Path, hours: float) -> Iterator[Finding]:
    """Look whether the newest backup is new, whole, and closed to others."""
    if not folder.is_dir():
        raise StoreError(f"There is no folder {str(folder)!r} of backups.")
    files = [path for path in folder.iterdir() if path.is_file()]
    if not files:
        yield wrong(
            "backups", "There is no backup.", "Make one daily: deniable backup, or pg_dump."
        )
        return
    newest = max(files, key=lambda path: path.stat().st_mtime)
    age = (time.time() - newest.stat().st_mtime) / _HOUR
    if age > hours:
        yield wrong(
            "backups",
            f"The newest backup, {newest.name}, is {age:,.0f} hours old.",
            "Look why no newer one was made.",
        )
    elif not _is_whole(newest):
        yield wrong(
            "backups",
            f"The newest backup, {newest.name}, is empty, damaged or no copy of a store.",
            "Make another, and try to restore it.",
        )
    else:
        yield well("backups")
    open_files = sorted(path.name for path in files if _mode(path) & 0o077)
    if open_files:
        yield wrong(
            "backup-files",
            f"Others on this machine may read {open_files[0]}, which holds the keys.",
            "chmod 600 every backup.",
        )
    else:
        yield well("backup-files")


def _is_whole(path: Path) -> bool:
    """Tell whether a file can be a backup: a store in SQLite, a dump to its end, or anything else."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        start = file.read(len(_DUMP))
        if not start.startswith(b"SQLite format 3\0"):
            file.seek(max(0, path.stat().st_size - _DUMP_TAIL))
            return path.suffix != ".db" and (start != _DUMP or _DUMP_END in file.read())
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as copy:
            is_well = copy.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
            return is_well and bool(copy.execute("SELECT value FROM settings").fetchall())
    except sqlite3.DatabaseError:
        return False


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777
