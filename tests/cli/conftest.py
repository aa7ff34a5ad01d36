"""Run commands in this process, on small data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.cli.app import main


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> object:
        """The one JSON document on stdout, with nothing around it."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["deniable", *map(str, arguments)])
        code: object = None
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        except BaseException as error:  # what would be a traceback
            print(f"{error!r}\nTraceback", file=sys.stderr)
        out, err = capfd.readouterr()
        return Ended(1 if code is None else int(code), out, err)

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    held = np.random.default_rng(1).random((800, 4)) < (0.2, 0.4, 0.6, 0.8)
    path = tmp_path / "people.csv"
    pd.DataFrame(held, columns=list("abcd")).to_csv(path, index=False)
    return path


@pytest.fixture
def survey(tmp_path: Path, data: Path, run: Run) -> Path:
    path = tmp_path / "survey.json"
    assert run("new", data, "--mechanism", "InpHT", "--epsilon", "1", "-o", path).code == 0
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return the path of data of four kinds of columns, beside a file that declares them."""
    random = np.random.default_rng(2)
    people = pd.DataFrame(
        {
            "school": random.choice(["none", "some", "much"], 500),
            "age": random.integers(18, 90, 500),
            "children": random.integers(0, 3, 500),
            "owner": random.random(500) < 0.3,
        }
    )
    people.to_csv(tmp_path / "mixed.csv", index=False)
    declared = {
        "school": ["none", "some", "much", "unknown"],
        "age": {"bins": [30, 65.5]},
        "children": [0, 1, 2],
    }
    (tmp_path / "values.json").write_text(json.dumps(declared))
    return tmp_path / "mixed.csv"
