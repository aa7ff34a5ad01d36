"""From a formula and a release to a fitted regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.analysis.formula import Formula, read_formula, shown
from deniable.analysis.regression.columns import Column, Outcome, columns_of, outcome_of
from deniable.analysis.regression.fit import Regression
from deniable.analysis.regression.kinds import Kind
from deniable.analysis.regression.linear import fit_line
from deniable.analysis.regression.logistic import fit_odds
from deniable.analysis.regression.moments import Moments
from deniable.analysis.regression.stability import check_stability
from deniable.errors import TableError
from deniable.numeric.levels import check_level
from deniable.release.numbers.forms import Forms
from deniable.survey.coefficients import Floats

if TYPE_CHECKING:
    from deniable.release.release import ReleasedTables


def regress(
    release: ReleasedTables, formula: str, kind: Kind | None = None, level: float = 0.95
) -> Regression:
    """Return the regression of a formula such as ``income ~ age + sex``; see `Release.regress`."""
    check_level(level)
    own, survey, forms = read_formula(formula), release.survey, Forms(release)
    outcome, columns = outcome_of(survey, own.outcome), columns_of(survey, own)
    kind_of_fit = _kind(outcome, own, kind)
    moments = Moments(forms, [*columns, outcome.column], outcome.there)
    check_stability(moments, np.arange(len(columns)), release.people)
    if kind_of_fit == "linear":
        line = fit_line(moments)
        coefficients, covariance, explained = line.coefficients, line.covariance, line.explained
        unit = outcome.column.scale
        residual = unit**2 * line.variance * (1 - explained[0])
    else:
        coefficients, covariance = fit_odds(moments, release)
        explained, unit, residual = None, 1.0, float("nan")
    back = _units(columns)
    values = unit * (back @ coefficients)
    if kind_of_fit == "linear":
        values[0] += outcome.column.shift
    return Regression(
        own.text,
        kind_of_fit,
        outcome.label,
        tuple(column.label for column in columns),
        tuple(column.term for column in columns),
        values,
        unit**2 * back @ covariance @ back.T,
        _standardised(moments, coefficients, kind_of_fit),
        release.people,
        level,
        explained,
        residual,
        not any(survey.schema.attributes[a].is_ordered for c in columns for a in c.functions),
        _notes(outcome, own),
        release.simulated,
    )


def _kind(outcome: Outcome, formula: Formula, kind: Kind | None) -> Kind:
    """Return the kind that was asked for, or else logistic for one of two values."""
    if kind not in (None, "linear", "logistic"):
        raise TableError(f"A regression is 'linear' or 'logistic', got {kind!r}.")
    if kind == "logistic" and not outcome.is_truth:
        raise TableError(
            f"A logistic regression explains one of two values, and {shown(formula.outcome)} is a "
            "number: kind='linear' is least squares."
        )
    return kind or ("logistic" if outcome.is_truth else "linear")


def _units(columns: Sequence[Column]) -> Floats:
    """Return the matrix that turns coefficients of columns as computed into those of what they mean."""
    back = np.diag([1 / column.scale for column in columns])
    back[0] -= [column.shift / column.scale for column in columns]
    return back


def _standardised(moments: Moments, coefficients: Floats, kind: Kind) -> Floats:
    """Return coefficients of columns, and an outcome, of which the standard deviation is 1."""
    every = np.arange(len(moments.columns))
    total = moments.matrix(moments.values, every, every)
    variance = np.diagonal(total) / total[0, 0] - (total[0] / total[0, 0]) ** 2
    deviation = np.sqrt(np.where(variance > 0, variance, np.nan))
    per = deviation[-1] if kind == "linear" else 1.0
    standardised: Floats = coefficients * deviation[:-1] / per
    standardised[0] = np.nan
    return standardised


def _notes(outcome: Outcome, formula: Formula) -> tuple[str, ...]:
    """Return what must be said of who is in it."""
    if not outcome.there:
        return ()
    return (f"Among the people who have {formula.outcome}.",)
