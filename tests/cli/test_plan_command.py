"""`deniable plan`: what is printed, and for whom."""

from __future__ import annotations

import json
from pathlib import Path

from cli_parts import NAMES, Run


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
