"""Estimates with standard errors and intervals: of one thing, or of several with their covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import TableError
from deniable.formats.markup import frame_text, number_text
from deniable.numeric.covariances import standard_errors
from deniable.numeric.inference import fieller
from deniable.numeric.levels import check_level, normal_reach
from deniable.numeric.shares import ratio
from deniable.schema.scale import spoken_point
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Estimates:
    """What is estimated of a number: one row, or one for each of ``keys``, such as groups.

    ``values`` are unbiased, or nearly, and may be beyond what there can be, which ``bounds`` are: an
    ``estimate`` is at the nearest possible value, inside its interval, and ``raw`` is what it was made
    from. Intervals are normal ones within ``bounds``, about the nearest possible value. What cannot be
    told is not a number, with an infinite standard error.
    """

    what: str
    values: Floats
    covariance: Floats = field(repr=False)
    keys: tuple[Mapping[str, Any], ...] = ({},)
    unit: str | None = None
    people: int = 0
    bounds: tuple[float, float] = (-np.inf, np.inf)
    ratio: tuple[Floats, Floats] | None = field(default=None, repr=False)
    """The upper and lower part of one ratio, and their covariance, where that is what was estimated."""

    @property
    def is_single(self) -> bool:
        """Tell whether it is one estimate, of everybody."""
        return len(self.keys) == 1 and not self.keys[0]

    def _own(self, values: Floats) -> Any:
        return float(values[0]) if self.is_single else values

    @property
    def estimate(self) -> Any:
        """Return the estimate, at the nearest value that there can be, or one for each key."""
        return self._own(self.possible)

    @property
    def raw(self) -> Any:
        """Return the estimate as noise left it, beyond what there can be or not, or one for each key."""
        return self._own(self.values)

    @cached_property
    def _errors(self) -> Floats:
        errors = standard_errors(self.covariance)
        return np.where(np.isfinite(self.values) & np.isfinite(errors), errors, np.inf)

    @property
    def standard_error(self) -> Any:
        """Return the standard error, or one for each key."""
        return self._own(self._errors)

    @property
    def possible(self) -> Floats:
        """Return the estimates of all keys."""
        values: Floats = self.values.clip(*self.bounds)
        return values

    def _ends(self, level: float) -> tuple[Floats, Floats]:
        if self.ratio is not None:
            return self._ends_of_ratio(*self.ratio, normal_reach(level))
        reach = normal_reach(level) * self._errors
        centre = np.where(np.isfinite(self.values), self.possible, np.clip(0, *self.bounds))
        return (centre - reach).clip(*self.bounds), (centre + reach).clip(*self.bounds)

    def _ends_of_ratio(self, parts: Floats, noise: Floats, score: float) -> tuple[Floats, Floats]:
        """Return Fieller's interval: what a ratio may be for the difference of its parts to be noise."""
        least, most = self.bounds
        low, high = fieller(parts[0], parts[1], (noise[0, 0], noise[0, 1], noise[1, 1]), score)
        if not np.isfinite((*self.values, low, high)).all():
            return np.array([least]), np.array([most])  # anything may be
        low, high = min(low, self.values[0]), max(high, self.values[0])  # but for rounding, it is
        if low > most or high < least:  # by chance: as near as may be, and no less wide
            shift = most - high if low > most else least - low
            low, high = low + shift, high + shift
        return np.array([max(low, least)]), np.array([min(high, most)])

    def interval(self, level: float = 0.95) -> Any:
        """Return the lower and the upper end: two numbers, or two for each key, stacked."""
        low, high = self._ends(level)
        return (float(low[0]), float(high[0])) if self.is_single else np.stack((low, high))

    @property
    def low(self) -> Any:
        """Return the lower end of the 95 % interval."""
        return self._own(self._ends(0.95)[0])

    @property
    def high(self) -> Any:
        """Return the upper end of the 95 % interval."""
        return self._own(self._ends(0.95)[1])

    def __float__(self) -> float:
        if not self.is_single:
            raise TableError(f"The {self.what} is not one number; see its to_frame().")
        return float(self.estimate)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a pandas frame: keys, ``estimate``, ``standard_error``, ``low``, ``high``, ``raw``."""
        import pandas as pd

        low, high = self._ends(level)
        frame = pd.DataFrame(list(self.keys), index=range(len(self.keys))).assign(
            estimate=self.possible,
            standard_error=self._errors,
            low=low,
            high=high,
            raw=self.values,
        )
        frame.attrs.update(what=self.what, unit=self.unit, level=level, people=self.people)
        return frame

    def differences(self, level: float = 0.95) -> pd.DataFrame:
        """Return the differences of all pairs of rows, with a test of each: a pandas frame.

        The surest difference comes first. ``q_value`` is Benjamini and Hochberg's over all pairs;
        intervals hold on average over the first rows, however many are looked at (``interval_level``
        is each one's own), and an ``estimate`` is drawn towards 0 by what all differences are like;
        ``raw`` is not. Neither estimates nor intervals are beyond what there can be.
        """
        import pandas as pd
        from scipy import special

        from deniable.release.dependence.selection import drawn, false_discoveries, misses

        check_level(level)
        pairs = np.array(list(combinations(range(len(self.keys)), 2)), np.int64).reshape(-1, 2)
        raw = self.values[pairs[:, 0]] - self.values[pairs[:, 1]]
        estimate = raw.copy()
        own = np.diagonal(self.covariance)
        shared = self.covariance[pairs[:, 0], pairs[:, 1]]
        error = np.sqrt((own[pairs[:, 0]] + own[pairs[:, 1]] - 2 * shared).clip(0, None))
        is_known = np.isfinite(estimate) & np.isfinite(error)
        error = np.where(is_known, error, np.inf)
        centre = np.where(is_known, estimate, 0)
        z = ratio(np.abs(centre), error)
        p_value = 2 * special.ndtr(-z)
        alpha = misses(p_value, z, level)
        reach = -special.ndtri(alpha / 2) * error
        estimate[is_known] = drawn(centre[is_known], error[is_known].clip(1e-300, None))
        most = self.bounds[1] - self.bounds[0]
        centre = centre.clip(-most, most)
        low, high = ((centre + each).clip(-most, most) for each in (-reach, reach))
        names = [self.name(index) for index in range(len(self.keys))]
        return (
            pd.DataFrame(
                {
                    "a": [names[i] for i in pairs[:, 0]],
                    "b": [names[i] for i in pairs[:, 1]],
                    "estimate": np.where(is_known, estimate.clip(low, high), np.nan),
                    "standard_error": error,
                    "low": low,
                    "high": high,
                    "raw": np.where(is_known, raw, np.nan),
                    "p_value": p_value,
                    "q_value": false_discoveries(p_value),
                    "interval_level": 1 - alpha,
                }
            )
            .iloc[np.argsort(-z, kind="stable")]
            .reset_index(drop=True)
        )

    def name(self, index: int) -> str:
        """Return the name of a row: its keys, one after the other."""
        return ", ".join(str(value) for value in self.keys[index].values())

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f" {self.unit}"
        if self.is_single:
            value, error = self.possible[0], self._errors[0]
            ends = " to ".join(number_text(end[0], ",.5g") for end in self._ends(0.95))
            is_known = np.isfinite(value) and np.isfinite(error)
            text = f"{value:,.5g} ± {error:,.2g}{unit}" if is_known else "not known"
            text = f"{text} ({ends})"
            return f"<{self.what}: {text}, {self.people:,} people>"
        return f"<{self.what}{unit}: {self.people:,} people>\n{frame_text(self.to_frame())}"


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Points of a number's grid below which given shares of people are, with intervals."""

    name: str
    probabilities: tuple[float, ...]
    points: tuple[Any, ...]
    low_points: tuple[Any, ...]
    high_points: tuple[Any, ...]
    steps: Floats
    """The standard error of each: a quarter of its interval at 95 %, or less than a step."""
    level: float
    unit: str | None = None
    people: int = 0

    def _own(self, values: Sequence[Any]) -> Any:
        return values[0] if len(values) == 1 else list(values)

    @property
    def estimate(self) -> Any:
        """Return the point, or one for each probability."""
        return self._own(self.points)

    @property
    def raw(self) -> Any:
        """Return the same: a point of the grid is what there can be."""
        return self.estimate

    @property
    def standard_error(self) -> Any:
        """Return the standard error, or one for each probability."""
        return self._own(self.steps.tolist())

    @property
    def low(self) -> Any:
        """Return the lower end of the interval."""
        return self._own(self.low_points)

    @property
    def high(self) -> Any:
        """Return the upper end of the interval."""
        return self._own(self.high_points)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: ``probability``, ``estimate``, ``standard_error``, ends, ``raw``."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "probability": self.probabilities,
                "estimate": self.points,
                "standard_error": self.steps,
                "low": self.low_points,
                "high": self.high_points,
                "raw": self.points,
            }
        )
        frame.attrs.update(what=f"quantiles of {self.name}", unit=self.unit, level=self.level)
        return frame

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f" {self.unit}"
        rows = zip(self.probabilities, self.points, self.low_points, self.high_points, strict=True)
        lines = (
            f"{q:g}: {spoken_point(p)}{unit} ({spoken_point(low)} to {spoken_point(high)})"
            for q, p, low, high in rows
        )
        return f"<quantiles of {self.name}: {'; '.join(lines)}, {self.people:,} people>"


@dataclass(frozen=True, eq=False)
class NumberDistribution:
    """The distribution function of a number, with a band that holds all of it at once.

    ``points`` are those of the grid; ``shares`` of people are at each of them, by the fit, and
    ``cumulative`` of them at it or below.
    """

    name: str
    points: tuple[Any, ...]
    shares: Floats
    cumulative: Floats
    low: Floats
    high: Floats
    missing: float
    """The share of people without a number."""
    level: float
    unit: str | None = None
    people: int = 0

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: ``point``, ``share``, ``cumulative``, ``low`` and ``high``."""
        import pandas as pd

        columns = {"point": self.points, "share": self.shares, "cumulative": self.cumulative}
        frame = pd.DataFrame(columns | {"low": self.low, "high": self.high})
        frame.attrs.update(
            what=f"distribution of {self.name}",
            unit=self.unit,
            level=self.level,
            missing=self.missing,
        )
        return frame

    def __repr__(self) -> str:
        return (
            f"<distribution of {self.name}: {len(self.points):,} points from {self.points[0]} to "
            f"{self.points[-1]}, {self.people:,} people>"
        )
