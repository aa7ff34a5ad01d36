"""Cramér's V and its interval, and mutual information, without what noise adds.

Let Y = U/√(p_a·p_b) be a table's scaled residuals (U is in `residuals`), and C their covariance, by the
delta method. Noise adds tr C to |Y|², so φ² = |Y|² − tr C, and V = √(φ²/(min(r_a, r_b) − 1)). Mutual
information is that of the table p_a·p_b' + t·U with t such that its φ² is the one that is told.

*Intervals.* |Y|² follows c·χ²(ν, φ²/c) to two moments, with c = tr C²/tr C and ν = tr² C/tr C²; with
one degree of freedom this is the law of W itself. An interval holds the φ at which |Y|² lies neither in
the upper tail, of chance α/2 + Φ(−z − 2φ/√c) with z = Φ⁻¹(1 − α/2), nor in the lower one, which has the
rest of α: with one degree of freedom, |Y| ± z·√c. The noise is that of an independent table at φ = 0, as
in the test, and goes on to that of the estimate at |Y|; and at 0 the upper tail has all of α. So the
interval begins above 0 exactly where the test of independence has p < α. Of many values W is another
sum of squares than |Y|², and the two may not agree: what the test does not find begins at 0, and what
only the test finds begins at the least φ² that the noncentrality of W allows in any direction.

*Rare values.* Both divide by shares, so a value that hardly anybody has would drown everything else in
its noise. Values whose share cannot be told from 0 are therefore merged: V and mutual information are
those of the coarser table, which a test of all values stands beside. Where that leaves fewer than two
values V may be as large as can be; estimate and lower end take the largest shares that they may have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.design.reading import noncentrality
from deniable.numeric.covariances import both_sides, standard_errors
from deniable.numeric.roots import bracket
from deniable.numeric.shares import ratio
from deniable.release.dependence.residuals import Margins, Residuals
from deniable.release.dependence.selection import Effects
from deniable.survey.coefficients import Floats

Bools = NDArray[np.bool_]

_UNSAFE = 2.0
"""A share within so many standard errors of 0 may be nothing."""

_FAR = 1e4
"""Beyond this noncentrality the root of χ² is normal."""


@dataclass(frozen=True, eq=False)
class Noise:
    """What noise makes of |Y|²: ``scale``·χ² with ``df`` degrees of freedom, to two moments."""

    scale: Floats
    df: Floats

    @classmethod
    def of(cls, trace: Floats, trace_of_square: Floats) -> Noise:
        """Return what a covariance with these traces, of it and of its square, makes."""
        # No covariance has tr C² > tr² C, but of what rounding leaves of hopeless noise.
        trace = np.maximum(trace, np.sqrt(trace_of_square)).clip(1e-150, None)
        return cls(trace_of_square / trace, trace**2 / trace_of_square.clip(1e-300, None))

    @property
    def mean(self) -> Floats:
        """Return what it adds to |Y|²."""
        return self.scale * self.df

    def towards(self, other: Noise, part: Floats) -> Noise:
        """Return the noise that is this part of the way to another one."""
        scale = self.scale + part * (other.scale - self.scale)
        return Noise(scale, self.df + part * (other.df - self.df))

    def __getitem__(self, rows: Bools) -> Noise:
        return Noise(self.scale[rows], self.df[rows])


@dataclass(frozen=True, eq=False)
class EffectSize:
    """How far tables of the same sizes are from independent ones: |Y|², and its noise there and here."""

    a: Floats
    b: Floats
    residual: Floats
    square: Floats
    null: Noise
    """At the independent table."""
    noise: Noise
    """At the estimate, with that of the margins."""
    least: Floats
    """The least φ² for each unit of the noncentrality of W."""
    detectable: Floats
    """The φ that a test at the 5 % level finds four times in five."""
    is_unsafe: Bools
    """Whether a value is rare, so that V may be anything that the test allows."""

    @classmethod
    def of(cls, residuals: Residuals, null: Residuals, cell_covariance: Floats) -> EffectSize:
        """Return the effect sizes of tables; ``null`` are the residuals of independent ones' noise."""
        margins, residual = residuals.margins, residuals.residual
        is_unsafe = has_rare_values(margins)
        room = np.where(is_unsafe, _UNSAFE, 0)[:, None]
        a, b = (
            np.maximum(likely + room * error, error).clip(1e-12, None)
            for likely, error in zip(margins.likely, margins.errors, strict=True)
        )
        weight = 1 / np.sqrt(a[:, :, None] * b[:, None, :])
        there, least, variance = _null_noise(null, weight)
        df = int(np.prod(np.array(residual.shape[1:]) - 1))
        return cls(
            a,
            b,
            residual,
            ((weight * residual) ** 2).sum(axis=(1, 2)),
            there,
            _noise_here(residuals, cell_covariance, a, b),
            least,
            np.sqrt(np.where(variance > 0, noncentrality(df) * variance / df, np.inf)),
            is_unsafe,
        )

    @property
    def largest(self) -> int:
        """Return the largest φ² of such tables."""
        return int(min(self.residual.shape[1:])) - 1

    @property
    def to_shrink(self) -> Effects:
        """Return |Y|² with the larger of both noises: what is far off by chance may seem to have little.

        A V of 1 is as much in any table.
        """
        larger = self.noise.mean > self.null.mean
        scale = np.where(larger, self.noise.scale, self.null.scale)
        df = np.where(larger, self.noise.df, self.null.df)
        return Effects(self.square, scale, df, np.full_like(scale, self.largest))

    def v(self, phi: Floats) -> Floats:
        """Return Cramér's V."""
        v: Floats = (phi / np.sqrt(self.largest)).clip(0, 1)
        return v

    @property
    def detectable_v(self) -> Floats:
        """Return the V that a test at the 5 % level finds four times in five; infinite above 1."""
        v = self.detectable / np.sqrt(self.largest)
        return np.where(v <= 1, v, np.inf)

    def ends(self, p_value: Floats, alpha: Floats) -> tuple[Floats, Floats]:
        """Return the φ between which an interval of level 1 − α lies, of each row.

        ``p_value`` is of the test of independence: the interval begins above 0 where it is below α.
        """
        low = np.zeros_like(alpha)
        rows = p_value < alpha
        if rows.any():
            low[rows] = self._low(rows, p_value[rows], alpha[rows])
        top = np.sqrt(self.square) - special.ndtri(alpha / 2) * np.sqrt(self.noise.scale)
        high, _ = bracket(
            lambda phi: _lower_tail(self.square, phi, self.noise, alpha) > 0, 0.0, top
        )
        most = np.sqrt(self.largest)
        return np.minimum(low, most), np.where(self.is_unsafe, most, np.minimum(high, most))

    def _low(self, rows: Bools, p_value: Floats, alpha: Floats) -> Floats:
        square, null, noise = self.square[rows], self.null[rows], self.noise[rows]

        def is_below(phi: Floats) -> Bools:
            null_here = null.towards(noise, ratio(phi**2, square))
            return _upper_tail(square, phi, null_here, alpha) < 0

        low: Floats = bracket(is_below, np.zeros_like(square), np.sqrt(square))[0]
        unseen = low <= 1e-9 * np.sqrt(square)
        if unseen.any():
            df = float(np.prod(np.array(self.residual.shape[1:]) - 1))
            statistic = np.asarray(special.chdtri(df, p_value[unseen].clip(1e-300, None)), float)
            test = Noise(np.ones_like(statistic), np.full_like(statistic, df))
            limit = alpha[unseen]
            root, _ = bracket(
                lambda x: _upper_tail(statistic, x, test, limit) < 0, 0.0, np.sqrt(statistic)
            )
            low[unseen] = root * np.sqrt(self.least[rows][unseen])
        return low

    def information(self, phi: Floats) -> Floats:
        """Return the mutual information, in nats, of tables with this φ in the direction of U."""
        return np.minimum(self._nats(phi), self._entropy)

    def most_information(self, low: Floats, high: Floats) -> Floats:
        """Return the most of tables up to this φ; in either direction, where it may be 0."""
        opposite = np.where(low > 0, 0, self._nats(-high))
        nats = np.minimum(np.maximum(self._nats(high), opposite), self._entropy)
        return np.where(self.is_unsafe, self._entropy, nats)

    def _nats(self, phi: Floats) -> Floats:
        root, independent = np.sqrt(self.square), self.a[:, :, None] * self.b[:, None, :]
        cells = independent + ratio(phi, root)[:, None, None] * self.residual
        nats: Floats = special.kl_div(cells.clip(0, None), independent).sum(axis=(1, 2))
        return nats

    @property
    def _entropy(self) -> Floats:
        return np.minimum(_entropy(self.a), _entropy(self.b))


