"""Exact randomness: uniform 64-bit words, and decisions made on them without rounding.

A client draws its words from the operating system. Batches draw theirs from AES-256-CTR keystreams
under a key that the operating system drew, one keystream for each purpose and each block of rows,
so that nothing is ever drawn twice and results do not depend on how rows were chunked. A key made
from a text (a *seed*) makes a run reproducible; that is for simulation only, and is marked so.

A decision with probability t/2⁶⁴ is the integer comparison ``word < t``. There is no floating
point between a word and what a person sends.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from deniable.errors import SurveyError

WORD = 1 << 64
"""The number of different words: thresholds are integers out of this."""

BLOCK = 65_536
"""Rows that share one keystream."""

_ZEROS = memoryview(bytes(1 << 20))


class Source(Protocol):
    """Where one person's device gets its uniform 64-bit words."""

    def word(self) -> int:
        """Return the next word, uniform below 2⁶⁴."""
        ...


class SystemSource:
    """Words from the operating system."""

    def word(self) -> int:
        """Return the next word, uniform below 2⁶⁴."""
        return int.from_bytes(os.urandom(8), "little")


class HashedSource:
    """Words that anybody can compute from a text: SHA-256 of it and a counter, four words each.

    They decide which question is asked where nobody may choose it, and never how it is answered.
    """

    def __init__(self, text: bytes) -> None:
        self._text, self._count = text, 0

    def word(self) -> int:
        """Return the next word, uniform below 2⁶⁴."""
        block, place = divmod(self._count, 4)
        self._count += 1
        digest = hashlib.sha256(self._text + block.to_bytes(4, "big")).digest()
        return int.from_bytes(digest[8 * place : 8 * place + 8], "big")


def happens(source: Source, threshold: int) -> bool:
    """Decide an event of probability threshold/2⁶⁴ on exactly one word."""
    return source.word() < threshold


def below(source: Source, bound: int) -> int:
    """Draw a uniform integer below ``bound``: mask to its bit length, reject what is too large.

    Takes as few 64-bit words as hold the bound, the first word least significant, and starts
    anew after a rejection. A bound of 1 takes no word.
    """
    bits = (bound - 1).bit_length()
    while True:
        number = 0
        for position in range(0, bits, 64):
            number |= source.word() << position
        number &= (1 << bits) - 1
        if number < bound:
            return number


