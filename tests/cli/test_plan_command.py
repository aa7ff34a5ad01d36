"""`deniable plan`: what is printed, and for whom."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_parts import NAMES, Run

from deniable.planning.waves import Wave


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
    ended = run("plan", data, "--columns", "a, b,c", "--people", 500, "--target-error", 0.05)
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
    assert "epsilon 0.016 with delta 1e-09" in said
    assigned = " ".join(run(*shuffled, "--slots", "assigned").out.split())
    assert "hides only among the people with the same slot" in assigned
    few = " ".join(run(*shuffled, "--slots", "assigned", "--people", 500).out.split())
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


def test_a_plan_of_numbers(run: Run) -> None:
    command = ("plan", "--sizes", "2,3", "--range", "age=18:100", "--range", "income=0:200000:1000")
    document = run(*command, "--mean", "income=500", "--json").document
    assert document["unbiased_bound_tv"] is None
    assert {row["variance_over_bound"] for row in document["rows"]} == {None}
    age, income = document["numbers"]
    assert (age["attribute"], income["unit"]) == ("age", None)
    (target,) = document["targets"]
    assert (target["target"], target["value"]) == ("mean of income", 500)
    assert target["people"] == pytest.approx(document["people"], rel=0.01)
    assert target["reached"]
    assert 1.96 * income["mean_error"] == pytest.approx(500, rel=0.01)
    assert income["median_error"] > income["mean_error"]
    (pair,) = document["correlations"]
    assert (pair["first"], pair["second"]) == ("age", "income")
    assert 0 < pair["correlation_error"] < 0.02
    said = " ".join(run(*command, "--mean", "income=500").out.split())
    assert said.startswith("4 attributes, 2 of them of 2 to 3 values and 2 in order, tables of 2")
    assert (
        f"{document['people']:,} people, as Subspace needs for the mean of income to ± 500." in said
    )
    assert f"± 500 {document['people']:,}" in said
    assert "Standard errors of correlations: 0.0" in said
    assert "(age and income)" in said
    assert "The step of a grid changes neither means nor correlations" in said
    assert said.count("A survey asks for values in order by thresholds") == 1
    assert "No unbiased protocol" not in said
    plain = run("plan", "--range", "age=18:100", "--order", 1).out
    assert "people for it" not in plain
    assert "1 attribute, 1 in order, tables of 1, epsilon 1.1, 100,000 people." in plain


def test_a_plan_for_people_like_those_in_the_data(run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    age = random.integers(18, 90, 2_000)
    frame = pd.DataFrame({"age": age, "income": 300 * age + random.exponential(9_000, 2_000)})
    frame.to_csv(tmp_path / "p.csv", index=False)
    ranges = ("--range", "age=18:100", "--range", "income=0:200000:1000")
    data = run("plan", "p.csv", *ranges)
    assert (data.code, data.err) == (0, "")
    assert "of people like those in the data" in " ".join(data.out.split())
    sure = run("plan", "p.csv", *ranges, "--json").document
    rough = run("plan", *ranges, "--json").document
    assert sure["numbers"][1]["median_error"] < 0.5 * rough["numbers"][1]["median_error"]
    assert (
        sure["correlations"][0]["correlation_error"] > rough["correlations"][0]["correlation_error"]
    )


def test_a_plan_in_the_terms_of_an_analyst(run: Run) -> None:
    command = ("plan", "--attributes", 8, "--detect", "v=.2", "--share", 2)
    document = run(*command, "--json").document
    v, share = document["targets"]
    assert (v["target"], v["value"], v["english"]) == ("v", 0.2, "dependence of V = 0.2")
    assert v["power"] == pytest.approx(0.8, abs=0.002) or v["people"] < share["people"]
    assert max(v["people"], share["people"]) == document["people"]
    assert v["people_corrected"] > v["people"]
    assert v["power_corrected"] < v["power"]
    assert v["half_width"] is share["power"] is share["advice"] is None
    assert share["half_width"] == pytest.approx(2, rel=0.01)
    assert v["reached"]
    assert share["reached"]
    said = " ".join(run(*command).out.split())
    assert "What Subspace would show:" in said
    assert f"dependence of V = 0.2 found {v['power']:.0%}" in said
    assert f"{document['people']:,} people, as Subspace needs for a share to ± 2 points." in said


def test_a_plan_says_what_would_show_what_it_cannot(run: Run) -> None:
    few = ("plan", "--attributes", 8, "--people", 2000, "--detect", "v=.1")
    said = " ".join(run(*few).out.split())
    (target,) = run(*few, "--json").document["targets"]
    often = f"{target['power']:.0%} of surveys: what they show is mostly noise"
    assert f"With 2,000 people, tests find dependence of V = 0.1 in {often}" in said
    assert f"It takes {target['people']:,} people" in said
    named = run(*few[:4], target["people"], "--detect", "v=.1", "--json").document["targets"]
    assert named[0]["reached"]
    assert '--workload "a1,a2"' in said
    one = run(*few[:3], "--detect", "v=.1", "--workload", "a1,a2", "--json").document
    assert f'--workload "a1,a2" ({one["people"]:,} people)' in said
    assert "(--order 1), which tells shares to ±" in said
    single = " ".join(run(*few, "--order", 1).out.split())
    assert "tell nothing of dependence of V = 0.1: take --order 2, and" in single
    groups = " ".join(run(*few[:5], "--detect", "difference=5", "--groups", "a3").out.split())
    assert "a difference of 5 points between people by a3" in groups
    assert "name the pairs with a3 as those that matter (--workload)" in groups
    share = " ".join(run(*few[:5], "--share", 1).out.split())
    assert "is asked for. It takes" in share
    assert "ask about single questions alone, --order 1" in share


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mean", "age"), "--mean needs a number and half the width of its interval"),
        (("--mean", "age=x"), "--mean needs a number and half the width"),
        (("--mean", "=5"), "--mean needs a number and half the width"),
        (("--mean", "age=0"), "needs a positive half-width"),
        (("--detect", "v"), "--detect needs what to find and its size: v=0.1, difference=5."),
        (("--detect", "w=1"), "A test can detect v or difference, not 'w'"),
        (("--detect", "v=1"), "v must be a number above 0 and below 1, got 1.0"),
        (("--detect", "v=nan"), "v must be a number above 0 and below 1, got nan"),
        (("--share", "0"), "share must be a number above 0 and below 50, got 0.0"),
        (("--slope", "-1"), "slope must be a number above 0, got -1.0"),
        (("--power", "1", "--detect", "v=.1"), "power must be a number above 0 and below 1"),
        (("--predictors", "1"), "Predictors are those of a slope"),
        (("--predictors", "9", "--slope", ".1"), "Predictors must be 1 to 1, got 9"),
        (("--groups", "a1"), "Groups are those of a difference"),
        (("--groups", "1,x", "--detect", "difference=5"), "--groups needs two shares"),
        (("--groups", ".5,.6", "--detect", "difference=5"), "Groups are two shares of all people"),
        (("--groups", "age", "--detect", "difference=5"), "'age' is a number or an order"),
        (("--groups", "a9", "--detect", "difference=5"), "There is no attribute 'a9'"),
        (("--mean", "agee=1"), "There is no attribute 'agee'"),
        (("--mean", "a1=1"), "'a1' has no order, so it has no mean"),
        (("--range", "a1=0:5"), "Attribute 'a1' is declared twice"),
        (("abortion",), "Give data, or one of --attributes and --sizes"),
    ],
)
def test_a_plan_of_numbers_that_will_not_do(
    run: Run, options: tuple[str, ...], message: str
) -> None:
    ended = run("plan", "--attributes", 1, "--range", "age=18:100", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_weekly_metric_is_planned(run: Run) -> None:
    asked = ("plan", "--attributes", 8, "--every", "week", "--for", "1 year", "--lifetime", 6)
    ended = run(*asked, "--people", 1_000_000, "--json")
    assert (ended.code, ended.err) == (0, "")
    form = json.loads(ended.out)
    assert form["rows"][0]["people_per_wave"] == 96_153
    assert form["rows"][0].keys() == set(Wave.__dataclass_fields__)
    text = " ".join(run(*asked, "--people", 1_000_000, "--detect", "difference=3").out.split())
    assert "5 of 52" in text
    assert form["sentence"] not in text  # another change, another recommendation
    assert "every month" in text


def test_waves_go_with_what_is_planned_of_them(run: Run) -> None:
    for options, reason in [
        (("--for", "2 years"), "add --every"),
        (("--for", "1 year"), "add --every"),
        (("--lifetime", 6), "add --every"),
        (("--every", "week", "--share", 2), "--detect difference=POINTS"),
        (("--every", "week", "--detect", "v=.1"), "takes a difference"),
        (("--every", "often"), "A period is a number"),
    ]:
        ended = run("plan", "--attributes", 4, *options)
        assert (ended.code, reason in " ".join(ended.err.split())) == (2, True)


def test_waves_of_too_few_people_claim_no_points_that_a_share_has_not(run: Run) -> None:
    text = run("plan", "--attributes", 4, "--every", "week", "--people", 30).out
    lines = [line.split() for line in text.splitlines()]
    weeks = [line for line in lines if line[:1] == ["week"]]
    assert weeks
    assert all(line[7:9] == ["–", "–"] for line in weeks)
    assert "no change between two waves would be found" in " ".join(text.split())


QUESTIONNAIRE = """\
deniable: questionnaire
format: 1
languages: [de]
title: Arbeit
design: {epsilon: 0.9, people: 2000, tables: [{attributes: [a, b]}, {attributes: [c]}]}
attributes:
  - {name: a, wording: A?}
  - {name: b, wording: B?}
  - {name: c, wording: C?}
