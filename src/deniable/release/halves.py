"""A tally cut in two: each report falls into either half by a fair coin.

Reports are independent of each other, so the halves are two independent, smaller tallies of the same
survey: what is fitted to one can be judged by the other. The coins come from a seed that the survey
and the tally fix, so that a release is the same whenever it is made; they decide nothing about privacy.
"""

from __future__ import annotations

import hashlib

import numpy as np

from deniable.collector.tally import TallyCounts
from deniable.survey.coefficients import Ints

_MOST_EXACT = 10**9
"""numpy draws hypergeometric numbers from at most so many; beyond, a normal one is as good."""


def generator(tally: TallyCounts, purpose: str) -> np.random.Generator:
    """Return random numbers that a survey, its tally and their purpose fix."""
    digest = hashlib.sha256(f"{tally.survey.id}/{purpose}/".encode())
    for column in (tally.slot, tally.value, tally.count):
        digest.update(np.ascontiguousarray(column, "<i8").tobytes())
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest()[:16], "big")))


def halves(tally: TallyCounts) -> tuple[TallyCounts, TallyCounts]:
    """Return two tallies that add up to this one.

    Where a tally is folded (unary answers), reports are halved first, and then each bit's count,
    as if bits were set independently of each other: for the noise, which is most of it, they are.
    """
    random = generator(tally, "halves")
    is_folded = tally.is_folded()
    half = np.zeros_like(tally.count)
    half[~is_folded] = random.binomial(tally.count[~is_folded], 0.5)
    if is_folded.any():
        slots, row = np.unique(tally.slot, return_inverse=True)
        reports, first = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
        reports[row[~is_folded]] = tally.count[~is_folded]
        first[row[~is_folded]] = half[~is_folded]
        row = row[is_folded]
        half[is_folded] = _share(random, tally.count[is_folded], reports[row], first[row])
    return _part(tally, half), _part(tally, tally.count - half)


def _part(tally: TallyCounts, count: Ints) -> TallyCounts:
    rows = count > 0
    slot, value = tally.slot[rows], tally.value[rows]
    return TallyCounts(tally.survey, slot, value, count[rows], tally.simulated)


def _share(random: np.random.Generator, bits: Ints, reports: Ints, first: Ints) -> Ints:
    """Draw how many of the reports with a bit set are among the first half's."""
    share = np.zeros_like(bits)
    small = reports < _MOST_EXACT
    share[small] = random.hypergeometric(bits[small], (reports - bits)[small], first[small])
    n, k, m = (a[~small].astype(np.float64) for a in (reports, bits, first))
    deviation = np.sqrt(m * (k / n) * (1 - k / n) * (n - m) / (n - 1))
    about = np.rint(m * k / n + deviation * random.standard_normal(len(n)))
    share[~small] = about.clip(np.maximum(0, k + m - n), np.minimum(k, m)).astype(np.int64)
    return share
