"""The commands of a collector: serve, issue, backup, restore, advance, reports."""

from __future__ import annotations

import re
import shutil
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli.app import Json, app
from deniable.cli.opening import missing, opened
from deniable.cli.output import print_json
from deniable.errors import ReportError, StoreError
from deniable.formats.writing import write_whole
from deniable.messages.modes import Keep, check_choice
from deniable.show.terminal import stdout

__all__ = ["advance", "backup", "issue", "reports", "restore", "serve"]

StoreOption = Annotated[
    str, typer.Option("--store", help="Where reports are kept: sqlite:///FILE or postgresql://….")
]
StoreArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="The store: sqlite:///FILE or postgresql://….")
]
SurveyId = Annotated[
    str | None,
    typer.Option(help="Which survey, by the beginning of its id; needed where there are several."),
]

_DEFAULT = "sqlite:///deniable.db"
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?")
_ADVANCED = "New participants get serials that nobody had before."


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)  # noqa: T201


@app.command()
def serve(
    surveys: Annotated[
        list[Path] | None,
        typer.Argument(help="The surveys' JSON files; by default those that the store has."),
    ] = None,
    store: StoreOption = _DEFAULT,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes any that is free.")] = 8000,
    slots: Annotated[
        str | None,
        typer.Option(
            help="Who chooses questions: assigned (default), hashed, or drawn by devices."
        ),
    ] = None,
    participants: Annotated[
        str | None,
        typer.Option(help="Who may take part: open (anybody, by default) or issued (with an id)."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="What is kept: counts (default), or reports (in no order)."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="A web origin whose pages may send reports, such as https://example.org."
        ),
    ] = None,
    new_analyst_token: Annotated[
        bool, typer.Option("--new-analyst-token", help="Replace the analysts' token.")
    ] = False,
) -> None:
    """Collect reports over HTTP."""
    try:
        from deniable.server.app import create_app
        from deniable.server.collector import Collector
        from deniable.server.serve import Rules, bound, new_token, prepare, run
        from deniable.server.stores import open_store
    except ImportError as error:
        raise missing(error) from None
    if keep is not None:
        check_choice("--keep", keep, Keep, StoreError)
    for origin in allow_origin or ():
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise StoreError(
                "A web origin is a scheme and a host in small letters, such as https://example.org, "
                f"and nothing behind it; got {origin!r}."
            )
    read = [Survey.load(path) for path in surveys or ()]
    with bound(host, port) as listening:  # first: where nobody can listen, no store is made
        with opened(store, create=bool(read)) as held:
            rules = Rules(slots, participants, None if keep is None else keep == "reports")
            prepare(held, read, rules)
            if not held.surveys():
                raise StoreError("The store holds no survey: name a survey's file.")
            if new_analyst_token or held.setting("analyst") is None:
                _say(f"The analysts' token, shown this once: {new_token(held)}")
        collector = Collector(
            lambda: open_store(store, create=False), surveys=[each.id for each in read] or None
        )
        for each in collector.surveys:
            _say(f"Survey {each.survey.id}: slots {each.slots}, participants {each.participants}.")
        if any(each.participants == "open" for each in collector.surveys):
            _say(
                "Participants are open: anybody can answer any number of times, so liars are not "
                "bounded."
            )
        if not ip_address(listening.getsockname()[0]).is_loopback:
            _say("Other machines reach this without encryption: put a proxy with TLS before it.")
        _say("Participants answer at /, analysts look at /dashboard.")
        service = create_app(collector, allow_origin or ())
        run(service, listening, lambda address: _say(f"Collecting at {address}"), collector)


@app.command()
def issue(
    count: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many ids.")],
    store: StoreOption = _DEFAULT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write them; by default, stdout.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Issue participant ids, one a line."""
    with opened(store, create=True) as held:
        seal = held.seal()
        ids = [seal.issue(serial) for serial in held.issue(count)]
        if not held.surveys():
            _say(
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


@app.command()
def reports(
    store: StoreArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the reports: a .parquet file.")
    ],
    survey_id: SurveyId = None,
    as_json: Json = False,
) -> None:
    """Write a store's reports to a file."""
    if output.suffix.lower() != ".parquet":
        raise ReportError(f"Reports must end in .parquet, got {output.name!r}.")
    with opened(store) as held:
        batch = held.reports(held.survey(survey_id))
    batch.to_parquet(output)
    if as_json:
        print_json({"survey": batch.survey, "reports": len(batch)})
        return
    stdout().print(
        f"{len(batch):,} reports to survey [bold]{batch.survey[:16]}[/bold] are in "
        f"{escape(output.name)}."
    )


@app.command()
def backup(
    store: StoreArgument,
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    as_json: Json = False,
) -> None:
    """Copy a store, while it is in use."""
    from deniable.server.sqlite import SqliteStore

    with opened(store) as held:
        if not isinstance(held, SqliteStore):
            raise StoreError("PostgreSQL is backed up with its own tool, pg_dump.")
        write_whole(file, held.back_up, StoreError)
    _told(as_json, "backup", file, "It holds the collector's key: keep it as safe as the store.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A copy that 'deniable backup' made.")],
    store: StoreArgument,
    as_json: Json = False,
) -> None:
    """Make a store from a copy; none may be there."""
    from deniable.server.sqlite import SqliteStore
    from deniable.server.stores import sqlite_path

    path = sqlite_path(store)
    if path is None:
        raise StoreError(
            "PostgreSQL is restored with its own tool, pg_restore; then run 'deniable advance'."
        )
    for there in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if there.exists():  # the log of another store would be played into this one
            raise StoreError(f"{str(there)!r} exists already; move it away first.")
    if not file.is_file():
        raise StoreError(f"There is no file {file.name}.")

    def copy(draft: Path) -> None:
        _private(draft)
        shutil.copyfile(file, draft)
        try:
            with SqliteStore(draft, create=False) as made:  # it must be a store
                made.advance()
        except StoreError:
            draft.unlink()
            raise StoreError(f"{file.name} is no copy of a store, or it is cut short.") from None

    write_whole(path, copy, StoreError)
    _told(
        as_json,
        "restored",
        path,
        f"What was collected after the copy was made is not in it. {_ADVANCED}",
    )


@app.command()
def advance(store: StoreArgument, as_json: Json = False) -> None:
    """Number new participants from afar on, after PostgreSQL was restored."""
    with opened(store) as held:
        held.advance()
    if as_json:
        print_json({"advanced": True})
    else:
        stdout().print(_ADVANCED)


def _private(draft: Path) -> None:
    """Make an empty file that only its owner can read."""
    draft.unlink(missing_ok=True)
    draft.touch(0o600)


def _told(as_json: bool, what: str, path: Path, rest: str) -> None:
    form: dict[str, Any] = {what: str(path)}
    if as_json:
        print_json(form)
    else:
        stdout().print(f"The store is in {escape(path.name)}. {rest}")
