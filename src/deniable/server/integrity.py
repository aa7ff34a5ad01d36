"""Does what was counted look like what people who follow the protocol would send?

Three questions to a tally and the survey's design. *Slots*: are they used as often as designed? Only
more uneven than chance alarms: assigned slots are more even on purpose. *Answers*: whatever the people's
records are, a value's probability lies between its smallest and its largest over all records, so its
share may not lie beyond both by more than chance. *Coefficients*: do estimates lie beyond ±1 by more
than noise? An alarm says that some reports were not drawn as the survey says; silence is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from deniable.collector.tally import TallyCounts
from deniable.decoding.decoder import decoder_of
from deniable.questions.answers import Bitwise
from deniable.questions.entropy import WORD
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import Family, FrozenSurvey

FALSE_ALARM = 1e-5
"""How often each of the first two checks alarms where everybody follows the protocol, at most."""

_LEAST_EXPECTED = 20.0
_MOST_BINS = 4096
_MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Check:
    """One question to a tally, and its answer."""

    name: str
    alarm: bool
    p_value: float | None
    """How rarely honest people would look so odd; None where it was not computed."""
    sentence: str


@dataclass(frozen=True)
class Integrity:
    """What the monitor sees."""

    people: int
    checks: tuple[Check, ...]

    @property
    def alarm(self) -> bool:
        """Tell whether any check alarms."""
        return any(check.alarm for check in self.checks)

    @property
    def summary(self) -> dict[str, Any]:
        """Return it in short."""
        return {"alarm": self.alarm, "alarms": [c.name for c in self.checks if c.alarm]}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        checks = [asdict(check) for check in self.checks]
        return {"people": self.people, "alarm": self.alarm, "checks": checks}


def inspect(tally: TallyCounts, plausible: bool | None = None) -> Integrity:
    """Return what a tally tells about the honesty of its reports.

    ``plausible`` is what a release of it says of its coefficients, where one was made already.
    """
    if not tally.people:
        return Integrity(0, ())
    checks = [_slots(tally), _answers(tally)]
    if plausible is None:
        estimates = decoder_of(tally.survey).decode(tally.slot, tally.value, tally.count)
        plausible = estimates.plausible
    verdict = "within" if plausible else "beyond"
    checks.append(
        Check(
            "coefficients",
            not plausible,
            None,
            f"Estimates lie {verdict} what people can have, given the noise.",
        )
    )
    return Integrity(tally.people, tuple(checks))


# Slots


def _slots(tally: TallyCounts) -> Check:
    from scipy import stats

    name = "slots"
    slots, people = tally.people_by_slot()
    people_seen, people_expected = _slot_bins(tally.survey, slots, people)
    if len(people_seen) < 2:
        return Check(name, False, None, "There are too few reports to tell how slots are used.")
    statistic = float(((people_seen - people_expected) ** 2 / people_expected).sum())
    p_value = float(stats.chi2.sf(statistic, len(people_seen) - 1))
    alarm = p_value < FALSE_ALARM
    verdict = "more unevenly than chance explains" if alarm else "as the survey says"
    return Check(name, alarm, p_value, f"Slots are used {verdict}.")


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


def _answers(tally: TallyCounts) -> Check:
    from scipy import stats

    name, claims = "answers", list(_claims(tally))
    tests = sum(2 * each.reports.size for each in claims)
    worst = 1.0
    for each in claims:
        above = np.min(stats.binom.sf(each.reports - 1, each.of, each.most))
        below = np.min(stats.binom.cdf(each.reports, each.of, each.least))
        worst = min(worst, float(above), float(below))
    p_value = min(1.0, worst * max(1, tests))
    alarm = p_value < FALSE_ALARM
    verdict = "beyond" if alarm else "within"
    return Check(name, alarm, p_value, f"Answers lie {verdict} what the survey's odds can produce.")


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
    """Yield how often each symbol was spoken for in each slot, or each bit was set."""
    answer = family.answer
    if isinstance(answer, Bitwise):
        least, most = 1 - answer.threshold / WORD, answer.threshold / WORD
        for bit in range(answer.bits):
            ones = np.bincount(row, count * (value >> bit & 1), len(people))
            yield _Claims(ones.astype(np.int64), people, least, most)
        return
    bounds = sorted((float(answer.inclusion.own), float(answer.inclusion.other)))
    step = max(1, _MOST_CELLS // answer.symbols)
    for start in range(0, len(people), step):
        low, high = np.searchsorted(row, (start, start + step))
        part = people[start : start + step]
        supports, _ = answer.count(
            len(part), row[low:high] - start, value[low:high], count[low:high]
        )
        yield _Claims(supports, np.broadcast_to(part[:, None], supports.shape), *bounds)
