"""Columns of frames that are declared to be numbers, days or ordered words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable import Attribute, Schema
from deniable.errors import RecordError, SchemaError
from deniable.schema.files import stream_file

FRAME = pd.DataFrame(
    {
        "age": [18, 44, 101],
        "income": [500.0, 41_499.0, 1e6],
        "day": pd.to_datetime(["2020-01-01", "2022-06-30", "2030-01-01"]),
        "freq": pd.Categorical(
            ["never", "often", "never"], categories=["never", "often"], ordered=True
        ),
        "owner": [True, False, True],
    }
)
INCOME = {"low": 0, "high": 200_000, "step": 1_000, "unit": "EUR"}
NUMBERS = {"age": (18, 100), "income": INCOME, "day": ("2020-01-01", "2024-12-31", 7)}
WORDS = {"freq": ["never", "sometimes", "often"]}


@pytest.mark.filterwarnings("ignore:The upper end")
@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_numbers_days_and_orders_of_a_frame(kind: Callable[[Any], Any]) -> None:
    frame = kind(FRAME)
    schema = Schema.from_frame(frame, numbers=NUMBERS, values=WORDS, ordered=["freq"])
    assert schema == Schema.of(
        age=(18, 100),
        income=Attribute("any name", **INCOME),
        day=Attribute("day", low="2020-01-01", high="2024-12-31", step=7),
        freq=Attribute("freq", ("never", "sometimes", "often"), ordered=True),
        owner=[False, True],
    )
    records = schema.encode_frame(frame)
    assert schema.codes(records, 0).tolist() == [0, 26, 82]
    assert schema.codes(records, 1).tolist() == [1, 41, 200]
    assert schema.codes(records, 2).tolist() == [0, 130, 261]
    assert schema.codes(records, 3).tolist() == [0, 2, 0]
    again = Schema.from_frame(
        frame, numbers={**NUMBERS, "income": schema.attributes[1]}, values=WORDS
    )
    assert again.attributes[1] == schema.attributes[1]
    assert not again.attributes[3].ordered


def test_one_value_stands_in_for_a_number() -> None:
    gaps = pd.DataFrame({"x": [1.0, np.nan], "y": ["3", "?"], "w": ["a", None]})
    numbers = {"x": (0, 4), "y": {"low": 0, "high": 4}}
    options: dict[str, Any] = {"numbers": numbers, "values": {"w": ["a", "b"]}, "ordered": ["w"]}
    schema = Schema.from_frame(gaps, **options, missing="none", other="else")
    assert [each.missing for each in schema.attributes] == ["none"] * 3
    assert [each.other for each in schema.attributes] == ["none"] * 3
    records = schema.encode_frame(gaps)
    assert [schema.codes(records, a).tolist() for a in range(3)] == [[1, 5], [3, 5], [0, 2]]
    own = Schema.from_frame(
        gaps[["x"]],
        numbers={"x": {"low": 0, "high": 4, "missing": "?", "edges": [2]}},
        missing="none",
    )
    assert own.attributes[0].values == ("below 2", "2 or more", "?")


@pytest.mark.filterwarnings("ignore:The upper end")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": {"age": (100, 18)}}, "low must be below high"),
        ({"numbers": {"age": 7}}, "needs where it begins and ends, such as"),
        ({"numbers": {"age": ["f", "m"]}}, "low and high must be finite numbers, or days"),
        ({"numbers": {"age": {"low": 0, "hi": 9}}}, "has a field that is none of low, high"),
        ({"numbers": {"age": {"step": 2}}}, "has a step, a unit or a logarithm, but no low"),
        ({"numbers": {"age": {"missing": "?"}}}, "has no low and high"),
        ({"numbers": {"age": (0, float("nan"))}}, "must be finite"),
        ({"numbers": {"age": ("2020-02-30", "2021-01-01")}}, "goes from one day to another"),
        (
            {"numbers": NUMBERS | {"freq": (0, 9)}, "values": {}},
            "is of type dictionary.*which holds no numbers",
        ),
        ({"numbers": {"age": ("2020-01-01", "2021-01-01")}}, "int64, which holds no days"),
        ({"numbers": {"agee": (0, 9)}}, "no column 'agee'"),
        ({"numbers": {"age": (0, 9)}, "bins": {"age": [3]}}, "has bins and numbers; give one"),
        ({"numbers": [("age", (0, 9))]}, "so must bins and numbers"),
        ({"values": {}, "ordered": ["freq"]}, "is in order: declare its values"),
        ({"values": WORDS, "ordered": "freq"}, "ordered is a list of columns"),
        ({"values": "observed", "ordered": ["freq"]}, "is in order: declare its values"),
        ({"values": "observed"}, "say on which days it begins and ends in numbers"),
    ],
)
def test_a_declaration_that_will_not_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_frame(FRAME, **({"values": WORDS} | options))


@pytest.mark.parametrize(
    ("column", "declaration", "message"),
    [
        ([1.0, np.inf], (0, 9), "'x' must be a finite number, and is none in 1 rows"),
        ([1.0, np.nan], (0, 9), "'x' has no value in 1 rows; declare a value for missing"),
        (["2020-01-01", "2020-02-30"], ("2020-01-01", "2020-12-31"), "'x' must be a day, such as"),
        ([date(2020, 1, 1), None], ("2020-01-01", "2020-12-31"), "'x' has no value in 1 rows"),
    ],
)
def test_what_is_no_number_is_refused(column: list[Any], declaration: Any, message: str) -> None:
    frame = pd.DataFrame({"x": column})
    schema = Schema.from_frame(frame, numbers={"x": declaration})
    with pytest.raises(RecordError, match=message):
        schema.encode_frame(frame)


def test_the_first_part_of_a_file_settles_no_kind_of_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers may become others further down, and a day may be none there."""
    monkeypatch.setattr("deniable.schema.files._CSV_PART", 1 << 10)
    rows = 500
    numbers = [*range(rows - 1), 0.5]
    days = ["2020-01-01"] * (rows - 1) + ["2020-02-30"]
    pd.DataFrame({"x": numbers, "day": days}).astype({"x": object}).to_csv(
        tmp_path / "f.csv", index=False
    )
    parts, _ = stream_file(tmp_path / "f.csv", ["x", "day"])
    table = pa.Table.from_batches(list(parts))
    assert table.num_rows == rows
    assert table["x"].to_pylist()[-2:] == [498.0, 0.5]
    day = Attribute("day", low="2020-01-01", high="2020-01-31", missing="none", other="none")
    assert day.encode_column(table["day"]).tolist() == [0] * (rows - 1) + [31]
