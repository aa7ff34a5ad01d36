"""Checks of what ends: keys that seal for too long, and analysts' tokens that never end, or soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deniable.server.checking.finding import Finding, well, wrong

Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement that reads, and returns its rows."""

YEAR = 366 * 24
"""Hours after which a key should have been rotated."""

SOON = 14 * 24
"""Hours before its end from which an analyst should have got a new token."""


def check_keys(query: Query, hour: int) -> Iterator[Finding]:
    """Look at the keys that seal, and at those that nothing needs any more."""
    rows = query("SELECT kind, number, since, ends, material IS NULL FROM keys ORDER BY number")
    newest = {kind: (number, since) for kind, number, since, *_ in rows}
    problems = [
        wrong(
            "keys",
            f"Key {number} of {kind}s seals "
            + (
                "for nobody knows how long."
                if since is None
                else f"for {(hour - since) // 24:,} days."
            ),
            f"deniable keys rotate {kind}",
        )
        for kind, (number, since) in sorted(newest.items())
        if since is None or hour - since > YEAR
    ]
    problems += [
        wrong(
            "keys",
            f"Key {number} of {kind}s has ended, and could still be stolen.",
            f"deniable keys retire {kind} {number}",
        )
        for kind, number, _, ends, is_destroyed in rows
        if ends is not None and ends <= hour and not is_destroyed
    ]
    yield from problems or [well("keys")]


def check_tokens(query: Query, hour: int) -> Iterator[Finding]:
    """Look at the analysts' tokens that are good now."""
    problems = []
    for name, expiry in query(
        "SELECT name, expiry FROM analysts WHERE length(digest) > 0 ORDER BY name"
    ):
        if expiry is None:
            problems.append(
                wrong(
                    "tokens",
                    f"The token of analyst {name!r} never ends.",
                    "Revoke it, and give each analyst one of their own that ends "
                    "(deniable analysts revoke, add).",
                )
            )
        elif hour < expiry <= hour + SOON:
            problems.append(
                wrong(
                    "tokens",
                    f"The token of analyst {name!r} ends in {(expiry - hour) / 24:.0f} days.",
                    "Give them another before (deniable analysts revoke, add).",
                )
            )
    yield from problems or [well("tokens")]
