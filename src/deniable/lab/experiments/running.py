"""Measure the points of experiments on all cores; what is finished is kept.

Each finished point is a line of a file, so that an interrupted run loses only the points in flight.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError
from deniable.formats.reading import parse
from deniable.formats.writing import NO_LINK
from deniable.lab.experiments.experiment import Experiment, Point
from deniable.lab.experiments.sources import Data

Rows = list[dict[str, Any]]

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_SET = (*_THREADS, "PYTHONSAFEPATH")


@cache
def _software() -> str:
    """Return a fingerprint of the code that results come from: of everything but the pages."""
    package = Path(__file__).parents[2]
    fingerprint = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in ("cli", "server", "show"):
            fingerprint.update(path.read_bytes())
    return fingerprint.hexdigest()


class PointStore:
    """The finished points of one experiment, in a file of lines."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, dict[str, Rows]()
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            with suppress(ValueError, TypeError):  # a line was cut off when a run was killed
                key, rows = parse(line)
                if all(isinstance(row, dict) for row in rows):
                    self.rows[key] = rows

    def key(self, name: str, point: Point, data: Data) -> str:
        """Return what a result depends on: experiment, software, data and point."""
        text = json.dumps([name, _software(), data.digest, point], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def count(self, name: str, points: Sequence[Point], data: dict[str, Data]) -> int:
        """Return how many of these points are finished."""
        return sum(self.key(name, point, data[point["data"]]) in self.rows for point in points)

    def add(self, key: str, rows: Rows) -> None:
        """Keep the rows of a finished point."""
        self.rows[key] = rows
        try:
            with open(self.path, "a", encoding="utf-8", opener=_without_links) as file:
                file.write("\n" + json.dumps([key, rows]))  # after whatever stands there
        except OSError as error:
            why = "it is a link" if self.path.is_symlink() else error.strerror
            raise DataError(f"{str(self.path)!r} cannot be added to: {why}.") from None


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | NO_LINK, 0o666)


def measure_all(
    experiment: Experiment,
    points: Sequence[Point],
    data: dict[str, Data],
    store: PointStore,
    workers: int,
    advance: Callable[[], None],
) -> list[Rows]:
    """Return the rows of every point, measuring those that are not kept yet."""
    keys = [store.key(experiment.name, point, data[point["data"]]) for point in points]
    missing = [place for place, key in enumerate(keys) if key not in store.rows]
    if missing:
        with _team(min(workers, len(missing)), experiment.name, data) as team:
            for place, rows in _shared_out(team, points, missing):
                store.add(keys[place], rows)
                advance()
    return [store.rows[key] for key in keys]


def _shared_out(
    team: list[tuple[Any, Connection]], points: Sequence[Point], missing: list[int]
) -> Iterator[tuple[int, Rows]]:
    """Give each worker a point whenever it has none, and yield results as they come."""
    waiting, at_work = iter(missing), dict[Connection, int]()

    def give(line: Connection) -> None:
        place = next(waiting, None)
        if place is not None:
            at_work[line] = place
            with suppress(OSError):  # whoever is gone is missed below
                line.send(points[place])

    for _, line in team:
        give(line)
    while at_work:
        ready = wait(list(at_work))
        for line in [each for each in at_work if each in ready]:
            place = at_work.pop(line)
            try:
                problem, rows = line.recv()
            except (EOFError, OSError):
                raise DataError(
                    f"A worker was killed at {_words(points[place])}, perhaps for want of memory; "
                    "run the same command again to go on."
                ) from None
            if problem:
                raise DataError(f"At {_words(points[place])}: {problem}")
            give(line)
            yield place, rows


def _words(point: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.items())


@contextmanager
def _team(workers: int, name: str, data: dict[str, Data]) -> Iterator[list[tuple[Any, Connection]]]:
    """Start workers, and stop them at once when the work ends, however it ends."""
    context = multiprocessing.get_context("spawn")
    team = []
    try:
        with _inherited():
            for _ in range(workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs, name, data), daemon=True)
                process.start()
                theirs.close()  # so that a worker's end is seen
                team.append((process, ours))
        yield team
    finally:
        for process, _ in team:
            process.terminate()
        for process, line in team:
            process.join()
            line.close()


@contextmanager
def _inherited() -> Iterator[None]:
    """Let processes that start now use one core each, and leave Ctrl-C to whoever starts them.

    They start as `python -c`, which without PYTHONSAFEPATH imports from the folder one works in first.
    """
    before = {each: os.environ.get(each) for each in _SET}
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    os.environ.update(dict.fromkeys(_SET, "1"))
    try:
        yield
    finally:
        for each, value in before.items():
            os.environ.pop(each) if value is None else os.environ.update({each: value})
        if is_main:
            signal.signal(signal.SIGINT, handler)


def _work(line: Connection, name: str, data: dict[str, Data]) -> None:
    """Measure points until there are no more, or nobody is there to give them."""
    from deniable.lab.experiments import EXPERIMENTS

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the work ends it
    experiment = EXPERIMENTS[name]
    try:
        while True:
            point = line.recv()
            try:
                answer: tuple[str, Rows] = ("", experiment.measure(point, data[point["data"]]))
            except DeniableError as error:
                answer = (str(error), [])
            except Exception as error:  # a fault of ours, which is told like any other
                answer = (f"{type(error).__name__}: {error}", [])
            line.send(answer)
    except (EOFError, OSError):
        return
