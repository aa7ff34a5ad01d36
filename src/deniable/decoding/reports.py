"""The single reports behind the scores of slots, and what each contributes to linear forms.

For a form Σ a_α·θ̂_α, a report has the *influence* Σ_α a_α·g·(score_α − τ_α)/G_α, with τ = θ̂ where a
coefficient was asked often, and 0 where its component is divided by its mean number of reports. Reports
are drawn at random within a *lot*, the equally likely slots of one set of attributes, so that

    Cov = Σ_lots n/(n − 1)·[Σ II' − n·ĪĪ'],

from the tally alone, whatever tables the forms come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.thresholds import cut_sums
from deniable.questions.answers import Inclusion, Subset
from deniable.survey.coefficients import Floats, Ints, hadamard

_TOGETHER = 1 << 16
"""How many rows of a tally are looked at together."""


@dataclass(frozen=True, eq=False)
class TallyRows:
    """Rows of a tally: which of some slots, what was reported, and how often."""

    slot: Ints
    value: Ints
    count: Ints

    def among(self, some: NDArray[np.bool_]) -> TallyRows:
        """Return the rows of some of the slots, which are numbered anew."""
        keep = some[self.slot]
        place = np.cumsum(some) - 1
        return TallyRows(place[self.slot[keep]], self.value[keep], self.count[keep])


@dataclass(frozen=True, eq=False)
class SlotReports:
    """Reports to slots of one template; ``lots`` numbers the lot of each slot."""

    rows: TallyRows
    lots: Ints
    answer: Subset
    law: Inclusion
    members: Ints | None
    """Which symbol masks are scored; None for three cuts."""

    def scores(self, value: Ints) -> Floats:
        """Return the scores of reports, one row each."""
        ones = np.ones(len(value), np.int64)
        supports, _ = self.answer.count(len(value), np.arange(len(value)), value, ones)
        if self.members is None:
            return cut_sums(supports.astype(np.float64), ones.astype(np.float64), self.law)
        scores: Floats = hadamard(supports)[:, 1:][:, self.members] / float(self.law.contrast)
        return scores

    def of(self, slots: NDArray[np.bool_]) -> Iterator[TallyRows]:
        """Yield the rows of some slots, some at a time."""
        at = np.flatnonzero(slots[self.rows.slot])
        for start in range(0, len(at), _TOGETHER):
            part = at[start : start + _TOGETHER]
            yield TallyRows(self.rows.slot[part], self.rows.value[part], self.rows.count[part])


def lots_covariance(influence: Floats, count: Floats, lot: Ints) -> Floats:
    """Return the covariance that rows of reports, each so often there, make within their lots."""
    people = np.bincount(lot, count)[lot]
    weight = count * people / np.maximum(people - 1, 1)
    sums = np.stack([np.bincount(lot, weight * column) for column in influence.T], axis=1)
    means: Floats = np.stack(
        [np.bincount(lot, count * column).astype(np.float64) for column in influence.T], axis=1
    )
    means = means / np.maximum(np.bincount(lot, count), 1)[:, None]
    covariance: Floats = (influence * weight[:, None]).T @ influence - sums.T @ means
    return covariance
