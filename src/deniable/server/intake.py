"""From the bytes of a request to valid reports: everything is checked before anything is stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, cast

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from deniable.collector.validity import possible
from deniable.errors import ReportError
from deniable.messages.modes import Slots
from deniable.messages.report import MOST_EXACT, MOST_NUMBER, MOST_REPORTS, unpack
from deniable.messages.token import IDEMPOTENCY_KEY, TOKEN_LETTERS, is_survey_id
from deniable.schema.labels import Labels
from deniable.server.problems import ProblemError
from deniable.server.slots import hashed_slots
from deniable.server.tickets import GRACE, LIFE, SLACK, Seal
from deniable.server.work import Arrivals, Reports, StoredSurvey

WEEK = 24 * 7

T = TypeVar("T")
Refusals = list[tuple[int, str]]
SurveyIds = list[str | UnsetType]
GivenLabels = dict[str, str] | UnsetType
Number = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
Text = Annotated[str, Meta(min_length=TOKEN_LETTERS[0], max_length=TOKEN_LETTERS[1])]


class QuestionRequest(Struct, forbid_unknown_fields=True):
    """What a participant sends to be asked a question."""

    token: Text
    survey: str | UnsetType = UNSET


class DashboardCode(Struct, forbid_unknown_fields=True):
    """What a page sends that was opened by an address with a code."""

    code: Text


class SentReport(Struct, forbid_unknown_fields=True, gc=False):
    """One report as it is sent: a ticket, an id or a slot, a value, and what its survey labels."""

    ticket: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    slot: Number | UnsetType = UNSET
    survey: str | UnsetType = UNSET
    value: Number | UnsetType = UNSET
    packed: str | UnsetType = UNSET
    labels: GivenLabels = UNSET

    @property
    def is_plain(self) -> bool:
        """Tell whether this is a ticket and a value, as most are, with labels or without."""
        return (
            self.ticket is not UNSET
            and self.value is not UNSET
            and self.id is self.slot is self.survey is self.packed is UNSET
        )


_one = msgspec.json.Decoder(SentReport, strict=False)
_many = msgspec.json.Decoder(list[SentReport], strict=False)
_ask = msgspec.json.Decoder(QuestionRequest)
_code = msgspec.json.Decoder(DashboardCode)
_SUSPECT = re.compile(rb'"(?:slot|value)"\s*:\s*(?:"?[0-9]*[-.eE]|([0-9]{16,}))')
"""7.0, 1e2 and -0 are whole numbers to JSON, but not here; long ones may not be exact everywhere."""

_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u00[0-7]")
"""An ASCII letter as an escape, and not a backslash that is one before a u."""


def read_question_request(body: bytes) -> QuestionRequest:
    """Read what a participant sends to be asked."""
    try:
        return _ask.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed", _sentence(error)) from None


def read_code(body: bytes) -> str:
    """Read the code of an address that opened the dashboard."""
    try:
        return _code.decode(body).code
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed", _sentence(error)) from None


def read_reports(body: bytes, braces: int = 1) -> tuple[list[SentReport], bool]:
    """Read one report or many, and tell whether they came as many.

    ``braces`` is how many a report may have: one without labels.
    """
    is_many = body.lstrip(b" \t\r\n")[:1] == b"["
    if body.count(b"{") > MOST_REPORTS * braces:  # before all of them take memory
        raise _too_many()
    # By an escape, a field's name could be hidden from the check below.
    if b"\\u00" in body and _ESCAPE.search(body):
        raise ProblemError("malformed", "A report must not hold ASCII letters as escapes.")
    try:
        sent_reports = _many.decode(body) if is_many else [_one.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed", _sentence(error)) from None
    if len(sent_reports) > MOST_REPORTS:
        raise _too_many()
    for number in _SUSPECT.finditer(body):
        if number[1] is None or len(number[1]) > 16 or int(number[1]) > MOST_EXACT:
            raise ProblemError(
                "malformed",
                "A slot or a value must be a whole number: digits alone, as a text from 2^53 on.",
            )
    return sent_reports, is_many


def _too_many() -> ProblemError:
    return ProblemError("too-large", f"A request holds at most {MOST_REPORTS:,} reports.")


def _sentence(error: Exception) -> str:
    """Return what is wrong; msgspec names fields and types, never what somebody sent."""
    if isinstance(error, msgspec.ValidationError):
        # An unknown field's name is somebody's text.
        sentence = re.sub(
            r"unknown field `.*`", "a field that is not known", str(error), flags=re.DOTALL
        )
        return sentence.replace(" | null", "").rstrip(".") + "."
    return "The request is not JSON."


class Intake:
    """Turns what was sent into reports to store, and says what is wrong with the others."""

    def __init__(
        self, seal: Seal, surveys: Sequence[StoredSurvey], clock: Callable[[], int]
    ) -> None:
        self._seal, self._clock = seal, clock
        self._surveys = {stored_survey.survey.id: stored_survey for stored_survey in surveys}
        self._by_ticket = {
            int(stored_survey.survey.id[:16], 16): stored_survey
            for stored_survey in surveys
            if stored_survey.slots == "assigned"
        }
        self._braces = max((_braces(stored_survey.labels) for stored_survey in surveys), default=1)
        self._only = surveys[0] if len(surveys) == 1 else None

    def survey(self, survey_ids: str | UnsetType | None) -> StoredSurvey:
        """Return the survey that is meant."""
        if isinstance(survey_ids, str):
            if survey_ids in self._surveys:
                return self._surveys[survey_ids]
        elif self._only is not None:
            return self._only
        else:
            raise ProblemError("survey-unknown", "This collector holds several surveys: name one.")
        raise ProblemError("survey-unknown")

    def read(self, body: bytes, key: str | None) -> tuple[list[SentReport], bool]:
        """Read what was sent, one report or many, and tell whether they came as many."""
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            raise ProblemError(
                "malformed", "An Idempotency-Key has 16 to 64 letters, digits, _ or -."
            )
        return read_reports(body, self._braces)

    def reports(
        self, sent_reports: list[SentReport], body: bytes, key: str | None
    ) -> tuple[Reports, Refusals]:
        """Return the reports of a request, and those refused already."""
        parts, refusals = self.valid_reports(sent_reports)
        once = None
        if key is not None and parts and parts[0].stored_survey.slots == "drawn":
            once = (
                self._seal.digest("key", key.encode()),
                # With the key, which nobody else has: the few bodies there are can all be tried.
                self._seal.digest("body", key.encode() + b"\n" + body),
                (self._clock() // WEEK + 2) * WEEK,  # tells the week in which it came, no more
            )
        return Reports(parts, once), refusals

    def valid_reports(self, sent_reports: list[SentReport]) -> tuple[list[Arrivals], Refusals]:
        """Return reports by survey, and which are refused, and why."""
        if not sent_reports:
            return [], []
        parts, refusals = self._parts(sent_reports)
        labels = [report.labels for report in sent_reports]
        for part in parts:
            refusals += self._number(part, labels) + self._check(part)
        return parts, refusals

    def _number(self, part: Arrivals, labels: list[GivenLabels]) -> Refusals:
        """Number the labels of each report, and take out those that are not the survey's."""
        if not part.stored_survey.labels and labels.count(UNSET) == len(labels):
            return []
        numbers = [_group(part.stored_survey.labels, labels[at]) for at in part.positions]
        fits = [number is not None for number in numbers]
        refusals = [
            (at, "label-unknown") for at, fit in zip(part.positions, fits, strict=True) if not fit
        ]
        if part.stored_survey.labels:
            part.groups = cast("list[int]", numbers)
        part.keep(fits)
        return refusals

    def _parts(self, sent_reports: list[SentReport]) -> tuple[list[Arrivals], Refusals]:
        """Return reports by survey: all of a request have a ticket, or an id, or a slot."""
        tickets = [report.ticket for report in sent_reports]
        ids = [report.id for report in sent_reports]
        slots = [report.slot for report in sent_reports]
        survey_ids = [report.survey for report in sent_reports]
        values = _values_of(sent_reports)
        count = len(sent_reports)
        with_ticket, with_id, with_slot, with_survey = (
            count - column.count(UNSET) for column in (tickets, ids, slots, survey_ids)
        )
        match (with_ticket, with_id, with_slot):
            case (n, 0, 0) if n == count and not with_survey:
                return self._with_tickets(cast("list[str]", tickets), values)
            case (0, n, 0) if n == count:
                return self._with_ids(cast("list[str]", ids), survey_ids, values)
            case (0, 0, n) if n == count:
                parts, refusals = self._by_survey(survey_ids, values, "drawn")
                for part in parts:
                    part.slots = _at(cast("list[int]", slots), part.positions)
                return parts, refusals
        raise ProblemError(
            "malformed",
            "A report holds a ticket and a value, or an id or a slot, a value and perhaps the survey, "
            "beside its labels; those of one request are all alike.",
        )

    def _with_tickets(self, texts: list[str], values: list[int]) -> tuple[list[Arrivals], Refusals]:
        tickets, now = self._seal.read_all(texts), self._clock()
        # Nobody is given what ends later than a life from now: a clock was wrong, and what was answered
        # would be remembered for as long.
        first, last = now - GRACE, now + LIFE + SLACK
        parts, refusals = [], list[tuple[int, str]]()
        for survey in set(tickets.surveys):
            stored_survey = None if isinstance(survey, str) else self._by_ticket.get(survey)
            positions = _positions_of(tickets.surveys, survey)
            if stored_survey is None:
                why = survey if isinstance(survey, str) else "ticket-invalid"
                refusals += [(at, why) for at in positions]
                continue
            if min(tickets.expiries) <= first or max(tickets.expiries) > last:
                hours = [tickets.expiries[at] for at in positions]
                fits = [first < hour <= last for hour in hours]
                refusals += [
                    (at, "ticket-expired")
                    for at, fit in zip(positions, fits, strict=True)
                    if not fit
                ]
                positions = [at for at, fit in zip(positions, fits, strict=True) if fit]
            start = stored_survey.key(0)
            part = Arrivals(
                stored_survey, _at(tickets.slots, positions), _at(values, positions), positions
            )
            part.keys = [start + who for who in _at(tickets.participants, positions)]
            part.expiries = [hour + GRACE for hour in _at(tickets.expiries, positions)]
            parts.append(part)
        return parts, refusals

    def _with_ids(
        self, ids: list[str], survey_ids: SurveyIds, values: list[int]
    ) -> tuple[list[Arrivals], Refusals]:
        serials, now = self._seal.participants(ids), self._clock()
        parts, refusals = self._by_survey(survey_ids, values, "hashed")
        for part in parts:
            whys = [(at, why) for at in part.positions if isinstance(why := serials[at], str)]
            if whys:
                refusals += whys
                part.positions = [at for at in part.positions if isinstance(serials[at], int)]
                part.values = _at(values, part.positions)
            start = part.stored_survey.key(0)
            part.slots = hashed_slots(part.stored_survey.survey, _at(ids, part.positions))
            people = np.array(_at(cast("list[int]", serials), part.positions), np.int64)
            part.keys = (start + people).tolist()
            # As tickets expire: on a day of each participant's own, which does not tell when it came.
            part.expiries = (now + LIFE - (now + people) % LIFE + GRACE).tolist()
        return parts, refusals

    def _by_survey(
        self, survey_ids: SurveyIds, values: list[int], slots: Slots
    ) -> tuple[list[Arrivals], Refusals]:
        parts, refusals = [], list[tuple[int, str]]()
        for name in set(survey_ids):
            positions = _positions_of(survey_ids, name)
            if isinstance(name, str) and name not in self._surveys:
                if not is_survey_id(name):
                    raise ProblemError("malformed", "A survey's id is 64 hexadecimal digits.")
                refusals += [(at, "survey-unknown") for at in positions]
                continue
            stored_survey = self.survey(name)
            if stored_survey.slots != slots:
                raise ProblemError(
                    "malformed", f"The slots of this survey are {stored_survey.slots}."
                )
            parts.append(Arrivals(stored_survey, [], _at(values, positions), positions))
        return parts, refusals

    def _check(self, part: Arrivals) -> list[tuple[int, str]]:
        """Take out what nobody can report; turn the other values into what is stored."""
        survey = part.stored_survey.survey
        fits = possible(survey, part.slots, part.values)
        refusals = [
            (at, "value-impossible")
            for at, fit in zip(part.positions, fits, strict=True)
            if not fit
        ]
        part.keep(fits)
        if survey.packed_bytes:
            part.values = [value.to_bytes(survey.packed_bytes, "little") for value in part.values]
            if part.keys:
                part.fingerprints = [
                    int.from_bytes(self._seal.digest("value", value)[:8], "big") >> 1
                    for value in part.values
                ]
        elif part.keys:
            part.fingerprints = part.values
        return refusals


