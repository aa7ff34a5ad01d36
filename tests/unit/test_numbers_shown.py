"""Numbers in charts, in the report and in exports: axes that can be read, and what a release tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from report_parts import stored_tables
from test_report import HOSTILE, Page

from deniable import Schema, Survey, simulate
from deniable.errors import TableError
from deniable.release.numbers.estimates import Estimates, NumberDistribution
from deniable.schema.attribute import Attribute
from deniable.show.axes import Tick, bar_width, bar_words, bars_of, ticks, value_name
from deniable.show.charts import save_chart
from deniable.show.number_section import (
    MOST_GROUPINGS,
    NO_GROUPS,
    difference_p,
    group_rows,
    number_section,
)
from deniable.show.numbers import digits_for, thousands
from deniable.show.pictures import curve, histogram
from deniable.show.report import page

PEOPLE = 8000
SCHEMA = Schema(
    [
        Attribute("income", low=0, high=100_000, step=1_000, unit="EUR", missing="no answer"),
        Attribute("moved", low="2024-01-01", high="2025-12-31"),
        Attribute("often", ("never", "sometimes", "often"), ordered=True),
        Attribute("rent", low=50, high=10_000, log=True, unit="EUR"),
        Attribute("sex", ("f", "m")),
        Attribute(HOSTILE[0]),
    ]
)
SURVEY = Survey(SCHEMA, 2, 4.0)


def people(count: int = PEOPLE) -> pd.DataFrame:
    random = np.random.default_rng(1)
    sex = random.choice(["f", "m"], count)
    income = np.where(sex == "f", 25_000, 65_000) + random.normal(0, 9_000, count)
    income[random.random(count) < 0.1] = np.nan
    days = pd.to_timedelta((700 * random.random(count) ** 0.5).astype(int), unit="D")
    return pd.DataFrame(
        {
            "income": income,
            "moved": pd.Timestamp("2024-01-01") + days,
            "often": random.choice(["never", "sometimes", "often"], count, p=[0.2, 0.5, 0.3]),
            "rent": np.exp(random.normal(6.5, 0.6, count)),
            "sex": sex,
            HOSTILE[0]: random.random(count) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def release() -> Any:
    return simulate(SURVEY, people(), "x", consistency="auto")


@pytest.fixture(scope="module")
def text(release: Any) -> str:
    return page(release)


# Axes


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        (range(0, 200_001, 1000), ["0", "50,000", "100,000", "150,000", "200,000"]),
        (np.arange(-5, 5.05, 0.1).round(1).tolist(), ["−4", "−2", "0", "2", "4"]),
        (np.arange(0, 1.005, 0.01).round(2).tolist(), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (["never", "sometimes", "often"], ["never", "sometimes", "often"]),
        ([1.0, 3.0, 10.0, 30.0, 100.0, 1000.0], ["1", "5", "20", "100", "500"]),
    ],
)
def test_ticks_are_round_and_few(points: Any, labels: list[str]) -> None:
    every = ticks(list(points), 5)
    assert [tick.label for tick in every] == labels
    assert all(0 <= tick.at <= len(points) - 1 for tick in every)
    assert [tick.at for tick in every] == sorted(tick.at for tick in every)


def test_days_have_ticks_at_first_days(release: Any) -> None:
    points = release.distribution("moved").points
    labels = [tick.label for tick in ticks(points, 5)]
    assert labels == ["Jan 2024", "Jul 2024", "Jan 2025", "Jul 2025", "Jan 2026"]
    week = [f"2026-03-{day:02}" for day in range(1, 8)]
    assert ticks(week, 7)[0] == Tick(0.0, "1 Mar 2026")


def _drawn(points: tuple[str, ...]) -> tuple[list[str], list[float]]:
    """Return the words below a histogram, and their heights; all lie within the picture."""
    shares = np.full(len(points), 1 / len(points))
    rise = np.cumsum(shares)
    own = NumberDistribution("schooling", points, shares, rise, rise, rise, 0.0, 0.95)
    svg = ElementTree.fromstring(histogram(own))
    places = [(each.text or "", float(each.get("y", 0))) for each in svg.iter() if each.get("y")]
    floor_line = max(float(each.get("y1", 0)) for each in svg.iter())
    below = [(text, y) for text, y in places if text.strip() and y > floor_line + 8]
    assert max(y for _, y in below) < float(svg.get("height", 0))
    assert below[-1][1] > below[-2][1] + 10, "the axis's title has a line of its own"
    return [text for text, _ in below], [y for _, y in below]


def test_every_word_of_an_order_has_its_label_where_lines_make_room() -> None:
    """At 390 pixels, three of five degrees had none."""
    degrees = ("less than high school", "high school", "junior college", "bachelor", "graduate")
    texts, _ = _drawn(degrees)
    assert " ".join(texts[:-1]) == " ".join(degrees)
    assert texts[-1] == "schooling"
    assert max(map(len, texts)) <= 10, "no wider than its bar"
    many, heights = _drawn(tuple(f"unbreakable{number}" for number in range(9)))
    assert many[:-1] == [f"unbreakable{number}" for number in (0, 3, 6)], "thinned"
    assert len(set(heights)) == 2


def test_uneven_points_without_a_ratio_have_round_ticks() -> None:
    every = ticks([0.0, 1.0, 2.0, 4.0, 8.0, 10.0], 5)
    assert [tick.label for tick in every] == ["0", "2", "4", "6", "8", "10"]
    assert every[3].at == pytest.approx(3.5)


def test_numbers_have_as_many_digits_as_their_error_bears() -> None:
    assert thousands(34_419.2, digits_for(2_300)) == "34,400"
    assert thousands(-0.0123456, digits_for(0.002)) == "−0.0123"
    assert thousands(-0.0004, digits_for(0.1)) == "0.00"
    income, moved = SCHEMA.attributes[:2]
    assert value_name(income, income.values[1]) == "15,000 to 30,000"
    assert value_name(moved, moved.values[0]) == moved.values[0]


def test_bars_hold_everybody(release: Any) -> None:
    for name in ("income", "moved", "often", "rent"):
        own = release.distribution(name)
        bars = bars_of(own)
        assert len(bars) <= 50
        assert sum(bar.share for bar in bars) == pytest.approx(1)
        assert bars[-1].cumulative == pytest.approx(1)
        assert [bar.first for bar in bars[1:]] == [bar.last + 1 for bar in bars[:-1]]
        for draw in (histogram, curve):
            drawn = ElementTree.fromstring(draw(own))
            assert name in (drawn[0].text or "")
    assert bar_width(101) == 5
    assert bar_words(release.distribution("income")) == "share of people per 5,000 EUR"
    assert bar_words(release.distribution("often")) == "share of people"


# Charts


def test_a_distribution_is_drawn_with_its_band(release: Any, tmp_path: Path) -> None:
    own = release.distribution("income")
    form = json.loads(own.plot().to_json())
    upper, lower = form["vconcat"]
    assert upper["encoding"]["y"]["title"] == "share of people per 5,000 EUR"
    assert [layer["mark"]["type"] for layer in lower["layer"]] == ["area", "line"]
    assert lower["layer"][0]["encoding"]["x"]["title"] == "income, EUR"
    assert "'50,000'" not in lower["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    words = " ".join(form["title"]["subtitle"])
    assert "95% band for the whole curve · SIMULATED" in words
    assert "have none" in words
    rows = next(data for data in form["datasets"].values() if "cumulative" in data[0])
    assert [row["cumulative"] for row in rows[1:]] == pytest.approx(own.cumulative)
    assert all(row["low"] <= row["cumulative"] <= row["high"] for row in rows)
    for name in ("income", "moved", "often", "rent"):
        save_chart(release.distribution(name).plot(), tmp_path / f"{name}.svg")
        assert ElementTree.parse(tmp_path / f"{name}.svg").getroot() is not None


def test_means_are_drawn_with_intervals(release: Any, tmp_path: Path) -> None:
    means = release.mean("income", by="sex")
    form = json.loads(means.plot().to_json())
    assert form["title"]["text"] == "mean of income by sex"
    assert form["layer"][0]["encoding"]["x"]["title"] == "mean of income, EUR"
    (rows,) = form["datasets"].values()
    assert [row["group"] for row in rows] == ["f", "m"]
    assert [row["estimate"] for row in rows] == pytest.approx(means.estimate)
    days = json.loads(release.mean("moved").plot().to_json())
    assert days["layer"][0]["encoding"]["x"]["type"] == "temporal"
    (row,) = next(iter(days["datasets"].values()))
    assert row["low"] < "2025" < row["high"] or row["estimate"].startswith("202")
    save_chart(release.mean("moved", by="sex").plot(), tmp_path / "moved.svg")
    unknown = type(means)("mean of x by y", np.array([np.nan, 2.0]), np.diag([np.inf, 1.0]),
                          ({"y": "a"}, {"y": "b"}))  # fmt: skip
    (rows,) = json.loads(unknown.plot().to_json())["datasets"].values()
    assert [row["group"] for row in rows] == ["a (not known)", "b"]
    assert rows[0]["estimate"] is None


def test_two_numbers_are_a_map_that_is_read_upwards(release: Any) -> None:
    for names in (("income", "often"), ("moved", "income")):
        table = release.marginal(*names)
        form = json.loads(table.plot().to_json())
        assert form["layer"][0]["mark"]["type"] == "rect"
        x, y = (form["layer"][0]["encoding"][axis] for axis in "xy")
        first, second = table.attributes
        assert x["title"].startswith(names[0])
        assert x["sort"] == [value_name(first, value) for value in first.values]
        assert y["sort"] == [value_name(second, value) for value in second.values][::-1]


# The report


def test_a_report_tells_numbers(release: Any, text: str) -> None:
    seen = Page(text)
    median = release.quantile("income", 0.5)
    for words in (
        "Means and quartiles",
        f"{median.estimate:,}",
        "income (EUR)",
        "101 points from 0 to 100000 in steps of 1000 (EUR), or no answer",
        "Words in an order count 1, 2, 3",
        "Means by group",
        "income by sex",
        "Correlations",
        "income × rent",
    ):
        assert words in seen.words, words
    assert sum(tag == "svg" for tag, _ in seen.elements) - 2 in (8, 7), "two for each number"
    assert seen.data["numbers"] == [0, 1, 2, 3]
    assert seen.data["values"][0][1] == "15,000 to 30,000"
    assert [tag for tag, _ in seen.elements].count("h2") == 7
    assert "img" not in {tag for tag, _ in seen.elements}


def test_a_report_begins_with_what_was_fitted(release: Any, text: str) -> None:
    """Bins of numbers, unbiased, would be below 0 here and there."""
    data = Page(text).data
    assert release.applied == "model"
    assert min(table[0].min() for table in stored_tables(data).values()) >= 0
    plain = release.unprocessed
    first = page(plain).split('data-attribute autocomplete="off">')[1:]
    selected = [part.split(" selected>")[1].split("<")[0] for part in first]
    assert selected[0] == "sex", "no number, where tables are unbiased"


def test_groups_that_differ_are_shown_and_others_are_not(release: Any) -> None:
    section = number_section(release, release.associations())
    assert section is not None
    groups = section["groups"]["rows"]
    assert (groups[0]["name"], groups[0]["by"]) == ("income", "sex")
    assert len(groups) <= MOST_GROUPINGS
    assert difference_p(release.mean("income", by="sex")) < 1e-3
    random = np.random.default_rng(4)
    noise = people().assign(sex=random.choice(["f", "m"], PEOPLE))
    few = number_section(simulate(SURVEY, noise, "noise"), None)
    assert few is not None
    assert few["groups"]["absent"] == NO_GROUPS


def test_tables_of_one_attribute_have_numbers_too() -> None:
    schema = Schema([Attribute("age", low=0, high=100, step=10)])
    frame = pd.DataFrame({"age": np.random.default_rng(2).normal(50, 10, 2000)})
    seen = Page(page(simulate(Survey(schema, 1, 2.0), frame, "one")))
    assert "Means and quartiles" in seen.words
    assert "Correlations" not in seen.words
    assert "Means by group" not in seen.words


# Exports


def test_json_exports_have_numbers(release: Any, tmp_path: Path) -> None:
    release.export(tmp_path / "all.json")
    told = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert told["format"] == 3
    income = told["attributes"][0]
    assert (income["low"], income["high"], income["step"], income["unit"], income["missing"]) == (
        *(0, 100_000, 1_000, "EUR", "no answer"),
    )
    assert told["attributes"][1]["low"] == "2024-01-01"
    assert told["attributes"][2]["ordered"]
    assert set(told["attributes"][4]) == {"name", "values"}
    assert [one["attribute"] for one in told["numbers"]] == ["income", "moved", "often", "rent"]
    for one in told["numbers"]:
        assert {"estimate", "standard_error", "low", "high"} <= set(one["mean"])
        assert [row["probability"] for row in one["quartiles"]] == [0.25, 0.5, 0.75]
        assert one["median"] == one["quartiles"][1]
    number, mean = told["numbers"][0], release.mean("income")
    assert number["unit"] == "EUR"
    assert number["mean"]["estimate"] == pytest.approx(mean.estimate)
    assert number["mean"]["low"] == pytest.approx(mean.low)
    assert number["median"]["estimate"] == release.quantile("income").estimate
    own = release.distribution("income")
    assert number["missing"] == pytest.approx(own.missing)
    columns = {"share": own.shares, "cumulative": own.cumulative, "low": own.low, "high": own.high}
    for name, column in columns.items():
        assert number["distribution"][name] == pytest.approx(column.tolist(), abs=1e-8)
    assert number["distribution"]["point"] == list(own.points)
    assert told["numbers"][1]["mean"]["estimate"].startswith("202")
    assert told["numbers"][2]["median"]["estimate"] in ("never", "sometimes", "often")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_rows_of_tables_have_bins(release: Any, tmp_path: Path, ending: str) -> None:
    release.export(tmp_path / f"all{ending}")
    path = tmp_path / f"all{ending}"
    frame = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
    one = frame[(frame["attribute_1"] == "income") & frame["attribute_2"].isna()]
    assert one["value_1"].tolist() == list(SCHEMA.attributes[0].values)
    np.testing.assert_allclose(one["read"], release.marginal("income").values, atol=1e-12)


def test_strata_together_say_what_they_cannot_tell(release: Any) -> None:
    """The fit is one of a single tally's reports; of the first stratum alone it would mislead."""
    parts = {name: simulate(SURVEY, people(500), name) for name in ("one", "two")}
    both = type(release).combine(parts, {"one": 0.5, "two": 0.5})
    for tell in (both.distribution, both.quantile):
        with pytest.raises(TableError, match="fitted to the reports of one group"):
            tell("income")
    section = number_section(both, None)
    assert section is not None
    assert "fitted to the reports of one group" in " ".join(section["absent"])
    assert section["figures"] == []


