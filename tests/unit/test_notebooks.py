"""What notebooks show: tables as HTML, in which everything is text, and charts as pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable import Attribute, Schema, Survey, plan, simulate
from deniable.errors import SchemaError, TableError
from deniable.formats.markup import MOST_ROWS, table_markup
from deniable.schema.frames import to_arrow
from deniable.show.drawing import Drawing

HOSTILE = "<img src=x onerror=alert(1)>"

schema = Schema.of(
    sex=["f", HOSTILE], age=(18, 90), smokes=Attribute("smokes", ("never", "often"), ordered=True)
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", HOSTILE], 6_000),
            "age": random.integers(18, 91, 6_000),
            "smokes": random.choice(["never", "often"], 6_000),
        }
    )


@pytest.fixture(scope="module")
def release(people: pd.DataFrame) -> object:
    return simulate(Survey(schema, 2, 2.0), people, seed="notebook")


def test_each_of_them_shows_a_table_in_which_names_are_text(release) -> None:
    survey = Survey(schema, 2, 2.0)
    for each, words in (
        (schema, ["18 to 90 (73 points)", "never, often (in this order)"]),
        (survey, [survey.id[:16], "Subspace", "ε of a report"]),
        (plan(schema, people=1000), ["Recommended: Subspace.", "predicted_tv"]),
        (release, ["6,000", "Simulated."]),
        (release.marginal("sex", "smokes"), ["95 % interval", "often", " % to "]),
        (release.tree(), ["mutual information", "Simulated."]),
    ):
        markup = each._repr_html_()
        assert markup.startswith("<table>")
        assert HOSTILE not in markup, "text is text"
        for word in words:
            assert word in markup, (type(each), word)


def test_groups_are_listed_with_those_that_are_too_small(people: pd.DataFrame) -> None:
    survey = Survey(schema, 2, 2.0, labels={"region": ["north", "south"]})
    region = np.where(np.arange(len(people)) < 50, "south", "north")
    batch = survey.randomize(people.assign(region=region), seed="groups")
    tallies = survey.tally(batch, by="region", simulation=True)
    markup = tallies.release()._repr_html_()
    assert "north" in markup
    assert "5,950" in markup
    assert "Too small to be displayed: south." in markup


def test_long_tables_end_with_how_many_rows_are_not_shown() -> None:
    markup = table_markup(("n",), [(n,) for n in range(MOST_ROWS + 7)])
    assert markup.count("<tr>") == 1 + MOST_ROWS
    assert "and 7 more" in markup


def test_a_chart_shows_as_a_picture_and_saves_what_loads_nothing(release, tmp_path: Path) -> None:
    for drawing in (
        release.marginal("sex", "smokes").plot(),
        release.mean("age", by="smokes").plot(),
        release.distribution("age").plot(),
    ):
        assert isinstance(drawing, Drawing)
        bundle = drawing._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert "http" not in bundle["image/svg+xml"].replace("http://www.w3.org", "")
    drawing.save(tmp_path / "age.html")
    page = (tmp_path / "age.html").read_text(encoding="utf-8")
    assert "src=" not in page.replace("\\", "").lower() or 'src="http' not in page
    drawing.save(tmp_path / "age.png")
    assert (tmp_path / "age.png").read_bytes().startswith(b"\x89PNG")
    assert drawing.to_dict()["config"], "what an Altair chart can do, it can"
    with pytest.raises(AttributeError):
        drawing.no_such_thing  # noqa: B018


def test_percentages_add_up_within_what_is_asked_for(release) -> None:
    table = release.marginal("sex", "smokes")
    every, rows, columns = (table.percentages(w) for w in (None, "sex", "smokes"))
    assert every.to_numpy().sum() == pytest.approx(100)
    assert rows.sum(axis=1).to_numpy() == pytest.approx([100, 100])
    assert columns.sum(axis=0).to_numpy() == pytest.approx([100, 100])
    assert rows.loc["f", "never"] == pytest.approx(100 * table.values[0, 0] / table.values[0].sum())
    assert every.index.name == "sex"
    assert every.columns.name == "smokes"
    assert release.marginal("sex").percentages().shape == (1, 2)
    with pytest.raises(TableError, match="not of 'age'"):
        table.percentages("age")


def test_percentages_of_three_attributes_have_a_row_for_each_combination(people) -> None:
    own = simulate(Survey(schema, 3, 4.0), people.assign(age=30), seed="three")
    table = own.marginal("sex", "smokes", "age")
    frame = table.percentages("smokes")
    assert frame.index.names == ["sex", "smokes"]
    by_smokes = frame.groupby(level="smokes", sort=False).sum().sum(axis=1)
    assert by_smokes.to_numpy() == pytest.approx([100, 100])


ORDER = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)


def test_a_category_with_an_order_declares_its_values() -> None:
    frame = pd.DataFrame({"income": pd.Series(["high", "low", None], dtype=ORDER)})
    own = Schema.from_frame(frame, missing="not said")
    assert own.attributes[0].is_ordered
    assert own.attributes[0].values[:3] == ("low", "mid", "high")
    assert not own.observed


def test_other_categories_keep_their_order_but_count_as_learned() -> None:
    column = pd.Categorical(["a", "b", "b"], categories=["c", "b", "a"])
    frame = pd.DataFrame({"letter": column})
    own = Schema.from_frame(frame)
    assert own.attributes[0].values == ("c", "b", "a")
    assert own.observed, "a category may have been learned from the data"
    assert not Schema.from_frame(frame, values={"letter": ["c", "b", "a"]}).observed


def test_observed_values_of_a_category_keep_its_order() -> None:
    frame = pd.DataFrame({"income": pd.Series(["high", "low", "low"], dtype=ORDER)})
    own = Schema.from_frame(frame, values="observed")
    assert own.attributes[0].values == ("low", "high")
    assert own.attributes[0].is_ordered
    assert own.observed


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["low", "high"], dtype=ORDER),
        pa.chunked_array(
            [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", "c"]).dictionary_encode()]
        ),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([True, False], dtype="bool[pyarrow]"),
        pd.Series(["x", "y"], dtype="string[pyarrow]"),
        pd.Series([1, 2], dtype="Int8"),
        pd.Series([1, 2], dtype="int64[pyarrow]"),
    ],
)
def test_types_of_every_library_go_through_a_simulation(column) -> None:
    frame = pa.table({"x": column}) if isinstance(column, pa.ChunkedArray) else column.to_frame("x")
    frame = pa.concat_tables([to_arrow(frame)] * 100)
    own = Schema.from_frame(frame, values="observed")
    release = simulate(Survey(own, 1, 2.0), frame, seed="types")
    assert release.marginal("x").values.sum() == pytest.approx(1)


def test_categories_of_what_is_no_value_are_refused() -> None:
    column = pd.Categorical([1.5, 2.5], categories=[1.5, 2.5], ordered=True)
    with pytest.raises(SchemaError, match="x"):
        Schema.from_frame(pd.DataFrame({"x": column}))
