"""Which attributes depend on each other: test, Cramér's V and mutual information of every pair.

The formulas are in `deniable.release.dependence`; here they are applied to all pairs of a release.
Where a margin is hardly known, or few reports stand behind a coefficient, W is not χ²: then its law is
drawn, with noise of the exact covariance about an independent table (the parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.decoding.evidence import MOST_COVARIED, CoefficientEvidence, Evidence, Tables
from deniable.errors import TableError
from deniable.release.dependence.effect_size import coarse_effect_size, effect_size, has_rare_values
from deniable.release.dependence.information import information, mutual_information, nearest
from deniable.release.dependence.information import margins as possible_margins
from deniable.release.dependence.residuals import Margins, Residuals, false_discoveries
from deniable.release.estimate import chunks_alike
from deniable.release.marginal import check_level
from deniable.survey.coefficients import Floats, Ints, all_tables, same_sizes

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables
Bools = NDArray[np.bool_]

DRAWS = 1000
"""How often the law of a statistic is drawn, where tables are small."""

_FEWEST_DRAWS = 200
_MOST_DRAWN = 1 << 24
"""The most numbers that are drawn together; tables for which that is too few stay with χ²."""

_FEW_REPORTS = 30
_TAIL = 10

COLUMNS = (
    *("statistic", "df", "p_value", "q_value", "cramers_v", "cramers_v_low", "cramers_v_high"),
    *("mutual_information", "mutual_information_low", "mutual_information_high", "detectable_v"),
)


@dataclass(frozen=True, eq=False)
class Dependence:
    """What is known about every pair of attributes, in the order of ``pairs``.

    ``columns`` are those of an association, and ``excess`` and ``standard_error`` of mutual
    information: what it is before what is below 0 counts as 0, by which pairs that hardly depend can
    be compared. Of pairs that are not ``known`` all are nan; of an estimator without a covariance, all
    but ``excess`` and ``mutual_information``.
    """

    pairs: Ints
    known: Bools
    columns: dict[str, Floats]
    method: NDArray[np.object_]


def dependence(release: ReleasedTables, *, level: float = 0.95) -> Dependence:
    """Return the dependence of every pair, from the estimates before anything is done to them."""
    check_level(level)
    survey = release.survey
    pairs = all_pairs(release)
    evidence = release.reading_evidence
    kinds, sizes_of = survey.kinds, survey.schema.sizes
    if isinstance(evidence, CoefficientEvidence):  # a number has a few values for its moments
        kinds, sizes_of = evidence.kinds, tuple(each.size for each in evidence.lists)
    sizes = np.array(sizes_of)[pairs]
    columns = {name: np.full(len(pairs), np.nan) for name in (*COLUMNS, "excess", "standard_error")}
    columns["df"] = (sizes - 1).prod(axis=1)
    is_known = np.zeros(len(pairs), np.bool_)
    method = np.full(len(pairs), "unknown", object)
    margins = margins_of(kinds, evidence.tables, evidence.cell_variances, release.people)
    random = release.generator("associations")
    for rows, cells in chunks_alike(kinds, sizes_of, pairs):
        if cells > MOST_COVARIED:
            continue
        part, is_bootstrap, measures = _measure(release, pairs[rows], margins, level, random)
        rows = rows[part]
        is_known[rows] = True
        if "statistic" in measures:
            method[rows] = np.where(is_bootstrap, "bootstrap", "wald")
        for name, column in measures.items():
            columns[name][rows] = column
    columns["q_value"] = false_discoveries(columns["p_value"])
    return Dependence(pairs, is_known, columns, method)


def all_pairs(release: ReleasedTables) -> Ints:
    """Return all pairs of attributes, unless the survey did not ask about pairs."""
    if release.survey.order < 2:
        raise TableError(
            "Tests of independence need tables of two attributes; this survey collected order 1."
        )
    return all_tables(len(release.survey.schema), 2)


def margins_of(
    kinds: Ints,
    estimate: Callable[[Ints], Tables],
    variances: Callable[[Ints], Floats],
    people: int,
) -> list[Floats]:
    """Return each attribute's shares as people may hold them, none of them zero."""
    every = np.arange(len(kinds))[:, None]
    shares: dict[int, Floats] = {}
    for alike in same_sizes(kinds, every):
        tables = estimate(every[alike])
        rows = possible_margins(tables.values, variances(every[alike]), people, tables.known)
        shares |= dict(zip(alike.tolist(), rows, strict=True))
    return [shares[attribute] for attribute in range(len(kinds))]


