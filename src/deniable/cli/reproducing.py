"""The command that runs the paper's experiments: reproduce."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from deniable.cli import options as option
from deniable.cli.output import print_json, progress
from deniable.errors import DataError
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.lab.experiments.reproduce import Result

_STYLES = {"holds": "green", "holds with correction": "yellow", "refuted": "red"}


Output = Annotated[
    Path,
    typer.Option("--output", "-o", help="The folder for results; a run goes on where it was."),
]
Movielens = Annotated[
    Path | None, typer.Option(help="An official MovieLens release: its folder or zip.")
]
Taxi = Annotated[
    Path | None,
    typer.Option(help="Official yellow taxi trips: a .parquet file or a folder of them."),
]
Bits = Annotated[
    Path | None, typer.Option(help="A folder of bits derived from the official files before.")
]
Workers = Annotated[
    int | None,
    typer.Option(help="How many processes measure at once; default: one a core.", min=1, max=1024),
]


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="all, or some experiments; see --list.")
    ] = None,
    output: Output = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarser grid: minutes, not an hour.")
    ] = False,
    movielens: Movielens = None,
    taxi: Taxi = None,
    data: Bits = None,
    workers: Workers = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the experiments and stop.")
    ] = False,
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
            f"[{style}]{claim.verdict}[/{style}]",
        )
        table.add_row()
    console.print(table)
    measured = sum(result.measured for result in results)
    points = sum(result.points for result in results)
    console.print(
        f"{measured:,} of {points:,} points measured now, the others before. "
        f"Charts, data and claims are in {escape(str(output))}; results.md shows all of them."
    )
