"""How sure the tables of a release are, in one number that analysts see grow better."""

from __future__ import annotations

from math import isfinite

import numpy as np

from deniable.api.release import Release
from deniable.numeric.levels import normal_reach
from deniable.survey.coefficients import all_tables

_SAMPLE = 100
"""Tables whose intervals stand for all, where there are more."""


def half_width(release: Release) -> float | None:
    """Return the mean half-width of the intervals of k-way tables, where it is known.

    Of some, where there are many. Bins of numbers are not read without bias (their fine cuts are
    noise), so a number counts with its mean instead, in parts of its range.
    """
    attributes, order = release.survey.schema.attributes, release.survey.order
    plain = [place for place, each in enumerate(attributes) if not each.is_ordered]
    every = all_tables(len(plain), min(order, len(plain))) if plain else np.zeros((0, 1), int)
    every = np.array(plain, np.int64)[every]
    every = every[release.asks(every)]
    tables = every[np.linspace(0, len(every) - 1, min(len(every), _SAMPLE)).astype(int)]
    errors = [
        release.marginal(*(attributes[a].name for a in table)).standard_error.mean()
        for table in tables.tolist()
    ]
    errors += [
        release.mean(each.name).standard_error / np.ptp(each.numbers)
        for each in attributes
        if each.is_ordered
    ]
    width = normal_reach(0.95) * float(np.mean(errors))
    return width if isfinite(width) else None
