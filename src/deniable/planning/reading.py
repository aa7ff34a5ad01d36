"""Predicted reading error: what tables will be off by as people read them, before anybody is asked.

Margins are read as posterior means, so their error is drawn: margins as they are expected (or known),
noise, and what is read of them. Departures are shrunk, and err by φ²·n/(φ² + n) as in
`deniable.design.reading`. Both add up in squares.

A number is read by its fit (`deniable.planning.margins`), and its departures by a slope and a bend: with
polynomials φ₁ and φ₂ that are orthonormal under its distribution, on T cuts, these are T/4·Σ(rise of φ)²
times as noisy as a mean sign, 3 and 15 where every point is equally common. Dependence that is found is
taken to be along slopes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod, sqrt
from typing import Any

import numpy as np

from deniable.analysis.records import values_of
from deniable.decoding.decoder import decoder_of, is_symmetric
from deniable.decoding.evidence import KAPPA
from deniable.design.reading import (
    DIRICHLET,
    DetectableStrength,
    ReadingError,
    Strengths,
)
from deniable.design.workload import Workload
from deniable.planning.aim import Aim
from deniable.planning.error import component_precision, has_formula, workload_of
from deniable.planning.margins import bin_error, drawn_tv, even_shares, ways_of
from deniable.planning.needs import detectable
from deniable.planning.numbers import NORMAL, Population
from deniable.planning.prospect import Prospect
from deniable.questions.thresholds import Thresholds
from deniable.release.components import component_energies
from deniable.release.mixed.shrinkage import margin
from deniable.release.numbers.moments import Moments
from deniable.schema.schema import Schema
from deniable.survey.coefficients import Floats, Ints, all_tables, positions, products_within
from deniable.survey.frozen import FrozenSurvey

_DRAWS = 12
_LEAST = 1e-9
"""The weakest departures: records that are exactly independent tell no more."""


def component_noise(survey: FrozenSurvey, workload: Workload, aim: Aim) -> Floats:
    """Return N·R_S·E‖û_S − u_S‖² of every component of the tables that matter."""
    formula = component_precision(survey, workload, aim)
    if formula is not None:
        precision, scale = formula
        with np.errstate(divide="ignore"):
            return scale / precision
    errors = decoder_of(survey).expected(1.0)

    def variances(sets: Ints) -> Floats:
        cells = prod(survey.schema.sizes[a] for a in workload.used[sets[0]])
        return errors.cell_variances(workload.used[sets], np.full((len(sets), cells), 1 / cells))

    return component_energies(variances, survey.kinds[workload.used], workload.order)


def _noise(survey: FrozenSurvey, aim: Aim) -> tuple[Workload, Floats]:
    """Return the tables that matter and their components' noise; alike attributes count once."""
    if not is_symmetric(survey):
        workload = workload_of(survey.order, aim, survey.lists)
        return workload, component_noise(survey, workload, aim)
    few = min(2, survey.order)
    decoder, levels = decoder_of(survey), [*(1,) * few, *range(2, few + 1)]
    precisions = np.array([decoder.precision(level) for level in levels])
    with np.errstate(divide="ignore"):
        return Workload.everything(few, survey.lists[:few]), 1 / precisions


def _strengths(survey: FrozenSurvey, aim: Aim) -> Strengths | None:
    """Return what is expected of people; a number's moments are taken at its own distribution."""
    strengths = aim.expected or aim.strengths
    is_number = np.array([isinstance(each, Thresholds) for each in survey.lists])
    if not is_number.any():
        return strengths
    whole = strengths or Strengths.prior(survey.schema.sizes, survey.order)
    return replace(whole, concentration=np.where(is_number, 1.0, whole.concentration))


def _levels_of(survey: FrozenSurvey, attribute: int, aim: Aim) -> Floats | None:
    """Return the shares of a number's codes, where they are known."""
    return None if aim.population is None else aim.population.shares[attribute]


def _roughness(own: Thresholds, shares: Floats | None) -> Floats:
    """Return how much noisier a slope and a bend are than a mean sign."""
    moments = Moments(own, even_shares(own) if shares is None else shares)
    rough: Floats = own.steps / 4 * (np.diff(moments.polynomials[1:], axis=1) ** 2).sum(axis=1)
    return rough


def _with_numbers(survey: FrozenSurvey, workload: Workload, noise: Floats, aim: Aim) -> Floats:
    """Return the noise of components, those of numbers by slopes and bends at their distribution."""
    factors = np.ones(len(workload.used))
    for place, attribute in enumerate(workload.used.tolist()):
        own = survey.lists[attribute]
        if isinstance(own, Thresholds):
            rough = _roughness(own, _levels_of(survey, attribute, aim))
            factors[place] = rough.sum() / (own.energy * own.size * own.count)
    own_noise: Floats = noise * products_within(factors, workload.order)
    return own_noise


def read_tv(
    survey: FrozenSurvey, people: float, aim: Aim, *, as_designed: bool = False
) -> float | None:
    """Return the predicted distance of tables as they are read; None without a formula.

    ``as_designed`` is what designs make small, by which mechanisms are ranked: there, numbers' margins
    err as slopes and bends do, since drawn fits would rank by chance.
    """
    if not has_formula(survey):
        return None
    workload = workload_of(survey.order, aim, survey.lists)
    strengths = aim.expected or aim.strengths if as_designed else _strengths(survey, aim)
    noise = component_noise(survey, workload, aim) / people
    if not as_designed:
        noise = _with_numbers(survey, workload, noise, aim)
    for place, attribute in enumerate(workload.used.tolist()):
        own = survey.lists[attribute]
        if not isinstance(own, Thresholds):
            shares = strengths.shares[attribute] if strengths and strengths.shares else None
            size = own.size if shares is None else len(shares)
            noise[place] = _margin_noise(size, float(noise[place]), shares)
        elif not as_designed:
            ways = ways_of(survey, attribute, people)
            if not ways:
                return None  # nothing tells of the number alone
            distance = drawn_tv(own, ways, _levels_of(survey, attribute, aim))
            noise[place] = (distance / KAPPA) ** 2
    return KAPPA * workload.mean(ReadingError(workload, strengths, people).errors(noise))


