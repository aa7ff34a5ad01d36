"""The commands from data to counts: randomize, tally."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.api.tally import Tallies, Tally
from deniable.cli import options as option
from deniable.cli.inputs import check_reports_file
from deniable.cli.options import about
from deniable.cli.output import SIMULATED, conclude, print_json, progress, say, show_small
from deniable.cli.questionnaires import texts_beside, texts_path
from deniable.cli.serving import store_at
from deniable.collector.files import digest, find
from deniable.collector.folders import check_folder, file_names
from deniable.errors import ReportError, TallyError
from deniable.schema.labels import PERIOD
from deniable.show.terminal import stdout, table

if TYPE_CHECKING:
    pass


def randomize(
    data: option.Data,
    survey: Annotated[Path, about("The survey's JSON file.", "--survey")],
    output: option.ReportsFile,
    seed: Annotated[
        str | None, about("A text that makes the reports reproducible, and marks them SIMULATED.")
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
    words = texts_beside(survey, frozen)
    if words is not None and words.layout.conditions:
        batches = (words.completed_frame(batch, frozen.schema) for batch in batches)
    elif words is None and frozen.texts is not None:
        say(f"deniable: without {texts_path(survey).name} nobody knows what was not asked of whom.")
    if drop_missing:
        batches = (
            batch.select(columns_of(frozen, batch.schema.names)).drop_null() for batch in batches
        )
    with progress(rows, "randomizing") as advance:
        reports = frozen.randomize_batches(batches, seed)
        count = write_batches(reports, output, lambda rows: advance(steps=rows))
    simulated = seed is not None
    conclude(
        as_json,
        {"survey": frozen.id, "reports": count, "simulated": simulated},
        f"{count:,} reports to survey [bold]{frozen.id[:16]}[/bold] are in {escape(output.name)}."
        f"{SIMULATED if simulated else ''}\n"
        "They were made where the raw data is, so this is not local privacy: on a person's own device, "
        "a client answers.",
    )


Reports = Annotated[
    list[str],
    typer.Argument(
        help="Parquet files of reports, folders of them, patterns, or a collector's store (URL)."
    ),
]
SurveyFile = Annotated[
    Path | None, about("The survey's JSON file; the only one of a store needs none.")
]
By = Annotated[
    list[str] | None, about("A label: a tally for each group goes into the folder OUTPUT.")
]
Append = Annotated[bool, about("Add to the tally, or tallies, there already.", "--append")]
Simulation = Annotated[bool, about("Take simulated reports as well.", "--simulation")]


def tally(
    reports: Reports,
    output: Annotated[Path, about("Where to write the tally.", "--output", "-o")],
    survey: SurveyFile = None,
    survey_id: option.SurveyId = None,
    by: By = None,
    append: Append = False,
    again: option.Again = False,
    invalid: option.Invalid = option.INVALID,
    engine: option.Engine = option.ENGINE,
    simulation: Simulation = False,
    as_json: option.Json = False,
) -> None:
    """Count reports."""
    if any("://" in name for name in reports):
        _check_store_options(reports, survey, survey_id, append, output)
        count = _count_store(
            reports[0], survey_id if survey is None else Survey.load(survey).id, by
        )
        count.result.save(output)
    else:
        if survey is None:
            raise TallyError("Files of reports need --survey, the survey's JSON file.")
        frozen = Survey.load(survey)
        if output.exists() and not append:
            raise TallyError(f"{str(output)!r} exists already; --append adds to it.")
        state = _state(output)
        earlier = _earlier(output, by)
        options = {"invalid": invalid, "engine": engine}
        count = _count_files(frozen, find(reports), earlier, by or None, again=again, **options)
        if count.total.simulated and not simulation:
            raise ReportError(
                "The reports are simulated, with reproducible randomness; --simulation takes them."
            )
        if _state(output) != state:
            raise TallyError(f"{output.name} was changed meanwhile; give the command again.")
        count.result.save(output)
    if as_json:
        print_json(_form(count))
    else:
        _show_count(count, output)


class _Count(NamedTuple):
    """What was counted: the tally or tallies, those of them that are new, and of how many files."""

    result: Tally | Tallies
    arrivals: Tally
    files: int | None = None
    is_added: bool = False

    @property
    def total(self) -> Tally:
        return _total(self.result)


def _total(result: Tally | Tallies) -> Tally:
    return result.total if isinstance(result, Tallies) else result


def _parts(result: Tally | Tallies | None) -> list[Tally]:
    if isinstance(result, Tallies):
        return [*result.values(), result.rest]
    return [] if result is None else [result]


def _count_files(
    survey: Survey,
    paths: list[Path],
    earlier: Tally | Tallies | None,
    by: list[str] | None,
    *,
    again: bool,
    **options: Any,
) -> _Count:
    """Count files of reports, on top of what was counted earlier."""
    sources = _sources(paths, _parts(earlier), again=again)
    with progress(None, "counting") as advance:
        reports_shown = 0

        def tell(reports_read: int, total: int) -> None:
            nonlocal reports_shown
            advance(steps=reports_read - reports_shown, total=total)
            reports_shown = reports_read

        arrivals = survey.tally(paths, by=by, simulation=True, progress=tell, **options)
    parts = [*_parts(earlier), *(replace(part, sources=sources) for part in _parts(arrivals))]
    result = Tallies(survey, by, parts) if by else Tally.total(survey, parts)
    return _Count(result, _total(arrivals), len(paths), earlier is not None)


def _sources(paths: list[Path], earlier: list[Tally], *, again: bool) -> frozenset[str]:
    """Return the files' digests, and refuse a file that would count twice."""
    before = frozenset().union(*(part.sources for part in earlier))
    digests: set[str] = set()
    for path in paths:
        source = digest(path)
        if source in before and not again:
            raise TallyError(f"{path.name} is counted already; --again counts it once more.")
        if source in digests and not again:
            raise TallyError(
                f"{path.name} is named twice, or is a copy of another file here, and would count "
                "twice; --again lets it."
            )
        digests.add(source)
    return frozenset(digests)


