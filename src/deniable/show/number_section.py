"""What a report says of numbers: how large they are, among whom, and which go together.

Only what is shown is computed: means of the groups, and correlations of the pairs, that depend on each
other surest by the test of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import TableError
from deniable.numeric.inference import wald
from deniable.release.numbers.estimates import Estimates
from deniable.release.numbers.statistics import correlation, mean
from deniable.release.release import ReleasedTables
from deniable.schema.attribute import Attribute
from deniable.show.axes import axis_kind, bars_of, value_text
from deniable.show.numbers import q_value, share
from deniable.show.pictures import curve, histogram
from deniable.show.structure import DOUBTFUL
from deniable.show.summaries import LEVEL, NumberSummary, numbers_of
from deniable.show.words import said_distribution, said_point, said_value, unit_of

if TYPE_CHECKING:
    import pandas as pd

    from deniable.questionnaire.wording import Wording

MOST_PICTURES = 24
"""The most numbers that are drawn."""

FEW_VALUES = 8
"""People are grouped by attributes with at most so many values."""

MOST_TESTED, MOST_GROUPINGS, MOST_CORRELATIONS = 24, 6, 15
"""Groupings whose means are compared, those that are shown, and correlations."""

UNKNOWN = "–"
_ANYTHING = 1.99
"""A correlation whose interval is wider may be anything."""

NO_GROUPS = (
    "No mean differs between groups beyond noise: those of the pairs that depend on each other surest "
    "were compared."
)


def number_section(release: ReleasedTables, pairs: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what the section says; nothing where there is no number."""
    attributes = numbers_of(release)
    if not attributes:
        return None
    summaries = [NumberSummary.of(release, attribute) for attribute in attributes]
    figures = [each for each in summaries if each.distribution is not None][:MOST_PICTURES]
    return {
        "rows": [_row(each, release.wording) for each in summaries],
        "has_words": any(each.ordered for each in attributes),
        "absent": list(dict.fromkeys(each.absent for each in summaries if each.absent)),
        "figures": [_figure(each, release.wording) for each in figures],
        "more": len(summaries) - len(figures),
        **_groups_and_pairs(release, pairs),
    }


def _row(summary: NumberSummary, wording: Wording | None) -> dict[str, Any]:
    attribute, own = summary.attribute, summary.mean
    row: dict[str, Any] = {"name": attribute.name, "unit": unit_of(attribute, wording) or ""}
    row["mean"] = estimate_texts(attribute, own, 0) if own is not None else ("–", "")
    texts = [("–", "")] * 3
    if summary.quartiles is not None:
        each = summary.quartiles
        ends = zip(each.points, each.low_points, each.high_points, strict=True)
        words = [[said_point(attribute, point, wording) for point in row] for row in ends]
        texts = [(at, _between(*both)) for at, *both in words]
    row["lower"], row["median"], row["upper"] = texts
    distribution = summary.distribution
    is_told = distribution is not None and attribute.missing is not None
    row["missing"] = share(distribution.missing) if distribution and is_told else "–"
    return row


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def estimate_texts(
    attribute: Attribute, estimates: Estimates, row: int, level: float = LEVEL
) -> tuple[str, str]:
    """Return an estimate and its interval in words."""
    value = float(estimates.possible[row])
    error = float(np.sqrt(max(estimates.covariance[row, row], 0)))
    if not np.isfinite(value) or not np.isfinite(error):
        return "not known", ""
    low, high = (end.ravel()[row] for end in map(np.atleast_1d, estimates.interval(level)))
    texts = [value_text(attribute, float(each), error) for each in (value, low, high)]
    return texts[0], _between(*texts[1:])


def _figure(summary: NumberSummary, wording: Wording | None) -> dict[str, Any]:
    assert summary.distribution is not None
    distribution = said_distribution(summary.distribution, summary.attribute, wording)
    kind = axis_kind(distribution.points)
    note = "Points are drawn at equal distances." if kind == "points" else ""
    return {
        "name": summary.attribute.name,
        "histogram": histogram(distribution),
        "curve": curve(distribution),
        "note": note,
        "bars": [
            (
                bar.words,
                share(bar.share),
                share(bar.cumulative),
                _between(share(bar.low), share(bar.high)),
            )
            for bar in bars_of(distribution)
        ],
    }


# Groups and pairs


def _groups_and_pairs(release: ReleasedTables, pairs: pd.DataFrame | None) -> dict[str, Any]:
    """Return means by group and correlations, or nothing where tables are of one attribute."""
    if release.survey.order < 2:
        return {"groups": None, "correlations": None}
    try:
        return {
            "groups": _group_section(release, pairs),
            "correlations": _correlation_section(release, pairs),
        }
    except TableError as error:
        return {"groups": {"absent": str(error)}, "correlations": None}


