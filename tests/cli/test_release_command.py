"""Reports walk through commands: randomize, tally, release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey, Tally

Run = Callable[..., Any]


@pytest.fixture
def survey(run: Run, data: Path) -> Path:
    path = data.with_name("survey.json")
    assert run("new", data, "--order", 2, "--mechanism", "InpHT", "-o", path).code == 0
    return path


@pytest.fixture
def reports(run: Run, data: Path, survey: Path) -> Path:
    path = data.with_name("reports.parquet")
    ended = run("randomize", data, "--survey", survey, "-o", path)
    assert (ended.code, ended.err) == (0, "")
    assert "800 reports to survey" in ended.out
    assert "SIMULATED" not in ended.out
    return path


@pytest.fixture
def tally(run: Run, survey: Path, reports: Path) -> Path:
    path = reports.with_name("day.tally")
    ended = run("tally", reports, "--survey", survey, "-o", path)
    assert (ended.code, ended.err) == (0, "")
    assert "800 reports" in ended.out
    return path


@pytest.mark.parametrize("ending", ["html", "json", "csv", "parquet"])
def test_from_data_to_tables(run: Run, tally: Path, ending: str) -> None:
    ended = run("release", tally, "-o", f"out.{ending}")
    assert (ended.code, ended.err) == (0, "")
    assert f"10 tables of 800 people, survey {Tally.load(tally).survey.id[:16]}" in ended.out
    assert f"out.{ending}" in ended.out
    assert "Tables are modelled: " in ended.out
    assert "; --consistency none shows the unbiased estimates." in ended.out
    path = tally.with_name(f"out.{ending}")
    if ending == "html":
        assert path.read_text("utf-8").startswith("<!doctype html>")
    elif ending == "json":
        assert len(json.loads(path.read_text("utf-8"))["tables"]) == 10
    else:
        frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
        assert len(frame) == 4 * 2 + 6 * 4


def test_every_step_has_a_document(run: Run, data: Path, survey: Path) -> None:
    made = run("randomize", data, "--survey", survey, "-o", "r.parquet", "--json").document
    assert made == {"survey": made["survey"], "reports": 800, "simulated": False}
    counted = run("tally", "r.parquet", "--survey", survey, "-o", "d.tally", "--json").document
    assert (counted["reports"], counted["people"], counted["simulated"]) == (800, 800, False)
    told = run("release", "d.tally", "-o", "out.html", "--consistency", "joint", "--json").document
    assert told["survey"] == made["survey"]
    assert (told["people"], told["tables"], told["applied"]) == (800, 10, "joint")
    assert (told["consistency"], told["plausible"], told["output"]) == ("joint", True, "out.html")


def test_what_is_best_read_comes_first(run: Run, tally: Path) -> None:
    """And the unbiased estimates are a flag away, or in the next column."""
    first = run("release", tally, "-o", "first.csv", "--json").document
    assert (first["consistency"], first["applied"]) == ("auto", "model")
    told = run("release", tally, "-o", "plain.csv", "--consistency", "none")
    assert "Tables are unbiased: as measured, so a small share may come out below 0." in told.out
    best, plain = (pd.read_csv(tally.with_name(f"{name}.csv")) for name in ("first", "plain"))
    assert best["read"].min() >= 0
    numbers = ["estimate", "standard_error", "low", "high"]
    pd.testing.assert_frame_equal(best[numbers], plain[numbers])
    assert plain["read"].tolist() == plain["estimate"].tolist()


def test_tallies_add_up(run: Run, survey: Path, reports: Path, tally: Path) -> None:
    again = run("tally", reports, "--survey", survey, "-o", tally)
    assert (again.code, again.out) == (2, "")
    assert "'" + str(tally) + "' exists already; --append adds to it." in again.err
    assert Tally.load(tally).people == 800
    more = ("tally", reports, "--survey", survey, "-o", tally, "--append")
    again = run(*more)
    assert (again.code, again.out) == (2, "")
    assert "reports.parquet is counted already; --again counts it once more." in again.err
    assert Tally.load(tally).people == 800
    assert run(*more, "--again").code == 0
    assert Tally.load(tally).people == 1600
    assert run("tally", reports, "--survey", survey, "-o", "new.tally", "--append").code == 0
    both = run("release", tally, "new.tally", "-o", "out.csv")
    assert "counts reports that another tally counts" in both.err
    told = run("release", tally, "new.tally", "-o", "out.csv", "--again", "--json").document
    assert told["people"] == 2400
    twice = run("release", tally, tally, "-o", "out.csv")
    assert (twice.code, twice.err.count("\n")) == (2, 1)
    assert "named twice" in twice.err


def test_many_files_are_counted_together(run: Run, survey: Path, reports: Path) -> None:
    whole = pq.read_table(reports)
    files = []
    for start in range(0, 800, 40):
        files.append(f"part{start}.parquet")
        pq.write_table(whole.slice(start, 40), files[-1])
    ended = run("tally", *files, "--survey", survey, "-o", "parts.tally")
    assert ended.code == 0
    assert run("tally", reports, "--survey", survey, "-o", "whole.tally").code == 0
    assert Tally.load("parts.tally") == Tally.load("whole.tally")


def test_shards_are_summed_day_by_day_from_folders_and_patterns(
    run: Run, data: Path, survey: Path
) -> None:
    for day, regions in (("mon", 2), ("tue", 1)):
        Path(day).mkdir()
        for region in range(regions):
            assert (
                run("randomize", data, "--survey", survey, "-o", f"{day}/{region}.parquet").code
                == 0
            )
    first = run("tally", "mon", "--survey", survey, "-o", "week.tally", "--json").document
    assert (first["reports"], first["files"], first["refused"]) == (1600, 2, {})
    ended = run("tally", "t*/*.parquet", "--survey", survey, "-o", "week.tally", "--append")
    assert "800 reports" in ended.out
    assert "with those before, 2,400" in ended.out
    whole = Survey.from_json(survey.read_text()).tally(["mon", "tue"])
    assert Tally.load("week.tally") == whole
    Path("copy.parquet").write_bytes(Path("mon/1.parquet").read_bytes())
    for names in (("copy.parquet",), ("mon",), ("tue", "mon")):
        again = run("tally", *names, "--survey", survey, "-o", "week.tally", "--append")
        assert (again.code, again.out) == (2, "")
        assert "is counted already; --again counts it once more." in again.err
    twins = run("tally", "mon", "copy.parquet", "--survey", survey, "-o", "x.tally")
    assert "copy.parquet is named twice, or is a copy of another file here" in twins.err
    assert Tally.load("week.tally") == whole


def test_reports_that_cannot_be_are_refused_or_counted_apart(
    run: Run, survey: Path, reports: Path
) -> None:
    table = pq.read_table(reports)
    slots = table["slot"].to_numpy().copy()
    slots[:5] = 99
    wrong = table.set_column(0, "slot", [slots])
    pq.write_table(wrong, "wrong.parquet")
    arguments = ("tally", "wrong.parquet", "--survey", survey, "-o", "w.tally")
    ended = run(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "5 of 800 reports cannot be counted (unknown slot: 5); invalid='drop'" in ended.err
    assert not Path("w.tally").exists()
    made = run(*arguments, "--invalid", "drop", "--json").document
    assert (made["reports"], made["refused"]) == (795, {"unknown slot": 5})
    assert Tally.load("w.tally").refused == {"unknown slot": 5}
    pq.write_table(wrong.slice(0, 700), "more.parquet")
    ended = run("tally", "more.parquet", *arguments[2:], "--append", "--invalid", "drop")
    assert "5 were left out (unknown slot: 5)." in ended.out
    assert Tally.load("w.tally").refused == {"unknown slot": 10}


def test_a_tally_that_changes_meanwhile_is_not_overwritten(
    run: Run, survey: Path, reports: Path, tally: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else appends while this command counts."""
    whole = pq.read_table(reports)
    pq.write_table(whole.slice(0, 300), "one.parquet")
    sound = Survey.tally

    def slow(self: Survey, *arguments: Any, **options: Any) -> Tally:
        (Tally.load(tally) + sound(self, "one.parquet")).save(tally)
        return sound(self, *arguments, **options)

    monkeypatch.setattr(Survey, "tally", slow)
    pq.write_table(whole.slice(300), "two.parquet")
    ended = run("tally", "two.parquet", "--survey", survey, "-o", tally, "--append")
    assert (ended.code, ended.out) == (2, "")
    assert "was changed meanwhile" in ended.err
    assert Tally.load(tally).people == 1100


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_on_the_command_line(run: Run, survey: Path, reports: Path, engine: str) -> None:
    arguments = ("tally", reports, "--survey", survey, "-o", f"{engine}.tally", "--engine", engine)
    assert run(*arguments).code == 0
    assert Tally.load(f"{engine}.tally") == Survey.from_json(survey.read_text()).tally(reports)


