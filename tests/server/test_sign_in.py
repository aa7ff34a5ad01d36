"""Analysts who sign in with an OpenID provider: whose word is taken, and all that is not."""

from __future__ import annotations

import base64
import hmac
import json
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from server_parts import Service, problem, survey

from deniable.errors import StoreError
from deniable.server.access import NEEDS, ROLES
from deniable.server.serve import Rules
from deniable.server.sign_in import LONGEST, SLACK, Provider

NOW = 1_800_000_000
ISSUER, AUDIENCE = "https://login.example.org", "deniable"
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": NOW, "exp": NOW + 600}


@cache
def key(name):
    if name.startswith("ec"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(65537, 1024 if "short" in name else 2048)


def text_of(content):
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def octets(number):
    return text_of(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def public(name, **changes):
    """A key as a provider's JWKS has it."""
    numbers = key(name).public_key().public_numbers()
    if name.startswith("ec"):
        form = {"kty": "EC", "crv": "P-256", "x": octets(numbers.x), "y": octets(numbers.y)}
    else:
        form = {"kty": "RSA", "n": octets(numbers.n), "e": octets(numbers.e)}
    return form | {"kid": name, "use": "sig"} | changes


def signed(text, name):
    if name.startswith("ec"):
        r, s = decode_dss_signature(key(name).sign(text, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return key(name).sign(text, padding.PKCS1v15(), SHA256())


def token(name="rsa", header=None, **changes):
    """A token as a provider makes it, with some claims changed; None takes one out."""
    kind = {"alg": "ES256" if name.startswith("ec") else "RS256", "kid": name, "typ": "JWT"}
    claims = {k: v for k, v in (CLAIMS | changes).items() if v is not None}
    text = f"{text_of(kind | (header or {}))}.{text_of(claims)}"
    return f"{text}.{text_of(signed(text.encode(), name))}"


def forged(header, signature=b"", claims=CLAIMS):
    text = f"{text_of(header)}.{text_of(claims)}"
    return f"{text}.{text_of(signature(text.encode()) if callable(signature) else signature)}"


@pytest.fixture
def jwks(tmp_path):
    rows = [
        public("rsa"),
        public("ec"),
        public("rsa-enc", use="enc"),
        public("rsa-ps", alg="PS256"),
    ]
    rows += [{"kty": "oct", "kid": "oct", "k": text_of(b"secret")}, {"kty": "OKP", "kid": "ed"}]
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": rows}))
    return path


@pytest.fixture
def provider(jwks):
    return Provider(ISSUER, AUDIENCE, jwks, "sub", lambda: NOW)


GOOD = {
    "RS256": {},
    "ES256": {"name": "ec"},
    "of a list": {"aud": [AUDIENCE]},
    "of several, for us": {"aud": ["other", AUDIENCE], "azp": AUDIENCE},
    "just ended": {"exp": NOW - SLACK + 1},
    "a clock ahead": {"iat": NOW + SLACK},
    "no type": {"header": {"typ": None}},
    "for us, to us": {"azp": AUDIENCE},
    "an ID token": {"typ": "ID", "token_use": "id"},
    "of a whole day": {"exp": NOW + LONGEST},
    "of this morning": {"iat": NOW - LONGEST + 600},
    "part of a second": {"exp": NOW + 0.5},
}


@pytest.mark.parametrize("case", GOOD)
def test_a_provider_is_believed(provider, case):
    assert provider.name(token(**GOOD[case])) == "alice"


WRONG = {
    "another issuer": {"iss": "https://evil.example"},
    "an issuer's beginning": {"iss": ISSUER + "/"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "other"},
    "no audience": {"aud": None},
    "an audience's part": {"aud": AUDIENCE[:-1]},
    "for another, and us": {"aud": [AUDIENCE, "other"]},
    "for us, to another": {"aud": [AUDIENCE, "other"], "azp": "other"},
    "an audience that is none": {"aud": {AUDIENCE: 1}},
    "ended": {"exp": NOW - SLACK},
    "no end": {"exp": None},
    "an end that is a text": {"exp": str(NOW + 600)},
    "an end that is true": {"exp": True},
    "not yet": {"nbf": NOW + SLACK + 1},
    "issued tomorrow": {"iat": NOW + 86_400},
    "nobody": {"sub": None},
    "a name that is none": {"sub": ["alice"]},
    "a key that is not known": {"header": {"kid": "other"}},
    "no key": {"header": {"kid": None}},
    "a key of a list": {"header": {"kid": ["rsa"]}},
    "a key for other ends": {"name": "rsa-enc"},
    "a key for PS256": {"name": "rsa-ps"},
    "another key's name": {"name": "rsa-enc", "header": {"kid": "rsa"}},
    "another curve's key": {"name": "ec2", "header": {"kid": "ec"}},
    "another algorithm": {"header": {"alg": "RS384"}},
    "the other algorithm": {"header": {"alg": "ES256"}},
    "a key of one's own": {"name": "rsa-enc", "header": {"kid": "rsa", "jwk": "own"}},
    "what must be understood": {"header": {"crit": ["b64"], "b64": False}},
    "a session's end": {"header": {"typ": "logout+jwt"}},
    "a session's end, by its claims": {"events": {"backchannel-logout": {}}},
    "good for years": {"exp": NOW + 10 * 365 * 86_400},
    "good for a day and a second": {"exp": NOW + LONGEST + 1},
    "good for years, issued long ago": {"iat": NOW - 10 * 365 * 86_400},
    "good for years, from now on": {"iat": NOW - 10 * 365 * 86_400, "nbf": NOW},
    "issued at no time": {"iat": None},
    "issued at no time, from now on": {"iat": None, "nbf": NOW},
    "issued at a text": {"iat": str(NOW)},
    "issued at true": {"iat": True},
    "issued tomorrow, from now on": {"iat": NOW + 86_400, "nbf": NOW},
    "for ever": {"exp": float("inf")},
    "to another": {"azp": "other"},
    "to another, of a list": {"aud": [AUDIENCE], "azp": "other"},
    "to nobody": {"azp": ""},
    "to a list": {"azp": [AUDIENCE]},
    "to us, for another": {"aud": "other", "azp": AUDIENCE},
    "to us, of an audience's part": {"aud": AUDIENCE + "s", "azp": AUDIENCE},
    "for programs": {"header": {"typ": "at+jwt"}},
    "for programs, in full": {"header": {"typ": "application/at+jwt"}},
    "a type that is none": {"header": {"typ": ["JWT"]}},
    "for programs, as Keycloak says": {"typ": "Bearer"},
    "to be refreshed, as Keycloak says": {"typ": "Refresh"},
    "for programs, as Cognito says": {"token_use": "access"},
    "a kind that is none": {"typ": {"ID": 1}},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_provider_does_not_say_of_us_is_refused(provider, case):
    options = WRONG[case]
    if options.get("header", {}).get("jwk"):
        options = options | {"header": {"kid": "rsa", "jwk": public("rsa-enc")}}
    assert provider.name(token(**options)) is None


def _hmac(secret):
    return lambda text: hmac.digest(secret, text, "sha256")


def _pem():
    return key("rsa").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


FORGED = {
    "none": lambda: forged({"alg": "none"}),
    "none, with a key": lambda: forged({"alg": "none", "kid": "rsa"}),
    "nOnE": lambda: forged({"alg": "nOnE", "kid": "rsa"}, b"x"),
    "no algorithm": lambda: forged({"kid": "rsa"}, lambda text: signed(text, "rsa")),
    "HS256 by the public key": lambda: forged({"alg": "HS256", "kid": "rsa"}, _hmac(_pem())),
    "RS256 by the public key": lambda: forged({"alg": "RS256", "kid": "rsa"}, _hmac(_pem())),
    "HS256 by a listed secret": lambda: forged({"alg": "HS256", "kid": "oct"}, _hmac(b"secret")),
    "zeros for ES256": lambda: forged({"alg": "ES256", "kid": "ec"}, bytes(64)),
    "one for ES256": lambda: forged({"alg": "ES256", "kid": "ec"}, (bytes(31) + b"\1") * 2),
    "DER for ES256": lambda: forged(
        {"alg": "ES256", "kid": "ec"}, lambda text: key("ec").sign(text, ec.ECDSA(SHA256()))
    ),
    "two numbers and more for ES256": lambda: forged(
        {"alg": "ES256", "kid": "ec"}, lambda text: signed(text, "ec") + b"\0"
    ),
    "another's signature": lambda: token().rpartition(".")[0] + "." + token(sub="b").split(".")[2],
    "claims put in": lambda: ".".join(
        [token().split(".")[0], text_of(CLAIMS | {"sub": "root"}), token().split(".")[2]]
    ),
    "cut short": lambda: token()[:-2],
    "a letter more": lambda: token() + "A",
    "padded": lambda: token() + "==",
    "a space": lambda: token() + " ",
    "four parts": lambda: token() + "." + token().split(".")[2],
    "two parts": lambda: token().rpartition(".")[0],
    "no object": lambda: forged([], lambda text: signed(text, "rsa")),
    "claims that are a list": lambda: forged(
        {"alg": "RS256", "kid": "rsa"}, lambda text: signed(text, "rsa"), []
    ),
    "a claim twice": lambda: forged(
        {"alg": "RS256", "kid": "rsa"},
        lambda text: signed(text, "rsa"),
        json.dumps(CLAIMS)[:-1].encode() + b', "sub": "root"}',
    ),
    "an end beyond numbers": lambda: forged(
        {"alg": "RS256", "kid": "rsa"},
        lambda text: signed(text, "rsa"),
        json.dumps(CLAIMS).encode().replace(str(NOW + 600).encode(), b"1e999"),
    ),
    "brackets": lambda: forged({"alg": "RS256", "kid": "rsa"}, b"x", b"[" * 9_000),
    "nothing": lambda: "",
    "dots": lambda: "..",
    "letters of elsewhere": lambda: "é.é.é",
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_token_is_nobodys(provider, case):
    assert provider.name(FORGED[case]()) is None


def test_a_token_has_one_text(provider):
    """Its last letter has bits that say nothing: only one value of them is taken."""
    good = token()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    taken = [each for each in letters if provider.name(good[:-1] + each)]
    assert taken == [good[-1]]


def test_an_address_must_be_confirmed(jwks):
    provider = Provider(ISSUER, AUDIENCE, jwks, "email", lambda: NOW)
    mail = "alice@example.org"
    assert provider.name(token(email=mail, email_verified=True)) == mail
    for wrong in (None, False, "true", 1):
        assert provider.name(token(email=mail, email_verified=wrong)) is None


def test_keys_are_those_of_the_file_as_it_is_now(jwks, provider):
    assert provider.name(token())
    jwks.write_text(json.dumps({"keys": [public("ec")]}))
    assert provider.name(token()) is None, "a key that the provider withdrew"
    assert provider.name(token("ec"))
    jwks.unlink()
    assert provider.name(token("ec")) is None, "and nobody, while nobody knows which are good"
    jwks.write_text("{")
    assert provider.name(token("ec")) is None
    jwks.write_text(json.dumps({"keys": [public("rsa")]}))
    assert provider.name(token())


DESCRIBED = {"issuer": ISSUER, "audience": AUDIENCE, "keys": "jwks.json"}


@pytest.mark.parametrize(
    ("form", "rows", "words"),
    [
        ([], None, "oidc.json is no JSON object"),
        ({}, None, "issuer, audience and keys"),
        (DESCRIBED | {"issuer": 1}, None, "issuer, audience and keys"),
        (DESCRIBED | {"audience": ""}, None, "issuer, audience and keys"),
        (DESCRIBED | {"secret": "x"}, None, "nothing else"),
        (DESCRIBED | {"keys": "none.json"}, None, "none.json cannot be read: No such file"),
        (DESCRIBED, [], "jwks.json has no key"),
        (DESCRIBED, [{"kty": "oct", "kid": "a", "k": "AA"}], "jwks.json has no key"),
        (DESCRIBED, "twice", "two keys of the name 'rsa'"),
        (DESCRIBED, "short", "Key 'rsa-short' in jwks.json is none, or of RSA and shorter"),
        (DESCRIBED, [{"kty": "RSA", "kid": "a", "n": 5, "e": "AQAB"}], "Key 'a' in jwks.json"),
        (DESCRIBED, [{"kty": "RSA", "kid": "a"}], "Key 'a' in jwks.json"),
        (DESCRIBED, [{"kty": "EC", "crv": "P-256", "kid": "a", "x": "AQ", "y": "AQ"}], "Key 'a'"),
    ],
)
def test_a_provider_that_cannot_be_used_is_told_in_a_sentence(tmp_path, jwks, form, rows, words):
    if rows is not None:
        rows = {"twice": [public("rsa")] * 2, "short": [public("rsa-short")]}.get(str(rows), rows)
        jwks.write_text(json.dumps({"keys": rows}))
    path = tmp_path / "oidc.json"
    path.write_text(json.dumps(form))
    with pytest.raises(StoreError, match=words):
        Provider.read(path)


def test_who_signs_in_has_their_roles_and_their_name_in_the_log(tmp_path, jwks):
    (tmp_path / "oidc.json").write_text(json.dumps(DESCRIBED))
    provider = Provider.read(tmp_path / "oidc.json")
    provider._clock = lambda: NOW
    url = f"sqlite:///{tmp_path / 's.db'}"
    with Service(url, (survey(),), Rules("drawn")) as service, service.opened() as store:
        now = service.clock.now
        service.collector.doorkeeper._provider = provider
        for role in ROLES:
            assert store.add_analyst(role, [role], None, now, signs_in=True) == ""
        store.add_analyst("late", ROLES, now, now - 9, signs_in=True)
        store.add_analyst("gone", ROLES, None, now, signs_in=True)
        store.revoke_analyst("gone")
        own_token = store.add_analyst("own", ROLES, None, now)
        service.send([{"slot": "1", "value": "1"}] * 200)

        def ask(address, bearer):
            return service.client.get(address, headers={"Authorization": f"Bearer {bearer}"})

        for address, needed in NEEDS.items():
            for role in ROLES if needed else ():
                status = ask(address, token(sub=role)).status_code
                assert (status == 403, status == 401) == (role != needed, False), address
            for name in ("late", "gone", "own", "stranger", "") if needed else ():
                bearer = token(sub=name)
                assert problem(ask(address, bearer), "unauthorized"), address
        assert ask("/v1/release", own_token).status_code == 200
        for bearer in ("look", "", token(sub="look", aud="other")):
            assert problem(ask("/v1/release", bearer), "unauthorized")
        lines = [line.fields for line in store.audit_lines()]
        assert ("analyst:look", "look") in [(line["who"], line["what"]) for line in lines]
        assert ("analyst:look", "refused operate") in [
            (line["who"], line["what"]) for line in lines
        ]
        store.revoke_analyst("look")
        service.collector.doorkeeper._refreshed -= 1.0
        assert problem(ask("/v1/release", token(sub="look")), "unauthorized")
        service.collector.doorkeeper._provider = None
        assert problem(ask("/v1/release", token(sub="export")), "unauthorized")
