#!/usr/bin/env python
"""Write tests/vectors/log.json: logs of surveys, proofs about them, and proofs that all clients refuse.

A proof is what a collector answers to somebody who knows the head ``known``, and asks about ``survey``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from deniable.messages.survey_log import Entry, Head, SurveyLog

PATH = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "log.json"

Form = dict[str, Any]
Entries = list[Entry]


def _entry(number: int) -> Entry:
    return Entry(f"2026-11-{number + 1:02}", sha256(f"survey {number}".encode()).hexdigest())


ENTRIES = [_entry(number) for number in range(21)]
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 20, 21)
OTHER = Entry("2026-12-24", 64 * "c")


def proof(known: int, entries: Entries, index: int) -> Form:
    """Return an honest answer about some entries to somebody who knows so many of the usual ones."""
    log = SurveyLog(entries)
    return {
        "known": str(Head.of_log(ENTRIES[:known])),
        "survey": entries[index].survey,
        "head": log.head._asdict(),
        "entry": entries[index]._asdict(),
        "index": index,
        "consistency": log.consistency(known),
        "inclusion": log.inclusion(index),
    }


def _rewritten(entries: Entries, at: int) -> Entries:
    return [OTHER if place == at else entry for place, entry in enumerate(entries)]


def _without(entries: Entries, at: int) -> Entries:
    return [entry for place, entry in enumerate(entries) if place != at]


LOGS: dict[str, tuple[int, Entries, int]] = {
    "an entry that is known was changed": (8, _rewritten(ENTRIES[:13], 3), 12),
    "the first entry was changed": (7, _rewritten(ENTRIES[:8], 0), 7),
    "another day of an entry": (
        5,
        [Entry("2026-01-01", ENTRIES[0].survey), *ENTRIES[1:9]],
        8,
    ),
    "an entry was removed": (8, _without(ENTRIES[:13], 5), 11),
    "an entry was removed, and another one added": (8, [*_without(ENTRIES[:8], 2), OTHER], 7),
    "two entries in another order": (
        6,
        [*ENTRIES[:2], ENTRIES[3], ENTRIES[2], *ENTRIES[4:13]],
        12,
    ),
    "a private entry in front": (4, [OTHER, *ENTRIES[:7]], 0),
    "a private entry among those that are known": (4, [*ENTRIES[:3], OTHER, *ENTRIES[3:7]], 3),
    "cut short": (13, ENTRIES[:8], 2),
    "cut short by one": (9, ENTRIES[:8], 2),
    "another log of that size": (8, _rewritten(ENTRIES[:8], 7), 0),
}
"""Logs that do not continue the one that is known, with the proofs that they would give."""


def _set(*path: Any) -> Callable[[Form], object]:
    *places, name, value = path

    def change(form: Form) -> None:
        part: Any = form
        for each in places:
            part = part[each]
        part[name] = value

    return change


CHANGES: dict[str, Callable[[Form], object]] = {
    "no survey's id": _set("survey", 64 * "g"),
    "another survey than the entry's": _set("survey", OTHER.survey),
    "another day": _set("entry", "day", "2026-11-10"),
    "a day that is none": _set("entry", "day", "2026-11"),
    "no entry": lambda form: form.pop("entry"),
    "an entry that is a text": _set("entry", "2026-11-09"),
    "another index": _set("index", 10),
    "an index beyond the end": _set("index", 13 + 11),
    "an index below 0": _set("index", -1),
    "an index that is a text": _set("index", "11"),
    "a size that is a fraction": _set("head", "size", 13.5),
    "a size that is a text": _set("head", "size", "13"),
    "a size above all": _set("head", "size", 2**31),
    "another size": _set("head", "size", 29),
    "another root": _set("head", "root", 64 * "0"),
    "a root in capitals": lambda form: form["head"].update(root=form["head"]["root"].upper()),
    "half a root": lambda form: form["head"].update(root=form["head"]["root"][:32]),
    "no head": lambda form: form.pop("head"),
    "no consistency proof": lambda form: form.pop("consistency"),
    "no inclusion proof": lambda form: form.pop("inclusion"),
    "an empty consistency proof": _set("consistency", []),
    "an empty inclusion proof": _set("inclusion", []),
    "a shorter consistency proof": lambda form: form["consistency"].pop(),
    "a shorter inclusion proof": lambda form: form["inclusion"].pop(),
    "a longer consistency proof": lambda form: form["consistency"].append(64 * "0"),
    "a longer inclusion proof": lambda form: form["inclusion"].append(64 * "0"),
    "hashes in another order": lambda form: form["consistency"].reverse(),
    "a hash that is none": _set("consistency", 0, "x"),
    "a hash that is a number": _set("inclusion", 0, 7),
    "a hash with a line's end": lambda form: form["inclusion"].append(64 * "0" + "\n"),
    "a proof that is a text": _set("inclusion", 64 * "0"),
    "a proof without end": _set("consistency", [64 * "0"] * 65),
}
"""Changes to a sound proof."""


def vectors() -> Form:
    """Return all of it."""
    sound = [
        proof(known, ENTRIES[:size], index)
        for size in SIZES
        for known in {0, 1, size // 2, size - 1, size}
        for index in sorted({0, size // 2, size - 1})
    ]
    refused = [{"why": why} | proof(*row) for why, row in LOGS.items()]
    for why, change in CHANGES.items():
        form = copy.deepcopy(proof(6, ENTRIES[:13], 11))
        change(form)
        refused.append({"why": why} | form)
    longer = proof(13, ENTRIES[:13], 2) | {"consistency": [64 * "0"]}
    refused.append({"why": "a proof where none is needed"} | longer)
    heads = [str(Head.of_log(ENTRIES[:size])) for size in range(len(ENTRIES) + 1)]
    text = SurveyLog(ENTRIES).text
    return {"log": text, "heads": heads, "sound": sound, "refused": refused}


def main() -> None:
    """Write the file, one case on each line."""
    form = vectors()
    parts = [f' "log": {json.dumps(form.pop("log"))}']
    for name, rows in form.items():
        lines = ",\n  ".join(json.dumps(row, sort_keys=True) for row in rows)
        parts.append(f' "{name}": [\n  {lines}\n ]')
    PATH.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
