"""A store in PostgreSQL, for several collector processes at once.

Rows come by COPY into temporary tables, and from there into place, in the order of their keys, so
that no two processes wait for each other in a circle. Who was first is decided by primary keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from deniable.errors import StoreError
from deniable.server.database import UnavailableError
from deniable.server.store import Store
from deniable.server.tallies import SHARDS

STAGING = (
    "CREATE TEMPORARY TABLE new_spent (key bigint, value bigint, expiry bigint) "
    "ON COMMIT DELETE ROWS",
    "CREATE TEMPORARY TABLE new_counts (survey bigint, slot bigint, value bigint, count bigint) "
    "ON COMMIT DELETE ROWS",
    "CREATE TEMPORARY TABLE new_masks (survey bigint, slot bigint, value bytea, count bigint) "
    "ON COMMIT DELETE ROWS",
)

PATIENCE = "5s"
"""How long to wait for a lock that somebody else has."""

WAITS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""How soon a server that is gone without a word is taken for lost."""

_SET_UP, _SERIALS, _COMMIT, _AUDIT = 0x64656E69, 0x64656E6A, 0x64656E6B, 0x64656E6C
"""Advisory locks: making tables, giving out serials, storing (shared) or forgetting (alone), logging."""

_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_INTEGER = ("size", ">i4"), ("value", ">i8")


class PostgresStore(Store):
    """A collector's tables in a PostgreSQL database."""

    def __init__(self, url: str, *, create: bool = True, migrate: bool = False) -> None:
        self._address = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        try:
            self.url = _without_secrets(url)
            with self.transaction():
                self.run("SELECT pg_advisory_xact_lock(?)", _SET_UP)
                if not create and not self.has_tables():
                    raise StoreError("The database holds no collector's store.")
                self.set_up(migrate=migrate)
        except StoreError:
            self.close()
            raise
        except (psycopg.Error, UnavailableError) as error:
            self.close()
            reason = (
                str(error).strip().splitlines()[-1] if str(error).strip() else "it cannot be used"
            )
            raise StoreError(f"The database cannot be opened: {reason}.") from None

    @property
    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection, a new one where the last was lost."""
        if self._connection is None or self._connection.closed:
            connection = psycopg.connect(self._address, autocommit=True, **WAITS)
            connection.execute("SET synchronous_commit TO on")
            # What is read under a lock must be of after it was given: whatever the database's default.
            connection.execute("SET default_transaction_isolation TO 'read committed'")
            connection.execute("SET client_min_messages TO warning")
            connection.execute(sql.SQL("SET lock_timeout TO {}").format(PATIENCE))
            connection.execute("SET statement_timeout TO '30s'")
            for statement in STAGING:
                connection.execute(sql.SQL(statement))
            self._connection, self.shard = connection, connection.info.backend_pid % SHARDS
        return self._connection

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        query = statement.replace("?", "%s").encode()
        with self._as_unavailable():
            cursor = self._open.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def transaction(self, lock: str = "pg_advisory_xact_lock_shared") -> Iterator[None]:
        with self._as_unavailable(), self._open.transaction():
            self.run(f"SELECT {lock}(?)", _COMMIT)
            yield

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        with self.transaction("pg_advisory_xact_lock"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read as of one moment."""
        with self._as_unavailable(), self._open.transaction():
            self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self.run("SET LOCAL statement_timeout TO 0")  # nobody waits for analysts
            yield

    @contextmanager
    def _as_unavailable(self) -> Iterator[None]:
        """Turn what a lost, full or busy database raises into one error, and begin anew after it."""
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise UnavailableError(str(error).strip()) from error
        except (psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError):
            raise  # a mistake of ours
        except psycopg.Error as error:
            if self._connection is not None:
                self._connection.close()
            raise UnavailableError(str(error).strip()) from error

    def find(self, table: str, keys: Iterable[Any]) -> list[tuple[Any, Any]]:
        key_list = list(keys)
        if not key_list:
            return []
        return self.run(f"SELECT key, value FROM {table} WHERE key = ANY(?)", key_list)

    def spend(
        self, keys: list[int], fingerprints: list[int], expiries: list[int]
    ) -> dict[int, int]:
        self._copy("new_spent", (keys, fingerprints, expiries))
        rows = self.run(
            "INSERT INTO spent SELECT key, value, expiry FROM new_spent ORDER BY key "
            "ON CONFLICT DO NOTHING RETURNING key"
        )
        if len(rows) == len(keys):
            return {}
        fresh = {key for (key,) in rows}
        return dict(self.find("spent", [key for key in keys if key not in fresh]))

    def _copy(self, table: str, columns: Sequence[list[int]]) -> None:
        """Copy columns of integers into a table, in PostgreSQL's binary format."""
        each = [(f"{w}{i}", t) for i in range(len(columns)) for w, t in _INTEGER]
        rows = np.empty(len(columns[0]), [("fields", ">i2"), *each])
        rows["fields"] = len(columns)
        for i, column in enumerate(columns):
            rows[f"size{i}"], rows[f"value{i}"] = 8, column
        with self._open.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)".encode()) as copy:
            copy.write(_HEAD + rows.tobytes() + b"\xff\xff")

    def remember(self, requests: dict[bytes, tuple[bytes, bytes, int]]) -> list[tuple[Any, Any]]:
        fresh = {
            bytes(rows[0][0])
            for request in sorted(requests.values())
            if (
                rows := self.run(
                    "INSERT INTO remembered VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING key",
                    *request,
                )
            )
        }
        return self.find("remembered", [key for key in requests if key not in fresh])

    def add(self, table: str, rows: Sequence[list[Any]]) -> None:
        if table == "counts":
            self._copy("new_counts", rows)
        else:
            copying = self._open.cursor().copy("COPY new_masks FROM STDIN (FORMAT binary)")
            with copying as copy:
                copy.set_types(["int8", "int8", "bytea", "int8"])
                for row in zip(*rows, strict=True):
                    copy.write_row(row)
        self.run(
            f"INSERT INTO {table} SELECT survey, slot, value, count FROM new_{table} "
            "ORDER BY survey, slot, value "
            f"ON CONFLICT (survey, slot, value) DO UPDATE SET count = {table}.count + excluded.count"
        )
        self.run(f"DELETE FROM new_{table}")  # another survey may follow in this transaction

    def has_tables(self) -> bool:
        return bool(self.run("SELECT to_regclass('settings')")[0][0])

    def lock_serials(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _SERIALS)

    def lock_audit(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _AUDIT)

    def tidy(self) -> None:
        """Put kept reports in the order of their values, so that no row lies where it came."""
        with self.forgetting():
            # Whoever waits for a reader makes everybody wait who comes after.
            self.run("LOCK TABLE masks IN ACCESS EXCLUSIVE MODE NOWAIT")
            self.run("SET LOCAL statement_timeout TO 0")
            self.run("CLUSTER masks USING masks_pkey")

    def scrub(self) -> bool:
        """Do nothing: its log and its dead rows are in the hands of PostgreSQL."""
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _without_secrets(url: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return psycopg.conninfo.make_conninfo(
        "", **{name: value for name, value in parts.items() if "password" not in name}
    )
