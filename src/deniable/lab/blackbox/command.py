"""A foreign client: a command that reads records and prints a report for each.

A record is a line of JSON on the command's standard input, a report a line on its standard output, in
the same order. Each line is another person: nothing may be remembered from one to the next. The
command is started without a shell.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any

from deniable.errors import DataError

SURVEY = "{survey}"
"""What stands for the survey's file in a command."""

LONGEST_REPORT = 1 << 20
"""The most bytes of a line that a command prints."""

Advance = Callable[[], object]


@dataclass(frozen=True)
class Command:
    """A command as it is started: one process for many records, or one for each (``one_by_one``)."""

    arguments: tuple[str, ...]
    one_by_one: bool = False

    @classmethod
    def of(cls, text: str, survey: Path | None = None, one_by_one: bool = False) -> Command:
        """Return a command line, split as a shell would, with the survey's file in its place."""
        try:
            words = shlex.split(text)
        except ValueError:
            raise DataError("The command has a quotation mark that is never closed.") from None
        if not words:
            raise DataError("The command is empty; give the program and its arguments.")
        if survey is None and any(SURVEY in word for word in words):
            raise DataError(f"The command names {SURVEY}, but no survey is given.")
        return cls(tuple(word.replace(SURVEY, str(survey)) for word in words), one_by_one)

    def reports(self, records: Sequence[Any], advance: Advance = lambda: None) -> list[str]:
        """Return what the command prints for each record, in one form where it is JSON."""
        parts = [[record] for record in records] if self.one_by_one else [records]
        reports = []
        for part in parts:
            for line in self._lines([json.dumps(record) for record in part]):
                reports.append(_in_one_form(line))
                advance()
        return reports

    def _lines(self, records: Sequence[str]) -> Iterator[bytes]:
        """Start the command, tell it records, and yield as many lines."""
        name = Path(self.arguments[0]).name
        try:
            process = subprocess.Popen(
                self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise DataError(f"The command {name!r} cannot be started: {error.strerror}.") from None
        assert process.stdin
        assert process.stdout
        teller = Thread(target=_tell, args=(process.stdin, records), daemon=True)
        teller.start()
        try:
            for number in range(len(records) + 1):
                line = process.stdout.readline(LONGEST_REPORT)
                if len(line) == LONGEST_REPORT:
                    raise DataError(f"The command {name!r} printed a line of a megabyte or more.")
                if number == len(records):
                    if line:
                        raise DataError(f"The command {name!r} printed more lines than records.")
                elif not line.strip():
                    ended = f", and ended with exit code {process.wait()}" if not line else ""
                    raise DataError(
                        f"The command {name!r} printed {number:,} reports of "
                        f"{len(records):,}{ended}; it needs a line for each record."
                    )
                else:
                    yield line
            if process.wait():
                raise DataError(f"The command {name!r} ended with exit code {process.returncode}.")
        finally:
            process.kill()
            process.stdout.close()
            teller.join()
            process.wait()


def _tell(stdin: IO[bytes], records: Sequence[str]) -> None:
    """Write records, for as long as anybody reads them."""
    with suppress(BrokenPipeError, OSError):
        stdin.writelines(f"{record}\n".encode() for record in records)
    with suppress(BrokenPipeError, OSError):
        stdin.close()


def _in_one_form(line: bytes) -> str:
    """Return a line in a form that is equal for equal JSON; any other line as it is."""
    text = line.decode(errors="replace").strip()
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text
