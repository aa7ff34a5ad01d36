"""Commands on columns of numbers, days and ordered words."""

from __future__ import annotations

import json
import re
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_parts import SECRET, Run

from deniable import Attribute, Schema, Survey, Tallies, Tally

PEOPLE = 4_000


@cache
def numbers() -> pd.DataFrame:
    """Return people with numbers, days, words and a yes or no."""
    random = np.random.default_rng(5)
    age = random.integers(18, 90, PEOPLE)
    return pd.DataFrame(
        {
            "age": age,
            "income": (600 * age + random.exponential(20_000, PEOPLE)).round(2),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 700, PEOPLE), "D"),
            "freq": random.choice(["never", "sometimes", "often"], PEOPLE),
            "owner": random.random(PEOPLE) < 0.3,
        }
    )


@pytest.fixture
def people(tmp_path: Path) -> pd.DataFrame:
    """Write them, beside a file that declares them."""
    frame = numbers()
    frame.to_parquet(tmp_path / "people.parquet")
    frame.assign(day=frame["day"].dt.date).to_csv(tmp_path / "people.csv", index=False)
    values = {
        "age": {"low": 18, "high": 100, "bins": [30, 50, 65]},
        "income": {"low": 0, "high": 200_000, "step": 1000, "unit": "EUR"},
        "day": {"low": "2020-01-01", "high": "2022-01-01", "missing": "none"},
        "freq": {"values": ["never", "sometimes", "often"], "ordered": True},
    }
    (tmp_path / "values.json").write_text(json.dumps(values))
    return frame


def write(name: str, form: object) -> None:
    Path(name).write_text(json.dumps(form))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_walk_from_a_file_to_a_tally(run: Run, people: pd.DataFrame, kind: str) -> None:
    new = run("new", f"people.{kind}", "--values", "values.json", "--complete", "-o", "s.json")
    assert new.code == 0, new.err
    assert "The upper end of 'day' becomes" not in new.err
    many = (people["income"] > 200_000).sum()
    beyond = f"deniable: {many} of 4,000 values of 'income' lie beyond its ends, 0 and 200,000 EUR,"
    assert new.err.startswith(beyond)
    assert "5 attributes, 4 in order, order 2" in new.out
    survey = Survey.load("s.json")
    age, income, day, freq, _ = survey.schema.attributes
    assert age.values == ("below 30", "30 to 50", "50 to 65", "65 or more")
    assert (income.unit, income.levels, income.complete) == ("EUR", 201, True)
    assert (day.low, day.missing) == ("2020-01-01", "none")
    assert freq.ordered
    for step in (
        ("randomize", f"people.{kind}", "--survey", "s.json", "-o", "r.parquet", "--seed", "x"),
        ("tally", "r.parquet", "--survey", "s.json", "-o", "d.tally", "--simulation"),
        ("explain", "s.json", "--slot", 0),
        ("explain", "s.json", "--slot", survey.slots - 1, "--json"),
    ):
        ended = run(*step)
        assert ended.code == 0
        assert ended.err.startswith(beyond if step[0] == "randomize" else "")
        assert ended.err.count("\n") == (step[0] == "randomize")
    assert Tally.load("d.tally") == survey.tally(survey.randomize(people, "x"), simulation=True)


