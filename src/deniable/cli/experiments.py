"""The commands of the lab: simulate, audit, reproduce."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import (
    binary_schema,
    load_frame,
    mechanism_names,
    schema_of,
    sized_schema,
    without_gaps,
)
from deniable.cli.options import about
from deniable.cli.output import (
    NOISE,
    attributes_of,
    is_noise,
    print_json,
    progress,
    show_left_out,
    trials_table,
)
from deniable.decoding.decoder import decoder_of
from deniable.errors import DataError, SurveyError
from deniable.mechanisms.registry import mechanism_named
from deniable.release.consistency import CONSISTENCY
from deniable.schema.schema import Schema
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    from deniable.lab.audit import Audit
    from deniable.lab.experiments.reproduce import Result
    from deniable.lab.rivals.rival import Rival
    from deniable.lab.simulate import Trial


Mechanism = Annotated[
    str,
    about("auto, all (with the rivals CALM and product of margins), or names separated by commas."),
]
People = Annotated[int | None, about("Draw this many with replacement; default: each row once.")]
Repeat = Annotated[int, about("How often to repeat.", min=1, max=1_000_000)]
Seed = Annotated[str | None, about("A text that makes the run reproducible.")]
TableSize = Annotated[
    int | None, about("Compare tables of this many attributes; above the order by a model.")
]


def simulate(
    data: option.Data,
    order: option.Order = 2,
    epsilon: option.Epsilon = 1.1,
    mechanism: Mechanism = "auto",
    aim: option.Aim = "tables",
    people: People = None,
    repeat: Repeat = 1,
    seed: Seed = None,
    consistency: option.Consistency = CONSISTENCY[0],
    tables: TableSize = None,
    estimator: option.Estimator = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Run the protocol on data; compare with the truth."""
    frame = without_gaps(load_frame(data, columns), drop_missing)
    if people is not None and people < 1:
        raise SurveyError(f"people must be at least 1, got {people}.")
    schema = schema_of(frame, columns, values, observed, ranges=ranges)
    contenders, left_out = _contenders(
        (schema, order, epsilon), mechanism, aim, people or max(1, frame.num_rows), estimator
    )
    rows = _last_trials(
        contenders,
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


Point = tuple[Schema, int, float]


def _contenders(
    point: Point, mechanism: str, aim: str, people: int, estimator: str | None
) -> tuple[list[Survey | Rival], list[str]]:
    """Return a survey of each mechanism, and the rivals where all are asked for; why some are left out.

    Designs are made for as many people as take part.
    """
    from deniable.lab.rivals.registry import RIVALS

    names = ["auto"] if mechanism == "auto" else mechanism_names(mechanism, RIVALS)
    contenders: list[Survey | Rival] = []
    left_out: list[str] = []
    for name in names:
        try:
            if name in RIVALS and estimator is not None:
                raise SurveyError(f"{name} has no estimators to choose from.")
            if name in RIVALS:
                contenders.append(RIVALS[name](*point))
                continue
            survey = Survey(*point, name, aim=aim, people=people)
            decoder_of(survey).check_estimator(estimator)
            contenders.append(survey)
        except SurveyError as error:
            if len(names) == 1:
                raise
            left_out.append(str(error))
    if not contenders:
        raise SurveyError(left_out[0])
    return contenders, left_out


def _last_trials(
    contenders: Sequence[Survey | Rival],
    frame: Any,
    *,
    people: int | None,
    repeat: int,
    **options: Any,
) -> list[Trial]:
    """Return the trial of each contender after all repeats."""
    from deniable.lab.simulate import trials

    rows: list[Trial] = []
    count = frame.num_rows if people is None else people
    with progress(len(contenders) * repeat * count, "simulating") as advance:
        for each in contenders:
            step = partial(advance, each.mechanism)
            runs = trials(each, frame, people=people, repeat=repeat, advance=step, **options)
            rows += deque(runs, maxlen=1)
    return rows


def _show_trials(
    rows: Sequence[Trial], schema: Schema, consistency: str, *, is_seeded: bool
) -> None:
    from deniable.lab.simulate import OWN

    console, first = stdout(), rows[0]
    console.print(
        f"{first.people:,} people, {attributes_of(schema)}, all tables of {first.tables}"
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
            f"{row.mechanism} {row.applied}"
            for row in rows
            if row.applied not in (consistency, OWN)
        )
        console.print(
            f"\nConsistency {consistency}{f', but applied was: {others}' if others else ''}. "
            f"What processing makes of errors is not predicted; --consistency {CONSISTENCY[0]} is."
        )


def audit(
    survey: Annotated[Path | None, typer.Argument(help="A survey's JSON file.")] = None,
    mechanism: Annotated[
        str | None, about("Names separated by commas, or all, the default.")
    ] = None,
    attributes: Annotated[int | None, about("By default 2, 3 and 4.")] = None,
    sizes: option.Sizes = None,
    order: Annotated[int | None, about("By default 1 to 3.")] = None,
    epsilon: Annotated[float | None, about("By default 0.1, ln 3 and 4.")] = None,
    as_json: option.Json = False,
) -> None:
    """Compute the exact epsilon and bias of surveys."""
    from deniable.lab.audit import audit as audit_one

    left_out: list[str] = []
    if survey is None:
        points = _points(attributes, sizes, order, epsilon)
        rows, left_out = _audits(mechanism_names(mechanism or "all"), points)
    elif (mechanism, attributes, sizes, order, epsilon) == (None,) * 5:
        rows = [audit_one(Survey.load(survey))]
    else:
        raise SurveyError("Give either a survey or what to audit, not both.")
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        _show_audits(rows)
        show_left_out(left_out)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


def _points(
    attributes: int | None, sizes: str | None, order: int | None, epsilon: float | None
) -> list[Point]:
    from deniable.lab.audit import GRID_EPSILONS

    if attributes is not None and sizes is not None:
        raise SurveyError("Give either --attributes or --sizes.")
    if sizes is not None:
        schemas = [sized_schema(sizes)]
    else:
        schemas = [binary_schema(d) for d in ((2, 3, 4) if attributes is None else (attributes,))]
    points = [
        (schema, k, e)
        for schema in schemas
        for k in (range(1, min(3, len(schema)) + 1) if order is None else (order,))
        for e in (GRID_EPSILONS if epsilon is None else (epsilon,))
        if k <= len(schema)
    ]
    if not points:
        raise SurveyError(f"order must be at most the {len(schemas[-1])} attributes, got {order}.")
    return points


def _audits(names: list[str], points: list[Point]) -> tuple[list[Audit], list[str]]:
    """Return the audits of mechanisms, and why some are left out, each reason once."""
    from deniable.lab.audit import audit as audit_one

    rows: list[Audit] = []
    left_out: dict[str, None] = {}
    with progress(len(names) * len(points), "auditing") as advance:
        for name, point in product(names, points):
            try:
                rows.append(audit_one(mechanism_named(name).survey(*point)))
            except SurveyError as error:
                if len(names) == 1:
                    raise
                left_out[str(error)] = None
            advance(name)
    if not rows:
        raise SurveyError(next(iter(left_out)))
    return rows, list(left_out)


def _show_audits(rows: Sequence[Audit]) -> None:
    """Print audits, one by one if they are few, else by mechanism."""
    console = stdout()
    if len(rows) <= 12:
        body = [
            [r.mechanism, r.attributes, r.order, f"{r.stated_epsilon!r}", f"{r.realised_epsilon!r}",
             "yes" if r.exact else "NO", "yes" if r.unbiased else "NO"]
            for r in rows
        ]  # fmt: skip
        heads = ["mechanism", "attributes", "order", "stated epsilon", "realised"]
        console.print(table([*heads, "exact", "unbiased"], body))
        return
    body = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        mine = [row for row in rows if row.mechanism == name]
        gap = max(row.stated_epsilon - row.realised_epsilon for row in mine)
        is_exceeded = any(row.realised_epsilon > row.stated_epsilon for row in mine)
        body.append(
            [name, len(mine), f"{gap:.1e}", "YES" if is_exceeded else "never",
             "yes" if all(r.exact for r in mine) else "NO",
             "yes" if all(r.unbiased for r in mine) else "NO"]
        )  # fmt: skip
    heads = ["mechanism", "surveys", "largest gap", "epsilon exceeded", "exact", "unbiased"]
    console.print(table(heads, body))
    console.print(
        "\nEvery law was computed in integers: enumerated, or factor by factor where there are too "
        "many values. --json lists every survey."
    )


_STYLES = {
    "holds": "green",
    "holds with correction": "yellow",
    "refuted": "red",
    "undecided": "dim",
}


Output = Annotated[
    Path, about("The folder for results; a run goes on where it was.", "--output", "-o")
]
Movielens = Annotated[Path | None, about("An official MovieLens release: its folder or zip.")]
Taxi = Annotated[
    Path | None, about("Official yellow taxi trips: a .parquet file or a folder of them.")
]
Bits = Annotated[Path | None, about("A folder of bits derived from the official files before.")]
Workers = Annotated[
    int | None, about("How many processes measure at once; default: one a core.", min=1, max=1024)
]


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="all, or some experiments; see --list.")
    ] = None,
    output: Output = Path("reproduction"),
    quick: Annotated[bool, about("A coarser grid: minutes, not an hour.", "--quick")] = False,
    movielens: Movielens = None,
    taxi: Taxi = None,
    data: Bits = None,
    workers: Workers = None,
    show_list: Annotated[bool, about("List the experiments and stop.", "--list")] = False,
    as_json: option.Json = False,
) -> None:
    """Regenerate the paper's figures and tables, and check its claims."""
    from deniable.lab.experiments.reproduce import Run, chosen
    from deniable.lab.experiments.sources import DataFiles

    if show_list:
        _list_experiments(as_json)
        return
    if output.exists() and not output.is_dir():
        raise DataError(f"Results go to a folder, and {output.name} is a file.")
    data_files = DataFiles(movielens, taxi, data)
    run = Run(chosen(names or []), output, quick, data_files, workers or os.cpu_count() or 1)
    with progress(run.points, "starting") as advance:
        results = list(run.results(lambda name, points: advance(name, points)))
    if as_json:
        print_json(run.summary() | {"output": str(output)})
    else:
        _show_results(results, output)


