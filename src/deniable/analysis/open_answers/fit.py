"""A fit of private answers on open columns, as analysts read it: with two errors, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.analysis.open_answers.curves import logistic
from deniable.analysis.open_answers.estimation import OpenEstimate
from deniable.analysis.open_answers.profile import Profile
from deniable.analysis.open_answers.terms import OpenColumn, OpenTerms, Patterns
from deniable.analysis.regression.fit import Regression
from deniable.formats.markup import frame_text
from deniable.numeric.covariances import mark_unknown
from deniable.numeric.levels import check_level, normal_reach
from deniable.release.numbers.estimates import Estimates
from deniable.survey.coefficients import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

_NOTHING = np.zeros(1)

_SURE = 0.01
"""A curve with a smaller p-value is said not to fit."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OpenRegression(Regression):
    """A regression of single reports, whose ``covariance`` is Fisher's if it is by likelihood.

    Intervals and tests of a logistic fit are by profile: of log odds of few people no error is normal.
    A coefficient that answers would have at infinity is infinite, as is its standard error.

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
    profile: Profile | None = field(default=None, repr=False)
    """What intervals and tests of a logistic fit are by."""
    place: Floats = field(repr=False)
    """The coefficients as far as they were followed, none infinite."""

    @classmethod
    def parts_of(cls, estimate: OpenEstimate) -> dict[str, Any]:
        """Return what an estimate says of coefficients: infinite ones so, with infinite errors."""
        profile, place = estimate.profile, estimate.coefficients
        values, matrices = place.copy(), [estimate.covariance.copy(), estimate.sandwich.copy()]
        if profile is not None:
            unknown = ~profile.is_finite
            values[unknown] = np.copysign(np.inf, place[unknown])
            for matrix in matrices:
                mark_unknown(matrix, unknown, between=0.0)
        return {
            "values": values,
            "covariance": matrices[0],
            "sandwich": matrices[1],
            "place": place,
            "profile": profile,
        }

    @cached_property
    def p_value(self) -> Floats:
        """Return the p-value of each coefficient being 0."""
        if self.profile is None:
            return super().p_value
        from scipy.stats import chi2

        statistics = [self.profile.statistic(form[None], _NOTHING) for form in self.profile.forms]
        p_value: Floats = np.asarray(chi2.sf(statistics, 1))
        return p_value

    def interval(self, level: float | None = None) -> Floats:
        """Return lower and upper ends, stacked; of a logistic fit they may be infinite."""
        own = self.level if level is None else check_level(level)
        if self.profile is None:
            return super().interval(own)
        if own not in self._ends:
            self._ends[own] = self.profile.intervals(self.profile.forms, own)
        return self._ends[own]

    @cached_property
    def _ends(self) -> dict[float, Floats]:
        return {}

    def _statistic(self, at: Ints) -> float:
        if self.profile is None or not len(at):
            return super()._statistic(at)
        return self.profile.statistic(self.profile.forms[at], np.zeros(len(at)))

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        """Return a pandas frame as other regressions have it, with ``sandwich_error`` at its end."""
        frame = super().to_frame(level).assign(sandwich_error=np.sqrt(self.sandwich.diagonal()))
        frame.attrs.update(answers=self.answers, left_out=self.left_out)
        return frame

    @staticmethod
    def notes_on(estimate: OpenEstimate) -> tuple[str, ...]:
        """Return what must be said of a fit."""
        notes = []
        if estimate.misfit < _SURE:
            notes.append(
                f"The logistic curve does not fit (p = {estimate.misfit:.1g}): method='scores' tends to "
                "what open answers would give (--method scores), or add terms."
            )
        if estimate.profile is not None and not estimate.profile.is_finite.all():
            notes.append(
                "Noise hides whether people of some kind say yes, or no, at all: their log odds may be "
                "infinite. More reports tell, or fewer terms."
            )
        return tuple(notes)

    @cached_property
    def prevalence(self) -> Estimates:
        """Return the share of yes (or the mean of a number) among all people, by the fit.

        Its error is for the population that these people were drawn from.
        """
        matrix, weights = self.patterns.matrix, self.patterns.weights / self.people
        shares, slopes = self._curve(matrix @ self.place)
        mean = float(weights @ shares)
        gradient = (weights * slopes) @ matrix
        sampling = float(weights @ (shares - mean) ** 2) / self.people
        solid = np.where(np.isfinite(self.covariance), self.covariance, 0)
        variance = float(gradient @ solid @ gradient) + sampling
        what = f"{'share' if self.is_truth else 'mean'} of {self.outcome}"
        bounds = (0.0, 1.0) if self.is_truth else (-np.inf, np.inf)
        values, covariance = np.array([mean]), np.array([[variance]])
        return Estimates(what, values, covariance, ({},), self.unit, self.people, bounds)

    def _curve(self, predictor: Floats) -> tuple[Floats, Floats]:
        """Return what is predicted, and its slope, at linear predictors."""
        if self.kind == "linear":
            return predictor, np.ones_like(predictor)
        shares = logistic(predictor)
        return shares, shares * (1 - shares)

    def predicted(
        self, columns: Mapping[str, OpenColumn], people: int, level: float | None = None
    ) -> pd.DataFrame:
        """Return what is predicted of rows of open columns, with its error and interval.

        Where the answers hardly settle the coefficients, intervals are by profile, and a standard error
        is what their width comes to.
        """
        import pandas as pd

        own = self.level if level is None else check_level(level)
        missing = np.zeros(people, np.bool_)
        for column in columns.values():
            missing |= column.missing
        rows = np.flatnonzero(~missing)
        every = {name: each.rows(rows) for name, each in columns.items()}
        matrix = self.open_terms.matrix(every, len(rows))
        score, (values, slopes) = normal_reach(own), self._curve(matrix @ self.place)
        if self.profile is None or self.profile.is_settled:
            errors = np.sqrt(((matrix @ self.covariance) * matrix).sum(axis=1).clip(0, None))
            centre = matrix @ self.place
            low, high = (self._curve(centre + side * score * errors)[0] for side in (-1, 1))
            errors = slopes * errors
        else:
            rows_of, row = np.unique(matrix, axis=0, return_inverse=True)
            ends = self.profile.intervals(rows_of @ self.profile.forms, own)[:, row.ravel()]
            low, high = self._curve(ends)[0]
            errors = (high - low) / (2 * score)
        parts = {"estimate": values, "standard_error": errors, "low": low, "high": high}
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
