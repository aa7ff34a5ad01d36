"""`deniable check`: all is well where it is, and each check fails on a deployment where it should."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from crashing import started
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from server_parts import new_schema, survey

from deniable.errors import StoreError
from deniable.server import sqlite_files
from deniable.server.checking import machine, stores, web
from deniable.server.report_endpoint import PAGE_HEADERS, policy_of
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store

HEADERS = {name.decode(): value.decode() for name, value in PAGE_HEADERS}
HSTS = {"strict-transport-security": "max-age=31536000"}
CHECKS = {
    *("health", "tls", "redirect", "hsts", "headers", "cookies", "forwarding", "analysts", "clock"),
}


@dataclass
class Proxy:
    """What stands between a collector and the world: all right, unless a test says otherwise."""

    page: dict[str, str] = field(default_factory=lambda: HEADERS | HSTS)
    health: tuple[int, dict[str, Any]] = (200, {"status": "ok", "forwarded": False})
    analysts: int = 401
    ahead: float = 0.0
    """Seconds by which its clock is."""
    limit: int = 50
    """Requests that it lets pass."""
    log: Path | None = None
    to: str | None = None
    """Where it sends everybody."""
    passed: int = 0

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.passed += 1
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"192.0.2.1 GET {path}\n")
        date = {"date": formatdate(time.time() + self.ahead, usegmt=True)}
        if self.to is not None:
            return 301, date | {"location": self.to}, b""
        if self.passed > self.limit:
            return 429, date, b""
        match path:
            case "/healthz":
                return self.health[0], date, json.dumps(self.health[1]).encode()
            case "/":
                return 200, date | self.page, b"<html></html>"
            case "/v1/release" | "/metrics":
                return self.analysts, date, b"{}"
        return 404, date, b"{}"


@contextmanager
def serving(proxy: Proxy, certificate: Path | None = None) -> Iterator[int]:
    """Run a proxy; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            status, headers, body = proxy.answer(self.path)
            self.send_response_only(status)
            for name, value in (headers | {"content-length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def write_certificate(path: Path, days: float) -> Path:
    """Write a key and a certificate of localhost that ends in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=100))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tls")
    days = {"good": 90.0, "ending": 5.0, "ended": -1.0, "stranger": 90.0}
    return {name: write_certificate(folder / f"{name}.pem", days[name]) for name in days}


def wrong_checks(findings: Any) -> dict[str, str]:
    return {each.check: f"{each.says} {each.todo}" for each in findings if each.state == "wrong"}


def look(
    certificates: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    proxy: Proxy,
    plain: Proxy | None = None,
    certificate: str = "good",
) -> list[Any]:
    trusted = certificates["good" if certificate == "stranger" else certificate]
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with (
        serving(proxy, certificates[certificate]) as port,
        serving(plain or Proxy(to="https://localhost/")) as plain_port,
    ):
        return list(web.check_address(f"https://localhost:{port}", plain_port=plain_port))


def test_a_deployment_that_is_well(certificates, monkeypatch):
    findings = look(certificates, monkeypatch, Proxy())
    assert {each.check for each in findings if each.state == "well"} == CHECKS
    assert len(findings) == len(CHECKS)


@pytest.mark.parametrize(
    ("check", "words", "proxy", "plain", "certificate"),
    [
        ("health", "answers 503", Proxy(health=(503, {})), None, "good"),
        ("health", "no collector", Proxy(health=(200, {"forwarded": False})), None, "good"),
        ("tls", "ends in 5 days", Proxy(), None, "ending"),
        ("tls", "expired", Proxy(), None, "ended"),
        ("tls", "refused", Proxy(), None, "stranger"),
        ("redirect", "does not lead to https", Proxy(), Proxy(), "good"),
        ("redirect", "answers 301", Proxy(), Proxy(to="http://elsewhere.example/"), "good"),
        ("hsts", "half a year", Proxy(page=HEADERS), None, "good"),
        (
            "hsts",
            "half a year",
            Proxy(page=HEADERS | {"strict-transport-security": "max-age=600"}),
            None,
            "good",
        ),
        ("headers", "content-security-policy", Proxy(page=HSTS), None, "good"),
        (
            "headers",
            "other, x-frame-options",
            Proxy(page=HEADERS | HSTS | {"x-frame-options": "SAMEORIGIN"}),
            None,
            "good",
        ),
        ("cookies", "recognised", Proxy(page=HEADERS | HSTS | {"set-cookie": "a=1"}), None, "good"),
        (
            "forwarding",
            "X-Forwarded-For",
            Proxy(health=(200, {"status": "ok", "forwarded": True})),
            None,
            "good",
        ),
        ("analysts", "/v1/release and /metrics answer", Proxy(analysts=200), None, "good"),
        ("clock", "ahead of", Proxy(ahead=86_400), None, "good"),
        ("clock", "behind", Proxy(ahead=-600), None, "good"),
    ],
)
def test_what_is_wrong_at_an_address(
    certificates, monkeypatch, check, words, proxy, plain, certificate
):
    problems = wrong_checks(look(certificates, monkeypatch, proxy, plain, certificate))
    assert problems.keys() == {check}
    assert words in problems[check]


def test_a_page_may_stand_in_sites_that_were_named(certificates, monkeypatch):
    named = policy_of(["https://a.example", "https://b.example"])
    embedded = HEADERS | HSTS | {name.lower(): value for name, value in named.items()}
    assert not wrong_checks(look(certificates, monkeypatch, Proxy(page=embedded)))
    for policy in ("frame-ancestors https://a.example", "frame-ancestors *"):
        planted = embedded | {"content-security-policy": policy}
        problems = wrong_checks(look(certificates, monkeypatch, Proxy(page=planted)))
        assert problems.keys() == {"headers"}


def test_where_http_is_not_known_it_is_not_asked(certificates, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["good"]))
    with serving(Proxy(), certificates["good"]) as port:
        findings = {each.check: each for each in web.check_address(f"https://localhost:{port}")}
    assert findings["redirect"].state == "unseen"


def test_an_address_without_tls_or_without_anybody():
    with serving(Proxy()) as port:
        findings = list(web.check_address(f"http://127.0.0.1:{port}/"))
        assert not wrong_checks(findings)
        assert {each.check for each in findings if each.state == "unseen"} == {
            *("tls", "redirect", "hsts"),
        }
    assert (
        "does not answer" in wrong_checks(web.check_address(f"http://127.0.0.1:{port}"))["health"]
    )
    plain = web.Address.of("http://192.0.2.1")
    assert "no TLS" in web._tls(plain, web.Answer(200, {}, 0, b"", None)).says
    for url in ("collector", "ftp://a", "https://", "http://a:99999", "https://a/?b=c"):
        with pytest.raises(StoreError, match="http or https"):
            list(web.check_address(url))


def test_an_address_that_leads_elsewhere():
    with serving(Proxy(to="https://survey.example.org/healthz")) as port:
        problems = wrong_checks(web.check_address(f"http://127.0.0.1:{port}"))
        assert problems.keys() == {"health"}
        assert "leads to https://survey.example.org" in problems["health"]


def test_a_crowd_and_what_is_written_of_it(tmp_path):
    log = tmp_path / "access.log"
    with serving(Proxy(limit=10**6)) as port:
        assert "all answered" in web.check_burst(f"http://127.0.0.1:{port}").says
        assert web.check_logs(f"http://127.0.0.1:{port}", [tmp_path]).state == "well"
    with serving(Proxy(log=log)) as port:
        assert web.check_burst(f"http://127.0.0.1:{port}").state == "well"
        for place in (tmp_path, log):
            assert "access.log tells" in web.check_logs(f"http://127.0.0.1:{port}", [place]).says
        with pytest.raises(StoreError, match="There is no log"):
            web.check_logs(f"http://127.0.0.1:{port}", [tmp_path / "none"])


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.db"
    with open_store(f"sqlite:///{path}") as store:
        prepare(store, [survey()], Rules())
    return path


@pytest.fixture
def store(whole_store: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return Path(shutil.copy2(whole_store, folder / "store.db"))


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("check", "words", "harm"),
    [
        ("files", "chmod 600 store.db", lambda path: path.chmod(0o640)),
        ("folder", "replace the store", lambda path: path.parent.chmod(0o777)),
        (
            "store",
            "older",
            lambda p: change(p, "UPDATE settings SET value = X'31' WHERE name = 'format'"),
        ),
        (
            "store",
            "newer",
            lambda p: change(p, "UPDATE settings SET value = X'3939' WHERE name = 'format'"),
        ),
        ("store", "of which version", lambda path: change(path, "DELETE FROM settings")),
        ("store", "of which version", lambda path: change(path, "UPDATE settings SET value = 'x'")),
        ("store", "cannot be read", lambda path: path.write_bytes(b"text" * 1000)),
        ("store", "cannot be read", lambda path: change(path, "DROP TABLE settings")),
    ],
)
def test_what_is_wrong_with_a_store(store, check, words, harm):
    before = store.read_bytes()
    assert not wrong_checks(stores.check_store(str(store)))
    assert store.read_bytes() == before, "nothing is changed"
    assert [path.name for path in store.parent.iterdir()] == ["store.db"]
    harm(store)
    problems = wrong_checks(stores.check_store(f"sqlite:///{store}"))
    assert problems.keys() == {check}
    assert words in problems[check]


NOW = int(time.time()) // 3600


@pytest.mark.parametrize(
    ("check", "words", "harm"),
    [
        ("keys", "of tickets seals for 40", f"UPDATE keys SET since = {NOW - 400 * 24 - 24}"),
        ("keys", "of tickets seals for nobody knows", "UPDATE keys SET since = NULL"),
        ("keys", "could still be stolen", f"UPDATE keys SET ends = {NOW - 1}"),
        ("tokens", "'ann' never ends", "UPDATE analysts SET expiry = NULL"),
        ("tokens", "'ann' ends in 3 days", f"UPDATE analysts SET expiry = {NOW + 3 * 24}"),
    ],
)
def test_what_ends_or_never_does(store, check, words, harm):
    with open_store(str(store)) as opened:
        opened.add_analyst("ann", ("look",), NOW + 60 * 24)
        opened.add_analyst("bob", ("look",), NOW + 60 * 24)
        opened.add_analyst("cyd", ("look",), signs_in=True)  # the provider's tokens end
        opened.revoke_analyst("bob")
    assert not wrong_checks(stores.check_store(str(store)))
    if check == "keys":
        harm += " WHERE kind = 'ticket'"
    change(store, harm)
    problems = wrong_checks(stores.check_store(str(store)))
    assert problems.keys() == {check}
    assert words in problems[check]


def test_a_store_in_use_is_looked_at_whole(store):
    with open_store(str(store)) as opened:
        opened.change("format", b"99")  # in the log, not in the file yet
        assert "newer" in wrong_checks(stores.check_store(str(store)))["store"]


def test_a_store_in_use_that_lost_a_file_is_not_opened(store, monkeypatch):
    """Whoever opens it makes another index, and may see another state than the collector."""
    monkeypatch.setattr(sqlite_files, "PATIENCE", 0.0)
    with open_store(str(store)):
        index = store.with_name("store.db-shm")
        index.rename(store.parent / "away")
        problems = wrong_checks(stores.check_store(str(store)))
        assert "store.db-shm was removed. End every process" in problems["store"]
        assert not index.exists()
        (store.parent / "away").rename(index)
        assert not wrong_checks(stores.check_store(str(store)))


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        list(stores.check_store(str(tmp_path / "none.db")))


def test_the_settings_of_postgresql(postgres):
    """The server of these tests keeps nothing through a loss of power, and so fails this check."""
    url = new_schema(postgres)
    with open_store(url) as opened:
        prepare(opened, [survey()], Rules())
    problems = wrong_checks(stores.check_store(url))
    assert "fsync = off" in problems.pop("durability")
    assert "log_min_error_statement = error" in problems.pop("statement-log")
    assert not problems
    assert wrong_checks(stores.check_store(postgres)).keys() == {"store"}  # of that no collector
    gone = wrong_checks(stores.check_store("postgresql://nobody@127.0.0.1:1/none"))
    assert "cannot be read" in gone["store"]


def test_the_settings_that_are_well():
    right = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    right |= {name: min(values) for name, values in stores._SILENT.items()}
    findings = stores._check_settings(lambda text: [(right[text.removeprefix("SHOW ")],)])
    assert not wrong_checks(findings)
    assert stores._check_server_clock(lambda _: [(time.time() - 3600,)]).state == "wrong"
    assert stores._check_server_clock(lambda _: [(time.time(),)]).state == "well"
    assert stores._check_encryption("db.example.org", False).state == "wrong"
    assert stores._check_encryption("192.0.2.1", False).state == "wrong"
    for host, is_encrypted in (("db.example.org", True), ("127.0.0.1", False), ("/run", False)):
        assert stores._check_encryption(host, is_encrypted).state == "well"


def test_what_is_wrong_with_a_machine(tmp_path, monkeypatch):
    import resource

    gigabyte = 1 << 30
    for free, state in ((gigabyte, "well"), (gigabyte // 9, "wrong")):
        usage = shutil._ntuple_diskusage(1000 * gigabyte, 0, free)
        monkeypatch.setattr(machine.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert machine.check_disk(tmp_path).state == state
    for most, state in ((1024, "wrong"), (16384, "well"), (resource.RLIM_INFINITY, "well")):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=most: (512, most))
        assert machine.check_limits().state == state
    for code, state in ((5, "wrong"), (0, "well"), (None, "unseen")):
        monkeypatch.setattr(machine, "_clock_state", lambda code=code: code)
        assert machine.check_time().state == state


def test_the_kernel_is_asked_about_its_clock():
    assert machine._clock_state() in {None, *range(6)}


def test_backups(store, tmp_path):
    folder = tmp_path / "backups"
    with pytest.raises(StoreError, match="no folder"):
        list(machine.check_backups(folder, 26))
    folder.mkdir()

    def problems() -> dict[str, str]:
        return wrong_checks(machine.check_backups(folder, 26))

    assert "no backup" in problems()["backups"]
    old = Path(shutil.copy(store, folder / "old.db"))
    old.chmod(0o600)
    assert not problems()
    hours_ago = time.time() - 30 * 3600
    os.utime(old, (hours_ago, hours_ago))
    assert "30 hours old" in problems()["backups"]
    new = folder / "new.db"
    for content in (b"", b"no database", store.read_bytes()[:5000]):
        new.write_bytes(content)
        new.chmod(0o600)
        assert "empty, damaged or no copy" in problems()["backups"]
    new.write_bytes(store.read_bytes())
    assert not problems()
    dump = folder / "new.sql"
    dump.write_text(
        "--\n-- PostgreSQL database dump\n--\nSELECT 1;\n--\n-- PostgreSQL database dump complete\n--\n"
    )
    dump.chmod(0o600)
    assert not problems()
    dump.write_bytes(dump.read_bytes()[:-20])
    assert "damaged" in problems()["backups"]
    dump.unlink()
    new.chmod(0o644)
    assert problems().keys() == {"backup-files"}


@pytest.mark.slow
def test_a_real_collector(tmp_path):
    """What a collector answers by itself passes; a proxy that tells addresses is seen."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as opened:
        prepare(opened, [survey()], Rules())
    with started(url) as process:
        address = f"http://127.0.0.1:{process.port}"
        assert not wrong_checks(web.check_address(address))
        request = web.Address.of(address).connect()
        request.request("GET", "/healthz", headers={"X-Forwarded-For": "192.0.2.1"})
        assert json.loads(request.getresponse().read()) == {"status": "ok", "forwarded": True}
        request.close()
