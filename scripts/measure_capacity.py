"""Measure what a collector takes of disk and memory, and print tables for docs/operating/capacity.md.

    python scripts/measure_capacity.py [REPORTS]

Disk: REPORTS (100,000) issued ids report in batches, and then a tenth as many open tokens ask and
report one by one; how much larger the SQLite store is afterwards, and how much of that is left when
their tickets have expired. Memory: of a collector's process, just started, with one and with many
surveys, and after 20,000 people asked for a question. Rates: questions, and then reports one by one,
over 64 connections from this machine. About two minutes on two cores.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from deniable import Schema, Survey

BATCH = 10_000
QUESTIONS, CONNECTIONS = 20_000, 64
LATER = 17 * 86_400
"""Seconds after which every ticket that was given today has expired."""

START = """
import time
real = time.time
time.time = lambda: real() + {ahead}
from deniable.cli import main
main()
"""


class Collector(NamedTuple):
    """A collector's process, and a connection to it."""

    process: subprocess.Popen[str]
    connection: http.client.HTTPConnection

    def ask(self, path: str, form: Any) -> Any:
        self.connection.request(
            "POST", path, json.dumps(form).encode(), {"Content-Type": "application/json"}
        )
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)

    def megabytes(self) -> float:
        """Return its memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


@contextmanager
def collecting(store: Path, *options: str, ahead: int = 0) -> Iterator[Collector]:
    """Run a collector; end it cleanly, so that its log is in its file."""
    arguments = ["serve", *options, "--store", str(store), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", START.format(ahead=ahead), *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if port := re.search(r"Collecting at http://127\.0\.0\.1:(\d+)", line):
            break
    else:
        raise SystemExit("The collector did not start.")
    with closing(http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=60)) as connection:
        yield Collector(process, connection)
    process.terminate()
    process.wait()


def bytes_in_use(store: Path) -> int:
    """Return the bytes of a store's pages that hold something."""
    with closing(sqlite3.connect(store)) as connection:
        size, count, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
    return size * (count - free)


def rows(store: Path, table: str) -> int:
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def write_survey(folder: Path, attributes: int, order: int = 2, epsilon: float = 1.1) -> Path:
    names = [f"a{i}" for i in range(attributes)]
    path = folder / f"{attributes}-{order}-{epsilon}.json"
    path.write_text(Survey(Schema.binary(*names), order, epsilon, "InpHT").to_json(), "utf-8")
    return path


def ids(store: Path, count: int) -> list[str]:
    command = "from deniable.cli import main; main()"
    issue = ["issue", "--count", str(count), "--store", str(store)]
    done = subprocess.run(
        [sys.executable, "-c", command, *issue], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def forget(store: Path, options: Sequence[str] = ()) -> None:
    """Let a collector run on a day when tickets have expired, until it has forgotten the answers."""
    with collecting(store, *options, ahead=LATER):
        before = rows(store, "spent")
        while before:
            time.sleep(2)
            before = rows(store, "spent")


def disk(folder: Path, count: int) -> Iterator[tuple[str, float, float]]:
    """Yield a way to report, and bytes for each report: at first, and when its ticket has expired."""
    survey = write_survey(folder, 16)
    store = folder / "issued.db"
    tokens = ids(store, count)
    options = (str(survey), "--slots", "hashed", "--participants", "issued")
    with collecting(store, *options):
        pass
    empty = bytes_in_use(store)
    with collecting(store, *options) as collector:
        for start in range(0, count, BATCH):
            part = tokens[start : start + BATCH]
            collector.ask("/v1/reports", [{"id": each, "value": "1"} for each in part])
    full = bytes_in_use(store)
    forget(store)
    yield "issued ids", (full - empty) / count, (bytes_in_use(store) - empty) / count
    store, count = folder / "open.db", count // 10
    with collecting(store, str(survey)):
        pass
    empty = bytes_in_use(store)
    with collecting(store) as collector:
        for _ in range(count):
            question = collector.ask("/v1/questions", {"token": secrets.token_urlsafe(16)})
            collector.ask("/v1/reports", {"ticket": question["ticket"], "value": "1"})
    full = bytes_in_use(store)
    forget(store)
    yield "open tokens", (full - empty) / count, (bytes_in_use(store) - empty) / count


def memory(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what a collector holds, and its memory in MB."""
    for title, sizes in (
        ("1 survey of 16 attributes (136 slots)", [(16, 1.1)]),
        ("100 surveys of 16 attributes", [(16, round(1 + n / 100, 2)) for n in range(100)]),
        ("1 survey of 300 attributes (45,150 slots)", [(300, 1.1)]),
        ("1 survey of 1,000 attributes (500,500 slots)", [(1000, 1.1)]),
    ):
        paths = [str(write_survey(folder, d, 2, epsilon)) for d, epsilon in sizes]
        with collecting(folder / f"{len(title)}-{len(paths)}.db", *paths) as collector:
            yield title, collector.megabytes()
    with collecting(folder / "asked.db", str(write_survey(folder, 300))) as collector:
        for _ in range(20_000):
            collector.ask("/v1/questions", {"token": secrets.token_urlsafe(16)})
        yield "the same of 300 attributes, after 20,000 questions", collector.megabytes()


def rates(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what is asked for, and how often in a second it was answered."""
    from benchmarks.load import request, send

    asked = [{"token": secrets.token_urlsafe(16)} for _ in range(QUESTIONS)]
    head = {"Content-Type": "application/json"}
    with collecting(folder / "rates.db", str(write_survey(folder, 16))) as collector:
        questions = [request(json.dumps(form).encode(), "/v1/questions", **head) for form in asked]
        yield "questions", send(collector.connection.port, questions, CONNECTIONS).rate
        tickets = [collector.ask("/v1/questions", form)["ticket"] for form in asked]
        forms = [{"ticket": ticket, "value": "1"} for ticket in tickets]
        reports = [request(json.dumps(form).encode(), **head) for form in forms]
        yield "reports, one by one", send(collector.connection.port, reports, CONNECTIONS).rate


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        print("| who reports | bytes for a report | when the ticket has expired |\n|-|-|-|")
        for way, full, later in disk(Path(folder), count):
            print(f"| {way} | {full:.0f} | {later:.1f} |", flush=True)
        print("\n| a collector that holds | memory |\n|-|-|")
        for title, megabytes in memory(Path(folder)):
            print(f"| {title} | {megabytes:.0f} MB |", flush=True)
        print("\n| a collector answers | in a second |\n|-|-|")
        for title, rate in rates(Path(folder)):
            print(f"| {title} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
