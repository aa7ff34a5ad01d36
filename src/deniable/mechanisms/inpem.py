"""InpEM: every attribute by randomized response with a d-th of the budget, decoded by EM.

*Idea.* Each of the d bits is flipped with probability 1/(e^(ε/d)+1). For a table, the collector sees
the noisy joint values of its attributes and looks for the distribution that makes them likeliest.

*Privacy.* d bits, each with odds e^(ε/d); together e^ε.

*Estimators.* ``em``: expectation maximisation from the uniform table until no cell moves by more than
Ω = 10⁻⁵. Its first step moves a coefficient to g^|α| times what was observed, g = tanh(ε/2d), so with
many attributes it stops at once, at the uniform table: such tables are flagged ``failed_at_once``.
No covariance is known for it. ``inverse``: the noisy coefficients divided by g^|α|, unbiased.

*Variance* of the inverse: (g^(−2|α|) − θ²)/N, covariance (θ_{α⊕α'}·g^(|α⊕α'|−|α|−|α'|) − θ_α·θ_α')/N.

*More values.* Every bit of every attribute's code is reported, with ε divided by all of them; EM looks
only at codes that some value has.

*Source.* Fanti, Pihur, Erlingsson (PoPETs 2016), as compared in Cormode, Kulkarni, Srivastava,
SIGMOD 2018, §4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from deniable.decoding.evidence import (
    CoefficientEvidence,
    Evidence,
    Floats,
    Overview,
    Spread,
    Tables,
    covariance_of_moments,
)
from deniable.errors import SurveyError
from deniable.mechanisms.base import Mechanism, Shape
from deniable.questions.answers import NARROW, Bitwise
from deniable.questions.lists import Signs, walsh
from deniable.survey.coefficients import Ints, Shared, all_tables, along_axes, hadamard

__all__ = ["InpEM"]

THRESHOLD = 1e-5
MOST_STEPS = 10_000
_FEW_CODES = 256


class InpEM(Mechanism):
    """Every attribute, budget split, by bitwise randomized response."""

    name = "InpEM"
    whole_record = True
    estimators = ("em", "inverse")
    unbiased = ("inverse",)

    @classmethod
    def design(
        cls, sizes: tuple[int, ...], order: int, epsilon: float, **options: Any
    ) -> tuple[Shape, ...]:
        """Return the one shape: each bit of each attribute's code."""
        widths = tuple((size - 1).bit_length() for size in sizes)
        count = sum(widths)
        functionals = widths if count > len(sizes) else ()
        if count > NARROW:
            raise SurveyError(
                f"{cls.name} takes at most {NARROW} {'bits of codes' if functionals else 'attributes'}, "
                f"got {count}: it would need {count} bits in every report."
            )
        bits = tuple(1 << i for i in range(count))
        return (Shape(len(sizes), bits, Bitwise.within(epsilon, count), functionals=functionals),)

    def decodes(self, shape: Shape) -> bool:
        """Tell whether a shape is the one: each bit of each attribute's code."""
        widths = tuple(attribute.bits for attribute in self.schema.attributes)
        bits = tuple(1 << i for i in range(sum(widths)))
        return (
            len(self.shapes) == 1
            and not shape.weights
            and shape.sets is None
            and shape.bits == widths
            and shape.parities == bits
            and isinstance(shape.answer, Bitwise)
        )

    def numbering(self, estimator: str | None = None) -> Shared:
        """Return the numbering of all coefficients; none are kept apart."""
        made = super().numbering(estimator)
        assert isinstance(made, Shared)
        return made

    @property
    def _shrink(self) -> float:
        answer = self.shapes[0].answer
        assert isinstance(answer, Bitwise)
        return float(answer.shrink)

    def decode(
        self, slot: Ints, value: Ints, count: Ints, estimator: str | None = None
    ) -> Evidence:
        """Return what a tally tells about every coefficient of order ≤ k."""
        chosen = self.check_estimator(estimator)
        kind = EMEvidence if chosen == "em" else InverseEvidence
        numbering = self.numbering(estimator)
        observed, people = np.zeros(numbering.size), int(count.sum())
        widths = np.array(self.shapes[0].bits)
        shifts = np.cumsum(widths) - widths
        for table in all_tables(len(self.schema), self.order):
            code, shift = np.zeros(len(value), np.int64), 0
            for attribute in table:
                code |= (value >> shifts[attribute] & (1 << widths[attribute]) - 1) << shift
                shift += int(widths[attribute])
            seen = np.bincount(code, count, 1 << shift)[None, :]
            numbers = numbering.of_tables(table[None, :])[0]
            observed[numbers] = hadamard(seen)[0, 1:] / max(1, people)
        return kind(numbering, observed, people, self._shrink, self.signs)

    def expected(self, people: float, estimator: str | None = None) -> Spread:
        """Return the evidence of the inverse decoder for this many people."""
        numbering = self.numbering(estimator)
        return InverseEvidence(
            numbering, np.zeros(numbering.size), people, self._shrink, self.signs
        )

    def precision(self, level: int, estimator: str | None = None, square: float = 0.0) -> float:
        """Return 1/(N·Var θ̂_α) of the inverse decoder for a coefficient with this θ²."""
        return 1 / (self._shrink ** (-2 * level) - square)


