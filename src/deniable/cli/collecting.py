"""The commands that reports walk through: randomize, tally, release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.cli.app import Data, DropMissing, Json, app
from deniable.cli.opening import opened
from deniable.cli.output import print_json, progress
from deniable.errors import ReportError, TallyError
from deniable.show.terminal import stdout
from deniable.survey import Tally, load_survey

__all__ = ["randomize", "release", "tally"]

SurveyFile = Annotated[Path, typer.Option("--survey", help="The survey's JSON file.")]

_FILES_TOGETHER = 16

_SIMULATED = " [bold]SIMULATED[/bold]: they protect nobody."


@app.command()
def randomize(
    data: Data,
    survey: SurveyFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the reports: a .parquet file.")
    ],
    seed: Annotated[
        str | None,
        typer.Option(help="A text that makes the reports reproducible, and marks them SIMULATED."),
    ] = None,
    drop_missing: DropMissing = False,
    as_json: Json = False,
) -> None:
    """Make the reports of people whose data you hold."""
    import pyarrow as pa

    from deniable.lab.datasets import load

    read = load_survey(survey)
    if output.suffix.lower() != ".parquet":
        raise ReportError(f"Reports must end in .parquet, got {output.name!r}.")
    frame = pa.Table.from_pandas(load(data, read.schema.names), preserve_index=False)
    if drop_missing:
        frame = frame.drop_null()
    with progress(1, "randomizing") as advance:
        batch = read.randomize(frame, seed)
        batch.to_parquet(output)
        advance()
    if as_json:
        print_json({"survey": read.id, "reports": len(batch), "simulated": batch.simulated})
        return
    stdout().print(
        f"{len(batch):,} reports to survey [bold]{read.id[:16]}[/bold] are in {escape(output.name)}."
        f"{_SIMULATED if batch.simulated else ''}\n"
        "They were made where the raw data is, so this is not local privacy: on a person's own device, "
        "a client answers."
    )


def _refuse_twins(paths: list[Path]) -> None:
    for path in paths:
        if paths.count(path) > 1:
            raise TallyError(f"{path.name} is named twice, and would count twice.")


@app.command()
def tally(
    reports: Annotated[
        list[str],
        typer.Argument(help="Parquet files of reports, or a collector's store by its URL."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the tally.")],
    survey: Annotated[
        Path | None, typer.Option(help="The survey's JSON file; a store has its own.")
    ] = None,
    survey_id: Annotated[
        str | None, typer.Option(help="Which survey of a store, by the beginning of its id.")
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the tally that is there already.")
    ] = False,
    simulation: Annotated[
        bool, typer.Option("--simulation", help="Take simulated reports as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Count reports."""
    if any("://" in name for name in reports):
        _tally_of_store(reports, survey, survey_id, append, output, as_json)
        return
    if survey is None:
        raise TallyError("Files of reports need --survey, the survey's JSON file.")
    paths = [Path(name) for name in reports]
    read = load_survey(survey)
    if output.exists() and not append:
        raise TallyError(f"{str(output)!r} exists already; --append adds to it.")
    before = Tally.load(output) if output.exists() else None
    _refuse_twins(paths)
    counted = [] if before is None else [before]
    with progress(len(paths), "counting") as advance:
        for start in range(0, len(paths), _FILES_TOGETHER):
            files = paths[start : start + _FILES_TOGETHER]
            counted.append(read.tally(files, simulation=True))
            counted = [sum(counted[1:], counted[0])]
            for _ in files:
                advance()
    made = counted[0]
    if made.simulated and not simulation:
        raise ReportError(
            "The reports are simulated, with reproducible randomness; --simulation takes them."
        )
    made.save(output)
    came = made.people - (before.people if before else 0)
    if as_json:
        print_json(
            {
                "survey": read.id,
                "reports": came,
                "people": made.people,
                "simulated": made.simulated,
            }
        )
        return
    whole = f"; with those before, {made.people:,}" if before else ""
    stdout().print(
        f"{came:,} reports to survey [bold]{read.id[:16]}[/bold] are counted in "
        f"{escape(output.name)}{whole}.{_SIMULATED if made.simulated else ''}"
    )


def _tally_of_store(
    names: list[str],
    survey: Path | None,
    survey_id: str | None,
    append: bool,
    output: Path,
    as_json: bool,
) -> None:
    if len(names) > 1 or survey is not None or append:
        raise TallyError("A store is tallied alone, without --survey and --append: it has its own.")
    if output.exists():
        raise TallyError(f"{str(output)!r} exists already; a store's tally is whole.")
    with opened(names[0]) as store:
        made = Tally.of(store.tally(store.survey(survey_id)))
    made.save(output)
    if as_json:
        print_json({"survey": made.mechanism.id, "people": made.people, "simulated": False})
        return
    stdout().print(
        f"{made.people:,} reports to survey [bold]{made.mechanism.id[:16]}[/bold] are counted in "
        f"{escape(output.name)}."
    )


@app.command()
def release(
    tallies: Annotated[list[Path], typer.Argument(help="Tallies of one survey; they add up.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A report (.html), or all tables (.json, .csv or .parquet)."
        ),
    ],
    consistency: Annotated[
        str, typer.Option(help="What is done to the estimates: none, joint or model.")
    ] = "none",
    as_json: Json = False,
) -> None:
    """Turn tallies into tables with error bars."""
    from deniable.show.export import check_ending, count_tables, summary, write_export

    check_ending(output)
    _refuse_twins(tallies)
    read = [Tally.load(path) for path in tallies]
    made = sum(read[1:], read[0]).release(consistency)
    count = count_tables(made)
    with progress(count, "writing tables") as advance:
        write_export(made, output, advance)
    if as_json:
        print_json(summary(made) | {"tables": count, "output": str(output)})
        return
    applied = f", {made.applied} applied" if made.applied != made.consistency else ""
    stdout().print(
        f"{count:,} tables of {made.people:,} people, survey [bold]{made.mechanism.id[:16]}[/bold], "
        f"consistency {made.consistency}{applied}, are in {escape(output.name)}."
        f"{_SIMULATED if made.simulated else ''}"
    )
    if not made.plausible:
        from deniable.release.marginal import IMPLAUSIBLE

        stdout().print(f"[bold]{IMPLAUSIBLE}[/bold]")
