"""Means, variances, correlations, quantiles and distributions of numbers, with their errors.

Moments are linear in what was asked, so they are unbiased, with exact covariances; ratios, variances and
correlations of them have standard errors by the delta method. Quantiles and distribution functions come
from the fit of all answers about the number (`likelihood`, `band`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import TableError
from deniable.numeric.covariances import mark_unknown, standard_errors
from deniable.numeric.levels import check_level, normal_reach
from deniable.release.numbers.band import band, quantile
from deniable.release.numbers.estimates import Estimates, NumberDistribution, Quantiles
from deniable.release.numbers.fit import NumberFit
from deniable.release.numbers.unit import UnitNumber, joint_moments
from deniable.schema.attribute import Attribute
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.release.numbers.forms import Forms
    from deniable.release.release import ReleasedTables

_FEWEST = 2.0
"""A group is told of if its share is so many standard errors above 0."""

_FEWEST_REPORTS = 30
"""With fewer reports, how much they vary tells little about how far their mean is off."""

_STEP = 1e-6


def number_of(release: ReleasedTables, name: str, what: str) -> tuple[int, Attribute]:
    """Return a number's position and attribute, or say that it is none."""
    index = release.survey.schema.index(name)
    attribute = release.survey.schema.attributes[index]
    if not attribute.is_ordered:
        raise TableError(
            f"{name!r} has no order, so it has no {what}: numbers, days and ordered words have."
        )
    return index, attribute


def mean(release: ReleasedTables, name: str, by: Any = None) -> Estimates:
    """Return the mean of a number, or of each group of people by the values of other attributes."""
    index, attribute = number_of(release, name, "mean")
    scale, forms = UnitNumber(attribute), release.forms
    groups, keys = _groups(release, index, by)
    tops = [forms.mean({**group, index: scale.value}) for group in groups]
    is_whole = not scale.has_missing
    bottoms = [forms.mean(group if is_whole else {**group, index: scale.there}) for group in groups]
    every = [*tops, *bottoms]
    values = forms.values(every)
    covariance = forms.covariance(every)
    few = np.array([forms.reports(form) < _FEWEST_REPORTS for form in tops])
    ratios, errors = _ratios(values, covariance, few)
    unit, scaled = scale.half, scale.middle + scale.half * ratios
    what = f"mean of {name}" + (f" by {', '.join(keys[0])}" if keys[0] else "")
    ends = (float(attribute.numbers[0]), float(attribute.numbers[-1]))
    return Estimates(
        what, scaled, unit**2 * errors, tuple(keys), attribute.unit, release.people, ends
    )


def _groups(
    release: ReleasedTables, index: int, by: Any
) -> tuple[list[dict[int, Floats]], list[dict[str, Any]]]:
    """Return, for each group, whom it holds by attribute, and its name by attribute."""
    names = () if by is None else (by,) if isinstance(by, str) else by
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TableError("Groups are made by the name of an attribute, or by a list of names.")
    schema = release.survey.schema
    for name in names:
        if name in release.survey.labels.names:
            raise TableError(
                f"{name!r} is a label: count by it, tally(reports, by={name!r}), and the releases of "
                "its groups have a mean each."
            )
    attributes = [schema.index(name) for name in names]
    if index in attributes or len(set(attributes)) < len(attributes):
        raise TableError("Groups are made by other attributes, each once.")
    rows = [schema.attributes[a].members for a in attributes]
    values = [schema.attributes[a].values for a in attributes]
    groups = [dict(zip(attributes, each, strict=True)) for each in product(*rows)]
    keys = [dict(zip(names, each, strict=True)) for each in product(*values)]
    return groups, keys


