"""How an analyst opens the dashboard by an address: a code that is exchanged once for a key.

Browsers keep addresses in their history, and synchronise it. So an address holds no token, but a code
that is dead after its first use, and after ten minutes. The store keeps a digest of it: any of several
processes can exchange it, and none a second time. The page gets a key that is good for half a day and
sealed by the store. Code and key are bound to the token that the analyst has when the code is made, so
both end when that token does.
"""

from __future__ import annotations

import base64
import re
import secrets
import time
from collections.abc import Iterable
from hmac import compare_digest

from deniable.errors import StoreError
from deniable.server.access import Analyst
from deniable.server.store import Store
from deniable.server.tickets import Seal, hour

CODE_LIFE = 600
"""Seconds for which a code can be exchanged."""

KEY_LIFE = 12
"""Hours after which what a page got for a code is not good any more."""

_KEY = re.compile(r"([A-Za-z0-9_-]{8,120})\.([0-9a-f]{32})")


def new_code(store: Store, name: str) -> str:
    """Return a code by which an analyst with a token opens the dashboard, once."""
    matching = [each for each in store.analysts() if each.name == name]
    if not matching or not matching[0].digest or matching[0].state(hour()) != "valid":
        raise StoreError(
            f"No analyst {name!r} has a good token: 'deniable analysts list' shows all."
        )
    code, end = secrets.token_urlsafe(32), int(time.time()) + CODE_LIFE
    value = f"{end} {matching[0].digest.hex()}".encode()
    with store.transaction():
        # The hours are when the row is swept away at the latest.
        store.run("INSERT INTO remembered VALUES (?, ?, ?)", _key(store, code), value, hour() + 1)
    return code


def is_open(store: Store, code: str) -> bool:
    """Tell whether a code can be exchanged now, and a while from now."""
    rows = store.find("remembered", [_key(store, code)])
    later = time.time() + CODE_LIFE / 2
    return any(_holder(store, bytes(value), hour(), later) is not None for _, value in rows)


def exchange(store: Store, code: str, now: int) -> str | None:
    """Return the key that a page gets for a code in this hour.

    It is None if the code was used, is too old, or was made for another token than the present one.
    """
    with store.transaction():
        rows = store.run("DELETE FROM remembered WHERE key = ? RETURNING value", _key(store, code))
        analyst = _holder(store, bytes(rows[0][0]), now, time.time()) if rows else None
        if analyst is not None:
            store.audit(f"analyst:{analyst.name}", "open dashboard")
    return None if analyst is None else page_key(store.seal(), analyst, now + KEY_LIFE)


def _holder(store: Store, value: bytes, now: int, moment: float) -> Analyst | None:
    """Return the analyst who has the token that a code was made for, while both are good."""
    end, _, digest = value.decode().partition(" ")
    for analyst in store.analysts():
        is_same = (analyst.digest or b"").hex() == digest
        if is_same and analyst.state(now) == "valid" and moment <= int(end):
            return analyst
    return None


def page_key(seal: Seal, analyst: Analyst, end: int) -> str:
    """Return what opens the collector to an analyst's page until the beginning of an hour."""
    claim = f"{end} {analyst.name}"
    readable = base64.urlsafe_b64encode(claim.encode()).decode().rstrip("=")
    return f"{readable}.{_seal(seal, claim, analyst)}"


def whose_page(key: str, seal: Seal, analysts: Iterable[Analyst], now: int) -> Analyst | None:
    """Return whose page shows a key that is good in this hour."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    try:
        claim = base64.urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)).decode()
        end, name = claim.split(" ")
        is_over = int(end) <= now
    except ValueError:
        return None
    for analyst in analysts:
        if analyst.name == name and analyst.state(now) == "valid" and not is_over:
            return analyst if compare_digest(_seal(seal, claim, analyst), match[2]) else None
    return None


def _seal(seal: Seal, claim: str, analyst: Analyst) -> str:
    return seal.digest("dashboard key", (analyst.digest or b"") + claim.encode()).hex()


def _key(store: Store, code: str) -> bytes:
    return store.seal().digest("dashboard code", code.encode())
