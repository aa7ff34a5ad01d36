"""What tests of clients share: the record, how a client is driven, what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deniable import Ledger, Survey
from deniable.client.http import HTTPClient
from deniable.errors import DeniableError, RecordError, RefusedError
from deniable.questionnaire import Texts

ROOT = Path(__file__).parents[2]
NAMES = ("Comedy", "Crime", "Drama", "Horror", "Western")
RECORD = dict(zip(NAMES, (True, False, True, True, False), strict=True))


def lacking(reason: str) -> None:
    """Skip for want of a part, or fail where all parts must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def node_version(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return int(said.stdout.lstrip("v").partition(".")[0] or 0)


@dataclass
class Came:
    """What came of some steps."""

    results: list[Any] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    reason: str = ""
    message: str = ""
    step: str = ""


Drive = Callable[..., Came]


class Driven:
    """A script in Node that is told one thing a line, and tells what came of it."""

    def __init__(self, node: str, script: str) -> None:
        self.process = subprocess.Popen(
            [node, str(Path(__file__).with_name(script))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def tell(self, told: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            pytest.fail(self.process.communicate()[1])
        return json.loads(line)

    def close(self) -> None:
        """Let it end; a client writes no log."""
        _, said = self.process.communicate()
        assert (self.process.returncode, said) == (0, "")


def drive_node(
    driven: Driven,
    steps: tuple[str, ...],
    *,
    record: object = None,
    labels: dict[str, str] | None = None,
    ledger: Path | None = None,
    **options: Any,
) -> Came:
    if "lifetime_limit" in options:
        options["lifetimeLimit"] = options.pop("lifetime_limit")
    told = {
        "options": options,
        "record": RECORD if record is None else record,
        "labels": labels,
        "steps": steps,
        "ledger": str(ledger) if ledger else None,
    }
    came = driven.tell(told)
    return Came(came["results"], came["waits"], **came.get("refused", {}))


def drive_python(
    steps: tuple[str, ...],
    waits: list[float],
    *,
    record: object = None,
    labels: dict[str, str] | None = None,
    ledger: Path | None = None,
    **options: Any,
) -> Came:
    came, held = Came(waits=waits), RECORD if record is None else record
    waits.clear()
    if "form" in options:
        options["survey"] = Survey.from_json(json.dumps(options.pop("form")))
    try:
        if "texts" in options:
            options["texts"] = Texts.of(options["texts"])
        client = HTTPClient(ledger=Ledger(ledger) if ledger else Ledger.in_memory(), **options)
        for came.step in steps:
            if came.step == "survey":
                came.results.append(client.survey.id)
            elif came.step in {"submit", "entry", "receipt", "forget"}:
                made = getattr(client, came.step)()
                came.results.append(made.to_json() if made else None)
            elif came.step == "period":
                days = client.period()
                came.results.append(days and [str(day) for day in days])
            else:
                given = (held,) if came.step == "question" or labels is None else (held, labels)
                made = getattr(client, came.step)(*given)
                came.results.append(made.to_json() if made else None)
    except DeniableError as error:
        came.message = str(error)
        came.reason = (
            error.reason
            if isinstance(error, RefusedError)
            else "record"
            if isinstance(error, RecordError)
            else type(error).__name__
        )
    return came


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from deniable.cli import main; main()", *map(str, arguments)]


class Running:
    """A collector in a process of its own, for all tests that want such a one."""

    before = 0
    """How many people were counted when the test began."""

    def __init__(self, folder: Path, survey: Survey, *rules: str) -> None:
        self.survey, self.store = survey, f"sqlite:///{folder / 'store.db'}"
        path = folder / "survey.json"
        path.write_text(survey.to_json())
        told = ("serve", path, "--store", self.store, "--port", 0, *rules)
        self.process = subprocess.Popen(command(*told), stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        for line in self.process.stderr:
            if line.startswith("The first analyst's token"):
                self.token = line.split()[-1]
            if line.startswith("Open the dashboard, once"):
                self.dashboard = line.split()[-1]
            if line.startswith("Collecting at"):
                self.url = line.split()[-1]
                break
        else:
            pytest.fail("the collector did not start")
        for _ in range(300):  # it says where it is a little before it listens
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=10):
                    return
            except OSError:
                time.sleep(0.1)
        pytest.fail("the collector does not listen")

    @property
    def people(self) -> int:
        """Return how many people this test has brought."""
        return self.total - self.before

    @property
    def total(self) -> int:
        from deniable.server.stores import open_store

        with open_store(self.store, create=False) as store:
            return store.people(store.survey(self.survey.id))

    def issued(self) -> str:
        from deniable.server.stores import open_store

        with open_store(self.store, create=False) as store:
            return store.issue_ids(1)[0]

    def known(self, **more: Any) -> dict[str, Any]:
        return {"collector": self.url, "survey": self.survey.id, **more}

    def close(self) -> None:
        self.process.communicate(timeout=120)
