"""The whole journey through every dependency, which `make lowest` takes with the lowest versions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from deniable import Schema, Survey, simulate
from deniable.lab.datasets import load

COMMAND = (sys.executable, "-c", "from deniable.cli import main; main()")


def deniable(folder: Path, *arguments: object) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a survey and a tally of it."""
    made = tmp_path_factory.mktemp("journey")
    columns = "female,college,over_50,democrat"
    deniable(
        made, "new", "abortion", "--columns", columns, "--order", 2, "--epsilon", 1, "-o", "s.json"
    )
    deniable(made, "randomize", "abortion", "--survey", "s.json", "-o", "r.parquet")
    deniable(made, "tally", "r.parquet", "--survey", "s.json", "-o", "day.tally")
    return made


def test_the_demo_writes_its_report(tmp_path: Path) -> None:
    deniable(tmp_path, "demo", "--people", 5_000, "--output", "x.html")
    assert "5,000" in (tmp_path / "x.html").read_text("utf-8")


@pytest.mark.parametrize(
    "name", ["none.html", "none.json", "none.csv", "joint.parquet", "model.html"]
)
def test_a_tally_is_released_in_every_form(folder: Path, name: str) -> None:
    consistency, _, _ = name.partition(".")
    deniable(folder, "release", "day.tally", "--consistency", consistency, "-o", name)
    assert (folder / name).stat().st_size


def test_plans_and_audits(folder: Path) -> None:
    told = ("--attributes", 6, "--order", 2, "--epsilon", 1)
    assert json.loads(deniable(folder, "plan", *told, "--people", 10_000, "--json"))["rows"]
    audited = json.loads(deniable(folder, "audit", "--mechanism", "all", *told, "--json"))
    assert all(row["exact"] and row["unbiased"] for row in audited)


def test_packed_and_categorical_reports_are_counted() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 500, "income": ["low", "mid", "high", "mid"] * 250})
    schema = Schema.of(sex=["f", "m"], income=["low", "mid", "high"])
    for mechanism in ("InpRR", "MargPS", "Subspace"):
        release = simulate(Survey(schema, 2, 1.0, mechanism), frame, seed="journey")
        assert release.marginal("sex", "income").values.shape == (2, 3)
        assert len(release.associations()) == 1
    wide = Schema.binary(*"abcdefg")
    people = pd.DataFrame({name: [True, False] * 50 for name in "abcdefg"})
    survey = Survey(wide, 2, 1.0, "InpRR")
    assert survey.packed_bytes
    tally = survey.tally(survey.randomize(people, seed="journey").to_arrow(), simulation=True)
    assert tally.people == 100


def test_the_data_of_the_demo_extra_is_read() -> None:
    assert len(load("flights")) == 327_346


def test_a_collector_counts_what_a_person_submits(folder: Path, tmp_path: Path) -> None:
    told = ("serve", "s.json", "--store", tmp_path / "store.db", "--port", "0")
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*COMMAND, *map(str, told)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as collector:
        try:
            assert collector.stdout
            address = next(
                word.rstrip(".,/")
                for line in collector.stdout
                if line.startswith("Collecting at ")
                for word in line.split()
                if word.startswith("http://127.0.0.1:")
            )
            record = dict.fromkeys(("female", "college", "over_50", "democrat"), True)
            (tmp_path / "me.json").write_text(json.dumps(record))
            deniable(
                *(tmp_path, "submit", "me.json", "--to", address, "--yes"),
                *("--ledger", "ledger.json", "--json"),
            )
        finally:
            collector.terminate()
    deniable(tmp_path, "tally", f"sqlite:///{tmp_path / 'store.db'}", "-o", "store.tally")
