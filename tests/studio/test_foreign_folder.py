"""A folder that somebody else made holds modules, and none of them is ever run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd
import pytest

from deniable import Schema, Survey
from deniable.formats.processes import python, python_environment
from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.running import PointStore, measure_all
from deniable.lab.experiments.sources import DataFiles, obtain
from deniable.studio import children
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenSurveys

NAMES = (
    *("typer", "deniable", "json", "re", "sqlite3", "numpy", "rich", "sitecustomize", "usercustomize"),
    *("multiprocessing", "pickle", "socket", "uvicorn", "pyreadstat", "encodings", "runpy", "typing"),
)  # fmt: skip
SURVEY = Survey(Schema.binary("a", "b"), 2, 2.0, "InpHT")


def plant(folder: Path) -> Path:
    """Put modules into a folder, which leave a file where they are run."""
    ran = folder / "ran"
    code = f"open({str(ran)!r}, 'a').write(__name__ + '\\n')\nraise SystemExit('it ran')\n"
    for place in (folder, folder / "src", folder / "modules"):
        place.mkdir(exist_ok=True)
        for name in NAMES:
            (place / f"{name}.py").write_text(code)
    return ran


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "survey.json").write_text(SURVEY.to_json() + "\n")
    return Folder(tmp_path / "foreign")


@pytest.mark.slow
@pytest.mark.parametrize("path", [None, os.pathsep, f"src{os.pathsep}{os.pathsep}./modules"])
def test_a_command_of_the_studio_runs_no_module_of_its_folder(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    """Nor by way of a PYTHONPATH whose entries are relative to where the studio was started."""
    ran = plant(folder.root)
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    children.run(folder, ["explain", "survey.json"])
    collector = children.LocalCollector(folder)
    collector.start(FrozenSurveys(folder).named("survey"))
    try:
        assert collector.to_json() is not None
    finally:
        collector.stop()
    assert not ran.exists()


def test_a_checkout_that_pythonpath_names_still_works_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"src{os.pathsep}{os.pathsep}/opt/other")
    assert python_environment()["PYTHONPATH"] == f"{tmp_path / 'src'}{os.pathsep}/opt/other"
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    assert "PYTHONPATH" not in python_environment()
    assert python("-m", "deniable")[1:] == ["-P", "-m", "deniable"]
    assert Path(python()[0]).is_absolute()


@pytest.mark.slow
def test_workers_run_no_module_of_the_folder_one_works_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    ran = plant(work)
    experiment = EXPERIMENTS["bars"]
    points = experiment.grid(True)[:1]
    data = {each["data"]: obtain(each["data"], DataFiles(), tmp_path) for each in points}
    # As when `deniable reproduce` was started: where one works is not on the path.
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.chdir(work)
    store = PointStore(tmp_path / "points.jsonl")
    rows = measure_all(experiment, points, data, store, 1, lambda: None)
    assert not pd.DataFrame(rows[0]).empty
    assert not ran.exists()
    assert "PYTHONSAFEPATH" not in os.environ
