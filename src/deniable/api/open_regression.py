"""regress: private answers explained by open covariates that are known beside each report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable.analysis.formula import Formula, read_formula, shown
from deniable.analysis.one_question import OneQuestion
from deniable.analysis.open_fit import Kind, Method, OpenFit, Outcome
from deniable.analysis.open_regression import fit_likelihood, fit_linear, fit_scores
from deniable.analysis.open_reports import (
    OpenReports,
    beside,
    complete_rows,
    open_columns,
    reported_yes,
)
from deniable.analysis.open_terms import OpenColumn, OpenTerms, patterns_of
from deniable.analysis.outcome_answers import OutcomeAnswers, outcome_answers
from deniable.analysis.outcome_scores import outcome_scores
from deniable.errors import ReportError, TableError
from deniable.messages.modes import check_choice, in_words
from deniable.release.marginal import check_level
from deniable.schema.frames import to_arrow
from deniable.survey.coefficients import Floats, Ints
from deniable.survey.frozen import FrozenSurvey

if TYPE_CHECKING:
    import pandas as pd


class Fit(OpenFit):
    """The fit of a private outcome on open terms."""

    def predict(self, frame: Any, *, level: float | None = None) -> pd.DataFrame:
        """Return the share of yes (or the mean) that is predicted of each row of open columns.

        A pandas frame with the rows of ``frame``: ``estimate``, ``standard_error`` (delta method),
        ``low`` and ``high``. Where a column that is needed is empty, so is the prediction.
        """
        import pandas as pd

        table = to_arrow(frame)
        columns = open_columns(self.terms.formula, [table], self.terms.levels)
        rows = self.predicted(columns, table.num_rows, level)
        return rows.set_axis(frame.index) if isinstance(frame, pd.DataFrame) else rows


def regress(
    reports: Any,
    formula: str,
    open: Any = None,
    *,
    survey: FrozenSurvey | None = None,
    design: OneQuestion | None = None,
    kind: str = "logistic",
    method: str = "likelihood",
    level: float = 0.95,
    simulation: bool = False,
) -> Fit:
    """Explain a private outcome by open covariates: ``regress(reports, "legal ~ age + sex", frame)``.

    ``reports`` is a batch, a list of `Report`, a frame with the columns slot and value, or names of
    Parquet files of reports to ``survey``, of which the outcome is an attribute. Terms are columns of
    ``open``, a frame with one row for each report, in their order; or columns in the reports' own rows,
    labels included. An attribute of the survey is never open. ``kind`` is "logistic" for an outcome of
    two values, of which the second counts as yes, or "linear", for numbers as well. A logistic fit is
    by "likelihood", or by "scores", which are less exact and tend to what open answers would give, even
    where the curve does not fit.

    With a classical ``design``, such as ``OneQuestion.forced_response(yes="1/6", no="1/6")``,
    ``reports`` is a frame whose outcome column holds the yes or no that was reported.

    Rows with empty cells in the columns that are used are left out, and counted. Simulated reports are
    refused unless ``simulation`` says that they are wanted.
    """
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
        source = _of_design(reports, parts, open, design)
    else:
        assert survey is not None
        source = _of_reports(reports, parts, open, survey)
    if source.simulated and not simulation:
        raise ReportError(
            "The reports are simulated, with reproducible randomness; "
            "regress(..., simulation=True) takes them."
        )
    return _fitted(source, parts, cast("Kind", kind), cast("Method", method), level)


@dataclass(frozen=True, eq=False)
class _Source:
    """Where answers come from: the open columns beside them, and how the two kinds of fit read them."""

    outcome: Outcome
    columns: dict[str, OpenColumn]
    people: int
    epsilon: float
    simulated: bool
    rows: Ints
    """The rows that are complete."""
    answers: Callable[[Ints], OutcomeAnswers]
    scores: Callable[[Ints], tuple[Floats, Floats]]


def _of_reports(reports: Any, formula: Formula, open_rows: Any, survey: FrozenSurvey) -> _Source:
    """Return the answers of reports to a survey."""
    if formula.outcome not in survey.schema.names:
        raise TableError(
            f"The outcome {shown(formula.outcome)} is no attribute of the survey, which asks about "
            f"{in_words([*map(repr, survey.schema.names)])}."
        )
    position = survey.schema.index(formula.outcome)
    attribute = survey.schema.attributes[position]
    source = OpenReports.of(reports, open_rows, survey, formula)
    batch = source.batch
    columns = open_columns(formula, source.tables, survey.labels.values, survey)
    value = attribute.values[1] if attribute.codes == 2 else None
    slots, values = batch.slots, batch.values

    def answers(rows: Ints) -> OutcomeAnswers:
        return outcome_answers(survey, position, slots[rows], values[rows])

    def scores(rows: Ints) -> tuple[Floats, Floats]:
        if attribute.codes == 2:
            return _by_kind(answers(rows))
        return outcome_scores(survey, position, slots[rows], values[rows])

    return _Source(
        Outcome(attribute.name, value, attribute.unit),
        columns,
        len(batch),
        survey.epsilon,
        batch.simulated,
        complete_rows(list(columns.values()), len(batch)),
        answers,
        scores,
    )


def _of_design(rows: Any, formula: Formula, open_rows: Any, design: OneQuestion) -> _Source:
    """Return the answers to a classical one-question design."""
    table = to_arrow(rows)
    if formula.outcome not in table.column_names:
        raise TableError(f"The frame has no column {shown(formula.outcome)}, the outcome.")
    outcome = reported_yes(formula.outcome, table.column(formula.outcome))
    tables = [table.drop_columns([formula.outcome])]
    if open_rows is not None:
        tables.append(beside(open_rows, table.num_rows))
    columns = open_columns(formula, tables, {})
    yes, no = float(design.yes_if_yes), float(design.yes_if_no)

    def answers(rows: Ints) -> OutcomeAnswers:
        kind = outcome.numbers[rows].astype(np.int64)
        score = (np.array([0.0, 1.0]) - no) / (yes - no)
        return OutcomeAnswers(
            kind,
            np.array([1 - yes, yes]),
            np.array([1 - no, no]),
            score,
            np.full(2, 4 * (yes - no) ** 2),
        )

    return _Source(
        Outcome(formula.outcome, True),
        columns,
        table.num_rows,
        design.epsilon,
        False,
        complete_rows([*columns.values(), outcome], table.num_rows),
        answers,
        lambda rows: _by_kind(answers(rows)),
    )


def _by_kind(answers: OutcomeAnswers) -> tuple[Floats, Floats]:
    """Return the score and the weight of each answer."""
    return answers.score[answers.kind], answers.precision[answers.kind]


def _fitted(source: _Source, formula: Formula, kind: Kind, method: Method, level: float) -> Fit:
    columns = {
        name: each.rows(source.rows).without_unused() for name, each in source.columns.items()
    }
    terms = OpenTerms.of(formula, columns)
    patterns = patterns_of(terms, columns, len(source.rows))
    if kind == "logistic" and method == "likelihood":
        answers = source.answers(source.rows)
        estimate = fit_likelihood(patterns, terms.labels, answers)
        count = int(answers.tells.sum())
    else:
        scores, weights = source.scores(source.rows)
        fit = fit_linear if kind == "linear" else fit_scores
        estimate = fit(patterns, terms.labels, scores, weights)
        count = int(np.count_nonzero(weights))
    return Fit(
        source.outcome,
        kind,
        terms,
        estimate,
        patterns,
        count,
        source.people - len(source.rows),
        source.epsilon,
        level,
        source.simulated,
    )
