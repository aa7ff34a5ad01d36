"""Verdicts that know their noise: a finding is true, false, or not decided by so many repeats.

A mean over repeats lies in an interval, by Student's t, that misses the truth less often than `FALSE`,
shared out among all that a claim checks. What holds in all of the interval is so; what holds nowhere in
it is not; else nothing is decided. So a verdict "holds" or "refuted" is false less than once in a
thousand times for each claim, however few repeats there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

FALSE = 1e-3
"""A claim's verdict is false less often than this."""

HOLDS, WITH_CORRECTION, REFUTED = "holds", "holds with correction", "refuted"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """Whether something is so; None where chance may have made it look so, or not so.

    ``more`` times as many repeats would decide, about.
    """

    is_so: bool | None
    more: float = 1.0


def exactly(is_so: object) -> Finding:
    """Return a finding without any noise."""
    return Finding(bool(is_so))


def within(
    mean: float, error: float, freedom: float, low: float, high: float, checks: int
) -> Finding:
    """Return whether a mean with this standard error is between two ends: one of so many checks."""
    reach = _reach(error, freedom, checks)
    if low < mean - reach and mean + reach < high:
        return Finding(True)
    if mean + reach <= low or mean - reach >= high:
        return Finding(False)
    margin = min(abs(mean - low), abs(mean - high))
    enough = _reach(error, inf, checks)  # with many repeats, t is normal
    return Finding(None, max(_TWICE, (enough / margin) ** 2) if margin else inf)


def above(mean: float, error: float, freedom: float, low: float, checks: int) -> Finding:
    """Return whether a mean is above an end."""
    return within(mean, error, freedom, low, inf, checks)


def share_above(hits: int, draws: int, low: float, checks: int) -> Finding:
    """Return whether a chance is above an end, by how often something came about (Clopper–Pearson)."""
    from scipy import stats

    tail = FALSE / 2 / checks
    least = float(stats.beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
    most = float(stats.beta.isf(tail, hits + 1, draws - hits)) if hits < draws else 1.0
    if least > low or most < low:
        return Finding(least > low)
    margin = abs(hits / draws - low)
    return Finding(None, (max(most - low, low - least) / margin) ** 2 if margin else inf)


def _reach(error: float, freedom: float, checks: int) -> float:
    from scipy import stats

    if not error:
        return 0.0
    if freedom < 1 or not np.isfinite(error):
        return inf
    return error * float(stats.t.isf(FALSE / 2 / checks, freedom))


def all_of(findings: Sequence[Finding]) -> Finding:
    """Return whether all are so: one that is not is enough for them not to be."""
    if any(each.is_so is False for each in findings):
        return Finding(False)
    undecided = [each.more for each in findings if each.is_so is None]
    return Finding(None, max(undecided)) if undecided else Finding(True)


def verdict(as_printed: Finding, corrected: Finding, repeats: int) -> tuple[str, int | None]:
    """Return what becomes of a claim that was checked as the paper prints it, and corrected.

    Where the corrected statement is not decided, neither is the claim: then about how many repeats would
    decide comes with it, if any number does. A claim holds as printed only where that is decided.
    """
    if corrected.is_so is None:
        more = repeats * corrected.more
        return UNDECIDED, ceil(more) if more < _MOST else None
    if not corrected.is_so:
        return REFUTED, None
    return HOLDS if as_printed.is_so else WITH_CORRECTION, None


def repeats_that_decide(repeats: int | None) -> str:
    """Return how many repeats would decide, to stand behind a verdict."""
    return "" if repeats is None else f" (about {repeats:,} repeats would decide)"


_TWICE = 2.0
"""Fewer than twice as many repeats would hardly tell more of their own scatter."""
_MOST = 1e6
"""More repeats than these are as good as none."""


@dataclass(frozen=True)
class Means:
    """Means of several settings over repeats that scatter alike in all of them."""

    mean: pd.Series[float]
    error: NDArray[np.float64]
    freedom: int

    def within(self, low: float, high: float, checks: int) -> list[Finding]:
        """Return whether each is between two ends."""
        pairs = zip(self.mean, self.error, strict=True)
        return [within(mean, error, self.freedom, low, high, checks) for mean, error in pairs]


def means_by(values: pd.Series[float], by: Sequence[str]) -> Means:
    """Return the means of settings; their variance is pooled over all settings."""
    groups = values.groupby(list(by), sort=False)
    sizes, freedom = groups.size(), int((groups.size() - 1).sum())
    squares = float(((values - groups.transform("mean")) ** 2).sum())
    deviation = sqrt(squares / freedom) if freedom else inf
    return Means(groups.mean(), deviation / np.sqrt(sizes.to_numpy(float)), freedom)


def mean_within(values: ArrayLike, low: float, high: float, checks: int) -> Finding:
    """Return whether the mean of some values is between two ends."""
    array = np.asarray(values, np.float64)
    error = float(array.std(ddof=1) / sqrt(len(array))) if len(array) > 1 else inf
    return within(float(array.mean()), error, len(array) - 1, low, high, checks)
