"""A collector's database: statements, transactions, settings. How rows get in is its kind's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

from deniable import __version__
from deniable.errors import StoreError
from deniable.server.migrations import FORMAT, OLDEST, STEPS
from deniable.server.tickets import Seal, hour

KINDS = "ticket", "id"
"""The kinds of keys that change."""

Rings = tuple[dict[int, bytes | None], dict[int, bytes | None]]


class UnavailableError(Exception):
    """The database cannot take anything just now; nothing of the transaction was stored."""


class RepeatedError(Exception):
    """Somebody answered before, which a store that is not careful finds out too late."""


class Database(ABC):
    """A database with a collector's tables, used by one thread."""

    url: str
    shard = 0
    """Which of the rows that add up to the people this connection counts in."""
    is_careful = False
    """Whether to look who has answered before writing that they do."""

    # What a kind of database does in its own way

    @abstractmethod
    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement, with ? for values, and return its rows."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Do all or nothing; raise `UnavailableError` where the database cannot."""

    @abstractmethod
    def forgetting(self) -> AbstractContextManager[None]:
        """Do all or nothing, while nobody else's transaction runs."""

    @abstractmethod
    def spend(
        self, keys: list[int], fingerprints: list[int], expiries: list[int]
    ) -> dict[int, int]:
        """Write down who answered what; return what those had answered who had answered before."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read as of one moment, whatever is written meanwhile."""

    @abstractmethod
    def remember(self, requests: dict[bytes, tuple[bytes, bytes, int]]) -> list[tuple[Any, Any]]:
        """Remember requests by their keys; return key and body of those that came before."""

    @abstractmethod
    def find(self, table: str, keys: Iterable[Any]) -> list[tuple[Any, Any]]:
        """Return key and value of those rows of a table that have one of these keys."""

    @abstractmethod
    def add(self, table: str, rows: Sequence[list[Any]]) -> None:
        """Add columns survey, slot, value, count to a table of counts; none but the last repeats."""

    @abstractmethod
    def lock_serials(self) -> None:
        """Let no other transaction give out serials before this one ends."""

    @abstractmethod
    def lock_audit(self) -> None:
        """Let no other transaction write into the audit log before this one ends; the last lock."""

    @abstractmethod
    def has_tables(self) -> bool:
        """Tell whether there is a store in this database."""

    @abstractmethod
    def tidy(self) -> None:
        """Move rows, where a database keeps them in the order in which they came."""

    @abstractmethod
    def scrub(self) -> bool:
        """Leave nothing of deleted rows in the log; False where somebody is in the way for now."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Settings

    def set_up(self, words: Callable[[str], str] = str, *, migrate: bool = False) -> None:
        """Make the tables, or what a newer version has more of them if that is wanted, and the key.

        ``words`` puts a statement into this database's words.
        """
        form = self.format()
        if form > FORMAT:
            raise StoreError(
                f"The store {self.url!r} is of a newer version of deniable (format {form}; "
                f"{__version__} reads {FORMAT}): install that version."
            )
        if form and not migrate:
            if form < OLDEST:
                raise StoreError(
                    f"The store {self.url!r} is of an older version of deniable (format {form}; "
                    f"{__version__} writes {FORMAT}): end its collector, then run 'deniable migrate'."
                )
            return
        for step in range(form + 1, FORMAT + 1):
            for statement in STEPS[step]:
                self.run(words(statement))
        if form < FORMAT:
            self.change("format", str(FORMAT).encode())
            self.settle("secret", Seal.fresh_secret())
            for kind in KINDS:
                self.run(
                    "INSERT INTO keys VALUES (?, 0, ?, ?, NULL, 0, 0) ON CONFLICT DO NOTHING",
                    *(kind, Seal.fresh_secret(), hour()),
                )

    def format(self) -> int:
        """Return the version of the tables; 0 where there are none."""
        number = self.setting("format") if self.has_tables() else b"0"
        if number is None or not number.isdigit():
            raise StoreError(f"The store {self.url!r} does not say of which version it is.")
        return int(number)

    def setting(self, name: str) -> bytes | None:
        """Return a setting."""
        rows = self.run("SELECT value FROM settings WHERE name = ?", name)
        if rows and not isinstance(rows[0][0], bytes):
            raise StoreError(f"The store's setting {name!r} is harmed: restore a backup.")
        return rows[0][0] if rows else None

    def settle(self, name: str, value: bytes) -> None:
        """Make a setting that is not there yet."""
        self.run("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", name, value)

    def change(self, name: str, value: bytes) -> None:
        """Make or replace a setting."""
        self.run(
            "INSERT INTO settings VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )

    def keys(self) -> Rings:
        """Return the keys of tickets and those of ids, by number; None for those that are retired."""
        rings: Rings = {}, {}
        for kind, number, material in self.run("SELECT kind, number, material FROM keys"):
            rings[KINDS.index(kind)][number] = None if material is None else bytes(material)
        return rings

    def seal(self) -> Seal:
        """Return what vouches for ids and tickets, as of now."""
        secret = self.setting("secret")
        assert secret is not None
        return Seal(secret, *self.keys())
