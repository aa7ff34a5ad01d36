"""`deniable reproduce`: what it writes, that it goes on where it was, and what bad input gets."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest

from deniable.errors import DataError
from deniable.lab.experiments import EXPERIMENTS
from deniable.lab.experiments.running import PointStore, measure_all
from deniable.lab.experiments.sources import DataFiles, obtain

COMMAND = [sys.executable, "-c", "from deniable.cli import main; main()", "reproduce"]


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """An empty folder of derived data, so that stand-ins are used wherever the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DENIABLE_SHARED_DATA", raising=False)
        yield ["--data", str(tmp_path_factory.mktemp("no-data"))]


@dataclass(frozen=True)
class Interrupted:
    """What became of a run of two experiments of which one was interrupted twice before."""

    out: Path
    kept: list[int]
    """How many points of it were kept after each interruption."""
    said: str


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory, made_up):
    out = tmp_path_factory.mktemp("reproduce") / "out"
    kept = [interrupt(out, made_up, how) for how in (signal.SIGINT, signal.SIGKILL)]
    with (out / "points" / "bars.jsonl").open("ab") as file:
        file.write(b'\n["a line that was cut off')
    both = ["trees", "bars", "--quick", "-o", str(out), "--workers", "2", *made_up]
    ended = subprocess.run([*COMMAND, *both], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return Interrupted(out, kept, ended.stdout)


def test_an_experiment_writes_data_chart_and_claims_and_resumes(
    run, tmp_path, interrupted, made_up
):
    out = shutil.copytree(interrupted.out, tmp_path / "out")  # others look at the first one
    assert "stand-in" in interrupted.said
    for name in ("trees", "bars"):
        rows = pd.read_csv(out / f"{name}.csv")
        pd.testing.assert_frame_equal(rows, pd.read_parquet(out / f"{name}.parquet"))
        assert len(rows) >= len(EXPERIMENTS[name].grid(True))
        svg = (out / f"{name}.svg").read_text("utf-8")
        assert "stand-in" in svg
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        claims = json.loads((out / f"{name}.claims.json").read_text("utf-8"))
        assert claims["data"][0]["kind"] == "stand-in"
        assert claims["claims"][0]["verdict"] in (
            "holds",
            "holds with correction",
            "refuted",
            "undecided",
        )
    page = (out / "results.md").read_text("utf-8")
    assert "![Trees of Chow and Liu](trees.svg)" in page
    assert "(stand-in)" in page
    with (out / "points" / "trees.jsonl").open("a") as file:
        file.write('\n["key", 5]\n["key", [[1]]]\n7')  # nobody's lines harm nobody

    found = run("reproduce", "trees", "bars", "--quick", "-o", out, "--json", *made_up).document
    assert [claim["number"] for claim in found["claims"]] == [10, None]
    assert found["quick"] is True
    whole = json.loads((out / "claims.json").read_text("utf-8"))
    assert whole == {name: value for name, value in found.items() if name != "output"}
    kept = lines_of(out / "points" / "trees.jsonl")
    assert kept == len(EXPERIMENTS["trees"].grid(True)) + 3  # nothing was measured again

    assert json.loads((out / "claims.json").read_text("utf-8"))["command"].endswith(
        "trees bars --quick"
    )
    # Other data, if there is any: measured anew.
    other = run("reproduce", "trees", "--quick", "-o", out, "--json").document
    kinds = {each["kind"] for each in other["data"]}
    lines = lines_of(out / "points" / "trees.jsonl")
    assert lines == kept + (0 if kinds == {"stand-in"} else kept - 3)


def lines_of(path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0  # each line begins with one


def wait_for(is_true, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def interrupt(out, made_up, how) -> int:
    """Start a run, end it once it has kept five more points, and return how many it has kept."""
    points = out / "points" / "bars.jsonl"
    before = lines_of(points)
    process = subprocess.Popen(
        [*COMMAND, "bars", "--quick", "-o", str(out), "--workers", "2", *made_up],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: lines_of(points) >= before + 5)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        os.kill(process.pid, how)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    assert "Traceback" not in errors
    wait_for(lambda: not is_alive(process.pid))  # no worker is left behind
    return lines_of(points)


def test_an_interrupted_run_loses_only_points_in_flight(interrupted):
    bars, trees = (len(EXPERIMENTS[name].grid(True)) for name in ("bars", "trees"))
    first, kept = interrupted.kept
    assert first >= 5
    assert first + 5 <= kept < bars
    measured = f"{trees + bars - kept:,} of {trees + bars:,} points measured now"
    assert measured in " ".join(interrupted.said.split())
    assert lines_of(interrupted.out / "points" / "bars.jsonl") == bars + 1


def test_a_run_in_pieces_is_the_same_as_a_run_at_once(run, tmp_path, interrupted, made_up):
    whole, pieces = interrupted.out, tmp_path / "pieces"
    (pieces / "points").mkdir(parents=True)
    some = (whole / "points" / "trees.jsonl").read_text("utf-8").splitlines(keepends=True)[:5]
    (pieces / "points" / "trees.jsonl").write_text("".join(some), "utf-8")
    alone = ("reproduce", "trees", "--quick", "-o", pieces, "--workers", "1", *made_up)
    assert run(*alone).code == 0
    assert (whole / "trees.csv").read_text("utf-8") == (pieces / "trees.csv").read_text("utf-8")


def test_a_worker_that_dies_is_told(tmp_path, made_up):
    experiment = EXPERIMENTS["people"]
    points = experiment.grid(True)
    data = {"movielens": obtain("movielens", DataFiles(derived=tmp_path), tmp_path)}
    kept = PointStore(tmp_path / "people.jsonl")
    caught: list[Exception] = []

    def measure() -> None:
        try:
            measure_all(experiment, points, data, kept, 2, lambda: None)
        except DataError as error:
            caught.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    wait_for(lambda: lines_of(kept.path) >= 1)
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    thread.join(300)
    assert not thread.is_alive()
    assert "A worker was killed at data movielens, attributes" in str(caught[0])
    assert not multiprocessing.active_children()


def test_a_point_that_cannot_be_measured_is_told(tmp_path):
    experiment = EXPERIMENTS["em-failures"]
    point = experiment.grid(True)[0] | {"epsilon": 1e6}
    data = {"taxi": obtain("taxi", DataFiles(derived=tmp_path), tmp_path)}
    with pytest.raises(DataError, match=r"At data taxi, .*epsilon 1000000.0.*: "):
        measure_all(experiment, [point], data, PointStore(tmp_path / "x.jsonl"), 1, lambda: None)


def test_rivals_are_compared_in_miniature(run, tmp_path, monkeypatch, made_up):
    experiment = EXPERIMENTS["rivals"]
    grid = experiment.grid(True)
    points = [p | {"people": 3000} for p in grid if p["repeat"] < 2 and p["epsilon"] == 1.1]
    few = replace(experiment, grid=lambda quick: points)
    monkeypatch.setitem(EXPERIMENTS, "rivals", few)
    out = tmp_path / "rivals"
    ended = run("reproduce", "rivals", "--quick", "-o", out, "--workers", "2", "--json", *made_up)
    assert (ended.code, ended.err) == (0, "")
    rows = pd.read_csv(out / "rivals.csv")
    labels = ["Subspace, auto", "Subspace, joint", "Subspace", "CALM", "product of margins"]
    assert rows["label"].unique().tolist() == [*labels, "uniform table"]
    assert len(rows) == 6 * len(points)
    assert rows.loc[rows["label"] != "Subspace", "tv"].between(0, 1).all()
    assert "CALM" in (out / "rivals.svg").read_text("utf-8")
    statements = [claim["statement"] for claim in ended.document["claims"]]
    assert ["CALM" in statements[0], "product of margins" in statements[1]] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "There is no experiment 'nothing'; there are people, epsilon,"),
        (["trees", "-o", "file"], "file is a file"),
        (["trees", "--movielens", "gone"], "There is no gone"),
        (["trees", "--data", "gone"], "There is no folder gone"),
        (["trees", "--workers", "0"], "workers"),
    ],
)
def test_bad_input_gets_one_sentence(run, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    ended = run("reproduce", *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not ended.out


def test_the_experiments_are_listed(run):
    ended = run("reproduce", "--list")
    assert all(name in ended.out for name in EXPERIMENTS)
    listed = run("reproduce", "--list", "--json").document
    assert [each["name"] for each in listed] == list(EXPERIMENTS)
