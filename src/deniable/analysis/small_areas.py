"""Small groups: each group's estimate borrows from all others as much as its own reports are lacking.

Fay and Herriot's model (1979): groups differ, θ_g ~ N(μ, A), and a group's own unbiased estimate is
y_g ~ N(θ_g, D_g), where D_g is known from the survey's law. Given A the best estimate is

    θ̃_g = y_g − B_g·(y_g − μ̂),     B_g = D_g/(A + D_g),     μ̂ the mean of all y weighted by 1/(A + D_g),

with a mean squared error of A·B_g + B_g²/Σ 1/(A + D). How much groups differ, A, is not known either,
and where an estimate of it comes out 0, intervals that take it for the truth are far too narrow. So
nothing is plugged in: estimates and errors are averaged over A by its likelihood (restricted, flat in
A), and what the estimates vary by with A is part of their error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.errors import TableError
from deniable.numeric.levels import normal_reach
from deniable.numeric.shares import proportions
from deniable.release.numbers.statistics import mean, score_of
from deniable.release.release import ReleasedTables
from deniable.schema.labels import FEWEST
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    import pandas as pd

    from deniable.collector.tally import TallyCounts

FEWEST_GROUPS = 5
"""From fewer groups, nobody can tell how much groups differ."""

_POINTS = 240
_PASSES = 2
"""Variances are taken where all groups are alike, then again at what each group is estimated to be."""


@dataclass(frozen=True, eq=False)
class Borrowed:
    """Estimates of groups, their root mean squared errors, and how much their own reports count."""

    values: Floats
    errors: Floats
    own: Floats
    between: float
    """The standard deviation between groups."""


def borrow(values: Floats, variances: Floats) -> Borrowed:
    """Return estimates of groups from their own ones with these variances, which may be infinite."""
    variances, is_told = variances.clip(1e-12, None), np.isfinite(variances)
    if is_told.sum() < FEWEST_GROUPS:
        raise TableError(
            f"Groups borrow from each other where at least {FEWEST_GROUPS} of them tell something by "
            f"themselves; here {int(is_told.sum())} do."
        )
    y, precision = np.where(is_told, values, 0.0), 1 / variances
    typical = float(np.median(variances[is_told]))
    top = 1e3 * (typical + float(np.var(y[is_told])))
    grid = np.append(0.0, np.geomspace(1e-6 * float(variances[is_told].min()), top, _POINTS))[
        :, None
    ]
    weight = 1 / (grid + variances)  # of a group in the mean, given A
    total = weight.sum(axis=1, keepdims=True)
    centre = (weight @ y / total[:, 0])[:, None]
    misfit = (weight * (y - centre) ** 2)[:, is_told].sum(axis=1)
    logs = (np.log(weight[:, is_told]).sum(axis=1) - np.log(total[:, 0]) - misfit) / 2
    chance = np.exp(logs - logs.max()) * np.gradient(grid[:, 0])
    chance = (chance / chance.sum())[:, None]
    shrinkage = 1 / (1 + grid * precision)  # B, 1 where a group tells nothing
    estimates = y + shrinkage * (centre - y)
    squares = grid * shrinkage + shrinkage**2 / total
    best = (chance * estimates).sum(axis=0)
    square = (chance * (squares + (estimates - best) ** 2)).sum(axis=0)
    own = 1 - (chance * shrinkage).sum(axis=0)
    return Borrowed(best, np.sqrt(square), own, float((chance * np.sqrt(grid)).sum()))


def borrowed(
    tallies: Mapping[str, TallyCounts],
    total: ReleasedTables,
    by: Sequence[str],
    name: str,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return every group's share of each value, or mean of a number, small groups included.

    A row per group (and value; of yes/no attributes, of yes) with its ``estimate``, its own
    ``direct`` one, ``root_mean_squared_error``, ``low`` and ``high``, ``people``, and ``own_weight``,
    the part of the estimate that comes from its own reports. ``attrs`` says how much groups differ.
    """
    import pandas as pd

    reach = normal_reach(level)
    total.needs_covariance("Borrowing between groups")
    index = total.survey.schema.index(name)
    attribute = total.survey.schema.attributes[index]
    releases = {
        group: ReleasedTables(tally, "none", total.estimator) for group, tally in tallies.items()
    }
    if attribute.scale is not None:
        rows = _frame(releases, by, _mean(releases, total, name), reach)
        frame = _within(rows, float(attribute.numbers[0]), float(attribute.numbers[-1]))
    else:
        every = dict(zip(attribute.values, _shares(releases, total, index), strict=True))
        every = {True: every[True]} if attribute.values == (False, True) else every
        parts = [
            _frame(releases, by, part, reach).assign(value=value) for value, part in every.items()
        ]
        whole = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
        frame = _within(whole[[*by, "value", *whole.columns[len(by) : -1]]], 0.0, 1.0)
    frame.attrs.update(
        what=f"mean of {name}" if attribute.scale is not None else f"shares of {name}",
        by=list(by),
        unit=attribute.unit,
        level=level,
        method="borrowed: each group's own reports, and the mean of all groups",
        simulated=total.simulated,
        few=FEWEST,
    )
    return frame


