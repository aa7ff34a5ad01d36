"""The single reports behind the scores of slots, and what each contributes to linear forms.

For a form Σ a_α·θ̂_α, a report has the *influence* Σ_α a_α·g·(score_α − τ_α)/G_α, with τ = θ̂ where a
coefficient was asked often, and 0 where its component is divided by its mean number of reports. Reports
are drawn at random within a *lot*, the equally likely slots of one set of attributes, so that

    Cov = Σ_lots n/(n − 1)·[Σ II' − n·ĪĪ'],

from the tally alone, whatever tables the forms come from. Where hardly any report tells of a form, what
they vary by says nothing: there what the law of answers makes of it counts (`blended`).

Of unary answers a tally counts symbols only, no reports. But the law of answers says how a report's
scores vary, given how common each symbol is, and that the counts tell without bias (`counted`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.decoding.thresholds import cut_sums
from deniable.questions.answers import Inclusion, Subset
from deniable.survey.coefficients import Floats, Ints, hadamard

DOUBT = 10.0
"""So many reports must tell of a form for what they vary by to count as much as the law."""

DOUBT_OF_TESTS = 300.0
"""The same for a test, which a variance that came out small by chance would mislead."""

_TOGETHER = 1 << 20
"""How many symbols, of rows of a tally or of slots and forms, are looked at together."""


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

    def covariance(
        self, at: Ints, weights: Floats, centre: Floats, people: Floats
    ) -> tuple[Floats, Floats]:
        """Return the covariance of sums of scores, and how many reports tell of each sum.

        ``at`` says which row of ``weights`` a slot's scores have (−1: none), ``centre`` what is taken
        off them, ``people`` how many reported.
        """
        from scipy import sparse

        forms, lot_people = weights.shape[1], np.bincount(self.lots, people)
        total, reports = np.zeros((forms, forms)), np.zeros(forms)
        sums = np.zeros((len(lot_people), forms))
        rare = np.maximum(lot_people - 1, 1)
        is_used = (weights != 0).astype(np.float64)
        for rows in self.of(np.any(at >= 0, axis=1)):
            scores, lot = self.scores(rows.value) - centre[rows.slot], self.lots[rows.slot]
            # Of many attributes a report tells of a few that forms take: most weights are none.
            own = at[rows.slot]
            is_told = own >= 0
            starts = np.append(0, np.cumsum(is_told.sum(axis=1)))
            shape = len(own), len(weights)
            row_scores = sparse.csr_array((scores[is_told], own[is_told], starts), shape)
            influence = row_scores @ weights
            count = rows.count.astype(np.float64)
            total += (influence * (count * lot_people[lot] / rare[lot])[:, None]).T @ influence
            np.add.at(sums, lot, influence * count[:, None])
            row_scores.data[:] = 1
            reports += count @ (row_scores @ is_used > 0)
        return total - (sums / rare[:, None]).T @ sums, reports

    def noise(
        self, members: Ints, centre: Floats, random: np.random.Generator, extent: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """Return sums of scores in which each report counts by chance, and their squared errors.

        Their ``extent`` is that of draws and coefficients; each score belongs to one of its slot's
        ``members``, and ``centre`` is taken off it.
        """
        from scipy import sparse

        total, squares = np.zeros(extent), np.zeros(extent[1])
        for rows in self.of(np.ones(len(members), np.bool_)):
            scores = (self.scores(rows.value) - centre[rows.slot]) * np.sqrt(rows.count)[:, None]
            at, starts = members[rows.slot].ravel(), np.arange(len(scores) + 1) * scores.shape[1]
            holds = sparse.csr_array((scores.ravel(), at, starts), (len(scores), extent[1]))
            total += (holds.T @ random.standard_normal((len(scores), extent[0]))).T
            squares += np.bincount(at, scores.ravel() ** 2, extent[1])
        return total, squares

    def of(self, slots: NDArray[np.bool_]) -> Iterator[TallyRows]:
        """Yield the rows of some slots, some at a time."""
        at, step = np.flatnonzero(slots[self.rows.slot]), _TOGETHER // self.answer.symbols
        for start in range(0, len(at), max(1, step)):
            part = at[start : start + max(1, step)]
            yield TallyRows(self.rows.slot[part], self.rows.value[part], self.rows.count[part])


@dataclass(frozen=True, eq=False)
class CountedReports:
    """Reports to slots of one template of which only the symbols they speak for are counted."""

    supports: NDArray[np.int64]
    law: Inclusion
    members: Ints
    """Which symbol masks are scored."""

    def covariance(
        self, at: Ints, weights: Floats, centre: Floats, people: Floats
    ) -> tuple[Floats, Floats]:
        """Return the covariance of sums of scores, and how many reports tell of each sum."""
        forms, symbols = weights.shape[1], self.supports.shape[1]
        total, reports = np.zeros((forms, forms)), np.zeros(forms)
        slots = np.flatnonzero(np.any(at >= 0, axis=1) & (people > 0))
        step = max(1, _TOGETHER // (forms * symbols))
        for start in range(0, len(slots), step):
            rows = slots[start : start + step]
            own = np.where(at[rows][:, :, None] >= 0, weights[at[rows]], 0)
            functions = np.zeros((len(rows), forms, symbols))
            functions[:, :, self.members + 1] = own.swapaxes(1, 2)
            functions = hadamard(functions.reshape(-1, symbols)).reshape(functions.shape)
            means = np.einsum("rm,rmf->rf", centre[rows], own)
            total += counted(functions, means, self.supports[rows], people[rows], self.law)
            reports += people[rows] @ own.any(axis=1)
        return total, reports


def counted(
    functions: Floats, means: Floats, supports: NDArray[Any], people: Floats, law: Inclusion
) -> Floats:
    """Return the covariance of sums of reports' scores of functions of the symbol, by their law.

    ``functions[i, f]`` are those of slot i, each with mean 0 over all symbols and these ``means`` over
    people; ``supports`` counts the reports to each slot that speak for each symbol.
    """
    noise = float((law.other - law.two_others) / law.contrast**2)
    shares = (supports - float(law.other) * people[:, None]) / float(law.contrast)
    each = noise * people[:, None] + float(law.cross) * shares
    covariance: Floats = np.einsum("ifs,is,igs->fg", functions, each, functions, optimize=True)
    covariance -= (means * people[:, None]).T @ means
    return covariance


def blended(own: Floats, law: Floats, reports: Floats, doubt: float = DOUBT) -> Floats:
    """Return a covariance of forms (own) that gives way to the law's where few reports tell of them."""
    part = np.sqrt(reports / (reports + doubt))
    rest = np.sqrt(doubt / (reports + doubt))
    covariance: Floats = own * np.outer(part, part) + law * np.outer(rest, rest)
    return covariance
