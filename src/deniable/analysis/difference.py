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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special, stats

from deniable.analysis.association import COVERED, NOT_COVERED
from deniable.decoding.evidence import MOST_COVARIED
from deniable.errors import TableError
from deniable.release.dependence.residuals import false_discoveries
from deniable.release.estimate import in_chunks, to_axes
from deniable.schema.attribute import Attribute, kind
from deniable.survey.coefficients import Ints, all_tables, same_sizes

if TYPE_CHECKING:
    import pandas as pd

    from deniable.release.release import Released

__all__ = [
    "Difference",
    "Test",
    "any_difference",
    "difference",
    "differences",
    "group_differences",
    "homogeneity",
]

Floats = NDArray[np.float64]

_ONE_GROUP = "It takes two groups or more to compare."

_NOTHING = 1e-9
"""A direction with so small a part of the largest variance has none: nobody is in some cell."""


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
        error: Floats = np.sqrt(np.diag(self.covariance).clip(0, None)).reshape(self.values.shape)
        return error

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper ends, stacked, that cover each cell's difference at this level.

        They cover sampling and privacy noise, not non-response or people who lie to their own device.
        """
        reach = stats.norm.ppf((1 + _checked(level)) / 2) * self.standard_error
        return np.stack((self.values - reach, self.values + reach))

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a pandas frame: a row per cell with its difference, error and interval."""
        import pandas as pd

        low, high = self.interval(level)
        rows = list(product(*(attribute.values for attribute in self.attributes)))
        frame = pd.DataFrame(rows, columns=list(self.names)).assign(
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
        said = f"p = {self.p_value:.2g}" if self.known else "not known"
        mark = ", SIMULATED" if self.simulated else ""
        first, second = self.people
        return (
            f"<Difference in {' × '.join(self.names)}: {first:,} people − {second:,} people, "
            f"{said}{mark}>\n{self.to_frame().to_string(index=False)}"
        )


def difference(a: Released, b: Released, *names: str) -> Difference:
    """Return how the table of these attributes differs between two releases of different people."""
    _check([a, b])
    table = a.marginal(*names)  # refuses what is no table
    views = [_View(each, table.attributes) for each in (a, b)]
    b.marginal(*names)
    found = _measure(views, np.arange(len(names))[None, :])
    shape = table.values.shape
    known = found.known[0]
    return Difference(
        table.attributes,
        np.where(known, found.values[0, 0] - found.values[1, 0], np.nan).reshape(shape),
        np.where(known, found.spread[0, 0] + found.spread[1, 0], np.nan),
        float(found.statistic[0]),
        int(found.df[0]),
        float(found.p_value[0]),
        bool(known),
        (a.people, b.people),
        a.simulated or b.simulated,
    )


class Test(NamedTuple):
    """A test of one table for any difference between groups; not a number where nothing is known."""

    statistic: float
    df: int
    p_value: float


def any_difference(groups: Mapping[str, Released], *names: str) -> Test:
    """Test whether groups differ at all in the table of these attributes."""
    releases = list(groups.values())
    if len(releases) < 2:
        raise TableError(_ONE_GROUP)
    _check(releases)
    attributes = releases[0].marginal(*names).attributes
    views = [_View(each, attributes) for each in releases]
    cells, others = prod(attribute.size for attribute in attributes), len(releases) - 1
    if others * cells > MOST_COVARIED:
        return Test(np.nan, others * (cells - 1), np.nan)
    found = _measure(views, np.arange(len(names))[None, :])
    return Test(float(found.statistic[0]), int(found.df[0]), float(found.p_value[0]))


def differences(
    a: Released, b: Released, order: int | None = None, *, level: float = 0.95
) -> pd.DataFrame:
    """Return a test of each table that two releases share: which attributes differ between them?

    One row per table of ``order`` attributes (by default, as many as both surveys collected), the
    surest difference first: ``attribute_1``, ``value_1`` … name the table, and its cell that differs
    most surely; ``difference`` is how much more of the first release's people are in that cell, with
    an interval that holds for all cells of the table together at this level (Bonferroni);
    ``statistic``, ``df``, ``p_value``, ``q_value`` (Benjamini–Hochberg over all tables) test whether
    the table differs at all. ``method`` is "wald", or "unknown" where nothing is known of a table, or
    it has too many cells for a covariance. All this comes from the unbiased estimates.
    """
    found = _tested({"first": a, "second": b}, order, level)
    turned = found["higher"].eq("second")
    found.loc[turned, "difference"] *= -1
    found.loc[turned, ["low", "high"]] = -found.loc[turned, ["high", "low"]].to_numpy()
    return found.drop(columns=["higher", "lower"])


def group_differences(
    groups: Mapping[str, Released], order: int | None = None, *, level: float = 0.95
) -> pd.DataFrame:
    """Return a test of each table for any difference between groups, as `differences` does for two.

    ``higher`` and ``lower`` name the two groups that differ most surely, by ``difference`` in the cell
    that the values name; its interval holds for all cells and all pairs of groups together.
    """
    if len(groups) < 2:
        raise TableError(_ONE_GROUP)
    return _tested(groups, order, level)


def _tested(groups: Mapping[str, Released], order: int | None, level: float) -> pd.DataFrame:
    """Return the tests of all tables, whose differences are from higher to lower of several groups."""
    import pandas as pd

    _checked(level)
    names, releases = list(groups), list(groups.values())
    _check(releases)
    most = min(release.survey.order for release in releases)
    size = most if order is None else order
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise TableError(f"order must be a whole number from 1, got {size!r}.")
    if size > most:
        raise TableError(f"A table of {size} attributes needs order {size}; here it is {most}.")
    attributes = _shared(releases)
    if len(attributes) < size:
        raise TableError(f"The releases do not share {size} attributes, only {len(attributes)}.")
    views = [_View(release, attributes) for release in releases]
    every, sizes = all_tables(len(attributes), size), [each.size for each in attributes]
    rows = _Rows(len(every), len(names), size)
    for alike in same_sizes(sizes, every):
        cells = prod(sizes[attribute] for attribute in every[alike[0]])
        if (len(names) - 1) * cells > MOST_COVARIED:
            continue
        for part in in_chunks(alike, len(names) * cells):
            rows.put(part, _measure(views, every[part]), [sizes[i] for i in every[part[0]]], level)
    columns: dict[str, Any] = {}
    for place in range(size):
        held = [attributes[i] for i in every[:, place].tolist()]
        codes = rows.cell[:, place].tolist()
        columns[f"attribute_{place + 1}"] = [each.name for each in held]
        columns[f"value_{place + 1}"] = pd.Series(
            [
                None if code < 0 else each.values[code]
                for each, code in zip(held, codes, strict=True)
            ],
            dtype=object,
        )
    for column, chosen in zip(("higher", "lower"), rows.pair.T.tolist(), strict=True):
        columns[column] = pd.Series([None if i < 0 else names[i] for i in chosen], dtype=object)
    frame = pd.DataFrame(columns).assign(
        difference=rows.difference,
        low=rows.low,
        high=rows.high,
        statistic=rows.statistic,
        df=rows.df,
        p_value=rows.p_value,
        q_value=false_discoveries(rows.p_value),
        method=np.where(np.isfinite(rows.p_value), "wald", "unknown"),
    )
    frame = frame.sort_values(
        ["p_value", "statistic"], ascending=[True, False], kind="stable", ignore_index=True
    )
    frame.attrs.update(
        level=level,
        people={name: release.people for name, release in groups.items()},
        simulated=any(release.simulated for release in releases),
        plausible=all(release.plausible for release in releases),
        covered=COVERED,
        not_covered=NOT_COVERED,
    )
    return frame


class _Rows:
    """What is found of each table; nothing, until it is put there."""

    def __init__(self, tables: int, groups: int, size: int) -> None:
        self.groups = groups
        self.statistic, self.p_value, self.difference, self.low, self.high = np.full(
            (5, tables), np.nan
        )
        self.df = np.zeros(tables, np.int64)
        self.cell = np.full((tables, size), -1)
        self.pair = np.full((tables, 2), -1)

    def put(self, rows: Ints, found: _Measured, sizes: Sequence[int], level: float) -> None:
        """Keep what is found of tables of the same sizes."""
        self.df[rows] = found.df
        rows, values, spread = rows[found.known], found.values[:, found.known], found.spread
        if not len(rows):
            return
        self.statistic[rows] = found.statistic[found.known]
        self.p_value[rows] = found.p_value[found.known]
        variances = np.einsum("grii->gri", spread[:, found.known])
        pairs = np.array(list(combinations(range(self.groups), 2)))
        apart = values[pairs[:, 0]] - values[pairs[:, 1]]
        error = np.sqrt((variances[pairs[:, 0]] + variances[pairs[:, 1]]).clip(1e-300, None))
        cells = apart.shape[2]
        # The last of equals: of the two cells of a yes/no attribute, the one that says yes.
        sure = (np.abs(apart) / error).round(9).transpose(1, 0, 2)[:, :, ::-1]
        pair, cell = np.divmod(sure.reshape(len(rows), -1).argmax(axis=1), cells)
        cell = cells - 1 - cell
        own = np.arange(len(rows))
        change, error = apart[pair, own, cell], error[pair, own, cell]
        chances = comb(self.groups, 2) * (1 if cells == 2 else cells)
        reach = error * stats.norm.isf((1 - level) / (2 * chances))
        turned = change < 0
        change = np.where(turned, -change, change)
        self.pair[rows] = np.where(turned[:, None], pairs[pair][:, ::-1], pairs[pair])
        self.cell[rows] = np.stack(np.unravel_index(cell, sizes), axis=1)
        self.difference[rows] = change
        self.low[rows], self.high[rows] = change - reach, change + reach


class _Measured(NamedTuple):
    """Tables of the same sizes, by group and table: cells in C order, and tests."""

    values: Floats
    spread: Floats
    known: NDArray[np.bool_]
    statistic: Floats
    df: Ints
    p_value: Floats


def _measure(views: Sequence[_View], tables: Ints) -> _Measured:
    """Return the cells of tables in each group, their covariances, and whether groups differ."""
    found = [view.cells(tables) for view in views]
    values = np.stack([cells for cells, _ in found])
    spread = np.stack([view.covariances(tables) for view in views])
    known = np.logical_and.reduce([is_known for _, is_known in found])
    known &= np.isfinite(spread).all(axis=(0, 2, 3))
    cells = values.shape[2]
    statistic, p_value = np.full((2, len(known)), np.nan)
    df = np.full(len(known), (len(views) - 1) * (cells - 1))
    if known.any():
        rows = tables[known]
        even = np.full((len(rows), cells), 1 / cells)
        told = np.stack([1 / view.variances(rows, even).sum(axis=1) for view in views])
        shared = (told[:, :, None] * values[:, known]).sum(axis=0).clip(0, None)
        shared /= shared.sum(axis=1, keepdims=True)
        alike = np.stack([view.covariances(rows, shared) for view in views])
        statistic[known], df[known] = homogeneity(values[:, known], alike)
        p_value[known] = special.chdtrc(df[known], statistic[known])
    return _Measured(values, spread, known, statistic, df, p_value)


def homogeneity(values: Floats, spread: Floats) -> tuple[Floats, Ints]:
    """Return W and its degrees of freedom for tables (groups, tables, cells) with covariances.

    Where nobody is in some cell, so that nothing can vary, it takes its degrees of freedom with it.
    """
    groups, tables, cells = values.shape
    basis = linalg.helmert(cells)
    turned = values @ basis.T
    within = basis @ spread @ basis.T
    apart = (turned[:-1] - turned[-1]).transpose(1, 0, 2).reshape(tables, -1)
    count = groups - 1
    both = np.broadcast_to(
        within[-1][:, None, :, None, :], (tables, count, cells - 1, count, cells - 1)
    )
    both = both.copy()
    for group in range(count):
        both[:, group, :, group, :] += within[group]
    size, axes = np.linalg.eigh(both.reshape(tables, apart.shape[1], -1))
    held = size > _NOTHING * size[:, -1:]
    along = np.einsum("ti,tij->tj", apart, axes)
    statistic = np.divide(along**2, size, out=np.zeros_like(size), where=held).sum(axis=1)
    return statistic, held.sum(axis=1)


class _View:
    """A release's tables of some attributes, numbered by these, with their cells in C order."""

    def __init__(self, release: Released, attributes: Sequence[Attribute]) -> None:
        schema = release.survey.schema
        for attribute in attributes:
            if not _alike(schema.attributes[schema.index(attribute.name)], attribute):
                raise TableError(
                    f"{attribute.name!r} is not declared with the same values in both surveys, and "
                    "cannot be compared."
                )
        self._evidence = release.evidence
        self._sizes = np.array([attribute.size for attribute in attributes])
        self._own = np.array([schema.index(attribute.name) for attribute in attributes])

    def _turned(self, tables: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield rows, their tables as the release numbers them, and the numbers of their cells."""
        own = self._own[tables]
        orders = own.argsort(axis=1)
        for order in np.unique(orders, axis=0):
            rows = np.flatnonzero((orders == order).all(axis=1))
            sizes = self._sizes[tables[rows[0]]][order]
            back = tuple(order.argsort().tolist())
            numbers = to_axes(np.arange(prod(sizes.tolist())), sizes.tolist(), back).ravel()
            yield rows, own[rows][:, order], numbers

    def cells(self, tables: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the estimated cells of tables of the same sizes, and which tables are known."""
        made = np.empty((len(tables), prod(self._sizes[tables[0]].tolist())))
        known = np.empty(len(tables), np.bool_)
        for rows, own, numbers in self._turned(tables):
            found = self._evidence.tables(own)
            made[rows], known[rows] = found.values[:, numbers], found.known
        return made, known

    def covariances(self, tables: Ints, truth: Floats | None = None) -> Floats:
        """Return their covariances, at these cells or at the release's own."""
        cells = prod(self._sizes[tables[0]].tolist())
        made = np.empty((len(tables), cells, cells))
        for rows, own, numbers in self._turned(tables):
            at = None if truth is None else truth[rows][:, numbers.argsort()]
            found = self._evidence.cell_covariances(own, at)
            made[rows] = found[:, numbers[:, None], numbers]
        return made

    def variances(self, tables: Ints, truth: Floats) -> Floats:
        """Return their cells' variances at these cells."""
        made = np.empty_like(truth)
        for rows, own, numbers in self._turned(tables):
            found = self._evidence.cell_variances(own, truth[rows][:, numbers.argsort()])
            made[rows] = found[:, numbers]
        return made


def _shared(releases: Sequence[Released]) -> list[Attribute]:
    """Return the attributes that all surveys declare alike, in the first one's order."""
    first, *others = (release.survey.schema for release in releases)
    return [
        each
        for each in first.attributes
        if all(any(_alike(each, another) for another in other.attributes) for other in others)
    ]


def _alike(one: Attribute, other: Attribute) -> bool:
    """Tell whether two attributes are declared alike; True and 1 are two values."""
    return one == other and list(map(kind, one.values)) == list(map(kind, other.values))


def _check(releases: Sequence[Released]) -> None:
    """Refuse what cannot be compared: the same people, and estimates without a covariance."""
    for release in releases:
        release.needs_covariance("A comparison")
    for one, other in combinations(releases, 2):
        if one.shares_people(other):
            raise TableError(
                "Two releases hold the same people; only groups of different people can be compared."
            )


def _checked(level: float) -> float:
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise TableError(f"An interval's level must lie between 0 and 1, got {level!r}.")
    return level
