"""Writing: JSON without numbers that it does not have, files whole or not at all.

A file is written beside the one that is meant, under a name that nobody can foresee, and then takes
its place. So no link that lies in a folder is followed: one with the file's own name is replaced, and
what it leads to stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.formats.reading import check_regular

PRIVATE = 0o600
"""The mode of a file that holds secrets: only its owner reads it."""

_PUBLIC = 0o666  # less what the user's umask takes away
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""Opens no link; Windows has no such flag, and lets only administrators make links."""


def finite(document: Any) -> Any:
    """Return a JSON document with null for numbers that JSON does not have."""
    if isinstance(document, dict):
        return {name: finite(part) for name, part in document.items()}
    if isinstance(document, list):
        return [finite(part) for part in document]
    return None if isinstance(document, float) and not isfinite(document) else document


def write_parquet(table: Any, path: str | Path, error: type[DeniableError]) -> None:
    """Write an Arrow table whole or not at all."""
    import pyarrow.parquet as pq

    write_whole(path, lambda draft: pq.write_table(table, draft), error)


def write_text(path: str | Path, text: str, error: type[DeniableError]) -> None:
    """Write a text as it stands, in UTF-8, whole or not at all."""
    write_whole(path, lambda draft: draft.write_bytes(text.encode()), error)


def write_whole(
    path: str | Path,
    write: Callable[[Path], object],
    error: type[DeniableError],
    mode: int = _PUBLIC,
) -> None:
    """Write a file whole or not at all: what stood there before is not lost half-way.

    ``write`` fills an empty file of this mode, and must not put another one in its place.
    """
    try:
        check_regular(path)
        with drafted(path, write, mode) as draft:
            draft.replace(path)
    except OSError as reason:
        why = reason.strerror or "the file system refuses"
        # Arrow says "Failed to open local file … [errno 2] No such …".
        why = why.rpartition("] ")[2]
        raise error(f"{str(path)!r} cannot be written: {why}.") from None


@contextlib.contextmanager
def drafted(
    path: str | Path, write: Callable[[Path], object], mode: int = _PUBLIC
) -> Iterator[Path]:
    """Yield a finished draft, on the disk and beside what it is for; remove it unless it was moved."""
    draft = Path(path).with_name(f".{secrets.token_hex(8)}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode)
    try:
        try:
            write(draft)
            if not os.path.samestat(os.fstat(handle), os.lstat(draft)):
                raise OSError(
                    errno.EPERM, "another program put something in the place of its draft"
                )
            os.fsync(handle)
        finally:
            os.close(handle)
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
