"""The command that makes tables of tallies: release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.api.release import Release
from deniable.api.tally import Tally
from deniable.cli import options as option
from deniable.cli.output import print_json, progress
from deniable.cli.tables import SIMULATED
from deniable.errors import TallyError
from deniable.release.consistency import CONSISTENCY
from deniable.show.terminal import stdout


def release(
    tallies: Annotated[list[Path], typer.Argument(help="Tallies of one survey; they add up.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A report (.html), or all tables (.json, .csv or .parquet)."
        ),
    ],
    consistency: option.Consistency = CONSISTENCY[0],
    again: option.Again = False,
    as_json: option.Json = False,
) -> None:
    """Turn tallies into tables with error bars."""
    from deniable.show.export import check_ending, count_tables, summary, write_export

    check_ending(output)
    parts = _load(tallies, again)
    tables = Tally.total(parts[0].survey, parts).release(consistency)
    count = count_tables(tables)
    with progress(count, "writing tables") as advance:
        write_export(tables, output, advance)
    if as_json:
        print_json(summary(tables) | {"tables": count, "output": str(output)})
    else:
        _show_release(tables, count, output)


def _load(paths: list[Path], again: bool) -> list[Tally]:
    """Return tallies, and refuse those whose reports would count twice."""
    tallies: list[Tally] = []
    for path in paths:
        tally = Tally.load(path)
        if not again and (paths.count(path) > 1 or any(map(tally.overlaps, tallies))):
            raise TallyError(
                f"{path.name} is named twice, or counts reports that another tally counts, of the same "
                "file or the same store; --again lets it."
            )
        tallies.append(tally)
    return tallies


def _show_release(tables: Release, count: int, output: Path) -> None:
    from deniable.release.marginal import IMPLAUSIBLE

    applied = f", {tables.applied} applied" if tables.applied != tables.consistency else ""
    group = "".join(f", {escape(name)} {escape(value)}" for name, value in tables.group.items())
    stdout().print(
        f"{count:,} tables of {tables.people:,} people{group}, "
        f"survey [bold]{tables.survey.id[:16]}[/bold], consistency {tables.consistency}{applied}, "
        f"are in {escape(output.name)}.{SIMULATED if tables.simulated else ''}"
    )
    if not tables.plausible:
        stdout().print(f"[bold]{IMPLAUSIBLE}[/bold]")
