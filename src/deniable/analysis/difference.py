"""Do groups differ? Tests that know the privacy noise of each.

Groups of different people are independent of each other, so the difference of two tables, Δ = x_A − x_B,
has the covariance C_A + C_B. If the groups do not differ, W = Δ'·(C_A + C_B)⁻¹·Δ is χ² with one degree
of freedom less than there are cells (shares sum to 1, so that Δ sums to 0). Of more groups, the
differences from the last one are tested together: they share its noise, so the covariance of two of
them is C_last, and all their degrees of freedom add up.

A test asks what happens if groups do *not* differ, so there the covariances are those at the table that
groups would then share: their mean, each counting for as much as its reports tell. Without noise this
is Pearson's χ² test of a table of groups and cells. Intervals of a difference are about groups that may
differ, and take each covariance at the group's own estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.analysis.association import COVERED, NOT_COVERED, surest_first
from deniable.analysis.homogeneity import Comparison, Test, View, alike, measure
from deniable.decoding.evidence import MOST_COVARIED
from deniable.errors import TableError
from deniable.formats.markup import frame_text
from deniable.numeric.covariances import standard_errors
from deniable.numeric.levels import check_level, normal_reach
from deniable.release.dependence.selection import Effects, drawn, false_discoveries, misses
from deniable.release.estimate import chunks_alike
from deniable.release.marginal import cell_frame
from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats, Ints, all_tables

if TYPE_CHECKING:
    import pandas as pd

    from deniable.release.release import ReleasedTables

_MOST_COMPARED = 1 << 15
"""Of tables of the same sizes, so many differences tell what all are like."""

_ONE_GROUP = "It takes two groups or more to compare."


@dataclass(frozen=True, eq=False)
class Difference:
    """A table of one release minus the same table of another, of other people.

    ``values`` has one axis per attribute, in the order asked for. ``p_value`` is of the test whether
    the two populations differ at all in this table. Where a release knows nothing of the table,
    ``known`` is False, and nothing here is a number.
    """

    attributes: tuple[Attribute, ...]
    values: Floats
    covariance: Floats
    statistic: float
    df: int
    p_value: float
    known: bool
    people: tuple[int, int]
    simulated: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return the attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def standard_error(self) -> Floats:
        """Return the standard error of each cell's difference."""
        return standard_errors(self.covariance).reshape(self.values.shape)

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper ends, stacked, that cover each cell's difference at this level.

        They cover sampling and privacy noise, not non-response or people who lie to their own device.
        """
        reach = normal_reach(level) * self.standard_error
        return np.stack((self.values - reach, self.values + reach))

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a pandas frame: a row per cell with its difference, error and interval."""
        low, high = self.interval(level)
        frame = cell_frame(self.attributes).assign(
            difference=self.values.ravel(),
            standard_error=self.standard_error.ravel(),
            low=low.ravel(),
            high=high.ravel(),
        )
        frame.attrs.update(
            level=level,
            statistic=self.statistic,
            df=self.df,
            p_value=self.p_value,
            known=self.known,
            simulated=self.simulated,
        )
        return frame

    def __repr__(self) -> str:
        verdict = f"p = {self.p_value:.2g}" if self.known else "not known"
        mark = ", SIMULATED" if self.simulated else ""
        first, second = self.people
        return (
            f"<Difference in {' × '.join(self.names)}: {first:,} people − {second:,} people, "
            f"{verdict}{mark}>\n{frame_text(self.to_frame())}"
        )


def difference(a: ReleasedTables, b: ReleasedTables, *names: str) -> Difference:
    """Return how the table of these attributes differs between two releases of different people."""
    _check([a, b])
    table = a.marginal(*names)  # refuses what is no table
    views = View.of_groups((a, b), table.attributes)
    b.marginal(*names)
    comparison = measure(views, np.arange(len(names))[None, :])
    shape = table.values.shape
    is_known = comparison.known[0]
    return Difference(
        table.attributes,
        np.where(is_known, comparison.values[0, 0] - comparison.values[1, 0], np.nan).reshape(
            shape
        ),
        np.where(is_known, comparison.covariance[0, 0] + comparison.covariance[1, 0], np.nan),
        *comparison.first_test,
        bool(is_known),
        (a.people, b.people),
        a.simulated or b.simulated,
    )


