"""A newcomer with a file of their own, and a terminal of 80 columns."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deniable.lab.rivals.registry import RIVALS
from deniable.mechanisms.registry import known_mechanisms

Run = Callable[..., Any]


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    cells = [(i % 2, "yes" if i % 3 else "no", str(i % 5 > 1).lower()) for i in range(300)]
    rows = [f"{a},{b},{c}" for a, b, c in cells]
    path.write_text("\n".join(["number,word,truth", *rows]) + "\n")
    return path


def test_columns_that_are_not_true_or_false_are_explained(run: Run, own_file: Path) -> None:
    ended = run("simulate", own_file)
    assert ended.code == 2
    assert "Column 'number' is not true/false" in ended.err
    assert "--values" in ended.err
    assert "--observed" in ended.err
    assert run("simulate", own_file, "--columns", "truth", "--order", 1).code == 0


def test_observed_values_are_for_simulation(run: Run, own_file: Path) -> None:
    rows = run("simulate", own_file, "--observed", "--mechanism", "all", "--json").document
    assert [row["attributes"] for row in rows] == [3] * (len(known_mechanisms()) + len(RIVALS))
    assert run("plan", own_file, "--observed").code == 0
    assert run("new", own_file, "-o", own_file.with_suffix(".json")).code == 2


def test_rows_with_empty_cells_are_left_out_when_asked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n" + "true,false\n" * 50 + "true,\n" * 7)
    ended = run("simulate", path)
    assert (ended.code, ended.out) == (2, "")
    assert "Column 'b' has 7 empty cells; --drop-missing leaves such rows out." in ended.err
    (row,) = run("simulate", path, "--drop-missing", "--json").document
    assert row["people"] == 50


def test_an_estimator_that_some_mechanisms_lack_leaves_those_out(run: Run, data: Path) -> None:
    rows = run("simulate", data, "--mechanism", "all", "--estimator", "unpooled", "--json").document
    assert [row["mechanism"] for row in rows] == ["MargRR", "MargPS", "MargHT"]


def test_the_demo_fits_a_terminal_of_80_columns() -> None:
    from rich.console import Console

    from deniable.cli import demo
    from deniable.lab.demo import run as run_demo

    console = Console(width=80, record=True, file=io.StringIO())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "stdout", lambda: console)
        demo.show_demo(run_demo(3000, 1.1), "deniable-report.html")
    text = console.export_text()
    assert "…" not in text.replace("Inp…", "").replace("Marg…", "")
    assert text.count("95% interval") == 4
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
