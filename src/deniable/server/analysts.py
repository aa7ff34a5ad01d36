"""What analysts get: the release of what was counted so far, made in another thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, prod
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from deniable.api.marginal import Marginal
from deniable.api.release import Release
from deniable.api.tally import Tally
from deniable.errors import DeniableError, StoreError
from deniable.formats.writing import finite
from deniable.messages.survey_log import SurveyLog
from deniable.planning.error import predicted_tv
from deniable.release.consistency import CONSISTENCY
from deniable.release.pooled import PooledTables
from deniable.schema.labels import FEWEST
from deniable.server.access import Analyst
from deniable.server.closing import end_form
from deniable.server.dashboard_codes import exchange
from deniable.server.database import Rings, UnavailableError
from deniable.server.errors_log import report
from deniable.server.integrity import inspect
from deniable.server.lane import Lane
from deniable.server.precision import half_width
from deniable.server.problems import ProblemError
from deniable.server.snapshots import Name, Snapshot
from deniable.server.store import Store
from deniable.server.wordings import Wordings
from deniable.server.work import StoredSurvey
from deniable.show.export import write_export
from deniable.show.number_forms import correlation_form, means_form, number_form, number_names
from deniable.show.reading import doubtful_cells, warning_words
from deniable.show.sections import tree_section
from deniable.show.structure import association_cells
from deniable.show.words import shown_values
from deniable.survey.pooled import PooledSurvey

LEVEL = 0.95
MOST_WAITING = 32
"""Questions of analysts that wait for each other; beyond, they are told to come again."""

MOST_KEPT = 64
"""Releases that are kept: the last ones."""

MOST_CELLS = 10_000
"""Cells of a table, or pairs of attributes, that one answer holds: more would keep others waiting."""

_ONE_LABEL = (
    "Groups are shown by one label each; 'deniable tally --by' counts a store's groups by several."
)


@dataclass(frozen=True)
class Part:
    """What is asked about: reports to a survey, or those that have some labels; or several surveys."""

    stored_survey: StoredSurvey
    labels: tuple[tuple[str, str], ...] = ()
    pooled: tuple[StoredSurvey, ...] = ()
    """Other surveys whose people are to be pooled with this one's."""
    language: str = field(default="", compare=False)
    """In which the survey's words are; its own by default."""

    @classmethod
    def of(
        cls,
        stored_survey: StoredSurvey,
        labels: Mapping[str, str],
        pooled: Sequence[StoredSurvey] = (),
        language: str = "",
    ) -> Part:
        """Return the part with these labels, if they are declared; pooled surveys have none."""
        if pooled and labels:
            raise ProblemError("malformed", "Surveys are pooled whole: leave out labels, or pool.")
        if len({stored_survey, *pooled}) <= len(pooled):
            raise ProblemError("malformed", "pool names other surveys, each of them once.")
        declared_values = stored_survey.labels.values
        if not all(value in declared_values.get(name, ()) for name, value in labels.items()):
            raise ProblemError("label-unknown")
        if len(labels) > 1:
            raise ProblemError("group-small", _ONE_LABEL)
        return cls(
            stored_survey,
            tuple((name, labels[name]) for name in declared_values if name in labels),
            tuple(pooled),
            language,
        )

    @property
    def surveys(self) -> list[StoredSurvey]:
        """Return the survey, and those that are pooled with it."""
        return [self.stored_survey, *self.pooled]

    @property
    def group(self) -> dict[str, str]:
        """Return the labels."""
        return dict(self.labels)

    @property
    def name(self) -> Name:
        """Return under which name a snapshot has it."""
        return tuple(word for pair in self.labels for word in pair)


