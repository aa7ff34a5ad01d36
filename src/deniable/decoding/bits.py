"""Evidence from answers bit by bit: every bit of every attribute's code by randomized response.

The observed coefficient of bits α is g^|α|·θ_α, g = 1 − 2·(the chance of a flip). `InverseEvidence`
divides by that, unbiased; `EMEvidence` looks for the tables that make the reports likeliest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np

from deniable.decoding.evidence import (
    CoefficientEvidence,
    Overview,
    Tables,
    covariance_of_moments,
)
from deniable.decoding.forms import Form, weight_matrix
from deniable.errors import TableError
from deniable.numeric.axes import along_axes, kronecker
from deniable.numeric.shares import proportions
from deniable.questions.lists import Codes, QuestionList
from deniable.survey.coefficients import Floats, Ints, Numbering, all_tables, hadamard

THRESHOLD = 1e-5
MOST_STEPS = 10_000
_FEW_CODES = 256
_TOGETHER = 1 << 22
"""How many signs are looked at together."""


class InverseEvidence(CoefficientEvidence):
    """Noisy coefficients divided by what the noise multiplied them with: g for each bit."""

    def __init__(
        self,
        numbering: Numbering,
        observed: Floats,
        people: float,
        shrink: float,
        lists: Sequence[QuestionList] = (),
        rows: tuple[Ints, Ints] | None = None,
    ) -> None:
        super().__init__(numbering, lists)
        self.observed, self.people, self.shrink = observed, people, shrink
        self.rows = rows
        """The reported codes, and how often each was reported, where these are known."""

    @cached_property
    def _masks(self) -> Ints:
        """Return which bits of a report each coefficient takes, by its number."""
        masks = np.zeros(self.numbering.size, np.int64)
        widths = np.array([each.depth for each in self.lists])
        shifts = np.cumsum(widths) - widths
        for table in all_tables(self.numbering.attributes, self.numbering.order):
            own = np.zeros(1, np.int64)
            for attribute in table:  # the last one's bits are the lowest of a coefficient's mask
                codes = np.arange(1 << widths[attribute]) << shifts[attribute]
                own = (own[:, None] | codes).ravel()
            masks[self.numbering.of_tables(table[None, :])[0]] = own[1:]
        return masks

    @cached_property
    def overview(self) -> Overview:
        """Return what is known of every coefficient, by the inverse."""
        size, people = self.numbering.size, float(self.people)
        shrink = self.shrink ** np.bitwise_count(self._masks).astype(np.float64)
        each = np.full(size, 1 / people if people else np.inf)
        variance, gain = each / shrink**2, np.where(np.isfinite(each), each, 0)
        return Overview(self.observed / shrink, variance, np.full(size, people), gain)

    def form_covariance(self, forms: Sequence[Form]) -> Floats:
        """Return the covariance of linear forms: how much single reports differ in what they add."""
        numbers, matrix = weight_matrix(forms)
        if not self.people or self.rows is None:
            raise TableError("A covariance across tables takes reports, and here there are none.")
        masks, total = self._masks[numbers], np.zeros((len(forms), len(forms)))
        matrix /= self.shrink ** np.bitwise_count(masks)[:, None].astype(np.float64)
        mean, (value, count) = self.observed[numbers] @ matrix, self.rows
        step = max(1, _TOGETHER // max(1, len(numbers)))
        for start in range(0, len(value), step):
            own, often = value[start : start + step], count[start : start + step]
            signs = 1.0 - 2.0 * (np.bitwise_count(own[:, None] & masks) & 1)
            influence = signs @ matrix - mean
            total += (influence * often[:, None]).T @ influence
        covariance: Floats = total / self.people / max(1, self.people - 1)
        return covariance

    def coefficients(self, tables: Ints) -> tuple[Floats, Floats]:
        """Return θ̂ of all coefficients but θ_∅ of each table, and the reports behind each."""
        numbers = self.numbering.of_tables(tables)
        bits = np.bitwise_count(np.arange(1, numbers.shape[1] + 1))
        theta = self.observed[numbers] / self.shrink**bits
        return theta, np.full(theta.shape, float(self.people))

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return the coefficients' covariance matrices, at θ̂ or at a given θ."""
        if theta is None:
            theta = self.coefficients(tables)[0].clip(-1, 1)
        masks = np.arange(1, theta.shape[1] + 1)
        level = np.bitwise_count(masks).astype(np.int64)
        joint = np.bitwise_count(masks[:, None] ^ masks).astype(np.int64)
        cross = self.shrink ** (joint - level[:, None] - level).astype(np.float64)
        if not self.people:
            return np.broadcast_to(np.diag(np.full(len(masks), np.inf)), (len(theta), *cross.shape))
        alone = np.broadcast_to(np.diag(cross), theta.shape)
        return covariance_of_moments(theta, cross, np.ones_like(cross), alone) / self.people

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return the variance of each cell: attribute by attribute, because bits are independent.

        An estimate is the mean over reports of ∏ w(v, y), where y is an attribute's reported code.
        """
        lists = self.lists_of(tables)
        if truth is None:
            truth = proportions(self.tables(tables).values)
        squares = []
        for each in lists:
            bits = np.bitwise_count(np.arange(len(each.odd))).astype(np.float64)
            weights = each.synthesis / self.shrink**bits @ Codes(len(each.odd)).analysis
            squares.append(weights**2 @ _channel(each, self.shrink).T)
        second = along_axes(truth, squares)
        if not self.people:
            return np.full_like(second, np.inf)
        return (second - truth**2) / self.people


def _channel(each: QuestionList, shrink: float) -> Floats:
    """Return how likely each code is reported (columns) by who has each value (rows)."""
    apart = np.bitwise_count(np.arange(each.size)[:, None] ^ np.arange(each.count + 1))
    off, keep = apart.astype(np.float64), (1 + shrink) / 2
    bits = each.depth
    channel: Floats = keep ** (bits - off) * (1 - keep) ** off
    return channel


def _through(rows: Floats, matrices: Sequence[Floats]) -> Floats:
    """Return what `along_axes` does; one matrix takes all rows at once, in a fraction of its time."""
    out: Floats = rows @ matrices[0].T if len(matrices) == 1 else along_axes(rows, matrices)
    return out


class EMEvidence(InverseEvidence):
    """The likeliest tables, by expectation maximisation from the uniform one."""

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return matrices of what is not known: nobody has a covariance for EM."""
        width = self.numbering.of_tables(tables[:1]).shape[1]
        return np.full((len(tables), width, width), np.nan)

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return what is not known, for each cell."""
        return np.full((len(tables), prod(each.size for each in self.lists_of(tables))), np.nan)

    def tables(self, tables: Ints) -> Tables:
        """Return the cells that EM ends at, and how it ended, for each table."""
        shares = self.observed[self.numbering.of_tables(tables)]
        codes = shares.shape[1] + 1
        noisy = hadamard(np.column_stack((np.ones(len(shares)), shares))).clip(0, None) / codes
        channels = [_channel(each, self.shrink) for each in self.lists_of(tables)]
        cells = prod(len(channel) for channel in channels)
        if codes <= _FEW_CODES:  # one matrix is faster than one for each attribute
            channels = [kronecker(channels)]
        back = [channel.T for channel in channels]
        guess = np.full((len(shares), cells), 1 / cells)
        steps = np.zeros(len(shares), np.int64)
        moving, at, step = np.arange(len(shares)), guess, 0
        while len(moving) and step < MOST_STEPS:
            better = at * _through(noisy / _through(at, back), channels)
            step += 1
            is_moving = np.abs(better - at).max(axis=1) > THRESHOLD
            at = better
            if not is_moving.all():
                guess[moving], steps[moving] = at, step
                moving, at, noisy = moving[is_moving], at[is_moving], noisy[is_moving]
        guess[moving], steps[moving] = at, step
        converged = np.ones(len(shares), np.bool_)
        converged[moving] = False
        notes = {
            "steps": steps,
            "converged": converged,
            "failed_at_once": converged & (steps == 1),
        }
        return Tables(guess, np.full(len(shares), self.people > 0), notes)
