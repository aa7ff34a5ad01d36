"""Predicted margins of numbers: how far the bins of a fitted distribution will be off, and how sure.

A number's distribution is fitted to the answers about it alone, and the fit stops early, so how far it
is off follows no formula: it is drawn. Answers are drawn at distributions as they may be expected (two
smooth ones) or at a known one, and fitted as a release does, which also tells how sure it will say that
it is. The grid's step matters to none of it, so that a fine grid is taken for one of a few dozen points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable.numeric.covariances import standard_errors
from deniable.questions.answers import Subset
from deniable.questions.entropy import WORD
from deniable.questions.thresholds import Thresholds
from deniable.release.numbers.answers import Answers, Law
from deniable.release.numbers.fit import NumberFit
from deniable.survey.coefficients import Floats
from deniable.survey.frozen import FrozenSurvey

_FEW_LEVELS = 48
_SHAPES = ((2.0, 5.0), (4.0, 4.0))
"""Beta distributions: what numbers may be expected to look like."""


class Way(NamedTuple):
    """How one template asks about a number alone: its symbols, and how many people report."""

    symbols: int
    chosen: int
    threshold: int
    people: float


def ways_of(survey: FrozenSurvey, attribute: int, people: float) -> tuple[Way, ...]:
    """Return how a number alone is asked about, if so many people answer."""
    ways = []
    for index, template in enumerate(survey.templates):
        if template.attributes > 1 or not isinstance(template.answer, Subset):
            continue
        sets, chances = survey.index.templates[index].sets, survey.index.set_chances(index)
        share = float(chances[sets[:, 0] == attribute].sum())
        if share:
            answer = template.answer
            crowd = float(f"{share * people:.2e}")
            ways.append(Way(answer.symbols, answer.chosen, answer.threshold, crowd))
    return tuple(ways)


def even_shares(own: Thresholds) -> Floats:
    """Return the shares of codes if every level is equally common, and nobody's is missing."""
    shares = np.full(own.codes, 1 / own.levels)
    shares[own.levels :] = 0
    return shares


def drawn_tv(own: Thresholds, ways: tuple[Way, ...], shares: Floats | None = None) -> float:
    """Return the mean distance of a number's bins, as they are fitted, from those of the people."""
    distances = []
    for each, shape in _fits(own, ways, shares):
        off = np.add.reduceat(each.shares - shape, [0, *each.thresholds.cuts])
        distances.append(float(np.abs(off).sum()) / 2)
    return float(np.mean(distances))


def bin_error(own: Thresholds, ways: tuple[Way, ...], shares: Floats | None = None) -> float:
    """Return the mean standard error of a number's bins that a release will state."""
    errors = []
    for each, _ in _fits(own, ways, shares):
        errors.append(float(standard_errors(each.covariance(each.thresholds.members)).mean()))
    return float(np.mean(errors))


def _fits(
    own: Thresholds, ways: tuple[Way, ...], shares: Floats | None
) -> tuple[tuple[NumberFit, Floats], ...]:
    """Return fits to drawn answers, and what these were drawn from; nobody's number is missing."""
    if shares is not None:
        there = shares[: own.levels] / shares[: own.levels].sum()
        return _drawn_fits(own.levels, own.cuts, ways, tuple(there.tolist()))
    bins = len(own.cuts) + 1
    width = max(1, _FEW_LEVELS // bins)
    if bins * width >= own.levels:
        return _drawn_fits(own.levels, own.cuts, ways, ())
    return _drawn_fits(bins * width, tuple(range(width, bins * width, width)), ways, ())


@lru_cache(maxsize=1 << 8)
def _drawn_fits(
    levels: int, cuts: tuple[int, ...], ways: tuple[Way, ...], shares: tuple[float, ...]
) -> tuple[tuple[NumberFit, Floats], ...]:
    own, random = Thresholds(levels, False, cuts), np.random.default_rng(levels)
    shapes = [np.array(shares)] * len(_SHAPES)
    if not shares:
        shapes = [_beta(levels, *each) for each in _SHAPES]
    return tuple(
        (NumberFit(own, tuple(_answers(own, way, shape, random) for way in ways)), shape)
        for shape in shapes
    )


def _beta(levels: int, one: float, other: float) -> Floats:
    from scipy import stats

    shares: Floats = np.diff(stats.beta.cdf(np.linspace(0, 1, levels + 1), one, other))
    return shares


def _empty(own: Thresholds, way: Way) -> Answers:
    """Return answers with as many reports of each kind as of any other."""
    entries = np.arange(own.entries)
    cuts = own.triples(entries) if way.symbols == 4 else (entries % own.steps + 1)[:, None]
    kinds = Subset(way.symbols, way.chosen, way.threshold).outcomes
    outcomes = np.full((own.entries, kinds), way.people / own.entries / kinds)
    chance = way.threshold / WORD
    return Answers.of(cuts, own.passes(entries), outcomes, way.chosen, chance)


def _answers(own: Thresholds, way: Way, shares: Floats, random: np.random.Generator) -> Answers:
    empty = _empty(own, way)
    chances = Law(empty, own.levels, False).chances(shares) / own.entries
    counts = random.poisson(way.people * chances).astype(np.float64)
    return Answers.of(empty.cuts, empty.top, counts, way.chosen, empty.p)
