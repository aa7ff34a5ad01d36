"""The commands that reports walk through: randomize, tally, release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.api.tally import Tallies, Tally
from deniable.cli.app import Data, DropMissing, Json, app
from deniable.cli.opening import opened
from deniable.cli.output import print_json, progress
from deniable.collector.files import digest, find
from deniable.collector.folders import check_folder, file_names
from deniable.errors import ReportError, TallyError
from deniable.messages.modes import Engine, Invalid, choices, listed
from deniable.schema.labels import FEWEST, PERIOD
from deniable.show.terminal import stdout, table

__all__ = ["randomize", "release", "tally"]

SurveyFile = Annotated[Path, typer.Option("--survey", help="The survey's JSON file.")]

Again = Annotated[
    bool, typer.Option("--again", help="Count a file of reports although it is counted already.")
]

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
    """Make the reports of people whose data you hold; this is not local privacy."""
    from deniable.client.bulk import columns_of, write_batches
    from deniable.lab.datasets import stream

    read = Survey.load(survey)
    if output.suffix.lower() != ".parquet":
        raise ReportError(f"Reports must end in .parquet, got {output.name!r}.")
    asked, given = read, dict(read.labels.declared)
    batches, rows = stream(
        data,
        [*read.schema.names, *given],
        [PERIOD] if read.labels.periods else [],
        texts=read.labels.names,
    )
    if drop_missing:
        batches = (
            batch.select(columns_of(asked, batch.schema.names)).drop_null() for batch in batches
        )
    with progress(rows, "randomizing") as advance:
        reports = read.randomize_batches(batches, seed)
        made = write_batches(reports, output, lambda written: advance(steps=written))
    simulated = seed is not None
    if as_json:
        print_json({"survey": read.id, "reports": made, "simulated": simulated})
        return
    stdout().print(
        f"{made:,} reports to survey [bold]{read.id[:16]}[/bold] are in {escape(output.name)}."
        f"{_SIMULATED if simulated else ''}\n"
        "They were made where the raw data is, so this is not local privacy: on a person's own device, "
        "a client answers."
    )


@app.command()
def tally(
    reports: Annotated[
        list[str],
        typer.Argument(
            help="Parquet files of reports, folders of them, patterns, or a collector's store (URL)."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the tally.")],
    survey: Annotated[
        Path | None,
        typer.Option(help="The survey's JSON file; the only one of a store needs none."),
    ] = None,
    survey_id: Annotated[
        str | None, typer.Option(help="Which survey of a store, by the beginning of its id.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A label: a tally for each group goes into the folder OUTPUT."),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the tally, or tallies, there already.")
    ] = False,
    again: Again = False,
    invalid: Annotated[
        str,
        typer.Option(
            help="Reports that the survey cannot have got: 'refuse' all, or 'drop' and count them."
        ),
    ] = choices(Invalid)[0],
    engine: Annotated[str, typer.Option(help=f"What reads the files: {listed(Engine)}.")] = choices(
        Engine
    )[0],
    simulation: Annotated[
        bool, typer.Option("--simulation", help="Take simulated reports as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Count reports."""
    if any("://" in name for name in reports):
        _tally_of_store(reports, survey, survey_id, by, append, output, as_json)
        return
    if survey is None:
        raise TallyError("Files of reports need --survey, the survey's JSON file.")
    read = Survey.load(survey)
    if output.exists() and not append:
        raise TallyError(f"{str(output)!r} exists already; --append adds to it.")
    state = _state(output)
    before = _before(output, by)
    paths = find(reports)
    counted = frozenset().union(*(one.sources for one in _each(before)))
    sources = _sources(paths, counted, again=again)
    with progress(None, "counting") as advance:
        seen = 0

        def tell(done: int, total: int) -> None:
            nonlocal seen
            advance(steps=done - seen, total=total)
            seen = done

        came = read.tally(
            paths, by=by or None, invalid=invalid, simulation=True, engine=engine, progress=tell
        )
    noted = [*_each(before), *(replace(one, sources=sources) for one in _each(came))]
    made = Tallies(read, by, noted) if by else Tally.total(read, noted)
    arrived, whole = (one.total if isinstance(one, Tallies) else one for one in (came, made))
    if whole.simulated and not simulation:
        raise ReportError(
            "The reports are simulated, with reproducible randomness; --simulation takes them."
        )
    if _state(output) != state:
        raise TallyError(f"{output.name} was changed meanwhile; give the command again.")
    made.save(output)
    if as_json:
        print_json(
            {
                "survey": read.id,
                "reports": arrived.people,
                "refused": dict(arrived.refused),
                "files": len(paths),
                "people": whole.people,
                "simulated": whole.simulated,
                **(_groups(made) if isinstance(made, Tallies) else {}),
            }
        )
        return
    earlier = f"; with those before, {whole.people:,}" if before is not None else ""
    stdout().print(
        f"{arrived.people:,} reports to survey [bold]{read.id[:16]}[/bold] are counted in "
        f"{escape(output.name)}{earlier}.{_SIMULATED if whole.simulated else ''}"
    )
    if isinstance(made, Tallies):
        _show_groups(made)
    if arrived.refused:
        kinds = ", ".join(f"{reason}: {count:,}" for reason, count in arrived.refused.items())
        stdout().print(f"{sum(arrived.refused.values()):,} were left out ({kinds}).")


