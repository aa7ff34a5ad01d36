"""How many of the issued ids have answered, by batch: counts, and never whose.

A collector must know which ids have answered, so that none counts twice. What it tells its operator is
how many, of batches that are large enough: of a small one, a count that moves would say who it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from deniable.messages.token import OPEN
from deniable.server.participants import PAGE
from deniable.server.store import Store
from deniable.server.work import StoredSurvey

LEAST = 20
"""The fewest ids of a batch that is counted by itself."""

_SETTING = "batches"


class Batch(NamedTuple):
    """Some ids that were issued together: under which name, from which serial on, how many."""

    name: str
    first: int
    size: int


class Turnout(NamedTuple):
    """How many ids were issued under a name, and how many of them have answered."""

    name: str
    issued: int
    answered: int

    def to_json(self) -> dict[str, object]:
        """Return the JSON form."""
        rest = self.issued - self.answered
        return {"batch": self.name, "issued": self.issued, "answered": self.answered, "open": rest}


def note_batch(store: Store, name: str, first: int, count: int) -> None:
    """Remember under which name ids were issued."""
    with store.transaction():
        store.lock_serials()
        batches = [*_batches(store), Batch(name, first, count)]
        store.change(_SETTING, json.dumps(batches).encode())


def _batches(store: Store) -> list[Batch]:
    text = store.setting(_SETTING)
    return [] if text is None else [Batch(*each) for each in json.loads(text)]


def turnouts(store: Store, survey: StoredSurvey) -> list[Turnout]:
    """Return the turnout of each batch that is large enough, and that of the others together."""
    batches = _batches(store)
    sizes: dict[str, int] = {}
    for batch in batches:
        sizes[batch.name] = sizes.get(batch.name, 0) + batch.size
    counts: dict[str, list[int]] = {}
    for batch in batches:
        name = batch.name if sizes[batch.name] >= LEAST else ""
        own = counts.setdefault(name, [0, 0])
        own[0] += batch.size
        own[1] += _answers(store, survey, batch.first, batch.first + batch.size)
    before = batches[0].first if batches else store.next_serial("issued")
    if 0 < before < 1 << 32:  # issued before batches were noted
        own = counts.setdefault("", [0, 0])
        own[0] += before
        own[1] += _answers(store, survey, 0, before)
    return [Turnout(name, *pair) for name, pair in sorted(counts.items(), key=lambda c: c[0] == "")]


def _answers(store: Store, survey: StoredSurvey, first: int, end: int) -> int:
    """Count who has answered among participants of a range of serials."""
    low, high = survey.key(first), survey.key(min(end, OPEN))
    ((fresh,),) = store.run("SELECT count(*) FROM spent WHERE key >= ? AND key < ?", low, high)
    pages = store.run(
        "SELECT key, value FROM answered WHERE key >= ? AND key <= ?",
        *(low // PAGE, (high - 1) // PAGE),
    )
    return int(fresh) + _bits(((int(key), bytes(value)) for key, value in pages), low, high)


def _bits(pages: Iterable[tuple[int, bytes]], low: int, high: int) -> int:
    """Count the bits of pages from one key on to before another."""
    total = 0
    for number, value in pages:
        start = number * PAGE
        bits = int.from_bytes(value, "little") & ((1 << max(0, min(high - start, PAGE))) - 1)
        total += (bits >> max(0, low - start)).bit_count()
    return total
