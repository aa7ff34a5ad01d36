"""A fit of private answers on open covariates, as analysts read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from deniable.analysis.open_regression import OpenEstimate
from deniable.analysis.open_terms import OpenColumn, OpenTerms, Patterns
from deniable.release.marginal import check_level
from deniable.release.numbers.estimates import Estimates
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["logistic", "linear"]
Method = Literal["likelihood", "scores"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is explained: an attribute or a column, and the value that counts as yes."""

    name: str
    value: object = None
    """None where it is a number."""
    unit: str | None = None

    @property
    def is_number(self) -> bool:
        """Tell whether it is a number, and not yes or no."""
        return self.value is None

    def __str__(self) -> str:
        return self.name if self.is_number or self.value is True else f"{self.name} = {self.value}"


@dataclass(frozen=True, eq=False)
class OpenFit:
    """Coefficients of open terms, with two kinds of standard errors.

    ``people`` are all whose open columns are complete, ``answers`` are those of them whose report tells
    of the outcome, ``left_out`` had empty cells. ``epsilon`` is that of the survey or design.
    """

    outcome: Outcome
    kind: Kind
    terms: OpenTerms = field(repr=False)
    estimate: OpenEstimate = field(repr=False)
    patterns: Patterns = field(repr=False)
    answers: int
    left_out: int = 0
    epsilon: float | None = None
    level: float = 0.95
    simulated: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the terms, the intercept's first."""
        return self.terms.labels

    @property
    def people(self) -> int:
        """Return how many people were taken."""
        return len(self.patterns.person)

    @property
    def coefficients(self) -> Floats:
        """Return the estimates, the intercept's first."""
        return self.estimate.coefficients

    @property
    def covariance(self) -> Floats:
        """Return the estimates' covariance: Fisher's of a likelihood, else the sandwich."""
        return self.estimate.covariance

    @property
    def sandwich(self) -> Floats:
        """Return the sandwich, the covariance that holds whether or not the curve fits."""
        return self.estimate.sandwich

    @property
    def log_likelihood(self) -> float | None:
        """Return the log-likelihood, where the fit is by likelihood.

        Of reports to a survey it is how much likelier they are than answers by chance alone.
        """
        return self.estimate.log_likelihood

    @property
    def standard_errors(self) -> Floats:
        """Return the standard error of each coefficient."""
        return np.sqrt(self.covariance.diagonal())

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        """Return a pandas frame, a row for each term.

        ``term``, ``estimate``, ``standard_error``, ``low``, ``high``, ``p_value`` (of the coefficient
        being 0) and ``sandwich_error``; of a logistic fit also ``odds_ratio``, ``odds_low`` and
        ``odds_high``.
        """
        import pandas as pd
        from scipy import special

        errors = self.standard_errors
        reach = self._score(level) * errors
        low, high = self.coefficients - reach, self.coefficients + reach
        columns = {
            "term": self.labels,
            "estimate": self.coefficients,
            "standard_error": errors,
            "low": low,
            "high": high,
            "p_value": 2 * special.ndtr(-np.abs(self.coefficients) / errors),
            "sandwich_error": np.sqrt(self.sandwich.diagonal()),
        }
        if self.kind == "logistic":
            ends = {"odds_ratio": self.coefficients, "odds_low": low, "odds_high": high}
            with np.errstate(over="ignore"):
                columns |= {name: np.exp(each) for name, each in ends.items()}
        frame = pd.DataFrame(columns)
        frame.attrs.update(level=self._level(level), people=self.people, answers=self.answers)
        return frame

    def _level(self, level: float | None) -> float:
        return check_level(self.level if level is None else level)

    def _score(self, level: float | None) -> float:
        from scipy import special

        return float(special.ndtri((1 + self._level(level)) / 2))

    @cached_property
    def prevalence(self) -> Estimates:
        """Return the share of yes (or the mean of a number) among all people, by the fit.

        Its error is for the population that these people were drawn from.
        """
        matrix, weights = self.patterns.matrix, self.patterns.weights / self.people
        values, slopes = self._curve(matrix @ self.coefficients)
        mean = float(weights @ values)
        gradient = (weights * slopes) @ matrix
        drawn = float(weights @ (values - mean) ** 2) / self.people
        variance = float(gradient @ self.covariance @ gradient) + drawn
        return self._estimates(np.array([mean]), np.array([[variance]]), ({},))

    def _estimates(
        self, values: Floats, covariance: Floats, keys: tuple[Mapping[str, object], ...]
    ) -> Estimates:
        what = f"mean of {self.outcome}" if self.outcome.is_number else f"share of {self.outcome}"
        bounds = (-np.inf, np.inf) if self.outcome.is_number else (0.0, 1.0)
        unit, people = self.outcome.unit, self.people
        return Estimates(what, values, covariance, keys, unit, people, bounds)

    def _curve(self, predictor: Floats) -> tuple[Floats, Floats]:
        """Return what is predicted, and its slope, at linear predictors."""
        if self.kind == "linear":
            return predictor, np.ones_like(predictor)
        from scipy.special import expit

        shares: Floats = expit(predictor)
        return shares, shares * (1 - shares)

    def predicted(
        self, columns: Mapping[str, OpenColumn], people: int, level: float | None = None
    ) -> pd.DataFrame:
        """Return what is predicted of rows of open columns, with its error and interval."""
        import pandas as pd

        missing = np.zeros(people, np.bool_)
        for column in columns.values():
            missing |= column.missing
        rows = np.flatnonzero(~missing)
        matrix = self.terms.matrix(
            {name: each.rows(rows) for name, each in columns.items()}, len(rows)
        )
        centre = matrix @ self.coefficients
        errors = np.sqrt(((matrix @ self.covariance) * matrix).sum(axis=1).clip(0, None))
        reach = self._score(level) * errors
        values, slopes = self._curve(centre)
        parts = {
            "estimate": values,
            "standard_error": slopes * errors,
            "low": self._curve(centre - reach)[0],
            "high": self._curve(centre + reach)[0],
        }
        frame = pd.DataFrame(np.nan, index=range(people), columns=list(parts))
        frame.loc[rows] = np.column_stack(list(parts.values()))
        return frame

    def __repr__(self) -> str:
        answers = "" if self.answers == self.people else f", {self.answers:,} answers tell of it"
        lost = f", {self.left_out:,} with empty cells left out" if self.left_out else ""
        mark = ", SIMULATED" if self.simulated else ""
        likelihood = (
            "" if self.log_likelihood is None else f", log-likelihood {self.log_likelihood:,.3f}"
        )
        return (
            f"<{self.kind} fit of {self.outcome}: {self.people:,} people{answers}{lost}{likelihood}"
            f"{mark}>\n{self.to_frame().to_string(index=False)}"
        )
