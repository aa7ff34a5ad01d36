"""Batches: every way to find a symbol gives the same one, and every way to decide is exact."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deniable.client.bulk import randomize_records
from deniable.mechanisms.registry import MECHANISMS
from deniable.questions.entropy import BLOCK, Key, Stream
from deniable.schema.schema import Schema
from deniable.survey import symbols


def people(attributes: int, count: int = 3000):
    schema = Schema.binary(*(f"a{i}" for i in range(attributes)))
    held = np.random.default_rng(attributes).random((count, attributes)) < 0.5
    frame = pa.table({f"a{i}": held[:, i] for i in range(attributes)})
    return schema, held, schema.encode_frame(frame)


CASES = [
    ("MargPS", 3, 2),
    ("MargPS", 8, 2),
    ("MargPS", 10, 9),
    ("MargPS", 16, 3),
    ("MargPS", 70, 2),
    ("InpHT", 8, 3),
    ("InpHT", 64, 2),
    ("InpHT", 65, 2),
    ("MargHT", 9, 3),
    ("InpPS", 6, 2),
    ("InpEM", 20, 2),
]


@pytest.mark.parametrize(("name", "attributes", "order"), CASES)
def test_symbols_are_those_of_the_question_by_every_path(name, attributes, order, monkeypatch):
    schema, held, records = people(attributes)
    survey = MECHANISMS[name].survey(schema, order, 1.1)
    slots = np.random.default_rng(1).integers(0, survey.slots, len(records))
    by_default = survey.symbols.of(0, records.words, slots)
    one_by_one = survey.symbols._one_by_one(0, records.words, slots)
    assert np.array_equal(by_default, one_by_one)
    monkeypatch.setattr(symbols, "MOST_LOOKED_UP", 0)
    assert np.array_equal(survey.symbols.of(0, records.words, slots), one_by_one)
    for row in range(0, len(records), 101):
        record = schema.decode(held[row].astype(int).tolist())
        assert survey.question(int(slots[row])).asks.symbol(record) == one_by_one[row]


class Recorded(Stream):
    """A stream that notes the bytes it gives."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.given: list[np.ndarray] = []

    def octets(self, count):
        self.given.append(super().octets(count))
        return self.given[-1]


THRESHOLDS = [1, (1 << 56) + 7, 3 << 62, (1 << 63) + 1, (1 << 64) - 1, 0x36A0_0000_0000_0001]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_deciding_on_a_first_byte_is_deciding_on_the_word(threshold):
    stream = Recorded(bytes(32))
    decided = stream.happens(threshold, 50_000)
    first, rest = stream.given
    ties = np.flatnonzero(first == threshold >> 56)
    assert len(rest) == 8 * len(ties)
    words = first.astype(object) << 56
    words[ties] |= (rest.view("<u8") >> np.uint64(8)).astype(object)
    assert np.array_equal(decided, words < threshold)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_packed_decisions_are_comparisons_of_the_same_words(threshold):
    stream, count = Recorded(bytes(32)), 4096
    packed = stream.packed(threshold, count)
    planes, rest = stream.given
    # Plane i holds bit 63 − i of each word, inverted, eight events to a byte.
    bits = 1 - np.unpackbits(planes.reshape(8, -1), axis=1).astype(object)
    words = sum(bits[i] << (63 - i) for i in range(8))
    ties = np.flatnonzero(words >> 56 == threshold >> 56)
    assert len(rest) == 8 * len(ties)
    words[ties] |= (rest.view("<u8") >> np.uint64(8)).astype(object)
    assert np.array_equal(np.unpackbits(packed).astype(bool), words < threshold)


@pytest.mark.parametrize("name", MECHANISMS)
def test_batches_do_not_depend_on_how_rows_were_cut(name):
    schema, _, records = people(5, 2 * BLOCK + 17)
    survey = MECHANISMS[name].survey(schema, 2, 1.1)
    whole = list(randomize_records(survey, records, Key.seeded("cut")))
    parts = [
        *randomize_records(survey, records[:BLOCK], Key.seeded("cut")),
        *randomize_records(survey, records[BLOCK:], Key.seeded("cut"), BLOCK),
    ]
    for (slots, values), (same_slots, same_values) in zip(whole, parts, strict=True):
        assert np.array_equal(slots, same_slots)
        assert np.array_equal(values, same_values)


def test_streams_of_other_surveys_purposes_and_blocks_differ():
    key = Key.seeded("streams")
    names = [("a", "slots", 0), ("a", "slots", 1), ("a", "answers", 0), ("b", "slots", 0)]
    assert len({key.stream(*name).word() for name in names}) == len(names)
    assert key.stream("ab", "c").word() != key.stream("a", "bc").word()
