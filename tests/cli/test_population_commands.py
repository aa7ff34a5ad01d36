"""The commands that adjust to a known population, and let small groups borrow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_parts import foreign_options

from deniable import Schema, Survey
from deniable.api.tally import Tallies

EQUAL = "north=1,east=1,south=1,west=1,isles=1"
PLACES = ["north", "east", "south", "west", "isles", "hills"]
MARGINS = {"use": {"rare": 0.7, "daily": 0.3}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a tally of everybody, and a folder of tallies by place, one of them small."""
    survey = Survey(
        Schema.of(tip=[False, True], use=["rare", "daily"]), 2, 3.0, labels={"place": PLACES}
    )
    random = np.random.default_rng(4)
    place = np.repeat(PLACES, [3000, 2500, 2000, 1500, 1000, 60])
    use = np.where(random.random(len(place)) < 0.5, "daily", "rare")
    tip = random.random(len(place)) < np.where(use == "daily", 0.7, 0.2)
    frame = pd.DataFrame({"tip": tip, "use": use, "place": place})
    reports = survey.randomize(frame, "places")
    survey.tally(reports, simulation=True).save(tmp_path / "all.tally")
    survey.tally(reports, by="place", simulation=True).save(tmp_path / "places")
    (tmp_path / "margins.json").write_text(json.dumps(MARGINS))
    return tmp_path


def test_a_release_is_adjusted_to_known_shares(run, folder: Path) -> None:
    ended = run("release", "all.tally", "--poststratify", "margins.json", "-o", "report.html")
    assert (ended.code, ended.err) == (0, "")
    assert "adjusted to a known population: use (source given by the user)" in ended.out
    assert "does not repair non-response that depends on the answers themselves" in " ".join(
        ended.out.split()
    )
    page = (folder / "report.html").read_text("utf-8")
    assert "<strong>ADJUSTED.</strong>" in page
    ended = run("release", "all.tally", "--poststratify", "margins.json")
    assert "of the population" in ended.out
    assert "70.0%" in ended.out
    document = run("release", "all.tally", "--poststratify", "margins.json", "--json").document
    assert document["population"]["margins"] == MARGINS
    rows = {(row["attribute"], row["value"]): row for row in document["shares"]}
    tip = rows["tip", True]
    assert abs(tip["answered"] - 0.45) < 0.1
    assert abs(tip["estimate"] - 0.35) < 0.1
    assert tip["low"] < tip["estimate"] < tip["high"]
    assert rows["use", "rare"]["estimate"] == pytest.approx(0.7)
    run("release", "all.tally", "--poststratify", "margins.json", "-o", "tables.csv")
    table = pd.read_csv(folder / "tables.csv")
    assert set(table["kind"]) == {"adjusted"}


def test_groups_are_adjusted_by_their_labels_and_by_attributes(run, folder: Path) -> None:
    shares = {"place": dict.fromkeys(PLACES, 1 / 6)}
    (folder / "places.json").write_text(json.dumps(shares))
    ended = run("release", "places", "--poststratify", "places.json")
    assert ended.code == 2
    assert "'isles' has under 100" not in ended.err
    assert "'hills' has under 100 reports" in ended.err
    (folder / "places" / "hills.tally").unlink(missing_ok=True)
    for path in (folder / "places").glob("hills*"):
        path.unlink()
    shares["place"] = dict.fromkeys(PLACES[:-1], 0.2) | {"hills": 0.0}
    (folder / "places.json").write_text(json.dumps(shares))
    document = run("release", "places", "--poststratify", "places.json", "--json").document
    assert document["population"]["margins"]["place"]["isles"] == pytest.approx(0.2)
    (folder / "places.json").write_text(json.dumps(shares | MARGINS))
    ended = run("release", "places", "--poststratify", "places.json", "-o", "whole.json")
    assert (ended.code, ended.err) == (0, "")
    assert (
        json.loads((folder / "whole.json").read_text("utf-8"))["population"]["method"] == "raking"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "margins.json is not a JSON file of known shares."),
        ("[1]", "maps names to the shares of their values"),
        ('{"use": {"rare": 0.7, "daily": NaN}}', "is not a JSON file"),
        ('{"use": {"rare": 0.7, "rare": 0.3}}', "margins.json has 'rare' twice in one place."),
        ('{"use": {"rare": 0.7}}', "lack 'daily'"),
        ('{"used": {"rare": 1}}', "There is no attribute 'used'"),
        ('{"place": {"north": 1}}', "lack 'east'"),
        (json.dumps({"place": dict.fromkeys(PLACES, 1 / 6)}), "'place' is a label: count by it"),
    ],
)
def test_known_shares_that_make_no_sense_end_in_one_sentence(
    run, folder: Path, text: str, words: str
) -> None:
    (folder / "margins.json").write_text(text)
    ended = run("release", "all.tally", "--poststratify", "margins.json")
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


