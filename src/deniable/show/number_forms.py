"""What the collector tells analysts of numbers: estimates for programs, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from deniable.errors import TableError
from deniable.release.numbers.statistics import (
    correlation,
    distribution,
    mean,
    number_of,
    quantiles,
    variance,
)
from deniable.release.release import ReleasedTables
from deniable.schema.schema import Schema
from deniable.show.axes import bars_of
from deniable.show.number_section import (
    FEW_VALUES,
    correlation_texts,
    difference_p,
    estimate_texts,
    group_rows,
)
from deniable.show.pictures import curve, histogram
from deniable.show.summaries import distribution_form, estimate_form, estimate_rows, quantile_forms
from deniable.show.words import said_distribution, said_point, unit_of

MOST_GROUPS = 200
"""The most groups whose means are told at once."""


def number_names(schema: Schema) -> dict[str, list[Any]]:
    """Return which attributes are numbers, and by which ones people may be grouped."""
    attributes = schema.attributes
    return {
        "numbers": [{"name": one.name, "unit": one.unit} for one in attributes if one.is_ordered],
        "categories": [
            one.name for one in attributes if not one.is_ordered and one.size <= FEW_VALUES
        ],
    }


def number_form(
    release: ReleasedTables, name: str, probabilities: Sequence[float], level: float
) -> dict[str, Any]:
    """Return the mean, the variance, quantiles and the distribution of a number."""
    _, attribute = number_of(release, name, "mean")
    own_mean, own = mean(release, name), distribution(release, name, level)
    points = quantiles(release, name, probabilities, level)
    text, interval = estimate_texts(attribute, own_mean, 0, level)
    wording = release.wording
    curves, rows = said_distribution(own, attribute, wording), []
    for row in quantile_forms(points):
        at, *ends = (
            said_point(attribute, row[end], wording) for end in ("estimate", "low", "high")
        )
        rows.append(row | {"text": at, "interval": " to ".join(dict.fromkeys(ends))})
    return {
        "attribute": name,
        "unit": unit_of(attribute, wording),
        "people": release.people,
        "level": level,
        "simulated": release.simulated,
        "mean": estimate_form(attribute, own_mean, level) | {"text": text, "interval": interval},
        "variance": estimate_form(None, variance(release, name), level),
        "quantiles": rows,
        "missing": own.missing if attribute.missing is not None else None,
        "distribution": distribution_form(own),
        "drawing": {"histogram": str(histogram(curves)), "curve": str(curve(curves))},
        "bars": [
            {
                "points": bar.words,
                "share": bar.share,
                "cumulative": bar.cumulative,
                "low": bar.low,
                "high": bar.high,
            }
            for bar in bars_of(curves)
        ],
    }


def means_form(
    release: ReleasedTables, name: str, by: Sequence[str], level: float
) -> dict[str, Any]:
    """Return the means of groups of people by the values of other attributes, and a test of them."""
    _, attribute = number_of(release, name, "mean")
    schema = release.survey.schema
    groups = prod(schema.attributes[schema.index(one)].size for one in by)
    if groups > MOST_GROUPS:
        raise TableError(f"Means are told of at most {MOST_GROUPS} groups, not of {groups:,}.")
    means = mean(release, name, list(by))
    drawings = group_rows(attribute, means, level, release.wording)
    rows = zip(estimate_rows(attribute, means, level), drawings, strict=True)
    return {
        "attribute": name,
        "unit": unit_of(attribute, release.wording),
        "by": list(by),
        "people": release.people,
        "level": level,
        "p_value": difference_p(means),
        "means": [row | {"drawing": drawing} for row, drawing in rows],
    }


def correlation_form(
    release: ReleasedTables, first: str, second: str, level: float
) -> dict[str, Any]:
    """Return the correlation of two numbers."""
    own = correlation(release, first, second)
    form = estimate_form(None, own, level)
    text, interval = correlation_texts(own, level)
    return {
        "attributes": [first, second],
        "people": release.people,
        "level": level,
        **form,
        "text": text,
        "interval": interval,
    }
