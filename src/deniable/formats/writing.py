"""Writing: JSON without numbers that it does not have, files whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError


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


def write_whole(
    path: str | Path, write: Callable[[Path], object], error: type[DeniableError]
) -> None:
    """Write a file whole or not at all: what stood there before is not lost half-way."""
    draft = Path(f"{path}.part")
    try:
        write(draft)
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as reason:
        why = reason.strerror or "the file system refuses"
        # Arrow says "Failed to open local file … [errno 2] No such …".
        why = why.rpartition("] ")[2]
        raise error(f"{str(path)!r} cannot be written: {why}.") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
