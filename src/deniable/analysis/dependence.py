"""Which attributes depend on each other: test, Cramér's V and mutual information of every pair.

The formulas are in `deniable.release.dependence`; here they are applied to all pairs of a release.
Where a margin is hardly known, or few reports stand behind a coefficient, W is not χ²: then its law is
drawn, with noise of the exact covariance about an independent table (the parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.decoding.evidence import MOST_COVARIED, CoefficientEvidence, Evidence, Tables
from deniable.errors import TableError
from deniable.numeric.levels import check_level
from deniable.release.dependence.effect_size import EffectSize, coarse_effect_size
from deniable.release.dependence.information import (
    SAFE_PSEUDO,
    information,
    mutual_information,
    nearest,
)
from deniable.release.dependence.information import margins as possible_margins
from deniable.release.dependence.residuals import Margins, Residuals, statistics_of
from deniable.release.dependence.selection import (
    Effects,
    Prior,
    false_discoveries,
    misses,
)
from deniable.release.estimate import chunks_alike
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
_TAIL, _SOME = 10, 0.1
"""Where fewer of the first draws than this share lie above, more are drawn; at ten, the tail begins."""

COLUMNS = (
    *("statistic", "df", "p_value", "q_value", "cramers_v", "cramers_v_low", "cramers_v_high"),
    *("mutual_information", "mutual_information_low", "mutual_information_high"),
    *("interval_level", "detectable_v"),
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
    effects: list[tuple[Ints, EffectSize]]

    def sized(self, level: float, select: float | None) -> Dependence:
        """Return the same with how large the dependence of pairs is, and intervals."""
        columns = {name: column.copy() for name, column in self.columns.items()}
        p_value = columns["p_value"]
        alpha = misses(p_value, columns["statistic"], level, select)
        is_tested = self.known & np.isfinite(p_value)
        columns["interval_level"] = np.where(is_tested, 1 - alpha, np.nan)
        _put_sizes(columns, self.effects, alpha)
        return replace(self, columns=columns)


_RESULTS: WeakKeyDictionary[Evidence, dict[Any, Dependence]] = WeakKeyDictionary()
"""What was told of estimates last, by level and selection; by None, what is the same at all of them."""


def dependence(
    release: ReleasedTables, *, level: float = 0.95, select: float | None = None
) -> Dependence:
    """Return the dependence of every pair, from the estimates before anything is done to them.

    Intervals hold on average over the first pairs, the surest first, however many are looked at; or,
    with ``select``, over those with a q-value up to it. Estimates are measured once.
    """
    check_level(level)
    pairs, evidence = all_pairs(release), release.reading_evidence
    results = _RESULTS.setdefault(release.evidence, {})
    if None not in results:
        results[None] = _measured(release, pairs, evidence)
    if (level, select) not in results:  # only the last is held: whoever asks chooses levels
        results = {None: results[None], (level, select): results[None].sized(level, select)}
        _RESULTS[release.evidence] = results
    return results[level, select]


def _measured(release: ReleasedTables, pairs: Ints, evidence: Evidence) -> Dependence:
    survey = release.survey
    kinds, sizes_of = survey.kinds, survey.schema.sizes
    if isinstance(evidence, CoefficientEvidence):  # a number has a few values for its moments
        kinds, sizes_of = evidence.kinds, tuple(each.size for each in evidence.lists)
    sizes = np.array(sizes_of)[pairs]
    columns = {name: np.full(len(pairs), np.nan) for name in (*COLUMNS, "excess", "standard_error")}
    columns["df"] = (sizes - 1).prod(axis=1)
    is_known = np.zeros(len(pairs), np.bool_)
    method = np.full(len(pairs), "unknown", object)

    def even(tables: Ints) -> Floats:
        values = evidence.tables(tables).values
        return evidence.cell_variances(tables, np.full_like(values, 1 / values.shape[1]))

    people = release.people
    margins = (
        margins_of(kinds, evidence.tables, evidence.cell_variances, people),
        margins_of(kinds, evidence.tables, even, people, pseudo=SAFE_PSEUDO),
    )
    random = release.generator("associations")
    effects: list[tuple[Ints, EffectSize]] = []
    for rows, cells in chunks_alike(kinds, sizes_of, pairs):
        if cells > MOST_COVARIED:
            continue
        part = _measure(release, pairs[rows], margins, random)
        rows = rows[part.known]
        is_known[rows] = True
        effects += [(rows[own], effect) for own, effect in part.effects]
        if "statistic" in part.columns:
            method[rows] = np.where(part.drawn, "bootstrap", "wald")
        for name, column in part.columns.items():
            columns[name][rows] = column
    columns["q_value"] = false_discoveries(columns["p_value"])
    return Dependence(pairs, is_known, columns, method, effects)


def _put_sizes(
    columns: dict[str, Floats], effects: list[tuple[Ints, EffectSize]], alpha: Floats
) -> None:
    """Put how large the dependence of pairs is into their columns, with all pairs known."""
    if not effects:
        return
    every = Effects.together([effect.to_shrink for _, effect in effects])
    is_safe = ~np.concatenate([effect.is_unsafe for _, effect in effects])
    prior = Prior.of(every[is_safe] if is_safe.any() else every)
    for rows, effect in effects:
        low, high = effect.ends(columns["p_value"][rows], alpha[rows])
        phi = prior.length(effect.to_shrink).clip(low, high)
        for name, column in {
            "cramers_v": effect.v(phi),
            "cramers_v_low": effect.v(low),
            "cramers_v_high": effect.v(high),
            "mutual_information": effect.information(phi),
            "mutual_information_low": effect.information(low),
            "mutual_information_high": effect.most_information(low, high),
            "detectable_v": effect.detectable_v,
        }.items():
            columns[name][rows] = column


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
    **options: float,
) -> list[Floats]:
    """Return each attribute's shares as people may hold them, none of them zero."""
    every = np.arange(len(kinds))[:, None]
    shares: dict[int, Floats] = {}
    for alike in same_sizes(kinds, every):
        tables = estimate(every[alike])
        rows = possible_margins(
            tables.values, variances(every[alike]), people, tables.known, **options
        )
        shares |= dict(zip(alike.tolist(), rows, strict=True))
    return [shares[attribute] for attribute in range(len(kinds))]