def _ratios(values: Floats, covariance: Floats, few: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return tops over bottoms, which stand one after the other, and their covariance.

    Nothing is told where few reports are behind it.
    """
    tops, bottoms = np.split(values, 2)
    count = len(tops)
    is_known = bottoms > _FEWEST * standard_errors(covariance)[count:]
    is_known &= np.isfinite(np.diagonal(covariance)[:count]) & (bottoms > 0) & ~few
    ratios = np.divide(tops, bottoms, out=np.full(count, np.nan), where=is_known)
    slopes = np.zeros((count, 2 * count))
    own = np.flatnonzero(is_known)
    slopes[own, own], slopes[own, own + count] = 1 / bottoms[own], -ratios[own] / bottoms[own]
    errors = slopes @ np.where(np.isfinite(covariance), covariance, 0) @ slopes.T
    return ratios, mark_unknown(errors, ~is_known)


def means_of_groups(
    releases: Mapping[str, ReleasedTables], by: Sequence[str], name: str
) -> Estimates:
    """Return the mean of a number in each of some groups of different people."""
    if not releases:
        raise TableError("There is no group that is large enough to be told of.")
    parts = {group: mean(release, name) for group, release in releases.items()}
    first = next(iter(parts.values()))
    key = ", ".join(by)
    return Estimates(
        f"mean of {name} by {key}",
        np.array([part.raw for part in parts.values()]),
        np.diag([part.standard_error**2 for part in parts.values()]),
        tuple({key: group} for group in parts),
        first.unit,
        sum(part.people for part in parts.values()),
        first.bounds,
    )


def variance(release: ReleasedTables, name: str) -> Estimates:
    """Return the variance of a number among people, without what noise adds to it."""
    index, attribute = number_of(release, name, "variance")
    scale, forms = UnitNumber(attribute), release.forms
    every = [forms.mean({index: each}) for each in (scale.value, scale.value**2, scale.there)]
    values, covariance = forms.values(every), forms.covariance(every)
    own, errors = _delta([_spread], values, covariance)
    unit = None if attribute.unit is None else f"{attribute.unit}²"
    square = scale.half**2
    # Noise of the mean's square: to second order, which is all where the number is at both ends only.
    errors = errors + 2 * (covariance[0, 0] / values[2] ** 2) ** 2
    return Estimates(
        f"variance of {name}",
        square * own,
        square**2 * errors,
        unit=unit,
        people=release.people,
        bounds=(0.0, square),
    )


def _spread(values: Floats, covariance: Floats) -> float:
    """Return E x² − (E x)² of those who are there, without bias to second order."""
    first, second, there = values[:3]
    noise = covariance[0, 0]
    return float(second / there - (first / there) ** 2 + noise / there**2)


def correlation(release: ReleasedTables, first: str, second: str) -> Estimates:
    """Return the correlation of two numbers among people who have both.

    Where points are not equally far apart, numbers count by their steps: so a logarithmic scale gives
    the correlation of logarithms.
    """
    (a, one), (b, other) = (number_of(release, name, "correlation") for name in (first, second))
    if a == b:
        raise TableError("A correlation is of two different numbers.")
    x, y, forms = UnitNumber(one, by_step=True), UnitNumber(other, by_step=True), release.forms
    every = [forms.mean(moment) for moment in joint_moments(a, x, b, y)]
    values, covariance = forms.values(every), forms.covariance(every)
    estimate, errors = _delta([_correlation], values, covariance)
    return Estimates(
        f"correlation of {first} and {second}",
        estimate,
        errors,
        people=release.people,
        bounds=(-1.0, 1.0),
        ratio=_delta([_together, _spreads], values, covariance),
    )


def _correlation(values: Floats, covariance: Floats) -> float:
    """Return the correlation of moments, of which noise adds nothing to variances and covariance."""
    return _together(values, covariance) / _spreads(values, covariance)


def _together(values: Floats, covariance: Floats) -> float:
    """Return the covariance of two numbers among people."""
    x, _, y, _, xy, there = values
    return float(xy / there - x * y / there**2 + covariance[0, 2] / there**2)


def _spreads(values: Floats, covariance: Floats) -> float:
    """Return the product of their standard deviations; not a number where noise hides one."""
    x, xx, y, yy, _, there = values
    noise = covariance / there**2
    spread_x = xx / there - (x / there) ** 2 + noise[0, 0]
    spread_y = yy / there - (y / there) ** 2 + noise[2, 2]
    if not (spread_x > 0 and spread_y > 0):
        return float("nan")
    return float(np.sqrt(spread_x * spread_y))


def _delta(
    functions: Sequence[Callable[[Floats, Floats], float]], values: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Return functions of estimates, and their covariance to first order."""
    if np.isfinite(covariance).all():
        centres = np.array([function(values, covariance) for function in functions])
        ways = np.stack([_slopes(function, values, covariance) for function in functions])
        errors = ways @ covariance @ ways.T
        if np.isfinite(centres).all() and np.isfinite(errors).all():
            return centres, errors
    size = len(functions)
    return np.full(size, np.nan), np.full((size, size), np.inf)


def _slopes(
    function: Callable[[Floats, Floats], float], values: Floats, covariance: Floats
) -> Floats:
    """Return how fast a function of estimates changes with each of them."""
    ends = ((values + step, values - step) for step in _STEP * np.eye(len(values)))
    rises = [function(up, covariance) - function(down, covariance) for up, down in ends]
    return np.array(rises) / (2 * _STEP)


def _fit_of(release: ReleasedTables, index: int, name: str) -> NumberFit:
    if release.strata:
        raise TableError(
            f"The distribution of {name!r} is fitted to the reports of one group; strata that are "
            "combined have their means together, and a distribution each."
        )
    fits = release.number_fits
    if index not in fits or not fits[index].people:
        raise TableError(
            f"Nobody was asked about {name!r} alone, so its distribution is not known."
        )
    if not fits[index].answers:
        raise TableError(
            "Strata that are combined have means, but no quantiles or distributions: take those of "
            "each stratum."
        )
    return fits[index]


def quantiles(
    release: ReleasedTables, name: str, probabilities: Any, level: float = 0.95
) -> Quantiles:
    """Return the points below which given shares of the people with a number are."""
    index, attribute = number_of(release, name, "quantiles")
    check_level(level)
    several = (probabilities,) if isinstance(probabilities, Real) else probabilities
    if not isinstance(several, list | tuple | np.ndarray):
        raise TableError("A quantile takes a probability such as 0.5, or a list of them.")
    for q in several:
        if isinstance(q, bool) or not isinstance(q, Real) or not 0 < float(q) < 1:
            raise TableError(f"A quantile's probability lies between 0 and 1, got {q!r}.")
    if not len(several):
        raise TableError("Quantiles need at least one probability.")
    own = _fit_of(release, index, name)
    shares = [float(q) for q in several]
    at, low, high = quantile(own.climb, shares, level)
    points, least, most = (
        tuple(attribute.value_of(int(i)) for i in each) for each in (at, low, high)
    )
    numbers = attribute.numbers
    width = numbers[high] - numbers[low]
    return Quantiles(
        name,
        tuple(shares),
        points,
        least,
        most,
        steps=width / (2 * normal_reach(level)),
        level=level,
        unit=attribute.unit,
        people=release.people,
    )


def distribution(release: ReleasedTables, name: str, level: float = 0.95) -> NumberDistribution:
    """Return the distribution function of a number among the people who have one, with a band."""
    index, attribute = number_of(release, name, "distribution")
    check_level(level)
    own = _fit_of(release, index, name)
    cumulative, low, high = band(own.climb, level)
    there = own.shares[: attribute.levels]
    rise, least, most = (np.append(each, 1.0) for each in (cumulative, low, high))
    return NumberDistribution(
        name,
        tuple(attribute.value_of(level) for level in range(attribute.levels)),
        there / there.sum(),
        rise,
        least,
        most,
        missing=float(own.shares[-1]) if own.climb.missing else 0.0,
        level=level,
        unit=attribute.unit,
        people=release.people,
    )


def covariance(release: ReleasedTables, items: Sequence[Any]) -> Floats:
    """Return the covariance of estimates of anything linear; see `Release.covariance`."""
    forms = release.forms
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence) or not items:
        raise TableError("A covariance takes a list of cells, means or sums of them.")
    return forms.covariance([_form(forms, item) for item in items])


