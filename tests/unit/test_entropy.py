"""Every decision is an exact comparison of uniform words, and every stream is one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import SurveyError
from deniable.questions.entropy import WORD, Key, Stream, SystemSource, below, happens


class Words:
    """A source that gives these words and counts them."""

    def __init__(self, *words: int) -> None:
        self.words, self.taken = list(words), 0

    def word(self) -> int:
        self.taken += 1
        return self.words.pop(0)


class Octets(Stream):
    """A stream that gives these bytes."""

    def __init__(self, *parts: Any) -> None:
        self.left = b"".join(np.asarray(part).tobytes() for part in parts)

    def octets(self, count: int) -> np.ndarray:
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count, "more bytes were taken than were to be"
        return np.frombuffer(taken, np.uint8).copy()


# One device


def test_an_event_happens_when_the_word_is_below_the_threshold() -> None:
    threshold = 3 << 62
    drawn = [happens(Words(w), threshold) for w in (0, threshold - 1, threshold, WORD - 1)]
    assert drawn == [True, True, False, False]


def test_a_uniform_integer_is_masked_and_what_is_too_large_rejected() -> None:
    for word in range(8):
        source = Words(word | 0xFF00, 3)
        assert below(source, 5) == (word if word < 5 else 3)
        assert source.taken == (1 if word < 5 else 2)


def test_a_choice_of_one_takes_no_word_and_a_large_one_takes_several() -> None:
    assert below(Words(), 1) == 0
    source = Words(7, 1, WORD - 1, 0)
    assert below(source, WORD + 1) == WORD - 1
    assert source.taken == 4, "7 + 2^64 is too large, so both words are drawn anew"
    assert below(Words(WORD - 1), WORD) == WORD - 1


def test_words_of_the_system_are_uniform_and_wide() -> None:
    drawn = [SystemSource().word() for _ in range(4096)]
    assert len(set(drawn)) == len(drawn)
    ones = np.array([[w >> j & 1 for j in range(64)] for w in drawn]).sum(axis=0)
    assert stats.binom.sf(abs(ones - 2048).max() + 2048, 4096, 0.5) * 128 > 1e-9


# Many devices


def test_the_stream_is_aes_256_in_counter_mode() -> None:
    # Known answers: NIST's AESAVS for block 0, test case 13 of the GCM specification for block 1.
    stream = Stream(bytes(32))
    assert stream.octets(16).tobytes().hex() == "dc95c078a2408989ad48a21492842087"
    assert stream.octets(16).tobytes().hex() == "530f8afbc74536b9a963b4f1c4cb738b"


def test_a_stream_does_not_depend_on_how_it_is_read() -> None:
    whole = Stream(bytes(32)).octets(3_000_001)
    parts, stream = [], Stream(bytes(32))
    for size in (0, 1, 7, 16, 1_048_575, 2, 1_951_400):
        parts.append(stream.octets(size))
    assert np.array_equal(np.concatenate(parts), whole)
    stream = Stream(bytes(32))
    words = [stream.word(), *stream.words(3).tolist()]
    assert words == [int.from_bytes(whole[8 * i : 8 * i + 8].tobytes(), "little") for i in range(4)]


def test_a_first_byte_settles_an_event_and_only_a_tie_draws_the_rest() -> None:
    threshold = (200 << 56) + 1000
    first = np.array([0, 199, 200, 201, 255, 200, 200], np.uint8)
    rest = np.array([999, 1000, 0], "<u8") << 8 | 255
    stream = Octets(first, rest)
    drawn = stream.happens(threshold, 7).tolist()
    assert drawn == [True, True, True, False, False, False, True]
    assert stream.left == b""


@pytest.mark.parametrize("lead", [0, 1, 127, 128, 200, 254, 255])
def test_packed_events_are_the_same_comparison_of_a_first_byte_and_the_rest(lead: int) -> None:
    threshold = (lead << 56) + (1 << 55)
    # Event e of byte b: its first byte is spelled by bit e of the b-th byte of each of 8 planes,
    # a drawn 1 standing for a 0.
    first = np.arange(256, dtype=np.uint8)
    planes = np.packbits(~np.unpackbits(first[:, None], axis=1).astype(bool).T, axis=1)
    for rest, tie in ((0, True), ((1 << 55) - 1, True), (1 << 55, False), ((1 << 56) - 1, False)):
        stream = Octets(planes, np.array([rest], "<u8") << 8)
        drawn = np.unpackbits(stream.packed(threshold, 256)).astype(bool)
        expected = first < lead
        expected[lead] = tie
        assert np.array_equal(drawn, expected)
        assert stream.left == b""


@pytest.mark.parametrize("threshold", [1 << 55, (77 << 56) + (1 << 55), 3 << 62, WORD - (1 << 55)])
@pytest.mark.parametrize("way", ["happens", "packed"])
def test_events_happen_as_often_as_they_should(way: str, threshold: int) -> None:
    # A tie decided the same way always would show: 1/512 is eight standard errors here.
    count = 1 << 22
    stream = Key.seeded(f"often {threshold}").stream()
    seen = getattr(stream, way)(threshold, count)
    happened = int(np.unpackbits(seen).sum()) if way == "packed" else int(seen.sum())
    assert stats.binomtest(happened, count, threshold / WORD).pvalue > 1e-6


@pytest.mark.parametrize("bound", [2, 3, 5, 6, 7, 10, 100, 1000, 4095, 4096])
def test_a_small_uniform_integer_is_exactly_uniform_over_all_draws(bound: int) -> None:
    every = np.arange(1 << 16, dtype="<u2")
    rejected = (1 << 16) % bound
    kept = np.full(rejected, 0xFFFF, "<u2")  # what rejected draws are replaced with
    stream = Octets(every, kept)
    drawn = stream.below(bound, 1 << 16)
    assert stream.left == b"", "exactly 2^16 mod bound draws are rejected"
    counts = np.bincount(drawn, minlength=bound)
    counts[bound - 1] -= rejected
    assert set(counts.tolist()) == {(1 << 16) // bound}


@pytest.mark.parametrize(
    "bound", [4097, 65_537, 10**9, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 10**18]
)
def test_a_large_uniform_integer_is_uniform(bound: int) -> None:
    drawn = Key.seeded(f"large {bound}").stream().below(bound, 200_000)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    assert stats.kstest(drawn / bound, "uniform").pvalue > 1e-6
    low = np.bincount(drawn % 7, minlength=7)
    assert stats.chisquare(low).pvalue > 1e-6


def test_the_largest_bounds_fit() -> None:
    stream = Key.seeded("edges").stream()
    assert stream.below(1, 3).tolist() == [0, 0, 0]
    assert stream.below(1 << 63, 1000).min() >= 0
    assert len(stream.below(5, 0)) == 0
    assert len(stream.happens(1 << 63, 0)) == 0


# Keys


def test_names_make_streams_apart_however_they_are_cut() -> None:
    key = Key.seeded("any text")
    names: Iterable[tuple[str | int, ...]] = [
        (), ("",), ("a",), ("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), (1,), (1, 2), (12,)
    ]  # fmt: skip
    first = [key.stream(*n).word() for n in names] + [key.derive(*n).stream().word() for n in names]
    assert len(set(first)) == len(first)
    assert first[: len(first) // 2] == [Key.seeded("any text").stream(*n).word() for n in names]


def test_a_seed_gives_the_same_words_for_ever() -> None:
    stream = Key.seeded("deniable").derive("a", 1).stream("survey", "slots", 0)
    assert stream.word() == 12_999_278_721_959_239_884
    again = Key.of("deniable").derive("a", 1).stream("survey", "slots", 0)
    assert again.word() == 12_999_278_721_959_239_884


def test_a_fresh_key_is_secret_and_never_the_same() -> None:
    assert Key.of(None).stream().word() != Key.of(None).stream().word()
    assert len({Key.fresh().stream().word() for _ in range(100)}) == 100
    assert repr(Key.seeded("secret")) == "Key(<redacted>)"


def test_a_seed_is_a_text_and_any_text_is_a_seed() -> None:
    for seed in (5, 0, 1.5, b"x", True):
        with pytest.raises(SurveyError, match="A seed must be a text"):
            Key.of(seed)
    assert len({Key.of(seed).stream().word() for seed in ("", "ü", "\udcff", "\0", "5")}) == 5