class _Part(NamedTuple):
    """What is known of pairs of the same sizes; ``drawn`` and all others are of those ``known``."""

    known: Bools
    drawn: Bools
    columns: dict[str, Floats]
    effects: list[tuple[Ints, EffectSize]]


def _measure(
    release: ReleasedTables,
    pairs: Ints,
    margins: tuple[list[Floats], list[Floats]],
    random: np.random.Generator,
) -> _Part:
    """Return which pairs of the same sizes are known, whose law was drawn, and their columns.

    ``margins`` are likely ones, and those at which tests take their covariance.
    """
    evidence = release.reading_evidence
    estimates, covariance = evidence.tables(pairs), evidence.cell_covariances(pairs)
    is_tested = release.estimator in release.decoder.unbiased
    is_known = estimates.known & np.isfinite(estimates.values).all(axis=1)
    if is_tested:
        is_known &= np.isfinite(covariance).all(axis=(1, 2))
    pairs, covariance = pairs[is_known], covariance[is_known]
    hardly = np.zeros(len(pairs), np.bool_)
    if not len(pairs):
        return _Part(is_known, hardly, {}, [])
    a, b = (np.array([margins[0][attribute] for attribute in column]) for column in pairs.T)
    cells = estimates.values[is_known].reshape(-1, a.shape[1], b.shape[1])
    if not is_tested:
        excess = mutual_information(nearest(cells, a, b))
        nats = {"excess": excess, "mutual_information": excess.clip(0, None)}
        return _Part(is_known, hardly, nats, [])
    residuals = Residuals.of(cells, covariance)
    rows, columns = (np.array([margins[1][at] for at in column]) for column in pairs.T)
    alone = rows[:, :, None] * columns[:, None, :]
    null_covariance = evidence.cell_covariances(pairs, alone.reshape(len(pairs), -1))
    null = Residuals.of(cells, null_covariance)
    excess, error = information(residuals, cells, covariance, a, b, release.people)
    hardly = _hardly_known(evidence, pairs, residuals.margins)
    statistic = null.statistic
    p_value = special.chdtrc(int((np.array(cells.shape[1:]) - 1).prod()), statistic)
    if hardly.any():
        p_value[hardly] = _drawn(alone[hardly], null_covariance[hardly], statistic[hardly], random)
    own = EffectSize.of(residuals, null, covariance)
    effects = [(np.arange(len(pairs)), own)]
    # Of two values, one that is rare leaves a single one.
    for row in np.flatnonzero(own.is_unsafe & (cells[0].size > 4)).tolist():
        coarse = coarse_effect_size(cells, covariance, null_covariance, residuals.margins, row)
        effects += [(np.array([row]), coarse)] if coarse else []
    test = {"statistic": statistic, "p_value": p_value}
    return _Part(is_known, hardly, test | {"excess": excess, "standard_error": error}, effects)


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


def _drawn(
    alone: Floats, covariance: Floats, statistic: Floats, random: np.random.Generator
) -> Floats:
    """Return the p-value of each W, by drawing its law at the independent table.

    Where a first look already shows that it is nothing special, that is enough. Below one in a hundred
    the tail goes on as that of χ², so that many pairs can be told apart.
    """
    p_value = np.empty(len(statistic))
    most = int(np.clip(_MOST_DRAWN // covariance[0].size, _FEWEST_DRAWS, DRAWS))
    rows, df = np.arange(len(statistic)), int(np.prod(np.array(alone.shape[1:]) - 1))
    for draws in (_FEWEST_DRAWS, most):
        step = max(1, _MOST_DRAWN // 16 // (draws * covariance[0].size))
        unsure = []
        for part in np.split(rows, range(step, len(rows), step)):
            law = np.sort(_laws(alone[part], covariance[part], draws, random), axis=1)
            above = (law >= statistic[part, None]).sum(axis=1)
            own, last = (special.chdtrc(df, each) for each in (statistic[part], law[:, -_TAIL]))
            # Where the drawn law lies beyond all that χ² knows, its tail tells nothing.
            tail = np.divide(np.minimum(own, last), last, out=np.ones(len(part)), where=last > 0)
            beyond = (_TAIL + 1) / (draws + 1) * tail
            p_value[part] = np.where(above >= _TAIL, (above + 1) / (draws + 1), beyond)
            unsure.append(part[above < _SOME * draws])
        rows = np.concatenate(unsure)
        if not len(rows):
            break
    return p_value


def _laws(alone: Floats, covariance: Floats, draws: int, random: np.random.Generator) -> Floats:
    """Return W of so many tables drawn about each independent one (rows)."""
    count, size = covariance.shape[:2]
    variances, axes = np.linalg.eigh(covariance)
    normal = (
        random.standard_normal((count, draws, size)) * np.sqrt(variances.clip(0, None))[:, None]
    )
    tables = alone[:, None] + (normal @ axes.swapaxes(1, 2)).reshape(count, draws, *alone.shape[1:])
    if count == 1:
        return statistics_of(tables[0], covariance[0])[None]
    covariances = np.repeat(covariance, draws, axis=0)
    law = Residuals.of(tables.reshape(-1, *alone.shape[1:]), covariances).statistic
    return law.reshape(count, draws)