def _measure(
    release: ReleasedTables,
    pairs: Ints,
    margins: list[Floats],
    level: float,
    random: np.random.Generator,
) -> tuple[Bools, Bools, dict[str, Floats]]:
    """Return which pairs of the same sizes are known, whose law was drawn, and their columns."""
    evidence = release.reading_evidence
    estimates, covariance = evidence.tables(pairs), evidence.cell_covariances(pairs)
    is_tested = release.estimator in release.decoder.unbiased
    is_known = estimates.known & np.isfinite(estimates.values).all(axis=1)
    if is_tested:
        is_known &= np.isfinite(covariance).all(axis=(1, 2))
    pairs, covariance = pairs[is_known], covariance[is_known]
    hardly = np.zeros(len(pairs), np.bool_)
    if not len(pairs):
        return is_known, hardly, {}
    a, b = (np.array([margins[attribute] for attribute in column]) for column in pairs.T)
    cells = estimates.values[is_known].reshape(-1, a.shape[1], b.shape[1])
    if not is_tested:
        excess = mutual_information(nearest(cells, a, b))
        return is_known, hardly, {"excess": excess, "mutual_information": excess.clip(0, None)}
    residuals = Residuals.of(cells, covariance)
    columns = effect_size(residuals, covariance, level)
    for row in np.flatnonzero(has_rare_values(residuals.margins)).tolist():
        for name, value in coarse_effect_size(
            cells, covariance, residuals.margins, row, level
        ).items():
            columns[name][row] = value
    excess, error = information(residuals, cells, covariance, a, b, release.people)
    nats = excess.clip(0, None)
    columns |= {
        "excess": excess,
        "standard_error": error,
        "mutual_information": nats,
        # An interval of the merged table may not hold what the finer one is likeliest to have.
        "mutual_information_low": np.minimum(columns["mutual_information_low"], nats),
        "mutual_information_high": np.maximum(columns["mutual_information_high"], nats),
    }
    hardly = _hardly_known(evidence, pairs, residuals.margins)
    return is_known, hardly, columns | _test(evidence, pairs, cells, residuals, hardly, random)


def _test(
    evidence: Evidence,
    pairs: Ints,
    cells: Floats,
    residuals: Residuals,
    hardly: Bools,
    random: np.random.Generator,
) -> dict[str, Floats]:
    """Return W and its p-value: of χ², or drawn for pairs that are hardly known."""
    df = int((np.array(cells.shape[1:]) - 1).prod())
    statistic = residuals.statistic.copy()
    p_value = special.chdtrc(df, statistic)
    likely = [margin.clip(0, None) for margin in residuals.margins.likely]
    for row in np.flatnonzero(hardly).tolist():
        a, b = (margin[row] / margin[row].sum() for margin in likely)
        test = _bootstrap(evidence, pairs[row], cells[row], np.outer(a, b), random)
        statistic[row], p_value[row] = test
    return {"statistic": statistic, "p_value": p_value}


def _hardly_known(evidence: Evidence, pairs: Ints, margins: Margins) -> Bools:
    """Tell of which pairs W is not χ²: a share's noise is as large as p(1 − p), or few reports."""
    hardly = np.zeros(len(pairs), np.bool_)
    if (margins.a.shape[1] * margins.b.shape[1]) ** 2 * _FEWEST_DRAWS > _MOST_DRAWN:
        return hardly
    for margin, error in zip((margins.a, margins.b), margins.errors, strict=True):
        hardly |= (margin * (1 - margin) <= error**2).any(axis=1)
    if isinstance(evidence, CoefficientEvidence) and evidence.numbering.is_plain:
        hardly |= (evidence.coefficients(pairs)[1] < _FEW_REPORTS).any(axis=1)
    return hardly


def _bootstrap(
    evidence: Evidence, pair: Ints, cells: Floats, alone: Floats, random: np.random.Generator
) -> tuple[float, float]:
    """Return W with the covariance at independence, and its p-value by drawing it there.

    Below one in a hundred the tail goes on as that of χ², so that many pairs can be told apart.
    """
    covariance = evidence.cell_covariances(pair[None], alone.reshape(1, -1))
    draws = int(np.clip(_MOST_DRAWN // covariance.size, _FEWEST_DRAWS, DRAWS))
    size, axes = np.linalg.eigh(covariance[0])
    noise = random.standard_normal((draws, len(size))) * np.sqrt(size.clip(0, None)) @ axes.T
    tables = np.concatenate((cells[None], alone + noise.reshape(draws, *alone.shape)))
    covariances = np.broadcast_to(covariance, (draws + 1, *covariance.shape[1:]))
    own, *others = Residuals.of(tables, covariances).statistic.tolist()
    law = np.sort(others)
    df = int(np.prod(np.array(alone.shape) - 1))
    above = draws - int(np.searchsorted(law, own))
    if above >= _TAIL:
        return own, (above + 1) / (draws + 1)
    last = float(special.chdtrc(df, law[-_TAIL]))
    tail = float(special.chdtrc(df, own)) / last if last > 0 else 0.0
    return own, (_TAIL + 1) / (draws + 1) * min(1.0, tail)