def _null_noise(null: Residuals, weight: Floats) -> tuple[Noise, Floats, Floats]:
    """Return the noise of |Y|² at independence, the least φ² per noncentrality, and tr C."""
    covariance = null.covariance
    if covariance.shape[1] == 1:
        trace = covariance[:, 0, 0] * (weight**2).sum(axis=(1, 2)) / weight[0].size
        return Noise.of(trace, trace**2), trace.clip(0, None), trace
    flat = weight.reshape(len(weight), -1)
    scaled = flat[:, :, None] * null.as_cells(covariance) * flat[:, None, :]
    trace = np.einsum("rii->r", scaled)
    least = np.linalg.eigvalsh(scaled)[:, -covariance.shape[1]].clip(0, None)
    return Noise.of(trace, np.einsum("rij,rij->r", scaled, scaled)), least, trace


def _noise_here(residuals: Residuals, cell_covariance: Floats, a: Floats, b: Floats) -> Noise:
    """Return the noise of |Y|² at the estimate, with that of the margins it is scaled by."""
    sizes, weight = residuals.residual.shape[1:], 1 / np.sqrt(a[:, :, None] * b[:, None, :])
    y = weight * residuals.residual

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
    trace = np.einsum("rii->r", covariance)
    return Noise.of(trace, np.einsum("rij,rij->r", covariance, covariance))


