"""Charts are valid whatever they show."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Schema, Survey, simulate
from deniable.show.charts import COLOURS, error_chart, marginal_chart, save_chart
from deniable.show.plans import predicted_chart


def test_errors_are_drawn_beside_predictions_where_there_are_any() -> None:
    rows = pd.DataFrame(
        {
            "mechanism": ["InpHT", "InpEM"],
            "mean_tv": [0.1, 0.3],
            "predicted_tv": [0.11, None],
        }
    )
    for bound in (None, 0.05):
        chart = json.loads(error_chart(rows, bound, "Errors").to_json())
        assert len(chart["layer"]) == (2 if bound is None else 3)
        drawn = [len(data) for data in chart["datasets"].values()]
        assert sorted(drawn) == ([1, 2] if bound is None else [1, 1, 2])


def test_predictions_stand_beside_what_came_out() -> None:
    rows = pd.DataFrame(
        {
            "mechanism": ["InpHT", "InpHT", "InpEM", "Subspace"],
            "mean_tv": [0.1, 0.03, 0.3, 0.02],
            "predicted_tv": [0.11, 0.03, None, 0.021],
        }
    )
    form = json.loads(predicted_chart(rows).to_json())
    points = next(data for data in form["datasets"].values() if "mechanism" in data[0])
    assert [point["mechanism"] for point in points] == ["InpHT", "InpHT", "Subspace"]
    band = next(data for data in form["datasets"].values() if "over" in data[0])
    assert band[0]["at"] < 0.02 < 0.11 < band[1]["at"]
    predicted_chart(rows[2:3]).to_json()


# Tables

SIZES = {"a": 2, "y": 3, "estimate": 12, "f.g[0]:Q": 16, "country": 42, "code": 300}


@pytest.fixture(scope="module")
def release() -> Any:
    random = np.random.default_rng(0)
    held = {name: random.integers(0, size, 3000) ** 2 // size for name, size in SIZES.items()}
    frame = pd.DataFrame(held).assign(a=held["a"] == 0)
    values = {name: list(range(size)) for name, size in SIZES.items() if name != "a"}
    return simulate(Survey(Schema.from_frame(frame, values=values), 3, 8.0, "MargPS"), frame, "x")


def drawn(table: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    form = json.loads(marginal_chart(table).to_json())
    (rows,) = form["datasets"].values()
    return form, rows


def marks(form: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in form["layer"]]


def subtitle(form: dict[str, Any]) -> str:
    return " ".join(form["title"]["subtitle"])


def test_few_cells_are_points_with_intervals(release: Any) -> None:
    form, rows = drawn(release.marginal("a", "y"))
    assert marks(form) == ["rule", "point"]
    assert [row["cell"] for row in rows] == [
        *("not a, y 0", "not a, y 1", "not a, y 2", "a, y 0", "a, y 1", "a, y 2")
    ]
    assert form["title"]["text"] == "a × y"
    assert subtitle(form) == "3,000 people, 95% intervals · SIMULATED"
    assert len(drawn(release.marginal("a", "f.g[0]:Q"))[1]) == 32


@pytest.mark.parametrize("names", [("estimate", "y"), ("y", "estimate"), ("country", "f.g[0]:Q")])
def test_many_cells_of_two_attributes_are_a_heat_map(release: Any, names: tuple[str, str]) -> None:
    table = release.marginal(*names)
    form, rows = drawn(table)
    assert marks(form)[0] == "rect"
    assert len(rows) == table.values.size
    down, across = sorted(names, key=SIZES.__getitem__, reverse=True)
    encoding = form["layer"][0]["encoding"]
    assert (encoding["y"]["title"], encoding["x"]["title"]) == (down, across)
    assert encoding["y"]["sort"] == [str(value) for value in range(SIZES[down])]
    assert [tip["title"] for tip in encoding["tooltip"] if "title" in tip] == list(names)
    assert {"estimate", "low", "high"} <= {tip["field"] for tip in encoding["tooltip"]}
    low, high = (end.ravel() for end in table.interval(0.95))
    for row, estimate, least, most in zip(rows, table.values.ravel(), low, high, strict=True):
        assert row["shown"] == pytest.approx(max(estimate, 0))
        assert row["doubtful"] == (least <= 0 or table.is_swamped)
        assert (row["low"], row["high"]) == pytest.approx((least, most))
    is_wide = 36 * SIZES[across] <= 480
    assert marks(form) == (["rect", "text", "text"] if is_wide else ["rect", "point"])
    words = "The error swamps this table" if table.is_swamped else "the interval holds 0"
    assert words in subtitle(form)
    assert "SIMULATED" in subtitle(form)
    assert table.is_swamped or ("Grey" if is_wide else "Hatched") in subtitle(form)


@pytest.mark.parametrize(("epsilon", "is_swamped"), [(0.3, True), (6.0, False)])
def test_a_table_that_its_error_swamps_is_drawn_as_such(epsilon: float, is_swamped: bool) -> None:
    schema = Schema.of(x=["u", "v", "w"], y=[0, 1, 2])
    frame = pd.DataFrame({"x": ["u", "v", "w"] * 200, "y": [0, 1, 2] * 200})
    survey = Survey(schema, 2, epsilon, "MargPS")
    table = simulate(survey, frame, "x").marginal("x", "y")
    assert table.is_swamped == is_swamped
    assert table.expected_error is not None
    assert (table.expected_error > 0.5) == is_swamped
    form, _ = drawn(table)
    assert ("The error swamps this table" in subtitle(form)) == is_swamped
    reach, points = (layer["mark"] for layer in form["layer"])
    assert points["filled"] != is_swamped
    assert ("strokeDash" in reach) == is_swamped
    assert (points["color"] == COLOURS["bound"]) == is_swamped


def test_a_heat_map_names_truth_values(release: Any) -> None:
    form, rows = drawn(release.marginal("a", "country"))
    assert form["layer"][0]["encoding"]["x"]["sort"] == ["not a", "a"]
    assert {row["label0"] for row in rows} == {"not a", "a"}


def test_one_attribute_of_many_values_is_a_list_in_the_declared_order(release: Any) -> None:
    form, rows = drawn(release.marginal("country"))
    assert marks(form) == ["rule", "point"]
    assert [row["cell"] for row in rows] == [str(value) for value in range(42)]
    assert form["height"]["step"] < 32


@pytest.mark.parametrize(
    ("names", "cells"), [(("code",), 300), (("code", "a"), 600), (("y", "estimate", "a"), 72)]
)
def test_of_more_cells_than_can_be_shown_the_largest_are(
    release: Any, names: tuple[str, ...], cells: int
) -> None:
    table = release.marginal(*names)
    form, rows = drawn(table)
    assert marks(form) == ["rule", "point"]
    assert f"The 32 largest estimates of {cells} cells; some are large by chance" in subtitle(form)
    shown = [row["estimate"] for row in rows]
    assert shown == pytest.approx(sorted(table.values.ravel(), reverse=True)[:32])
    assert len({row["cell"] for row in rows}) == 32
    for row in rows:
        at = tuple(int(row[f"value{i}"]) for i in range(len(names)))
        assert table.values[at] == pytest.approx(row["estimate"])


def test_a_table_that_is_not_known_is_drawn_all_the_same(tmp_path: Path) -> None:
    schema = Schema.of(b=list(range(12)), c=list(range(14)), d=list(range(3)))
    frame = pd.DataFrame({"b": [3], "c": [5], "d": [1]})
    release = simulate(Survey(schema, 2, 1.0, "MargPS"), frame, "x")
    tables = [release.marginal(*pair) for pair in (("b", "c"), ("c", "d"), ("b", "d"))]
    unknown = [table for table in tables if not table.known]
    assert unknown
    for table in unknown:
        form, rows = drawn(table)
        assert "not known" in subtitle(form)
        assert "the interval holds 0" not in subtitle(form)
        assert all(row["doubtful"] for row in rows)
        save_chart(marginal_chart(table), tmp_path / "unknown.svg")


def test_a_large_heat_map_is_made_in_no_time(release: Any, tmp_path: Path) -> None:
    table = release.marginal("country", "f.g[0]:Q")
    marginal_chart(table)
    began = time.process_time()  # of this process: others may take their time
    save_chart(marginal_chart(table), tmp_path / "large.svg")
    assert time.process_time() - began < 5


def test_a_long_note_makes_no_wide_chart(tmp_path: Path) -> None:
    """A subtitle of one line left two fifths of a figure white."""
    frame = pd.DataFrame({"x": ["u", "v", "w"] * 200, "y": [0, 1, 2] * 200})
    schema = Schema.of(x=["u", "v", "w"], y=[0, 1, 2])
    chart = marginal_chart(
        simulate(Survey(schema, 2, 0.3, "MargPS"), frame, "x").marginal("x", "y")
    )
    assert "The error swamps this table" in subtitle(chart.to_dict())
    with_note, without = tmp_path / "with.svg", tmp_path / "without.svg"
    save_chart(chart, with_note)
    save_chart(chart.properties(title="x"), without)
    wide, narrow = (
        float(re.search(r'width="([\d.]+)"', path.read_text("utf-8"))[1])  # type: ignore[index]
        for path in (with_note, without)
    )
    assert wide < 1.1 * max(narrow, 400)
