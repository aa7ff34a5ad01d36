"""`deniable new` and `explain`, and files that declare values."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from cli_parts import Run

from deniable.lab.rivals.registry import RIVALS
from deniable.mechanisms.registry import known_mechanisms


def test_values_are_declared_in_a_file(run: Run, mixed: Path, tmp_path: Path) -> None:
    declared = (mixed, "--values", "values.json")
    made = run("new", *declared, "--complete", "-o", "s.json")
    assert (made.code, made.err) == (0, "")
    assert "4 attributes of 2 to 4 values, order 2" in made.out
    schema = json.loads((tmp_path / "s.json").read_text())["schema"]
    assert "observed" not in schema, "a real survey may use it"
    assert {one["name"]: one["values"] for one in schema["attributes"]} == {
        "school": ["none", "some", "much", "unknown"],
        "age": ["below 30", "30 to 65.5", "65.5 or more"],
        "children": [0, 1, 2],
        "owner": [False, True],
    }
    rows = run("simulate", *declared, "--mechanism", "all", "--seed", "x", "--json").document
    assert [row["mechanism"] for row in rows] == [*known_mechanisms(), *RIVALS]
    plan = run("plan", *declared, "--json").document
    same = run("plan", "--sizes", "4,3,3,2", "--json").document
    for row, other in zip(plan["rows"], same["rows"], strict=True):
        read, expected = row.pop("read_tv"), other.pop("read_tv")
        assert (read is None) == (expected is None), "data tells what is read of people like those"
        found, prior = row.pop("detectable_v"), other.pop("detectable_v")
        assert (found is None) == (prior is None)
        assert row == other


def test_columns_that_are_not_chosen_may_be_declared_all_the_same(run: Run, mixed: Path) -> None:
    ended = run("simulate", mixed, "--values", "values.json", "--columns", "owner,age", "--json")
    assert [row["attributes"] for row in ended.document] == [2]
    Path("values.json").write_text('{"agee": {"bins": [30]}}')
    typo = run("simulate", mixed, "--values", "values.json", "--columns", "owner,age")
    assert "Column 'age' is not true/false: declare what it may hold with --values" in typo.err
    extra = run("simulate", "abortion", "--values", "values.json")
    assert "The data has no column 'agee', which --values declares." in extra.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "'v.json' cannot be read: No such file or directory"),
        ("{", "'v.json' is not JSON"),
        ("[" * 100_000, "'v.json' is not JSON"),
        (b"\xff\xfe", "'v.json' is not a text file"),
        ('{"age": [1], "age": [2]}', "'v.json' names something twice"),
        ('["age"]', "'v.json' must map columns to their values"),
        ('{"age": 7}', "Column 'age' in 'v.json' needs a list of values"),
        ('{"age": "old"}', "Column 'age' in 'v.json' needs a list of values"),
        ('{"age": {"edges": [7]}}', "Column 'age' in 'v.json' needs a list of values"),
        ('{"age": {"bins": [7], "else": 1}}', "Column 'age' in 'v.json' needs a list of values"),
        ('{"age": {"bins": [7, 7]}}', "bin edges of 'age' must be finite and increasing"),
        ('{"age": {"bins": [NaN]}}', "'v.json' is not JSON"),
        ('{"age": {"bins": []}}', "bins of column 'age' have no edges"),
        ('{"age": []}', "Attribute 'age' has no values"),
        ('{"age": [1]}', "Attribute 'age' has only one value"),
        ('{"age": [[1], [2]]}', "Attribute 'age' declares a list as a value"),
        ('{"age": [18, 19]}', "Attribute 'age' has an undeclared value in"),
        ('{"height": [18, 19], "age": {"bins": [7]}}', "The data has no column 'height'"),
        ("{}", "Column 'age' is not true/false"),
    ],
)
def test_a_file_of_values_that_will_not_do_is_refused(
    run: Run, tmp_path: Path, text: str | bytes | None, reason: str
) -> None:
    (tmp_path / "ages.csv").write_text("age,owner\n" + "30,true\n40,false\n" * 9)
    if text is not None:
        held = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "v.json").write_bytes(held)
    for command in (("new", "-o", "s.json"), ("simulate",), ("plan",)):
        ended = run(*command, "ages.csv", "--values", "v.json", "--json")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert reason in ended.err
        assert ended.err.rstrip().endswith(".")


def test_new_freezes_a_survey(run: Run, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    ended = run("new", data, "--order", 2, "--epsilon", 0.5, "-o", path, "--json")
    made = ended.document
    form = json.loads(path.read_text())
    assert made["mechanism"] == form["mechanism"]
    assert (form["epsilon"], form["order"]) == ("0.5", 2)
    refused = run("new", data, "-o", path)
    assert refused.code == 2
    assert "exists already; a survey is frozen" in refused.err
    assert json.loads(path.read_text()) == form, "another survey does not replace it"
    again = run("new", data, "--order", 2, "--epsilon", 0.5, "-o", path)
    assert "written to s.json" in again.out.replace("\n", " ")


def test_explain_says_what_is_asked_and_what_leaves(run: Run, survey: Path) -> None:
    ended = run("explain", survey, "--slot", 5)
    assert (ended.code, ended.err) == (0, "")
    words = " ".join(ended.out.split())
    for part in (
        "question 5 (of 0 to 9)",
        "Is exactly one of these two true for you? • a – yes • c – yes",
        "Your device reports the opposite with probability 26.9 %.",
        "2 of your 4 attributes",
        "suspicion of 50% about you becomes at most 73.2%",
        "5 bits",
    ):
        assert part in words
    question = run("explain", survey, "--slot", 5, "--json").document
    assert question["slot"] == "5"
    assert question["epsilon"] <= 1
    assert question["attributes"] == ["a", "c"]
    slots = {run("explain", survey, "--json").document["slot"] for _ in range(40)}
    assert len(slots) > 1, "without --slot any question is explained"


def test_explain_lists_every_value_when_asked(run: Run, mixed: Path) -> None:
    school = ["none", "some", "much", *"abcdef"]
    Path("values.json").write_text(json.dumps({"school": school}))
    chosen = ("--columns", "school,owner", "--values", "values.json", "--complete", "--mechanism")
    assert run("new", mixed, *chosen, "MargPS", "-o", "s.json").code == 0
    short, full = run("explain", "s.json").out, run("explain", "s.json", "--full").out
    assert "--full lists the values that are left out here." in short
    assert "• school – none, some, much, a or 5 more" in short
    assert "• school – none, some, much, a, b, c, d, e or f" in full
    assert "--full" not in full
    question = run("explain", "s.json", "--full", "--json").document
    assert "• school – none, some, much, a, b, c, d, e or f\n" in question["english"]


def test_explain_of_yes_and_no_leaves_nothing_out(run: Run, data: Path) -> None:
    for name in ("MargPS", "InpHT", "InpPS"):
        assert run("new", data, "--mechanism", name, "-o", f"{name}.json").code == 0
        assert "--full" not in run("explain", f"{name}.json").out


def test_names_are_never_taken_for_markup(run: Run, tmp_path: Path) -> None:
    name = "[/bold] [red]x[/] :heart:"
    pd.DataFrame({name: [True, False], "b": [True, True]}).to_csv(tmp_path / "odd.csv", index=False)
    path = tmp_path / "[odd].json"
    assert "written to [odd].json" in " ".join(
        run("new", "odd.csv", "--mechanism", "InpHT", "-o", path).out.split()
    )
    for slot in range(3):
        ended = run("explain", path, "--slot", slot)
        assert (ended.code, ended.err) == (0, "")
        assert (name in ended.out) == (slot != 1)
    assert run("simulate", "odd.csv", "--mechanism", "all").code == 0
