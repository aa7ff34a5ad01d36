"""A regression as it was fitted: coefficients with their covariance, tests, and what is explained."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special, stats

from deniable.analysis.regression.kinds import Kind
from deniable.formats.markup import frame_text, number_text, table_markup
from deniable.numeric.covariances import standard_errors
from deniable.numeric.inference import wald
from deniable.numeric.levels import normal_reach
from deniable.release.numbers.estimates import Estimates
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a formula's terms, the intercept first.

    ``values`` are in the units written; a number's is per unit of it, a contrast's against the first
    value of its category. Of kind "logistic" they are log odds ratios of ``outcome``.
    """

    formula: str
    kind: Kind
    outcome: str
    labels: tuple[str, ...]
    terms: tuple[str, ...]
    """The formula's term that each coefficient belongs to."""
    values: Floats
    covariance: Floats = field(repr=False)
    standardised: Floats
    """Coefficients of columns divided by their standard deviations: in those of the outcome or, of kind
    "logistic", in log odds."""
    people: int
    level: float = 0.95
    explained: tuple[float, float] | None = None
    """R², without what noise adds to it, and its variance; of kind "linear" only."""
    residual_variance: float = float("nan")
    is_plain: bool = True
    """Whether all terms are yes or no, or values: their coefficients are of one kind."""
    notes: tuple[str, ...] = ()
    simulated: bool = False

    @cached_property
    def standard_error(self) -> Floats:
        """Return the standard error of each coefficient."""
        return standard_errors(self.covariance)

    @cached_property
    def p_value(self) -> Floats:
        """Return the p-value of each coefficient being 0."""
        scores = np.abs(self.values) / self.standard_error.clip(1e-300, None)
        p_value: Floats = 2 * special.ndtr(-scores)
        return p_value

    def interval(self, level: float | None = None) -> Floats:
        """Return lower and upper ends, stacked, that cover each coefficient at this level."""
        reach = normal_reach(self.level if level is None else level) * self.standard_error
        return np.stack((self.values - reach, self.values + reach))

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        """Return a pandas frame, a row per coefficient: ``term``, ``estimate``, ``standard_error``, …

        ``low`` and ``high``, ``p_value``, ``standardised``; of kind "logistic" also ``odds_ratio`` with
        ``odds_ratio_low`` and ``odds_ratio_high``.
        """
        import pandas as pd

        low, high = self.interval(level)
        frame = pd.DataFrame(
            {
                "term": self.labels,
                "estimate": self.values,
                "standard_error": self.standard_error,
                "low": low,
                "high": high,
                "p_value": self.p_value,
                "standardised": self.standardised,
            }
        )
        if self.kind == "logistic":
            ends = {"odds_ratio": self.values, "odds_ratio_low": low, "odds_ratio_high": high}
            with np.errstate(over="ignore"):
                frame = frame.assign(**{name: np.exp(each) for name, each in ends.items()})
        frame.attrs.update(
            formula=self.formula,
            kind=self.kind,
            outcome=self.outcome,
            level=self.level if level is None else level,
            people=self.people,
            simulated=self.simulated,
        )
        return frame

    def tests(self) -> pd.DataFrame:
        """Return a test of each term, all of its coefficients together: a pandas frame.

        ``term``, ``statistic``, ``df``, ``p_value``; the last row is of all terms.
        """
        import pandas as pd

        own = np.array(self.terms[1:])
        rows = [(term, np.flatnonzero(own == term) + 1) for term in dict.fromkeys(self.terms[1:])]
        rows.append(("all terms", np.arange(1, len(self.values))))
        statistics = [self._statistic(at) for _, at in rows]
        degrees = [len(at) for _, at in rows]
        return pd.DataFrame(
            {
                "term": [term for term, _ in rows],
                "statistic": statistics,
                "df": degrees,
                "p_value": stats.chi2.sf(statistics, degrees),
            }
        )

    def _statistic(self, at: Ints) -> float:
        """Return Wald's statistic of some coefficients being 0."""
        unit = np.where(self.standard_error[at] > 0, self.standard_error[at], 1)
        covariance = self.covariance[np.ix_(at, at)] / np.outer(unit, unit)
        return float(wald(self.values[at] / unit, covariance)[0])

    @property
    def r_squared(self) -> Estimates | None:
        """Return R², of which noise is taken off, with its interval; of kind "linear" only."""
        if self.explained is None:
            return None
        value, variance = self.explained
        return Estimates(
            f"R² of {self.formula}",
            np.array([value]),
            np.array([[variance]]),
            people=self.people,
            bounds=(0.0, 1.0),
        )

    def form(self) -> dict[str, Any]:
        """Return the JSON form: nothing stands for what is no number."""
        own = self.to_frame().to_dict("records")
        share = self.r_squared
        rest = (
            {}
            if share is None
            else {
                "r_squared": share.to_frame(self.level).to_dict("records")[0],
                "residual_variance": self.residual_variance,
            }
        )
        return {
            "formula": self.formula,
            "kind": self.kind,
            "outcome": self.outcome,
            "people": self.people,
            "level": self.level,
            "simulated": self.simulated,
            "coefficients": [{name: _finite(each) for name, each in row.items()} for row in own],
            "tests": self.tests().to_dict("records"),
            **rest,
            "covariance": [list(map(_finite, row)) for row in self.covariance.tolist()],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        mark = ", SIMULATED" if self.simulated else ""
        rest = ""
        if self.r_squared is not None:
            value, (low, high) = self.r_squared.estimate, self.r_squared.interval(self.level)
            rest = f", R² {value:.3f} ({low:.3f} to {high:.3f})"
        return (
            f"<{self.kind} regression {self.formula}: {self.people:,} people{rest}{mark}>\n"
            f"{frame_text(self.to_frame())}"
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        numbers = zip(self.values, self.standard_error, low, high, self.p_value, strict=True)
        rows = [
            (
                label,
                number_text(value, ".4g"),
                number_text(error, ".2g"),
                f"{number_text(least, '.4g')} to {number_text(most, '.4g')}",
                number_text(p, ".2g"),
            )
            for label, (value, error, least, most, p) in zip(self.labels, numbers, strict=True)
        ]
        heads = ("term", "estimate", "standard error", f"{self.level:.0%} interval", "p-value")
        caption = f"{self.formula} ({self.kind}), {self.people:,} people"
        notes = (*self.notes, *(["Simulated."] * self.simulated))
        return table_markup(heads, rows, caption=caption, notes=notes)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
