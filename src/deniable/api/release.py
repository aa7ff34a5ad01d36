"""Release: every table that a tally supports, and what can be learnt from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from deniable.api.marginal import Marginal
from deniable.errors import GroupError
from deniable.formats.markup import table_markup
from deniable.release.combined import CombinedTables
from deniable.release.pooled import PooledTables
from deniable.release.population import REPAIRS
from deniable.release.release import ReleasedTables
from deniable.schema.labels import FEWEST
from deniable.schema.scale import Days

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from deniable.analysis.conditional import Conditional
    from deniable.analysis.difference import Difference
    from deniable.analysis.tree import Tree
    from deniable.api.numbers import PlottedDistribution, PlottedEstimates
    from deniable.api.regression import PlottedRegression
    from deniable.api.tally import Tallies
    from deniable.planning.shuffle import ReleaseShuffling
    from deniable.questionnaire.texts import Texts
    from deniable.release.numbers.estimates import Estimates, Quantiles
    from deniable.show.citing import Citation
    from deniable.show.drawing import Drawing


class Release(ReleasedTables):
    """Every table of up to k attributes that a tally supports."""

    table_type = Marginal

    def marginal(self, *names: str, bins: Mapping[str, Sequence[object]] | None = None) -> Marginal:
        """Return the table of these attributes, its axes in the order asked for.

        ``bins`` cut numbers where the reader likes: {"age": [30, 50, 65]} at any points of its grid.
        """
        return cast("Marginal", super().marginal(*names, bins=bins))

    def tree(self, *, significant: bool = False, root: str | None = None) -> Tree:
        """Return the tree of Chow and Liu over the attributes, or only its significant edges."""
        from deniable.analysis.tree import tree

        return tree(self, significant=significant, root=root)

    def synthesise(
        self, people: int, *, method: str = "tree", seed: str | None = None
    ) -> pd.DataFrame:
        """Return synthetic records, drawn from the tree or from a model of the whole."""
        from deniable.analysis.synthesis import synthesise

        return synthesise(self, people, method=method, seed=seed)

    def fidelity(self, frame: Any) -> pd.DataFrame:
        """Return how far each pair's table of (synthetic) records is from the release's."""
        from deniable.analysis.synthesis import fidelity

        return fidelity(self, frame)

    def associations(self, *, level: float = 0.95, select: float | None = None) -> pd.DataFrame:
        """Return a test of independence, and the size of the dependence, of each pair.

        A pandas frame, the surest dependence first, whose intervals hold on average over its first
        rows, however many are looked at; with ``select``, over those with a q-value up to it (1: each
        by itself, for pairs named beforehand). See `deniable.analysis.association`.
        """
        from deniable.analysis.association import associations

        return associations(self, level=level, select=select)

    # Numbers

    def _plotted(self, estimates: Estimates, name: str | None = None) -> PlottedEstimates:
        """Return estimates that can be drawn: those of days, a number's name tells, as days."""
        from deniable.api.numbers import PlottedEstimates

        is_day = name is not None and _is_day(self, name)
        return PlottedEstimates.of(estimates, simulated=self.simulated, is_day=is_day)

    def mean(self, name: str, by: str | Sequence[str] | None = None) -> PlottedEstimates:
        """Return the mean of a number, with its standard error and interval.

        ``by`` gives the mean of each group of people by the values of one or more other attributes;
        ``differences()`` of these tests which groups differ. Ordered words count 1, 2, 3, ….
        """
        from deniable.release.numbers.statistics import mean

        return self._plotted(mean(self, name, by), name)

    def variance(self, name: str) -> PlottedEstimates:
        """Return the variance of a number among people, without what noise adds to it."""
        from deniable.release.numbers.statistics import variance

        return self._plotted(variance(self, name))

    def quantile(
        self, name: str, probabilities: float | Sequence[float] = 0.5, *, level: float = 0.95
    ) -> Quantiles:
        """Return quantiles of a number: points of its grid, with intervals of points."""
        from deniable.release.numbers.statistics import quantiles

        return quantiles(self, name, probabilities, level)

    def distribution(self, name: str, *, level: float = 0.95) -> PlottedDistribution:
        """Return the distribution function of a number, with a band that holds all of it."""
        from deniable.api.numbers import PlottedDistribution
        from deniable.release.numbers.statistics import distribution

        own = distribution(self, name, level)
        return PlottedDistribution.of(own, simulated=self.simulated)

    def correlation(self, first: str, second: str) -> PlottedEstimates:
        """Return the correlation of two numbers among the people who have both.

        Where points are not equally far apart, numbers count by their steps: on a logarithmic scale it
        is the correlation of logarithms.
        """
        from deniable.release.numbers.statistics import correlation

        return self._plotted(correlation(self, first, second))

    def covariance(self, items: Sequence[Any]) -> NDArray[np.float64]:
        """Return the exact covariance of unbiased estimates of anything linear, across tables.

        An item is a cell (``{"sex": "f", "smoker": True}``), the mean of a number (``"age"``; of yes or
        no, the share of yes), the mean of a product (``("age", "income")``), or a list of ``(weight,
        item)`` that are added up.
        """
        from deniable.release.numbers.statistics import covariance

        return covariance(self, items)

    def regress(
        self, formula: str, kind: Literal["linear", "logistic"] | None = None, level: float = 0.95
    ) -> PlottedRegression:
        """Return a regression such as "income ~ age + sex", with the exact errors of its estimates.

        ``kind`` "linear" is least squares, "logistic" is of one of two values; by default what the
        outcome is decides. Numbers count as they are, yes as 1, and each value of a category against the
        first. See `deniable.analysis.formula` for what a formula may say.
        """
        from deniable.analysis.regression.regress import regress
        from deniable.api.regression import PlottedRegression

        return PlottedRegression.of(regress(self, formula, kind, level))

    def paper_chi_square(self) -> pd.DataFrame:
        """Return the paper's χ² tests, which know nothing of the noise, for comparison only."""
        from deniable.analysis.association import paper_chi_square

        return paper_chi_square(self)

    def conditional(self, target: str, given: str | Sequence[str]) -> Conditional:
        """Return the distribution of one attribute for every combination of values of others."""
        from deniable.analysis.conditional import conditional

        return conditional(self, target, given)

    def difference(self, other: ReleasedTables, *names: str) -> Difference:
        """Return how the table of these attributes differs from that of another release's people."""
        from deniable.analysis.difference import difference

        return difference(self, other, *names)

    def differences(
        self, other: ReleasedTables, order: int | None = None, *, level: float = 0.95
    ) -> pd.DataFrame:
        """Return a test of each table for a difference from another release of other people.

        A pandas frame, the surest difference first; see `deniable.analysis.difference`.
        """
        from deniable.analysis.difference import differences

        return differences(self, other, order, level=level)

    @staticmethod
    def combine(
        strata: Mapping[str, Release], weights: Mapping[str, float], consistency: str = "none"
    ) -> Release:
        """Return the release of a population, from those of its strata.

        ``weights`` are the strata's shares of the population, which must be known from elsewhere;
        they are divided by their sum. Strata are groups of one survey, of different people.
        """
        return _CombinedRelease(strata, weights, consistency)

    @staticmethod
    def pool(
        releases: Sequence[Release],
        *,
        overlap: bool | None = None,
        apart: Sequence[str] = (),
        consistency: str = "none",
    ) -> Release:
        """Return the release of the people of several surveys, such as a survey and its successor.

        Tables are of attributes that the surveys declare, and word, alike; estimates are weighted by
        the precision of the questions that each asked, and covariances are exact. Attributes in
        ``apart`` are not pooled. People of several surveys may be the same unless one survey follows
        the other: ``pooling`` then says that errors are not exact, and by how much they may be too
        small; ``overlap=False`` declares that they are different people.
        """
        return _PooledRelease(releases, consistency, overlap=overlap, apart=apart)

    def shuffling(
        self, delta: float = 1e-9, *, slots: str = "assigned", shuffler: str = ""
    ) -> ReleaseShuffling:
        """Return what mixing these reports gives, if somebody independent of the collector does.

        The ε of the mixed reports with this ``delta``, never above that of one report. Where ``slots``
        are "assigned", as by default, people hide among those of the smallest slot; where devices
        have "drawn" them, among all. Its ``sentence`` says what that means.
        """
        from deniable.planning.shuffle import shuffled_release

        return shuffled_release(self, delta, slots, shuffler)

    def poststratify(
        self, margins: Mapping[str, Any], method: Literal["raking", "linear"] | None = None
    ) -> Release:
        """Return the release of a population of which the shares of some values are known.

        ``margins`` are these, by attribute: {"sex": {"f": .51, "m": .49}, "age": {"bins": [30, 50],
        "shares": [.2, .4, .4]}}. Shares must add up to 1, to within .005 for rounding, and are divided
        by their sum. By default people are raked, that is, multiplied by a factor for each value, where
        the survey's order is enough for the tables that takes, and else weighted by a sum ("linear");
        see `deniable.analysis.population`. The release stays as it is, as ``unadjusted``.
        """
        from deniable.api.adjusted import adjust

        return adjust(self, margins, method)

    def worded(self, texts: Texts | str | Path, language: str | None = None) -> Self:
        """Return this release with the survey's own words: in its report, its exports, and labels.

        ``texts`` are those of the survey, to the letter, or their file (`deniable new` writes it as
        survey.texts.json); ``language`` is one of theirs, by default the first.
        """
        from deniable.questionnaire.texts import Texts
        from deniable.questionnaire.wording import Wording

        own = texts if isinstance(texts, Texts) else Texts.read(texts)
        own.check(self.survey)
        release = copy(self)
        release.wording = Wording.of(own, self.survey.schema, language)
        return release

    def report(self, path: str | Path, regressions: Sequence[PlottedRegression] = ()) -> None:
        """Write one self-contained .html file that tells all of it, and works offline."""
        from deniable.show.report import write_report

        write_report(self, path, regressions)

    def methods(self) -> str:
        """Return a methods paragraph, ready to paste: design, ε, people, processing, errors."""
        from deniable.show.methods import methods

        return methods(self)

    def cite(self) -> Citation:
        """Return how to cite these tables: ``text``, ``software`` and ``bibtex``, as of today (UTC)."""
        from deniable.show.citing import cite_release

        return cite_release(self)

    def export(self, path: str | Path) -> None:
        """Write every table up to the survey's order: .csv, .parquet, .json, or the .html report."""
        from deniable.show.export import write_export

        write_export(self, path)

    def _repr_html_(self) -> str:
        schema = self.survey.schema
        facts = [
            ("people", f"{self.people:,}"),
            ("attributes", ", ".join(schema.names)),
            ("tables of up to", f"{self.survey.order} attributes"),
            ("ε of a report", f"{self.survey.epsilon:g}"),
            ("estimates", self.applied),
        ]
        look = " and ".join(map(repr, schema.names[: self.survey.order]))
        notes = [
            f"Look at the table of {look}: release.marginal(...).",
            *(["The reports are implausible."] * (not self.plausible)),
            *(["Simulated."] * self.simulated),
            *([] if self.pooling is None else [self.pooling.sentence]),
            *([] if self.population is None else [self.population.sentence]),
        ]
        return table_markup((), facts, caption=f"Release of {self.surveys}", notes=notes)

    def __repr__(self) -> str:
        mark = "" if self.plausible else ", IMPLAUSIBLE"
        mark += ", SIMULATED" if self.simulated else ""
        mark = f", {len(self.strata)} strata combined{mark}" if self.strata else mark
        if self.pooling is not None:
            mark = f", pooled{', ERRORS NOT EXACT' if self.pooling.overlap else ''}{mark}"
        mark += "" if self.population is None else f", {self.population}. {REPAIRS}"
        applied = f" ({self.applied} applied)" if self.applied != self.consistency else ""
        return (
            f"<Release of {self.surveys}: {self.people:,} people, "
            f"order {self.survey.order}, consistency {self.consistency}{applied}{mark}>"
        )


