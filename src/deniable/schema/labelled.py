"""A program that reads an SPSS or Stata file: ``python -P labelled.py FILE COLUMNS``, columns as JSON.

What parses these files is C, which a hostile file crashes, or has take any memory and time. Here it
does so in a process of its own, with limits by the file's size, whose end is one sentence elsewhere. It
writes an Arrow stream, which can hold nothing that runs. It imports nothing of deniable and is started
as a file, so that it runs wherever deniable was imported from.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

DAMAGED, LACKING = 3, 4
"""How this process ends when a parser refuses a file, and when there is no parser."""

_BYTES, _BYTES_BY_BYTE = 1 << 31, 64
"""The memory that a file may take. A value takes 8 times as much as in a compressed file, as a number of
Python's 32 times."""
_SECONDS, _BYTES_BY_SECOND = 60, 1 << 18


def most_seconds(size: int) -> int:
    """Return how long reading a file of so many bytes may take."""
    return _SECONDS + size // _BYTES_BY_SECOND


def main(path: str, columns: list[str] | None) -> None:
    """Read a file under limits, and write its table to stdout."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a parser in C may print, too
    try:
        import pandas as pd
        import pyarrow as pa
        import pyreadstat
    except ImportError:
        sys.exit(LACKING)
    is_spss = path.lower().endswith(".sav")
    read: Callable[..., Any] = pyreadstat.read_sav if is_spss else pyreadstat.read_dta
    _limit(os.stat(path).st_size)
    try:
        _, about = read(path, metadataonly=True)
        names = [name for name in about.column_names if columns is None or name in columns]
        frame, about = read(path, usecols=names) if names else (pd.DataFrame(), about)
        for name in frame.columns:
            if name in about.variable_value_labels:
                frame[name] = _labelled(frame[name], about.variable_value_labels[name])
        _write(pa.Table.from_pandas(frame, preserve_index=False), output)
    except Exception:  # a damaged file raises nearly anything
        sys.exit(DAMAGED)


def _write(table: Any, output: BinaryIO) -> None:
    import pyarrow as pa

    with output, pa.ipc.new_stream(output, table.schema) as writer:
        writer.write_table(table)


def _limit(size: int) -> None:
    """Bound what this process may take from here on, where the system can; leave no core behind."""
    with suppress(OSError):
        # Where memory runs out nevertheless, it is this process that ends.
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")
    try:
        import resource
    except ImportError:  # Windows
        return
    page, memory = resource.getpagesize(), _BYTES + _BYTES_BY_BYTE * size
    with suppress(OSError, ValueError):
        memory = min(memory, os.sysconf("SC_PHYS_PAGES") * page)
        memory_now = int(Path("/proc/self/statm").read_bytes().split()[0]) * page
        _set(resource.RLIMIT_AS, memory_now + memory)
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, most_seconds(size)),
        (resource.RLIMIT_FSIZE, memory),
    ):
        _set(what, most)


def _set(what: int, most: int) -> None:
    import resource

    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (most, most))


def _labelled(column: Any, labels: Mapping[Any, str]) -> Any:
    """Return a column as labels in the order of its values, if each value has one."""
    import pandas as pd

    if not column.dropna().isin(list(labels)).all():
        return column
    words = {value: str(labels[value]) for value in sorted(labels)}
    texts = list(words.values())
    words = {v: f"{t} ({v:g})" if texts.count(t) > 1 else t for v, t in words.items()}
    return pd.Categorical(column.map(words), categories=list(words.values()), ordered=False)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
