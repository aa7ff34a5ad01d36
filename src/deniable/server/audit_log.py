"""The audit log: who read, exported or changed what; each line's hash covers the one before.

A line names commands, addresses, surveys, tables and attributes: never a participant, an answer, or what
somebody typed. It is written in the transaction of what it tells of, or before an analyst is answered.

Hash number 0 is 32 zero bytes; hash n is the SHA-256 of hash n − 1 and line n, as it is. The *head* is
the last number and its hash: whoever noted one can tell later whether all up to it is still as it was.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from deniable.errors import StoreError
from deniable.formats.reading import parse
from deniable.server.database import Database

OPERATOR = "operator"
"""Who runs commands on a store, written as operator:LOGIN; analysts are written as analyst:NAME."""

_START = bytes(32)
_HEAD = re.compile("([0-9]{1,18}):([0-9a-f]{64})")
_SOME = 10_000
_LOGIN = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_FIELDS = ("number", "time", "who", "what", "on")


class Head(NamedTuple):
    """The number of a line, and its hash."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"

    @classmethod
    def of(cls, text: str) -> Head:
        """Read a head as it is printed."""
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise StoreError(
                "A head is a line's number, a colon and 64 hexadecimal digits; take one that "
                "'deniable audit-log' printed."
            )
        return cls(int(match[1]), bytes.fromhex(match[2]))


class Line(NamedTuple):
    """A line of the log as it is stored: its text, and the hash that goes with it."""

    number: int
    text: str
    hash: bytes

    @property
    def fields(self) -> dict[str, Any]:
        """Return what it says; of a harmed one that is no JSON, its number and its text."""
        form = _parsed(self.text)
        return {"number": self.number, "on": self.text} if form is None else form

    def __str__(self) -> str:
        return f"{self.hash.hex()} {self.text}"


START = Head(0, _START)


def follow(head: Head, who: str, what: str, subject: str, seconds: float) -> Line:
    """Return the line after a head."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    values = (head.number + 1, stamp, who, what, subject)
    text = json.dumps(dict(zip(_FIELDS, values, strict=True)), ensure_ascii=False)
    return Line(head.number + 1, text, _hash(head, text))


def _hash(head: Head, text: str) -> bytes:
    return sha256(head.hash + text.encode()).digest()


def check(lines: Iterable[Line], earlier: Iterable[Head] = ()) -> Head:
    """Return the head of a log, or say which line is not as it was written.

    ``earlier`` are heads that the log had: each must still be one of it.
    """
    head, heads = START, dict[int, set[bytes]]()
    for each in earlier:
        heads.setdefault(each.number, set()).add(each.hash)
    _compare(heads, head)
    for line in lines:
        if line.number != head.number + 1:
            raise StoreError(
                f"The audit log has line {line.number} where line {head.number + 1} belongs: lines "
                "were removed, added or put into another order."
            )
        if line.hash != _hash(head, line.text) or _number(line.text) != line.number:
            raise StoreError(f"Line {line.number} of the audit log is not as it was written.")
        head = Head(line.number, line.hash)
        _compare(heads, head)
    if heads:
        raise StoreError(
            f"The audit log ends at line {head.number} and had a line {max(heads)}: its end was cut off."
        )
    return head


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        form = parse(text)
    except ValueError:
        return None
    return form if isinstance(form, dict) else None


def _number(text: str) -> object:
    return (_parsed(text) or {}).get("number")


def _compare(heads: dict[int, set[bytes]], head: Head) -> None:
    if heads.pop(head.number, {head.hash}) != {head.hash}:
        raise StoreError(
            f"Line {head.number} of the audit log is another one than the head that you know: the log "
            "was written anew."
        )


def read_lines(rows: Iterable[str]) -> Iterator[Line]:
    """Read the lines of a file: a hash, a space, a line's text."""
    for number, row in enumerate(rows, 1):
        digits, _, text = row.removesuffix("\n").partition(" ")
        own_number = _number(text)
        if not re.fullmatch("[0-9a-f]{64}", digits) or type(own_number) is not int:
            raise StoreError(f"Row {number} of the file is no line of an audit log.")
        yield Line(own_number, text, bytes.fromhex(digits))


class AuditTables(Database):
    """The log in a store."""

    def audit(self, who: str, what: str, subject: str = "") -> None:
        """Write a line, within the transaction of what it tells of."""
        self.lock_audit()
        who = _operator() if who == OPERATOR else who
        line = follow(self.audit_head(), who, what, subject, time.time())
        if not self.run(
            "INSERT INTO audit VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING number", *line
        ):
            raise StoreError(
                f"The audit log has a line {line.number}, and the store has noted that it ends before: "
                "somebody has harmed it. Restore a backup."
            )
        self.change("audit", str(Head(line.number, line.hash)).encode())

    def note(self, what: str, subject: str = "") -> None:
        """Write down what a command reads, before it does."""
        with self.transaction():
            self.audit(OPERATOR, what, subject)

    def audit_head(self) -> Head:
        """Return the number and the hash of the last line."""
        try:
            setting = self.setting("audit")
            return START if setting is None else Head.of(setting.decode())
        except (UnicodeDecodeError, StoreError):
            raise StoreError(
                "What the store has noted of its audit log's end is no head: somebody has harmed it. "
                "Restore a backup."
            ) from None

    def audit_lines(self) -> Iterator[Line]:
        """Yield the lines as they are, some at a time: of years, they do not fit into memory."""
        number: object = 0
        while rows := self.run(
            f"SELECT number, line, hash FROM audit WHERE number > ? ORDER BY number LIMIT {_SOME}",
            number,
        ):
            number = rows[-1][0]
            yield from (_line(*row) for row in rows)


def _operator() -> str:
    """Return who runs a command, as this machine knows them; with sudo, whoever called that."""
    try:
        import pwd

        number = os.getuid()
    except (ImportError, AttributeError):  # a system without
        return OPERATOR
    try:
        own_name = pwd.getpwuid(number).pw_name
    except KeyError:  # in a container, say
        own_name = str(number)
    name = os.environ.get("SUDO_USER", own_name)
    return f"{OPERATOR}:{name if _LOGIN.fullmatch(name) else own_name}"


def _line(number: object, text: object, digest: object) -> Line:
    """Return a line of whatever stands in its columns; what is of no such type is not as it was."""
    return Line(
        number if type(number) is int else -1,
        text if isinstance(text, str) else "",
        digest if isinstance(digest, bytes) else b"",
    )
