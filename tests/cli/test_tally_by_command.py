"""The command that counts by label writes a folder of tallies, and releases are of one group."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from deniable import Schema, Survey, Tallies, Tally

Run = Callable[..., Any]

SURVEY = Survey(
    Schema.binary("a", "b", "c"),
    2,
    1.1,
    "InpHT",
    labels={"region": ["south", "north", "and/or"]},
    periods=["2026-11-01", "2026-12-01", "2027-01-01"],
)


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """The survey, and two days of 600 reports: 300 north, 270 south, 30 neither."""
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    held = np.random.default_rng(2).random((600, 3)) < 0.4
    frame = pd.DataFrame(held, columns=["a", "b", "c"])
    frame["region"] = ["north"] * 300 + ["south"] * 270 + ["and/or"] * 30
    for day in ("monday", "tuesday"):
        SURVEY.randomize(frame).to_parquet(tmp_path / f"{day}.parquet")
    return tmp_path


def test_reports_are_counted_by_label_into_a_folder(run: Run, days: Path) -> None:
    ended = run("tally", "monday.parquet", "--survey", "survey.json", "--by", "region", "-o", "out")
    assert ended.code == 0, ended.err
    assert "600 reports to survey" in ended.out
    assert "and%2For.parquet" in ended.out
    assert "Under 100 reports, and so not displayed: and/or." in ended.out
    expected = SURVEY.tally(days / "monday.parquet", by="region")
    assert dict(Tallies.load(days / "out")) == dict(expected)
    assert Tally.load(days / "out" / "north.parquet") == expected["north"]

    ended = run(
        "tally", "tuesday.parquet", "--survey", "survey.json", "--by", "region", "--append",
        "-o", "out", "--json",
    )  # fmt: skip
    made = ended.document
    assert isinstance(made, dict)
    groups = made.pop("groups")
    assert made == {
        "survey": SURVEY.id,
        "reports": 600,
        "refused": {},
        "files": 1,
        "people": 1200,
        "simulated": False,
        "by": ["region"],
    }
    assert groups == [
        {"name": "south", "labels": {"region": "south"}, "people": 540, "file": "south.parquet"},
        {"name": "north", "labels": {"region": "north"}, "people": 600, "file": "north.parquet"},
        {
            "name": "and/or",
            "labels": {"region": "and/or"},
            "people": 60,
            "file": "and%2For.parquet",
        },
    ]
    both = SURVEY.tally(["monday.parquet", "tuesday.parquet"], by="region")
    assert dict(Tallies.load("out")) == dict(both)
    assert sorted(entry.name for entry in days.iterdir() if "out" in entry.name) == ["out"]


def test_several_labels_and_what_is_left_out(run: Run, days: Path) -> None:
    table = pq.read_table("monday.parquet")
    texts = ["west", *table["region"].to_pylist()[1:]]
    place = table.column_names.index("region")
    pq.write_table(table.set_column(place, "region", [texts]), "odd.parquet")
    arguments = ["tally", "odd.parquet", "--survey", "survey.json", "--by", "period"]
    arguments += ["--by", "region", "-o", "out"]
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "1 of 600 reports cannot be counted (unknown label: 1)" in ended.err
    assert not (days / "out").exists()
    ended = run(*arguments, "--invalid", "drop", "--json")
    made = ended.document
    assert isinstance(made, dict)
    assert (made["by"], made["refused"]) == (["region", "period"], {"unknown label": 1})
    assert sum(group["people"] for group in made["groups"]) == made["people"] == 599
    names = {entry.name for entry in (days / "out").iterdir()}
    assert "north, 2026-11-01.parquet" in names
    assert names == {group["file"] for group in made["groups"]} | {"_rest.parquet"}
    kept = Tallies.load(days / "out").total
    assert (kept.people, kept.refused) == (599, {"unknown label": 1})
    arguments[1] = "tuesday.parquet"
    assert run(*arguments, "--append").code == 0
    kept = Tallies.load(days / "out").total
    assert (kept.people, kept.refused) == (1199, {"unknown label": 1})
    every = sorted((days / "out").iterdir())
    assert run("release", *every, "-o", "all.json", "--json").document["people"] == 1199


def test_groups_of_the_same_files_are_released_alone_and_together(run: Run, days: Path) -> None:
    for output, by in (("regions", ["region"]), ("both", ["region", "period"])):
        labels = [part for name in by for part in ("--by", name)]
        ended = run("tally", "monday.parquet", "--survey", "survey.json", *labels, "-o", output)
        assert ended.code == 0, ended.err
    ended = run("release", "regions/north.parquet", "-o", "north.json", "--json")
    assert ended.document["group"] == {"region": "north"}
    assert json.loads(Path("north.json").read_text())["people"] == 300
    ended = run("release", "regions/north.parquet", "-o", "north.csv")
    assert "300 people, region north, survey" in ended.out
    ended = run(
        "release", "regions/north.parquet", "regions/south.parquet", "-o", "x.csv", "--json"
    )
    assert ended.document["people"] == 570
    assert "group" not in ended.document
    for twice in (
        ["regions/north.parquet", "both/north, 2026-11-01.parquet"],
        ["regions/north.parquet", "regions/south.parquet", "both/north, 2026-11-01.parquet"],
        ["regions/north.parquet", "regions/north.parquet"],
    ):
        ended = run("release", *twice, "-o", "y.csv")
        assert ended.code == 2
        assert "counts reports that another tally counts" in ended.err
    ended = run("release", "regions/and%2For.parquet", "-o", "small.csv")
    assert ended.code == 2
    assert "'and/or' has 30 reports; groups under 100 are not displayed." in ended.err
    assert not Path("small.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["monday.parquet", "--by", "region", "--append"], "monday.parquet is counted already"),
        (["tuesday.parquet", "--by", "region"], "'out' exists already; --append adds to it"),
        (["tuesday.parquet", "--by", "period", "--append"], "out holds tallies by region"),
        (["tuesday.parquet", "--by", "color", "--append"], "out holds tallies by region"),
        (["tuesday.parquet", "--append"], "out is not a tally"),
        (["out", "--by", "region", "--append"], "and%2For.parquet is a tally: it holds counts"),
        (["tuesday.parquet", "--by", "color", "-o", "new"], "The survey has no label 'color'"),
        (["tuesday.parquet", "--by", "region", "--append", "-o", "survey.json"], "not a folder"),
        (["tuesday.parquet", "--append", "-o", "out/north.parquet"], "the tally of one group"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence_and_changes_nothing(
    run: Run, days: Path, arguments: list[str], why: str
) -> None:
    common = ["--survey", "survey.json"]
    assert run("tally", "monday.parquet", *common, "--by", "region", "-o", "out").code == 0
    before = {entry: entry.read_bytes() for entry in sorted(days.rglob("*")) if entry.is_file()}
    given = arguments if "-o" in arguments else [*arguments, "-o", "out"]
    ended = run("tally", *given, *common)
    assert (ended.code, ended.out) == (2, "")
    assert why in ended.err
    assert "Traceback" not in ended.err
    after = {entry: entry.read_bytes() for entry in sorted(days.rglob("*")) if entry.is_file()}
    assert after == before


def test_a_link_to_a_folder_stays_one_and_a_folder_in_use_is_refused(
    run: Run, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = ["tally", "--survey", days / "survey.json", "--by", "region"]
    assert run(*count, "monday.parquet", "-o", "out").code == 0
    (days / "link").symlink_to("out")
    ended = run(*count, "tuesday.parquet", "-o", "link", "--append")
    assert ended.code == 0, ended.err
    assert (days / "link").is_symlink()
    assert Tallies.load("link").total.people == Tallies.load("out").total.people == 1200
    monkeypatch.chdir(days / "out")
    assert Tallies.load(".").total.people == 1200
    ended = run(*count, days / "tuesday.parquet", "-o", ".", "--append", "--again")
    assert ended.code == 2
    assert ended.err.endswith("give the command outside it.\n")
    assert len(list((days / "out").iterdir())) == 3


def test_counts_of_ones_own_group_by_are_counted_and_other_columns_named(
    run: Run, days: Path
) -> None:
    single = pd.read_parquet(days / "monday.parquet")
    keys = ["slot", "value", "region", "period"]
    counted = single.groupby(keys).size().reset_index(name="count")
    counted.to_parquet(days / "counted.parquet")
    assert len(counted) < 300
    for engine in ("duckdb", "polars"):
        ended = run(
            "tally", "counted.parquet", "--survey", "survey.json", "--by", "region",
            "--engine", engine, "-o", engine,
        )  # fmt: skip
        assert "600 reports to survey" in ended.out
        expected = SURVEY.tally(days / "monday.parquet", by="region")
        assert dict(Tallies.load(days / engine)) == dict(expected)
    refusals = {
        "n": (counted.rename(columns={"count": "n"}), "has a column 'n'"),
        "no count": (counted.assign(count=0.5), "a whole number below 2^53, and does not in"),
        "text": (counted.assign(count="many"), "one column count, or none, and it holds numbers"),
    }
    for frame, words in refusals.values():
        frame.to_parquet(days / "odd.parquet")
        ended = run("tally", "odd.parquet", "--survey", "survey.json", "-o", "odd.tally")
        assert (ended.code, ended.out) == (2, "")
        assert words in " ".join(ended.err.split())
        assert not (days / "odd.tally").exists()
