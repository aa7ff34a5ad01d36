"""Every example runs, in a folder of its own, and makes what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from docs_parts import ROOT

EXAMPLES = ROOT / "examples"
MAKES = {
    "collector.py": ("30 people answered", ["survey.json", "day.tally", "device-29.json"]),
    "groups.py": ("offline, population", ["survey.json", "trend.html", "population.html"]),
    "own_file.py": ("standard errors off", ["people.csv", "survey.json"]),
    "telemetry.py": ("The report is in", ["survey.json", "report.html"]),
}


def test_every_example_is_run_and_told_about() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(MAKES)
    told = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"[{name}]({name})" in told for name in MAKES)


@pytest.mark.parametrize("name", MAKES)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    run = [sys.executable, EXAMPLES / name, tmp_path]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, files = MAKES[name]
    assert said in done.stdout
    assert all((tmp_path / file).is_file() for file in files)
