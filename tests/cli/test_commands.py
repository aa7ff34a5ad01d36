"""Every command: what it prints, that it is reproducible, and how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.mechanisms.registry import MECHANISMS

NAMES = list(MECHANISMS)
SECRET = "Rumpelstiltskin"
Run = Callable[..., Any]


def spawn(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-c", "from deniable.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, cwd=cwd, env=os.environ | environment, timeout=600
    )


@pytest.fixture
def survey(tmp_path: Path, data: Path, run: Run) -> Path:
    path = tmp_path / "survey.json"
    assert run("new", data, "--mechanism", "InpHT", "--epsilon", "1", "-o", path).code == 0
    return path


# plan


def test_plan_prints_its_fields(run: Run) -> None:
    ended = run(
        "plan", "--attributes", 6, "--order", 2, "--epsilon", 1.1, "--people", 9999, "--json"
    )
    plan = ended.document
    assert (ended.code, ended.err) == (0, "")
    assert {"unbiased_bound_tv", "recommended", "rows"} <= set(plan)
    assert {row["mechanism"] for row in plan["rows"]} == set(NAMES)
    for row in plan["rows"]:
        assert {"mechanism", "predicted_tv", "bits_per_report", "variance_over_bound"} <= set(row)
    by_name = {row["mechanism"]: row for row in plan["rows"]}
    assert by_name["InpEM"]["predicted_tv"] is None
    assert plan["recommended"] == plan["rows"][0]["mechanism"]
    assert plan["people"] == 9999


def test_plan_in_words(run: Run, data: Path) -> None:
    ended = run(
        "plan", "--data", data, "--columns", "a, b,c", "--people", 500, "--target-error", 0.05
    )
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("3 attributes, tables of 2, epsilon 1.1, 500 people.")
    assert all(name in ended.out for name in NAMES)
    assert "people for target" in ended.out
    assert "No unbiased protocol can expect less than" in " ".join(ended.out.split())
    many = run("plan", "--attributes", 5000)
    assert "InpRR takes at most 20 attributes, got 5000" in many.out


def test_a_target_error_says_how_many_people(run: Run) -> None:
    impossible = ("plan", "--attributes", 6, "--people", 500, "--target-error", "1e-200")
    assert "people for target" in run(*impossible).out
    rows = run(*impossible, "--json").document["rows"]
    needed = {row["mechanism"]: row["people_needed"] for row in rows}
    assert needed.pop("InpEM") is None
    assert min(needed.values()) > 10**390


def test_people_come_from_a_target_error_or_are_a_hundred_thousand(run: Run) -> None:
    assert run("plan", "--attributes", 6, "--json").document["people"] == 100_000
    target = ("plan", "--attributes", 6, "--target-error", 0.01)
    plan = run(*target, "--json").document
    assert plan["people"] == plan["rows"][0]["people_needed"]
    said = " ".join(run(*target).out.split())
    assert f"{plan['people']:,} people, as {plan['recommended']} needs for an error of 0.01" in said


def test_plan_tells_what_a_device_pays(run: Run) -> None:
    rows = run("plan", "--attributes", 6, "--json").document["rows"]
    costs = {row["mechanism"]: (row["attributes_read"], row["random_words"]) for row in rows}
    assert costs["MargPS"] == (2, 3)
    assert costs["InpRR"] == (6, 64)
    lines = run("plan", "--attributes", 6).out.splitlines()
    assert next(line.split()[-3:] for line in lines if "InpRR" in line) == ["64", "6", "64"]


def test_plan_tells_of_shuffling_only_if_somebody_shuffles(run: Run) -> None:
    command = ("plan", "--attributes", 8, "--epsilon", 1.1, "--people", 1 << 18)
    quiet = run(*command)
    assert "mixes" not in quiet.out
    assert run(*command, "--json").document["shuffled"] is None
    shuffled = (*command, "--shuffler", "Acme [Mixing]")
    drawn = run(*shuffled, "--json").document["shuffled"]
    assert set(drawn) == {"shuffler", "delta", "slots", "crowd", "epsilon"}
    assert (drawn["crowd"], drawn["slots"], drawn["delta"]) == (1 << 18, "drawn", 1e-9)
    said = " ".join(run(*shuffled).out.split())
    assert "Acme [Mixing], independent of the collector" in said
    assert "a report hides among all 262,144 people" in said
    assert "epsilon 0.062 with delta 1e-09" in said
    assigned = " ".join(run(*shuffled, "--slots", "assigned").out.split())
    assert "hides only among the people with the same slot" in assigned
    few = " ".join(run(*shuffled, "--slots", "assigned", "--people", 5000).out.split())
    assert "too few to promise more than the epsilon 1.1 of one report" in few


def test_plan_gives_advice_on_tables_of_three(run: Run) -> None:
    command = ("plan", "--attributes", 6, "--order")
    (note,) = run(*command, 3, "--json").document["notes"]
    assert note in " ".join(run(*command, 3).out.split())
    assert run(*command, 2, "--json").document["notes"] == []


def test_plan_takes_numbers_of_values(run: Run, tmp_path: Path) -> None:
    plan = run("plan", "--sizes", "2, 3,5", "--people", 9999, "--json").document
    assert plan["attributes"] == 3
    assert [row["mechanism"] for row in plan["rows"]][-1] == "InpEM"
    assert {row["mechanism"] for row in plan["rows"]} == set(NAMES)
    words = run("plan", "--sizes", "2,3,5", "--people", 9999)
    assert words.out.startswith("3 attributes of 2 to 5 values, tables of 2, ")
    assert "sure" not in words.out, "no column of dashes"
    assert run("plan", "--sizes", "3,3").out.startswith("2 attributes of 3 values, ")
    assert (
        run("plan", "--sizes", "2,2", "--json").out == run("plan", "--attributes", 2, "--json").out
    )
    assert run("plan", "--sizes", "2,3", "--chart", "plan.json").code == 0
    assert "InpES" in (tmp_path / "plan.json").read_text()


def test_plan_says_when_tables_would_be_noise(run: Run) -> None:
    command = ("plan", "--sizes", "16,15,42", "--people")
    few, many = (" ".join(run(*command, people).out.split()) for people in (1000, 10**9))
    assert "above 1 nothing else: it takes more people, a larger epsilon or coarser values" in few
    assert "noise" not in many
    for line in run(*command, 1).out.splitlines():
        assert not line.startswith("Subspace") or len(line) < 80


def test_plan_draws_a_chart(run: Run, tmp_path: Path) -> None:
    ended = run("plan", "--attributes", 4, "--chart", "plan.json", "--json")
    assert (ended.code, ended.err, ended.document["attributes"]) == (0, "", 4)
    assert len(json.loads((tmp_path / "plan.json").read_text())["hconcat"]) == 2
    assert (
        "The curves are in plan.svg." in run("plan", "--attributes", 4, "--chart", "plan.svg").out
    )
    assert (tmp_path / "plan.svg").read_text().startswith("<svg")


# simulate


def test_simulate_prints_its_fields_for_every_mechanism(run: Run, data: Path) -> None:
    ended = run("simulate", data, "--mechanism", "all", "--repeat", 2, "--people", 500, "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = ended.document
    assert [row["mechanism"] for row in rows] == NAMES
    for row in rows:
        assert set(row) == {
            "mechanism", "attributes", "order", "epsilon", "people", "repeat", "mean_tv",
            "predicted_tv", "seconds", "reports_per_second", "consistency", "applied", "tables",
        }  # fmt: skip
        assert (row["consistency"], row["applied"], row["tables"]) == ("none", "none", 2)
        assert (row["attributes"], row["order"], row["epsilon"]) == (4, 2, 1.1)
        assert (row["people"], row["repeat"]) == (500, 2)
        assert (row["predicted_tv"] is None) == (row["mechanism"] == "InpEM")


def test_simulate_compares_larger_tables_by_a_model(run: Run, data: Path) -> None:
    larger = ("simulate", data, "--order", 2, "--tables", 3, "--seed", "x")
    [row] = run(*larger, "--consistency", "model", "--json").document
    assert (row["order"], row["tables"], row["applied"]) == (2, 3, "model")
    assert row["predicted_tv"] is None
    said = run(*larger, "--consistency", "model").out
    assert "all tables of 3 from surveys of order 2" in said
    assert "Consistency model." in said
    assert run(*larger).code == 2
    assert run("simulate", data, "--tables", 99).code == 2


def without_times(rows: list[dict]) -> list[dict]:
    timed = ("seconds", "reports_per_second")
    return [{k: v for k, v in row.items() if k not in timed} for row in rows]


def test_a_seed_makes_simulate_reproducible_in_any_process(run: Run, data: Path) -> None:
    command = ("simulate", data, "--mechanism", "all", "--people", 300, "--json")
    first = without_times(run(*command, "--seed", "x").document)
    assert without_times(run(*command, "--seed", "x").document) == first
    assert without_times(run(*command, "--seed", "y").document) != first
    assert without_times(run(*command).document) != without_times(run(*command).document)
    apart = spawn(*command, "--seed", "x", cwd=data.parent)
    assert without_times(json.loads(apart.stdout)) == first


def test_any_text_is_a_seed(run: Run, data: Path) -> None:
    for seed in ("", "ü", "\udcff", "5"):
        assert run("simulate", data, "--seed", seed, "--json").code == 0


def test_simulate_takes_every_row_once_unless_people_are_given(run: Run, data: Path) -> None:
    [row] = run("simulate", data, "--mechanism", "InpHT", "--json").document
    assert (row["people"], row["repeat"]) == (800, 1)
    ended = run("simulate", data, "--mechanism", "margrs, InpHT", "--columns", "c,a")
    assert ended.out.startswith("800 people, 2 attributes, all tables of 2, epsilon 1.1, 1 repeat")
    assert "MargRR" in ended.out
    assert "InpPS" not in ended.out


def test_a_simulation_without_any_error_can_be_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("a\ntrue\nfalse\n")
    for seed in range(6):
        ended = run("simulate", "two.csv", "--order", 1, "--mechanism", "InpHT", "--seed", seed)
        assert (ended.code, ended.err) == (0, "")


def test_mechanisms_that_do_not_fit_are_left_out_of_many_and_refused_alone(
    run: Run, tmp_path: Path
) -> None:
    wide = pd.DataFrame(np.ones((5, 30), bool), columns=[f"a{i}" for i in range(30)])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    rows = run("simulate", "wide.csv", "--mechanism", "all", "--json").document
    assert [row["mechanism"] for row in rows] == [
        *("InpHT", "MargRR", "MargPS", "MargHT", "InpEM", "InpES", "Subspace")
    ]
    assert "InpRR takes at most" in run("simulate", "wide.csv", "--mechanism", "all").out
    assert run("simulate", "wide.csv", "--mechanism", "InpRR").code == 2
    assert run("simulate", "wide.csv", "--mechanism", "InpRR,InpPS").code == 2


def test_a_simulation_of_noise_says_so(run: Run, tmp_path: Path) -> None:
    cells = np.random.default_rng(0).integers(0, 40, (500, 3))
    pd.DataFrame(cells, columns=list("xyz")).to_csv(tmp_path / "wide.csv", index=False)
    ended = run("simulate", "wide.csv", "--observed", "--mechanism", "Subspace")
    assert ended.out.startswith("500 people, 3 attributes of 40 values, all tables of 2, ")
    assert "above 1 nothing else" in " ".join(ended.out.split())


# values


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return the path of data of four kinds of columns, beside a file that declares them."""
    random = np.random.default_rng(2)
    people = pd.DataFrame(
        {
            "school": random.choice(["none", "some", "much"], 500),
            "age": random.integers(18, 90, 500),
            "children": random.integers(0, 3, 500),
            "owner": random.random(500) < 0.3,
        }
    )
    people.to_csv(tmp_path / "mixed.csv", index=False)
    declared = {
        "school": ["none", "some", "much", "unknown"],
        "age": {"bins": [30, 65.5]},
        "children": [0, 1, 2],
    }
    (tmp_path / "values.json").write_text(json.dumps(declared))
    return tmp_path / "mixed.csv"


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
    assert [row["mechanism"] for row in rows] == list(MECHANISMS)
    plan = run("plan", "--data", *declared, "--json").document
    assert plan["rows"] == run("plan", "--sizes", "4,3,3,2", "--json").document["rows"]


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
    for command in (("new", "-o", "s.json"), ("simulate",), ("plan", "--data")):
        ended = run(*command, "ages.csv", "--values", "v.json", "--json")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert reason in ended.err
        assert ended.err.rstrip().endswith(".")