def test_files_and_options_that_do_not_go_together_are_refused(run, folder: Path) -> None:
    for arguments, words in (
        (("all.tally", "--poststratify", "no.json"), "Cannot read no.json"),
        (("all.tally", "--borrow", "tip"), "--borrow is of a folder of groups"),
        (("places", "--borrow", "tips"), "There is no attribute 'tips'"),
    ):
        ended = run("release", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert words in ended.err
    ended = run(
        *("release", "all.tally", "--poststratify", "margins.json", "-o", "a.csv"),
        *("--consistency", "joint"),
    )
    assert ended.code == 2
    assert 'The consistency "joint" is not on offer' in ended.err


def test_small_groups_borrow(run, folder: Path) -> None:
    ended = run("release", "places", "--borrow", "tip")
    assert (ended.code, ended.err) == (0, "")
    assert "borrowed" in ended.out
    assert "under 100" in ended.out
    document = run("release", "places", "--borrow", "tip", "--json").document
    rows = {row["place"]: row for row in document["borrowed"]["rows"]}
    assert rows["north"]["people"] == 3000
    assert rows["hills"]["people"] is None
    assert rows["hills"]["own_weight"] < rows["north"]["own_weight"]
    assert rows["hills"]["low"] < 0.45 < rows["hills"]["high"]
    document = run("compare", "places", "--table", "tip", "--json").document
    assert [row["place"] for row in document["borrowed"]["rows"]] == ["hills"]
    assert document["not_displayed"] == ["hills"]
    assert "Shares of tip, borrowed" in run("compare", "places", "--table", "tip").out
    assert "borrowed" not in run("compare", "places", "--table", "tip,use", "--json").document


def test_a_folder_of_groups_becomes_a_folder_of_reports(run, folder: Path) -> None:
    ended = run("release", "places", "-o", "reports")
    assert (ended.code, ended.err) == (0, "")
    assert {path.name for path in (folder / "reports").iterdir()} == {
        f"{place}.html" for place in PLACES[:-1]
    }
    assert "hills" in ended.out.partition("not displayed: ")[2]
    assert "west" in (folder / "reports" / "west.html").read_text("utf-8")
    arguments = ("release", "places", "-o", "tables/of-{group}.csv", "--consistency", "joint")
    document = run(*arguments, "--json").document
    assert (document["by"], document["not_displayed"]) == (["place"], ["hills"])
    groups = {row["name"]: row for row in document["groups"]}
    assert list(groups) == sorted(PLACES[:-1], key=list(groups).index)
    west = groups["west"]
    assert (west["people"], west["tables"], west["applied"]) == (1500, 3, "joint")
    assert west["output"] == str(Path("tables", "of-west.csv"))
    assert run("release", "places/west.parquet", "-o", "w.csv", "--consistency", "joint").code == 0
    assert (folder / "tables" / "of-west.csv").read_text() == (folder / "w.csv").read_text()


@pytest.mark.parametrize("weights", ["north=6, east=1,south=1,west=1,isles=1", "shares.json"])
def test_groups_are_combined_by_known_shares(run, folder: Path, weights: str) -> None:
    shares = dict.fromkeys(PLACES[:-1], 0.1) | {"north": 0.6}
    (folder / "shares.json").write_text(json.dumps(shares))
    arguments = ("release", "places", "--weights", weights, "-o", "whole.csv")
    document = run(*arguments, "--consistency", "none", "--json").document
    assert document["strata"] == pytest.approx(shares)
    assert document["people"] == 10_000
    expected = Tallies.load("places").release().combine(shares).marginal("tip", "use")
    cells = pd.read_csv("whole.csv")
    own = cells[cells["attribute_2"].notna()]
    assert own["estimate"].tolist() == pytest.approx(expected.values.ravel().tolist())
    ended = run(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert "3 tables of 10,000 people" in ended.out
    assert "the shares that you gave: north 60.0%, east 10.0%," in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("places", "-o", "out.csv"), "put {group} into the name, such as out-{group}.csv"),
        (("places", "-o", "{group}.txt"), "must end in"),
        (("places", "-o", "places"), "places holds the tallies; name another folder"),
        (("places", "-o", "places/{group}.csv"), "places holds the tallies"),
        (("places", "-o", "all.tally/{group}.csv"), "The folder 'all.tally' cannot be made"),
        (("places",), "Missing option '--output'"),
        (("places", "--borrow", "tip", "-o", "out"), "--borrow tells of all groups at once"),
        (("all.tally", "--weights", "north=1"), "--weights are of the groups of a folder"),
        (("places", "--weights", "north=1", "--poststratify", "margins.json"), "Give one of"),
        (("places", "--weights", "north=1", "--borrow", "tip"), "Give one of"),
        (("places", "--weights", "north", "-o", "x.csv"), "--weights needs groups and their"),
        (("places", "--weights", "north=1,north=2", "-o", "x.csv"), "gives 'north' twice"),
        (("places", "--weights", f"{EQUAL},hills=2", "-o", "x.csv"), "'hills' has under 100"),
        (("places", "--weights", f"{EQUAL},moon=2", "-o", "x.csv"), "'moon'"),
        (("places", "--weights", f"{EQUAL}e400", "-o", "x.csv"), "weight"),
        (("places", "--weights", EQUAL.replace("1", "-1"), "-o", "x.csv"), "weight"),
        (("places", "--weights", EQUAL.replace("1", "nan"), "-o", "x.csv"), "weight"),
        (("places", "--weights", "north=1", "-o", "x.csv"), "'east' needs a weight"),
        (("places", "--weights", "margins.json", "-o", "x.csv"), "'north' needs a weight"),
        (("places", "--weights", "no.json", "-o", "x.csv"), "Cannot read no.json"),
        (("places", "--weights", EQUAL, "-o", "x"), "must end in"),
        (("places", "--weights", EQUAL), "Missing option '--output'"),
    ],
)
def test_what_cannot_be_done_with_groups_is_one_sentence(
    run, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = sorted(folder.rglob("*"))
    ended = run("release", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not foreign_options("release", ended.err)
    assert sorted(folder.rglob("*")) == before, "nothing is written after a refusal"