def test_a_range_declares_a_number(run: Run, people: pd.DataFrame) -> None:
    command = ("new", "people.csv", "--columns", "age,day,owner", "--complete", "--json")
    ranges = ("--range", "age=18:100", "--range", "day=2020-01-01:2022-01-01:7")
    ended = run(*command, *ranges, "-o", "s.json")
    assert ended.code == 0, ended.err
    assert (
        ended.err
        == "deniable: The upper end of 'day' becomes 2022-01-05, a whole number of steps.\n"
    )
    assert isinstance(ended.document, dict)
    age, day, _ = Survey.load("s.json").schema.attributes
    assert (age.low, age.high, age.step) == (18, 100, 1)
    assert (day.low, day.high, day.step) == ("2020-01-01", "2022-01-05", 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "--range needs a name and where it begins and ends"),
        ("age=18", "--range needs a name"),
        ("age=18:x", "--range needs a name"),
        ("age=1:2:3:4", "--range needs a name"),
        ("age=100:18", "'age' has no such scale: low must be below high."),
        ("age=18:nan", "low and high must be finite numbers, or days."),
        ("age=18:inf", "low and high must be finite numbers, or days."),
        ("age=18:100:-1", "step must be a positive number."),
        ("age=0:1e9:1", "4,096 is the limit, so take a step of 2.44e+05 or more."),
        ("day=2020-02-30:2021-01-01", "--range needs a name"),
        ("day=2020-01-01:7", "A scale of days goes from one day to another"),
        ("agee=18:100", "The data has no column 'agee', which --range declares."),
        ("freq=0:10", "'freq' needs numbers, got a column of type"),
    ],
)
def test_a_range_that_will_not_do_is_refused(
    run: Run, people: pd.DataFrame, text: str, message: str
) -> None:
    other = () if text[:4] in {"age", "age=", "day="} else ("--range", "age=18:100")
    columns = {"day=": "day,owner", "freq": "age,freq,owner"}.get(text[:4], "age,owner")
    ended = run("new", "people.csv", "--columns", columns, *other, "--range", text, "-o", "s.json")
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"low": 5, "high": 5}, "low must be below high."),
        ({"low": 0}, "needs a list of values, such as"),
        ({"low": 0, "high": 9, "stop": 1}, "needs a list of values, such as"),
        ({"low": 0, "high": 9, "unit": 7}, "The unit of 'x' must be a text"),
        ({"low": 0, "high": 9, "missing": "?", "other": "!"}, "other must be the same as missing."),
        ({"low": 0, "high": 9, "bins": []}, "The bins of column 'x' have no edges"),
        ({"low": 0, "high": 9, "bins": [0.5]}, "must begin at points of its grid"),
        ({"low": 0, "high": 9, "log": True}, "A logarithmic scale begins above 0."),
        ({"low": "2020-01-01", "high": "2020-13-01"}, "goes from one day to another"),
        ({"values": ["a", "b"], "ordered": 1}, "is ordered or not: give True or False."),
    ],
)
def test_a_file_of_numbers_that_will_not_do_is_refused(
    run: Run, tmp_path: Path, form: object, message: str
) -> None:
    pd.DataFrame({"x": [1, 2, 3]}).to_csv(tmp_path / "x.csv", index=False)
    write("v.json", {"x": form})
    ended = run("new", "x.csv", "--values", "v.json", "--complete", "-o", "s.json")
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        ([1, SECRET], "x=0:9", "'x' must be a finite number, and is none in 1 rows."),
        (["a", SECRET], "x=0:9", "'x' needs numbers, got a column of type"),
        ([1.5, np.inf], "x=0:9", "'x' must be a finite number, and is none in 1 rows."),
        (
            ["2020-01-01", SECRET],
            "x=2020-01-01:2020-12-31",
            "'x' must be a day, such as 2026-11-01",
        ),
        ([1, 2], "x=2020-01-01:2020-12-31", "'x' needs days, got a column of type int64."),
        ([1, 2], "y=2020-01-01:2020-12-31", "where it begins and ends with --range x=LOW:HIGH"),
        (["2020-01-01"] * 2, "y=0:9", "where it begins and ends with --range x=DAY:DAY"),
    ],
)
def test_data_that_holds_no_such_number_is_refused(
    run: Run, tmp_path: Path, column: list[object], text: str, message: str
) -> None:
    pd.DataFrame({"x": column}).to_csv(tmp_path / "x.csv", index=False)
    ended = run("new", "x.csv", "--range", text, "--complete", "-o", "s.json")
    assert ended.code == 2
    assert message in ended.err
    assert SECRET not in ended.err
    assert ended.err.count("\n") == 1


def test_a_gap_is_refused_where_it_has_no_stand_in(run: Run, tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0, np.nan] * 300}).to_csv(tmp_path / "x.csv", index=False)
    assert (
        run("new", "x.csv", "--range", "x=0:9", "--complete", "--order", 1, "-o", "s.json").code
        == 0
    )
    ended = run("randomize", "x.csv", "--survey", "s.json", "-o", "r.parquet")
    assert ended.code == 2
    assert "'x' has no value in 300 rows; declare a value for missing" in ended.err
    both = run("new", "x.csv", "--range", "x=0:9", "--range", "x=0:8", "-o", "t.json")
    assert "--range gives 'x' twice." in both.err
    write("v.json", {"x": {"low": 0, "high": 9, "missing": "none", "other": "none"}})
    twice = run("new", "x.csv", "--range", "x=0:9", "--values", "v.json", "-o", "t.json")
    assert "--values and --range both declare 'x'; give one of them." in twice.err
    assert run("new", "x.csv", "--values", "v.json", "--order", 1, "-o", "t.json").code == 0
    assert run("randomize", "x.csv", "--survey", "t.json", "-o", "r.parquet").code == 0


# What a release tells of numbers

LABELLED = Survey(
    Schema.of(
        age=(18, 100),
        income=Attribute("income", low=0, high=200_000, step=5_000, unit="EUR", missing="none"),
        day=("2020-01-01", "2022-01-01"),
        sex=["f", "m"],
    ),
    2,
    6.0,
    labels={"region": ["north", "south", "west"]},
)
FIELDS = {"estimate", "standard_error", "low", "high", "raw"}


