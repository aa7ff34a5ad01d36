"""What a store is given to do, and what it says became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deniable.messages.modes import Participants, Slots
from deniable.questions.answers import Unary
from deniable.schema.labels import Labels
from deniable.server.slots import Assignment
from deniable.survey.frozen import FrozenSurvey

GROUP_BITS = 15
"""Bits of a group's number, or of a survey's: there are up to 2¹⁴ of both."""

WIDE = 256
"""Bytes of a report that weigh as much as one more report."""


@dataclass(frozen=True)
class StoredSurvey:
    """A survey in a collector's store, and how it is collected."""

    number: int
    survey: FrozenSurvey
    slots: Slots
    participants: Participants
    keeps_reports: bool
    assignment: Assignment = field(compare=False, repr=False)
    """The survey's own key."""

    @property
    def labels(self) -> Labels:
        """Return what reports say beside their answer."""
        return self.survey.labels

    def group_key(self, group: int) -> int:
        """Return under which number a group's reports are counted: beyond those of all surveys."""
        return self.number << GROUP_BITS | group if self.labels else self.number

    def group_keys(self, group: Mapping[str, str]) -> list[int]:
        """Return the numbers under which the reports with some labels are counted, in order."""
        numbers = [0]
        for name, addends in self.labels.addends.items():
            some = [addends[group[name]]] if name in group else addends.values()
            numbers = [number + addend for number in numbers for addend in some]
        return [self.group_key(number) for number in numbers]

    @property
    def is_unary(self) -> bool:
        """Tell whether reports are masks of bits."""
        return any(isinstance(family.answer, Unary) for family in self.survey.families)

    def key(self, participant: int) -> int:
        """Return the number that stands for a participant of this survey in the tables."""
        return self.key_of(self.number, participant)

    @staticmethod
    def key_of(number: int, participant: int) -> int:
        """Return the same for a survey by its number."""
        return number << 48 | participant

    def slot(self, participant: int) -> int:
        """Return the slot that is assigned to a participant, always the same."""
        return self.assignment.slot(self.survey, participant)


@dataclass(slots=True)
class Arrivals:
    """Valid reports to one survey, column by column."""

    stored_survey: StoredSurvey
    slots: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    """Integers, or packed bytes."""
    positions: list[int] = field(default_factory=list)
    """Where each stood in its request."""
    keys: list[int] = field(default_factory=list)
    """Whose each is; empty where slots are drawn and nobody can tell."""
    fingerprints: list[int] = field(default_factory=list)
    """What tells values apart: the value, or a digest of it where it is packed."""
    expiries: list[int] = field(default_factory=list)
    """Until which hour a repeat must be recognised as one."""
    groups: list[int] = field(default_factory=list)
    """The number of each one's labels; empty where the survey has none."""

    def keep(self, flags: list[bool]) -> None:
        """Keep some of the reports, and forget the others."""
        if all(flags):
            return
        for name in ("slots", "values", "positions", "keys", "fingerprints", "expiries", "groups"):
            column = getattr(self, name)
            if column:
                setattr(
                    self, name, [c for c, is_kept in zip(column, flags, strict=True) if is_kept]
                )


@dataclass(slots=True)
class Reports:
    """One request's reports."""

    arrivals: list[Arrivals]
    once: tuple[bytes, bytes, int] | None = None
    """Digests of an idempotency key and of the request, and the hour until which they matter."""

    size: int = 0
    """How many reports these are."""

    weight: int = 0
    """What they count for in a queue: wide reports for several."""

    def __post_init__(self) -> None:
        for part in self.arrivals:
            self.size += len(part.slots)
            self.weight += len(part.slots) * (1 + part.stored_survey.survey.packed_bytes // WIDE)


@dataclass(slots=True)
class Enrolment:
    """A participant asks for a question: an issued one, or a token's digest."""

    stored_survey: StoredSurvey
    participant: int | None
    token: bytes | None = None

    weight: int = 1
    """What it counts for in a queue."""


@dataclass(slots=True)
class Note:
    """What an analyst does, for the audit log."""

    who: str
    what: str
    subject: str

    weight: int = 1
    """What it counts for in a queue."""


class Outcome(NamedTuple):
    """What became of a request's reports: the refused ones, or all of them."""

    refusals: list[tuple[int, str]]
    problem: str | None = None


class EnrolmentOutcome(NamedTuple):
    """Who asked, whether the answer is counted already, and which key a ticket is sealed with."""

    serial: int
    """-1 of somebody who comes for the first time, to a survey that is closed."""
    is_answered: bool
    ticket_key: int
    is_closed: bool = False
    """Whether the survey is."""
