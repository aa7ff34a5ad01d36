"""Where answers come from: reports to a survey, or a frame of answers to a one-question design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.analysis.formula import Formula, shown
from deniable.analysis.one_question import OneQuestion
from deniable.analysis.open_answers.answers import OutcomeAnswers, outcome_answers
from deniable.analysis.open_answers.reports import (
    OpenReports,
    beside,
    complete_rows,
    open_columns,
    reported_yes,
)
from deniable.analysis.open_answers.scores import Scores, outcome_scores
from deniable.analysis.open_answers.terms import OpenColumn
from deniable.analysis.regression.columns import outcome_of
from deniable.errors import TableError
from deniable.schema.frames import to_arrow
from deniable.survey.coefficients import Ints
from deniable.survey.frozen import FrozenSurvey


@dataclass(frozen=True, eq=False)
class AnswerSource:
    """Answers with open columns beside them, and what the answers of some rows say."""

    label: str
    is_truth: bool
    """Whether the outcome is one of two values, and not a number."""
    columns: dict[str, OpenColumn]
    people: int
    rows: Ints
    """The rows that are complete."""
    epsilon: float
    answers: Callable[[Ints], OutcomeAnswers]
    number_scores: Callable[[Ints], Scores] | None = None
    unit: str | None = None
    simulated: bool = False

    def scores(self, rows: Ints) -> Scores:
        """Return a score of each answer."""
        if not self.is_truth and self.number_scores is not None:
            return self.number_scores(rows)
        return Scores.of_answers(self.answers(rows))

    @classmethod
    def of_reports(
        cls, reports: Any, formula: Formula, open_rows: Any, survey: FrozenSurvey
    ) -> AnswerSource:
        """Read reports to a survey, with the open columns that a formula names."""
        outcome = outcome_of(survey, formula.outcome)
        position = survey.schema.index(formula.outcome)
        source = OpenReports.of(reports, open_rows, survey, formula)
        columns = open_columns(formula, source.tables, survey.labels.values, survey)
        slots, values = source.batch.slots, source.batch.values

        def answers(rows: Ints) -> OutcomeAnswers:
            return outcome_answers(survey, position, slots[rows], values[rows])

        def number_scores(rows: Ints) -> Scores:
            return outcome_scores(survey, position, slots[rows], values[rows])

        return cls(
            outcome.label,
            outcome.is_truth,
            columns,
            len(slots),
            complete_rows(list(columns.values()), len(slots)),
            survey.epsilon,
            answers,
            number_scores,
            survey.schema.attributes[position].unit,
            source.batch.simulated,
        )

    @classmethod
    def of_design(
        cls, rows: Any, formula: Formula, open_rows: Any, design: OneQuestion
    ) -> AnswerSource:
        """Read a frame of answers to a classical design, with the open columns that a formula names."""
        table, name = to_arrow(rows), formula.outcome
        if name not in table.column_names:
            raise TableError(f"The frame has no column {shown(name)}, the outcome.")
        outcome = reported_yes(name, table.column(name))
        tables = [table.drop_columns([name])]
        if open_rows is not None:
            tables.append(beside(open_rows, table.num_rows))
        columns = open_columns(formula, tables, {})
        yes, no = float(design.yes_if_yes), float(design.yes_if_no)

        def answers(rows: Ints) -> OutcomeAnswers:
            kind = outcome.numbers[rows].astype(np.int64)
            score = (np.array([0.0, 1.0]) - no) / (yes - no)
            precision = np.full(2, 4 * (yes - no) ** 2)
            noise = (np.full(2, each * (1 - each) / (yes - no) ** 2) for each in (yes, no))
            return OutcomeAnswers(
                kind, np.array([1 - yes, yes]), np.array([1 - no, no]), score, precision, *noise
            )

        complete = complete_rows([*columns.values(), outcome], table.num_rows)
        return cls(name, True, columns, table.num_rows, complete, design.epsilon, answers)