@cache
def labelled() -> tuple[pd.DataFrame, Tally, Tallies]:
    """Return people with labels, the tally of everybody, and that of each region."""
    frame = numbers().drop(columns=["freq", "owner"])
    frame["sex"] = np.where(frame["age"] > 50, "f", "m")
    frame["region"] = np.where(frame["income"] > 50_000, "north", "south")
    frame.loc[:40, "region"] = "west"
    many = pd.concat([frame] * 10)
    batch = LABELLED.randomize(many, "x")
    every = LABELLED.tally(batch, simulation=True)
    return many, every, LABELLED.tally(batch, by="region", simulation=True)


@pytest.fixture
def tallies(tmp_path: Path) -> pd.DataFrame:
    """Write a tally of everybody, and a folder of one for each region."""
    many, every, groups = labelled()
    every.save(tmp_path / "d.tally")
    groups.save(tmp_path / "groups")
    return many


def test_means_quantiles_and_the_rest_in_one_document(run: Run, tallies: pd.DataFrame) -> None:
    options = ("--mean", "income", "--mean", "age", "--by", "sex", "--variance", "age")
    more = ("--quantiles", "income=.1,.5", "--quantiles", "day", "--distribution", "age")
    ended = run("release", "d.tally", *options, *more, "--correlation", "age,income", "--json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert (document["people"], document["simulated"]) == (40_000, True)
    assert "output" not in document
    release = Tally.load("d.tally").release()
    by_sex, _, variance, quantiles, days, distribution, correlation = document["statistics"]
    assert [each["statistic"] for each in document["statistics"]] == [
        "mean", "mean", "variance", "quantiles", "quantiles", "distribution", "correlation",
    ]  # fmt: skip
    assert (by_sex["attributes"], by_sex["unit"]) == (["income"], "EUR")
    assert by_sex["rows"] == release.mean("income", by="sex").to_frame().to_dict("records")
    assert [row["sex"] for row in by_sex["rows"]] == ["f", "m"]
    assert all(set(row) == FIELDS | {"sex"} for row in by_sex["rows"])
    means = tallies.groupby("sex")["income"].mean()
    for row in by_sex["rows"]:
        assert row["estimate"] == pytest.approx(means[row["sex"]], abs=5 * row["standard_error"])
    assert variance["rows"][0]["estimate"] == release.variance("age").estimate
    assert [row["probability"] for row in quantiles["rows"]] == [0.1, 0.5]
    assert [row["probability"] for row in days["rows"]] == [0.25, 0.5, 0.75]
    assert days["rows"][1]["estimate"][:2] == "20"
    assert days["unit"] == "days"
    assert len(distribution["rows"]) == 83
    assert distribution["missing"] == 0
    assert distribution["rows"][-1]["estimate"] == 1
    own = correlation["rows"][0]
    assert own["estimate"] == release.correlation("age", "income").estimate
    assert correlation["unit"] is None


def test_statistics_in_words(run: Run, tallies: pd.DataFrame) -> None:
    ended = run(
        "release", "d.tally", "--mean", "income", "--by", "sex", "--quantiles", "age=.5",
        "--distribution", "income", "--mean", "day", "--correlation", "age,income",
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    out = ended.out
    assert "Mean of income, in EUR" in out
    assert "Correlation of age and income\n" in out
    median = Tally.load("d.tally").release().quantile("age")
    assert re.search(rf"\n *0\.5 +{median.estimate} +[\d.]+ +{median.low} to {median.high} ", out)
    assert re.search(r"\nf +\d\d,\d{3} +[\d,]+ +\d\d,\d{3} to \d\d,\d{3}", out)
    assert re.search(r"\nm +202\d-\d\d-\d\d +[\d.]+ +202\d-\d\d-\d\d to 202\d-\d\d-\d\d", out)
    assert "14 of 41 points; --json has all." in out
    assert "SIMULATED" in out


def test_a_plain_release_begins_with_means_and_medians(run: Run, tallies: pd.DataFrame) -> None:
    ended = run("release", "d.tally", "-o", "out.csv")
    assert (ended.code, ended.err) == (0, "")
    first = ended.out.splitlines()
    assert first[0].split() == ["number", "mean", "(95", "%)", "median", "(95", "%)"]
    assert [line.split()[0] for line in first[1:4]] == ["age", "income", "day"]
    assert "10 tables of 40,000 people" in ended.out
    alone = run("release", "d.tally")
    assert alone.code == 0, alone.err
    assert alone.out.splitlines()[:4] == first[:4]
    assert "tables of" not in alone.out
    document = run("release", "d.tally", "-o", "out.csv", "--json").document
    assert (document["tables"], document["output"]) == (10, "out.csv")
    release = Tally.load("d.tally").release()
    age, income, day = document["numbers"]
    assert age["mean"]["estimate"] == release.mean("age").estimate
    assert age["median"]["estimate"] == release.quantile("age").estimate
    assert set(age["mean"]) == set(age["median"]) == FIELDS
    assert (income["attribute"], income["unit"]) == ("income", "EUR")
    mean = date.fromordinal(round(release.mean("day").estimate))
    assert day["mean"]["estimate"] == str(mean)


def test_a_folder_of_groups_has_a_row_for_each(run: Run, tallies: pd.DataFrame) -> None:
    ended = run("release", "groups", "--mean", "income", "--quantiles", "age=.5", "--json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert (document["by"], document["not_displayed"]) == (["region"], [])
    means, medians = document["statistics"]
    assert [row["region"] for row in means["rows"]] == ["north", "south", "west"]
    expected = Tallies.load("groups").release().mean("income")
    assert [row["estimate"] for row in means["rows"]] == expected.values.tolist()
    assert [row["standard_error"] for row in means["rows"]] == expected.standard_error.tolist()
    assert set(medians["rows"][0]) == FIELDS | {"region", "probability"}
    out = run("release", "groups", "--mean", "income").out
    assert re.search(r"\nnorth +\d\d,\d{3} ", out)
    plain = run("release", "groups")
    assert plain.code == 0
    assert plain.out.splitlines()[1].split()[:2] == ["north", "age"]
    assert len(run("release", "groups", "--json").document["groups"]) == 3


def test_numbers_of_groups_that_are_combined(run: Run, tallies: pd.DataFrame) -> None:
    weights = ("--weights", "north=2,south=1,west=1")
    document = run("release", "groups", *weights, "--json").document
    assert document["strata"] == {"north": 0.5, "south": 0.25, "west": 0.25}
    means = Tallies.load("groups").release().mean("age").values
    age = document["numbers"][0]["mean"]
    assert age["estimate"] == pytest.approx(means @ [0.5, 0.25, 0.25])
    assert "north 50.0%" in run("release", "groups", *weights).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("d.tally", "--mean", "sex"), "'sex' has no order, so it has no mean"),
        (("d.tally", "--mean", "x"), "There is no attribute 'x'"),
        (("d.tally", "--by", "sex"), "--by is of means: give --mean, too."),
        (("d.tally", "--mean", "age", "--by", "age"), "Groups are made by other attributes"),
        (("d.tally", "--mean", "age", "--by", "region"), "'region' is a label"),
        (("d.tally", "--quantiles", "age=x"), "--quantiles needs shares between 0 and 1"),
        (("d.tally", "--quantiles", "age=2"), "A quantile's probability lies between 0 and 1"),
        (("d.tally", "--correlation", "age"), "--correlation needs two numbers"),
        (("d.tally", "--correlation", "age,age"), "of two different numbers"),
        (("groups", "-o", "out.csv"), "put {group} into the name, such as out-{group}.csv"),
        (("groups", "d.tally"), "A folder of groups is released alone"),
    ],
)
def test_what_cannot_be_told_is_one_sentence(
    run: Run, tallies: pd.DataFrame, options: tuple[str, ...], message: str
) -> None:
    ended = run("release", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_mean_that_is_not_known_is_said_so(run: Run, tmp_path: Path) -> None:
    """Nobody was asked about the number alone, so nothing tells of it."""
    survey = Survey(Schema.of(age=(0, 9), sex=["f", "m"]), 2, 1.0, "InpHT")
    pair = survey.slots - 1
    assert set(survey.question(pair).attributes) == {"age", "sex"}
    survey.tally(pd.DataFrame({"slot": [pair] * 9, "value": [0] * 9})).save(tmp_path / "d.tally")
    ended = run("release", "d.tally")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[1].split() == ["age", "not", "known", "not", "known"]
    (age,) = run("release", "d.tally", "--json").document["numbers"]
    assert (age["mean"]["estimate"], age["median"]) == (None, None)


def test_wages_has_its_declaration_and_takes_another(run: Run, tmp_path: Path) -> None:
    options = ("--columns", "income,gender", "--order", 2, "--epsilon", 1.1, "-o")
    assert run("new", "wages", *options, "s.json").code == 0
    income, gender = Survey.load(tmp_path / "s.json").schema.attributes
    assert (income.high, income.unit, gender.values) == (80_000, "USD", ("female", "male"))
    wider = ("--range", "income=0:200000:2000", "--complete")
    assert run("new", "wages", *options, "t.json", *wider).code == 0
    income, _ = Survey.load(tmp_path / "t.json").schema.attributes
    assert (income.high, income.missing) == (200_000, None)
    height = ("--range", "height=0:2:0.1")
    assert "no column 'height'" in run("new", "wages", *options, "u.json", *height).err
