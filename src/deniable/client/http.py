"""A person's device and a collector: fetch a question, answer it once, send the answer until it arrives.

The client knows the survey by its id, and takes nothing else from a collector on trust. What it sends
is a token, a ticket, a value and the labels that the survey declares: nothing else of the record. An
answer is in the ledger before it is sent, and afterwards only the same is ever sent again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from deniable.client.client import LIFETIME_LIMIT, LIMIT, Client
from deniable.client.ledger import Entry, Ledger, Sending, place_in
from deniable.client.remote import RemoteCollector
from deniable.errors import LogError, QuestionError, RefusedError, SurveyError, TextsError
from deniable.messages.modes import Slots, choices
from deniable.messages.problems import PROBLEMS
from deniable.messages.report import Report
from deniable.messages.survey_log import Head
from deniable.messages.ticket import Ticket, split_ticket
from deniable.messages.token import ISSUED_ID, hashed_slot, is_survey_id
from deniable.questionnaire.texts import Texts
from deniable.questions.entropy import SystemSource
from deniable.questions.question import Question
from deniable.survey.format import survey_of
from deniable.survey.frozen import FrozenSurvey

_DAY = 86_400
_LASTING = 6
"""The days for which a key surely names a request; a collector remembers it for seven."""

_STALE = {"ticket-expired", "ticket-invalid", "key-retired"}
"""What a ticket is told that was good once: another one for the same slot may be good."""


class _FetchedSurvey(NamedTuple):
    survey: FrozenSurvey
    slots: str
    is_closed: bool


class _Assignment(NamedTuple):
    question: Question
    sending: Sending


class HTTPClient:
    """One person's device, and the collector that it answers to.

    ``survey`` is what the person knows: its id, or the survey itself, against which a record is checked
    before anybody is contacted. Without one the collector's only survey is taken: its
    questions are checked all the same, but nobody vouches that it is the survey that was meant. The
    ``token`` says which participant this is; without one, one is made up and kept in the ledger.
    Plain http to another machine than this one must be allowed. ``waiting`` is as a `RemoteCollector`'s.
    ``texts`` are the survey's, where they are at hand; else they are fetched, if its id covers any.
    ``again`` says that the owner agrees to answer a survey in place of one that the ledger has
    answered, and ``another`` that they are another person than those who answered it by another token.
    ``log_head`` is the last head of the collector's public log of surveys that is known (``12:9f2c…``):
    then nothing is asked unless the present log only adds to it and holds the survey. The attribute of
    that name is the present head afterwards, to be remembered in its place.
    """

    def __init__(
        self,
        collector: str,
        survey: str | FrozenSurvey | None = None,
        *,
        ledger: Ledger,
        token: str | None = None,
        texts: Texts | None = None,
        limit: float = LIMIT,
        lifetime_limit: float = LIFETIME_LIMIT,
        again: bool = False,
        another: bool = False,
        log_head: Head | str | None = None,
        allow_http: bool = False,
        waiting: Callable[[], object] | None = None,
    ) -> None:
        self._own = None if survey is None or isinstance(survey, str) else survey
        if self._own is not None:
            survey = self._own.id
        if survey is not None and not is_survey_id(survey):
            raise RefusedError("A survey's id has 64 hexadecimal digits.", "options")
        self.collector = RemoteCollector(collector, allow_http=allow_http, waiting=waiting)
        self.ledger = ledger
        self._survey, self._token = survey, token if token is None else _sendable(token)
        self._limits: dict[str, Any] = {
            "limit": limit,
            "lifetime_limit": lifetime_limit,
            "again": again,
            "another": another,
        }
        try:
            self.log_head = Head.of(log_head) if isinstance(log_head, str) else log_head
        except LogError as error:
            raise RefusedError(str(error), "options") from None
        self._is_logged = log_head is None
        self._given_texts = texts
        self._texts: Texts | None = None
        self._fetched_survey: _FetchedSurvey | None = None
        self._assignment: _Assignment | None = None
        self._drawn: Entry | None = None

    @property
    def survey(self) -> FrozenSurvey:
        """Return the survey, fetched once; it is the one with the known id."""
        return self._fetch().survey

    def _fetch(self) -> _FetchedSurvey:
        if self._fetched_survey is None:
            query = "" if self._survey is None else f"?survey={self._survey}"
            answer = self.collector.call(f"survey{query}")
            match answer:
                case {"survey": form, "slots": str(slots)} if slots in choices(Slots):
                    pass
                case _:
                    raise RefusedError("What answered is no collector.", "collector")
            try:
                survey = survey_of(form)
            except SurveyError as error:
                raise RefusedError(
                    f"The collector's survey cannot be read: {error}", "survey"
                ) from None
            if self._survey not in {None, survey.id}:
                raise RefusedError(
                    "The collector has another survey than the one that you know.", "survey"
                )
            self._fetched_survey = _FetchedSurvey(survey, slots, answer.get("closed") is True)
        return self._fetched_survey

    @property
    def texts(self) -> Texts | None:
        """Return the words in which people are asked, to the letter those that the survey's id covers.

        They are fetched once, whole, and before anything is asked. None where the id covers none.
        """
        survey = self._expected_survey
        if survey.texts is None and self._given_texts is None:
            return None
        if self._texts is None:
            try:
                texts = self._given_texts
                if texts is None:
                    texts = Texts.of(self.collector.call(f"texts?survey={survey.id}"))
                texts.check(survey)
            except TextsError as error:
                raise RefusedError(
                    f"These are not the survey's texts, so nothing was answered: {error}", "texts"
                ) from None
            self._texts = texts
        return self._texts

    def completed(self, record: Mapping[str, object]) -> Mapping[str, object]:
        """Return a record in which what the texts' conditions skip has its declared value."""
        texts = self.texts
        if texts is None or not isinstance(record, Mapping):
            return record
        return texts.completed(record, self._expected_survey.schema)

    @property
    def _expected_survey(self) -> FrozenSurvey:
        """Return the survey that the owner holds, without asking anybody, or else the fetched one."""
        return self.survey if self._own is None else self._own

    def _admit(self) -> None:
        """Refuse a survey above the limits, before the record is looked at."""
        self._client(self._expected_survey).admit()

    def _client(self, survey: FrozenSurvey | None = None) -> Client:
        return Client(
            self.survey if survey is None else survey,
            ledger=self.ledger,
            participant=self._token,
            **self._limits,
        )

    def _place(self, entries: Mapping[str, Entry]) -> str:
        survey = self._survey or self.survey.id
        return place_in(entries, survey, self._token)

    def entry(self) -> Entry | None:
        """Return what the ledger holds of this person's answer, or None if there is none."""
        entries = self.ledger.entries()
        return entries.get(self._place(entries))

    def receipt(self) -> Entry | None:
        """Return what the ledger holds of the answer if it was this client that drew it, or None.

        Who did not see it drawn may be another person, at the same device.
        """
        entry = self.entry()
        return entry if entry and self._drawn and entry.is_same_answer(self._drawn) else None

    def forget(self) -> None:
        """Keep of an answer that is counted only that there was one.

        Others who use this device learn no more; from then on `answer` refuses (``answered``).
        """
        self.ledger.forget(self._place(self.ledger.entries()))

    def period(self) -> tuple[date, date] | None:
        """Return the first day of this device's period, and the day it ends before; see `Client`."""
        return self._client().period()

    def check(self, record: Mapping[str, object], labels: Mapping[str, str] | None = None) -> None:
        """Refuse a record, or labels, that do not fit the survey, in full."""
        self._expected_survey.schema.encode(self.completed(record))
        self._expected_survey.labels.given(labels)

    def question(self, record: Mapping[str, object]) -> Question:
        """Return the question that this person is asked; nothing is drawn from the record.

        Outside the period in which this device answers, none is fetched.
        """
        before = self.entry()
        if before is not None:
            return self.survey.question(before.known_report().slot)
        self._admit()
        self._expected_survey.schema.encode(self.completed(record))
        client = self._client()
        client.check_period()
        self._check_log()
        if self._assignment is None:
            assignment = self._assign()
            client.check(assignment.question)
            self._assignment = assignment
        return self._assignment.question

    def _check_log(self) -> None:
        """Refuse a survey that is not in a continuation of the log of surveys that is known."""
        if not self._is_logged and self.log_head is not None:
            self.log_head = self.collector.proven_head(self.survey.id, self.log_head)
            self._is_logged = True

    def _assign(self) -> _Assignment:
        """Learn which question this person is asked, and what a report to it is sent with."""
        survey, slots, is_closed = self._fetch()
        if is_closed and slots != "assigned":
            # No question is given out that could be refused: nothing is drawn that is not counted.
            raise RefusedError(PROBLEMS["survey-closed"].to_owner, "survey-closed")
        if slots == "drawn":
            slot = survey.draw_slot(SystemSource())
            key, day = secrets.token_urlsafe(24), int(time.time() // _DAY)
            return _Assignment(survey.question(slot), Sending(key=key, day=day))
        if slots == "hashed":
            if self._token is None or not ISSUED_ID.fullmatch(self._token):
                raise RefusedError(
                    "This survey needs the id that you were issued: 32 letters, digits, - and _.",
                    "token",
                )
            slot = hashed_slot(survey, self._token)
            return _Assignment(survey.question(slot), Sending())
        made_up = self.ledger.token(survey.id) if self._token is None else None
        question, ticket = self._ticket(made_up or self._token)
        return _Assignment(question, Sending(token=made_up, ticket=ticket))

    def _ticket(self, token: str | None) -> tuple[Question, str]:
        """Fetch a question and a ticket, which must be for each other."""
        answer = self.collector.call("questions", {"survey": self.survey.id, "token": token})
        try:
            question = Question.from_json(answer["question"])
            ticket: str = answer["ticket"]
        except (QuestionError, LookupError, TypeError):
            raise RefusedError("The collector's question is none.", "question") from None
        sealed_bytes, _ = split_ticket(ticket) or (b"", b"")
        if not sealed_bytes:
            raise RefusedError("The collector's ticket is none.", "ticket")
        contents = Ticket.of(sealed_bytes)
        if (contents.survey.hex(), contents.slot) != (question.survey[:16], question.slot):
            raise RefusedError("The ticket is not for the question that came with it.", "ticket")
        return question, ticket

    def answer(
        self, record: Mapping[str, object], labels: Mapping[str, str] | None = None
    ) -> Report:
        """Draw this person's one report and keep it, or return the one that is kept."""
        before = self.entry()
        if before is not None:
            return before.known_report()
        self._admit()
        self.check(record, labels)
        question = self.question(record)
        sending = None if self._assignment is None else self._assignment.sending
        client = self._client()
        whole = self.completed(record)
        report = client.report(whole, question, labels=labels, sending=sending)
        self._drawn = client.drawn
        return report

    def submit(self) -> Report:
        """Send the one report until the collector has it; only the same is ever sent again."""
        entry = self.entry()
        if entry is None:
            raise RefusedError("There is no answer to send yet.", "nothing")
        report = entry.known_report()
        sending = entry.sending
        if sending is None:
            raise RefusedError(
                "The answer to this survey was given elsewhere, without a ticket to send it with.",
                "nothing",
            )
        if sending.state == "drawn":
            if sending.day is not None and time.time() / _DAY - sending.day > _LASTING:
                raise RefusedError(
                    "The answer was drawn too long ago: if an earlier try arrived, the collector "
                    "would count it twice now.",
                    "late",
                )
            try:
                self._send(entry, report, sending)
            except RefusedError as error:
                if error.reason != "answered":
                    raise  # else an earlier try was counted
            self._keep(entry, state="sent")
        return report

    def _send(self, entry: Entry, report: Report, sending: Sending) -> None:
        value = report.to_json()
        slot = value.pop("slot")
        survey = {"survey": self.survey.id}
        if sending.ticket is None:
            whose = {"id": self._token} if sending.key is None else {"slot": slot}
            self._report(survey | whose | value, sending.key)
            return
        try:
            self._report({"ticket": sending.ticket, **value})
            return
        except RefusedError as error:
            if error.reason not in _STALE:
                raise
        question, ticket = self._ticket(sending.token if self._token is None else self._token)
        if (question.survey, question.slot) != (self.survey.id, report.slot):
            raise RefusedError("The renewed ticket is for another question than yours.", "slot")
        self._keep(entry, ticket=ticket)
        self._report({"ticket": ticket, **value})

    def _report(self, form: dict[str, Any], key: str | None = None) -> None:
        """Send a report; nothing but the collector's own word says that it is counted."""
        match self.collector.call("reports", form, key):
            case {"accepted": 1}:
                return
        raise RefusedError("What answered is no collector.", "collector")

    def _keep(self, answer: Entry, **changes: Any) -> None:
        """Write how an answer is sent, unless another one is at its place, as in a new ledger."""
        with self.ledger.open() as entries:
            place = self._place(entries)
            entry = entries.get(place)
            if entry and entry.sending and entry.is_same_answer(answer):
                entries[place] = replace(entry, sending=replace(entry.sending, **changes))


def _sendable(token: str) -> str:
    """Return a token, or refuse what no text can hold."""
    try:
        token.encode()
    except UnicodeEncodeError:
        raise RefusedError(
            "A token is a text; this one has bytes that are none.", "token"
        ) from None
    return token