def _braces(labels: Labels) -> int:
    """Return how many braces a report with these labels may have."""
    texts = [[name + value for value in values] for name, values in labels.values.items()]
    return 1 + bool(texts) + sum(max(t.count("{") for t in each) for each in texts)


def _group(labels: Labels, own: GivenLabels) -> int | None:
    """Return the number of some labels, if they are all that there are, and declared."""
    if isinstance(own, UnsetType):
        return None if labels else 0
    if not own or own.keys() != labels.addends.keys():
        return None
    try:
        return labels.number(own)
    except KeyError:
        return None


def _values_of(sent_reports: list[SentReport]) -> list[int]:
    values = [report.value for report in sent_reports]
    if UNSET not in values and [report.packed for report in sent_reports].count(UNSET) == len(
        sent_reports
    ):
        return cast("list[int]", values)
    return [_value_of(report) for report in sent_reports]


def _value_of(report: SentReport) -> int:
    try:
        if isinstance(report.packed, str) and report.value is UNSET:
            return unpack(report.packed)
    except ReportError as error:
        raise ProblemError("malformed", str(error)) from None
    if isinstance(report.value, int) and report.packed is UNSET:
        return report.value
    raise ProblemError("malformed", "A report needs a value, or a packed one.")


def _positions_of(column: Sequence[Any], item: Any) -> list[int]:
    """Return where something stands in a column; mostly, everywhere."""
    if column.count(item) == len(column):
        return list(range(len(column)))
    return [at for at, each in enumerate(column) if each == item]


def _at(column: list[T], positions: list[int]) -> list[T]:
    return column if len(positions) == len(column) else [column[at] for at in positions]