@pytest.mark.parametrize("count", [1, 300])
def test_few_people_have_a_wide_band(count: int) -> None:
    """Of points that nobody was asked about, nothing is known; the band says so."""
    few = simulate(SURVEY, people(count), "few")
    for name in ("income", "often") if count > 1 else ():
        own = few.distribution(name)
        assert np.isfinite([own.cumulative, own.low, own.high]).all()
        assert (own.low <= own.cumulative).all()
        assert (own.cumulative <= own.high).all()
        assert (own.high - own.low)[:-1].max() > 0.1
    assert "Numbers" in Page(page(few)).words


def test_an_estimate_that_cannot_be_is_shown_at_the_nearest_that_can() -> None:
    number = Schema.of(income=(0, 80_000)).attributes[0]
    means = Estimates(
        "mean of income",
        np.array([-16_000.0, 20_000.0]),
        np.diag([27_000.0**2, 500.0**2]),
        ({"marriage": "widowed"}, {"marriage": "married"}),
        bounds=(0.0, 80_000.0),
    )
    assert means.values[0] == -16_000, "the estimate stays unbiased"
    widowed, married = group_rows(number, means)
    assert widowed["mean"] == "0"
    assert widowed["interval"].startswith("0 to ")
    assert married["mean"] == "20,000"
