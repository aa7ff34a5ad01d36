"""Scores of single reports that are unbiased for a number.

A report that holds some of the outcome's coefficients gives each a score whose mean is the coefficient's
sign (`deniable.decoding`). The outcome is g_0 + Σ a_c·h_c over its coefficients c, of which every one is
held by as many slots as any other; so with n coefficients of which a slot holds m,

    u = g_0 + (n/m)·Σ_{c held} a_c·score_c

has the outcome as its mean over slots, whatever people's other attributes and open columns are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def outcome_scores(
    survey: FrozenSurvey, outcome: int, slots: Ints, values: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Return a score of each report, and its weight: 0 where the report says nothing of the outcome."""
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
    return scores, precision


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