def _list_experiments(as_json: bool) -> None:
    from deniable.lab.experiments import EXPERIMENTS

    if as_json:
        print_json([{"name": each.name, "shows": each.shows} for each in EXPERIMENTS.values()])
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for each in EXPERIMENTS.values():
        table.add_row(f"[bold]{each.name}[/bold]", each.shows)
    stdout().print(table)


def _show_results(results: list[Result], output: Path) -> None:
    from deniable.lab.experiments.verdicts import repeats_that_decide

    console = stdout()
    for source in {each.name: each for result in results for each in result.data}.values():
        if source.kind != "synthetic":
            console.print(f"[bold]{source.name}[/bold] ({source.kind}): {escape(source.origin)}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "statement", "measured", "verdict"):
        table.add_column(heading)
    claims = [claim for result in results for claim in result.claims]
    for claim in sorted(claims, key=lambda each: each.number or 99):
        style = _STYLES[claim.verdict]
        table.add_row(
            str(claim.number or "+"),
            escape(claim.statement),
            escape(claim.measured),
            f"[{style}]{claim.verdict}[/{style}]{repeats_that_decide(claim.repeats_needed)}",
        )
        table.add_row()
    console.print(table)
    points_measured = sum(result.measured for result in results)
    points = sum(result.points for result in results)
    console.print(
        f"{points_measured:,} of {points:,} points measured now, the others before. "
        f"Charts, data and claims are in {escape(str(output))}; results.md shows all of them."
    )
