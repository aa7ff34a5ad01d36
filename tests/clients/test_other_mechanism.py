"""A mechanism in a package of its own: found, planned, simulated, audited, asked, collected and read.

Collectors, clients and whoever reads the tally run without the package: they need none of it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from client_parts import ROOT, Drive, Running, command

from deniable import Survey, Tally
from deniable.lab.blackbox.audit import audit_command
from deniable.lab.blackbox.command import Command

TEMPLATE = ROOT / "examples" / "mechanism"
RECORD = {"a": True, "b": False, "c": True, "d": True}
CLIENTS = ROOT / "examples" / "audit"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the template is installed, as pip installs it."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(TEMPLATE, folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    offline = ["--no-index", "--disable-pip-version-check", "--target", folder / "packages"]
    subprocess.run([*pip, *offline, folder / "source"], check=True, timeout=300)
    return folder / "packages"


@pytest.fixture(scope="module")
def survey(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a survey that the mechanism designed."""
    folder = tmp_path_factory.mktemp("designed")
    rows = [",".join(str((n >> j) % 2 == 1) for j in range(4)) for n in range(16)]
    (folder / "people.csv").write_text("\n".join(["a,b,c,d", *rows]))
    new = ("new", "people.csv", "--mechanism", "triangle", "--epsilon", 1, "-o", "survey.json")
    assert ran(folder, package, *new)["mechanism"] == "Triangle"
    return folder / "survey.json"


def ran(folder: Path, package: Path | None, *arguments: object) -> Any:
    """Return the JSON document of a command, with the package installed or without."""
    environment = dict(os.environ)
    if package is not None:
        known = filter(None, (str(package), environment.get("PYTHONPATH")))
        environment["PYTHONPATH"] = os.pathsep.join(known)
    ended = subprocess.run(
        command(*arguments, "--json"), cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_it_is_planned_simulated_and_audited(package: Path, survey: Path) -> None:
    folder = survey.parent
    rows = ran(folder, package, "plan", "--attributes", 4, "--people", 1000)["rows"]
    assert "Triangle" in [row["mechanism"] for row in rows]
    some = ("simulate", "people.csv", "--people", 2000, "--repeat", 3, "--seed", "x")
    rows = ran(folder, package, *some, "--mechanism", "all", "--epsilon", 1)
    [row] = [row for row in rows if row["mechanism"] == "Triangle"]
    assert 0.5 < row["mean_tv"] / row["predicted_tv"] < 2
    [row] = ran(folder, package, "audit", "--mechanism", "Triangle", "--sizes", "2,3,4", "--order", 2,
                "--epsilon", 1)  # fmt: skip
    assert row["mechanism"] == "Triangle"
    assert row["exact"] is row["unbiased"] is True
    [row] = ran(folder, None, "audit", survey)  # the survey alone says it too
    assert row["exact"] is row["unbiased"] is True


@pytest.mark.slow
def test_its_own_tests_pass(package: Path, tmp_path: Path) -> None:
    shutil.copytree(TEMPLATE / "tests", tmp_path / "tests")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not covariance"]
    known = filter(None, (str(package), os.environ.get("PYTHONPATH")))
    ended = subprocess.run(
        [*run, "--rootdir", tmp_path, tmp_path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(known)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["client.py", "client.mjs"])
def test_both_clients_pass_a_black_box_audit_of_it(node: str, survey: Path, name: str) -> None:
    program = sys.executable if name == "client.py" else node
    words = f"{shlex.quote(program)} {shlex.quote(str(CLIENTS / name))} {{survey}}"
    told = audit_command(
        Command.of(words, survey), 1.0, survey=Survey.load(survey), runs=800, error_rate=1e-7
    )
    assert told.passed


@pytest.mark.slow
def test_a_collector_takes_the_reports_of_both_clients(
    drive: Drive, survey: Path, tmp_path: Path
) -> None:
    running = Running(tmp_path, Survey.load(survey))
    try:
        came = drive("question", "answer", "submit", **running.known(record=RECORD))
        assert came.reason == "", came.message
        assert running.total == 1
    finally:
        running.process.terminate()
        running.close()


@pytest.mark.slow
def test_its_reports_are_counted_and_read(survey: Path) -> None:
    folder = survey.parent
    asked = ("randomize", "people.csv", "--survey", survey, "-o", "reports.parquet")
    ran(folder, None, *asked)
    ran(folder, None, "tally", "reports.parquet", "--survey", survey, "-o", "day.tally")
    release = Tally.load(folder / "day.tally").release()
    assert release.people == 16
    assert release.marginal("a", "d").values.sum() == pytest.approx(1)


@pytest.mark.slow
def test_without_the_package_nobody_knows_it(survey: Path) -> None:
    assert Survey.load(survey).mechanism == "Triangle"
    plan = command("simulate", "people.csv", "--mechanism", "Triangle")
    ended = subprocess.run(plan, cwd=survey.parent, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "There is no mechanism 'Triangle'" in ended.stderr
