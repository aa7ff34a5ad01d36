"""Addresses that open the dashboard once: codes, and the keys that pages get for them."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable.errors import StoreError
from deniable.server import dashboard_codes
from deniable.server.dashboard_codes import CODE_LIFE, KEY_LIFE, exchange, is_open, new_code
from deniable.server.serve import new_token


def sent(service, code):
    return service.client.post("/v1/session", json={"code": code})


def asked(service, key, address="/v1/release"):
    headers = {"Authorization": f"Bearer {key}"}
    return service.client.get(address, headers=headers).status_code


def test_a_code_is_exchanged_once_in_all_processes(start):
    service = start(slots="drawn")
    with service.opened() as store:
        store.add_analyst("alice", ["look"])
        code = new_code(store, "alice")
        assert is_open(store, code)
    assert asked(service, code) == 401, "it opens nothing by itself"
    answer = sent(service, code)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    key = answer.json()["token"]
    assert [asked(service, key, each) for each in ("/v1/release", "/metrics")] == [200, 403]
    for again in (code, key, "", "x" * 256):
        refusal = sent(service, again)
        assert refusal.status_code == (400 if not again else 401)
        assert not again or again not in refusal.text
    with service.opened() as store:
        assert not is_open(store, code)
        assert exchange(store, code, 0) is None, "nor at another process"
        lines = [line for _, line, _ in store.run("SELECT * FROM audit ORDER BY number")]
        assert any("analyst:alice" in line and "open dashboard" in line for line in lines)
        assert not any(code in line or key in line for line in lines)


def test_of_several_who_come_at_once_one_gets_the_key(start):
    service = start(slots="drawn")
    with service.opened() as store:
        new_token(store)
        code = new_code(store, "analyst")

    def try_it(_: int) -> bool:
        with service.opened() as store:
            return exchange(store, code, 0) is not None

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(try_it, range(6))) == [False] * 5 + [True]


def test_an_old_code_is_none(small, monkeypatch):
    service = small(slots="drawn")
    with service.opened() as store:
        new_token(store)
        code = new_code(store, "analyst")
    now = dashboard_codes.time.time()
    monkeypatch.setattr(dashboard_codes.time, "time", lambda: now + CODE_LIFE + 1)
    assert sent(service, code).status_code == 401
    with service.opened() as store:
        assert not is_open(store, code)


@pytest.mark.parametrize("is_in_anew", [False, True])
def test_a_code_ends_with_the_token_it_was_made_for(small, is_in_anew):
    service = small(slots="drawn")
    with service.opened() as store:
        store.add_analyst("alice", ["look"])
        code = new_code(store, "alice")
        store.revoke_analyst("alice")
        if is_in_anew:
            store.add_analyst("alice", ["look", "operate"])
        assert not is_open(store, code)
        assert sent(service, code).status_code == 401
        if is_in_anew:
            assert sent(service, new_code(store, "alice")).status_code == 200


@pytest.mark.parametrize("end", ["revoked", "replaced", "hours"])
def test_a_key_ends_with_the_token_or_after_hours(small, end):
    service = small(slots="drawn")
    with service.opened() as store:
        new_token(store)
        key = sent(service, new_code(store, "analyst")).json()["token"]
        assert asked(service, key) == 200
        if end == "revoked":
            store.revoke_analyst("analyst")
        elif end == "replaced":
            new_token(store)
        else:
            service.clock.now += KEY_LIFE - 1
            assert asked(service, key) == 200
            service.clock.now += 1
    service.collector.doorkeeper._refreshed = 0.0
    assert asked(service, key) == 401


def test_a_key_is_nobody_elses_and_lasts_no_longer(small):
    service = small(slots="drawn")
    with service.opened() as store:
        new_token(store)
        store.add_analyst("bob", ["look"])
        key = sent(service, new_code(store, "bob")).json()["token"]
    assert asked(service, key) == 200
    readable, _, seal = key.partition(".")
    end, name = base64.urlsafe_b64decode(readable + "==").decode().split(" ")
    for claim in (f"{end} analyst", f"{int(end) + 9} {name}", f"{end}0 {name}", "x", f"{end} "):
        forged = base64.urlsafe_b64encode(claim.encode()).decode().rstrip("=")
        assert asked(service, f"{forged}.{seal}") == 401
    assert asked(service, f"{readable}.{'0' * 32}") == 401


def test_only_who_has_a_token_gets_a_code(small):
    service = small(slots="drawn")
    with service.opened() as store:
        store.add_analyst("carol", signs_in=True)
        new_token(store)
        store.revoke_analyst("analyst")
        for name in ("nobody", "carol", "analyst"):
            with pytest.raises(StoreError, match="has a good token"):
                new_code(store, name)


def test_the_store_does_not_hold_the_code(small, tmp_path):
    service = small(slots="drawn")
    with service.opened() as store:
        new_token(store)
        code = new_code(store, "analyst")
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert code.encode() not in held
