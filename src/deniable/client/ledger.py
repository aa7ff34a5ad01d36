"""A device's ledger: what was answered, once and for ever, and the ε it adds up to.

An answer is in the ledger, safely on disk, before it is handed out; afterwards only the same answer
is ever given again. The ledger holds nothing of the record but the reports. Cleared storage or a
second device starts anew: the ledger cannot know.

People with ids of their own may share a device: each answers once, and ε adds up over all of them, since
nobody can tell whether they are one person.

A survey's period, too, is drawn once and kept for ever, so that nobody can draw until they like it.

A ledger file of an earlier version, which says nothing of sending or periods, is read as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError, RefusedError
from deniable.formats.reading import check_regular, parse, read_text
from deniable.messages.report import Report
from deniable.messages.token import is_survey_id

_MOST_BYTES = 1 << 28
"""The largest ledger: a hundred answers of the longest kind."""


@dataclass(frozen=True)
class Sending:
    """What a report is sent with, and whether its collector has it: "drawn", then "sent"."""

    state: str = "drawn"
    token: str | None = None
    """A made-up one; one that was given is not kept."""
    ticket: str | None = None
    key: str | None = None
    """Names the request where nothing else does, so that a collector counts it once."""
    day: int | None = None
    """On which day since 1970 the key was made, which no collector remembers for ever."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, form: Any) -> Sending:
        """Read the JSON form strictly."""
        sending = cls(**form)
        if sending.state not in {"drawn", "sent"} or not all(
            type(value) is (int if name == "day" else str) for name, value in form.items()
        ):
            raise ValueError("not how a report is sent")
        return sending


@dataclass(frozen=True)
class Entry:
    """An answer's place in a ledger: the report, the ε it cost, and how it is sent, if it is.

    The report is None where it is counted and all that is kept is that there was one.
    """

    report: Report | None
    epsilon: float
    sending: Sending | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        form: dict[str, Any] = {} if self.report is None else {"report": self.report.to_json()}
        form["epsilon"] = repr(self.epsilon)
        return form if self.sending is None else form | {"sending": self.sending.to_json()}

    @classmethod
    def from_json(cls, form: Any) -> Entry:
        """Read the JSON form."""
        sending = Sending.from_json(form["sending"]) if "sending" in form else None
        is_forgotten = sending == Sending("sent") and "report" not in form
        report = None if is_forgotten else Report.from_json(form["report"])
        return cls(report, _positive(form["epsilon"]), sending)

    def is_same_answer(self, other: Entry) -> bool:
        """Tell whether these are one answer, however far its sending is.

        Another one may be at its place after a ledger was cleared. One that is forgotten is none.
        """
        return self._identity == other._identity and self.report is not None

    @property
    def _identity(self) -> tuple[object, ...]:
        sending = self.sending or Sending()
        return self.report, self.epsilon, sending.token, sending.key

    def known_report(self) -> Report:
        """Return the report; refuse where all that is kept is that there was one."""
        if self.report is None:
            raise RefusedError(
                "This device has answered this survey; nothing was drawn or sent now.", "answered"
            )
        return self.report


@dataclass
class _Content:
    """All that a ledger keeps: entries by place, made-up tokens and drawn periods by survey id."""

    entries: dict[str, Entry] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    periods: dict[str, str] = field(default_factory=dict)


