"""Measure what strangers can do to a collector, and print a Markdown table for docs/deployment.md.

    python scripts/measure_hostile.py [WORD OF A ROW …]

A real collector with 1,024 descriptors listens on 127.0.0.1. Strangers open 1,100 connections, send half
a head on each, and keep them for two seconds; send a header, or an address, without end for ten seconds;
and ask 4,300 times for a question about 12 attributes of 4,096 values. Meanwhile somebody asks
`/healthz` ten times a second: the longest that took, and the most memory that the collector had. About a
minute on two cores.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from deniable import Schema, Survey

HOST = "127.0.0.1"
FILES = 1_024
CONNECTIONS = 1_100
SECONDS = 10.0
REQUESTS = 4_300
PATIENCE = 30.0
PIECE = b"a" * (1 << 16)

COLLECTOR = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
from deniable.cli import main
main()
"""


class Collector(NamedTuple):
    """A collector's process, and where it listens."""

    process: subprocess.Popen[str]
    port: int

    def memory(self, which: str = "VmRSS") -> float:
        """Return its memory now (VmRSS), or the most that it had (VmHWM), in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{which}:\s+(\d+)", status)
        assert found
        return int(found[1]) / 1024

    def ask(self, method: str, path: str, body: bytes | None = None) -> int:
        """Return the status of an answer."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()


@contextmanager
def collecting(survey: Survey) -> Iterator[Collector]:
    """Run a collector on a fresh store."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "survey.json")
        path.write_text(survey.to_json())
        process = subprocess.Popen(
            [sys.executable, "-c", COLLECTOR, "serve", str(path), "--port", "0"],
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr
        for line in process.stderr:
            if found := re.search(r"Collecting at http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise SystemExit("The collector did not start.")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield Collector(process, int(found[1]))
        finally:
            process.kill()
            process.wait()


def slowest(collector: Collector, attack: Callable[[], None]) -> float:
    """Return the longest that `/healthz` took while something went on, and just afterwards."""
    over, took = threading.Event(), [0.0]

    def look() -> None:
        while True:
            is_last, began = over.is_set(), time.monotonic()
            try:
                collector.ask("GET", "/healthz")
                took.append(time.monotonic() - began)
            except (OSError, http.client.HTTPException):
                took.append(PATIENCE)
            if is_last:
                return
            time.sleep(0.1)

    looking = threading.Thread(target=look)
    looking.start()
    attack()
    over.set()
    looking.join()
    return max(took)


def half_heads(collector: Collector) -> None:
    """Open many connections, send half a head on each, and keep them open for a while."""
    peers = []
    for _ in range(CONNECTIONS):
        with suppress(OSError):
            peer = socket.create_connection((HOST, collector.port), 1.0)
            peers.append(peer)
            peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
    time.sleep(2.0)
    for peer in peers:
        peer.close()


def endless(start: bytes) -> Callable[[Collector], None]:
    """Return what sends a head without end, and begins anew where it is refused."""

    def attack(collector: Collector) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection((HOST, collector.port), 1.0) as peer:
                peer.sendall(start)
                while time.monotonic() < end:
                    peer.sendall(PIECE)

    return attack


def questions(collector: Collector) -> None:
    """Ask for many questions, each under another token."""
    connection = http.client.HTTPConnection(HOST, collector.port, timeout=PATIENCE)
    for number in range(REQUESTS):
        body = json.dumps({"token": f"stranger {number:06d}"})
        connection.request("POST", "/v1/questions", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
    connection.close()


def main() -> None:
    """Measure, and print a row for each attack."""
    small = Survey(Schema.binary("a", "b", "c"), 2, 1.1, "InpHT")
    values = [
        f"value {number:04d} of {'a rather long list of values':.<48}" for number in range(4096)
    ]
    wide = Survey(Schema.of(**{f"a{i}": values for i in range(12)}).completed(), 1, 1.1, "InpHT")
    attacks: list[tuple[str, Survey, Callable[[Collector], None]]] = [
        (f"{CONNECTIONS:,} half-sent heads, {FILES:,} descriptors", small, half_heads),
        ("an endless header", small, endless(b"GET / HTTP/1.1\r\nX-Long: ")),
        ("an endless address", small, endless(b"GET /")),
        (f"{REQUESTS:,} questions of 4,096 values", wide, questions),
    ]
    wanted = sys.argv[1:]  # words of the rows to measure; by default all
    print("| strangers send | slowest `/healthz` | memory before | at most |\n|-|-|-|-|")
    for name, survey, attack in attacks:
        if wanted and not any(word in name for word in wanted):
            continue
        with collecting(survey) as collector:
            collector.ask("GET", "/healthz")
            before = collector.memory()
            took = slowest(collector, lambda a=attack, c=collector: a(c))  # type: ignore[misc]
            said = f"{took:.2f} s" if took < PATIENCE else "no answer"
            print(f"| {name} | {said} | {before:.0f} MB | {collector.memory('VmHWM'):.0f} MB |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
