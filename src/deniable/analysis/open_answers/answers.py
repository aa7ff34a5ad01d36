"""Answers about one yes/no attribute: what each report says of it, whatever else its question asked.

A question may ask about the outcome together with other attributes, whose law is not known, least of all
given open covariates. But ways of answering treat all symbols alike. Let h = M/2 of a question's M
symbols mean yes to the outcome and h mean no, and let T of the w reported symbols mean yes. Then T has a
law that depends on the outcome alone, and it has all that the report says of the outcome where the
others are not modelled: no permutation of symbols that keeps yes and no apart changes T. Against answers
by chance alone it has the density

    T/h·a + (1 − T/h)·b  where the truth is yes,    T'/h·a + (1 − T'/h)·b,  T' = w − T,  where it is no,

with a = p·M/w and b = (1 − p)·M/(M − w), p the chance that the true symbol is reported. Noisy bits
(`Unary`) are alike: a = own/other and b = (1 − own)/(1 − other), T and T' the yes and the no symbols
whose bits are set. Bits that are each noisy by themselves (`Bitwise`) tell by the outcome's own.

The difference of the two densities, over its mean square D by chance alone, is a score: ½ + (f₁ − f₀)/D
has the mean 1 where the truth is yes and 0 where it is no, and by chance alone the variance 1/D.

A question speaks of the outcome if some sum (XOR) of its bits touches nothing else. One that asks
whether *exactly one* of the outcome and something else is true says nothing of the outcome alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.questions.answers import Bitwise, Subset, Unary
from deniable.questions.subsets import unranks
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.template import Template

_TOGETHER = 1 << 18
"""How many reports are looked at together."""


@dataclass(frozen=True, eq=False)
class OutcomeAnswers:
    """What each report says of a yes/no outcome.

    ``kind`` numbers what was said; ``if_yes`` and ``if_no`` are its probabilities where the truth is yes
    and where it is no, or its densities against answers by chance alone. They are equal where the report
    says nothing of the outcome.
    """

    kind: Ints
    if_yes: Floats
    if_no: Floats
    score: Floats
    """What each kind counts as yes: its mean is 1 where the truth is yes, 0 where it is no."""
    precision: Floats
    """1 over the variance of the score where answers are due to chance alone; 0 if nothing is said."""
    noise_if_yes: Floats
    """The variance of the score of the same question where the truth is yes."""
    noise_if_no: Floats

    @property
    def tells(self) -> NDArray[np.bool_]:
        """Tell which reports say something of the outcome."""
        return np.asarray((self.if_yes != self.if_no)[self.kind])

    def rows(self, some: Ints) -> OutcomeAnswers:
        """Return the answers of some reports."""
        return replace(self, kind=self.kind[some])


def outcome_answers(
    survey: FrozenSurvey, outcome: int, slots: Ints, values: NDArray[Any]
) -> OutcomeAnswers:
    """Return what reports say of the attribute at a position of the schema, which has two values.

    Reports are those that the survey can have got; ``values`` are integers, or rows of packed bytes.
    """
    attribute = survey.schema.attributes[outcome]
    if attribute.size != 2 or survey.lists[outcome].codes != 2:
        raise TableError(
            f"The outcome {attribute.name!r} must have two values for reports to tell yes from no, got "
            f"{survey.lists[outcome].codes:,}."
        )
    kind = np.zeros(len(slots), np.int64)
    kinds = [
        np.array([[1.0], [1.0], [0.5], [0.0], [0.0]])
    ]  # of whoever was asked about something else
    total = 1
    bounds = survey.index.starts
    for index, template in enumerate(survey.templates):
        rows = np.flatnonzero((slots >= bounds[index]) & (slots < bounds[index + 1]))
        for start in range(0, len(rows), _TOGETHER):
            part = rows[start : start + _TOGETHER]
            sets, _ = survey.index.locate(slots[part])
            for place in range(template.attributes):
                own = part[sets[:, place] == outcome]
                symbols = _Halves.of(template, place) if len(own) else None
                if symbols is None:
                    continue
                pairs, numbers = _different(symbols.densities(values[own]))
                kind[own] = numbers + total
                precision, noise = np.full(
                    (2, pairs.shape[1]), [[symbols.precision], [symbols.noise]]
                )
                scores = 0.5 + (pairs[0] - pairs[1]) / precision
                kinds.append(np.stack((*pairs, scores, precision, noise)))
                total += pairs.shape[1]
    every, numbers = np.unique(np.concatenate(kinds, axis=1), axis=1, return_inverse=True)
    if_yes, if_no, score, precision, noise = every
    kind = numbers.ravel()[kind]
    return OutcomeAnswers(
        kind, if_yes, if_no, score, precision, noise_if_yes=noise, noise_if_no=noise
    )


def _different(densities: Floats) -> tuple[Floats, Ints]:
    """Return the columns that differ, of very many, and the number of each column among them."""
    (yeses, yes), (noes, no) = (np.unique(row, return_inverse=True) for row in densities)
    both, numbers = np.unique(yes * len(noes) + no, return_inverse=True)
    return np.stack((yeses[both // len(noes)], noes[both % len(noes)])), numbers


@dataclass(frozen=True)
class _Halves:
    """Which symbols of a template mean yes to the attribute at one of its places.

    Those with an odd number of bits under a mask; or, of a cell, those whose digit there is 1.
    """

    answer: Subset | Unary | Bitwise
    mask: int
    stride: int = 0

    @classmethod
    def of(cls, template: Template, place: int) -> _Halves | None:
        """Return the halves, or None where the template does not speak of the attribute alone."""
        if template.cell:
            sizes = template.sizes or (2,) * template.attributes
            return cls(template.answer, 0, prod(sizes[:place]))
        if isinstance(template.answer, Bitwise):  # sums of bits are noisier, and too many to list
            touches = template.split(np.array(template.parities)) > 0
            alone = np.flatnonzero((touches.sum(axis=1) == 1) & touches[:, place])
            return cls(template.answer, 1 << int(alone[0])) if len(alone) else None
        alone = np.flatnonzero(template.member_sets == 1 << place)
        return cls(template.answer, int(alone[0]) + 1) if len(alone) else None

    def means_yes(self, symbols: Ints) -> NDArray[np.bool_]:
        """Tell which symbols mean yes."""
        if self.stride:
            return np.asarray(symbols // self.stride % 2 == 1)
        return np.asarray(np.bitwise_count(symbols & self.mask) & 1, np.bool_)

    def densities(self, values: NDArray[Any]) -> Floats:
        """Return the densities of reports where the truth is yes, and below where it is no."""
        answer = self.answer
        if isinstance(answer, Bitwise):
            lean = np.where(self.means_yes(values), 1.0, -1.0) * float(answer.shrink)
            return np.stack((1 + lean, 1 - lean))
        law, half = answer.inclusion, answer.symbols / 2
        if isinstance(answer, Subset):
            chance = answer.chosen / answer.symbols
            yeses = self.means_yes(unranks(values, answer.chosen, answer.symbols)).sum(axis=1)
            noes = answer.chosen - yeses
        else:
            chance = float(law.other)
            yeses, noes = self._bits_set(values)
        own = float(law.own)
        holding, lacking = own / chance, (1 - own) / (1 - chance)
        densities: Floats = lacking + (holding - lacking) * (np.stack((yeses, noes)) / half)
        return densities

    @property
    def precision(self) -> float:
        """Return D, the mean square of the difference of densities by chance alone."""
        answer = self.answer
        if isinstance(answer, Bitwise):
            return 4 * float(answer.shrink) ** 2
        law, half = answer.inclusion, answer.symbols / 2
        own = float(law.own)
        if isinstance(answer, Subset):
            chance = answer.chosen / answer.symbols
            variance = answer.chosen * (answer.symbols - answer.chosen) / (answer.symbols - 1)
        else:
            chance = float(law.other)
            variance = answer.symbols * chance * (1 - chance)
        return ((own / chance - (1 - own) / (1 - chance)) / half) ** 2 * variance

    @property
    def noise(self) -> float:
        """Return the variance of the score where the truth is known: yes and no are alike.

        By chance alone the score's second moment is ¼ + 1/D. Where the truth is as likely yes as no it
        is the same, but for bits: the mean of both densities rises with how many are set.
        """
        answer = self.answer
        square = 1 / self.precision
        if isinstance(answer, Unary):
            own, other = float(answer.inclusion.own), float(answer.inclusion.other)
            half = answer.symbols / 2
            holding, lacking = own / other, (1 - own) / (1 - other)
            mean, variance = half * other, half * other * (1 - other)
            cube = variance * (1 - 2 * other)  # the third central moment of set bits
            tilted = lacking * 2 * variance + (holding - lacking) / half * (
                2 * mean * variance + cube
            )
            square = tilted * ((holding - lacking) / half / self.precision) ** 2
        return square - 0.25

    def _bits_set(self, values: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return how many symbols that mean yes, and that mean no, have their noisy bit set."""
        symbols = np.arange(self.answer.symbols)
        yes = self.means_yes(symbols)
        if values.ndim == 1:
            mask = np.int64((np.int64(1) << symbols[yes]).sum())
            of_yes = np.bitwise_count(values & mask).astype(np.int64)
            return of_yes, np.bitwise_count(values).astype(np.int64) - of_yes
        of_yes, of_all = np.zeros((2, len(values)), np.int64)
        step = max(1, (1 << 24) // len(symbols))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            bits = np.unpackbits(values[part], axis=1, count=len(symbols), bitorder="little")
            of_all[part] = bits.sum(axis=1)
            of_yes[part] = bits[:, yes].sum(axis=1)
        return of_yes, of_all - of_yes
