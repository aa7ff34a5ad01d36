"""Tally: counts of reports as people hold them, of everybody or of each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.api.survey import Survey
from deniable.collector.builder import labels_for
from deniable.collector.folders import load_folder, save_folder
from deniable.collector.tally import TallyCounts
from deniable.errors import GroupError, TallyError
from deniable.schema.labels import FEWEST

if TYPE_CHECKING:
    from deniable.api.release import Release, Releases


class Tally(TallyCounts):
    """Exact counts of reports: ``tally + tally`` merges, in any order."""

    survey: Survey

    def __post_init__(self) -> None:
        object.__setattr__(self, "survey", Survey.of(self.survey))

    @classmethod
    def of(cls, tally: TallyCounts) -> Tally:
        """Return counts as a tally."""
        return cls(**{field.name: getattr(tally, field.name) for field in fields(TallyCounts)})

    def release(self, consistency: str = "none", *, estimator: str | None = None) -> Release:
        """Return every table of up to k attributes, with error bars.

        ``consistency`` is "none" (unbiased), "joint" (non-negative tables that agree) or "model"
        (of all attributes together, which also answers larger tables). A group under 100 reports
        is not displayed.
        """
        from deniable.api.release import Release

        if self.group and self.people < FEWEST:
            raise GroupError(_too_small(", ".join(self.group.values()), self.people))
        return Release(self, consistency, estimator)


def _too_small(name: str, people: int) -> str:
    return f"{name!r} has {people:,} reports; groups under {FEWEST} are not displayed."


class Tallies(Mapping[str, Tally]):
    """A tally for each group of reports, by the group's name: "north", or "north, 2026-11-01".

    Groups stand in the order in which the survey declares labels and their values; those without
    reports are left out. ``parts`` are tallies of these or of smaller groups, which add up; what is of
    no group counts for the ``total`` only, and so do reports that were refused: ``rest`` is a tally of
    these.
    """

    def __init__(
        self, survey: Survey, by: str | Iterable[str], parts: Iterable[TallyCounts]
    ) -> None:
        labels = labels_for(survey.labels, by)
        self.survey, self.by = survey, labels.names
        every = list(parts)
        alike: dict[int, list[TallyCounts]] = {}
        others: list[TallyCounts] = []
        for part in every:
            if part.group.keys() >= labels.values.keys() and len(part.count):
                alike.setdefault(labels.number(part.group), []).append(part)
            else:
                others.append(part)
        self._tallies: dict[str, Tally] = {}
        for number in sorted(alike):
            tally = Tally.total(survey, alike[number])
            name = ", ".join(tally.group[label] for label in labels.names)
            if name in self._tallies:
                raise TallyError(f"Two groups are called {name!r}; count by one label at a time.")
            self._tallies[name] = replace(tally, group=labels.group(number))
        self.rest = replace(Tally.total(survey, others), group={})
        self.total = Tally.total(survey, every)

    def __getitem__(self, name: str) -> Tally:
        if name not in self._tallies:
            raise GroupError(f"There are no reports of a group {name!r} by {', '.join(self.by)}.")
        return self._tallies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tallies)

    def __len__(self) -> int:
        return len(self._tallies)

    def __repr__(self) -> str:
        return (
            f"<Tallies of survey {self.survey.id[:8]} by {', '.join(self.by)}: {len(self)} groups, "
            f"{self.total.people:,} people>"
        )

    def save(self, folder: str | Path) -> None:
        """Write a folder with a tally for each group, all of them or none; it replaces such a folder."""
        has_rest = self._tallies and (len(self.rest.count) or self.rest.refused)
        save_folder(self._tallies, Path(folder), self.rest if has_rest else None)

    @classmethod
    def load(cls, folder: str | Path) -> Tallies:
        """Read a folder of tallies, each of one group by the same labels."""
        name, parts = Path(folder).name, load_folder(Path(folder))
        if not parts:
            raise TallyError(f"The folder {name} holds no tallies.")
        by = max((list(part.group) for part in parts), key=len)
        if not by or any(part.group and part.group.keys() != set(by) for part in parts):
            raise TallyError(f"The tallies in {name} are not of groups by the same labels.")
        return cls(Survey.of(parts[0].survey), by, parts)

    def release(self, consistency: str = "none", *, estimator: str | None = None) -> Releases:
        """Return a release of each group that has at least 100 reports, as `Tally.release` does."""
        from deniable.api.release import Releases

        return Releases(self, consistency, estimator)
