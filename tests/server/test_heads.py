"""Heads of requests, through real sockets: too long, too slow, too many; with either parser."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from contextlib import suppress

import pytest
from crashing import started
from server_parts import Rules, Service, survey, until

from deniable.server import connections, heads, serve
from deniable.server.app import create_app
from deniable.server.collector import Collector
from deniable.server.serve import bound, prepare
from deniable.server.stores import open_store

PATIENCE = 60.0


class Listening:
    """A collector that listens, in a thread of this process."""

    def __init__(self, service, most):
        # The collector of the service has its own loop; this one has the same store.
        self.collector = Collector(lambda: open_store(service.url, create=False))
        self.server = serve.Server(create_app(self.collector), self.collector, most)
        self.socket = bound("127.0.0.1", 0)
        self.socket.listen(128)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()
        until(lambda: self.server.started)

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        made.settimeout(PATIENCE)
        return made

    def ask(self, path="/healthz"):
        """The status that a polite client gets."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def close(self):
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture
def listen(tmp_path):
    """Start a collector that listens: listen(most=…)."""
    running = []
    with Service(f"sqlite:///{tmp_path / 's.db'}", (survey(),), Rules("drawn")) as service:

        def begin(most=100):
            running.append(Listening(service, most))
            return running[-1]

        yield begin
        for each in running:
            each.close()


def received(peer):
    """All that comes until the other side ends."""
    data = b""
    try:
        while part := peer.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


def flooded(peer, start, more, most=4 << 20):
    """Send without end, until the other side ends it; return what was received."""
    peer.sendall(start)
    sent = 0
    try:
        while sent < most:
            sent += peer.send(more)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return received(peer), sent


def is_refused(peer):
    """Send one more byte, and tell whether it was sent in vain."""
    time.sleep(0.05)
    try:
        peer.sendall(b"a")
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def is_problem(data, name, status):
    head, _, body = data.partition(b"\r\n\r\n")
    form = json.loads(body)
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"content-type: application/problem+json" in head.lower()
    assert b"connection: close" in head.lower()
    return (form["type"], form["status"]) == (f"https://deniable.invalid/problems/{name}", status)


