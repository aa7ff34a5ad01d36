"""What pairs of attributes tell about each other, with the noise's own share taken away.

An unbiased table may have cells that nobody's can be, so mutual information is that of the nearest
table that people may hold, with the margins of the 1-way tables (`nearest`).

Noise makes attributes look dependent. With U = P̂ − p̂_a·p̂_b' and V its covariance (they are in
`deniable.analysis.residuals`), mutual information near independence is Σ U²/(2·p_a·p_b), so noise alone
adds Σ V_ii/(2·p_a·p_b): for attributes of two values Var(ρ̂)/(2(1−θ_a²)(1−θ_b²)). Where an attribute's
values are rare, though, tables that people may hold leave U little room, and mutual information grows
less than its square: that would take away far too much. So what is taken is the mean, over normal noise
of variance V_ii, of what each cell contributes once it is back between the bounds that its margins set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.analysis.residuals import Residuals
from deniable.release.estimate import in_chunks
from deniable.release.release import Released
from deniable.survey.coefficients import Ints, all_tables, same_sizes

__all__ = [
    "Information",
    "effective_people",
    "information",
    "margins_of",
    "mutual_information",
    "nearest",
    "pair_tables",
]

Floats = NDArray[np.float64]

_PSEUDO = 0.5
"""How many people are thought to hold each value, or pair of values, beforehand (Jeffreys)."""

_NODES = 33
"""Of the mean over normal noise, by Gauss and Hermite."""

_MOST_STEPS = 400
_SETTLED = 1e-9


class Information(NamedTuple):
    """What each pair shares, in nats; of pairs that are not ``known``, nothing is."""

    pairs: Ints
    mutual_information: Floats
    standard_error: Floats
    known: NDArray[np.bool_]


class _Part(NamedTuple):
    """Some pairs of the same sizes: their rows among all, tables (pairs, r_a, r_b), covariances."""

    rows: Ints
    pairs: Ints
    cells: Floats
    covariance: Floats
    known: NDArray[np.bool_]


def _parts(release: Released, pairs: Ints) -> Iterator[_Part]:
    """Yield the pairs' tables with covariances (cells in C order), a memory's worth at a time."""
    sizes = release.survey.schema.sizes
    for alike in same_sizes(sizes, pairs):
        a, b = (sizes[attribute] for attribute in pairs[alike[0]])
        order = np.arange(a * b).reshape(b, a).T.ravel()
        for rows in in_chunks(alike, a * b):
            found = release.estimate(pairs[rows])
            spread = release.covariances(pairs[rows])
            yield _Part(
                rows,
                pairs[rows],
                found.values[:, order].reshape(-1, a, b),
                spread[:, order[:, None], order],
                found.known & np.isfinite(found.values).all(axis=1),
            )


def effective_people(variances: Floats, people: int) -> Floats:
    """Return how many people, asked openly, would tell each table (rows) as well as it is known.

    That is 1/Var of a coefficient, as cells' variances have it if all values are alike. (With cells'
    own shares, an attribute that everybody has would seem to be known by nobody.) Nobody tells a
    table that is not known; all people tell one whose noise is not.
    """
    even = 1 - 1 / variances.shape[1]
    told = np.full(len(variances), float(people))
    total = variances.sum(axis=1)
    noisy = total > even / people
    told[noisy] = even / total[noisy]
    return told


def margins_of(release: Released) -> list[Floats]:
    """Return each attribute's shares, none of them zero; the same for all values if not known."""
    sizes = release.survey.schema.sizes
    every = np.arange(len(sizes))[:, None]
    made: dict[int, Floats] = {}
    for alike in same_sizes(sizes, every):
        found = release.estimate(every[alike])
        values = _onto_simplex(np.where(found.known[:, None], found.values, 0))
        people = effective_people(release.variances(every[alike]), release.people)
        people[~found.known] = 0
        weight = 1 / (1 + values.shape[1] * _PSEUDO / np.maximum(people, 1e-9))[:, None]
        smooth = weight * values + (1 - weight) / values.shape[1]
        made |= dict(zip(alike.tolist(), smooth, strict=True))
    return [made[attribute] for attribute in range(len(sizes))]


def _onto_simplex(values: Floats) -> Floats:
    """Return the nearest shares (rows) that are not negative and sum to 1."""
    falling = -np.sort(-values, axis=1)
    ranks = np.arange(1, values.shape[1] + 1)
    excess = (falling.cumsum(axis=1) - 1) / ranks
    kept = (falling > excess).sum(axis=1)
    over = excess[np.arange(len(values)), kept - 1]
    made: Floats = (values - over[:, None]).clip(0, None)
    return made


def nearest(cells: Floats, left: Floats, right: Floats) -> Floats:
    """Return the nearest tables (pairs, r_a, r_b) without a negative cell that have these margins.

    With two values each, that is θ_ab clipped to |θ_a+θ_b|−1 … 1−|θ_a−θ_b|; otherwise, Dykstra's
    alternating projections, whose rest iterative proportional fitting takes away.
    """
    made = _with_margins(cells, left, right)
    if made.shape[1:] == (2, 2):
        low = -np.minimum(made[:, 0, 0], made[:, 1, 1])
        high = np.minimum(made[:, 0, 1], made[:, 1, 0])
        turn = np.array([[1.0, -1.0], [-1.0, 1.0]])
        moved: Floats = made + np.maximum(low, np.minimum(high, 0))[:, None, None] * turn
        return np.maximum(moved, 0)
    below = made.min(axis=(1, 2)) < 0
    if below.any():
        made[below] = _projected(made[below], left[below], right[below])
    return made