# audit


def test_audit_takes_numbers_of_values(run: Run) -> None:
    rows = run("audit", "--sizes", "3,2", "--epsilon", 1, "--json").document
    assert [row["mechanism"] for row in rows] == [name for name in MECHANISMS for _ in range(2)]
    assert [row["order"] for row in rows] == [1, 2] * len(MECHANISMS)
    for row in rows:
        assert row["attributes"] == 2
        assert row["exact"] is True
        assert row["unbiased"] is True
        assert 1 - 1e-9 < row["realised_epsilon"] <= 1
    [row] = run("audit", "--sizes", "40,9", "--mechanism", "MargPS", "--order", 2, "--epsilon", 1,
                "--json").document  # fmt: skip
    assert row["exact"] is True
    assert row["unbiased"] is True


def test_audit_leaves_out_what_does_not_fit_and_says_so(run: Run) -> None:
    three = ("audit", "--mechanism", "InpHT,InpHTBits", "--attributes", 3)
    assert {row["mechanism"] for row in run(*three, "--json").document} == {"InpHT"}
    assert "InpHTBits is InpHT where all attributes have two values" in run(*three).out
    alone = run("audit", "--mechanism", "InpHTBits", "--attributes", 3)
    assert (alone.code, alone.out) == (2, "")


def test_audit_prints_its_fields_over_the_grid(run: Run) -> None:
    ended = run("audit", "--mechanism", "InpHT,InpEM", "--json")
    assert (ended.code, ended.err) == (0, "")
    rows = ended.document
    assert len(rows) == 2 * 3 * (2 + 3 + 3)
    for row in rows:
        assert set(row) == {
            "mechanism", "attributes", "order", "stated_epsilon", "realised_epsilon", "exact",
            "unbiased",
        }  # fmt: skip
        assert row["exact"] is True
        assert row["unbiased"] is True
        assert row["stated_epsilon"] - 1e-9 < row["realised_epsilon"] <= row["stated_epsilon"]