def _is_day(release: Release, name: str) -> bool:
    schema = release.survey.schema
    return isinstance(schema.attributes[schema.index(name)].scale, Days)


class _CombinedRelease(CombinedTables, Release):
    """A release of several strata, which answers as one of a single tally does."""


class _PooledRelease(PooledTables, Release):
    """A release of several surveys, which answers as one of a single tally does."""


class Releases(Mapping[str, "Release"]):
    """A release for each group of ``tallies``, by the group's name; made when it is first asked for.

    Groups under 100 reports are not displayed: ``small`` names them.
    """

    def __init__(
        self, tallies: Tallies, consistency: str = "none", estimator: str | None = None
    ) -> None:
        self.tallies, self.consistency, self.estimator = tallies, consistency, estimator
        self.small = tuple(name for name, one in tallies.items() if one.people < FEWEST)
        self._releases: dict[str, Release] = {}

    def __getitem__(self, name: str) -> Release:
        if name not in self._releases:
            tally = self.tallies[name]
            self._releases[name] = tally.release(self.consistency, estimator=self.estimator)
        return self._releases[name]

    def __contains__(self, name: object) -> bool:
        return name in self.tallies and name not in self.small

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.tallies if name not in self.small)

    def __len__(self) -> int:
        return len(self.tallies) - len(self.small)

    def _repr_html_(self) -> str:
        rows = [(name, f"{self.tallies[name].people:,}") for name in self]
        caption = f"Releases of survey {self.tallies.survey.id[:8]} by {', '.join(self.tallies.by)}"
        notes = [f"Too small to be displayed: {', '.join(self.small)}."] * bool(self.small)
        return table_markup(("group", "people"), rows, caption=caption, notes=notes)

    def __repr__(self) -> str:
        small = f", {len(self.small)} too small" if self.small else ""
        return (
            f"<Releases of survey {self.tallies.survey.id[:8]} by {', '.join(self.tallies.by)}: "
            f"{len(self)} groups{small}>"
        )

    def mean(self, name: str) -> PlottedEstimates:
        """Return the mean of a number in each group; ``differences()`` tests which differ."""
        from deniable.api.numbers import PlottedEstimates
        from deniable.release.numbers.statistics import means_of_groups

        releases = {group: self[group] for group in self}
        means = means_of_groups(releases, self.tallies.by, name)
        simulated = any(release.simulated for release in releases.values())
        is_day = any(_is_day(release, name) for release in releases.values())
        return PlottedEstimates.of(means, simulated=simulated, is_day=is_day)

    def differences(self, order: int | None = None, *, level: float = 0.95) -> pd.DataFrame:
        """Return a test of each table for any difference between the groups.

        A pandas frame, the surest difference first; see `deniable.analysis.difference`.
        """
        from deniable.analysis.difference import group_differences

        return group_differences(self, order, level=level)

    def borrowed(self, name: str, *, level: float = 0.95) -> pd.DataFrame:
        """Return every group's shares of an attribute, or mean of a number, small groups included.

        Groups borrow from each other what their own reports lack. A pandas frame with ``estimate``,
        ``root_mean_squared_error``, ``low``, ``high``, the group's own ``direct`` estimate and the
        ``own_weight`` that this has; see `deniable.analysis.small_areas`.
        """
        from deniable.analysis.small_areas import borrowed

        total = Release(self.tallies.total, "none", self.estimator)
        return borrowed(self.tallies, total, self.tallies.by, name, level)

    def combine(self, weights: Mapping[str, float], consistency: str = "none") -> Release:
        """Return the release of a population of which the groups are strata with these shares."""
        for name in self.small if isinstance(weights, Mapping) else ():
            if name in weights:
                raise GroupError(
                    f"{name!r} has under {FEWEST} reports and is no stratum of its own; put it together "
                    "with another one, or leave it out of the population that you speak of."
                )
        return Release.combine(dict(self), weights, consistency)

    def poststratify(self, margins: Mapping[str, Any]) -> Release:
        """Return the release of a population of which the shares of some values are known.

        As `Release.poststratify`, where ``margins`` may also be of the labels that groups are by: those
        are known of everybody who answered. By labels alone the groups are combined, with weights that
        meet all known shares.
        """
        from deniable.api.adjusted import adjust_groups

        return adjust_groups(self, margins)

    def plot(self, *names: str, level: float = 0.95) -> Drawing:
        """Return a chart of the groups' tables of these attributes, cell by cell, with intervals.

        Groups by period are drawn as lines over time, others as points below each other.
        """
        from deniable.show.comparing import comparison_chart
        from deniable.show.drawing import Drawing

        groups = {name: self.tallies[name].group for name in self}
        small = len(self.small)
        return Drawing(comparison_chart(self, *names, groups=groups, small=small, level=level))
