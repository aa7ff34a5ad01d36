"""Charts and tests of groups: what is drawn, in which order, and what is not displayed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey
from deniable.errors import TableError
from deniable.show.charts import save_chart
from deniable.show.comparing import MOST_PANELS, p_words

DAYS = ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]
SURVEY = Survey(
    Schema.of(tip=[False, True], use=["rare", "often", "daily"]),
    2,
    2.0,
    "MargPS",
    labels={"region": ["north", "south", "isles"]},
    periods=DAYS,
)


def releases(by):
    random = np.random.default_rng(1)
    people = 6050
    region = np.repeat(["north", "south", "isles"], [4000, 2000, 50])
    frame = pd.DataFrame(
        {
            "tip": random.random(people) < np.where(region == "south", 0.8, 0.3),
            "use": random.choice(["rare", "often", "daily"], people),
            "region": region,
            "period": random.choice(DAYS[:-1], people),
        }
    )
    batch = SURVEY.randomize(frame, "comparing")
    return SURVEY.tally(batch, by=by, simulation=True).release()


def drawn(chart) -> tuple[dict, list[list[dict]]]:
    form = json.loads(chart.to_json())
    return form, list(form["datasets"].values())


def test_groups_stand_below_each_other_a_panel_per_cell() -> None:
    made = releases("region")
    form, data = drawn(made.plot("use", "tip"))
    title = form["title"]
    assert title["text"] == "use × tip by region"
    assert title["subtitle"][:2] == [
        "6,000 people in 2 groups, 95% intervals · SIMULATED",
        "Any difference between groups, by this table alone: p <\N{NO-BREAK SPACE}0.0001",
    ]
    assert "1 group is not displayed: under 100 reports" in title["subtitle"]
    panels = [panel["title"]["text"] for panel in form["concat"]]
    assert panels[:2] == ["use rare, not tip", "use rare, tip"]
    assert len(panels) == 6
    rows = [row for each in data for row in each]
    assert {row["group"] for row in rows} == {"north", "south"}
    table = made["north"].marginal("use", "tip")
    low, high = table.interval()
    own = next(r for r in rows if (r["group"], r["cell"]) == ("north", "use often, tip"))
    assert own["estimate"] == pytest.approx(table.values[1, 1])
    assert (own["low"], own["high"]) == (pytest.approx(low[1, 1]), pytest.approx(high[1, 1]))
    mean = (4000 * table.values + 2000 * made["south"].marginal("use", "tip").values) / 6000
    assert own["mean"] == pytest.approx(mean[1, 1])
    # As many points of percentage in every panel, so that lengths compare.
    spans = [
        np.ptp(layer["encoding"]["x"]["scale"]["domain"])
        for panel in form["concat"]
        for layer in panel["layer"]
        if "scale" in layer["encoding"].get("x", {})
    ]
    assert len(spans) == 6
    assert spans == pytest.approx([spans[0]] * 6)


def test_periods_are_lines_over_time_and_other_labels_are_colours() -> None:
    form, data = drawn(releases("period").plot("tip"))
    assert form["title"]["text"] == "tip by period"
    (panel,) = form["concat"]
    assert "title" not in panel  # the chart's own says it
    assert [layer["mark"]["type"] for layer in panel["layer"]] == ["line", "rule", "point"]
    (rows,) = data
    assert [row["at"][:10] for row in rows] == DAYS[:-1]
    assert {row["cell"] for row in rows} == {"tip"}  # the share of no says nothing more
    form, data = drawn(releases(["region", "period"]).plot("tip"))
    assert form["title"]["text"] == "tip by region and period"
    assert "3 groups are not displayed: under 100 reports" in form["title"]["subtitle"]
    rows = [row for each in data for row in each]
    assert {row["series"] for row in rows} == {"north", "south"}
    colours = form["concat"][0]["layer"][0]["encoding"]["color"]["scale"]
    assert colours["domain"] == ["north", "south"]
    assert len({row["at"] for row in rows}) == 6  # side by side


@pytest.mark.slow
def test_of_very_many_cells_the_largest_are_drawn() -> None:
    schema = Schema.of(a=[*"abcdef"], b=[*"uvwxyz"])
    survey = Survey(schema, 2, 3.0, "MargPS", labels={"g": ["one", "two"]})
    random = np.random.default_rng(2)
    held = {
        name: random.choice(list(schema.attributes[i].values), 2000) for i, name in enumerate("ab")
    }
    frame = pd.DataFrame(held).assign(g=random.choice(["one", "two"], 2000))
    made = survey.tally(survey.randomize(frame, "many"), by="g", simulation=True).release()
    form, _ = drawn(made.plot("a", "b"))
    assert len(form["concat"]) == MOST_PANELS
    assert "The 12 largest of 36 cells" in form["title"]["subtitle"]


@pytest.mark.slow
@pytest.mark.parametrize(("by", "ending"), [("region", ".png"), (["region", "period"], ".svg")])
def test_pictures_can_be_written(by, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"chart{ending}"
    save_chart(releases(by).plot("tip", "use"), path)
    assert path.stat().st_size > 5000


def test_groups_are_tested_together() -> None:
    made = releases("region")
    found = made.differences()
    (row,) = found.to_dict("records")
    assert (row["higher"], row["lower"]) in {("south", "north"), ("north", "south")}
    assert row["difference"] > 0
    assert row["low"] <= row["difference"] <= row["high"]
    two = made["north"].differences(made["south"]).iloc[0]
    assert row["p_value"] == pytest.approx(two["p_value"])
    assert abs(two["difference"]) == pytest.approx(row["difference"])
    periods = releases("period").differences(1)
    assert list(periods["df"]) == [2 * 1, 2 * 2] or list(periods["df"]) == [2 * 2, 2 * 1]
    assert periods["p_value"].min() > 1e-4  # nothing changed over time


def test_one_group_alone_has_nothing_to_be_compared_with() -> None:
    batch = SURVEY.randomize(
        pd.DataFrame({"tip": [True] * 200, "use": "rare", "region": "north", "period": DAYS[0]}),
        "alone",
    )
    alone = SURVEY.tally(batch, by="region", simulation=True).release()
    for call in (lambda: alone.plot("tip"), alone.differences):
        with pytest.raises(TableError, match="two groups or more"):
            call()


def test_p_values_are_said_with_the_digits_that_matter() -> None:
    assert p_words(0.0312) == "p = 0.031"
    assert p_words(1e-9) == "p <\N{NO-BREAK SPACE}0.0001"
    assert p_words(float("nan")) == "not known"