def any_difference(groups: Mapping[str, ReleasedTables], *names: str) -> Test:
    """Test whether groups differ at all in the table of these attributes."""
    releases = list(groups.values())
    if len(releases) < 2:
        raise TableError(_ONE_GROUP)
    _check(releases)
    attributes = releases[0].marginal(*names).attributes
    views = View.of_groups(releases, attributes)
    cells, others = prod(attribute.size for attribute in attributes), len(releases) - 1
    if others * cells > MOST_COVARIED:
        return Test(np.nan, others * (cells - 1), np.nan)
    return measure(views, np.arange(len(names))[None, :]).first_test


def differences(
    a: ReleasedTables, b: ReleasedTables, order: int | None = None, *, level: float = 0.95
) -> pd.DataFrame:
    """Return a test of each table that two releases share: which attributes differ between them?

    One row per table of ``order`` attributes (by default, as many as both surveys collected), the
    surest difference first: ``attribute_1``, ``value_1`` … name the table, and its cell that differs
    most surely; ``difference`` is how much more of the first release's people are in that cell, drawn
    towards 0 by what all tables' differences are like, because it was picked, with an interval that
    holds for all cells of the table together (Bonferroni) and on average over the first rows, however
    many are looked at (its own ``interval_level`` is larger for the first ones);
    ``statistic``, ``df``, ``p_value``, ``q_value`` (Benjamini–Hochberg over all tables) test whether
    the table differs at all. ``method`` is "wald", or "unknown" where nothing is known of a table, or
    it has too many cells for a covariance. All this comes from the unbiased estimates, undrawn ones are
    those of `difference`.
    """
    rows = _tests({"first": a, "second": b}, order, level)
    is_less = rows["higher"].eq("second")
    rows.loc[is_less, "difference"] *= -1
    rows.loc[is_less, ["low", "high"]] = -rows.loc[is_less, ["high", "low"]].to_numpy()
    return rows.drop(columns=["higher", "lower"])


def group_differences(
    groups: Mapping[str, ReleasedTables], order: int | None = None, *, level: float = 0.95
) -> pd.DataFrame:
    """Return a test of each table for any difference between groups, as `differences` does for two.

    ``higher`` and ``lower`` name the two groups that differ most surely, by ``difference`` in the cell
    that the values name; its interval holds for all cells and all pairs of groups together.
    """
    if len(groups) < 2:
        raise TableError(_ONE_GROUP)
    return _tests(groups, order, level)


def _tests(groups: Mapping[str, ReleasedTables], order: int | None, level: float) -> pd.DataFrame:
    """Return the tests of all tables, whose differences are from higher to lower of several groups."""
    import pandas as pd

    check_level(level)
    names, releases = list(groups), list(groups.values())
    _check(releases)
    most = min(release.survey.order for release in releases)
    size = most if order is None else order
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise TableError(f"order must be a whole number from 1, got {size!r}.")
    if size > most:
        raise TableError(f"A table of {size} attributes needs order {size}; here it is {most}.")
    attributes = _common_attributes(releases)
    if len(attributes) < size:
        raise TableError(f"The releases do not share {size} attributes, only {len(attributes)}.")
    views = View.of_groups(releases, attributes)
    every, sizes = all_tables(len(attributes), size), [each.size for each in attributes]
    rows = _Rows(len(every), len(names), size)
    # Equal numbers are of one kind in every release.
    kinds = np.unique([view.kinds for view in views], axis=1, return_inverse=True)[1].ravel()
    for part, cells in chunks_alike(kinds, sizes, every, len(names)):
        if (len(names) - 1) * cells <= MOST_COVARIED:
            rows.put(part, measure(views, every[part]), [sizes[i] for i in every[part[0]]])
    rows.finish(level)
    frame = pd.DataFrame(_cell_columns(rows, every, attributes, names)).assign(
        difference=rows.difference,
        low=rows.low,
        high=rows.high,
        statistic=rows.statistic,
        df=rows.df,
        p_value=rows.p_value,
        q_value=false_discoveries(rows.p_value),
        interval_level=rows.interval_level,
        method=np.where(np.isfinite(rows.p_value), "wald", "unknown"),
    )
    frame = surest_first(frame)
    frame.attrs.update(
        level=level,
        people={name: release.people for name, release in groups.items()},
        simulated=any(release.simulated for release in releases),
        plausible=all(release.plausible for release in releases),
        covered=COVERED,
        not_covered=NOT_COVERED,
    )
    return frame