def has_rare_values(margins: Margins) -> Bools:
    """Tell which tables have a value whose share cannot be told from 0."""
    pairs = zip(margins.likely, margins.errors, strict=True)
    rare: Bools = np.any([(p < _UNSAFE * e).any(axis=1) for p, e in pairs], axis=0)
    return rare


def coarse_effect_size(
    cells: Floats, covariance: Floats, null_covariance: Floats, margins: Margins, row: int
) -> EffectSize | None:
    """Return the effect size of one pair with its rare values merged; none if all are rare."""
    a = merge_rare(margins.a[row], margins.covariance_a[row])
    b = merge_rare(margins.b[row], margins.covariance_b[row])
    if min(len(a), len(b)) < 2:
        return None
    both = np.kron(a, b)
    here, there = ((both @ each[row] @ both.T)[None] for each in (covariance, null_covariance))
    coarse = (a @ cells[row] @ b.T)[None]
    residuals, null = Residuals.of(coarse, here), Residuals.of(coarse, there)
    return EffectSize.of(residuals, null, here)


def merge_rare(margin: Floats, covariance: Floats) -> Floats:
    """Return a matrix of 0 and 1 that merges one attribute's rare values (its last row).

    Rare are those whose share cannot be told from 0, and as many more, the rarest first, as it
    takes for the share of all of them to be.
    """
    order = np.argsort(margin, kind="stable")
    safe = margin >= _UNSAFE * standard_errors(covariance)
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


# Intervals


def _upper_tail(square: Floats, phi: Floats, noise: Noise, alpha: Floats) -> Floats:
    """Return the chance of as much or more at φ, less what an interval allows there."""
    far = phi / np.sqrt(noise.scale)
    return _above(square / noise.scale, noise.df, far) - _allowance(far, alpha)


def _lower_tail(square: Floats, phi: Floats, noise: Noise, alpha: Floats) -> Floats:
    """Return the chance of as much or less at φ, less what an interval allows there."""
    far = phi / np.sqrt(noise.scale)
    return 1 - _above(square / noise.scale, noise.df, far) - (alpha - _allowance(far, alpha))


def _allowance(far: Floats, alpha: Floats) -> Floats:
    """Return the upper tail's part of α: all of it at 0, half of it far away."""
    part: Floats = alpha / 2 + special.ndtr(special.ndtri(alpha / 2) - 2 * far)
    return part


def _above(x: Floats, df: Floats, far: Floats) -> Floats:
    """Return the chance that a noncentral χ² with noncentrality far² is above x."""
    from scipy import stats

    root = np.sqrt(x)
    above: Floats = special.ndtr(far - root) + special.ndtr(-far - root)
    several = np.flatnonzero(df > 1 + 1e-6)
    if len(several):
        x, df, square = x[several], df[several], far[several] ** 2
        # Far away, the root of χ² is normal.
        mean, variance = df + square, (df + 2 * square) / (df + square) / 2
        normal = special.ndtr((np.sqrt(mean - variance) - root[several]) / np.sqrt(variance))
        near = square < _FAR
        normal[near] = stats.ncx2.sf(x[near], df[near], square[near])
        above[several] = normal
    return above
