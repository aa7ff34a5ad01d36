"""Who may do what at a running collector, by which keys, and what of it is written into the audit log.

Keys and analysts are read anew every half a minute; when somebody shows a token, unless that was done a
second ago; and whenever somebody names a key that is not known here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic

from deniable.server.access import UNLOGGED, Analyst, Role, signed_in, whose
from deniable.server.analysts import Analysts
from deniable.server.dashboard_codes import whose_page
from deniable.server.problems import ProblemError
from deniable.server.shared import Shared
from deniable.server.sign_in import Provider
from deniable.server.store import Store
from deniable.server.tickets import UNKNOWN, Seal
from deniable.server.work import Note

FRESH = 1.0
"""Seconds for which who has a token is not asked again."""

MOST_KEPT = 10_000
"""Looks of this hour that are known to be in the log."""


class Doorkeeper:
    """Keys and analysts as the store has them."""

    def __init__(
        self,
        store: Store,
        gauges: Analysts,
        clock: Callable[[], int],
        provider: Provider | None = None,
    ) -> None:
        self.seal: Seal = store.seal()
        self._analysts = store.analysts()
        self._gauges, self._clock, self._provider = gauges, clock, provider
        self._refreshed = self._sought = 0.0
        self.refresh = Shared(self._refresh)
        self._hour, self._looks = 0, set[tuple[str, str, str]]()

    async def _refresh(self) -> None:
        began = monotonic()
        rings, self._analysts = await self._gauges.work(self._gauges.doorkeeping)
        self.seal.learn(*rings)
        self._refreshed = began

    async def settled(self, name: str) -> str:
        """Return what a refusal comes to that may be for want of a key; now it is known."""
        if name in UNKNOWN:
            await self.refresh()
        return UNKNOWN.get(name, name)

    async def analyst(self, token: str) -> Analyst:
        """Return who shows a token."""
        if token and monotonic() - self._refreshed > FRESH:
            await self.refresh()
        analyst = self._whose(token)
        if analyst is None and token and monotonic() - self._sought > FRESH:
            self._sought = monotonic()  # it may be quite new
            await self.refresh()
            analyst = self._whose(token)
        if analyst is None:
            raise ProblemError("unauthorized")
        return analyst

    def _whose(self, token: str) -> Analyst | None:
        """Return whose a token is: one of the store's, a page's for a code, or a provider's word."""
        name = None if self._provider is None else self._provider.name(token)
        if name is not None:
            return signed_in(name, self._analysts, self._clock())
        now = self._clock()
        return whose(token, self._analysts, now) or whose_page(
            token, self.seal, self._analysts, now
        )

    async def admit(
        self, analyst: Analyst, role: Role, subject: str, write: Callable[[Note], Awaitable[None]]
    ) -> None:
        """Let an analyst do something, when it is in the log; or refuse, when that is.

        What somebody looks at again within the hour is not written again.
        """
        what = role if role in analyst.roles else f"refused {role}"
        note, hour = Note(f"analyst:{analyst.name}", what, subject), self._clock()
        if hour != self._hour or len(self._looks) > MOST_KEPT:
            self._hour, self._looks = hour, set()
        look = note.who, note.what, note.subject
        is_logged = subject not in UNLOGGED or role not in analyst.roles
        if is_logged and look not in self._looks:
            await write(note)
            if what != "export":
                self._looks.add(look)
        if role not in analyst.roles:
            raise ProblemError(
                "forbidden", f"This takes the role {role}; yours: {', '.join(analyst.roles)}."
            )
