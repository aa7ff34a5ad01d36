"""Analysts: who they are, what each may do, and what each address takes.

A token is shown once; the store keeps its SHA-256, and compares in a time that does not depend on it.
Whoever signs in elsewhere has none here: see `deniable.server.sign_in`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Literal, NamedTuple

from deniable.errors import StoreError
from deniable.messages.modes import choices
from deniable.server.audit_log import OPERATOR, AuditTables

Role = Literal["look", "export", "operate"]
ROLES = choices(Role)
"""See estimates; take away files; see how the collector does."""

NEEDS: dict[str, Role | None] = {
    "/": None,
    "/dashboard": None,
    "/healthz": None,
    "/openapi.json": None,
    "/static": None,
    "/static/languages.json": None,
    "/v1/log": None,
    "/v1/log/proof": None,
    "/v1/questions": None,
    "/v1/reports": None,
    "/v1/session": None,
    "/v1/survey": None,
    "/v1/surveys": None,
    "/v1/texts": None,
    "/v1/release": "look",
    "/v1/release/associations": "look",
    "/v1/release/correlation": "look",
    "/v1/release/groups": "look",
    "/v1/release/history": "look",
    "/v1/release/marginal": "look",
    "/v1/release/means": "look",
    "/v1/release/number": "look",
    "/v1/release/poolable": "look",
    "/v1/release/tree": "look",
    "/v1/release/report": "export",
    "/v1/release/tables.csv": "export",
    "/v1/release/tables.json": "export",
    "/v1/release/tables.parquet": "export",
    "/v1/release/tables.sav": "export",
    "/v1/release/tables.xlsx": "export",
    "/v1/integrity": "operate",
    "/metrics": "operate",
}
"""The role that each address takes; None for everybody. What is not here is not served."""

UNLOGGED = {"/metrics"}
"""Addresses that tell of no report: a look is not written down, and so a full disk hides none."""

FIRST = "analyst"
"""The analyst that a new store has, who may do everything."""

MOST_ANALYSTS = 1_000

SIGNS_IN = "signs in"
"""What an analyst does who has no token here."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class Analyst(NamedTuple):
    """Somebody with a token."""

    name: str
    roles: tuple[str, ...]
    digest: bytes | None
    """Of the token; empty for who signs in elsewhere, None for who may not come in any more."""
    expiry: int | None
    """The hour from which the token is not good any more; None for never."""

    def state(self, hour: int) -> str:
        """Tell what the token is: revoked, expired, valid, or another's matter ("signs in")."""
        if self.digest is None:
            return "revoked"
        if self.expiry is not None and self.expiry <= hour:
            return "expired"
        return "valid" if self.digest else SIGNS_IN


def whose(token: str, analysts: Iterable[Analyst], hour: int) -> Analyst | None:
    """Return who has a token that is good, in a time that does not depend on the token."""
    digest, owner = digest_of_token(token), None
    for analyst in analysts:
        is_same = compare_digest(analyst.digest or b"", digest)
        if is_same and analyst.state(hour) == "valid":
            owner = analyst
    return owner


def signed_in(name: str, analysts: Iterable[Analyst], hour: int) -> Analyst | None:
    """Return who has a name, if they sign in elsewhere, and may come in."""
    for analyst in analysts:
        if analyst.name == name and analyst.state(hour) == SIGNS_IN:
            return analyst
    return None


def digest_of_token(token: str) -> bytes:
    """Return what the store keeps of a token."""
    return sha256(token.encode()).digest()


class AnalystTables(AuditTables):
    """The analysts of a store."""

    def analysts(self) -> list[Analyst]:
        """Return all analysts, those whose tokens were revoked included."""
        rows = self.run("SELECT name, roles, digest, expiry FROM analysts ORDER BY name")
        return [
            Analyst(name, tuple(roles.split()), None if digest is None else bytes(digest), expiry)
            for name, roles, digest, expiry in rows
        ]

    def add_analyst(
        self,
        name: str,
        roles: Sequence[str] = ROLES,
        expiry: int | None = None,
        hour: int = 0,
        *,
        signs_in: bool = False,
    ) -> str:
        """Let somebody in; return their token, of which the store keeps a digest only.

        A name whose token is still good is refused; one whose token is not any more gets a new one.
        Who signs in elsewhere gets none: an empty text.
        """
        if not _NAME.fullmatch(name):
            raise StoreError(
                "An analyst's name has 1 to 64 letters, digits and . _ @ - and begins with a letter or "
                f"a digit; got {name!r}."
            )
        unknown = [role for role in roles if role not in ROLES]
        if unknown or not roles:
            raise StoreError(f"A role is {', '.join(ROLES)}; got {(unknown or ['none'])[0]!r}.")
        token = "" if signs_in else secrets.token_urlsafe(32)
        with self.transaction():
            self.lock_audit()
            before = {analyst.name: analyst for analyst in self.analysts()}
            if name in before and before[name].state(hour) in ("valid", SIGNS_IN):
                raise StoreError(
                    f"There is an analyst {name!r} already: 'deniable analysts revoke {name}' first."
                )
            if name not in before and len(before) >= MOST_ANALYSTS:
                raise StoreError(f"A store has at most {MOST_ANALYSTS:,} analysts.")
            text = " ".join(role for role in ROLES if role in roles)
            self.run(
                "INSERT INTO analysts VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "roles = excluded.roles, digest = excluded.digest, expiry = excluded.expiry",
                *(name, text, b"" if signs_in else digest_of_token(token), expiry),
            )
            self.audit(OPERATOR, "add analyst", f"{name}: {text}" + ", signs in" * signs_in)
        return token

    def revoke_analyst(self, name: str) -> None:
        """Let somebody in no more."""
        with self.transaction():
            self.lock_audit()
            rows = self.run(
                "UPDATE analysts SET digest = NULL WHERE name = ? AND digest IS NOT NULL "
                "RETURNING name",
                name,
            )
            if not rows:
                raise StoreError(
                    f"No analyst {name!r} may come in; 'deniable analysts list' shows all."
                )
            self.audit(OPERATOR, "revoke analyst", name)
