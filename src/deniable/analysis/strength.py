"""How strong a dependence is: Cramér's V and mutual information, without what noise adds.

Let Y = U/√(p_a·p_b) be a table's scaled residuals (U is in `residuals`), and C their covariance, by the
delta method. Noise adds tr C to |Y|², so φ² = |Y|² − tr C, and V = √(φ²/(min(r_a, r_b) − 1)).

*Intervals.* |Y|² follows c·χ²(ν, φ²/c) to two moments, with c = tr C²/tr C and ν = tr² C/tr C²; with
one degree of freedom this is the law of W itself. Its noncentrality is inverted: an interval's ends
are the φ² at which |Y|² would be as large, or as small, as it is once in 2/(1 − level) times.

*Mutual information* is that of the table p_a·p_b' + t·U, drawn towards independence (or beyond U) until
its φ² is the corrected one, or an interval's end. To second order this takes away tr C/2, which is
Var(ρ̂)/(2(1−θ_a²)(1−θ_b²)) for yes/no attributes, and it never takes away more than there is.

*Rare values.* Both divide by shares, so a value that hardly anybody has would drown everything else in
its noise. Values whose share cannot be told from 0 are therefore taken together: V and mutual
information are those of the coarser table, which a test of all values stands beside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.analysis.residuals import Margins, Residuals, both_sides

__all__ = ["has_rare_values", "strength", "taken_together"]

Floats = NDArray[np.float64]

_UNSAFE = 2.0
"""A share within so many standard errors of 0 may be nothing."""

_POWER, _SIZE = 0.8, 0.05


def strength(found: Residuals, spread: Floats, level: float) -> dict[str, Floats]:
    """Return V, mutual information, their intervals, and the V that can be found, by column."""
    margins, residual = found.margins, found.residual
    rows, *shape = residual.shape
    df = (shape[0] - 1) * (shape[1] - 1)
    pairs = list(zip(margins.likely, margins.errors, strict=True))
    unsafe = has_rare_values(margins)
    a, b = (np.maximum(p, error).clip(1e-12, None) for p, error in pairs)
    independent = b[:, :, None] * a[:, None, :]
    weight = 1 / np.sqrt(independent)
    scaled = weight * residual

    def change(errors: Floats) -> Floats:
        off = errors.reshape(*errors.shape[:2], *shape)
        of_a = off.sum(axis=2, keepdims=True) / a[:, None, None, :]
        of_b = off.sum(axis=3, keepdims=True) / b[:, None, :, None]
        own = found.change(errors).reshape(off.shape)
        made: Floats = weight[:, None] * own - scaled[:, None] / 2 * (of_a + of_b)
        return made.reshape(errors.shape)

    flat = weight.reshape(rows, -1)
    covariance = both_sides(spread, change)
    covariance += flat[:, :, None] * flat[:, None, :] * found.as_cells(found.second_order)
    noise = np.einsum("rii->r", covariance).clip(1e-300, None)
    scale = np.einsum("rij,rij->r", covariance, covariance) / noise
    square = (scaled**2).sum(axis=(1, 2))
    least, most = (
        scale * _noncentrality(square / scale, noise / scale, tail)
        for tail in ((1 + level) / 2, (1 - level) / 2)
    )
    most_square = min(shape) - 1
    low, high = (np.where(unsafe, end, ends) for end, ends in ((0.0, least), (most_square, most)))
    middle = (square - noise).clip(0, None)
    entropy = np.minimum(_entropy(a), _entropy(b))

    def information(phi: Floats, sign: float = 1.0) -> Floats:
        far = np.sqrt(np.divide(phi, square, out=np.zeros(rows), where=square > 0))
        table = (independent + sign * far[:, None, None] * residual).clip(0, None)
        told = special.kl_div(table, independent).sum(axis=(1, 2))
        within: Floats = np.minimum(told, entropy)
        return within

    beyond = np.where(low > 0, 0, information(high, -1.0))
    alone = np.einsum("rii->ri", found.as_cells(found.covariance))
    power = float(special.chndtrinc(special.chdtri(df, _SIZE), df, 1 - _POWER))
    least = power * (flat**2 * alone).sum(axis=1) / df / most_square
    detectable = np.sqrt(np.where(least > 0, least, np.inf))  # hopeless noise cancels out
    return {
        "cramers_v": _as_v(middle, most_square),
        "cramers_v_low": _as_v(low, most_square),
        "cramers_v_high": _as_v(high, most_square),
        "mutual_information": information(middle),
        "mutual_information_low": information(low),
        "mutual_information_high": np.where(unsafe, entropy, np.maximum(information(high), beyond)),
        "detectable_v": np.where(detectable <= 1, detectable, np.inf),
    }


def has_rare_values(margins: Margins) -> NDArray[np.bool_]:
    """Tell which tables have a value whose share cannot be told from 0."""
    pairs = zip(margins.likely, margins.errors, strict=True)
    rare: NDArray[np.bool_] = np.any([(p < _UNSAFE * e).any(axis=1) for p, e in pairs], axis=0)
    return rare


def taken_together(margin: Floats, spread: Floats) -> Floats:
    """Return a matrix of 0 and 1 that takes one attribute's rare values together (its last row).

    Rare are those whose share cannot be told from 0, and as many more, the rarest first, as it
    takes for the share of all of them to be.
    """
    order = np.argsort(margin, kind="stable")
    safe = margin >= _UNSAFE * np.sqrt(np.diag(spread).clip(0, None))
    rare, others = order[~safe[order]].tolist(), order[safe[order]].tolist()

    def is_told() -> bool:
        error = float(np.sqrt(max(0.0, float(spread[np.ix_(rare, rare)].sum()))))
        return float(margin[rare].sum()) >= _UNSAFE * error

    while rare and others and not is_told():
        rare.append(others.pop(0))
    kept = np.eye(len(margin))[sorted(others)]
    return np.vstack((kept, np.eye(len(margin))[rare].sum(axis=0))) if rare else kept


def _entropy(shares: Floats) -> Floats:
    """Return the entropy of shares, which may sum to more than 1 where hardly anything is known."""
    made: Floats = special.entr(shares / shares.sum(axis=1, keepdims=True).clip(1, None)).sum(
        axis=1
    )
    return made


def _as_v(square: Floats, most: float) -> Floats:
    """Return V of φ²."""
    made: Floats = np.sqrt((square / most).clip(0, 1))
    return made


def _noncentrality(value: Floats, df: Floats, chance: float) -> Floats:
    """Return where a noncentral χ² is at most this value with this chance; 0 where nowhere."""
    there = special.chdtr(df, value) > chance
    out = np.zeros(len(value))
    out[there] = special.chndtrinc(value[there], df[there], chance)
    return out