"""


def test_a_questionnaire_is_planned_as_it_says_unless_the_command_line_says_otherwise(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "survey.yaml").write_text(QUESTIONNAIRE, "utf-8")
    needs = ("--share", 5, "--detect", "v=0.1", "--json")
    plan = run("plan", tmp_path / "survey.yaml", *needs).document
    assert (plan["epsilon"], plan["people"], plan["order"]) == (0.9, 2000, 2)
    assert plan["attributes"] == 3
    other = run("plan", tmp_path / "survey.yaml", "--people", 500, "--json").document
    assert (other["epsilon"], other["people"]) == (0.9, 500)
    by_hand = ("--attributes", 3, "--epsilon", 0.9, "--people", 2000)
    named = run("plan", *by_hand, "--workload", "a1,a2; a3", *needs).document
    assert named["rows"] == plan["rows"]
    refusal = run("plan", tmp_path / "survey.yaml", "--columns", "a").err
    assert "--columns is for data; a questionnaire says it itself." in refusal
    one = QUESTIONNAIRE.partition("  - {name: b")[0].replace(", {attributes: [c]}", "")
    (tmp_path / "one.yaml").write_text(one.replace("[a, b]", "[a]"), "utf-8")
    assert run("plan", tmp_path / "one.yaml", "--json").document["order"] == 1
    assert run("new", tmp_path / "one.yaml", "-o", tmp_path / "one.json").code == 0
