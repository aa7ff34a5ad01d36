"""A real collector, killed again and again while people report: `python crashing.py URL SECONDS`.

Every report that was acknowledged must be counted, exactly once; one that was not, at most once.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from server_parts import PATIENCE, until

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.server.tickets import hour

SENDERS, TOGETHER, LEAST = 8, 5, 20


@dataclass
class Process:
    """A collector's own process."""

    url: str
    port: int = 0
    options: tuple[str, ...] = ()
    first: str = ""
    """What Python does before it is a collector."""
    running: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = f"{self.first}\nfrom deniable.cli import main; main()"
        self.running = subprocess.Popen(
            [sys.executable, "-c", command, "serve", "--store", self.url, "--port", str(self.port),
             *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.running.stderr is not None
        said = []
        for line in self.running.stderr:
            said.append(line)
            if found := re.search(r"Collecting at http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError(f"the collector did not start: {said}")

    def end(self, how: int = signal.SIGTERM) -> int:
        assert self.running is not None
        self.running.send_signal(how)
        try:
            code = self.running.wait(PATIENCE)
        finally:
            self.running.kill()  # or one that does not end would run for ever
        assert self.running.stderr is not None
        assert self.running.stdout is not None
        self.said, self.printed = self.running.stderr.read(), self.running.stdout.read()
        self.running.stderr.close()
        self.running.stdout.close()
        return code

    def post(self, body: bytes, key: str = "", path: str = "/v1/reports") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json"}
            headers |= {"Idempotency-Key": key} if key else {}
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def started(url: str, *options: str, first: str = ""):
    """Run a collector; end it cleanly, and see that it ends so."""
    process = Process(url, options=options, first=first)
    process.start()
    try:
        yield process
    finally:
        assert process.running is not None
        if process.running.poll() is None:
            assert process.end() == 0


@dataclass
class Crash:
    """What was sent, what was acknowledged, and how often the collector was killed."""

    url: str
    slots: str
    kills: int = 0
    sent: dict[int, bytes] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    wrong: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = [f"a{i}" for i in range(500)]
        self.survey = Survey(Schema.binary(*names), 2, 1.1, "InpHT")  # 125,250 slots
        issued = None if self.slots == "drawn" else "issued"
        with open_store(self.url) as store:
            prepare(store, [self.survey], Rules(self.slots, issued))
            self.seal, self.slot = store.seal(), store.surveys()[0].slot
            store.issue(self.survey.slots * TOGETHER)

    def body(self, number: int) -> bytes:
        """Return a request: five tickets, or five reports to a slot that nobody else names."""
        if self.slots == "drawn":
            return json.dumps([{"slot": str(number), "value": "1"}] * TOGETHER).encode()
        prefix, now = bytes.fromhex(self.survey.id)[:8], hour()
        serials = range(number * TOGETHER, (number + 1) * TOGETHER)
        tickets = [Ticket(prefix, s, self.slot(s), self.seal.expiry(s, now)) for s in serials]
        return json.dumps(
            [{"ticket": self.seal.ticket(t), "value": str(t.participant % 2)} for t in tickets]
        ).encode()

    def run(self, kills: int, seconds: float = 0.0) -> None:
        """Kill the collector so often, and for so long, while people report.

        Each time it lives to acknowledge some, however slow the machine.
        """
        numbers, lock, over = itertools.count(), threading.Lock(), threading.Event()
        process = Process(self.url)
        process.start()
        end = time.monotonic() + seconds

        def send() -> None:
            while not over.is_set():
                with lock:
                    number = next(numbers)
                body = self.sent[number] = self.body(number)
                for _ in range(random.choice((1, 1000))):  # some give up, others try again
                    try:
                        status, answer = process.post(body, f"{number:032d}")
                    except (OSError, http.client.HTTPException):
                        if over.is_set():
                            break
                        time.sleep(0.05)
                        continue
                    if status == 200:
                        self.acknowledged.add(number)
                        if json.loads(answer) != {"accepted": TOGETHER, "refused": []}:
                            self.wrong.append(answer)
                        if random.random() < 0.2:  # the same again, though it was acknowledged
                            continue
                    elif status != 503:
                        self.wrong.append((status, answer))
                    break

        senders = [threading.Thread(target=send) for _ in range(SENDERS)]
        for each in senders:
            each.start()
        try:
            while time.monotonic() < end or self.kills < kills:
                known = len(self.acknowledged)
                until(lambda known=known: len(self.acknowledged) >= known + LEAST)
                time.sleep(random.uniform(0.0, 0.4))
                process.end(signal.SIGKILL)
                self.kills += 1
                process.start()
            time.sleep(0.5)
        finally:  # or senders would go on for ever, and the collector too
            over.set()
            for each in senders:
                each.join()
            assert process.running is not None
            code = process.end() if process.running.poll() is None else None
        assert code == 0

    def check(self) -> None:
        """See that each acknowledged report is counted once, and no other one twice."""
        assert not self.wrong, self.wrong[:3]
        with open_store(self.url, create=False) as store:
            held = store.surveys()[0]
            tally = store.tally(held)
            assert store.people(held) == tally.people
            spent = store.run("SELECT key, value FROM spent")
        counted = Counter(
            dict(zip(zip(tally.slot.tolist(), tally.value.tolist(), strict=True),
                     tally.count.tolist(), strict=True))
        )  # fmt: skip
        if self.slots == "drawn":
            for number in self.sent:
                times = counted.pop((number, 1), 0)
                assert times in ((TOGETHER,) if number in self.acknowledged else (0, TOGETHER))
            assert not counted
            return
        people = {key - held.key(0): value for key, value in spent}
        assert len(people) == len(spent)
        for number in self.acknowledged:
            for serial in range(number * TOGETHER, (number + 1) * TOGETHER):
                assert people[serial] == serial % 2
        told = Counter((self.slot(serial), value) for serial, value in people.items())
        assert told == counted


def main(url: str | None, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for slots in ("assigned", "drawn"):
            store = url or f"sqlite:///{Path(folder, slots)}.db"
            crash = Crash(store, slots)
            crash.run(2, seconds)
            crash.check()
            print(
                f"{slots}: killed {crash.kills} times; of {len(crash.sent):,} requests, "
                f"{len(crash.acknowledged):,} acknowledged, each counted once."
            )
            if url:
                break


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1] if sys.argv[1] != "sqlite" else None, float(sys.argv[2]))