def test_audit_of_one_point_or_one_survey(run: Run, survey: Path) -> None:
    point = run(
        "audit", "--mechanism", "all", "--attributes", 4, "--order", 2, "--epsilon", 1, "--json"
    )
    assert [row["mechanism"] for row in point.document] == NAMES
    [row] = run("audit", survey, "--json").document
    assert row == point.document[NAMES.index("InpHT")]
    text = run("audit", survey)
    assert (text.code, text.err) == (0, "")
    assert text.out.split()[-2:] == ["yes", "yes"]


@pytest.mark.parametrize(("name", "attributes"), [("InpRR", 17), ("InpPS", 17), ("InpEM", 60)])
def test_audit_of_many_cells_ends(run: Run, name: str, attributes: int) -> None:
    ended = run("audit", "--mechanism", name, "--attributes", attributes, "--epsilon", 1, "--json")
    rows = ended.document
    assert [row["order"] for row in rows] == [1, 2, 3]
    assert all(row["exact"] and row["unbiased"] for row in rows)
    assert all(1 - 1e-9 < row["realised_epsilon"] <= 1 for row in rows)


def test_audit_of_many_surveys_is_summed_up(run: Run) -> None:
    ended = run("audit", "--mechanism", "InpHT,MargPS")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    for name in ("InpHT", "MargPS"):
        [row] = [line for line in lines if line[:1] == [name]]
        assert (row[1], row[3:]) == ("24", ["never", "yes", "yes"])