def _cell_columns(
    rows: _Rows, every: Ints, attributes: Sequence[Attribute], names: Sequence[str]
) -> dict[str, Any]:
    """Return the columns that name each table, its cell that differs most surely, and the groups."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for axis in range(every.shape[1]):
        own = [attributes[i] for i in every[:, axis].tolist()]
        pairs = zip(own, rows.cell[:, axis].tolist(), strict=True)
        values = [None if code < 0 else attribute.values[code] for attribute, code in pairs]
        columns[f"attribute_{axis + 1}"] = [attribute.name for attribute in own]
        columns[f"value_{axis + 1}"] = pd.Series(values, dtype=object)
    for column, groups in zip(("higher", "lower"), rows.pair.T.tolist(), strict=True):
        columns[column] = pd.Series([None if i < 0 else names[i] for i in groups], dtype=object)
    return columns


class _Rows:
    """The tests of all tables; not a number, until they are put there."""

    def __init__(self, tables: int, groups: int, size: int) -> None:
        self.groups = groups
        self.statistic, self.p_value, self.interval_level = np.full((3, tables), np.nan)
        self.difference, self.error, self.low, self.high = np.full((4, tables), np.nan)
        self.df, self.chances = np.zeros((2, tables), np.int64)
        self.cell = np.full((tables, size), -1)
        self.pair = np.full((tables, 2), -1)
        self._every: list[Floats] = []

    def put(self, rows: Ints, comparison: Comparison, sizes: Sequence[int]) -> None:
        """Put the comparison of tables of the same sizes into these rows."""
        self.df[rows], is_known = comparison.df, comparison.known
        rows, values = rows[is_known], comparison.values[:, is_known]
        if not len(rows):
            return
        self.statistic[rows] = comparison.statistic[is_known]
        self.p_value[rows] = comparison.p_value[is_known]
        variances = np.einsum("grii->gri", comparison.covariance[:, is_known])
        pairs = np.array(list(combinations(range(self.groups), 2)))
        apart = values[pairs[:, 0]] - values[pairs[:, 1]]
        error = np.sqrt((variances[pairs[:, 0]] + variances[pairs[:, 1]]).clip(1e-300, None))
        cells = apart.shape[2]
        every = np.stack((apart, error))[..., : 1 if cells == 2 else cells].reshape(2, -1)
        self._every.append(every[:, :: 1 + every.shape[1] // _MOST_COMPARED])
        # The last of equals: of the two cells of a yes/no attribute, the one that says yes.
        sure = (np.abs(apart) / error).round(9).transpose(1, 0, 2)[:, :, ::-1]
        pair, cell = np.divmod(sure.reshape(len(rows), -1).argmax(axis=1), cells)
        cell = cells - 1 - cell
        own = np.arange(len(rows))
        change = apart[pair, own, cell]
        self.pair[rows] = np.where(change[:, None] < 0, pairs[pair][:, ::-1], pairs[pair])
        self.cell[rows] = np.stack(np.unravel_index(cell, sizes), axis=1)
        self.difference[rows], self.error[rows] = np.abs(change), error[pair, own, cell]
        self.chances[rows] = comb(self.groups, 2) * (1 if cells == 2 else cells)

    def finish(self, level: float) -> None:
        """Draw what was picked towards 0, and tell its intervals, once all tables are known."""
        rows = np.flatnonzero(np.isfinite(self.p_value))
        if not len(rows):
            return
        alpha = misses(self.p_value, self.statistic, level)[rows]
        self.interval_level[rows] = 1 - alpha
        reach = self.error[rows] * stats.norm.isf(alpha / (2 * self.chances[rows]))
        self.low[rows] = self.difference[rows] - reach
        self.high[rows] = self.difference[rows] + reach
        every = Effects.of_numbers(*np.concatenate(self._every, axis=1))
        difference = drawn(self.difference[rows], self.error[rows], every)
        self.difference[rows] = difference.clip(self.low[rows], None)


def _common_attributes(releases: Sequence[ReleasedTables]) -> list[Attribute]:
    """Return the attributes that all surveys declare alike, in the first one's order."""
    first, *others = (release.survey.schema for release in releases)
    return [
        each
        for each in first.attributes
        if all(any(alike(each, another) for another in other.attributes) for other in others)
    ]


def _check(releases: Sequence[ReleasedTables]) -> None:
    """Refuse what cannot be compared: the same people, and estimates without a covariance."""
    for release in releases:
        release.needs_covariance("A comparison")
    for one, other in combinations(releases, 2):
        if one.shares_people(other):
            raise TableError(
                "Two releases hold the same people; only groups of different people can be compared."
            )
