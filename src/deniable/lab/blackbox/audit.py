"""The audit of a client that is known by its reports alone.

The command reports on two records, in an order that is drawn anew, many times. From a first half of
the reports an event is chosen that is likely for one record and unlikely for the other; how often it
happens among the second half bounds ε from below:

    ε ≥ ln(p₁ / p₂) ≥ ln(lower(p₁) / upper(p₂)),

with Clopper and Pearson's exact bounds, each of which fails with half of the error rate at most. As
the event is fixed before the second half is looked at, no correction for having chosen is needed. The
claim is one-sided: a client above its ε is shown to be, with that error rate; one that is not may be
sound, or be at fault in what two records and so many reports do not show.

*Source.* Clopper and Pearson, Biometrika 1934. Jagielski, Ullman and Oprea, "Auditing differentially
private machine learning", NeurIPS 2020; Arcolezi and Gambs, "Revealing the true cost of local privacy:
an auditing perspective", 2023, who found the fault of pure-ldp's unary encoding so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from random import SystemRandom
from typing import Any, NamedTuple

import numpy as np

from deniable.errors import DataError, SurveyError
from deniable.lab.blackbox.command import Advance, Command
from deniable.lab.blackbox.leanings import Leaning, by_law, learned
from deniable.lab.blackbox.pairs import telling_pair
from deniable.survey.frozen import FrozenSurvey

ERROR_RATE = 1e-6
RUNS = 40_000
FEWEST_RUNS, MOST_RUNS = 80, 10**7

_MOST_THRESHOLDS = 1000

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class BlackBoxAudit:
    """What a client's reports show: its ε is at least ``epsilon_at_least``, or a rare accident happened.

    ``error_rate`` is how often, at most, a client whose ε is below that is said to be above it.
    ``likely`` and ``unlikely`` say how often the event was true among so many judged reports: of
    the record that it is likely for, and of the other.
    """

    stated_epsilon: float
    epsilon_at_least: float
    error_rate: float
    runs: int
    event: str
    likely: tuple[int, int]
    unlikely: tuple[int, int]
    records: Pair | None
    """The two records, where the survey chose them."""

    @property
    def passed(self) -> bool:
        """Tell whether nothing shows the client above its stated ε."""
        return self.epsilon_at_least <= self.stated_epsilon


class Event(NamedTuple):
    """Reports whose leaning is at least a threshold; or at most, as seen from the second record."""

    leaning: Leaning
    threshold: float
    is_of_first: bool

    def times(self, first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
        """Return how often it happens, for the record it is likely for and for the other."""
        return tuple(  # type: ignore[return-value]
            int(self._holds(np.array([self.leaning.of(report) for report in reports])).sum())
            for reports in ((first, second) if self.is_of_first else (second, first))
        )

    def _holds(self, leanings: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return leanings >= self.threshold if self.is_of_first else leanings <= self.threshold


def audit_command(
    command: Command,
    epsilon: float,
    *,
    survey: FrozenSurvey | None = None,
    records: Pair | None = None,
    runs: int = RUNS,
    error_rate: float = ERROR_RATE,
    advance: Advance = lambda: None,
) -> BlackBoxAudit:
    """Run a client on two records, and bound its ε from below.

    ``runs`` is how many reports are asked for in all. Without ``records`` a survey chooses two.
    """
    check_numbers(epsilon, runs, error_rate)
    if records is None and survey is None:
        raise SurveyError("Give two records that the client is to report on, or a survey.")
    pair = telling_pair(survey) if records is None and survey is not None else records
    assert pair is not None
    if survey is not None:
        law = by_law(survey, *pair)  # refuses records that the survey does not have
    count = _judged(runs)
    lessons = _reports(command, pair, count // 2, advance)
    trial = _reports(command, pair, count // 2, advance)
    leanings = [*([law] if survey is not None else []), *learned(*lessons)]
    event = choose(leanings, *trial, error_rate)
    likely, unlikely = event.times(*_reports(command, pair, count, advance))
    return BlackBoxAudit(
        float(epsilon),
        float(least_epsilon(likely, unlikely, count, error_rate)),
        float(error_rate),
        2 * (2 * (count // 2) + count),
        _in_words(event),
        (likely, count),
        (unlikely, count),
        pair if records is None else None,
    )


def check_numbers(epsilon: float, runs: int, error_rate: float) -> None:
    """Refuse numbers that no audit can be made with."""
    if not 0 < epsilon < inf:
        raise SurveyError(f"epsilon must be a positive finite number, got {epsilon!r}.")
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise DataError(f"The runs must be {FEWEST_RUNS} to {MOST_RUNS:,}, got {runs:,}.")
    if not 0 < error_rate < 0.5:
        raise DataError(f"The error rate must be above 0 and below 0.5, got {error_rate!r}.")
    if (most := most_shown(runs, error_rate)) <= epsilon:
        raise DataError(
            f"{runs:,} runs with an error rate of {error_rate:g} show an epsilon of at most {most:.3g}, "
            f"which cannot be above {epsilon:g}; take more runs."
        )


def _reports(
    command: Command, pair: Pair, count: int, advance: Advance
) -> tuple[list[str], list[str]]:
    """Return so many reports of each record.

    They are asked for in an order drawn by lot: a client that goes through something in turn, such as
    slots, must not seem to tell records apart.
    """
    turns = [0, 1] * count
    SystemRandom().shuffle(turns)
    reports = command.reports([pair[turn] for turn in turns], advance)
    first, second = ([r for r, t in zip(reports, turns, strict=True) if t == own] for own in (0, 1))
    return first, second


def choose(
    leanings: Sequence[Leaning], first: Sequence[str], second: Sequence[str], error_rate: float
) -> Event:
    """Return the event that, if it is as frequent among twice as many reports, bounds ε best.

    These reports are equally many of each record.
    """
    best, event = -inf, Event(leanings[0], 0.0, True)
    for leaning in leanings:
        ours, theirs = (
            np.sort([leaning.of(report) for report in reports]) for reports in (first, second)
        )
        levels = np.unique(np.concatenate([ours, theirs]))
        levels = levels[:: -(-len(levels) // _MOST_THRESHOLDS)]
        above = [len(first) - np.searchsorted(each, levels) for each in (ours, theirs)]
        below = [np.searchsorted(each, levels, "right") for each in (theirs, ours)]
        for is_of_first, (likely, unlikely) in ((True, above), (False, below)):
            bounds = _bounds(2 * likely, 2 * unlikely, 2 * len(first), error_rate)
            if bounds.max() > best:
                best = float(bounds.max())
                event = Event(leaning, float(levels[bounds.argmax()]), is_of_first)
    return event


def least_epsilon(likely: Any, unlikely: Any, count: int, error_rate: float) -> Any:
    """Return the bound on ε of events that happen so often among so many reports of each record.

    No ε is below 0; what never happens for the likely record tells nothing.
    """
    return np.maximum(0.0, _bounds(likely, unlikely, count, error_rate))


def _bounds(likely: Any, unlikely: Any, count: int, error_rate: float) -> Any:
    from scipy.stats import beta

    likely, unlikely = np.asarray(likely), np.asarray(unlikely)
    half = error_rate / 2
    with np.errstate(divide="ignore"):
        low = np.where(likely > 0, beta.ppf(half, np.maximum(likely, 1), count - likely + 1), 0.0)
        high = np.where(
            unlikely < count, beta.isf(half, unlikely + 1, np.maximum(count - unlikely, 1)), 1.0
        )
        return np.log(low) - np.log(high)


def most_shown(runs: int, error_rate: float) -> float:
    """Return the largest bound that so many runs can give: the event always, and never."""
    count = _judged(runs)
    return float(least_epsilon(count, 0, count, error_rate))


def _judged(runs: int) -> int:
    """Return how many reports on each record are judged: half of them all."""
    return runs // 4


def _in_words(event: Event) -> str:
    record = "first" if event.is_of_first else "second"
    return f"{event.leaning.words}: they speak for the {record} record"
