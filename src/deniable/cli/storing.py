"""The commands of a collector's store: issue, reports, backup, restore, advance."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from deniable.cli import options as option
from deniable.cli.inputs import check_reports_file
from deniable.cli.opening import opened
from deniable.cli.output import print_json, say
from deniable.errors import StoreError
from deniable.formats.writing import write_whole
from deniable.show.terminal import stdout

SurveyId = Annotated[
    str | None,
    typer.Option(help="Which survey, by the beginning of its id; needed where there are several."),
]

_ADVANCED = "New participants get serials that nobody had before."


def issue(
    count: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many ids.")],
    store: option.Store = option.DEFAULT_STORE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write them; by default, stdout.")
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Issue participant ids, one a line."""
    with opened(store, create=True) as source:
        seal = source.seal()
        ids = [seal.issue(serial) for serial in source.issue(count)]
        if not source.surveys():
            say(
                "The store holds no survey yet: only a collector with this store will know the ids."
            )
    if output is not None:

        def write(draft: Path) -> None:
            _private(draft)  # whoever has an id can answer in its place
            draft.write_text("\n".join(ids) + "\n")

        write_whole(output, write, StoreError)
    if as_json:
        print_json({"issued": count} | ({} if output else {"ids": ids}))
    elif output is None:
        sys.stdout.write("\n".join(ids) + "\n")
    else:
        stdout().print(f"{count:,} participant ids are in {escape(output.name)}.")


def reports(
    store: option.StoreArgument,
    output: option.ReportsFile,
    survey_id: SurveyId = None,
    as_json: option.Json = False,
) -> None:
    """Write a store's reports to a file."""
    check_reports_file(output)
    with opened(store) as source:
        batch = source.reports(source.survey(survey_id))
    batch.to_parquet(output)
    if as_json:
        print_json({"survey": batch.survey, "reports": len(batch)})
        return
    stdout().print(
        f"{len(batch):,} reports to survey [bold]{batch.survey[:16]}[/bold] are in "
        f"{escape(output.name)}."
    )


def backup(
    store: option.StoreArgument,
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    as_json: option.Json = False,
) -> None:
    """Copy a store, while it is in use."""
    from deniable.server.sqlite import SqliteStore

    with opened(store) as source:
        if not isinstance(source, SqliteStore):
            raise StoreError("PostgreSQL is backed up with its own tool, pg_dump.")
        write_whole(file, source.back_up, StoreError)
    _tell_place(
        as_json, "backup", file, "It holds the collector's key: keep it as safe as the store."
    )


def restore(
    file: Annotated[Path, typer.Argument(help="A copy that 'deniable backup' made.")],
    store: option.StoreArgument,
    as_json: option.Json = False,
) -> None:
    """Make a store from a copy; none may be there."""
    from deniable.server.sqlite import SqliteStore
    from deniable.server.stores import sqlite_path

    path = sqlite_path(store)
    if path is None:
        raise StoreError(
            "PostgreSQL is restored with its own tool, pg_restore; then run 'deniable advance'."
        )
    for part in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if part.exists():  # the log of another store would be played into this one
            raise StoreError(f"{str(part)!r} exists already; move it away first.")
    if not file.is_file():
        raise StoreError(f"There is no file {file.name}.")

    def copy(draft: Path) -> None:
        _private(draft)
        shutil.copyfile(file, draft)
        try:
            with SqliteStore(draft, create=False) as copy_of_store:  # it must be a store
                copy_of_store.advance()
        except StoreError:
            draft.unlink()
            raise StoreError(f"{file.name} is no copy of a store, or it is cut short.") from None

    write_whole(path, copy, StoreError)
    _tell_place(
        as_json,
        "restored",
        path,
        f"What was collected after the copy was made is not in it. {_ADVANCED}",
    )


def advance(store: option.StoreArgument, as_json: option.Json = False) -> None:
    """Number new participants from afar on, after PostgreSQL was restored."""
    with opened(store) as source:
        source.advance()
    if as_json:
        print_json({"advanced": True})
    else:
        stdout().print(_ADVANCED)


def _private(draft: Path) -> None:
    """Make an empty file that only its owner can read."""
    draft.unlink(missing_ok=True)
    draft.touch(0o600)


def _tell_place(as_json: bool, deed: str, path: Path, rest: str) -> None:
    if as_json:
        print_json({deed: str(path)})
    else:
        stdout().print(f"The store is in {escape(path.name)}. {rest}")