def _surest(pairs: pd.DataFrame | None, every: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs of attributes, those that depend on each other surest first."""
    if pairs is None:
        return list(every)
    order = {
        frozenset(pair): row for row, pair in enumerate(zip(pairs["a"], pairs["b"], strict=True))
    }
    return sorted(every, key=lambda pair: order.get(frozenset(pair), len(order)))


def _group_section(release: ReleasedTables, pairs: pd.DataFrame | None) -> dict[str, Any] | None:
    from deniable.release.dependence.selection import false_discoveries

    numbers = numbers_of(release)
    others = [
        each.name
        for each in release.survey.schema.attributes
        if not each.is_ordered and each.size <= FEW_VALUES
    ]
    every = [(number.name, other) for number in numbers for other in others]
    if not every:
        return None
    groupings = [(a, b, mean(release, a, b)) for a, b in _surest(pairs, every)[:MOST_TESTED]]
    p_values = np.ones(len(every))  # of those that were not looked at, as if they had no difference
    p_values[: len(groupings)] = [difference_p(means) for *_, means in groupings]
    q_values = false_discoveries(p_values)[: len(groupings)]
    order = [i for i in np.argsort(q_values, kind="stable").tolist() if q_values[i] <= DOUBTFUL]
    by_name = {number.name: number for number in numbers}
    first = order[:MOST_GROUPINGS]
    level = _level_of(len(first), len(every))
    groups = [
        _grouping(by_name[a], b, means, float(q_values[i]), level, release.wording)
        for i, (a, b, means) in ((i, groupings[i]) for i in first)
    ]
    more = f"{len(order):,} groupings differ; the {MOST_GROUPINGS} surest are shown."
    note = more if len(order) > len(groups) else ""
    return {"rows": groups, "absent": "" if groups else NO_GROUPS, "note": note}


def difference_p(means: Estimates) -> float:
    """Return the p-value of "all groups that are known have the same mean"; 1 of fewer than two."""
    from scipy import stats

    rows = np.flatnonzero(np.isfinite(means.values) & np.isfinite(np.diagonal(means.covariance)))
    if len(rows) < 2:
        return 1.0
    contrasts = np.column_stack((np.ones(len(rows) - 1), -np.eye(len(rows) - 1)))
    gaps = contrasts @ means.values[rows]
    covariance = contrasts @ means.covariance[np.ix_(rows, rows)] @ contrasts.T
    if not np.isfinite(covariance).all():
        return 1.0
    return float(stats.chi2.sf(wald(gaps, covariance)[0], len(rows) - 1))


def _level_of(rows: int, every: int) -> float:
    """Return the level at which intervals of so many picked ones hold on average over these."""
    return 1 - (1 - LEVEL) * rows / every


def _grouping(
    number: Attribute, by: str, means: Estimates, q: float, level: float, wording: Wording | None
) -> dict[str, Any]:
    own_unit = unit_of(number, wording)
    rows = group_rows(number, means, level, wording)
    return {
        "name": number.name,
        "by": by,
        "unit": f", {own_unit}" if own_unit else "",
        "rows": rows,
        "q": q_value(q),
    }


def group_rows(
    number: Attribute,
    means: Estimates,
    level: float = LEVEL,
    wording: Wording | None = None,
) -> list[dict[str, Any]]:
    """Return the means of groups in words, and where their intervals are drawn."""
    low, high = (np.atleast_1d(end) for end in means.interval(level))
    is_known = np.isfinite(means.values)
    least = float(low[is_known].min()) if is_known.any() else 0.0
    most = float(high[is_known].max()) if is_known.any() else 1.0
    rows = []
    for row, key in enumerate(means.keys):
        text, interval = estimate_texts(number, means, row, level)
        bar = _bar(float(low[row]), float(means.possible[row]), float(high[row]), least, most)
        name = ", ".join(said_value(by, value, wording) for by, value in key.items())
        words = {"name": name, "mean": text, "interval": interval}
        rows.append(words | (bar if is_known[row] else {}))
    return rows


def _bar(low: float, at: float, high: float, least: float, most: float) -> dict[str, str]:
    """Return where an interval is drawn, in percent of the room."""
    span = most - least or 1.0
    ends = {"left": low - least, "width": high - low, "at": at - least}
    return {name: f"{100 * end / span:.2f}" for name, end in ends.items()}


def _correlation_section(
    release: ReleasedTables, pairs: pd.DataFrame | None
) -> dict[str, Any] | None:
    every = list(combinations([number.name for number in numbers_of(release)], 2))
    if not every:
        return None
    rows, level = [], _level_of(min(MOST_CORRELATIONS, len(every)), len(every))
    for a, b in _surest(pairs, every)[:MOST_CORRELATIONS]:
        own = correlation(release, a, b)
        text, interval = correlation_texts(own, level)
        row: dict[str, Any] = {"a": a, "b": b, "value": text, "interval": interval}
        if text != UNKNOWN:
            low, high = own.interval(level)
            row |= _bar(low, own.estimate, high, -1, 1)
        rows.append(row)
    note = f"Of {len(every):,} pairs, the {len(rows)} that depend on each other surest are shown."
    return {"rows": rows, "note": note if len(rows) < len(every) else ""}


def correlation_texts(own: Estimates, level: float = LEVEL) -> tuple[str, str]:
    """Return a correlation and its interval in words; one that may be anything is not told."""
    low, high = own.interval(level)
    if not np.isfinite(own.estimate) or high - low >= _ANYTHING:
        return UNKNOWN, "anything"
    ends = [f"{end:.2f}".replace("-", "−") for end in (own.estimate, low, high)]
    return ends[0], _between(*ends[1:])
