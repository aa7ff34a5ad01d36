"""The command that collects reports: serve."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.api.survey import Survey
from deniable.cli import options as option
from deniable.cli.opening import missing, opened
from deniable.cli.output import say
from deniable.errors import StoreError
from deniable.messages.modes import Keep, Participants, check_choice, choices

if TYPE_CHECKING:
    from deniable.server.collector import Collector
    from deniable.server.serve import Rules

SurveyFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="The surveys' JSON files; by default those that the store has."),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(help="A web origin whose pages may send reports, such as https://example.org."),
]

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?")
_OPEN = choices(Participants)[0]
_REPORTS = choices(Keep)[1]


def serve(
    surveys: SurveyFiles = None,
    store: option.Store = option.DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes any that is free.")] = 8000,
    slots: option.Slots = None,
    participants: option.Participants = None,
    keep: option.Keep = None,
    allow_origin: Origins = None,
    new_analyst_token: Annotated[
        bool, typer.Option("--new-analyst-token", help="Replace the analysts' token.")
    ] = False,
) -> None:
    """Collect reports over HTTP."""
    try:
        from deniable.server.app import create_app
        from deniable.server.collector import Collector
        from deniable.server.serve import Rules, bound, run
        from deniable.server.stores import open_store
    except ImportError as error:
        raise missing(error) from None
    if keep is not None:
        check_choice("--keep", keep, Keep, StoreError)
    origins = allow_origin or []
    _check_origins(origins)
    frozen = [Survey.load(path) for path in surveys or ()]
    with bound(host, port) as listening:  # first: where nobody can listen, no store is made
        rules = Rules(slots, participants, None if keep is None else keep == _REPORTS)
        _prepare(store, frozen, rules, new_analyst_token)
        collector = Collector(
            lambda: open_store(store, create=False), surveys=[each.id for each in frozen] or None
        )
        _announce(collector, listening)
        service = create_app(collector, origins)
        run(service, listening, lambda address: say(f"Collecting at {address}"), collector)


def _check_origins(origins: Sequence[str]) -> None:
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise StoreError(
                "A web origin is a scheme and a host in small letters, such as https://example.org, "
                f"and nothing behind it; got {origin!r}."
            )


def _prepare(url: str, surveys: list[Survey], rules: Rules, new_analyst_token: bool) -> None:
    """Put surveys into the store, and see that analysts have a token."""
    from deniable.server.serve import new_token, prepare

    with opened(url, create=bool(surveys)) as store:
        prepare(store, surveys, rules)
        if not store.surveys():
            raise StoreError("The store holds no survey: name a survey's file.")
        if new_analyst_token or store.setting("analyst") is None:
            say(f"The analysts' token, shown this once: {new_token(store)}")


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
