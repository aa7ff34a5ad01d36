"""What a person answered has one code, whatever holds it, and however no answer is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from xlsform_parts import write_book

from deniable import Attribute, Schema, Survey
from deniable.errors import RecordError
from deniable.lab.datasets import load, stream

NO = "no answer"
ATTRIBUTES: dict[str, tuple[Attribute, list[Any]]] = {
    "truth": (Attribute("x", (False, True), missing=NO), [True, False, True]),
    "truth with both": (Attribute("x", (False, True), missing=NO, other=NO), [True, False]),
    "truth with a code": (Attribute("x", (False, True), missing="99"), [True, False]),
    "number": (Attribute("x", low=0, high=100, missing=NO), [41, 0, 100, 7]),
    "decimals": (Attribute("x", low=0, high=2, step=0.25, missing=NO, other=NO), [0.5, 2.0, 1.25]),
    "points": (Attribute("x", points=(0.5, 1, 10), missing=NO), [0.5, 9.0]),
    "day": (
        Attribute("x", low="2026-01-01", high="2026-01-31", missing=NO),
        [date(2026, 1, 2), date(2026, 1, 31)],
    ),
    "bins": (Attribute("x", (), NO, edges=(18, 65)), [17, 65, 18]),
    "codes": (Attribute("x", ("1", "0", "99", NO), missing=NO), ["1", "0", "99"]),
    "codes, one of which is missing": (Attribute("x", ("1", "0", "99"), missing="99"), ["1", "0"]),
    "codes with zeros": (Attribute("x", ("01", "02", "10"), missing=NO), ["02", "01", "10"]),
    "whole numbers": (Attribute("x", (1, 0, 99), missing=NO), [1, 0, 99, 0]),
    "ordered codes": (Attribute("x", ("1", "2", "3", NO), missing=NO, ordered=True), ["1", "3"]),
    "ordered numbers": (Attribute("x", (3, 2, 1, 9), missing=9, ordered=True), [1, 3, 2]),
    "texts": (Attribute("x", ("yes", "no", NO), missing=NO), ["no", "yes"]),
    "words": (Attribute("x", ("red", "blue"), missing=NO, other=NO), ["blue", "red"]),
}


def cells(own: Attribute, values: list[Any], absent: str) -> tuple[list[Any], list[int]]:
    """Return cells, of which every third may hold no answer, and their codes."""
    column, codes = [], []
    for index in range(12):
        value = values[index % len(values)]
        is_absent = absent != "nowhere" and index % 3 == 1
        column.append((None if absent == "empty" else own.missing) if is_absent else value)
        codes.append(own.code_of(own.missing) if is_absent else own.encode(value))
    return column, codes


def _csv(column: list[Any], folder: Path) -> Any:
    pd.DataFrame({"x": pd.Series(column, dtype=object), "y": 1}).to_csv(
        folder / "d.csv", index=False
    )
    return folder / "d.csv"


def _typed(column: list[Any]) -> pa.Table:
    """Return a column as a database has it: one type, or texts."""
    try:
        return pa.table({"x": pa.array(column)})
    except (pa.ArrowException, TypeError):
        return pa.table({"x": [None if c is None else str(c) for c in column]})


def _parquet(column: list[Any], folder: Path) -> Path:
    pq.write_table(_typed(column), folder / "d.parquet")
    return folder / "d.parquet"


def _feather(column: list[Any], folder: Path) -> Path:
    import pyarrow.feather as feather

    feather.write_feather(_typed(column), folder / "d.feather")
    return folder / "d.feather"


def _book(column: list[Any], folder: Path) -> Path:
    write_book(folder / "d.xlsx", data=[["x", "y"], *([cell, 1] for cell in column)])
    return folder / "d.xlsx"


def _read(write: Callable[[list[Any], Path], Path]) -> Callable[[list[Any], Path], Any]:
    return lambda column, folder: load(str(write(column, folder)))


def _streamed(write: Callable[[list[Any], Path], Path]) -> Callable[[list[Any], Path], Any]:
    def read(column: list[Any], folder: Path) -> Any:
        return pa.Table.from_batches(stream(str(write(column, folder)), ["x"])[0])

    return read


SOURCES: dict[str, Callable[[list[Any], Path], Any]] = {
    "pandas, objects": lambda c, _: pd.DataFrame({"x": pd.Series(c, dtype=object)}),
    "pandas, inferred": lambda c, _: pd.DataFrame({"x": c}),
    "pandas, NaN": lambda c, _: pd.DataFrame({"x": [np.nan if v is None else v for v in c]}),
    "pandas, nullable": lambda c, _: pd.DataFrame({"x": c}).convert_dtypes(),
    "pandas, category": lambda c, _: pd.DataFrame(
        {"x": pd.Categorical(pd.Series(c, dtype=object))}
    ),
    "polars": lambda c, _: pl.DataFrame({"x": pl.Series(c, strict=False)}),
    "polars, objects": lambda c, _: pl.DataFrame({"x": pl.Series(c, dtype=pl.Object)}),
    "arrow": lambda c, _: _typed(c),
    "arrow, texts": lambda c, _: pa.table({"x": [None if v is None else str(v) for v in c]}),
    "csv": _read(_csv),
    "csv, part by part": _streamed(_csv),
    "parquet": _read(_parquet),
    "parquet, part by part": _streamed(_parquet),
    "feather": _read(_feather),
    "xlsx": _read(_book),
    "xlsx, part by part": _streamed(_book),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("absent", ["nowhere", "empty", "named"])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_answer_has_one_code_whatever_holds_it(
    name: str, absent: str, source: str, tmp_path: Path
) -> None:
    own, values = ATTRIBUTES[name]
    column, codes = cells(own, values, absent)
    frame = SOURCES[source](column, tmp_path)
    schema = Schema((own,))
    assert schema.codes(schema.encode_frame(frame), 0).tolist() == codes


@pytest.mark.parametrize(
    ("values", "column", "codes"),
    [
        # A cell that equals a declared value is that, whatever else it could spell.
        (("true", "false", "1"), ["true", "1"], [0, 2]),
        (("True", False), [True, False], [0, 1]),
        (("True", False), ["True", "False"], [0, 1]),
        (("yes", "no"), [True, False], [0, 1]),
        (("True", "yes", "no"), [True], None),  # which of them?
        (("01", "1"), [1], None),
        (("01", "1"), ["1", "01"], [1, 0]),
        (("1", "2"), ["1.0"], None),  # a version, perhaps
        ((1, 2), ["1.0", "2"], [0, 1]),
        ((1, 2), ["01"], None),
        ((1, 2), [" 1"], None),
        ((1, 2), [True], None),
        ((0, 1), [True, False], None),
        ((False, True), [1, 0], [1, 0]),
        ((False, True), [1.0, 0.0], [1, 0]),
        ((False, True), ["1", "0", "YES", "No", "true", "FALSE"], [1, 0, 1, 0, 1, 0]),
        ((False, True), [2, 1], None),  # 1 and 2 may be yes and no
        ((False, True), [0.5], None),
        ((False, True), ["y"], None),
        ((False, True, 2), [1, 0], None),
        ((False, True, "2"), [1, 0], None),
        ((False, True, "2"), ["1"], None),
        (("a", "b"), [1], None),
        (("1", "2"), [1.5], None),
        (("1", "-1"), [-1, 1], [1, 0]),
    ],
)
def test_a_cell_stands_for_one_value_or_is_refused(
    values: tuple[Any, ...], column: list[Any], codes: list[int] | None
) -> None:
    own = Attribute("x", values)
    if codes is None:
        with pytest.raises(RecordError):
            own.encode_column(pa.array(column))
        lenient = Attribute("x", values, other="else").encode_column(pa.array(column))
        assert len(values) in lenient
    else:
        assert own.encode_column(pa.array(column)).tolist() == codes


@pytest.mark.parametrize(
    "text", ["1,5", " 2", "2 ", "0x1", "1_0", "٣", "inf", "nan", "", "1e999", "--1"]
)
def test_a_text_that_is_no_number_is_none(text: str) -> None:
    for own in (Attribute("x", low=0, high=9), Attribute("x", edges=(3,))):
        with pytest.raises(RecordError) as caught:
            own.encode_column(pa.array(["1", text]))
        assert text.strip() in ("", "2") or text not in str(caught.value)


def test_categories_are_looked_at_where_a_row_holds_them() -> None:
    own = Attribute("x", ("1", "0"), missing=NO)
    column = pa.array([1, 0, None]).dictionary_encode()
    assert own.encode_column(column).tolist() == [0, 1, 2]


def test_a_frame_with_its_own_no_answer_is_randomized_like_one_with_gaps() -> None:
    schema = Schema(
        tuple(
            Attribute(name, own.values if own.scale is None and not own.edges else (), own.missing,
                      edges=own.edges, low=own.low, high=own.high)
            for name, own in (("ill", ATTRIBUTES["truth"][0]), ("age", ATTRIBUTES["number"][0]))
        )
    )  # fmt: skip
    survey = Survey(schema, 2, 2.0)
    named = pd.DataFrame({"ill": [True, NO, False] * 9, "age": [41, 3, NO] * 9})
    gaps = pd.DataFrame({"ill": [True, None, False] * 9, "age": [41, 3, None] * 9})
    assert survey.randomize(named, "s") == survey.randomize(gaps, "s")
