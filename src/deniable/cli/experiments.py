"""The commands of the lab: simulate, reproduce."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
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
    load_frame,
    mechanism_names,
    sample_schema,
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
from deniable.cli.sweeps import (
    check_files,
    join_numbers,
    parse_numbers,
    save_sweep,
    show_comparisons,
    show_files,
    sweep_table,
)
from deniable.decoding.decoder import decoder_of
from deniable.errors import DataError, SurveyError
from deniable.release.consistency import CONSISTENCY
from deniable.schema.schema import Schema
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.lab.experiments.reproduce import Result
    from deniable.lab.rivals.rival import Rival
    from deniable.lab.simulate import Trial


def _contender_names(text: str = "all") -> list[str]:
    """Return the names of mechanisms and rivals that a text names."""
    from deniable.lab.rivals.registry import RIVALS

    return ["auto"] if text == "auto" else mechanism_names(text, RIVALS)


Mechanism = Annotated[
    str,
    option.names_option(
        "auto, all (with the rivals CALM, product of margins, OUE, OLH and HR), or names and commas.",
        _contender_names,
        lambda: ["auto", "all", *_contender_names()],
    ),
]
Orders = Annotated[
    str, about("The largest number of attributes in a table; or several, such as 2,3.", "--order")
]
Epsilons = Annotated[
    str, about("The privacy parameter of one report; or several, such as .5,1,2.", "--epsilon")
]
People = Annotated[
    str | None,
    about(
        "Draw this many with replacement; default: each row once. Or several, such as 1e4,1e5.",
        "--people",
    ),
]
Chart = Annotated[
    Path | None, about("Draw the errors: .html, .svg, .pdf, .png or .json.", "--chart")
]
TableFile = Annotated[
    Path | None, about("Write them as a table: LaTeX (.tex) or .csv.", "--output", "-o")
]
Repeat = Annotated[int, about("How often to repeat.", min=1, max=1_000_000)]
Seed = Annotated[str | None, about("A text that makes the run reproducible.")]
TableSize = Annotated[
    int | None, about("Compare tables of this many attributes; above the order by a model.")
]


def simulate(
    data: option.Data,
    order: Orders = "2",
    epsilon: Epsilons = "1.1",
    mechanism: Mechanism = "auto",
    aim: option.Aim = "tables",
    people: People = None,
    repeat: Repeat = 1,
    seed: Seed = None,
    consistency: option.Consistency = CONSISTENCY[0],
    tables: TableSize = None,
    estimator: option.Estimator = None,
    chart: Chart = None,
    output: TableFile = None,
    columns: option.Columns = None,
    values: option.Values = None,
    ranges: option.Range = None,
    observed: option.Observed = False,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Run the protocol on data; compare with the truth."""
    orders, epsilons = parse_numbers("order", order, whole=True), parse_numbers("epsilon", epsilon)
    crowds = parse_numbers("people", people, whole=True) if people is not None else [None]
    check_files(chart, output)
    frame = without_gaps(load_frame(data, columns), drop_missing)
    if crowds[0] is not None and crowds[0] < 1:
        raise SurveyError(f"people must be at least 1, got {crowds[0]}.")
    schema = sample_schema(frame, columns, values, observed, ranges)
    contenders: list[tuple[Survey | Rival, int | None]] = []
    left_out: dict[str, None] = {}
    for k, e, count in product(orders, epsilons, crowds):
        expected = count or max(1, frame.num_rows)
        some, reasons = _contenders((schema, int(k), e), mechanism, aim, expected, estimator)
        contenders += [(each, count) for each in some]
        left_out |= dict.fromkeys(reasons)
    rows = _last_trials(
        contenders,
        frame,
        repeat=repeat,
        seed=seed,
        consistency=consistency,
        estimator=estimator,
        tables=tables,
    )
    save_sweep(rows, chart, output)
    if as_json:
        print_json([row.to_json() for row in rows])
    else:
        _show_trials(rows, schema, consistency, is_seeded=bool(seed))
        show_left_out(left_out)
        show_files(chart, output)


Point = tuple[Schema, int, float]


def _contenders(
    point: Point, mechanism: str, aim: str, people: int, estimator: str | None
) -> tuple[list[Survey | Rival], list[str]]:
    """Return a survey of each mechanism, and the rivals where all are asked for; why some are left out.

    Designs are made for as many people as take part.
    """
    from deniable.lab.rivals.registry import RIVALS

    names = _contender_names(mechanism)
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
    contenders: Sequence[tuple[Survey | Rival, int | None]],
    frame: Any,
    *,
    repeat: int,
    **options: Any,
) -> list[Trial]:
    """Return the trial of each contender after all repeats; in each, all ask the same people."""
    from deniable.lab.simulate import trials
    from deniable.questions.entropy import Key

    rows: list[Trial] = []
    counts = [frame.num_rows if people is None else people for _, people in contenders]
    crowds = Key.of(options["seed"])
    with progress(sum(counts) * repeat, "simulating") as advance:
        for each, people in contenders:
            step = partial(advance, each.mechanism)
            settings = options | {"people": people, "crowds": crowds, "advance": step}
            rows += deque(trials(each, frame, repeat=repeat, **settings), maxlen=1)
    return rows


def _show_trials(
    rows: Sequence[Trial], schema: Schema, consistency: str, *, is_seeded: bool
) -> None:
    from deniable.lab.simulate import OWN
    from deniable.lab.sweep import by_point

    console, first = stdout(), rows[0]
    points = by_point(rows)
    sizes = join_numbers(row.people for row in rows), join_numbers(row.epsilon for row in rows)
    orders = join_numbers(row.order for row in rows)
    surveys = f" from surveys of order {orders}" if orders != str(first.tables) else ""
    console.print(
        f"{sizes[0]} people, {attributes_of(schema)}, all tables of "
        f"{join_numbers(row.tables for row in rows)}{surveys}, "
        f"epsilon {sizes[1]}, {first.repeat} {'repeat' if first.repeat == 1 else 'repeats'}"
        f"{', SIMULATED with a seed' if is_seeded else ''}.\n"
    )
    console.print(trials_table(rows) if len(points) == 1 else sweep_table(points))
    show_comparisons(points)
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