def _before(output: Path, by: list[str] | None) -> Tally | Tallies | None:
    """Return what was counted before, and refuse what cannot be added to."""
    if not output.exists():
        return None
    if not by:
        held = Tally.load(output)
        if held.group:
            raise TallyError(f"{output.name} is the tally of one group; --by adds to groups.")
        return held
    check_folder(output)
    if output.is_dir() and not any(output.iterdir()):
        return None
    every = Tallies.load(output)
    if set(every.by) != set(by):
        raise TallyError(f"{output.name} holds tallies by {', '.join(every.by)}; add by the same.")
    return every


def _each(counted: Tally | Tallies | None) -> list[Tally]:
    """Return the tallies of which something consists."""
    if isinstance(counted, Tallies):
        return [*counted.values(), counted.rest]
    return [] if counted is None else [counted]


def _groups(made: Tallies) -> dict[str, Any]:
    """Return what JSON says of groups."""
    files = file_names(made)
    groups = [
        {"name": name, "labels": dict(one.group), "people": one.people, "file": files[name]}
        for name, one in made.items()
    ]
    return {"by": list(made.by), "groups": groups}


def _show_groups(made: Tallies) -> None:
    files = file_names(made)
    rows = [[name, f"{one.people:,}", files[name]] for name, one in made.items()]
    stdout().print(table([", ".join(made.by), "reports", "file"], rows))
    small = made.release().small
    if small:
        named = escape("; ".join(small))
        stdout().print(f"Under {FEWEST} reports, and so not displayed: {named}.")


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what tells a file from what another command may have put in its place."""
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_ino, held.st_size, held.st_mtime_ns


def _sources(paths: list[Path], counted: frozenset[str], *, again: bool) -> frozenset[str]:
    """Return the files' digests, and refuse a file that would count twice."""
    found: set[str] = set()
    for path in paths:
        mark = digest(path)
        if mark in counted and not again:
            raise TallyError(f"{path.name} is counted already; --again counts it once more.")
        if mark in found and not again:
            raise TallyError(
                f"{path.name} is named twice, or is a copy of another file here, and would count "
                "twice; --again lets it."
            )
        found.add(mark)
    return frozenset(found)


def _tally_of_store(
    names: list[str],
    survey: Path | None,
    survey_id: str | None,
    by: list[str] | None,
    append: bool,
    output: Path,
    as_json: bool,
) -> None:
    if len(names) > 1 or append:
        raise TallyError(
            "A store is tallied alone, without --append: it counts all of its reports each time."
        )
    if survey is not None and survey_id is not None:
        raise TallyError("--survey and --survey-id both say which survey of a store; give one.")
    if output.exists():
        raise TallyError(
            f"{str(output)!r} exists already, and a store's tally is whole each time; name another file."
        )
    wanted = survey_id if survey is None else Survey.load(survey).id
    with opened(names[0]) as store:
        held = store.survey(wanted)
        asked = Survey.of(held.survey)
        groups = Tallies(asked, by, store.tallies(held)) if by else None
        made = Tally.of(store.tally(held)) if groups is None else groups.total
    (made if groups is None else groups).save(output)
    if as_json:
        form: dict[str, Any] = {"survey": asked.id, "people": made.people, "simulated": False}
        print_json(form | ({} if groups is None else _groups(groups)))
        return
    stdout().print(
        f"{made.people:,} reports to survey [bold]{asked.id[:16]}[/bold] are counted in "
        f"{escape(output.name)}."
    )
    if groups is not None:
        _show_groups(groups)


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
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Turn tallies into tables with error bars."""
    from deniable.show.export import check_ending, count_tables, summary, write_export

    check_ending(output)
    every: list[Tally] = []
    for path in tallies:
        read = Tally.load(path)
        if not again and (tallies.count(path) > 1 or any(one.overlaps(read) for one in every)):
            raise TallyError(
                f"{path.name} is named twice, or counts reports that another tally counts, of the same "
                "file or the same store; --again lets it."
            )
        every.append(read)
    made = Tally.total(every[0].survey, every).release(consistency)
    count = count_tables(made)
    with progress(count, "writing tables") as advance:
        write_export(made, output, advance)
    if as_json:
        print_json(summary(made) | {"tables": count, "output": str(output)})
        return
    applied = f", {made.applied} applied" if made.applied != made.consistency else ""
    group = "".join(f", {escape(name)} {escape(value)}" for name, value in made.group.items())
    stdout().print(
        f"{count:,} tables of {made.people:,} people{group}, "
        f"survey [bold]{made.survey.id[:16]}[/bold], consistency {made.consistency}{applied}, "
        f"are in {escape(output.name)}.{_SIMULATED if made.simulated else ''}"
    )
    if not made.plausible:
        from deniable.release.marginal import IMPLAUSIBLE

        stdout().print(f"[bold]{IMPLAUSIBLE}[/bold]")