def _earlier(output: Path, by: list[str] | None) -> Tally | Tallies | None:
    """Return what was counted earlier, and refuse what cannot be added to."""
    if not output.exists():
        return None
    if not by:
        tally = Tally.load(output)
        if tally.group:
            raise TallyError(f"{output.name} is the tally of one group; --by adds to groups.")
        return tally
    check_folder(output)
    if output.is_dir() and not any(output.iterdir()):
        return None
    tallies = Tallies.load(output)
    if set(tallies.by) != set(by):
        names = ", ".join(tallies.by)
        raise TallyError(f"{output.name} holds tallies by {names}; add by the same.")
    return tallies


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what tells a file from what another command may have put in its place."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _check_store_options(
    names: list[str], survey: Path | None, survey_id: str | None, append: bool, output: Path
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


def _count_store(url: str, survey_id: str | None, by: list[str] | None) -> _Count:
    with store_at(url) as store:
        stored_survey = store.survey(survey_id)
        store.note("tally", f"survey {stored_survey.survey.id[:16]}")
        if by:
            tallies = Tallies(Survey.of(stored_survey.survey), by, store.tallies(stored_survey))
            return _Count(tallies, tallies.total)
        tally = Tally.of(store.tally(stored_survey))
        return _Count(tally, tally)


def _form(count: _Count) -> dict[str, Any]:
    result, total = count.result, count.total
    form: dict[str, Any] = {"survey": total.survey.id}
    if count.files is not None:
        form |= {
            "reports": count.arrivals.people,
            "refused": dict(count.arrivals.refused),
            "files": count.files,
        }
    form |= {"people": total.people, "simulated": total.simulated}
    if isinstance(result, Tallies):
        files = file_names(result)
        form["by"] = list(result.by)
        form["groups"] = [
            {"name": name, "labels": dict(each.group), "people": each.people, "file": files[name]}
            for name, each in result.items()
        ]
    return form


def _show_count(count: _Count, output: Path) -> None:
    console, result, total = stdout(), count.result, count.total
    earlier = f"; with those before, {total.people:,}" if count.is_added else ""
    console.print(
        f"{count.arrivals.people:,} reports to survey [bold]{total.survey.id[:16]}[/bold] are "
        f"counted in {escape(output.name)}{earlier}.{SIMULATED if total.simulated else ''}"
    )
    if isinstance(result, Tallies):
        files = file_names(result)
        rows = [[name, f"{each.people:,}", files[name]] for name, each in result.items()]
        console.print(table([", ".join(result.by), "reports", "file"], rows))
        show_small(result.release().small)
    refusals = count.arrivals.refused
    if refusals:
        kinds = ", ".join(f"{reason}: {number:,}" for reason, number in refusals.items())
        console.print(f"{sum(refusals.values()):,} were left out ({kinds}).")
