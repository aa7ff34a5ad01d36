"""The command that compares groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable import ReportBatch, Schema, Survey, Tally


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A folder of tallies by region, one of which is too small."""
    survey = Survey(
        Schema.of(tip=[False, True], use=["rare", "daily"]),
        2,
        2.0,
        "MargPS",
        labels={"region": ["north", "south", "isles"]},
    )
    random = np.random.default_rng(3)
    region = np.repeat(["north", "south", "isles"], [3000, 1500, 40])
    frame = pd.DataFrame(
        {
            "tip": random.random(4540) < np.where(region == "south", 0.7, 0.3),
            "use": random.choice(["rare", "daily"], 4540),
            "region": region,
        }
    )
    survey.tally(survey.randomize(frame), by="region").save(tmp_path / "groups")
    return tmp_path / "groups"


def test_a_folder_of_groups_is_compared(run, groups: Path, tmp_path: Path) -> None:
    ended = run("compare", "groups")
    assert (ended.code, ended.err) == (0, "")
    assert "1 of 1 tables differ between the 2 groups" in ended.out
    assert "tip × use" in ended.out
    assert "south" in ended.out
    assert "Under 100 reports, and so not displayed: isles." in ended.out
    document = run("compare", "groups", "--order", 1, "--json", "-o", "chart.svg").document
    assert document["not_displayed"] == ["isles"]
    assert document["output"] == "chart.svg"
    assert [each["name"] for each in document["groups"]] == ["north", "south"]
    assert document["groups"][1] == {
        "name": "south", "labels": {"region": "south"}, "people": 1500
    }  # fmt: skip
    first = document["tables"][0]
    assert (first["attributes"], first["cell"]) == (["tip"], [True])
    assert (first["higher"], first["lower"], first["df"]) == ("south", "north", 1)
    assert 0.2 < first["low"] < first["difference"] < first["high"] < 0.6
    drawn = (tmp_path / "chart.svg").read_text("utf-8")
    assert "tip by region" in drawn  # the table that differs most surely
    assert "isles" not in drawn


def test_one_table_of_two_files_is_compared(run, groups: Path) -> None:
    files = ["groups/south.parquet", "groups/north.parquet"]
    ended = run("compare", *files, "--table", "use, tip", "-o", "c.html")
    assert (ended.code, ended.err) == (0, "")
    assert "use daily, not tip" in ended.out
    assert "Any difference between groups: p <" in ended.out
    assert "use × tip is drawn in c.html." in ended.out
    document = run("compare", *files, "--table", "use,tip", "--json").document
    assert document["attributes"] == ["use", "tip"]
    assert document["df"] == 3
    table = Tally.load(groups / "south.parquet").release().marginal("use", "tip")
    assert [cell["cell"] for cell in document["cells"]] == [
        *(["rare", False], ["rare", True], ["daily", False], ["daily", True])
    ]
    found = [cell["groups"]["south"]["estimate"] for cell in document["cells"]]
    assert found == pytest.approx(table.values.ravel().tolist())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["groups/north.parquet"], "two groups of at least 100 reports"),
        (["groups/north.parquet", "groups/isles.parquet"], "two groups of at least 100 reports"),
        (["groups", "groups/north.parquet"], "the same name"),
        (["groups", "--table", "tip", "--order", 1], "give one of them"),
        (["groups", "--table", "nothing"], "no attribute 'nothing'"),
        (["groups", "--table", "tip,use,tip"], "twice"),
        (["groups", "-o", "chart.txt"], "must end in"),
        (["nowhere.parquet", "groups"], "nowhere.parquet"),
    ],
)
def test_bad_input_gets_one_sentence(run, groups: Path, tmp_path: Path, arguments, words) -> None:
    ended = run("compare", *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
    assert not (tmp_path / "chart.txt").exists()


def test_groups_that_may_be_the_same_people_are_said_to_be(
    run, groups: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy.parquet").write_bytes((groups / "north.parquet").read_bytes())
    ended = run("compare", "groups/north.parquet", "copy.parquet", "--json")
    assert ended.code == 0
    assert ended.err == (
        "deniable: north and copy may count the same reports; tests are of different people.\n"
    )
    assert ended.document["overlap"] is True
    ended = run("compare", "groups", "--json")
    assert (ended.err, ended.document["overlap"]) == ("", False)


def test_what_is_not_known_is_said_to_be(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = Survey(Schema.binary(*"abc"), 2, 1.0, "MargPS", labels={"region": ["x", "y"]})
    slots = np.full(300, 0)
    region = np.repeat(np.array(["x", "y"], object), 150)
    batch = ReportBatch(survey.id, slots, np.arange(300) % 4, labels={"region": region})
    survey.tally(batch, by="region").save("groups")
    pairs = ["a,b", "a,c", "b,c"]
    made = {pair: run("compare", "groups", "--table", pair, "-o", "c.svg") for pair in pairs}
    assert sorted(ended.code for ended in made.values()) == [0, 2, 2]
    for ended in made.values():
        assert "Any difference between groups:" in ended.out  # the drawing comes last
        assert ("not known" in ended.out) == (ended.code == 2)
    out = run("compare", "groups").out
    assert "not known" in out
    assert "nan" not in out
