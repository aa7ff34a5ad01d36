"""Keys that are rotated under load: `python rotating.py sqlite|postgresql SECONDS`, at half the most.

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
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from crashing import Process, started
from server_parts import running_postgres, until

from deniable import Schema, Survey
from deniable.messages.ticket import Ticket
from deniable.server import audit_log
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
        time.sleep(.05)
"""


@dataclass
class Rotation:
    """What was sent, and what became of it."""

    url: str
    sent: dict[int, bytes] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    """Serials that asked a collector for their question and answered it, one by one."""
    wrong: list[object] = field(default_factory=list)
    kills: int = 0
    interval: float = 0.0
    """Seconds after which a sender sends the next batch, whatever became of the time until then."""

    def __post_init__(self) -> None:
        self.survey = Survey(Schema.binary(*(f"a{i}" for i in range(500))), 2, 1.1, "InpHT")
        with open_store(self.url) as store:
            prepare(store, [self.survey], Rules(None, "issued"))
            self.seal, self.slot = store.seal(), store.surveys()[0].slot
            store.issue(1 << 22)
        self.numbers = itertools.count()

    @property
    def people(self) -> int:
        """Return how many have reported."""
        return len(self.sent) * TOGETHER + len(self.asked)

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

        began = time.monotonic()
        good = 200, json.dumps({"accepted": TOGETHER, "refused": []}).encode()
        for turn in itertools.count():
            if over.is_set():
                break
            number = next(self.numbers)
            body = self.sent[number] = self.body(number)
            answers = [post(turn, "/v1/reports", body)]
            if turn % 8 == 0:  # the same once more, elsewhere: sealed by a key that is old by now
                answers.append(post(turn + 1, "/v1/reports", self.sent[number]))
            if turn % 8 == 1:
                self.take_part((1 << 21) + number, partial(post, turn))
            self.wrong += [answer for answer in answers if answer != good]
            time.sleep(max(0.0, began + (turn + 1) * self.interval - time.monotonic()))
        for connection in connections:
            connection.close()

    def take_part(self, serial: int, post: Callable[[str, bytes], tuple[int, bytes]]) -> None:
        """Ask by an id of the newest key, answer with the collector's ticket, and ask once more."""
        token = json.dumps({"token": self.seal.issue(serial)}).encode()
        status, text = post("/v1/questions", token)
        form = json.loads(text)
        slot = int(form["question"]["slot"]) if status == 200 else text
        if slot != self.slot(serial):
            self.wrong.append(slot)
            return
        self.asked.append(serial)
        report = json.dumps({"ticket": form["ticket"], "value": str(serial % 2)}).encode()
        answers = [post("/v1/reports", report), post("/v1/reports", report)]
        self.wrong += [answer for answer in answers if answer != (200, b'{"accepted":1}')]
        if post("/v1/questions", token)[0] != 409:
            self.wrong.append("who has answered was asked again")

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

    def run(self, seconds: float, *, rotates: bool = True) -> float:
        """Let people report for a while; return how many of them did so in a second."""
        processes = 1 if self.url.startswith("sqlite") else 2
        with ExitStack() as stack:
            running: list[Process] = [
                stack.enter_context(started(self.url)) for _ in range(processes)
            ]
            over, ports = threading.Event(), [each.port for each in running]
            before, people, began = len(self.sent), self.people, time.monotonic()
            senders = [
                threading.Thread(target=self.send, args=(ports, over)) for _ in range(SENDERS)
            ]
            for each in senders:
                each.start()
            end = began + seconds
            try:
                until(lambda: len(self.sent) > before + SENDERS)
                if rotates:
                    self.rotate(end)
                time.sleep(max(0.0, end - time.monotonic()))
            finally:
                over.set()
                for each in senders:
                    each.join()
            return (self.people - people) / (time.monotonic() - began)

    def check(self) -> None:
        """See that each report is counted once, to the slot that its serial always had."""
        assert not self.wrong, self.wrong[:3]
        with open_store(self.url, create=False) as store:
            stored_survey = store.surveys()[0]
            tally = store.tally(stored_survey)
            assert audit_log.check(store.audit_lines()) == store.audit_head()
            spent = store.run("SELECT key FROM spent")
        serials = {key - stored_survey.key(0) for (key,) in spent}
        assert serials == {*range(len(self.sent) * TOGETHER), *self.asked}
        assert len(spent) == len(serials) == tally.people
        told = Counter((self.slot(serial), serial % 2) for serial in serials)
        columns = (tally.slot.tolist(), tally.value.tolist(), tally.count.tolist())
        assert told == {(slot, value): count for slot, value, count in zip(*columns, strict=True)}


def main(kind: str, seconds: float) -> None:
    with ExitStack() as stack:
        if kind == "postgresql":
            url = stack.enter_context(running_postgres())
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            url = f"sqlite:///{Path(folder, 'store.db')}"
        rotation = Rotation(url)
        most = rotation.run(10.0, rotates=False)
        rotation.interval = SENDERS * TOGETHER / (most / 2)
        rate = rotation.run(seconds)
        rotation.check()
        print(
            f"{kind}: {most:,.0f} reports/s at most; then {rate:,.0f} for {seconds:g} s and "
            f"{rotation.rotations:,} rotations, whose command was killed {rotation.kills} times: "
            f"{rotation.people:,} reports, none refused, each counted once; {len(rotation.asked):,} of "
            "them asked for their question, and asked again when they had answered."
        )


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1], float(sys.argv[2]))
