"""The command that looks at a deployment: check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from deniable.cli import options as option
from deniable.cli.options import about
from deniable.cli.output import print_json
from deniable.cli.serving import needing_extra
from deniable.errors import StoreError
from deniable.show.terminal import stdout

if TYPE_CHECKING:
    from deniable.server.checking.finding import Finding

Logs = Annotated[
    list[Path] | None, about("Where the proxy writes logs: a folder or a file.", "--logs")
]


def check(
    url: Annotated[
        str | None, typer.Argument(help="The collector's address, as participants have it.")
    ] = None,
    store: Annotated[
        str | None, about("The collector's store: sqlite:///FILE or postgresql://….", "--store")
    ] = None,
    backups: Annotated[Path | None, about("The folder of the backups.", "--backups")] = None,
    backup_hours: Annotated[float, about("How old the newest backup may be.", min=0)] = 26,
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
        findings = list(_findings(url, store, backups, backup_hours, logs or [], burst))
    problems = [each for each in findings if each.state == "wrong"]
    if as_json:
        print_json(_document(findings))
    else:
        _show(findings)
    if problems:
        raise typer.Exit(1)


def _findings(
    url: str | None,
    store: str | None,
    backups: Path | None,
    hours: float,
    logs: list[Path],
    burst: bool,
) -> Iterator[Finding]:
    from deniable.server.checking import machine, stores, web
    from deniable.server.checking.finding import unseen

    if url is None:
        yield unseen("address", "Name the collector's address.")
    else:
        yield from web.check_address(url)
        yield web.check_logs(url, logs) if logs else unseen("logs", "Say where: --logs.")
        yield web.check_burst(url) if burst else unseen("limit", "It takes a crowd: --burst.")
    if store is None:
        yield unseen("store", "Name it: --store.")
    else:
        yield from stores.check_store(store)
        yield machine.check_limits()
        yield machine.check_time()
    if backups is None:
        yield unseen("backups", "Say where they are: --backups.")
    else:
        yield from machine.check_backups(backups, hours)


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