@pytest.mark.parametrize(
    ("start", "more", "name", "status"),
    [
        (b"GET /", b"a" * 4096, "address-too-long", 414),
        (b"GET /?a=", b"%41" * 1024, "address-too-long", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: ", b"a" * 4096, "head-too-large", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X-Many: a\r\n" * 400, "head-too-large", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX", b"a" * 4096, "head-too-large", 431),
    ],
    ids=["path", "query", "header", "headers", "name"],
)
def test_an_endless_head_is_refused(listen, start, more, name, status):
    collector = listen()
    with collector.connect() as peer:
        peer.sendall(start)
        sent = 0
        while sent < 2 * heads.MOST_HEAD:  # no more, so that the answer can be read whole
            sent += peer.send(more)
        assert is_problem(received(peer), name, status)
    assert collector.ask() == 200
    assert collector.collector.answers[status] == 1


def test_endless_trailers_are_refused(listen):
    """What follows a body in parts has headers too, and nobody waits for them to end."""
    collector = listen()
    start = (
        b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n"
    )
    with collector.connect() as peer:
        _, sent = flooded(peer, start, b"X-Many: a\r\n" * 400, 64 << 20)
        assert sent < 64 << 20
    assert collector.ask() == 200


def test_a_head_up_to_the_limit_is_read(listen):
    collector = listen()
    start = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: "
    room = heads.MOST_HEAD - len(start) - 4
    for size, expected in ((room, b"HTTP/1.1 200 "), (room + 1, b"HTTP/1.1 431 ")):
        for step in (1 << 20, 1000):  # at once, and bit by bit
            head = start + b"a" * size + b"\r\n\r\n"
            with collector.connect() as peer:
                for at in range(0, len(head), step):
                    peer.sendall(head[at : at + step])
                assert received(peer).startswith(expected)


def test_a_long_body_is_no_head(listen):
    collector = listen()
    body = b"[" + b'{"slot": 1, "value": 1},' * 9_000 + b'{"slot": 1, "value": 1}]'
    assert len(body) > 10 * heads.MOST_HEAD
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=PATIENCE)
    for _ in range(3):  # on one connection
        connection.request("POST", "/v1/reports", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert json.loads(response.read()) == {"accepted": 9_001, "refused": []}
    connection.close()


@pytest.mark.parametrize("sent", [b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"G"])
def test_half_a_head_is_not_waited_for(listen, monkeypatch, sent):
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    collector = listen()
    with collector.connect() as peer, collector.connect() as silent:
        peer.sendall(sent)
        assert is_problem(received(peer), "too-slow", 408)
        assert received(silent) == b"", "who said nothing is told nothing"
    until(lambda: len(collector.server.peers) == 0)


def test_bytes_now_and_then_do_not_help(listen, monkeypatch):
    """A time-out that began anew with each byte would never end."""
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    collector = listen()
    for start in (
        b"GET /healthz HTTP/1.1\r\nX-Slow: ",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n",  # answered at once
    ):
        with collector.connect() as peer:
            peer.sendall(start)
            until(lambda peer=peer: is_refused(peer))


def test_who_takes_nothing_is_not_waited_for(listen, monkeypatch):
    monkeypatch.setattr(connections, "TAKING", 0.3)
    collector = listen()
    ask = b"GET /static/deniable.min.js HTTP/1.1\r\nHost: a\r\n\r\n"
    with collector.connect() as peer:
        peer.settimeout(1.0)
        try:
            for _ in range(100_000):  # answers are many times as long
                peer.sendall(ask)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass
        until(lambda: len(collector.server.peers) == 0)
    assert collector.ask() == 200


def test_requests_that_wait_for_each_other_are_bounded(listen, monkeypatch):
    """Sent at once on one connection, thousands would all be kept at once."""
    collector = listen()
    hold = asyncio.Event()
    front = collector.server.config.loaded_app
    started = []

    async def slow(scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/slow":
            started.append(scope)
            await hold.wait()
        await front(scope, receive, send)

    collector.server.config.loaded_app = slow
    with collector.connect() as peer:
        data, _ = flooded(peer, b"", b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n" * 500, 4 << 20)
    assert data == b"", "no answer is given to what came before the first was answered"
    assert len(started) <= 1
    collector.server.config.loaded_app = front
    hold.set()
    assert collector.ask() == 200


def test_a_few_requests_at_once_are_answered_in_order(listen):
    collector = listen()
    ask = b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n"
    last = b"GET /v1/survey?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with collector.connect() as peer:
        peer.sendall(ask % b"/healthz" + ask % b"/nowhere" + ask % b"/healthz" + last)
        data = received(peer)
    assert re.findall(rb"HTTP/1.1 (\d+) ", data) == [b"200", b"404", b"200", b"400"]


def test_half_sent_heads_keep_nobody_out(listen):
    """Who waits longest makes room: one who sends a request at once is always answered."""
    collector = listen(most=20)
    slow = []
    try:
        for _ in range(60):
            peer = collector.connect()
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
            slow.append(peer)
            if len(slow) % 10 == 0:
                assert collector.ask() == 200
        assert len(collector.server.peers) <= 20
    finally:
        for peer in slow:
            peer.close()


def test_half_sent_bodies_keep_nobody_out(listen, monkeypatch):
    """They are no requests in work yet, and make room like heads that are not there yet."""
    monkeypatch.setattr(connections, "READING", 0.0)
    monkeypatch.setattr("deniable.server.report_endpoint.MOST_IN_WORK", 5)
    collector = listen(most=20)
    slow = []
    try:
        for _ in range(60):
            peer = collector.connect()
            peer.sendall(
                b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Content-Length: 22\r\n\r\n{"
            )
            slow.append(peer)
            if len(slow) % 10 == 0:
                assert collector.ask() == 200
        assert len(collector.server.peers) <= 20
        slow[-1].sendall(b'"slot": 1, "value": 1}'[:21])
        with collector.connect() as peer:
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert received(peer).startswith(b"HTTP/1.1 200")
    finally:
        for peer in slow:
            peer.close()
    until(lambda: collector.collector.in_work == collector.collector.being_read == 0)


def test_a_collector_with_few_descriptors_keeps_some(tmp_path):
    """More half-sent heads than files that may be open, all at once."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    with open_store(url) as store:
        prepare(store, [survey()], Rules("drawn"))
    first = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (192, 192))"
    with started(url, first=first) as process:
        slow = []
        try:
            for number in range(400):
                peer = socket.create_connection(("127.0.0.1", process.port), PATIENCE)
                slow.append(peer)
                with suppress(BrokenPipeError, ConnectionResetError):
                    peer.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
                if number % 100 == 99:
                    assert process.post(b'{"slot": 1, "value": 1}')[0] == 200
        finally:
            for peer in slow:
                peer.close()
        assert process.end() == 0
    assert process.said == ""


def test_where_all_are_at_work_a_new_one_is_told_to_come_again(listen, monkeypatch):
    monkeypatch.setattr(connections, "READING", 3600.0)
    collector = listen(most=1)
    body = b'{"slot": 1, "value": 1}'
    head = (
        b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    )
    with collector.connect() as worker:
        worker.sendall(head)
        until(lambda: collector.collector.reading == 1)
        for _ in range(3):
            with collector.connect() as other:
                assert is_problem(received(other), "unavailable", 503)
        with collector.connect(), collector.connect() as other:  # nor for those who wait to be told
            assert is_problem(received(other), "unavailable", 503)
        worker.sendall(body)
        assert received(worker).endswith(b'{"accepted":1}')


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,  # TLS
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nno number\r\n",
    ],
)
def test_what_is_no_request_is_a_problem(listen, sent, capfd):
    collector = listen()
    with collector.connect() as peer:
        peer.sendall(sent)
        assert is_problem(received(peer), "malformed", 400)
    assert collector.ask() == 200
    assert capfd.readouterr().err == "", "nobody fills a log with what is no request"


def test_nonsense_behind_a_request_is_no_answer_to_it(listen):
    """A 400 says that nothing was stored; what is at work must not be told so."""
    collector = listen()
    hold, store = threading.Event(), collector.collector.store
    commit = store.commit

    def slow(works):
        hold.wait(PATIENCE)
        return commit(works)

    store.commit = slow
    body = b'{"slot": 1, "value": 1}'
    head = (
        b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    with collector.connect() as peer:
        peer.sendall(head + body)
        until(lambda: collector.collector.in_work == 1)
        peer.sendall(b"nonsense\r\n\r\n")
        time.sleep(0.2)
        hold.set()
        data = received(peer)
        assert b" 400 " not in data.partition(b"\r\n")[0]


def test_descriptors_are_asked_for_and_shared_out(monkeypatch):
    import resource

    asked = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    for limits, most in (
        ((1024, 1024), (1024 - 64) * 3 // 4),
        ((256, 1 << 20), connections.MOST),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), connections.MOST),
        ((1 << 20, 1 << 20), connections.MOST),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=limits: limits)
        assert connections.descriptors()[0] == most
    assert asked == [(2 * connections.MOST, 1 << 20)]
