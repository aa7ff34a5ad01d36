"""Could people who follow the protocol have sent this? What slots and answers alone say.

*Slots*: are they used as often as designed? Only more uneven than chance is odd: assigned slots are more
even on purpose, and counts that were multiplied are too uneven by their factor. *Answers*: whatever the
people's records are, a value's probability lies between its smallest and its largest over all records,
so its share may not lie beyond both by more than chance. Silence is no proof: n answers that are all
alike are seen once e^ε/(e^ε + 1), to the power n, is rarer than a false alarm may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deniable.collector.tally import TallyCounts
from deniable.questions.answers import Bitwise
from deniable.questions.entropy import WORD
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import Family, FrozenSurvey

FALSE_ALARM = 1e-5
"""How often each of the two is odd where everybody follows the protocol, at most."""

_LEAST_EXPECTED = 20.0
_MOST_BINS = 4096
_MOST_CELLS = 1 << 20


def is_possible(tally: TallyCounts) -> bool:
    """Tell whether neither slots nor answers are odder than the rate of false alarms."""
    by_slots = slots_p_value(tally)
    return answers_p_value(tally) >= FALSE_ALARM and (by_slots is None or by_slots >= FALSE_ALARM)


# Slots


def slots_p_value(tally: TallyCounts) -> float | None:
    """Return how rarely slots are used more unevenly than here; None of too few reports to tell."""
    from scipy import stats

    slots, people = tally.people_by_slot()
    people_seen, people_expected = _slot_bins(tally.survey, slots, people)
    if len(people_seen) < 2:
        return None
    statistic = float(((people_seen - people_expected) ** 2 / people_expected).sum())
    return float(stats.chi2.sf(statistic, len(people_seen) - 1))


def _slot_bins(survey: FrozenSurvey, slots: Ints, people: Ints) -> tuple[Floats, Floats]:
    """Return how many people used neighbouring slots, and how many are expected to."""
    total = int(people.sum())
    most = min(_MOST_BINS, int(total / _LEAST_EXPECTED))
    people_seen, people_expected = list[Floats](), list[Floats]()
    for index in range(len(survey.templates)):
        begin = survey.index.starts[index]
        size = survey.index.templates[index].count
        low, high = np.searchsorted(slots, (begin, begin + size))
        offset, reports = slots[low:high] - begin, people[low:high]
        chances, mass = survey.index.chances(index), survey.index.chance(index)
        bins = max(1, min(size, int(mass * most)))
        if len(chances) == 1:  # all alike, perhaps too many to be listed
            edges = [-(-b * size // bins) for b in range(bins + 1)]
            mass_of = np.diff(np.array(edges, float)) * mass / size
            bin_of = np.searchsorted(np.array(edges[1:]), offset, side="right")
        else:
            upto = np.cumsum(chances) - chances
            of_slot = np.minimum((upto / mass * bins).astype(int), bins - 1)
            mass_of = np.bincount(of_slot, chances, bins).astype(np.float64)
            bin_of = of_slot[offset]
        people_seen.append(np.bincount(bin_of, reports, bins).astype(np.float64))
        people_expected.append(mass_of * total)
    return _merge_bins(np.concatenate(people_seen), np.concatenate(people_expected))


def _merge_bins(people_seen: Floats, people_expected: Floats) -> tuple[Floats, Floats]:
    """Put bins together with their neighbours until enough people are expected in each."""
    upto = np.cumsum(people_expected)
    group, starts = 0.0, [0]
    for offset, sum_ in enumerate(upto.tolist()):
        if sum_ - group >= _LEAST_EXPECTED and offset + 1 < len(upto):
            if upto[-1] - sum_ < _LEAST_EXPECTED:
                break
            starts.append(offset + 1)
            group = sum_
    return np.add.reduceat(people_seen, starts), np.add.reduceat(people_expected, starts)


# Answers


class _Claims(NamedTuple):
    """Numbers of reports with some property, out of how many, and the bounds of its chance."""

    reports: Ints
    of: Ints
    least: float
    most: float


def answers_p_value(tally: TallyCounts) -> float:
    """Return how rarely answers lie so far beyond what any people's can be, at most."""
    from scipy import stats

    claims = list(_claims(tally))
    tests = sum(2 * each.reports.size for each in claims)
    worst = 1.0
    for each in claims:
        above = np.min(stats.binom.sf(each.reports - 1, each.of, each.most))
        below = np.min(stats.binom.cdf(each.reports, each.of, each.least))
        worst = min(worst, float(above), float(below))
    return min(1.0, worst * max(1, tests))


def _claims(tally: TallyCounts) -> Iterator[_Claims]:
    slots, people = tally.people_by_slot()
    for family in tally.survey.families:
        low, high = np.searchsorted(slots, (family.start, family.stop))
        if low == high:
            continue
        rows = slice(*np.searchsorted(tally.slot, (family.start, family.stop)))
        yield from _of_family(
            family,
            np.searchsorted(slots[low:high], tally.slot[rows]),
            tally.value[rows],
            tally.count[rows],
            people[low:high],
        )


def _of_family(
    family: Family, row: Ints, value: Ints, count: Ints, people: Ints
) -> Iterator[_Claims]:
    """Yield how often each symbol was spoken for in each slot, or each bit was set.

    And in all slots together: whatever each person's own symbol is, a report holds a given one with a
    chance between the same two, so that constant answers are seen where each slot has few.
    """
    answer = family.answer
    if isinstance(answer, Bitwise):
        least, most = 1 - answer.threshold / WORD, answer.threshold / WORD
        for bit in range(answer.bits):
            ones = np.bincount(row, count * (value >> bit & 1), len(people))
            yield _Claims(ones.astype(np.int64), people, least, most)
            yield _Claims(
                ones.sum(keepdims=True).astype(np.int64), people.sum(keepdims=True), least, most
            )
        return
    bounds = sorted((float(answer.inclusion.own), float(answer.inclusion.other)))
    totals = np.zeros(answer.symbols, np.int64)
    step = max(1, _MOST_CELLS // answer.symbols)
    for start in range(0, len(people), step):
        low, high = np.searchsorted(row, (start, start + step))
        part = people[start : start + step]
        supports, _ = answer.count(
            len(part), row[low:high] - start, value[low:high], count[low:high]
        )
        totals += supports.sum(axis=0)
        yield _Claims(supports, np.broadcast_to(part[:, None], supports.shape), *bounds)
    yield _Claims(totals, np.full(len(totals), people.sum()), *bounds)
