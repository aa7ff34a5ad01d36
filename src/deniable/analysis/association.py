"""Which attributes go together: tests of independence that know the privacy noise.

The test is in `residuals`, the strength of a dependence in `strength`, beside this file. Where a margin
is hardly known, or few reports stand behind a coefficient, W is not χ²: then its law is drawn, with
noise of the exact covariance about an independent table (the parametric bootstrap).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from deniable.analysis.residuals import Margins, Residuals
from deniable.analysis.strength import has_rare_values, strength, taken_together
from deniable.decoding.evidence import MOST_COVARIED, CoefficientEvidence, Evidence
from deniable.errors import TableError
from deniable.release.estimate import in_chunks
from deniable.survey.coefficients import Ints, all_tables, same_sizes

if TYPE_CHECKING:
    import pandas as pd

    from deniable.release.release import Released

__all__ = ["COVERED", "NOT_COVERED", "associations", "false_discoveries", "paper_chi_square"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COVERED = "sampling of the people from their population, and privacy noise"
"""What intervals and tests take into account."""

NOT_COVERED = "non-response, and people who lie to their own device"
"""What they cannot."""

DRAWS = 1000
"""How often the law of a statistic is drawn, where tables are small."""

_FEWEST_DRAWS = 200
_MOST_DRAWN = 1 << 24
"""The most numbers that are drawn together; tables for which that is too few stay with χ²."""

_FEW_REPORTS = 30
_TAIL = 10

_COLUMNS = (
    *("statistic", "p_value", "cramers_v", "cramers_v_low", "cramers_v_high"),
    *("mutual_information", "mutual_information_low", "mutual_information_high", "detectable_v"),
)


def associations(release: Released, *, level: float = 0.95) -> pd.DataFrame:
    """Return a test of independence, and the strength, of each pair of attributes.

    One row per pair, the surest dependence first: ``statistic``, ``df``, ``p_value``, ``q_value``
    (Benjamini–Hochberg over all pairs), ``cramers_v`` and ``mutual_information`` (nats), both without
    what noise adds, with the ends of intervals at this level, ``detectable_v`` (the smallest V that
    this survey finds at the 5 % level with probability 0.8; infinite where it finds none), and
    ``method``: "wald", "bootstrap" where a margin is hardly known or few were asked, or "unknown" where
    a pair was never asked or has too many cells for a covariance. Values whose share cannot be told
    from 0 are taken together for V and mutual information (not for the test); where that leaves fewer
    than two values, the interval of V is 0 to 1.

    All this comes from the unbiased estimates, whatever was done to a release's tables afterwards.
    ``attrs`` says what is covered: sampling and privacy noise; not non-response, nor people who lie to
    their own device.
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise TableError(f"An interval's level must lie between 0 and 1, got {level!r}.")
    survey = release.survey
    release.needs_covariance("A test of independence")
    pairs = _pairs(release)
    sizes = np.array(survey.schema.sizes)[pairs]
    df = (sizes - 1).prod(axis=1)
    found = {name: np.full(len(pairs), np.nan) for name in _COLUMNS}
    method = np.full(len(pairs), "unknown", object)
    random = release.generator("associations")
    for alike in same_sizes(survey.schema.sizes, pairs):
        cells = int(sizes[alike[0]].prod())
        if cells > MOST_COVARIED:
            continue
        for rows in in_chunks(alike, cells):
            known, drawn, columns = _measure(release, pairs[rows], level, random)
            method[rows[known]] = np.where(drawn, "bootstrap", "wald")
            for name, column in columns.items():
                found[name][rows[known]] = column
    frame = _named(release, pairs).assign(
        statistic=found["statistic"],
        df=df,
        p_value=found["p_value"],
        q_value=false_discoveries(found["p_value"]),
        **{name: found[name] for name in _COLUMNS[2:]},
        method=method,
    )
    frame.attrs.update(
        level=level,
        people=release.people,
        simulated=release.simulated,
        plausible=release.plausible,
        covered=COVERED,
        not_covered=NOT_COVERED,
        unknown=f"pairs that were never asked, or have more than {MOST_COVARIED:,} cells",
    )
    return _sorted(frame)


def paper_chi_square(release: Released) -> pd.DataFrame:
    """Return the paper's χ² test of each pair, which takes estimates for counts: N·φ².

    It knows nothing of the privacy noise: where 5 % of the tests of independent attributes should find
    a dependence, .87 to .99 of them do (.74 with very little noise). It is here for comparison;
    `associations` is the test to use. Cells below 0 count as 0.
    """
    pairs = _pairs(release)
    sizes = np.array(release.survey.schema.sizes)[pairs]
    df, statistic = (sizes - 1).prod(axis=1), np.empty(len(pairs))
    for rows in same_sizes(release.survey.schema.sizes, pairs):
        cells = release.estimate(pairs[rows]).values.clip(0, None)
        table = (cells / cells.sum(axis=1, keepdims=True)).reshape(len(rows), *sizes[rows[0]][::-1])
        alone = table.sum(axis=2, keepdims=True) * table.sum(axis=1, keepdims=True)
        share = np.divide((table - alone) ** 2, alone, out=np.zeros_like(table), where=alone > 0)
        statistic[rows] = release.people * share.sum(axis=(1, 2))
    frame = _named(release, pairs)
    return _sorted(frame.assign(statistic=statistic, df=df, p_value=special.chdtrc(df, statistic)))


