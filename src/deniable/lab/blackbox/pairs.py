"""Two records that a survey's reports tell apart as often as possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DataError
from deniable.formats.reading import read_text
from deniable.questions.answers import Bitwise
from deniable.questions.entropy import Key
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey

_RECORDS, _SLOTS = 40, 64


def telling_pair(survey: FrozenSurvey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the two records, of some, whose true answers differ for most slots, drawn as devices do.

    It is always the same pair of the same survey. Where bits are answered one by one, the more of them
    differ, the better.
    """
    key = Key.seeded("two records")
    ranges = np.array(survey.schema.ranges)
    codes = key.stream("records").words(_RECORDS * len(ranges)).reshape(_RECORDS, -1)
    some = (codes % ranges.astype(np.uint64)).astype(np.int64)
    every = np.concatenate([some, ranges - 1 - some])
    records = [survey.schema.decode(row.tolist()) for row in every]
    slots = survey.index.draw_many(key.stream("slots"), _SLOTS)
    apart = np.zeros((len(records), len(records)))
    for slot in np.unique(slots).tolist():
        question = survey.question(slot)
        symbols = np.array([question.asks.symbol(record) for record in records], object)
        times = int((slots == slot).sum())
        if isinstance(question.answer, Bitwise):
            apart += times * _bits(symbols) / question.answer.bits
        else:
            apart += times * (symbols[:, None] != symbols)
    first, second = np.unravel_index(int(apart.argmax()), apart.shape)
    return as_told(survey.schema, records[first]), as_told(survey.schema, records[second])


def _bits(symbols: Any) -> Ints:
    """Return in how many bits symbols differ, pair by pair."""
    counts: Ints = np.vectorize(int.bit_count, otypes=[np.int64])(symbols[:, None] ^ symbols)
    return counts


def as_told(schema: Schema, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as JSON has it: days are texts."""
    return {
        name: value if value is None or isinstance(value, bool | int | float | str) else str(value)
        for name, value in record.items()
    }


def read_pair(path: Path) -> tuple[Any, Any]:
    """Read two records: a file of two lines of JSON."""
    try:
        lines = read_text(path).split("\n")
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{str(path)!r} is not a text file.") from None
    try:
        records = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        raise DataError(f"{str(path)!r} must hold a record as JSON on each line.") from None
    if len(records) != 2 or records[0] == records[1]:
        raise DataError(f"{str(path)!r} must hold two different records, a line each.")
    return records[0], records[1]
