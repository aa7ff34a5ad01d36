"""Cramér's V and its interval, and the interval of mutual information, without what noise adds.

Let Y = U/√(p_a·p_b) be a table's scaled residuals (U is in `residuals`), and C their covariance, by the
delta method. Noise adds tr C to |Y|², so φ² = |Y|² − tr C, and V = √(φ²/(min(r_a, r_b) − 1)).

*Intervals.* |Y|² follows c·χ²(ν, φ²/c) to two moments, with c = tr C²/tr C and ν = tr² C/tr C²; with
one degree of freedom this is the law of W itself. Its noncentrality is inverted: an interval's ends
are the φ² at which |Y|² would be as large, or as small, as it is once in 2/(1 − level) times. The ends
for mutual information are that of the table p_a·p_b' + t·U with t such that its φ² is an end; how much
it is likeliest to be is in `information`.

*Rare values.* Both divide by shares, so a value that hardly anybody has would drown everything else in
its noise. Values whose share cannot be told from 0 are therefore merged: V and the intervals are
those of the coarser table, which a test of all values stands beside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.release.dependence.residuals import Margins, Residuals, both_sides
from deniable.survey.coefficients import Floats

_UNSAFE = 2.0
"""A share within so many standard errors of 0 may be nothing."""

_POWER, _SIZE = 0.8, 0.05


class _ScaledResiduals(NamedTuple):
    """Scaled residuals: margins, p_a·p_b', |Y|², tr C and tr C²."""

    a: Floats
    b: Floats
    independent: Floats
    square: Floats
    trace: Floats
    trace_of_square: Floats


def effect_size(residuals: Residuals, cell_covariance: Floats, level: float) -> dict[str, Floats]:
    """Return V, its interval and that of mutual information, and the detectable V, by column."""
    y = _scale(residuals, cell_covariance)
    square, noise = y.square, y.trace.clip(1e-300, None)
    scale = y.trace_of_square / noise
    least, most = (
        scale * _noncentrality(square / scale, noise / scale, tail)
        for tail in ((1 + level) / 2, (1 - level) / 2)
    )
    largest = min(residuals.residual.shape[1:]) - 1
    unsafe = has_rare_values(residuals.margins)
    low, high = np.where(unsafe, 0.0, least), np.where(unsafe, largest, most)
    entropy = np.minimum(_entropy(y.a), _entropy(y.b))

    def information(phi: Floats, sign: float = 1.0) -> Floats:
        far = np.sqrt(np.divide(phi, square, out=np.zeros(len(phi)), where=square > 0))
        cells = y.independent + sign * far[:, None, None] * residuals.residual
        nats = special.kl_div(cells.clip(0, None), y.independent).sum(axis=(1, 2))
        within: Floats = np.minimum(nats, entropy)
        return within

    beyond = np.where(low > 0, 0, information(high, -1.0))
    return {
        "cramers_v": _as_v(square - noise, largest),
        "cramers_v_low": _as_v(low, largest),
        "cramers_v_high": _as_v(high, largest),
        "mutual_information_low": information(low),
        "mutual_information_high": np.where(unsafe, entropy, np.maximum(information(high), beyond)),
        "detectable_v": _detectable(residuals, y.independent),
    }


def _scale(residuals: Residuals, cell_covariance: Floats) -> _ScaledResiduals:
    """Return what V needs to know of the scaled residuals."""
    margins, residual = residuals.margins, residuals.residual
    sizes = residual.shape[1:]
    pairs = zip(margins.likely, margins.errors, strict=True)
    a, b = (np.maximum(p, error).clip(1e-12, None) for p, error in pairs)
    independent = a[:, :, None] * b[:, None, :]
    weight = 1 / np.sqrt(independent)
    y = weight * residual

    def change(errors: Floats) -> Floats:
        off = errors.reshape(*errors.shape[:2], *sizes)
        of_a = off.sum(axis=3, keepdims=True) / a[:, None, :, None]
        of_b = off.sum(axis=2, keepdims=True) / b[:, None, None, :]
        own = residuals.change(errors).reshape(off.shape)
        change: Floats = weight[:, None] * own - y[:, None] / 2 * (of_a + of_b)
        return change.reshape(errors.shape)

    flat = weight.reshape(len(weight), -1)
    covariance = both_sides(cell_covariance, change)
    covariance += flat[:, :, None] * flat[:, None, :] * residuals.as_cells(residuals.second_order)
    return _ScaledResiduals(
        a,
        b,
        independent,
        (y**2).sum(axis=(1, 2)),
        np.einsum("rii->r", covariance),
        np.einsum("rij,rij->r", covariance, covariance),
    )