def test_a_survey_that_breaks_its_promise_fails_its_audit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.lab.audit.exactly_unbiased", lambda _: False)
    ended = run("audit", "--mechanism", "InpHT", "--attributes", 3, "--order", 2, "--json")
    assert ended.code == 1
    assert not any(row["unbiased"] for row in ended.document)
    assert "NO" in run("audit", "--mechanism", "InpHT").out


# new and explain


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
        "Is exactly one of a and c true for you?",
        "With probability 26.9% your device reports the opposite.",
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
    Path("values.json").write_text(json.dumps({"school": ["none", "some", "much", "a", "b", "c"]}))
    chosen = ("--columns", "school,owner", "--values", "values.json", "--complete", "--mechanism")
    assert run("new", mixed, *chosen, "MargPS", "-o", "s.json").code == 0
    short, full = run("explain", "s.json").out, run("explain", "s.json", "--full").out
    assert "--full lists the values that are left out here." in short
    assert "none" not in short
    assert "(none, some, much, a, b, c)" in full
    assert "--full" not in full
    question = run("explain", "s.json", "--full", "--json").document
    assert "(none, some, much, a, b, c)" in question["english"]


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


# demo


def test_demo_tells_the_whole_journey(run: Run) -> None:
    ended = run("demo", "--people", 2000, "--epsilon", 2)
    assert (ended.code, ended.err) == (0, "")
    for part in ("General Social Survey", "It is asked a random question", "95% interval", "truth"):
        assert part in ended.out
    assert all(name in ended.out for name in NAMES)


