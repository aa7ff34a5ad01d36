"""Reading what others wrote: no more than fits, nothing without an end, no JSON without a bottom.

A file that somebody names may be a folder, a device that never ends, a pipe that nobody writes to, or
JSON of brackets within brackets; none of them may hang a program, fill its memory or end in a traceback.
What cannot be read raises an OSError whose ``strerror`` ends a sentence, as of a file that is missing.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, AnyStr

MOST_BYTES = 1 << 26
"""The most bytes of a text that is read whole: a survey, a record, what columns may hold."""

_DEEPEST = 64
"""The deepest nesting of JSON that is taken; nothing of ours comes near."""


class TooDeep(ValueError):  # noqa: N818 - like a text that is no JSON: readers say so in their own words
    """A JSON text is nested too deeply."""


def read_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Return the UTF-8 text of a file, or of a pipe that somebody writes to."""
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if S_ISREG(status.st_mode) and status.st_size > most:
            raise _too_large(most)
        return read_all(file, most).decode()


def read_all(file: IO[AnyStr], most: int = MOST_BYTES) -> AnyStr:
    """Return all that an open file holds, if it holds no more bytes (or letters) than that."""
    content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(most)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; opening a pipe does not wait for a writer, but reading waits for what it writes."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return handle


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most >> 20:,} MB")


def check_regular(path: str | Path) -> None:
    """Refuse what is there and cannot be read from its end, such as a folder, a device or a pipe."""
    if Path(path).is_dir():
        raise OSError(errno.EISDIR, "it is a folder")
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def parse(
    text: str | bytes,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    number: Callable[[str], Any] | None = None,
) -> Any:
    """Return what a JSON text says; a ValueError if it is none, `TooDeep` if it is nested too deeply.

    ``pairs`` makes an object of its fields, ``number`` a number of a text with a point or an exponent.

    What is accepted can be compared, shown and written again by functions that call themselves.
    """
    try:
        whole = text.decode() if isinstance(text, bytes) else text  # UTF-8, and nothing else
        form = json.loads(
            whole, object_pairs_hook=pairs, parse_float=number, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise TooDeep from None
    level = [form]
    for _ in range(_DEEPEST):
        level = [
            child
            for each in level
            if isinstance(each, list | dict)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return form
    raise TooDeep
