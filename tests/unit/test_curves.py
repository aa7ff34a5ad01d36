"""Curves agree with plans at every point, and charts show what they should."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deniable import Schema, plan
from deniable.errors import ChartError
from deniable.planning import curves as curves_module
from deniable.planning.curves import LOWER_BOUND
from deniable.show.charts import save_chart
from deniable.show.plans import plan_chart

pytestmark = pytest.mark.slow  # every chart is drawn from dozens of plans


def schema(attributes: int) -> Schema:
    return Schema.binary(*(f"a{i}" for i in range(attributes)))


def test_curves_are_the_predictions_of_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(schema(6), epsilon=1.1, people=10_000)
    designed: list[float] = []
    own = curves_module.surveys_that_fit

    def watched(schema: Schema, order: int, epsilon: float, *rest: Any) -> Any:
        designed.append(epsilon)
        return own(schema, order, epsilon, *rest)

    monkeypatch.setattr(curves_module, "surveys_that_fit", watched)
    frame = made.curves()
    assert len(designed) == len(set(designed)) == 13, (
        "of categories, each takes a third of a second"
    )
    assert list(frame) == ["along", "epsilon", "people", "mechanism", "predicted_tv"]
    assert set(frame["mechanism"]) == {
        *(row.mechanism for row in made.rows if row.predicted_tv),
        LOWER_BOUND,
    }
    for along, other, held in (("epsilon", "people", 10_000), ("people", "epsilon", 1.1)):
        part = frame[frame["along"] == along]
        assert set(part[other]) == {held}
        assert part[along].nunique() == 13
    for place in (0, len(frame) // 4, len(frame) // 2, len(frame) - 1):
        point = frame.iloc[place]
        there = plan(schema(6), epsilon=point["epsilon"], people=round(point["people"]))
        errors = {row.mechanism: row.predicted_tv for row in there.rows}
        errors[LOWER_BOUND] = there.unbiased_bound_tv
        assert point["predicted_tv"] == pytest.approx(errors[point["mechanism"]], rel=1e-3)


def test_the_plan_itself_is_a_point_of_both_curves() -> None:
    made = plan(schema(8), order=3, epsilon=0.7, people=5000)
    frame = made.curves()
    here = frame[(frame["epsilon"] == 0.7) & (frame["people"] == 5000)]
    for along in ("epsilon", "people"):
        mine = here[here["along"] == along].set_index("mechanism")["predicted_tv"]
        for row in made.rows:
            if row.predicted_tv is not None:
                assert mine[row.mechanism] == pytest.approx(row.predicted_tv, rel=1e-12)
        assert mine[LOWER_BOUND] == pytest.approx(made.unbiased_bound_tv, rel=1e-12)


def test_curves_stay_within_what_can_be_planned() -> None:
    assert plan(schema(4), epsilon=20, people=10).curves()["epsilon"].max() == 20
    small = plan(schema(4), epsilon=1e-15, people=10).curves()
    assert small["epsilon"].min() <= 1e-15
    assert (small["predicted_tv"] > 0).all()
    alone = plan(schema(4), people=1).curves()
    assert alone["people"].min() == 1
    assert alone["people"].max() == 32


# The chart


def texts(form: Any, key: str) -> list[Any]:
    """Return what stands under a key, anywhere in a chart."""
    if isinstance(form, dict):
        return [v for k, v in form.items() if k == key] + texts(list(form.values()), key)
    return [v for part in form for v in texts(part, key)] if isinstance(form, list) else []


def drawn(made: Any) -> dict[str, Any]:
    return json.loads(plan_chart(made).to_json())


@pytest.fixture(scope="module")
def chart() -> Any:
    return plan_chart(plan(schema(4), people=1000))


def named(form: dict[str, Any]) -> set[str]:
    rows = [row for data in form["datasets"].values() for row in data]
    return {row["curve"] for row in rows if "curve" in row}


def test_a_chart_has_two_panels_with_a_thick_line_for_what_is_recommended() -> None:
    made = plan(schema(8), epsilon=1.1, people=100_000, target_error=0.03)
    form = drawn(made)
    assert len(form["hconcat"]) == 2
    for panel in form["hconcat"]:
        lines, names = panel["layer"][:2]
        marked = {
            "dashed": [one for one in lines["layer"] if one["mark"]["strokeDash"] == [5, 4]],
            "thick": [one for one in lines["layer"] if one["mark"]["strokeWidth"] == 4],
            "bold": [one for one in names["layer"] if one["mark"].get("fontWeight") == "bold"],
        }
        curves = {
            how: {row["curve"] for one in layers for row in form["datasets"][one["data"]["name"]]}
            for how, layers in marked.items()
        }
        best = {made.recommended}
        assert curves == {"dashed": {LOWER_BOUND}, "thick": best, "bold": best}
        assert sum(mark["type"] == "rule" for mark in texts(panel, "mark")) == 1
    assert {"InpHT = MargHT", made.recommended, LOWER_BOUND} <= named(form)
    assert made.recommended in str(form["title"])


def test_labels_do_not_overlap() -> None:
    form = drawn(plan(schema(12), order=3, people=1 << 18))
    for panel in form["hconcat"]:
        low, high = panel["layer"][0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
        layers = panel["layer"][1]["layer"]
        rows = [row for layer in layers for row in form["datasets"][layer["data"]["name"]]]
        assert len(rows) >= 5
        at = sorted(row["predicted_tv"] for row in rows)
        step = (high / low) ** (14 / 340)
        assert all(b / a > step * 0.999 for a, b in pairwise(at))


def test_mechanisms_that_say_nothing_are_named_off_the_chart() -> None:
    form = drawn(plan(schema(16), order=3, people=1000))
    assert any("InpPS" in line for line in form["title"]["subtitle"])
    assert "target" not in json.dumps(form)
    assert len(drawn(plan(schema(200), people=1000))["hconcat"]) == 2, "even where none says much"


def test_a_chart_says_that_tables_are_read_with_another_error() -> None:
    """Where attributes have many values, what is recommended for reading may have the larger error."""
    made = plan(Schema.of(a=range(3), b=range(3)), people=1000)
    assert f"as they are read, that is {made.rows[0].read_tv:.2g}" in str(drawn(made)["title"])
    assert "as they are read" not in str(drawn(plan(schema(3), people=1000))["title"])


@pytest.mark.parametrize(("epsilon", "people"), [(1e-15, 1), (20, (1 << 53) - 1)])
def test_the_farthest_plans_can_be_drawn(epsilon: float, people: int) -> None:
    form = drawn(plan(schema(1), order=1, epsilon=epsilon, people=people, target_error=0.1))
    for panel in form["hconcat"]:
        for scale in texts(panel["layer"], "scale"):
            if scale.get("type") == "log":
                low, high = scale["domain"]
                assert 0 < low < high


@pytest.mark.parametrize(
    ("ending", "start"),
    [(".html", b"<!DOCTYPE html>"), (".svg", b"<svg"), (".png", b"\x89PNG"), (".json", b"{")],
)
def test_a_chart_is_written_as_its_ending_says(
    chart: Any, tmp_path: Path, ending: str, start: bytes
) -> None:
    path = tmp_path / f"plan{ending.upper()}"
    save_chart(chart, path)
    held = path.read_bytes()
    assert held.lstrip().startswith(start)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if ending == ".html":
        assert b'src="https://' not in held, "the page works offline"


def test_a_chart_that_cannot_be_written_leaves_nothing(chart: Any, tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name, message in (
        ("plan.gif", "must end in .html, .svg, .pdf, .png or .json, got 'plan.gif'"),
        ("plan", "must end in"),
        ("nowhere/plan.svg", "cannot be written: No such file"),
        ("folder.svg", "cannot be written: it is a folder"),
    ):
        with pytest.raises(ChartError, match=message):
            save_chart(chart, tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == ["folder.svg"]


def test_the_chart_of_a_workload_does_not_speak_of_all_tables() -> None:
    made = plan(schema(4), people=1000, workload=[("a0", "a1")])
    assert "over all tables" not in json.dumps(plan_chart(made).to_dict(), default=str)
