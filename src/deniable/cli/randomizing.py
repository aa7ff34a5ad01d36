"""The command that makes reports of data: randomize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import check_reports_file
from deniable.cli.output import print_json, progress
from deniable.cli.tables import SIMULATED
from deniable.schema.labels import PERIOD
from deniable.show.terminal import stdout


def randomize(
    data: option.Data,
    survey: Annotated[Path, typer.Option("--survey", help="The survey's JSON file.")],
    output: option.ReportsFile,
    seed: Annotated[
        str | None,
        typer.Option(help="A text that makes the reports reproducible, and marks them SIMULATED."),
    ] = None,
    drop_missing: option.DropMissing = False,
    as_json: option.Json = False,
) -> None:
    """Make the reports of people whose data you hold; this is not local privacy."""
    from deniable.client.bulk import columns_of, write_batches
    from deniable.lab.datasets import stream

    frozen = Survey.load(survey)
    check_reports_file(output)
    batches, rows = stream(
        data,
        [*frozen.schema.names, *dict(frozen.labels.declared)],
        [PERIOD] if frozen.labels.periods else [],
        texts=frozen.labels.names,
    )
    if drop_missing:
        batches = (
            batch.select(columns_of(frozen, batch.schema.names)).drop_null() for batch in batches
        )
    with progress(rows, "randomizing") as advance:
        reports = frozen.randomize_batches(batches, seed)
        count = write_batches(reports, output, lambda written: advance(steps=written))
    simulated = seed is not None
    if as_json:
        print_json({"survey": frozen.id, "reports": count, "simulated": simulated})
        return
    stdout().print(
        f"{count:,} reports to survey [bold]{frozen.id[:16]}[/bold] are in {escape(output.name)}."
        f"{SIMULATED if simulated else ''}\n"
        "They were made where the raw data is, so this is not local privacy: on a person's own device, "
        "a client answers."
    )
