"""Work that many want at once, and that is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Shared:
    """Does something in turns: whoever asks waits for a turn that begins after they asked."""

    def __init__(self, turn: Callable[[], Awaitable[None]]) -> None:
        self._turn, self._lock = turn, asyncio.Lock()
        self._next: asyncio.Future[None] | None = None

    async def __call__(self) -> None:
        """Return when the next turn is over."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._begin())
        await asyncio.shield(self._next)

    async def _begin(self) -> None:
        async with self._lock:
            self._next = None  # who comes from now on waits for another turn
            await self._turn()
