"""regress: private answers explained by open covariates that are known beside each report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable.analysis.formula import Formula, read_formula, shown
from deniable.analysis.one_question import OneQuestion
from deniable.analysis.open_answers.estimation import fit_likelihood, fit_linear, fit_scores
from deniable.analysis.open_answers.fit import OpenRegression
from deniable.analysis.open_answers.reports import open_columns
from deniable.analysis.open_answers.sources import AnswerSource
from deniable.analysis.open_answers.terms import OpenTerms, patterns_of
from deniable.analysis.regression.kinds import Kind, Method
from deniable.api.regression import PlottedRegression
from deniable.errors import ReportError, TableError
from deniable.messages.modes import check_choice
from deniable.numeric.levels import check_level
from deniable.schema.frames import to_arrow
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlottedOpenRegression(OpenRegression, PlottedRegression):
    """A regression of single reports that can be drawn, and predicts."""

    def predict(self, frame: Any, *, level: float | None = None) -> pd.DataFrame:
        """Return the share of yes (or the mean) that is predicted of each row of open columns.

        A pandas frame with the rows of ``frame``: ``estimate``, ``standard_error`` (delta method),
        ``low`` and ``high``. Where a column that is needed is empty, so is the prediction.
        """
        import pandas as pd

        table, terms = to_arrow(frame), self.open_terms
        columns = open_columns(terms.formula, [table], terms.levels)
        terms.check(columns)
        rows = self.predicted(columns, table.num_rows, level)
        return rows.set_axis(frame.index) if isinstance(frame, pd.DataFrame) else rows


def regress(
    reports: Any,
    formula: str,
    open: Any = None,
    *,
    survey: FrozenSurvey | None = None,
    design: OneQuestion | None = None,
    kind: str | None = None,
    method: str = "likelihood",
    level: float = 0.95,
    simulation: bool = False,
) -> PlottedOpenRegression:
    """Explain a private outcome by open covariates: ``regress(reports, "legal ~ age + sex", frame)``.

    ``reports`` is a batch, a list of `Report`, a frame with the columns slot and value, or names of
    Parquet files of reports to ``survey``, of which the outcome is an attribute. Terms are columns of
    ``open``, a frame with one row for each report, in their order; or columns in the reports' own rows,
    labels included. An attribute of the survey is never open.

    With a classical ``design``, such as ``OneQuestion.forced_response(yes="1/6", no="1/6")``,
    ``reports`` is a frame whose outcome column holds the yes or no that was reported.

    ``kind`` is "logistic", as it is for one of two values, of which the second counts as yes, or
    "linear", as for numbers. A logistic fit is by ``method`` "likelihood", or by "scores", which are
    less exact and tend to what open answers would give, even where the curve does not fit.

    Rows with empty cells in the columns that are used are left out, and counted. Simulated reports are
    refused unless ``simulation`` says that they are wanted.
    """
    if kind is not None:
        check_choice("kind", kind, Kind, TableError)
    check_choice("method", method, Method, TableError)
    check_level(level)
    parts = read_formula(formula)
    if (survey is None) == (design is None):
        raise TableError(
            "A fit needs either the survey that was answered, survey=…, or a classical one-question "
            f"design, design=…; got {'neither' if survey is None else 'both'}."
        )
    if design is not None:
        source = AnswerSource.of_design(reports, parts, open, design)
    else:
        assert survey is not None
        source = AnswerSource.of_reports(reports, parts, open, survey)
    if source.simulated and not simulation:
        raise ReportError(
            "The reports are simulated, with reproducible randomness; simulation=True takes them "
            "(--simulation)."
        )
    if kind == "logistic" and not source.is_truth:
        raise TableError(
            f"A logistic regression explains one of two values, and {shown(parts.outcome)} is a number: "
            "kind='linear' is least squares."
        )
    default = "logistic" if source.is_truth else "linear"
    return _fitted(source, parts, cast("Kind", kind or default), cast("Method", method), level)


def _fitted(
    source: AnswerSource, formula: Formula, kind: Kind, method: Method, level: float
) -> PlottedOpenRegression:
    rows = source.rows
    columns = {name: each.rows(rows).without_unused() for name, each in source.columns.items()}
    terms = OpenTerms.of(formula, columns)
    patterns = patterns_of(terms, columns, len(rows))
    names = tuple(term for _, term in terms.columns)
    if kind == "logistic" and method == "likelihood":
        answers = source.answers(rows)
        estimate = fit_likelihood(patterns, names, answers)
        count = int(answers.tells.sum())
    else:
        scores = source.scores(rows)
        fit = fit_linear if kind == "linear" else fit_scores
        estimate = fit(patterns, names, scores)
        count = int(np.count_nonzero(scores.weights))
    return PlottedOpenRegression(
        formula.text,
        kind,
        source.label,
        terms.labels,
        names,
        **PlottedOpenRegression.parts_of(estimate),
        standardised=np.append(np.nan, (estimate.coefficients * estimate.width)[1:]),
        people=len(rows),
        level=level,
        notes=PlottedOpenRegression.notes_on(estimate),
        simulated=source.simulated,
        open_terms=terms,
        patterns=patterns,
        answers=count,
        left_out=source.people - len(rows),
        epsilon=source.epsilon,
        log_likelihood=estimate.log_likelihood,
        misfit=estimate.misfit,
        unit=source.unit,
        is_truth=source.is_truth,
    )