def detectable_v(survey: FrozenSurvey, people: float, aim: Aim) -> float | None:
    """Return the mean Cramér's V of pairs whose dependence would be found four times in five.

    Shares are those of a known population, or all alike; without any pair there is none.
    """
    if not has_formula(survey) or survey.order < 2:
        return None
    population = aim.population or Population(survey.schema)
    prospect = Prospect(survey, people, population, aim)
    if not prospect.pairs:
        return None
    strengths = [detectable(prospect, pair) for pair in prospect.pairs]
    return float(np.average(strengths, weights=[pair.weight for pair in prospect.pairs]))


def designed_v(survey: FrozenSurvey, people: float, aim: Aim) -> float | None:
    """Return what designs for associations make small, by which mechanisms are ranked."""
    if not has_formula(survey) or survey.order < 2:
        return None
    workload, noise = _noise(survey, aim)
    if max(tables.shape[1] for tables in workload.tables) < 2:
        return None
    strengths = None if is_symmetric(survey) else aim.expected or aim.strengths
    objective = DetectableStrength(workload, strengths, people)
    return float(objective.strengths(noise / people).mean())


def share_points(survey: FrozenSurvey, people: float, aim: Aim) -> float | None:
    """Return half the width of a share's 95 % interval, in points: a mean over attributes."""
    if not has_formula(survey):
        return None
    workload, noise = _noise(survey, aim)
    sizes = np.array([each.size for each in workload.lists])
    errors = np.sqrt(noise[: len(sizes)] / people) / sizes
    for place, own in enumerate(workload.lists):
        if isinstance(own, Thresholds):
            attribute = int(workload.used[place])
            ways = ways_of(survey, attribute, people)
            if not ways:
                return None
            errors[place] = bin_error(own, ways, _levels_of(survey, attribute, aim))
    return float(100 * NORMAL * np.mean(errors))


def _margin_noise(size: int, noise: float, shares: Floats | None) -> float:
    """Return the noise n of a margin that errs, unread, by as much as this one does as it is read."""
    if not np.isfinite(noise):
        return noise
    if shares is not None:
        return _drawn_noise(size, noise, tuple(shares.tolist()))
    return _drawn_noise(size, float(f"{noise:.2e}"), ())


@lru_cache(maxsize=1 << 12)
def _drawn_noise(size: int, noise: float, shares: tuple[float, ...]) -> float:
    random, total = np.random.default_rng(size), 0.0
    for _ in range(_DRAWS):
        truth = np.array(shares) if shares else random.dirichlet(np.full(size, DIRICHLET))
        off = random.standard_normal(size)
        off = (off - off.mean()) * sqrt(noise / size / (size - 1))
        read = margin(truth - 1 / size + off, noise / size).shares
        total += float(np.abs(read - truth).sum()) / 2
    return (total / _DRAWS / KAPPA) ** 2


def strengths_of(schema: Schema, order: int, frame: Any) -> Strengths:
    """Return the strengths that records have: what a prediction for people like them is made of.

    The departures of a table are what is left beyond those of smaller ones, and its φ is that of
    departures that are as far from none, in total variation distance.
    """
    values, sizes = values_of(schema, frame), schema.sizes
    shares = tuple(np.bincount(c, minlength=r) / len(c) for c, r in zip(values, sizes, strict=True))
    departures: dict[tuple[int, ...], Floats] = {}
    levels = [np.zeros(len(sizes))]
    for level in range(2, order + 1):
        distances = []
        for table in all_tables(len(sizes), level).tolist():
            cells = tuple(values[a] for a in table)
            shape = tuple(sizes[a] for a in table)
            numbers = np.ravel_multi_index(cells, shape)
            rest = np.bincount(numbers, minlength=prod(shape)).reshape(shape) / len(numbers)
            for mask in range(1 << level):
                inner = tuple(table[i] for i in positions(mask))
                if mask and inner not in departures:
                    continue
                factors = [
                    (departures[inner] if mask else np.ones(()), [table.index(a) for a in inner])
                ]
                factors += [(shares[a], [i]) for i, a in enumerate(table) if a not in inner]
                rest = rest - _outer(factors, level)
            if level < order:
                departures[tuple(table)] = rest
            distances.append(float(np.abs(rest).sum()) / 2)
        levels.append((np.array(distances) / KAPPA) ** 2)
    concentration = np.array([len(share) * float(share @ share) for share in shares])
    return Strengths(concentration, np.concatenate(levels).clip(_LEAST, None), shares)


def _outer(factors: list[tuple[Floats, list[int]]], axes: int) -> Floats:
    """Return the product of arrays that belong to axes of a table each."""
    total: Floats = np.ones((1,) * axes)
    for values, own in factors:
        shape = [1] * axes
        for axis, size in zip(own, values.shape, strict=True):
            shape[axis] = size
        total = total * values.reshape(shape)
    return total