def _pairs(release: Released) -> Ints:
    """Return all pairs of attributes, unless the survey did not ask about pairs."""
    if release.survey.order < 2:
        raise TableError(
            "Tests of independence need tables of two attributes; this survey collected order 1."
        )
    return all_tables(len(release.survey.schema), 2)


def _named(release: Released, pairs: Ints) -> pd.DataFrame:
    """Return a frame of the names of pairs."""
    import pandas as pd

    names = np.array(release.survey.schema.names, object)
    return pd.DataFrame({"a": names[pairs[:, 0]], "b": names[pairs[:, 1]]})


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the surest dependence first."""
    return frame.sort_values(
        ["p_value", "statistic"], ascending=[True, False], kind="stable", ignore_index=True
    )


def false_discoveries(p_value: Floats) -> Floats:
    """Return q-values of the p-values that are numbers."""
    out = np.full(len(p_value), np.nan)
    there = np.isfinite(p_value)
    if there.any():
        out[there] = stats.false_discovery_control(p_value[there])
    return out


def _measure(
    release: Released, pairs: Ints, level: float, random: np.random.Generator
) -> tuple[Bools, Bools, dict[str, Floats]]:
    """Return which pairs of the same sizes are known, whose law was drawn, and their columns."""
    evidence = release.evidence
    estimates, spread = evidence.tables(pairs), evidence.cell_covariances(pairs)
    known = estimates.known & np.isfinite(spread).all(axis=(1, 2))
    pairs, spread = pairs[known], spread[known]
    shape = np.array(release.survey.schema.sizes)[pairs[:1]].ravel()[::-1]
    if not len(pairs):
        return known, np.zeros(0, np.bool_), {}
    cells = estimates.values[known].reshape(-1, *shape)
    found = Residuals.of(cells, spread)
    df = int((shape - 1).prod())
    p_value = special.chdtrc(df, found.statistic)
    statistic = found.statistic.copy()
    hardly = _hardly_known(evidence, pairs, found.margins)
    margins = [margin.clip(0, None) for margin in found.margins.likely]
    for row in np.flatnonzero(hardly).tolist():
        a, b = (margin[row] / margin[row].sum() for margin in margins)
        alone = np.outer(b, a)
        statistic[row], p_value[row] = _drawn(evidence, pairs[row], cells[row], alone, random)
    columns = strength(found, spread, level)
    for row in np.flatnonzero(has_rare_values(found.margins)).tolist():
        for name, value in _coarser(cells[row], spread[row], found.margins, row, level).items():
            columns[name][row] = value
    return known, hardly, {"statistic": statistic, "p_value": p_value} | columns


def _coarser(
    cells: Floats, spread: Floats, margins: Margins, row: int, level: float
) -> dict[str, float]:
    """Return the strength of one pair with its rare values taken together; none if all are rare."""
    a = taken_together(margins.a[row], margins.spread_a[row])
    b = taken_together(margins.b[row], margins.spread_b[row])
    if min(len(a), len(b)) < 2:
        return {}
    both = np.kron(b, a)
    made = (both @ spread @ both.T)[None]
    found = Residuals.of((b @ cells @ a.T)[None], made)
    return {name: float(column[0]) for name, column in strength(found, made, level).items()}


def _hardly_known(evidence: Evidence, pairs: Ints, margins: Margins) -> Bools:
    """Tell of which pairs W is not χ²: a share's noise is as large as its spread, or few reports."""
    hardly = np.zeros(len(pairs), np.bool_)
    if (margins.a.shape[1] * margins.b.shape[1]) ** 2 * _FEWEST_DRAWS > _MOST_DRAWN:
        return hardly
    for margin, error in zip((margins.a, margins.b), margins.errors, strict=True):
        hardly |= (margin * (1 - margin) <= error**2).any(axis=1)
    if isinstance(evidence, CoefficientEvidence) and evidence.numbering.is_plain:
        hardly |= (evidence.coefficients(pairs)[1] < _FEW_REPORTS).any(axis=1)
    return hardly


def _drawn(
    evidence: Evidence, pair: Ints, cells: Floats, alone: Floats, random: np.random.Generator
) -> tuple[float, float]:
    """Return W with the covariance at independence, and its p-value by drawing it there.

    Below one in a hundred the tail goes on as that of χ², so that many pairs can be told apart.
    """
    spread = evidence.cell_covariances(pair[None], alone.reshape(1, -1))
    draws = int(np.clip(_MOST_DRAWN // spread.size, _FEWEST_DRAWS, DRAWS))
    size, turned = np.linalg.eigh(spread[0])
    noise = random.standard_normal((draws, len(size))) * np.sqrt(size.clip(0, None)) @ turned.T
    laid = np.concatenate((cells[None], alone + noise.reshape(draws, *alone.shape)))
    every = Residuals.of(laid, np.broadcast_to(spread, (draws + 1, *spread.shape[1:]))).statistic
    own, law = float(every[0]), np.sort(every[1:])
    df = int(np.prod(np.array(alone.shape) - 1))
    above = draws - int(np.searchsorted(law, own))
    if above >= _TAIL:
        return own, (above + 1) / (draws + 1)
    last = float(special.chdtrc(df, law[-_TAIL]))
    tail = float(special.chdtrc(df, own)) / last if last > 0 else 0.0
    return own, (_TAIL + 1) / (draws + 1) * min(1.0, tail)
