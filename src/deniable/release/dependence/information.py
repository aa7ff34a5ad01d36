"""Mutual information of two attributes, without what noise adds.

An unbiased table may have cells that nobody's can be, so mutual information is that of the nearest
table that people may hold, with the margins of the 1-way tables (`nearest`).

Noise makes attributes look dependent. With U = P̂ − p̂_a·p̂_b' and V its covariance (`residuals`), mutual
information near independence is Σ U²/(2·p_a·p_b), so noise alone adds Σ V_ii/(2·p_a·p_b): for
attributes of two values Var(ρ̂)/(2(1−θ_a²)(1−θ_b²)). Where an attribute's values are rare, though, tables
that people may hold leave U little room, and mutual information grows less than its square: that would
take away far too much. So what is taken is the mean, over normal noise of variance V_ii, of what each
cell contributes once it is back between the bounds that its margins set.

Tables are arrays (rows, values of a, values of b), as in `residuals`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.numeric.covariances import variances_of
from deniable.numeric.shares import fit_proportionally, onto_simplex
from deniable.release.dependence.residuals import Residuals
from deniable.survey.coefficients import Floats

_PSEUDO = 0.5
"""How many people are thought to hold each value, or pair of values, beforehand (Jeffreys)."""

SAFE_PSEUDO = 2.0
"""The same where a test needs noise that is not too small, though few told of a share (Agresti)."""

_NODES = 33
"""Of the mean over normal noise, by Gauss and Hermite."""

_MOST_STEPS = 400
_SMALLEST_CHANGE = 1e-9


def mutual_information(cells: Floats) -> Floats:
    """Return the mutual information of each table that people may hold, in nats."""
    from scipy import special

    independent = cells.sum(axis=2)[:, :, None] * cells.sum(axis=1)[:, None, :]
    nats: Floats = special.rel_entr(cells, independent).sum(axis=(1, 2))
    return nats


def information(
    residuals: Residuals, cells: Floats, covariance: Floats, a: Floats, b: Floats, people: float
) -> tuple[Floats, Floats]:
    """Return the mutual information of tables, without what noise adds, and its standard error.

    ``a`` and ``b`` are the margins as people may hold them. It may be a little below zero, which
    compares pairs that hardly depend. Its variance is g'Σg of the slope g = log(P/p_a·p_b) at the
    table, or ½·tr(QV)², Q = 1/p_a·p_b, of the noise's square near independence, where g is noise as
    well and g'Σg would be twice as much: g'Σg − ½·tr(QV)² fits both, as far as it is the larger.
    """
    possible = nearest(cells, a, b)
    independent = a[:, :, None] * b[:, None, :]
    noise = residuals.as_cells(residuals.covariance)
    excess, share = _added_by_noise(noise, a, b)
    flat = independent.reshape(len(cells), -1)
    effective = effective_people(variances_of(covariance), people)
    smooth = smoothen(possible, independent, effective)
    slope = np.log(smooth / independent).reshape(flat.shape)
    relative = noise * (share[:, None] / flat)[:, :, None]
    second_order = np.einsum("rij,rji->r", relative, relative) / 2
    first_order = np.einsum("ri,rij,rj->r", slope, covariance, slope) * share
    variance = np.maximum(first_order - second_order, second_order)
    return mutual_information(possible) - excess, np.sqrt(variance)


def _added_by_noise(covariance: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return what noise adds where attributes are independent, and its share in ½·Σ V_ii/p_a·p_b."""
    from scipy import special

    rows, columns = a[:, :, None], b[:, None, :]
    independent = rows * columns
    low, high = np.maximum(0, rows + columns - 1), np.minimum(rows, columns)
    variance = variances_of(covariance).clip(1e-300, None).reshape(independent.shape)
    excess = np.zeros(len(independent))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        cells = (independent + node * np.sqrt(variance)).clip(low, high)
        excess += weight * special.kl_div(cells, independent).sum(axis=(1, 2))
    return excess, excess / (variance / (2 * independent)).sum(axis=(1, 2))


def effective_people(variances: Floats, people: float) -> Floats:
    """Return how many people, asked openly, would tell each table (rows) as well as it is known.

    That is 1/Var of a coefficient, as cells' variances have it if all values are alike. (With cells'
    own shares, an attribute that everybody has would seem to be known by nobody.) Nobody tells a
    table that is not known; all people tell one whose noise is not.
    """
    even = 1 - 1 / variances.shape[1]
    effective = np.full(len(variances), float(people))
    total = variances.sum(axis=1)
    noisy = total > even / people
    effective[noisy] = even / total[noisy]
    return effective


def smoothen(possible: Floats, independent: Floats, people: Floats) -> Floats:
    """Return tables moved towards independence, a little, which keeps their margins."""
    weight = 1 / (1 + _PSEUDO * independent[0].size / np.maximum(people, 1e-9))[:, None, None]
    smooth: Floats = weight * possible + (1 - weight) * independent
    return smooth


def margins(
    values: Floats,
    variances: Floats,
    people: float,
    is_known: NDArray[np.bool_],
    pseudo: float = _PSEUDO,
) -> Floats:
    """Return shares (rows) as people may hold them, none zero; even ones where nothing is known.

    ``pseudo`` people are thought to hold each value beforehand.
    """
    possible = onto_simplex(np.where(is_known[:, None], values, 0))
    effective = np.where(is_known, effective_people(variances, people), 0)
    weight = 1 / (1 + values.shape[1] * pseudo / np.maximum(effective, 1e-9))[:, None]
    smooth: Floats = weight * possible + (1 - weight) / values.shape[1]
    return smooth


def nearest(cells: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the nearest tables without a negative cell that have these margins.

    With two values each, that is θ_ab clipped to |θ_a+θ_b|−1 … 1−|θ_a−θ_b|; otherwise, Dykstra's
    alternating projections, whose rest iterative proportional fitting takes away.
    """
    tables = _with_margins(cells, rows, columns)
    if tables.shape[1:] == (2, 2):
        low = -np.minimum(tables[:, 0, 0], tables[:, 1, 1])
        high = np.minimum(tables[:, 0, 1], tables[:, 1, 0])
        turn = np.array([[1.0, -1.0], [-1.0, 1.0]])
        inside: Floats = tables + np.maximum(low, np.minimum(high, 0))[:, None, None] * turn
        return np.maximum(inside, 0)
    below = tables.min(axis=(1, 2)) < 0
    if below.any():
        tables[below] = _project(tables[below], rows[below], columns[below])
    return tables


def _with_margins(cells: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the nearest tables with these margins, whatever the sign of their cells."""
    _, height, width = cells.shape
    by_row = (rows - cells.sum(axis=2)) / width
    by_column = (columns - cells.sum(axis=1)) / height
    both = (1 - cells.sum(axis=(1, 2))) / (height * width)
    tables: Floats = cells + by_row[:, :, None] + by_column[:, None, :] - both[:, None, None]
    return tables


def _project(tables: Floats, rows: Floats, columns: Floats) -> Floats:
    """Alternate between the right margins and no negative cell."""
    push = np.zeros_like(tables)
    above = tables
    for _ in range(_MOST_STEPS):
        before = above
        above = (tables + push).clip(0, None)
        push = tables + push - above
        tables = _with_margins(above, rows, columns)
        if np.abs(above - before).max() < _SMALLEST_CHANGE:
            break
    goals = rows[:, :, None], columns[:, None, :]
    enough = _SMALLEST_CHANGE * float(columns.min())
    return fit_proportionally(above + 1e-12 * goals[0] * goals[1], goals, _MOST_STEPS, enough)
