"""The tables of a store, version by version.

A new store goes through all steps, an older one through those that it lacks: all in one transaction,
under the lock of setting up, so that a store has its old tables or its new ones, whatever happens.
A step that a release has carried out is history and does not change; what comes next is a new step.
Only 'deniable serve', 'migrate' and 'restore' change the version: an older collector may be running.
"""

from __future__ import annotations

import re

STEPS: dict[int, tuple[str, ...]] = {
    1: (
        "CREATE TABLE settings (name text PRIMARY KEY, value bytea)",
        "CREATE TABLE surveys (number integer PRIMARY KEY, id text UNIQUE, form text, slots text, "
        "participants text, keeps integer)",
        "CREATE TABLE serials (kind text PRIMARY KEY, next bigint)",
        "CREATE TABLE tokens (key bytea PRIMARY KEY, value bigint)",
        "CREATE TABLE spent (key bigint PRIMARY KEY, value bigint, expiry integer)",
        "CREATE TABLE answered (key bigint PRIMARY KEY, value bytea)",
        "CREATE TABLE counts (survey integer, slot bigint, value bigint, count bigint, "
        "PRIMARY KEY (survey, slot, value))",
        "CREATE TABLE masks (survey integer, slot bigint, value bytea, count bigint, "
        "PRIMARY KEY (survey, slot, value))",
        "CREATE TABLE remembered (key bytea PRIMARY KEY, value bytea, expiry integer)",
        "CREATE TABLE checkpoints (survey integer, people bigint, width float8, "
        "PRIMARY KEY (survey, people))",
    ),
    2: (
        # One secret had sealed everything. It goes on doing so as number 0, until it is rotated, and
        # assigns the slots of the surveys that are there for as long as these live.
        "CREATE TABLE keys (kind text, number integer, material bytea, since bigint, ends bigint, "
        "first bigint, uses bigint, PRIMARY KEY (kind, number))",
        "INSERT INTO keys SELECT 'ticket', 0, value, NULL, NULL, 0, 0 FROM settings "
        "WHERE name = 'secret'",
        "INSERT INTO keys SELECT 'id', 0, value, NULL, NULL, 0, "
        "(SELECT coalesce(max(next), 0) FROM serials WHERE kind = 'issued') FROM settings "
        "WHERE name = 'secret'",
        "ALTER TABLE surveys ADD COLUMN key bytea",
        "UPDATE surveys SET key = (SELECT value FROM settings WHERE name = 'secret')",
        # One token had served all analysts. It goes on as that of one who may do everything.
        "CREATE TABLE analysts (name text PRIMARY KEY, roles text, digest bytea, expiry bigint)",
        "INSERT INTO analysts SELECT 'analyst', 'look export operate', value, NULL FROM settings "
        "WHERE name = 'analyst'",
        "DELETE FROM settings WHERE name = 'analyst'",
        "CREATE TABLE audit (number bigint PRIMARY KEY, line text, hash bytea)",
    ),
    3: ("CREATE TABLE texts (survey integer PRIMARY KEY, form text)",),
    4: ("CREATE TABLE survey_log (number bigint PRIMARY KEY, day text, survey text UNIQUE)",),
    5: ("ALTER TABLE surveys ADD COLUMN ends bigint",),
    6: (
        "CREATE TABLE snapshots (survey integer PRIMARY KEY, people bigint, form bytea)",
        # They were of any number of people; those to come are of snapshots.
        "DELETE FROM checkpoints",
    ),
}
"""What makes each version of the one before, in PostgreSQL's words."""

FORMAT = max(STEPS)
"""The version of the tables."""

FORMAT_OF = {"0.2.0": 1, "0.3.0": FORMAT}
"""The format of each version of deniable: what a release has written changes with a new version."""

OLDEST = 5
"""The version from which on tables can be used as they are: what came later is a collector's alone."""

_TYPES = {"bytea": "BLOB", "bigint": "INTEGER", "float8": "REAL"}
"""SQLite's names of PostgreSQL's types, where they differ."""

_BY_ROWID = ("surveys", "spent", "answered", "texts", "snapshots")
"""Tables whose key is an integer, and so the row's own number."""


def for_sqlite(statement: str) -> str:
    """Return a statement in SQLite's words."""
    for name, own_name in _TYPES.items():
        statement = re.sub(rf"\b{name}\b", own_name, statement)
    table = re.match(r"CREATE TABLE (\w+)", statement)
    return f"{statement} WITHOUT ROWID" if table and table[1] not in _BY_ROWID else statement
