"""The law of a tally: how far counts may stray from what a mechanism makes of known records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.collector.tally import TallyCounts
from deniable.questions.answers import Unary
from deniable.schema.schema import Records
from deniable.survey.frozen import FrozenSurvey


def expected_counts(survey: FrozenSurvey, records: Records) -> NDArray[np.float64]:
    """Return how often each value of each slot is expected, slot by slot in one row.

    Only for answers whose values are few, and not folded.
    """
    words, times = np.unique(records.words, axis=0, return_counts=True)
    rows = []
    for index, family in enumerate(survey.families):
        answer = family.answer
        if isinstance(answer, Unary):
            raise ValueError("a unary tally counts bits, which are not exclusive")
        laws = np.array([answer.law(s) for s in range(answer.symbols)], object) / answer.law_total
        for template in family.templates:
            chances = survey.index.chances(template)
            first = survey.index.starts[template]
            for place in range(survey.index.templates[template].count):
                slots = np.full(len(words), first + place)
                symbols = survey.symbols.of(index, words, slots).astype(np.int64)
                people = np.bincount(symbols, times, answer.symbols)
                rows.append(chances[place % len(chances)] * people @ laws.astype(np.float64))
    return np.concatenate(rows)


def p_value(counts: TallyCounts, records: Records) -> float:
    """Return how often a sound mechanism's tally strays from its law as far as this one (χ²).

    People who differ make counts scatter a little less than χ² assumes, so the alarm is never too
    frequent.
    """
    survey = counts.survey
    expected = expected_counts(survey, records)
    width = np.array([f.answer.outcomes for f in survey.families])
    starts = np.array([f.start for f in survey.families])
    before = np.concatenate([[0], np.cumsum([(f.stop - f.start) for f in survey.families] * width)])
    family = np.searchsorted(starts, counts.slot, side="right") - 1
    cell = before[family] + (counts.slot - starts[family]) * width[family] + counts.value
    observed = np.bincount(cell, counts.count, len(expected))
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)
