"""Connections: how many there may be, and how long one may wait for its peer.

A peer that opens connections and sends little, or takes nothing, holds only its own: who waits longest
for a whole request makes room for who comes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.server.heads import LimitedProtocol as Peer

PATIENCE = 10.0
"""Seconds within which the head of a request must have come in."""

TAKING = 20.0
"""Seconds within which a peer must take something of what it is sent."""

READING = 1.0
"""Seconds for which a request's body may be on its way before it makes room for others."""

LINGER = 2.0
"""Seconds in which a peer that was refused can read why."""

MOST = 4_096
"""Connections at once; fewer where the system allows fewer files."""

_FILES = 64
"""Descriptors for all that is no connection."""


class Connections:
    """All connections; those that wait for a request in the order in which they began to wait."""

    def __init__(self, most: int = MOST, answers: Counter[int] | None = None) -> None:
        self.most = most
        self.answers: Counter[int] = Counter() if answers is None else answers
        """How often each status was answered, for all that no application saw."""
        self._all: dict[Peer, tuple[int, float]] = {}
        self._waiting: dict[Peer, float] = {}
        self._reading: dict[Peer, float] = {}
        self._leaving: dict[Peer, float] = {}

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, peer: Peer, now: float) -> bool:
        """Take a connection, if need be for one that waits; tell whether there is a place."""
        while len(self._all) >= self.most:
            crowd = self._leaving or self._waiting or _overdue(self._reading, now - READING)
            longest = next(iter(crowd), None)
            if longest is None:
                break
            self.leave(longest)
            longest.drop()
        has_place = len(self._all) < self.most
        self._all[peer] = 0, now
        self.wait(peer, now)
        return has_place

    def wait(self, peer: Peer, now: float) -> None:
        """Note that a connection waits for a request from now on."""
        self.work(peer)
        if peer in self._all:
            self._waiting[peer] = now

    def read(self, peer: Peer, now: float) -> None:
        """Note that the head of a request has come in, and that its body is still to come."""
        self._waiting.pop(peer, None)
        if peer in self._all:
            self._reading.setdefault(peer, now)

    def work(self, peer: Peer) -> None:
        """Note that a request has come in whole."""
        self._waiting.pop(peer, None)
        self._reading.pop(peer, None)

    def linger(self, peer: Peer, now: float) -> None:
        """Note that a connection only waits for its peer to read why it was refused."""
        self.work(peer)
        if peer in self._all:
            self._leaving[peer] = now

    def leave(self, peer: Peer) -> None:
        """Forget a connection."""
        for each in (self._all, self._waiting, self._reading, self._leaving):
            each.pop(peer, None)

    def look(self, now: float) -> None:
        """End the connections that waited too long for a head, or for a refusal to be read."""
        for peer in _overdue(self._waiting, now - PATIENCE):
            self._waiting.pop(peer)
            peer.hurry()
        for peer in _overdue(self._leaving, now - LINGER):
            self.leave(peer)
            peer.drop()

    def look_at_takers(self, now: float) -> None:
        """End the connections whose peers take nothing of what they are sent."""
        for peer, (before, since) in list(self._all.items()):
            unsent = peer.unsent()
            if not unsent or unsent != before:
                self._all[peer] = unsent, now
            elif now - since > TAKING:
                self.leave(peer)
                peer.drop()


def _overdue(peers: dict[Peer, float], last: float) -> list[Peer]:
    """Return those who began before some time; they are in order."""
    overdue = []
    for peer, since in peers.items():
        if since > last:
            break
        overdue.append(peer)
    return overdue


def descriptors() -> tuple[int, int]:
    """Let this process open the files that it needs; return the most connections, and a backlog.

    A quarter stays free, because connections come in crowds, and one that ends gives back its
    descriptor only afterwards.
    """
    files = 2 * MOST
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST, files // 8
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    elif soft != resource.RLIM_INFINITY:
        files = min(soft, 2 * MOST)
    return max(1, min(MOST, (files - _FILES) * 3 // 4)), max(64, files // 8)
