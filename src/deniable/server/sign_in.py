"""Who signs in elsewhere: ID tokens of an OpenID provider, checked against its keys as a file has them.

The file says whose tokens are believed (``issuer``), for whom they must be (``audience``), where the
provider's keys are (``keys``, a JWKS file beside it), and which claim is an analyst's name (``claim``,
``sub`` if it is left out). Nobody is asked over a network. What an analyst may do, the store says.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeGuard

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from deniable.errors import StoreError
from deniable.formats.reading import parse, read_text
from deniable.server.errors_log import report

SLACK = 60
"""Seconds by which the provider's clock may differ."""

LEAST_BITS = 2048
"""The fewest bits of an RSA key."""

_MOST_BYTES = 1 << 20
_FIELDS = {"issuer", "audience", "keys", "claim"}
_TOKEN = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
LONGEST = 24 * 3600
"""The most seconds for which a token is good: one that was lost is none any more the day after."""

_KINDS = {"typ": "id", "token_use": "id"}
"""Claims by which providers tell ID tokens from those that let programs in (Keycloak, Cognito)."""

_PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


class Provider:
    """An OpenID provider, whose word is taken for who somebody is."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        keys: Path,
        claim: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.issuer, self._audience, self._claim = issuer, audience, claim
        self._path, self._clock = keys, clock
        self._stamp: tuple[int, ...] = ()
        self._keys: dict[tuple[str, str], _PublicKey] = {}

    @classmethod
    def read(cls, path: Path) -> Provider:
        """Read the file that describes a provider, and its keys."""
        form = _file(path)
        fields = {"claim": "sub", **form}
        if fields.keys() != _FIELDS or not all(v and isinstance(v, str) for v in fields.values()):
            raise StoreError(
                f"{path.name} names a provider by the texts issuer, audience and keys, and perhaps "
                "claim; nothing else."
            )
        provider = cls(
            fields["issuer"], fields["audience"], path.parent / fields["keys"], fields["claim"]
        )
        provider._keys = _keys_in(provider._path)
        return provider

    def name(self, token: str) -> str | None:
        """Return whose a token is that is good now, or None."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        try:
            header, claims, signature = _object(match[1]), _object(match[2]), _octets(match[3])
            key = self._key(header)
        except ValueError:
            return None
        is_good = (
            key is not None
            and _is_signed(key, token.rpartition(".")[0].encode(), signature)
            and self._is_for_us(claims)
        )
        name = claims.get(self._claim)
        if self._claim == "email" and claims.get("email_verified") is not True:
            return None
        return name if is_good and isinstance(name, str) else None

    def _key(self, header: Mapping[str, Any]) -> _PublicKey | None:
        """Return the key that a token's header names, of the kind that its algorithm takes."""
        kind, number, says = (header.get(each) for each in ("alg", "kid", "typ"))
        # What lets programs in (at+jwt), or tells of the end of a session, is no word on who comes.
        is_plain = "crit" not in header and (says is None or str(says).lower() == "jwt")
        if not (is_plain and isinstance(kind, str) and isinstance(number, str)):
            return None
        self._learn()
        return self._keys.get((kind, number))

    def _learn(self) -> None:
        """Read the keys anew if their file has changed; while it cannot be read, nobody is let in."""
        try:
            status = self._path.stat()
            stamp: tuple[int, ...] = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._keys = _keys_in(self._path)
        except (OSError, StoreError) as error:
            report(f"{self._path.name} cannot be read, so nobody signs in", error)
            stamp, self._keys = (), {}
        self._stamp = stamp

    def _is_for_us(self, claims: Mapping[str, Any]) -> bool:
        """Tell whether the provider says it, of now, of a person, and for this collector."""
        audience, presenter = claims.get("aud"), claims.get("azp")
        is_ours = audience in (self._audience, [self._audience]) and presenter is None
        if presenter == self._audience:
            is_ours = audience == self._audience or (
                isinstance(audience, list) and self._audience in audience
            )
        now = self._clock()
        issued, end = claims.get("iat"), claims.get("exp")
        begin = claims.get("nbf", issued)
        return (
            is_ours
            and claims.get("iss") == self.issuer
            and "events" not in claims
            and all(str(claims.get(name, kind)).lower() == kind for name, kind in _KINDS.items())
            and _is_time(issued)
            and _is_time(begin)
            and _is_time(end)
            and max(begin, issued) - SLACK <= now < end + SLACK
            and end - issued <= LONGEST
        )


