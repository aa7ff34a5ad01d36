"""Keys that are rotated under load: `python rotating.py URL|sqlite SECONDS`, at half the maximal rate.

Nothing may be refused, nothing counted twice, whichever process is asked; the command that rotates is
killed again and again meanwhile.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from crashing import Process, started
from server_parts import until

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.server.tickets import Seal, hour

SENDERS, TOGETHER, LIFE = 4, 50, 1.2
ROTATING = """
import sys, time
from deniable.server.stores import open_store
from deniable.server.tickets import hour
with open_store(sys.argv[1], create=False) as store:
    while True:
        print(store.rotate("ticket", hour()), store.rotate("id", hour()), flush=True)
        time.sleep(.02)
"""


@dataclass
class Rotation:
    """What was sent, and what became of it."""

    url: str
    sent: dict[int, bytes] = field(default_factory=dict)
    wrong: list[object] = field(default_factory=list)
    kills: int = 0
    pause: float = 0.0
    """Seconds between two requests of a sender."""

    def __post_init__(self) -> None:
        self.survey = Survey(Schema.binary(*(f"a{i}" for i in range(500))), 2, 1.1, "InpHT")
        with open_store(self.url) as store:
            prepare(store, [self.survey], Rules(None, "issued"))
            self.seal, self.slot = store.seal(), store.surveys()[0].slot
            store.issue(1 << 22)
        self.numbers = itertools.count()

    @property
    def rotations(self) -> int:
        """Return how many keys of tickets there have been, but for the first."""
        return self.seal.ticket_key

    def ticket(self, serial: int, seal: Seal) -> str:
        prefix = bytes.fromhex(self.survey.id)[:8]
        return seal.ticket(Ticket(prefix, serial, self.slot(serial), seal.expiry(serial, hour())))

    def body(self, number: int) -> bytes:
        """Return reports with tickets of the newest key; collectors may not know it."""
        serials, seal = range(number * TOGETHER, (number + 1) * TOGETHER), self.seal
        return json.dumps(
            [{"ticket": self.ticket(s, seal), "value": str(s % 2)} for s in serials]
        ).encode()

    def send(self, ports: list[int], over: threading.Event) -> None:
        """Send new reports, some of them again, and ask by ids of the newest key."""
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]
        headers = {"Content-Type": "application/json"}

        def post(turn: int, path: str, body: bytes) -> tuple[int, bytes]:
            connection = connections[turn % len(connections)]
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()

        good = 200, json.dumps({"accepted": TOGETHER, "refused": []}).encode()
        for turn in itertools.count():
            if over.is_set():
                break
            number = next(self.numbers)
            body = self.sent[number] = self.body(number)
            answers = [post(turn, "/v1/reports", body)]
            if turn % 8 == 0:  # the same once more, elsewhere: sealed by a key that is old by now
                answers.append(post(turn + 1, "/v1/reports", self.sent[number]))
            if turn % 8 == 1:  # who has not answered is asked what the survey's own key says
                serial = (1 << 21) + number
                form = {"token": self.seal.issue(serial)}
                status, text = post(turn, "/v1/questions", json.dumps(form).encode())
                slot = int(json.loads(text)["question"]["slot"]) if status == 200 else text
                if slot != self.slot(serial):
                    self.wrong.append(slot)
            self.wrong += [answer for answer in answers if answer != good]
            time.sleep(self.pause)
        for connection in connections:
            connection.close()

    def rotate(self, end: float) -> None:
        """Rotate keys, in a process that is killed and begun anew."""
        with open_store(self.url, create=False) as store:
            while time.monotonic() < end or not self.kills:
                command = [sys.executable, "-c", ROTATING, self.url]
                with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                    assert process.stdout is not None
                    process.stdout.readline()  # however long it takes to begin
                    stop = time.monotonic() + LIFE
                    while time.monotonic() < stop:
                        self.seal = store.seal()
                        time.sleep(0.05)
                    process.send_signal(signal.SIGKILL)
                self.kills += 1
                states = Counter(row.state for row in store.key_rows(hour()))
                assert states["seals"] == 2, states
            self.seal = store.seal()

    def run(self, seconds: float, *, rotates: bool = True) -> int:
        """Let people report for a while; return how many requests were answered."""
        processes = 1 if self.url.startswith("sqlite") else 2
        with ExitStack() as stack:
            running: list[Process] = [
                stack.enter_context(started(self.url)) for _ in range(processes)
            ]
            over, ports, before = threading.Event(), [each.port for each in running], len(self.sent)
            senders = [
                threading.Thread(target=self.send, args=(ports, over)) for _ in range(SENDERS)
            ]
            for each in senders:
                each.start()
            end = time.monotonic() + seconds
            try:
                until(lambda: len(self.sent) > before + SENDERS)
                if rotates:
                    self.rotate(end)
                time.sleep(max(0.0, end - time.monotonic()))
            finally:
                over.set()
                for each in senders:
                    each.join()
        return len(self.sent) - before

    def check(self) -> None:
        """See that each report is counted once, to the slot that its serial always had."""
        assert not self.wrong, self.wrong[:3]
        with open_store(self.url, create=False) as store:
            stored_survey = store.surveys()[0]
            tally = store.tally(stored_survey)
            store.audit_lines()
            spent = store.run("SELECT key FROM spent")
        serials = {key - stored_survey.key(0) for (key,) in spent}
        assert len(spent) == len(serials) == tally.people == len(self.sent) * TOGETHER
        told = Counter((self.slot(serial), serial % 2) for serial in serials)
        columns = (tally.slot.tolist(), tally.value.tolist(), tally.count.tolist())
        assert told == {(slot, value): count for slot, value, count in zip(*columns, strict=True)}


def main(url: str | None, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rotation = Rotation(url or f"sqlite:///{Path(folder, 'store.db')}")
        most = rotation.run(10.0, rotates=False) / 10.0
        rotation.pause = SENDERS / (most / 2) - SENDERS / most
        answered = rotation.run(seconds)
        rotation.check()
        print(
            f"{TOGETHER * most:,.0f} reports/s at most; then {TOGETHER * answered / seconds:,.0f} for "
            f"{seconds:g} s and {rotation.rotations:,} rotations, whose command was killed "
            f"{rotation.kills} times: none refused, each counted once."
        )


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1] if sys.argv[1] != "sqlite" else None, float(sys.argv[2]))