class Ledger:
    """The surveys that a device has answered, kept in a file; processes and threads take turns.

    The path is resolved now, so that another name of the same file, or of the folder one works in,
    is no second ledger.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path | None = Path(path).resolve()
        self._memory = _Content()
        self._lock = threading.Lock()

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return a ledger that forgets when the program ends: for tests and simulations."""
        ledger = cls("unused")
        ledger.path = None
        return ledger

    @contextlib.contextmanager
    def open(self) -> Iterator[dict[str, Entry]]:
        """Hold the ledger alone and yield its entries by place; what is added is kept.

        Entries are on disk when the block ends without an error, and unchanged when it does not.
        """
        with self._alone() as content:
            yield content.entries

    @contextlib.contextmanager
    def _alone(self) -> Iterator[_Content]:
        with self._lock:
            if self.path is None:
                content = deepcopy(self._memory)
                yield content
                self._memory = content
                return
            if self.path.is_dir():
                raise RefusedError(
                    f"The ledger must be a file, and {self.path} is a folder.", "ledger"
                )
            with _file_lock(self.path.with_name(self.path.name + ".lock")):
                before = self._read(self.path)
                content = deepcopy(before)
                yield content
                if content != before:
                    try:
                        self._write(self.path, content)
                    except OSError as error:
                        raise _not_kept(self.path, error) from None

    def token(self, survey: str) -> str:
        """Return the token that was made up for a survey, at random, and is kept from then on."""
        with self._alone() as content:
            return content.tokens.setdefault(survey, secrets.token_urlsafe(16))

    def period(self, survey: str, draw: Callable[[], str]) -> str:
        """Return the period that was drawn for a survey, once, and is kept from then on."""
        with self._alone() as content:
            if survey not in content.periods:
                content.periods[survey] = draw()
            return content.periods[survey]

    def entries(self) -> dict[str, Entry]:
        """Return the entries by place: see `place_of`."""
        with self.open() as entries:
            return dict(entries)

    def forget(self, place: str) -> None:
        """Keep of an answer that is counted only that there was one, and its ε."""
        with self._alone() as content:
            entry = content.entries.get(place)
            if entry is not None and entry.sending is not None and entry.sending.state == "sent":
                content.entries[place] = Entry(None, entry.epsilon, Sending("sent"))
                content.tokens.pop(place, None)

    @property
    def spent(self) -> float:
        """Return the ε of all surveys together."""
        return float(total(self.entries()))

    @staticmethod
    def _read(path: Path) -> _Content:
        try:
            check_regular(path)
            form = parse(read_text(path, _MOST_BYTES))
            if form["deniable"] != "ledger":
                raise ValueError("not a ledger")
            entries = {survey: Entry.from_json(e) for survey, e in form["surveys"].items()}
            tokens, periods = dict(form.get("tokens", {})), dict(form.get("periods", {}))
            if not all(isinstance(text, str) for text in (*tokens.values(), *periods.values())):
                raise ValueError("not tokens or periods")
            return _settled(_Content(entries, tokens, periods))
        except FileNotFoundError:
            return _Content()
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
                "restore it from a copy.",
                "ledger",
            ) from None

    @staticmethod
    def _write(path: Path, content: _Content) -> None:
        form: dict[str, Any] = {
            "deniable": "ledger",
            "surveys": {survey: entry.to_json() for survey, entry in content.entries.items()},
        }
        if content.tokens:
            form["tokens"] = content.tokens
        if content.periods:
            form["periods"] = content.periods
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


def place_of(survey: str, participant: str | None) -> str:
    """Return where an answer is kept: a survey's id, and behind it a digest of a participant's."""
    if participant is None:
        return survey
    return f"{survey} {sha256(f'deniable.person{survey}{participant}'.encode()).hexdigest()}"


def place_in(entries: Mapping[str, Entry], survey: str, participant: str | None) -> str:
    """Return where the answer of the person with this id is.

    Nothing that a collector says has a part in it. A made-up token that is given is its device's.
    """
    entry = entries.get(survey)
    is_device = (
        entry is not None and entry.sending is not None and entry.sending.token == participant
    )
    return survey if is_device else place_of(survey, participant)


def _settled(content: _Content) -> _Content:
    """Return a content in which an answer under a given token is at that token's place.

    Earlier versions kept it at the survey's id, with the token, which only made-up ones need. If its
    place is taken there were two answers; this one is nobody's then, but its ε counts.
    """
    for survey, entry in list(content.entries.items()):
        sending = entry.sending
        if not is_survey_id(survey) or sending is None or sending.token is None:
            continue
        if sending.token == content.tokens.get(survey):
            continue
        place = place_of(survey, sending.token)
        while place in content.entries:
            place += "+"
        del content.entries[survey]
        content.entries[place] = replace(entry, sending=replace(sending, token=None))
    return content


def answered_elsewhere(entries: Mapping[str, Entry], survey: str, place: str) -> bool:
    """Tell whether a survey was answered at another place than this."""
    return any(each.startswith(survey) and each != place for each in entries)


def total(entries: Mapping[str, Entry]) -> Fraction:
    """Return the ε of these entries together, exactly."""
    return sum((Fraction(entry.epsilon) for entry in entries.values()), Fraction(0))


def _positive(text: str) -> float:
    number = float(text)
    if not (repr(number) == text and 0 < number < inf):
        raise ValueError("not a positive number")
    return number


def _not_kept(path: Path, error: OSError) -> RefusedError:
    return RefusedError(f"The ledger cannot be kept at {path.parent}: {error.strerror}.", "ledger")


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
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