class _Part(NamedTuple):
    """Groups' own estimates, and what comes of borrowing."""

    direct: Floats
    borrowed: Borrowed


def _shares(
    releases: Mapping[str, ReleasedTables], total: ReleasedTables, attribute: int
) -> list[_Part]:
    """Return the groups' shares of each value."""
    row = np.array([[attribute]])
    tables = [release.evidence.tables(row) for release in releases.values()]
    direct = np.stack([np.where(each.known[0], each.values[0], np.nan) for each in tables])
    likely = np.broadcast_to(_possible(total.evidence.tables(row).values[0]), direct.shape)
    parts: list[_Part] = []
    for _ in range(_PASSES):
        variances = np.stack(
            [
                release.evidence.cell_variances(row, at[None])[0]
                for release, at in zip(releases.values(), likely, strict=True)
            ]
        )
        variances = np.where(np.isnan(direct), np.inf, variances)
        parts = [
            _Part(own, borrow(own, noise)) for own, noise in zip(direct.T, variances.T, strict=True)
        ]
        likely = _possible(np.stack([part.borrowed.values for part in parts], axis=1))
    return parts


def _possible(cells: Floats) -> Floats:
    """Return shares as people may have them, none of them zero."""
    return proportions(cells.clip(1e-3, None))


def _mean(releases: Mapping[str, ReleasedTables], total: ReleasedTables, name: str) -> _Part:
    """Return the groups' means of a number.

    How much a report tells is taken from all people: of a small group nobody could estimate it.
    """
    score = score_of(total.survey.schema, name)

    def reports(release: ReleasedTables) -> float:
        return release.forms.reports(release.forms.mean({total.survey.schema.index(name): score}))

    whole = mean(total, name)
    per_report = float(whole.standard_error) ** 2 * reports(total)
    direct = np.array([float(mean(release, name).raw) for release in releases.values()])
    counts = np.array([reports(release) for release in releases.values()])
    with np.errstate(divide="ignore"):
        variances = np.where(np.isfinite(direct), per_report / counts, np.inf)
    return _Part(direct, borrow(direct, variances))


def _frame(
    releases: Mapping[str, ReleasedTables], by: Sequence[str], part: _Part, reach: float
) -> pd.DataFrame:
    """Return a row per group."""
    import pandas as pd

    own = part.borrowed
    groups = [[release.group[label] for label in by] for release in releases.values()]
    return pd.DataFrame(groups, columns=list(by)).assign(
        estimate=own.values,
        root_mean_squared_error=own.errors,
        low=own.values - reach * own.errors,
        high=own.values + reach * own.errors,
        direct=part.direct,
        own_weight=own.own,
        people=[release.people for release in releases.values()],
    )


def _within(frame: pd.DataFrame, least: float, most: float) -> pd.DataFrame:
    """Return estimates and intervals within what is possible."""
    ends = ["estimate", "low", "high"]
    frame[ends] = frame[ends].clip(least, most)
    return frame
