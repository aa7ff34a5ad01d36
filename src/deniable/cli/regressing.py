"""The command that explains private answers by open covariates: regress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.analysis.one_question import OneQuestion
from deniable.analysis.regression.kinds import Kind, Method
from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import SIMULATED, print_json
from deniable.errors import QuestionError, TableError
from deniable.messages.modes import choices, in_words
from deniable.show.numbers import q_value
from deniable.show.terminal import number, percent, stdout, table

if TYPE_CHECKING:
    import pandas as pd

    from deniable.api.open_regression import PlottedOpenRegression

_DESIGNS: dict[str, tuple[Callable[..., OneQuestion], int]] = {
    "warner": (OneQuestion.warner, 1),
    "forced-response": (OneQuestion.forced_response, 2),
    "crosswise": (OneQuestion.crosswise, 1),
    "unrelated": (OneQuestion.unrelated, 2),
    "yes": (OneQuestion, 2),
}
"""Classical designs by name, and how many probabilities each takes."""

Reports = Annotated[
    str,
    typer.Argument(
        help="A .parquet file of reports, a folder of them or a pattern; with --design, a data file."
    ),
]
FormulaText = Annotated[
    str, typer.Argument(metavar="FORMULA", help="The fit, such as 'legal ~ age/10 + female'.")
]
Open = Annotated[
    str | None,
    about("A data file of open columns: a row for each report, in their order.", "--open"),
]
Design = Annotated[
    str | None,
    about(
        "A classical one-question design and its probabilities, such as forced-response:1/6,1/6 (yes, "
        "no), warner:0.7, crosswise:0.25, unrelated:0.7,0.1 (asked, innocent yes), or yes:5/6,1/6, "
        "a reported yes where the truth is yes, and where it is no."
    ),
]
Predict = Annotated[
    str | None, about("A data file of open columns: what is predicted of each of its rows.")
]
KindOfFit = Annotated[
    str | None,
    option.choice(
        "--kind",
        choices(Kind),
        "logistic, as for an outcome of two values, or linear, as for a number.",
    ),
]
MethodOfFit = Annotated[
    str,
    option.choice(
        "--method",
        choices(Method),
        "How a logistic fit is made: by likelihood, or by scores, which hold where no curve fits.",
    ),
]
Simulation = Annotated[bool, about("Take simulated reports as well.", "--simulation")]


def regress(
    reports: Reports,
    formula: FormulaText,
    survey: Annotated[
        Path | None, about("The survey's JSON file; the outcome is one of its attributes.")
    ] = None,
    open_rows: Open = None,
    design: Design = None,
    predict: Predict = None,
    kind: KindOfFit = None,
    method: MethodOfFit = "likelihood",
    simulation: Simulation = False,
    as_json: option.Json = False,
) -> None:
    """Explain private answers by open covariates that are known beside each report."""
    from deniable.api.open_regression import regress as fit_of
    from deniable.api.survey import Survey
    from deniable.lab.datasets import load

    if (survey is None) == (design is None):
        raise TableError(
            "Give --survey, the survey that was answered, or --design, a classical one-question design."
        )
    fit = fit_of(
        reports if design is None else load(reports),
        formula,
        None if open_rows is None else load(open_rows),
        survey=None if survey is None else Survey.load(survey),
        design=None if design is None else parse_design(design),
        kind=kind,
        method=method,
        simulation=simulation,
    )
    rows = None if predict is None else load(predict)
    predictions = None if rows is None else fit.predict(rows)
    if as_json:
        print_json(_form(fit, predictions))
        return
    _show(fit)
    if rows is not None and predictions is not None:
        _show_predictions(rows[list(fit.open_terms.formula.names)], predictions)


def parse_design(text: str) -> OneQuestion:
    """Return the classical design that a text names: 'forced-response:1/6,1/6'."""
    name, colon, rest = text.partition(":")
    numbers = [part.strip() for part in rest.split(",")]
    if name.strip() not in _DESIGNS or not colon:
        raise QuestionError(
            f"--design needs {in_words(list(_DESIGNS))}, a colon and probabilities, such as "
            "forced-response:1/6,1/6."
        )
    make, count = _DESIGNS[name.strip()]
    if len(numbers) != count:
        many = "1 probability" if count == 1 else f"{count} probabilities"
        raise QuestionError(f"The design {name.strip()} takes {many}, got {len(numbers)}.")
    return make(*numbers)


def _form(fit: PlottedOpenRegression, predictions: pd.DataFrame | None) -> dict[str, Any]:
    share = fit.prevalence
    form = {
        "formula": fit.formula,
        "outcome": fit.outcome,
        "kind": fit.kind,
        "people": fit.people,
        "answers": fit.answers,
        "left_out": fit.left_out,
        "epsilon": fit.epsilon,
        "log_likelihood": fit.log_likelihood,
        "misfit": fit.misfit,
        "notes": list(fit.notes),
        "level": fit.level,
        "simulated": fit.simulated,
        "mean": {
            "estimate": share.estimate,
            "standard_error": share.standard_error,
            "low": share.low,
            "high": share.high,
            "raw": share.raw,
        },
        "rows": fit.to_frame().to_dict("records"),
    }
    return form if predictions is None else form | {"predicted": predictions.to_dict("records")}


def _show(fit: PlottedOpenRegression) -> None:
    console = stdout()
    is_logistic = fit.kind == "logistic"
    lost = f"; {fit.left_out:,} rows with empty cells are left out" if fit.left_out else ""
    console.print(
        f"[bold]{escape(fit.outcome)}[/bold], {fit.kind} fit: {fit.people:,} people, of whom "
        f"{fit.answers:,} gave an answer that tells of it{lost}.{SIMULATED if fit.simulated else ''}\n"
    )
    rows = [
        [
            row["term"],
            f"{row['estimate']:.4f}",
            f"{row['standard_error']:.4f}",
            f"{row['sandwich_error']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            q_value(row["p_value"]),
            *([f"{row['odds_ratio']:.3f}"] if is_logistic else []),
        ]
        for row in fit.to_frame().to_dict("records")
    ]
    head = ["term", "estimate", "standard error", "sandwich", "95% interval", "p"]
    console.print(table([*head, *(["odds ratio"] if is_logistic else [])], rows))
    share = fit.prevalence
    spoken = percent if fit.is_truth else number
    unit = f" {fit.unit}" if fit.unit else ""
    what = "The share of yes" if fit.is_truth else "The mean"
    console.print(
        f"\n{what}, by the fit, is {spoken(share.estimate)}{escape(unit)} "
        f"({spoken(share.low)} to {spoken(share.high)})."
        + ("" if fit.log_likelihood is None else f" Log-likelihood {fit.log_likelihood:,.3f}.")
    )
    for note in fit.notes:
        console.print(escape(note))


def _show_predictions(rows: pd.DataFrame, predictions: pd.DataFrame) -> None:
    cells = [
        [*map(str, own), number(estimate), number(error), f"{number(low)} to {number(high)}"]
        for own, (estimate, error, low, high) in zip(
            rows.itertuples(index=False), predictions.to_numpy().tolist(), strict=True
        )
    ]
    head = [*map(str, rows.columns), "predicted", "standard error", "95% interval"]
    stdout().print()
    stdout().print(table(head, cells))