@pytest.mark.parametrize("people", [1, 2000])
def test_demo_in_json_even_of_one_person(run: Run, people: int) -> None:
    made = run("demo", "--people", people, "--json").document
    assert made["people"] == people
    assert [trial["mechanism"] for trial in made["trials"]] == NAMES
    known = [np.isfinite(np.array(one["interval"], float)).all() for one in made["tables"]]
    assert sum(known) <= 1 if people == 1 else all(known), "one report speaks of one table"


@pytest.mark.parametrize("epsilon", [1e-9, 1e-12, 0.1, 20])
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
    assert run("--version").out.strip().count(".") == 2
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
    *(("plan", "--data", name) for name in BAD_DATA if name not in ("gaps.csv", "null.parquet")),
    *(("simulate", name) for name in BAD_DATA),
    *(("new", name, "-o", "out.json") for name in BAD_DATA if name not in ("gaps.csv", "null.parquet")),
    *(("plan", "--data", "people.csv", *option) for option in BAD_OPTIONS),
    *(("simulate", "people.csv", *option) for option in BAD_OPTIONS),
    *(("new", "people.csv", "-o", "out.json", *option) for option in BAD_OPTIONS),
    ("plan",),
    ("plan", "--data", "people.csv", "--attributes", 4),
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
      for x in ("", ".", "/", "plan", "plan.pdf", "nowhere/plan.svg", "folder.json", ".html")),
    ("plan", "--attributes", 12, "--order", 11),
    *((command, "--sizes", s) for command in ("plan", "audit")
      for s in ("", ",", "2,", "1", "0", "-2", "2,1", "2;3", "2,x", 2.5, 4097, HUGE, "9" * 5000,
                "2," * 10_000 + "2")),
    ("plan", "--sizes", "2,3", "--attributes", 2),
    ("plan", "--sizes", "2,3", "--data", "people.csv"),
    ("plan", "--sizes", "2,3", "--values", "other.json"),
    ("plan", "--sizes", "2,3", "--order", 3),
    ("audit", "--sizes", "2,3", "--attributes", 2),
    ("audit", "--sizes", "2,3", "--order", 3),
    ("audit", "survey.json", "--sizes", "2,3"),
    *((*command, "--values", "other.json", "--observed") for command in
      (("simulate", "people.csv"), ("plan", "--data", "people.csv"))),
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
    *(("demo", "--people", n) for n in (0, -1, 10**10, HUGE, "many")),
    *(("demo", "--epsilon", e) for e in (0, -1, "nan", "inf", 21, "1e-300")),
    ("nonsense",),
    ("--nonsense",),
    ("plan", "extra", "--attributes", 4),
]  # fmt: skip


@pytest.mark.usefixtures("survey", "bad_files")
def test_bad_input_ends_with_code_2_and_one_sentence(run: Run, tmp_path: Path) -> None:
    wrong = []
    for command in BAD_COMMANDS:
        for arguments in (command, (*command, "--json")):
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