class Analysts:
    """Releases of a store's surveys; one is made at a time, and kept until there is a new snapshot.

    A thread of its own makes them: whatever analysts ask for, nobody else waits for a thread.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._store: Store | None = None
        self._lock = Lock()
        self._lane = Lane("deniable-analysts")
        self._snapshots: dict[StoredSurvey, Snapshot] = {}
        self._releases: dict[tuple[Part, str], Release] = {}
        self._wordings = Wordings()

    def _with_store(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _snapshot(self, stored_survey: StoredSurvey) -> Snapshot:
        """Return what is shown of a survey, renewed if it is time."""
        store = self._with_store()
        snapshot = store.snapshot(stored_survey, self._snapshots.get(stored_survey))
        try:
            snapshot = store.renew(stored_survey, snapshot)
        except UnavailableError as error:  # what it showed last is shown
            report("The store took no snapshot", error)
        self._snapshots[stored_survey] = snapshot
        return snapshot

    def _people(self, part: Part) -> int:
        """Return how many reports are shown; of a group that is not shown, nothing."""
        if part.pooled:
            return sum(self._snapshot(each).people for each in part.surveys)
        people = self._snapshot(part.stored_survey).people_of(part.name)
        if part.labels and not people:
            raise ProblemError("group-small")
        return people

    def _tally(self, part: Part) -> Tally:
        """Return what is shown of a part."""
        if part.pooled:
            raise ProblemError("table-impossible", "Reports are looked at survey by survey.")
        if not self._people(part):
            raise ProblemError("no-reports")
        return Tally.of(self._snapshots[part.stored_survey].tallies[part.name])

    def _release(self, part: Part, consistency: str = "none") -> Release:
        if consistency not in CONSISTENCY:
            raise ProblemError("malformed", f"consistency is one of {', '.join(CONSISTENCY)}.")
        key = (part, consistency)
        release = self._releases.pop(key, None)
        if part.pooled:
            every = part.surveys
            PooledSurvey(
                [each.survey for each in every], [1] * len(every)
            )  # refuses, reports or none
            parts = [self._release(Part(each)) for each in every]
            if release is None or release.people != sum(each.people for each in parts):
                release = Release.pool(parts, consistency=consistency)
        else:
            tally = self._tally(part)
            if release is None or release.people != tally.people:
                release = tally.release(consistency)
        self._releases[key] = release
        while len(self._releases) > MOST_KEPT:
            del self._releases[next(iter(self._releases))]  # which nobody asked for in a long time
        return self._worded(release, part)

    def _worded(self, release: Release, part: Part) -> Release:
        """Return a release that is kept, in the language asked for: one analyst reads at a time."""
        words = self._wordings.of(self._with_store(), part.surveys, part.language)
        if isinstance(release, PooledTables):
            release.wording = release.merged_wording(words)
        else:
            (release.wording,) = words
        return release

    async def work(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Return what one of the methods below returns, when its turn has come."""
        if len(self._lane) >= MOST_WAITING:
            raise ProblemError("unavailable", "Too many analysts ask at once.", 5)
        return await self._lane.do(self.answer, what, *arguments)

    def answer(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Return what one of the methods below returns, one at a time, with errors as problems."""
        with self._lock:
            try:
                return what(*arguments)
            except (UnavailableError, StoreError) as error:
                report("The store could not be read", error)
                raise ProblemError("unavailable", retry_after=2) from None
            except DeniableError as error:
                raise ProblemError("table-impossible", str(error)) from None

    def survey_log(self) -> SurveyLog:
        """Return the public log of surveys, its head computed."""
        log = self._with_store().survey_log()
        assert log.head  # now, in a thread in which nobody else waits
        return log

    def ends(self) -> dict[int, int]:
        """Return the second at which each survey ends, by its number; most have none."""
        return self._with_store().ends()

    def overview(self, part: Part) -> dict[str, Any]:
        """Return what there is so far."""
        release = self._release(part) if self._people(part) else None
        survey = release.survey if release and part.pooled else part.stored_survey.survey
        form: dict[str, Any] = {
            "survey": survey.id,
            "mechanism": survey.mechanism,
            "order": survey.order,
            "epsilon": survey.epsilon,
            "attributes": list(survey.schema.names),
            **number_names(survey.schema),
            "labels": self._wordings.labels(
                self._with_store(), part.surveys, part.language, survey.labels
            ),
            "group": part.group,
            "people": self._people(part),
            **end_form(self._with_store().ends().get(part.stored_survey.number)),
            "expected_error": None,
            "plausible": None,
            "integrity": None,
            "pooled": release.pooling.to_json() if release and release.pooling else None,
            "wording": self._wordings.form(self._with_store(), part.surveys, release),
        }
        if release:
            is_single = not part.pooled
            form |= {
                "people": release.people,
                "expected_error": predicted_tv(survey, release.people),
                "plausible": release.plausible,
                "integrity": inspect(self._tally(part), release.evidence.plausible).summary
                if is_single
                else None,
            }
        return form

    def poolable(self, surveys: Sequence[StoredSurvey]) -> dict[str, Any]:
        """Return which others can be pooled with the first one: what they share, or why they cannot."""
        first, *others = surveys
        rows = [self._pairing(first, each) for each in others]
        return {"survey": first.survey.id, "surveys": rows}

    def _pairing(self, one: StoredSurvey, other: StoredSurvey) -> dict[str, Any]:
        a, b = one.survey, other.survey
        try:
            PooledSurvey([a, b], [1, 1])
            reason = None
        except DeniableError as error:
            reason = str(error)
        shared = [name for name in a.schema.names if name in b.schema.names]
        return {
            "survey": b.id,
            "people": self._snapshot(other).people,
            "shared": shared,
            "exact": b.id == a.follows or a.id == b.follows,
            "refused": reason,
        }

    def groups(self, stored_survey: StoredSurvey) -> dict[str, Any]:
        """Return which groups are shown, by each label alone, and which are not."""
        snapshot = self._snapshot(stored_survey)
        large, small = list[dict[str, Any]](), list[dict[str, str]]()
        for name, values in stored_survey.labels.values.items():
            for value in values:
                people, group = snapshot.people_of((name, value)), {name: value}
                if people:
                    large.append({"group": group, "people": people})
                else:
                    small.append(group)
        return {"fewest": FEWEST, "groups": large, "small": small}

    def marginal(
        self, part: Part, names: list[str], level: float, consistency: str
    ) -> dict[str, Any]:
        """Return one table."""
        schema = part.stored_survey.survey.schema
        sizes = {each.name: len(each.values) for each in schema.attributes}
        _limit("The table", prod(sizes.get(name, 1) for name in set(names)), "cells")
        release = self._release(part, consistency)
        table: Marginal = release.marginal(*names)
        low, high = table.interval(level)
        wording = release.wording
        return {
            "attributes": [
                {"name": a.name, "values": list(a.values), "labels": shown_values(a, wording)}
                for a in table.attributes
            ],
            "people": table.people,
            "level": level,
            "kind": table.kind,
            "interval_kind": table.interval_kind,
            "known": table.known,
            "plausible": table.plausible,
            "expected_error": table.expected_error,
            "swamped": table.is_swamped,
            "words": warning_words(table),
            "values": table.values.tolist(),
            "standard_error": table.standard_error.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "doubtful": doubtful_cells(table, low, high).tolist(),
        }

    def number(
        self, part: Part, name: str, probabilities: list[float], level: float
    ) -> dict[str, Any]:
        """Return what is known of one number, and its drawings."""
        return number_form(self._release(part), name, probabilities, level)

    def means(self, part: Part, name: str, by: list[str], level: float) -> dict[str, Any]:
        """Return the means of a number in groups of people by other attributes."""
        if not by:
            raise ProblemError("malformed", "by names an attribute whose values make the groups.")
        return means_form(self._release(part), name, by, level)

    def correlation(self, part: Part, names: list[str], level: float) -> dict[str, Any]:
        """Return the correlation of two numbers."""
        if len(names) != 2:
            raise ProblemError("malformed", "A correlation is of two attributes.")
        first, second = names
        return correlation_form(self._release(part), first, second, level)

    def associations(self, part: Part, consistency: str) -> list[dict[str, Any]]:
        """Return a test of independence for each pair, and how it is drawn."""
        _limit("The list", comb(len(part.stored_survey.survey.schema), 2), "pairs")
        frame = self._release(part, consistency).associations()
        rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records"))
        return [
            row | finite(cell) for row, cell in zip(rows, association_cells(frame), strict=True)
        ]

    def tree(self, part: Part, consistency: str) -> dict[str, Any]:
        """Return the tree over the attributes, and its drawings, or why there are none."""
        tree = self._release(part, consistency).tree()
        form: dict[str, Any] = json.loads(tree.to_json())
        return form | {"drawing": tree_section(tree.edges, tree.schema.names)}

    def history(self, part: Part) -> list[dict[str, Any]]:
        """Return how wide intervals were when shown people had doubled, and are now; of a group, now."""
        rows = (
            [] if part.labels or part.pooled else self._with_store().checkpoints(part.stored_survey)
        )
        if self._people(part):
            release = self._release(part)
            rows = [row for row in rows if row[0] < release.people]
            rows.append((release.people, half_width(release)))
        return [{"people": people, "half_width": width} for people, width in rows]

    def checkpoint(self, stored_survey: StoredSurvey) -> None:
        """Renew what is shown; write down how wide intervals are, if its people have doubled."""
        store, shown_people = self._with_store(), self._snapshot(stored_survey).people
        last = max((people for people, _ in store.checkpoints(stored_survey)), default=0)
        if shown_people >= max(2 * last, 1):
            release = self._release(Part(stored_survey))
            store.add_checkpoint(stored_survey, release.people, half_width(release))

    def doorkeeping(self) -> tuple[Rings, list[Analyst]]:
        """Return the keys and the analysts of now."""
        store = self._with_store()
        return store.keys(), store.analysts()

    def exchange(self, code: str, now: int) -> str | None:
        """Return the key that a page gets for a code; None if there is none for it any more."""
        return exchange(self._with_store(), code, now)

    def integrity(self, part: Part) -> dict[str, Any]:
        """Return what the integrity monitor sees."""
        return inspect(self._tally(part), self._release(part).evidence.plausible).to_json()

    def file(self, part: Part, ending: str, consistency: str) -> bytes:
        """Return all tables, or the report, as a file."""
        survey = part.stored_survey.survey
        sizes = sorted(len(each.values) for each in survey.schema.attributes)
        _limit("The largest table", prod(sizes[-survey.order :]), "cells")
        release = self._release(part, consistency)
        with TemporaryDirectory() as folder:
            path = Path(folder, f"release.{ending}")
            write_export(release, path)
            return path.read_bytes()

    def people(self, stored_survey: StoredSurvey) -> int:
        """Return how many reports are shown, and renew nothing."""
        return self._with_store().shown_people(stored_survey)

    @property
    def is_busy(self) -> bool:
        """Tell whether something is still being made, or may be."""
        return self._lane.is_busy

    def stop(self) -> None:
        """Make nothing more; who still waits is told so in a little while."""
        self._lane.stop()

    def close(self) -> None:
        """End, and close the connection, unless a release that takes too long still reads from it."""
        if self._lane.close() and self._store is not None:
            self._store.close()


def _limit(what: str, size: int, of: str) -> None:
    if size > MOST_CELLS:
        raise ProblemError(
            "table-impossible",
            f"{what} has {size:,} {of}; over HTTP there are at most {MOST_CELLS:,}. 'deniable release' "
            "has no such limit.",
        )