def test_a_seed_gives_the_same_reports_from_csv_and_parquet(
    run: Run, data: Path, survey: Path
) -> None:
    pd.read_csv(data).to_parquet("people.parquet")
    for source, out in ((data, "c.parquet"), ("people.parquet", "p.parquet")):
        assert run("randomize", source, "--survey", survey, "-o", out, "--seed", "s").code == 0
    assert pq.read_table("c.parquet").equals(pq.read_table("p.parquet"))
    read = Survey.from_json(survey.read_text())
    frame = pd.read_csv(data)
    assert read.randomize(frame, seed="s").to_arrow().equals(pq.read_table("c.parquet"))


def test_data_that_breaks_off_leaves_no_reports(run: Run, data: Path, survey: Path) -> None:
    pd.concat([pd.read_csv(data)] * 50).to_parquet("people.parquet")
    content = bytearray(Path("people.parquet").read_bytes())
    content[4:400] = bytes(396)
    Path("people.parquet").write_bytes(content)
    before = sorted(Path().iterdir())
    ended = run("randomize", "people.parquet", "--survey", survey, "-o", "x.parquet")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "people.parquet' cannot be read to its end" in ended.err
    assert sorted(Path().iterdir()) == before


def test_simulated_reports_are_taken_only_when_asked(run: Run, data: Path, survey: Path) -> None:
    for name in ("one", "two"):
        ended = run("randomize", data, "--survey", survey, "-o", f"{name}.parquet", "--seed", "s")
        assert "SIMULATED" in ended.out
    assert pq.read_table("one.parquet").equals(pq.read_table("two.parquet"))
    ended = run("tally", "one.parquet", "--survey", survey, "-o", "sim.tally")
    assert (ended.code, ended.out) == (2, "")
    assert "--simulation takes them" in ended.err
    assert not Path("sim.tally").exists()
    ended = run("tally", "one.parquet", "--survey", survey, "--simulation", "-o", "sim.tally")
    assert "SIMULATED" in ended.out
    ended = run("release", "sim.tally", "-o", "out.html")
    assert "SIMULATED" in ended.out
    assert "No device took part" in Path("out.html").read_text("utf-8")