def _detectable(residuals: Residuals, independent: Floats) -> Floats:
    """Return the V that a test at the 5 % level finds four times in five; infinite above 1."""
    sizes = independent.shape[1:]
    df = (sizes[0] - 1) * (sizes[1] - 1)
    variance = np.einsum("rii->ri", residuals.as_cells(residuals.covariance))
    power = float(special.chndtrinc(special.chdtri(df, _SIZE), df, 1 - _POWER))
    noise = (variance / independent.reshape(len(variance), -1)).sum(axis=1)
    square = power * noise / df / (min(sizes) - 1)
    detectable = np.sqrt(np.where(square > 0, square, np.inf))  # hopeless noise cancels out
    return np.where(detectable <= 1, detectable, np.inf)


def has_rare_values(margins: Margins) -> NDArray[np.bool_]:
    """Tell which tables have a value whose share cannot be told from 0."""
    pairs = zip(margins.likely, margins.errors, strict=True)
    rare: NDArray[np.bool_] = np.any([(p < _UNSAFE * e).any(axis=1) for p, e in pairs], axis=0)
    return rare


def coarse_effect_size(
    cells: Floats, covariance: Floats, margins: Margins, row: int, level: float
) -> dict[str, float]:
    """Return the effect size of one pair with its rare values merged; none if all are rare."""
    a = merge_rare(margins.a[row], margins.covariance_a[row])
    b = merge_rare(margins.b[row], margins.covariance_b[row])
    if min(len(a), len(b)) < 2:
        return {}
    both = np.kron(a, b)
    coarse = (both @ covariance[row] @ both.T)[None]
    residuals = Residuals.of((a @ cells[row] @ b.T)[None], coarse)
    return {
        name: float(column[0]) for name, column in effect_size(residuals, coarse, level).items()
    }


def merge_rare(margin: Floats, covariance: Floats) -> Floats:
    """Return a matrix of 0 and 1 that merges one attribute's rare values (its last row).

    Rare are those whose share cannot be told from 0, and as many more, the rarest first, as it
    takes for the share of all of them to be.
    """
    order = np.argsort(margin, kind="stable")
    safe = margin >= _UNSAFE * np.sqrt(np.diag(covariance).clip(0, None))
    rare, others = order[~safe[order]].tolist(), order[safe[order]].tolist()

    def is_told() -> bool:
        error = float(np.sqrt(max(0.0, float(covariance[np.ix_(rare, rare)].sum()))))
        return float(margin[rare].sum()) >= _UNSAFE * error

    while rare and others and not is_told():
        rare.append(others.pop(0))
    single = np.eye(len(margin))[sorted(others)]
    return np.vstack((single, np.eye(len(margin))[rare].sum(axis=0))) if rare else single


def _entropy(shares: Floats) -> Floats:
    """Return the entropy of shares, which may sum to more than 1 where hardly anything is known."""
    within = shares / shares.sum(axis=1, keepdims=True).clip(1, None)
    entropy: Floats = special.entr(within).sum(axis=1)
    return entropy


def _as_v(square: Floats, largest: float) -> Floats:
    v: Floats = np.sqrt((square / largest).clip(0, 1))
    return v


def _noncentrality(value: Floats, df: Floats, chance: float) -> Floats:
    """Return where a noncentral χ² is at most this value with this chance; 0 where nowhere."""
    there = special.chdtr(df, value) > chance
    out = np.zeros(len(value))
    out[there] = special.chndtrinc(value[there], df[there], chance)
    return out