def _is_time(value: object) -> TypeGuard[float]:
    return type(value) is int or (type(value) is float and isfinite(value))


def _is_signed(key: _PublicKey, text: bytes, signature: bytes) -> bool:
    """Tell whether a signature is this key's: RS256, or ES256, by what the key is and nothing else."""
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, text, padding.PKCS1v15(), SHA256())
        elif len(signature) == 64:
            r, s = (int.from_bytes(signature[at : at + 32], "big") for at in (0, 32))
            key.verify(encode_dss_signature(r, s), text, ec.ECDSA(SHA256()))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _keys_in(path: Path) -> dict[tuple[str, str], _PublicKey]:
    """Return the keys of a JWKS file for signatures that are known here, by algorithm and name."""
    form, keys = _file(path), dict[tuple[str, str], _PublicKey]()
    rows = form.get("keys")
    for row in rows if isinstance(rows, list) else ():
        kind = _kind(row) if isinstance(row, dict) else None
        number = row["kid"] if kind else None
        if kind is None or not isinstance(number, str):
            continue
        if (kind, number) in keys:
            raise StoreError(f"{path.name} has two keys of the name {number!r}.")
        try:
            keys[kind, number] = _rsa(row) if kind == "RS256" else _p256(row)
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"Key {number!r} in {path.name} is none, or of RSA and shorter than "
                f"{LEAST_BITS:,} bits."
            ) from None
    if not keys:
        raise StoreError(f"{path.name} has no key with a name (kid) for RS256 or ES256.")
    return keys


def _kind(row: Mapping[str, Any]) -> str | None:
    """Return the algorithm of a key for signatures, if it is one that is known here, and has a name."""
    kty, curve = row.get("kty"), row.get("crv")
    kind = "RS256" if kty == "RSA" else "ES256" if (kty, curve) == ("EC", "P-256") else None
    is_ours = row.get("use", "sig") == "sig" and row.get("alg", kind) == kind and "kid" in row
    return kind if is_ours else None


def _rsa(row: Mapping[str, Any]) -> rsa.RSAPublicKey:
    key = rsa.RSAPublicNumbers(_number(row["e"]), _number(row["n"])).public_key()
    if key.key_size < LEAST_BITS:
        raise ValueError
    return key


def _p256(row: Mapping[str, Any]) -> ec.EllipticCurvePublicKey:
    x, y = _number(row["x"]), _number(row["y"])
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def _number(text: str) -> int:
    return int.from_bytes(_octets(text), "big")


def _octets(text: str) -> bytes:
    """Return the bytes of a text in base64url as tokens write it; a ValueError if it is none."""
    raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    if base64.urlsafe_b64encode(raw).rstrip(b"=") != text.encode():
        raise ValueError("is not base64url")  # or one token had several texts
    return raw


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of its fields; one that names a field twice may be read in two ways."""
    form = dict(pairs)
    if len(form) < len(pairs):
        raise ValueError("names a field twice")
    return form


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object of a part of a token; a ValueError if it is none."""
    form = parse(_octets(text), _once)
    if not isinstance(form, dict):
        raise ValueError("is no object")
    return form


def _file(path: Path) -> dict[str, Any]:
    try:
        form = parse(read_text(path, _MOST_BYTES), _once)
    except OSError as error:
        raise StoreError(f"{path.name} cannot be read: {error.strerror}.") from None
    except ValueError:
        form = None
    if not isinstance(form, dict):
        raise StoreError(f"{path.name} is no JSON object.")
    return form
