"""How many of the issued ids have answered, by batch: counts, and no list of ids.

A collector must know which ids have answered, so that none counts twice. What it tells its operator is
how many, of batches that are large enough: of a small one, a count that moves would say who it was. So
ids are counted from the moment on at which their batch, or all small ones together, has grown by 100,
and stay where they are counted; no sum leaves fewer to be told apart. Answers are told in tens.
Whoever answers with other ids of a batch sees all the same when one person does: `docs/fieldwork.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from deniable.messages.token import OPEN
from deniable.schema.labels import FEWEST
from deniable.server.participants import PAGE
from deniable.server.store import Store
from deniable.server.work import StoredSurvey

STEP = 10
"""Answers are rounded down to multiples of this, and at least so many ids seem open."""

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


class Turnouts(NamedTuple):
    """The turnout of each batch that is large enough, and of others together, if they are."""

    rows: list[Turnout]
    withheld: int
    """Ids of batches that are too small even together: how many of them answered is not told."""


def turnouts(store: Store, survey: StoredSurvey) -> Turnouts:
    """Return how many have answered, as far as it is told."""
    parts, pending = _parts(_batches(store), store.next_serial("issued"))
    rows = []
    for name, batches in sorted(parts.items(), key=lambda part: part[0] == ""):
        issued = sum(batch.size for batch in batches)
        answers = sum(
            _answers(store, survey, each.first, each.first + each.size) for each in batches
        )
        rows.append(Turnout(name, issued, min(answers, issued - STEP) // STEP * STEP))
    return Turnouts(rows, sum(batch.size for batch in pending))


def _parts(batches: list[Batch], end: int) -> tuple[dict[str, list[Batch]], list[Batch]]:
    """Return the batches that are counted together, by name, and those that are not counted."""
    before = batches[0].first if batches else end
    if 0 < before < 1 << 32:  # issued before batches were noted
        batches = [Batch("", 0, before), *batches]
    parts, pending = dict[str, list[Batch]](), list[Batch]()
    for batch in batches:
        pending.append(batch)
        for name, some in (
            (batch.name, [each for each in pending if each.name == batch.name]),
            ("", pending),
        ):
            if sum(each.size for each in some) >= FEWEST:
                parts.setdefault(name, []).extend(some)
                pending = [each for each in pending if each not in some]
                break
    return parts, pending


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
