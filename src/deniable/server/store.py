"""What a collector keeps: counts, who has answered, and nothing that tells when.

===========  =====================================================================================
table        holds
===========  =====================================================================================
settings     the version of the tables, the store's own key, the head of the audit log
surveys      each survey's JSON, how its slots are given out, by which key, to whom, and until when
survey_log   every survey that was ever offered, in order, with the day: see `messages.survey_log`
texts        what people read of a survey whose id covers it, in all languages
keys         keys of tickets and of ids, old and new: see `deniable.server.keys`
analysts     names, roles, the digests of their tokens
audit        who read, exported or changed what: see `deniable.server.audit_log`
tokens       keyed hash of an open participant's token → serial
spent        participant → the value reported, until the ticket has expired
answered     afterwards: one bit per participant, in pages
counts       the tally: how often each value was reported to each slot; reports in all at slot −1.
             Of a survey with labels, reports are counted by group: see `StoredSurvey.group_key`
masks        with ``--keep reports``: unary reports as they came, each with how often, in no order
remembered   digests of requests with an idempotency key, for one to two weeks; of codes that open the
             dashboard, until they are used
checkpoints  how wide intervals were when the people had doubled
snapshots    what is shown over HTTP: see `deniable.server.snapshots`
===========  =====================================================================================

Their columns are in `deniable.server.migrations`.

What is decided (new, repeated, contradicting) is decided here, in one transaction for everything
that is waiting; how rows get into a database is left to `SqliteStore` and `PostgresStore`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from deniable.errors import StoreError
from deniable.messages.modes import Participants, Slots
from deniable.messages.survey_log import Entry, SurveyLog, today
from deniable.questionnaire.texts import Texts
from deniable.server.access import AnalystTables
from deniable.server.audit_log import OPERATOR
from deniable.server.closing import CLOSED, ClosingTables, is_late
from deniable.server.database import RepeatedError
from deniable.server.errors_log import report
from deniable.server.keys import KeyTables
from deniable.server.slots import Assignment
from deniable.server.snapshots import SnapshotTables
from deniable.server.tickets import Seal
from deniable.server.work import (
    Arrivals,
    Enrolment,
    EnrolmentOutcome,
    Note,
    Outcome,
    Reports,
    StoredSurvey,
)
from deniable.survey.format import read_survey
from deniable.survey.frozen import FrozenSurvey

MOST_SURVEYS = 1 << 14


Work = Reports | Enrolment | Note
WorkOutcome = Outcome | EnrolmentOutcome | None


class _Answers(NamedTuple):
    """Who of those that report now has answered before, in the same transaction or earlier."""

    fingerprints: dict[int, int]
    """What tells their answers apart, while these are remembered."""
    expired_keys: set[int]
    """Those of whom only a bit tells that they answered."""
    has_twins: bool
    """Whether somebody reports more than once now."""

    def __bool__(self) -> bool:
        return bool(self.fingerprints or self.expired_keys or self.has_twins)


class Store(KeyTables, AnalystTables, ClosingTables, SnapshotTables):
    """A database with a collector's tables, used by one thread."""

    # Surveys

    def surveys(self) -> list[StoredSurvey]:
        """Return the surveys of this store, in the order in which they came."""
        rows = self.run(
            "SELECT number, form, slots, participants, keeps, key FROM surveys ORDER BY number"
        )
        return [
            StoredSurvey(n, read_survey(form), s, p, bool(keeps), Assignment(bytes(key)))
            for n, form, s, p, keeps, key in rows
        ]

    def survey(self, id_prefix: str | None) -> StoredSurvey:
        """Return a survey by the beginning of its id, or the only one."""
        surveys = self.surveys()
        matching = [each for each in surveys if each.survey.id.startswith(id_prefix or "")]
        if len(matching) == 1:
            return matching[0]
        if not surveys:
            raise StoreError("The store holds no survey.")
        ids = ", ".join(each.survey.id[:8] for each in surveys[:20])
        if not matching:
            raise StoreError(f"The store does not hold that survey; it holds {ids}.")
        raise StoreError(f"The store holds several surveys ({ids}); name one with --survey-id.")

    def texts(self) -> dict[str, str]:
        """Return the texts of surveys that have any, by the survey's id: canonical JSON."""
        rows = self.run("SELECT id, texts.form FROM texts JOIN surveys ON survey = number")
        return dict(rows)

    def register(
        self,
        survey: FrozenSurvey,
        slots: Slots,
        participants: Participants,
        keeps_reports: bool,
        texts: Texts | None = None,
    ) -> None:
        """Add a survey with its texts, unless it is there."""
        if survey.texts is not None and texts is None and survey.id not in self.texts():
            raise StoreError(
                f"The id of survey {survey.id[:8]} covers texts: they must be beside its file, as "
                "'deniable new' writes them (survey.texts.json beside survey.json)."
            )
        if texts is not None:
            texts.check(survey)
        with self.transaction():
            self.lock_serials()
            rows = self.run("SELECT number, id FROM surveys")
            if survey.id in {each[1] for each in rows}:
                return
            if len(rows) >= MOST_SURVEYS:
                raise StoreError(f"A store holds at most {MOST_SURVEYS:,} surveys.")
            number = 1 + max((each[0] for each in rows), default=0)
            self.run(
                "INSERT INTO surveys (number, id, form, slots, participants, keeps, key) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(number, survey.id, survey.canonical(), slots, participants),
                *(int(keeps_reports), Seal.fresh_secret()),
            )
            self.audit(OPERATOR, "serve", f"survey {survey.id[:16]}")
            if texts is not None:
                self.run("INSERT INTO texts VALUES (?, ?)", number, texts.to_json())
            self._complete_log()

    # The public log of surveys

    def survey_log(self) -> SurveyLog:
        """Return the log of all surveys that were ever offered."""
        rows = self.run("SELECT number, day, survey FROM survey_log ORDER BY number")
        for number, (own_number, *_) in enumerate(rows):
            if own_number != number:
                raise StoreError(
                    f"Line {number + 1:,} of the store's log of surveys is gone: somebody has taken it "
                    "out. 'deniable serve --log FILE' puts it back from a file that has it."
                )
        return SurveyLog(Entry(*entry) for _, *entry in rows)

    def complete_log(self, mirror: SurveyLog) -> None:
        """Write surveys into the log that are not in it: first those of the log as a file has it.

        If that has more, this store is an older copy. If neither continues the other, that is an error.
        """
        with self.transaction():
            self.lock_serials()
            self._fill_log(mirror)
            log = self.survey_log()
            if not (log.begins(mirror) or mirror.begins(log)):
                raise StoreError(
                    "The store's log of surveys and the one in the file differ: one of them was "
                    "rewritten, or belongs to another store."
                )
            self._complete_log(mirror.entries[len(log.entries) :])

    def _fill_log(self, mirror: SurveyLog) -> None:
        """Put back lines that are gone from between others, if the file has these others as they are."""
        rows = self.run("SELECT number, day, survey FROM survey_log ORDER BY number")
        own = {number: Entry(*entry) for number, *entry in rows}
        entries = dict(enumerate(mirror.entries[: max(own, default=-1) + 1]))
        if len(own) < len(entries) and own.items() <= entries.items():
            for number in sorted(entries.keys() - own.keys()):
                self.run("INSERT INTO survey_log VALUES (?, ?, ?)", number, *entries[number])

    def _complete_log(self, first: Sequence[Entry] = ()) -> None:
        log = self.survey_log()
        logged = {entry.survey for entry in (*log.entries, *first)}
        rows = self.run("SELECT id FROM surveys ORDER BY number")
        others = [Entry(today(), survey) for (survey,) in rows if survey not in logged]
        for number, entry in enumerate((*first, *others), start=len(log.entries)):
            self.run("INSERT INTO survey_log VALUES (?, ?, ?)", number, *entry)

    # Everything that waits, in one transaction

    def commit(self, works: Sequence[Work]) -> list[WorkOutcome]:
        """Store all that came in, and return what became of each; all of it is durable then."""
        try:
            return self._commit(works)
        except RepeatedError:
            self.is_careful = True
            try:
                return self._commit(works)
            finally:
                self.is_careful = False

    def _commit(self, works: Sequence[Work]) -> list[WorkOutcome]:
        with self.transaction():
            closed = self.closed()
            enrolments = iter(
                self.enrol([work for work in works if isinstance(work, Enrolment)], closed)
            )
            outcomes = iter(
                self._take([work for work in works if isinstance(work, Reports)], closed)
            )
            for work in works:
                if isinstance(work, Note):
                    self.audit(work.who, work.what, work.subject)
            return [
                next(enrolments)
                if isinstance(work, Enrolment)
                else next(outcomes)
                if isinstance(work, Reports)
                else None
                for work in works
            ]

    def _take(self, works: list[Reports], closed: Collection[int] = ()) -> list[Outcome]:
        late_rows = [list[tuple[int, str]]() for _ in works]
        if closed:
            works, late_rows = self.without_late(works, closed)
        problems = self._repeats(works, closed)
        left_out = problems.keys()
        before = self._spend([work for i, work in enumerate(works) if i not in left_out])
        new_by_survey: dict[int, Arrivals] = {}
        outcomes = []
        for index, work in enumerate(works):
            refusals = late_rows[index]
            for part in work.arrivals if index not in left_out else ():
                stored_survey = part.stored_survey
                new = new_by_survey.setdefault(stored_survey.number, Arrivals(stored_survey))
                refusals += _sort_out(part, before, new)
            outcomes.append(Outcome(sorted(refusals), problems.get(index)))
        for number in sorted(new_by_survey):
            self.count(new_by_survey[number])
        return outcomes

    def _spend(self, works: list[Reports]) -> _Answers:
        """Write down who answers now, and return who has answered before."""
        parts = [part for work in works for part in work.arrivals]
        keys = [key for part in parts for key in part.keys]
        if not keys:
            return _Answers({}, set(), False)
        fingerprints = [fingerprint for part in parts for fingerprint in part.fingerprints]
        hours = [hour for part in parts for hour in part.expiries]
        expired_keys, has_twins = self.keys_with_bit(keys), len(set(keys)) < len(keys)
        if expired_keys or has_twins:
            first = zip(fingerprints[::-1], hours[::-1], strict=True)
            rows = dict(zip(keys[::-1], first, strict=True))
            keys = [key for key in rows if key not in expired_keys]
            fingerprints, hours = ([rows[key][i] for key in keys] for i in (0, 1))
        return _Answers(self.spend(keys, fingerprints, hours), expired_keys, has_twins)

    def _repeats(self, works: list[Reports], closed: Collection[int] = ()) -> dict[int, str | None]:
        """Return which requests were counted before, and what is wrong with others, by their place.

        One that contradicts its key is refused, and one that comes for the first time when a survey of
        it is closed: whole, for nothing of it is remembered.
        """
        problems: dict[int, str | None] = {}
        requests = {i: work.once for i, work in enumerate(works) if work.once is not None}
        if not requests:
            return problems
        late = {i for i in requests if is_late(works[i], closed)}
        first = {requests[i][0]: requests[i] for i in reversed(requests) if i not in late}
        rows = self.find("remembered", sorted({requests[i][0] for i in late}))
        rows += self.remember(first)
        bodies = {bytes(key): bytes(body) for key, body in rows}
        for index, (key, body, _) in requests.items():
            if key not in bodies and index in late:
                problems[index] = CLOSED
            elif key not in bodies:
                bodies[key] = body
            elif bodies[key] == body:
                problems[index] = None
            else:
                problems[index] = "key-reused"
        return problems

    def is_writable(self) -> bool:
        """Tell whether the database takes anything, by writing what changes nothing."""
        try:
            with self.transaction():
                self.run("UPDATE settings SET value = value")
        except Exception as error:  # nothing can be written, and the writer goes on
            report("The store cannot be written to", error)
            return False
        return True


def _sort_out(part: Arrivals, before: _Answers, new: Arrivals) -> list[tuple[int, str]]:
    """Add the reports that are new to others, and return why the rest is refused."""
    if not part.keys or not before:
        new.slots += part.slots
        new.values += part.values
        new.groups += part.groups
        return []
    refusals = []
    for row, key in enumerate(part.keys):
        fingerprint = before.fingerprints.get(key)
        if key in before.expired_keys:
            refusals.append((part.positions[row], "answered"))
        elif fingerprint is None:  # the first of its group; from now on it was there before
            before.fingerprints[key] = part.fingerprints[row]
            new.slots.append(part.slots[row])
            new.values.append(part.values[row])
            if part.groups:
                new.groups.append(part.groups[row])
        elif fingerprint != part.fingerprints[row]:
            refusals.append((part.positions[row], "conflict"))
    return refusals
