"""The command that runs the protocol on data: simulate."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import load_frame, mechanism_names, without_gaps
from deniable.cli.output import print_json, progress
from deniable.cli.tables import NOISE, attributes_of, is_noise, show_left_out, trials_table
from deniable.cli.values import schema_of
from deniable.decoding.decoder import decoder_of
from deniable.errors import SurveyError
from deniable.release.consistency import CONSISTENCY
from deniable.schema.schema import Schema
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.lab.simulate import Trial

Mechanism = Annotated[str, typer.Option(help="auto, all, or names separated by commas.")]
People = Annotated[
    int | None, typer.Option(help="Draw this many with replacement; default: each row once.")
]
Repeat = Annotated[int, typer.Option(help="How often to repeat.", min=1, max=1_000_000)]
Seed = Annotated[str | None, typer.Option(help="A text that makes the run reproducible.")]
TableSize = Annotated[
    int | None,
    typer.Option(help="Compare tables of this many attributes; above the order by a model."),
]


def simulate(
    data: option.Data,
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    mechanism: Mechanism = "auto",
    people: People = None,
    repeat: Repeat = 1,
    seed: Seed = None,
    consistency: option.Consistency = CONSISTENCY[0],
    tables: TableSize = None,
    estimator: option.Estimator = None,
    columns: option.Columns = None,
    values: option.Values = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Run the protocol on data; compare with the truth."""
    frame = without_gaps(load_frame(data, columns), drop_missing)
    if people is not None and people < 1:
        raise SurveyError(f"people must be at least 1, got {people}.")
    schema = schema_of(frame, columns, values, observed)
    names = ["auto"] if mechanism == "auto" else mechanism_names(mechanism)
    surveys, left_out = _surveys(schema, order, epsilon, names, estimator)
    rows = _last_trials(
        surveys,
        frame,
        people=people,
        repeat=repeat,
        seed=seed,
        consistency=consistency,
        estimator=estimator,
        tables=tables,
    )
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        _show_trials(rows, schema, consistency, is_seeded=bool(seed))
        show_left_out(left_out)


def _surveys(
    schema: Schema, order: int, epsilon: float, names: list[str], estimator: str | None
) -> tuple[list[Survey], list[str]]:
    """Return a survey of each mechanism, and why others are left out."""
    surveys: list[Survey] = []
    left_out: list[str] = []
    for name in names:
        try:
            survey = Survey(schema, order, epsilon, name)
            decoder_of(survey).check_estimator(estimator)
            surveys.append(survey)
        except SurveyError as error:
            if len(names) == 1:
                raise
            left_out.append(str(error))
    if not surveys:
        raise SurveyError(left_out[0])
    return surveys, left_out


def _last_trials(
    surveys: list[Survey], frame: Any, *, people: int | None, repeat: int, **options: Any
) -> list[Trial]:
    """Return the trial of each survey after all repeats."""
    from deniable.lab.simulate import trials

    rows: list[Trial] = []
    count = frame.num_rows if people is None else people
    with progress(len(surveys) * repeat * count, "simulating") as advance:
        for survey in surveys:
            step = partial(advance, survey.mechanism)
            runs = trials(survey, frame, people=people, repeat=repeat, advance=step, **options)
            rows += deque(runs, maxlen=1)
    return rows


def _show_trials(
    rows: Sequence[Trial], schema: Schema, consistency: str, *, is_seeded: bool
) -> None:
    console, first = stdout(), rows[0]
    console.print(
        f"{first.people:,} people, {attributes_of(schema.sizes)}, all tables of {first.tables}"
        f"{f' from surveys of order {first.order}' if first.tables != first.order else ''}, "
        f"epsilon {first.epsilon:g}, {first.repeat} {'repeat' if first.repeat == 1 else 'repeats'}"
        f"{', SIMULATED with a seed' if is_seeded else ''}.\n"
    )
    console.print(trials_table(rows))
    predictions = [row.predicted_tv for row in rows if row.predicted_tv is not None]
    if is_noise(predictions or [row.mean_tv for row in rows]):
        console.print(f"\n{NOISE}")
    if consistency != CONSISTENCY[0]:
        others = ", ".join(
            f"{row.mechanism} {row.applied}" for row in rows if row.applied != consistency
        )
        console.print(
            f"\nConsistency {consistency}{f', but applied was: {others}' if others else ''}. "
            f"What processing makes of errors is not predicted; --consistency {CONSISTENCY[0]} is."
        )
