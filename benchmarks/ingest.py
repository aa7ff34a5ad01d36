"""The collector under load, on loopback, beside the same framework storing nothing.

``python -m benchmarks.ingest serve-nothing`` is that framework; ``python -m benchmarks.ingest soak
MINUTES`` watches the collector's memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.load import Load, request, send
from benchmarks.measure import EPSILON, Row, Section, progress, require
from deniable import Schema, Survey

SINGLE, BATCHES, BATCH, CONNECTIONS = 20_000, 300, 1_000, 64
TARGETS = {"hashed": 200_000, "drawn": 200_000, "assigned": 80_000}


def survey() -> Survey:
    return Survey(Schema.binary(*(f"a{i}" for i in range(16))), 2, EPSILON, "InpHT")


@contextmanager
def process(*command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a service of its own process; yield it and its port."""
    made = subprocess.Popen(
        [sys.executable, *command], stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert made.stderr is not None
        for line in made.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise SystemExit("The service did not start.")
        yield made, int(found[1])
    finally:
        made.terminate()
        made.wait(60)
        assert made.stderr is not None
        made.stderr.close()


@contextmanager
def collector(slots: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """Run a collector on an empty SQLite store; yield its process, its port and the store."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "survey.json")
        path.write_text(survey().to_json())
        store = f"sqlite:///{folder}/store.db"
        yield from _started(path, slots, store)


def _started(
    path: Path, slots: str, store: str
) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    issued = ["--participants", "issued"] if slots != "drawn" else []
    deniable = "from deniable.cli import main; main()"
    with process(
        "-c", deniable, "serve", str(path), "--store", store, "--port", "0",
        "--slots", slots, *issued,
    ) as (made, port):  # fmt: skip
        yield made, port, store


def reports(store: str, slots: str, count: int) -> list[dict[str, str]]:
    """Make valid reports with the store's own key, as participants would have them."""
    from deniable.server.stores import open_store
    from deniable.server.tickets import Ticket, hour

    chosen = survey()
    if slots == "drawn":
        return [{"slot": str(i % chosen.slots), "value": str(i & 1)} for i in range(count)]
    with open_store(store) as held:
        seal, serials, slot = held.seal(), held.issue(count), held.surveys()[0].slot
    if slots == "hashed":
        return [{"id": seal.issue(s), "value": str(s & 1)} for s in serials]
    prefix = bytes.fromhex(chosen.id)[:8]
    return [
        {
            "ticket": seal.ticket(Ticket(prefix, s, slot(s), seal.expiry(s, hour()))),
            "value": str(s & 1),
        }
        for s in serials
    ]


def in_batches(every: list[dict[str, str]], size: int) -> list[bytes]:
    """Return reports as requests, as clients send them: with a key where no ticket or id names them."""
    made = []
    for i in range(0, len(every), size):
        headers = {"Content-Type": "application/json"}
        if "slot" in every[i]:
            headers["Idempotency-Key"] = f"{i:032d}"
        body = json.dumps(every[i] if size == 1 else every[i : i + size]).encode()
        made.append(request(body, **headers))
    return made


def people(store: str) -> int:
    from deniable.server.stores import open_store

    with open_store(store) as held:
        return held.tally(held.survey(None)).people


def nothing() -> None:
    """Serve the same framework, storing nothing."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from deniable.server.serve import bound, run

    async def answer(asked: Request) -> Response:
        await asked.body()
        return Response(b'{"accepted":1}', media_type="application/json")

    app = Starlette(routes=[Route("/v1/reports", answer, methods=["POST"])])
    run(app, bound("127.0.0.1", 0), lambda address: print(address, file=sys.stderr, flush=True))


def single() -> Section:
    made = Section(
        "The collector: single reports",
        f"{SINGLE:,} reports of one ticket each over {CONNECTIONS} connections, acknowledged when they "
        "are on the disk (SQLite), beside the same framework (Starlette on uvicorn) that reads the "
        "request and stores nothing, in turns (the median of three), on two cores shared with the load "
        "generator.",
        ("service", "reports/s", "of storing nothing", "p99"),
    )
    ratios, loads = [], []
    with collector("assigned") as (_, port, store):
        with process("-m", "benchmarks.ingest", "serve-nothing") as (_, other):
            bodies = in_batches(reports(store, "assigned", 3 * SINGLE), 1)
            for turn in range(3):
                progress(f"single reports, turn {turn + 1}")
                part = bodies[turn * SINGLE : (turn + 1) * SINGLE]
                bare = send(other, part, CONNECTIONS)
                load = send(port, part, CONNECTIONS)
                ratios.append(load.rate / bare.rate)
                loads.append((load, bare))
        require(people(store) == 3 * SINGLE, "The collector lost reports.")
    at = sorted(range(3), key=ratios.__getitem__)[1]
    load, bare = loads[at]
    made.rows.append(Row(("nothing stored", f"{bare.rate:,.0f}", "1 ×", ms(bare))))
    made.rows.append(
        Row(
            ("durable, SQLite", f"{load.rate:,.0f}", f"{ratios[at]:.2f} ×", ms(load)),
            "≥ 0.5 ×, p99 < 100 ms",
            ratios[at] >= 0.5 and load.percentile(99) < 0.1,
        )
    )
    return made


def ms(load: Load) -> str:
    return f"{1000 * load.percentile(99):.0f} ms"


def batches() -> Section:
    made = Section(
        "The collector: batches",
        f"{BATCHES} batches of {BATCH:,} reports over 4 connections to SQLite, the best of three; two "
        "cores shared with the load generator.",
        ("slots", "reports/s", "p99 of a batch"),
    )
    for slots, target in TARGETS.items():
        loads = []
        for turn in range(3):
            progress(f"batches, {slots}, turn {turn + 1}")
            with collector(slots) as (_, port, store):
                every = reports(store, slots, BATCHES * BATCH)
                loads.append(send(port, in_batches(every, BATCH), 4))
                require(people(store) == len(every), "The collector lost reports.")
        load = max(loads, key=lambda each: each.rate)
        made.rows.append(
            Row(
                (slots, f"{load.rate * BATCH:,.0f}", ms(load)),
                f"≥ {target:,}",
                load.rate * BATCH >= target,
            )
        )
    return made


def soak(minutes: float) -> None:
    """Print the collector's resident memory while it works: single reports and batches in turn."""
    with collector("assigned") as (made, port, store):
        end, sent = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            every = reports(store, "assigned", 60_000)
            send(port, in_batches(every[:10_000], 1), CONNECTIONS)
            send(port, in_batches(every[10_000:], BATCH), 4)
            sent += len(every)
            require(people(store) == sent, "The collector lost reports.")
            print(f"{sent:>12,} people  {resident(made.pid) / 1e6:6.1f} MB", flush=True)


def resident(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    assert found
    return int(found[1]) * 1024


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve-nothing"]:
            nothing()
        case ["soak", minutes]:
            soak(float(minutes))
        case _:
            for section in (single(), batches()):
                print(section.title)
                for row in section.rows:
                    print("  ", *row.cells, row.target, row.verdict, sep=" | ")
