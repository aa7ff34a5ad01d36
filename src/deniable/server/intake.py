"""From the bytes of a request to valid reports: everything is checked before anything is stored."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from deniable.mechanisms.base import Mechanism
from deniable.questions.answers import Unary
from deniable.server.problems import ProblemError
from deniable.server.store import WEEK, Arrivals, Held, Reports
from deniable.server.tickets import GRACE, LIFE, Seal, hashed_slots

__all__ = ["Asking", "Intake", "Sent", "Values"]

MOST_REPORTS = 10_000
"""Reports in one request."""

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Text = Annotated[str, Meta(min_length=1, max_length=256)]


class Asking(Struct, forbid_unknown_fields=True):
    """What a participant sends to be asked a question."""

    token: Text
    survey: str | UnsetType = UNSET


class Sent(Struct, forbid_unknown_fields=True, gc=False):
    """One report as it is sent: a ticket, an id or a slot, and a value."""

    ticket: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    slot: Number | UnsetType = UNSET
    survey: str | UnsetType = UNSET
    value: Number | UnsetType = UNSET
    packed: str | UnsetType = UNSET


_one = msgspec.json.Decoder(Sent, strict=False)
_many = msgspec.json.Decoder(list[Sent], strict=False)
_ask = msgspec.json.Decoder(Asking)
_NOT_WHOLE = re.compile(rb'"(?:slot|value)"\s*:\s*"?[0-9]*[-.eE]')
"""7.0, 1e2 and -0 are numbers to JSON; here, numbers are written as whole ones."""

_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")


def read_asking(body: bytes) -> Asking:
    """Read what a participant sends to be asked."""
    try:
        return _ask.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed", _sentence(error)) from None


def read_reports(body: bytes) -> tuple[list[Sent], bool]:
    """Read one report or many, and tell whether they came as many."""
    is_many = body.lstrip(b" \t\r\n")[:1] == b"["
    try:
        sent = _many.decode(body) if is_many else [_one.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed", _sentence(error)) from None
    if len(sent) > MOST_REPORTS:
        raise ProblemError("too-large", f"A request holds at most {MOST_REPORTS:,} reports.")
    if _NOT_WHOLE.search(body):
        raise ProblemError("malformed", "A slot or a value must be written as a whole number.")
    return sent, is_many


def _sentence(error: Exception) -> str:
    """Return what is wrong; msgspec names fields and types, never what somebody sent."""
    if isinstance(error, msgspec.ValidationError):
        # An unknown field's name is somebody's text.
        said = re.sub(r"unknown field `.*`", "a field that is not known", str(error))
        return said.replace(" | null", "").rstrip(".") + "."
    return "The request is not JSON."


class Values:
    """Which values can be reported to which slots of a survey."""

    def __init__(self, mechanism: Mechanism) -> None:
        families = mechanism.families
        self.slots, self.width = mechanism.slots, mechanism.packed_bytes
        self._starts = np.array([family.start for family in families])
        self._outcomes = [family.answer.outcomes for family in families]
        self._unary = [isinstance(family.answer, Unary) for family in families]

    def family(self, slot: int) -> int:
        """Return the way of answering of a slot."""
        if len(self._outcomes) == 1:
            return 0
        return int(np.searchsorted(self._starts, slot, side="right")) - 1

    def allow(self, slot: int, value: int) -> bool:
        """Tell whether a slot exists and can be answered so."""
        return slot < self.slots and value < self._outcomes[self.family(slot)]

    def allow_all(self, slots: list[int], values: list[int]) -> list[bool]:
        """Tell it for many at once; a value is below 2⁶³ here."""
        outcomes = np.array([min(n, 1 << 63) - 1 for n in self._outcomes])
        slot, value = np.array(slots, np.int64), np.array(values, np.int64)
        family: Any = 0
        if len(outcomes) > 1:
            family = np.searchsorted(self._starts, slot, side="right") - 1
        fits = (slot < self.slots) & (value <= outcomes[family])
        made: list[bool] = fits.tolist()
        return made


class Intake:
    """Turns what was sent into reports to store, and says what is wrong with the others."""

    def __init__(self, seal: Seal, surveys: Sequence[Held], clock: Callable[[], int]) -> None:
        self._seal, self._clock = seal, clock
        self._surveys = {held.mechanism.id: held for held in surveys}
        self._by_ticket = {
            bytes.fromhex(held.mechanism.id)[:8]: held
            for held in surveys
            if held.slots == "assigned"
        }
        self._values = {held.number: Values(held.mechanism) for held in surveys}
        self._only = surveys[0] if len(surveys) == 1 else None

    def survey(self, named: str | UnsetType | None) -> Held:
        """Return the survey that is meant."""
        if isinstance(named, str):
            if named in self._surveys:
                return self._surveys[named]
        elif self._only is not None:
            return self._only
        else:
            raise ProblemError("survey-unknown", "This collector holds several surveys: name one.")
        raise ProblemError("survey-unknown")

    def reports(self, body: bytes, key: str | None) -> tuple[Reports, list[tuple[int, str]], bool]:
        """Return the reports of a request, those refused already, and whether it was a batch."""
        sent, is_many = read_reports(body)
        parts: dict[int, Arrivals] = {}
        refused: list[tuple[int, str]] = []
        hour = self._clock()
        ids = [report.id for report in sent if isinstance(report.id, str)]
        known = dict(zip(ids, self._seal.participants(ids), strict=True)) if ids else {}
        for at, report in enumerate(sent):
            if report.ticket is not UNSET:
                problem = self._with_ticket(at, report, hour, parts)
            elif isinstance(report.id, str):
                problem = self._with_id(at, report, known[report.id], hour, parts)
            else:
                problem = self._with_slot(at, report, parts)
            if problem:
                refused.append((at, problem))
        for part in parts.values():
            if part.held.slots == "hashed":
                whose = [str(sent[at].id) for at in part.places]
                part.slots = hashed_slots(part.held.mechanism, whose)
            refused += self._check(part)
        once = None
        if key is not None and any(part.held.slots == "drawn" for part in parts.values()):
            if not _KEY.fullmatch(key):
                raise ProblemError(
                    "malformed", "An Idempotency-Key has 16 to 64 letters, digits, _ or -."
                )
            seal = self._seal
            once = seal.digest("key", key.encode()), seal.digest("body", body), hour + WEEK
        return Reports(list(parts.values()), once), refused, is_many

    def _with_ticket(
        self, at: int, report: Sent, hour: int, parts: dict[int, Arrivals]
    ) -> str | None:
        if not (report.id is report.slot is report.survey is UNSET):
            raise ProblemError("malformed", "A ticket comes with a value and nothing else.")
        assert isinstance(report.ticket, str)
        value = self._value(report)
        ticket = self._seal.read(report.ticket)
        if ticket is None or (held := self._by_ticket.get(ticket.survey)) is None:
            return "ticket-invalid"
        if ticket.expiry + GRACE <= hour:
            return "ticket-expired"
        part = parts.get(held.number) or parts.setdefault(held.number, Arrivals(held))
        part.slots.append(ticket.slot)
        part.keys.append(held.key(ticket.participant))
        part.expiries.append(ticket.expiry + GRACE)
        part.values.append(value)
        part.places.append(at)
        return None

    def _with_id(
        self,
        at: int,
        report: Sent,
        participant: int | None,
        hour: int,
        parts: dict[int, Arrivals],
    ) -> str | None:
        if report.slot is not UNSET:
            raise ProblemError("malformed", "An id comes with a value, and no slot.")
        value = self._value(report)
        held = self._named(report, "hashed")
        if participant is None:
            return "participant-unknown"
        part = parts.get(held.number) or parts.setdefault(held.number, Arrivals(held))
        part.keys.append(held.number << 48 | participant)
        part.expiries.append(hour + LIFE)
        part.values.append(value)
        part.places.append(at)
        return None

    def _with_slot(self, at: int, report: Sent, parts: dict[int, Arrivals]) -> str | None:
        if not isinstance(report.slot, int):
            raise ProblemError("malformed", "A report needs a ticket, an id or a slot.")
        value = self._value(report)
        held = self._named(report, "drawn")
        part = parts.get(held.number) or parts.setdefault(held.number, Arrivals(held))
        part.slots.append(report.slot)
        part.values.append(value)
        part.places.append(at)
        return None

    def _named(self, report: Sent, slots: str) -> Held:
        held = self.survey(report.survey)
        if held.slots != slots:
            raise ProblemError("malformed", f"The slots of this survey are {held.slots}.")
        return held

    def _value(self, report: Sent) -> int:
        if isinstance(report.packed, str) and report.value is UNSET:
            return _unpacked(report.packed)
        if isinstance(report.value, int) and report.packed is UNSET:
            return report.value
        raise ProblemError("malformed", "A report needs a value, or a packed one.")

    def _check(self, part: Arrivals) -> list[tuple[int, str]]:
        """Take out what nobody can report; turn the other values into what is stored."""
        rule = self._values[part.held.number]
        if rule.width or len(part.slots) == 1 or max(part.values) >= 1 << 63:
            fits = [rule.allow(s, v) for s, v in zip(part.slots, part.values, strict=True)]
        else:
            fits = rule.allow_all(part.slots, part.values)
        refused = []
        if not all(fits):
            refused = [
                (at, "value-impossible")
                for at, fit in zip(part.places, fits, strict=True)
                if not fit
            ]
            for name in ("slots", "values", "places", "keys", "expiries"):
                column = getattr(part, name)
                if column:
                    setattr(part, name, [c for c, fit in zip(column, fits, strict=True) if fit])
        if rule.width:
            part.values = [value.to_bytes(rule.width, "little") for value in part.values]
            if part.keys:
                part.marks = [
                    int.from_bytes(self._seal.digest("value", value)[:8], "big") >> 1
                    for value in part.values
                ]
        elif part.keys:
            part.marks = part.values
        return refused


def _unpacked(text: str) -> int:
    """Return a packed value: base64 of little-endian bytes, as short as can be, 2⁶³ or more."""
    try:
        octets = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProblemError("malformed", "A packed value must be base64.") from None
    if base64.b64encode(octets).decode() != text or octets[-1:] == b"\0":
        raise ProblemError("malformed", "A packed value must be written as short as can be.")
    value = int.from_bytes(octets, "little")
    if value < 1 << 63:
        raise ProblemError("malformed", "A value below 2^63 is not packed.")
    return value