def test_observed_values_serve_simulation(run: Run, tmp_path: Path) -> None:
    """A client refuses such a survey; where the data lies already, it may be tried."""
    frame = pd.DataFrame({"a": ["x", "y", "z"] * 30, "b": [1, 2] * 45})
    frame.to_csv("odd.csv", index=False)
    survey = Survey(Schema.from_frame(frame, values="observed"), 2, 1.1, "MargPS")
    Path("odd.json").write_text(survey.to_json())
    assert run("randomize", "odd.csv", "--survey", "odd.json", "-o", "r.parquet").code == 0
    assert run("tally", "r.parquet", "--survey", "odd.json", "-o", "t.tally").code == 0
    assert run("release", "t.tally", "-o", "out.html").code == 0
    assert "OBSERVED VALUES" in Path("out.html").read_text("utf-8")


def test_columns_beside_the_survey_are_not_read(run: Run, data: Path, survey: Path) -> None:
    wide = pd.read_csv(data).assign(name="somebody")
    wide.loc[3, "name"] = None
    wide.to_csv("wide.csv", index=False)
    assert run("randomize", "wide.csv", "--survey", survey, "-o", "w.parquet").code == 0


def test_rows_with_gaps_are_left_out_when_asked(run: Run, data: Path, survey: Path) -> None:
    gaps = pd.read_csv(data).astype(object)
    gaps.loc[[3, 5], "a"] = None
    gaps.to_csv("gaps.csv", index=False)
    ended = run("randomize", "gaps.csv", "--survey", survey, "-o", "g.parquet")
    assert (ended.code, ended.out) == (2, "")
    assert "Attribute 'a' has no value in 2 rows" in ended.err
    arguments = ("gaps.csv", "--survey", survey, "-o", "g.parquet", "--drop-missing", "--json")
    assert run("randomize", *arguments).document["reports"] == 798


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("randomize", "nowhere.csv", "--survey", "SURVEY", "-o", "x.parquet"), "no file"),
        (("randomize", "DATA", "--survey", "nowhere.json", "-o", "x.parquet"), "no survey"),
        (("randomize", "DATA", "--survey", "SURVEY", "-o", "x.csv"), "must end in .parquet"),
        (("randomize", "DATA", "--survey", "SURVEY", "-o", "no/x.parquet"), "cannot be written"),
        (("randomize", "other.csv", "--survey", "SURVEY", "-o", "x.parquet"), "no column 'a'"),
        (("tally", "nowhere.parquet", "--survey", "SURVEY", "-o", "x.tally"), "no file"),
        (("tally", "DATA", "--survey", "SURVEY", "-o", "x.tally"), "not a Parquet file"),
        (("tally", "REPORTS", "--survey", "other.json", "-o", "x.tally"), "another survey"),
        (("tally", "REPORTS", "REPORTS", "--survey", "SURVEY", "-o", "x.tally"), "named twice"),
        (("tally", "REPORTS", "--survey", "SURVEY", "-o", "DATA", "--append"), "not a tally"),
        (
            ("tally", "REPORTS", "--survey", "SURVEY", "-o", "no/x.tally"),
            "cannot be written: No such",
        ),
        (("tally", "--survey", "SURVEY", "-o", "x.tally"), "Missing"),
        (("tally", "REPORTS", "--survey", "SURVEY", "-o", "x.tally", "--engine", "odd"), "must be"),
        (
            ("tally", "REPORTS", "--survey", "SURVEY", "-o", "x.tally", "--invalid", "odd"),
            "must be",
        ),
        (("tally", "no*.parquet", "--survey", "SURVEY", "-o", "x.tally"), "No file matches"),
        (("release", "nowhere.tally", "-o", "out.html"), "no tally"),
        (("release", "REPORTS", "-o", "out.html"), "not a tally"),
        (("release", "TALLY", "-o", "out.txt"), "must end in"),
        (("release", "TALLY", "-o", "no/out.csv"), "cannot be written"),
        (
            ("release", "TALLY", "-o", "out.csv", "--consistency", "odd"),
            "--consistency must be 'none'",
        ),
        (("release", "TALLY", "other.tally", "-o", "out.csv"), "different surveys"),
        (("release", "TALLY"), "Missing"),
        (("demo", "--people", 5, "--output", "out.csv"), "must end in .html"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, data: Path, survey: Path, reports: Path, tally: Path, arguments: Any, said: str
) -> None:
    other = Survey(Schema.binary("x", "y"), 2, 1.1, "InpHT")
    Path("other.json").write_text(other.to_json())
    frame = pd.DataFrame({"x": [True, False], "y": [True, True]})
    frame.to_csv("other.csv", index=False)
    other.tally(other.randomize(frame)).save("other.tally")
    names = {"DATA": data, "SURVEY": survey, "REPORTS": reports, "TALLY": tally}
    before = sorted(data.parent.iterdir())
    ended = run(*(names.get(part, part) for part in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("deniable: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err
    assert sorted(data.parent.iterdir()) == before, "nothing half-written is left"
