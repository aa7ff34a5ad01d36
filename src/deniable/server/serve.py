"""Running the collector: what is asked of the store at a start, and the process itself."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

import uvicorn
from starlette.types import ASGIApp

from deniable.api.survey import Survey
from deniable.errors import StoreError, SurveyError
from deniable.messages.modes import Participants, Slots, check_choice
from deniable.messages.survey_log import SurveyLog
from deniable.questionnaire.texts import Texts
from deniable.questions.answers import Unary
from deniable.server.access import FIRST, ROLES
from deniable.server.collector import Collector
from deniable.server.connections import Connections, descriptors
from deniable.server.errors_log import write_errors
from deniable.server.heads import protocol
from deniable.server.store import Store
from deniable.server.tickets import hour

GRACE = 30
"""Seconds after which requests that are still in work are given up at the end."""


_KEEP = {None: None, False: "counts", True: "reports"}

MOST_SYMBOLS = 1 << 16
"""The most bits of a report that the collector counts one by one."""

BACKLOG = 2048
"""Connections that may wait to be accepted; fewer where the system allows few files."""

SWITCH = 1e-4
"""Seconds after which a thread gives way to another; the usual 5 ms let fewer single reports through."""


_NOTHING_LOGGED = SurveyLog(())


class Server(uvicorn.Server):
    """uvicorn, with limits to connections and to the heads of requests."""

    def __init__(
        self, app: ASGIApp, collector: Collector | None, most: int, backlog: int = 128
    ) -> None:
        self._collector = collector
        self.peers = Connections(most, collector.answers if collector else None)
        config = uvicorn.Config(
            app,
            http=protocol(self.peers),
            ws="none",
            access_log=False,  # nobody's address is written down
            log_config=None,  # see errors_log
            log_level="error",  # and nobody fills the disk by sending what is no request
            server_header=False,
            proxy_headers=False,  # whoever it was: their address is not looked at
            timeout_graceful_shutdown=GRACE,
            backlog=backlog,
        )
        super().__init__(config)

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, ten times a second."""
        now = asyncio.get_running_loop().time()
        self.peers.look(now)
        if counter % 10 == 0:
            self.peers.look_at_takers(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; who waits for a long computation is told so in time."""
        if self._collector is not None:
            self._collector.stop()
        await super().shutdown(sockets)


def leave(collector: Collector | None, code: int) -> None:
    """End the process here and now, if a computation runs that nobody waits for any more.

    Everything is stored and closed by now. Python would tear down what that computation works on.
    """
    if collector is not None and collector.is_busy:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Rules(NamedTuple):
    """How surveys are collected; None leaves it as the store has it, or as it is by default."""

    slots: str | None = None
    participants: str | None = None
    keeps_reports: bool | None = None


def prepare(
    store: Store,
    surveys: Sequence[Survey],
    rules: Rules,
    texts: Mapping[str, Texts] = MappingProxyType({}),
    log: SurveyLog = _NOTHING_LOGGED,
) -> None:
    """Put surveys into the store, and refuse to collect one in another way than before.

    ``texts`` are those of surveys whose id covers some, by id; ``log`` is the public log of surveys as a
    file has it.
    """
    store.complete_log(log)
    if rules.slots is not None:
        check_choice("--slots", rules.slots, Slots, SurveyError)
    if rules.participants is not None:
        check_choice("--participants", rules.participants, Participants, SurveyError)
    surveys_by_id = {stored_survey.survey.id: stored_survey for stored_survey in store.surveys()}
    for survey in surveys:
        keeps_reports = rules.keeps_reports
        if keeps_reports is None:
            keeps_reports = survey.id in surveys_by_id and surveys_by_id[survey.id].keeps_reports
        _check(survey, keeps_reports)
        slots = cast(Slots, rules.slots or "assigned")
        default: Participants = "issued" if slots == "hashed" else "open"
        participants = cast(Participants, rules.participants or default)
        if slots == "hashed" and participants != "issued":
            raise SurveyError("Hashed slots need issued ids: --participants issued.")
        if slots == "drawn" and participants != "open":
            raise SurveyError("Drawn slots come from nobody in particular: --participants open.")
        store.register(survey, slots, participants, keeps_reports, texts.get(survey.id))
    ids = {survey.id for survey in surveys}
    for stored_survey in store.surveys():
        if stored_survey.survey.id not in ids:
            continue
        for name, choice, had in (
            ("slots", rules.slots, stored_survey.slots),
            ("participants", rules.participants, stored_survey.participants),
            ("keep", _KEEP[rules.keeps_reports], _KEEP[stored_survey.keeps_reports]),
        ):
            if choice is not None and choice != had:
                raise StoreError(
                    f"The store collects survey {stored_survey.survey.id[:8]} with {name} {had}, "
                    f"not {choice}; that cannot be changed."
                )


def _check(survey: Survey, keeps_reports: bool) -> None:
    """Refuse a survey that no collector collects, or not in this way."""
    if survey.schema.observed:
        raise SurveyError(
            "The survey's values were learned from data, which leaks; it is for simulation only."
        )
    survey.schema.check_coverage()
    if must_keep_reports(survey) and not keeps_reports:
        raise SurveyError(
            f"A report to this survey has {_widest(survey):,} bits; more than {MOST_SYMBOLS:,} are only "
            "collected with --keep reports."
        )


def must_keep_reports(survey: Survey) -> bool:
    """Tell whether a survey's reports are too wide to be counted bit by bit as they come."""
    return _widest(survey) > MOST_SYMBOLS


def _widest(survey: Survey) -> int:
    answers = (family.answer for family in survey.families)
    return max((each.symbols for each in answers if isinstance(each, Unary)), default=0)


def new_token(store: Store, name: str = FIRST) -> str:
    """Return a new token of an analyst who may do everything; an earlier one is good no more."""
    if any(analyst.name == name and analyst.digest for analyst in store.analysts()):
        store.revoke_analyst(name)
    return store.add_analyst(name, ROLES, None, hour())


def first_token(store: Store) -> str | None:
    """Return the token of a store's first analyst, or None where there is one.

    Collectors may start at once: what another one has just printed stays good.
    """
    if store.analysts():
        return None
    try:
        return store.add_analyst(FIRST, ROLES, None, hour())
    except StoreError:
        if not store.analysts():
            raise
        return None


def bound(host: str, port: int) -> socket.socket:
    """Return a socket for an address that is free; port 0 takes any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not switch off Nagle's algorithm, and answers wait for each other.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise StoreError(f"Cannot listen at {host}, port {port}: {why}.") from None
    return listening


def run(
    app: ASGIApp,
    listening: socket.socket,
    announce: Callable[[str], None],
    collector: Collector | None = None,
) -> None:
    """Serve until told to stop; then answer what came in, and store it."""
    most, backlog = descriptors()
    backlog = min(BACKLOG, backlog)
    listening.listen(backlog)
    if threading.current_thread() is threading.main_thread():
        # uvicorn ends cleanly and then sends the signal on, to whom it found here before.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    host, port = listening.getsockname()[:2]
    announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    write_errors()
    server = Server(app, collector, most, backlog)
    # The writer needs Python's lock after each statement, while requests are being read.
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # what was imported stays: it need not be looked through again and again
    try:
        server.run([listening])
    except SystemExit:
        leave(collector, 0)
        raise
    except KeyboardInterrupt:
        leave(collector, 130)
        raise
