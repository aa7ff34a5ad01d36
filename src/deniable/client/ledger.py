"""A person's ledger: what was answered, once and for ever, and the ε it adds up to.

An answer is in the ledger, safely on disk, before it is handed out; afterwards only the same answer
is ever given again. The ledger holds nothing of the record but the reports. Cleared storage or a
second device starts anew: the ledger cannot know.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from deniable.client.wire import Report
from deniable.errors import DeniableError, RefusedError

__all__ = ["Entry", "Ledger"]


@dataclass(frozen=True)
class Entry:
    """One survey's place in a ledger: the report, and the ε it cost."""

    report: Report
    epsilon: float


class Ledger:
    """The surveys a person has answered, kept in a file; processes and threads take turns.

    The path is resolved now, so that another name of the same file, or of the folder one works in,
    is no second ledger.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path | None = Path(path).resolve()
        self._memory: dict[str, Entry] = {}
        self._lock = threading.Lock()

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return a ledger that forgets when the program ends: for tests and simulations."""
        made = cls("unused")
        made.path = None
        return made

    @contextlib.contextmanager
    def open(self) -> Iterator[dict[str, Entry]]:
        """Hold the ledger alone and yield its entries by survey id; what is added is kept.

        Entries are on disk when the block ends without an error, and unchanged when it does not.
        """
        with self._lock:
            if self.path is None:
                entries = dict(self._memory)
                yield entries
                self._memory = entries
                return
            if self.path.is_dir():
                raise RefusedError(f"The ledger must be a file, and {self.path} is a folder.")
            with _locked(self.path.with_name(self.path.name + ".lock")):
                before = self._read(self.path)
                entries = dict(before)
                yield entries
                if entries != before:
                    try:
                        self._write(self.path, entries)
                    except OSError as error:
                        raise _not_kept(self.path, error) from None

    def entries(self) -> dict[str, Entry]:
        """Return the entries by survey id."""
        with self.open() as entries:
            return dict(entries)

    @property
    def spent(self) -> float:
        """Return the ε of all surveys together."""
        return float(total(self.entries()))

    @staticmethod
    def _read(path: Path) -> dict[str, Entry]:
        try:
            form = json.loads(path.read_text(encoding="utf-8"))
            if form["deniable"] != "ledger":
                raise ValueError("not a ledger")
            return {
                survey: Entry(Report.from_json(e["report"]), _positive(e["epsilon"]))
                for survey, e in form["surveys"].items()
            }
        except FileNotFoundError:
            return {}
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RuntimeError,
            DeniableError,
        ):
            raise RefusedError(
                f"The ledger {path.name} cannot be read, so what was answered before is unknown; "
                "restore it from a copy."
            ) from None

    @staticmethod
    def _write(path: Path, entries: dict[str, Entry]) -> None:
        form: dict[str, Any] = {
            "deniable": "ledger",
            "surveys": {
                survey: {"report": e.report.to_json(), "epsilon": repr(e.epsilon)}
                for survey, e in entries.items()
            },
        }
        draft = path.with_name(path.name + ".draft")
        draft.unlink(missing_ok=True)  # by a process that was killed: a report never handed out
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(form, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        if hasattr(os, "O_DIRECTORY"):
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def total(entries: dict[str, Entry]) -> Fraction:
    """Return the ε of these entries together, exactly."""
    return sum((Fraction(entry.epsilon) for entry in entries.values()), Fraction(0))


def _positive(text: str) -> float:
    number = float(text)
    if not (repr(number) == text and 0 < number < inf):
        raise ValueError("not a positive number")
    return number


def _not_kept(path: Path, error: OSError) -> RefusedError:
    return RefusedError(f"The ledger cannot be kept at {path.parent}: {error.strerror}.")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock that the system drops if the process dies."""
    try:
        file = path.open("a+b")
    except OSError as error:
        raise _not_kept(path, error) from None
    with file:
        if os.name == "nt":  # pragma: no cover
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
