"""What a tally holds about single numbers, as the fit of their distribution takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from deniable.collector.tally import TallyCounts
from deniable.decoding.evidence import CoefficientEvidence, Evidence
from deniable.decoding.thresholds import SYMBOLS
from deniable.questions.answers import Subset
from deniable.questions.entropy import WORD
from deniable.questions.lists import QuestionList
from deniable.questions.subsets import ranks, unranks
from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.answers import Answers
from deniable.release.numbers.fit import NumberFit
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey


@cache
def _interval_sets(symbols: int, size: int) -> Ints:
    """Return the rank of the intervals that each reported set of symbols stands for."""
    answer = Subset(symbols, size, WORD // 2 + 1)
    sets = unranks(np.arange(answer.outcomes), size, symbols)
    if symbols == 4:
        sets = np.sort(np.argsort(SYMBOLS)[sets], axis=1)
    return ranks(sets, symbols)


def answers_about(tally: TallyCounts, attribute: int) -> Iterator[Answers]:
    """Yield what was answered about one number alone, by the number of its cuts."""
    survey, own = tally.survey, tally.survey.lists[attribute]
    assert isinstance(own, Thresholds)
    entries = np.arange(own.entries)
    for index, template in enumerate(survey.templates):
        positions = np.flatnonzero(template.is_asked)
        if template.cell or len(positions) != 1 or not isinstance(template.answer, Subset):
            continue
        place = int(positions[0])
        low, high = np.searchsorted(tally.slot, survey.index.starts[index : index + 2])
        sets, entry = survey.index.templates[index].locate(
            tally.slot[low:high] - survey.index.starts[index]
        )
        rows = np.flatnonzero(sets[:, place] == attribute)
        if not len(rows):
            continue
        answer = template.answer
        outcomes = np.zeros((own.entries, answer.outcomes))
        value = _interval_sets(answer.symbols, answer.chosen)[tally.value[low:high][rows]]
        np.add.at(outcomes, (entry[rows, place], value), tally.count[low:high][rows])
        cuts = own.triples(entries) if answer.symbols == 4 else (entries % own.steps + 1)[:, None]
        chance = answer.threshold / WORD
        yield Answers.of(cuts, own.passes(entries), outcomes, answer.chosen, chance)


def fits_of(tally: TallyCounts) -> dict[int, NumberFit]:
    """Return the fit of every number of a survey, by its position."""
    return {
        attribute: NumberFit(each, tuple(answers_about(tally, attribute)))
        for attribute, each in enumerate(tally.survey.lists)
        if isinstance(each, Thresholds)
    }


def lists_of_moments(
    survey: FrozenSurvey, fits: Mapping[int, NumberFit]
) -> tuple[QuestionList, ...]:
    """Return a survey's question lists, with those of numbers' moments in place of thresholds."""
    return tuple(
        fits[attribute].moments if attribute in fits else each
        for attribute, each in enumerate(survey.lists)
    )


def by_moments(evidence: Evidence, survey: FrozenSurvey, fits: Mapping[int, NumberFit]) -> Evidence:
    """Return evidence in which a few values stand for a number's moments."""
    if not fits or not isinstance(evidence, CoefficientEvidence):
        return evidence
    return evidence.with_lists(lists_of_moments(survey, fits))
