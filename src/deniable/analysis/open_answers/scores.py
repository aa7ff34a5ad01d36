"""Scores of single reports that are unbiased for a number.

A report that holds some of the outcome's coefficients gives each a score whose mean is the coefficient's
sign (`deniable.decoding`). The outcome is g_0 + Σ a_c·h_c over its coefficients c, of which every one is
held by as many slots as any other; so with n coefficients of which a slot holds m,

    u = g_0 + (n/m)·Σ_{c held} a_c·score_c

has the outcome as its mean over slots, whatever people's other attributes and open columns are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.open_answers.answers import OutcomeAnswers
from deniable.decoding.scores import scoring
from deniable.decoding.thresholds import cut_moments, cut_sums
from deniable.errors import TableError
from deniable.questions.answers import Subset
from deniable.questions.thresholds import Thresholds
from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats, Ints, hadamard
from deniable.survey.frozen import FrozenSurvey

_TOGETHER = 1 << 22
"""How many symbols of reports are looked at together."""

_FEW = 30
"""Of fewer reports of the same weight, those of all weights tell the second moment."""


@dataclass(frozen=True, eq=False)
class Scores:
    """A score of each report, its weight, and the law of its noise.

    The score of a report by people whose mean is π has the variance ``square + rise·π − π²``; its weight
    is 0 where the report says nothing of the outcome.
    """

    values: Floats
    weights: Floats
    square: Floats
    rise: Floats
    bounds: tuple[float, float]
    """The least and the largest that a person's true value may be."""

    @classmethod
    def of_numbers(cls, values: Floats, weights: Floats, bounds: tuple[float, float]) -> Scores:
        """Return scores of a number between bounds.

        Their second moment about the middle is that among all reports of their weight: C²·(range/2)²
        where a report is about one cut, whatever people's numbers are.
        """
        square, middle = np.zeros(len(values)), (bounds[0] + bounds[1]) / 2
        tells = weights > 0
        different, kind, counts = np.unique(weights[tells], return_inverse=True, return_counts=True)
        sums = np.bincount(kind, (values[tells] - middle) ** 2, len(different))
        overall = float(sums @ different) / max(len(kind), 1)
        squares = np.where(counts < _FEW, overall / different, sums / counts)
        square[tells] = squares[kind]
        return cls(values, weights, square - middle**2, np.full(len(values), 2 * middle), bounds)

    @classmethod
    def of_answers(cls, answers: OutcomeAnswers) -> Scores:
        """Return the scores of answers about one of two values."""
        if_yes, if_no = answers.noise_if_yes + 1, answers.noise_if_no
        parts = np.stack((answers.score, answers.precision, if_no, if_yes - if_no))[:, answers.kind]
        return cls(parts[0], parts[1], parts[2], parts[3], bounds=(0.0, 1.0))


def outcome_scores(survey: FrozenSurvey, outcome: int, slots: Ints, values: NDArray[Any]) -> Scores:
    """Return a score of each report for a number."""
    attribute = survey.schema.attributes[outcome]
    function = _function(attribute)
    own_list = survey.lists[outcome]
    weights = own_list.expectation(function[None, :])[0]
    scores, precision = np.zeros((2, len(slots)))
    bounds = survey.index.starts
    for index, template in enumerate(survey.templates):
        rows = np.flatnonzero((slots >= bounds[index]) & (slots < bounds[index + 1]))
        step = max(1, _TOGETHER // template.answer.symbols)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            sets, entries = survey.index.locate(slots[part])
            for place in range(template.attributes):
                own = np.flatnonzero(sets[:, place] == outcome)
                if not len(own):
                    continue
                members, signs, moment = _members(
                    survey, index, place, sets[own], entries[own], values[part[own]]
                )
                share = members.shape[1] / own_list.count
                if share:
                    mean = (weights[members] * signs).sum(axis=1) / share
                    scores[part[own]] = weights[0] + mean
                    precision[part[own]] = share / moment
    ends = (float(function.min()), float(function.max()))
    return Scores.of_numbers(scores, precision, ends)


def _function(attribute: Attribute) -> Floats:
    """Return the number that each code stands for."""
    if not attribute.is_ordered:
        raise TableError(
            f"The outcome {attribute.name!r} must be a number or have two values; it has "
            f"{attribute.size:,} without an order."
        )
    if attribute.codes > attribute.levels:
        raise TableError(
            f"The outcome {attribute.name!r} may be missing, and who lacks it has no number; a linear "
            "fit needs a number of everybody."
        )
    return np.asarray(attribute.numbers, np.float64)


def _members(
    survey: FrozenSurvey, index: int, place: int, sets: Ints, entries: Ints, values: Ints
) -> tuple[Ints, Floats, float]:
    """Return which coefficients of the attribute at a place reports hold, their scores, and V."""
    template = survey.templates[index]
    score = scoring(template)
    assert isinstance(score.answer, Subset)
    ones = np.ones(len(values), np.int64)
    supports, _ = score.answer.count(len(values), np.arange(len(values)), values, ones)
    own = survey.lists[sets[0, place]]
    if isinstance(own, Thresholds) and template.question_counts == (2,):
        cuts = own.triples(entries[:, 0]) + own.steps * own.passes(entries[:, 0])[:, None]
        sums = cut_sums(supports.astype(np.float64), ones.astype(np.float64), score.law)
        return cuts, sums, float(cut_moments(score.law).mean())
    alone = np.flatnonzero(template.member_sets == 1 << place)
    members = [
        survey.coefficients(index, sets, entries, member)[:, place]
        for member in template.members[alone].tolist()
    ]
    signs = hadamard(supports)[:, 1:][:, alone] / float(score.law.contrast)
    return np.array(members, np.int64).reshape(len(alone), len(values)).T, signs, score.moment
