"""Who may do what: every address, every role, every kind of token."""

from __future__ import annotations

import re

import pytest
from server_parts import ROOT, Clock, Service, problem, survey
from starlette.routing import Route

from deniable.errors import StoreError
from deniable.server.access import NEEDS, ROLES, Analyst, digest_of_token, signed_in, whose
from deniable.server.app import _Routes
from deniable.server.openapi import document
from deniable.server.serve import Rules
from deniable.server.stores import open_store

NOW = Clock().now
QUERIES = {
    "marginal": "?attributes=a0",
    "number": "?attribute=a0",
    "means": "?attribute=a0&by=a1",
    "correlation": "?attributes=a0&attributes=a1",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A collector, its addresses from its own routes, and tokens of every kind."""
    folder = tmp_path_factory.mktemp("access")
    tokens = {}
    with (
        open_store(f"sqlite:///{folder / 'other.db'}") as other,
        Service(f"sqlite:///{folder / 's.db'}", (survey(),), Rules("drawn")) as service,
    ):
        with service.opened() as store:
            for role in ROLES:
                tokens[role, "valid"] = store.add_analyst(role, [role], NOW + 1, NOW)
                tokens[role, "expired"] = store.add_analyst(f"{role}.late", [role], NOW, NOW - 9)
                tokens[role, "revoked"] = store.add_analyst(f"{role}.gone", [role], None, NOW)
                store.revoke_analyst(f"{role}.gone")
                tokens[role, "foreign"] = other.add_analyst(role, [role], None, NOW)
                tokens[role, "truncated"] = tokens[role, "valid"][:-1]
        service.send([{"slot": str(i % 10), "value": str(i % 2)} for i in range(300)])
        routes = [r for r in _Routes(service.collector, ()).all() if isinstance(r, Route)]
        addresses = {
            route.path + QUERIES.get(route.path.rpartition("/")[2], ""): NEEDS[route.path]
            for route in routes
            if "GET" in route.methods
        }
        yield service, addresses, tokens


def ask(service, address, token):
    return service.client.get(address, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("kind", ["valid", "expired", "revoked", "foreign", "truncated"])
@pytest.mark.parametrize("role", ROLES)
def test_every_address_takes_its_role_and_a_good_token(world, role, kind):
    service, addresses, tokens = world
    guarded = {address: needed for address, needed in addresses.items() if needed}
    assert len(guarded) >= 15
    assert set(guarded.values()) == set(ROLES)
    for address, needed in guarded.items():
        response = ask(service, address, tokens[role, kind])
        assert response.headers["cache-control"] == "no-store", address
        if kind != "valid":
            assert problem(response, "unauthorized"), (address, response.text)
            assert response.headers["www-authenticate"].startswith("Bearer")
        elif needed != role:
            assert problem(response, "forbidden"), address
            assert f"takes the role {needed}; yours: {role}." in response.json()["detail"]
        else:
            assert response.status_code in (200, 422), (address, response.text)


def test_nobody_needs_a_token_for_the_rest(world):
    service, addresses, _ = world
    for address in [address for address, needed in addresses.items() if needed is None]:
        query = "?survey=x" if address in ("/v1/survey", "/v1/texts") else ""
        assert service.client.get(address + query).status_code in (200, 404, 503), address


def test_an_address_that_nobody_thought_of_is_not_served(world, monkeypatch):
    service, _, _ = world
    monkeypatch.delitem(NEEDS, "/v1/integrity")
    with pytest.raises(KeyError):
        _Routes(service.collector, ()).all()


def test_documents_tell_the_same_roles():
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    for path, role in NEEDS.items():
        if role is not None:
            assert re.search(rf"^\| .*`{re.escape(path)}[`?].*\| {role} \|", page, re.M), path
            (operation,) = document()["paths"][path].values()
            assert operation["security"] == [{"analysts": [role]}]
            assert {"401", "403"} <= operation["responses"].keys()
        elif path in document()["paths"]:
            (operation,) = document()["paths"][path].values()
            assert "security" not in operation


def test_whoever_is_let_in_or_out_is_so_at_once(small):
    service = small(slots="drawn")
    with service.opened() as store:
        token = store.add_analyst("alice", ["look"], None, NOW)
    assert ask(service, "/v1/release", token).status_code == 200
    service.clock.now += 1
    with service.opened() as store:
        store.revoke_analyst("alice")
    service.collector.doorkeeper._refreshed -= 1.0  # a second later
    assert problem(ask(service, "/v1/release", token), "unauthorized")


def test_strangers_do_not_make_a_collector_read_its_store_again_and_again(small, monkeypatch):
    service = small(slots="drawn")
    gauges, reads = service.collector.gauges, []
    doorkeeping = gauges.doorkeeping
    monkeypatch.setattr(gauges, "doorkeeping", lambda: reads.append(1) or doorkeeping())
    monkeypatch.setattr("deniable.server.doorkeeper.FRESH", 3600.0)
    for number in range(20):
        assert ask(service, "/v1/release", f"guess {number}").status_code == 401
    assert len(reads) <= 2


@pytest.mark.parametrize(
    ("name", "roles", "words"),
    [
        ("", ["look"], "1 to 64 letters"),
        ("a b", ["look"], "1 to 64 letters"),
        ("a:b", ["look"], "1 to 64 letters"),
        ("x" * 65, ["look"], "1 to 64 letters"),
        ("a\n", ["look"], "1 to 64 letters"),
        ("a", [], "A role is"),
        ("a", ["look", "all"], "got 'all'"),
        ("there", ["look"], "already: 'deniable analysts revoke there'"),
    ],
)
def test_who_cannot_be_let_in(url, name, roles, words):
    with open_store(url) as store:
        store.add_analyst("there", ["look"], None, NOW)
        with pytest.raises(StoreError, match=words):
            store.add_analyst(name, roles, None, NOW)
        with pytest.raises(StoreError, match="may come in"):
            store.revoke_analyst("nobody")
        assert [each.name for each in store.analysts()] == ["there"]


def test_who_was_let_out_or_whose_token_ended_can_come_back(url):
    with open_store(url) as store:
        first = store.add_analyst("alice", ["look"], NOW, NOW - 5)
        second = store.add_analyst("alice", ["export", "look"], None, NOW)
        store.revoke_analyst("alice")
        third = store.add_analyst("alice", ["operate"], None, NOW)
        rows = store.analysts()
        assert [whose(token, rows, NOW) for token in (first, second)] == [None, None]
        assert whose(third, rows, NOW) == Analyst(
            "alice", ("operate",), digest_of_token(third), None
        )
        assert whose("", rows, NOW) is None
        store.add_analyst("bob", ["look"], None, NOW, signs_in=True)
        rows = store.analysts()
        assert [each.state(NOW) for each in rows] == ["valid", "signs in"]
        assert whose("", rows, NOW) is None
        assert [signed_in(name, rows, NOW) for name in ("alice", "bob")] == [None, rows[1]]
        everything = str(
            [store.run(f"SELECT * FROM {t}") for t in ("settings", "analysts", "audit")]
        )
        assert not any(token in everything for token in (first, second, third))
