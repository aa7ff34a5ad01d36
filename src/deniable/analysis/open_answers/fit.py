"""A fit of private answers on open columns, as analysts read it: with two errors, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from deniable.analysis.open_answers.terms import OpenColumn, OpenTerms, Patterns
from deniable.analysis.regression.fit import Regression
from deniable.formats.markup import frame_text
from deniable.release.marginal import check_level
from deniable.release.numbers.estimates import Estimates
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    import pandas as pd

_SURE = 0.01
"""A curve with a smaller p-value is said not to fit."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OpenRegression(Regression):
    """A regression of single reports, whose ``covariance`` is Fisher's if it is by likelihood.

    ``people`` are all whose open columns are complete, ``answers`` are those of them whose report tells
    of the outcome, ``left_out`` had empty cells. ``epsilon`` is that of the survey or design.
    """

    open_terms: OpenTerms = field(repr=False)
    patterns: Patterns = field(repr=False)
    sandwich: Floats = field(repr=False)
    """The covariance that holds whether or not the curve fits."""
    answers: int
    left_out: int
    epsilon: float
    log_likelihood: float | None = None
    """Where the fit is by likelihood; of reports to a survey, less that of answers by chance alone."""
    misfit: float = float("nan")
    """The p-value of the curve being true, by what scores say beside the likelihood."""
    unit: str | None = None
    is_truth: bool = True
    """Whether the outcome is one of two values, and not a number."""

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        """Return a pandas frame as other regressions have it, with ``sandwich_error`` at its end."""
        frame = super().to_frame(level).assign(sandwich_error=np.sqrt(self.sandwich.diagonal()))
        frame.attrs.update(answers=self.answers, left_out=self.left_out)
        return frame

    @staticmethod
    def notes_on(misfit: float) -> tuple[str, ...]:
        """Return what must be said of a curve whose fit has this p-value."""
        if not misfit < _SURE:
            return ()
        return (
            f"The logistic curve does not fit (p = {misfit:.1g}): method='scores' tends to what open "
            "answers would give (--method scores), or add terms.",
        )

    @cached_property
    def prevalence(self) -> Estimates:
        """Return the share of yes (or the mean of a number) among all people, by the fit.

        Its error is for the population that these people were drawn from.
        """
        matrix, weights = self.patterns.matrix, self.patterns.weights / self.people
        shares, slopes = self._curve(matrix @ self.values)
        mean = float(weights @ shares)
        gradient = (weights * slopes) @ matrix
        sampling = float(weights @ (shares - mean) ** 2) / self.people
        variance = float(gradient @ self.covariance @ gradient) + sampling
        what = f"{'share' if self.is_truth else 'mean'} of {self.outcome}"
        bounds = (0.0, 1.0) if self.is_truth else (-np.inf, np.inf)
        values, covariance = np.array([mean]), np.array([[variance]])
        return Estimates(what, values, covariance, ({},), self.unit, self.people, bounds)

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
        from scipy.special import ndtri

        own = self.level if level is None else check_level(level)
        missing = np.zeros(people, np.bool_)
        for column in columns.values():
            missing |= column.missing
        rows = np.flatnonzero(~missing)
        every = {name: each.rows(rows) for name, each in columns.items()}
        matrix = self.open_terms.matrix(every, len(rows))
        centre = matrix @ self.values
        errors = np.sqrt(((matrix @ self.covariance) * matrix).sum(axis=1).clip(0, None))
        reach = float(ndtri((1 + own) / 2)) * errors
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
        height = self.log_likelihood
        likelihood = "" if height is None else f", log-likelihood {height:,.3f}"
        return (
            f"<{self.kind} regression {self.formula}: {self.people:,} people{answers}{lost}{likelihood}"
            f"{mark}>\n{frame_text(self.to_frame())}" + "".join(f"\n{n}" for n in self.notes)
        )
