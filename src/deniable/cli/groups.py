"""What `release` does with a folder of groups: a file for each, their numbers, or all of them as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from deniable.api.tally import Tallies, Tally
from deniable.cli import populations, statistics
from deniable.cli.inputs import sizes_by_name
from deniable.cli.options import about
from deniable.cli.output import SIMULATED, print_json, progress, show_small
from deniable.cli.wording import Words
from deniable.collector.folders import file_names
from deniable.errors import TableError, TallyError
from deniable.schema.labels import FEWEST
from deniable.show.terminal import percent, stdout, table

if TYPE_CHECKING:
    from deniable.api.release import Release, Releases

_GROUP = "{group}"
"""What stands for the name of a group in the name of its file."""

_SHARES = "groups and their shares, such as north=.6,south=.4, or a .json file of them"

Weights = Annotated[
    str | None,
    about(
        "The groups of a folder as one population, of which they have these known shares: "
        "north=.6,south=.4, or a JSON file that maps them.",
        "--weights",
    ),
]


def check_options(
    is_folder: bool, poststratify: Path | None, weights: str | None, borrow: str | None
) -> None:
    """Refuse options about groups where there are none, and those that do not go together."""
    if borrow is not None and (poststratify is not None or not is_folder):
        raise TableError("--borrow is of a folder of groups, and of those who answered.")
    if weights is not None and not is_folder:
        raise TableError("--weights are of the groups of a folder; name the folder.")
    if weights is not None and not (poststratify is None and borrow is None):
        raise TableError("Give one of --weights, --poststratify and --borrow.")


def refuse_paragraph(methods: bool) -> None:
    """Refuse a methods paragraph of several releases."""
    if methods:
        raise TableError(
            "--methods is of one release: name a tally, or combine groups by --weights."
        )


def load_groups(paths: list[Path]) -> Tallies:
    """Return the tallies of the one folder that is named."""
    if len(paths) > 1:
        raise TallyError("A folder of groups is released alone; its tallies are of one survey.")
    return Tallies.load(paths[0])


def document(tally: Tally | Release) -> dict[str, Any]:
    """Return what is said first of a tally or its release, for JSON."""
    group = {"group": dict(tally.group)} if tally.group else {}
    own = {"survey": tally.survey.id, "people": tally.people, "simulated": tally.simulated}
    return own | group


def combine(paths: list[Path], text: str) -> Release:
    """Return the release of a population of which groups have known shares."""
    return load_groups(paths).release().combine(_weights(text))


def show_strata(release: Release) -> None:
    """Print which groups make up a population, if some do."""
    if release.strata and release.population is None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in release.strata.items())
        stdout().print(f"This is of a population with the shares that you gave: {escape(shares)}.")


def _weights(text: str) -> Any:
    if text.lower().endswith(".json"):
        return populations.read_shares(Path(text))
    return sizes_by_name(text.split(","), "--weights", _SHARES)


def release_groups(
    paths: list[Path],
    output: Path | None,
    questions: list[statistics.Question],
    borrow: str | None,
    consistency: str,
    as_json: bool,
    words: Words,
) -> None:
    """Write a file for each group of a folder, and tell of its numbers, or of what groups borrow."""
    tallies = load_groups(paths)
    releases, key = tallies.release(), ", ".join(tallies.by)
    if not releases:
        raise TableError(f"There is no group of at least {FEWEST} reports.")
    form = document(tallies.total) | {
        "by": list(tallies.by),
        "not_displayed": list(releases.small),
    }
    if borrow is not None:
        if output is not None:
            raise TableError(
                "--borrow tells of all groups at once, and --output is of each of them."
            )
        _release_borrowed(releases, borrow, form, as_json)
        return
    files = {} if output is None else _files(output, releases)
    if any(path.parent.resolve() == paths[0].resolve() for path in files.values()):
        raise TableError(
            f"{paths[0].name} holds the tallies; name another folder for what they tell."
        )
    facts = list(statistics.tell(questions, releases, key)) if questions else []
    numbers = {} if questions else {n: statistics.numbers_of(each) for n, each in releases.items()}
    if not (files or facts or any(numbers.values())):
        raise TableError(
            "Missing option '--output' / '-o': a survey without numbers has tables only."
        )
    rows = _write(releases, files, consistency, words)
    if as_json:
        statistic = {"statistics": [each.to_json() for each in facts]} if facts else {}
        groups = [
            {"name": name}
            | ({"numbers": numbers[name]} if numbers.get(name) else {})
            | rows.get(name, {})
            for name in releases
        ]
        print_json(form | statistic | ({"groups": groups} if rows or any(numbers.values()) else {}))
        return
    for each in facts:
        statistics.show_statistic(each)
    if any(numbers.values()):
        statistics.show_numbers(numbers, key)
    if rows:
        _show_files(rows, key)
    show_small(releases.small)
    if tallies.total.simulated:
        stdout().print(f"{tallies.total.people:,} reports.{SIMULATED}")


def _release_borrowed(releases: Releases, name: str, form: dict[str, Any], as_json: bool) -> None:
    """Tell of all groups, small ones included, what they borrow from each other."""
    if as_json:
        print_json(form | {"borrowed": populations.borrowed_form(releases.borrowed(name))})
        return
    populations.show_borrowed(releases.borrowed(name))
    if form["simulated"]:
        stdout().print(f"{form['people']:,} reports.{SIMULATED}")


def _files(output: Path, releases: Releases) -> dict[str, Path]:
    """Return the file of each group: where {group} stands in the name, or in a folder of reports."""
    from deniable.show.export import check_ending

    if _GROUP in output.name:
        pattern = output.name
        folder = output.parent
        check_ending(pattern)
    elif output.suffix:
        raise TableError(
            f"A folder of groups needs a file for each: put {_GROUP} into the name, such as "
            f"{output.stem}-{_GROUP}{output.suffix}, or name a folder; --weights combines them."
        )
    else:
        pattern, folder = f"{_GROUP}.html", output
    stems = {name: Path(file).stem for name, file in file_names(releases).items()}
    return {name: folder / pattern.replace(_GROUP, stem) for name, stem in stems.items()}


def _write(
    releases: Releases, files: dict[str, Path], consistency: str, words: Words
) -> dict[str, dict[str, Any]]:
    """Write the file of each group, and return what is to be said of it."""
    from deniable.show.export import count_tables, write_export

    rows: dict[str, dict[str, Any]] = {}
    for folder in {path.parent for path in files.values()}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TableError(
                f"The folder {str(folder)!r} cannot be made: {error.strerror}."
            ) from None
    counts = sum(count_tables(releases[name]) for name in files)
    with progress(counts, "writing tables") as advance:
        for name, path in files.items():
            tables = words.of(releases[name]).with_consistency(consistency)
            write_export(tables, path, advance)
            rows[name] = {
                "people": tables.people,
                "tables": count_tables(tables),
                "applied": tables.applied,
                "output": str(path),
            }
    return rows


def _show_files(rows: dict[str, dict[str, Any]], key: str) -> None:
    """Print where each group's tables are."""
    body = [
        [name, f"{row['people']:,}", f"{row['tables']:,}", row["applied"], row["output"]]
        for name, row in rows.items()
    ]
    stdout().print(table([key, "people", "tables", "consistency", "file"], body))