def _form(forms: Forms, item: Any) -> Any:
    """Return the form of a cell ({"sex": "f"}), a mean ("age") or product of numbers, or a sum."""
    from deniable.decoding.forms import sum_of

    schema = forms.release.survey.schema
    if isinstance(item, Mapping):
        return forms.mean({schema.index(n): _indicator(schema, n, v) for n, v in item.items()})
    if isinstance(item, str):
        return forms.mean({schema.index(item): score_of(schema, item)})
    if isinstance(item, tuple) and item and all(isinstance(name, str) for name in item):
        if len(set(item)) < len(item):
            raise TableError("A product takes each attribute once.")
        return forms.mean({schema.index(name): score_of(schema, name) for name in item})
    if isinstance(item, list) and item and all(map(_is_weighted, item)):
        return sum_of([_form(forms, each).scaled(float(weight)) for weight, each in item])
    raise TableError(
        "A form is a cell ({'sex': 'f'}), the mean of a number ('age') or of a product (('age', "
        "'income')), or a list of (weight, form) to be added up."
    )


def _is_weighted(part: object) -> bool:
    """Tell whether something is a weight and a form."""
    if not isinstance(part, tuple) or len(part) != 2:
        return False
    return isinstance(part[0], Real) and isfinite(float(part[0]))


def _indicator(schema: Any, name: str, value: object) -> Floats:
    attribute = schema.attributes[schema.index(name)]
    kinds = [type(each) is type(value) and each == value for each in attribute.values]
    if not any(kinds):
        raise TableError(f"{name!r} has no such value; it has {attribute.declared()}.")
    row: Floats = attribute.members[kinds.index(True)]
    return row


def score_of(schema: Any, name: str) -> Floats:
    """Return what each code counts for: a number itself, yes as 1."""
    attribute = schema.attributes[schema.index(name)]
    if attribute.is_ordered:
        lack = attribute.codes - attribute.levels
        return np.append(attribute.numbers, np.zeros(lack))
    if attribute.values == (False, True):
        return np.array([0.0, 1.0])
    raise TableError(f"{name!r} is neither a number nor yes or no: give one of its values.")
