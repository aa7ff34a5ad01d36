"""The commands that look at a deployment: check, and serve --check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import print_json
from deniable.cli.serving import needing_extra
from deniable.errors import StoreError
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.server.checking.finding import Finding

BACKUP_HOURS = 26
"""Hours after which there should be a newer backup, if they are made daily."""

Logs = Annotated[
    list[Path] | None, about("Where the proxy writes logs: a folder or a file.", "--logs")
]

Backups = Annotated[Path | None, about("The folder of the backups.", "--backups")]


def check(
    url: Annotated[
        str | None, typer.Argument(help="The collector's address, as participants have it.")
    ] = None,
    store: Annotated[
        str | None, about("The collector's store: sqlite:///FILE or postgresql://….", "--store")
    ] = None,
    backups: Backups = None,
    backup_hours: Annotated[
        float, about("How old the newest backup may be.", min=0)
    ] = BACKUP_HOURS,
    logs: Logs = None,
    burst: Annotated[
        bool,
        about("Send 200 requests at once, to see whether the proxy limits an address.", "--burst"),
    ] = False,
    as_json: option.Json = False,
) -> None:
    """Look at a deployment, and say what is wrong with it; nothing is changed."""
    if url is None and store is None and backups is None:
        raise StoreError("Name what to look at: a collector's address, --store or --backups.")
    if url is None and (logs or burst):
        raise StoreError("--logs and --burst ask a collector: name its address.")
    with needing_extra():
        findings = [
            *_at_address(url, logs or [], burst),
            *_in_store(store),
            *_in_backups(backups, backup_hours),
        ]
    _conclude(findings, as_json)


def check_served(
    surveys: Sequence[Path], store: str, host: str, port: int, url: str | None, backups: Path | None
) -> None:
    """Look at what `deniable serve` with these options serves, or will when it starts."""
    for path in surveys:
        Survey.load(path)
    with needing_extra():
        address = _at_own_address(host, port) if url is None else _at_address(url, [], False)
        findings = [*address, *_in_store(store, is_made=False), *_in_backups(backups)]
    _conclude(findings, as_json=False)


def _at_own_address(host: str, port: int) -> Iterator[Finding]:
    """Look at what listens on this machine, if anything does."""
    from deniable.server.checking import web
    from deniable.server.checking.finding import unseen

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if web.Address.of(address).answers():
        yield from _at_address(address, [], False)
    else:
        yield unseen("address", f"Nobody answers at {address}; --url names another.")


def _at_address(url: str | None, logs: list[Path], burst: bool) -> Iterator[Finding]:
    from deniable.server.checking import web
    from deniable.server.checking.finding import unseen

    if url is None:
        yield unseen("address", "Name the collector's address.")
        return
    yield from web.check_address(url)
    yield web.check_logs(url, logs) if logs else unseen("logs", "deniable check --logs looks.")
    yield web.check_burst(url) if burst else unseen("limit", "deniable check --burst tries.")


def _in_store(store: str | None, is_made: bool = True) -> Iterator[Finding]:
    """Look at a store and its machine; where it need not be made yet, at the place for it."""
    from deniable.server.checking import machine, stores
    from deniable.server.checking.finding import unseen
    from deniable.server.stores import sqlite_path

    if store is None:
        yield unseen("store", "Name it: --store.")
        return
    path = None if is_made else sqlite_path(store)
    if path is None or path.exists():
        yield from stores.check_store(store)
    elif not path.absolute().parent.is_dir():
        raise StoreError(f"There is no folder for the store {str(path)!r}: make it, mode 0700.")
    else:
        yield unseen("store", "The first start makes it.")
        yield from machine.check_files(path)
    yield machine.check_limits()
    yield machine.check_time()


def _in_backups(backups: Path | None, hours: float = BACKUP_HOURS) -> Iterator[Finding]:
    from deniable.server.checking import machine
    from deniable.server.checking.finding import unseen

    if backups is None:
        yield unseen("backups", "Say where they are: --backups.")
    else:
        yield from machine.check_backups(backups, hours)


def _conclude(findings: list[Finding], as_json: bool) -> None:
    """Say what was found; end with 1 where anything is wrong."""
    if as_json:
        print_json(_document(findings))
    else:
        _show(findings)
    if any(each.state == "wrong" for each in findings):
        raise typer.Exit(1)


def _document(findings: list[Finding]) -> dict[str, Any]:
    """Return what --json prints."""
    return {
        "problems": [
            {"check": each.check, "says": each.says, "do": each.todo}
            for each in findings
            if each.state == "wrong"
        ],
        "well": [each.check for each in findings if each.state == "well"],
        "unseen": [
            {"check": each.check, "says": each.says} for each in findings if each.state == "unseen"
        ],
    }


def _show(findings: list[Finding]) -> None:
    """Print each problem in a line, then what is well, then what was not looked at."""
    console = stdout()
    for each in findings:
        if each.state == "wrong":
            line = f"[bold red]{each.check}[/bold red]  {escape(each.says)} {escape(each.todo)}"
            console.print(line, soft_wrap=True)
    names = ", ".join(each.check for each in findings if each.state == "well")
    if names:
        console.print(f"Well: {names}.", soft_wrap=True)
    for each in findings:
        if each.state == "unseen":
            line = f"[dim]Not looked at: {each.check}. {escape(each.says)}[/dim]"
            console.print(line, soft_wrap=True)
