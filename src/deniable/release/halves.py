"""A tally cut in two: each report falls into either half by a fair coin.

Reports are independent of each other, so the halves are two independent, smaller tallies of the same
survey: what is fitted to one can be judged by the other. The coins come from a seed that the survey
and the tally fix, so that a release is the same whenever it is made; they decide nothing about privacy.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import TallyCounts

Ints = NDArray[np.int64]

_MOST_EXACT = 10**9
"""numpy draws hypergeometric numbers from at most so many; beyond, a normal one is as good."""


def generator(counts: TallyCounts, purpose: str) -> np.random.Generator:
    """Return random numbers that a survey, its tally and their purpose fix."""
    digest = hashlib.sha256(f"{counts.survey.id}/{purpose}/".encode())
    for column in (counts.slot, counts.value, counts.count):
        digest.update(np.ascontiguousarray(column, "<i8").tobytes())
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest()[:16], "big")))


def halves(counts: TallyCounts) -> tuple[TallyCounts, TallyCounts]:
    """Return two tallies that add up to this one.

    Where a tally is folded (unary answers), reports are halved first, and then each bit's count,
    as if bits were set independently of each other: for the noise, which is most of it, they are.
    """
    random = generator(counts, "halves")
    folded = counts.is_folded()
    taken = np.zeros_like(counts.count)
    taken[~folded] = random.binomial(counts.count[~folded], 0.5)
    if folded.any():
        slots, row = np.unique(counts.slot, return_inverse=True)
        reports, first = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
        reports[row[~folded]] = counts.count[~folded]
        first[row[~folded]] = taken[~folded]
        row = row[folded]
        taken[folded] = _share(random, counts.count[folded], reports[row], first[row])
    parts = (taken, counts.count - taken)
    made = [
        TallyCounts(
            counts.survey,
            counts.slot[part > 0],
            counts.value[part > 0],
            part[part > 0],
            counts.simulated,
        )
        for part in parts
    ]
    return made[0], made[1]


def _share(random: np.random.Generator, bits: Ints, reports: Ints, first: Ints) -> Ints:
    """Draw how many of the reports with a bit set are among the first half's."""
    taken = np.zeros_like(bits)
    small = reports < _MOST_EXACT
    taken[small] = random.hypergeometric(bits[small], (reports - bits)[small], first[small])
    n, k, m = (a[~small].astype(np.float64) for a in (reports, bits, first))
    spread = np.sqrt(m * (k / n) * (1 - k / n) * (n - m) / (n - 1))
    about = np.rint(m * k / n + spread * random.standard_normal(len(n)))
    taken[~small] = about.clip(np.maximum(0, k + m - n), np.minimum(k, m)).astype(np.int64)
    return taken
