"""A person's device: it checks the question, answers it once, and remembers.

A client trusts nobody. It computes the ε of every question itself and refuses one above its owner's
limit, one of a survey it does not know, and one that touches more of the record than the survey says.
Where a survey declares periods, it draws its own by lot, and answers in no other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.client.ledger import (
    Entry,
    Ledger,
    Sending,
    answered_elsewhere,
    place_in,
    total,
)
from deniable.errors import RefusedError, SurveyError
from deniable.messages.report import Report
from deniable.questions.entropy import Source, SystemSource, below
from deniable.questions.exact import exponential
from deniable.questions.question import Question
from deniable.schema.labels import PERIOD, Labels

if TYPE_CHECKING:
    from deniable.survey.frozen import FrozenSurvey

LIMIT = 2.0
LIFETIME_LIMIT = 6.0
LARGEST_LIMIT = 1_000
"""Far beyond any protection; a limit that is never reached is none."""


def today() -> date:
    """Return the day, which is the same for everybody: that of UTC."""
    return datetime.now(UTC).date()


def _check_today(period: tuple[date, date] | None) -> None:
    begin, end = period or (date.min, date.max)
    if today() < begin:
        raise RefusedError(
            f"Your device drew the period that begins on {begin} and ends before {end}: come back on "
            f"{begin}.",
            "early",
        )
    if today() >= end:
        raise RefusedError(
            f"Your device drew the period that began on {begin} and ended before {end}; it answers in "
            "no other.",
            "over",
        )


class Client:
    """One person's device.

    ``limit`` is the largest ε of one survey, ``lifetime_limit`` of all answers in the ledger
    together. There is no default ledger: a client that forgets could be asked again and again.
    ``participant`` is the id that this person was issued, if any: people with ids of their own may share
    a ledger. ``another`` says that the owner is another person than those who have answered this survey
    under another id.
    """

    def __init__(
        self,
        survey: FrozenSurvey,
        *,
        ledger: Ledger,
        limit: float = LIMIT,
        lifetime_limit: float = LIFETIME_LIMIT,
        again: bool = False,
        participant: str | None = None,
        another: bool = False,
    ) -> None:
        if not isinstance(ledger, Ledger):
            raise RefusedError(
                "A client needs a Ledger(path); Ledger.in_memory() forgets and must be asked for."
            )
        for name, value in (("limit", limit), ("lifetime_limit", lifetime_limit)):
            if not (isinstance(value, int | float) and 0 < value <= LARGEST_LIMIT):
                raise RefusedError(
                    f"{name} must be a positive number up to {LARGEST_LIMIT:,}, got {value!r}."
                )
        self.survey, self.ledger = survey, ledger
        self.limit, self.lifetime_limit = float(limit), float(lifetime_limit)
        self.again, self.participant, self.another = again, participant, another
        self.drawn: Entry | None = None
        """What this client kept of an answer that it drew itself."""

    def place(self, entries: Mapping[str, Entry]) -> str:
        """Return where the ledger keeps this person's answer."""
        return place_in(entries, self.survey.id, self.participant)

    def admit(self, entries: Mapping[str, Entry] | None = None) -> None:
        """Refuse a survey above its owner's limits, or in place of one that was answered.

        This comes before the record is looked at: who is refused must not be told apart by it.
        """
        survey = self.survey
        self._check_values()
        self._check_epsilon()
        every_entry = self.ledger.entries() if entries is None else entries
        place = self.place(every_entry)
        if not self.another and answered_elsewhere(every_entry, survey.id, place):
            raise RefusedError(
                "This device has answered this survey under another id; a second answer of the same "
                "person would tell more about them, so you must say that you are another person.",
                "another",
            )
        predecessor = survey.follows
        if predecessor and not self.again and answered_elsewhere(every_entry, predecessor, place):
            raise RefusedError(
                "You have answered the survey that this one replaces; a second answer, about the "
                "same things, would tell more about you, so you must agree to it.",
                "predecessor",
            )
        others = {name: entry for name, entry in every_entry.items() if name != place}
        after = total(others) + Fraction(survey.epsilon)
        if after > Fraction(self.lifetime_limit):
            raise RefusedError(
                f"With this survey your reports would add up to epsilon {float(after):.6g}, "
                f"above your lifetime limit of {self.lifetime_limit:g}.",
                "lifetime",
            )

    def _check_values(self) -> None:
        if self.survey.schema.observed:
            raise RefusedError(
                "The survey's values were learned from data, which leaks; it is for simulation only.",
                "observed",
            )

    def _check_epsilon(self) -> None:
        epsilon = self.survey.epsilon
        if epsilon > self.limit:
            raise RefusedError(
                f"The survey's epsilon is {epsilon:.6g}, above your limit of {self.limit:g}.",
                "epsilon",
            )

    def check(self, question: Question) -> None:
        """Refuse a question that its owner would not want answered."""
        survey = self.survey
        self._check_values()
        if question.survey != survey.id:
            raise RefusedError(
                f"The question is of another survey ({question.survey[:8]}, not {survey.id[:8]}).",
                "foreign",
            )
        if question.ratio > exponential(self.limit):
            raise RefusedError(
                f"The question's epsilon is {question.epsilon:.6g}, above your limit of "
                f"{self.limit:g}.",
                "epsilon",
            )
        self._check_epsilon()
        if question.ratio > exponential(survey.epsilon):
            raise RefusedError("The question's epsilon is above what its survey states.", "epsilon")
        if len(question.attributes) > survey.touches:
            raise RefusedError(
                f"The question touches {len(question.attributes)} attributes; "
                f"its survey says at most {survey.touches}.",
                "attributes",
            )
        if not self._is_asked(question):
            raise RefusedError(
                "The question is not the one that its survey has in this slot.", "question"
            )

    def _is_asked(self, question: Question) -> bool:
        try:
            own = self.survey.question(question.slot)
            # In Python 1 is equal to True; as texts they differ.
            return json.dumps(question.to_json()) == json.dumps(own.to_json())
        except SurveyError:  # there is no such slot
            return False

    def period(self, *, source: Source | None = None) -> tuple[date, date] | None:
        """Return the first day of the period in which this device answers, and the day it ends before.

        It is drawn when it is first asked for, all periods alike, and never again. Without periods
        there is none.
        """
        labels = self.survey.labels
        if not labels.periods:
            return None
        source = SystemSource() if source is None else source
        period = self.ledger.period(self.survey.id, lambda: draw_period(labels, source))
        if period not in labels.values[PERIOD]:
            raise RefusedError("The ledger holds a period that the survey does not have.", "ledger")
        return labels.bounds(period)

    def check_period(self) -> None:
        """Refuse to answer before the period in which this device answers, or after it."""
        _check_today(self.period())

    def report(
        self,
        record: Mapping[str, object],
        question: Question | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        source: Source | None = None,
        sending: Sending | None = None,
    ) -> Report:
        """Return this person's one report, drawn now or, if answered before, the same again.

        Without a question the client draws its own slot. The record is checked in full before that,
        so that no error can depend on what is asked. ``labels`` are what the survey declares, as they
        are for this person; the period, if it has any, is drawn here. ``source`` is for tests; by
        default the operating system provides the randomness. ``sending`` is kept beside the report.
        """
        survey = self.survey
        if source is None:
            source = SystemSource()
        period = self.period(source=source)  # kept even if answering is refused below
        with self.ledger.open() as entries:
            place = self.place(entries)
            if place in entries:
                return entries[place].known_report()
            self.admit(entries)
            values = survey.schema.decode(survey.schema.encode(record))
            beside = survey.labels.given(labels)
            if period is not None:
                _check_today(period)
                beside[PERIOD] = str(period[0])
            if question is None:
                question = survey.question(survey.draw_slot(source))
            self.check(question)
            report = Report(question.slot, question.reply(values, source), beside)
            entry = entries[place] = Entry(report, survey.epsilon, sending)
        self.drawn = entry
        return report


def draw_period(labels: Labels, source: Source) -> str:
    """Draw one of the declared periods, by its first day; all are equally likely."""
    return str(labels.periods[below(source, len(labels.periods) - 1)])
