"""The commands of a collector and its store: serve, issue, reports, backup, restore, advance."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.inputs import check_reports_file
from deniable.cli.links import (
    BatchName,
    Format,
    Links,
    LinkSurvey,
    check_format,
    link_base,
    note_ids,
    text_of,
    write_ids,
)
from deniable.cli.options import about
from deniable.cli.output import conclude, print_json, say
from deniable.cli.questionnaires import texts_path
from deniable.cli.survey_logs import log_in, mirror_log
from deniable.errors import StoreError
from deniable.formats.extras import lacking
from deniable.formats.writing import PRIVATE, write_whole
from deniable.messages.modes import Keep, Participants, choices
from deniable.questionnaire.texts import Texts

if TYPE_CHECKING:
    from deniable.server.collector import Collector
    from deniable.server.serve import Rules
    from deniable.server.sign_in import Provider
    from deniable.server.store import Store


@contextmanager
def store_at(url: str, *, create: bool = False, migrate: bool = False) -> Iterator[Store]:
    """Open a store for a command, and close it."""
    with needing_extra():
        from deniable.server.database import UnavailableError
        from deniable.server.stores import open_store
    try:
        with open_store(url, create=create, migrate=migrate) as store:
            yield store
    except UnavailableError as error:
        reason = str(error).partition("\n")[0].rstrip(".") or "nobody answers"
        raise StoreError(f"The store cannot be used just now: {reason}.") from None


@contextmanager
def needing_extra() -> Iterator[None]:
    """Say what to install where the extra is missing."""
    try:
        yield
    except ImportError as error:
        raise StoreError(
            f"{lacking(f'A collector needs {error.name}, and so', 'server')}."
        ) from None


SurveyFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="The surveys' JSON files; by default those that the store has."),
]
Origins = Annotated[
    list[str] | None,
    about("A web origin whose pages may send reports, such as https://example.org."),
]
EmbedIn = Annotated[
    list[str] | None,
    about(
        "A web origin whose pages may show the participants' page within them (<deniable-survey>), such "
        "as https://example.org; others may not.",
        "--embed-in",
    ),
]
Oidc = Annotated[
    Path | None,
    about(
        "A file that names the OpenID provider with whom analysts sign in: docs/operating.md.",
        "--oidc",
    ),
]
Check = Annotated[
    bool,
    about(
        "Start nothing: look at the deployment that these options describe, and say what is wrong.",
        "--check",
    ),
]
CheckedUrl = Annotated[
    str | None,
    about("With --check: the address that participants have; else where this listens.", "--url"),
]
CheckedBackups = Annotated[
    Path | None, about("With --check: the folder of the backups.", "--backups")
]

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?")
_OPEN = choices(Participants)[0]
_REPORTS = choices(Keep)[1]


def serve(
    surveys: SurveyFiles = None,
    store: option.Store = option.DEFAULT_STORE,
    host: Annotated[str, about("Where to listen.")] = "127.0.0.1",
    port: Annotated[int, about("Where to listen; 0 takes any that is free.")] = 8000,
    slots: option.Slots = None,
    participants: option.Participants = None,
    keep: option.Keep = None,
    allow_origin: Origins = None,
    log: Annotated[
        Path | None, about("A file that mirrors the public log of surveys, and is only added to.")
    ] = None,
    embed_in: EmbedIn = None,
    oidc: Oidc = None,
    check: Check = False,
    url: CheckedUrl = None,
    backups: CheckedBackups = None,
) -> None:
    """Collect reports over HTTP."""
    provider = None if oidc is None else _provider(oidc)
    if check:
        from deniable.cli.checking import check_served

        check_served(surveys or (), store, host, port, url, backups)
        return
    if url is not None or backups is not None:
        raise StoreError("--url and --backups say what --check looks at: name that, too.")
    with needing_extra():
        from deniable.server.app import create_app
        from deniable.server.collector import Collector
        from deniable.server.serve import Rules, bound, run
        from deniable.server.stores import open_store
    origins = allow_origin or []
    _check_origins(origins, "*")
    _check_origins(embed_in or [])
    frozen = [Survey.load(path) for path in surveys or ()]
    texts = {
        survey.id: Texts.read(beside)
        for survey, path in zip(frozen, surveys or (), strict=True)
        if (beside := texts_path(path)).exists()
    }
    with bound(host, port) as listening:  # first: where nobody can listen, no store is made
        rules = Rules(slots, participants, None if keep is None else keep == _REPORTS)
        code = _prepare(store, frozen, rules, texts, log)
        collector = Collector(
            lambda: open_store(store, create=False),
            surveys=[each.id for each in frozen] or None,
            provider=provider,
        )
        _announce(collector, listening)
        if provider is not None:
            say(f"Analysts may sign in with {provider.issuer}.")
        service = create_app(collector, origins, embed_in or [])
        run(service, listening, partial(_say_where, code), collector)


def _say_where(code: str | None, address: str) -> None:
    if code:
        say(f"Open the dashboard, once, within ten minutes: {address}/dashboard#code={code}")
    say(f"Collecting at {address}")


def _provider(path: Path) -> Provider:
    with needing_extra():
        from deniable.server.sign_in import Provider
    return Provider.read(path)


def _check_origins(origins: Sequence[str], *others: str) -> None:
    for origin in origins:
        if origin not in others and not _ORIGIN.fullmatch(origin):
            raise StoreError(
                "A web origin is a scheme and a host in small letters, such as https://example.org, "
                f"and nothing behind it; got {origin!r}."
            )


def _prepare(
    url: str,
    surveys: list[Survey],
    rules: Rules,
    texts: dict[str, Texts],
    log: Path | None,
) -> str | None:
    """Put surveys into the store and its log, and see that there is an analyst.

    Return a code that opens the dashboard to the first one, where there was none.
    """
    from deniable.server.access import FIRST
    from deniable.server.dashboard_codes import new_code
    from deniable.server.serve import first_token, prepare

    with store_at(url, create=bool(surveys), migrate=True) as store:
        mirror = log_in(log)
        prepare(store, surveys, rules, texts, mirror)
        with store.transaction():
            store.lock_serials()  # or a collector that starts as well writes an older log over this one
            survey_log = store.survey_log()
            if log is not None:
                mirror_log(log, survey_log)
        if not store.surveys():
            raise StoreError("The store holds no survey: name a survey's file.")
        say(f"The log of surveys has the head {survey_log.head}")
        token = first_token(store)
        if token is None:
            return None
        say(f"The first analyst's token, shown this once: {token}")
        return new_code(store, FIRST)


def _announce(collector: Collector, listening: socket) -> None:
    for each in collector.surveys:
        say(f"Survey {each.survey.id}: slots {each.slots}, participants {each.participants}.")
    if any(each.participants == _OPEN for each in collector.surveys):
        say(
            "Participants are open: anybody can answer any number of times, so liars are not bounded."
        )
    if not ip_address(listening.getsockname()[0]).is_loopback:
        say("Other machines reach this without encryption: put a proxy with TLS before it.")
    say("Participants answer at /, analysts look at /dashboard.")


_AFTER = (
    "New participants get serials that nobody had before. Analysts who were let out since the copy, and "
    "keys that were retired, are good again: revoke and retire them anew."
)


def issue(
    count: Annotated[int, about("How many ids.", min=1, max=10_000_000)],
    store: option.Store = option.DEFAULT_STORE,
    output: Annotated[
        Path | None, about("Where to write them; by default, stdout.", "--output", "-o")
    ] = None,
    links: Links = None,
    form: Format = "text",
    survey_id: LinkSurvey = None,
    batch: BatchName = "",
    as_json: option.Json = False,
) -> None:
    """Issue participant ids, or personal links: each counts once, whoever uses it.

    Where participants are 'issued' (deniable serve), only who was invited can answer, and once.
    """
    base = None if links is None else link_base(links, survey_id)
    check_format(form, count, base, output)
    with store_at(store, create=True) as source:
        ids = source.issue_ids(count)
        note_ids(source, batch, ids)
        if not source.surveys():
            say(
                "The store holds no survey yet: only a collector with this store will know the ids."
            )

    def write(draft: Path) -> None:
        write_ids(draft, ids, base, form)

    what = "participant ids" if base is None else "personal links"
    if output is not None:
        # With an id, anybody can answer in place of the person it was issued to.
        write_whole(output, write, StoreError, PRIVATE)
        conclude(as_json, {"issued": count}, f"{count:,} {what} are in {escape(output.name)}.")
    elif as_json:
        written = {} if base is None else {"links": [f"{base}{each}" for each in ids]}
        print_json({"issued": count, "ids": ids} | written)
    else:
        sys.stdout.write(text_of(ids, base, form))


def reports(
    store: option.StoreArgument,
    output: option.ReportsFile,
    survey_id: option.SurveyId = None,
    as_json: option.Json = False,
) -> None:
    """Write a store's reports to a file."""
    check_reports_file(output)
    with store_at(store) as source:
        stored_survey = source.survey(survey_id)
        source.note("reports", f"survey {stored_survey.survey.id[:16]}")
        batch = source.reports(stored_survey)
    batch.to_parquet(output)
    conclude(
        as_json,
        {"survey": batch.survey, "reports": len(batch)},
        f"{len(batch):,} reports to survey [bold]{batch.survey[:16]}[/bold] are in "
        f"{escape(output.name)}.",
    )


