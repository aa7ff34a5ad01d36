"""Releases of a known population: of everybody who answered, or of groups by label together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.analysis.adjusting import Part
from deniable.analysis.margins import Margin, read_margins
from deniable.analysis.population import (
    AdjustedTables,
    check_method,
    weigh_groups,
)
from deniable.api.marginal import Marginal
from deniable.api.release import Release, Releases
from deniable.errors import GroupError, TableError
from deniable.release.population import Population
from deniable.schema.labels import FEWEST


class AdjustedRelease(AdjustedTables, Release):
    """A release of a known population, which answers as that of a tally does."""

    def marginal(self, *names: str, bins: Mapping[str, Sequence[object]] | None = None) -> Marginal:
        """Return the adjusted table of these attributes; see `Release.marginal`."""
        if names and bins is None:
            self.check_tells(*names)
        return Release.marginal(self, *names, bins=bins)


def adjust(release: Release, margins: Any, method: Any = None) -> Release:
    """Return the release of a population with known shares of attributes."""
    check_method(method)
    every = read_margins(release.survey, margins)
    for margin in every:
        if margin.attribute is None:
            raise TableError(
                f"{margin.name!r} is a label: count by it, tally(reports, by={margin.name!r}), and "
                "adjust the releases of its groups together."
            )
    return AdjustedRelease(release, [Part(release, 1.0)], every, method)


def adjust_groups(releases: Releases, margins: Any) -> Release:
    """Return the release of a population with known shares of labels, and of attributes."""
    tallies = releases.tallies
    every = read_margins(tallies.survey, margins)
    labels = [margin for margin in every if margin.attribute is None]
    if not labels:
        return adjust(tallies.total.release(estimator=releases.estimator), margins)
    for label in labels:
        if label.name not in tallies.by:
            raise TableError(
                f"These are groups by {', '.join(tallies.by)}; to adjust by the label {label.name!r}, "
                "count by it as well."
            )
    parts = _parts(releases, labels)
    population = dict(zip(parts, weigh_groups(list(parts.values()), labels).tolist(), strict=True))
    if len(labels) == len(every):
        combined = Release.combine(dict(releases), population)
        combined.population = Population({each.name: each.told() for each in every}, "raking")
        return combined
    people = {name: float(release.people) for name, release in releases.items()}
    return AdjustedRelease(
        Release.combine(dict(releases), people), list(parts.values()), every, "raking"
    )


def _parts(releases: Releases, labels: list[Margin]) -> dict[str, Part]:
    """Return the groups, each with its share of all who answered."""
    tallies = releases.tallies
    for label in labels:
        there = {tally.group[label.name] for tally in tallies.values()}
        for value, share in zip(label.values, label.shares.tolist(), strict=True):
            if share > 0 and value not in there:
                raise TableError(
                    f"Nobody who answered has {value!r} in {label.name!r}, so nobody can stand for "
                    "them: put it together with another value, or leave it out of the population that "
                    "you speak of."
                )
            if not share and value in there:
                raise TableError(
                    f"The known share of {value!r} in {label.name!r} is 0, and people who answered have "
                    "it: give its share of the population, or leave its tally out."
                )
    if releases.small:
        raise GroupError(
            f"{releases.small[0]!r} has under {FEWEST} reports and is no stratum of its own; put it "
            "together with another one, or leave it out of the population that you speak of."
        )
    total = sum(release.people for release in releases.values())
    return {
        name: Part(
            release,
            release.people / total,
            tuple(label.values.index(tallies[name].group[label.name]) for label in labels),
        )
        for name, release in releases.items()
    }
