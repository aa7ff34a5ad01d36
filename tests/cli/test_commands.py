"""What all commands share: the demo, output, help, refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_parts import NAMES, SECRET, Run, foreign_options, spawn

import deniable

# demo


def test_demo_tells_the_whole_journey_and_leaves_a_report(run: Run, tmp_path: Path) -> None:
    ended = run("demo", "--people", 2000, "--epsilon", 2)
    assert (ended.code, ended.err) == (0, "")
    for part in ("General Social Survey", "It is asked a random question", "95% interval", "truth"):
        assert part in ended.out
    for part in ("mean income of women", "median income", "correlation of age and income"):
        assert part in ended.out
    assert all(name in ended.out for name in NAMES)
    assert "deniable-report.html" in ended.out
    report = (tmp_path / "deniable-report.html").read_text("utf-8")
    assert "legal_if_poor" in report
    assert "SIMULATED" in report


@pytest.mark.parametrize("people", [1, 2000])
def test_demo_in_json_even_of_one_person(run: Run, tmp_path: Path, people: int) -> None:
    made = run("demo", "--people", people, "--output", "other.html", "--json").document
    assert made["people"] == people
    assert made["output"] == "other.html"
    assert (tmp_path / "other.html").exists()
    assert [trial["mechanism"] for trial in made["trials"]] == NAMES
    known = [np.isfinite(np.array(one["interval"], float)).all() for one in made["tables"]]
    assert sum(known) <= 1 if people == 1 else all(known), "one report speaks of one table"
    facts = {fact["what"]: fact for fact in made["wages"]["facts"]}
    assert len(facts) == 7
    if people > 1:
        assert 0 <= facts["mean income"]["low"] < facts["mean income"]["high"] <= 80_000


@pytest.mark.parametrize("epsilon", [1e-12, 20])
def test_demo_takes_any_epsilon(run: Run, epsilon: float) -> None:
    assert run("demo", "--people", 100, "--epsilon", epsilon, "--json").code == 0


# Output


def test_nothing_but_the_result_is_printed_when_piped(data: Path) -> None:
    ended = spawn("simulate", data, "--repeat", 50, "--mechanism", "all", cwd=data.parent)
    assert ended.returncode == 0
    assert ended.stderr == b"", "no progress bar"
    assert b"\x1b" not in ended.stdout, "no colours"


def test_a_terminal_that_knows_few_letters_shows_what_it_can(data: Path) -> None:
    for command in (("plan", "--attributes", 4), ("simulate", data), ("demo", "--people", 50)):
        ended = spawn(*command, cwd=data.parent, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert ended.returncode == 0
        assert ended.stderr == b""


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    run = f'"{sys.executable}" -c "from deniable.cli import main; main()" audit --mechanism InpHT --json'
    ended = subprocess.run(["sh", "-c", f"{run} | head -n 1"], capture_output=True, timeout=600)
    assert ended.stdout == b"[\n"
    assert ended.stderr == b""


def test_python_dash_m_is_the_same_command() -> None:
    run = [sys.executable, "-m", "deniable"]
    ended = subprocess.run([*run, "--version"], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{deniable.__version__}\n", "")
    ended = subprocess.run(
        [*run, "plan", "--order", "x"], capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_help_and_version(run: Run) -> None:
    whole = run()
    assert whole.code == 0
    assert run("--version").out.strip() == deniable.__version__
    for name in (
        "demo",
        "plan",
        "simulate",
        "audit",
        "explain",
        "new",
        "randomize",
        "tally",
        "release",
        "regress",
    ):
        assert name in whole.out
        assert "Usage" in run(name, "--help").out


# Bad input


@pytest.fixture
def bad_files(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "head.csv").write_text("a,b\n")
    (tmp_path / "text.csv").write_text(f"name\n{SECRET}\nx\n")
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "gaps.csv").write_text("a,b\ntrue,\nfalse,true\n")
    (tmp_path / "mixed.csv").write_text(f"a,b\ntrue,{SECRET}\nfalse,true\n")
    (tmp_path / "ragged.csv").write_text(f"a,b\ntrue,false\ntrue,false,{SECRET}\n")
    (tmp_path / "twins.csv").write_text("a,a\ntrue,false\n")
    (tmp_path / "nameless.csv").write_text(",b\ntrue,false\n")
    (tmp_path / "latin.csv").write_bytes("größe\ntrue\n".encode("latin-1"))
    junk = np.random.default_rng(0).bytes(3000)
    for name in ("junk.csv", "junk.parquet", "junk.feather", "junk.json", "junk"):
        (tmp_path / name).write_bytes(junk)
    for name in ("folder.csv", "folder.parquet", "folder.json"):
        (tmp_path / name).mkdir()
    pd.DataFrame({"a": [[1], [2]], "b": [True, False]}).to_parquet(tmp_path / "nested.parquet")
    pd.DataFrame({"a": [True, False] * 9, "b": [True, None] * 9}).to_parquet(
        tmp_path / "null.parquet"
    )
    whole = (tmp_path / "null.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "brackets.json").write_text("[" * 100_000)
    (tmp_path / "other.json").write_text('{"deniable": "ledger"}')


HUGE = 10**30
BAD_DATA = [
    "nowhere.csv", "nowhere", "", ".", "empty.csv", "head.csv", "text.csv", "numbers.csv", "gaps.csv",
    "mixed.csv", "ragged.csv", "twins.csv", "nameless.csv", "latin.csv", "junk.csv", "junk.parquet",
    "junk.feather", "junk.json", "junk", "folder.csv", "folder.parquet", "nested.parquet",
    "null.parquet", "cut.parquet",
]  # fmt: skip
BAD_OPTIONS = [
    ("--order", 0), ("--order", -1), ("--order", 5), ("--order", HUGE), ("--order", "two"),
    ("--order", "1.5"), ("--epsilon", 0), ("--epsilon", -1), ("--epsilon", "nan"),
    ("--epsilon", "inf"), ("--epsilon", "-inf"), ("--epsilon", 21), ("--epsilon", "1e-300"),
    ("--epsilon", "1e400"), ("--epsilon", "much"), ("--columns", "zz"), ("--columns", "a,a"),
    ("--columns", ""), ("--columns", ","), ("--nonsense",), ("--epsilon",),
]  # fmt: skip
BAD_COMMANDS = [
    *(("plan", name) for name in BAD_DATA if name not in ("gaps.csv", "null.parquet")),
    *(("simulate", name) for name in BAD_DATA),
    *(("new", name, "-o", "out.json") for name in BAD_DATA if name not in ("gaps.csv", "null.parquet")),
    *(("plan", "people.csv", *option) for option in BAD_OPTIONS),
    *(("simulate", "people.csv", *option) for option in BAD_OPTIONS),
    *(("new", "people.csv", "-o", "out.json", *option) for option in BAD_OPTIONS),
    ("plan",),
    ("plan", "people.csv", "--attributes", 4),
    *(("plan", "--attributes", n) for n in (0, -1, 10**9, HUGE, "many", 1.5)),
    *(("plan", "--attributes", 4, "--people", n) for n in (0, -1, HUGE, 10**400, "many", "9" * 5000)),
    *(("plan", "--attributes", 4, "--target-error", x) for x in (0, -1, "nan", "inf")),
    *(("plan", "--attributes", 4, "--people", 9, "--target-error", x) for x in (0, -1, "nan", "inf")),
    *(("plan", "--attributes", 4, "--target-error", x) for x in ("1e-9", "1e-300")),
    *(("plan", "--attributes", 4, "--probability", x) for x in (0, 1, "nan", 7)),
    *(("plan", "--attributes", 4, "--delta", x) for x in (0, 1, -1, 2, "nan", "inf", "small")),
    *(("plan", "--attributes", 4, "--shuffler", "x", "--delta", x) for x in (0, 1, "nan")),
    *(("plan", "--attributes", 4, "--slots", x) for x in ("taken", "", "Drawn")),
    *(("plan", "--attributes", 4, "--shuffler", x) for x in ("", " ")),
    *(("plan", "--attributes", 4, "--chart", x)
      for x in ("", ".", "/", "plan", "plan.jpg", "nowhere/plan.svg", "folder.json", ".html")),
    ("plan", "--attributes", 12, "--order", 11),
    *((command, "--sizes", s) for command in ("plan", "audit")
      for s in ("", ",", "2,", "1", "0", "-2", "2,1", "2;3", "2,x", 2.5, 4097, HUGE, "9" * 5000,
                "2," * 10_000 + "2")),
    ("plan", "--sizes", "2,3", "--attributes", 2),
    ("plan", "people.csv", "--sizes", "2,3"),
    ("plan", "--sizes", "2,3", "--values", "other.json"),
    ("plan", "--sizes", "2,3", "--order", 3),
    ("audit", "--sizes", "2,3", "--attributes", 2),
    ("audit", "--sizes", "2,3", "--order", 3),
    ("audit", "survey.json", "--sizes", "2,3"),
    *((*command, "--values", "other.json", "--observed") for command in
      (("simulate", "people.csv"), ("plan", "people.csv"))),
    *(("simulate", "people.csv", "--people", n) for n in (0, -1, 10**12, HUGE, "many")),
    *(("simulate", "people.csv", "--repeat", n) for n in (0, -1, HUGE, "often")),
    *(("simulate", "people.csv", "--mechanism", m) for m in ("x", "", "InpHT,x", "InpHT,", "Subs")),
    *(("simulate", "people.csv", "--consistency", c) for c in ("projected", "")),
    *(("simulate", "people.csv", "--estimator", e) for e in ("nonsense", "")),
    ("simulate", "people.csv", "--mechanism", "InpHT", "--estimator", "em"),
    ("simulate",),
    ("simulate", "people.csv", "people.csv"),
    *(("audit", *option) for option in BAD_OPTIONS if option[0] in ("--order", "--epsilon")),
    *(("audit", "--attributes", n) for n in (0, -1, 10**9, HUGE)),
    ("audit", "--attributes", 3, "--order", 4),
    ("audit", "--attributes", 40, "--mechanism", "InpRR"),
    *(("audit", "--mechanism", m) for m in ("x", "auto", "all,InpHT")),
    ("audit", "survey.json", "--attributes", 3),
    ("audit", "survey.json", "--mechanism", "InpHT"),
    *((command, name) for command in ("audit", "explain")
      for name in ("nowhere.json", "junk.json", "folder.json", "brackets.json", "other.json")),
    *(("explain", "survey.json", "--slot", s) for s in (-1, 10, HUGE, "first")),
    ("explain",),
    ("new", "people.csv"),
    *(("new", "people.csv", "-o", path) for path in ("nowhere/s.json", "folder.json", "", "/")),
    ("new", "people.csv", "-o", "out.json", "--mechanism", "all"),
    *(("regress", name, "b ~ a", "--design", "warner:0.7") for name in BAD_DATA),
    *(("regress", name, "b ~ a", "--survey", "survey.json") for name in BAD_DATA),
    *(("regress", "people.csv", text, "--design", "warner:0.7")
      for text in ("", "b", "b ~", "b ~ zz", "zz ~ b", "b ~ a ^ x", "~", "b ~ " + "a + " * 2000 + "a")),
    *(("demo", "--people", n) for n in (0, -1, 10**10, HUGE, "many")),
    *(("demo", "--epsilon", e) for e in (0, -1, "nan", "inf", 21, "1e-300")),
    ("nonsense",),
    ("--nonsense",),
    ("plan", "extra", "--attributes", 4),
]  # fmt: skip


@pytest.mark.usefixtures("survey", "bad_files")
def test_bad_input_ends_with_code_2_and_one_sentence(run: Run, tmp_path: Path) -> None:
    wrong = []
    first_of_each = {command[0]: command for command in reversed(BAD_COMMANDS)}.values()
    for command in BAD_COMMANDS:
        with_json = [(*command, "--json")] if command in first_of_each else []
        for arguments in (command, *with_json):
            ended = run(*arguments)
            lines = ended.err.splitlines()
            if not (
                ended.code == 2
                and ended.out == ""
                and len(lines) == 1
                and lines[0].startswith("deniable: ")
                and lines[0].endswith(".")
                and SECRET not in ended.err
                and "Error" not in ended.err
                and not foreign_options(arguments[0], ended.err, said=arguments)
            ):
                wrong.append((arguments, ended))
    assert not wrong, "\n".join(f"{arguments}: {ended}" for arguments, ended in wrong)
    assert not (tmp_path / "out.json").exists(), "nothing is written after a refusal"


@pytest.mark.usefixtures("survey")
def test_a_refusal_is_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    for command in (("plan",), ("simulate", "nowhere.csv"), ("demo", "--people", HUGE)):
        ended = spawn(*command, cwd=tmp_path)
        assert ended.returncode == 2
        assert ended.stdout == b""
        assert ended.stderr.count(b"\n") == 1
        assert b"Traceback" not in ended.stderr


def test_data_with_too_many_tables_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    wide = pd.DataFrame(np.ones((3, 64), bool), columns=[f"a{i}" for i in range(64)])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    ended = run("simulate", "wide.csv", "--order", 6)
    assert ended.code == 2
    assert "All 74,974,368 tables of 6 of 64 attributes are too many" in ended.err


def test_running_out_of_memory_is_said_in_one_sentence(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("deniable.lab.simulate.count_crowd", full)
    ended = run("simulate", data)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "memory" in ended.err