class InverseEvidence(CoefficientEvidence):
    """Noisy coefficients divided by what the noise multiplied them with: g for each bit."""

    def __init__(
        self,
        numbering: Shared,
        observed: Floats,
        people: float,
        shrink: float,
        signs: Sequence[Signs] = (),
    ) -> None:
        super().__init__(numbering, signs)
        self.observed, self.people, self.shrink = observed, people, shrink

    @cached_property
    def overview(self) -> Overview:
        """Return what is known of every coefficient, by the inverse."""
        size, people = self.numbering.size, float(self.people)
        bits = np.zeros(size, np.int64)
        for table in all_tables(self.numbering.attributes, self.numbering.order):
            numbers = self.numbering.of_tables(table[None, :])[0]
            bits[numbers] = np.bitwise_count(np.arange(1, len(numbers) + 1))
        shrink = self.shrink ** bits.astype(np.float64)
        each = np.full(size, 1 / people if people else np.inf)
        variance, gain = each / shrink**2, np.where(np.isfinite(each), each, 0)
        return Overview(self.observed / shrink, variance, np.full(size, people), gain)

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
        signs = self.signs_of(tables)
        if truth is None:
            values = self.tables(tables).values.clip(0, None)
            truth = values / values.sum(axis=1, keepdims=True)
        squares = []
        for each in signs:
            bits = np.bitwise_count(np.arange(len(each.odd))).astype(np.float64)
            weights = each.synthesis / self.shrink**bits @ walsh(len(each.odd)).analysis
            squares.append(weights**2 @ _channel(each, self.shrink).T)
        second = along_axes(truth, squares)
        if not self.people:
            return np.full_like(second, np.inf)
        return (second - truth**2) / self.people


def _channel(signs: Signs, shrink: float) -> Floats:
    """Return how likely each code is reported (columns) by who has each value (rows)."""
    apart = np.bitwise_count(np.arange(signs.size)[:, None] ^ np.arange(len(signs.odd)))
    off, keep = apart.astype(np.float64), (1 + shrink) / 2
    bits = len(signs.odd).bit_length() - 1
    channel: Floats = keep ** (bits - off) * (1 - keep) ** off
    return channel


class EMEvidence(InverseEvidence):
    """The likeliest tables, by expectation maximisation from the uniform one."""

    def covariance(self, tables: Ints, theta: Floats | None = None) -> Floats:
        """Return matrices of what is not known: nobody has a covariance for EM."""
        width = self.numbering.of_tables(tables[:1]).shape[1]
        return np.full((len(tables), width, width), np.nan)

    def cell_variances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return what is not known, for each cell."""
        return np.full((len(tables), prod(signs.size for signs in self.signs_of(tables))), np.nan)

    def tables(self, tables: Ints) -> Tables:
        """Return the cells that EM ends at, and how it ended, for each table."""
        seen = self.observed[self.numbering.of_tables(tables)]
        codes = seen.shape[1] + 1
        noisy = hadamard(np.column_stack((np.ones(len(seen)), seen))).clip(0, None) / codes
        channels = [_channel(signs, self.shrink) for signs in self.signs_of(tables)]
        cells = prod(len(channel) for channel in channels)
        if codes <= _FEW_CODES:  # one matrix is faster than one for each attribute
            channels = [along_axes(np.eye(cells), [c.T for c in channels])]
        back = [channel.T for channel in channels]
        guess = np.full((len(seen), cells), 1 / cells)
        steps = np.zeros(len(seen), np.int64)
        moving = np.arange(len(seen))
        while len(moving) and steps[moving[0]] < MOST_STEPS:
            at = guess[moving]
            better = at * along_axes(noisy[moving] / along_axes(at, back), channels)
            steps[moving] += 1
            guess[moving] = better
            moving = moving[np.abs(better - at).max(axis=1) > THRESHOLD]
        converged = np.ones(len(seen), np.bool_)
        converged[moving] = False
        notes = {
            "steps": steps,
            "converged": converged,
            "failed_at_once": converged & (steps == 1),
        }
        return Tables(guess, np.full(len(seen), self.people > 0), notes)
