"""The command that runs the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from deniable.cli.app import Json, app
from deniable.cli.output import print_json, progress
from deniable.errors import DataError
from deniable.show.terminal import stdout

__all__ = ["reproduce"]

_STYLES = {"holds": "green", "holds with correction": "yellow", "refuted": "red"}


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="all, or some experiments; see --list.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder for results; a run goes on where it was."),
    ] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarser grid: minutes, not an hour.")
    ] = False,
    movielens: Annotated[
        Path | None, typer.Option(help="An official MovieLens release: its folder or zip.")
    ] = None,
    taxi: Annotated[
        Path | None,
        typer.Option(help="Official yellow taxi trips: a .parquet file or a folder of them."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder of bits derived from the official files before.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many processes measure at once; default: one a core.", min=1, max=1024
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the experiments and stop.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Regenerate the paper's figures and tables, and check its claims."""
    from deniable.lab.experiments import EXPERIMENTS
    from deniable.lab.experiments.reproduce import Run, chosen
    from deniable.lab.experiments.sources import DataFiles

    if show_list:
        if as_json:
            print_json([{"name": e.name, "shows": e.shows} for e in EXPERIMENTS.values()])
            return
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for each in EXPERIMENTS.values():
            table.add_row(f"[bold]{each.name}[/bold]", each.shows)
        stdout().print(table)
        return
    if output.exists() and not output.is_dir():
        raise DataError(f"Results go to a folder, and {output.name} is a file.")
    data_files = DataFiles(movielens, taxi, data)
    run = Run(chosen(names or []), output, quick, data_files, workers or os.cpu_count() or 1)
    results = []
    with progress(run.points, "starting") as advance:
        for result in run.results(lambda name, points: advance(name, points)):
            results.append(result)
    if as_json:
        print_json(run.summary() | {"output": str(output)})
        return
    screen = stdout()
    for used in {each.name: each for result in results for each in result.data}.values():
        if used.kind != "synthetic":
            screen.print(f"[bold]{used.name}[/bold] ({used.kind}): {escape(used.origin)}")
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
    screen.print(table)
    measured = sum(result.measured for result in results)
    screen.print(
        f"{measured:,} of {sum(r.points for r in results):,} points measured now, the others before. "
        f"Charts, data and claims are in {escape(str(output))}; results.md shows all of them."
    )