def _with_margins(cells: Floats, left: Floats, right: Floats) -> Floats:
    """Return the nearest tables with these margins, whatever the sign of their cells."""
    _, a, b = cells.shape
    rows = (left - cells.sum(axis=2)) / b
    columns = (right - cells.sum(axis=1)) / a
    both = (1 - cells.sum(axis=(1, 2))) / (a * b)
    made: Floats = cells + rows[:, :, None] + columns[:, None, :] - both[:, None, None]
    return made


def _projected(made: Floats, left: Floats, right: Floats) -> Floats:
    """Alternate between the right margins and no negative cell."""
    pushed = np.zeros_like(made)
    above = made
    for _ in range(_MOST_STEPS):
        before = above
        above = (made + pushed).clip(0, None)
        pushed = made + pushed - above
        made = _with_margins(above, left, right)
        if np.abs(above - before).max() < _SETTLED:
            break
    above = above + 1e-12 * left[:, :, None] * right[:, None, :]
    for _ in range(_MOST_STEPS):
        above *= (left / above.sum(axis=2))[:, :, None]
        missed = right / above.sum(axis=1)
        above *= missed[:, None, :]
        if np.abs(missed - 1).max() < _SETTLED:
            break
    return above


def mutual_information(cells: Floats) -> Floats:
    """Return the mutual information of each table (pairs, r_a, r_b) in nats."""
    from scipy import special

    free = cells.sum(axis=2)[:, :, None] * cells.sum(axis=1)[:, None, :]
    told: Floats = special.rel_entr(cells, free).sum(axis=(1, 2))
    return told


def _residual_covariances(cells: Floats, covariance: Floats) -> Floats:
    """Return the covariance of U for tables whose cells are in C order."""
    count, a, b = cells.shape
    if not count:
        return covariance
    turn, back = (np.arange(a * b).reshape(shape).T.ravel() for shape in ((a, b), (b, a)))
    found = Residuals.of(cells.swapaxes(1, 2), covariance[:, turn[:, None], turn])
    return found.as_cells(found.covariance)[:, back[:, None], back]


def _noise(spread: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return what noise adds where attributes are independent, and its share in ½·Σ V_ii/p_a·p_b."""
    from scipy import special

    rows, columns = left[:, :, None], right[:, None, :]
    free = rows * columns
    low, high = np.maximum(0, rows + columns - 1), np.minimum(rows, columns)
    error = np.sqrt(np.einsum("rii->ri", spread).clip(1e-300, None)).reshape(free.shape)
    added = np.zeros(len(free))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        seen = (free + node * error).clip(low, high)
        added += weight * special.kl_div(seen, free).sum(axis=(1, 2))
    return added, added / (error**2 / (2 * free)).sum(axis=(1, 2))


def information(release: Released, margins: list[Floats]) -> Information:
    """Return the mutual information of every pair, without what noise adds.

    It may be a little below zero. Its variance is g'Σg of the slope g = log(P/p_a·p_b) at the table,
    or ½·tr(QV)², Q = 1/p_a·p_b, of the noise's square near independence, where g is noise as well
    and g'Σg would be twice as much: g'Σg − ½·tr(QV)² fits both, as far as it is the larger.
    """
    pairs = all_tables(len(release.survey.schema), 2)
    told, errors = np.zeros(len(pairs)), np.full(len(pairs), np.nan)
    known = np.zeros(len(pairs), np.bool_)
    for part in _parts(release, pairs):
        left, right = (np.array([margins[i] for i in column]) for column in part.pairs.T)
        known[part.rows] = part.known
        made = nearest(part.cells, left, right)
        raw = mutual_information(made)
        usable = np.isfinite(part.covariance).all(axis=(1, 2))
        spread = _residual_covariances(part.cells[usable], part.covariance[usable])
        free = left[:, :, None] * right[:, None, :]
        flat = (len(part.rows), -1)
        odds = free.reshape(flat)[usable]
        added, left_over = _noise(spread, left[usable], right[usable])
        raw[usable] -= added
        told[part.rows] = raw
        variances = np.einsum("rii->ri", part.covariance)
        smooth = _smoothed(made, free, effective_people(variances, release.people))
        slope = np.log(smooth / free).reshape(flat)[usable]
        scaled = spread * (left_over[:, None] / odds)[:, :, None]
        curved = np.einsum("rij,rji->r", scaled, scaled) / 2
        sloped = np.einsum("ri,rij,rj->r", slope, part.covariance[usable], slope) * left_over
        errors[part.rows[usable]] = np.sqrt(np.maximum(sloped - curved, curved))
    return Information(pairs, np.where(known, told, 0), np.where(known, errors, np.nan), known)


def _smoothed(made: Floats, free: Floats, people: Floats) -> Floats:
    """Return tables moved towards independence, a little, which keeps their margins."""
    weight = 1 / (1 + _PSEUDO * free[0].size / np.maximum(people, 1e-9))[:, None, None]
    smooth: Floats = weight * made + (1 - weight) * free
    return smooth


def pair_tables(release: Released, pairs: Ints, margins: list[Floats]) -> list[Floats]:
    """Return the table of each pair, as people may hold it, with these margins and no zero."""
    made: dict[int, Floats] = {}
    for part in _parts(release, pairs):
        left, right = (np.array([margins[i] for i in column]) for column in part.pairs.T)
        cells = nearest(part.cells, left, right)
        variances = np.einsum("rii->ri", part.covariance)
        people = effective_people(variances, release.people)
        smooth = _smoothed(cells, left[:, :, None] * right[:, None, :], people)
        made |= dict(zip(part.rows.tolist(), smooth, strict=True))
    return [made[row] for row in range(len(pairs))]
