"""Releases of several surveys pooled: tables of all people, where surveys ask about attributes alike.

The reports of all surveys are read as those of one survey (`deniable.survey.pooled`), so every
coefficient is the mean of all scores that tell of it, weighted by the precision that their questions
have by design (g = 1/V, never by data), and covariances are exact across all tables. What is
estimated is the mean of the surveys' people, each as much as their questions tell: where the surveys'
populations differ, pooled tables are of no definite people, so test that first (`differences`).

*People who answered twice.* Somebody in two surveys is one person in who was asked, and two in what
was answered at random. With independent slots, n such people add n/(N·N')·(1 − θ_α²) to
Cov(θ̂_α, θ̂'_α), and n ≤ min(N, N'). So the variance of a pooled coefficient lacks at most
2·Σ w·w'/max(N, N'), which `Pooling.shortfall` puts beside what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deniable.collector.tally import Rows, TallyCounts, merge
from deniable.decoding.evidence import Tables
from deniable.decoding.forms import FormEvidence
from deniable.errors import TableError
from deniable.numeric.shares import ratio
from deniable.questionnaire.wording import Wording
from deniable.release.release import ReleasedTables
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import FrozenSurvey
from deniable.survey.pooled import PooledSurvey, apart_name


@dataclass(frozen=True, eq=False)
class Pooling:
    """What was pooled: surveys and their people; whether some may have answered several of them.

    ``overlap`` is True where somebody may have. ``shortfall`` is then by which part standard errors may
    be too small at most, if all who can be in two surveys are.
    """

    surveys: tuple[FrozenSurvey, ...]
    people: tuple[int, ...]
    overlap: bool
    shortfall: float

    @property
    def sentence(self) -> str:
        """Return what a reader must know: of whom the tables are, and whether errors are exact."""
        parts = " and ".join(
            f"{people:,} of survey {survey.id[:8]}"
            for survey, people in zip(self.surveys, self.people, strict=True)
        )
        words = f"Pooled by precision from {sum(self.people):,} people: {parts}."
        if not self.overlap:
            return f"{words} They are different people, so errors are exact."
        percent = f"{100 * self.shortfall:.1f}\N{NO-BREAK SPACE}%"
        return (
            f"{words} Some people may have answered several of these surveys, so errors are not exact: "
            f"if all who can did, standard errors are too small by about {percent}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        rows = zip(self.surveys, self.people, strict=True)
        return {
            "surveys": [
                {
                    "survey": survey.id,
                    "people": people,
                    "mechanism": survey.mechanism,
                    "order": survey.order,
                    "epsilon": survey.epsilon,
                    "attributes": list(survey.schema.names),
                }
                for survey, people in rows
            ],
            "errors": "not exact" if self.overlap else "exact",
            "shortfall": self.shortfall,
            "note": self.sentence,
        }


class PooledTables(ReleasedTables):
    """A release of the people of several surveys, from their releases' tallies.

    It starts from their unbiased estimates, whatever was done to their own tables. ``overlap`` says
    whether some people may have answered several of the surveys: by default not where one survey follows
    the other, or of one survey's own tallies. ``apart`` names attributes that are not pooled.
    """

    survey: PooledSurvey

    def __init__(
        self,
        releases: Sequence[ReleasedTables],
        consistency: str = "none",
        *,
        overlap: bool | None = None,
        apart: Sequence[str] = (),
    ) -> None:
        if overlap not in (None, True, False):
            raise TableError(f"overlap must be True, False or None, got {overlap!r}.")
        if isinstance(apart, str):
            raise TableError(f"apart must be a list of attributes, such as [{apart!r}].")
        self._parts, self._overlap, self._apart = _checked(releases), overlap, tuple(apart)
        self.parts = _tallies(self._parts)
        surveys = [tally.survey for tally in self.parts]
        people = [tally.people for tally in self.parts]
        if overlap is None:
            pairs = combinations(surveys, 2)
            overlap = any(one.id != b.follows and b.id != one.follows for one, b in pairs)
        survey = PooledSurvey(surveys, people, self._apart)
        self._is_overlap = overlap
        super().__init__(pooled_tally(survey, self.parts), consistency)
        self.wording = self.merged_wording([each.wording for each in self._parts])

    def merged_wording(self, parts: Sequence[Wording | None]) -> Wording | None:
        """Return the words of all attributes, where all ``parts`` have some, in one language."""
        wordings = [each for each in parts if each is not None]
        if len(wordings) < len(self._parts) or len({each.language for each in wordings}) > 1:
            return None
        attributes = {}
        for release, own in zip(self._parts, wordings, strict=True):
            for name, words in own.attributes.items():
                name = apart_name(release.survey, name) if name in self._apart else name
                attributes[name] = replace(words, name=name)
        return Wording(wordings[-1].language, wordings[-1].survey, attributes)

    @cached_property
    def pooling(self) -> Pooling | None:
        """Return what was pooled."""
        surveys, people = self.survey.parts, tuple(tally.people for tally in self.parts)
        shortfall = self._shortfall() if self._is_overlap else 0.0
        return Pooling(surveys, people, self._is_overlap, shortfall)

    def _shortfall(self) -> float:
        """Return by which part a standard error is too small at most, if all overlap that can."""
        evidence = self.exact_evidence
        assert isinstance(evidence, FormEvidence)
        variance = evidence.overview.variance
        weights = self._weights
        lack = np.zeros(len(variance))
        for one, other in combinations(range(len(self.parts)), 2):
            larger = max(self.parts[one].people, self.parts[other].people)
            lack += 2 * weights[one] * weights[other] / larger
        is_known = np.isfinite(variance) & (variance > 0)
        return float(np.sqrt(1 + lack[is_known] / variance[is_known]).max(initial=1.0)) - 1

    @property
    def _weights(self) -> Floats:
        """Return what each survey (a row) counts for in every coefficient."""
        precisions = []
        for number, tally in enumerate(self.parts):
            rows = _moved(self.survey, number, tally)
            own = self.decoder.decode(*merge([rows]), self.estimator)
            assert isinstance(own, FormEvidence)
            precisions.append(1 / own.overview.variance)
        total = np.sum(precisions, axis=0)
        return ratio(precisions, total)

    def with_consistency(self, consistency: str) -> Self:
        """Return the same surveys' release with other post-processing, or this one."""
        if consistency == self.consistency:
            return self
        return type(self)(self._parts, consistency, overlap=self._overlap, apart=self._apart)

    def shares_people(self, other: ReleasedTables) -> bool:
        """Tell whether the same reports are behind this release and another, as far as can be seen."""
        return any(part.shares_people(other) for part in self._parts)

    def estimate(self, tables: Ints) -> Tables:
        """Return the cells of tables; those of attributes that no survey has together are not known."""
        own = super().estimate(tables)
        return Tables(own.values, own.known & self.asked(tables), own.notes)

    def asked(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether one survey asked for all of its attributes."""
        return self.survey.asked_together(tables) >= 0

    def asks(self, tables: Ints) -> NDArray[np.bool_]:
        """Tell of each table whether one of the surveys asks for all that it needs."""
        return self.asked(tables) & super().asks(tables)

    def check_asked(self, attributes: Sequence[int]) -> None:
        """Refuse what no survey asked for together, and say why."""
        if self.asked(np.array([sorted(attributes)]))[0]:
            return
        where = [
            f"{self.survey.schema.names[each]!r} is in "
            + ", ".join(f"{own.id[:8]} (order {own.order})" for own in self.survey.surveys_of(each))
            for each in attributes
        ]
        names = " × ".join(repr(self.survey.schema.names[each]) for each in attributes)
        raise TableError(
            f"No survey asked for {names} together, so nothing is known of them: {'; '.join(where)}."
        )


def pooled_tally(survey: PooledSurvey, parts: Sequence[TallyCounts]) -> TallyCounts:
    """Return the tallies of several surveys as one of the survey that stands for all."""
    group = parts[0].group
    return TallyCounts(
        survey,
        *merge([_moved(survey, number, tally) for number, tally in enumerate(parts)]),
        any(tally.simulated for tally in parts),
        sources=frozenset().union(*(tally.sources for tally in parts)),
        group={n: v for n, v in group.items() if all(part.group.get(n) == v for part in parts)},
    )


def _moved(survey: PooledSurvey, number: int, tally: TallyCounts) -> Rows:
    """Return the rows of one survey's tally, in the slots of the survey that stands for all."""
    return survey.moved(number, tally.slot), tally.value, tally.count


def _checked(releases: Sequence[ReleasedTables]) -> list[ReleasedTables]:
    """Return the releases that are to be pooled, or say what cannot be."""
    if not isinstance(releases, Sequence) or len(releases) < 2:
        raise TableError("It takes a list of at least two releases to pool.")
    every: list[ReleasedTables] = []
    for release in releases:
        if not isinstance(release, ReleasedTables):
            raise TableError("Only releases are pooled: tally.release() makes one of a tally.")
        if release.population is not None or release.strata:
            raise TableError(
                "A release that was adjusted or combined from strata is not pooled; pool releases of "
                "tallies, and adjust the pooled one."
            )
        every += release._parts if isinstance(release, PooledTables) else [release]
    for one, other in combinations(every, 2):
        if one.shares_people(other):
            raise TableError("Two of these releases hold the same people, who would count twice.")
    return every


def _tallies(releases: Sequence[ReleasedTables]) -> list[TallyCounts]:
    """Return a tally for each survey: those of one survey add up."""
    by_survey: dict[str, list[TallyCounts]] = {}
    for release in releases:
        for tally in release.tallies:
            by_survey.setdefault(tally.survey.id, []).append(tally)
    return [TallyCounts.total(parts[0].survey, parts) for parts in by_survey.values()]