def words_below(bound: int) -> int:
    """Return the words that `below` draws, if its first draw is not rejected."""
    return -(-(bound - 1).bit_length() // 64)


class Stream:
    """One AES-256-CTR keystream, read as words. Also a `Source`."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher: Any = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def octets(self, count: int) -> NDArray[np.uint8]:
        """Return the next ``count`` bytes of the keystream."""
        out = np.empty(count, np.uint8)
        view = out.data
        for start in range(0, count, len(_ZEROS)):
            size = min(len(_ZEROS), count - start)
            self._cipher.update_into(_ZEROS[:size], view[start : start + size])
        return out

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next ``count`` words, uniform below 2⁶⁴."""
        return self.octets(8 * count).view("<u8")

    def word(self) -> int:
        """Return the next word, uniform below 2⁶⁴."""
        return int(self.words(1)[0])

    def happens(self, threshold: int, count: int) -> NDArray[np.bool_]:
        """Decide ``count`` events of probability threshold/2⁶⁴.

        A word's first byte settles most; one in 256 ties with the threshold's, and only then are
        the other 56 bits drawn.
        """
        first = self.octets(count)
        lead = np.uint8(threshold >> 56)
        decided = first < lead
        ties = np.flatnonzero(first == lead)
        decided[ties] = self._rest_below(threshold, len(ties))
        return decided

    def packed(self, threshold: int, count: int) -> NDArray[np.uint8]:
        """Decide ``count`` events as `happens` does, eight to a byte; ``count`` divides by 8.

        The first bytes are compared bit by bit, eight events side by side, which spares packing.
        A drawn 1 stands for a 0 in a word: there it is below where the threshold has a 1, and
        still tied where the threshold has a 0.
        """
        below, tied = np.zeros(count // 8, np.uint8), np.full(count // 8, 255, np.uint8)
        for position, row in enumerate(self.octets(count).reshape(8, count // 8)):
            if threshold >> (63 - position) & 1:
                fallen = tied & row
                below |= fallen
                tied ^= fallen
            else:
                tied &= row
        rows = np.flatnonzero(tied != 0)
        events = np.unpackbits(tied[rows]).view(np.bool_)
        events[events] = self._rest_below(threshold, int(np.count_nonzero(events)))
        below[rows] |= np.packbits(events)
        return below

    def _rest_below(self, threshold: int, count: int) -> NDArray[np.bool_]:
        """Settle events that the first byte left tied."""
        return (self.words(count) >> np.uint64(8)) < np.uint64(threshold & ((1 << 56) - 1))

    def below(self, bound: int, count: int, dtype: Any = np.int64) -> NDArray[Any]:
        """Draw ``count`` uniform integers below ``bound`` ≤ 2⁶³ without bias."""
        if bound <= 1:
            return np.zeros(count, dtype)
        if bound >= 1 << 31:
            return self._below_by_mask(bound, count).astype(dtype, copy=False)
        # Lemire's method: the high half of a draw times the bound, with the low halves below
        # 2^bits mod bound rejected, because they would favour some results.
        bits, half, whole = (16, "<u2", np.uint32) if bound <= 1 << 12 else (32, "<u4", np.uint64)
        low: NDArray[Any] = self.octets(bits // 8 * count).view(half)
        high: NDArray[Any] = low.astype(whole)
        high *= whole(bound)
        high >>= whole(bits)
        number: NDArray[Any] = high.astype(dtype)
        unfair = (1 << bits) % bound
        if unfair:
            low *= low.dtype.type(bound)  # what does not fit is cut off
            again = np.flatnonzero(low < unfair)
            if len(again):
                number[again] = self.below(bound, len(again))
        return number

    def below_each(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a uniform integer below each of some bounds, without bias."""
        numbers = np.zeros(len(bounds), np.int64)
        open_rows = np.flatnonzero(bounds > 1)
        while len(open_rows):
            most = bounds[open_rows].astype(np.uint64)
            # A word that the largest multiple of the bound below 2^64 does not hold is drawn again.
            words = self.words(len(open_rows))
            unfair = (np.uint64(0) - most) % most
            fair = words >= unfair
            numbers[open_rows[fair]] = (words[fair] % most[fair]).astype(np.int64)
            open_rows = open_rows[~fair]
        return numbers

    def _below_by_mask(self, bound: int, count: int) -> NDArray[np.int64]:
        mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
        numbers = cast("NDArray[np.int64]", (self.words(count) & mask).view(np.int64))
        again = np.flatnonzero(numbers >= bound)
        if len(again):
            numbers[again] = self._below_by_mask(bound, len(again))
        return numbers


class Key:
    """A secret from which independent keystreams are derived by name."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def fresh(cls) -> Key:
        """Draw a key from the operating system."""
        return cls(os.urandom(32))

    @classmethod
    def seeded(cls, seed: str) -> Key:
        """Make a reproducible key from a text, for simulation only."""
        if not isinstance(seed, str):
            raise SurveyError(f"A seed must be a text, got {type(seed).__name__}.")
        return cls(hashlib.sha256(seed.encode(errors="surrogatepass")).digest())

    @classmethod
    def of(cls, seed: str | None) -> Key:
        """Return a reproducible key for a seed, a fresh secret one for None."""
        return cls.fresh() if seed is None else cls.seeded(seed)

    def derive(self, *names: str | int) -> Key:
        """Return the sub-key for these names."""
        return Key(self._digest("key", *names))

    def stream(self, *names: str | int) -> Stream:
        """Return the keystream for these names; the same names give the same stream."""
        return Stream(self._digest("stream", *names))

    def _digest(self, *names: str | int) -> bytes:
        label = b"".join(len(n).to_bytes(4, "big") + n for n in (str(n).encode() for n in names))
        return hmac.new(self._secret, label, hashlib.sha256).digest()

    def __repr__(self) -> str:
        return "Key(<redacted>)"