def backup(
    store: option.StoreArgument,
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    as_json: option.Json = False,
) -> None:
    """Copy a store, while it is in use."""
    from deniable.server.sqlite import SqliteStore

    with store_at(store) as source:
        if not isinstance(source, SqliteStore):
            raise StoreError("PostgreSQL is backed up with its own tool, pg_dump.")
        source.note("backup")
        write_whole(file, source.back_up, StoreError, PRIVATE)
    conclude(
        as_json,
        {"backup": str(file)},
        f"The store is in {escape(file.name)}. It holds the collector's key: keep it as safe as the "
        "store.",
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
        shutil.copyfile(file, draft)
        try:
            with SqliteStore(
                draft, create=False, migrate=True
            ) as copy_of_store:  # it must be a store
                copy_of_store.advance()
        except StoreError:
            raise StoreError(f"{file.name} is no copy of a store, or it is cut short.") from None

    write_whole(path, copy, StoreError, PRIVATE)
    conclude(
        as_json,
        {"restored": str(path)},
        f"The store is in {escape(path.name)}. What was collected after the copy was made is not in "
        f"it. {_AFTER}",
    )


def migrate(store: option.StoreArgument, as_json: option.Json = False) -> None:
    """Bring a store of an older version up to date; no older collector can use it afterwards."""
    with store_at(store, migrate=True) as source:
        form = source.format()
    conclude(
        as_json, {"format": form}, f"The store is of format {form}, which this version writes."
    )


def advance(store: option.StoreArgument, as_json: option.Json = False) -> None:
    """Number new participants from afar on, after PostgreSQL was restored."""
    with store_at(store) as source:
        source.advance()
    conclude(as_json, {"advanced": True}, _AFTER)
